"""Reliability diagrams, expected calibration error and decomposition of the Brier score.

Rows are binned by predicted probability, (low, high]. ``said`` is the mean predicted probability of a bin and ``seen``
the observed frequency:

    calibration error   Σ_b (n_b / n) |said_b − seen_b|
    Brier               = reliability − resolution + uncertainty + within
      reliability   Σ_b (n_b / n) (said_b − seen_b)²
      resolution    Σ_b (n_b / n) (seen_b − seen)²
      uncertainty   seen (1 − seen)
      within        variation inside the bins; 0 if all rows of a bin have equal probabilities (Stephenson et al., 2008)

Calibrated probabilities have a calibration error, too: the difference in a bin has variance Σ p (1 − p) / n_b², and
mean absolute value √(2/π) of its standard deviation. An error is significant if it exceeds this expectation by four
standard deviations, and reported if it is at least 0.02.

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
from bayeskit.evaluate.ranking_curves import ScoredRows, check_class_rows
from bayeskit.tables.sheet import Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.typing import Floats

BINS = 15
REMARKABLE = 4.0  # standard deviations beyond chance
WORTH_A_WORD = 0.02  # of probability: less is not worth a word
MEAN_OF_SIZE = (2 / np.pi) ** 0.5  # of a normal variable, in its standard deviations


@dataclass(frozen=True)
class BrierParts(Drawable):
    """Decomposition of the Brier score, summed over the classes.

    brier = reliability − resolution + uncertainty + within.

    Examples
    --------
    >>> from bayeskit import brier_parts
    >>> parts = brier_parts([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> parts.brier, parts.resolution, parts.uncertainty
    (0.0, 0.5, 0.5)
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float

    @property
    def table(self) -> Table:
        """Return the parts with their signs."""
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
    """Reliability diagram: predicted probability and observed frequency by bin. Empty bins are dropped.

    Attributes
    ----------
    of : class label or None
        The class of the probabilities; None for the predicted class of each row.
    low, high : ndarray of shape (n_bins,)
        Bin edges, low < p ≤ high (the first bin includes p = 0).
    rows : ndarray of shape (n_bins,)
        Rows in each bin, or their weight.
    said, seen : ndarray of shape (n_bins,)
        Mean predicted probability and observed frequency.
    spread : ndarray of shape (n_bins,)
        Standard deviation of ``seen`` under calibration.
    error, largest : float
        Mean of |said − seen| over the rows (expected calibration error) and its maximum over the bins.
    by_chance, chance_spread : float
        Mean and standard deviation of ``error`` under calibration.
    said_in_all, seen_in_all : float
        Mean predicted probability and observed frequency of all rows.

    Examples
    --------
    >>> from bayeskit import reliability
    >>> curve = reliability([0.8, 0.8, 0.8, 0.8, 0.1], [1, 1, 0, 0, 0], bins=5)
    >>> curve.is_trusted, round(curve.largest, 2)
    (True, 0.3)
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
        """Return True if the calibration error is below 0.02 or not significant."""
        beyond = self.error - self.by_chance
        return self.error < WORTH_A_WORD or not beyond > REMARKABLE * self.chance_spread

    @property
    def sentence(self) -> str:
        """Describe the calibration in one sentence."""
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
        """Return the bins as a table."""
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
        """Return the printable form."""
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
    """Compute a reliability diagram.

    Parameters
    ----------
    said : array-like of shape (n_rows,)
        Predicted probabilities of an event.
    came_true : array-like of bool, shape (n_rows,)
        Outcomes.
    bins : int, default=15
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or with equal numbers of rows, as in scikit-learn's ``calibration_curve``.
    sample_weight : array-like of shape (n_rows,), optional
        Rows of weight 0 are ignored.
    of : class label, optional
        Name of the event, for titles.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> curve = reliability([0.8, 0.8, 0.8, 0.8, 0.1], [1, 1, 0, 0, 0], bins=5)
    >>> curve.said.tolist(), curve.seen.tolist(), round(curve.error, 3)
    ([0.1, 0.8], [0.0, 0.5], 0.26)
    """
    checked = _check_rows(said, came_true, sample_weight)
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
    """Compute the expected calibration error of the predicted class.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
    truth : array-like of int, shape (n_rows,)
        Codes of the true classes.
    bins : int, default=15
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    float
        Mean of |predicted probability − observed frequency| over bins of equal width.

    Examples
    --------
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
    """Compute the reliability diagram of the most probable class of each row."""
    p, codes = check_class_rows(probabilities, truth)
    right = p.argmax(axis=1) == codes if p.size else np.zeros(len(p), dtype=bool)
    return reliability(p.max(axis=1, initial=0.0), right, bins, strategy, sample_weight)


def brier_parts(probabilities: Any, truth: Any, bins: int = BINS, sample_weight: Any = None) -> BrierParts:
    """Decompose the Brier score Σ_c (P(c) − [c is true])².

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
    truth : array-like of int, shape (n_rows,)
        Codes of the true classes.
    bins : int, default=15
    sample_weight : array-like of shape (n_rows,), optional

    Returns
    -------
    BrierParts

    Examples
    --------
    >>> parts = brier_parts([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], [0, 0, 1, 0])
    >>> round(parts.brier, 6), round(parts.reliability - parts.resolution + parts.uncertainty + parts.within, 6)
    (0.38, 0.38)
    """
    p, codes = check_class_rows(probabilities, truth)
    sums = np.zeros(5)
    for c in range(p.shape[1]):
        rows = _check_rows(p[:, c], codes == c, sample_weight)
        curve = reliability(rows.scores, rows.truth, bins, sample_weight=rows.weights)
        share = curve.rows / curve.rows.sum()
        seen = curve.seen_in_all
        whole = float(np.average((rows.scores - rows.truth) ** 2, weights=rows.weights))
        off, apart = float(share @ (curve.said - curve.seen) ** 2), float(share @ (curve.seen - seen) ** 2)
        unsure = seen * (1 - seen)
        sums += [whole, off, apart, unsure, whole - off + apart - unsure]
    return BrierParts(*sums.tolist())


def _check_rows(said: Any, came_true: Any, sample_weight: Any) -> ScoredRows:
    rows = ScoredRows.of(came_true, said, sample_weight, "probability")
    beyond = np.flatnonzero((rows.scores < 0) | (rows.scores > 1))
    if len(beyond):
        worst = float(rows.scores[beyond[0]])
        raise BayesError(f"{worst!r} is no probability: give numbers from 0 to 1")
    return rows


def _bins(p: Floats, weights: Floats, bins: int, strategy: str) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the bin of each row and the bin edges."""
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
        raise BayesError(f"bins={bins!r}: give a whole number of at least 1")
    if strategy not in ("uniform", "quantile"):
        raise BayesError(f'strategy={strategy!r}: give "uniform" or "quantile"')
    shares = np.linspace(0, 1, bins + 1)
    edges = shares if strategy == "uniform" else _quantiles(p, weights, shares)
    return np.searchsorted(edges[1:-1], p), edges


def _quantiles(numbers: Floats, weights: Floats, shares: Floats) -> Floats:
    """Compute weighted quantiles with linear interpolation, as NumPy does for repeated numbers.

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
