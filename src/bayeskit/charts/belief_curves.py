"""Charts of conjugate beliefs: prior, likelihood and posterior of a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit.charts.marks import Line, LineChart, strongest
from bayeskit.charts.style import FAINT, INK, altair, band, inline, named_axis, offline, round_to, title

if TYPE_CHECKING:
    from bayeskit.beliefs.beta_dirichlet import BeliefCurves, BeliefIntervals, LikelihoodCurve


def belief_chart(record: Any) -> Any:
    """Draw the curves of a belief."""
    return record.curves().chart()


def curves_chart(record: BeliefCurves) -> Any:
    """Draw densities of a parameter; a sequence of posteriors goes from light to dark."""
    names = [name for name, _ in record.curves]
    rising = any(name.startswith("after") for name in names)
    lines = [Line(name, record.line, density) for name, density in record.curves]
    tops = dict(record.marks)
    marks = []
    if record.curves and not rising:
        last = lines[-1]
        for name, at in tops.items():
            near = int(abs(last.x - at).argmin())
            marks.append((f"{name} {at:.3g}", at, float(last.y[near])))
    head = f"Posterior of {_short(record.parameter)} ({record.n:g} outcomes)"
    if rising:
        head = f"Posterior of {_short(record.parameter)} by outcome"
    drawn = LineChart(
        head, record.parameter, "density", lines=lines, rising=rising, marks=marks[:1], x_domain=record.between,
        remark="" if rising or len(names) < 3 else "the likelihood is scaled to the same area",
    )  # fmt: skip
    return drawn.chart()


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
    alt = altair()
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
        base.mark_rule(strokeWidth=2.5, color=INK).encode(alt.X("low:Q", title="probability"), y, alt.X2("high:Q")),
        base.mark_point(color=FAINT, size=50).encode(alt.X("prior:Q"), y, tooltip=tip),
        base.mark_point(filled=True, color=INK, size=60, opacity=1).encode(x, y, tooltip=tip),
    ]
    head = f"Posterior of each value ({record.n:g} outcomes)"
    return offline(
        alt.layer(*layers).properties(
            width=360,
            height=alt.Step(band(len(rows), most=26)),
            title=title(head, remark, f"{more:,} less probable values are not drawn" if more else ""),
        )
    )
