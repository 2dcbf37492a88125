"""Subclasses of one class by EM: a mixture of naive Bayes models, and how many of them the rows ask for.

Expected counts make the model of each subclass, and the models share each row among the subclasses, in turns (Dempster,
Laird and Rubin 1977). The start is k-means++: rows far from those already taken (Arthur and Vassilvitskii 2007).

Formula: mixtures inside a class
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.estimate.variance import Gaussian
from bayeskit.tally.moments import Moments
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import CONVERGED

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes.classifier import NaiveBayes, NaiveParameters

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[Any]
NARROW = 1e-3  # of the variance within the class: no subclass is narrower
SPACED = 1 / (2 * np.pi)  # of the squared gap between numbers: a normal of this variance is 1 / gap high
EQUAL = 1e-4  # of ln p a row: numbers of subclasses as good as each other, of which the least is taken
NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of subclasses that are tried
MOST_ROWS = 3000  # of a class, by which the number of subclasses is chosen


@dataclass(frozen=True)
class Mixture:
    """Rows shared among subclasses (rows, subclasses), and how likely they are then."""

    shares: Floats
    log_likelihood: float
    params: NaiveParameters


@dataclass(frozen=True)
class ClassRows:
    """The rows of one class as codes and numbers, each with a weight; and the gaps between all numbers of a column."""

    model: NaiveBayes
    encoder: Encoder
    block: Block
    weights: Floats
    gaps: Mapping[str, float]

    def take(self, rows: Index) -> ClassRows:
        """These rows alone."""
        return replace(self, block=self.block.take(rows), weights=self.weights[rows])

    def mixture(self, k: int, rng: np.random.Generator, restarts: int, rounds: int) -> Mixture:
        """The most likely of some mixtures of ``k`` subclasses, each grown from another start."""
        found = [self._grown(self._start(k, rng), rounds) for _ in range(restarts if k > 1 else 1)]
        return max(found, key=lambda mixture: mixture.log_likelihood)

    def log_density(self, mixture: Mixture) -> Floats:
        """ln p(x) of each row under a mixture."""
        return np.asarray(logspace.log_sum_exp(self.model.log_joint(mixture.params, self.block)))

    def _grown(self, shares: Floats, rounds: int) -> Mixture:
        before = -np.inf
        for _ in range(rounds):
            params = self._believed(shares)
            joint = self.model.log_joint(params, self.block)
            likelihood = float(self.weights @ logspace.log_sum_exp(joint))
            shares = logspace.normalise(joint)[0]
            if shares.shape[1] == 1 or likelihood - before <= CONVERGED * abs(likelihood):
                break
            before = likelihood
        return Mixture(shares, likelihood, params)

    def _believed(self, shares: Floats) -> NaiveParameters:
        """The model of the expected counts."""
        names = Vocabulary(range(shares.shape[1]))
        block = replace(self.block, labels=None, weights=None, responsibilities=shares * self.weights[:, None])
        schema = self.encoder.schema
        tally = self.model.count_blocks([block], replace(self.encoder, classes=names), self.model.plan(schema))
        together = tally.moments.pooled()
        of_class = together.take(np.zeros(len(tally.classes), dtype=np.int64))
        return widened(self.model.estimate(tally), of_class, self.gaps)

    def _start(self, k: int, rng: np.random.Generator) -> Floats:
        """Each row with the nearest of ``k`` rows that are far from each other."""
        n = self.block.n_rows
        nearest, which = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
        chance = self.weights / self.weights.sum()
        for c in range(k):
            away = self._distances(int(rng.choice(n, p=chance)))
            which[away < nearest] = c
            nearest = np.minimum(nearest, away)
            mass = nearest * self.weights
            if not mass.sum() > 0:
                break  # there are no more different rows
            chance = mass / mass.sum()
        shares = np.full((n, k), 0.05 / k)
        shares[np.arange(n), which] += 0.95
        shares = shares[:, : int(which.max()) + 1]
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def _distances(self, row: int) -> Floats:
        """Squared distance to one row: one for each other value, numbers in standard deviations; gaps are near."""
        total = np.zeros(self.block.n_rows)
        for codes in self.block.codes.values():
            total += (codes != codes[row]) & (codes != 0) & (codes[row] != 0)
        for numbers in self.block.floats.values():
            spread = np.nanvar(numbers) if not np.isnan(numbers).all() else 0.0
            if spread > 0:
                total += np.nan_to_num((numbers - numbers[row]) ** 2 / spread, nan=0.0)
        return total


def smallest_gaps(block: Block) -> dict[str, float]:
    """The smallest difference of two numbers of each column that has different ones: 1 for whole numbers."""
    distinct = {name: np.unique(numbers[~np.isnan(numbers)]) for name, numbers in block.floats.items()}
    return {name: float(np.diff(numbers).min()) for name, numbers in distinct.items() if len(numbers) > 1}


def widened(params: NaiveParameters, of_class: Moments, gaps: Mapping[str, float]) -> NaiveParameters:
    """The same with no variance under a share of the one within the whole class: (subclasses, columns).

    Nor is a normal narrower than its class and higher than 1 / gap: all of a column of whole numbers may be one of
    them, and no density says more of a number than that.
    """
    normal = params.of_kind(GaussianColumns)
    if normal is None:
        return params
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.nan_to_num(of_class.squared_deviations() / of_class.n, nan=0.0, posinf=0.0)
    spaced = SPACED * np.array([gaps.get(name, 0.0) for name in normal.names]) ** 2
    least, known = np.maximum(NARROW * own, np.minimum(spaced, own)), normal.gaussian
    wider = Gaussian(known.mean, np.maximum(known.variance, least), known.used)
    return params.with_kind(replace(normal, gaussian=wider))


def by_class(tally: Tally, owner: Index, n_classes: int) -> Moments:
    """The moments of the class of each subclass: (subclasses, columns)."""
    totals = [tally.moments.take(np.flatnonzero(owner == c)).pooled() for c in range(n_classes)]
    parts = [totals[c] for c in owner]
    whole = Moments.zeros(len(owner), tally.moments.shape[1], weighted=tally.weighted)
    for i, part in enumerate(parts):
        whole = whole + part.take(np.where(np.arange(len(owner)) == i, 0, -1))
    return whole


def best_number(
    rows: ClassRows,
    most: int,
    folds: int,
    restarts: int,
    rounds: int,
    rng: np.random.Generator,
    tell: Callable[[int, int], object],
) -> tuple[int, dict[int, float]]:
    """(the number of subclasses under which held-out rows are most likely, ln p a row by number)."""
    n = rows.block.n_rows
    order = rng.permutation(n)[:MOST_ROWS]
    folds = min(folds, len(order) // 2)
    numbers = [k for k in NUMBERS if k <= most and k <= len(order) // 4] or [1]
    if len(numbers) == 1 or folds < 2:
        return 1, {}
    parts = np.array_split(order, folds)
    found: dict[int, float] = {}
    for k in numbers:
        total = 0.0
        for i, held in enumerate(parts):
            kept = np.concatenate([part for j, part in enumerate(parts) if j != i])
            mixture = rows.take(kept).mixture(k, rng, restarts, rounds)
            out = rows.take(held)
            total += float(out.weights @ out.log_density(mixture))
        found[k] = total / float(rows.weights[order].sum())
        tell(len(found), len(numbers))
    enough = max(found.values()) - EQUAL
    return min(k for k in numbers if found[k] >= enough), found
