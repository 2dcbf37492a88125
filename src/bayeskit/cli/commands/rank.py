"""``bayes rank MODEL DATA --class spam``: sort rows by the probability of a class."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from bayeskit.cli.options import ALL_ROWS, AS_IT_IS, Data, Model, Reading, Rows, grouped
from bayeskit.cli.outputs import Plot, check_plot
from bayeskit.cli.outputs import plot as draw
from bayeskit.printable import printable


@grouped
def command(
    model: Model,
    data: Data,
    label: Annotated[str, typer.Option("--class", metavar="CLASS", help="The class that is looked for.")],
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="The first N alone; by default all rows.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A .csv, .parquet or .jsonl file; - for stdout.")
    ] = "-",
    rows: Rows = ALL_ROWS,
    reading: Reading = AS_IT_IS,
    plot: Plot = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV.")] = False,
) -> None:
    """Put the rows in order, the most probable of a class first.

    Prints CSV with a header: the number of the row (the first is 0), the kept
    columns and the probability of the class. Rows as probable as each other
    stay in the order of the data.

    \b
    Examples:
      bayes rank mail.bayes new.csv --class spam -n 100 --keep id
      bayes rank birds.bayes new.csv --class Gentoo --json
    """
    from bayeskit.charts.scores import rank_chart
    from bayeskit.cli.commands.predict import open_for
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import check_writable, watched
    from bayeskit.cli.notes import note, unreadable_cells
    from bayeskit.cli.outputs import writer
    from bayeskit.cli.saved_models import load_classifier
    from bayeskit.data.io.streams import Unreadable
    from bayeskit.errors import BayesError

    check_writable(output, is_model=False, reads=(model, *data))
    check_plot(plot, (model, *data, output))
    fitted = load_classifier(model)
    if not hasattr(fitted, "predict_proba"):
        raise BayesError(f"recipe {fitted.recipe} gives no probabilities to rank by")
    unreadable = Unreadable()
    source, of_batch = open_for(fitted, data, rows, reading, unreadable)
    best: Any = None
    start = 0
    with watched(source, "ranking") as watching:
        for batch in watching.batches():
            best = _first(best, _ranked(fitted, of_batch(batch), label, start), limit)
            start += batch.n_rows
    with writer(output, "jsonl" if json else None) as write:
        write(best)
    draw(Page(json, sys.stderr), plot, lambda: rank_chart(best.column(best.num_columns - 1).to_numpy(), label))
    if unreadable.total and not rows.quiet:
        note(unreadable_cells(unreadable))
    if output != "-" and not rows.quiet:
        print(f"{plural(len(best), 'row')} written to {printable(output)}", file=sys.stderr)


def _ranked(model: Any, batch: tuple[Any, dict[str, Any]], label: str, start: int) -> Any:
    """Return the rows of one batch in decreasing probability."""
    import numpy as np
    import pyarrow as pa

    from bayeskit.cli.outputs import plain
    from bayeskit.decisions import rank

    rows, beside = batch
    ranked = rank(model.predict_proba(rows), label, classes=model.classes_.tolist())
    order = np.asarray(ranked["row"], dtype=np.int64)
    columns: dict[str, Any] = {"row": order + start}
    if beside:
        copied = plain(pa.table(beside)).take(order)
        columns |= {name: copied.column(name) for name in beside}
    return pa.table(columns | {f"P({label})": ranked[f"P({label})"]})


def _first(best: Any, rows: Any, limit: int | None) -> Any:
    """Merge both in decreasing probability, cut to the limit."""
    import pyarrow as pa

    if best is not None:
        rows = pa.concat_tables([best, rows], promote_options="permissive")
        rows = rows.sort_by([(rows.column_names[-1], "descending"), ("row", "ascending")])
    return rows if limit is None else rows.slice(0, limit)
