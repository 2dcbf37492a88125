"""One record at a time, without building a table: the same bits as a table of one row, for a tenth of the time.

Only plain records are scored here: a dict whose cells are strings, numbers, booleans or None. Anything else (another
type, an infinite number, a lacking column, a row impossible under every class) is left to the way that all tables go,
which also says what is wrong with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add, is_
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.encode import LARGEST
from bayeskit.data.vocabulary import MISSING, Vocabulary

Floats = npt.NDArray[np.float64]
Row = tuple[float, ...]
PLAIN = {str, int, float, bool, type(None)}
KEPT = 4096  # values of a column whose scores are kept as tuples
WIDEST = 2**63  # integers below it in size are read as 64 bits


class Odd(Exception):
    """A record that is not for here."""


class CodedCell:
    """The scores of a cell of a categorical column."""

    def __init__(self, vocabulary: Vocabulary, log_table: Floats, used: bool, refuse_unseen: bool) -> None:
        self.vocabulary = vocabulary
        self.log_table = log_table if used else np.zeros((len(log_table), 0))
        self.kept: dict[Any, Row] = {}
        self.missing = self._row(MISSING)
        self.words = {isinstance(value, str) for value in vocabulary.values} == {True} and not refuse_unseen

    def _row(self, code: int) -> Row:
        return tuple(self.log_table[code].tolist())

    def __call__(self, cell: Any) -> Row:
        found = self.kept.get(cell)
        if found is not None:
            return found
        if cell is None or cell != cell:
            return self.missing
        code = self.vocabulary.codes((cell,))[0]
        if code == self.vocabulary.unseen and not (self.words and type(cell) is str and cell.isascii()):
            raise Odd
        row = self._row(code)
        if len(self.kept) < KEPT:
            self.kept[cell] = row
        return row


class BinnedCell:
    """The scores of a number that is read as its interval."""

    def __init__(self, cuts: Sequence[float], log_table: Floats, used: bool) -> None:
        self.cuts = cuts
        self.rows: list[Row] = [tuple(row) for row in log_table.tolist()] if used else [()] * len(log_table)

    def __call__(self, cell: Any) -> Row:
        x = number(cell)
        return self.rows[0 if x is None else 1 + bisect_left(self.cuts, x)]


class GaussianCell:
    """The scores of a number under a normal distribution in each class."""

    def __init__(self, mean: Iterable[float], half: Iterable[float], constant: Iterable[float]) -> None:
        self.parts = list(zip(mean, half, constant, strict=True))
        self.missing: Row = (0.0,) * len(self.parts)

    def __call__(self, cell: Any) -> Row:
        x = number(cell)
        if x is None:
            return self.missing
        return tuple([k - h * ((x - m) * (x - m)) for m, h, k in self.parts])


def number(cell: Any) -> float | None:
    """A cell as a float, None where it is missing."""
    kind = type(cell)
    if kind is float:
        if -LARGEST <= cell <= LARGEST:
            return float(cell)
        if cell != cell:
            return None
        raise Odd
    if cell is None:
        return None
    if kind is str or not -WIDEST < cell < WIDEST:
        raise Odd
    return float(cell)


class OneRow:
    """Scores of one record: ln P(class), then the cells in the order in which tables are scored."""

    def __init__(self, log_prior: Floats, cells: Mapping[str, Callable[[Any], Row]]) -> None:
        self.log_prior: Row = tuple(log_prior.tolist())
        self.cells = list(cells.items())

    def scores(self, record: dict[Any, Any]) -> list[float] | None:
        """ln P(x, class), or None for a record that is not for here."""
        if not PLAIN.issuperset(map(type, record.values())):
            return None
        scores: Iterable[float] = self.log_prior
        try:
            for name, score in self.cells:
                row = score(record[name])
                if row:
                    scores = tuple(map(add, scores, row))
        except (Odd, KeyError, TypeError):
            return None
        if len(record) > len(self.cells) and not all(type(name) is str for name in record):
            return None
        return list(scores)


class _Ready:
    """What scores the records of one model as long as its settings stay as they are."""

    def __init__(self, model: Any) -> None:
        model.check_settings()
        self.names = list(model.get_params(deep=False))
        self.settings = self._settings(model)
        self.may_change = any(isinstance(setting, (Mapping, list)) for setting in self.settings)
        self.row: OneRow | None = model.one_row()

    def _settings(self, model: Any) -> list[Any]:
        return list(map(vars(model).get, self.names))

    def holds(self, model: Any) -> bool:
        """Whether all settings are still the same objects; those that can change inside are checked again."""
        if self.may_change:
            model.check_settings()
        return all(map(is_, self._settings(model), self.settings))


def record_scores(model: Any, record: dict[Any, Any]) -> Floats | None:
    """ln P(x, class) of a plain record (1, classes); None where a table must be built for it."""
    params = vars(model).get("params_")
    if params is None or not hasattr(model, "one_row"):
        return None
    ready = vars(params).get("_ready")
    if ready is None or not ready.holds(model):
        ready = vars(params)["_ready"] = _Ready(model)
    scores = None if ready.row is None else ready.row.scores(record)
    return None if scores is None else np.array([scores])
