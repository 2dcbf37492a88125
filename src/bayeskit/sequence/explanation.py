"""Explanations of sequence models: evidence for a hidden state, and for the class of a sequence.

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
from bayeskit.arrow_arrays import is_arrow
from bayeskit.data.block import Block
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.drawable import Drawable
from bayeskit.explain import evidence
from bayeskit.sequence.forward_backward import Observations, Trellis
from bayeskit.tables import Items, Readable, Sheet, Table
from bayeskit.typing import Floats


@dataclass(frozen=True, repr=False)
class StateExplanation(Readable, Drawable):
    """Log odds of ``predicted`` against ``against`` at one step, as a sum of three parts.

    ``past``: evidence of earlier steps, or of the start. ``observation``: evidence of this step, by column. ``future``:
    evidence of later steps.
    """

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
        """Sum of all parts."""
        return self.past + sum(self.observation.values()) + self.future

    @property
    def sentences(self) -> list[str]:
        """Sentences that explain the decision."""
        head = f"{self.predicted} with probability {evidence.format_probability(self.probability)}"
        past = "the start" if self.step == 0 else "what went before"
        parts = [(past, self.past), *((f"{name} now", odds) for name, odds in self.observation.items())]
        return [head, *(self._sentence(what, odds) for what, odds in [*parts, ("what comes after", self.future)])]

    def _sentence(self, what: str, odds: float) -> str:
        if math.isnan(odds) or math.isinf(odds):
            out = self.predicted if odds < 0 else self.against
            return f"{what} rules out {out}" if not math.isnan(odds) else f"{what} rules out both"
        if abs(odds) < 0.005:
            return f"{what} does not tell {self.predicted} from {self.against}"
        more, less = (self.predicted, self.against) if odds > 0 else (self.against, self.predicted)
        return f"{what} makes {more} {evidence.format_factor(abs(odds))} times as likely as {less}"

    @property
    def table(self) -> Table:
        """Table of the parts and their running sum."""
        names = ["past", *self.observation, "future"]
        odds = [self.past, *self.observation.values(), self.future]
        head = f"log odds {self.predicted} : {self.against}"
        return Table({"evidence": names, head: odds, "sum": np.cumsum(odds).tolist()})

    @property
    def sheet(self) -> Sheet:
        """Sentences that explain the decision."""
        head, *rest = self.sentences
        return Sheet(f"step {self.step}: {head}", (Items(rest),))


def explain_state(
    trellis: Trellis, observed: Observations, step: int, names: Sequence[Any], state: int | None, against: int | None
) -> StateExplanation:
    """Explain the state at one step of a single observed sequence."""
    stays = trellis.stays
    posterior = next(found[step - c.a] for c, found in trellis.posteriors(observed) if c.a <= step < c.b)
    log_past = stays.log_start(trellis.start)
    for chunk, filtered, _, _ in trellis.forward(observed):
        if chunk.a <= step - 1 < chunk.b:
            before = filtered[step - 1 - chunk.a][:, None]
            log_past = logspace.log_sum_exp(before + stays.log_moves(trellis.moves), axis=0)
        if chunk.a <= step < chunk.b:
            log_now = np.ascontiguousarray(filtered[step - chunk.a])
    past = _of_states(trellis, log_past)
    order = np.argsort(-posterior, kind="stable")
    a = int(order[0]) if state is None else state
    b = against if against is not None else next((int(s) for s in order if s != a), a)
    row = observed.rows(step, step + 1)
    observation = {}
    for emission in trellis.emissions:
        scores = np.zeros((1, len(trellis.start)))
        emission.add_scores(row, scores, 1)
        observation[", ".join(emission.names)] = float(logspace.log_odds(scores[0, a], scores[0, b]))
    ahead = trellis.backward(observed, step, log_now)
    weights = np.where((past > -np.inf)[stays.owner], log_past, 0.0)  # weights of the copies of each possible state
    future = _of_states(trellis, weights + ahead) - _of_states(trellis, weights)
    of_past, of_future = (float(logspace.log_odds(logs[a], logs[b])) for logs in (past, future))
    p_a, p_b = float(posterior[a]), float(posterior[b])
    return StateExplanation(step, names[a], names[b], p_a, p_b, of_past, observation, of_future)


def _of_states(trellis: Trellis, log_copies: Floats) -> Floats:
    """Return the log sum over the copies of each state."""
    own = trellis.stays.owner[None, :] == np.arange(len(trellis.start))[:, None]
    return np.asarray(logspace.log_sum_exp(np.where(own, log_copies, -np.inf), axis=1))


def explain_sequences(model: Any, sequences: Sequences, block: Block, against: int | None) -> evidence.Explanations:
    """Explain each sequence: the log odds that every step adds, given the steps before it.

    ln P(a | x) / P(b | x) = ln P(a) / P(b) + Σ_t ln P(x_t | x_1 … x_{t−1}, a) / P(x_t | x_1 … x_{t−1}, b)
    """
    classes, log_prior = tuple(model.models_), model.params_.log_prior
    terms = np.column_stack([one._log_terms(sequences) for one in model.models_.values()])  # (steps, classes)
    scores = np.column_stack([one.log_likelihood(sequences) for one in model.models_.values()]) + log_prior
    comparison = evidence.compare_classes(model, scores, block, log_prior, against)
    terms, prior = model._tempered(terms), model._tempered(log_prior)
    cells, states = _steps(sequences)
    records = []
    for i in range(len(sequences)):
        a, b = int(comparison.chosen[i]), int(comparison.rivals[i])
        first, last = int(sequences.starts[i]), int(sequences.starts[i + 1])
        odds = logspace.log_odds(terms[first:last, a], terms[first:last, b]).tolist()
        parts = tuple(
            evidence.Contribution(f"step {t + 1}", cells[first + t], odds[t], states[first + t], classes[a], classes[b])
            for t in range(last - first)
        )
        undecidable, total = bool(comparison.undecidable[i]), float(comparison.log_odds[i])
        p_a, p_b = (float(logspace.exp(comparison.log_posterior[i, c])) for c in (a, b))
        start = float(logspace.log_odds(*(log_prior if undecidable else prior)[[a, b]]))
        names = (classes[a], classes[b])
        records.append(evidence.Explanation(i, *names, p_a, p_b, start, parts, total, undecidable))
    return evidence.Explanations(records)


def _steps(sequences: Sequences) -> tuple[list[Value | None], list[evidence.State]]:
    """Return the value and the state (known or missing) of each step."""
    cells = {name: x.to_pylist() if is_arrow(x) else x.tolist() for name, x in sequences.columns.items()}
    columns = {name: [canonical(value) for value in listed] for name, listed in cells.items()}
    if len(columns) == 1:
        (values,) = columns.values()
    else:
        rows = (
            [f"{n} {evidence.format_cell(v)}" for n, v in zip(columns, row, strict=True) if v is not None]
            for row in zip(*columns.values(), strict=True)
        )
        values = [", ".join(row) or None for row in rows]
    return values, ["missing" if value is None else "known" for value in values]
