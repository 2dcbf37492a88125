"""Greedy column selection by exact leave-one-out log loss.

If every column adds a term to the score of a row, the leave-one-out log loss of any set of columns is a sum of terms
that are computed once. Trying columns needs no further pass over the data.

Formula: columns by leave-one-out log loss
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.reader import read_table
from bayeskit.drawable import Drawable
from bayeskit.tables import Table
from bayeskit.tolerance import NO_INFORMATION
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class Selection(Drawable):
    """Result of a greedy column selection.

    Attributes
    ----------
    columns : tuple of str
        Selected columns in table order.
    left_out : tuple of str
    log_loss : float
        Leave-one-out log loss with the selected columns, in nats.
    steps : Table
        Column added or dropped in each step, and the log loss after it. The first row is the start.
    roles : mapping
        Roles for a model of the selected columns: the given roles, and "ignore" for the other columns.
    n_rows : float
        Number of rows, or their total weight.
    direction : {"forward", "backward"}

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> data = {"x": ["a", "b"] * 20, "noise": ["u", "u", "v", "v"] * 10}
    >>> labels = ["yes", "no"] * 20
    >>> found = NaiveBayes().fit(data, labels).select(data, labels)
    >>> found.columns, found.left_out
    (('x',), ('noise',))
    """

    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    log_loss: float
    steps: Table = field(compare=False)
    roles: Mapping[Any, Any]
    n_rows: float
    direction: str

    def transform(self, X: Any) -> Any:
        """Return the selected columns of a table.

        Parameters
        ----------
        X : table

        Returns
        -------
        table
            In the type of ``X``, or a mapping from column to values.
        """
        data = read_table(X, None, labeled=False).data
        if isinstance(data, np.ndarray):
            return data[:, [int(name.removeprefix("x")) for name in self.columns]]
        if isinstance(data, Mapping):
            return {name: data[name] for name in self.columns if name in data}
        there = set(map(str, data.columns))
        return data[[name for name in self.columns if name in there]]

    def __str__(self) -> str:
        """Return the selected columns and the steps as text."""
        kept = ", ".join(self.columns) or "none"
        return f"{len(self.columns)} of {len(self.columns) + len(self.left_out)} columns: {kept}\n\n{self.steps}"


@dataclass
class ColumnSearch:
    """Leave-one-out terms of rows: log priors (n_rows, n_classes) and the terms of each column."""

    prior: Floats
    terms: Mapping[str, Floats]
    labels: Array
    weights: Floats

    def __post_init__(self) -> None:
        alone = np.isneginf(self.prior[np.arange(len(self.labels)), self.labels])  # lost, whatever the columns say
        self.weights = np.where(alone, 0.0, self.weights)
        self.total = float(self.weights.sum())

    def loss(self, scores: Floats) -> tuple[float, float]:
        """Return (weight of rows with probability 0, mean −ln P(true class) of the others); smaller is better."""
        impossible = np.isneginf(scores.max(axis=1))
        if impossible.any():
            scores = np.where(impossible[:, None], self.prior, scores)
        log_p = logspace.log_posterior_of(scores, self.labels)
        ruled_out = ~np.isfinite(log_p)
        lost = float(self.weights[ruled_out].sum())
        return lost, float(-(np.where(ruled_out, 0.0, log_p) @ self.weights) / (self.total or 1.0))

    def steps(self, forward: bool) -> list[tuple[str, tuple[float, float]]]:
        """Add columns greedily, or drop them; return each column with the loss after it, and the start first."""
        scores = self.prior if forward else self.prior + sum(self.terms.values())
        steps, waiting = [("", self.loss(scores))], list(self.terms)
        while waiting:
            losses = {name: self.loss(self._change(scores, name, forward, waiting)) for name in waiting}
            best = min(waiting, key=lambda name: losses[name])
            (lost, mean), (lost_before, mean_before) = losses[best], steps[-1][1]
            if not (lost < lost_before or (lost == lost_before and mean < mean_before - NO_INFORMATION)):
                break
            scores = self._change(scores, best, forward, waiting)
            waiting.remove(best)
            steps.append((best, losses[best]))
        return steps

    def _change(self, scores: Floats, name: str, forward: bool, waiting: Sequence[str]) -> Floats:
        """Add a column to the scores or remove it; infinite terms are removed by summing the others again."""
        if forward:
            return scores + self.terms[name]
        if np.isfinite(self.terms[name]).all():
            return scores - self.terms[name]
        return self.prior + sum(self.terms[other] for other in waiting if other != name)


def selection(judge: ColumnSearch, names: Sequence[str], direction: str, roles: Any) -> Selection:
    """Build the record of a column selection; columns of ``names`` without terms are left out."""
    forward = direction == "forward"
    steps = judge.steps(forward)
    moved = {name for name, _ in steps[1:]}
    kept = moved if forward else set(judge.terms) - moved
    columns, left_out = (tuple(n for n in names if (n in kept) == is_kept) for is_kept in (True, False))
    given = dict(roles) if isinstance(roles, Mapping) else {} if roles is None else dict.fromkeys(columns, roles)
    lost, mean = zip(*(loss for _, loss in steps), strict=True)
    losses = [float("inf") if weight else nats for weight, nats in zip(lost, mean, strict=True)]
    verb, start = ("added", "(no column)") if forward else ("dropped", "(all columns)")
    table = Table({verb: [start, *(name for name, _ in steps[1:])], "log loss (nats)": losses})
    ignored = {**{key: role for key, role in given.items() if key not in left_out}, **dict.fromkeys(left_out, "ignore")}
    return Selection(columns, left_out, losses[-1], table, ignored, judge.total, direction)
