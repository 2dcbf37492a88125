"""Why a state at one step: what the past, the observation and the future say for it.

    ln P(a | rows) / P(b | rows) = ln P(a | past) / P(b | past)
                                 + ln P(row | a) / P(row | b)
                                 + ln P(future | a) / P(future | b)

Formula: evidence for a hidden state, from the past, the observation and the future
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.sequences import Sequences
from bayeskit.data.sheet import Items, Readable, Sheet
from bayeskit.data.source import is_arrow
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.drawable import Drawable
from bayeskit.explain.evidence import Contribution, Explanation, Explanations, State, cell, chance, compared, times
from bayeskit.sequence.forward_backward import Lattice, Observed
from bayeskit.typing import Floats


@dataclass(frozen=True, repr=False)
class StateExplanation(Readable, Drawable):
    """The log odds of ``predicted`` against ``against`` at a step, as a sum: ``past`` (what went before, or the start),
    ``observation`` (by column), ``future``."""

    step: int
    predicted: Any
    against: Any
    probability: float
    against_probability: float
    past: float
    observation: Mapping[str, float]
    future: float

    @property
    def log_odds(self) -> float:
        """The sum."""
        return self.past + sum(self.observation.values()) + self.future

    @property
    def sentences(self) -> list[str]:
        """All of it in words."""
        head = f"{self.predicted} with probability {chance(self.probability)}"
        past = "the start" if self.step == 0 else "what went before"
        parts = [(past, self.past), *((f"{name} now", odds) for name, odds in self.observation.items())]
        return [head, *(self._said(what, odds) for what, odds in [*parts, ("what comes after", self.future)])]

    def _said(self, what: str, odds: float) -> str:
        if math.isnan(odds) or math.isinf(odds):
            out = self.predicted if odds < 0 else self.against
            return f"{what} rules out {out}" if not math.isnan(odds) else f"{what} rules out both"
        if abs(odds) < 0.005:
            return f"{what} does not tell {self.predicted} from {self.against}"
        more, less = (self.predicted, self.against) if odds > 0 else (self.against, self.predicted)
        return f"{what} makes {more} {times(abs(odds))} times as likely as {less}"

    @property
    def table(self) -> Table:
        """Each part and the sum so far."""
        names = ["past", *self.observation, "future"]
        odds = [self.past, *self.observation.values(), self.future]
        return Table(
            {"evidence": names, f"log odds {self.predicted} : {self.against}": odds, "sum": np.cumsum(odds).tolist()}
        )

    @property
    def sheet(self) -> Sheet:
        """All of it in words."""
        head, *rest = self.sentences
        return Sheet(f"step {self.step}: {head}", (Items(rest),))


def explain_state(
    lattice: Lattice, observed: Observed, step: int, names: Sequence[Any], state: int | None, against: int | None
) -> StateExplanation:
    """Of the one sequence that was observed."""
    stays = lattice.stays
    for piece, found in lattice.posteriors(observed):
        if piece.a <= step < piece.b:
            posterior = found[step - piece.a]
    log_past = stays.log_start(lattice.start)
    for piece, filtered, _, _ in lattice.filtered(observed):
        if piece.a <= step - 1 < piece.b:
            log_past = logspace.log_sum_exp(
                filtered[step - 1 - piece.a][:, None] + stays.log_moves(lattice.moves), axis=0
            )
        if piece.a <= step < piece.b:
            log_now = np.ascontiguousarray(filtered[step - piece.a])
    past = _of_states(lattice, log_past)
    order = np.argsort(-posterior, kind="stable")
    a = int(order[0]) if state is None else state
    b = against if against is not None else next((int(s) for s in order if s != a), a)
    row = observed.rows(step, step + 1)
    observation = {}
    for emission in lattice.emissions:
        scores = np.zeros((1, len(lattice.start)))
        emission.add_scores(row, scores, 1)
        observation[", ".join(emission.names)] = float(logspace.log_odds(scores[0, a], scores[0, b]))
    ahead = lattice.future(observed, step, log_now)
    weights = np.where((past > -np.inf)[stays.owner], log_past, 0.0)  # of the copies of a state, where it can be
    future = _of_states(lattice, weights + ahead) - _of_states(lattice, weights)
    return StateExplanation(
        step,
        names[a],
        names[b],
        float(posterior[a]),
        float(posterior[b]),
        float(logspace.log_odds(past[a], past[b])),
        observation,
        float(logspace.log_odds(future[a], future[b])),
    )


def _of_states(lattice: Lattice, log_copies: Floats) -> Floats:
    """ln Σ over the copies of each state."""
    own = lattice.stays.owner[None, :] == np.arange(len(lattice.start))[:, None]
    return np.asarray(logspace.log_sum_exp(np.where(own, log_copies, -np.inf), axis=1))


def explained(model: Any, sequences: Sequences, block: Block, against: int | None) -> Explanations:
    """A record for each sequence, of a classifier with a model for each class."""
    classes, log_prior = tuple(model.models_), model.params_.log_prior
    terms = np.column_stack([one._log_terms(sequences) for one in model.models_.values()])  # (steps, classes)
    scores = np.column_stack([one.log_likelihood(sequences) for one in model.models_.values()]) + log_prior
    comparison = compared(model, scores, block, log_prior, against)
    terms, prior = model._tempered(terms), model._tempered(log_prior)
    cells, states = _steps(sequences)
    records = []
    for i in range(len(sequences)):
        a, b = int(comparison.chosen[i]), int(comparison.rivals[i])
        first, last = int(sequences.starts[i]), int(sequences.starts[i + 1])
        odds = logspace.log_odds(terms[first:last, a], terms[first:last, b]).tolist()
        parts = tuple(
            Contribution(f"step {t + 1}", cells[first + t], odds[t], states[first + t], classes[a], classes[b])
            for t in range(last - first)
        )
        records.append(
            Explanation(
                i,
                classes[a],
                classes[b],
                float(logspace.exp(comparison.log_posterior[i, a])),
                float(logspace.exp(comparison.log_posterior[i, b])),
                float(logspace.log_odds(*(log_prior if comparison.undecidable[i] else prior)[[a, b]])),
                parts,
                float(comparison.log_odds[i]),
                bool(comparison.undecidable[i]),
            )
        )
    return Explanations(records)


def _steps(sequences: Sequences) -> tuple[list[Value | None], list[State]]:
    """What each step shows, in one value, and whether anything is there."""
    columns = {
        name: [canonical(value) for value in (column.to_pylist() if is_arrow(column) else column.tolist())]
        for name, column in sequences.columns.items()
    }
    if len(columns) == 1:
        (values,) = columns.values()
    else:
        rows = zip(*columns.values(), strict=True)
        values = [
            ", ".join(f"{name} {cell(value)}" for name, value in zip(columns, row, strict=True) if value is not None)
            or None
            for row in rows
        ]
    return values, ["missing" if value is None else "known" for value in values]
