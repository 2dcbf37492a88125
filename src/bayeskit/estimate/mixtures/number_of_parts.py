"""How many subclasses each class has: as many as let held-out rows be told apart best.

What a mixture says of its own class alone, ln p(x ∣ class), is no guide: more parts may describe a class better and
tell it from the others worse. So each class is given mixtures of several sizes on the rows of all folds but one, the
rows of that fold are scored by all of them, and the sizes are those with the largest

    Σ_r ln P(c_r ∣ x_r),

found class after class, from one part each; more parts must gain two nats, and all of them together more than two
standard errors of that gain over one part each, which is naive Bayes.

Formula: the number of parts of each class, by Σ ln P(class ∣ row) of held-out rows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayeskit import logspace
from bayeskit.estimate.mixtures.em import Cells
from bayeskit.tolerance import LEAST_PROBABILITY
from bayeskit.typing import Array, Floats

NUMBERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of subclasses that are tried
MOST_ROWS = 5000  # of all classes, by which the numbers are chosen
ROWS = 8  # of a class for each part at least
GAIN = 2.0  # nats of all rows that more parts must gain
ERRORS = 2.0  # standard errors that the gain over one part each must exceed
ROUNDS = 5  # over the classes
STARTS = 1  # of EM in each fold
STEPS = 40  # of EM in each fold at most


@dataclass(frozen=True)
class HeldOut:
    """ln p(x | class, number) of held-out rows, by class and number; their ln P(class), classes and weights."""

    densities: Sequence[Mapping[int, Floats]]
    log_prior: Floats  # (rows, classes)
    labels: Array
    weights: Floats

    def best(self) -> tuple[list[int], list[dict[int, float]]]:
        """(The number of parts of each class, ln P(class) a row by its number while the others have theirs)."""
        least = [min(of) for of in self.densities]
        numbers = list(least)
        worths: list[dict[int, float]] = [{} for _ in numbers]
        for _ in range(ROUNDS):
            before = list(numbers)
            for c, of in enumerate(self.densities):
                worth = {k: self._worth([*numbers[:c], k, *numbers[c + 1 :]]) for k in of}
                numbers[c] = min(k for k in worth if worth[k] >= max(worth.values()) - GAIN)
                worths[c] = {k: total / float(self.weights.sum()) for k, total in worth.items()}
            if numbers == before:
                break
        return numbers if self._is_sure(numbers, least) else least, worths

    def _is_sure(self, numbers: Sequence[int], least: Sequence[int]) -> bool:
        """Whether the gain over one part each is more than two standard errors: a few lucky rows do not count."""
        gains = self._log_posterior(numbers) - self._log_posterior(least)
        mean = self.weights @ gains / self.weights.sum()
        return bool(self.weights @ gains > ERRORS * np.sqrt(self.weights**2 @ (gains - mean) ** 2))

    def _worth(self, numbers: Sequence[int]) -> float:
        return float(self.weights @ self._log_posterior(numbers))

    def _log_posterior(self, numbers: Sequence[int]) -> Floats:
        """ln P(class | row) with so many parts of each class."""
        scores = self.log_prior + np.column_stack([of[k] for of, k in zip(self.densities, numbers, strict=True)])
        log_p = np.nan_to_num(logspace.log_posterior_of(scores, self.labels), nan=-np.inf)
        return np.maximum(log_p, logspace.log(LEAST_PROBABILITY))


def numbers_to_try(most: int, n_rows: int, folds: int) -> tuple[int, ...]:
    """Numbers of parts for a class of so many rows: eight rows a part at least.

    >>> numbers_to_try(8, 40, 3), numbers_to_try(8, 15, 3)
    ((1, 2, 3, 4), (1,))
    """
    return tuple(k for k in NUMBERS if k == 1 or (k <= most and ROWS * k <= n_rows and 2 * folds <= n_rows))


def held_out(
    cells: Cells,
    labels: Array,
    tried: Sequence[Sequence[int]],
    rngs: Sequence[np.random.Generator],
    folds: int,
    prior: Callable[[Floats], Floats],
    tell: Callable[[int, int, int], object],
) -> HeldOut:
    """Mixtures of the numbers to try of each class on the rows of all folds but one, and what they say of the rest."""
    by_class = [np.flatnonzero(labels == c) for c in range(len(tried))]
    share = min(1.0, MOST_ROWS / len(labels))
    fold_of = np.full(len(labels), -1)
    for rows, rng in zip(by_class, rngs, strict=True):
        some = rng.permutation(rows)[: max(int(np.ceil(share * len(rows))), min(2 * folds, len(rows)))]
        fold_of[some] = np.arange(len(some)) % folds
    sampled = np.flatnonzero(fold_of >= 0)
    cells, labels, fold_of = cells.take(sampled), labels[sampled], fold_of[sampled]
    parts = [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(folds)]
    log_prior = np.zeros((len(labels), len(tried)))
    for learnt, rest in parts:
        counts = np.bincount(labels[learnt], cells.weights[learnt], minlength=len(tried)).astype(np.float64)
        log_prior[rest] = logspace.log(prior(counts))
    rests = [cells.take(rest) for _, rest in parts]
    densities: list[dict[int, Floats]] = []
    for c, (numbers, rng) in enumerate(zip(tried, rngs, strict=True)):
        cells_of_class = [cells.take(learnt[labels[learnt] == c]) for learnt, _ in parts]
        densities.append({})
        for done, k in enumerate(numbers, 1):
            density = np.full(len(labels), -np.inf)
            for learnt_here, (_, rest), held in zip(cells_of_class, parts, rests, strict=True):
                if n := learnt_here.n_rows:
                    density[rest] = held.log_density(learnt_here.mixture(min(k, n), rng, STARTS, STEPS).parts)
            densities[c][k] = density
            tell(c, done, len(numbers))
    return HeldOut(densities, log_prior, labels, cells.weights)
