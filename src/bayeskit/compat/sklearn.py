# mypy: allow-subclassing-any, allow-untyped-decorators, no-warn-return-any
"""Faster drop-in replacements of scikit-learn's five naive Bayes classifiers.

Parameters, attributes, results and refusals are scikit-learn's own, since each class is a subclass of
its namesake. Replaced is the work that grows with the rows: class codes for an indicator matrix, one pass
of counting or summing for one pass a class, one `exp` a cell. Whatever is out of the ordinary (a value to
refuse, labels of mixed types, float32, another array library) is handed to scikit-learn as it came.

>>> from sklearn import naive_bayes
>>> X, y = np.array([[0, 1], [1, 0], [1, 1], [0, 1]]), ["a", "b", "b", "a"]
>>> bool(np.allclose(CategoricalNB().fit(X, y).predict_proba(X),
...                  naive_bayes.CategoricalNB().fit(X, y).predict_proba(X)))
True

Formula: scikit-learn's five classifiers
"""

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn import naive_bayes
from sklearn.base import _fit_context
from sklearn.preprocessing import binarize
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import _check_sample_weight, check_non_negative, validate_data

from bayeskit import kernels
from bayeskit.data.label_codes import class_codes, class_names, distinct_labels, holds_integers
from bayeskit.estimate.variance import log_peak
from bayeskit.logspace import log, log_normalize, normalize
from bayeskit.tally import double_double as dd
from bayeskit.tally.moments import Moments
from bayeskit.typing import Array, Floats

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]

ONE_THREAD = 1  # as scikit-learn: whoever runs many fits at once decides on the threads

_checked = _fit_context(prefer_skip_nested_validation=True)


class _Posterior(naive_bayes._BaseNB):
    """Probabilities from log scores, each `exp` taken once."""

    classes_: Any

    def predict_log_proba(self, X: Any) -> Any:
        """Return log P(c | x), shape (n_rows, n_classes).

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._posterior(X, log_normalize, super().predict_log_proba)

    def predict_proba(self, X: Any) -> Any:
        """Return P(c | x), shape (n_rows, n_classes).

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._posterior(X, normalize, super().predict_proba)

    def _posterior(self, X: Any, normalize: Any, otherwise: Any) -> Any:
        """Normalize float64 scores; other types and infinite scores are left to scikit-learn."""
        scores = self.predict_joint_log_proba(X)
        if _is_float64(scores):
            posterior, log_evidence = normalize(scores)
            if np.all(log_evidence < np.inf):
                return posterior
        return otherwise(X)


