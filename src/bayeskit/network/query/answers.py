"""Answers: a query of a network, by tables over no more variables than it needs; a query of data, by counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Categorical, Numeric, Role, Schema
from bayeskit.data.source import Source, by_name
from bayeskit.errors import QueryError, TooLarge
from bayeskit.estimate.conjugate import BetaBernoulli
from bayeskit.network.query.grammar import Comparison, Negation, Query, Statement, leaves
from bayeskit.network.query.truth import (
    Domain,
    Mask,
    compare,
    conjuncts,
    evaluate,
    holds,
    impossible,
    number,
    unknown_column,
)

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork

Floats = npt.NDArray[np.float64]


# -- a network ----------------------------------------------------------------------------------------


def of_network(n: BayesianNetwork, query: Query) -> float:
    """P(event | condition) by a network.

    Parts of the question that are about one variable become findings on it; a table is made only over the variables
    that "or" and "not" tie together. Where that table would be too large, the opposite event may need a smaller one.
    """
    for column in query.columns:
        if column not in n.states:
            raise unknown_column(query, column, n.nodes)
    try:
        return _ratio(n, query, query.event)
    except TooLarge as problem:
        try:
            return 1.0 - _ratio(n, query, Negation(query.event))
        except TooLarge:
            raise problem from None


def _ratio(n: BayesianNetwork, query: Query, event: Statement) -> float:
    condition = _Side(n, query, [] if query.condition is None else conjuncts(query.condition))
    both = _Side(n, query, [*([] if query.condition is None else conjuncts(query.condition)), *conjuncts(event)])
    log_condition = condition.log_probability()
    if log_condition == -np.inf:
        raise impossible(query)
    return min(1.0, float(logspace.exp(both.log_probability() - log_condition)))


@dataclass
class _Side:
    """Statements that hold together: findings on single variables, and the rest, which ties several."""

    n: BayesianNetwork
    query: Query
    statements: list[Statement]
    likelihoods: dict[int, Floats] = field(default_factory=dict)
    rest: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        for statement in self.statements:
            columns = {leaf.column for leaf in leaves(statement)}
            if len(columns) > 1:
                self.rest.append(statement)
                continue
            v = self.n.reader.index[columns.pop()]
            mask = evaluate(statement, self._holds).astype(np.float64)
            self.likelihoods[v] = self.likelihoods[v] * mask if v in self.likelihoods else mask

    def _holds(self, comparison: Comparison) -> Mask:
        return holds(self.query, comparison, self.n.domains[comparison.column])

    def log_probability(self) -> float:
        """log P(all statements)."""
        tied = sorted({self.n.reader.index[leaf.column] for one in self.rest for leaf in leaves(one)})
        table, log_p = self.n.joint_table(tied, self.likelihoods)
        if not self.rest or log_p == -np.inf:
            return log_p
        axis = {self.n.nodes[v]: i for i, v in enumerate(tied)}

        def spread(comparison: Comparison) -> Mask:
            shape = [1] * len(tied)
            shape[axis[comparison.column]] = -1
            return self._holds(comparison).reshape(shape)

        mask: Mask = np.ones([1] * len(tied), dtype=bool)
        for statement in self.rest:
            mask = mask & evaluate(statement, spread)
        return float(log_p + logspace.log(np.where(mask, table, 0.0).sum()))


# -- data ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What counting found: rows that match the condition, those that match the event too, and rows left out."""

    probability: float
    n_both: int
    n_condition: int
    n_rows: int
    n_left_out: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The credible interval of the probability under Jeffreys' prior, Beta(½, ½)."""
        seen = BetaBernoulli(0.5, 0.5, self.n_both, self.n_condition - self.n_both)
        return seen.credible_interval(level)


def of_data(source: Source, query: Query) -> Answer:
    """P(event | condition) as a relative frequency, batch by batch; no table is built.

    Rows in which a column that the question names is missing are left out.
    """
    kinds = source.kinds
    for column in query.columns:
        if column not in kinds:
            raise unknown_column(query, column, list(kinds))
    numeric = {name: kinds[name] in ("integer", "float") for name in query.columns}
    counter = _Counter(query, numeric)
    for block in counter.encoder.blocks(by_name(source)):
        counter.add(block)
    return counter.answer()


class _Counter:
    """Running counts over blocks of rows."""

    def __init__(self, query: Query, numeric: Mapping[str, bool]) -> None:
        self.query, self.numeric = query, numeric
        roles: dict[str, Role] = {
            name: Numeric() if is_number else Categorical() for name, is_number in numeric.items()
        }
        self.encoder = Encoder(Schema(roles), grow=True)
        self.n_rows = self.n_present = self.n_condition = self.n_both = 0
        self._bounds: dict[Comparison, list[float]] = {}
        self._domains: dict[str, Domain] = {}

    def add(self, block: Block) -> None:
        """Count the rows of one block."""
        present = np.ones(block.n_rows, dtype=bool)
        for values in block.floats.values():
            present &= ~np.isnan(values)
        for codes in block.codes.values():
            present &= codes > 0

        def leaf(comparison: Comparison) -> Mask:
            name = comparison.column
            if self.numeric[name]:
                return self._compared(comparison, block.floats[name])
            by_value = holds(self.query, comparison, self._domain(name), so_far=True)
            return np.concatenate([[False], by_value])[block.codes[name]]

        condition = present
        if self.query.condition is not None:
            condition = present & evaluate(self.query.condition, leaf)
        self.n_rows += block.n_rows
        self.n_present += int(present.sum())
        self.n_condition += int(condition.sum())
        self.n_both += int((condition & evaluate(self.query.event, leaf)).sum())

    def _domain(self, name: str) -> Domain:
        """The values met so far."""
        values = self.encoder.vocabularies[name].values
        if name not in self._domains or len(self._domains[name].values) != len(values):
            self._domains[name] = Domain(name, values)
        return self._domains[name]

    def _compared(self, comparison: Comparison, values: Floats) -> Mask:
        op = comparison.op
        if op == "true":
            if not np.isin(values[~np.isnan(values)], (0, 1)).all():
                what = f"{comparison.column!r} alone is no statement, for it holds other numbers than 0 and 1"
                raise self.query.error(comparison.at, what)
            return np.asarray(values == 1)
        if comparison not in self._bounds:
            self._bounds[comparison] = [number(self.query, token, op) for token in comparison.values]
        bounds = self._bounds[comparison]
        if op in ("in", "not in"):
            listed = np.isin(values, bounds)
            return ~listed if op == "not in" else listed
        return compare(values, op, bounds[0])

    def answer(self) -> Answer:
        """The answer from all blocks; values that never came and impossible conditions are refused here."""
        if not self.n_rows:
            raise QueryError("the data has no rows, so there is nothing to count")
        for side in (self.query.event, self.query.condition):
            for comparison in leaves(side) if side is not None else ():
                if not self.numeric[comparison.column] and self._domain(comparison.column).values:
                    holds(self.query, comparison, self._domain(comparison.column))
        left_out = self.n_rows - self.n_present
        if not self.n_condition:
            missing_rows = (
                f" ({left_out:,} of {self.n_rows:,} rows have a missing cell and were left out)" if left_out else ""
            )
            if self.query.condition is None:
                raise QueryError(f"there is no row to count{missing_rows}")
            raise QueryError(f"{impossible(self.query)}: no row matches it{missing_rows}")
        return Answer(self.n_both / self.n_condition, self.n_both, self.n_condition, self.n_rows, left_out)
