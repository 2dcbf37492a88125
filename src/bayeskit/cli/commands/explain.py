"""``bayes explain``: explain the class of a row, and the most informative columns of a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.cli.options import AS_IT_IS, Json, Model, Reading, Text, WholeFile, grouped
from bayeskit.cli.outputs import Plot, check_plot, joined
from bayeskit.cli.outputs import plot as draw


@grouped
def command(
    model: Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="The rows to explain; without them, the model as a whole."),
    ] = None,
    row: Annotated[list[int] | None, typer.Option(metavar="N", min=0, help="Which rows, the first being 0.")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="CLASS", help="Compare with this class instead of the runner-up.")
    ] = None,
    work: Annotated[
        bool, typer.Option("--work", help="Work the posterior by hand: every factor, the products, their shares.")
    ] = False,
    text: Text = None,
    whole_file: WholeFile = False,
    reading: Reading = AS_IT_IS,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Say why a row is put in its class, column by column.

    The evidence of the columns sums to the log odds of the class. Of documents
    it is the evidence of the words; rows are lines, files or rows of a table.

    \b
    Examples:
      bayes explain birds.bayes birds.csv --row 3
      bayes explain birds.bayes              (what tells most in the model)
      bayes explain birds.bayes birds.csv --row 3 --plot why.svg
      bayes explain birds.bayes birds.csv --row 3 --work
      echo "cheap pills" | bayes explain spam.bayes -
    """
    from bayeskit.cli import texts
    from bayeskit.cli.commands.predict import narrowed
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import open_rows
    from bayeskit.cli.of_sequences import explained, is_of_sequences
    from bayeskit.cli.saved_models import believed, load_classifier
    from bayeskit.errors import BayesError, with_article

    page = Page(json)
    check_plot(plot, (model, *(data or ())))
    loaded = load_classifier(model)
    fitted = believed(loaded)
    if work:
        if against is not None:
            raise BayesError("--work shows all classes: leave --against out")
        _work(page, fitted, model, data, sorted(set(row or [0])), text, whole_file, reading, plot)
        return
    if is_of_sequences(fitted):
        texts.refuse_text(fitted, text, whole_file)
        if not data:
            raise BayesError("name DATA, and sequences or rows of it are explained; bayes inspect shows the model")
        explained(page, fitted, model, data, sorted(set(row or [0])), against, reading)
        return
    if type(fitted).__name__ == "Calibrated" and not (data and hasattr(fitted, "explain")):
        fitted = fitted.model_
        page.line("The evidence is that before calibration; bayes predict has the calibrated probabilities.")
        page.line()
    if texts.is_text(fitted) and hasattr(fitted, "explain"):
        if not data:
            texts.show_words(page, fitted, 12)
            draw(page, plot, lambda: fitted.telling_words(12).chart())
            page.json({"column_importance": texts.telling_records(fitted, 12)})
            return
        column = text or texts.column_of(fitted)
        source: Any = texts.open_unlabelled(data, column, text is not None, reading, whole_file)
        _explain_texts(page, fitted, model, source, sorted(set(row or [0])), against, plot)
        return
    texts.refuse_text(fitted, text, whole_file)
    if not hasattr(fitted, "explain" if data else "column_importance"):
        weights = ". bayes inspect shows its weights" if hasattr(fitted, "describe_structure") else ""
        remedy = weights if data or weights else ": its columns speak together. Name DATA, and rows are explained"
        who = with_article(type(loaded if texts.is_text(fitted) else fitted).__name__)
        raise BayesError(f"{who} has no explanation that is the model itself{remedy}")
    if not data:
        _show_model(page, fitted, plot)
        return
    source = narrowed(open_rows(data, reading), fitted, [])
    rival = _label(against, fitted)
    records, explained_rows = [], []
    for i, (number, part) in enumerate(_rows(source, sorted(set(row or [0])))):
        explanation = fitted.explain(part, against=rival)[0]
        page.line() if i else None
        show_row(page, explanation, number)
        records.append(record_of_row(explanation, number))
        explained_rows.append(explanation)
    draw(page, plot, lambda: joined([explanation.chart() for explanation in explained_rows]))
    page.json({"model": model, "data": source.name, "rows": records})


def _explain_texts(
    page: Any, model: Any, path: str, source: Any, rows: list[int], against: str | None, plot: str | None
) -> None:
    """Show the words for and against a class."""
    from bayeskit.cli import texts

    records, explained = [], []
    for i, (number, part) in enumerate(_rows(source, rows)):
        batch = part.batch
        document = batch.columns["file"][0].as_py() if "file" in batch.columns else f"row {number}"
        explanation = model.explain(batch.columns["text"], against=_label(against, model))[0]
        page.line() if i else None
        records.append({"row": number, **texts.document_record(model, explanation, batch.columns["text"], document)})
        texts.show_document(page, explanation, records[-1])
        explained.append(explanation)
    draw(page, plot, lambda: joined([explanation.chart() for explanation in explained]))
    page.json({"model": path, "data": source.name, "rows": records})


