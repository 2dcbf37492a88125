"""Tallies of parts as one, in a tree whose nodes add some hundreds at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import pairwise

from bayeskit.data.vocabulary import Value, declared_first, union
from bayeskit.tally.matching import check_one_kind, check_same_kind
from bayeskit.tally.space import declared_values
from bayeskit.tally.tally import Tally

FAN_IN = 256  # tallies that a node of the tree adds


def merged(tallies: Sequence[Tally]) -> Tally:
    """The sum of tallies of one schema and plan, in their order: values are aligned once, not at each addition.

    >>> days = [Tally.from_counts({"sky": {"yes": {sky: 1}}}) for sky in ("sun", "rain", "sun")]
    >>> merged(days) == days[0] + days[1] + days[2]
    True
    """
    first, *others = tallies
    if len(others) < 2 or any(tally.schema != first.schema or tally.plan != first.plan for tally in others):
        return reduce(lambda a, b: a + b, others, first)  # which refuses sides that do not fit
    classes = _all(tally.classes for tally in tallies)
    check_one_kind(classes)
    values = {}
    for name in first.space.values:
        lists = {id(v): v for tally in tallies if (v := tally.space.values[name])}
        known = next(iter(lists.values()), ())
        for listed in lists.values():
            check_same_kind(name, known, listed)
        values[name] = declared_first(declared_values(first.schema, name), _all(lists.values()))
    total = first.recode(first.schema, classes, values)
    for tally in others:
        total = total.plus(tally.recode(first.schema, classes, values))
    return total.tidy()


def _all(lists: Iterable[Sequence[Value]]) -> tuple[Value, ...]:
    """Every value of the lists, sorted; lists that are equal are looked at once."""
    values: tuple[Value, ...] = ()
    for listed in dict.fromkeys(map(tuple, lists)):
        if listed != values:
            values = union(values, listed)
    return values


def groups(n: int, fan_in: int = FAN_IN) -> list[range]:
    """Runs of ``n`` things for the nodes of one level of the tree, about as long as each other.

    >>> groups(10, 4)
    [range(0, 3), range(3, 6), range(6, 10)]
    """
    count = -(-n // fan_in)
    borders = [n * i // count for i in range(count + 1)] if count else [0]
    return [range(start, stop) for start, stop in pairwise(borders)]
