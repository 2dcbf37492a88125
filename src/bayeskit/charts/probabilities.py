"""Distributions, conditional tables and conjugate beliefs as bars, heat maps and curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts import style
from bayeskit.charts.marks import MOST, SIDE, Line, LineChart, bars, heat, rest_of, strongest
from bayeskit.charts.style import alt, color, finish_chart, in_title, inline, named_axis, offline, round_to, safe, title
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import format_cell
from bayeskit.tables import ProbabilityTable
from bayeskit.tolerance import OFF_ONE

if TYPE_CHECKING:
    from bayeskit.beliefs.beta_dirichlet import BeliefCurves, BeliefIntervals, LikelihoodCurve
    from bayeskit.beliefs.hypotheses import Hypotheses
    from bayeskit.network.answers import Distribution
    from bayeskit.network.ask import Reply
    from bayeskit.network.joint_distribution import JointDistribution


def distribution_chart(record: Distribution) -> Any:
    """Draw a bar for each of the most probable values."""
    names, numbers, remark = most_probable(
        [format_cell(value) for value in record.values], record.probabilities.tolist()
    )
    return bars(names, numbers, f"Distribution of {record.variable}", "probability", remark=remark)


def joint_chart(record: JointDistribution) -> Any:
    """Draw a bar for each cell of a joint distribution."""
    p, at, remark = record.p, list(range(record.n_cells)), ""
    if record.n_cells > MOST + 1:
        at = sorted(np.argpartition(-p, MOST)[:MOST].tolist())
    listed = [
        " · ".join(format_cell(record.values[name][record.codes[name][i]]) for name in record.variables) for i in at
    ]
    numbers = [float(p[i]) for i in at]
    if len(at) < record.n_cells:
        rest = rest_of(float(p.sum() - sum(numbers)))
        remark = f"the {MOST} most probable of {record.n_cells:,} cells; {rest}"
    head = f"Joint distribution of {', '.join(record.variables)}"
    return bars(listed, numbers, head, "probability", remark=remark, of=" · ".join(record.variables))


def hypotheses_chart(record: Hypotheses) -> Any:
    """Draw the posterior of each hypothesis, with its prior as a tick."""
    posterior, prior = list(record.posterior.values()), list(record.prior.values())
    at = strongest(posterior)
    more = len(posterior) - len(at)
    return bars(
        [record.names[i] for i in at],
        [posterior[i] for i in at],
        f"Posterior (most probable: {record.map})",
        "probability after the evidence",
        remark=f"{more:,} less probable ones are not drawn" if more else "",
        ticks=[prior[i] for i in at],
        ticks_are="the prior",
    )


def most_probable(names: Sequence[str], numbers: Sequence[float]) -> tuple[list[str], list[float], str]:
    """Return the drawn values, and a remark on the rest."""
    at = strongest(numbers)
    if len(at) == len(names):
        return list(names), list(numbers), ""
    rest = max(sum(numbers) - sum(numbers[i] for i in at), 0.0)
    remark = f"the {len(at)} most probable of {len(names):,} values; {rest_of(rest)}"
    return [names[i] for i in at], [numbers[i] for i in at], remark


def reply_chart(reply: Reply) -> Any:
    """Draw the probability of each value, with its interval if rows were counted."""
    record = reply.record
    if reply.distribution is None:
        raise BayesError("one number has no picture: ask for all values of a column, P(column | condition)")
    intervals = [(v["interval"]["low"], v["interval"]["high"]) for v in record["distribution"] if "interval" in v]
    values, shares = list(reply.distribution), list(reply.distribution.values())
    at = strongest(shares)
    return bars(
        [format_cell(values[i]) for i in at],
        [shares[i] for i in at],
        reply.query,
        "probability",
        of=record["variable"],
        remark=f"the {len(at)} most probable of {len(values):,} values" if len(at) < len(values) else "",
        intervals=[intervals[i] for i in at] if intervals else None,
    )


MOST_VALUES = 30  # values that have bars of their own
ROOM = 140  # bars of a chart
DIM = 0.5  # where no probability is above, the largest is drawn darkest


def conditional_chart(record: ProbabilityTable, kind: str | None = None) -> Any:
    """Draw a conditional table as grouped bars ("bars") or heat map ("heat"); by default what fits.

    A table without contexts is drawn as bars.
    """
    if kind not in (None, "bars", "heat"):
        raise BayesError(f"kind={kind!r}: a table is drawn as 'bars' or as 'heat'")
    shares = record.shares
    if not np.isfinite(shares).any():
        raise BayesError(f"column {record.variable!r} tells nothing of any class: there is nothing to draw")
    if not record.given:
        names, numbers, remark = most_probable([format_cell(value) for value in record.values], shares[0].tolist())
        head = f"Prior of {in_title(record.variable)}"
        return bars(names, numbers, head, "probability", remark=remark)
    if kind is None:
        n_bars = len(record.contexts) * min(len(record.values), MOST_VALUES)
        kind = "bars" if len(record.contexts) <= len(style.PALETTE) and n_bars <= ROOM else "heat"
    head = f"Distribution of {in_title(record.variable)} given {in_title(record.given)}"
    return _bars(record, head) if kind == "bars" else _heat(record, head)


def _drawn_values(record: ProbabilityTable, n: int) -> tuple[list[str], np.ndarray[Any, Any], str]:
    """Return the drawn values, their shares (n_contexts, n_values), and a remark on the rest."""
    kept = strongest(np.nanmax(record.shares, axis=0).tolist(), n)
    names, shares = [format_cell(record.values[i]) for i in kept], record.shares[:, kept]
    if len(kept) < len(record.values):
        totals = record.shares.sum(axis=1)
        drawn = f"the {len(kept)} most probable of {len(record.values):,} values"
        if np.nanmax(totals) > 1 + OFF_ONE:  # each has a coin of its own
            return names, shares, drawn
        return names, shares, f"{drawn}; {rest_of(float(np.nanmax(totals - shares.sum(axis=1))))}"
    return names, shares, ""


def _bars(record: ProbabilityTable, head: str) -> Any:
    names, shares, remark = _drawn_values(record, MOST_VALUES)
    contexts = list(record.contexts)
    if len(contexts) > len(style.PALETTE):
        remark = f"the first {len(style.PALETTE)} of {len(contexts):,} contexts; {remark}".rstrip("; ")
        contexts = contexts[: len(style.PALETTE)]
    rows = [
        {"at": j, "class": i, "context": str(contexts[i]), "value": names[j], "P": round_to(float(shares[i, j]))}
        for i in range(len(contexts))
        for j in range(len(names))
        if np.isfinite(shares[i, j])
    ]
    chart = (
        alt.Chart(inline(rows), title=title(head, remark))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            alt.X("P:Q", title="probability", scale=alt.Scale(zero=True)),
            alt.Y("at:O", title=safe(record.variable), **named_axis(names)),
            alt.YOffset("class:N", scale=alt.Scale(domain=list(range(len(contexts))))),
            color(contexts, heading=safe(record.given)),
            tooltip=[
                alt.Tooltip("value:N", title=safe(record.variable)),
                alt.Tooltip("context:N", title=safe(record.given)),
                alt.Tooltip("P:Q", title="probability", format=".4f"),
            ],
        )
        .properties(width=380, height=alt.Step(max(7, 18 - 2 * len(contexts)), **{"for": "offset"}))
    )
    return offline(chart)


def _heat(record: ProbabilityTable, head: str) -> Any:
    names, shares, remark = _drawn_values(record, SIDE)
    contexts = list(record.contexts)
    if len(contexts) > SIDE:
        remark = f"the first {SIDE} of {len(contexts):,} contexts; {remark}".rstrip("; ")
        contexts, shares = contexts[:SIDE], shares[:SIDE]
    most = float(np.nanmax(shares))
    shade = np.clip(shares, 0.0, 1.0)
    if most < DIM:
        shade, remark = shares / (most or 1.0), f"{remark}; darkest: {most:.2g}".lstrip("; ")
    across = {"down_is": record.given, "across_is": record.variable, "figure_is": "probability", "form": ".2f"}
    return heat(contexts, names, shares, head, remark=remark, shade=shade, **across)


def belief_chart(record: Any) -> Any:
    """Draw the curves of a belief."""
    return record.curves().chart()


def curves_chart(record: BeliefCurves) -> Any:
    """Draw densities of a parameter; a sequence of posteriors goes from light to dark."""
    names = [name for name, _ in record.curves]
    rising = any(name.startswith("after") for name in names)
    lines = [Line(name, record.line, density) for name, density in record.curves]
    marks = []
    if record.curves and not rising:
        for name, at in record.marks[:1]:
            near = int(abs(lines[-1].x - at).argmin())
            marks.append((f"{name} {at:.3g}", at, float(lines[-1].y[near])))
    head = f"Posterior of {_short(record.parameter)} {'by outcome' if rising else f'({record.n:g} outcomes)'}"
    return LineChart(
        head, record.parameter, "density", lines=lines, rising=rising, marks=marks, x_domain=record.between,
        remark="" if rising or len(names) < 3 else "the likelihood is scaled to the same area",
    ).chart()  # fmt: skip


def _short(parameter: str) -> str:
    return parameter.partition(",")[0]


def likelihood_chart(record: LikelihoodCurve) -> Any:
    """Draw the likelihood relative to its maximum."""
    relative = record.relative
    return LineChart(
        f"Likelihood of {_short(record.parameter)} ({record.n:g} outcomes, maximum at {record.maximum:.4g})",
        record.parameter,
        "likelihood, of its maximum",
        lines=[Line("likelihood", record.line, relative)],
        y_domain=(0, 1.08),
        marks=[(f"maximum at {record.maximum:.4g}", record.maximum, 1.0)],
    ).chart()


def intervals_chart(record: BeliefIntervals) -> Any:
    """Draw posterior means with 95 % intervals, and prior means as rings."""
    at = strongest(record.after)
    rows = [
        {
            "at": i, "name": record.names[k], "mean": round_to(record.after[k]), "prior": round_to(record.before[k]),
            "low": round_to(record.intervals[k][0]), "high": round_to(record.intervals[k][1]),
        }
        for i, k in enumerate(at)
    ]  # fmt: skip
    base = alt.Chart(inline(rows))
    y = alt.Y("at:O", title=None, **named_axis([record.names[k] for k in at]))
    x = alt.X("mean:Q", title="probability", scale=alt.Scale(domainMin=0))
    tip = ["name:N", "mean:Q", "low:Q", "high:Q", "prior:Q"]
    more = len(record.names) - len(at)
    remark = "dots: means; lines: 95 % intervals; rings: before any outcome"
    layers = [
        base.mark_rule(strokeWidth=2.5, color=style.INK).encode(
            alt.X("low:Q", title="probability"), y, alt.X2("high:Q")
        ),
        base.mark_point(color=style.FAINT, size=50).encode(alt.X("prior:Q"), y, tooltip=tip),
        base.mark_point(filled=True, color=style.INK, size=60, opacity=1).encode(x, y, tooltip=tip),
    ]
    head = f"Posterior of each value ({record.n:g} outcomes)"
    omitted = f"{more:,} less probable values are not drawn" if more else ""
    return finish_chart(layers, 360, alt.Step(style.band(len(rows), most=26)), head, remark, omitted)
