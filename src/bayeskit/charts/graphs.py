"""Graphs: networks, trees of columns and trees of questions, from top to bottom; wider arcs carry more bits."""

from __future__ import annotations

import math
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
HIGH, STEP = 24.0, 74.0  # a node, and from one layer to the next, in pixels
CURVE = 4  # parts of an arc between two layers, which are drawn as one bow
BOWS = 300  # of all arcs, beyond which each is drawn in two parts
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
    plan = layered(widths, [(a, b) for a, b, _ in arcs])
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
    drawn = alt.layer(*layers).properties(width=max(width, 120), height=height, title=title(record.title, remark))
    return offline(drawn)


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
    rows, heads, labels = [], [], []
    bows = sum(len(way) - 1 for way in plan.ways)
    for k, (_, _, arc) in enumerate(arcs):
        wide = WIDE[0] + (WIDE[1] - WIDE[0]) * math.sqrt((arc.bits or 0.0) / most) if most > 0 else WIDE[0]
        (ax, above), *between, (bx, below) = plan.ways[k]
        past = [(px, gap * level + edge) for px, level in between for edge in (-2, HIGH + 2)]  # upright beside nodes
        way = [(ax, gap * above + HIGH), *past, (bx, gap * below)]
        tip = {"arc": f"{record.nodes[arc.start].name} → {record.nodes[arc.end].name}",
               "bits": "" if arc.bits is None else f"{arc.bits:.4g}"}  # fmt: skip
        for i, (px, py) in enumerate(_curve(way, CURVE if bows <= BOWS else 2)):
            rows.append({"x": round(px, 1), "y": round(py, 1), "k": k, "w": round(wide, 1)}
                        | (tip if i == 0 else {}))  # fmt: skip
        heads.append({"x": rounded(way[-1][0], 5), "y": rounded(way[-1][1] - 4, 5)})
        if arc.label:
            (ax, ay), (bx, by) = way[0], way[1]
            labels.append({"x": rounded((ax + 2 * bx) / 3, 5), "y": (ay + 2 * by) / 3, "label": cut(arc.label, 18)})
    if not rows:
        return []
    width = alt.StrokeWidth("w:Q", legend=None, scale=None)
    line = alt.Chart(inline(rows)).mark_line(color="#8fa3b5", opacity=0.9, interpolate="catmull-rom")
    layers = [line.encode(x, y, alt.Detail("k:N"), alt.Order("y:Q"), width, tooltip=["arc:N", "bits:N"])]
    head = alt.Chart(inline(heads)).mark_point(filled=True, shape="triangle-down", color="#4c6073", size=55, opacity=1)
    layers.append(head.encode(x, y))
    if labels:
        words = alt.Chart(inline(labels))
        looks: tuple[dict[str, Any], ...] = ({"stroke": "white", "strokeWidth": 4}, {"color": "#333333"})
        layers += [  # the arc ends around its label
            words.mark_text(fontSize=10, fontStyle="italic", **look).encode(x, y, alt.Text("label:N")) for look in looks
        ]
    return layers


def _curve(way: list[tuple[float, float]], parts: int) -> list[tuple[float, float]]:
    """Places along an arc, upright where it leaves and where it comes."""
    places = []
    for (ax, ay), (bx, by) in zip(way[::2], way[1::2], strict=True):  # a bow from one layer to the next
        for i in range(parts + 1):
            t = i / parts
            smooth = t * t * (3 - 2 * t)
            places.append((ax + (bx - ax) * smooth, ay + (by - ay) * t))
    return places


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
