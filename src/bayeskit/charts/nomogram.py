"""Chart of a nomogram."""

from __future__ import annotations

import math
from typing import Any

from bayeskit.charts.style import altair, cut, in_title, inline, offline, round_to, title
from bayeskit.errors import BayesError, format_setting
from bayeskit.explain.evidence import format_probability
from bayeskit.explain.nomogram import DOT, FAINT, FONT, INK, Nomogram, Tick, lay_out_nomogram

CURVE = 200  # steps of a smooth line
WHOLE = 60  # letters of what is said of a tick that is pointed at


def nomogram_chart(record: Nomogram) -> Any:
    """Draw the axes of points of all columns, and the probability by total points."""
    alt = altair()
    if not isinstance(record, Nomogram):
        raise BayesError(f"rulers are drawn from what nomogram gives, not {type(record).__name__}")
    if not any(axis.most >= 1 for axis in record.axes):
        certain = next((axis.column for axis in record.axes if not all(map(math.isfinite, axis.points))), None)
        if certain is None:
            raise BayesError("no column tells these two classes apart: there is nothing to draw")
        raise BayesError(
            f"there is nothing to draw: column {certain!r} rules out one of the two classes (P = 0), and no other "
            "column distinguishes them",
            hint=f"smooth the estimates, as with {format_setting('smoothing', 1.0)}",
        )
    page = lay_out_nomogram(record)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, page.width], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[page.height, 0], nice=False, zero=False))
    lines = [{key: round(at, 1) for key, at in zip(("x", "y", "x2", "y2"), line, strict=True)} for line in page.lines]
    layers = [alt.Chart(inline(lines)).mark_rule(color=FAINT).encode(x, y, x2="x2:Q", y2="y2:Q")]
    tip = alt.Tooltip(["column:N", "value:N", "points:Q"])
    ticks = [_tick(tick) for tick in page.ticks]
    layers.append(alt.Chart(inline(ticks)).mark_rule(color=INK, strokeWidth=1.5).encode(x, y, tip, y2="end:Q"))
    rings = [_tick(ring) for ring in page.rings]
    layers.append(alt.Chart(inline(rings)).mark_point(color=INK, size=40).encode(x, y, tip))
    dots = [_tick(dot) for dot in page.dots]
    layers.append(alt.Chart(inline(dots)).mark_point(color=DOT, size=65, filled=True, opacity=1).encode(x, y, tip))
    for anchor, align in (("start", "left"), ("middle", "center"), ("end", "right")):
        for faint in (False, True):
            names = [
                {"x": round(name.x, 1), "y": round(name.y, 1), "text": name.text}
                for name in page.names
                if (name.anchor, name.faint) == (anchor, faint)
            ]
            look = {"align": align, "baseline": "alphabetic", "fontSize": FONT, "color": FAINT if faint else "black"}
            layers.append(alt.Chart(inline(names)).mark_text(**look).encode(x, y, alt.Text("text:N")))
    head = title(
        f"Nomogram of {in_title(record.predicted)} against {in_title(record.against)}",
        _about_the_row(record),
    )
    drawn = alt.layer(*layers).properties(width=page.width, height=page.height, title=head)
    return offline(alt.vconcat(drawn, _probability_chart(record)))


def _tick(tick: Tick) -> dict[str, Any]:
    """Return a tick as data, rounded to visible precision."""
    places = {"x": round(tick.x, 1), "y": round(tick.y, 1), "end": round(tick.end, 1)}
    said = {"column": cut(tick.column, WHOLE), "value": cut(tick.value, WHOLE), "points": round(tick.points, 1)}
    return places | said


def _about_the_row(record: Nomogram) -> str:
    if record.row is None:
        return ""
    total = record.row.total
    probability = format_probability(record.probability(total))
    return f"The dots are one row: {total:.1f} points in total, P({record.predicted}) {probability}"


def _probability_chart(record: Nomogram) -> Any:
    """Draw P(predicted) by total points."""
    alt = altair()
    total = record.row.total if record.row is not None and math.isfinite(record.row.total) else record.totals[0][0]
    low, high = min(record.totals[0][0], total), max(record.totals[-1][0], total)
    steps = (low + (high - low) * i / CURVE for i in range(CURVE + 1))
    curve = [{"total": round_to(total, 6), "P": round_to(record.probability(total))} for total in steps]
    dots = [{"total": total, "P": p} for total, p in record.totals]
    x = alt.X("total:Q", title="total points", scale=alt.Scale(zero=False))
    y = alt.Y("P:Q", title="probability", scale=alt.Scale(domain=[0, 1]))
    tip = alt.Tooltip(["total:Q", "P:Q"])
    layers = [
        alt.Chart(inline(curve)).mark_line(color=FAINT).encode(x, y),
        alt.Chart(inline(dots)).mark_point(filled=True, color=INK, opacity=1).encode(x, y, tip),
    ]
    if record.row is not None and math.isfinite(record.row.total):
        own = [{"total": total, "P": record.probability(total)}]
        layers.append(alt.Chart(inline(own)).mark_point(filled=True, color=DOT, size=90, opacity=1).encode(x, y, tip))
    head = title(f"P({in_title(record.predicted)}) by total points")
    return alt.layer(*layers).properties(width=660, height=140, title=head)
