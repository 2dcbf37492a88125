"""Detect drift: columns with more missing cells or unseen values than the training data suggests.

By the Good–Turing estimate, the expected share of cells with a new value is n₁ / N, the share of values seen once. A
share is reported if it exceeds the expected one by at least 1/20 of the cells and has a probability below 1/1000 over
all columns by Chernoff's bound: n KL(share ‖ expected) > ln(1000 · columns).

:func:`drift` compares whole columns: the counts of a model and those of new rows, by the population stability index
Σ (q − p) ln(q / p), which is the symmetric Kullback–Leibler divergence. For numbers of which moments are counted it is
that of two normal distributions, ½ (s²/t² + t²/s² − 2 + (μ − ν)² (1/s² + 1/t²)). p-values are those of the χ² test of
two samples (of Fisher's exact test where rows are few), or of Welch's t test, with Holm's correction for the number of
columns.

Formula: n₁ / N new values (Good and Turing), and when a share is remarkable; the population stability index
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.frames import open_source
from bayeskit.data.unseen import without_unseen_warnings
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, with_article
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.inner_model import reader_of
from bayeskit.tables import Figure, Readable, Sheet, Table
from bayeskit.tally.moments import Moments
from bayeskit.tally.tally import Tally

MORE = 0.05  # of the cells: less is not worth a word
ODDS = 1000.0  # against chance
LEVEL = 0.01  # of the tests of all columns together
LEAST_PSI = 0.1  # the usual mark of a shift worth a look
BINS = 10  # of a column whose numbers are counted
LEAST_EXPECTED = 5.0  # rows of a value in the χ² test; rarer values are taken together


@dataclass(frozen=True)
class Shift:
    """A column with more missing or unseen cells than the training data suggests."""

    column: str
    what: Literal["missing", "unseen"]
    count: int
    of: int
    expected: float

    @property
    def share(self) -> float:
        """Return the share of the cells."""
        return self.count / self.of


class Drift:
    """Count missing and unseen cells over blocks of new rows and compare them with a model's tally.

    >>> from bayeskit import NaiveBayes, open_source
    >>> model = NaiveBayes().fit({"sky": ["sun", "rain"] * 20}, ["yes", "no"] * 20)
    >>> drift = Drift(model.tally_, model._encoder().vocabularies)
    >>> for block in model._encoder().blocks(open_source({"sky": ["hail", "snow", None, "sun"] * 5})):
    ...     drift.add(block)
    >>> [(shift.column, shift.what, shift.count, shift.of) for shift in drift.shifts()]
    [('sky', 'missing', 5, 20), ('sky', 'unseen', 10, 15)]
    """

    def __init__(self, tally: Tally, vocabularies: Mapping[str, Vocabulary]) -> None:
        self._unseen = {name: vocabulary.unseen for name, vocabulary in vocabularies.items()}
        self._expected_missing, self._expected_new = _expected(tally)
        self._missing: Counter[str] = Counter()
        self._new: Counter[str] = Counter()
        self.n_rows = 0

    def add(self, block: Block) -> None:
        """Count the cells of a block."""
        self.n_rows += block.n_rows
        for name, numbers in block.floats.items():
            self._missing[name] += int(np.count_nonzero(np.isnan(numbers)))
        for name, codes in block.codes.items():
            self._missing[name] += int(np.count_nonzero(codes == 0))
            if name in self._unseen:
                self._new[name] += int(np.count_nonzero(codes == self._unseen[name]))

    def shifts(self) -> list[Shift]:
        """Return the significant shifts in column order."""
        shifts = []
        for name, missing in self._missing.items():
            if name in self._expected_missing:
                shifts.append(Shift(name, "missing", missing, self.n_rows, self._expected_missing[name]))
            if name in self._new and name in self._expected_new:
                present = self.n_rows - missing
                shifts.append(Shift(name, "unseen", self._new[name], present, self._expected_new[name]))
        bound = float(logspace.log(ODDS * max(len(self._missing), 1)))
        return [shift for shift in shifts if shift.of and _is_remarkable(shift, bound)]


def _is_remarkable(shift: Shift, bound: float) -> bool:
    if shift.share < shift.expected + MORE:
        return False
    counts = np.array([shift.count, shift.of - shift.count], dtype=np.float64)
    expected = np.array([shift.expected, 1 - shift.expected])
    return float(weighted_log_ratio(counts, counts / shift.of, expected).sum()) > bound


def _expected(tally: Tally) -> tuple[dict[str, float], dict[str, float]]:
    """Return the expected (share of missing cells, share of new values) of each counted column."""
    missing, new, rows = {}, {}, float(tally.n_rows)
    for name, family in tally.families.items():
        missing[name] = _share(family.missing.sum().item(), rows)
        counts = family.present.sum(axis=0)
        new[name] = _share(float(np.count_nonzero(counts == 1)), counts.sum().item())
    for name in tally.summed:
        missing[name] = _share(rows - tally.moments_of([name]).pooled().n[0, 0].item(), rows)
    for name, distinct in tally.values.items():
        missing[name] = _share(rows - distinct.counts.sum().item(), rows)
    return missing, new


def _share(count: float, of: float) -> float:
    """Return a smoothed share that is neither 0 nor 1."""
    return (max(count, 0.0) + 0.5) / (of + 1)


# -- whole columns ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnDrift:
    """The difference of a column between the training and new rows.

    ``psi`` is the population stability index, ``p_value`` that of the test, corrected for the number of columns;
    ``missing`` and ``unseen`` are shares of the new rows, ``was_missing`` one of the training. ``means`` are those of a
    column of numbers, before and after, and geometric means where the model takes it for log-normal.
    """

    column: str
    psi: float
    p_value: float
    was_missing: float
    missing: float
    unseen: float = 0.0
    means: tuple[float, float] | None = None

    @property
    def has_drifted(self) -> bool:
        """Return True if the difference is neither chance nor small."""
        return self.p_value < LEVEL and self.psi > LEAST_PSI


@dataclass(frozen=True, repr=False)
class DriftReport(Readable, Drawable):
    """The difference between the rows that a model has counted and new ones.

    Attributes
    ----------
    columns : tuple of ColumnDrift
        Sorted by the population stability index.
    classes : tuple of class labels
    was : tuple of float
        Shares of the classes in training.
    now : tuple of float
        Mean predicted probabilities of the new rows.
    rows : int
    log_loss : float or None
        Of the new rows, if their classes are known.
    """

    columns: tuple[ColumnDrift, ...]
    classes: tuple[Value, ...]
    was: tuple[float, ...]
    now: tuple[float, ...]
    rows: int
    log_loss: float | None = None

    @property
    def drifted(self) -> tuple[ColumnDrift, ...]:
        """Return the columns that differ from the training."""
        return tuple(column for column in self.columns if column.has_drifted)

    @property
    def table(self) -> Table:
        """Return the columns with their index, test, missing and unseen cells."""
        return Table({
            "column": [c.column for c in self.columns],
            "PSI": [c.psi for c in self.columns],
            "p": [c.p_value for c in self.columns],
            "missing before": [Figure(f"{c.was_missing:.1%}") for c in self.columns],
            "missing": [Figure(f"{c.missing:.1%}") for c in self.columns],
            "unseen": [Figure(f"{c.unseen:.1%}") for c in self.columns],
            "mean before": [Figure(f"{c.means[0]:.5g}" if c.means else "") for c in self.columns],
            "mean": [Figure(f"{c.means[1]:.5g}" if c.means else "") for c in self.columns],
            "verdict": ["drifted" if c.has_drifted else "" for c in self.columns],
        })  # fmt: skip

    @property
    def sheet(self) -> Sheet:
        """Return the verdict, the columns and the classes."""
        names = ", ".join(column.column for column in self.drifted)
        title = f"{self.rows:,} rows: " + (f"drifted: {names}" if names else "no column has drifted")
        shares = Table({"class": list(self.classes), "share in training": list(self.was), "predicted": list(self.now)})
        loss = () if self.log_loss is None else ("", f"log loss of these rows: {self.log_loss:.4g} nats")
        return Sheet(title, ("", self.table.grid, "", shares.grid, *loss))


def drift(model: Any, X: Any, y: Any = None) -> DriftReport:
    """Compare new rows with the rows that a model has counted.

    Parameters
    ----------
    model : classifier
        A fitted model with counts.
    X : table or array of shape (n_rows, n_columns)
    y : array-like of shape (n_rows,) or str, optional
        Classes of the rows, or the name of their column; the log loss is computed from them.

    Returns
    -------
    DriftReport

    Raises
    ------
    BayesError
        If the model keeps no counts.

    Examples
    --------
    Grams became kilograms:

    >>> from bayeskit import NaiveBayes, datasets, drift
    >>> birds = datasets.load_penguins().to_pandas().drop(columns="year")
    >>> model = NaiveBayes(numeric="gaussian").fit(birds, "species")
    >>> later = birds.sample(100, random_state=0).assign(body_mass_g=lambda rows: rows.body_mass_g / 1000)
    >>> [column.column for column in drift(model, later, "species").drifted]
    ['body_mass_g']
    """
    from bayeskit.evaluate.cross_validation import evaluate_test_set

    while hasattr(model, "costs_"):  # compare the probabilities, not the decisions by cost
        model = model.classifier_
    reader = reader_of(model)
    if not hasattr(reader, "_count_more") or not hasattr(model, "predict_proba"):
        raise BayesError(f"{with_article(type(model).__name__)} keeps no counts of columns to compare new rows with")
    with without_unseen_warnings():  # the report counts them
        proba = model.predict_proba(X)
        labels = model.predict(X) if y is None else y
        after = reader._count_more(reader._labeled(X, labels, None))
    before = reader._model_tally()
    columns = sorted(
        _adjusted([*_compare(before, after, getattr(reader, "numeric_", {}))]), key=lambda column: -column.psi
    )
    counts = before.class_counts.reshape(-1)
    was = dict(zip(before.classes, (counts / counts.sum()).tolist(), strict=True))
    classes = tuple(model.classes_.tolist())
    loss = None if y is None else evaluate_test_set(model, open_source(X, y)).log_loss
    shares = tuple(was.get(label, 0.0) for label in classes)
    return DriftReport(tuple(columns), classes, shares, tuple(proba.mean(axis=0).tolist()), len(proba), loss)


def _compare(before: Tally, after: Tally, kinds: Mapping[str, str]) -> Iterator[ColumnDrift]:
    """Compare every column that both tallies have counted; ``kinds`` are those of numbers."""
    rows = float(before.n_rows), float(after.n_rows)
    for name, family in before.families.items():
        other = after.families[name]
        old, new = (dict(zip(f.values, f.present.sum(axis=0).tolist(), strict=True)) for f in (family, other))
        missing = family.missing.sum().item(), other.missing.sum().item()
        unseen = sum(count for value, count in new.items() if not old.get(value))
        values = [*{**old, **new}]
        pairs = np.array([missing, *((old.get(v, 0), new.get(v, 0)) for v in values)], dtype=np.float64)
        yield _of_counts(name, pairs, missing[0] / rows[0], missing[1] / rows[1], unseen / rows[1])
    for name, distinct in before.values.items():
        sides = [(d.points, d.counts.sum(axis=0).astype(np.float64)) for d in (distinct, after.values[name])]
        cuts = _quantiles(*sides[0])
        binned = [np.bincount(np.searchsorted(cuts, x), weights, len(cuts) + 1) for x, weights in sides]
        missing = rows[0] - binned[0].sum(), rows[1] - binned[1].sum()
        pairs = np.stack([np.append(counts, gap) for counts, gap in zip(binned, missing, strict=True)], axis=1)
        found = _of_counts(name, pairs, missing[0] / rows[0], missing[1] / rows[1])
        yield replace(found, means=(_mean(*sides[0]), _mean(*sides[1])))
    for name in before.summed:
        if name not in before.values:
            found = _of_moments(name, before.moments_of([name]), after.moments_of([name]), rows)
            if found.means is not None and kinds.get(name) == "lognormal":
                low, high = (float(logspace.exp(mean)) for mean in found.means)
                found = replace(found, means=(low, high))
            yield found


def _quantiles(x: Any, weights: Any) -> Any:
    """Return the inner bounds of bins of about equal weight."""
    share = np.cumsum(weights) / weights.sum()
    at = np.searchsorted(share, np.arange(1, BINS) / BINS)
    return np.unique(x[np.minimum(at, len(x) - 1)])


def _mean(x: Any, weights: Any) -> float:
    return float((x * weights).sum() / weights.sum()) if weights.sum() else float("nan")


def _of_counts(name: str, pairs: Any, was_missing: float, missing: float, unseen: float = 0.0) -> ColumnDrift:
    """Compare counts before and after, shape (n_values, 2)."""
    from scipy.stats import chi2_contingency, fisher_exact

    pairs = pairs[pairs.sum(axis=1) > 0]
    smooth = pairs + 0.5
    p, q = (smooth / smooth.sum(axis=0)).T
    expected = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0) / pairs.sum()
    common = (expected >= LEAST_EXPECTED).all(axis=1)
    table = np.vstack([pairs[common], pairs[~common].sum(axis=0)])
    table = table[table.sum(axis=1) > 0]
    if len(table) > 1:
        p_value = float(chi2_contingency(table, correction=False).pvalue)
    else:  # too few rows for that: unseen values, or else the most common value, against all others
        apart = pairs[:, 0] == 0 if unseen else np.arange(len(pairs)) == np.argmax(pairs[:, 0])
        p_value = float(fisher_exact(np.rint([pairs[apart].sum(axis=0), pairs[~apart].sum(axis=0)])).pvalue)
    return ColumnDrift(name, _symmetric_divergence(p, q), p_value, was_missing, missing, unseen)


def _symmetric_divergence(p: Any, q: Any) -> float:
    return float((weighted_log_ratio(q, q, p) + weighted_log_ratio(p, p, q)).sum())


def _of_moments(name: str, before: Moments, after: Moments, rows: tuple[float, float]) -> ColumnDrift:
    """Compare the means and variances of a column of numbers."""
    from scipy import stats

    welch: Any = stats.ttest_ind_from_stats
    sides = [moments.pooled() for moments in (before, after)]
    n = [float(side.n[0, 0]) for side in sides]
    was_missing, missing = (1 - counted / total for counted, total in zip(n, rows, strict=True))
    if min(n) < 2:
        return ColumnDrift(name, 0.0, 1.0, was_missing, missing)
    means = [float(side.mean()[0, 0]) for side in sides]
    deviations = [
        float((side.squared_deviations()[0, 0] / counted) ** 0.5) for side, counted in zip(sides, n, strict=True)
    ]
    floor = max(*deviations, *map(abs, means), 1.0) / 1000  # of a constant column
    s, t = (max(deviation, floor) for deviation in deviations)
    psi = (s**2 / t**2 + t**2 / s**2 - 2 + (means[0] - means[1]) ** 2 * (1 / s**2 + 1 / t**2)) / 2
    p_value = float(welch(means[0], s, n[0], means[1], t, n[1], equal_var=False).pvalue)
    return ColumnDrift(name, psi, p_value, was_missing, missing, means=(means[0], means[1]))


def _adjusted(columns: list[ColumnDrift]) -> list[ColumnDrift]:
    """Correct the p-values for their number, by Holm's method."""
    largest, corrected = 0.0, []
    for i, column in enumerate(sorted(columns, key=lambda c: c.p_value)):
        largest = max(largest, min(1.0, column.p_value * (len(columns) - i)))
        corrected.append(replace(column, p_value=largest))
    return corrected
