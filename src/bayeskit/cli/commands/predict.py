"""``bayes predict``: predict the class of each row, in batches, as CSV, Parquet or JSON lines."""

from __future__ import annotations

import warnings
from typing import Any

from bayeskit.cli.options import DATA, MODEL, Reading, RowOptions, grouped, option
from bayeskit.errors import BayesError
from bayeskit.lazy import pa
from bayeskit.storage.files import is_stream


@grouped
def command(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    output: str = option("--output -o", "FILE", "Output file: .csv, .parquet or .jsonl; - for stdout.", "-"),
    proba: bool = option("--proba", None, "Print the probability of every class.", False),
    costs: str | None = option(
        "--costs", "FILE", "CSV file with the cost of each decision for each class; minimize the expected cost."
    ),
    reject: float | None = option(
        "--reject", "COST", "Cost of abstaining: rows with a higher expected cost get no decision.", min=0
    ),
    rows: RowOptions,
    reading: Reading,
    json: bool = option("--json", None, "Print JSON lines instead of CSV.", False),
) -> None:
    """Predict the class of each row, in the order of the data.

    Prints CSV with a header: the class and its probability; with --costs or
    --reject, the decision of least expected cost and that cost. Rows are read and
    written in batches, so a file may be larger than memory; rows of a pipe are
    predicted as they arrive.
    A model of sequences predicts the state of each row or the class of each
    sequence. A model of documents reads a column of a table, the files of a
    folder, or lines; with --whole-file each file is one document.

    \b
    Examples:
      bayes predict birds.bayes new.csv --keep id > classes.csv
      bayes predict mail.bayes new.csv --costs costs.csv --reject 0.1
      zcat big.csv.gz | bayes predict birds.bayes - --json
      tail -f readings.csv | bayes predict pump.bayes - --keep-all
      tail -f messages.log | bayes predict spam.bayes -
      bayes predict spam.bayes --whole-file letters/*.txt
    """
    from bayeskit.cli.inputs import check_writable, load_model, watched
    from bayeskit.cli.outputs import notes_on, report, writer
    from bayeskit.cli.saved_models import family_function, open_to_predict, refuse_no_classes, refuse_sequences
    from bayeskit.cli.texts import is_text
    from bayeskit.data.encoder import EncodedRows
    from bayeskit.data.io.streams import Unreadable
    from bayeskit.evaluate.drift import Drift

    check_writable(output, is_model=False, reads=(model, *data, costs), mark=b"predicted")
    fitted = load_model(model)
    if predict_data := family_function(fitted, "predict_data"):
        if costs or reject is not None:
            raise BayesError(f"{model} is of sequences: --costs and --reject are for rows")
        with writer(output, "jsonl" if json else None) as write:
            write(answers := predict_data(fitted, data, rows, reading, proba))
        if not rows.quiet:
            report(len(answers), output)
        return
    refuse_sequences(fitted, model)
    needs_probabilities = proba or costs is not None or reject is not None
    if not hasattr(fitted, "predict_interval"):
        refuse_no_classes(fitted, model)
    elif needs_probabilities:
        raise BayesError(f"{model} predicts numbers: --proba, --costs and --reject are for classes")
    if needs_probabilities and not hasattr(fitted, "predict_proba"):
        left_out = "--proba" if proba else "--costs and --reject"
        raise BayesError(f"recipe {fitted.recipe} gives no probabilities: leave {left_out} out")
    decides = costs is not None or reject is not None or hasattr(fitted, "costs_")
    decide = _decider(fitted, costs, reject) if decides else None
    unreadable = Unreadable()
    at_once = output == "-" or is_stream(output)  # a file appears when it is complete
    source, of_batch = open_to_predict(fitted, data, rows, reading, unreadable, as_they_come=at_once)
    has_counts = hasattr(fitted, "tally_") and not is_text(fitted)
    drift = Drift(fitted.tally_, fitted._encoder().vocabularies) if has_counts else None
    n_rows = 0
    with (
        watched(source, "predicting", printing=output == "-") as watching,
        writer(output, "jsonl" if json else None) as write,
    ):
        for batch in watching.batches():
            asked, kept = of_batch(batch)
            if drift is not None:
                (block,) = fitted._encoder().blocks(asked)
                drift.add(block)
                asked = EncodedRows(asked, block)
            write(_answers(fitted, asked, kept, proba, decide))
            n_rows += batch.n_rows
        absent = getattr(source, "absent", ())  # reports whole missing columns
        shifts = [shift for shift in drift.shifts() if shift.column not in absent] if drift is not None else []
        notes = notes_on(unreadable, shifts)  # with --strict an error, before the file appears
    if not rows.quiet:
        report(n_rows, output, notes)


def _decider(fitted: Any, costs: str | None, reject: float | None) -> Any:
    """Return a function from probabilities to decisions; the costs are read and matched with the classes first."""
    from bayeskit.decisions import Costs, decide, read_costs

    classes = fitted.classes_.tolist()
    held = getattr(fitted, "costs_", None)  # a cost-sensitive model has its own
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
        return {"decision": pa.array(labels, type=whole), "expected_cost": made.expected_loss}

    return columns


def _answers(model: Any, rows: Any, kept: dict[str, Any], proba: bool, decide: Any) -> Any:
    """Return one batch of predictions as an Arrow table."""
    import numpy as np

    from bayeskit.arrow_arrays import arrow_array
    from bayeskit.cli.outputs import beside
    from bayeskit.export.names import PREDICTED, probability_names

    probabilities: Any = None
    with warnings.catch_warnings():
        labels = model.predict(rows)
        warnings.simplefilter("ignore")  # already reported
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(rows)
    columns = [(PREDICTED, arrow_array(labels))] if decide is None else [*decide(probabilities).items()]
    if proba:
        columns += zip(probability_names(model.classes_.tolist()), probabilities.T, strict=True)
    elif decide is None and probabilities is not None:
        position = {label: i for i, label in enumerate(model.classes_.tolist())}
        index = np.fromiter(map(position.__getitem__, labels.tolist()), np.intp, len(labels))
        columns.append(("probability", probabilities[np.arange(len(labels)), index]))
    together = beside(kept, columns)
    return pa.table({name: arrow_array(c) if isinstance(c, np.ndarray) else c for name, c in together.items()})
