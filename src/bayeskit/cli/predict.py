"""``bayes predict``: the class of each row, in batches, as CSV, Parquet or JSON lines."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.cli.options import Data, Delimiter, Empty, Encoding, Model, Types


def command(
    model: Model,
    data: Data,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="A .csv, .parquet or .jsonl file; - for stdout.")
    ] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="The probability of every class, not of the best alone.")] = (
        False
    ),
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Copy a column of the data. May be repeated.")
    ] = None,
    column_type: Types = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    empty: Empty = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV.")] = False,
) -> None:
    """Predict the class of each row, in the order of the data.

    Prints CSV with a header: the class and its probability. The rows are read
    and written in batches, so a file may be larger than memory.

    \b
    Examples:
      bayes predict birds.bayes new.csv --keep id > classes.csv
      zcat big.csv.gz | bayes predict birds.bayes - --json
    """
    from bayeskit.cli.sources import check_writable, load_model, open_data, watched
    from bayeskit.cli.writing import writer
    from bayeskit.data.source import OneBatch

    check_writable(output)
    fitted = load_model(model)
    source = open_data(data, None, column_type, delimiter, encoding, empty)
    source = _narrowed(source, fitted, keep or [])
    kind = "jsonl" if json else None
    with watched(source, "predicting") as reading, writer(output, kind) as write:
        for batch in reading.batches():
            write(_said(fitted, OneBatch(source.kinds, batch, source.here), keep or [], proba))


def _narrowed(source: Any, model: Any, keep: list[str]) -> Any:
    """The source reading what the model uses and what is kept."""
    from bayeskit.data.source import for_schema, naming_the_file
    from bayeskit.errors import SchemaMismatch

    for name in keep:
        if name not in source.head:
            raise SchemaMismatch(f"{source.name} has no column {name!r} to keep (it has: {', '.join(source.head)})")
    values = {name: vocabulary.values for name, vocabulary in model.encoder().vocabularies.items()}
    with naming_the_file(source):
        used: Any = for_schema(source, model.schema_, values, ())
    return source.reading({**dict.fromkeys(keep), **used.asked})


def _said(model: Any, batch: Any, keep: list[str], proba: bool) -> Any:
    """One batch of answers as an Arrow table."""
    import warnings

    import numpy as np
    import pyarrow as pa

    with warnings.catch_warnings():
        said = model.predict(batch)
        warnings.simplefilter("ignore")  # what there was to say is said
        probabilities = model.predict_proba(batch)
    kept = {name: batch.batch.columns[name] for name in keep}
    target = model.schema_.target.name
    columns = {**kept, target if target not in kept else f"predicted {target}": pa.array(said.tolist())}
    if proba:
        columns |= {f"P({label})": probabilities[:, i] for i, label in enumerate(model.classes_.tolist())}
    else:
        position = {label: i for i, label in enumerate(model.classes_.tolist())}
        index = np.fromiter(map(position.__getitem__, said.tolist()), np.intp, len(said))
        columns["probability"] = probabilities[np.arange(len(said)), index]
    return pa.table(columns)
