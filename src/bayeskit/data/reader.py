"""Read whole tables at once, for models and metrics that cannot work by batches.

`read_table` leaves a table in the form it has, to be taken apart by row numbers (folds, samples, learning curves);
`read_batch` gives its columns as a source yields them; `read_block` gives its rows as the kernels read them, encoded
once. A table gives the same rows in each of its forms, files among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.arrow_arrays import Column, is_arrow, plain_strings, take_cells
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import MemorySource, collected, is_sparse, label_column, open_source, unmasked
from bayeskit.data.missing_labels import tell_dropped, without_label
from bayeskit.data.source import Batch, Responsibilities, Source, is_source
from bayeskit.errors import BayesError
from bayeskit.lazy import pa
from bayeskit.typing import Array, Ints

NO_ROWS = "there are no rows: Found array with 0 sample(s) while a minimum of 1 is required."


class Taken:
    """An indexable collection that is not a table of rows, such as whole sequences."""

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, index: Any) -> Any:
        """Return the items at these indices, in this order."""
        raise NotImplementedError


@dataclass(frozen=True)
class WholeTable:
    """All rows of a table without their labels, in its own form where any estimator reads that, else as columns by
    name; and the labels, None where there are none."""

    data: Any
    n_rows: int
    labels: Column | None
    target: str = "class"
    columns: dict[str, Column] | None = field(default=None, repr=False, compare=False)  # as they were read

    def take(self, rows: Array) -> Any:
        """Return the rows at these indices, in the same form."""
        if isinstance(self.data, Taken):
            return self.data.take(rows)
        if isinstance(self.data, dict):
            return {name: take_cells(column, rows) for name, column in self.data.items()}
        if hasattr(self.data, "iloc"):
            return self.data.iloc[rows]
        if type(self.data).__module__.partition(".")[0] == "polars":
            return self.data[rows.tolist()]
        return self.data[rows] if is_sparse(self.data) else take_cells(self.data, rows)

    def part(self, rows: Array) -> WholeTable:
        """Return the rows at these indices as an unlabeled table."""
        return WholeTable(self.take(rows), len(rows), None, self.target)

    def labeled(self, sample_weight: Any = None) -> tuple[WholeTable, Any]:
        """Return (the labeled rows, their weights); warn about rows left out."""
        missing = without_label(self.labels)
        if missing is None:
            return self, sample_weight
        tell_dropped(missing)
        rows = np.flatnonzero(~missing)
        labels = take_cells(self.labels, rows)
        labeled = replace(self, data=self.take(rows), n_rows=len(rows), labels=labels, columns=None)
        return labeled, None if sample_weight is None else np.asarray(sample_weight)[rows]

    def listed_labels(self) -> Array:
        """Return the labels as an array of plain values."""
        listed = np.empty(self.n_rows, dtype=object)
        if self.labels is not None:
            listed[:] = self.labels.to_pylist() if is_arrow(self.labels) else self.labels.tolist()
        return listed


def read_table(X: Any, y: Any, labeled: bool = True) -> WholeTable:
    """Read the rows of a table and their labels, given as values or as a column name.

    If ``labeled``, missing labels raise an error.

    >>> table = read_table({"sky": ["sun", "rain", "sun"], "play": ["yes", "no", "yes"]}, "play")
    >>> table.take(np.array([0, 2]))["sky"].to_pylist(), table.listed_labels().tolist()
    (['sun', 'sun'], ['yes', 'no', 'yes'])
    """
    if y is None and labeled:
        raise BayesError("the classes of the rows are needed: y is None")
    X = collected(X)
    if not isinstance(X, Taken) and (isinstance(X, (str, Path)) or is_source(X)):
        read = open_source(X, y)
        batch = read_batch(read)
        if labeled and batch.labels is None:
            raise BayesError("the rows have no classes: name the column that holds them as y")
        labels = None if batch.labels is None else plain_strings(batch.labels)
        return WholeTable(dict(batch.columns), batch.n_rows, labels, read.target or "class")
    if isinstance(X, Taken) or is_sparse(X) or _is_list_of_texts(X):
        cells: Any = X if isinstance(X, Taken) else X.tocsr() if is_sparse(X) else label_column(X)[0]
        n_rows = cells.shape[0] if is_sparse(X) else len(cells)
        labels = None if y is None else plain_strings(label_column(y)[0])
        if labels is not None and len(labels) != n_rows:
            sizes = f"[{n_rows}, {len(labels)}]"
            raise BayesError(f"Found input variables with inconsistent numbers of samples: {sizes}: one label a row")
        return WholeTable(cells, n_rows, labels)
    source = open_source(X, y)  # refuses what is not a table, and labels that do not fit the rows
    assert isinstance(source, MemorySource)
    columns, n_rows, named = dict(source.columns), source.n_rows, source.named
    column = y if isinstance(y, str) else None
    labels = source.labels if column is not None else None if y is None else label_column(y)[0]
    data: Any = columns
    if hasattr(X, "iloc"):
        data = X if column is None else X.drop(columns=column)
    elif type(X).__module__.partition(".")[0] == "polars":
        data = X if column is None else X.drop(column)
    elif isinstance(X, np.ndarray) and not named:
        data = unmasked(X)
    elif not named and not any(is_arrow(cells) and cells.null_count for cells in columns.values()):
        arrays = [cells.to_numpy(zero_copy_only=False) if is_arrow(cells) else cells for cells in columns.values()]
        is_one_type = len({array.dtype for array in arrays}) == 1
        data = np.column_stack(arrays if is_one_type else [array.astype(object) for array in arrays])
    target = source.target or "class"
    return WholeTable(data, n_rows, None if labels is None else plain_strings(labels), target, columns)


def read_batch(source: Source, names: Iterable[str] | None = None) -> Batch:
    """Read all rows of a source as one batch, of some columns or of all; no copy if they are in memory.

    >>> source = open_source({"x": [1.0, 2.0], "y": ["a", "b"]}, "y")
    >>> batch = read_batch(source)
    >>> batch.n_rows, batch.columns["x"].tolist(), batch.labels.to_pylist()
    (2, [1.0, 2.0], ['a', 'b'])
    """
    names = list(source.kinds if names is None else names)
    batches = [
        replace(batch, columns={name: batch.columns[name] for name in names if name in batch.columns})
        for batch in (source.one_batch() if isinstance(source, MemorySource) else source.batches())
    ]
    if not batches:
        raise BayesError(NO_ROWS)
    return _one(batches)


def _one(batches: Sequence[Batch]) -> Batch:
    """Concatenate batches."""
    if len(batches) == 1:
        return batches[0]
    columns = {name: concatenate([batch.columns[name] for batch in batches]) for name in batches[0].columns}
    labels = _all_or_none([batch.labels for batch in batches], concatenate)
    weights = _all_or_none([batch.weights for batch in batches], np.concatenate)
    return Batch(columns, sum(batch.n_rows for batch in batches), batches[0].start, labels, weights)


def _all_or_none(parts: list[Any], join: Callable[[list[Any]], Any]) -> Any:
    """Join the parts, or return None if one is None."""
    return None if any(part is None for part in parts) else join(parts)


def in_order(data: Any) -> Any:
    """Return data whose row order is the same in every pass; query results are read into memory.

    Work that pairs the rows of two passes, such as labels with scores, needs this.
    """
    if isinstance(data, str):
        from bayeskit.data.io.sql import is_address

        data = open_source(data) if is_address(data) else data
    if not getattr(data, "unordered", False):
        return data
    batch = read_batch(data)
    return MemorySource(batch.columns, batch.n_rows, data.named, data.target, batch.labels, batch.weights)


def read_block(encoder: Encoder, source: Source) -> Block:
    """Read all rows of a source as one block, without texts."""
    blocks = list(encoder.blocks(source))
    if not blocks:
        raise BayesError(NO_ROWS)
    return join_blocks(blocks)


def join_blocks(blocks: list[Block]) -> Block:
    """Return the rows of several blocks without texts as one block."""
    if len(blocks) == 1:
        return blocks[0]
    assert not blocks[0].texts
    return Block(
        sum(block.n_rows for block in blocks),
        blocks[0].start,
        {name: np.concatenate([block.codes[name] for block in blocks]) for name in blocks[0].codes},
        {name: np.concatenate([block.floats[name] for block in blocks]) for name in blocks[0].floats},
        _all_or_none([block.labels for block in blocks], np.concatenate),
        weights=_all_or_none([block.weights for block in blocks], np.concatenate),
        sequence_starts=_all_or_none([block.sequence_starts for block in blocks], _join_starts),
    )


def _join_starts(parts: list[Ints]) -> Ints:
    """Concatenate the sequence starts of several blocks."""
    return reduce(lambda joined, part: np.concatenate([joined, part[1:] + joined[-1]]), parts)


def _is_list_of_texts(X: Any) -> bool:
    """Return True for documents: a list of strings, or any column that is not a table."""
    if isinstance(X, (list, tuple)):
        return bool(len(X)) and all(isinstance(text, (str, bytes, type(None))) for text in X)
    return (getattr(X, "ndim", None) == 1 or hasattr(X, "null_count")) and not hasattr(X, "columns")


def concatenate(parts: Sequence[Column]) -> Column:
    """Concatenate the parts of a column.

    >>> concatenate([np.array([1.0]), np.array([2.0, 3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    if isinstance(parts[0], Responsibilities):
        raise BayesError("class probabilities go with tables in memory, not with files")
    if not is_arrow(parts[0]):
        return np.concatenate(parts)
    return pa.concat_tables([pa.table({"cells": part}) for part in parts]).unify_dictionaries()["cells"]
