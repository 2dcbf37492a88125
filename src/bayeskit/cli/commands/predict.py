"""``bayes predict``: the class of each row, in batches, as CSV, Parquet or JSON lines."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bayeskit.capabilities import HasProbabilities, can
from bayeskit.cli.options import AS_IT_IS, Data, Model, Reading, Text, grouped
from bayeskit.errors import BayesError, SchemaMismatch


@grouped
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
    text: Text = None,
    reading: Reading = AS_IT_IS,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines instead of CSV.")] = False,
) -> None:
    """Predict the class of each row, in the order of the data.

    Prints CSV with a header: the class and its probability; with --costs or
    --reject, the decision of least expected cost and that cost. The rows are
    read and written in batches, so a file may be larger than memory.
    A model of documents takes a column of a table, the files of a folder, or
    lines: each line of standard input is answered as it comes.

    \b
    Examples:
      bayes predict birds.bayes new.csv --keep id > classes.csv
      bayes predict mail.bayes new.csv --costs costs.csv --reject 0.1
      zcat big.csv.gz | bayes predict birds.bayes - --json
      tail -f messages.log | bayes predict spam.bayes -
    """
    from bayeskit.cli.inputs import check_writable, load_model, watched
    from bayeskit.cli.outputs import writer
    from bayeskit.cli.saved_models import refuse_no_classes

    check_writable(output, is_model=False, reads=(model, data, costs))
    fitted = load_model(model)
    of_numbers = hasattr(fitted, "predict_interval")
    if of_numbers and (proba or costs or reject is not None):
        raise BayesError(f"{model} predicts numbers: --proba, --costs and --reject are for classes")
    if not of_numbers:
        refuse_no_classes(fitted, model)
    if not of_numbers and not can(fitted, HasProbabilities) and (proba or costs or reject is not None):
        option = "--proba" if proba else "--costs and --reject"
        raise BayesError(f"recipe {fitted.recipe} gives no probabilities: leave {option} out")
    decides = costs is not None or reject is not None or hasattr(fitted, "costs_")
    decide = _decider(fitted, costs, reject) if decides else None
    source, of_batch = open_for(fitted, data, text, keep or [], reading)
    with watched(source, "predicting") as rows, writer(output, "jsonl" if json else None) as write:
        for batch in rows.batches():
            write(_said(fitted, of_batch(batch), proba, decide))


def _decider(fitted: Any, costs: str | None, reject: float | None) -> Any:
    """Probabilities to columns of decisions; the costs are read and matched with the classes beforehand."""
    import pyarrow as pa

    from bayeskit.decide import Costs, decide, read_costs

    classes = fitted.classes_.tolist()
    held = getattr(fitted, "costs_", None)  # a model that decides has its own
    read = held if costs is None else read_costs(costs)
    reject = getattr(fitted, "reject_cost", None) if reject is None else reject
    try:
        given = Costs.of(read, classes)
    except BayesError as problem:
        raise problem.within(str(costs)) from None
    kinds = {type(label) for label in given.decisions}
    whole = pa.array(given.decisions if len(kinds) == 1 else list(map(str, given.decisions))).type

    def columns(probabilities: Any) -> dict[str, Any]:
        made = decide(probabilities, given, reject, classes=classes)
        labels = [label if label is None or len(kinds) == 1 else str(label) for label in made.labels.tolist()]
        return {"decision": pa.array(labels, type=whole), "expected cost": made.expected_loss}

    return columns


def open_for(model: Any, data: str, text: str | None, keep: list[str], reading: Reading) -> tuple[Any, Any]:
    """(a source of what the model uses and of what is kept, a function from its batches to (rows, kept columns))."""
    from bayeskit.cli import texts
    from bayeskit.cli.inputs import open_data
    from bayeskit.data.source import OneBatch

    if texts.is_text(model):
        source = texts.open_unlabelled(data, text or texts.column_of(model), text is not None, reading)
        if keep:
            _check_kept(source.name, keep, texts.columns_of(source))
            source = source.keeping(keep)
        return source, lambda batch: (
            batch.columns["text"],
            {name: batch.columns[name] for name in (["file"] if "file" in batch.columns else []) + keep},
        )
    texts.refuse_text(model, text)
    source = _narrowed(open_data(data, None, reading), model, keep)
    return source, lambda batch: (
        OneBatch(source.kinds, batch, source.here),
        {name: batch.columns[name] for name in keep},
    )


def _narrowed(source: Any, model: Any, keep: list[str]) -> Any:
    """The source reading what the model uses and what is kept."""
    from bayeskit.cli.saved_models import reading_model
    from bayeskit.data.source import for_schema, naming_the_file

    _check_kept(source.name, keep, source.head)
    reads = reading_model(model)
    values = {name: vocabulary.values for name, vocabulary in reads.encoder().vocabularies.items()}
    with naming_the_file(source):
        used: Any = for_schema(source, reads.schema_, values, ())
    return source.reading({**dict.fromkeys(keep), **used.asked})


def _check_kept(name: str, keep: list[str], columns: Any) -> None:
    for column in keep:
        if column not in columns:
            raise SchemaMismatch(f"{name} has no column {column!r} to keep (it has: {', '.join(columns)})")


def _said(model: Any, batch: tuple[Any, dict[str, Any]], proba: bool, decide: Any) -> Any:
    """One batch of answers as an Arrow table."""
    import warnings

    import numpy as np
    import pyarrow as pa

    from bayeskit.cli.saved_models import target_of
    from bayeskit.data.arrow_arrays import arrow_array

    rows, kept = batch
    probabilities: Any = None
    with warnings.catch_warnings():
        said = model.predict(rows)
        warnings.simplefilter("ignore")  # what there was to say is said
        if can(model, HasProbabilities):
            probabilities = model.predict_proba(rows)
    if decide is not None:
        columns = kept | decide(probabilities)
    else:
        target = target_of(model) if hasattr(model, "classes_") else "prediction"
        columns = {**kept, target if target not in kept else f"predicted {target}": arrow_array(said)}
    if proba:
        columns |= {f"P({label})": probabilities[:, i] for i, label in enumerate(model.classes_.tolist())}
    elif decide is None and probabilities is not None:
        position = {label: i for i, label in enumerate(model.classes_.tolist())}
        index = np.fromiter(map(position.__getitem__, said.tolist()), np.intp, len(said))
        columns["probability"] = probabilities[np.arange(len(said)), index]
    arrays = {name: arrow_array(c) if isinstance(c, np.ndarray) else c for name, c in columns.items()}
    return pa.table(arrays)
