"""A layout of our own for graphs without cycles: layers from top to bottom, few crossings, straight where it can be.

Each node stands a layer below its lowest parent. Arcs that skip layers run through places of their own. Within a layer
the order follows the middle of the neighbours above, then below, a few times over, and the best order is kept
(Sugiyama, Tagawa, Toda, 1981). Places are then pulled towards their neighbours as far as their widths allow. Where a
layer is too wide, its nodes without children stand in several rows, in columns whose arcs run down beside them. Nodes
without arcs stand in lines below all others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

GAP = 14.0  # between two nodes of a layer
SWEEPS = 12
LINE = 500.0  # of nodes without arcs, where the others are not wider
ROOM = 760.0  # of a layer, beyond which it is put in several rows
SHARED = 3  # nodes of the same parents, on average, where that is done


@dataclass(frozen=True)
class Layout:
    """Where the middle of each node stands, and the places that each arc runs through, its ends included."""

    x: list[float]
    layer: list[int]
    ways: list[list[tuple[float, int]]]
    width: float
    n_layers: int


def layered(widths: Sequence[float], arcs: Sequence[tuple[int, int]]) -> Layout:
    """The layout of nodes with these widths; arcs lead from lower to higher layers, and the graph has no cycle.

    >>> plan = layered([10, 10, 10], [(0, 1), (0, 2)])
    >>> plan.layer, plan.x[0] == (plan.x[1] + plan.x[2]) / 2
    ([0, 1, 1], True)
    """
    joined = sorted({v for arc in arcs for v in arc})
    place = {v: i for i, v in enumerate(joined)}
    plan = _joined([widths[v] for v in joined], [(place[a], place[b]) for a, b in arcs])
    x, layer, width, n_layers = [0.0] * len(widths), [0] * len(widths), plan.width, plan.n_layers
    for v, i in place.items():
        x[v], layer[v] = plan.x[i], plan.layer[i]
    for line in _lines([v for v in range(len(widths)) if v not in place], widths, max(width, LINE)):
        at = 0.0
        for v in line:
            x[v], layer[v] = at + widths[v] / 2, n_layers
            at += widths[v] + GAP
        width, n_layers = max(width, at - GAP), n_layers + 1
    return Layout(x, layer, plan.ways, width, n_layers)


def _lines(nodes: Sequence[int], widths: Sequence[float], room: float) -> list[list[int]]:
    """Nodes in lines that are no wider than there is room."""
    lines: list[list[int]] = []
    used = 0.0
    for v in nodes:
        if not lines or used + widths[v] > room:
            lines.append([])
            used = 0.0
        lines[-1].append(v)
        used += widths[v] + GAP
    return lines


def _joined(widths: Sequence[float], arcs: Sequence[tuple[int, int]]) -> Layout:
    """The layout of nodes that all have arcs."""
    if not widths:
        return Layout([], [], [], 0.0, 0)
    layer, column = _rows(widths, arcs)
    sizes, levels, links, chains = [*widths], [*layer], dict[tuple[int, int], bool](), list[list[int]]()
    beside: dict[tuple[int, int, int], int] = {}  # places that arcs to one column share
    order = {v: (1, at, 0) for v, at in column.items()}
    for start, end in arcs:
        chain = [start]
        for level in range(layer[start] + 1, layer[end]):
            shared = (start, level, column[end]) if end in column else (-1, level, len(sizes))
            if shared not in beside:
                beside[shared] = len(sizes)
                order[len(sizes)] = (1, column.get(end, len(column)), 1)
                sizes.append(4.0)
                levels.append(level)
            chain.append(beside[shared])
        chain.append(end)
        chains.append(chain)
        links |= dict.fromkeys(itertools.pairwise(chain), True)
    n_layers = max(levels, default=0) + 1
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
    first = [[v for v in range(len(sizes)) if levels[v] == level] for level in range(n_layers)]
    rows = _ordered([sorted(row, key=lambda v: order.get(v, (0, 0, 0))) for row in first], above, below)
    x = _places(rows, sizes, above, below)
    left = min((x[v] - sizes[v] / 2 for v in range(len(sizes))), default=0.0)
    x = [place - left for place in x]
    width = max((x[v] + sizes[v] / 2 for v in range(len(sizes))), default=0.0)
    ways = [[(x[v], levels[v]) for v in chain] for chain in chains]
    return Layout(x[: len(widths)], layer, ways, width, n_layers)


def _rows(widths: Sequence[float], arcs: Sequence[tuple[int, int]]) -> tuple[list[int], dict[int, int]]:
    """(the row of each node, the column of those whose layer is put in several rows)"""
    layer, parents = _layers(len(widths), arcs), dict[int, list[int]]()
    for start, end in arcs:
        parents.setdefault(end, []).append(start)
    row, column, at = [0] * len(widths), dict[int, int](), 0
    inner = {start for start, _ in arcs}
    for level in range(max(layer) + 1):
        members = [v for v in range(len(widths)) if layer[v] == level]
        leaves = sorted((v for v in members if v not in inner), key=lambda v: (parents.get(v, []), v))
        high = max(1, min(math.ceil(sum(widths[v] + GAP for v in members) / ROOM), len(leaves)))
        if SHARED * len({tuple(parents.get(v, [])) for v in leaves}) > len(leaves):
            high = 1  # arcs from many parents would need more room than they save
        for v in members:
            row[v] = at
        for i, v in enumerate(leaves if high > 1 else ()):
            row[v], column[v] = at + i % high, i // high
        at += high
    return row, column


def _layers(n: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way to each node from one without parents."""
    layer = [0] * n
    for _ in range(n):
        moved = False
        for start, end in arcs:
            if layer[end] <= layer[start]:
                layer[end], moved = layer[start] + 1, True
        if not moved:
            break
    return layer


def _ordered(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    """The layers in an order with few crossings."""
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for i in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            fixed = {v: k for k, v in enumerate(rows[i - 1 if down else i + 1])}
            near = above if down else below
            where = {v: k for k, v in enumerate(rows[i])}
            rows[i].sort(key=lambda v: (_middle([fixed[u] for u in near[v]], where[v]), where[v]))
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _middle(places: list[int], otherwise: float) -> float:
    return sum(places) / len(places) if places else otherwise


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    total = 0
    for row, under in itertools.pairwise(rows):
        place = {v: k for k, v in enumerate(under)}
        ends = [place[u] for v in row for u in sorted(below[v], key=lambda u: place[u])]
        total += sum(1 for i, a in enumerate(ends) for b in ends[i + 1 :] if a > b) if len(ends) < 400 else 0
    return total


def _places(rows: list[list[int]], sizes: list[float], above: list[list[int]], below: list[list[int]]) -> list[float]:
    """Middles of all nodes: in order, apart, and near to the middle of their neighbours."""
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
    """Places as near to the wanted ones as order and widths allow: neighbours that would touch move together."""
    groups: list[tuple[float, list[int]]] = []  # (middle of the first, members as places in the row)
    offset = [0.0]
    for left, right in itertools.pairwise(row):
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
