"""Whether two tallies can be added: the same columns with the same roles, classes and values of one type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayeskit.data.schema import Schema, Target
from bayeskit.data.vocabulary import Value, union
from bayeskit.errors import SchemaMismatch

UNNAMED = Target().name


def check_same(a: Schema, b: Schema) -> None:
    """Refuse two schemas that differ, saying where; columns may stand in another order."""
    if len({a.target.name, b.target.name, UNNAMED}) > 2:
        raise SchemaMismatch(
            f"the two sides do not fit: one learnt the target {a.target.name!r}, the other {b.target.name!r}. "
            "Learn both on the same target."
        )
    for name in {**a.columns, **b.columns}:
        ours, theirs = a.columns.get(name), b.columns.get(name)
        if ours != theirs:
            raise SchemaMismatch(
                f"the two sides do not fit: column {name!r} is {ours or 'absent'} on one and {theirs or 'absent'} "
                "on the other. Pass the schema_ of one as schema= to the fit of the other."
            )


def joint_target(a: Target, b: Target) -> Target:
    """The name that was given, and the classes that either side declares."""
    return Target(b.name if a.name == UNNAMED else a.name, union(a.domain or (), b.domain or ()) or None)


def check_one_kind(classes: Iterable[Value]) -> None:
    """Refuse classes of which some are strings and some numbers."""
    first = {isinstance(label, str): label for label in classes}
    if len(first) > 1:
        raise SchemaMismatch(
            f"classes are all strings or all numbers, not both: {first[False]!r} and {first[True]!r}. "
            "Give them the same type."
        )


def check_same_kind(name: str, ours: Sequence[Value], theirs: Sequence[Value]) -> None:
    """Refuse strings on one side against numbers on the other: '1' and 1 would be two values."""
    if ours and theirs and {isinstance(v, str) for v in ours}.isdisjoint(isinstance(v, str) for v in theirs):
        raise SchemaMismatch(
            f"column {name!r} holds the {type(ours[0]).__name__} {ours[0]!r} on one side and the "
            f"{type(theirs[0]).__name__} {theirs[0]!r} on the other: give it the same type"
        )
