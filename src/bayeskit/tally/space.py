"""Define the codes of a tally, its classes and values, and the recoding of counts when they change.

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
    """The classes, and the values of each coded column: slot 0 is a missing cell, slot i + 1 the i-th value.

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
        """Format a class for a message; empty if there are no classes."""
        return "" if self.schema.target == NO_TARGET else f" in class {self.classes[code]!r}"

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        """Return the dtype of counts."""
        return np.float64 if self.weighted else np.int64


class Recoding(NamedTuple):
    """A mapping from new codes to old ones, −1 for new codes, for classes and slots of each column."""

    classes: Ints
    slots: Mapping[str, Ints]

    @classmethod
    def by_name(cls, old: Space, new: Space) -> Recoding:
        """Map codes by name between two spaces.

        >>> a = Space(Schema({"sky": Categorical()}), ("no", "yes"), {"sky": ("sun",)})
        >>> b = Space(a.schema, ("maybe", "yes"), {"sky": ("rain", "sun")})
        >>> Recoding.by_name(a, b).classes.tolist(), Recoding.by_name(a, b).slots["sky"].tolist()
        ([-1, 1], [0, -1, 1])
        """
        slots = {name: _slots(old.values[name], values) for name, values in new.values.items()}
        return cls(positions(new.classes, old.classes), slots)

    @classmethod
    def appended(cls, old: Space, new: Space) -> Recoding:
        """Map codes to a space with appended codes; old codes stay."""
        slots = {name: _longer(old.slots[name], size) for name, size in new.slots.items()}
        return cls(_longer(old.n_classes, new.n_classes), slots)

    @classmethod
    def of_classes(cls, classes: Any, space: Space) -> Recoding:
        """Map to other classes with the same values."""
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
    """Return True if an index of old codes keeps all ``size`` codes in place."""
    return len(index) == size and bool((index == np.arange(size)).all())


def take_codes(array: Counts, index: Ints, axis: int) -> Counts:
    """Reorder the codes of one axis; new codes are zero.

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
    """Raise an error for sums in a file over columns that are not numeric."""
    if not set(request.names) <= set(space.schema.measured()):
        raise BadFile("the tally has sums of columns that hold no numbers")


def declared_values(schema: Schema, name: str) -> tuple[Value, ...]:
    """Return the values that a column always has: its intervals or its declared domain."""
    role = schema.columns[name]
    if isinstance(role, Numeric):
        return tuple(range(len(role.cuts or ()) + 1))
    return (role.domain or ()) if isinstance(role, Categorical) else ()


def format_times(count: Any) -> str:
    """Format a count for a message."""
    return "once" if count == 1 else "never" if count == 0 else f"{count:g} times"


def subtract_counts(a: Counts, b: Counts, tolerance: float) -> Counts:
    """Return a − b, with rounding residues of float weights set to zero."""
    left: Counts = a - b
    if tolerance:
        left[np.abs(left) <= tolerance] = 0
    return left
