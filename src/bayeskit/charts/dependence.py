"""Chart of pairwise dependence: columns on a circle, joined if they depend on each other given the class."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.style import INK, LETTER, altair, cut, in_title, inline, offline, round_to, title
from bayeskit.errors import BayesError
from bayeskit.explain.structure import DependenceGraph
from bayeskit.tolerance import RANK

if TYPE_CHECKING:
    from bayeskit.evaluate.diagnosis import Diagnosis

COLUMNS = 36  # on the circle
LINES = 120  # between them
NAME = 20  # letters beside the circle
UPRIGHT = 12  # columns whose names stand upright
WIDE = 8.0  # the widest line


def dependence_chart(record: DependenceGraph) -> Any:
    """Draw columns on a circle; wider and darker lines have more bits."""
    alt = altair()
    pairs = record.pairs
    if not pairs:
        raise BayesError(f"no two columns depend on each other, given {record.given}: there is nothing to draw")
    kept = _kept(record)
    place = {name: i for i, name in enumerate(kept)}
    drawn = [pair for pair in pairs if pair[0] in place and pair[1] in place][:LINES]
    radius = max(90.0, 15.0 * len(kept) / (2 * math.pi) * 1.35)
    side = LETTER * max(len(cut(name, NAME)) for name in kept) + 16
    width, height = 2 * (radius + side), 2 * (radius + (side if len(kept) > UPRIGHT else 25))
    angles = [2 * math.pi * i / len(kept) - math.pi / 2 for i in range(len(kept))]
    at = [(width / 2 + radius * math.cos(a), height / 2 + radius * math.sin(a)) for a in angles]
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False, zero=False))
    most = drawn[0][2]
    lines = [
        {
            "x": round_to(at[place[a]][0]), "y": round_to(at[place[a]][1]), "x2": round_to(at[place[b]][0]),
            "y2": round_to(at[place[b]][1]), "pair": f"{a} – {b}", "bits": round_to(bits),
            "w": round(max(WIDE * bits / most, 0.6), 1), "o": round(0.25 + 0.65 * bits / most, 2),
        }
        for a, b, bits in reversed(drawn)
    ]  # fmt: skip
    tip = [alt.Tooltip("pair:N", title="columns"), alt.Tooltip("bits:Q", title="bits", format=".4f")]
    joined = (
        alt.Chart(inline(lines))
        .mark_rule(color=INK, strokeCap="round")
        .encode(
            x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), alt.StrokeWidth("w:Q", scale=None, legend=None),
            alt.Opacity("o:Q", scale=None, legend=None), tooltip=tip,
        )
    )  # fmt: skip
    dots = [{"x": round_to(px), "y": round_to(py), "name": name} for (px, py), name in zip(at, kept, strict=True)]
    layers = [
        joined,
        alt.Chart(inline(dots))
        .mark_point(filled=True, color="#16181a", size=40, opacity=1)
        .encode(x, y, tooltip=["name:N"]),
    ]
    layers += _names(alt, at, angles, kept, x, y)
    strongest = f"strongest: {pairs[0][0]} and {pairs[0][1]}, {pairs[0][2]:.3g} bits"
    more = len(pairs) - len(drawn)
    remark = f"{strongest}; {more:,} weaker pairs are not drawn" if more else strongest
    head = title(f"Dependencies given {in_title(record.given)}", remark)
    return offline(alt.layer(*layers).properties(width=width, height=height, title=head))


def diagnosis_chart(record: Diagnosis) -> Any:
    """Draw the significant pairs of a diagnosis."""
    return dependence_chart(DependenceGraph(record.names, "the class", record.information))


def _names(alt: Any, at: list[tuple[float, float]], angles: list[float], kept: list[str], x: Any, y: Any) -> list[Any]:
    """Draw names around the circle: horizontal for few columns, radial for many."""
    layers = []
    for right in (True, False):
        side = [i for i, a in enumerate(angles) if (math.cos(a) >= -RANK) == right]
        rows = []
        for i in side:
            ray = (math.cos(angles[i]), math.sin(angles[i]))
            turned = math.degrees(angles[i]) + (0 if right else 180)
            out = (9 * ray[0], 9 * ray[1]) if len(kept) > UPRIGHT else (9 if right else -9, 12 * ray[1])
            rows.append(
                {
                    "x": round_to(at[i][0] + out[0]), "y": round_to(at[i][1] + out[1]), "short": cut(kept[i], NAME),
                    "turned": round_to(turned if len(kept) > UPRIGHT else 0.0),
                }
            )  # fmt: skip
        mark = alt.Chart(inline(rows)).mark_text(align="left" if right else "right", baseline="middle", fontSize=11)
        layers.append(mark.encode(x, y, alt.Text("short:N"), alt.Angle("turned:Q", scale=None)))
    return layers


def _kept(record: DependenceGraph) -> list[str]:
    """Return the columns on the circle, ordered along the strongest pairs."""
    strength = record.bits.sum(axis=1)
    names = record.columns
    if len(names) > COLUMNS:
        chosen: dict[str, None] = {}
        for a, b, _ in record.pairs:
            if len(chosen | {a: None, b: None}) <= COLUMNS:
                chosen |= {a: None, b: None}
        names = tuple(name for name in record.columns if name in chosen)
    where = {name: i for i, name in enumerate(record.columns)}
    left = sorted(names, key=lambda name: -strength[where[name]])
    order = [left.pop(0)]
    while left:
        bits = [record.bits[where[order[-1]], where[name]] for name in left]
        order.append(left.pop(int(np.argmax(bits))))
    return order
