"""Answers to queries: from a network by inference, from data by counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import logspace
from bayeskit.beliefs import BetaBernoulli
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Categorical, Numeric, Role, Schema
from bayeskit.data.source import Source, by_name
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, QueryError, TooLarge
from bayeskit.nearest import nearest
from bayeskit.network.query import (
    IS_MISSING,
    ColumnComparison,
    Domain,
    Negation,
    ProbabilityQuery,
    Statement,
    check_numbers,
    compare,
    conjuncts,
    evaluate,
    impossible_condition_error,
    leaves,
    no_mean_error,
    number,
    values_where,
)
from bayeskit.tables import ProbabilityTable, Table
from bayeskit.tally.moments import Moments
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
            raise BayesError(f"{self.variable!r} has no mean, for its values are no numbers: {list(self.values)[:6]}")
        return np.array(self.values, dtype=np.float64)


def conditional_table(
    variable: str,
    values: Sequence[Value],
    given: Mapping[str, Sequence[Value]],
    shares: Floats,
    counts: Sequence[float] | None = None,
) -> ProbabilityTable:
    """Return the table of P(variable | given), one row per context, with the number of rows if they were counted."""
    columns: dict[str, Any] = {
        name: [str(v) if isinstance(v, bool) else v for v in listed] for name, listed in given.items()
    }
    contexts = [" · ".join(map(str, context)) for context in zip(*columns.values(), strict=True)] or ["all"]
    if counts is not None:
        columns["count"] = list(counts)
    bar = f" | {', '.join(given)}" if given else ""
    columns |= {f"P({variable} = {value}{bar})": shares[:, i].tolist() for i, value in enumerate(values)}
    return ProbabilityTable(
        columns,
        keys=max(len(given), 1),
        variable=variable,
        values=tuple(values),
        given=" · ".join(given) or "nothing",
        contexts=contexts,
        shares=shares,
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
        check_numbers(query, n._domains[name])
    tied, table, log_p = _Conjunction(n, query, query.conditions).table(n._reader.index[name])
    shares = np.moveaxis(table, tied.index(n._reader.index[name]), -1)
    shares = shares.reshape(-1, shares.shape[-1]).sum(axis=0)
    if log_p == -np.inf or not shares.sum() > 0:
        raise impossible_condition_error(query)
    return Distribution(name, n.states[name], np.asarray(shares / shares.sum(), dtype=np.float64))


def _ratio(n: BayesianNetwork, query: ProbabilityQuery, event: Statement) -> float:
    log_condition = _Conjunction(n, query, query.conditions).log_probability()
    if log_condition == -np.inf:
        raise impossible_condition_error(query)
    log_both = _Conjunction(n, query, [*query.conditions, *conjuncts(event)]).log_probability()
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
            columns = {leaf.column for leaf in leaves(statement)}
            if len(columns) > 1:
                self.rest.append(statement)
                continue
            v = self.n._reader.index[columns.pop()]
            mask = evaluate(statement, self._holds).astype(np.float64)
            self.likelihoods[v] = self.likelihoods[v] * mask if v in self.likelihoods else mask

    def _holds(self, comparison: ColumnComparison) -> Bools:
        return values_where(self.query, comparison, self.n._domains[comparison.column])

    def log_probability(self) -> float:
        """Return ln P(all statements)."""
        _, table, log_p = self.table()
        if not self.rest or log_p == -np.inf:
            return log_p
        return float(log_p + logspace.log(table.sum()))

    def table(self, *nodes: int) -> tuple[list[int], Floats, float]:
        """Return the tied variables, their table where the statements hold, and ln P(the others)."""
        tied = sorted({self.n._reader.index[leaf.column] for one in self.rest for leaf in leaves(one)}.union(nodes))
        table, log_p = self.n._joint_table(tied, self.likelihoods)
        axis = {self.n.nodes[v]: i for i, v in enumerate(tied)}

        def spread(comparison: ColumnComparison) -> Bools:
            shape = [1] * len(tied)
            shape[axis[comparison.column]] = -1
            return self._holds(comparison).reshape(shape)

        mask: Bools = np.ones([1] * len(tied), dtype=bool)
        for statement in self.rest:
            mask = mask & evaluate(statement, spread)
        return tied, np.where(mask, table, 0.0), log_p


# -- data ---------------------------------------------------------------------------------------------

LISTED = 1000  # maximum number of distinct numbers whose shares are listed


@dataclass(frozen=True)
class RowCounts:
    """Number of rows that match the condition, of all rows, and of rows skipped for a missing cell."""

    n_condition: int
    n_rows: int
    n_left_out: int


@dataclass(frozen=True)
class ShareAnswer(RowCounts):
    """Share of the rows matching the condition that also match the event."""

    n_both: int

    @property
    def probability(self) -> float:
        """Relative frequency."""
        return self.n_both / self.n_condition

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the credible interval under Jeffreys' prior, Beta(½, ½)."""
        seen = BetaBernoulli(0.5, 0.5, self.n_both, self.n_condition - self.n_both)
        return seen.credible_interval(level)


