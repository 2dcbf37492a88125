"""Check that two tallies can be added or subtracted: equal roles, classes and value types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from bayeskit.data.schema import NO_TARGET, Categorical, Ignored, Numeric, Role, Schema, Target
from bayeskit.data.vocabulary import Value, sort_values, union
from bayeskit.errors import NotLearned, SchemaMismatch
from bayeskit.tally.plan import Space, format_times
from bayeskit.typing import Counts

UNNAMED = Target().name
SEVERAL = 8  # cuts or values that are listed


def check_same(a: Schema, b: Schema) -> None:
    """Raise an error for two schemas that differ; column order does not matter."""
    if len({a.target.name, b.target.name, UNNAMED}) > 2:
        raise SchemaMismatch(
            f"the two sides do not fit: one learned the target {a.target.name!r}, the other {b.target.name!r}. "
            "Learn both on the same target."
        )
    for name in {**a.columns, **b.columns}:
        ours, theirs = a.columns.get(name), b.columns.get(name)
        if _unordered(ours) != _unordered(theirs):
            raise SchemaMismatch(
                f"the two sides do not fit: column {name!r} is {_describe_role(ours)} on one and "
                f"{_describe_role(theirs)} on the other.",
                hint="Pass the schema_ of one as schema= to the fit of the other.",
            )


def _unordered(role: Role | None) -> Role | None:
    """Return a role with its declared values sorted, for comparison."""
    if isinstance(role, Categorical) and role.domain is not None:
        return replace(role, domain=tuple(sort_values(role.domain)))
    return role


def _describe_role(role: Role | None) -> str:
    """Return a role in words, with its cuts, kind or values."""
    if role is None:
        return "absent"
    name: str = "ignored" if isinstance(role, Ignored) else role.name
    if isinstance(role, Numeric) and role.cuts is not None:
        return f"{name} with the cuts {_listed([f'{cut:g}' for cut in role.cuts])}"
    if isinstance(role, Numeric) and role.kind is not None:
        return f"{name} taken as {role.kind}"
    if isinstance(role, Categorical) and role.domain is not None:
        return f"{name} with the values {_listed(list(map(repr, role.domain)))}"
    return name


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:SEVERAL]) + (", …" if len(words) > SEVERAL else "") if words else "none"


def joint_target(a: Target, b: Target) -> Target:
    """Merge two targets: the given name, and the declared classes of both."""
    return Target(b.name if a.name == UNNAMED else a.name, union(a.domain or (), b.domain or ()) or None)


def check_one_kind(classes: Iterable[Value]) -> None:
    """Raise an error for classes that mix strings and numbers."""
    first = {isinstance(label, str): label for label in classes}
    if len(first) > 1:
        raise SchemaMismatch(
            f"classes are all strings or all numbers, not both: {first[False]!r} and {first[True]!r}. "
            "Give them the same type."
        )


def check_same_kind(name: str, ours: Sequence[Value], theirs: Sequence[Value]) -> None:
    """Raise an error for strings on one side and numbers on the other: '1' and 1 are two values."""
    if ours and theirs and {isinstance(v, str) for v in ours}.isdisjoint(isinstance(v, str) for v in theirs):
        raise SchemaMismatch(
            f"column {name!r} holds the {type(ours[0]).__name__} {ours[0]!r} on one side and the "
            f"{type(theirs[0]).__name__} {theirs[0]!r} on the other: give it the same type"
        )


def check_forgettable(space: Space, have: Counts, less: Counts, left: Counts) -> None:
    """Raise an error for forgetting more rows of a class than were learned."""
    if (left < 0).any():
        c = int(np.argmin(left))
        rows = "these rows were" if space.schema.target == NO_TARGET else f"class {space.classes[c]!r} was"
        raise NotLearned(
            f"{rows} learned {format_times(have[c])} and cannot be forgotten {format_times(less[c])}; "
            "nothing was changed"
        )
