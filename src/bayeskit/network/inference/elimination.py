"""In which order to sum variables out, and what that will cost, before any table is made.

Summing out v joins all its neighbours into one table. *Min-fill* takes next the variable whose neighbours lack
the fewest connections among themselves, a connection weighing as much as the table over its two ends; of those
equally good, the one with the smallest table. The tables met on the way are the cliques of a chordal graph, and their
sizes are the cost. No order is always best, so for a network that will be asked often a few orders are tried, with the
weights shaken a little by numbers that are always the same.

Kjærulff, "Triangulation of graphs: algorithms giving small total state space", 1990.

Formula: elimination order and its cost; variable elimination
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from random import Random

from bayeskit.errors import TooLarge
from bayeskit.network.graph import Nodes, as_set, bits
from bayeskit.remedy import Remedy

CELL = 8  # bytes of a float64
BEYOND = 1 << 36  # cells that no machine will hold
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


def min_fill(
    near: Sequence[Nodes], cards: Sequence[int], gone: Nodes, shaken: Sequence[float] | None = None
) -> Elimination:
    """Eliminate the variables of the set ``gone`` from a graph given by the neighbours of each.

    >>> chain = [0b010, 0b101, 0b010]                       # 0 – 1 – 2
    >>> min_fill(chain, [2, 2, 2], 0b111).cliques
    (3, 6, 4)
    """
    adjacent = list(near)
    groups = [(c, as_set(v for v, n in enumerate(cards) if n == c)) for c in sorted(set(cards))]

    def rank(v: int) -> tuple[float, int, int]:
        around, fill, size = adjacent[v], 0, cards[v]
        for c, group in groups:
            size *= c ** (around & group).bit_count()
        rest = 0 if hopeless else around
        while rest:  # bits(), written out: this is where the time goes
            low = rest & -rest
            rest ^= low
            u = low.bit_length() - 1
            lacking = around & ~adjacent[u] ^ low
            if lacking and alike:
                fill += lacking.bit_count()
            elif lacking:
                fill += cards[u] * sum(c * (lacking & group).bit_count() for c, group in groups)
        return fill if shaken is None else fill * shaken[v], size, v

    alike, hopeless = len(groups) == 1, False
    key = {v: rank(v) for v in bits(gone)}
    heap = list(key.values())
    heapq.heapify(heap)
    order, cliques = [], []
    while key:
        best = heapq.heappop(heap)
        v = best[2]
        if key.get(v) != best:
            continue  # an older estimate of v
        del key[v]
        around = touched = adjacent[v]
        order.append(v)
        cliques.append(around | 1 << v)
        hopeless = hopeless or best[1] > BEYOND  # only a figure is wanted now, and soon
        for u in bits(around):
            adjacent[u] &= ~(1 << v)
        for u in bits(around if best[0] or hopeless else 0):
            new = around & ~adjacent[u] & ~(1 << u)
            for w in bits(new):
                touched |= adjacent[u] & adjacent[w]  # what knew both ends lacks one connection less
                adjacent[w] |= 1 << u
            adjacent[u] |= new
        for u in bits(touched & gone):
            if u in key:
                now = rank(u)
                if now != key[u]:
                    key[u] = now
                    heapq.heappush(heap, now)
    return Elimination(tuple(order), tuple(cliques))


def shakes(n: int, tries: int) -> Iterator[list[float]]:
    """Numbers around one for n variables, as often as asked, always the same ones."""
    generator = Random(0)
    for _ in range(tries):
        yield [0.75 + generator.random() / 2 for _ in range(n)]


def check_cost(n_bytes: int, memory_limit: int, what: str) -> None:
    """Refuse work whose tables would not fit, with the figure."""
    if n_bytes > memory_limit:
        raise TooLarge(
            f"{what} would take {amount(n_bytes)}, more than the {amount(memory_limit)} allowed; nothing was started. ",
            Remedy("memory_limit", clause="Raise {} (in bytes), ask", without="Ask"),
            " of fewer variables, or give more findings.",
            culprit=what,
        )


def amount(n_bytes: int) -> str:
    """Bytes in words.

    >>> amount(512), amount(3 << 20), amount(10**25)
    ('512 bytes', '3.15 MB', '1e+25 bytes')
    """
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if unit <= n_bytes < 1000 * unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes} bytes" if n_bytes < 1000 else f"{decimal(n_bytes)} bytes"


def decimal(n: int) -> str:
    """A whole number of any size as a.bce+nn."""
    digits = str(n) if n < 10**4000 else None
    if digits is None:
        return "more than 1e+4000"
    first = round(int(digits[:4]) / 1000, 2)
    return f"{first:g}e+{len(digits) - 1}"
