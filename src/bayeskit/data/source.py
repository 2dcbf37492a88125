"""Where rows come from: a Source says the kinds of its columns and yields batches.

A column of a batch is an Arrow array or a NumPy view (strided views of a matrix are read where they lie: a
copy into Arrow would cost more than the counting). A source never holds more than it was given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from bayeskit.data.schema import Kind
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, SchemaMismatch

if TYPE_CHECKING:
    import pyarrow as pa

Column = Any  # np.ndarray | pa.Array | pa.ChunkedArray


@dataclass(frozen=True)
class Responsibilities:
    """Soft labels (rows, classes): how much of each row belongs to each class."""

    classes: tuple[Value, ...]
    matrix: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.matrix.shape[1] != len(set(self.classes)):
            raise BayesError(
                f"responsibilities of shape {self.matrix.shape} do not fit the classes {list(self.classes)}: "
                "one column a class, each class once"
            )
        bad = np.flatnonzero(~(np.isfinite(self.matrix) & (self.matrix >= 0)).all(axis=1))
        if len(bad):
            raise BayesError(f"row {bad[0]} has a responsibility that is negative or no finite number")

    def __len__(self) -> int:
        return len(self.matrix)


@dataclass(frozen=True)
class Batch:
    """Some rows in a row: columns by name, and what was said about the rows."""

    columns: Mapping[str, Column]
    n_rows: int
    start: int = 0
    labels: Column | Responsibilities | None = None
    weights: npt.NDArray[np.float64] | None = None


class Source(Protocol):
    """Rows in batches, with the kinds of their columns."""

    @property
    def kinds(self) -> Mapping[str, Kind]: ...
    @property
    def named(self) -> bool: ...
    @property
    def target(self) -> str | None: ...
    def batches(self) -> Iterator[Batch]: ...


def open_source(data: Any, labels: Any = None, weights: Any = None) -> Source:
    """Rows from anything in memory; ``labels`` are values, or the name of a column of ``data``."""
    if isinstance(data, (str, bytes)):
        raise BayesError(f"{data!r} is text, not a table: pass a frame, an array or records")
    from bayeskit.data.frames import MemorySource, SparseSource, columns_of, is_sparse

    if is_sparse(data):
        return SparseSource.of(data, labels, _as_weights(weights, data.shape[0]))
    names, columns, n_rows, named = columns_of(data)
    target = None
    if isinstance(labels, str):
        if labels not in columns:
            hint = f" One label for one row is a list: [{labels!r}]." if n_rows == 1 else ""
            raise SchemaMismatch(f"there is no target column {labels!r} (columns: {', '.join(names)}).{hint}")
        target, labels = labels, columns.pop(labels)
    return MemorySource(columns, n_rows, named, target, labels, _as_weights(weights, n_rows))


def _as_weights(weights: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
    if weights is None:
        return None
    try:
        array = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError("sample_weight holds no numbers; pass one a row, as a list, array or series") from None
    array = np.full(n_rows, array) if array.ndim == 0 else np.ascontiguousarray(array)
    if array.ndim != 1:
        raise BayesError(f"Sample weights must be 1D array or scalar, got an array of shape {array.shape}")
    if len(array) != n_rows:
        raise BayesError(f"sample_weight.shape == {array.shape}, expected ({n_rows},): one weight a row")
    bad = np.flatnonzero(~(array >= 0) | np.isinf(array))
    if len(bad):
        raise BayesError(f"row {bad[0]} has weight {array[bad[0]]}; weights are finite and not negative")
    return array


def cut(column: Column, start: int, stop: int) -> Column:
    """Rows start..stop of a column, without a copy where the bytes are in this machine's order."""
    if not isinstance(column, np.ndarray):
        return column.slice(start, stop - start)
    part = column[start:stop]
    return part if part.dtype.isnative else part.astype(part.dtype.newbyteorder("="))


def is_arrow(column: Column) -> bool:
    """Whether a column is an Arrow array (arrays of NumPy have no ``type``)."""
    return not isinstance(column, np.ndarray)


def as_one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A chunked column as one array."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(_unified(column))
    return column


def _unified(column: pa.ChunkedArray) -> list[pa.Array]:
    import pyarrow as pa

    if column.num_chunks == 0:
        return [pa.nulls(0, column.type)]
    return list((column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column).chunks)
