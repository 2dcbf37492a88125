"""Sequences of rows: open, fit, predict, score, show and explain them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import typer

import bayeskit
from bayeskit import logspace
from bayeskit.arrow_arrays import arrow_array
from bayeskit.cli import summary
from bayeskit.cli.commands.explain import show_row
from bayeskit.cli.console import Page, plural, short, table_record
from bayeskit.cli.inputs import check_writable, columns_to_keep, first_event, open_data, save_model
from bayeskit.cli.options import roles_of
from bayeskit.cli.outputs import beside
from bayeskit.cli.saved_models import target_of
from bayeskit.cli.texts import refuse_text
from bayeskit.data.reader import read_batch
from bayeskit.data.schema import Ignored
from bayeskit.data.sequences import Sequences, label_values
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import cross_validate, evaluate_predictions
from bayeskit.explain.evidence import format_log_odds
from bayeskit.export.names import PREDICTED, probability_names
from bayeskit.lazy import pa
from bayeskit.models.base.estimator import clone
from bayeskit.tables import Figure

if TYPE_CHECKING:
    from bayeskit.cli.commands.change import ChangeOptions
    from bayeskit.cli.commands.fit import FitOptions, SequenceOptions, TableOptions
    from bayeskit.cli.options import Reading, RowOptions
    from bayeskit.evaluate.evaluation import Evaluation

N_STATES = re.compile(r"(\d+)(?:-(\d+))?")


def _classifies_sequences(model: Any) -> bool:
    """Return True if a model predicts a class for each sequence instead of a state for each row."""
    return type(model).__name__ == "SequenceClassifier"


def _open_sequences(model: Any, data: Sequence[str], reading: Reading, keep: Any = (), target: str = "") -> Any:
    """Return the files, the columns of the model, those to keep and the target, and their sequences."""
    source = open_data(data, None, reading)
    if model.sequence is None:
        raise BayesError("the model was not fitted on a table with a column of sequences: ask it in Python")
    asked = dict.fromkeys(filter(None, (*keep, target, model.sequence, model.order))) | _column_types(model)
    for name in asked:
        if name not in source.head:
            raise BayesError(f"{source.name} has no column {name!r} (it has: {', '.join(source.head)})")
    table = dict(read_batch(source.reading(asked), list(asked)).columns)
    return source, table, Sequences.of(table, sequence=model.sequence, order=model.order)


def _column_types(model: Any) -> dict[str, Any]:
    """Return the types of the model's columns: text or numbers."""
    part = next(iter(model.models_.values())) if _classifies_sequences(model) else model
    if not hasattr(part, "schema_"):  # a chain, whose symbols are its classes
        return {part.tally_.schema.target.name: _kind(part.symbols_)}
    schema, values = part.schema_, part.tally_.space.values
    return {name: "float" if name in schema.measured else _kind(values.get(name, ())) for name in schema.needed}


def _kind(values: Any) -> Any:
    return "string" if {type(value) for value in values} == {str} else None


def predict_data(model: Any, data: Sequence[str], rows: RowOptions, reading: Reading, proba: bool) -> Any:
    """Return the predictions as an Arrow table with one line per row or per sequence."""
    opened = open_data(data, None, reading)
    keep = list(opened.head) if rows.keep_all else columns_to_keep(opened.name, rows.keep or [], opened.head)
    if _classifies_sequences(model) and (rows.keep or rows.keep_all):
        raise BayesError(f"a line is a whole sequence here: beside its {model.sequence!r} no column of rows is kept")
    source, table, sequences = _open_sequences(model, data, reading, keep)
    classes = model.classes_.tolist()
    columns: dict[str, Any]
    if _classifies_sequences(model):
        labels, probabilities = model.predict(sequences).tolist(), model.predict_proba(sequences)
        columns = {model.sequence: list(sequences.ids or ())}
    else:
        labels = [state for states in model.predict(sequences) for state in states]
        probabilities = np.concatenate([np.zeros((0, len(classes))), *model.predict_proba(sequences)])
        back = np.argsort(sequences.rows) if sequences.rows is not None else np.arange(sequences.n_rows)
        labels, probabilities = [labels[i] for i in back.tolist()], probabilities[back]
        columns = (
            _keep_columns(source, keep) if keep and hasattr(source, "keeping") else {name: table[name] for name in keep}
        )
    answers: list[tuple[str, Any]] = [(PREDICTED, labels)]
    if proba:
        answers += zip(probability_names(classes), probabilities.T, strict=True)
    else:
        code = {label: j for j, label in enumerate(classes)}
        rows_and_labels = zip(probabilities, labels, strict=True)
        of_label = [row[code[label]] if label in code else np.nan for row, label in rows_and_labels]
        answers.append(("probability", np.array(of_label, dtype=np.float64)))
    columns = beside(columns, answers)
    return pa.table({n: arrow_array(x) if isinstance(x, (list, np.ndarray)) else x for n, x in columns.items()})


