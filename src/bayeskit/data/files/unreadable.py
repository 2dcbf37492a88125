"""Cells that cannot be read as what their column holds: on wish they are missing, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Unreadable:
    """How many cells of each column could not be read, and the first of them.

    >>> import pyarrow as pa
    >>> cells = Unreadable()
    >>> cells.texts("x", pa.array(["1.5", "?", None, " 2", "?"]), pa.float64()).to_pylist()
    [1.5, None, None, 2.0, None]
    >>> cells.counts, cells.first
    ({'x': 2}, {'x': '?'})
    """

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Of all columns."""
        return sum(self.counts.values())

    def add(self, name: str, count: int, first: object) -> None:
        """Some more cells."""
        self.counts[name] = self.counts.get(name, 0) + count
        self.first.setdefault(name, str(first))

    def texts(self, name: str, column: Any, type_: pa.DataType, decimal: str = ".") -> Any:
        """A column of texts as what they mean; those that mean nothing of the kind are missing."""
        import pyarrow.compute as pc

        coded = column.dictionary_encode()  # each text is looked at once
        texts = pc.utf8_trim_whitespace(coded.dictionary)
        if decimal != ".":
            texts = pc.replace_substring(texts, decimal, ".", max_replacements=1)
        values = _cast(texts, type_)
        if values.null_count:
            indices = coded.indices.to_numpy(zero_copy_only=False)
            bad = np.append(values.is_null().to_numpy(zero_copy_only=False), False)
            at = bad[np.nan_to_num(indices, nan=len(values)).astype(np.int64)]
            self.add(name, int(at.sum()), coded.dictionary[int(indices[at.argmax()])].as_py())
        return values.take(coded.indices)

    def cells(self, name: str, cells: Sequence[Any], type_: pa.DataType | None) -> Any:
        """Cells of JSON as an array of a type; those that are of another are missing."""
        import pyarrow as pa

        try:
            return pa.array(cells, type_)
        except (pa.ArrowException, TypeError, OverflowError):
            pass
        readable = [cell if _is_readable(cell, type_) else None for cell in cells]
        bad = [cell for cell, read in zip(cells, readable, strict=True) if read is None and cell is not None]
        self.add(name, len(bad), bad[0])
        return pa.array(readable, type_)


def _cast(texts: Any, type_: pa.DataType) -> Any:
    """Texts in a type, null where one cannot be; halves are tried until what fails is alone."""
    import pyarrow as pa

    try:
        return texts.cast(type_)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, type_)
    half = len(texts) // 2
    return pa.concat_arrays([_cast(texts[:half], type_), _cast(texts[half:], type_)])


def _is_readable(cell: Any, type_: pa.DataType | None) -> bool:
    import pyarrow as pa

    try:
        pa.scalar(cell, type_ or pa.string())
    except (pa.ArrowException, TypeError, OverflowError):
        return False
    return True
