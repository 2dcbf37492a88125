"""Graphs: networks, trees of columns and trees of questions, from top to bottom; wider arcs carry more bits."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from bayeskit.charts.bars import MOST, bars, strongest
from bayeskit.charts.heat import SIDE, heat
from bayeskit.charts.layered import Layout, layered
from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import INK, LETTER, cut, title
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.explain.structure import StructureDescription, StructureGraph
    from bayeskit.network.network import BayesianNetwork

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
    """The graph of a structure where it has one, else its table as bars or as a map."""
    return graph_chart(record.graph) if record.graph is not None else _table_chart(record)


def network_chart(record: BayesianNetwork) -> Any:
    """The graph of a network."""
    return structure_chart(record.describe_structure())


def graph_chart(record: StructureGraph) -> Any:
    """Nodes as boxes in layers, arcs as curves with a head."""
    alt = altair()
    if not record.nodes:
        raise BayesError(f"{record.title}: there is nothing to draw")
    kept, arcs, remark = _kept(record)
    nodes = [record.nodes[i] for i in kept]
    names = [cut(node.name, 22) for node in nodes]
    widths = [max(34.0, LETTER * 1.12 * len(name) + 18) for name in names]
    plan, drawn = _strongest_arcs(widths, arcs)
    if len(drawn) < len(arcs):
        remark += f"{'; ' if remark else ''}{len(drawn):,} of {len(arcs):,} arcs between them, the strongest"
        arcs = drawn
    gap = STEP + (16 if any(arc.label for _, _, arc in arcs) else 0)
    width, height = plan.width + 8, gap * (plan.n_layers - 1) + HIGH + 8
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-4, width - 4], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height - 4, -4], nice=False, zero=False))
    layers = _arcs(alt, record, plan, arcs, gap, x, y)
    boxes: dict[int, list[dict[str, Any]]] = {}
    for i, node in enumerate(nodes):
        middle, top = plan.x[i], gap * plan.layer[i]
        lines = [cut(line, LETTERS) for line in node.lines[: max(2, SAID // len(nodes))]]
        n = next(n for n in TIPS if n >= min(len(lines), TIPS[-1]))
        said = {f"t{k}": lines[k] if k < len(lines) else "" for k in range(n)}
        box = {"x": rounded(middle - widths[i] / 2, 5), "x2": rounded(middle + widths[i] / 2, 5), "y": top,
               "y2": top + HIGH, "name": node.name, "leaf": node.is_leaf} | said  # fmt: skip
        boxes.setdefault(n, []).append(box)
    for n, rows in boxes.items():
        tip = [alt.Tooltip("name:N", title="node"), *(alt.Tooltip(f"t{k}:N", title=" ") for k in range(n))]
        fill = alt.condition("datum.leaf", alt.value("#f7f1e1"), alt.value("#e9f0f6"))
        box = alt.Chart(inline(rows)).mark_rect(cornerRadius=7, stroke=INK, strokeWidth=1.2)
        layers.append(box.encode(x, y, alt.X2("x2:Q"), alt.Y2("y2:Q"), color=fill, tooltip=tip))
    texts = [
        {"x": rounded(plan.x[i], 5), "y": gap * plan.layer[i] + HIGH / 2, "short": names[i]} for i in range(len(nodes))
    ]
    named = alt.Chart(inline(texts)).mark_text(fontSize=11, baseline="middle", color="#16181a")
    layers.append(named.encode(x, y, alt.Text("short:N")))
    chart = alt.layer(*layers).properties(width=max(width, 120), height=height, title=title(record.title, remark))
    return offline(chart)


def _strongest_arcs(widths: list[float], arcs: list[tuple[int, int, Any]]) -> tuple[Layout, list[tuple[int, int, Any]]]:
    """The layout of all arcs, or of as many of the strongest, of equals the shortest, as a picture can hold."""
    while True:
        plan = layered(widths, [(a, b) for a, b, _ in arcs])
        bows = len({link for way in plan.ways for link in pairwise(way)})
        if bows <= BOWS:
            return plan, arcs
        order = sorted(range(len(arcs)), key=lambda i: (-(arcs[i][2].bits or 0.0), len(plan.ways[i])))
        arcs = [arcs[i] for i in sorted(order[: len(arcs) * BOWS // (bows + SPARE)])]


def _kept(record: StructureGraph) -> tuple[list[int], list[tuple[int, int, Any]], str]:
    """(nodes that are drawn, arcs between them by their new places, remarks)"""
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
    alt: Any, record: StructureGraph, plan: Layout, arcs: list[tuple[int, int, Any]], gap: float, x: Any, y: Any
) -> list[Any]:
    most = max((arc.bits or 0.0 for _, _, arc in arcs), default=0.0)
    bows: dict[tuple[Any, Any, bool], list[Any]] = {}  # the arcs that run from one place to the next
    heads, labels = [], []
    place = {(arc.start, arc.end): i for i, (_, _, arc) in enumerate(arcs)}
    for (_, _, arc), way in zip(arcs, plan.ways, strict=True):
        for k, link in enumerate(pairwise(way)):
            bows.setdefault((*link, k > 0), []).append(arc)
        heads.append({"x": rounded(way[-1][0], 5), "y": gap * way[-1][1] - 4})
        if arc.label:
            (ax, above), (bx, below) = way[:2]
            y_label = (gap * above + HIGH + 2 * gap * below) / 3
            labels.append({"x": rounded((ax + 2 * bx) / 3, 5), "y": rounded(y_label, 5), "label": cut(arc.label, 18)})
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
    """The table of a structure that is a list: bars of its numbers, or a map where it has several columns of them."""
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
    import numpy as np

    cells = np.array(list(shown.values()), dtype=np.float64).T
    kept = strongest(np.nanmax(np.abs(cells), axis=1).tolist(), min(MOST, SIDE))
    heading: dict[str, Any] = {"down_is": " · ".join(first), "across_is": "", "figure_is": "value", "form": ".3~g"}
    return heat([names[i] for i in kept], list(shown)[:SIDE], cells[kept][:, :SIDE], record.sentence, **heading)
