"""Lists of values as arrays: numbers, then strings, both rising; checked before any of them is made.

A list of a million strings takes 60 MB once it is Python's. Kept as arrays it is read, and refused, in the bytes
it has in the file; the values are made when all else is found to fit. All lists of a file share four arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from operator import lt
from typing import Any

import numpy as np

from bayeskit.errors import BadFile
from bayeskit.typing import Array

LONG = 16  # shorter lists stay in the header
CHUNK = 1 << 20
TYPES = (int, float, bool)
DTYPES = ["|u1", "<i8", "<i8", "|u1"]  # types of the numbers, their bits; where strings start and end, their text


@dataclass(frozen=True, eq=False)
class ValueLists:
    """Lists that are still bytes: how many numbers and strings each has, and the arrays of all.

    >>> lists = ValueLists.of([[1, 2.5, "rain", "sun"], ["hail"]])
    >>> lists.check()
    >>> lists.sizes, list(lists[0]), list(lists[1])
    ([[2, 2], [0, 1]], [1, 2.5, 'rain', 'sun'], ['hail'])
    """

    sizes: list[list[int]]
    arrays: list[Array]

    @classmethod
    def of(cls, lists: Sequence[Sequence[Any]]) -> ValueLists:
        """The arrays of lists that are all :func:`is_packable`."""
        counts = [_n_numbers(values) for values in lists]
        numbers = list(chain.from_iterable(values[:n] for values, n in zip(lists, counts, strict=True)))
        ends, text = _text_arrays(list(chain.from_iterable(v[n:] for v, n in zip(lists, counts, strict=True))))
        kinds = np.array([TYPES.index(type(v)) for v in numbers], dtype=np.uint8)
        bits = np.array([int(v) if type(v) is not float else 0 for v in numbers], dtype=np.int64)
        bits[kinds == 1] = np.array([v for v in numbers if type(v) is float], dtype=np.float64).view(np.int64)
        sizes = [[n, len(values) - n] for values, n in zip(lists, counts, strict=True)]
        return cls(sizes, [kinds, bits, ends, text])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> ValueList:
        return ValueList(self, index)

    @cached_property
    def starts(self) -> Array:
        """Where the numbers and the strings of each list start (lists + 1, 2)."""
        sizes = np.array(self.sizes, dtype=np.int64).reshape(-1, 2)
        return np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(sizes, axis=0)])

    @cached_property
    def strings(self) -> Any:
        """All strings as one Arrow array over the same bytes."""
        import pyarrow as pa

        ends, text = self.arrays[2:]
        return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(text)])

    def check(self) -> None:
        """Refuse what :meth:`of` has not written: values that do not rise, bytes that are no text."""
        if [a.dtype.str for a in self.arrays] != DTYPES or any(a.ndim != 1 for a in self.arrays):
            raise BadFile("the lists of values have arrays of other types")
        kinds, bits, ends, text = self.arrays
        n_numbers, n_strings = self.starts[-1].tolist()
        if len(kinds) != n_numbers or len(bits) != n_numbers or len(ends) != n_strings + 1:
            raise BadFile("the lists of values do not fill their arrays")
        self._check_numbers(kinds, bits)
        if ends[0] != 0 or ends[-1] != len(text):
            raise BadFile("the strings of values do not fill their bytes")
        for start in range(0, n_strings, CHUNK):
            part = ends[start : start + CHUNK + 1]
            if (part[1:] < part[:-1]).any():
                raise BadFile("a string has a negative length")
        if n_strings:
            self._check_strings()

    def _check_numbers(self, kinds: Array, bits: Array) -> None:
        if kinds.max(initial=0) >= len(TYPES):
            raise BadFile("a list of values has numbers of no known type")
        firsts = self.starts[:-1, 0]
        for start in range(0, len(bits), CHUNK):
            k, whole = kinds[start : start + CHUNK + 1], bits[start : start + CHUNK + 1]
            floats = np.where(k == 1, whole.view(np.float64), whole.astype(np.float64))
            if not np.isfinite(floats).all() or ((k == 2) & (floats != 0) & (floats != 1)).any():
                raise BadFile("a list of values has numbers that are none")
            both_whole = (k[1:] != 1) & (k[:-1] != 1)
            rising = np.where(both_whole, whole[1:] > whole[:-1], floats[1:] > floats[:-1])
            _allow_starts(rising, firsts, start)
            if not rising.all():
                raise BadFile("a list of values does not rise")

    def _check_strings(self) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        strings = self.strings
        try:
            strings.validate(full=True)
        except pa.ArrowException as problem:
            raise BadFile(f"a list of values holds bytes that are no text: {problem}") from None
        for start in range(0, len(strings), CHUNK):
            part = strings.slice(start, CHUNK + 1)
            rising = pc.greater(part[1:], part[:-1]).to_numpy(zero_copy_only=False).astype(bool)
            _allow_starts(rising, self.starts[:-1, 1], start)
            if not rising.all():
                raise BadFile("a list of values does not rise")


def _allow_starts(rising: Array, firsts: Array, start: int) -> None:
    """The first value of a list need not be beyond the last of the list before."""
    here = firsts[(firsts > start) & (firsts <= start + len(rising))] - start - 1
    rising[here] = True


@dataclass(eq=False)
class ValueList(Sequence[Any]):
    """One of the lists; its values are made when they are first asked for."""

    lists: ValueLists
    which: int
    _made: list[Any] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return sum(self.lists.sizes[self.which])

    def _values(self) -> list[Any]:
        if self._made is None:
            (low, first), (high, last) = self.lists.starts[self.which : self.which + 2].tolist()
            kinds, bits = (array[low:high] for array in self.lists.arrays[:2])
            whole, floats = bits.tolist(), bits.view(np.float64).tolist() if (kinds == 1).any() else []
            numbers = whole if not kinds.any() else [
                floats[i] if k == 1 else bool(whole[i]) if k == 2 else whole[i] for i, k in enumerate(kinds.tolist())
            ]  # fmt: skip
            self._made = numbers + (self.lists.strings.slice(first, last - first).to_pylist() if last > first else [])
        return self._made

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values())

    def __getitem__(self, index: Any) -> Any:
        return self._values()[index]


def is_packable(values: Sequence[Any]) -> bool:
    """Whether a list is rising numbers, of 64 bits, and then rising strings."""
    n = _n_numbers(values)
    numbers, strings = values[:n], values[n:]
    if not {*map(type, numbers)} <= {*TYPES} or not {*map(type, strings)} <= {str}:
        return False
    if any(type(v) is int and not -(2**63) <= v < 2**63 for v in numbers):
        return False
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        return False
    return all(all(map(lt, part, part[1:])) for part in (numbers, strings))


def _text_arrays(texts: list[str]) -> tuple[Array, Array]:
    """Where each string starts and ends, and the bytes of all."""
    if not texts:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    import pyarrow as pa

    _, ends, text = pa.array(texts, pa.large_string()).buffers()
    ends = np.frombuffer(ends, dtype=np.int64)[: len(texts) + 1]
    return ends, np.frombuffer(text or b"", dtype=np.uint8)[: ends[-1]]


def _n_numbers(values: Sequence[Any]) -> int:
    return next((i for i, value in enumerate(values) if isinstance(value, str)), len(values))
