"""Two numeric columns as a plane: the class that is decided at each place, darker where it is surer, and the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import PALETTE, colour, in_title, name_of, safe, shape, title
from bayeskit.explain.regions import DecisionRegions

SURE = (0.0, 0.6, 0.8, 0.95)  # steps of probability that have a shade of their own
SHADES = (0.18, 0.3, 0.42, 0.55)


def regions_chart(record: DecisionRegions) -> Any:
    """Runs of cells of one class and shade as bars, and the rows upon them: points, or circles of counted rows."""
    alt = altair()
    names = list(record.classes)
    (a, b), (x0, x1), (y0, y1) = record.columns, _ends(record.x), _ends(record.y)
    wide, high = (x1 - x0) / len(record.x), (y1 - y0) / len(record.y)
    x = alt.X("x:Q", title=safe(a), scale=alt.Scale(domain=[x0, x1], nice=False, zero=False))
    y = alt.Y("y:Q", title=safe(b), scale=alt.Scale(domain=[y0, y1], nice=False, zero=False))
    shades = alt.Opacity("sure:O", legend=None, scale=alt.Scale(domain=[0, 1, 2, 3], range=list(SHADES)))
    tip = [alt.Tooltip("label:N", title="decided"), alt.Tooltip("from:N", title="probability from")]
    hue = colour(names, heading=safe(record.target))
    plane = (
        alt.Chart(inline(_runs(record)))
        .transform_calculate(
            label=name_of(names),
            **{"from": f"{list(SURE)}[datum.sure]"},
            x=f"{x0:.9g} + {wide:.9g} * datum.a",
            x2=f"{x0:.9g} + {wide:.9g} * datum.b",
            y=f"{y0:.9g} + {high:.9g} * datum.r",
            y2=f"{y0:.9g} + {high:.9g} * (datum.r + 1)",
        )
        .mark_rect(strokeWidth=0)
        .encode(x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), hue, shades, tooltip=tip)
    )
    told = [alt.Tooltip("label:N", title=safe(record.target)), "x:Q", "y:Q"]
    mark = (
        alt.Chart(inline(_rows(record)))
        .transform_calculate(label=name_of(names))
        .mark_point(filled=True, opacity=0.9, stroke="white", strokeWidth=0.6, size=42)
    )
    drawn = mark.encode(x, y, hue, shape(names, heading=safe(record.target)), tooltip=told)
    remark = "other columns left out; stronger colour: surer of the class"
    if record.counted:
        size = alt.Size("rows:Q", title="rows", scale=alt.Scale(type="sqrt", range=[4, 130]))
        drawn = mark.encode(x, y, hue, shape(names, heading=safe(record.target)), size, tooltip=[*told, "rows:Q"])
        remark += "; rows counted in cells, by their commonest class"
    if len(names) > len(PALETTE):
        remark += f"; classes after the first {len(PALETTE)} are grey"
    head = title(f"{in_title(record.target)} as decided by {in_title(a)} and {in_title(b)}", remark)
    return offline(alt.layer(plane, drawn).properties(width=430, height=360, title=head))


def _rows(record: DecisionRegions) -> list[dict[str, Any]]:
    """The rows one by one; where they were counted in cells, each cell as a whole."""
    xs, ys, labels, counts = record.rows
    if not record.counted:
        return [
            {"x": rounded(x, 5), "y": rounded(y, 5), "class": int(c)} for x, y, c in zip(xs, ys, labels, strict=True)
        ]
    cells: dict[tuple[float, float], dict[int, float]] = {}
    for x, y, c, n in zip(xs.tolist(), ys.tolist(), labels.tolist(), counts.tolist(), strict=True):
        cells.setdefault((x, y), {})[c] = n
    return [
        {
            "x": rounded(x, 5), "y": rounded(y, 5), "class": max(by_class, key=lambda c: by_class[c]),
            "rows": rounded(sum(by_class.values()), 6),
        }
        for (x, y), by_class in cells.items()
    ]  # fmt: skip


def _ends(middles: Any) -> tuple[float, float]:
    half = float(middles[1] - middles[0]) / 2
    return float(middles[0]) - half, float(middles[-1]) + half


def _runs(record: DecisionRegions) -> list[dict[str, Any]]:
    """Cells beside each other that look alike, as one bar: its line, its ends, class and shade."""
    sure = np.searchsorted(SURE, record.probability, side="right") - 1
    looks = record.chosen * len(SURE) + sure
    runs = []
    for r, line in enumerate(looks):
        starts = np.flatnonzero(np.append(True, np.diff(line) != 0)).tolist()
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            c, s = divmod(int(line[start]), len(SURE))
            runs.append({"r": r, "a": start, "b": end, "class": c, "sure": s})
    return runs
