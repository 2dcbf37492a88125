"""Answer queries such as ``P(event | condition)`` from data, distributions, networks and models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import Any

import numpy as np

from bayeskit.beliefs.beta_dirichlet import BetaBernoulli
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.source import Source, by_name
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, QueryError, format_setting, with_article
from bayeskit.network.joint_distribution import JointDistribution
from bayeskit.network.network import BayesianNetwork
from bayeskit.network.query import IS_MISSING, ColumnComparison, Domain, ProbabilityQuery, compare, parse
from bayeskit.tables import Figure, Grid, Readable, Sheet
from bayeskit.tally.moments import Moments
from bayeskit.typing import Bools, Floats

Record = dict[str, Any]
LISTED = 1000  # maximum number of distinct numbers whose shares are listed


@dataclass(frozen=True, repr=False)
class Reply(Readable, Drawable):
    """Answer to a query; ``float(reply)`` is its number.

    Attributes
    ----------
    query : str
    probability : float or None
        Answer to P(event | condition).
    mean : float or None
        Answer to E(column | condition).
    distribution : dict or None
        Answer to P(column | condition): ``{value: probability}``.
    record : dict
        All results as plain data; for counted rows also the number of matching rows and the credible interval.

    Examples
    --------
    >>> from bayeskit import BayesianNetwork, ask
    >>> wet = BayesianNetwork([("rain", "wet")], {"rain": 0.2, "wet": {True: 0.9, False: 0.1}})
    >>> round(float(ask(wet, "P(rain | wet)")), 4)                    # 0.2 · 0.9 / (0.2 · 0.9 + 0.8 · 0.1)
    0.6923
    """

    query: str
    probability: float | None
    mean: float | None
    distribution: Mapping[Value, float] | None
    record: Record = field(compare=False)

    def __float__(self) -> float:
        number = self.mean if self.probability is None else self.probability
        if number is None:
            raise BayesError(f"{self.query} has a number for each value: ask for one of them, or read distribution")
        return float(number)

    @property
    def sheet(self) -> Sheet:
        """Answer in words; a distribution as a table."""
        first, *rest = lines(self.record)
        if self.distribution is None:
            return Sheet(first, tuple(rest))
        columns = {self.record["variable"]: [str(v) for v in self.distribution]}
        columns["probability"] = [Figure(f"{p:.6g}") for p in self.distribution.values()]
        return Sheet(first, (Grid(columns), *rest))


def ask(
    of: Any, question: str, *, level: float = 0.95, probability: str | None = None, count: str | None = None
) -> Reply:
    """Answer ``P(event | condition)``, ``P(column | condition)`` or ``E(column | condition)``.

    Parameters
    ----------
    of : table, path, BayesianNetwork, JointDistribution or model
        Rows and files are counted. Networks, distributions and models with tables (``NaiveBayes``, ``TAN``, ``KDB``)
        answer exactly.
    question : str
    level : float, default=0.95
        Level of the credible interval of a share of rows.
    probability, count : str, optional
        Column of probabilities or counts, if the rows are the cells of a distribution.

    Returns
    -------
    Reply

    Raises
    ------
    QueryError
        If the query is malformed or its condition has probability 0.

    Examples
    --------
    >>> from bayeskit.datasets import load_worked_example
    >>> tennis = load_worked_example("tennis")
    >>> reply = ask(tennis, "P(play = yes | wind = strong)")
    >>> float(reply), reply.record["matching"], reply.record["of"]
    (0.5, 3, 6)
    """
    query = parse(question)
    if isinstance(of, (int, float, complex)):
        raise BayesError(f"{of!r} is nothing to ask of: pass rows, a file, a network or a fitted model")
    if isinstance(of, (BayesianNetwork, JointDistribution)) or hasattr(of, "params_") or hasattr(of, "fit"):
        if probability is not None or count is not None:
            raise BayesError("probability= and count= name columns of a table, and this is a model")
        record = of_model(of, query)
    elif probability is not None or count is not None:
        record = of_table(open_source(of), query, probability, count)
    else:
        record = answer_from_data(open_source(of), query, level)
    return reply_of(record)


def reply_of(record: Record) -> Reply:
    """Build the reply of a record."""
    values = record.get("distribution")
    whole = None if values is None else {one["value"]: one["probability"] for one in values}
    return Reply(record["query"], record.get("probability"), record.get("mean"), whole, record)


# -- data ---------------------------------------------------------------------------------------------


def answer_from_data(source: Source, query: ProbabilityQuery, level: float = 0.95) -> Record:
    """Answer from data, batch by batch: relative frequencies with credible intervals, or a mean.

    Of a variable alone, the share of each of its values (of a boolean one, that of true). Rows in which a column that
    the question names is missing are left out; but a column of which it is asked whether it is missing may be, and such
    a cell is neither equal to a value nor different from one.
    """
    kinds = source.kinds
    query.check_columns(kinds)
    numeric = {name: kinds[name] in ("integer", "float") for name in query.columns}
    if query.asks == "E" and query.variable is not None and not numeric[query.variable.column]:
        raise query.no_mean_error(f"it is read as {kinds[query.variable.column]}")
    counter = _RowCounter(query, numeric)
    for block in counter.encoder.blocks(by_name(source)):
        counter.add(block)
    weights = [name for name in ("probability", "count") if name in kinds and name not in query.columns]
    return counter.answer(level) | {"weights": weights}


class _RowCounter:
    """Running counts over blocks of rows."""

    def __init__(self, query: ProbabilityQuery, numeric: Mapping[str, bool]) -> None:
        self.query, self.numeric = query, numeric
        self.encoder = Encoder(Schema({n: Numeric() if numeric[n] else Categorical() for n in numeric}), grow=True)
        self.n_rows = self.n_present = self.n_condition = self.n_both = 0
        self._variable = None if query.variable is None else query.variable.column
        may_be_missing = {leaf.column for leaf in query.comparisons if leaf.op in IS_MISSING} - {self._variable}
        self._filled_in = set(query.columns) - may_be_missing
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
            holds = self.query.values_where(comparison, self._domain(name), so_far=True)
            return np.concatenate([[False], holds])[block.codes[name]]

        condition = present
        if self.query.condition is not None:
            condition = present & self.query.condition.evaluate(leaf)
        self.n_rows += block.n_rows
        self.n_present += int(present.sum())
        self.n_condition += int(condition.sum())
        if self._variable is None:
            self.n_both += int((condition & self.query.event.evaluate(leaf)).sum())
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
                what = f"{comparison.column!r} alone is not a statement, for it holds other numbers than 0 and 1"
                raise self.query.error(comparison.at, what)
            return np.asarray(values == 1)
        if comparison not in self._bounds:
            self._bounds[comparison] = [self.query.number(token, op) for token in comparison.values]
        bounds = self._bounds[comparison]
        if op in ("in", "not in"):
            listed = np.isin(values, bounds)
            return ~listed if op == "not in" else listed
        return compare(values, op, bounds[0])

    def answer(self, level: float) -> Record:
        """Return the answer; raise an error for unseen values and impossible conditions."""
        query, n = self.query, self.n_condition
        if not self.n_rows:
            raise QueryError("the data has no rows, so there is nothing to count")
        for leaf in query.comparisons:
            if leaf.op in IS_MISSING or leaf is query.variable or self.numeric[leaf.column]:
                continue
            if (domain := self._domain(leaf.column)).values:
                query.values_where(leaf, domain)
        left_out = self.n_rows - self.n_present
        if not n:
            skipped = f" ({left_out:,} of {self.n_rows:,} rows have a missing cell and were left out)" * bool(left_out)
            if query.condition is None:
                raise QueryError(f"there is no row to count{skipped}")
            raise QueryError(f"{query.impossible_condition_error()}: no row matches it{skipped}")
        record: Record = {"query": query.text.strip()}
        if query.asks == "E":
            deviation = sqrt(float(self._moments.squared_deviations()[0, 0]) / (n - 1)) if n > 1 else float("nan")
            record |= {"mean": float(self._moments.mean()[0, 0]), "standard_deviation": deviation}
            record["standard_error"] = deviation / sqrt(n)
        elif isinstance(counts := self._matching(), int):
            record |= self._share(counts, level)
        else:
            values = [{"value": value} | self._share(count, level) for value, count in counts.items()]
            record |= {"variable": self._variable, "distribution": values}
        return record | {"of": n, "rows": self.n_rows, "left_out": left_out}

    def _share(self, n_both: int, level: float) -> Record:
        """Return the share, the number of matching rows and the credible interval under Jeffreys' prior, Beta(½, ½)."""
        low, high = BetaBernoulli(0.5, 0.5, n_both, self.n_condition - n_both).credible_interval(level)
        interval = {"level": level, "low": low, "high": high}
        return {"probability": n_both / self.n_condition, "matching": n_both, "interval": interval}

    def _matching(self) -> int | dict[Value, int]:
        """Count the rows where the event holds; of a column alone by value, numbers by size, texts by frequency."""
        name = self._variable
        if name is None:
            return self.n_both
        if self.numeric[name]:
            if self._zeros_and_ones:
                return self._counts[1.0]
            if len(self._counts) > LISTED:
                what = f"{name!r} has more than {LISTED:,} different numbers to list"
                way = f"ask for its mean, E({name} | …), or compare it with one, {name} > …"
                raise self.query.error(self.query.comparisons[0].at, f"{what}: {way}")
            return {int(x) if x.is_integer() else x: count for x, count in sorted(self._counts.items())}
        domain = self._domain(name)
        counts = np.array([self._counts[code] for code in range(1, len(domain.values) + 1)])
        if domain.boolean:
            return int(counts[self.query.values_where(self.query.comparisons[0], domain)].sum())
        order = sorted(range(len(counts)), key=lambda i: (-counts[i], str(domain.values[i])))
        return {domain.values[i]: int(counts[i]) for i in order}


