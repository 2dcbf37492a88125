"""Online filtering: P(state | observations so far), one observation at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.numbers import LARGEST
from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import canonical
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions.categorical import CategoricalEmission
from bayeskit.estimate.emissions.counts import MultinomialEmission, PoissonEmission
from bayeskit.estimate.emissions.gaussian import GaussianEmission
from bayeskit.models.base.estimator import whole_number
from bayeskit.sequence.forward_backward import Trellis
from bayeskit.tolerance import UNDERFLOW
from bayeskit.typing import Array, Floats

FAINT, LEAST_MOVE = 2.0**-600, 2.0**-300  # as in native/simd/hidden_markov_loops.hpp
LOG_FAINT = float(logspace.log(FAINT))
MOST_ROWS = 100_000  # maximum number of cached symbols


class OnlineFilter:
    """Filter that takes one observation at a time, in microseconds.

    >>> from bayeskit import HiddenMarkovModel
    >>> model = HiddenMarkovModel(n_states=2, n_starts=1).fit([["a", "a", "b", "b", "a", "a", "b", "b"]])
    >>> now = model.online()
    >>> bool(np.allclose([now.update(symbol) for symbol in "aab"], model.filter([list("aab")])[0]))
    True
    >>> bool(np.isclose(now.log_likelihood, model.log_likelihood([list("aab")])[0]))
    True
    """

    def __init__(self, trellis: Trellis, schema: Schema, states: Array) -> None:
        self.states = states
        self._lattice, self._names, self._measured = trellis, schema.used, frozenset(schema.measured())
        stays = trellis.stays
        self._moves: Floats = logspace.exp(stays.log_moves(trellis.moves))
        self._log_moves = stays.log_moves(trellis.moves)
        self._first: Floats = logspace.exp(stays.log_start(trellis.start))
        self._hard = bool((self._moves < LEAST_MOVE).any())  # otherwise faded states recover from others
        self._owner = None if stays.plain else stays.owner
        counted = [
            emission.names
            for emission in trellis.emissions
            if isinstance(emission, (PoissonEmission, MultinomialEmission))
        ]
        self._counts = frozenset(name for names in counted for name in names)
        only = trellis.emissions[0] if len(trellis.emissions) == 1 else None
        self._rows: dict[Any, tuple[Floats, Floats, float]] | None = (
            {} if isinstance(only, CategoricalEmission) else None
        )
        self._normals: kernels.NormalRow | None = None
        if isinstance(only, GaussianEmission) and len(only.used):
            tables = (np.ascontiguousarray(table[stays.owner]) for table in only.normal_form)
            self._normals, self._varying = kernels.NormalRow(*tables), [only.names[j] for j in only.used]
        self.restart()

    def restart(self) -> None:
        """Start a new sequence."""
        self._belief: Floats | None = None
        self._log_belief: Floats | None = None
        self._faded = False
        self.n_steps = 0
        self._log_likelihood, self._likelihood_since = 0.0, 1.0  # the product of several steps is logged at once

    def update(self, observation: Any) -> Floats:
        """P(state) after one more observation: a cell where there is one column, else a mapping from column to cell.

        An observation that is impossible now is refused, and nothing changes.
        """
        likelihood, logs, top = self._likelihood(observation)
        if not self._faded:
            expected: Floats = self._first if self._belief is None else self._belief.dot(self._moves)  # faster than @
            total = float(expected.dot(likelihood))
            belief = expected * likelihood
            if total > UNDERFLOW and not (self._hard and self._fades(belief, expected, logs)):
                belief /= total
                self._hold(belief, None)
                if self._likelihood_since * total <= UNDERFLOW:
                    self._log_likelihood, self._likelihood_since = self.log_likelihood, 1.0
                self._likelihood_since *= total
                self._log_likelihood += top
                return belief if self._owner is None else self.probabilities
        self._in_logarithms(logs)
        return self.probabilities

    def _hold(self, belief: Floats, log_belief: Floats | None) -> None:
        belief.setflags(write=False)  # it is returned to the caller and reused in the next step
        self._belief, self._log_belief = belief, log_belief
        self.n_steps += 1

    def _fades(self, belief: Floats, expected: Floats, logs: Floats) -> bool:
        """Return True if a possible state underflows to zero."""
        return bool(((belief < FAINT) & (expected > 0) & (logs > -np.inf)).any())

    @property
    def log_likelihood(self) -> float:
        """ln P(observations so far)."""
        return self._log_likelihood + float(logspace.log(self._likelihood_since))

    @property
    def probabilities(self) -> Floats:
        """Current state probabilities, shape (n_states,); the start probabilities before any observation."""
        if self._belief is None:
            return self._lattice.start.copy()
        return self._belief if self._owner is None else self._lattice.stays.summed(self._belief)

    def forecast(self, steps: int = 1) -> Floats:
        """Return the state probabilities after ``steps`` more steps, shape (n_states,)."""
        whole_number("steps", steps, 1)
        stays = self._lattice.stays
        now = self._first if self._belief is None else self._belief @ self._moves
        for _ in range(steps - 1):
            now = now @ self._moves
        return stays.summed(now)

    def _in_logarithms(self, logs: Floats) -> None:
        """Update in log space, where probabilities underflow."""
        if self._belief is None:
            before = self._lattice.stays.log_start(self._lattice.start)
        else:
            past = logspace.log(self._belief) if self._log_belief is None else self._log_belief
            before = logspace.log_sum_exp(past[:, None] + self._log_moves, axis=0)
        joint = before + logs
        total = float(logspace.log_sum_exp(joint))
        if total == -np.inf:
            raise BayesError(f"step {self.n_steps + 1} is impossible after those before it (probability zero)")
        log_belief = joint - total
        self._faded = self._hard and bool(((log_belief < LOG_FAINT) & (log_belief > -np.inf)).any())
        self._hold(logspace.exp(log_belief), log_belief)
        self._log_likelihood += total

    def _likelihood(self, observation: Any) -> tuple[Floats, Floats, float]:
        """Return (exp(log − top), log, top) of the emission of each copy of a state."""
        if self._normals is not None:
            return self._of_numbers(observation, self._normals)
        if self._rows is None or isinstance(observation, Mapping):
            return self._scored(self._record(observation))
        try:
            row = self._rows.get(observation)
        except TypeError:  # unhashable values are not cells
            row = None
        if row is None:
            row = self._scored(self._record(observation))
            if len(self._rows) < MOST_ROWS:
                self._rows[observation] = row
        return row

    def _of_numbers(self, observation: Any, normals: kernels.NormalRow) -> tuple[Floats, Floats, float]:
        """Score an observation of numbers; anything but floats is read as a record."""
        if isinstance(observation, dict):
            cells: list[Any] = [observation.get(name) for name in self._varying]
        elif len(self._names) == 1:
            cells = [observation]
        else:
            raise self._no_record()
        for cell in cells:
            if type(cell) is not float or not -LARGEST < cell < LARGEST:
                record = self._record(observation)
                cells = [record[name] for name in self._varying]
                break
        (likelihood, logs), top = normals.score(cells)
        return likelihood, logs, top

    def _record(self, observation: Any) -> dict[str, Any]:
        """Read an observation as cells by column; missing numbers are NaN."""
        if not isinstance(observation, Mapping):
            if len(self._names) != 1:
                raise self._no_record()
            observation = {self._names[0]: observation}
        elif not any(name in observation for name in self._names):
            raise self._no_record()
        cells = {name: canonical(observation.get(name)) for name in self._names}
        return cells | {name: self._number(name, cells[name]) for name in self._measured if name in cells}

    def _number(self, name: str, cell: Any) -> float:
        if cell is None:
            return float("nan")
        if isinstance(cell, str):
            what = "no number"
        elif abs(cell) > LARGEST:
            what = f"too large (beyond {LARGEST:g})"
        elif name in self._counts and (cell < 0 or cell != int(cell)):
            what = "no count (a whole number from 0)"
        else:
            return float(cell)
        raise BayesError(f"column {name!r} is {cell!r} at step {self.n_steps + 1}, {what}")

    def _no_record(self) -> BayesError:
        return BayesError(f"an observation is a mapping from column to cell ({', '.join(self._names)})")

    def _scored(self, record: Mapping[str, Any]) -> tuple[Floats, Floats, float]:
        emissions = self._lattice.emissions
        logs = emissions[0].score_record(record)
        for emission in emissions[1:]:
            logs = logs + emission.score_record(record)
        logs = logs if self._owner is None else logs[self._owner]
        top = float(logs.max())
        top = top if top > -np.inf else 0.0
        return logspace.exp(logs - top), logs, top
