"""Layout of a nomogram without overlapping labels.

The position of a value is its number of points. Points of a numeric column may rise and fall: ticks are above the line
where they rise and below it where they fall. Labels without room are dropped, their ticks stay. The SVG writer here
and the Altair chart use the same layout.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Literal

from bayeskit.explain.evidence import format_cell
from bayeskit.printable import printable
from bayeskit.tolerance import RANK, ROUNDING

GUTTER, SPAN, MARGIN = 160.0, 560.0, 30.0  # left of the rulers, along them and right of them, in pixels
FONT = 11.0
LETTER = 0.58 * FONT  # the width of most letters
LANE = 13.0  # from one line of names to the next
TICK = 5.0
GAP = 6.0  # between two names in a line
NAME = 22  # letters of a name beside a ruler, and at most of one along it
LANES = 3  # of names on each side of a ruler
ABOVE = (-1, 0)  # a lane: its side, −1 above and 1 below the ruler, and how far out it is
CLOSE = 3.0  # ticks without a name that are nearer to another are left out
AXES = 30  # rulers on a page
INK, FAINT, DOT = "#2a6f97", "#8a8a8a", "#c84a5f"

Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class Tick:
    """A tick from ``y`` to ``end`` with its tooltip."""

    x: float
    y: float
    end: float
    column: str
    value: str
    points: float


@dataclass(frozen=True)
class Name:
    """A text label."""

    x: float
    y: float
    text: str
    anchor: Anchor = "middle"
    faint: bool = False


@dataclass
class NomogramLayout:
    """Elements of a nomogram page of ``width`` × ``height``.

    Lines (x, y, x2, y2), ticks, labels, rings for missing cells and dots for one row.
    """

    width: float = GUTTER + SPAN + MARGIN
    height: float = 0.0
    lines: list[tuple[float, float, float, float]] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)
    rings: list[Tick] = field(default_factory=list)
    dots: list[Tick] = field(default_factory=list)


def lay_out_nomogram(nomogram: Any) -> NomogramLayout:
    """Lay out a nomogram: points, one axis per column, total and probability."""
    page = NomogramLayout(height=16.0)
    _scale(page, "points", [(float(p), f"{p}") for p in range(0, 101, 10)], (0.0, 100.0))
    reaching = [axis for axis in nomogram.axes if axis.most >= 1 or not all(map(math.isfinite, axis.points))]
    for axis in reaching[:AXES]:
        _ruler(page, axis, nomogram)
    if short := [axis.column for axis in nomogram.axes if axis not in reaching]:
        _note(page, f"under one point: {join_names(short)}")
    if more := [axis.column for axis in reaching[AXES:]]:
        _note(page, f"not drawn: {join_names(more)}")
    if page.rings:
        page.height += 4.0
        y = page.height
        page.rings.append(Tick(GUTTER + SPAN - 56, y - FONT / 3, y, "", "missing", 0.0))
        page.names.append(Name(GUTTER + SPAN, y, "missing", "end", faint=True))
    if nomogram.most >= 1:
        _total(page, nomogram)
    page.height += 6.0
    return page


def _total(page: NomogramLayout, nomogram: Any) -> None:
    """Add the axes of totals and probabilities."""
    page.height += 10.0
    first, last = nomogram.totals[0][0], nomogram.totals[-1][0]
    room = (last - first) / 12
    low, high = max(0.0, first - room), min(nomogram.most, last + room)
    row = nomogram.row if nomogram.row is not None and math.isfinite(nomogram.row.total) else None
    if row is not None:
        low, high = min(low, row.total - room), max(high, row.total + room)
    size = (high - low) / 12
    power = 10.0 ** math.floor(math.log10(size))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= size * (1 - RANK))  # a round number
    totals = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    _scale(page, "total points", [(total, f"{total:g}") for total in totals], (low, high))
    if row is not None:
        x, y = GUTTER + SPAN * (row.total - low) / (high - low or 1.0), page.height - 14.0
        page.dots.append(Tick(x, y, y, "total", f"{row.total:.1f}", row.total))
    by_size = sorted(nomogram.totals, key=lambda pair: abs(pair[1] - 0.5))  # 0.5 has the best claim to room
    _scale(page, f"P({nomogram.predicted})", [(t, f"{p:.3g}") for t, p in by_size], (low, high))


def _note(page: NomogramLayout, text: str) -> None:
    page.height += 6.0
    text = clip_name(text, int((SPAN + MARGIN) / LETTER))
    page.names.append(Name(GUTTER, page.height, text, "start", faint=True))
    page.height += LANE - 4


def join_names(names: Sequence[str], n: int = 6) -> str:
    """Join the first names and count the others.

    >>> join_names(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - n:,} more" if len(names) > n else ""
    return ", ".join(clip_name(name, NAME + 8) for name in names[:n]) + more


def clip_name(text: str, width: int = NAME) -> str:
    """Shorten a label and escape control characters."""
    text = printable(text, keep="")
    return text if len(text) <= width else f"{text[: width - 1 - width // 4]}…{text[-(width // 4) :]}"


