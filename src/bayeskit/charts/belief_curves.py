"""Beliefs about a parameter: prior, likelihood and posterior, one outcome after the other, and the likelihood alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit.charts.marks import Line, Lines, strongest
from bayeskit.charts.style import FAINT, INK, altair, band, inline, named_axis, offline, rounded, title

if TYPE_CHECKING:
    from bayeskit.beliefs.belief import BeliefCurves, BeliefIntervals, LikelihoodCurve


def belief_chart(record: Any) -> Any:
    """The picture of a belief, or of one after the other: that of its curves."""
    return record.curves().chart()


def curves_chart(record: BeliefCurves) -> Any:
    """Densities of a parameter by name; in the order of outcomes from light to dark."""
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
    head = f"What is believed of {_short(record.parameter)} after {record.n:g} outcomes"
    if rising:
        head = f"What is believed of {_short(record.parameter)} as outcomes come in"
    drawn = Lines(
        head, record.parameter, "density", lines=lines, rising=rising, marks=marks[:1], x_domain=record.between,
        remark="" if rising or len(names) < 3 else "the likelihood is scaled to the same area",
    )  # fmt: skip
    return drawn.chart()


def _short(parameter: str) -> str:
    return parameter.partition(",")[0]


def likelihood_chart(record: LikelihoodCurve) -> Any:
    """The likelihood as a share of its maximum."""
    relative = record.relative
    return Lines(
        f"The likelihood of {_short(record.parameter)} after {record.n:g} outcomes: highest at {record.maximum:.4g}",
        record.parameter,
        "likelihood, of its maximum",
        lines=[Line("likelihood", record.line, relative)],
        y_domain=(0, 1.08),
        marks=[(f"maximum at {record.maximum:.4g}", record.maximum, 1.0)],
    ).chart()


def intervals_chart(record: BeliefIntervals) -> Any:
    """A dot for the mean of each number and a line for where it lies with 95 %; a ring for the mean before."""
    alt = altair()
    at = strongest(record.after)
    rows = [
        {
            "at": i, "name": record.names[k], "mean": rounded(record.after[k]), "prior": rounded(record.before[k]),
            "low": rounded(record.intervals[k][0]), "high": rounded(record.intervals[k][1]),
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
    head = f"What is believed of each value, after {record.n:g} outcomes"
    return offline(
        alt.layer(*layers).properties(
            width=360,
            height=alt.Step(band(len(rows), most=26)),
            title=title(head, remark, f"{more:,} less probable values are not drawn" if more else ""),
        )
    )
