"""``bayes inspect``: what a model file holds."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.capabilities import HasStructure, can
from bayeskit.cli.options import Json, Model

LINES = 60  # of a tree; --json has them all


def command(
    model: Model,
    column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What was learnt of one column, class by class.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what a model has learnt, or one of its columns.

    What joins the columns is shown as well: the tree of tan, the parents of
    kdb, the questions of nbtree, the subclasses, the members of best.

    \b
    Example:
      bayes inspect birds.bayes --column bill_length_mm
    """
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import load_model
    from bayeskit.cli.wording import plural
    from bayeskit.explain.overview import column_records

    page = Page(json)
    fitted = load_model(model)
    tally, target = fitted.tally_, fitted.schema_.target.name
    if column is not None:
        of_text = texts.is_text(fitted) and column == fitted.column
        table = fitted.table("text" if of_text else column)
        columns = {name: table[name] for name in table.column_names}
        for i, part in enumerate(_parts(columns, table.keys)):
            page.line() if i else None
            page.table(part, keys=table.keys)
        page.json({"column": column, **columns})
        return
    settings = _settings(fitted)
    what = "document" if texts.is_text(fitted) else "row"
    rows = int(tally.n_rows) if tally.n_rows == int(tally.n_rows) else tally.n_rows
    page.line(f"{model}: {type(fitted).__name__} of {target}, {plural(rows, what)}", style="bold")
    if settings:
        page.line("settings: " + ", ".join(f"{name}={value!r}" for name, value in settings.items()))
    page.line()
    records = column_records(tally)
    summary.show_columns(page, records)
    page.line()
    summary.show_classes(page, tally)
    described = fitted.describe_structure() if can(fitted, HasStructure) else None
    if described is not None:
        _show_structure(page, described)
    page.json(
        {
            "model": type(fitted).__name__,
            "target": target,
            "rows": rows,
            "settings": {name: repr(value) for name, value in settings.items()},
            "columns": records,
            "classes": dict(zip(map(str, tally.classes), tally.class_counts.tolist(), strict=True)),
            "structure": _structure_record(described),
        }
    )


def _parts(columns: dict[str, Any], keys: int) -> list[dict[str, Any]]:
    """Counts and probabilities apart where a column has both."""
    first, rest = dict(list(columns.items())[:keys]), list(columns.items())[keys:]
    counts = {name: cells for name, cells in rest if name.startswith("count | ")}
    others = {name: cells for name, cells in rest if name not in counts}
    return [first | part for part in (counts, others) if part]


def _show_structure(page: Any, described: Any) -> None:
    page.line()
    page.line(described.sentence)
    if described.lines:
        page.lines(described.lines[:LINES])
        if len(described.lines) > LINES:
            page.line(f"… and {len(described.lines) - LINES:,} more lines: --json has them all", style="dim")
        return
    table = described.table
    page.table({name: table[name] for name in table.column_names}, keys=table.keys)


def _structure_record(described: Any) -> dict[str, Any] | None:
    if described is None:
        return None
    table = described.table
    columns = {name: table[name] for name in table.column_names}
    return {"sentence": described.sentence, "lines": described.lines, "table": columns}


def _settings(model: Any) -> dict[str, Any]:
    """The settings that are not the default."""
    usual = type(model)().get_params(deep=False)
    return {name: value for name, value in model.get_params(deep=False).items() if repr(value) != repr(usual[name])}
