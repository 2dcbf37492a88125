"""Messages over a tree of tables: evidence in, posteriors out.

Formula: messages over a junction tree
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit.kernels.twins.checks import Floats, check_cells, check_threads

SMALLEST = 1e-280  # products of positive cells that stay above it have all their digits


def propagate(
    cliques: NDArray[np.int64],
    potentials: Floats,
    floors: Floats,
    to_separator: NDArray[np.int32],
    variables: NDArray[np.int64],
    states: NDArray[np.int32],
    observed: NDArray[np.int64],
    likelihoods: Floats,
    queried: NDArray[np.int64],
    n_threads: int,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Posteriors (rows, states of the queried variables), log evidence (rows,), and which rows lost no digits.

    A tree of tables, the parent of each before it: ``cliques`` holds (size, parent, size of the separator), the root's
    parent being -1 and its separator 1. A table's cells run through its separator first and slowest; ``to_separator``
    holds, for every table but the root, the separator's cell of each cell of the *parent's* table. ``floors`` bounds
    the positive cells of each table from below, 0 where that is not known. ``variables`` holds (home, number of
    states), and ``states`` the state of each cell of its home's table; ``likelihoods`` (rows, states of the observed
    variables) is what was found.
    A row is safe where no positive cell can have come near the smallest float. A row that is impossible has
    log evidence -inf and posteriors NaN.

    >>> one = np.array([[2, -1, 1], [4, 0, 2]])            # P(a), and below it P(b | a)
    >>> tables = np.array([0.25, 0.75, 0.5, 0.5, 0.1, 0.9])
    >>> homes, states = np.array([[0, 2], [1, 2]]), np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    >>> tree = one, tables, np.full(2, 0.1), np.array([0, 1], dtype=np.int32), homes, states
    >>> seen = np.array([[1.0, 0.0]])                       # b is 0: P(a | b = 0) = 0.125, 0.075 / 0.2
    >>> p, log_evidence, safe = propagate(*tree, np.array([1]), seen, np.array([0]), 1)
    >>> p.round(6).tolist(), np.exp(log_evidence).round(6).tolist(), safe.tolist()
    ([[0.625, 0.375]], [0.2], [True])
    """
    check_threads(n_threads)
    _check_tree(cliques, potentials, floors, to_separator, variables, states)
    for name, named in (("observed", observed), ("queried", queried)):
        check_cells(name, named, "int64", None)
        if np.any(named < 0) or np.any(named >= len(variables)):
            raise ValueError(f"{name} names a variable which is not there: {named}")
    n, widths = len(likelihoods), variables[observed, 1]
    check_cells("likelihoods", likelihoods, "float64", None, int(widths.sum()))
    size, parent, separator = cliques.T
    ends = np.cumsum(size)
    tables = [np.tile(potentials[end - s : end], (n, 1)) for s, end in zip(size, ends, strict=True)]
    down: list[Any] = [None, *np.split(to_separator, np.cumsum(size[parent[1:]])[:-1])]
    state_of = np.split(states, np.cumsum(size[variables[:, 0]])[:-1])
    floor = np.tile(floors, (n, 1))
    log_evidence = np.zeros(n)

    def scaled(message: Floats) -> Floats:
        top = message.max(axis=1)
        with np.errstate(divide="ignore"):
            log_evidence[:] += np.log(top)
        return message / np.where(top > 0, top, 1.0)[:, None]

    def least(message: Floats) -> Floats:
        return np.asarray(np.min(message, axis=1, where=message > 0, initial=1.0))

    for v, likelihood in zip(observed, np.split(likelihoods, np.cumsum(widths)[:-1], axis=1), strict=False):
        home, message = int(variables[v, 0]), scaled(likelihood)
        tables[home] *= message[:, state_of[v]]
        floor[:, home] *= least(message)
    messages: list[Any] = [None] * len(size)
    for i in range(len(size) - 1, 0, -1):
        messages[i] = scaled(tables[i].reshape(n, separator[i], size[i] // separator[i]).sum(axis=2))
        tables[parent[i]] *= messages[i][:, down[i]]
        floor[:, parent[i]] *= least(messages[i])
    with np.errstate(divide="ignore"):
        log_evidence += np.log(tables[0].sum(axis=1))
    log_below = log_evidence.copy()
    needed = np.zeros(len(size), dtype=bool)
    needed[variables[queried, 0]] = True
    for i in range(len(size) - 1, 0, -1):
        needed[parent[i]] |= needed[i]
    for i in (np.flatnonzero(needed[1:]) + 1).tolist():
        order = np.argsort(down[i], kind="stable")  # the parent's cells, those of each separator cell together
        message = tables[parent[i]][:, order].reshape(n, separator[i], len(order) // separator[i]).sum(axis=2)
        message = scaled(np.divide(message, messages[i], out=np.zeros_like(message), where=messages[i] > 0))
        tables[i] *= np.repeat(message, size[i] // separator[i], axis=1)
        floor[:, i] *= least(message)
    posteriors = [np.zeros((n, 0))]
    for v in queried:
        order = np.argsort(state_of[v], kind="stable")
        marginal = tables[variables[v, 0]][:, order].reshape(n, variables[v, 1], -1 if n else 0).sum(axis=2)
        with np.errstate(invalid="ignore"):
            posteriors.append(marginal / marginal.sum(axis=1, keepdims=True))
    return np.concatenate(posteriors, axis=1), log_below, np.asarray((floor > SMALLEST).all(axis=1))


def _check_tree(
    cliques: NDArray[np.int64],
    potentials: Floats,
    floors: Floats,
    to_separator: NDArray[np.int32],
    variables: NDArray[np.int64],
    states: NDArray[np.int32],
) -> None:
    check_cells("cliques", cliques, "int64", None, 3)
    check_cells("variables", variables, "int64", None, 2)
    if not len(cliques):
        raise ValueError("there are no tables")
    size, parent, separator = cliques.T
    rooted = parent[0] == -1 and np.all(parent[1:] >= 0) and np.all(parent[1:] < np.arange(1, len(size)))
    if not rooted or np.any(size < 1) or np.any(separator < 1) or np.any(size % separator):
        raise ValueError("the tables form no tree: each needs its parent before it and a separator that divides it")
    home, n_states = variables.T
    if np.any(home < 0) or np.any(home >= len(size)) or np.any(n_states < 1) or np.any(size[home] % n_states):
        raise ValueError("a variable has no home among the tables, or no states there")
    check_cells("potentials", potentials, "float64", int(size.sum()))
    check_cells("floors", floors, "float64", len(size))
    for name, cells, lengths, bounds in (
        ("to_separator", to_separator, size[parent[1:]], separator[1:]),
        ("states", states, size[home], n_states),
    ):
        check_cells(name, cells, "int32", int(lengths.sum()))
        if np.any(cells < 0) or np.any(cells >= np.repeat(bounds, lengths)):
            raise ValueError(f"{name} holds a cell that is not there")
