"""A table as a map from light to dark, with its figures where there is room: confusion, costs, conditional tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import FONT, LETTER, LIGHT_TO_DARK, cut, name_of, named_axis, safe, title
from bayeskit.typing import Floats

SIDE = 40  # rows or columns of a map that are drawn
FIGURES = 400  # cells of a map that have room for their figures


def heat(
    down: Sequence[object],
    across: Sequence[object],
    cells: Floats,
    head: str,
    *,
    down_is: str,
    across_is: str,
    figure_is: str,
    form: str,
    remark: str = "",
    shade: Floats | None = None,
) -> Any:
    """``cells`` (down, across) as a map; ``shade`` from 0 to 1 where it is not the cells' own share of the largest."""
    alt = altair()
    most = np.nanmax(np.abs(cells), initial=0.0)
    dark = np.abs(cells) / (most or 1.0) if shade is None else shade
    figures = cells.size <= FIGURES
    rows = [
        {"r": i, "c": j, "v": rounded(float(cells[i, j])), "s": rounded(float(dark[i, j]), 2)}
        | ({"dark": bool(dark[i, j] > 0.55)} if figures else {})
        for i in range(len(down))
        for j in range(len(across))
        if np.isfinite(cells[i, j])
    ]
    size = _cell(len(across), len(down))
    steep = len(across) > 1 and max(len(cut(name, 22)) for name in across) * LETTER > size - 2
    axis = {"orient": "top", "labelAngle": -55 if steep else 0, "domain": False}
    x = alt.X("c:O", title=safe(across_is), **named_axis(across, 22, **axis))
    y = alt.Y("r:O", title=safe(down_is), **named_axis(down, domain=False))
    scale = alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=list(LIGHT_TO_DARK))
    tip = [
        alt.Tooltip("down:N", title=safe(down_is)),
        alt.Tooltip("across:N", title=safe(across_is)),
        alt.Tooltip("v:Q", title=figure_is, format=form),
    ]
    base = alt.Chart(inline(rows)).transform_calculate(down=name_of(down, "r"), across=name_of(across, "c"))
    shaded = alt.Color("s:Q", scale=scale, legend=None)
    layers = [base.mark_rect(stroke="white", strokeWidth=1).encode(x, y, shaded, tooltip=tip)]
    if figures:
        ink = alt.condition("datum.dark", alt.value("white"), alt.value("#1c1c1c"))
        layers.append(base.mark_text(fontSize=FONT - 1).encode(x, y, alt.Text("v:Q", format=form), color=ink))
    return offline(
        alt.layer(*layers).properties(width=alt.Step(size), height=alt.Step(min(size, 30)), title=title(head, remark))
    )


def _cell(across: int, down: int) -> float:
    """The width of a cell."""
    return 60 if across * down <= FIGURES and across <= 12 else max(10.0, min(34.0, 560 / across))
