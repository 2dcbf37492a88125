"""Convert tables in memory to columns, and any data to a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from bayeskit.arrow_arrays import Column, arrow_array, cut, is_arrow
from bayeskit.data.cells import as_floats, in_its_type, object_kind
from bayeskit.data.schema import NO_COLUMNS, Kind
from bayeskit.data.source import (
    Batch,
    Responsibilities,
    Source,
    as_weights,
    check_weight_column,
    is_source,
    weight_column,
)
from bayeskit.errors import BayesError, NotScalar, SchemaMismatch, format_setting, with_article
from bayeskit.lazy import pa
from bayeskit.nearest import did_you_mean
from bayeskit.settings import is_integer
from bayeskit.tolerance import SLACK
from bayeskit.typing import Array, Floats

BLOCK = 1 << 18  # rows: enough for two threads to share, few enough for the codes to stay in the cache
FEW = 256  # values of a list

NUMPY_KINDS: dict[str, Kind] = {
    **dict.fromkeys("iu", "integer"),
    **dict.fromkeys("mM", "date"),
    "b": "boolean",
    "f": "float",
}
CLUSTER_FRAMES = {"pyspark": "frame.toArrow()", "dask": "frame.compute()"}
"""Packages whose frames lie on other machines, and what brings one of them here."""


def open_source(data: Any, labels: Any = None, weights: Any = None, **reading: Any) -> Source:
    """Open a table in memory, a path (:class:`bayeskit.data.io.files.FileSource`) or a list of ``Path`` as a source.

    Parameters
    ----------
    data : table, path or source
        A frame, array, mapping, list of rows, file, folder, glob or database address; a ``pyarrow.dataset.Dataset``, a
        ``RecordBatchReader`` or a function that opens one, which are streamed. A reader with an array of labels or
        weights is read into memory.
    labels : array-like or str, optional
        Label of each row, or the name of a column of ``data``.
    weights : array-like or str, optional
        Weight of each row, or the name of a column of ``data``.
    **reading
        Settings for files: ``types``, ``watch``, ``delimiter``, ``encoding``, ``missing``, ``header``, ``columns``,
        ``decimal``, ``comment``.

    Returns
    -------
    Source
        Rows in batches, with the kinds of their columns.

    Raises
    ------
    BayesError
        If the data is not a table, or settings for files are given with other data.
    SchemaMismatch
        If a named target or weight column does not exist.

    Examples
    --------
    >>> source = open_source({"sky": ["sun", "rain"], "play": ["yes", "no"], "days": [3, 1]}, "play", "days")
    >>> dict(source.kinds), next(source.batches()).weights.tolist()
    ({'sky': 'string'}, [3.0, 1.0])
    """
    if isinstance(data, str) and data.startswith(("postgresql://", "postgres://")) and not reading:
        from bayeskit.data.io.sql import SqlSource

        data = SqlSource.at(data)
    if isinstance(data, (str, Path)) or _are_paths(data):
        from bayeskit.data.io.files import FileSource

        data = FileSource.of(data, **reading)
    elif reading:
        raise BayesError(f"{', '.join(reading)}: settings for files, and the data is none")
    elif (callable(data) or type(data).__module__.startswith("pyarrow")) and (
        _are_names(labels, weights) or not hasattr(data, "__arrow_c_stream__")  # arrays go with rows in memory
    ):
        from bayeskit.data.io.arrow import as_arrow_source

        data = as_arrow_source(data) or data
    if is_source(data):
        return _labeled(data, labels, weights)
    if isinstance(data, bytes):
        raise BayesError(f"{data[:40]!r} is bytes, not a table: pass a frame, an array, records or the path of a file")
    check_not_cluster_frame(data)
    if is_sparse(data):
        return SparseSource.of(data, labels, as_weights(weights, data.shape[0]))
    names, columns, n_rows, named = columns_of(data)
    target = None
    _refuse_misplaced_labels(labels, names, n_rows, named)
    if isinstance(weights, str):
        check_weight_column(weights, names, labels)
        weights = weight_column(columns.pop(weights), weights, 0)
    if isinstance(labels, str):
        if labels not in columns:
            hint = f" One label for one row is a list: [{labels!r}]." if n_rows == 1 else ""
            known = f"(columns: {', '.join(names)}){did_you_mean(labels, names) or '.'}"
            raise SchemaMismatch(f"there is no target column {labels!r} {known}{hint}")
        target, labels = labels, columns.pop(labels)
    return MemorySource(columns, n_rows, named, target, labels, as_weights(weights, n_rows))


def _refuse_misplaced_labels(labels: Any, names: Sequence[str], n_rows: int, named: bool) -> None:
    """Raise an error for a list, tuple or position where the name of the target column is meant."""
    meant = None
    if is_integer(labels):
        inside = named and -len(names) <= labels < len(names)
        meant = str(labels) if str(labels) in names else names[int(labels)] if inside else ""
    elif isinstance(labels, tuple) and str(labels) in names:
        meant = str(labels)
    elif isinstance(labels, (list, tuple)) and len(labels) == 1 != n_rows and str(labels[0]) in names and named:
        meant = str(labels[0])
    if meant is None:
        return
    if not meant:
        example = "numpy.delete(X, 2, axis=1), X[:, 2]"
        raise BayesError(
            f"y should be a 1d array with one label for each row, got {labels!r}",
            hint=f"pass the labels themselves: fit({example})",
        )
    raise BayesError(
        f"y={labels!r} is neither one label for each row nor the name of a column", hint=format_setting("pass y", meant)
    )


def _are_paths(data: Any) -> bool:
    """Return True for a list of ``Path``; a list of strings is a column or documents."""
    return isinstance(data, (list, tuple)) and bool(data) and all(isinstance(path, Path) for path in data)


def _are_names(*given: Any) -> bool:
    """Return whether labels and weights are names of columns, or absent."""
    return all(one is None or isinstance(one, str) for one in given)


def _labeled(source: Any, labels: Any, weights: Any) -> Source:
    """Return a source with its labels and weights set."""
    if weights is not None:
        if not isinstance(weights, str) or not hasattr(source, "with_weight"):
            raise BayesError(
                "weights as values go with data in memory;",
                hint='of files, frames and databases name the column that holds them: sample_weight="days"',
            )
        source = source.with_weight(weights)
    if labels is None or labels == source.target:
        return cast(Source, source)
    if not isinstance(labels, str) or not hasattr(source, "with_target"):
        raise BayesError(f"the labels of {getattr(source, 'name', 'a source')} are the name of one of its columns")
    return cast(Source, source.with_target(labels))


def is_cluster_frame(data: Any) -> bool:
    """Return True for a frame of a cluster, whose rows are on other machines."""
    return type(data).__module__.partition(".")[0] in CLUSTER_FRAMES and hasattr(data, "columns")


def check_not_cluster_frame(data: Any) -> None:
    """Raise an error for a cluster frame, or a column of one, where rows must be read on this machine."""
    package = type(data).__module__.partition(".")[0]
    if is_cluster_frame(data) or (package in CLUSTER_FRAMES and hasattr(data, "to_frame")):
        raise BayesError(
            f"the rows of this {package} frame lie on other machines, and this work reads rows on this one",
            hint=f"pass {CLUSTER_FRAMES[package]} where they fit in memory, or a model that needs counts alone, such "
            "as NaiveBayes",
        )


@dataclass
class MemorySource:
    """Columns in memory, split into blocks of rows."""

    columns: Mapping[str, Column]
    n_rows: int
    named: bool = True
    target: str | None = None
    labels: Any = None
    weights: Floats | None = None
    first_row: int = 0  # of a part: where it begins among the rows of the whole

    def __post_init__(self) -> None:
        if self.labels is None:
            return
        self.labels = _soft_labels(self.labels)
        if not isinstance(self.labels, Responsibilities):
            self.labels, name = label_column(self.labels)
            self.target = self.target or name
        if len(self.labels) != self.n_rows:
            raise BayesError(
                f"Found input variables with inconsistent numbers of samples: [{self.n_rows}, {len(self.labels)}]: "
                "one label a row"
            )

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return {name: kind_of(column) for name, column in self.columns.items()}

    def batches(self) -> Iterator[Batch]:
        return self._blocks(self.block)

    def one_batch(self) -> Iterator[Batch]:
        """Yield all rows in one batch, without a copy unless a sparse matrix is made dense."""
        return self._blocks(max(1, self.n_rows))

    def with_target(self, name: str) -> MemorySource:
        """Return a source that takes its labels from this column."""
        return self._without(name, labels=self._column(name), target=name)

    def with_weight(self, name: str) -> MemorySource:
        """Return a source that takes its row weights from this column."""
        return self._without(name, weights=weight_column(self._column(name), name, self.first_row))

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            known = f"(columns: {', '.join(self.columns)}){did_you_mean(name, self.columns)}"
            raise SchemaMismatch(f"there is no column {name!r} {known}")
        return self.columns[name]

    def _without(self, name: str, **changes: Any) -> MemorySource:
        return replace(self, columns={n: column for n, column in self.columns.items() if n != name}, **changes)

    def parts(self, n: int) -> list[MemorySource]:
        """Split the rows into contiguous parts."""
        borders = np.linspace(0, self.n_rows, max(1, min(n, self.n_rows)) + 1).astype(int).tolist()
        return [self._part(start, stop) for start, stop in pairwise(borders)]

    def _part(self, start: int, stop: int) -> MemorySource:
        batch = self._batch(start, stop)
        columns = {name: _compact(column) for name, column in batch.columns.items()}
        details = (self.named, self.target, batch.labels, batch.weights, batch.start)
        return MemorySource(columns, stop - start, *details)

    def _blocks(self, size: int) -> Iterator[Batch]:
        for start in range(0, self.n_rows, size):
            yield self._batch(start, min(start + size, self.n_rows))

    def _batch(self, start: int, stop: int) -> Batch:
        labels = self.labels
        if isinstance(labels, Responsibilities):
            labels = Responsibilities(labels.classes, labels.matrix[start:stop])
        elif labels is not None:
            labels = cut(labels, start, stop)
        weights = None if self.weights is None else self.weights[start:stop]
        return Batch(self._rows(start, stop), stop - start, self.first_row + start, labels, weights)

    def _rows(self, start: int, stop: int) -> Mapping[str, Column]:
        return {name: cut(column, start, stop) for name, column in self.columns.items()}

    @property
    def block(self) -> int:
        """Return the number of rows per block."""
        return BLOCK


def _compact(column: Column) -> Column:
    """Copy a slice without the buffers of the whole column, so that parts stay small when sent."""
    if not is_arrow(column):
        return column
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]
    return pa.concat_arrays(chunks) if chunks else pa.nulls(0, column.type)


@dataclass
class SparseSource(MemorySource):
    """A SciPy sparse matrix, made dense block by block; unstored cells are 0."""

    matrix: Any = None

    @classmethod
    def of(cls, matrix: Any, labels: Any, weights: Any) -> SparseSource:
        names = [f"x{i}" for i in range(matrix.shape[1])]
        return cls(dict.fromkeys(names), matrix.shape[0], False, None, labels, weights, matrix=matrix.tocsr())

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        return dict.fromkeys(self.columns, _numpy_kind(self.matrix.dtype))

    def _rows(self, start: int, stop: int) -> Mapping[str, Column]:
        return _from_array(self.matrix[start:stop].toarray())[1]

    @property
    def block(self) -> int:
        return max(1, min(BLOCK, (1 << 23) // max(1, len(self.columns))))


def is_sparse(data: Any) -> bool:
    """Return True for SciPy sparse matrices and arrays of any format."""
    return hasattr(data, "tocsr") and hasattr(data, "toarray")


def columns_of(data: Any) -> tuple[list[str], dict[str, Column], int, bool]:
    """Return (names, columns by name, number of rows, whether the names come from the data)."""
    if data is None:
        raise BayesError("there is no data: X is None")
    module, data = type(data).__module__.partition(".")[0], collected(data)
    if module == "pandas" and hasattr(data, "columns"):
        series = [
            _typed(_pandas_column(series)) for _, series in data.items()
        ]  # by position, in a third of iloc's time
        return _named([str(c) for c in data.columns], series, len(data))
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if module == "pandas" and _is_record(data):
        return _from_mapping(dict(data.items()))
    if hasattr(data, "__arrow_c_stream__") or module == "pyarrow":
        table = _arrow_table(data)
        return _named(table.column_names, table.columns, table.num_rows)
    if isinstance(data, Sequence) and len(data) and all(isinstance(record, Mapping) for record in data):
        names = list(dict.fromkeys(str(key) for record in data for key in record))
        lists = [[record.get(name) for record in data] for name in names]
        return _named(names, [from_list(values) for values in lists], len(data))
    if isinstance(data, (list, tuple)) and len(data) and all(isinstance(row, (list, tuple)) for row in data):
        return _from_rows(data)
    if isinstance(data, Iterator):
        raise BayesError(f"X is {with_article(type(data).__name__)}, which can be read only once", hint="pass list(X)")
    return _from_array(data)


def collected(data: Any) -> Any:
    """Collect a polars lazy frame; return anything else unchanged, and raise an error for a cluster frame."""
    check_not_cluster_frame(data)
    return data.collect() if type(data).__name__ == "LazyFrame" and hasattr(data, "collect") else data


def _is_record(series: Any) -> bool:
    """Return True if a pandas series is a row of a frame: its index holds unique names."""
    index = getattr(series, "index", None)
    return index is not None and len(index) > 0 and index.is_unique and all(isinstance(key, str) for key in index)


def _arrow_table(data: Any) -> Any:
    try:
        return pa.table(data)
    except (pa.ArrowInvalid, TypeError, ValueError):
        raise BayesError(
            f"{with_article(type(data).__name__)} is not a table. Expected 2D array, got 1D array instead: pass a "
            "frame, or name the column as in {'x': values}. Reshape your data with X.reshape(-1, 1) "
            "if it has a single column."
        ) from None


def _from_rows(rows: Sequence[Sequence[Any]]) -> tuple[list[str], dict[str, Column], int, bool]:
    """Read a list of rows; each column gets the type that its cells share."""
    if len({len(row) for row in rows}) > 1:
        raise BayesError("the rows differ in length: pass a frame, an array or records with the same columns")
    if not rows[0]:
        raise BayesError(NO_COLUMNS.replace("(n, 0)", str((len(rows), 0))))
    names = [f"x{i}" for i in range(len(rows[0]))]
    columns = {name: from_list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)}
    return names, columns, len(rows), False


def _named(names: list[str], columns: list[Column], n_rows: int) -> tuple[list[str], dict[str, Column], int, bool]:
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise SchemaMismatch(f"the data has more than one column named {', '.join(twice)}; rename or drop one")
    return names, dict(zip(names, columns, strict=True)), n_rows, True


def _from_mapping(data: Mapping[Any, Any]) -> tuple[list[str], dict[str, Column], int, bool]:
    """Read one record ``{"sky": "sun"}``, or columns ``{"sky": ["sun", "rain"]}``."""
    names = [str(name) for name in data]
    columns_given = [_is_column(value) for value in data.values()]
    if not any(columns_given):
        return _named(names, [from_list([value]) for value in data.values()], 1)
    if not all(columns_given):
        raise SchemaMismatch(
            f"column {names[columns_given.index(False)]!r} is a single value where others are columns: "
            "pass one value each for one record, or columns of equal length"
        )
    columns = [_column(value, name) for name, value in zip(names, data.values(), strict=True)]
    lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        raise SchemaMismatch(f"columns differ in length: {lengths}")
    return _named(names, columns, next(iter(lengths.values())))


def _is_column(value: Any) -> bool:
    if hasattr(value, "null_count"):  # of Arrow: NumPy would read it through pandas
        return True
    return hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping)) and np.shape(value[:0]) != ()


def _column(value: Any, name: str) -> Column:
    if isinstance(value, (list, tuple)):
        return from_list(value)
    if getattr(value, "ndim", 1) != 1:
        raise NotScalar(
            f"column {name!r} holds cells that are not single values (an array of shape {value.shape}): "
            "each cell must be a string or a number. Split it into columns of its own."
        )
    return _typed(label_column(value)[0])


def _typed(column: Column) -> Column:
    """Convert an object column to the type its cells share; return any other column unchanged."""
    return in_its_type(column) if isinstance(column, np.ndarray) and column.dtype == object else column


def _from_array(data: Any) -> tuple[list[str], dict[str, Column], int, bool]:
    try:
        array = np.asarray(data)
    except ValueError:
        raise BayesError("the rows differ in length: pass a frame, an array or records with the same columns") from None
    if array.dtype.names:
        flat = np.atleast_1d(data)
        names = list(array.dtype.names)
        return _named(names, [_column(unmasked(flat[name]), name) for name in names], len(flat))
    array = unmasked(data) if isinstance(data, np.ma.MaskedArray) else array
    if array.ndim == 1 and array.dtype.kind in "US" and isinstance(data, (list, tuple)):
        raise BayesError(
            f"X is a list of texts ({str(data[0])[:40]!r}, …), and a table is needed here;",
            hint="pass files as [Path(…), …], and documents to TextClassifier",
        )
    if array.ndim != 2:
        raise BayesError(
            f"Expected 2D array, got {array.ndim}D array instead (shape {array.shape}). Reshape your data "
            "with X.reshape(-1, 1) if it has a single column or X.reshape(1, -1) if it is a single row."
        )
    if array.dtype.kind == "c":
        raise BayesError("Complex data not supported: pass real and imaginary parts as two columns")
    if array.shape[1] == 0:
        raise BayesError(NO_COLUMNS.replace("(n, 0)", str(array.shape)))
    if array.dtype.kind in "US":
        array = array.astype(object)
    names = [f"x{i}" for i in range(array.shape[1])]
    columns = {name: array[:, i] for i, name in enumerate(names)}
    if array.dtype == object:
        columns = {name: in_its_type(column) for name, column in columns.items()}
    return names, columns, array.shape[0], False


def unmasked(array: Array) -> Array:
    """Replace masked cells by missing ones; return any other array unchanged."""
    if not isinstance(array, np.ma.MaskedArray):
        return array
    gaps, plain = np.ma.getmaskarray(array), array.data
    if gaps.any():
        dtype = plain.dtype if plain.dtype.kind in "mM" else np.float64 if plain.dtype.kind in "iuf" else object
        plain = plain.astype(dtype)
        plain[gaps] = None if dtype is object else np.array("NaT" if plain.dtype.kind in "mM" else np.nan, dtype)
    return plain


def _pandas_column(series: Any) -> Column:
    """Convert a pandas series: zero-copy for NumPy data, Arrow for strings, categories and nullable types."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if type(dtype).__name__ == "ArrowDtype":
        return pa.array(series, from_pandas=True)
    if type(dtype).__name__ == "SparseDtype":
        return series.sparse.to_dense().to_numpy()
    if dtype.name.startswith(("interval", "period")):
        series = series.astype("category")
    if series.dtype.name == "category" and series.cat.categories.dtype.name.startswith(("interval", "period")):
        return _pandas_column(series.cat.rename_categories(series.cat.categories.astype(str)))
    if dtype.name in ("boolean", "Float32", "Float64") or dtype.name.lower().startswith(("int", "uint")):
        if series.isna().any():
            if dtype.name[0] in "IU" and not series.dropna().between(-(2**53), 2**53).all():
                return pa.array(series, from_pandas=True)  # floats would make one of two neighbors
            if dtype.name == "boolean":
                return series.to_numpy(dtype=object, na_value=None)
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        return series.to_numpy(dtype=dtype.numpy_dtype)
    if dtype.name == "category" and series.array.codes.min(initial=0) >= 0:  # no missing cell to mask: view the codes
        cells = series.array
        return pa.DictionaryArray.from_arrays(cells.codes, cells.categories.values, ordered=cells.ordered, safe=False)
    if dtype.name in ("category", "string", "str"):
        return pa.array(series, from_pandas=True)
    if dtype.name.startswith("datetime"):  # of a time zone
        return pa.array(series.dt.tz_convert("UTC"), from_pandas=True)
    return np.asarray(series, dtype=object)


