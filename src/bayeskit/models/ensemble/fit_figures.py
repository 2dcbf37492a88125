"""What a fit says of itself: scores of rows left out and importance of columns, each measured when first asked for.

Whoever only predicts does not pay for them. They are measured on the rows of the fit, which are held until then; a
model that moves on, is saved or is pickled measures them first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from bayeskit.tables.table import Table

Figure = Table | Callable[[], Table]


class FitFigures:
    """Two tables, or what will measure them.

    >>> figures = FitFigures(lambda: Table({"model": ["majority"]}), Table({"column": ["sky"]}))
    >>> figures.left_out["model"], figures.left_out is figures.left_out
    (['majority'], True)
    """

    def __init__(self, left_out: Figure, importance: Figure) -> None:
        self._left_out, self._importance = left_out, importance

    @property
    def left_out(self) -> Table:
        """Accuracy and log loss of rows left out."""
        if not isinstance(self._left_out, Table):
            self._left_out = self._left_out()
        return self._left_out

    @property
    def importance(self) -> Table:
        """Of each column."""
        if not isinstance(self._importance, Table):
            self._importance = self._importance()
        return self._importance

    def measured(self) -> Self:
        """The same, with nothing left to measure: the rows of the fit are no longer needed."""
        _ = self.left_out, self.importance
        return self

    def __getstate__(self) -> dict[str, Any]:
        return vars(self.measured())
