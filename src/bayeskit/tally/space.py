"""The codes of a tally: its classes and the values of its coded columns, and how counts follow when these change.

The codes belong to the tally. A statistic holds arrays in them and can be recoded, so that aligning two tallies by
name is written once for all statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bayeskit.data.schema import NO_TARGET, Categorical, Numeric, Schema
from bayeskit.data.vocabulary import Value, positions
from bayeskit.errors import BadFile
from bayeskit.tally.plan import Request
from bayeskit.typing import Counts, Ints


@dataclass(frozen=True, eq=False)
class Space:
    """Classes, and the values of each coded column: slot 0 is a missing cell, slot i + 1 the i-th value.

    While rows are counted, classes and values are lists that go on growing; the sizes are those of this moment.
    """

    schema: Schema
    classes: Sequence[Value]
    values: Mapping[str, Sequence[Value]]
    weighted: bool = False
    n_classes: int = field(init=False)
    slots: Mapping[str, int] = field(init=False)  # of each coded column

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_classes", len(self.classes))
        object.__setattr__(self, "slots", {name: len(values) + 1 for name, values in self.values.items()})

    def in_class(self, code: int) -> str:
        """A class in a sentence; nothing where there are no classes."""
        return "" if self.schema.target == NO_TARGET else f" in class {self.classes[code]!r}"

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """Of counts."""
        return np.float64 if self.weighted else np.int64


class Recoding(NamedTuple):
    """The old code of each new one, −1 where it is new: of the classes, and of each coded column's slots."""

    classes: Ints
    slots: Mapping[str, Ints]

    @classmethod
    def by_name(cls, old: Space, new: Space) -> Recoding:
        """From one space to another that names classes and values in another order, or more or fewer of them.

        >>> a = Space(Schema({"sky": Categorical()}), ("no", "yes"), {"sky": ("sun",)})
        >>> b = Space(a.schema, ("maybe", "yes"), {"sky": ("rain", "sun")})
        >>> Recoding.by_name(a, b).classes.tolist(), Recoding.by_name(a, b).slots["sky"].tolist()
        ([-1, 1], [0, -1, 1])
        """
        slots = {name: _slots(old.values[name], values) for name, values in new.values.items()}
        return cls(positions(new.classes, old.classes), slots)

    @classmethod
    def appended(cls, old: Space, new: Space) -> Recoding:
        """From one space to the same after more codes were taken in: old ones stay where they are."""
        slots = {name: _longer(old.slots[name], size) for name, size in new.slots.items()}
        return cls(_longer(old.n_classes, new.n_classes), slots)

    @classmethod
    def of_classes(cls, classes: Any, space: Space) -> Recoding:
        """The same values, other classes."""
        slots = {name: np.arange(size) for name, size in space.slots.items()}
        return cls(np.asarray(classes, dtype=np.int64), slots)


def _slots(old: Sequence[Value], new: Sequence[Value]) -> Ints:
    if old is new or (len(old) == len(new) and tuple(old) == tuple(new)):
        return np.arange(len(new) + 1)
    index = positions(new, old)
    return np.concatenate([[0], np.where(index < 0, -1, index + 1)])


def _longer(old: int, new: int) -> Ints:
    index = np.arange(new)
    index[old:] = -1
    return index


def is_identity(index: Ints, size: int) -> bool:
    """Whether an index of old codes leaves all ``size`` of them where they are."""
    return len(index) == size and bool((index == np.arange(size)).all())


def take_codes(array: Counts, index: Ints, axis: int) -> Counts:
    """The array with the old codes of one axis in a new order; zeros where a code is new.

    >>> take_codes(np.array([[5, 7]]), np.array([1, -1]), 1).tolist()
    [[7, 0]]
    """
    if is_identity(index, array.shape[axis]):
        return array
    if not array.shape[axis]:
        shape = list(array.shape)
        shape[axis] = len(index)
        return np.zeros(shape, dtype=array.dtype)
    moved = np.take(array, np.maximum(index, 0), axis=axis)
    moved[(slice(None),) * axis + (index < 0,)] = 0
    return moved


def check_measured(request: Request, space: Space) -> None:
    """Refuse, of a file, sums of columns that hold no numbers."""
    if not set(request.names) <= set(space.schema.measured()):
        raise BadFile("the tally has sums of columns that hold no numbers")


def declared_values(schema: Schema, name: str) -> tuple[Value, ...]:
    """The values that a column has whether or not a row shows them: its intervals, or its declared domain."""
    role = schema.columns[name]
    if isinstance(role, Numeric):
        return tuple(range(len(role.cuts or ()) + 1))
    return (role.domain or ()) if isinstance(role, Categorical) else ()


def format_times(count: Any) -> str:
    """How often, in words."""
    return "once" if count == 1 else "never" if count == 0 else f"{count:g} times"


def subtract_counts(a: Counts, b: Counts, tolerance: float) -> Counts:
    """a − b, where what a subtraction of float weights may leave behind is nothing."""
    left: Counts = a - b
    if tolerance:
        left[np.abs(left) <= tolerance] = 0
    return left