def _keep_columns(source: Any, keep: Sequence[str]) -> dict[str, Any]:
    """Return columns as they are in the files."""
    batches = [batch.kept for batch in source.keeping(keep).reading({keep[0]: "text"}).batches()]
    return {name: pa.chunked_array([batch[name] for batch in batches]) for name in keep}


def n_counted(model: Any) -> int | float:
    """Return the number of rows, or of whole sequences, that a model has counted."""
    if _classifies_sequences(model):
        return float(model.class_counts_.sum())
    counted = float(model.tally_.n_rows)
    if model.expected_statistics_ is not None:  # every row is a start, or a move from the one before
        sums = model.expected_statistics_.sums
        counted += round(float(sums.starts.sum() + sums.moves.sum()))
    return counted


def change_model(
    model: Any, path: str, action: str, data: Sequence[str], options: ChangeOptions, reading: Reading
) -> None:
    """Learn or forget the sequences of a file; with hidden states, update the model by the rows' expected states."""
    refuse_text(model, options.text)
    try:
        method = getattr(model, {"learn": "partial_fit", "forget": "forget"}[action])
    except AttributeError as problem:  # its message is the reason
        raise BayesError(f"{path}: {problem}") from None
    target = target_of(model)
    if action == "learn" and not _classifies_sequences(model) and target not in open_data(data, None, reading).head:
        method(_open_sequences(model, data, reading)[1])
    else:
        method(_open_sequences(model, data, reading, target=target)[1], target)


def evaluate_model(
    model: Any, data: Sequence[str], reading: Reading, folds: int | None, held_out: bool
) -> tuple[Any, list[Any]]:
    """Return the files and the evaluations of a model on labeled sequences."""
    target = target_of(model)
    source, table, sequences = _open_sequences(model, data, reading, target=target)
    evaluations = []
    if _classifies_sequences(model):
        rest, labels = sequences.of_sequence(target)
        if held_out:
            evaluations.append(_evaluate_test_set(model, rest, labels))
        elif hasattr(model, "leave_one_out"):
            evaluations.append(model.leave_one_out(rest, labels))
        elif folds is None:
            raise _no_leave_one_out("a SequenceClassifier of hidden states")
        if folds is not None:
            evaluations.append(cross_validate(_read_columns(model), rest, labels, folds))
        return source, evaluations
    labeled = Sequences.of(table, sequence=model.sequence, order=model.order, labels=target)
    if held_out:
        evaluations.append(_evaluate_states(model, [(model, labeled)], "held-out rows"))
    elif folds is None:
        raise _no_leave_one_out("a HiddenMarkovModel")
    if folds is not None:
        fitted = _fit_folds(_read_columns(model), model.states_.tolist(), labeled, folds)
        evaluations.append(_evaluate_states(model, fitted, f"{folds}-fold cross-validation"))
    return source, evaluations


def _no_leave_one_out(who: str) -> BayesError:
    advice = "use --folds 10, or --held-out if the sequences are new to the model"
    return BayesError(f"{who} has no leave-one-out in closed form: {advice}")


def _read_columns(model: Any) -> Any:
    """Return an unfitted copy of a model without its ignored columns, which are not read."""
    if _classifies_sequences(model):
        inner = model.model
        by_class = isinstance(inner, Mapping)
        read = {c: _read_columns(one) for c, one in inner.items()} if by_class else _read_columns(inner)
        return clone(model).set_params(model=read)
    roles = getattr(model, "roles", None)
    if not isinstance(roles, Mapping):
        return model
    read = {name: role for name, role in roles.items() if role != "ignore" and not isinstance(role, Ignored)}
    return clone(model).set_params(roles=read or None)


def _evaluate_test_set(model: Any, sequences: Any, labels: Any) -> Evaluation:
    true = label_values(labels, len(sequences))
    if None in true:
        raise BayesError(f"{sequences.name(true.index(None))} has no {model.target_!r} to compare with")
    shares, classes = model.class_counts_ / model.class_counts_.sum(), model.classes_.tolist()
    log_proba, predicted = model.predict_log_proba(sequences), model.predict(sequences).tolist()
    known = cast(list[Value], true)
    return evaluate_predictions("held-out sequences", model.target_, classes, shares, known, log_proba, predicted)


def _fit_folds(model: Any, states: Sequence[Value], sequences: Any, folds: int) -> Any:
    """Yield (a model of the other sequences, the sequences left out) of each fold."""
    if not 2 <= folds <= len(sequences):
        raise BayesError(f"--folds {folds}: give a whole number from 2 to the number of sequences ({len(sequences)})")
    fold = np.random.default_rng(0).permutation(len(sequences)) % folds
    for i in range(folds):
        rest = sequences.take(fold != i)
        yield clone(model).set_params(states=states).fit(rest, rest.labels), sequences.take(fold == i)