@dataclass(frozen=True)
class ValueShares(RowCounts):
    """Counts of each value among the rows matching the condition: numbers by size, texts by frequency."""

    variable: str
    counts: Mapping[Value, int]

    def of(self, value: Value) -> ShareAnswer:
        """Return the share of one value."""
        return ShareAnswer(self.n_condition, self.n_rows, self.n_left_out, self.counts[value])


@dataclass(frozen=True)
class MeanAnswer(RowCounts):
    """Mean of a column over the rows matching the condition, and its sample standard deviation."""

    variable: str
    mean: float
    standard_deviation: float

    @property
    def standard_error(self) -> float:
        """Standard error of the mean."""
        return self.standard_deviation / sqrt(self.n_condition)


def answer_from_data(source: Source, query: ProbabilityQuery) -> ShareAnswer | ValueShares | MeanAnswer:
    """Return P(event | condition) as a relative frequency, batch by batch.

    Of a variable alone, the share of each of its values (of a boolean one, that of true); of ``E(variable | …)`` its
    mean. Rows in which a column that the question names is missing are left out; but a column of which it is asked
    whether it is missing may be, and such a cell is neither equal to a value nor different from one.
    """
    kinds = source.kinds
    query.check_columns(kinds)
    numeric = {name: kinds[name] in ("integer", "float") for name in query.columns}
    if query.asks == "E" and query.variable is not None and not numeric[query.variable.column]:
        raise no_mean_error(query, f"it is read as {kinds[query.variable.column]}")
    counter = _RowCounter(query, numeric)
    for block in counter.encoder.blocks(by_name(source)):
        counter.add(block)
    return counter.answer()


