"""Small Arrow tables that print readably, and tables of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayeskit.arrow_arrays import arrow_array
from bayeskit.drawable import Drawable, draw
from bayeskit.tables.sheet import ROWS, Grid
from bayeskit.typing import Array, Floats

if TYPE_CHECKING:
    import pyarrow as pa


def _text(name: str) -> str:
    """Return a name that Arrow can store; lone surrogates are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


class Table:
    """A table with columns of equal length that prints as text and HTML and exports Arrow data.

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
        """Return the column names, in order."""
        return list(self.arrow.column_names)

    def __getitem__(self, name: str) -> list[Any]:
        """Return one column as a list."""
        return list(self.arrow.column(name).to_pylist())

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def to_pandas(self) -> Any:
        """Return a pandas frame."""
        return self.arrow.to_pandas()

    @property
    def grid(self) -> Grid:
        """Return the visible part: the first rows, and how many more there are."""
        first_rows = self.arrow.slice(0, ROWS)
        columns = {name: first_rows.column(name).to_pylist() for name in self.column_names}
        return Grid(columns, more=len(self) - len(first_rows))

    def __str__(self) -> str:
        return self.grid.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.grid.html


def _column(values: Any) -> Any:
    """Convert a list of mixed types to texts; return anything else unchanged."""
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        return arrow_array(values)
    if not isinstance(values, list):
        return values
    try:
        return arrow_array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return arrow_array([None if value is None else str(value) for value in values])


class ProbabilityTable(Table, Drawable):
    """A table of P(``variable`` = value | context).

    Beside what is printed it knows its ``values``, its ``contexts`` in words, and ``shares`` (contexts, values), NaN
    where nothing is known of a context; ``given``: what the contexts are values of, "" where there is but one.

    >>> p = np.array([[0.25, 0.75], [0.5, 0.5]])
    >>> table = ProbabilityTable({"sky": ["rain", "sun"], "P(sky | no)": [0.25, 0.75], "P(sky | yes)": [0.5, 0.5]},
    ...                          variable="sky", values=["rain", "sun"], given="play", contexts=["no", "yes"], shares=p)
    >>> type(table.chart("heat")).__name__
    'LayerChart'
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        keys: int = 1,
        *,
        variable: str,
        values: Sequence[Any],
        given: str,
        contexts: Sequence[Any],
        shares: Floats,
    ) -> None:
        super().__init__(columns, keys)
        self.variable, self.values = variable, tuple(values)
        self.given, self.contexts = given, tuple(contexts)
        self.shares = np.asarray(shares, dtype=np.float64)

    def chart(self, kind: Literal["bars", "heat"] | None = None) -> Any:
        """Draw grouped bars or a heat map; without a ``kind``, whichever fits."""
        return draw(self, kind=kind)


def table_by_class(
    column: str,
    values: Sequence[Any],
    counts: Array,
    shares: Floats,
    target: str,
    classes: Sequence[Any],
) -> ProbabilityTable:
    """Return P(value | class) of a column with its counts, both (n_classes, n_values)."""
    columns: dict[str, Any] = {column: list(values)}
    columns |= {f"count | {c}": counts[i].tolist() for i, c in enumerate(classes)}
    columns |= {f"P({column} | {c})": shares[i].tolist() for i, c in enumerate(classes)}
    return ProbabilityTable(
        columns, variable=column, values=list(values), given=target, contexts=list(classes), shares=shares
    )
