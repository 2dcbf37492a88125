"""ProbabilityTable: P(value | context) as a table that can be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from bayeskit.data.table import Table
from bayeskit.drawable import Drawable, draw
from bayeskit.typing import Array, Floats


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
        """Bars of each context side by side, or a map from light to dark; without a ``kind``, what has room."""
        return draw(self, kind=kind)


def table_by_class(
    column: str,
    values: Sequence[Any],
    counts: Array,
    shares: Floats,
    target: str,
    classes: Sequence[Any],
) -> ProbabilityTable:
    """P(value | class) of a column with the counts behind it, both (classes, values)."""
    columns: dict[str, Any] = {column: list(values)}
    columns |= {f"count | {c}": counts[i].tolist() for i, c in enumerate(classes)}
    columns |= {f"P({column} | {c})": shares[i].tolist() for i, c in enumerate(classes)}
    return ProbabilityTable(
        columns, variable=column, values=list(values), given=target, contexts=list(classes), shares=shares
    )
