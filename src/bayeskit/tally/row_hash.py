"""An order-independent hash of the counted rows, by which a model recognizes them.

The hash of a set of rows is the sum of the hashes of its rows modulo 2^64. Sets can be added and subtracted, and
neither order nor batches matter. Hashing takes longer than counting, so it is done for up to 32,768 rows; counts of
more rows hardly agree by chance.
"""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.text.documents import Documents
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BadFile
from bayeskit.tally.plan import Space, check_file
from bayeskit.typing import Array

Hashes = npt.NDArray[np.uint64]

MOST_ROWS = 1 << 15
SAMPLE = 64  # rows whose hashes are kept
INCREMENT = np.uint64(0x9E3779B97F4A7C15)


def mix_bits(numbers: Hashes) -> Hashes:
    """Mix 64-bit numbers: neighboring numbers give unrelated ones (SplitMix64; Steele, Lea and Flood 2014)."""
    x = numbers ^ (numbers >> np.uint64(30))
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


@dataclass(frozen=True)
class RowHash:
    """The hash of a multiset of rows: their number, the sum of their hashes, and the smallest hashes.

    ``sample`` has all hashes below ``bound``, sorted; a row of weight two counts twice in the sum alone.
    """

    n_rows: int
    total: int
    sample: tuple[int, ...]
    bound: int = 2**64

    @classmethod
    def of(cls, hashes: Hashes, weights: Array | None) -> RowHash:
        """Build the hash of rows from the hash of each."""
        parts = hashes
        if weights is not None:
            whole = np.floor(weights)
            rest = mix_bits(hashes ^ (weights - whole).view(np.uint64))
            parts = hashes * np.fmod(whole, 2.0**64).astype(np.uint64) + np.where(weights > whole, rest, np.uint64(0))
            hashes = hashes[weights > 0]
        return cls(len(hashes), int(parts.sum(dtype=np.uint64)), tuple(np.sort(hashes).tolist())).bounded()

    def bounded(self) -> Self:
        """Return the same hash with as many of the smallest hashes as are kept."""
        bound = min(self.bound, self.sample[SAMPLE]) if len(self.sample) > SAMPLE else self.bound
        sample = tuple(row for row in self.sample if row < bound)
        return type(self)(self.n_rows, self.total % 2**64, sample, bound)

    def __add__(self, other: RowHash) -> RowHash | None:
        """Return the hash of both sets of rows; None if they are too many."""
        n_rows, sample = self.n_rows + other.n_rows, tuple(sorted(self.sample + other.sample))
        if n_rows > MOST_ROWS:
            return None
        return RowHash(n_rows, self.total + other.total, sample, min(self.bound, other.bound)).bounded()

    def __sub__(self, other: RowHash) -> RowHash:
        left = Counter(self.sample)
        left.subtract(other.sample)
        sample, bound = tuple(sorted(left.elements())), min(self.bound, other.bound)
        return RowHash(max(self.n_rows - other.n_rows, 0), self.total - other.total, sample, bound).bounded()

    def matches(self, other: RowHash) -> bool:
        """Return True if both are hashes of the same rows; a row of weight two is the same as two rows."""
        return self.total == other.total

    def n_shared(self, other: RowHash) -> int:
        """Estimate how many of these rows are among the others; 0 where no more are than in independent draws.

        In independent draws, rows repeat among the others about as often as among themselves.
        """
        bound = min(self.bound, other.bound)
        ours, theirs = (Counter(row for row in side.sample if row < bound) for side in (self, other))
        n, shared = ours.total(), (ours & theirs).total()
        repeated = sum(times for times in ours.values() if times > 1)
        expected = min(repeated * other.n_rows / self.n_rows, n) if n else 0.0
        return round(shared / n * self.n_rows) if shared > expected + 3 * expected**0.5 + 1 else 0

    def to_json(self) -> list[Any]:
        """Return plain data for :meth:`from_json`."""
        rows = np.array([self.total, *self.sample, self.bound % 2**64], ">u8")
        return [self.n_rows, b85encode(rows.tobytes()).decode()]

    @classmethod
    def from_json(cls, written: Any) -> RowHash:
        """Restore a hash from :meth:`to_json`; raise an error for anything else."""
        try:
            n_rows, rows = written
            total, *sample, bound = np.frombuffer(b85decode(rows), ">u8").tolist()
            read = cls(n_rows, total, tuple(sample), bound or 2**64)
        except (TypeError, ValueError) as problem:
            raise BadFile(f"this is not a hash of rows: {problem!r}") from None
        fits = type(n_rows) is int and len(sample) <= n_rows <= MOST_ROWS and 0 < read.bound <= 2**64
        fits = fits and sample == sorted(sample) and read == read.bounded()
        check_file(fits and (n_rows == len(sample) or read.bound < 2**64), "the hash of the rows does not fit together")
        return read


