"""Answers of a network to queries, and the distributions and tables that hold answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, TooLarge
from bayeskit.nearest import nearest
from bayeskit.network.query import ColumnComparison, Negation, ProbabilityQuery, Statement
from bayeskit.tables import ProbabilityTable, Table
from bayeskit.typing import Bools, Floats


@dataclass(frozen=True, eq=False)
class Distribution(Drawable):
    """P(variable = value | condition) of each value.

    >>> die = Distribution("eyes", (1, 2, 3, 4, 5, 6), np.full(6, 1 / 6))
    >>> die.mean, round(die.standard_deviation, 6), round(die[3], 6)
    (3.5, 1.707825, 0.166667)
    """

    variable: str
    values: tuple[Value, ...]
    probabilities: Floats

    def __getitem__(self, value: Value) -> float:
        if value not in self.values:
            raise BayesError(f"{self.variable!r} has no value {value!r}: {nearest(value, self.values)}")
        return float(self.probabilities[self.values.index(value)])

    def table(self) -> Table:
        """Return a table with one row per value."""
        values = [str(value) if isinstance(value, bool) else value for value in self.values]
        return Table({self.variable: values, "probability": self.probabilities.tolist()})

    @property
    def mean(self) -> float:
        """Mean of a numeric variable."""
        return float(self._numbers @ self.probabilities)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of a numeric variable."""
        return sqrt(float((self._numbers - self.mean) ** 2 @ self.probabilities))

    @property
    def _numbers(self) -> Floats:
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values):
            raise BayesError(f"{self.variable!r} has no mean, for its values are not numbers: {list(self.values)[:6]}")
        return np.array(self.values, dtype=np.float64)


def conditional_table(variable: str, values: Any, given: Any, shares: Floats, counts: Any = None) -> ProbabilityTable:
    """Return the table of P(variable | given), one row per context, with the number of rows if they were counted."""
    columns = {name: [str(v) if isinstance(v, bool) else v for v in listed] for name, listed in given.items()}
    contexts = [" · ".join(map(str, context)) for context in zip(*columns.values(), strict=True)] or ["all"]
    if counts is not None:
        columns["count"] = list(counts)
    bar = f" | {', '.join(given)}" if given else ""
    columns |= {f"P({variable} = {value}{bar})": shares[:, i].tolist() for i, value in enumerate(values)}
    names, keys, states = " · ".join(given) or "nothing", max(len(given), 1), tuple(values)
    return ProbabilityTable(
        columns, keys=keys, variable=variable, values=states, given=names, contexts=contexts, shares=shares
    )


if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


# -- a network ----------------------------------------------------------------------------------------


def answer_from_network(n: BayesianNetwork, query: ProbabilityQuery) -> float:
    """Return P(event | condition) by a network.

    Parts of the question that are about one variable become findings on it; a table is made only over the variables
    that "or" and "not" tie together. Where that table would be too large, the opposite event may need a smaller one.
    """
    query.check_columns(n.nodes)
    query.check_asks_probability()
    try:
        return _ratio(n, query, query.event)
    except TooLarge as problem:
        try:
            return 1.0 - _ratio(n, query, Negation(query.event))
        except TooLarge:
            raise problem from None


def distribution_from_network(n: BayesianNetwork, query: ProbabilityQuery) -> Distribution:
    """Return P(variable = value | condition) of each value by a network."""
    query.check_columns(n.nodes)
    name = query.queried_variable("node")
    if query.asks == "E":
        query.check_numbers(n._domains[name])
    tied, table, log_p = _Conjunction(n, query, query.conditions).table(n._reader.index[name])
    shares = np.moveaxis(table, tied.index(n._reader.index[name]), -1)
    shares = shares.reshape(-1, shares.shape[-1]).sum(axis=0)
    if log_p == -np.inf or not shares.sum() > 0:
        raise query.impossible_condition_error()
    return Distribution(name, n.states[name], np.asarray(shares / shares.sum(), dtype=np.float64))


def _ratio(n: BayesianNetwork, query: ProbabilityQuery, event: Statement) -> float:
    log_condition = _Conjunction(n, query, query.conditions).log_probability()
    if log_condition == -np.inf:
        raise query.impossible_condition_error()
    log_both = _Conjunction(n, query, [*query.conditions, *event.conjuncts()]).log_probability()
    return min(1.0, float(logspace.exp(log_both - log_condition)))


@dataclass
class _Conjunction:
    """Conjunction of statements: likelihoods of single variables, and statements over several."""

    n: BayesianNetwork
    query: ProbabilityQuery
    statements: list[Statement]
    likelihoods: dict[int, Floats] = field(default_factory=dict)
    rest: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        for statement in self.statements:
            columns = {leaf.column for leaf in statement.leaves()}
            if len(columns) > 1:
                self.rest.append(statement)
                continue
            v = self.n._reader.index[columns.pop()]
            mask = statement.evaluate(self._holds).astype(np.float64)
            self.likelihoods[v] = self.likelihoods[v] * mask if v in self.likelihoods else mask

    def _holds(self, comparison: ColumnComparison) -> Bools:
        return self.query.values_where(comparison, self.n._domains[comparison.column])

    def log_probability(self) -> float:
        """Return ln P(all statements)."""
        _, table, log_p = self.table()
        if not self.rest or log_p == -np.inf:
            return log_p
        return float(log_p + logspace.log(table.sum()))

    def table(self, *nodes: int) -> tuple[list[int], Floats, float]:
        """Return the tied variables, their table where the statements hold, and ln P(the others)."""
        tied = sorted({self.n._reader.index[leaf.column] for one in self.rest for leaf in one.leaves()}.union(nodes))
        table, log_p = self.n._joint_table(tied, self.likelihoods)
        axis = {self.n.nodes[v]: i for i, v in enumerate(tied)}

        def spread(comparison: ColumnComparison) -> Bools:
            shape = [1] * len(tied)
            shape[axis[comparison.column]] = -1
            return self._holds(comparison).reshape(shape)

        mask: Bools = np.ones([1] * len(tied), dtype=bool)
        for statement in self.rest:
            mask = mask & statement.evaluate(spread)
        return tied, np.where(mask, table, 0.0), log_p
