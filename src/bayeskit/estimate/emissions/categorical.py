"""Categorical emission: P(symbol | state) = (n + a) / (N + a·m), the posterior mode under a Dirichlet prior.

A state without rows has a uniform distribution. Missing cells and symbols never seen are ignored, unless unseen symbols
are smoothed: then m counts one more symbol, with a count of 0.

Formula: P(symbol ∣ state), from shares of rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Categorical
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import UnknownValue, format_setting
from bayeskit.estimate.emissions.emission import Emission, Statistics
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.estimate.sampling import cells_of, draw_slots
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats, Ints


@dataclass(frozen=True, eq=False)
class CategoricalEmission(Emission):
    """Symbols of one column; ``probabilities`` has shape (n_states, n_symbols)."""

    kind = "symbols"
    names: tuple[str, ...]
    values: tuple[Value, ...]
    smoothing: float
    unseen: str = "ignore"
    probabilities: Floats = None  # type: ignore[assignment]  # set by estimate()

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.names[0]

    def requests(self) -> Sequence[Request]:
        return [Request("families", self.names)]

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        return ((n_states, len(self.values)),)

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        return (tally.families[self.name].present.astype(np.float64),)

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        size = len(self.values) + 2
        counted = kernels.count_responsibilities([block.codes[self.name]], [size], shares, n_threads)[0]
        return (counted[:, 1:-1],)

    def estimate(self, sums: Statistics) -> Self:
        (counts,) = sums
        grown = counts + self.smoothing
        totals = grown.sum(axis=1, keepdims=True) + self.smoothing * (self.unseen == "smooth")
        even = 1.0 / max(counts.shape[1], 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return replace(self, probabilities=np.where(totals > 0, grown / totals, even))

    def log_prior(self) -> float:
        if not self.smoothing:
            return 0.0
        rest = np.maximum(1 - self.probabilities.sum(axis=1, keepdims=True), 0.0)
        parts = np.hstack([self.probabilities, rest]) if self.unseen == "smooth" else self.probabilities
        return float(weighted_log_ratio(np.full(parts.shape, self.smoothing), parts, 1.0).sum())

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        return float(weighted_log_ratio(sums[0], self.probabilities, 1.0).sum())

    @cached_property
    def log_table(self) -> Floats:
        """ln P, shape (n_symbols + 2, n_states): missing first, unseen last."""
        table = np.zeros((len(self.values) + 2, len(self.probabilities)))
        table[1:-1] = logspace.log(self.probabilities).T
        if self.unseen == "smooth":
            table[-1] = logspace.log(np.maximum(1 - self.probabilities.sum(axis=1), 0.0))
        return table

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        kernels.score_codes([block.codes[self.name]], [self.log_table], scores, n_threads)

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        code = self._vocabulary.codes([record.get(self.name)])[0]
        if code == len(self.values) + 1 and self.unseen == "error":
            raise UnknownValue(
                f"column {self.name!r} has {record.get(self.name)!r}, not seen in training.",
                hint=f"Pass {format_setting('unseen', 'ignore')} to leave the column out for such rows.",
            )
        return self.log_table[code]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self.values)

    def table(self, name: str) -> Mapping[str, list[Any]]:
        return {str(value): self.probabilities[:, j].tolist() for j, value in enumerate(self.values)}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        expected = shares @ self.probabilities
        return {str(value): expected[:, j] for j, value in enumerate(self.values)}

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        drawn = draw_slots(self.probabilities[states], rng) if self.values else np.zeros(len(states), np.int64) - 1
        return {self.name: cells_of(self.values, Categorical(), drawn + 1, rng)}

    def n_parameters(self) -> int:
        return len(self.probabilities) * max(len(self.values) - 1, 0)
