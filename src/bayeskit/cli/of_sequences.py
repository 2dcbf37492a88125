"""Read, predict and show sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.tables.sheet import Figure

if TYPE_CHECKING:
    from bayeskit.cli.console import Page
    from bayeskit.cli.options import Reading, Rows
    from bayeskit.evaluate.evaluation import Evaluation


def is_of_sequences(model: Any) -> bool:
    """Return True if a model takes sequences of rows."""
    # by name, so that the module is not imported
    return type(model).__name__ in ("HiddenMarkovModel", "SequenceClassifier")


def is_of_whole_sequences(model: Any) -> bool:
    """Return True if a model predicts a class for each sequence instead of a state for each row."""
    return type(model).__name__ == "SequenceClassifier"


def target_of(model: Any) -> str:
    """Return the name of the predicted column."""
    return str(model.target_ if is_of_whole_sequences(model) else model.schema_.target.name)


def read_whole(source: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Read all rows of files as columns."""
    from bayeskit.data.reader import read_batch

    return dict(read_batch(source, names).columns)


def open_sequences(
    model: Any, data: Sequence[str], reading: Reading, keep: Sequence[str] = (), target: str = ""
) -> Any:
    """Return the files and their columns: those of the model, those to keep, and the target."""
    from bayeskit.cli.inputs import check_kept, open_data

    source = open_data(data, None, reading)
    if model.sequence is None:
        raise BayesError("the model was not fitted on a table with a column of sequences: ask it in Python")
    check_kept(source.name, list(keep), source.head)
    asked = dict.fromkeys(
        [*keep, *([target] if target else []), model.sequence, *([model.order] if model.order else [])]
    )
    for name, kind in _read_as(model).items():
        asked[name] = kind
    lacking = [name for name in asked if name not in source.head]
    if lacking:
        raise BayesError(f"{source.name} has no column {lacking[0]!r} (it has: {', '.join(source.head)})")
    return source, read_whole(source.reading(asked), list(asked))


def _read_as(model: Any) -> dict[str, Any]:
    """Return the types of the model's columns: text or numbers."""
    part = next(iter(model.models_.values())) if is_of_whole_sequences(model) else model
    if not hasattr(part, "schema_"):  # a chain, whose symbols are its classes
        return {part.tally_.schema.target.name: _kind(part.symbols_)}
    schema, values = part.schema_, part.tally_.space.values
    measured = {*schema.measured()}
    return {name: "float" if name in measured else _kind(values.get(name, ())) for name in schema.needed}


def _kind(values: Any) -> Any:
    return "string" if {type(value) for value in values} == {str} else None


def answered(model: Any, data: Sequence[str], rows: Rows, reading: Reading, proba: bool) -> Any:
    """Return the predictions as an Arrow table with one line per row or per sequence."""
    import pyarrow as pa

    from bayeskit.cli.inputs import open_data
    from bayeskit.data.sequences import Sequences

    keep = list(open_data(data, None, reading).head) if rows.keep_all else list(rows.keep or [])
    if is_of_whole_sequences(model) and (rows.keep or rows.keep_all):
        raise BayesError(f"a line is a whole sequence here: beside its {model.sequence!r} no column of rows is kept")
    _, table = open_sequences(model, data, reading, keep)
    sequences = Sequences.of(table, sequence=model.sequence, order=model.order)
    classes = model.classes_.tolist()
    if is_of_whole_sequences(model):
        labels, probabilities = model.predict(sequences).tolist(), model.predict_proba(sequences)
        columns = {model.sequence: list(sequences.ids or ())}
    else:
        labels = [state for states in model.predict(sequences) for state in states]
        probabilities = np.concatenate([np.zeros((0, len(classes))), *model.predict_proba(sequences)])
        back = np.argsort(sequences.rows) if sequences.rows is not None else np.arange(sequences.n_rows)
        labels, probabilities = [labels[i] for i in back.tolist()], probabilities[back]
        columns = {name: table[name] for name in keep}
    target = target_of(model)
    answers: dict[str, Any] = {target: labels}
    if proba:
        answers |= {f"P({label})": probabilities[:, j] for j, label in enumerate(classes)}
    else:
        code = {label: j for j, label in enumerate(classes)}
        of_label = [
            row[code[label]] if label in code else np.nan for row, label in zip(probabilities, labels, strict=True)
        ]
        answers["probability"] = np.array(of_label, dtype=np.float64)
    columns |= {name if name not in columns else f"predicted {name}": column for name, column in answers.items()}
    return pa.table({name: _as_column(column) for name, column in columns.items()})


def _as_column(cells: Any) -> Any:
    from bayeskit.arrow_arrays import arrow_array

    return arrow_array(cells) if isinstance(cells, (list, np.ndarray)) else cells


def how_many(model: Any) -> int | float:
    """Return the number of rows, or of whole sequences, that a model has counted."""
    if is_of_whole_sequences(model):
        return float(model.class_counts_.sum())
    counted = float(model.tally_.n_rows)
    if model.expected_statistics_ is not None:  # every row is a start, or a move from the one before
        sums = model.expected_statistics_.sums
        counted += round(float(sums.starts.sum() + sums.moves.sum()))
    return counted


