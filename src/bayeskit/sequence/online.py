"""A filter that takes one observation at a time: what is believed of the state now, given all so far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import canonical
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions.symbols import Symbols
from bayeskit.sequence.lattice import Lattice
from bayeskit.tolerance import UNDERFLOW

Floats = npt.NDArray[np.float64]


class OnlineFilter:
    """P(state | observations so far), some microseconds an observation.

    >>> from bayeskit import HiddenMarkovModel
    >>> model = HiddenMarkovModel(n_states=2, n_starts=1).fit([["a", "a", "b", "b", "a", "a", "b", "b"]])
    >>> now = model.online()
    >>> bool(np.allclose([now.update(symbol) for symbol in "aab"], model.filter([list("aab")])[0]))
    True
    >>> bool(np.isclose(now.log_likelihood, model.log_likelihood([list("aab")])[0]))
    True
    """

    def __init__(self, lattice: Lattice, schema: Schema, states: npt.NDArray[Any]) -> None:
        self.states = states
        self._lattice, self._names = lattice, schema.used
        stays = lattice.stays
        self._moves: Floats = logspace.exp(stays.log_moves(lattice.moves))
        self._log_moves = stays.log_moves(lattice.moves)
        self._first: Floats = logspace.exp(stays.log_start(lattice.start))
        self._owner = None if stays.plain else stays.owner
        only = lattice.emissions[0] if len(lattice.emissions) == 1 else None
        self._rows: dict[Any, tuple[Floats, Floats, float]] | None = {} if isinstance(only, Symbols) else None
        self.restart()

    def restart(self) -> None:
        """Begin another sequence."""
        self._belief: Floats | None = None
        self._log_belief: Floats | None = None
        self.n_steps = 0
        self._log_likelihood, self._likelihood_since = 0.0, 1.0  # logarithms are taken of many steps at once

    def update(self, observation: Any) -> Floats:
        """P(state) after one more observation: a cell where there is one column, else a mapping from column to cell.

        An observation that is impossible now is refused, and nothing changes.
        """
        likelihood, logs, top = self._likelihood(observation)
        expected: Floats = self._first if self._belief is None else self._belief @ self._moves
        total = float(expected @ likelihood)
        if total > UNDERFLOW:
            self._belief = expected * likelihood / total
            self._log_belief = None
            if self._likelihood_since * total <= UNDERFLOW:
                self._log_likelihood, self._likelihood_since = self.log_likelihood, 1.0
            self._likelihood_since *= total
            self._log_likelihood += top
        else:
            self._in_logarithms(logs)
        self.n_steps += 1
        return self.probabilities

    @property
    def log_likelihood(self) -> float:
        """ln P(observations so far)."""
        return self._log_likelihood + float(logspace.log(self._likelihood_since))

    @property
    def probabilities(self) -> Floats:
        """P(state) now; before any observation that of the first one."""
        if self._belief is None:
            return self._lattice.start
        return self._belief if self._owner is None else self._lattice.stays.summed(self._belief)

    def forecast(self, steps: int = 1) -> Floats:
        """P(state) so many steps from now."""
        if steps < 1:
            raise BayesError(f"steps={steps}: give a whole number from 1")
        stays = self._lattice.stays
        now = self._first if self._belief is None else self._belief @ self._moves
        for _ in range(steps - 1):
            now = now @ self._moves
        return stays.summed(now)

    def _in_logarithms(self, logs: Floats) -> None:
        """The same step where numbers fade."""
        if self._belief is None:
            before = self._lattice.stays.log_start(self._lattice.start)
        else:
            past = logspace.log(self._belief) if self._log_belief is None else self._log_belief
            before = logspace.log_sum_exp(past[:, None] + self._log_moves, axis=0)
        joint = before + logs
        total = float(logspace.log_sum_exp(joint))
        if total == -np.inf:
            raise BayesError(f"step {self.n_steps + 1} is impossible after those before it (probability zero)")
        self._log_belief = joint - total
        self._belief = logspace.exp(self._log_belief)
        self._log_likelihood += total

    def _likelihood(self, observation: Any) -> tuple[Floats, Floats, float]:
        """(e^(log − top), log, top) of each copy of a state."""
        if self._rows is not None and not isinstance(observation, Mapping):
            row = self._rows.get(observation)
            if row is None:
                row = self._scored({self._names[0]: canonical(observation)})
                if len(self._rows) < 100_000:
                    self._rows[observation] = row
            return row
        if isinstance(observation, Mapping):
            return self._scored({name: canonical(observation.get(name)) for name in self._names})
        if len(self._names) != 1:
            raise BayesError(f"an observation is a mapping from column to cell ({', '.join(self._names)})")
        return self._scored({self._names[0]: canonical(observation)})

    def _scored(self, record: Mapping[str, Any]) -> tuple[Floats, Floats, float]:
        emissions = self._lattice.emissions
        logs = emissions[0].one_row(record)
        for emission in emissions[1:]:
            logs = logs + emission.one_row(record)
        logs = logs if self._owner is None else logs[self._owner]
        top = float(logs.max())
        top = top if top > -np.inf else 0.0
        return logspace.exp(logs - top), logs, top