class GaussianNB(_Posterior, naive_bayes.GaussianNB):
    """Naive Bayes with a normal distribution for every class and column.

    Variances are those of the batch plus ``var_smoothing`` times the largest variance of any column.

    >>> model = GaussianNB().fit([[1.0], [3.0], [7.0], [9.0]], ["low", "low", "high", "high"])
    >>> model.classes_.tolist(), model.theta_.tolist()
    (['high', 'low'], [[8.0], [2.0]])
    >>> model.predict([[4.0]]).tolist()
    ['low']
    """

    @_checked
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, discarding previous counts.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        classes = distinct_labels(validate_data(self, y=y))
        if classes is None:
            return super().fit(X, y, sample_weight)
        return self._partial_fit(X, y, classes, _refit=True, sample_weight=sample_weight)

    def _partial_fit(
        self, X: Any, y: Any, classes: Any = None, _refit: bool = False, sample_weight: Any = None
    ) -> Self:
        if _refit:
            self.classes_ = None
        first = _check_partial_fit_first_call(self, classes)
        batch = self._summary(X, y, sample_weight, first)
        if batch is None:
            if first:
                self.classes_ = None
            return super()._partial_fit(X, y, classes, _refit, sample_weight)
        n, mean, variance, spread = batch
        self.epsilon_ = self.var_smoothing * spread.max()
        if first:
            self.class_count_ = np.zeros(len(self.classes_))
            self.theta_, self.var_ = np.zeros_like(mean), np.zeros_like(mean)
        else:
            self.var_ -= self.epsilon_
        past, new = self.class_count_[:, None], n[:, None]
        total = np.where(new + past == 0, 1.0, new + past)
        known = ~np.isclose(new, 0.0)  # NaN is the mean of nothing
        squares = past * self.var_ + new * variance + new * past / total * (self.theta_ - mean) ** 2
        self.var_ = np.where(known, squares / total, self.var_) + self.epsilon_
        self.theta_ = np.where(known, (new * mean + past * self.theta_) / total, self.theta_)
        self.class_count_ += n
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()
        elif first:
            self.class_prior_ = np.asarray(self.priors, dtype=np.float64)
        return self

    def _summary(self, X: Any, y: Any, sample_weight: Any, first: bool) -> tuple[Floats, ...] | None:
        """n (n_classes,), mean and variance (n_classes, n_columns), variance of all rows (columns,), or None."""
        if not _is_distribution(self.priors, len(self.classes_)):
            return None
        X, y = validate_data(self, X, y, reset=first, ensure_all_finite=False)
        codes, numbers = class_codes(y, self.classes_), _float64(X)
        if codes is None or numbers is None or not (first or _is_float64(getattr(self, "theta_", None))):
            return None
        columns, n_classes = list(numbers.T), len(self.classes_)
        counted: list[Any]
        *counted, usable = kernels.moments(columns, codes, n_classes, None, ONE_THREAD)
        if not usable or np.any(counted[0].sum(axis=0) != len(X)):  # infinite, too large to square, or NaN
            return None
        moments = Moments(*counted)
        pooled = moments.pooled()
        if sample_weight is not None:
            weights = _weights(sample_weight, X)
            moments = Moments(*kernels.moments(columns, codes, n_classes, weights, ONE_THREAD)[:-1])
        n = moments.n[:, 0].astype(np.float64)
        return n, moments.mean(), _variance(moments), _variance(pooled)

    def _joint_log_likelihood(self, X: Any) -> Any:
        numbers = _float64(X)
        if numbers is None or not _is_float64(self.theta_):
            return super()._joint_log_likelihood(X)
        scores = np.repeat(log(self.class_prior_)[None], len(X), axis=0)
        with np.errstate(divide="ignore"):
            precision, constant = 1.0 / self.var_, log_peak(self.var_)
        kernels.score_gaussian(list(numbers.T), self.theta_, precision, constant, scores, ONE_THREAD)
        return scores