def text_width(text: str) -> float:
    """Estimate the width of a text in pixels; East Asian characters count twice.

    >>> round(text_width("ab")), round(text_width("日本"))
    (13, 26)
    """
    return LETTER * sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


@dataclass
class _Names:
    """Labels along one axis, placed in lanes without overlaps."""

    taken: dict[tuple[int, int], list[tuple[float, float]]] = field(default_factory=dict)

    def place(self, x: float, text: str, lanes: Sequence[tuple[int, int]]) -> tuple[float, tuple[int, int]] | None:
        """Place a label for a tick at x in the first free lane; return (center, lane), or None."""
        half = text_width(text) / 2 + GAP / 2
        middle = min(max(x, GUTTER - 10 + half), GUTTER + SPAN + MARGIN - half)
        for side, out in lanes:
            needed = [((side, out), middle - half, middle + half)]
            needed += [((side, inner), x - 2, x + 2) for inner in range(out)]
            overlaps = (
                left < end and start < right for lane, left, right in needed for start, end in self.taken.get(lane, ())
            )
            if not any(overlaps):
                for lane, left, right in needed:
                    self.taken.setdefault(lane, []).append((left, right))
                return middle, (side, out)
        return None

    def lanes(self, side: int) -> int:
        """Return the number of lanes used on a side."""
        return max((out + 1 for one, out in self.taken if one == side), default=0)


def _scale(page: NomogramLayout, name: str, marks: Sequence[tuple[float, str]], between: tuple[float, float]) -> None:
    """Add an axis with labels above it."""
    page.height += LANE
    y, names, (low, high) = page.height, _Names(), between
    page.lines.append((GUTTER, y, GUTTER + SPAN, y))
    page.names.append(Name(GUTTER - 14, y + FONT / 3, clip_name(name), "end"))
    for points, text in marks:
        x = GUTTER + SPAN * (points - low) / (high - low or 1.0)
        page.ticks.append(Tick(x, y, y - TICK, name, text, points))
        if place := names.place(x, text, [ABOVE]):
            page.names.append(Name(place[0], y - TICK - 3, text))
    page.height += 14.0


@dataclass(frozen=True)
class _Mark:
    """A value on an axis: points, label and allowed lanes in order of preference (none: tick only)."""

    points: float
    text: str
    lanes: tuple[tuple[int, int], ...]
    side: int = -1


def _ruler(page: NomogramLayout, axis: Any, nomogram: Any) -> None:
    """Add the axis of one column."""
    names, placed, unnamed = _Names(), [], []
    for mark in _number_marks(axis) if axis.is_number else _value_marks(axis):
        x = GUTTER + SPAN * mark.points / 100
        place = names.place(x, mark.text, mark.lanes)
        placed.append((x, mark, place))
        if not place and not axis.is_number:
            unnamed.append(f"{clip_name(mark.text)} {mark.points:.1f}")
    page.height += 8 + LANE * max(names.lanes(-1), 0.4)
    y = page.height
    page.names.append(Name(GUTTER - 14, y + FONT / 3, clip_name(axis.column), "end"))
    if placed:
        page.lines.append((min(x for x, _, _ in placed), y, max(x for x, _, _ in placed), y))
    ticks: dict[int, list[float]] = {-1: [], 1: []}
    for x, mark, place in sorted(placed, key=lambda at: at[2] is None):  # ticks with a name have the first claim
        side, out = place[1] if place else (mark.side, 0)
        if place or not any(abs(x - other) < CLOSE for other in ticks[side]):
            end = y + side * (TICK + LANE * out)
            page.ticks.append(Tick(x, y, end, axis.column, mark.text, mark.points))
            ticks[side].append(x)
            if place:
                page.names.append(Name(place[0], end - 3 if side < 0 else end + FONT - 1, mark.text))
    if 0 <= axis.missing_points <= 100:
        x = GUTTER + SPAN * axis.missing_points / 100
        page.rings.append(Tick(x, y, y, axis.column, "missing", axis.missing_points))
    for column, value, points in nomogram.row.cells if nomogram.row is not None else ():
        if column == axis.column and -5 <= points <= 105:
            page.dots.append(Tick(GUTTER + SPAN * points / 100, y, y, column, format_cell(value), points))
    page.height += 10 + LANE * max(names.lanes(1), 0.2)
    for sign, label in ((1, nomogram.against), (-1, nomogram.predicted)):
        never = [format_cell(v) for v, p in zip(axis.values, axis.points, strict=True) if p == sign * math.inf]
        if never:
            _note(page, f"never in {clip_name(str(label))}: {join_names(never)}")
    if unnamed:
        _note(page, f"also {join_names(unnamed[::-1])}")


