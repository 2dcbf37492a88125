"""Base of emissions: the columns of one kind and their distribution in each hidden state.

An emission is a posterior mode, so Baum–Welch never decreases the posterior. It is estimated from sufficient
statistics: sums over rows weighted by state probabilities, which can be added and stored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.estimate.sampling import nulls_for_nan
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats, Ints

Statistics = tuple[Floats, ...]  # the first axis of each array is the states


@dataclass(frozen=True)
class ColumnScale:
    """Mean and variance of a column over all rows, to which priors and floors are relative."""

    mean: float
    variance: float


class Emission(Protocol):
    """Columns of one kind; :meth:`estimate` fills in the parameters of each state."""

    kind: ClassVar[str]
    statistics: ClassVar[tuple[str, ...]]  # to count in labeled rows
    names: tuple[str, ...]

    def requests(self) -> Sequence[Request]:
        """Return what to count in labeled rows."""
        return [Request(kind, self.names) for kind in self.statistics]

    def statistics_of_tally(self, tally: Tally) -> Statistics:
        """Return the statistics of labeled rows."""

    def statistics_of_rows(self, block: Block, shares: Floats, n_threads: int) -> Statistics:
        """Return the statistics of rows weighted by state probabilities, shape (n_rows, n_states)."""

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of the arrays of the statistics."""

    def estimate(self, sums: Statistics) -> Self:
        """Return the emission with maximum a posteriori parameters."""

    def log_prior(self) -> float:
        """Return the log prior density of the parameters, up to a constant."""

    def statistics_log_likelihood(self, sums: Statistics) -> float:
        """Return ln P(rows) from their statistics, up to a constant."""

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add ln P(cells | state) to scores of shape (n_rows, n_states); missing cells add 0."""

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        """Return ln P(cells | state) of one record, shape (n_states,)."""

    def table(self, name: str) -> Mapping[str, list[Any]]:
        """Return the parameters of a column by state, for display."""

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        """Return the expected values of a column under state probabilities, shape (n_rows, n_states)."""

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a cell of each column for rows in given states."""

    def n_parameters(self) -> int:
        """Return the number of free parameters."""


class NumericColumns(Emission):
    """Numeric columns with parameters by state."""

    @abstractmethod
    def figures(self, j: int) -> dict[str, Floats]:
        """Return the parameters of column j by state, for display."""

    @abstractmethod
    def draw(self, states: Ints, rng: np.random.Generator) -> Floats:
        """Draw numbers for rows in given states, shape (n_rows, n_columns)."""

    def table(self, name: str) -> Mapping[str, list[Any]]:
        return {key: part.tolist() for key, part in self.figures(self.names.index(name)).items()}

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        parameters = self.figures(self.names.index(name))
        return mixture_moments(parameters["mean"], parameters["variance"], shares)

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        return dict(zip(self.names, map(nulls_for_nan, self.draw(states, rng).T), strict=True))


class MatrixEmission(NumericColumns):
    """Numeric columns that are scored together, as a matrix."""

    @property
    @abstractmethod
    def n_states(self) -> int:
        """Return the number of states."""

    @abstractmethod
    def add_matrix_scores(self, x: Floats, scores: Floats) -> None:
        """Add ln P(row | state) of rows x, (n_rows, n_columns), to scores of shape (n_rows, n_states)."""

    def matrix(self, block: Block) -> Floats:
        """Return the columns as a matrix, shape (n_rows, n_columns)."""
        return np.column_stack([block.floats[name] for name in self.names])

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        self.add_matrix_scores(self.matrix(block), scores)

    def score_record(self, record: Mapping[str, Any]) -> Floats:
        scores = np.zeros((1, self.n_states))
        self.add_matrix_scores(np.array([[record_number(record, name) for name in self.names]]), scores)
        return scores[0]


def add_statistics(a: Statistics, b: Statistics) -> Statistics:
    """Return the sum of both sides."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def record_number(record: Mapping[str, Any], name: str) -> float:
    """Return a number of a record, NaN if missing."""
    value = record.get(name)
    return float("nan") if value is None else float(value)


def mixture_moments(mean: Floats, variance: Floats, shares: Floats) -> dict[str, Floats]:
    """Mean and variance of a mixture of states.

    >>> found = mixture_moments(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([[0.5, 0.5]]))
    >>> found["mean"].tolist(), found["variance"].tolist()
    ([1.0], [2.0])
    """
    expected = shares @ mean
    away = mean - expected[:, None]  # centered, to keep precision
    return {"mean": expected, "variance": shares @ variance + (shares * away**2).sum(axis=1)}
