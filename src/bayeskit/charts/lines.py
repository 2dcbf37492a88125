"""Lines by name: curves of any number of points, thinned to what can be seen, each named where it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import FAINT, LIGHT_TO_DARK, PALETTE, colour, cut, dash, name_of, safe, shape, title
from bayeskit.errors import BayesError
from bayeskit.typing import Floats

POINTS = 160  # of a line
MOST = len(PALETTE)  # lines of a chart


@dataclass(frozen=True)
class Line:
    """One line: its name and points; ``low`` and ``high`` of a band around it."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass
class Lines:
    """A chart of lines, and how its axes look."""

    head: str
    x: str
    y: str
    remark: str = ""
    lines: Sequence[Line] = ()
    x_domain: Sequence[float] | None = None
    y_domain: Sequence[float] | None = None
    log_x: bool = False
    points: bool = False
    steps: bool = False
    rising: bool = False  # lines in an order, from light to dark
    marks: Sequence[tuple[str, float, float]] = ()  # named points
    guide: Sequence[tuple[float, float]] = ()  # a dotted line to compare with
    size: tuple[int, int] = (420, 280)
    below: Sequence[Any] = field(default=())

    def chart(self) -> Any:
        """All of it."""
        alt = altair()
        drawn = [line for line in self.lines if np.isfinite(line.y).any()][:MOST]
        if not drawn:
            raise BayesError(f"{self.head}: there is nothing to draw")
        names = [line.name for line in drawn]
        x, y = self._axes(alt)
        shades = [_between(i / max(len(names) - 1, 1)) for i in range(len(names))] if self.rising else None
        hue = colour(names, shades=shades, symbolStrokeWidth=0 if self.points else 3)
        layers = [*self.below]
        if self.guide:
            ends = [{"x": a, "y": b} for a, b in self.guide]
            layers.append(alt.Chart(inline(ends)).mark_line(color=FAINT, strokeDash=[3, 4]).encode(x, y))
        rows: list[dict[str, Any]] = []
        bands: list[dict[str, Any]] = []
        for i, line in enumerate(drawn):
            at = thinned(line.x, line.y)
            rows += [{"x": rounded(line.x[k], 6), "y": rounded(line.y[k], 5), "class": i} for k in at]
            if line.low is not None and line.high is not None:
                around = ((line.x[k], line.low[k], line.high[k]) for k in at)
                bands += [
                    {"x": rounded(a, 6), "y": rounded(b, 5), "y2": rounded(c, 5), "class": i} for a, b, c in around
                ]
        if bands:
            layers.append(alt.Chart(inline(bands)).mark_area(opacity=0.18).encode(x, y, alt.Y2("y2:Q"), hue))
        named = alt.Chart(inline(rows)).transform_calculate(label=name_of(names))
        axes = alt.Tooltip("x:Q", title=safe(self.x)), alt.Tooltip("y:Q", title=safe(self.y))
        tip = [alt.Tooltip("label:N", title="line"), *axes]
        look = {"strokeWidth": 2.2, "interpolate": "step-after" if self.steps else "linear"}
        dashes = [] if self.rising or len(names) == 1 else [dash(len(names))]
        layers.append(named.mark_line(**look).encode(x, y, hue, *dashes, tooltip=tip))
        if self.points:
            shapes = [] if self.rising or len(names) == 1 else [shape(names)]
            layers.append(named.mark_point(filled=True, size=45, opacity=1).encode(x, y, hue, *shapes, tooltip=tip))
        if self.marks:
            layers += self._marked(alt, x, y)
        left_out = len(self.lines) - len(drawn)
        remark = f"{self.remark}; {left_out:,} more lines are not drawn".lstrip("; ") if left_out else self.remark
        width, height = self.size
        return offline(alt.layer(*layers).properties(width=width, height=height, title=title(self.head, remark)))

    def _axes(self, alt: Any) -> tuple[Any, Any]:
        across: dict[str, Any] = {"zero": False, "nice": False}
        if self.log_x:
            across = {"type": "log", "nice": False}
        if self.x_domain is not None:
            across["domain"] = list(self.x_domain)
        up: dict[str, Any] = {"zero": False} if self.y_domain is None else {"domain": list(self.y_domain)}
        form = {"axis": alt.Axis(format="~s", tickCount=6)} if self.log_x else {}
        return (
            alt.X("x:Q", title=safe(self.x), scale=alt.Scale(**across), **form),
            alt.Y("y:Q", title=safe(self.y), scale=alt.Scale(**up)),
        )

    def _marked(self, alt: Any, x: Any, y: Any) -> list[Any]:
        rows = [{"x": rounded(a, 6), "y": rounded(b, 6), "name": cut(name, 40)} for name, a, b in self.marks]
        base = alt.Chart(inline(rows))
        dots = base.mark_point(filled=True, size=70, color="#16181a", opacity=1)
        names = base.mark_text(align="left", dx=7, dy=-7, fontSize=11, color="#16181a")
        return [dots.encode(x, y, tooltip=["name:N", "x:Q", "y:Q"]), names.encode(x, y, alt.Text("name:N"))]


def _between(share: float) -> str:
    """A shade from light to dark, the lightest left out."""
    shades = [tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in LIGHT_TO_DARK[1:]]
    at = share * (len(shades) - 1)
    low = min(int(at), len(shades) - 2)
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(shades[low], shades[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def thinned(x: Floats, y: Floats, n: int = POINTS) -> list[int]:
    """Which points of a line are drawn: all of few, else those at equal steps along what is seen of it, and both ends.

    >>> thinned(np.arange(5.0), np.zeros(5)), len(thinned(np.arange(1e6), np.zeros(1000000)))
    ([0, 1, 2, 3, 4], 160)
    """
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(there) <= n:
        return [int(k) for k in there]
    way = np.zeros(len(there))
    for part in (x[there], y[there]):
        spread = float(np.ptp(part))
        way[1:] += np.abs(np.diff(part)) / spread if spread > 0 else 0.0
    along = np.cumsum(way)
    wanted = np.linspace(0, along[-1], n)
    at = np.clip(np.searchsorted(along, wanted), 0, len(there) - 1)
    at[0], at[-1] = 0, len(there) - 1
    return [int(k) for k in there[np.unique(at)]]
