"""``bayes inspect``: show the content of a model file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bayeskit.cli.options import JSON, MODEL, option
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.errors import BayesError, with_article
from bayeskit.inner_model import reader_of


def command(
    model: str = MODEL,
    column: str | None = option("--column", "COLUMN", "Show the distribution of one column by class."),
    plot: str | None = PLOT,
    json: bool = JSON,
) -> None:
    """Show a model, or one of its columns.

    Includes the structure: the tree of tan, the parents of kdb, the splits of
    nbtree, the subclasses, the members of best, the weights of a regression, the
    nodes of a network, the topics of a topic model. The history says when, from what
    and by which version the file was made and changed; it holds no values.

    \b
    Examples:
      bayes inspect birds.bayes --column bill_length_mm
      bayes inspect tan.bayes --plot tree.svg
    """
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import Page, columns_of, plural, setting_value, table_record
    from bayeskit.cli.inputs import open_model
    from bayeskit.cli.saved_models import family_function, n_counted, reading_model, target_of, unit_of
    from bayeskit.explain.overview import class_records, column_records

    page = Page(json)
    check_plot(plot, [model])
    fitted, history = open_model(model)
    if inspect_model := family_function(fitted, "inspect_model"):
        inspect_model(page, model, fitted, column, plot)
        return
    reads = reader_of(fitted)
    tally = getattr(reads, "tally_", None)
    if column is not None:
        reading_model(fitted)
        of_text = texts.is_text(fitted) and column == texts.column_of(fitted)
        if type(reads).__name__ == "MarkovChain":
            raise BayesError(f"{model} holds a MarkovChain, which has symbols and no columns: leave --column out")
        if not hasattr(reads, "table"):
            raise BayesError("EM of words keeps no counts of a column: explain a document in Python")
        table = reads.table("text" if of_text else column)
        columns = columns_of(table)
        for i, part in enumerate(_parts(columns, table.keys)):
            page.line() if i else None
            page.table(part, keys=table.keys)
        draw(page, plot, lambda: picture(table, f"column {column!r}"))
        page.json({"column": column, "table": table_record(table)})
        return
    settings = _settings(fitted)
    of_classes = hasattr(fitted, "classes_")
    target = f" of {target_of(fitted)}" if of_classes else ""
    rows = None if tally is None else n_counted(reads)
    page.line(
        f"{model}: {type(fitted).__name__}{target}" + (f", {plural(rows, unit_of(fitted))}" if rows else ""),
        style="bold",
    )
    for event in history.events:
        page.line(str(event))
    if of_classes:
        page.line(forgets := _forgets(fitted))
    if settings:
        page.line("settings: " + ", ".join(f"{name}={value!r}" for name, value in settings.items()))
    if tally is not None:
        page.line()
        summary.show_columns(page, tally)
        if of_classes:
            page.line()
            summary.show_classes(page, tally)
    described = fitted.describe_structure() if hasattr(fitted, "describe_structure") else None
    structure = None
    if described is not None:
        structure = {"sentence": described.sentence, "lines": described.lines, "table": table_record(described.table)}
        page.line()
        page.sheet(described.sheet)
    whole = f"{with_article(type(fitted).__name__)} as a whole"
    draw(page, plot, lambda: picture(fitted.table() if described is None and tally is not None else described, whole))
    page.json(
        {
            "model": type(fitted).__name__,
            "target": target_of(fitted) if of_classes else None,
            "rows": rows,
            "settings": {name: setting_value(value) for name, value in settings.items()},
            "columns": [] if tally is None else column_records(tally),
            "classes": class_records(tally) if of_classes and tally is not None else None,
            "structure": structure,
            "history": [asdict(event) for event in history.events],
            "batches": {"learned": sorted(history.learned), "forgotten": sorted(history.forgotten)},
            "forgets": forgets if of_classes else None,
        }
    )


def _forgets(model: Any) -> str:
    """Say whether a model forgets exactly."""
    if not hasattr(model, "forget"):
        return "forgets: no; fit it again without the rows"
    fixed = getattr(model, "fixed_", ())
    return f"forgets: counts; stays fixed: {', '.join(fixed)}" if fixed else "forgets: exactly"


def picture(record: Any, what: str) -> Any:
    """Draw a record; raise an error if it has no chart."""
    if not hasattr(record, "chart"):
        way = "bayes explain draws why a row of DATA is put in its class, with --plot"
        raise BayesError(f"there is no picture of {what}: {way}")
    return record.chart()


def _parts(columns: dict[str, Any], keys: int) -> list[dict[str, Any]]:
    """Split counts and probabilities into two tables if a column has both."""
    first, rest = dict(list(columns.items())[:keys]), list(columns.items())[keys:]
    counts = {name: cells for name, cells in rest if name.startswith("count | ")}
    others = {name: cells for name, cells in rest if name not in counts}
    return [first | part for part in (counts, others) if part]


def _settings(model: Any) -> dict[str, Any]:
    """Return the settings that differ from the default."""
    usual = type(model)().get_params(deep=False)
    return {name: value for name, value in model.get_params(deep=False).items() if repr(value) != repr(usual[name])}
