"""What an emission is: all columns of one kind, and what each hidden state says of them.

It is a point estimate, the most probable one under its prior: so Baum–Welch with it never goes down. What it is made of
are sums over rows, each row shared among the states; they are added, kept and estimated from again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.tally.plan import Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats, Ints

Sums = tuple[Floats, ...]  # each with the states as its first axis


@dataclass(frozen=True)
class Scale:
    """Mean and variance of a column over all rows: what priors and floors are measured by."""

    mean: float
    variance: float


class Emission(Protocol):
    """Columns of one kind. Before :meth:`believe` it knows what they are, after it what each state says of them."""

    kind: ClassVar[str]
    names: tuple[str, ...]

    def requests(self) -> Sequence[Request]:
        """What is to be counted of labelled rows."""
        ...

    def of_tally(self, tally: Tally) -> Sums:
        """The sums of labelled rows."""
        ...

    def of_block(self, block: Block, shares: Floats, n_threads: int) -> Sums:
        """The sums of rows that belong to the states by shares (rows, states)."""
        ...

    def shapes(self, n_states: int) -> tuple[tuple[int, ...], ...]:
        """What the arrays of sums look like."""
        ...

    def believe(self, sums: Sums) -> Self:
        """The same, with what these sums make believe."""
        ...

    def log_prior(self) -> float:
        """The logarithm of the prior density of what is believed, up to a constant."""
        ...

    def log_likelihood_of(self, sums: Sums) -> float:
        """ln P of rows of which these are the sums, but for what is the same whatever is believed."""
        ...

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add ln P(cells | state) to the scores (rows, states); a missing cell says nothing."""
        ...

    def one_row(self, record: Mapping[str, Any]) -> Floats:
        """ln P(cells | state) of one record (states,)."""
        ...

    def table(self, name: str) -> Mapping[str, list[Any]]:
        """What a person reads of a column, by state."""
        ...

    def forecast(self, name: str, shares: Floats) -> Mapping[str, Floats]:
        """What is expected of a column where the states have these shares (rows, states)."""
        ...

    def sample(self, states: Ints, rng: np.random.Generator) -> dict[str, Any]:
        """A cell of each column for rows in these states."""
        ...

    def n_parameters(self) -> int:
        """Free parameters."""
        ...


def add(a: Sums, b: Sums) -> Sums:
    """Both sides together."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def numbers_of(block: Block, names: Sequence[str]) -> Floats:
    """Measured columns side by side (rows, columns)."""
    return np.column_stack([block.floats[name] for name in names])


def cell(record: Mapping[str, Any], name: str) -> float:
    """A number of a record; NaN where it is missing."""
    value = record.get(name)
    return float("nan") if value is None else float(value)
