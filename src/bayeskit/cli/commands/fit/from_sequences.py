"""``bayes fit --sequence``: fit hidden states of sequential rows, or classes of whole sequences."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayeskit.cli.commands.fit.from_tables import TableOptions
from bayeskit.cli.commands.fit.shared import Shared
from bayeskit.cli.options import Reading, among, pairs

STATES = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class SequenceOptions:
    """Options for sequences."""

    sequence: Annotated[
        str | None,
        typer.Option("--sequence", metavar="COLUMN", help="The column that says to which sequence a row belongs."),
    ] = None
    order: Annotated[
        str | None,
        typer.Option("--order", metavar="COLUMN", help="Of sequences: rows are ordered by it; else as they stand."),
    ] = None
    states: Annotated[
        str | None,
        typer.Option(
            "--states", metavar="K|K-K", help="Of sequences: how many hidden states, or from how many to how many."
        ),
    ] = None
    of: Annotated[
        str | None,
        typer.Option(
            "--of",
            metavar="rows|sequences",
            autocompletion=among("rows", "sequences"),
            help="Of sequences: whether the target is of each row, or of the sequence.",
        ),
    ] = None
    context: Annotated[
        int | None,
        typer.Option("--context", metavar="N", min=1, help="Of whole sequences: how many symbols are looked back at."),
    ] = None


def fit_sequences(
    data: list[str], shared: Shared, options: SequenceOptions, tables: TableOptions, reading: Reading, json: bool
) -> None:
    """Fit a model of sequences and save it."""
    from bayeskit.cli.console import Page, plural, size_of
    from bayeskit.cli.inputs import check_writable, open_data, save_model
    from bayeskit.cli.of_sequences import inspected, read_whole, record_of
    from bayeskit.data.sequences import Sequences

    output, target = shared.output, shared.target
    if target is None and options.states is None:
        raise typer.BadParameter("give --states K, or name the column of the states or classes", param_hint="--target")
    check_writable(output, is_model=True)
    page = Page(json, sys.stderr if output == "-" else None)
    source = open_data(data, None, reading)
    table = read_whole(source, None)
    sequences = Sequences.of(table, sequence=options.sequence, order=options.order)
    whole = target is not None and _is_of_sequences(options, sequences, target)
    if target is not None and whole:
        model = _classifier(options, shared, tables, sequences, target)
    else:
        model = _states(options, shared, tables, target)
    model.set_params(sequence=options.sequence, order=options.order)
    model._check_settings()
    model.fit(table, target) if target is not None else model.fit(table)
    written = save_model(model, output)
    page.line(f"{source.name}: {plural(len(sequences), 'sequence')} of {plural(sequences.n_rows, 'row')}")
    page.line()
    inspected(page, model)
    evaluation = None
    if whole and shared.scores and hasattr(model, "leave_one_out") and len(sequences) > 1:
        from bayeskit.cli import summary

        evaluation = model.leave_one_out(table, target)
        page.line()
        summary.show_measures(page, evaluation)
    page.line()
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
    facts = {"data": source.name, "sequences": len(sequences), "rows": sequences.n_rows}
    page.json(record_of(model, evaluation) | facts | {"model": output, "bytes": written})


def _is_of_sequences(options: SequenceOptions, sequences: Any, target: str) -> bool:
    """Return True if the target labels whole sequences: as set, or because it is constant within each."""
    from bayeskit.errors import BayesError

    if options.of not in (None, "rows", "sequences"):
        raise typer.BadParameter(f"{options.of!r} is neither rows nor sequences", param_hint="--of")
    if options.of is not None:
        return options.of == "sequences"
    if target not in sequences.columns:
        raise BayesError(f"there is no column {target!r} (columns: {', '.join(sequences.columns)})")
    if not (sequences.lengths > 1).any():
        return False
    try:
        sequences.of_sequence(target)
    except BayesError:
        return False
    return True


def _states(options: SequenceOptions, shared: Shared, tables: TableOptions, target: str | None) -> Any:
    """Return a hidden Markov model, fitted by counting if the states are given."""
    for value, name in ((options.context, "--context"), (shared.prior, "--prior")):
        if value is not None:
            raise typer.BadParameter("is for classes of whole sequences, and these are states of rows", param_hint=name)
    return _hidden(options, shared, tables, None if target is not None and options.states is None else options.states)


def _hidden(options: SequenceOptions, shared: Shared, tables: TableOptions, states: str | None) -> Any:
    import bayeskit

    amount = shared.amount
    if amount == "auto":
        raise typer.BadParameter("hidden states have no automatic smoothing: give a number", param_hint="--smoothing")
    roles, no_steps = pairs("--role", tables.role), (options.sequence, options.order, shared.target)
    given = {
        "n_states": _numbers(states),
        "smoothing": amount,
        "numeric": tables.numeric,
        "unseen": tables.unseen,
        "roles": {name: role for name, role in roles.items() if role != "ignore" or name not in no_steps} or None,
        "progress": sys.stderr.isatty() or None,
    }
    return bayeskit.HiddenMarkovModel(**{name: value for name, value in given.items() if value is not None})


def _numbers(states: str | None) -> Any:
    """Return the number of states, or the numbers to choose from."""
    if states is None:
        return None
    match = STATES.fullmatch(states)
    if match is None or int(match[1]) < 1 or (match[2] and int(match[2]) <= int(match[1])):
        raise typer.BadParameter(
            f"{states!r} is no number of states, such as 3, and no range such as 2-8", param_hint="--states"
        )
    return int(match[1]) if match[2] is None else range(int(match[1]), int(match[2]) + 1)


def _classifier(options: SequenceOptions, shared: Shared, tables: TableOptions, sequences: Any, target: str) -> Any:
    """Return a classifier with one model per class: hidden states if their number is given, else a chain of symbols."""
    import bayeskit
    from bayeskit.errors import BayesError

    prior: dict[str, Any] = {} if shared.prior is None else {"prior": shared.prior}
    if options.states is not None:
        if options.context is not None:
            raise typer.BadParameter("is for chains of symbols: leave out --states", param_hint="--context")
        return bayeskit.SequenceClassifier(_hidden(options, shared, tables, options.states), **prior)
    columns = [name for name in sequences.columns if name != target]
    if len(columns) != 1 or sequences.kinds[columns[0]] == "float":
        raise BayesError(
            f"sequences of {', '.join(columns)} take hidden states: give --states K, the number in each class"
        )
    for name, value in (("--numeric", tables.numeric), ("--role", tables.role)):
        if value is not None:
            raise typer.BadParameter("is for hidden states: add --states K", param_hint=name)
    given = {"order": options.context, "smoothing": shared.amount, "unseen": tables.unseen}
    chain = bayeskit.MarkovChain(**{name: value for name, value in given.items() if value is not None})
    return bayeskit.SequenceClassifier(chain, **prior)
