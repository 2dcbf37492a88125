"""Define requests and plans, the codes of a tally (classes and values), and the recoding of counts when they change.

A plan lists the statistics that a model asks an engine to count. The codes belong to the tally: a statistic holds
arrays in them and can be recoded, so that aligning two tallies by name is written once for all statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bayeskit.data.schema import NO_TARGET, Categorical, Numeric, Schema
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value, positions
from bayeskit.errors import BadFile
from bayeskit.storage.container import check_file as check_file
from bayeskit.typing import Array, Counts, Ints


@dataclass(frozen=True)
class Request:
    """A request for one kind of statistic of some columns or sets of columns; plain data.

    >>> Request.from_json(Request("joints", (("sky", "wind"), ("wind",))).to_json()).names
    ('sky', 'wind')
    """

    kind: str
    columns: tuple[Any, ...]  # names, or tuples of names that are counted together
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the distinct columns to count."""
        named = (part if isinstance(part, tuple) else (part,) for part in self.columns)
        return tuple(dict.fromkeys(name for part in named for name in part))

    def is_for(self, other: Request) -> bool:
        """Return True if the other requests the same, in any column order."""
        return self.kind == other.kind and set(self.columns) == set(other.columns)

    def __hash__(self) -> int:
        return hash((self.kind, self.columns))

    def to_json(self) -> list[Any]:
        """Return plain data for :meth:`from_json`."""
        columns = [list(part) if isinstance(part, tuple) else part for part in self.columns]
        return [self.kind, columns, dict(self.options)]

    @classmethod
    def from_json(cls, written: Any) -> Request:
        """Restore a request from :meth:`to_json`; raise an error for anything else."""
        try:
            kind, listed, options = written
            columns = tuple(part if isinstance(part, str) else tuple(part) for part in listed)
        except (TypeError, ValueError):
            raise BadFile("this is not a list of what was counted") from None
        request = cls(kind, columns, options)
        check_file(isinstance(kind, str) and isinstance(options, dict), "this is not a list of what was counted")
        known = all(isinstance(name, str) for name in request.names) and len(set(columns)) == len(columns)
        check_file(known, "columns are counted that have no name, or are counted twice")
        return request


class Plan(tuple[Request, ...]):
    """A list of requests, or columns by the kind of statistic.

    >>> Plan(families=["sky"], moments=[])
    Plan(families=('sky',))
    >>> Plan(Request("distinct", ("size",), {"max_values": 100}), families=("sky",)).of("distinct").options
    {'max_values': 100}
    """

    def __new__(cls, *requests: Request, **columns: Iterable[Any]) -> Plan:
        """Build a plan; requests without columns are dropped."""
        by_kind = (Request(kind, tuple(names)) for kind, names in columns.items())
        return super().__new__(cls, (request for request in (*requests, *by_kind) if request.columns))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    @property
    def names(self) -> list[str]:
        """Return the distinct columns of all requests."""
        return list(dict.fromkeys(name for request in self for name in request.names))

    def of(self, kind: str) -> Request | None:
        """Return the request of one kind, None if absent."""
        return next((request for request in self if request.kind == kind), None)

    def __repr__(self) -> str:
        return f"Plan({', '.join(f'{request.kind}={request.columns!r}' for request in self)})"


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


def new_codes(old_codes: Ints, size: int) -> Ints:
    """Invert an index of old codes: the new code of each of at least ``size`` old ones, −1 where there is none.

    >>> new_codes(np.array([2, -1, 0]), 3).tolist()
    [2, -1, 0]
    """
    new = np.full(max(size, int(old_codes.max(initial=-1)) + 1), -1, dtype=np.int64)
    new[old_codes[old_codes >= 0]] = np.flatnonzero(old_codes >= 0)
    return new


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


class EqualFields:
    """Equality of dataclasses that hold arrays: all fields are equal, arrays to the bit and in their dtype.

    The fields named in ``count_fields`` hold counts, the others say of what.
    """

    count_fields: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            are_equal(getattr(self, part.name), getattr(other, part.name))
            for part in fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


def are_equal(a: Any, b: Any) -> bool:
    """Return True for equal objects: arrays have equal dtype and cells, tuples and mappings equal items."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(are_equal, a, b))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(are_equal(a[key], b[key]) for key in a)
    return bool(a == b)


def arrays_of(part: Any) -> list[Array]:
    """Return the arrays of a dataclass or mapping, in the order of its fields, as a file holds them."""
    if isinstance(part, np.ndarray):
        return [part]
    if isinstance(part, Words):
        return [part.data, part.offsets]
    if isinstance(part, EqualFields):
        part = {each.name: getattr(part, each.name) for each in fields(part)}  # type: ignore[arg-type]
    return [array for each in part.values() for array in arrays_of(each)] if isinstance(part, Mapping) else []


def cast_counts(part: Any, dtype: Any) -> Any:
    """Return an array, a mapping of tables or a dataclass with its counts in another dtype."""
    if isinstance(part, np.ndarray):
        return part.astype(dtype)
    if isinstance(part, Mapping):
        return {key: cast_counts(table, dtype) for key, table in part.items()}
    return replace(part, **{name: cast_counts(getattr(part, name), dtype) for name in part.count_fields})


def check_counts(counts: Counts, shape: tuple[int, ...], space: Space) -> None:
    """Raise :class:`BadFile` for counts of another shape or dtype than a statistic of the space has, or below zero."""
    check_file(counts.shape == shape and counts.dtype == space.dtype, "the tally's counts do not fit its columns")
    check_file(counts.min(initial=0) >= 0, "the tally holds counts that are negative or no numbers")


def check_measured(request: Request, space: Space) -> None:
    """Raise an error for sums in a file over columns that are not numeric."""
    check_file(set(request.names) <= set(space.schema.measured), "the tally has sums of columns that hold no numbers")


def declared_values(schema: Schema, name: str) -> tuple[Value, ...]:
    """Return the values that a column always has: its intervals or its declared domain."""
    role = schema.columns[name]
    if isinstance(role, Numeric):
        return tuple(range(len(role.cuts or ()) + 1))
    return (role.domain or ()) if isinstance(role, Categorical) else ()


def format_times(count: Any) -> str:
    """Format a count for a message."""
    return "once" if count == 1 else "never" if count == 0 else f"{count:g} times"


def spread_counts(keys: Array, counts: Counts, all_keys: Array) -> Counts:
    """Return counts (…, n_keys) over all keys, which are sorted and include these; zero elsewhere.

    >>> spread_counts(np.array([2, 5]), np.array([1, 7]), np.array([2, 3, 5])).tolist()
    [1, 0, 7]
    """
    spread = np.zeros((*counts.shape[:-1], len(all_keys)), counts.dtype)
    spread[..., np.searchsorted(all_keys, keys)] = counts
    return spread


def subtract_counts(a: Counts, b: Counts, tolerance: float) -> Counts:
    """Return a − b, with rounding residues of float weights set to zero."""
    left: Counts = a - b
    if tolerance:
        left[np.abs(left) <= tolerance] = 0
    return left


def first_negative(counts: Counts) -> tuple[int, ...]:
    """Return the index of the first cell below zero."""
    return tuple(np.argwhere(counts < 0)[0].tolist())
