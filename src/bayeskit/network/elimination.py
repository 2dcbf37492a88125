"""In which order to sum variables out, and what that will cost, before any table is made.

Summing out v joins all its neighbours into one table. *Min-fill* takes next the variable whose neighbours lack
the fewest connections among themselves; of those equally good, the one with the smallest table. The tables met on
the way are the cliques of a chordal graph, and their sizes are the cost.

Kjærulff, "Triangulation of graphs: algorithms giving small total state space", 1990.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from bayeskit.errors import TooLarge
from bayeskit.network.graph import Nodes, bits, join

CELL = 8  # bytes of a float64
MEMORY_LIMIT = 4 << 30  # bytes: what tables may take unless another limit is given


@dataclass(frozen=True)
class Elimination:
    """Variables in the order they go, and for each the set it is joined with when it goes (itself included)."""

    order: tuple[int, ...]
    cliques: tuple[Nodes, ...]


def table_size(nodes: Nodes, cards: Sequence[int]) -> int:
    """Cells of a table over these variables.

    >>> table_size(0b101, [2, 9, 3])
    6
    """
    return prod(cards[v] for v in bits(nodes))


def min_fill(near: Sequence[Nodes], cards: Sequence[int], gone: Nodes) -> Elimination:
    """Eliminate the variables of the set ``gone`` from a graph given by the neighbours of each.

    >>> chain = [0b010, 0b101, 0b010]                       # 0 – 1 – 2
    >>> min_fill(chain, [2, 2, 2], 0b111).cliques
    (3, 6, 4)
    """
    adjacent = list(near)
    key = {v: (_fill(adjacent, v), table_size(adjacent[v] | 1 << v, cards), v) for v in bits(gone)}
    heap = list(key.values())
    heapq.heapify(heap)
    order, cliques = [], []
    while key:
        best = heapq.heappop(heap)
        v = best[2]
        if key.get(v) != best:
            continue  # an older estimate of v
        del key[v]
        around = adjacent[v]
        order.append(v)
        cliques.append(around | 1 << v)
        touched = around
        if best[0]:
            join(adjacent, around)
            for u in bits(around):
                touched |= adjacent[u]
        for u in bits(around):
            adjacent[u] &= ~(1 << v)
        for u in bits(touched & gone):
            if u in key:
                new = (_fill(adjacent, u), table_size(adjacent[u] | 1 << u, cards), u)
                if new != key[u]:
                    key[u] = new
                    heapq.heappush(heap, new)
    return Elimination(tuple(order), tuple(cliques))


def _fill(adjacent: Sequence[Nodes], v: int) -> int:
    """Twice the number of connections that the neighbours of v lack."""
    around = adjacent[v]
    return sum((around & ~adjacent[u]).bit_count() - 1 for u in bits(around))


def check_cost(n_bytes: int, memory_limit: int | None, what: str) -> None:
    """Refuse work whose tables would not fit, with the figure."""
    limit = MEMORY_LIMIT if memory_limit is None else memory_limit
    if n_bytes > limit:
        raise TooLarge(
            f"{what} would take {amount(n_bytes)}, more than the {amount(limit)} allowed; nothing was started. "
            "Raise memory_limit= (in bytes), ask of fewer variables, or give more findings."
        )


def amount(n_bytes: int) -> str:
    """Bytes in words.

    >>> amount(512), amount(3 << 20), amount(10**25)
    ('512 bytes', '3.15 MB', '1e+25 bytes')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if unit <= n_bytes < 1000 * unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes} bytes" if n_bytes < 1000 else f"{_decimal(n_bytes)} bytes"


def _decimal(n: int) -> str:
    """A whole number of any size as a.bce+nn."""
    digits = str(n) if n < 10**4000 else None
    if digits is None:
        return "more than 1e+4000"
    first = round(int(digits[:4]) / 1000, 2)
    return f"{first:g}e+{len(digits) - 1}"
