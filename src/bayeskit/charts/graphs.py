"""Graphs: networks and structures in layers, and pairwise dependence as a circle of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.marks import MOST, SIDE, bars, heat, strongest
from bayeskit.charts.style import INK, LETTER, alt, cut, finish_chart, in_title, inline, plain_axis, round_to
from bayeskit.errors import BayesError
from bayeskit.explain.structure import DependenceGraph
from bayeskit.tolerance import RANK

if TYPE_CHECKING:
    from bayeskit.evaluate.diagnosis import Diagnosis
    from bayeskit.explain.structure import StructureDescription, StructureGraph
    from bayeskit.network.averaging import ArcStrengths
    from bayeskit.network.network import BayesianNetwork


GAP = 14.0  # between two nodes of a row, or a node and a channel
BETWEEN = 8.0  # two channels
SWEEPS = 12
ROOM = 760.0  # of a small graph, beyond which its layers are put in several rows
SPREAD = 110.0  # of each pixel of its nodes set side by side, the square of the room that a large one has
CHANNELS = 1.25  # of the room, with that of the channels
NARROWER = (1.0, 0.75, 0.5)  # parts of the room that nodes are given, where channels take much of it

Arcs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Layout:
    """Node centers and arc paths."""

    x: list[float]
    layer: list[int]
    ways: list[list[tuple[float, int]]]
    width: float
    n_layers: int


def layered(widths: Sequence[float], arcs: Arcs) -> Layout:
    """Lay out a directed acyclic graph in layers, given node widths.

    >>> plan = layered([10, 10, 10], [(0, 1), (0, 2)])
    >>> plan.layer, plan.x[0] == (plan.x[1] + plan.x[2]) / 2
    ([0, 1, 1], True)
    """
    parts = _parts(len(widths), arcs)
    places = [{v: i for i, v in enumerate(part)} for part in parts]
    inside: list[list[int]] = [[] for _ in parts]  # arcs, by their number
    of_node = {v: k for k, part in enumerate(parts) for v in part}
    for number, (start, _) in enumerate(arcs):
        inside[of_node[start]].append(number)
    room = max(ROOM, math.sqrt(SPREAD * sum(widths)))
    plans = [
        _in_a_page([widths[v] for v in part], [(place[arcs[i][0]], place[arcs[i][1]]) for i in numbers], room)
        for part, place, numbers in zip(parts, places, inside, strict=True)
    ]
    x, layer, ways = [0.0] * len(widths), [0] * len(widths), [list[tuple[float, int]]() for _ in arcs]
    width, n_layers = 0.0, 0
    for k, (left, top) in _shelves(plans, room).items():
        plan = plans[k]
        for v, i in places[k].items():
            x[v], layer[v] = left + plan.x[i], top + plan.layer[i]
        for number, way in zip(inside[k], plan.ways, strict=True):
            ways[number] = [(left + at, top + level) for at, level in way]
        width, n_layers = max(width, left + plan.width), max(n_layers, top + plan.n_layers)
    return Layout(x, layer, ways, width, n_layers)


def _parts(n: int, arcs: Arcs) -> list[list[int]]:
    """Return the nodes of each connected component."""
    part = list(range(n))

    def first(v: int) -> int:
        while part[v] != v:
            part[v] = part[part[v]]
            v = part[v]
        return v

    for start, end in arcs:
        a, b = sorted((first(start), first(end)))
        part[b] = a
    members: dict[int, list[int]] = {}
    for v in range(n):
        members.setdefault(first(v), []).append(v)
    return list(members.values())


def _shelves(plans: Sequence[Layout], room: float) -> dict[int, tuple[float, int]]:
    """Return (left edge, top layer) of each component, packed in rows, tallest first."""
    room = max([room, *(plan.width for plan in plans)])
    corner, left, top, below = dict[int, tuple[float, int]](), 0.0, 0, 0
    for k in sorted(range(len(plans)), key=lambda k: -plans[k].n_layers):
        if left + plans[k].width > room:
            left, top = 0.0, below
        corner[k] = left, top
        left, below = left + plans[k].width + 2 * GAP, max(below, top + plans[k].n_layers)
    return corner


def _in_a_page(widths: Sequence[float], arcs: Arcs, room: float) -> Layout:
    """Lay out a connected graph, splitting wide layers into several rows if needed."""
    plan = _joined(widths, arcs, math.inf)
    for share in NARROWER:
        if plan.width <= CHANNELS * room:
            break
        plan = min(plan, _joined(widths, arcs, share * room), key=lambda plan: plan.width)
    return plan


def _joined(widths: Sequence[float], arcs: Arcs, room: float) -> Layout:
    """Lay out a connected graph within a row width."""
    layer = _rows(widths, arcs, room)
    parents, children = _neighbors(len(widths), arcs)
    sizes, levels, links, chains = [*widths], [*layer], dict[tuple[int, int], bool](), list[list[int]]()
    channels: dict[tuple[bool, int, int], int] = {}
    for start, end in arcs:
        fans_out = len(children[start]) >= len(parents[end])
        chain = [start]
        for level in range(layer[start] + 1, layer[end]):
            channel = (fans_out, start if fans_out else end, level)
            if channel not in channels:
                channels[channel] = len(sizes)
                sizes.append(BETWEEN - GAP)
                levels.append(level)
            chain.append(channels[channel])
        chain.append(end)
        chains.append(chain)
        links |= dict.fromkeys(pairwise(chain), True)
    n_layers = max(levels) + 1
    above, below = _neighbors(len(sizes), links)
    rows: list[list[int]] = [[] for _ in range(n_layers)]
    for v in range(len(widths)):
        rows[levels[v]].append(v)
    for v in range(len(widths), len(sizes)):
        half = (len(rows[levels[v]]) + levels[v] % 2) // 2  # of odd rows the longer one by turns
        rows[levels[v]].insert(half, v)  # a trunk has its branches on both sides
    x = _places(_ordered(rows, above, below), sizes, above, below)
    left = min(x[v] - sizes[v] / 2 for v in range(len(sizes)))
    x = [place - left for place in x]
    width = max(x[v] + sizes[v] / 2 for v in range(len(sizes)))
    ways = [[(x[v], levels[v]) for v in chain] for chain in chains]
    return Layout(x[: len(widths)], layer, ways, width, n_layers)


def _neighbors(n: int, arcs: Iterable[tuple[int, int]]) -> tuple[list[list[int]], list[list[int]]]:
    """Return the parents and the children of each of n nodes."""
    parents, children = ([list[int]() for _ in range(n)] for _ in range(2))
    for start, end in arcs:
        parents[end].append(start)
        children[start].append(end)
    return parents, children


def _rows(widths: Sequence[float], arcs: Arcs, room: float) -> list[int]:
    """Return the row of each node: its layer, or one of the rows of a wide layer."""
    layer = _layers(len(widths), arcs)
    parents, children = _neighbors(len(widths), arcs)
    row, top = [0] * len(widths), 0
    for level in range(max(layer) + 1):
        members = [v for v in range(len(widths)) if layer[v] == level]
        members.sort(key=lambda v: (parents[v], children[v], v))
        high = min(max(1, math.ceil(sum(widths[v] + GAP for v in members) / room)), len(members))
        for i, v in enumerate(members):
            row[v] = top + i % high
        top += high
    return row


def _layers(n: int, arcs: Arcs) -> list[int]:
    """Return the longest path to each node; nodes with more children than parents are placed as low as possible."""
    layer = [0] * n
    for _ in range(n):
        moved = False
        for start, end in arcs:
            if layer[end] <= layer[start]:
                layer[end], moved = layer[start] + 1, True
        if not moved:
            break
    parents, children = _neighbors(n, arcs)
    for v in sorted(range(n), key=lambda v: -layer[v]):
        if len(children[v]) > len(parents[v]):
            layer[v] = min(layer[child] for child in children[v]) - 1
    return layer


def _ordered(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """Order the layers to reduce crossings."""
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for i in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = {v: k for k, v in enumerate(rows[i - 1 if down else i + 1])}
            near = above if down else below
            where = {v: k for k, v in enumerate(rows[i])}
            middle = {v: sum(fixed[u] for u in near[v]) / len(near[v]) if near[v] else where[v] for v in rows[i]}
            rows[i].sort(key=lambda v: (middle[v], where[v]))
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    total = 0
    for row, under in pairwise(rows):
        place = {v: k for k, v in enumerate(under)}
        ends = [place[u] for v in row for u in sorted(below[v], key=lambda u: place[u])]
        total += sum(1 for i, a in enumerate(ends) for b in ends[i + 1 :] if a > b) if len(ends) < 400 else 0
    return total


def _places(rows: list[list[int]], sizes: list[float], above: list[list[int]], below: list[list[int]]) -> list[float]:
    """Return node centers in order, apart, and near the median of their neighbors."""
    x = [0.0] * len(sizes)
    for row in rows:
        at = 0.0
        for v in row:
            x[v] = at + sizes[v] / 2
            at += sizes[v] + GAP
        for v in row:
            x[v] -= (at - GAP) / 2
    for sweep in range(2 * SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            near = above if sweep % 2 == 0 else below
            wanted = [sum(x[u] for u in near[v]) / len(near[v]) if near[v] else x[v] for v in row]
            _settle(row, wanted, sizes, x)
    return x


def _settle(row: list[int], wanted: list[float], sizes: list[float], x: list[float]) -> None:
    """Move centers to the wanted positions as far as order and widths allow."""
    groups: list[tuple[float, list[int]]] = []  # (middle of the first, members as places in the row)
    offset = [0.0]
    for left, right in pairwise(row):
        offset.append(offset[-1] + (sizes[left] + sizes[right]) / 2 + GAP)
    for i in range(len(row)):
        groups.append((wanted[i] - offset[i], [i]))
        while len(groups) > 1 and groups[-1][0] < groups[-2][0]:
            base, members = groups.pop()
            before, others = groups.pop()
            whole = (base * len(members) + before * len(others)) / (len(members) + len(others))
            groups.append((whole, others + members))
    for base, members in groups:
        for i in members:
            x[row[i]] = base + offset[i]


SAID = 250  # lines that are said of all nodes together
LETTERS = 70  # of such a line
NODES = 120  # of a graph that are drawn
HIGH, STEP = 24, 74  # a node, and from one layer to the next, in pixels
# An arc is a row of bows from layer to layer, upright where they leave and come: from (a, b) to (c, d). One that leaves
# a channel begins at the height u, above the nodes beside it.
PARTS = "[-1, 0, 0.25, 0.5, 0.75, 1]"
BOW = "datum.a + (datum.c - datum.a) * pow(max(datum.t, 0), 2) * (3 - 2 * max(datum.t, 0))"
DOWN = "datum.b + (datum.d - datum.b) * max(datum.t, 0) + (datum.b - datum.u) * min(datum.t, 0)"
BOWS = 500  # of all arcs, beyond which the weakest are not drawn
SPARE = 20  # of them, as fewer arcs need other channels
TOLD = 250  # of them, beyond which an arc is named at its end alone
WIDE = (1.2, 6.0)  # the thinnest arc and the widest
TIPS = (0, 2, 5, 12)  # lines that are said of a node that is pointed at


def structure_chart(record: StructureDescription) -> Any:
    """Draw the graph of a structure, or its table as bars or heat map."""
    return graph_chart(record.graph) if record.graph is not None else _table_chart(record)


def network_chart(record: BayesianNetwork) -> Any:
    """Draw the graph of a network."""
    return structure_chart(record.describe_structure())


def strengths_chart(record: ArcStrengths) -> Any:
    """Draw the strength of the strongest arcs as bars."""
    table = record.table
    names = [f"{a} → {b}" for a, b in zip(table["parent"], table["child"], strict=True)][:MOST]
    return bars(
        names, table["strength"][:MOST], "Strength of arcs", "share of structures with the arc",
        remark=record.method, tips={"share in this direction": table["direction"]},
    )  # fmt: skip


def graph_chart(record: StructureGraph) -> Any:
    """Draw nodes as boxes in layers and arcs as curves."""
    if not record.nodes:
        raise BayesError(f"{record.title}: there is nothing to draw")
    kept, arcs, remark = _select_arcs(record)
    nodes = [record.nodes[i] for i in kept]
    names = [cut(node.name, 22) for node in nodes]
    widths = [max(34.0, LETTER * 1.12 * len(name) + 18) for name in names]
    plan, drawn = _strongest_arcs(widths, arcs)
    if len(drawn) < len(arcs):
        remark += f"{'; ' if remark else ''}{len(drawn):,} of {len(arcs):,} arcs between them, the strongest"
        arcs = drawn
    gap = STEP + (16 if any(arc.label for _, _, arc in arcs) else 0)
    width, height = plan.width + 8, gap * (plan.n_layers - 1) + HIGH + 8
    x, y = plain_axis(alt.X, "x:Q", -4, width - 4), plain_axis(alt.Y, "y:Q", height - 4, -4)
    layers = _arcs(record, plan, arcs, gap, x, y)
    boxes: dict[int, list[dict[str, Any]]] = {}
    for i, node in enumerate(nodes):
        middle, top = plan.x[i], gap * plan.layer[i]
        lines = [cut(line, LETTERS) for line in node.lines[: max(2, SAID // len(nodes))]]
        n = next(n for n in TIPS if n >= min(len(lines), TIPS[-1]))
        said = {f"t{k}": lines[k] if k < len(lines) else "" for k in range(n)}
        box = {"x": round_to(middle - widths[i] / 2, 5), "x2": round_to(middle + widths[i] / 2, 5), "y": top,
               "y2": top + HIGH, "name": node.name, "leaf": node.is_leaf} | said  # fmt: skip
        boxes.setdefault(n, []).append(box)
    for n, rows in boxes.items():
        tip = [alt.Tooltip("name:N", title="node"), *(alt.Tooltip(f"t{k}:N", title=" ") for k in range(n))]
        fill = alt.condition("datum.leaf", alt.value("#f7f1e1"), alt.value("#e9f0f6"))
        box = alt.Chart(inline(rows)).mark_rect(cornerRadius=7, stroke=INK, strokeWidth=1.2)
        layers.append(box.encode(x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), color=fill, tooltip=tip))
    texts = [
        {"x": round_to(plan.x[i], 5), "y": gap * plan.layer[i] + HIGH / 2, "short": names[i]} for i in range(len(nodes))
    ]
    named = alt.Chart(inline(texts)).mark_text(fontSize=11, baseline="middle", color="#16181a")
    layers.append(named.encode(x, y, alt.Text("short:N")))
    return finish_chart(layers, max(width, 120), height, record.title, remark)


def _strongest_arcs(widths: list[float], arcs: list[tuple[int, int, Any]]) -> tuple[Layout, list[tuple[int, int, Any]]]:
    """Lay out all arcs, or as many of the strongest as fit."""
    while True:
        plan = layered(widths, [(a, b) for a, b, _ in arcs])
        bows = len({link for way in plan.ways for link in pairwise(way)})
        if bows <= BOWS:
            return plan, arcs
        order = sorted(range(len(arcs)), key=lambda i: (-(arcs[i][2].bits or 0.0), len(plan.ways[i])))
        arcs = [arcs[i] for i in sorted(order[: len(arcs) * BOWS // (bows + SPARE)])]


def _select_arcs(record: StructureGraph) -> tuple[list[int], list[tuple[int, int, Any]], str]:
    """Return (drawn nodes, arcs between them, remarks)."""
    remark = [record.remark] if record.remark else []
    if any(arc.bits is not None for arc in record.arcs):
        remark.append("wider arcs carry more bits")
    kept = list(range(len(record.nodes)))
    if len(kept) > NODES:
        by_size = sorted(record.arcs, key=lambda arc: -(arc.bits or 0.0))
        chosen: dict[int, None] = {}
        for arc in by_size:
            if len(chosen) + len({arc.start, arc.end} - chosen.keys()) <= NODES:
                chosen |= {arc.start: None, arc.end: None}
        kept = sorted(chosen) or kept[:NODES]
        remark.append(f"{len(kept)} of {len(record.nodes):,} nodes, those with the strongest arcs")
    place = {v: i for i, v in enumerate(kept)}
    arcs = [(place[arc.start], place[arc.end], arc) for arc in record.arcs if {arc.start, arc.end} <= place.keys()]
    return kept, arcs, "; ".join(remark)


def _arcs(
    record: StructureGraph, plan: Layout, arcs: list[tuple[int, int, Any]], gap: float, x: Any, y: Any
) -> list[Any]:
    most = max((arc.bits or 0.0 for _, _, arc in arcs), default=0.0)
    bows: dict[tuple[Any, Any, bool], list[Any]] = {}  # the arcs that run from one place to the next
    heads, labels = [], []
    place = {(arc.start, arc.end): i for i, (_, _, arc) in enumerate(arcs)}
    for (_, _, arc), way in zip(arcs, plan.ways, strict=True):
        for k, link in enumerate(pairwise(way)):
            bows.setdefault((*link, k > 0), []).append(arc)
        heads.append({"x": round_to(way[-1][0], 5), "y": gap * way[-1][1] - 4})
        if arc.label:
            (ax, above), (bx, below) = way[:2]
            y_label = (gap * above + HIGH + 2 * gap * below) / 3
            labels.append({"x": round_to((ax + 2 * bx) / 3, 5), "y": round_to(y_label, 5), "label": cut(arc.label, 18)})
    rows: list[dict[str, Any]] = []
    silent: list[dict[str, Any]] = []  # bows of several arcs
    for k, (((ax, above), (bx, below), in_channel), through) in enumerate(bows.items()):
        bits = max((arc.bits or 0.0 for arc in through), default=0.0)
        wide = WIDE[0] + (WIDE[1] - WIDE[0]) * math.sqrt(bits / most) if most > 0 else WIDE[0]
        top = gap * above
        row = {"a": round(ax), "b": top + HIGH, "c": round(bx), "d": gap * below, "k": k,
               "u": top if in_channel else top + HIGH, "w": round(wide, 1)}  # fmt: skip
        (arc, *others) = through
        is_end = not in_channel or plan.ways[place[arc.start, arc.end]][-1] == (bx, below)
        if others or (len(bows) > TOLD and not is_end):
            silent.append(row)
        else:
            name = f"{record.nodes[arc.start].name} → {record.nodes[arc.end].name}"
            rows.append(row | {"arc": name, "bits": "" if arc.bits is None else f"{arc.bits:.4g}"})
    if not arcs:
        return []
    width = alt.StrokeWidth("w:Q", legend=None, scale=None)
    layers = []
    for some, tip in ((silent, []), (rows, ["arc:N", "bits:N"])):
        bow = alt.Chart(inline(some)).transform_calculate(t=PARTS).transform_flatten(["t"])
        line = bow.transform_calculate(x=BOW, y=DOWN)
        line = line.mark_line(color="#8fa3b5", opacity=0.9, interpolate="catmull-rom")
        drawn = line.encode(x, y, alt.Detail("k:N"), alt.Order("y:Q"), width, **({"tooltip": tip} if tip else {}))
        layers += [drawn] if some else []
    head = alt.Chart(inline(heads)).mark_point(filled=True, shape="triangle-down", color="#4c6073", size=55, opacity=1)
    layers.append(head.encode(x, y))
    if labels:
        words = alt.Chart(inline(labels))
        looks: tuple[dict[str, Any], ...] = ({"stroke": "white", "strokeWidth": 4}, {"color": "#333333"})
        layers += [  # the arc ends around its label
            words.mark_text(fontSize=10, fontStyle="italic", **look).encode(x, y, alt.Text("label:N")) for look in looks
        ]
    return layers


def _table_chart(record: StructureDescription) -> Any:
    """Draw the table of a structure as bars, or as a heat map if it has several numeric columns."""
    table = record.table
    columns = {name: table[name] for name in table.column_names}
    numbers = {
        name: [math.nan if v is None else float(v) for v in values]
        for name, values in columns.items()
        if values and all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values)
    }
    first = [name for name in columns if name not in numbers] or [table.column_names[0]]
    shown = {name: values for name, values in numbers.items() if name not in first}
    if not shown:
        raise BayesError(f"{record.sentence}: there is nothing to draw")
    names = [
        " · ".join(str(columns[name][i]) for name in first if columns[name][i] is not None) for i in range(len(table))
    ]
    if len(shown) == 1:
        ((axis, values),) = shown.items()
        at = strongest([0.0 if math.isnan(v) else v for v in values])
        more = len(values) - len(at)
        remark = f"the {len(at)} strongest of {len(values):,}" if more else ""
        return bars([names[i] for i in at], [values[i] for i in at], record.sentence, axis, remark=remark)
    cells = np.array(list(shown.values()), dtype=np.float64).T
    kept = strongest(np.nanmax(np.abs(cells), axis=1).tolist(), min(MOST, SIDE))
    heading: dict[str, Any] = {"down_is": " · ".join(first), "across_is": "", "figure_is": "value", "form": ".3~g"}
    return heat([names[i] for i in kept], list(shown)[:SIDE], cells[kept][:, :SIDE], record.sentence, **heading)


COLUMNS = 36  # on the circle
LINES = 120  # between them
BESIDE = 20  # letters beside the circle
UPRIGHT = 12  # columns whose names stand upright
WIDEST = 8.0  # line


def dependence_chart(record: DependenceGraph) -> Any:
    """Draw columns on a circle; wider and darker lines have more bits."""
    pairs = record.pairs
    if not pairs:
        raise BayesError(f"no two columns depend on each other, given {record.given}: there is nothing to draw")
    kept = _ordered_columns(record)
    place = {name: i for i, name in enumerate(kept)}
    drawn = [pair for pair in pairs if pair[0] in place and pair[1] in place][:LINES]
    radius = max(90.0, 15.0 * len(kept) / (2 * math.pi) * 1.35)
    side = LETTER * max(len(cut(name, BESIDE)) for name in kept) + 16
    width, height = 2 * (radius + side), 2 * (radius + (side if len(kept) > UPRIGHT else 25))
    angles = [2 * math.pi * i / len(kept) - math.pi / 2 for i in range(len(kept))]
    at = [(width / 2 + radius * math.cos(a), height / 2 + radius * math.sin(a)) for a in angles]
    x, y = plain_axis(alt.X, "x:Q", 0, width), plain_axis(alt.Y, "y:Q", height, 0)
    most = drawn[0][2]
    lines = [
        {
            "x": round_to(at[place[a]][0]), "y": round_to(at[place[a]][1]), "x2": round_to(at[place[b]][0]),
            "y2": round_to(at[place[b]][1]), "pair": f"{a} – {b}", "bits": round_to(bits),
            "w": round(max(WIDEST * bits / most, 0.6), 1), "o": round(0.25 + 0.65 * bits / most, 2),
        }
        for a, b, bits in reversed(drawn)
    ]  # fmt: skip
    tip = [alt.Tooltip("pair:N", title="columns"), alt.Tooltip("bits:Q", title="bits", format=".4f")]
    look = alt.StrokeWidth("w:Q", scale=None, legend=None), alt.Opacity("o:Q", scale=None, legend=None)
    rules = alt.Chart(inline(lines)).mark_rule(color=INK, strokeCap="round")
    joined = rules.encode(x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), *look, tooltip=tip)
    dots = [{"x": round_to(px), "y": round_to(py), "name": name} for (px, py), name in zip(at, kept, strict=True)]
    points = alt.Chart(inline(dots)).mark_point(filled=True, color="#16181a", size=40, opacity=1)
    layers = [joined, points.encode(x, y, tooltip=["name:N"]), *_names_around(at, angles, kept, x, y)]
    strongest = f"strongest: {pairs[0][0]} and {pairs[0][1]}, {pairs[0][2]:.3g} bits"
    more = len(pairs) - len(drawn)
    remark = f"{strongest}; {more:,} weaker pairs are not drawn" if more else strongest
    return finish_chart(layers, width, height, f"Dependencies given {in_title(record.given)}", remark)


def diagnosis_chart(record: Diagnosis) -> Any:
    """Draw the significant pairs of a diagnosis."""
    bits = record.information
    return dependence_chart(DependenceGraph(record.names, "the class", bits, np.zeros_like(bits), bits > 0))


def _names_around(at: list[tuple[float, float]], angles: list[float], kept: list[str], x: Any, y: Any) -> list[Any]:
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
                    "x": round_to(at[i][0] + out[0]), "y": round_to(at[i][1] + out[1]), "short": cut(kept[i], BESIDE),
                    "turned": round_to(turned if len(kept) > UPRIGHT else 0.0),
                }
            )  # fmt: skip
        mark = alt.Chart(inline(rows)).mark_text(align="left" if right else "right", baseline="middle", fontSize=11)
        layers.append(mark.encode(x, y, alt.Text("short:N"), alt.Angle("turned:Q", scale=None)))
    return layers


def _ordered_columns(record: DependenceGraph) -> list[str]:
    """Return the columns on the circle, ordered along the strongest pairs."""
    bits = np.where(record.exceeds_chance, record.bits, 0.0)
    strength = bits.sum(axis=1)
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
        nearest = [bits[where[order[-1]], where[name]] for name in left]
        order.append(left.pop(int(np.argmax(nearest))))
    return order
