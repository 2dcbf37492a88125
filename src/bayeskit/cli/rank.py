"""``bayes rank MODEL DATA --class spam``: the rows most likely to be of a class, first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.cli.options import Data, Delimiter, Empty, Encoding, Model, Types


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
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Copy a column of the data. May be repeated.")
    ] = None,
    column_type: Types = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    empty: Empty = None,
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
    from bayeskit.cli.predict import narrowed
    from bayeskit.cli.sources import check_writable, load_model, open_data, watched
    from bayeskit.cli.writing import writer
    from bayeskit.data.source import OneBatch

    check_writable(output)
    fitted = load_model(model)
    source = narrowed(open_data(data, None, column_type, delimiter, encoding, empty), fitted, keep or [])
    best: Any = None
    start = 0
    with watched(source, "ranking") as reading:
        for batch in reading.batches():
            rows = _ranked(fitted, OneBatch(source.kinds, batch, source.here), label, start, keep or [])
            best = _first(best, rows, limit)
            start += batch.n_rows
    with writer(output, "jsonl" if json else None) as write:
        write(best)


def _ranked(model: Any, batch: Any, label: str, start: int, keep: list[str]) -> Any:
    """The rows of one batch, best first."""
    import numpy as np
    import pyarrow as pa

    from bayeskit.cli.writing import plain
    from bayeskit.decide import rank

    ranked = rank(model.predict_proba(batch), label, classes=model.classes_.tolist())
    order = np.asarray(ranked["row"], dtype=np.int64)
    columns: dict[str, Any] = {"row": order + start}
    if keep:
        kept = plain(pa.table({name: batch.batch.columns[name] for name in keep})).take(order)
        columns |= {name: kept.column(name) for name in keep}
    return pa.table(columns | {f"P({label})": ranked[f"P({label})"]})


def _first(best: Any, rows: Any, limit: int | None) -> Any:
    """Both together, best first, cut to the limit."""
    import pyarrow as pa

    if best is not None:
        rows = pa.concat_tables([best, rows], promote_options="permissive")
        rows = rows.sort_by([(rows.column_names[-1], "descending"), ("row", "ascending")])
    return rows if limit is None else rows.slice(0, limit)
