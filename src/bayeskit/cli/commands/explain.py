"""``bayes explain``: explain the class of a row, and the most informative columns of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from bayeskit.cli.options import JSON, MODEL, TEXT, WHOLE_FILE, Reading, argument, grouped, option
from bayeskit.cli.outputs import PLOT, check_plot, draw, joined
from bayeskit.errors import BayesError, with_article


@grouped
def command(
    model: str = MODEL,
    data: list[str] | None = argument("DATA", "Rows to explain; without DATA, the model as a whole.", None),
    *,
    row: list[int] | None = option("--row", "N", "Number of a row, from 0. May be repeated.", min=0),
    against: str | None = option("--against", "CLASS", "Compare with this class instead of the runner-up."),
    work: bool = option(
        "--work", None, "Show the calculation of the posterior: factors, products, normalization.", False
    ),
    text: str | None = TEXT,
    whole_file: bool = WHOLE_FILE,
    reading: Reading,
    plot: str | None = PLOT,
    json: bool = JSON,
) -> None:
    """Explain the class of a row, column by column.

    The evidence of the columns sums to the log odds of the class. Documents are
    explained by their words; their rows are lines, files or rows of a table.

    \b
    Examples:
      bayes explain birds.bayes birds.csv --row 3
      bayes explain birds.bayes              (the most informative columns)
      bayes explain birds.bayes birds.csv --row 3 --plot why.svg
      bayes explain birds.bayes birds.csv --row 3 --work
      echo "cheap pills" | bayes explain spam.bayes -
    """
    from bayeskit.cli import texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.saved_models import family_function, load_classifier, open_unlabeled, probability_model

    if row and not data:
        raise typer.BadParameter("names a row of DATA, and there is none: bayes explain MODEL DATA", param_hint="--row")
    page, rows = Page(json), sorted(set(row or [0]))
    check_plot(plot, (model, *(data or ())))
    loaded = load_classifier(model)
    fitted = probability_model(loaded)
    explain_data = family_function(fitted, "explain_data")
    if work:
        _check_work(fitted, data, against)
    elif explain_data is not None:
        texts.refuse_text(fitted, text, whole_file)
        explain_data(page, model, fitted, data, rows, against, reading)
        return
    elif type(fitted).__name__ == "Calibrated" and not (data and hasattr(fitted, "explain")):
        fitted = fitted.model_
        page.line("The evidence is that before calibration; bayes predict has the calibrated probabilities.")
        page.line()
    of_texts = texts.is_text(fitted)
    if not work and not hasattr(fitted, "explain" if data or of_texts else "column_importance"):
        weights = ". bayes inspect shows its weights" if hasattr(fitted, "describe_structure") else ""
        hint = weights if data or weights else ": its columns act together. Name DATA, and rows are explained"
        who = with_article(type(loaded if of_texts else fitted).__name__)
        raise BayesError(f"{who} has no explanation that is the model itself{hint}")
    if not data:
        None if of_texts else texts.refuse_text(fitted, text, whole_file)
        (_show_words if of_texts else _show_columns)(page, fitted, plot)
        return
    source = open_unlabeled(fitted, data, text, whole_file, reading)
    explain_row = _work_row if work else _explain_document if of_texts else _explain_row
    records, pictured = [], []
    for i, (number, part) in enumerate(_rows(source, rows)):
        page.line() if i else None
        explanation, record = explain_row(page, fitted, number, part, _label(against, fitted))
        records.append(record)
        pictured.append(explanation)
    draw(page, plot, lambda: joined([explanation.chart() for explanation in pictured]))
    page.json({"model": model, "data": source.name, "rows": records})


def _explain_row(page: Any, model: Any, number: int, row: Any, against: Any) -> tuple[Any, dict[str, Any]]:
    """Show the evidence of the columns of a row; return the explanation and its record."""
    explanation = model.explain(row, against=against)[0]
    return explanation, show_row(page, explanation, number)


def _explain_document(page: Any, model: Any, number: int, row: Any, against: Any) -> tuple[Any, dict[str, Any]]:
    """Show the evidence of the words of a document; return the explanation and its record."""
    from bayeskit.cli import texts

    columns = row.batch.columns
    document = columns["file"][0].as_py() if "file" in columns else f"row {number}"
    explanation = model.explain(columns["text"], against=against)[0]
    record = {"row": number, **texts.document_record(model, explanation, columns["text"], document)}
    texts.show_document(page, explanation, record)
    return explanation, record


def _work_row(page: Any, model: Any, number: int, row: Any, against: Any) -> tuple[Any, dict[str, Any]]:
    """Show the worked products of a row; return them and their record."""
    from bayeskit.cli.texts import is_text

    work = model.work(row.batch.columns["text"] if is_text(model) else row)
    page.sheet(replace(work.sheet, title=f"row {number}: {work.sheet.title}"))
    return work, record_of_work(work, number)


def _check_work(model: Any, data: list[str] | None, against: str | None) -> None:
    """Raise an error if ``--work`` does not apply."""
    if against is not None:
        raise BayesError("--work shows all classes: leave --against out")
    if not data:
        raise BayesError("name DATA, and a row of it is worked by hand: bayes explain MODEL DATA --row N --work")
    if not hasattr(type(model), "work"):
        who = with_article(type(model).__name__)
        raise BayesError(f"{who} has no work that is a product of counted factors: leave --work out")
    try:
        model.work  # noqa: B018 - where it is unavailable, the error gives the reason
    except AttributeError as problem:
        raise BayesError(f"the work of this model cannot be shown: {problem}") from None


def record_of_work(work: Any, number: int) -> dict[str, Any]:
    """Return a worked row as plain data."""
    from bayeskit.logspace import exp

    def formula(part: Any) -> dict[str, Any]:
        return {"formula": part.text, "p": float(exp(part.log_p))}

    if hasattr(work, "members"):
        members = [{"member": name, **record_of_work(member, number)} for name, member in work.members.items()]
        values = zip(work.classes, work.log_joint, work.posterior, strict=True)
        means = [{"class": label, "log_mean": log_p, "posterior": p} for label, log_p, p in values]
        rest = {"left_out": list(work.left_out), "undecidable": work.undecidable}
        return {"row": number, "classes": means, "members": members, **rest}
    classes = [
        {
            "class": label,
            "prior": formula(work.prior[i]),
            "factors": [
                {"of": f.what, "given": list(f.condition_of(i)), **formula(f.of_class[i])} for f in work.factors
            ],
            "log_product": work.log_joint[i],
            "posterior": work.posterior[i],
        }
        for i, label in enumerate(work.classes)
    ]
    return {"row": number, "classes": classes, "left_out": list(work.left_out), "undecidable": work.undecidable}


def _label(text: str | None, model: Any) -> Any:
    """Convert the text of a class to its own type."""
    return next((label for label in model.classes_.tolist() if str(label) == text), text)


def _rows(source: Any, wanted: list[int]) -> Any:
    """Yield (number, source of that row alone), reading the files once."""
    from bayeskit.arrow_arrays import cut
    from bayeskit.data.source import Batch, OneBatch

    start, left = 0, list(wanted)
    for batch in source.batches():
        while left and left[0] < start + batch.n_rows:
            at = left[0] - start
            columns = {name: cut(column, at, at + 1) for name, column in batch.columns.items()}
            row = Batch(columns, 1, batch.start + at)
            yield left.pop(0), OneBatch(source.kinds, row, getattr(source, "here", None))
        if not left:
            return
        start += batch.n_rows
    raise BayesError(f"{source.name} has {start:,} rows, counted from 0: there is no row {left[0]}")


def show_row(page: Any, explanation: Any, number: int, name: str = "") -> dict[str, Any]:
    """Show an explanation as a table and in words; return it as plain data."""
    from bayeskit.explain.evidence import format_log_odds
    from bayeskit.tables import Figure

    head, *_ = explanation.sentences
    page.heading(f"{name or f'row {number}'}: {head}")
    parts = [*explanation.ruled_out, *explanation.by_size]
    page.table(
        {
            "column": ["(prior)", *(c.column for c in parts)],
            "value": ["", *(_value(c) for c in parts)],
            f"evidence for {explanation.predicted}": [
                Figure(format_log_odds(x)) for x in (explanation.prior_log_odds, *(c.log_odds for c in parts))
            ],
        }
    )
    if explanation.undecidable:
        page.line("undecidable: the evidence of the columns is left out of the sum")
    odds = f"the natural logarithm of the odds {explanation.predicted} : {explanation.against}"
    page.line(f"sum: {format_log_odds(explanation.log_odds)}, {odds}")
    page.line()
    page.sentences(explanation.sentences[1:])
    facts = ("column", "value", "state", "log_odds", "sentence")
    return {
        "row": number,
        **{name: getattr(explanation, name) for name in ("predicted", "probability", "against", "log_odds")},
        "prior_log_odds": explanation.prior_log_odds,
        "contributions": [{name: getattr(c, name) for name in facts} for c in explanation.contributions],
        **{name: getattr(explanation, name) for name in ("undecidable", "n_orders")},
    }


def _value(contribution: Any) -> str:
    return (
        f"{contribution.display_value} (never seen)" if contribution.state == "unseen" else contribution.display_value
    )


def _show_words(page: Any, model: Any, plot: str | None) -> None:
    """Show the most informative words of each class."""
    from bayeskit.cli import texts

    texts.show_words(page, model, 12)
    draw(page, plot, lambda: model.telling_words(12).chart())
    page.json({"words_of_classes": texts.words_of_classes(model, 12)})


def _show_columns(page: Any, model: Any, plot: str | None) -> None:
    """Show the most informative columns and values."""
    from bayeskit.cli import summary

    informative = summary.importance_of(model)
    if informative is None:
        raise BayesError(
            "all columns are text: explain a row, or fit a text model with --text to see its most informative words"
        )
    summary.show_importance(page, informative, limit=15)
    if informative.values:
        page.line()
        page.line("most informative values", style="dim")
        page.sentences(value.sentence for value in informative.values[:10])
    draw(page, plot, informative.chart)
    names = ("column", "value", "favors", "log_odds", "bits")
    values = [{name: getattr(value, name) for name in names} for value in informative.values]
    columns = summary.importance_records(informative)
    page.json({"class_bits": informative.class_bits, "columns": columns, "values": values})
