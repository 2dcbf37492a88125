"""Networks and joint distributions in model files: given tables as arrays, learned ones as counts.

Names, states, cut points and probabilities of a file are validated. ``memory_limit`` is not stored, since it belongs to
the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import isfinite, prod
from typing import Any

import numpy as np

from bayeskit.data.schema import NO_TARGET
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.errors import BadFile, BayesError, with_article
from bayeskit.estimate.cuts import labels
from bayeskit.network.inputs import MOST_PARENTS, read_parents
from bayeskit.network.learning import NetworkTally
from bayeskit.storage.model_file import Saved, State
from bayeskit.tally.counts import ContextCounts
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import OFF_ONE
from bayeskit.typing import Floats

Values = Mapping[str, tuple[Value, ...]]
Cuts = dict[str, tuple[float, ...]]


# -- networks ----------------------------------------------------------------------------------------


def network_content(network: Any) -> Saved:
    """Return the file content of a network."""
    name = type(network).__name__
    if network.tally_ is not None:
        return Saved(name, {"smoothing": network.smoothing}, network.tally_.tally)
    listed = [[node, list(network.parents[node]), list(network.states[node])] for node in network.nodes]
    header = {"nodes": listed, "cuts": _listed_cuts(network.cuts)}
    tables = [network.array(node).ravel() for node in network.nodes]
    return Saved(name, {}, None, State(header, [np.concatenate(tables)]))


def restore_counts(tally: Tally) -> NetworkTally:
    """Restore the counts of a network from a file."""
    contexts = tally.statistics.get(ContextCounts.kind)
    if not isinstance(contexts, ContextCounts) or tally.statistics.keys() != {ContextCounts.kind, "families"}:
        raise BadFile("a network is made of counts of each node given its parents, and the file holds others")
    parents = {names[-1]: names[:-1] for names in contexts.tables}
    once = len(parents) == len(contexts.tables) and {*parents} == {*tally.schema.used} == {*tally.families}
    if not once or tally.schema.target != NO_TARGET:
        raise BadFile("the counts of a network have one table for each column, and these have not")
    # Raises an error for cycles
    read_parents([(above, node) for node, names in parents.items() for above in names], parents)
    return NetworkTally(tally, parents).checked()


def restore_tables(state: State) -> tuple[dict[str, tuple[str, ...]], Values, dict[str, Floats], Cuts]:
    """Read parents, states, tables and cut points of a network from a file."""
    state.holds(1, "nodes", "cuts")
    listed = _listed_values((node, states) for node, _, states in state.header["nodes"])
    nodes, sizes = list(listed), {node: len(states) for node, states in listed.items()}
    edges = [(above, node) for node, parents, _ in state.header["nodes"] for above in parents]
    parents = {node: tuple(above) for node, above in read_parents(edges, nodes).items()}
    if any(len(above) > MOST_PARENTS for above in parents.values()):
        raise BadFile(f"a node has more than {MOST_PARENTS} parents")
    shapes = {node: (prod(sizes[above] for above in parents[node]), sizes[node]) for node in nodes}
    whole = state.numbers(0, sum(rows * width for rows, width in shapes.values()))
    tables, at = {}, 0
    for node, (rows, width) in shapes.items():
        tables[node] = np.ascontiguousarray(whole[at : at + rows * width].reshape(rows, width))
        _check_distribution(tables[node], f"the table of {node!r}")
        at += rows * width
    values = _check_values(listed)
    return parents, values, tables, _check_cuts(state.header["cuts"], values)


# -- joint distributions -----------------------------------------------------------------------------


def joint_content(joint: Any) -> Saved:
    """Return the file content of a joint distribution."""
    most = max(len(listed) for listed in joint.values.values())
    codes = np.array([joint.codes[variable] for variable in joint.variables], dtype="u1" if most <= 256 else "u4")
    rows = joint.n_rows.item() if isinstance(joint.n_rows, np.generic) else joint.n_rows
    listed = [[variable, list(values)] for variable, values in joint.values.items()]
    header = {"variables": listed, "rows": rows, "cuts": _listed_cuts(joint.cuts)}
    return Saved(type(joint).__name__, {}, None, State(header, [joint.p, codes]))


def joint_parts(state: State) -> tuple[Values, dict[str, Any], Floats, float | None, Cuts]:
    """Read values, codes, probabilities, row count and cut points of a joint distribution from a file."""
    state.holds(2, "variables", "rows", "cuts")
    values = _check_values(_listed_values(state.header["variables"]))
    p = state.numbers(0, len(state.arrays[0]) if state.arrays[0].ndim == 1 else 1)
    codes, sizes = state.arrays[1], np.array([len(listed) for listed in values.values()])
    fits = codes.dtype.kind == "u" and codes.shape == (len(sizes), len(p)) and len(p)
    if not fits or (codes.max(axis=1) >= sizes).any():
        raise BadFile("the cells of a joint distribution do not fit its variables")
    _check_distribution(p[None], "a joint distribution")
    rows = state.header["rows"]
    if rows is not None and (type(rows) not in (int, float) or not 0 < rows < np.inf):
        raise BadFile(f"a joint distribution cannot be of {rows!r} rows")
    return values, dict(zip(values, codes, strict=True)), p, rows, _check_cuts(state.header["cuts"], values)


# -- shared ------------------------------------------------------------------------------------------


def check_class(distribution: object, known: type) -> None:
    """Raise an error for a subclass, which cannot be saved."""
    if type(distribution) is not known:
        who = with_article(type(distribution).__name__)
        raise BayesError(f"{who} cannot be saved: save the {known.__name__} that it is made of")


def _listed_cuts(cuts: Mapping[str, Sequence[float]]) -> list[Any]:
    return [[name, [float(cut) for cut in points]] for name, points in cuts.items()]


def _listed_values(entries: Iterable[tuple[Any, Any]]) -> dict[str, Sequence[Any]]:
    """Return the values of each variable as the file lists them; a long list is not read yet."""
    listed: dict[str, Sequence[Any]] = {}
    for name, values in entries:
        is_named = isinstance(name, str) and name not in listed and name == canonical(name)
        if not is_named or isinstance(values, str) or not len(values):
            raise BadFile(f"the variable {name!r} has no values, or no name of its own")
        listed[name] = values
    if not listed:
        raise BadFile("a distribution is over at least one variable, and the file names none")
    return listed


def _check_values(listed: Mapping[str, Sequence[Any]]) -> dict[str, tuple[Value, ...]]:
    """Read the values of each variable: each once."""
    values: dict[str, tuple[Value, ...]] = {}
    for name, own in listed.items():
        known = [plain for value in own if (plain := canonical(value)) is not None]
        if len({*known}) < len(own):
            raise BadFile(f"the values of {name!r} are not each there once")
        values[name] = tuple(known)
    return values


def _check_cuts(listed: Any, values: Values) -> Cuts:
    """Check cut points: ascending, with their intervals as values."""
    cuts: Cuts = {}
    for name, points in listed:
        finite = all(type(x) in (int, float) and isfinite(x) for x in points)
        rising = finite and all(a < b for a, b in pairwise(points))
        if name not in values or name in cuts or not rising or tuple(labels(tuple(points))) != values[name]:
            raise BadFile(f"the cut points of {name!r} do not fit its values")
        cuts[name] = tuple(map(float, points))
    return cuts


def _check_distribution(table: Floats, what: str) -> None:
    if (table < 0).any() or (np.abs(table.sum(axis=1) - 1) > OFF_ONE).any():
        raise BadFile(f"{what} holds what are not probabilities, or do not sum to one")
