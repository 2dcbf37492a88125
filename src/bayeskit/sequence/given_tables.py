"""A model of probabilities that are given, not learnt: start, transitions, and what each state emits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayeskit.data.schema import Categorical, Numeric, Role, Schema, Target
from bayeskit.data.vocabulary import Value, canonical, sort_values
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions.emission import Scale, Sums
from bayeskit.sequence.state_beliefs import StateSums
from bayeskit.tolerance import SLACK
from bayeskit.typing import Floats


class GivenTables(NamedTuple):
    """What the tables say: a schema, sums of which the probabilities are the estimate, and scales."""

    schema: Schema
    sums: StateSums
    scales: dict[str, Scale]


def given_tables(start: Any, transitions: Any, emissions: Any) -> GivenTables:
    """From ``{state: P}``, ``{state: {state: P}}``, and for one column ``{state: {symbol: P}}`` or ``{state: (mean,
    variance)}``, or ``{column: …}`` of these."""
    states = tuple(sort_values([_named(state) for state in start]))
    alone = {*emissions} == {*start}
    columns: Mapping[str, Any] = {"x0": emissions} if alone else emissions
    first = _table({"": start}, [""], states, "start")[0]
    moves = _table(transitions, states, states, "transitions")
    roles: dict[str, Role] = {}
    symbols: list[Sums] = []
    means, spreads = [], []
    for name, of in columns.items():
        if {*of} != {*start}:
            raise BayesError(f"column {name!r} says nothing of a state, or names one that is not there", culprit=name)
        if all(isinstance(cell, Mapping) for cell in of.values()):
            values = tuple(sort_values(dict.fromkeys(_named(v) for cell in of.values() for v in cell)))
            roles[name] = Categorical(values)
            symbols.append((_table(of, states, values, f"column {name!r}"),))
            continue
        roles[name] = Numeric()
        pairs = np.array([of[state] for state in states], dtype=np.float64)
        if pairs.shape != (len(states), 2) or not np.isfinite(pairs).all() or (pairs[:, 1] <= 0).any():
            raise BayesError(f"column {name!r}: a state has a mean and a variance above 0", culprit=name)
        means.append(pairs[:, 0])
        spreads.append(pairs[:, 1])
    scales = {
        name: Scale(float(mean.mean()), float(spread.mean() + mean.var()))
        for name, mean, spread in zip(
            [n for n, r in roles.items() if isinstance(r, Numeric)], means, spreads, strict=True
        )
    }
    sums = list(symbols)
    if means:
        mean, spread = np.column_stack(means), np.column_stack(spreads)
        away = mean - np.array([scale.mean for scale in scales.values()])
        sums.append((np.ones_like(away), away, spread + away**2))
    return GivenTables(Schema(roles, Target("state", states), not alone), StateSums(first, moves, tuple(sums)), scales)


def _named(value: Any) -> Value:
    name = canonical(value)
    if name is None:
        raise BayesError("a state or a symbol of a table has no name")
    return name


def _table(given: Any, rows: Any, columns: tuple[Value, ...], what: str) -> Floats:
    """Rows of probabilities that sum to one."""
    table = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        own = {_named(key): float(p) for key, p in given[row].items()}
        unknown = [key for key in own if key not in columns]
        if unknown:
            raise BayesError(f"{what} names {unknown[0]!r}, which is not there", culprit=unknown[0])
        table[i] = [own.get(column, 0.0) for column in columns]
        if (table[i] < 0).any() or abs(table[i].sum() - 1) > SLACK:
            of = f" of {row!r}" if row else ""
            raise BayesError(f"{what}{of}: the probabilities sum to {table[i].sum():g}, not to 1", culprit=row)
    return np.asarray(table / table.sum(axis=1, keepdims=True))
