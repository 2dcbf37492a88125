"""Rows of a table in any of its forms, taken by their numbers: for folds, samples and learning curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit.data.frames import columns_of, is_sparse, label_column
from bayeskit.data.source import Column, Source, is_arrow, is_source, open_source
from bayeskit.errors import BayesError

Index = npt.NDArray[Any]


class Rows(NamedTuple):
    """``take`` gives the rows of some numbers, without the labels, in the table's own form where it has one that any
    estimator reads, else as columns by name."""

    take: Callable[[Index], Any]
    n_rows: int
    labels: Column
    target: str

    def listed(self) -> npt.NDArray[Any]:
        """The labels as an array of plain values."""
        found = np.empty(self.n_rows, dtype=object)
        found[:] = self.labels.to_pylist() if is_arrow(self.labels) else self.labels.tolist()
        return found


def rows_of(X: Any, y: Any) -> Rows:
    """The rows of a table and their labels, which are values or the name of one of its columns.

    >>> rows = rows_of({"sky": ["sun", "rain", "sun"], "play": ["yes", "no", "yes"]}, "play")
    >>> rows.take(np.array([0, 2]))["sky"].to_pylist(), rows.listed().tolist()
    (['sun', 'sun'], ['yes', 'no', 'yes'])
    """
    if y is None:
        raise BayesError("the classes of the rows are needed: y is None")
    if is_sparse(X):
        matrix = X.tocsr()
        return Rows(lambda rows: matrix[rows], matrix.shape[0], plain_strings(label_column(y)[0]), "class")
    if isinstance(X, (str, Path)) or is_source(X):
        return _of_source(open_source(X, y))
    if _is_list_of_texts(X):
        texts, labels = label_column(X)[0], label_column(y)[0]
        if len(texts) != len(labels):
            raise BayesError(f"there are {len(texts):,} texts and {len(labels):,} labels: one label a text")
        return Rows(lambda rows: taken(texts, rows), len(texts), plain_strings(labels), "class")
    _, columns, n_rows, named = columns_of(X)
    target = y if isinstance(y, str) else None
    source = open_source(X, y)  # refuses labels that do not fit the rows
    labels = plain_strings(columns.pop(target) if target is not None else label_column(y)[0])
    name = source.target or "class"
    if hasattr(X, "iloc"):
        frame = X if target is None else X.drop(columns=target)
        return Rows(lambda rows: frame.iloc[rows], n_rows, labels, name)
    if type(X).__module__.partition(".")[0] == "polars":
        kept = X if target is None else X.drop(target)
        return Rows(lambda rows: kept[rows.tolist()], n_rows, labels, name)
    if not named and all(isinstance(column, np.ndarray) for column in columns.values()):
        matrix = np.column_stack(list(columns.values()))
        return Rows(lambda rows: matrix[rows], n_rows, labels, name)
    return Rows(lambda rows: {n: taken(column, rows) for n, column in columns.items()}, n_rows, labels, name)


def _of_source(source: Source) -> Rows:
    """All rows of files, in memory."""
    import pyarrow as pa

    batches = list(source.batches())
    if not batches or any(batch.labels is None for batch in batches):
        raise BayesError("the rows have no classes: name the column that holds them as y")
    table = pa.concat_tables([pa.table(batch.columns) for batch in batches]).unify_dictionaries()
    labels = pa.concat_tables([pa.table({"y": batch.labels}) for batch in batches]).unify_dictionaries()["y"]
    columns, labels = {name: table.column(name) for name in table.column_names}, plain_strings(labels)
    target = source.target or "class"
    return Rows(lambda rows: {n: taken(c, rows) for n, c in columns.items()}, len(labels), labels, target)


def _is_list_of_texts(X: Any) -> bool:
    """Documents: a list of strings, or any column that is no table."""
    if isinstance(X, (list, tuple)):
        return bool(len(X)) and all(isinstance(text, (str, bytes, type(None))) for text in X)
    return (getattr(X, "ndim", None) == 1 or hasattr(X, "null_count")) and not hasattr(X, "columns")


def taken(column: Column, rows: Index) -> Column:
    """Some cells of a column."""
    return plain_strings(column).take(rows) if is_arrow(column) else column[rows]


def plain_strings(column: Column) -> Column:
    """Strings as Arrow can take them by number: polars' views of them cannot be."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if is_arrow(column) and pa.types.is_string_view(column.type) else column
