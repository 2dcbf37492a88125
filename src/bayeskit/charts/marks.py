"""Bar charts, heat maps, line charts and waterfalls that the other charts are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.charts import style
from bayeskit.charts.style import alt, band, cut, dash, finish_chart, inline, name_of, named_axis, round_to, safe, shape
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import format_factor
from bayeskit.typing import Floats

MOST = 40  # bars of a chart; the rest is one bar, or a note


def bars(
    names: Sequence[object],
    numbers: Sequence[float],
    head: str,
    axis: str,
    *,
    remark: str = "",
    of: str | None = None,
    form: str = ".3~g",
    ticks: Sequence[float] | None = None,
    ticks_are: str = "",
    intervals: Sequence[tuple[float, float]] | None = None,
    tips: dict[str, Sequence[Any]] | None = None,
) -> Any:
    """Draw a bar for each name.

    ``of`` titles the names; ``ticks`` and ``intervals`` are marked beside the bars; ``tips`` are further tooltip
    fields.
    """
    if not any(math.isfinite(number) for number in numbers):
        raise BayesError(f"{head}: there is nothing to draw")
    rows = []
    for at, (name, number) in enumerate(zip(names, numbers, strict=True)):
        sign = "for" if number >= 0 else "against"
        row = {"at": at, "name": str(name), "number": round_to(number, 6), "sign": sign}
        row |= {key: column[at] for key, column in (tips or {}).items()}
        rows.append(row | ({"tick": round_to(ticks[at], 6)} if ticks is not None else {}))
    y = alt.Y("at:O", title=None if of is None else safe(of), **named_axis(names))
    axis = safe(axis)
    x = alt.X("number:Q", title=axis, scale=alt.Scale(zero=True))
    color = alt.Color(
        "sign:N", legend=None, scale=alt.Scale(domain=["for", "against"], range=[style.INK, style.AGAINST])
    )
    tip = [alt.Tooltip("name:N", title="of"), alt.Tooltip("number:Q", title=axis, format=form)]
    tip += [alt.Tooltip(f"{key}:N", title=key) for key in tips or {}]
    base = alt.Chart(inline(rows))
    layers = [base.mark_bar(height={"band": 0.72}).encode(x, y, color, tooltip=tip)]
    if ticks is not None:
        mark = base.mark_tick(color="#222222", thickness=2, height={"band": 0.9})
        layers.append(mark.encode(alt.X("tick:Q"), y, tooltip=tip))
        remark = f"{remark + '; ' if remark else ''}the tick beside a bar is {ticks_are}"
    figures = base.mark_text(align="left", dx=4, fontSize=10, color="#333333").transform_calculate(
        right="max(datum.number, 0)"
    )
    if intervals is not None:
        ends = [{"at": i, "low": round_to(low), "high": round_to(high)} for i, (low, high) in enumerate(intervals)]
        whisker = alt.Chart(inline(ends)).mark_rule(color="#222222", strokeWidth=1.5)
        layers.append(whisker.encode(alt.X("low:Q"), y, alt.X2("high:Q")))
        remark = f"{remark + '; ' if remark else ''}thin lines: credible intervals"
    if ticks is None and intervals is None:
        layers.append(figures.encode(alt.X("right:Q"), y, alt.Text("number:Q", format=form)))
    if any(number < 0 for number in numbers):
        layers.append(alt.Chart(inline([{"number": 0}])).mark_rule(color=style.FAINT).encode(alt.X("number:Q")))
    return finish_chart(layers, 360, alt.Step(band(len(rows), most=22)), head, remark)


def rest_of(share: float) -> str:
    """Describe the probability that is not drawn.

    >>> rest_of(0.1234)
    'the others have up to 12.3 % together'
    """
    return f"the others have up to {100 * share:.3g} % together"


def strongest(numbers: Sequence[float], n: int = MOST) -> list[int]:
    """Return the positions of the n largest in their own order; all if there are few more.

    >>> strongest([0.1, 0.5, 0.2, 0.3], 2), strongest([0.1, 0.2, 0.3], 2)
    ([1, 3], [0, 1, 2])
    """
    if len(numbers) <= n + 1:
        return list(range(len(numbers)))
    return sorted(sorted(range(len(numbers)), key=lambda i: -abs(numbers[i]))[:n])


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
    """Draw ``cells`` (n_down, n_across) as a heat map; ``shade`` (0 to 1) replaces the share of the largest cell."""
    most = np.nanmax(np.abs(cells), initial=0.0)
    dark = np.abs(cells) / (most or 1.0) if shade is None else shade
    figures = cells.size <= FIGURES
    rows = [
        {"r": i, "c": j, "v": round_to(float(cells[i, j])), "s": round_to(float(dark[i, j]), 2)}
        | ({"dark": bool(dark[i, j] > 0.55)} if figures else {})
        for i in range(len(down))
        for j in range(len(across))
        if np.isfinite(cells[i, j])
    ]
    size = _cell(len(across), len(down))
    steep = len(across) > 1 and max(len(cut(name, 22)) for name in across) * style.LETTER > size - 2
    axis = {"orient": "top", "labelAngle": -55 if steep else 0, "domain": False}
    x = alt.X("c:O", title=safe(across_is), **named_axis(across, 22, **axis))
    y = alt.Y("r:O", title=safe(down_is), **named_axis(down, domain=False))
    scale = alt.Scale(domain=[0, 0.25, 0.5, 0.75, 1], range=list(style.LIGHT_TO_DARK))
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
        layers.append(base.mark_text(fontSize=style.FONT - 1).encode(x, y, alt.Text("v:Q", format=form), color=ink))
    return finish_chart(layers, alt.Step(size), alt.Step(min(size, 30)), head, remark)


def _cell(across: int, down: int) -> float:
    """Return the width of a cell."""
    return 60 if across * down <= FIGURES and across <= 12 else max(10.0, min(34.0, 560 / across))


POINTS = 160  # of a line
MOST_LINES = len(style.PALETTE)  # lines of a chart


@dataclass(frozen=True)
class Line:
    """A line with its name, points, and band from ``low`` to ``high``."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass
