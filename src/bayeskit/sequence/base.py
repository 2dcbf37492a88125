"""Shared parts of the models of sequences: checks before use, merging, and the printed summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from bayeskit.data.sequences import Sequences
from bayeskit.errors import BayesError
from bayeskit.memory import Need, check_memory
from bayeskit.models.base.estimator import Estimator
from bayeskit.models.base.rules import check_integer
from bayeskit.tables import ProbabilityTable, Sheet, Table
from bayeskit.typing import Floats

LISTED = 8  # maximum number of values listed in a message
UNSEEN = -2  # code of a symbol or label that is not known


class SequenceModel(Estimator):
    """Base of the models of sequences."""

    _fitted_attribute: ClassVar[str] = "tally_"
    _fit_takes: ClassVar[str] = "sequences"
    memory_limit: Any
    _read: ClassVar[Callable[..., Sequences]]
    _facts: ClassVar[Callable[..., tuple[Any, ...]]]

    def _check_draws(self, n: int, length: int, n_columns: int = 1) -> None:
        """Check the model and the number and length of sequences to draw."""
        self._check_is_fitted()
        self._check_settings()
        check_integer("n", n, 0)
        check_integer("length", length, 0)
        need = 64.0 * n * length * n_columns  # bytes of a cell in a list and of its temporaries
        check_memory(Need(f"{n:,} sequences of {length:,} steps", need, "Draw fewer at a time."), self.memory_limit)

    def _sequences(self, X: Any, lengths: Any = None) -> Sequences:
        """Check the model and read sequences."""
        self._check_is_fitted()
        self._check_settings()
        return self._read(X, lengths=lengths)

    def _overview(self) -> Sheet:
        """Return the printed summary: a heading, changed settings and a table."""
        if not self.__sklearn_is_fitted__():
            return Sheet(type(self).__name__)
        head, *shown = self._facts()  # of the subclass
        settings = [f"settings: {', '.join(changed)}"] if (changed := self._changed_settings()) else []
        return Sheet(f"{type(self).__name__} of {head}", (*settings, *(line for part in shown for line in ("", part))))


def shares_table(key: str, contexts: list[str], variable: str, values: Sequence[Any], shares: Floats) -> Table:
    """Return the table of P(variable | context), one row per context; ``key`` heads the contexts."""
    columns = {key: contexts, **{str(value): shares[:, j].tolist() for j, value in enumerate(values)}}
    given = {"after": "context"}.get(key, "state")
    return ProbabilityTable(columns, variable=variable, values=values, given=given, contexts=contexts, shares=shares)


def step_name(sequences: Sequences, at: int) -> str:
    """Return the step and the sequence of a row for a message."""
    i, step = sequences.place(at)
    return f"step {step} of {sequences.name(i - 1)}"


def unknown_step(sequences: Sequences, column: Any, at: int, why: str, known: Sequence[Any]) -> str:
    """Describe a cell that is none of the known values, for a message."""
    cell = column[at].as_py() if hasattr(column[at], "as_py") else column[at]
    listed = ", ".join(map(str, known[:LISTED])) + (", …" if len(known) > LISTED else "")
    return f"{step_name(sequences, at)} is {cell!r}, {why} ({listed})"


def impossible_error(name: str, step: int) -> BayesError:
    """Build the error for a sequence that no path of states can produce."""
    way = "Smooth the estimates, or allow more transitions"
    return BayesError(f"{name} is impossible from step {step} on: no path of states has a probability above 0. {way}")
