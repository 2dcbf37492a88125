"""Ask anything: one question of data, of a distribution, of a network or of a model, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, format_setting, with_article
from bayeskit.tables.sheet import Figure, Grid, Readable, Sheet

if TYPE_CHECKING:
    from bayeskit.data.source import Source
    from bayeskit.data.vocabulary import Value
    from bayeskit.network.answers import Distribution, ShareAnswer, ValueShares
    from bayeskit.network.network import BayesianNetwork
    from bayeskit.network.query import Domain, ProbabilityQuery

Record = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Reply(Readable, Drawable):
    """The answer to a question, and what it rests on.

    ``probability`` of P(event | condition), ``distribution`` (value to probability) of P(column | condition), ``mean``
    of E(column | condition); the others are None. ``record`` has all of it as plain data: of rows also how many match,
    and the credible interval. A reply of one number is that number to ``float``.
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
        """The answer in words; all values as a table."""
        first, *rest = lines(self.record)
        if self.distribution is None:
            return Sheet(first, tuple(rest))
        columns = {self.record["variable"]: [str(v) for v in self.distribution]}
        columns["probability"] = [Figure(f"{p:.6g}") for p in self.distribution.values()]
        return Sheet(first, (Grid(columns), *rest))


def ask(
    of: Any, question: str, *, level: float = 0.95, probability: str | None = None, count: str | None = None
) -> Reply:
    """The answer to ``P(event | condition)``, ``P(column | condition)`` or ``E(column | condition)``.

    ``of``: rows of any form or a file, which are counted; a ``BayesianNetwork``, a ``JointDistribution`` or a model of
    tables (``NaiveBayes``, ``TAN``, ``KDB``), which answer exactly. A table that is itself a distribution names its
    column of probabilities or of counts. ``level``: of the credible interval of shares of rows.

    >>> from bayeskit.datasets import load_worked_example
    >>> tennis = load_worked_example("tennis")
    >>> reply = ask(tennis, "P(play = yes | wind = strong)")
    >>> float(reply), reply.record["matching"], reply.record["of"]
    (0.5, 3, 6)
    """
    from bayeskit.data.frames import open_source
    from bayeskit.network.joint_distribution import JointDistribution
    from bayeskit.network.network import BayesianNetwork
    from bayeskit.network.query import parse

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
    """The reply of what was found."""
    values = record.get("distribution")
    whole = None if values is None else {one["value"]: one["probability"] for one in values}
    return Reply(record["query"], record.get("probability"), record.get("mean"), whole, record)


def answer_from_data(source: Source, query: ProbabilityQuery, level: float = 0.95) -> Record:
    """The answer of data: the share, the rows behind it, its interval, and the rows left out."""
    from bayeskit.network import answers

    answer = answers.answer_from_data(source, query)
    record: Record = {"query": query.text.strip()}
    if isinstance(answer, answers.ShareAnswer):
        record |= {"probability": answer.probability, "matching": answer.n_both}
    elif isinstance(answer, answers.MeanAnswer):
        record |= {"mean": answer.mean, "standard_deviation": answer.standard_deviation}
        record["standard_error"] = answer.standard_error
    else:
        record |= {"variable": answer.variable, "distribution": [_share(answer, v, level) for v in answer.counts]}
    record |= {"of": answer.n_condition, "rows": answer.n_rows, "left_out": answer.n_left_out}
    if isinstance(answer, answers.ShareAnswer):
        record["interval"] = _interval(answer, level)
    weights = [name for name in ("probability", "count") if name in source.kinds and name not in query.columns]
    return record | {"weights": weights}


def _share(shares: ValueShares, value: Value, level: float) -> Record:
    answer = shares.of(value)
    interval = _interval(answer, level)
    return {"value": value, "probability": answer.probability, "matching": answer.n_both, "interval": interval}


def _interval(answer: ShareAnswer, level: float) -> Record:
    low, high = answer.interval(level)
    return {"level": level, "low": low, "high": high}


def of_table(source: Source, query: ProbabilityQuery, probability: str | None, count: str | None) -> Record:
    """The answer of a table of a distribution."""
    from bayeskit.network.joint_distribution import JointDistribution
    from bayeskit.network.query import Domain

    joint = JointDistribution.from_table(source, probability, count)
    domains = {name: Domain(name, values) for name, values in joint.values.items()}
    return _exact(query, domains, joint.probability, joint.distribution) | {"cells": joint.n_cells}


def answer_from_network(n: BayesianNetwork, query: ProbabilityQuery) -> Record:
    """The answer of a network."""
    return _exact(query, n.domains, n.query, n.distribution) | {"nodes": len(n.nodes)}


def _exact(
    query: ProbabilityQuery,
    domains: Mapping[str, Domain],
    probability: Callable[[str], float],
    distribution: Callable[[str], Distribution],
) -> Record:
    """The answer of what knows each probability; a column alone is a statement where it is boolean."""
    record: Record = {"query": query.text.strip()}
    domain = None if query.variable is None else domains.get(query.variable.column)
    if query.asks == "P" and (domain is None or domain.boolean):
        return record | {"probability": probability(query.text)}
    whole = distribution(query.text)
    if query.asks == "E":
        return record | {"mean": whole.mean, "standard_deviation": whole.standard_deviation}
    values = zip(whole.values, whole.probabilities.tolist(), strict=True)
    listed = [{"value": value, "probability": share} for value, share in values]
    return record | {"variable": whole.variable, "distribution": listed}


def of_model(model: Any, query: ProbabilityQuery) -> Record:
    """The answer of a saved model: of a joint distribution by its cells, of all others by a network."""
    if type(model).__name__ == "JointDistribution":
        return {"query": query.text.strip(), "probability": model.probability(query.text), "cells": model.n_cells}
    network = network_of(model)
    refuse_untabled(model, network, query)
    return answer_from_network(network, query)


def refuse_untabled(model: Any, network: BayesianNetwork, query: ProbabilityQuery) -> None:
    """A column that the model knows, but not as a table of values."""
    from bayeskit.network.query import leaves

    columns = {} if model is network else model.schema_.columns
    sides = [query.event] if query.condition is None else [query.event, query.condition]
    for leaf in (leaf for side in sides for leaf in leaves(side)):
        if leaf.column in columns and leaf.column not in network.states:
            role = columns[leaf.column].name
            why = {"numeric": "it is measured, not counted", "ignore": "it is ignored"}.get(role, f"it is {role}")
            fit = f"fit it with {format_setting('numeric', 'histogram')}, or " if role == "numeric" else ""
            raise query.error(leaf.at, f"the model holds no table of {leaf.column!r} ({why}): {fit}ask the data")


def lines(record: Record) -> list[str]:
    """An answer in words; the values of a distribution stand in a table."""
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
        sentences.append(
            f"{100 * interval['level']:g} % credible interval: {interval['low']:.6g} to {interval['high']:.6g}"
        )
    if record["left_out"]:
        sentences.append(f"left out: {record['left_out']:,} rows with a missing cell in a column that is asked for")
    return sentences


def network_of(model: Any) -> BayesianNetwork:
    """A network as it is; a model as the network of its tables."""
    from bayeskit.network.network import BayesianNetwork

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