def _evaluate_states(model: Any, asked: Any, method: str) -> Evaluation:
    """Evaluate predicted states against known ones."""
    classes = model.states_.tolist()
    true, predicted, logs = list[Any](), list[Any](), []
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


def inspect_model(page: Page, path: str, model: Any, column: str | None, plot: str | None) -> None:
    """Show a model of sequences, or one of its tables."""
    from bayeskit.cli.commands.inspect import picture
    from bayeskit.cli.outputs import draw

    _show_model(page, model, column)
    draw(page, plot, lambda: picture(_table(model, column), f"column {column!r}"))
    page.json({"model": type(model).__name__, **_record(model)})


def _table(model: Any, part: str | None) -> Any:
    """Return the table of a part of a model; without a part, of the classes or of the transitions."""
    if part is None:
        return model.table()
    return model.table(_class_of(model, part) if _classifies_sequences(model) else part)


def _show_model(page: Page, model: Any, part: str | None = None) -> None:
    if part is not None:
        _show(page, _table(model, part))
        return
    page.line(str(model).splitlines()[0])
    page.line()
    if _classifies_sequences(model):
        _show(page, model.table())
        page.line("what was learned of a class: bayes inspect MODEL --column CLASS", style="dim")
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


def _show(page: Page, table: Any, form: Callable[[float], Figure] = short) -> None:
    page.table({name: [form(x) if isinstance(x, float) else x for x in table[name]] for name in table.column_names})


def _record(model: Any, evaluation: Any = None) -> dict[str, Any]:
    """Return the model as plain data."""
    if _classifies_sequences(model):
        pairs = zip(model.classes_.tolist(), model.class_counts_.tolist(), strict=True)
        counts = [{"class": label, "sequences": n} for label, n in pairs]
        scores = None if evaluation is None else summary.evaluation_record(evaluation)
        kind = type(next(iter(model.models_.values()))).__name__
        facts = {"target": model.target_, "classes": counts, "of": kind}
        return {"learned": "classes of sequences", **facts, "leave_one_out": scores}
    tables = {name: model.table(name) for name in ("start", "transitions", *model.schema_.used)}
    return {
        "learned": "states of rows",
        "target": target_of(model),
        "states": [str(state) for state in model.states_.tolist()],
        "tables": [{"of": name, "table": table_record(table)} for name, table in tables.items()],
    }


def explain_data(
    page: Page, path: str, model: Any, data: Sequence[str], numbers: list[int], against: str | None, reading: Reading
) -> None:
    """Explain the class of a sequence by its number, or the state of a row."""
    if not data:
        raise BayesError("name DATA, and sequences or rows of it are explained; bayes inspect shows the model")
    source, _, sequences = _open_sequences(model, data, reading)
    what, n = ("sequence", len(sequences)) if _classifies_sequences(model) else ("row", sequences.n_rows)
    for number in numbers:
        if number >= n:
            raise BayesError(f"{source.name} has {n:,} {what}s, counted from 0: there is no {what} {number}")
    rival = _class_of(model, against) if against else None
    records = []
    for i, number in enumerate(numbers):
        page.line() if i else None
        if _classifies_sequences(model):
            explanation = model.explain(sequences.take([number]), against=rival)[0]
            name = f"sequence {sequences.ids[number] if sequences.ids else number}"
            records.append(show_row(page, explanation, number, name))
            continue
        at = number if sequences.rows is None else int(np.flatnonzero(sequences.rows == number)[0])
        sequence, step = sequences.place(at)
        state = model.explain(sequences, step - 1, sequence - 1, against=rival)
        page.heading(f"row {number}: {state.sentences[0]}")
        _show(page, state.table, lambda odds: Figure(format_log_odds(odds)))
        page.line()
        page.sentences(state.sentences[1:])
        names = ("predicted", "probability", "against", "past", "future", "log_odds")
        observed = [{"column": name, "log_odds": odds} for name, odds in state.observation.items()]
        records.append({"row": number, **{name: getattr(state, name) for name in names}, "observation": observed})
    page.json({"model": path, "data": source.name, "rows": records})