class _RowCounter:
    """Running counts over blocks of rows."""

    def __init__(self, query: ProbabilityQuery, numeric: Mapping[str, bool]) -> None:
        self.query, self.numeric = query, numeric
        roles: dict[str, Role] = {
            name: Numeric() if is_number else Categorical() for name, is_number in numeric.items()
        }
        self.encoder = Encoder(Schema(roles), grow=True)
        self.n_rows = self.n_present = self.n_condition = self.n_both = 0
        maybe_missing = {leaf.column for leaf in query.comparisons if leaf.op in IS_MISSING}
        self._filled_in = set(query.columns) - maybe_missing
        self._variable = None if query.variable is None else query.variable.column
        if self._variable is not None:
            self._filled_in.add(self._variable)
        self._counts: Counter[float] = Counter()  # of numbers, or of codes
        self._moments = Moments.zeros(1, 1)
        self._zeros_and_ones = True
        self._bounds: dict[ColumnComparison, list[float]] = {}
        self._domains: dict[str, Domain] = {}

    def add(self, block: Block) -> None:
        """Count the rows of one block."""
        missing = {name: np.isnan(values) for name, values in block.floats.items()}
        missing |= {name: codes == 0 for name, codes in block.codes.items()}
        present = np.ones(block.n_rows, dtype=bool)
        for name in self._filled_in:
            present &= ~missing[name]

        def leaf(comparison: ColumnComparison) -> Bools:
            name = comparison.column
            if comparison.op in IS_MISSING:
                return missing[name] if comparison.op == "missing" else ~missing[name]
            if self.numeric[name]:
                return self._compared(comparison, block.floats[name]) & ~missing[name]
            holds = values_where(self.query, comparison, self._domain(name), so_far=True)
            return np.concatenate([[False], holds])[block.codes[name]]

        condition = present
        if self.query.condition is not None:
            condition = present & evaluate(self.query.condition, leaf)
        self.n_rows += block.n_rows
        self.n_present += int(present.sum())
        self.n_condition += int(condition.sum())
        if self._variable is None:
            self.n_both += int((condition & evaluate(self.query.event, leaf)).sum())
        elif self.numeric[self._variable]:
            numbers = block.floats[self._variable]
            raise_unusable({self._variable: numbers}, block.start)
            self._add_numbers(numbers, numbers[condition])
        else:
            counts = np.bincount(block.codes[self._variable][condition])
            self._counts.update({code: int(counts[code]) for code in np.flatnonzero(counts).tolist()})

    def _add_numbers(self, column: Floats, matching: Floats) -> None:
        """Add numbers to the mean, or to the counts while there are few enough to list."""
        if self.query.asks == "E":
            self._moments = self._moments + Moments.of(matching[:, None], np.zeros(len(matching)), n_classes=1)
            return
        self._zeros_and_ones &= bool(np.isin(column[~np.isnan(column)], (0, 1)).all())
        if len(self._counts) <= LISTED:
            numbers, counts = np.unique(matching, return_counts=True)
            self._counts.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def _domain(self, name: str) -> Domain:
        """Return the domain of values seen so far."""
        values = self.encoder.vocabularies[name].values
        if name not in self._domains or len(self._domains[name].values) != len(values):
            self._domains[name] = Domain(name, values)
        return self._domains[name]

    def _compared(self, comparison: ColumnComparison, values: Floats) -> Bools:
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

    def answer(self) -> ShareAnswer | ValueShares | MeanAnswer:
        """Return the answer; raise an error for unseen values and impossible conditions."""
        if not self.n_rows:
            raise QueryError("the data has no rows, so there is nothing to count")
        for comparison in self.query.comparisons:
            if comparison.op in IS_MISSING or comparison is self.query.variable:
                continue
            if not self.numeric[comparison.column] and self._domain(comparison.column).values:
                values_where(self.query, comparison, self._domain(comparison.column))
        left_out = self.n_rows - self.n_present
        if not self.n_condition:
            missing_rows = (
                f" ({left_out:,} of {self.n_rows:,} rows have a missing cell and were left out)" if left_out else ""
            )
            if self.query.condition is None:
                raise QueryError(f"there is no row to count{missing_rows}")
            raise QueryError(f"{impossible_condition_error(self.query)}: no row matches it{missing_rows}")
        rows = (self.n_condition, self.n_rows, left_out)
        if self._variable is None:
            return ShareAnswer(*rows, self.n_both)
        if self.query.asks == "E":
            n, squares = self.n_condition, float(self._moments.squared_deviations()[0, 0])
            deviation = sqrt(squares / (n - 1)) if n > 1 else float("nan")
            return MeanAnswer(*rows, self._variable, float(self._moments.mean()[0, 0]), deviation)
        return self._shares(rows, self._variable)

    def _shares(self, rows: tuple[int, int, int], name: str) -> ShareAnswer | ValueShares:
        """Return the share of each value, or that of true for a boolean column."""
        if self.numeric[name]:
            if self._zeros_and_ones:
                return ShareAnswer(*rows, self._counts[1.0])
            if len(self._counts) > LISTED:
                raise self.query.error(
                    self.query.event.at,  # type: ignore[union-attr]
                    f"{name!r} has more than {LISTED:,} different numbers to list: ask for its mean, E({name} | …), or "
                    f"compare it with one, {name} > …",
                )
            ordered = sorted(self._counts.items())
            return ValueShares(*rows, name, {int(x) if x.is_integer() else x: count for x, count in ordered})
        domain = self._domain(name)
        counts = np.array([self._counts[code] for code in range(1, len(domain.values) + 1)])
        if domain.boolean:
            true = values_where(self.query, self.query.event, domain)  # type: ignore[arg-type]
            return ShareAnswer(*rows, int(counts[true].sum()))
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], str(domain.values[i])))
        return ValueShares(*rows, name, {domain.values[i]: int(counts[i]) for i in order})
