"""What the values of a column suggest: never a decision, so that any part of a table has the same schema."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayeskit.data.encode import factor_values
from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.source import Batch, cut, is_arrow

SAMPLE = 10_000  # rows looked at
FEW = 10  # distinct whole numbers that look like codes
LONG = 40  # mean characters that look like text
SPACES = 4  # and mean spaces


def advice(batch: Batch, schema: Schema) -> Iterator[str]:
    """A sentence for each undeclared column whose values look like another role.

    Looks at the first 10,000 rows at most, and says nothing on fewer than 20.
    """
    n = min(batch.n_rows, SAMPLE)
    for name in schema.used if n >= 20 else ():
        role, column = schema.columns[name], cut(batch.columns[name], 0, n)
        if isinstance(role, Numeric) and role.cuts is None and _is_integer(column):
            distinct = len(factor_values(column, name, 0).values) - 1
            if distinct <= FEW and n >= 5 * distinct:
                yield _sentence(name, f"holds only {distinct} distinct whole numbers", "categorical")
        elif isinstance(role, Categorical) and role.domain is None:
            values = [v for v in factor_values(column, name, 0).values if isinstance(v, str)]
            if values and np.mean([len(v) for v in values]) > LONG and np.mean([v.count(" ") for v in values]) > SPACES:
                yield _sentence(name, "holds long strings", "text")
            elif len(values) == n:
                yield _sentence(name, "has another value in every row, like an identifier", "ignore")
            elif values and np.mean([len(v) for v in values]) > LONG:
                yield _sentence(name, "holds long strings without spaces", "ignore")


def _sentence(name: str, what: str, role: str) -> str:
    return f'column {name!r} {what}; to take it so, pass roles={{{name!r}: "{role}"}}'


def _is_integer(column: object) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "iu"
    import pyarrow as pa

    return is_arrow(column) and bool(pa.types.is_integer(column.type))  # type: ignore[attr-defined]
