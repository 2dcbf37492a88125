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
    costs: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A CSV file of what each decision costs for each class: decide by it."),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option(metavar="COST", min=0, help="What it costs to abstain: rows worse than that get no decision."),
    ] = None,
    column_type: Types = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    empty: Empty = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV.")] = False,
) -> None:
    """Predict the class of each row, in the order of the data.

    Prints CSV with a header: the class and its probability; with --costs or
    --reject, the decision of least expected cost and that cost. The rows are
    read and written in batches, so a file may be larger than memory.

    \b
    Examples:
      bayes predict birds.bayes new.csv --keep id > classes.csv
      bayes predict mail.bayes new.csv --costs costs.csv --reject 0.1
      zcat big.csv.gz | bayes predict birds.bayes - --json
    """
    from bayeskit.cli.sources import check_writable, load_model, open_data, watched
    from bayeskit.cli.writing import writer
    from bayeskit.data.source import OneBatch

    check_writable(output)
    fitted = load_model(model)
    source = open_data(data, None, column_type, delimiter, encoding, empty)
    source = narrowed(source, fitted, keep or [])
    decide = None if costs is None and reject is None else _decider(fitted, costs, reject)
    kind = "jsonl" if json else None
    with watched(source, "predicting") as reading, writer(output, kind) as write:
        for batch in reading.batches():
            write(_said(fitted, OneBatch(source.kinds, batch, source.here), keep or [], proba, decide))


def _decider(model: Any, costs: str | None, reject: float | None) -> Any:
    """Probabilities to columns of decisions; the costs are read and matched with the classes beforehand."""
    import pyarrow as pa

    from bayeskit.decide import Costs, decide, read_costs
    from bayeskit.errors import BayesError

    classes = model.classes_.tolist()
    try:
        given = Costs.of(read_costs(costs) if costs else None, classes)
    except BayesError as problem:
        raise type(problem)(str(problem) if str(problem).startswith(str(costs)) else f"{costs}: {problem}") from None
    kinds = {type(label) for label in given.decisions}
    whole = pa.array(given.decisions if len(kinds) == 1 else list(map(str, given.decisions))).type

    def columns(probabilities: Any) -> dict[str, Any]:
        made = decide(probabilities, given, reject, classes=classes)
        labels = [label if label is None or len(kinds) == 1 else str(label) for label in made.labels.tolist()]
        return {"decision": pa.array(labels, type=whole), "expected cost": made.expected_loss}

    return columns


def narrowed(source: Any, model: Any, keep: list[str]) -> Any:
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


def _said(model: Any, batch: Any, keep: list[str], proba: bool, decide: Any) -> Any:
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
    if decide is not None:
        columns = kept | decide(probabilities)
    else:
        columns = {**kept, target if target not in kept else f"predicted {target}": pa.array(said.tolist())}
    if proba:
        columns |= {f"P({label})": probabilities[:, i] for i, label in enumerate(model.classes_.tolist())}
    elif decide is None:
        position = {label: i for i, label in enumerate(model.classes_.tolist())}
        index = np.fromiter(map(position.__getitem__, said.tolist()), np.intp, len(said))
        columns["probability"] = probabilities[np.arange(len(said)), index]
    return pa.table(columns)