# -- distributions, networks and models ---------------------------------------------------------------


def of_table(source: Source, query: ProbabilityQuery, probability: str | None, count: str | None) -> Record:
    """Answer from a table that is a distribution."""
    return of_model(JointDistribution.from_table(source, probability, count), query)


def of_model(model: Any, query: ProbabilityQuery) -> Record:
    """Answer exactly, from a joint distribution or from the network of a model."""
    joint = model if isinstance(model, JointDistribution) else None
    if joint is None and hasattr(model, "to_joint"):
        joint = model.to_joint()
    if joint is not None:
        return _exact(query, joint, joint.probability) | {"cells": joint.n_cells}
    network = network_of(model)
    columns = {} if model is network else model.schema_.columns
    for leaf in query.comparisons:
        if leaf.column in columns and leaf.column not in network.states:
            role = columns[leaf.column].name
            why = {"numeric": "it is measured, not counted", "ignore": "it is ignored"}.get(role, f"it is {role}")
            fit = f"fit it with {format_setting('numeric', 'histogram')}, or " if role == "numeric" else ""
            raise query.error(leaf.at, f"the model holds no table of {leaf.column!r} ({why}): {fit}ask the data")
    return _exact(query, network, network.query) | {"nodes": len(network.nodes)}


def _exact(query: ProbabilityQuery, of: BayesianNetwork | JointDistribution, probability: Any) -> Record:
    """Answer exactly; a boolean column alone is a statement."""
    record: Record = {"query": query.text.strip()}
    domain = None if query.variable is None else of._domains.get(query.variable.column)
    if query.asks == "P" and (domain is None or domain.boolean):
        record["probability"] = probability(query.text)
        if domain is None:
            return record
    whole = of.distribution(query.text)
    if query.asks == "E":
        return record | {"mean": whole.mean, "standard_deviation": whole.standard_deviation}
    values = zip(whole.values, whole.probabilities.tolist(), strict=True)
    listed = [{"value": value, "probability": share} for value, share in values]
    return record | {"variable": whole.variable, "distribution": listed}


