"""The record of a comparison: models side by side on the same rows of one table or of many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit.data.sheet import Figure, Grid, Items, Readable, Sheet
from bayeskit.data.table import Table
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError
from bayeskit.evaluate.signed_ranks import Duel, duel
from bayeskit.nearest import did_you_mean
from bayeskit.typing import Floats

MEASURES = {"accuracy": 1, "log_loss": -1, "brier": -1, "seconds": -1}
"""What is measured, and whether more of it is better."""


@dataclass(frozen=True)
class Refusal:
    """A model that a table was nothing for, and why."""

    dataset: str
    model: str
    why: str


@dataclass(frozen=True, repr=False)
class Comparison(Readable, Drawable):
    """Scores of models on data sets, all by the same folds. Frozen, and plain data.

    Attributes
    ----------
    models, datasets: their names; ``n_rows`` of each data set.
    method: "5-fold cross-validation", "3 × 10-fold cross-validation" or "leave-one-out".
    accuracy, log_loss, brier, seconds: (data sets, models), means over the folds; NaN where a model refused the table.
        Probabilities below 1e-15 count as that in the log loss; ``seconds`` are CPU time of fit and predict of a fold.
    by_fold: for each measure and data set, the scores (folds, models).
    refused: who took which table not, and why.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    n_rows: tuple[int, ...]
    method: str
    accuracy: Floats = field(compare=False)
    log_loss: Floats = field(compare=False)
    brier: Floats = field(compare=False)
    seconds: Floats = field(compare=False)
    by_fold: Mapping[str, tuple[Floats, ...]] = field(compare=False)
    refused: tuple[Refusal, ...] = ()

    def scores(self, measure: str = "accuracy") -> Floats:
        """One of the measures (data sets, models)."""
        if measure not in MEASURES:
            raise BayesError(f"{measure!r} is none of {', '.join(MEASURES)}{did_you_mean(measure, tuple(MEASURES))}")
        return np.asarray(getattr(self, measure))

    def against(self, first: str, second: str, measure: str = "accuracy", rope: float = 0.01) -> Duel:
        """One model against another over the data sets: wins, Wilcoxon's and the Bayesian signed-rank test."""
        a, b = (self.scores(measure)[:, self._place(name)] for name in (first, second))
        return duel(first, second, measure, MEASURES[measure] * (a - b), rope)

    def duels(self, measure: str = "accuracy", rope: float = 0.01) -> tuple[Duel, ...]:
        """The first model against each of the others."""
        return tuple(self.against(self.models[0], other, measure, rope) for other in self.models[1:])

    def ranks(self, measure: str = "accuracy") -> Floats:
        """The mean rank of each model over the data sets that all took (1 is the best; ties share)."""
        from scipy.stats import rankdata

        scores = self.scores(measure) * -MEASURES[measure]
        whole = scores[~np.isnan(scores).any(axis=1)]
        return np.asarray(rankdata(whole, axis=1).mean(axis=0)) if len(whole) else np.full(len(self.models), np.nan)

    def table(self, measure: str = "accuracy") -> Table:
        """One line for a data set, one column for a model."""
        scores = self.scores(measure)
        columns = {
            name: [None if np.isnan(v) else float(v) for v in scores[:, i]] for i, name in enumerate(self.models)
        }
        return Table({"data set": list(self.datasets), "rows": list(self.n_rows), **columns}, keys=2)

    @property
    def means(self) -> Table:
        """The means over the data sets that all models took, and mean ranks by accuracy and log loss.

        Where there is no such set, each model has the mean over those that it took.
        """
        whole = ~np.isnan(self.accuracy).any(axis=1)
        columns: dict[str, Any] = {"model": list(self.models)}
        for measure in MEASURES:
            scores = self.scores(measure)[whole] if whole.any() else self.scores(measure)
            taken = ~np.isnan(scores)
            n = np.where(taken.any(axis=0), taken.sum(axis=0), np.nan)
            columns[measure.replace("_", " ")] = np.where(taken, scores, 0.0).sum(axis=0) / n
        if len(self.datasets) > 1:
            columns["rank by accuracy"], columns["rank by log loss"] = self.ranks(), self.ranks("log_loss")
        return Table(columns)

    def chart(self, first: str | None = None, second: str | None = None, measure: str = "accuracy") -> Any:
        """The first model against the second over many data sets, as a scatter; over one or two sets bars of all."""
        self.scores(measure)
        for name in (first, second):
            if name is not None:
                self._place(name)
        return draw(self, first=first, second=second, measure=measure)

    def _place(self, name: str) -> int:
        if name not in self.models:
            raise BayesError(f"{name!r} is none of {', '.join(self.models)}{did_you_mean(name, self.models)}")
        return self.models.index(name)

    @property
    def sheet(self) -> Sheet:
        """Means, one line for a data set, and what the first model has won."""
        several = len(self.datasets) > 1
        over = f"{len(self.datasets)} data sets" if several else f"{self.datasets[0]}, {self.n_rows[0]:,} rows"
        means = {
            name: [v if isinstance(v, str) else Figure(f"{v:.4g}") for v in self.means[name]]
            for name in self.means.column_names
        }
        parts: list[Any] = ["", Grid(means)]
        if several:
            parts += ["", "Accuracy:", _rounded(self.table())]
            parts += ["", Items([one.sentence for m in ("accuracy", "log_loss") for one in self.duels(m)])]
        if self.refused:
            parts += ["", Items([f"{r.model} did not take {r.dataset}: {r.why}" for r in self.refused])]
        return Sheet(f"{len(self.models)} models on {over}, {self.method}", tuple(parts))


def _rounded(table: Table) -> Grid:
    shown = {
        name: [v if not isinstance(v, float) else Figure(f"{v:.4f}") for v in table[name]]
        for name in table.column_names
    }
    return Grid(shown)