def from_list(values: Sequence[Any]) -> Column:
    """Convert a list to an Arrow array of the type its values share, else to objects."""
    try:
        few = len(values) <= FEW  # such a call is to be quick from the first on; of more, each is
        return arrow_array(values, nan_is_missing=True) if few else pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeError):
        column = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):  # records are few; filling from the list would read tuples as rows
            column[i] = value
        return column


def _soft_labels(labels: Any) -> Any:
    """Return a table of class probabilities as responsibilities, and other labels as they are.

    The classes are the names of a frame's columns, and 0, 1, … of an array's.
    """
    is_frame = hasattr(labels, "columns") and not isinstance(labels, Mapping)
    if is_frame:
        names, columns, _, _ = columns_of(labels)
        if len(names) < 2 or not all(kind_of(column) in ("integer", "float", "boolean") for column in columns.values()):
            return labels
        classes = tuple(labels.columns.tolist()) if hasattr(labels, "iloc") else tuple(names)
        matrix = np.column_stack([as_floats(column, f"y[{name!r}]", 0) for name, column in columns.items()])
    else:
        if isinstance(labels, (list, tuple)) and not (labels and isinstance(labels[0], (list, tuple, np.ndarray))):
            return labels
        try:
            matrix = np.asarray(labels) if isinstance(labels, (list, tuple, np.ndarray)) else np.zeros(0)
        except ValueError:
            return labels
        if matrix.ndim != 2 or matrix.shape[1] < 2 or matrix.dtype.kind not in "biuf":
            return labels
        classes, matrix = tuple(range(matrix.shape[1])), matrix.astype(np.float64)
    soft = Responsibilities(classes, matrix)
    off = np.flatnonzero(np.abs(matrix.sum(axis=1) - 1) > SLACK)
    if len(off):
        raise BayesError(
            f"y should be a 1d array, got an array of shape {matrix.shape} instead, and its row {off[0]} sums to "
            f"{matrix[off[0]].sum():.6g}: class probabilities sum to 1",
            hint="pass one label a row, or probabilities of the classes and sample_weight",
        )
    return soft


