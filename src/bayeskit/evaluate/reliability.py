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
mean absolute value √(2/π) of its standard deviation. :class:`CalibrationTest` tests whether the outcomes are consistent
with the probabilities, by a parametric bootstrap: it draws ``seen`` of each bin from a binomial distribution with mean
``said`` and that variance. Three statistics are computed from each draw, divided by their 95 % quantiles over
the draws, and the largest of the three is compared with its own distribution:

    calibration error   Σ_b (n_b / n) |said_b − seen_b|
    mean difference     |Σ_b (n_b / n) (said_b − seen_b)|
    Spiegelhalter's z   |Σ_b (n_b / n) (said_b − seen_b) (1 − 2 said_b)|, up to a factor

The smallest detectable error is the δ for which probabilities that are all too extreme by δ are found in 80 % of draws.

References: D. J. Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials;
J. Bröcker and L. A. Smith (2007), Increasing the reliability of reliability diagrams.

Formula: calibration error, and by chance; the parts of the Brier score
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.evaluate.ranking_curves import ScoredRows, check_class_rows
from bayeskit.settings import is_integer
from bayeskit.tables import Grid, Readable, Sheet, Table
from bayeskit.tolerance import LEAST_PROBABILITY, POSITIVE, TIE
from bayeskit.typing import Floats

BINS = 15
DRAWS = 2000  # of the bootstrap
LEVEL = 0.05  # of the test
POWER = 0.8
IMMATERIAL = 0.02  # calibration errors below are not reported, even if significant
TO_DETECT = 0.05  # calibration error that must be detectable before probabilities are called consistent
LARGEST_SIZE = 2**53  # of a binomial
MEAN_OF_SIZE = (2 / np.pi) ** 0.5  # of a normal variable, in its standard deviations


