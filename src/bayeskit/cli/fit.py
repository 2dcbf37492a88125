"""``bayes fit``: learn a classifier from a file, score it honestly and keep it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from bayeskit.cli.options import Data, Delimiter, Empty, Encoding, Json, Roles, Target, Types, pairs

MODELS = {  # what --model may say, and the class that is fitted
    "naive": "NaiveBayes",
    "tan": "TAN",
    "aode": "AODE",
    "kdb": "KDB",
    "joint": "FullJointBayes",
    "best": "BayesClassifier",
}


def command(
    data: Data,
    target: Target,
    kind: Annotated[str, typer.Option("--model", "-m", metavar="|".join(MODELS), help="What is learnt.")] = "naive",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes; - for stdout.")
    ] = "model.bayes",
    smoothing: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto", help="Added to every count; 1 is Laplace, 0 is none; else as the model does."
        ),
    ] = None,
    prior: Annotated[str, typer.Option(metavar="empirical|uniform", help="What classes are worth beforehand.")] = (
        "empirical"
    ),
    numeric: Annotated[
        str | None, typer.Option(metavar="KIND", help="naive: numbers as gaussian (unless said), kernel or histogram.")
    ] = None,
    unseen: Annotated[
        str, typer.Option(metavar="ignore|smooth|error", help="What a value never seen in training does.")
    ] = "ignore",
    role: Roles = None,
    column_type: Types = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    empty: Empty = None,
    scores: Annotated[
        bool, typer.Option("--scores/--no-scores", help="Leave-one-out scores take a second read of the data.")
    ] = True,
    json: Json = False,
) -> None:
    """Learn a classifier from a file, score it and keep it.

    Every column but the target is learnt from: text as categories, numbers as
    numbers. Scores are exact: each row is predicted by the model without it.
    naive reads the rows one by one, whatever their number; best is the strongest,
    keeps all rows in memory and tells how far its own scores can be believed.

    \b
    Example:
      bayes fit birds.csv --target species --role year=ignore -o birds.bayes
    """
    from bayeskit.cli import summary
    from bayeskit.cli.console import Page
    from bayeskit.cli.sources import check_writable, open_data, save_model, watched
    from bayeskit.cli.wording import plural, size_of

    check_writable(output)
    page = Page(json, sys.stderr if output == "-" else None)
    source = open_data(data, target, column_type, delimiter, encoding, empty)
    given = {"smoothing": smoothing, "numeric": numeric, "prior": prior, "unseen": unseen}
    model = _model(kind, given | {"roles": pairs("--role", role) or None})
    if kind == "best":
        advice = _fit(model.set_params(progress=sys.stderr.isatty()), source)
    else:
        with watched(source, "counting") as reading:
            advice = _fit(model, reading)
    found = None
    if scores and model.tally_.n_rows > 1 and hasattr(model, "leave_one_out"):
        with watched(source, "leaving each row out") as reading:
            found = model.leave_one_out(reading, target)
    written = save_model(model, output)  # before anything is printed: a closed pipe loses no model
    tally = model.tally_
    columns = summary.column_records(tally)
    page.line(f"{source.name}: {plural(tally.n_rows, 'row')}, {plural(len(tally.classes), 'class')} of {target}")
    page.line()
    summary.show_columns(page, columns)
    page.line()
    summary.show_classes(page, tally)
    if found is not None:
        page.line()
        summary.show_measures(page, found)
    if kind == "best":
        page.line()
        summary.show_left_out(page, model)
    page.line()
    if hasattr(model, "telling"):
        summary.show_telling(page, model)
        page.line()
    if kind == "naive":
        page.line(f"stronger: bayes fit {data} --target {target} --model best")
    for sentence in advice:
        page.line(f"advice: {sentence}")
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
    page.json(
        {
            "data": source.name,
            "rows": tally.n_rows,
            "target": target,
            "columns": columns,
            "classes": dict(zip(map(str, tally.classes), tally.class_counts.tolist(), strict=True)),
            "leave_one_out": None if found is None else summary.evaluation_record(found),
            **({"left_out": summary.left_out_record(model)} if kind == "best" else {}),
            "telling": summary.telling_records(model),
            "advice": advice,
            "model": output,
            "bytes": written,
        }
    )


def _model(kind: str, given: dict[str, Any]) -> Any:
    """The model of a name, with what was said of it; a setting that it does not have is refused."""
    import bayeskit

    if kind not in MODELS:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(MODELS)}", param_hint="--model")
    model = getattr(bayeskit, MODELS[kind])()
    said = {name: value for name, value in given.items() if value is not None}
    if "smoothing" in said:
        said["smoothing"] = _amount(said["smoothing"])
    for name in said.keys() - model.get_params():
        if name in ("smoothing", "numeric") or (name == "prior" and said[name] != "empirical"):
            raise typer.BadParameter(f"--model {kind} has no such setting", param_hint=f"--{name}")
        del said[name]
    model.set_params(**said)
    model.check_settings()
    return model


def _amount(smoothing: str) -> float | str:
    try:
        return "auto" if smoothing == "auto" else float(smoothing)
    except ValueError:
        raise typer.BadParameter(f"{smoothing!r} is neither a number nor auto", param_hint="--smoothing") from None


def _fit(model: Any, source: Any) -> list[str]:
    """Fit, and the advice that came with it."""
    import warnings

    from bayeskit.cli.wording import in_options
    from bayeskit.errors import AdviceWarning

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit_source(source)
    for warning in told:
        if not issubclass(warning.category, AdviceWarning):
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    return [in_options(str(w.message)) for w in told if issubclass(w.category, AdviceWarning)]
