"""A small Arrow table that prints readably."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.data.arrow_arrays import arrow_array
from bayeskit.data.sheet import ROWS, Grid

if TYPE_CHECKING:
    import pyarrow as pa


def _text(name: str) -> str:
    """A name as Arrow can hold it: half of a surrogate pair is shown as Python writes it."""
    return name.encode("utf-8", "backslashreplace").decode()


class Table:
    """Columns of equal length: prints as text and HTML, and is Arrow data to everyone who reads it.

    ``pyarrow.table(t)``, ``polars.from_arrow(t)`` and ``t.to_pandas()`` all take it as it is. The first ``keys``
    columns say what a line is about. What prints is safe for a terminal: a control character in a name or a cell is
    shown as an escape such as ``\\x1b``. Of a long table the first 50 rows are shown, and how many more there are.

    >>> print(Table({"sky": ["rain", "sun"], "P(sky | yes)": [0.25, 0.75]}))
    sky   P(sky | yes)
    rain          0.25
    sun           0.75
    """

    def __init__(self, columns: Mapping[str, Any], keys: int = 1) -> None:
        import pyarrow as pa

        self.keys = keys
        self.arrow: pa.Table = pa.table({_text(name): _column(values) for name, values in columns.items()})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.arrow.__arrow_c_stream__(requested_schema)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return list(self.arrow.column_names)

    def __getitem__(self, name: str) -> list[Any]:
        """One column as a list."""
        return list(self.arrow.column(name).to_pylist())

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def to_pandas(self) -> Any:
        """The same as a pandas frame."""
        return self.arrow.to_pandas()

    @property
    def grid(self) -> Grid:
        """What is shown of it: the first rows, and how many more there are."""
        first_rows = self.arrow.slice(0, ROWS)
        columns = {name: first_rows.column(name).to_pylist() for name in self.column_names}
        return Grid(columns, more=len(self) - len(first_rows))

    def __str__(self) -> str:
        return self.grid.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.grid.html


def _column(values: Any) -> Any:
    """A list whose values have no type in common, as texts; anything else as it is."""
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        return arrow_array(values)
    if not isinstance(values, list):
        return values
    try:
        return arrow_array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return arrow_array([None if value is None else str(value) for value in values])
