"""Class densities of a number: histogram, fitted curves, the regions that they decide, and P(mistake) shaded."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import OTHERS, PALETTE, colour, colours, cut, dash, in_title, name_of, safe, title
from bayeskit.explain.densities import ClassDensities
from bayeskit.typing import Floats

CURVE = 160  # numbers at which a curve is drawn
LIGHT = (PALETTE[1], PALETTE[3], OTHERS)  # colours on which letters are dark
MOST = len(PALETTE)  # classes that are drawn


def density_chart(record: ClassDensities) -> Any:
    """P(class) p(x | class) of each class; what lies below another curve is decided wrongly, and is shaded."""
    alt = altair()
    kept = np.sort(np.argsort(-record.prior, kind="stable")[:MOST])
    names = [record.classes[i] for i in kept]
    joint, line = record.joint[kept], record.line
    step = max(1, (len(line) - 1) // CURVE)
    at = np.unique(np.append(np.arange(0, len(line), step), len(line) - 1))
    wrong = np.sort(record.joint, axis=0)[:-1].sum(axis=0)  # all that is not the best
    x = alt.X("x:Q", title=safe(record.column), scale=alt.Scale(domain=_range(record), zero=False, nice=False))
    what = "P(class) · P(x | class)" if record.whole else "P(class) · density"
    y = alt.Y("p:Q", title=what, axis=alt.Axis(format=".2~g"))
    layers = []
    if record.counts is not None and record.edges is not None:
        layers.append(_histogram(alt, record, record.counts, record.edges, kept, x, y))
    shaded = [{"x": rounded(float(line[i]), 6), "p": rounded(float(wrong[i]))} for i in at]
    layers.append(
        alt.Chart(inline(shaded)).mark_area(color="#555555", opacity=0.45, interpolate=_between(record)).encode(x, y)
    )
    curves = [
        {"x": rounded(float(line[i]), 6), "p": rounded(float(joint[c, i])), "class": c}
        for c in range(len(kept))
        for i in at
    ]
    tip = [alt.Tooltip("label:N", title=safe(record.target)), "x:Q", alt.Tooltip("p:Q", title=what)]
    layers.append(
        alt.Chart(inline(curves))
        .transform_calculate(label=name_of(names))
        .mark_line(strokeWidth=2.2, interpolate=_between(record))
        .encode(x, y, colour(names, heading=safe(record.target)), dash(len(names)), tooltip=tip)
    )
    tops = [
        {"x": rounded(float(line[i]), 6), "p": rounded(float(joint[c, i])), "name": cut(names[c], 16)}
        for c, i in enumerate(joint.argmax(axis=1).tolist())
    ]
    named = alt.Chart(inline(tops)).mark_text(dy=-8, fontSize=11, fontWeight="bold", color="#222222")
    layers.append(named.encode(x, y, alt.Text("name:N")))
    borders = [{"x": rounded(cut_at, 6)} for cut_at in record.boundaries if line[0] <= cut_at <= line[-1]]
    layers.append(alt.Chart(inline(borders)).mark_rule(color="#222222", strokeDash=[3, 3]).encode(x, tooltip=["x:Q"]))
    head = f"{in_title(record.target)} by {in_title(record.column)} alone: wrong with probability {record.mistake:.3g}"
    left_out = len(record.classes) - len(kept)
    remark = "dashed: where the decision changes; dark: decided wrongly; strip: the class decided"
    more = f"{left_out:,} rarer classes are not drawn" if left_out else ""
    upper = alt.layer(*layers).properties(width=480, height=240, title=title(head, remark, more))
    return offline(alt.vconcat(upper, _strip(alt, record), spacing=4).resolve_scale(x="shared", color="independent"))


def _range(record: ClassDensities) -> tuple[float, float]:
    """From where to where the line is drawn: the curves, and all of the histogram."""
    ends = record.line if record.edges is None else np.concatenate([record.line, record.edges])
    return float(ends.min()), float(ends.max())


def _between(record: ClassDensities) -> str:
    return "step" if record.whole else "linear"


def _histogram(alt: Any, record: ClassDensities, all_counts: Floats, edges: Floats, kept: Any, x: Any, y: Any) -> Any:
    """The rows of each class as shares of all rows by unit of x: what the curves are fitted to."""
    names = [record.classes[i] for i in kept]
    counts, width = all_counts[kept], np.diff(edges)
    height = counts / max(float(all_counts.sum()), 1.0) / width
    rows = [
        {
            "x": rounded(float(edges[i]), 6), "x2": rounded(float(edges[i + 1]), 6), "p": rounded(float(height[c, i])),
            "zero": 0, "class": c, "rows": rounded(float(counts[c, i]), 6),
        }
        for c in range(len(kept))
        for i in range(len(width))
        if counts[c, i]
    ]  # fmt: skip
    tip = [alt.Tooltip("label:N", title=safe(record.target)), "rows:Q", "x:Q", alt.Tooltip("x2:Q", title="to")]
    return (
        alt.Chart(inline(rows))
        .transform_calculate(label=name_of(names))
        .mark_rect(opacity=0.28, stroke="white", strokeWidth=0.4)
        .encode(x, y, alt.X2("x2:Q"), alt.Y2("zero:Q"), colour(names, heading=safe(record.target)), tooltip=tip)
    )


def _strip(alt: Any, record: ClassDensities) -> Any:
    """A strip below the curves, coloured by the class that is decided."""
    low, high = _range(record)
    of = {label: colours(len(record.classes))[i] for i, label in enumerate(_kept_first(record))}
    rows = [
        {
            "x": rounded(max(start, low), 6), "x2": rounded(min(end, high), 6), "label": str(label),
            "short": cut(label, 18), "colour": of[label], "middle": rounded((max(start, low) + min(end, high)) / 2, 6),
            "room": bool(min(end, high) - max(start, low) > 0.08 * (high - low)), "light": of[label] in LIGHT,
        }
        for start, end, label in record.regions
        if end > low and start < high
    ]  # fmt: skip
    base = alt.Chart(inline(rows))
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    x = alt.X("x:Q", axis=None, scale=scale)
    tip = [alt.Tooltip("label:N", title="decided"), alt.Tooltip("x:Q", title="from"), alt.Tooltip("x2:Q", title="to")]
    bars = base.mark_bar(height=16).encode(x, alt.X2("x2:Q"), alt.Color("colour:N", scale=None), tooltip=tip)
    names = base.transform_filter("datum.room").mark_text(fontSize=10, fontWeight="bold")
    ink = alt.condition("datum.light", alt.value("#1c1c1c"), alt.value("white"))
    texts = names.encode(alt.X("middle:Q", axis=None, scale=scale), alt.Text("short:N"), color=ink)
    return alt.layer(bars, texts).properties(width=480, height=16)


def _kept_first(record: ClassDensities) -> list[Any]:
    """The classes in the order of their colours: those that are drawn, then the others."""
    kept = np.sort(np.argsort(-record.prior, kind="stable")[:MOST])
    return [record.classes[i] for i in (*kept, *(i for i in range(len(record.classes)) if i not in kept))]