class LineChart:
    """A line chart and its axes."""

    head: str
    x: str
    y: str
    remark: str = ""
    lines: Sequence[Line] = ()
    x_domain: Sequence[float] | None = None
    y_domain: Sequence[float] | None = None
    log_x: bool = False
    points: bool = False
    rising: bool = False  # lines in an order, from light to dark
    marks: Sequence[tuple[str, float, float]] = ()  # named points
    guide: Sequence[tuple[float, float]] = ()  # a dotted line to compare with
    size: tuple[int, int] = (420, 280)

    def chart(self) -> Any:
        """Build the chart."""
        drawn = [line for line in self.lines if np.isfinite(line.y).any()][:MOST_LINES]
        if not drawn:
            raise BayesError(f"{self.head}: there is nothing to draw")
        names = [line.name for line in drawn]
        x, y = self._axes()
        shades = [_between(i / max(len(names) - 1, 1)) for i in range(len(names))] if self.rising else None
        hue = style.color(names, shades=shades, symbolStrokeWidth=0 if self.points else 3)
        layers = []
        if self.guide:
            ends = [{"x": a, "y": b} for a, b in self.guide]
            layers.append(alt.Chart(inline(ends)).mark_line(color=style.FAINT, strokeDash=[3, 4]).encode(x, y))
        rows: list[dict[str, Any]] = []
        bands: list[dict[str, Any]] = []
        for i, line in enumerate(drawn):
            at = thin_points(line.x, line.y)
            rows += [{"x": round_to(line.x[k], 6), "y": round_to(line.y[k], 5), "class": i} for k in at]
            if line.low is not None and line.high is not None:
                for k in at:
                    low, high = round_to(line.low[k], 5), round_to(line.high[k], 5)
                    bands.append({"x": round_to(line.x[k], 6), "y": low, "y2": high, "class": i})
        if bands:
            layers.append(alt.Chart(inline(bands)).mark_area(opacity=0.18).encode(x, y, alt.Y2("y2:Q"), hue))
        named = alt.Chart(inline(rows)).transform_calculate(label=name_of(names))
        axes = alt.Tooltip("x:Q", title=safe(self.x)), alt.Tooltip("y:Q", title=safe(self.y))
        tip = [alt.Tooltip("label:N", title="line"), *axes]
        dashes = [] if self.rising or len(names) == 1 else [dash(len(names))]
        layers.append(named.mark_line(strokeWidth=2.2, interpolate="linear").encode(x, y, hue, *dashes, tooltip=tip))
        if self.points:
            shapes = [] if self.rising or len(names) == 1 else [shape(names)]
            layers.append(named.mark_point(filled=True, size=45, opacity=1).encode(x, y, hue, *shapes, tooltip=tip))
        if self.marks:
            rows = [{"x": round_to(a, 6), "y": round_to(b, 6), "name": cut(name, 40)} for name, a, b in self.marks]
            base = alt.Chart(inline(rows))
            dots = base.mark_point(filled=True, size=70, color="#16181a", opacity=1)
            words = base.mark_text(align="left", dx=7, dy=-7, fontSize=11, color="#16181a")
            layers.append(dots.encode(x, y, tooltip=["name:N", "x:Q", "y:Q"]))
            layers.append(words.encode(x, y, alt.Text("name:N")))
        left_out = len(self.lines) - len(drawn)
        remark = f"{self.remark}; {left_out:,} more lines are not drawn".lstrip("; ") if left_out else self.remark
        return finish_chart(layers, *self.size, self.head, remark)

    def _axes(self) -> tuple[Any, Any]:
        across: dict[str, Any] = {"type": "log", "nice": False} if self.log_x else {"zero": False, "nice": False}
        if self.x_domain is not None:
            across["domain"] = list(self.x_domain)
        up: dict[str, Any] = {"zero": False} if self.y_domain is None else {"domain": list(self.y_domain)}
        form = {"axis": alt.Axis(format="~s", tickCount=6)} if self.log_x else {}
        return (
            alt.X("x:Q", title=safe(self.x), scale=alt.Scale(**across), **form),
            alt.Y("y:Q", title=safe(self.y), scale=alt.Scale(**up)),
        )


