"""Answer queries such as ``P(event | condition)`` from data, distributions, networks and models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, format_setting, with_article
from bayeskit.tables import Figure, Grid, Readable, Sheet

if TYPE_CHECKING:
    from bayeskit.data.source import Source
    from bayeskit.data.vocabulary import Value
    from bayeskit.network.answers import Distribution, ShareAnswer
    from bayeskit.network.network import BayesianNetwork
    from bayeskit.network.query import Domain, ProbabilityQuery

Record = dict[str, Any]


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
    """Build the reply of a record."""
    values = record.get("distribution")
    whole = None if values is None else {one["value"]: one["probability"] for one in values}
    return Reply(record["query"], record.get("probability"), record.get("mean"), whole, record)


def answer_from_data(source: Source, query: ProbabilityQuery, level: float = 0.95) -> Record:
    """Answer from data: the share, its rows and interval, and the rows left out."""
    from bayeskit.network import answers

    answer = answers.answer_from_data(source, query)
    record: Record = {"query": query.text.strip()}
    if isinstance(answer, answers.ShareAnswer):
        record |= _share(answer, level)
    elif isinstance(answer, answers.MeanAnswer):
        record |= {"mean": answer.mean, "standard_deviation": answer.standard_deviation}
        record["standard_error"] = answer.standard_error
    else:
        values = [{"value": value} | _share(answer.of(value), level) for value in answer.counts]
        record |= {"variable": answer.variable, "distribution": values}
    record |= {"of": answer.n_condition, "rows": answer.n_rows, "left_out": answer.n_left_out}
    weights = [name for name in ("probability", "count") if name in source.kinds and name not in query.columns]
    return record | {"weights": weights}


def _share(answer: ShareAnswer, level: float) -> Record:
    """Return the probability, the number of matching rows and the credible interval."""
    low, high = answer.interval(level)
    interval = {"level": level, "low": low, "high": high}
    return {"probability": answer.probability, "matching": answer.n_both, "interval": interval}


def of_table(source: Source, query: ProbabilityQuery, probability: str | None, count: str | None) -> Record:
    """Answer from a table that is a distribution."""
    from bayeskit.network.joint_distribution import JointDistribution
    from bayeskit.network.query import Domain

    joint = JointDistribution.from_table(source, probability, count)
    domains = {name: Domain(name, values) for name, values in joint.values.items()}
    return _exact(query, domains, joint.probability, joint.distribution) | {"cells": joint.n_cells}


def answer_from_network(n: BayesianNetwork, query: ProbabilityQuery) -> Record:
    """Answer from a network."""
    return _exact(query, n._domains, n.query, n.distribution) | {"nodes": len(n.nodes)}


def _exact(
    query: ProbabilityQuery,
    domains: Mapping[str, Domain],
    probability: Callable[[str], float],
    distribution: Callable[[str], Distribution],
) -> Record:
    """Answer exactly; a boolean column alone is a statement."""
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
    """Answer from a model: a joint distribution by its cells, any other by its network."""
    if type(model).__name__ == "JointDistribution":
        return {"query": query.text.strip(), "probability": model.probability(query.text), "cells": model.n_cells}
    network = network_of(model)
    refuse_untabled(model, network, query)
    return answer_from_network(network, query)


def refuse_untabled(model: Any, network: BayesianNetwork, query: ProbabilityQuery) -> None:
    """Raise an error for a column that the model has no table of."""
    columns = {} if model is network else model.schema_.columns
    for leaf in query.comparisons:
        if leaf.column in columns and leaf.column not in network.states:
            role = columns[leaf.column].name
            why = {"numeric": "it is measured, not counted", "ignore": "it is ignored"}.get(role, f"it is {role}")
            fit = f"fit it with {format_setting('numeric', 'histogram')}, or " if role == "numeric" else ""
            raise query.error(leaf.at, f"the model holds no table of {leaf.column!r} ({why}): {fit}ask the data")


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
        sentences.append(
            f"{100 * interval['level']:g} % credible interval: {interval['low']:.6g} to {interval['high']:.6g}"
        )
    if record["left_out"]:
        sentences.append(f"left out: {record['left_out']:,} rows with a missing cell in a column that is asked for")
    return sentences


def network_of(model: Any) -> BayesianNetwork:
    """Return a network as it is, and a model as the network of its tables."""
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