def moved(model: Any, action: str, data: Sequence[str], reading: Reading) -> None:
    """Learn or forget the sequences of a file; with hidden states, update the model by the rows' expected states."""
    from bayeskit.cli.inputs import open_data

    method = {"learn": "partial_fit", "forget": "forget"}[action]
    getattr(model, method)  # raises an error with the reason if it is unavailable
    target = target_of(model)
    if action == "learn" and not is_of_whole_sequences(model) and target not in open_data(data, None, reading).head:
        _, table = open_sequences(model, data, reading)
        model.partial_fit(table)
        return
    _, table = open_sequences(model, data, reading, target=target)
    getattr(model, method)(table, target)


def scored(
    model: Any, data: Sequence[str], reading: Reading, folds: int | None, held_out: bool
) -> tuple[Any, list[Any]]:
    """Return the files and the evaluations of a model on labeled sequences."""
    from bayeskit.data.sequences import Sequences

    target = target_of(model)
    source, table = open_sequences(model, data, reading, target=target)
    sequences = Sequences.of(table, sequence=model.sequence, order=model.order)
    evaluations = []
    if is_of_whole_sequences(model):
        rest, labels = sequences.of_sequence(target)
        if held_out:
            evaluations.append(_held_out_classes(model, rest, labels))
        elif folds is None or hasattr(model, "leave_one_out"):
            if not hasattr(model, "leave_one_out"):
                raise BayesError(
                    "a SequenceClassifier of hidden states has no leave-one-out in closed form: use --folds 10, or "
                    "--held-out if the sequences are new to the model"
                )
            evaluations.append(model.leave_one_out(rest, labels))
        if folds is not None:
            from bayeskit.evaluate.cross_validation import cross_validate

            evaluations.append(cross_validate(_as_read(model), rest, labels, folds))
        return source, evaluations
    labelled = Sequences.of(table, sequence=model.sequence, order=model.order, labels=target)
    if held_out:
        evaluations.append(_judged_states(model, [(model, labelled)], "held-out rows"))
    elif folds is None:
        raise BayesError(
            "a HiddenMarkovModel has no leave-one-out in closed form: use --folds 10, or --held-out if the sequences "
            "are new to the model"
        )
    if folds is not None:
        folded = _folded(_as_read(model), model.states_.tolist(), labelled, folds)
        evaluations.append(_judged_states(model, folded, f"{folds}-fold cross-validation"))
    return source, evaluations


def _as_read(model: Any) -> Any:
    """Return an unfitted copy of a model without its ignored columns, which are not read."""
    from bayeskit.data.schema import Ignored
    from bayeskit.models.base.estimator import clone

    if is_of_whole_sequences(model):
        inner = model.model
        read = {label: _as_read(one) for label, one in inner.items()} if isinstance(inner, Mapping) else _as_read(inner)
        return clone(model).set_params(model=read)
    roles = getattr(model, "roles", None)
    if not isinstance(roles, Mapping):
        return model
    read = {name: role for name, role in roles.items() if role != "ignore" and not isinstance(role, Ignored)}
    return clone(model).set_params(roles=read or None)


def _held_out_classes(model: Any, sequences: Any, labels: Any) -> Evaluation:
    from bayeskit.data.sequences import label_values
    from bayeskit.evaluate.cross_validation import evaluate_predictions

    true = label_values(labels, len(sequences))
    if None in true:
        raise BayesError(f"{sequences.name(true.index(None))} has no {model.target_!r} to compare with")
    shares = model.class_counts_ / model.class_counts_.sum()
    log_proba, predicted = model.predict_log_proba(sequences), model.predict(sequences).tolist()
    return evaluate_predictions(
        "held-out sequences",
        model.target_,
        model.classes_.tolist(),
        shares,
        cast(list[Value], true),
        log_proba,
        predicted,
    )


def _folded(model: Any, states: Sequence[Value], sequences: Any, folds: int) -> Any:
    """Yield (a model of the other sequences, the sequences left out) of each fold."""
    from bayeskit.models.base.estimator import clone

    if not 2 <= folds <= len(sequences):
        raise BayesError(f"--folds {folds}: give a whole number from 2 to the number of sequences ({len(sequences)})")
    fold = np.random.default_rng(0).permutation(len(sequences)) % folds
    for i in range(folds):
        rest = sequences.take(fold != i)
        yield clone(model).set_params(states=states).fit(rest, rest.labels), sequences.take(fold == i)