def _between(share: float) -> str:
    """Return a shade from light to dark."""
    shades = [tuple(int(c[i : i + 2], 16) for i in (1, 3, 5)) for c in style.LIGHT_TO_DARK[1:]]
    at = share * (len(shades) - 1)
    low = min(int(at), len(shades) - 2)
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(shades[low], shades[low + 1], strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def thin_points(x: Floats, y: Floats, n: int = POINTS) -> list[int]:
    """Return the drawn points of a line: all if few, else equally spaced ones with both ends.

    >>> thin_points(np.arange(5.0), np.zeros(5)), len(thin_points(np.arange(1e6), np.zeros(1000000)))
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


STEPS = 20  # bars of a waterfall; the others are one bar
LABEL = 34  # letters beside the axis of a waterfall


@dataclass(frozen=True)
class Waterfall:
    """A start, parts that are added to it, and their sum."""

    head: str
    remark: str
    predicted: str
    against: str
    start: tuple[str, float]
    parts: Sequence[tuple[str, float]]
    total: float
    short: Mapping[str, str] = field(default_factory=dict)  # what stands beside the axis for a part


def waterfall(steps: Waterfall) -> Any:
    """Draw the bars of a sum from its start to its total."""
    bars = _waterfall_bars(steps)
    if not bars:
        raise BayesError("the odds are infinite before any evidence: there is nothing to draw")
    names = [steps.short.get(bar["what"], bar["what"]) for bar in bars]
    ends = f"← for {safe(steps.against, 24)} · log odds (nats) · for {safe(steps.predicted, 24)} →"
    x = alt.X("low:Q", title=ends, scale=alt.Scale(zero=True, nice=True))
    y = alt.Y("at:O", title=None, **named_axis(names, LABEL))
    signs = alt.Scale(domain=["for", "against"], range=[style.FOR, style.AGAINST])
    tip = [
        alt.Tooltip("what:N", title="evidence"),
        alt.Tooltip("times:N", title="makes"),
        alt.Tooltip("log_odds:Q", title="log odds", format="+.3f"),
        alt.Tooltip("high:Q", title="sum so far", format="+.3f"),
    ]
    base = alt.Chart(inline(bars))
    drawn = base.mark_bar(height={"band": 0.72}).encode(
        x, y, alt.X2("high:Q"), alt.Color("speaks:N", legend=None, scale=signs), tooltip=tip
    )
    figures = base.mark_text(align="left", dx=4, fontSize=10, color="#333333").encode(
        alt.X("right:Q"), y, alt.Text("log_odds:Q", format="+.2f")
    )
    zero = alt.Chart(inline([{"low": 0}])).mark_rule(color="#444444").encode(alt.X("low:Q"))
    return finish_chart([zero, drawn, figures], 400, alt.Step(band(len(bars))), steps.head, steps.remark)


def _waterfall_bars(steps: Waterfall) -> list[dict[str, Any]]:
    """Return the start and end of each bar."""
    finite = [(what, odds) for what, odds in steps.parts if math.isfinite(odds)]
    if more := finite[STEPS + 1 :] and finite[STEPS:]:
        finite = [*finite[:STEPS], (f"(and {len(more):,} more)", sum(odds for _, odds in more))]
    listed = [(*part, False) for part in (steps.start, *finite) if math.isfinite(part[1])]
    if math.isfinite(steps.total):
        listed.append(("together", steps.total, True))
    bars, so_far = [], 0.0
    for at, (what, odds, last) in enumerate(listed):
        low = 0.0 if last else so_far
        so_far = low + odds
        speaks, likelier, other = "for", steps.predicted, steps.against
        if odds < 0:
            speaks, likelier, other = "against", other, likelier
        times = f"{likelier} {format_factor(abs(odds))} times as likely as {other}"
        places = {"low": round_to(low, 6), "high": round_to(so_far, 6), "right": round_to(max(low, so_far), 6)}
        bars.append({"at": at, "what": what, **places, "log_odds": odds, "speaks": speaks, "times": times})
    return bars