def _work(
    page: Any,
    model: Any,
    path: str,
    data: list[str] | None,
    rows: list[int],
    text: str | None,
    whole_file: bool,
    reading: Any,
    plot: str | None,
) -> None:
    """Show the worked products of some rows."""
    from bayeskit.cli import texts
    from bayeskit.cli.commands.predict import narrowed
    from bayeskit.cli.inputs import open_rows
    from bayeskit.errors import BayesError

    if not data:
        raise BayesError("name DATA, and a row of it is worked by hand: bayes explain MODEL DATA --row N --work")
    if not hasattr(model, "work"):
        reason = _absent_reason(model, "work")
        raise BayesError(f"the work of this model cannot be shown: {reason}")
    of_documents = texts.is_text(model)
    if of_documents:
        column = text or texts.column_of(model)
        source: Any = texts.open_unlabelled(data, column, text is not None, reading, whole_file)
    else:
        texts.refuse_text(model, text, whole_file)
        source = narrowed(open_rows(data, reading), model, [])
    works = []
    for i, (number, part) in enumerate(_rows(source, rows)):
        record = model.work(part.batch.columns["text"] if of_documents else part)
        page.line() if i else None
        show_work(page, record, number)
        works.append((number, record))
    draw(page, plot, lambda: joined([record.chart() for _, record in works]))
    page.json({"model": path, "data": source.name, "rows": [record_of_work(work, n) for n, work in works]})


def show_work(page: Any, record: Any, number: int) -> None:
    """Show a worked row: tables as wide as the terminal, sentences wrapped."""
    sheet = record.sheet
    page.line(f"row {number}: {sheet.title}", style="bold")
    for part in sheet.parts:
        page.line(part) if isinstance(part, str) else page.table(part.columns)


def _absent_reason(model: Any, name: str) -> str:
    try:
        getattr(model, name)
    except AttributeError as problem:
        return str(problem)
    return ""


def record_of_work(work: Any, number: int) -> dict[str, Any]:
    """Return a worked row as plain data."""
    from bayeskit.logspace import exp

    return {
        "row": number,
        "classes": [
            {
                "class": label,
                "prior": {"formula": work.prior[i].text, "p": float(exp(work.prior[i].log_p))},
                "factors": [
                    {
                        "of": f.what,
                        "given": list(f.given),
                        "formula": f.of_class[i].text,
                        "p": float(exp(f.of_class[i].log_p)),
                    }
                    for f in work.factors
                ],
                "log_product": work.log_joint[i],
                "posterior": work.posterior[i],
            }
            for i, label in enumerate(work.classes)
        ],
        "left_out": list(work.left_out),
        "undecidable": work.undecidable,
    }


def _label(text: str | None, model: Any) -> Any:
    """Convert the text of a class to its own type."""
    return next((label for label in model.classes_.tolist() if str(label) == text), text)


def _rows(source: Any, wanted: list[int]) -> Any:
    """Yield (number, source of that row alone), reading the files once."""
    from bayeskit.arrow_arrays import cut
    from bayeskit.data.source import Batch, OneBatch
    from bayeskit.errors import BayesError

    start, left = 0, list(wanted)
    for batch in source.batches():
        while left and left[0] < start + batch.n_rows:
            at = left[0] - start
            columns = {name: cut(column, at, at + 1) for name, column in batch.columns.items()}
            yield (
                left.pop(0),
                OneBatch(source.kinds, Batch(columns, 1, batch.start + at), getattr(source, "here", None)),
            )
        if not left:
            return
        start += batch.n_rows
    raise BayesError(f"{source.name} has {start:,} rows, counted from 0: there is no row {left[0]}")


def show_row(page: Any, explanation: Any, number: int, name: str = "") -> None:
    """Show an explanation as a table and in words."""
    from bayeskit.explain.evidence import format_log_odds
    from bayeskit.tables.sheet import Figure

    head, *_ = explanation.sentences
    page.line(f"{name or f'row {number}'}: {head}", style="bold")
    page.line()
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
    odds = f"{explanation.predicted} : {explanation.against}"
    page.line(f"sum: {format_log_odds(explanation.log_odds)}, the natural logarithm of the odds {odds}")
    page.line()
    for sentence in explanation.sentences[1:]:
        page.line(sentence)


def _value(contribution: Any) -> str:
    from bayeskit.explain.evidence import format_cell

    value = format_cell(contribution.value)
    return f"{value} (never seen)" if contribution.state == "unseen" else value


def record_of_row(explanation: Any, number: int) -> dict[str, Any]:
    """Return an explanation as plain data."""
    parts = [
        {"column": c.column, "value": c.value, "state": c.state, "log_odds": c.log_odds, "sentence": c.sentence}
        for c in explanation.contributions
    ]
    return {
        "row": number,
        "predicted": explanation.predicted,
        "probability": explanation.probability,
        "against": explanation.against,
        "log_odds": explanation.log_odds,
        "prior_log_odds": explanation.prior_log_odds,
        "contributions": parts,
        "undecidable": explanation.undecidable,
    }


def _show_model(page: Any, model: Any, plot: str | None) -> None:
    from bayeskit.cli import summary
    from bayeskit.errors import BayesError

    informative = summary.telling_of(model)
    if informative is None:
        raise BayesError("all columns are text: explain a row, or fit a text model with --text for its telling words")
    summary.show_telling(page, model, limit=15)
    if informative.values:
        page.line()
        page.line("most telling values", style="dim")
        for value in informative.values[:10]:
            page.line(value.sentence)
    draw(page, plot, informative.chart)
    values = [
        {"column": v.column, "value": v.value, "favours": v.favours, "log_odds": v.log_odds, "bits": v.bits}
        for v in informative.values
    ]
    page.json({"class_bits": informative.class_bits, "columns": summary.telling_records(model), "values": values})
