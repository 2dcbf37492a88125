"""Probabilities as bars: of the values of a variable, of the cells of a joint distribution, of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayeskit.charts.bars import MOST, bars, rest_of, strongest
from bayeskit.errors import BayesError
from bayeskit.explain.phrases import cell

if TYPE_CHECKING:
    from bayeskit.beliefs.hypotheses import Hypotheses
    from bayeskit.network.answers import Distribution
    from bayeskit.network.ask import Reply
    from bayeskit.network.joint_distribution import JointDistribution


def distribution_chart(record: Distribution) -> Any:
    """A bar for each value of a variable; of many values those that are most probable."""
    names, numbers, remark = most_probable([cell(value) for value in record.values], record.probabilities.tolist())
    return bars(names, numbers, f"How probable each value of {record.variable} is", "probability", remark=remark)


def answer_chart(
    question: str,
    variable: str,
    values: Sequence[object],
    shares: Sequence[float],
    intervals: Sequence[tuple[float, float]] = (),
) -> Any:
    """The answer to a question: a bar for each value, and where rows were counted the interval of each."""
    at = strongest(shares)
    left_out = len(values) - len(at)
    return bars(
        [cell(values[i]) for i in at],
        [shares[i] for i in at],
        question,
        "probability",
        of=variable,
        remark=f"the {len(at)} most probable of {len(values):,} values" if left_out else "",
        intervals=[intervals[i] for i in at] if intervals else None,
    )


def joint_chart(record: JointDistribution) -> Any:
    """A bar for each cell of a joint distribution, named by the value of every variable."""
    from numpy import argpartition

    p, at = record.p, list(range(record.n_cells))
    remark = ""
    if record.n_cells > MOST + 1:
        at, remark = (
            sorted(argpartition(-p, MOST)[:MOST].tolist()),
            f"the {MOST} most probable of {record.n_cells:,} cells",
        )
    listed = [" · ".join(cell(record.values[name][record.codes[name][i]]) for name in record.variables) for i in at]
    numbers = [float(p[i]) for i in at]
    if remark:
        remark = f"{remark}; {rest_of(float(p.sum() - sum(numbers)))}"
    head = f"The joint distribution of {', '.join(record.variables)}"
    return bars(listed, numbers, head, "probability", remark=remark, of=" · ".join(record.variables))


def hypotheses_chart(record: Hypotheses) -> Any:
    """The posterior of each hypothesis, with its prior as a tick."""
    posterior, prior = list(record.posterior.values()), list(record.prior.values())
    at = strongest(posterior)
    more = len(posterior) - len(at)
    return bars(
        [record.names[i] for i in at],
        [posterior[i] for i in at],
        f"What is believed: {record.map} most",
        "probability after the evidence",
        remark=f"{more:,} less probable ones are not drawn" if more else "",
        ticks=[prior[i] for i in at],
        ticks_are="the prior",
    )


def most_probable(names: Sequence[str], numbers: Sequence[float]) -> tuple[list[str], list[float], str]:
    """The values that have a bar of their own, and a word on the rest."""
    at = strongest(numbers)
    if len(at) == len(names):
        return list(names), list(numbers), ""
    rest = max(sum(numbers) - sum(numbers[i] for i in at), 0.0)
    remark = f"the {len(at)} most probable of {len(names):,} values; {rest_of(rest)}"
    return [names[i] for i in at], [numbers[i] for i in at], remark


def reply_chart(reply: Reply) -> Any:
    """The probability of each value, with its interval where rows were counted."""
    record = reply.record
    if reply.distribution is None:
        raise BayesError("one number has no picture: ask for all values of a column, P(column | condition)")
    intervals = [(v["interval"]["low"], v["interval"]["high"]) for v in record["distribution"] if "interval" in v]
    shares = list(reply.distribution.values())
    return answer_chart(reply.query, record["variable"], list(reply.distribution), shares, intervals)
