"""Linear regression: a line with Gaussian noise.

    y = b + w · x + ε,   ε ~ N(0, σ²)

Maximum likelihood is least squares. A Gaussian prior w ~ N(0, σ²/λ) makes the maximum of the posterior ridge
regression. The predictive distribution of a new y is Student's t, which knows that w and σ² were only estimated.

Formula: least squares, ridge, predictive intervals
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.beliefs.beta_dirichlet import tails
from bayeskit.data.cells import as_floats
from bayeskit.data.frames import label_column, open_source
from bayeskit.data.reader import read_table
from bayeskit.data.schema import Schema
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.estimate.smoothing import MOST, is_number
from bayeskit.explain.structure import StructureDescription
from bayeskit.models.base import rules
from bayeskit.models.base.estimator import PredictsNumbers
from bayeskit.models.base.persistence import Composite
from bayeskit.models.design import Design, collinear, collinear_sentence
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.storage.model_file import ANY_NUMBER, Numbers, State
from bayeskit.tables import Table
from bayeskit.tolerance import CONSTANT, DEPENDENT, POSITIVE
from bayeskit.typing import Floats

RANGE = (1e-8, 1e8)  # of the λ that evidence may choose
FIT = {
    "intercept_": Numbers(), "penalty_": Numbers((), 0.0), "df_": Numbers(), "_n": Numbers((), np.nextafter(0, 1)),
    "noise_variance_": ANY_NUMBER, "log_likelihood_": ANY_NUMBER,
}  # fmt: skip


@dataclass(eq=False, repr=False)
class LinearRegression(Composite, PredictsNumbers):
    """Linear regression over mixed columns, with predictive intervals.

    Parameters
    ----------
    penalty : float or "evidence", default=0.0
        λ of the prior w ~ N(0, σ²/λ), the intercept free: 0 is least squares, "evidence" the λ under which the data is
        most probable.
    scale : bool, default=True
        True puts the prior on the weights of standardized columns, False on those of the columns as they are
        (scikit-learn's ``Ridge(alpha=λ)``).
    coding, roles, domains, schema, unseen
        As for :class:`LogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    features_ : list of str
        The feature of each weight.
    penalty_ : float
        The λ used.
    noise_variance_ : float
        σ², unbiased under least squares.
    df_ : float
        Degrees of freedom of the predictive Student's t.
    log_likelihood_ : float
        ln P(y | x) at the weights and the maximum likelihood variance.

    Examples
    --------
    >>> line = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0])
    >>> line.coef_.round(6).tolist(), round(line.intercept_, 6)           # 11/5, 4 − 1.5 · 11/5
    ([2.2], 0.7)
    >>> line.predict([[4.0]]).round(6).tolist(), line.predict_interval([[4.0]], level=0.9).round(3).tolist()
    ([9.5], [[5.12, 13.88]])
    """

    penalty: Any = 0.0
    scale: bool = True
    coding: Literal["auto", "full", "reference"] = "auto"
    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    unseen: Literal["ignore", "error"] = "ignore"

    _part: ClassVar[str] = "counter"
    _part_class: ClassVar[str] = "NaiveBayes"
    _fitted_attribute: ClassVar[str] = "coef_"
    _reads_tables: ClassVar[bool] = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or str
            Numbers, or the name of their column in ``X``.
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        self
        """
        self._check_settings()
        self._require_y(y)
        X, numbers = _split(X, y)
        counter = self._count(X, len(numbers), sample_weight)
        design = Design.of(counter.tally_, self._coding())
        blocks = counter._encoder().blocks(open_source(X, None, sample_weight))
        M = design.dense(blocks)
        omega = np.ones(len(numbers)) if sample_weight is None else open_source(X, None, sample_weight).weights  # type: ignore[attr-defined]
        keep = omega > 0
        M, numbers, omega = M[keep], numbers[keep], omega[keep]
        spread = np.where(design.spread > CONSTANT * np.abs(design.mean), design.spread, 0.0)
        names = design.names(counter.tally_)
        if self.penalty == 0 and (dependent := collinear(M, omega, design.mean, spread, names)):
            warnings.warn(f"{collinear_sentence(dependent)} The shortest were taken.", BayesWarning, stacklevel=2)
        self._learn(M, numbers, omega, spread)
        return self._become(counter, design)

    def _become(self, counter: NaiveBayes, design: Design) -> Self:
        self._counter, self._design = counter, design
        self.features_ = design.names(counter.tally_)
        self.schema_ = counter.schema_
        self._copy_features(counter)
        return self

    def _learn(self, M: Floats, y: Floats, omega: Floats, spread: Floats) -> None:
        """Least squares of centered columns in deviations, through the eigenvectors of their products."""
        used = spread > 0
        n, root = float(omega.sum()), np.sqrt(omega)
        mean, level = omega @ M / n, float(omega @ y / n)
        unit = np.where(used & self.scale, spread, 1.0)
        Z = (M - mean)[:, used] / unit[used] * root[:, None]
        centered = (y - level) * root
        values, vectors = np.linalg.eigh(Z.T @ Z)
        values = np.maximum(values, 0.0)
        moved, total = vectors.T @ (Z.T @ centered), float(centered @ centered)
        self.penalty_ = _by_evidence(values, moved, total, n) if self.penalty == "evidence" else float(self.penalty)
        # Drop directions with a zero eigenvalue (collinear features).
        values = np.where(values > DEPENDENT * values.max(initial=0.0), values, 0.0)
        curve = values + self.penalty_
        inverse = np.divide(1.0, curve, out=np.zeros_like(curve), where=curve > 0)
        w = vectors @ (moved * inverse)
        residual = float(((centered - Z @ w) ** 2).sum())
        self.coef_ = np.zeros(len(spread))
        self.coef_[used] = w / unit[used]
        self.intercept_ = level - float(self.coef_ @ mean)
        self.df_ = n - 1 - (int((values > 0).sum()) if self.penalty_ == 0 else 0)
        loss = residual + self.penalty_ * float(w @ w)
        self.noise_variance_ = loss / self.df_ if self.df_ > 0 else float("nan")
        mle = residual / n
        self.log_likelihood_ = -0.5 * n * (logspace.log(2 * np.pi * mle) + 1) if mle > 0 else float("inf")
        self._mean, self._unit, self._used, self._n = mean, unit, used, n
        self._root = vectors * np.sqrt(inverse)  # its product with itself is the posterior covariance over σ²

    def predict(self, X: Any) -> Floats:
        """Predict the expected y of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        with np.errstate(all="ignore"):  # what overflows is refused
            expected = np.asarray(self._matrix(X) @ self.coef_ + self.intercept_)
        if not np.isfinite(expected).all():
            row = int(np.argmin(np.isfinite(expected)))
            raise BayesError(f"row {row} has no prediction: cells or weights are so large that sums leave the floats")
        return expected

    def predict_scale(self, X: Any) -> Floats:
        """Return the scale √(σ² (1 + 1/n + z′Σz)) of the predictive Student's t of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        M = self._matrix(X)
        if not self.df_ > 0:
            problem = f"{self._n:g} rows for {int(self._used.sum()) + 1} weights leave nothing to tell the noise by"
            raise BayesError(problem, hint="give more rows, or a penalty above 0")
        Z = (M - self._mean)[:, self._used] / self._unit[self._used]
        return np.sqrt(self.noise_variance_ * (1 + 1 / self._n + ((Z @ self._root) ** 2).sum(axis=1)))

    def predict_interval(self, X: Any, level: float = 0.95) -> Floats:
        """Return the bounds of the predictive interval of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        level : float, default=0.95
            Probability of the interval.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        from scipy import stats

        _, upper = tails(level)
        half = stats.t.ppf(upper, self.df_) * self.predict_scale(X) if self.df_ > 0 else self.predict_scale(X)
        middle = self.predict(X)
        return np.column_stack([middle - half, middle + half])

    def table(self) -> Table:
        """Return a table of intercept and weights.

        Returns
        -------
        Table
        """
        return Table({"feature": ["(intercept)", *self.features_], "weight": [self.intercept_, *self.coef_.tolist()]})

    def describe_structure(self) -> StructureDescription:
        """Describe the weights, whose sum is a prediction.

        Returns
        -------
        StructureDescription
        """
        noise = f"noise of variance {self.noise_variance_:.4g}" if self.df_ > 0 else "no row left to tell the noise by"
        return StructureDescription(f"a prediction is a sum of weights, with {noise}", self.table())

    # -- persistence -----------------------------------------------------------------------------------

    def _fitted_parts(self) -> dict[str, Any]:
        """Return the fitted column statistics."""
        return {"counter": self._counter}

    def _state_to_save(self) -> State:
        """Return the weights, their uncertainty and the noise."""
        arrays = {"coef_": self.coef_, "_mean": self._mean, "_unit": self._unit, "_root": self._root}
        numbers = {name: float(getattr(self, name)) for name in FIT}
        return State.of(**arrays, **numbers, used=self._used.astype(np.uint8))

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Restore a fitted model from a file."""
        self._check_settings()
        counter = parts["counter"]
        design = Design.of(counter.tally_, self._coding())
        width = Numbers((design.n_features,))
        above_zero = Numbers((design.n_features,), np.nextafter(0, 1))
        used = Numbers((design.n_features,), 0, 1, np.uint8)
        arrays = {"coef_": width, "_mean": width, "_unit": above_zero, "_root": Numbers((None, None))}
        held = state.read(arrays | FIT | {"used": used})
        self._used = held.pop("used").astype(bool)
        Numbers((int(self._used.sum()),) * 2).check(held["_root"])
        for name, value in held.items():
            setattr(self, name, float(value) if name in FIT else value)
        noise_fits = self.noise_variance_ >= 0 if self.df_ > 0 else np.isnan(self.noise_variance_)
        if not noise_fits or np.isnan(self.log_likelihood_):
            raise BadFile("the noise or the likelihood of a LinearRegression is not a number")
        return self._become(counter, design)

    def _matrix(self, X: Any) -> Floats:
        self._check_is_fitted()
        return self._design.dense(self._counter._encoder().blocks(open_source(X), report_unseen=True))

    def _count(self, X: Any, n_rows: int, sample_weight: Any) -> NaiveBayes:
        """Values, means and spreads of the columns: counted as for a classifier of one class."""
        settings = {"roles": self.roles, "domains": self.domains, "schema": self.schema, "unseen": self.unseen}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "there is one class only")
            counter = NaiveBayes(numeric="gaussian", **settings)
            counter._textless = "LinearRegression"
            return counter.fit(X, np.zeros(n_rows, dtype=np.int64), sample_weight)

    def _coding(self) -> str:
        return self.coding if self.coding != "auto" else "reference" if self.penalty == 0 else "full"

    _rules: ClassVar[rules.Rules] = {
        "coding": rules.words("auto", "full", "reference"),
        "scale": rules.flag,
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        chosen = isinstance(self.penalty, str) and self.penalty == "evidence"
        if not chosen and not (is_number(self.penalty) and 0 <= self.penalty <= MOST):
            raise BayesError(f'penalty={self.penalty!r}: give λ as a finite number of at least 0, or "evidence"')


def _split(X: Any, y: Any) -> tuple[Any, Floats]:
    """(the columns to learn from, the numbers to learn)."""
    if isinstance(y, str):
        table = read_table(X, y)
        column, X = table.labels, table.data
    else:
        column = label_column(y)[0]
        if getattr(column, "dtype", None) is not None and column.dtype.kind == "c":
            raise BayesError("Complex data not supported: y holds complex numbers; fit real and imaginary parts apart")
    try:
        numbers = as_floats(column, y if isinstance(y, str) else "y", 0)
    except BayesError as problem:
        hint = "It is the target: to predict classes, take a classifier such as NaiveBayes."
        raise type(problem)(problem.message, hint=hint) from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise BayesError(f"Input y contains NaN or infinity: row {bad[0]} has {numbers[bad[0]]}; drop or correct it")
    return X, numbers


def _by_evidence(values: Floats, moved: Floats, total: float, n: float) -> float:
    """The λ of the largest ln P(y | λ) = ½ p ln λ − ½ Σ ln(v + λ) − ½ (n − 1) ln(residual + λ |w|²)."""
    from scipy.optimize import minimize_scalar

    def against(log_penalty: float) -> float:
        penalty = float(logspace.exp(log_penalty))
        left = max(total - float((moved**2 / (values + penalty)).sum()), POSITIVE)
        return float(-0.5 * (logspace.log(penalty / (values + penalty)).sum() - (n - 1) * logspace.log(left)))

    return float(logspace.exp(minimize_scalar(against, bounds=tuple(logspace.log(RANGE)), method="bounded").x))
