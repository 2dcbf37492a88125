"""One record at a time, without building a table: the same bits as a table of one row, for a tenth of the time.

Only plain records are scored here: a dict whose cells are strings, numbers, booleans or None; what it lacks is missing.
Anything else (another type, an infinite number, a name that is not known beside lacking ones, a row impossible under
every class) is left to the way that all tables go, which also says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import add, is_
from typing import Any

import numpy as np

from bayeskit.estimate.columns.column import Odd, Row
from bayeskit.typing import Floats

PLAIN = {str, int, float, bool, type(None)}


class OneRow:
    """Scores of one record: ln P(class), then the cells in the order in which tables are scored."""

    def __init__(self, log_prior: Floats, cells: Mapping[str, Callable[[Any], Row]]) -> None:
        self.log_prior: Row = tuple(log_prior.tolist())
        self.cells = list(cells.items())
        self.nothing: dict[Any, Any] = dict.fromkeys(cells)  # a record that says nothing

    @classmethod
    def of(cls, log_prior: Floats, cells: Mapping[str, Callable[[Any], Row] | None]) -> OneRow | None:
        """None where some column is scored in tables only."""
        scored = {name: cell for name, cell in cells.items() if cell is not None}
        return cls(log_prior, scored) if len(scored) == len(cells) else None

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
        except KeyError:  # what is absent is missing, but a name that is not known may be a slip
            partial = bool(record) and record.keys() <= self.nothing.keys()
            return self.scores({**self.nothing, **record}) if partial else None
        except (Odd, TypeError):
            return None
        if len(record) > len(self.cells) and not all(type(name) is str for name in record):
            return None
        return list(scores)


class _Ready:
    """What scores the records of one model as long as its settings stay as they are."""

    def __init__(self, model: Any) -> None:
        model._check_settings()
        self.names = list(model.get_params(deep=False))
        self.settings = self._settings(model)
        self.may_change = any(isinstance(setting, (Mapping, list)) for setting in self.settings)
        self.row: OneRow | None = model._one_row()

    def _settings(self, model: Any) -> list[Any]:
        return list(map(vars(model).get, self.names))

    def holds(self, model: Any) -> bool:
        """Whether all settings are still the same objects; those that can change inside are checked again."""
        if self.may_change:
            model._check_settings()
        return all(map(is_, self._settings(model), self.settings))


def record_scores(model: Any, record: dict[Any, Any]) -> Floats | None:
    """ln P(x, class) of a plain record (1, classes); None where a table must be built for it."""
    params = vars(model).get("params_")
    if params is None or not hasattr(type(model), "_one_row"):
        return None
    ready = vars(params).get("_ready")
    if ready is None or not ready.holds(model):
        ready = vars(params)["_ready"] = _Ready(model)
    scores = None if ready.row is None else ready.row.scores(record)
    return None if scores is None else np.array([scores])
