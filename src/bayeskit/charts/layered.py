"""A layout of our own for graphs without cycles: layers from top to bottom, few crossings, straight where it can be.

Each node stands a layer below its lowest parent, and one with more children than parents right above its highest child.
Where a layer is too wide for a page, it is put in several rows; nodes of one layer have no arcs between them, so any of
them may stand in any. Arcs that skip rows run through channels, which those of one start or of one end share. Within a
row the order follows the middle of the neighbours above, then below, a few times over, and the best order is kept
(Sugiyama, Tagawa, Toda, 1981). Places are then pulled towards their neighbours as far as their widths allow. Parts of a
graph that no arc joins are laid out alone and stand side by side, the highest first, in as many lines as they need.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Where the middle of each node stands, and the places that each arc runs through, its ends included."""

    x: list[float]
    layer: list[int]
    ways: list[list[tuple[float, int]]]
    width: float
    n_layers: int


def layered(widths: Sequence[float], arcs: Arcs) -> Layout:
    """The layout of nodes with these widths; arcs lead from lower to higher layers, and the graph has no cycle.

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
    """The nodes of each part that no arc joins to another."""
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
    """(left end, highest layer) of each part: the highest first, in lines as wide as the room or the widest of them."""
    room = max([room, *(plan.width for plan in plans)])
    corner, left, top, below = dict[int, tuple[float, int]](), 0.0, 0, 0
    for k in sorted(range(len(plans)), key=lambda k: -plans[k].n_layers):
        if left + plans[k].width > room:
            left, top = 0.0, below
        corner[k] = left, top
        left, below = left + plans[k].width + 2 * GAP, max(below, top + plans[k].n_layers)
    return corner


def _in_a_page(widths: Sequence[float], arcs: Arcs, room: float) -> Layout:
    """The layout of a connected graph: as it is where there is room for it, else with its layers in several rows."""
    plan = _joined(widths, arcs, math.inf)
    for share in NARROWER:
        if plan.width <= CHANNELS * room:
            break
        plan = min(plan, _joined(widths, arcs, share * room), key=lambda plan: plan.width)
    return plan


def _joined(widths: Sequence[float], arcs: Arcs, room: float) -> Layout:
    """The layout of a connected graph with so much room for the nodes of a row."""
    layer = _rows(widths, arcs, room)
    n_children, n_parents = [0] * len(widths), [0] * len(widths)
    for start, end in arcs:
        n_children[start] += 1
        n_parents[end] += 1
    sizes, levels, links, chains = [*widths], [*layer], dict[tuple[int, int], bool](), list[list[int]]()
    channels: dict[tuple[bool, int, int], int] = {}
    for start, end in arcs:
        fans_out = n_children[start] >= n_parents[end]
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
        links |= dict.fromkeys(itertools.pairwise(chain), True)
    n_layers = max(levels) + 1
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for a, b in links:
        below[a].append(b)
        above[b].append(a)
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


def _rows(widths: Sequence[float], arcs: Arcs, room: float) -> list[int]:
    """The row of each node: its layer, or one of the rows of a layer that is wider than the room."""
    layer = _layers(len(widths), arcs)
    parents: list[list[int]] = [[] for _ in widths]
    children: list[list[int]] = [[] for _ in widths]
    for start, end in arcs:
        parents[end].append(start)
        children[start].append(end)
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
    """The longest way to each node from one without parents; with more children than parents, as low as they allow."""
    layer = [0] * n
    for _ in range(n):
        moved = False
        for start, end in arcs:
            if layer[end] <= layer[start]:
                layer[end], moved = layer[start] + 1, True
        if not moved:
            break
    children: list[list[int]] = [[] for _ in range(n)]
    n_parents = [0] * n
    for start, end in arcs:
        children[start].append(end)
        n_parents[end] += 1
    for v in sorted(range(n), key=lambda v: -layer[v]):
        if len(children[v]) > n_parents[v]:
            layer[v] = min(layer[child] for child in children[v]) - 1
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