@dataclass(frozen=True, repr=False)
class BrierParts(Readable, Drawable):
    """Decomposition of the Brier score, summed over the classes.

    brier = reliability − resolution + uncertainty + within.

    Attributes
    ----------
    brier : float
        Brier score.
    reliability : float
        Squared difference of predicted probability and observed frequency; 0 if calibrated.
    resolution : float
        Variance of the observed frequency over the bins; larger is better.
    uncertainty : float
        Variance of the classes; does not depend on the model.
    within : float
        Variation inside the bins.

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
        return Table(self._columns)

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        return Sheet("Decomposition of the Brier score", (Grid(self._columns),))

    @property
    def _columns(self) -> dict[str, list[Any]]:
        parts = ["reliability (+)", "resolution (−)", "uncertainty (+)", "within bins (+)", "Brier score"]
        return {"part": parts, "value": [self.reliability, self.resolution, self.uncertainty, self.within, self.brier]}


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
    n_impossible : int
        Rows whose outcome had a stated probability below 1e-15.
    p_value : float
        Probability of a deviation at least as large under calibration; 0 if there are impossible rows.
    detectable : float
        Smallest calibration error that would have been found with 80 % probability.
    verdict : {"consistent", "inconsistent", "too few rows"}
        "inconsistent" if p < 0.05 and the error is at least 0.02, or if there are impossible rows; else "consistent" if
        an error of 0.05 would have been found with 80 % probability; else "too few rows" to tell.

    Examples
    --------
    >>> from bayeskit import reliability
    >>> curve = reliability([0.8, 0.8, 0.8, 0.8, 0.1], [1, 1, 0, 0, 0], bins=5)
    >>> curve.verdict, round(curve.largest, 2)
    ('too few rows', 0.3)
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
    n_impossible: int = 0

    @cached_property
    def _test(self) -> CalibrationTest:
        return CalibrationTest(self)

    @property
    def p_value(self) -> float:
        """Return the probability of a deviation at least as large under calibration."""
        return 0.0 if self.n_impossible else self._test.p_value

    @property
    def detectable(self) -> float:
        """Return the smallest calibration error that would have been found with 80 % probability."""
        return self._test.detectable

    @property
    def verdict(self) -> Literal["consistent", "inconsistent", "too few rows"]:
        """Return whether the outcomes are consistent with the probabilities."""
        if self.n_impossible or (self.error >= IMMATERIAL and self.p_value < LEVEL):
            return "inconsistent"
        return "consistent" if self._test.power(TO_DETECT) >= POWER else "too few rows"

    @property
    def sentence(self) -> str:
        """Describe the calibration in one sentence or two."""
        error = f"calibration error {self.error:.3f}, of which chance gives {self.by_chance:.3f}"
        error = error if self.n_impossible else f"{error}, p = {self.p_value:.2g}"
        found = f"An error of {self.detectable:.2f} would have been found with {POWER:.0%} probability."
        if self.verdict == "consistent":
            return f"The probabilities are consistent with the outcomes ({error}). {found}"
        if self.verdict == "too few rows":
            return f"There are too few rows to tell whether the probabilities are calibrated ({error}). {found}"
        if self.n_impossible:
            what = f"{self.n_impossible:,} row{'s' * (self.n_impossible > 1)} had an outcome of probability zero"
            return f"The probabilities are not calibrated: {what} ({error})."
        what = "is right" if self.of is None else f"is {self.of!r}"
        ways = "over" if self.said_in_all > self.seen_in_all else "under"
        gap = abs(self.said_in_all - self.seen_in_all)
        if gap < self.error / 2:  # too high here and too low there
            return f"The probabilities are not calibrated: they are off by {self.error:.0%} on average ({error})."
        said, seen = f"{self.said_in_all:.1%}", f"{self.seen_in_all:.1%}"
        untrusted = f"The probabilities are not calibrated: {ways}confident, it"
        return f"{untrusted} says {said} on average and {what} in {seen} ({error})."

    @property
    def table(self) -> Table:
        """Return the bins as a table."""
        rows = [int(n) if float(n).is_integer() else float(n) for n in self.rows]
        columns = {"above": self.low.tolist(), "up to": self.high.tolist(), "rows": rows}
        return Table(columns | {name: getattr(self, name).tolist() for name in ("said", "seen", "spread")}, keys=2)

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        of = "the chosen class" if self.of is None else f"class {self.of!r}"
        return Sheet(f"Reliability of the probabilities of {of}", ("", self.table.grid, "", self.sentence))


class CalibrationTest:
    """Bootstrap test of calibration from the bins of a reliability diagram; draws are the same in every call."""

    def __init__(self, curve: Reliability) -> None:
        self.share, self.said = curve.rows / curve.rows.sum(), np.clip(curve.said, 0.0, 1.0)
        # A binomial of this size has the variance of the bin, whose rows may have different probabilities and weights.
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.where(curve.spread > 0, self.said * (1 - self.said) / curve.spread**2, curve.rows)
        self.size = np.clip(np.round(size), 1, LARGEST_SIZE).astype(np.int64)
        null = self._statistics(self._draw(self.said))
        self.scale = np.maximum(np.quantile(null, 1 - LEVEL, axis=0), POSITIVE)
        self.null = np.sort((null / self.scale).max(axis=1))
        self.p_value = self._p_values(curve.seen[None])[0]

    def _draw(self, means: Floats) -> Floats:
        """Draw observed frequencies (n_draws, n_bins) with these means (n_bins,)."""
        return np.random.default_rng(0).binomial(self.size, means, (DRAWS, len(means))) / self.size

    def _statistics(self, seen: Floats) -> Floats:
        """Compute the three statistics (n_draws, 3) of observed frequencies (n_draws, n_bins)."""
        off = self.share * (self.said - seen)
        return np.stack([np.abs(off).sum(1), np.abs(off.sum(1)), np.abs(off @ (1 - 2 * self.said))], axis=1)

    def _p_values(self, seen: Floats) -> Floats:
        largest = (self._statistics(seen) / self.scale).max(axis=1)
        at_least = DRAWS - np.searchsorted(self.null, largest * (1 - TIE))
        return (1 + at_least) / (1 + DRAWS)

    def power(self, error: float) -> float:
        """Compute the probability that the test rejects if all probabilities are too extreme by ``error``."""
        means = self.said + np.where(self.said < 0.5, error, -error)
        return float((self._p_values(self._draw(np.clip(means, 0.0, 1.0))) < LEVEL).mean())

    @cached_property
    def detectable(self) -> float:
        """Smallest error that the test finds with 80 % probability, to 0.005; 0.5 if there is none."""
        low, high = 0, 100
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(middle / 200) >= POWER else (middle, high)
        return high / 200


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
    terms = (weights, weights * p, weights * true, weights**2 * p * (1 - p))
    sums = np.array([np.bincount(which, term, minlength=len(edges) - 1) for term in terms])
    filled = sums[0] > 0
    rows, said_in, seen_in, variance = sums[:, filled]
    said_in, seen_in, spread = said_in / rows, seen_in / rows, np.sqrt(variance) / rows
    share, gaps = rows / rows.sum(), np.abs(said_in - seen_in)
    chance_spread = float(np.sqrt(((share * spread) ** 2).sum() * (1 - MEAN_OF_SIZE**2)))
    in_all = float(np.average(p, weights=weights)), float(np.average(true, weights=weights))
    summed = float((share * gaps).sum()), float(gaps.max()), float((share * spread).sum() * MEAN_OF_SIZE)
    impossible = int(((np.where(checked.truth, p, 1 - p) < LEAST_PROBABILITY) & (weights > 0)).sum())
    bounds = edges[:-1][filled], edges[1:][filled]
    return Reliability(
        of, *bounds, rows, said_in, seen_in, spread, *summed, chance_spread, *in_all, impossible
    )  # fmt: skip


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
    beyond = rows.scores[(rows.scores < 0) | (rows.scores > 1)]
    if len(beyond):
        raise BayesError(f"{float(beyond[0])!r} is not a probability: give numbers from 0 to 1")
    return rows


def _bins(p: Floats, weights: Floats, bins: int, strategy: str) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the bin of each row and the bin edges."""
    if not is_integer(bins) or bins < 1:
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
