"""``bayes inspect``: show the content of a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.cli.options import Json, Model
from bayeskit.cli.outputs import Plot, check_plot
from bayeskit.cli.outputs import plot as draw
from bayeskit.errors import BayesError, with_article
from bayeskit.inner_model import reader_of

LINES = 60  # lines of a tree; --json has all
MOST_VALUES = 6  # of a variable


def command(
    model: Model,
    column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What was learnt of one column, class by class.")
    ] = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Show what a model has learnt, or one of its columns.

    What joins the columns is shown as well: the tree of tan, the parents of
    kdb, the questions of nbtree, the subclasses, the members of best, the
    weights of a regression. Of a network its nodes, of one node its table; of a
    topic model its topics.

    \b
    Examples:
      bayes inspect birds.bayes --column bill_length_mm
      bayes inspect tan.bayes --plot tree.svg
    """
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import load_model
    from bayeskit.cli.of_sequences import inspected, is_of_sequences, record_of
    from bayeskit.cli.saved_models import is_distribution, is_topic_model, reading_model, target_of
    from bayeskit.explain.overview import column_records

    page = Page(json)
    check_plot(plot, [model])
    fitted = load_model(model)
    if is_of_sequences(fitted):
        inspected(page, fitted, column)
        page.json({"model": type(fitted).__name__, **record_of(fitted)})
        return
    reads = reader_of(fitted)
    if is_distribution(fitted):
        _inspect_distribution(page, model, fitted, column, plot)
        return
    if is_topic_model(fitted):
        _inspect_topics(page, model, fitted, column, plot)
        return
    tally = getattr(reads, "tally_", None)
    if column is not None:
        reading_model(fitted)
        of_text = texts.is_text(fitted) and column == texts.column_of(fitted)
        table = _table_of(reads, "text" if of_text else column)
        columns = {name: table[name] for name in table.column_names}
        for i, part in enumerate(_parts(columns, table.keys)):
            page.line() if i else None
            page.table(part, keys=table.keys)
        draw(page, plot, lambda: _picture(table, f"column {column!r}"))
        page.json({"column": column, **columns})
        return
    settings = _settings(fitted)
    what = "document" if texts.is_text(fitted) else "row"
    of_classes = hasattr(fitted, "classes_")
    target = f" of {target_of(fitted)}" if of_classes else ""
    counted = None if tally is None else tally.n_rows
    rows = int(counted) if counted is not None and counted == int(counted) else counted
    page.line(f"{model}: {type(fitted).__name__}{target}" + (f", {plural(rows, what)}" if rows else ""), style="bold")
    if settings:
        page.line("settings: " + ", ".join(f"{name}={value!r}" for name, value in settings.items()))
    records = [] if tally is None else column_records(tally)
    if tally is not None:
        page.line()
        summary.show_columns(page, records)
        if of_classes:
            page.line()
            summary.show_classes(page, tally)
    described = fitted.describe_structure() if hasattr(fitted, "describe_structure") else None
    if described is not None:
        _show_structure(page, described)
    whole = f"{with_article(type(fitted).__name__)} as a whole"
    draw(page, plot, lambda: _picture(fitted.table() if described is None and tally is not None else described, whole))
    counts = {} if tally is None else dict(zip(map(str, tally.classes), tally.class_counts.tolist(), strict=True))
    page.json(
        {
            "model": type(fitted).__name__,
            "target": target_of(fitted) if of_classes else None,
            "rows": rows,
            "settings": {name: repr(value) for name, value in settings.items()},
            "columns": records,
            "classes": counts if of_classes else None,
            "structure": _structure_record(described),
        }
    )


def _table_of(reads: Any, column: str) -> Any:
    if not hasattr(reads, "table"):
        raise BayesError("EM of words keeps no counts of a column: explain a document in Python")
    return reads.table(column)


def _picture(record: Any, what: str) -> Any:
    if not hasattr(record, "chart"):
        way = "bayes explain draws why a row of DATA is put in its class, with --plot"
        raise BayesError(f"there is no picture of {what}: {way}")
    return record.chart()


def _inspect_topics(page: Any, path: str, fitted: Any, column: str | None, plot: str | None) -> None:
    """Show a topic model: its topics and their words."""
    from bayeskit.cli.commands.topics import show_topics, topic_record
    from bayeskit.cli.console import plural

    if column is not None:
        raise BayesError(f"{path} holds a TopicModel, which knows words and no columns")
    documents, words = plural(fitted.n_documents_, "document"), plural(fitted.n_tokens_, "word")
    page.line(f"{path}: TopicModel, {documents}, {words}, {len(fitted.words_):,} different", style="bold")
    page.line()
    show_topics(page, fitted, 10, "relevance")
    draw(page, plot, fitted.table().chart)
    page.json({"model": "TopicModel", "documents": fitted.n_documents_} | topic_record(fitted, 10, "relevance"))


def _inspect_distribution(page: Any, path: str, fitted: Any, column: str | None, plot: str | None) -> None:
    """Show a network or a joint distribution: its variables and their values, or the table of one."""
    from bayeskit.nearest import did_you_mean

    values = fitted.states if hasattr(fitted, "states") else fitted.values
    parents = getattr(fitted, "parents", {})
    if column is not None:
        if column not in values:
            raise BayesError(f"there is no variable {column!r}{did_you_mean(column, values)}")
        table = fitted.table(column) if parents else fitted.marginal(column).table()
        columns = {name: table[name] for name in table.column_names}
        page.table(columns, keys=max(len(parents.get(column, ())), 1))
        draw(page, plot, table.chart if parents else fitted.marginal(column).chart)
        page.json({"column": column, **columns})
        return
    page.line(f"{path}: {repr(fitted).strip('<>')}", style="bold")
    page.line()
    listing: dict[str, Any] = {"variable": list(values), "values": [_some(listed) for listed in values.values()]}
    if parents:
        listing["parents"] = [", ".join(parents[node]) for node in values]
    page.table(listing)
    draw(page, plot, fitted.chart)
    page.json(
        {
            "model": type(fitted).__name__,
            "variables": {name: list(map(str, listed)) for name, listed in values.items()},
            "parents": {node: list(above) for node, above in parents.items()} if parents else None,
        }
    )


def _some(values: Any) -> str:
    more = ", …" if len(values) > MOST_VALUES else ""
    return f"{len(values):,}: " + ", ".join(map(str, values[:MOST_VALUES])) + more


def _parts(columns: dict[str, Any], keys: int) -> list[dict[str, Any]]:
    """Split counts and probabilities into two tables if a column has both."""
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
    """Return the settings that differ from the default."""
    usual = type(model)().get_params(deep=False)
    return {name: value for name, value in model.get_params(deep=False).items() if repr(value) != repr(usual[name])}
