"""Store a text column as one UTF-8 buffer with offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrow_arrays import as_one_array
from bayeskit.data.text.word_list import pack_words, unpack_words
from bayeskit.errors import BayesError, NotScalar, with_article
from bayeskit.lazy import pa, pc
from bayeskit.typing import Array, Bools, Bytes, Ints


@dataclass(frozen=True, eq=False)
class Documents:
    """Document i is ``data[offsets[i]:offsets[i + 1]]``; a missing one is empty and marked.

    ``replaced`` counts lone surrogates that are read as U+FFFD; ill-formed bytes are found when documents are cut.

    >>> texts = Documents.of(["A game", None])
    >>> len(texts), texts.offsets.tolist(), texts.missing.tolist(), texts.tolist()
    (2, [0, 6, 6], [False, True], ['A game', ''])
    """

    data: Bytes
    offsets: Ints
    missing: Bools
    replaced: int = 0

    @classmethod
    def of(cls, column: Any, name: str = "text", start: int = 0) -> Documents:
        """Read documents from a list, array, series or Arrow column of strings or bytes."""
        if isinstance(column, Documents):
            return column
        if isinstance(column, (str, bytes)):
            raise BayesError(
                "Iterable over raw text documents expected, string object received: one document is a list, [text]"
            )
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            return cls._of_arrow(column, name, start)
        column = _listed(column)
        try:
            return cls._of_arrow(pa.array(column, from_pandas=True), name, start)
        except (pa.ArrowException, OverflowError, UnicodeError):
            return cls._of_cells(column, name, start)

    @classmethod
    def _of_arrow(cls, array: Any, name: str, start: int) -> Documents:
        types = pa.types
        kind = array.type.value_type if types.is_dictionary(array.type) else array.type
        is_text = types.is_string(kind) or types.is_large_string(kind) or str(kind) in ("string_view", "null")
        if not is_text and not types.is_binary(kind) and not types.is_large_binary(kind):
            row = next((i for i, cell in enumerate(array) if cell.is_valid), 0)
            raise _no_text(name, start + row, array[row].as_py() if len(array) else kind)
        # The bytes are not copied, and the wide offsets of several chunks do not overflow.
        array = as_one_array(array.cast(pa.large_string() if is_text else pa.large_binary()))
        missing = np.zeros(len(array), dtype=bool)
        if array.null_count:
            missing = array.is_null().to_numpy(zero_copy_only=False)
            array = pc.fill_null(array, "" if is_text else b"")
        if not len(array):
            return cls(np.zeros(0, np.uint8), np.zeros(1, np.int64), missing)
        _, offsets, data = array.buffers()
        at = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
        cells = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
        return cls(cells[at[0] : at[-1]], at - at[0], missing)

    @classmethod
    def _of_cells(cls, cells: Any, name: str, start: int) -> Documents:
        """Read cells of mixed types: strings with lone surrogates, strings among bytes."""
        parts, replaced = [], 0
        missing = np.zeros(len(cells), dtype=bool)
        for row, cell in enumerate(cells):
            if isinstance(cell, str):
                part = cell.encode("utf-8", "surrogatepass")
                # The first byte of half a surrogate pair.
                if b"\xed" in part:
                    mended = cell.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
                    replaced += mended.count("�") - cell.count("�")
                    part = mended.encode()
            elif isinstance(cell, bytes):
                part = cell
            elif cell is None or cell != cell or type(cell).__name__ in ("NAType", "NaTType"):
                missing[row], part = True, b""
            else:
                raise _no_text(name, start + row, cell)
            parts.append(part)
        return cls(*pack_words(parts), missing, replaced)

    @classmethod
    def concatenate(cls, parts: list[Documents]) -> Documents:
        """Concatenate documents."""
        if len(parts) == 1:
            return parts[0]
        shifts = np.cumsum([0, *(len(part.data) for part in parts)])
        offsets = [part.offsets[:-1] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(
            np.concatenate([part.data for part in parts]),
            np.concatenate([*offsets, shifts[-1:]]),
            np.concatenate([part.missing for part in parts]),
            sum(part.replaced for part in parts),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def tolist(self) -> list[str]:
        """Return the documents as strings; ill-formed bytes become U+FFFD."""
        return [raw.decode("utf-8", "replace") for raw in unpack_words(self.data, self.offsets)]

    def as_they_are(self) -> Documents:
        """Return the documents with missing ones as empty strings."""
        return Documents(self.data, self.offsets, np.zeros(len(self), dtype=bool), self.replaced)

    def part(self, rows: slice) -> Documents:
        """Return a contiguous range of documents without copying their text."""
        at = self.offsets[rows.start : rows.stop + 1]
        return Documents(self.data[at[0] : at[-1]], at - at[0], self.missing[rows])

    def parts(self, n_bytes: int) -> Iterator[slice]:
        """Yield slices of documents with at most so many bytes of text, or of one document.

        >>> list(Documents.of(["sun", "sea", "a storm", "fog"]).parts(7))
        [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
        """
        start = 0
        while start < len(self):
            stop = int(np.searchsorted(self.offsets, self.offsets[start] + n_bytes, side="right")) - 1
            yield slice(start, stop := min(max(stop, start + 1), len(self)))
            start = stop

    def take(self, rows: Array) -> Documents:
        """Return the documents at these indices."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        parts = [self.data[self.offsets[i] : self.offsets[i + 1]] for i in rows]
        offsets = np.concatenate([[0], np.cumsum((self.offsets[1:] - self.offsets[:-1])[rows])]).astype(np.int64)
        data = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
        return Documents(data, offsets, self.missing[rows])


def _listed(column: Any) -> Any:
    """Convert one-dimensional data to a list, a NumPy array or a series."""
    module = type(column).__module__.partition(".")[0]
    if module == "polars":
        return column.to_arrow()
    if getattr(column, "ndim", 1) != 1:
        raise BayesError(f"documents are one column, got an array of shape {column.shape}: one string a row")
    if isinstance(column, np.ndarray):
        return column.astype(object) if column.dtype.kind in "US" else column
    if isinstance(column, (list, tuple)) or module in ("pandas", "pyarrow"):
        return column
    try:
        return list(column)
    except TypeError:
        raise BayesError(
            f"documents are strings in a list, series or column, not {with_article(type(column).__name__)}"
        ) from None


def _no_text(name: str, row: int, cell: object) -> NotScalar:
    return NotScalar(
        f"column {name!r} has {str(cell)[:40]!r} in row {row}, {with_article(type(cell).__name__)} where text is "
        "expected: its argument must be a string. Turn the cells into strings, or choose another role."
    )