def lines(record: Record) -> list[str]:
    """Return an answer in words, without the values of a distribution."""
    query = record["query"]
    if "probability" in record:
        sentences = [f"{query} = {record['probability']:.6g}"]
    elif "mean" in record:
        sentences = [f"{query} = {record['mean']:.6g}", f"standard deviation: {record['standard_deviation']:.6g}"]
    else:
        sentences = [f"{query}:"]
    if "nodes" in record:
        return [*sentences, f"exact, by a network of {record['nodes']} nodes"]
    if "cells" in record:
        return [*sentences, f"exact, by a table of {record['cells']:,} cells"]
    if "mean" in record and isfinite(record["standard_error"]):
        sentences[1] += f"; standard error of the mean: {record['standard_error']:.6g}"
    elif "mean" in record:
        del sentences[1]  # of one row
    counted = record["rows"] - record["left_out"]
    some = f" that match the condition ({counted:,} in all)" if record["of"] < counted else ""
    if "matching" in record:
        sentences.append(f"rows: {record['matching']:,} of the {record['of']:,}{some}")
    else:
        sentences.append(f"rows: the {record['of']:,}{some or ' there are'}")
    if "interval" in record:
        interval = record["interval"]
        bounds = f"{interval['low']:.6g} to {interval['high']:.6g}"
        sentences.append(f"{100 * interval['level']:g} % credible interval: {bounds}")
    if record["left_out"]:
        sentences.append(f"left out: {record['left_out']:,} rows with a missing cell in a column that is asked for")
    return sentences


def network_of(model: Any) -> BayesianNetwork:
    """Return a network as it is, and a model as the network of its tables."""
    if isinstance(model, BayesianNetwork):
        return model
    if getattr(getattr(model, "params_", None), "tables", None) is None or not hasattr(model, "to_network"):
        if hasattr(model, "fit"):
            from sklearn.utils.validation import check_is_fitted  # loads slowly

            check_is_fitted(model)
        who = with_article(type(model).__name__)
        member = ", or ask one of its members, model.to_network(column)" if hasattr(model, "to_network") else ""
        raise BayesError(f"{who} holds no tables to ask of; save a network, or a naive, tan or kdb model{member}")
    network: BayesianNetwork = model.to_network()
    return network
