"""Why a sequence is put in its class: what each step says after those before it.

ln P(a | x) / P(b | x) = ln P(a) / P(b) + Σ_t ln P(x_t | x_1 … x_{t−1}, a) / P(x_t | x_1 … x_{t−1}, b)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.sequences import Sequences
from bayeskit.data.source import is_arrow
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.explain.evidence import Contribution, Explanation, Explanations, State, compared
from bayeskit.explain.phrases import cell


def explained(model: Any, sequences: Sequences, block: Block, against: int | None) -> Explanations:
    """A record for each sequence, of a classifier with a model for each class."""
    classes, log_prior = tuple(model.models_), model.params_.log_prior
    terms = np.column_stack([one.log_terms(sequences) for one in model.models_.values()])  # (steps, classes)
    scores = np.column_stack([one.log_likelihood(sequences) for one in model.models_.values()]) + log_prior
    comparison = compared(model, scores, block, log_prior, against)
    terms, prior = model.tempered(terms), model.tempered(log_prior)
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