def label_column(labels: Any) -> tuple[Column, str | None]:
    """Return one-dimensional labels as a column, and its name if it has one."""
    if isinstance(labels, Iterator):
        raise BayesError(
            f"y is {with_article(type(labels).__name__)}, which can be read only once", hint="pass list(y)"
        )
    module = type(labels).__module__.partition(".")[0]
    if module == "pandas" and hasattr(labels, "iloc"):
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.iloc[:, 0]
        if labels.ndim == 1:
            name = getattr(labels, "name", None)
            return _pandas_column(labels.to_series() if hasattr(labels, "to_series") else labels), name and str(name)
    if hasattr(labels, "__arrow_c_stream__") and hasattr(labels, "columns") and module in ("polars", "pyarrow"):
        names, columns, _, _ = columns_of(labels)
        if len(names) == 1:
            return columns[names[0]], names[0]
        raise BayesError(f"y should be a 1d array, got a frame of {len(names)} columns instead: one label a row")
    if module == "polars":
        return labels.to_arrow(), labels.name or None
    if module == "pyarrow":
        return labels, None
    if isinstance(labels, np.ma.MaskedArray):
        labels = unmasked(labels)
    if isinstance(labels, (list, tuple)) and any(value is None or isinstance(value, str) for value in labels):
        return from_list(labels), None
    try:
        array = np.asarray(labels)
    except ValueError:
        raise NotScalar("y holds labels that are not single values: one string or number a row") from None
    if array.ndim == 2 and array.shape[1] == 1:
        import warnings

        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to "
            "(n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=6,
        )
        array = array[:, 0]
    if array.ndim != 1:
        raise BayesError(f"y should be a 1d array, got an array of shape {array.shape} instead: one label a row")
    return (array.astype(object) if array.dtype.kind in "US" else array), None


def kind_of(column: Column) -> Kind:
    """Return the kind of a column by its dtype; for objects, by the type its cells share."""
    if is_arrow(column):
        return arrow_kind(column.type)
    if column.dtype == object:
        return object_kind(column)
    return _numpy_kind(column.dtype)


def _numpy_kind(dtype: np.dtype[Any]) -> Kind:
    return NUMPY_KINDS.get(dtype.kind, "object")


def arrow_kind(type_: Any) -> Kind:
    """Return the kind of a column of this Arrow type."""
    if pa.types.is_dictionary(type_):
        return "string"  # pandas' and polars' categories, whatever they hold
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_):
        return "integer"
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "float"
    if pa.types.is_temporal(type_):
        return "date"
    if pa.types.is_null(type_):
        return "null"
    return "object" if pa.types.is_nested(type_) else "string"  # nested cells may stand in columns that are ignored