def _number_marks(axis: Any) -> Iterator[_Mark]:
    """Yield marks of a numeric column: above the line where points rise, below where they fall."""
    pairs = [(float(v), p) for v, p in zip(axis.values, axis.points, strict=True) if math.isfinite(p)]
    rises = [after >= before for (_, before), (_, after) in pairwise(pairs)]
    rises = [*rises[:1], *rises] or [True]  # of each number, whether the points rise towards it; of the first, from it
    branches = list(accumulate((up != before for before, up in pairwise(rises)), initial=0))
    by_value = {v: (p, up, branch) for (v, p), up, branch in zip(pairs, rises, branches, strict=False)}
    named: dict[float, None] = {}
    for branch in range(2 * LANES):
        named |= dict.fromkeys(_round_numbers({v: p for v, (p, _, b) in by_value.items() if b == branch}))
    for value in (*named, *(v for v in by_value if v not in named)):
        points, up, branch = by_value[value]
        side = -1 if up else 1
        is_end = value in (pairs[0][0], pairs[-1][0])
        lanes = dict.fromkeys([(side, 0), (side, branch // 2)]) if value in named or is_end else {}
        yield _Mark(points, format_cell(value), tuple(lanes), side)


def _round_numbers(points: dict[float, float]) -> list[float]:
    """Return the labeled numbers of one branch: as many round numbers as have room.

    >>> _round_numbers({float(v): v - 172.0 for v in range(172, 222, 2)})
    [200.0, 180.0, 190.0, 210.0, 220.0]
    """
    if len(points) < 2:
        return list(points)
    step = max(b - a for a, b in pairwise(sorted(points)))
    unit = 10.0 ** math.floor(math.log10(step) + RANK)
    at = {round(v / unit): v for v in points if abs(v / step - round(v / step)) < ROUNDING}
    if not at:
        return []
    least, most = min(at), max(at)
    names, chosen = _Names(), list[float]()

    def take(multiples: list[int]) -> bool:
        """Label all of these numbers, or none of them."""
        before = {lane: [*taken] for lane, taken in names.taken.items()}
        for multiple in multiples:
            x = GUTTER + SPAN * points[at[multiple]] / 100 if multiple in at else math.nan
            if multiple not in at or not names.place(x, format_cell(at[multiple]), [ABOVE]):
                names.taken = before
                return False
        chosen.extend(at[multiple] for multiple in multiples)
        return True

    def fill(first: int, width: int) -> None:
        """Label numbers between two round ones in ten, five or two parts."""
        for parts in (10, 5, 2):
            size = width // parts
            if size and take([m for m in range(first + size, first + width, size) if least <= m <= most]):
                for start in range(first, first + width, size) if size >= 10 else ():
                    fill(start, size)
                return

    width = 10
    while width < most - least:
        width *= 10
    decades = range(least // width * width, most + width, width)
    for multiple in decades:
        take([multiple] if multiple in at else [])
    for multiple in decades:
        fill(multiple, width)
    return chosen


def _value_marks(axis: Any) -> Iterator[_Mark]:
    """Yield marks of values; values with equal points share a label."""
    places: dict[float, list[str]] = {}
    for value, points in zip(axis.values, axis.points, strict=True):
        if math.isfinite(points):
            places.setdefault(round(points, 1), []).append(format_cell(value))
    lanes = tuple((side, out) for out in range(LANES) for side in (-1, 1))
    rising = sorted(places)
    for points in (*rising[:1], *rising[:0:-1]):  # the ends of the ruler have the first claim to a name
        yield _Mark(points, join_names(places[points], 2), lanes)


def svg(page: NomogramLayout) -> str:
    """Write the layout as SVG."""
    parts = [f"<path d='M{x:.1f} {y:.1f}L{x2:.1f} {y2:.1f}' stroke='{FAINT}'/>" for x, y, x2, y2 in page.lines]
    for tick in page.ticks:
        path = f"<path d='M{tick.x:.1f} {tick.y:.1f}V{tick.end:.1f}' stroke='{INK}' stroke-width='1.5'>"
        parts.append(f"{path}{_tip(tick)}</path>")
    for marks, look in ((page.rings, f"r='3.5' fill='none' stroke='{INK}'"), (page.dots, f"r='4.5' fill='{DOT}'")):
        parts += [f"<circle cx='{mark.x:.1f}' cy='{mark.y:.1f}' {look}>{_tip(mark)}</circle>" for mark in marks]
    for name in page.names:
        color = FAINT if name.faint else "currentColor"
        place = f"x='{name.x:.1f}' y='{name.y:.1f}' text-anchor='{name.anchor}' fill='{color}'"
        parts.append(f"<text {place}>{html.escape(printable(name.text, keep=''))}</text>")
    size = f"viewBox='0 0 {page.width:.0f} {page.height:.0f}' style='width:100%;max-width:{page.width:.0f}px'"
    return f"<svg {size} font-family='sans-serif' font-size='{FONT:.0f}' role='img'>{''.join(parts)}</svg>"


def _tip(tick: Tick) -> str:
    text = f"{tick.column} {tick.value}: {tick.points:.1f}"
    return f"<title>{html.escape(printable(text, keep=''))}</title>"
