"""The evidence for one row as bars, and a nomogram as rulers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayeskit.errors import BayesError
from bayeskit.explain.words import cell, chance, times

if TYPE_CHECKING:
    from bayeskit.explain.evidence import Explanation
    from bayeskit.explain.nomogram import Nomogram

FOR, AGAINST = "#2a6f97", "#c8553d"
APART = 4.0  # points between two names on a ruler


def evidence_chart(record: Explanation) -> Any:
    """Bars of log odds: the prior, each column by its strength, and their sum.

    Contributions by probability zero have no length; the title names them.
    """
    import altair as alt

    parts = [("before any evidence", record.prior_log_odds)]
    parts += [(f"{c.column} {cell(c.value)}", c.log_odds) for c in record.by_size if c.state != "unused"]
    parts += [("together", record.log_odds)]
    rows = [
        {
            "what": what,
            "log_odds": odds,
            "speaks": f"for {record.predicted}" if odds >= 0 else f"for {record.against}",
            "times": f"{times(abs(odds))} times",
        }
        for what, odds in parts
        if math.isfinite(odds)
    ]
    ruled_out = "; ".join(c.sentence for c in record.ruled_out)
    title = alt.Title(f"{record.predicted} with probability {chance(record.probability)}", subtitle=ruled_out or "")
    return (
        alt.Chart(alt.InlineData(values=rows), title=title)
        .mark_bar()
        .encode(
            alt.X("log_odds:Q", title=f"log odds, {record.predicted} against {record.against}"),
            alt.Y("what:N", sort=[what for what, _ in parts], title=None, axis=alt.Axis(labelLimit=260)),
            alt.Color(
                "speaks:N",
                title=None,
                scale=alt.Scale(domain=[f"for {record.predicted}", f"for {record.against}"], range=[FOR, AGAINST]),
            ),
            alt.Tooltip(["what:N", "times:N", "log_odds:Q"]),
        )
        .properties(width=380)
    )


def nomogram_chart(record: Nomogram) -> Any:
    """A ruler of points for each column, and below them the one from the total to the probability."""
    import altair as alt

    axes = [axis for axis in record.axes if any(p > 1 for p in axis.points if math.isfinite(p))]
    if not axes:
        raise BayesError("no column tells these two classes apart: there is nothing to draw")
    marks = []
    for axis in axes:
        finite = sorted((p, cell(v)) for v, p in zip(axis.values, axis.points, strict=True) if math.isfinite(p))
        marks += [{"column": axis.column, "points": p, "value": names} for p, names in _apart(finite, axis.is_number)]
    order = [axis.column for axis in axes]
    x = alt.X("points:Q", title="points", axis=alt.Axis(orient="top"))
    y = alt.Y("column:N", sort=order, title=None, axis=alt.Axis(labelLimit=200))
    base = alt.Chart(alt.InlineData(values=marks)).encode(x, y)
    lines = alt.Chart(alt.InlineData(values=marks)).mark_line(color="#999999").encode(x, y, alt.Detail("column:N"))
    ticks = base.mark_tick(thickness=2, size=12, color=FOR).encode(alt.Tooltip(["column:N", "value:N", "points:Q"]))
    names = base.mark_text(dy=-11, fontSize=9).encode(alt.Text("value:N"))
    title = f"points for {record.predicted} against {record.against}"
    rulers = (lines + ticks + names).properties(width=620, height=alt.Step(38), title=title)

    totals = [{"total": t, "P": p, "label": f"{p:g}"} for t, p in record.totals]
    below = alt.Chart(alt.InlineData(values=totals)).encode(
        alt.X("total:Q", title="total points", scale=alt.Scale(zero=False))
    )
    whole = below.mark_line(color="#999999").encode(alt.Y("P:Q", title=f"P({record.predicted})"))
    dots = below.mark_point(filled=True, color=FOR).encode(alt.Y("P:Q"), alt.Tooltip(["total:Q", "P:Q"]))
    return alt.vconcat(rulers, (whole + dots).properties(width=620, height=140))


def _apart(marks: list[tuple[float, str]], is_number: bool) -> list[tuple[float, str]]:
    """Rising marks with room for their names: of numbers some are left out, values too near share a mark."""
    found: list[tuple[float, list[str]]] = []
    for points, name in marks:
        if not found or points - found[-1][0] >= APART:
            found.append((points, [name]))
        elif not is_number:
            found[-1][1].append(name)
    return [(points, ", ".join(names[:3]) + (", …" if len(names) > 3 else "")) for points, names in found]