class _Discrete(_Posterior, naive_bayes._BaseDiscreteNB):
    """Learning from class codes; a subclass says how a batch is counted."""

    @_checked
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model, discarding previous counts.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        rows, labels = self._check_X_y(X, y)
        distinct = distinct_labels(labels)
        classes = None if distinct is None else class_names(distinct, len(labels))
        codes = None if classes is None else class_codes(labels, classes)
        if codes is None:
            return super().fit(X, y, sample_weight)
        self.classes_ = classes
        self._init_counters(len(self.classes_), rows.shape[1])
        return self._learn(rows, codes, sample_weight)

    @_checked
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn one more batch; the first call names all classes.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,)
        classes : array-like, default=None
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self
        """
        rows, labels = self._check_X_y(X, y, reset=not hasattr(self, "classes_"))
        if _check_partial_fit_first_call(self, classes):
            self._init_counters(len(classes), rows.shape[1])
        codes = class_codes(labels, self.classes_)
        if codes is None or len(self.class_count_) != len(self.classes_):
            return super().partial_fit(X, y, classes, sample_weight)
        return self._learn(rows, codes, sample_weight)

    def _learn(self, X: Any, codes: Array, sample_weight: Any) -> Self:
        weights = None if sample_weight is None else _weights(sample_weight, X)
        self._count_batch(X, codes, weights)
        self.class_count_ += np.bincount(codes, weights, minlength=len(self.classes_))
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)
        return self

    def _count_batch(self, X: Any, codes: Array, weights: Floats | None) -> None:
        """Σ x by class, added to ``feature_count_``."""
        n_classes, sums = len(self.classes_), _sparse_sums if sparse.issparse(X) else _dense_sums
        self.feature_count_ += sums(X, codes, n_classes, weights)


class MultinomialNB(_Discrete, naive_bayes.MultinomialNB):
    """Naive Bayes for counts, such as the words of a text: log P(x | c) = Σ x_j log θ_cj.

    >>> model = MultinomialNB().fit([[2, 1], [0, 3]], [0, 1])
    >>> np.exp(model.feature_log_prob_).round(6).tolist()  # (2 + 1) / (3 + 2), ...
    [[0.6, 0.4], [0.2, 0.8]]
    """

    def _count_batch(self, X: Any, codes: Array, weights: Floats | None) -> None:
        check_non_negative(X, "MultinomialNB (input X)")
        super()._count_batch(X, codes, weights)


class ComplementNB(_Discrete, naive_bayes.ComplementNB):
    """Multinomial weights from the rows of all other classes: steadier where classes differ in size.

    >>> model = ComplementNB().fit([[2, 1], [0, 3]], [0, 1])
    >>> np.exp(-model.feature_log_prob_).round(6).tolist()  # the other class's shares
    [[0.2, 0.8], [0.6, 0.4]]
    """

    def _count_batch(self, X: Any, codes: Array, weights: Floats | None) -> None:
        check_non_negative(X, "ComplementNB (input X)")
        super()._count_batch(X, codes, weights)
        self.feature_all_ = self.feature_count_.sum(axis=0)


class BernoulliNB(_Discrete, naive_bayes.BernoulliNB):
    """Naive Bayes for yes and no: a value over ``binarize`` is a yes, and an absent yes counts too.

    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> np.exp(model.feature_log_prob_).round(6).tolist()  # (2 + 1) / (2 + 2), ...
    [[0.75, 0.5], [0.333333, 0.666667]]
    """

    def _check_X(self, X: Any) -> Any:  # noqa: N802
        return self._yes_or_no(super(naive_bayes.BernoulliNB, self)._check_X(X))

    def _check_X_y(self, X: Any, y: Any, reset: bool = True) -> Any:  # noqa: N802
        X, y = super(naive_bayes.BernoulliNB, self)._check_X_y(X, y, reset=reset)
        return self._yes_or_no(X), y

    def _yes_or_no(self, X: Any) -> Any:
        if self.binarize is None:
            return X
        return binarize(X, threshold=self.binarize) if sparse.issparse(X) else self.binarize < X


class CategoricalNB(_Discrete, naive_bayes.CategoricalNB):
    """Naive Bayes for columns of categories 0, 1, 2, ...: P(x_j = v | c) from counts.

    >>> model = CategoricalNB().fit([[0], [1], [2], [2]], ["a", "a", "b", "b"])
    >>> np.exp(model.feature_log_prob_[0]).round(6).tolist()  # (1 + 1) / (2 + 3), ...
    [[0.4, 0.4, 0.2], [0.2, 0.2, 0.6]]
    """

    def _check_X(self, X: Any) -> Any:  # noqa: N802
        if not holds_integers(X):
            return super()._check_X(X)
        return validate_data(self, X, dtype=None, reset=False)

    def _check_X_y(self, X: Any, y: Any, reset: bool = True) -> Any:  # noqa: N802
        if not holds_integers(X):
            return super()._check_X_y(X, y, reset=reset)
        X, y = validate_data(self, X, y, dtype=None, reset=reset)
        check_non_negative(X, "CategoricalNB (input X)")
        return X, y

    def _count_batch(self, X: Array, codes: Array, weights: Floats | None) -> None:
        _, high = kernels.int_ranges(list(X.T), ONE_THREAD)
        self.n_categories_ = self._validate_n_categories(high[None, :], self.min_categories)
        widths = np.maximum(self.n_categories_, [old.shape[1] for old in self.category_count_])
        columns = _code_columns(X, widths)
        tables = kernels.count_codes(columns, widths, codes, len(self.classes_), weights, ONE_THREAD)
        for j, (table, old) in enumerate(zip(tables, self.category_count_, strict=True)):
            self.category_count_[j] = table.astype(np.float64)
            self.category_count_[j][:, : old.shape[1]] += old

    def _count(self, X: Array, Y: Array) -> None:  # scikit-learn's way, for labels that only it knows
        super()._count(X.astype(np.int64, copy=False), Y)

    def _joint_log_likelihood(self, X: Any) -> Any:
        scores = np.repeat(np.asarray(self.class_log_prior_, dtype=np.float64)[None], len(X), axis=0)
        beyond = np.full((1, len(self.class_count_)), np.nan)
        tables = [np.ascontiguousarray(np.concatenate([p.T, beyond])) for p in self.feature_log_prob_]
        columns = _code_columns(X, [len(table) - 1 for table in tables])
        kernels.score_codes(columns, tables, scores, ONE_THREAD)
        if np.isnan(scores).any():  # a negative or unseen category, or nothing learned without smoothing
            check_non_negative(X, "CategoricalNB (input X)")
            return super()._joint_log_likelihood(X)
        return scores


def _code_columns(X: Array, sizes: Any) -> list[Array]:
    """Columns of categories as contiguous codes; a category outside 0..size-1 becomes size."""
    identity = [np.arange(size, dtype=np.uint32) for size in sizes]
    low, beyond = np.zeros(len(identity), np.int64), np.array(sizes, np.uint32)
    return kernels.lookup_codes(list(X.T), low, identity, beyond, ONE_THREAD)


def _dense_sums(X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Any:
    """Σ wx by class, (n_classes, n_columns): the rows times an indicator matrix with one cell a row."""
    share, n = np.ones(len(codes)) if weights is None else weights, len(codes)
    return sparse.csc_array((share, codes, np.arange(n + 1)), shape=(n_classes, n)) @ X


def _sparse_sums(X: Any, codes: Array, n_classes: int, weights: Floats | None) -> Any:
    """The same of a CSR matrix, a cell at a time: its column is the code to count, its value the weight."""
    lengths, cells = np.diff(X.indptr), np.ascontiguousarray(X.data, dtype=np.float64)
    if weights is not None:
        cells = cells * np.repeat(weights, lengths)
    columns, labels = [X.indices.astype(np.uint32)], np.repeat(codes, lengths)
    return kernels.count_codes(columns, [X.shape[1]], labels, n_classes, cells, ONE_THREAD)[0]


def _is_float64(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == np.float64


def _float64(X: Any) -> Floats | None:
    """Float64 and integers as float64; None for other arrays, whose type the result has to follow."""
    if isinstance(X, np.ndarray) and (_is_float64(X) or X.dtype.kind in "biu"):
        return X.astype(np.float64, copy=False)
    return None


def _weights(sample_weight: Any, X: Any) -> Floats:
    return np.ascontiguousarray(_check_sample_weight(sample_weight, X, dtype=np.float64))


def _is_distribution(priors: Any, n: int) -> bool:
    if priors is None:
        return True
    p = np.asarray(priors, dtype=np.float64)
    return p.shape == (n,) and bool(np.isclose(p.sum(), 1.0) and np.all(p >= 0))


def _variance(m: Moments) -> Floats:
    """Σ(x − mean)² / n, (n_classes, n_columns); 0 for nothing. No spread is too small: a floor is added later."""
    n = np.where(m.n == 0, 1.0, m.n)
    sums = m.sum_hi, m.sum_lo
    spread, _ = dd.subtract((m.square_hi, m.square_lo), dd.multiply(dd.divide(sums, (n, m.n_lo)), sums))
    return np.maximum(spread, 0.0) / n