def fit_sequences(
    data: list[str], shared: FitOptions, options: SequenceOptions, tables: TableOptions, reading: Reading, json: bool
) -> None:
    """Fit a model of sequences and save it."""
    output, target = shared.output, shared.target
    if target is None and options.states is None:
        raise typer.BadParameter("give --states K, or name the column of the states or classes", param_hint="--target")
    check_writable(output, is_model=True)
    page = Page(json, output=output)
    source = open_data(data, None, reading)
    table = dict(read_batch(source).columns)
    sequences = Sequences.of(table, sequence=options.sequence, order=options.order)
    whole = target is not None and _labels_sequences(options, sequences, target)
    if target is not None and whole:
        model = _classifier(options, shared, tables, sequences, target)
    else:
        model = _states(options, shared, tables, target)
    model.set_params(sequence=options.sequence, order=options.order)
    model._check_settings()
    model.fit(table, target) if target is not None else model.fit(table)
    written = save_model(model, output, first_event(model, source.name))
    page.line(f"{source.name}: {plural(len(sequences), 'sequence')} of {plural(sequences.n_rows, 'row')}")
    page.line()
    _show_model(page, model)
    evaluation = None
    if whole and shared.scores and hasattr(model, "leave_one_out") and len(sequences) > 1:
        evaluation = model.leave_one_out(table, target)
        page.line()
        summary.show_measures(page, evaluation)
    page.line()
    page.saved(output, written)
    facts = {"data": source.name, "sequences": len(sequences), "rows": sequences.n_rows}
    page.json(_record(model, evaluation) | facts | {"model": output, "bytes": written})


def _labels_sequences(options: SequenceOptions, sequences: Any, target: str) -> bool:
    """Return True if the target labels whole sequences: as set, or because it is constant within each."""
    if options.of is not None:
        return options.of == "sequences"
    if target not in sequences.columns:
        raise BayesError(f"there is no column {target!r} (columns: {', '.join(sequences.columns)})")
    try:
        sequences.of_sequence(target)
    except BayesError:
        return False
    return bool((sequences.lengths > 1).any())


def _states(options: SequenceOptions, shared: FitOptions, tables: TableOptions, target: str | None) -> Any:
    """Return a hidden Markov model, fitted by counting if the states are given."""
    for value, name in ((options.context, "--context"), (shared.prior, "--prior")):
        if value is not None:
            raise typer.BadParameter("is for classes of whole sequences, and these are states of rows", param_hint=name)
    return _hidden(options, shared, tables, None if target is not None and options.states is None else options.states)


def _hidden(options: SequenceOptions, shared: FitOptions, tables: TableOptions, states: str | None) -> Any:
    from bayeskit.cli.commands.fit import numeric_of

    amount = shared.amount
    if amount == "auto":
        raise typer.BadParameter("hidden states have no automatic smoothing: give a number", param_hint="--smoothing")
    roles, no_steps = roles_of(tables.role, tables.ignore), (options.sequence, options.order, shared.target)
    given = {
        "n_states": _parse_states(states),
        "smoothing": amount,
        "numeric": numeric_of(tables.numeric),
        "unseen": tables.unseen,
        "roles": {name: role for name, role in roles.items() if role != "ignore" or name not in no_steps} or None,
        "progress": sys.stderr.isatty() or None,
    }
    return bayeskit.HiddenMarkovModel(**{name: value for name, value in given.items() if value is not None})


def _parse_states(states: str | None) -> Any:
    """Return the number of states, or the numbers to choose from."""
    if states is None:
        return None
    match = N_STATES.fullmatch(states)
    if match is None or int(match[1]) < 1 or (match[2] and int(match[2]) <= int(match[1])):
        what = f"{states!r} is not a number of states, such as 3, and no range such as 2-8"
        raise typer.BadParameter(what, param_hint="--states")
    return int(match[1]) if match[2] is None else range(int(match[1]), int(match[2]) + 1)


def _classifier(options: SequenceOptions, shared: FitOptions, tables: TableOptions, sequences: Any, target: str) -> Any:
    """Return a classifier with one model per class: hidden states if their number is given, else a chain of symbols."""
    import bayeskit

    prior: dict[str, Any] = {} if shared.prior is None else {"prior": shared.prior}
    if options.states is not None:
        if options.context is not None:
            raise typer.BadParameter("is for chains of symbols: leave out --states", param_hint="--context")
        return bayeskit.SequenceClassifier(_hidden(options, shared, tables, options.states), **prior)
    columns = [name for name in sequences.columns if name != target]
    if len(columns) != 1 or sequences.kinds[columns[0]] == "float":
        what = f"sequences of {', '.join(columns)}"
        raise BayesError(f"{what} take hidden states: give --states K, the number in each class")
    for name, value in (("--numeric", tables.numeric), ("--role", tables.role), ("--ignore", tables.ignore)):
        if value is not None:
            raise typer.BadParameter("is for hidden states: add --states K", param_hint=name)
    given = {"order": options.context, "smoothing": shared.amount, "unseen": tables.unseen}
    chain = bayeskit.MarkovChain(**{name: value for name, value in given.items() if value is not None})
    return bayeskit.SequenceClassifier(chain, **prior)
