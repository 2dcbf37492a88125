"""Reliability: whether what is said with probability p comes true in a share p of the cases.

Rows are put into bins by what was said, (low, high], and in each bin the mean of it (``said``) is set beside the share
that came true (``seen``):

    calibration error   Σ_b (n_b / n) |said_b − seen_b|
    Brier               = reliability − resolution + uncertainty + within
      reliability   Σ_b (n_b / n) (said_b − seen_b)²        how far what is said is from what is seen
      resolution    Σ_b (n_b / n) (seen_b − seen)²          how far the bins are from the whole
      uncertainty   seen (1 − seen)                         of the classes themselves
      within        what the width of the bins hides: 0 where all of a bin were told the same (Stephenson et al., 2008)

Calibrated probabilities miss, too, by chance: the difference of a bin then has the variance Σ p (1 − p) / n_b², and the
mean of its size is √(2/π) of the root of that. An error is remarkable where it is beyond chance by four of its standard
deviations, and worth a word where it is .02 at least.

Formula: calibration error, and by chance; the parts of the Brier score
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.evaluate.ranking_curves import ScoredRows, classed_rows
from bayeskit.tables.sheet import Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.typing import Floats

BINS = 15
REMARKABLE = 4.0  # standard deviations beyond chance
WORTH_A_WORD = 0.02  # of probability: less is not worth a word
MEAN_OF_SIZE = (2 / np.pi) ** 0.5  # of a normal variable, in its standard deviations


@dataclass(frozen=True)
class BrierParts(Drawable):
    """brier = reliability − resolution + uncertainty + within, summed over the classes."""

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def table(self) -> Table:
        """The parts with their signs."""
        parts = {
            "reliability (+)": self.reliability,
            "resolution (−)": self.resolution,
            "uncertainty (+)": self.uncertainty,
            "within bins (+)": self.within,
            "Brier score": self.brier,
        }
        return Table({"part": list(parts), "value": list(parts.values())})


@dataclass(frozen=True, repr=False)
class Reliability(Readable, Drawable):
    """What was said beside what was seen, bin by bin; bins without rows are left out. Frozen, and plain data.

    Attributes
    ----------
    of: the class whose probabilities these are; None for those of the class that was chosen in each row.
    low, high: the borders of the bins, low < p ≤ high (the first takes p = 0 as well).
    rows: how many rows are in each, or their weight.
    said, seen: mean probability, and the share that came true.
    spread: the standard deviation of ``seen`` where probabilities are as good as they say.
    error, largest: the mean of |said − seen| over the rows, and the largest of a bin.
    by_chance, chance_spread: the ``error`` of calibrated probabilities such as these, and its standard deviation.
    said_in_all, seen_in_all: over all rows.
    """

    of: Value | None
    low: Floats = field(compare=False)
    high: Floats = field(compare=False)
    rows: Floats = field(compare=False)
    said: Floats = field(compare=False)
    seen: Floats = field(compare=False)
    spread: Floats = field(compare=False)
    error: float
    largest: float
    by_chance: float
    chance_spread: float
    said_in_all: float
    seen_in_all: float

    @property
    def is_trusted(self) -> bool:
        """Whether the error is small, or no more than chance gives."""
        beyond = self.error - self.by_chance
        return self.error < WORTH_A_WORD or not beyond > REMARKABLE * self.chance_spread

    @property
    def sentence(self) -> str:
        """What the curve says."""
        error = f"calibration error {self.error:.3f}, of which chance gives {self.by_chance:.3f}"
        if self.is_trusted:
            return f"Probabilities are as good as they say ({error})."
        what = "is right" if self.of is None else f"is {self.of!r}"
        ways = "over" if self.said_in_all > self.seen_in_all else "under"
        gap = abs(self.said_in_all - self.seen_in_all)
        if gap < self.error / 2:  # too high here and too low there
            return f"Probabilities are not to be trusted: they are off by {self.error:.0%} on average ({error})."
        said, seen = f"{self.said_in_all:.1%}", f"{self.seen_in_all:.1%}"
        untrusted = f"Probabilities are not to be trusted: {ways}confident, it"
        return f"{untrusted} says {said} on average and {what} in {seen} ({error})."

    @property
    def table(self) -> Table:
        """Bin by bin."""
        return Table(
            {
                "above": self.low.tolist(),
                "up to": self.high.tolist(),
                "rows": [int(n) if float(n).is_integer() else float(n) for n in self.rows],
                "said": self.said.tolist(),
                "seen": self.seen.tolist(),
                "spread": self.spread.tolist(),
            },
            keys=2,
        )

    @property
    def sheet(self) -> Sheet:
        """Readable in 80 columns."""
        of = "the chosen class" if self.of is None else f"class {self.of!r}"
        return Sheet(f"Reliability of the probabilities of {of}", ("", self.table.grid, "", self.sentence))


def reliability(
    said: Any,
    came_true: Any,
    bins: int = BINS,
    strategy: Literal["uniform", "quantile"] = "uniform",
    sample_weight: Any = None,
    of: Value | None = None,
) -> Reliability:
    """The curve of probabilities ``said`` (rows,) of something that ``came_true`` (rows,) or did not.

    ``strategy``: bins of equal width, or with an equal number of rows, as scikit-learn's ``calibration_curve`` has
    them. Rows of weight 0 have no part in it.

    >>> curve = reliability([0.8, 0.8, 0.8, 0.8, 0.1], [1, 1, 0, 0, 0], bins=5)
    >>> curve.said.tolist(), curve.seen.tolist(), round(curve.error, 3)
    ([0.1, 0.8], [0.0, 0.5], 0.26)
    """
    checked = _checked(said, came_true, sample_weight)
    p, true, weights = checked.scores, checked.truth.astype(np.float64), checked.weights
    which, edges = _bins(p, weights, bins, strategy)
    rows = np.bincount(which, weights, minlength=len(edges) - 1).astype(np.float64)
    filled = rows > 0
    rows = rows[filled]
    said_in = np.bincount(which, weights * p, minlength=len(edges) - 1)[filled] / rows
    seen_in = np.bincount(which, weights * true, minlength=len(edges) - 1)[filled] / rows
    variance = np.bincount(which, weights**2 * p * (1 - p), minlength=len(edges) - 1)[filled]
    spread = np.sqrt(variance) / rows
    share, gaps = rows / rows.sum(), np.abs(said_in - seen_in)
    chance_spread = float(np.sqrt(((share * spread) ** 2).sum() * (1 - MEAN_OF_SIZE**2)))
    in_all = float(np.average(p, weights=weights)), float(np.average(true, weights=weights))
    summed = float((share * gaps).sum()), float(gaps.max()), float((share * spread).sum() * MEAN_OF_SIZE)
    return Reliability(
        of, edges[:-1][filled], edges[1:][filled], rows, said_in, seen_in, spread, *summed, chance_spread, *in_all
    )


def calibration_error(probabilities: Any, truth: Any, bins: int = BINS, sample_weight: Any = None) -> float:
    """The mean of |said − seen| of the chosen class, from probabilities (rows, classes) and true classes (rows,).

    >>> calibration_error([[0.9, 0.1], [0.9, 0.1]], [0, 1]).__round__(3)
    0.4
    """
    return top_reliability(probabilities, truth, bins, sample_weight=sample_weight).error


def top_reliability(
    probabilities: Any,
    truth: Any,
    bins: int = BINS,
    strategy: Literal["uniform", "quantile"] = "uniform",
    sample_weight: Any = None,
) -> Reliability:
    """The curve of the most probable class of each row."""
    p, codes = classed_rows(probabilities, truth)
    right = p.argmax(axis=1) == codes if p.size else np.zeros(len(p), dtype=bool)
    return reliability(p.max(axis=1, initial=0.0), right, bins, strategy, sample_weight)


def brier_parts(probabilities: Any, truth: Any, bins: int = BINS, sample_weight: Any = None) -> BrierParts:
    """The parts of Σ_c (P(c) − [c is true])² from probabilities (rows, classes) and true classes (rows,).

    >>> parts = brier_parts([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], [0, 0, 1, 0])
    >>> round(parts.brier, 6), round(parts.reliability - parts.resolution + parts.uncertainty + parts.within, 6)
    (0.38, 0.38)
    """
    p, codes = classed_rows(probabilities, truth)
    sums = np.zeros(5)
    for c in range(p.shape[1]):
        rows = _checked(p[:, c], codes == c, sample_weight)
        curve = reliability(rows.scores, rows.truth, bins, sample_weight=rows.weights)
        share = curve.rows / curve.rows.sum()
        seen = curve.seen_in_all
        whole = float(np.average((rows.scores - rows.truth) ** 2, weights=rows.weights))
        off, apart = float(share @ (curve.said - curve.seen) ** 2), float(share @ (curve.seen - seen) ** 2)
        unsure = seen * (1 - seen)
        sums += [whole, off, apart, unsure, whole - off + apart - unsure]
    return BrierParts(*sums.tolist())


def _checked(said: Any, came_true: Any, sample_weight: Any) -> ScoredRows:
    rows = ScoredRows.of(came_true, said, sample_weight, "probability")
    beyond = np.flatnonzero((rows.scores < 0) | (rows.scores > 1))
    if len(beyond):
        worst = float(rows.scores[beyond[0]])
        raise BayesError(f"{worst!r} is no probability: give numbers from 0 to 1", culprit=worst)
    return rows


def _bins(p: Floats, weights: Floats, bins: int, strategy: str) -> tuple[npt.NDArray[np.intp], Floats]:
    """(the bin of each row, the borders)"""
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise BayesError(f"bins={bins!r}: give a whole number of at least 1", culprit=bins)
    if strategy not in ("uniform", "quantile"):
        raise BayesError(f'strategy={strategy!r}: give "uniform" or "quantile"', culprit=strategy)
    shares = np.linspace(0, 1, bins + 1)
    edges = shares if strategy == "uniform" else _quantiles(p, weights, shares)
    return np.searchsorted(edges[1:-1], p), edges


def _quantiles(numbers: Floats, weights: Floats, shares: Floats) -> Floats:
    """Quantiles with lines between the numbers, as NumPy has them, each number there as often as it weighs.

    >>> _quantiles(np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([0.5, 0.9])).round(6).tolist()
    [1.0, 1.7]
    >>> np.quantile([1, 1, 1, 2], [0.5, 0.9]).round(6).tolist()
    [1.0, 1.7]
    """
    order = np.argsort(numbers, kind="stable")
    after = np.cumsum(weights[order])
    first = after - weights[order]
    last = np.maximum(after - 1, first)  # a weight below one is one number
    places, values = np.stack([first, last], axis=1).ravel(), np.repeat(numbers[order], 2)
    return np.interp(shares * last[-1], places, values)