def combine_hashes(ours: tuple[RowHash | None, Any], theirs: tuple[RowHash | None, Any]) -> RowHash | None:
    """Add the hashes of two sets of rows, each given with its number of rows; None if one is not known."""
    (a, n_ours), (b, n_theirs) = ours, theirs
    if a is not None and b is not None:
        return a + b
    return a if not n_theirs else b if not n_ours else None


@dataclass
class RowHasher:
    """Hash the rows of blocks by their values; the hash of a value is computed once."""

    names: Sequence[str]
    n_rows: int = 0
    _tables: dict[str | None, Hashes] = field(default_factory=dict)

    def hash(self, block: Block, space: Space) -> RowHash | None:
        """Hash the rows of a block; None for too many rows, or rows that have not one label each."""
        self.n_rows += block.n_rows
        shared_labels = block.labels is None or block.responsibilities is not None
        if shared_labels or block.sequence_starts is not None or self.n_rows > MOST_ROWS:
            return None
        return RowHash.of(self.rows(block, space), block.weights)

    def rows(self, block: Block, space: Space, n_threads: int = 1) -> Hashes:
        """Return the hash of the class and the cells of each row, which have one label each."""
        self._grow(None, space.classes)
        for name in self.names:
            if name in block.codes:
                self._grow(name, space.values[name])
        return mix_bits(self._cells(block, n_threads))

    def _cells(self, block: Block, n_threads: int) -> Hashes:
        """Return the sum of the hashes of the class and the cells of each row."""
        assert block.labels is not None
        hashes = self._tables[None][1:][block.labels]
        numbers = [name for name in self.names if name in block.floats]
        if numbers:
            columns, factors = [block.floats[name] for name in numbers], _seeds(*numbers) | np.uint64(1)
            hashes += kernels.hash_numbers(columns, factors, n_threads)
        for name in self.names:
            if name in block.codes:
                hashes += self._tables[name][block.codes[name]]
            elif name in block.texts:
                hashes += mix_bits(_hash_documents(block.texts[name]) + _seeds(name))
        return hashes

    def _grow(self, name: str | None, values: Sequence[Value]) -> None:
        """Add hashes of new values of a column, by code after that of a missing cell; of new classes for None."""
        table = self._tables.setdefault(name, np.zeros(1, np.uint64))
        if len(table) <= len(values):
            new = np.array([_hash_value(value) for value in values[len(table) - 1 :]], np.uint64)
            self._tables[name] = np.append(table, mix_bits(new + _seeds(name or "")))


def _seeds(*names: str) -> Hashes:
    return mix_bits(np.array([_checksum(name) for name in names], np.uint64) + INCREMENT)


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _hash_value(value: Value) -> int:
    """Hash a value; equal numbers of any type have equal hashes."""
    if isinstance(value, str):
        return _checksum(value)
    is_integer = not isinstance(value, float) or value.is_integer()
    return (int(value) if is_integer else hash(value)) % 2**64


def _hash_documents(texts: Documents) -> Hashes:
    """Hash the bytes of documents; a missing one is not an empty one."""
    return kernels.hash_texts(texts.data, texts.offsets) + texts.missing