def _judged_states(model: Any, asked: Any, method: str) -> Evaluation:
    """Evaluate predicted states against known ones."""
    from bayeskit import logspace
    from bayeskit.data.vocabulary import Vocabulary
    from bayeskit.evaluate.cross_validation import evaluate_predictions

    classes = model.states_.tolist()
    true: list[Any] = []
    predicted: list[Any] = []
    logs = []
    for fitted, sequences in asked:
        vocabulary = Vocabulary()
        codes = sequences.coded(sequences.labels, vocabulary, grow=True, name="state")
        known = codes >= 0
        of_rows = [state for states in fitted.predict(sequences) for state in states]
        posterior = np.concatenate([np.zeros((0, len(classes))), *fitted.predict_proba(sequences)])
        true += [vocabulary.values[code] for code in codes[known].tolist()]
        predicted += [state for state, there in zip(of_rows, known.tolist(), strict=True) if there]
        logs.append(logspace.log(posterior[known]))
    if not true:
        raise BayesError(f"there is no {target_of(model)!r} in any row to compare with")
    counts = model.tally_.class_counts
    shares = counts / counts.sum() if counts.sum() else np.full(len(classes), 1 / len(classes))
    return evaluate_predictions(method, target_of(model), classes, shares, true, np.concatenate(logs), predicted)


def inspected(page: Page, model: Any, part: str | None = None) -> None:
    """Show a model of sequences, or one of its tables."""
    if part is not None:
        _show(page, model.table(_class_of(model, part) if is_of_whole_sequences(model) else part))
        return
    page.line(str(model).splitlines()[0])
    page.line()
    if is_of_whole_sequences(model):
        _show(page, model.table())
        page.line("what was learnt of a class: bayes inspect MODEL --column CLASS", style="dim")
        return
    if hasattr(model, "selection_"):
        _show(page, model.selection_)
        page.line()
    _show(page, model.table("start"))
    page.line()
    _show(page, model.table("transitions"))
    for name in model.schema_.used:
        page.line()
        page.line(f"{name}, given the state", style="dim")
        _show(page, model.table(name))


def _class_of(model: Any, text: str) -> Any:
    return next((label for label in model.classes_.tolist() if str(label) == text), text)


def _show(page: Page, table: Any) -> None:
    columns = {name: [_figure(cell) for cell in table[name]] for name in table.column_names}
    page.table(columns)


def _signed(cell: Any) -> Any:
    from bayeskit.explain.evidence import format_log_odds

    return Figure(format_log_odds(cell)) if isinstance(cell, float) else cell


def _figure(cell: Any) -> Any:
    return Figure(f"{cell:.4g}") if isinstance(cell, float) else cell


def record_of(model: Any, evaluation: Any = None) -> dict[str, Any]:
    """Return the model as plain data."""
    from bayeskit.cli import summary

    if is_of_whole_sequences(model):
        counts = dict(zip(map(str, model.classes_.tolist()), model.class_counts_.tolist(), strict=True))
        scores = None if evaluation is None else summary.evaluation_record(evaluation)
        kind = type(next(iter(model.models_.values()))).__name__
        facts = {"target": model.target_, "classes": counts, "of": kind}
        return {"learnt": "classes of sequences", **facts, "leave_one_out": scores}
    tables = {name: model.table(name) for name in ("start", "transitions", *model.schema_.used)}
    return {
        "learnt": "states of rows",
        "target": target_of(model),
        "states": [str(state) for state in model.states_.tolist()],
        "tables": {name: {column: table[column] for column in table.column_names} for name, table in tables.items()},
    }


def explained(
    page: Page,
    model: Any,
    path: str,
    data: Sequence[str],
    numbers: list[int],
    against: str | None,
    reading: Reading,
) -> None:
    """Explain the class of a sequence by its number, or the state of a row."""
    from bayeskit.cli.commands.explain import record_of_row, show_row
    from bayeskit.data.sequences import Sequences

    source, table = open_sequences(model, data, reading)
    sequences = Sequences.of(table, sequence=model.sequence, order=model.order)
    n = len(sequences) if is_of_whole_sequences(model) else sequences.n_rows
    what = "sequence" if is_of_whole_sequences(model) else "row"
    beyond = [number for number in numbers if number >= n]
    if beyond:
        raise BayesError(f"{source.name} has {n:,} {what}s, counted from 0: there is no {what} {beyond[0]}")
    records = []
    for i, number in enumerate(numbers):
        page.line() if i else None
        if is_of_whole_sequences(model):
            explanation = model.explain(
                sequences.take([number]), against=_class_of(model, against) if against else None
            )[0]
            show_row(page, explanation, number, f"sequence {sequences.ids[number] if sequences.ids else number}")
            records.append(record_of_row(explanation, number))
            continue
        at = number if sequences.rows is None else int(np.flatnonzero(sequences.rows == number)[0])
        sequence, step = sequences.place(at)
        state = model.explain(sequences, step - 1, sequence - 1, against=_class_of(model, against) if against else None)
        page.line(f"row {number}: {state.sentences[0]}", style="bold")
        page.line()
        parts = state.table
        columns = {name: [_signed(cell) for cell in parts[name]] for name in parts.column_names}
        page.table(columns)
        page.line()
        for sentence in state.sentences[1:]:
            page.line(sentence)
        records.append(
            {
                "row": number, "predicted": state.predicted, "probability": state.probability, "against": state.against,
                "past": state.past, "observation": dict(state.observation), "future": state.future,
                "log_odds": state.log_odds,
            }
        )  # fmt: skip
    page.json({"model": path, "data": source.name, "rows": records})
