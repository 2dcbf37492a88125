"""Linear regression: a line with Gaussian noise.

    y = b + w · x + ε,   ε ~ N(0, σ²)

Maximum likelihood is least squares. A Gaussian prior w ~ N(0, σ²/λ) makes the maximum of the posterior ridge
regression. Of a new y we believe Student's t, which knows that w and σ² were only estimated.

Formula: least squares, ridge, predictive intervals
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.beliefs.belief import tails
from bayeskit.data.frames import label_column, open_source
from bayeskit.data.numbers import as_floats
from bayeskit.data.reader import read_table
from bayeskit.data.schema import Schema
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.explain.structure import StructureDescription
from bayeskit.models.base.estimator import PredictsNumbers, check_is_fitted
from bayeskit.models.base.persistence import Composite
from bayeskit.models.design import Design, collinear, collinear_sentence
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.storage.model_file import Saved, State
from bayeskit.tables.table import Table
from bayeskit.tolerance import CONSTANT, DEPENDENT, POSITIVE
from bayeskit.typing import Floats

RANGE = (1e-8, 1e8)  # of the λ that evidence may choose


@dataclass(eq=False, repr=False)
class LinearRegression(Composite, PredictsNumbers):
    """Linear regression over mixed columns, with predictive intervals.

    Parameters
    ----------
    penalty: λ of the prior w ~ N(0, σ²/λ), the intercept free: 0 is least squares, "evidence" the λ under which the
        data is most probable.
    scale: True puts the prior on weights of columns measured in standard deviations, False on those of the columns as
        they are (scikit-learn's ``Ridge(alpha=λ)``).
    coding, roles, domains, schema, unseen: as for :class:`LogisticRegression`.

    Attributes
    ----------
    coef_, intercept_, features_: weights, and what they belong to. penalty_: the λ taken.
    noise_variance_: σ², unbiased under least squares. df_: degrees of freedom of the predictive Student's t.
    log_likelihood_: ln P(y | x) at the weights and the maximum likelihood variance.

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
    coding: str = "auto"
    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    unseen: str = "ignore"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with numbers ``y`` (values, or the name of a column of ``X``)."""
        self._check_settings()
        if y is None:
            raise BayesError("LinearRegression requires y to be passed, but the target y is None")
        X, numbers = _split(X, y)
        counter = self._count(X, len(numbers), sample_weight)
        design = Design.of(counter.tally_, self._coding())
        blocks = counter._encoder().blocks(open_source(X, None, sample_weight))
        M = design.dense(blocks)
        omega = np.ones(len(numbers)) if sample_weight is None else open_source(X, None, sample_weight).weights  # type: ignore[attr-defined]
        keep = omega > 0
        M, numbers, omega = M[keep], numbers[keep], omega[keep]
        spread = np.where(design.spread > CONSTANT * np.abs(design.mean), design.spread, 0.0)
        if self.penalty == 0:
            guilty = collinear(M, omega, design.mean, spread, design.names(_values(counter)))
            if guilty:
                warnings.warn(f"{collinear_sentence(guilty)} The shortest were taken.", BayesWarning, stacklevel=2)
        self._learn(M, numbers, omega, spread)
        return self._become(counter, design)

    def _become(self, counter: NaiveBayes, design: Design) -> Self:
        self._counter, self._design = counter, design
        self.features_ = design.names(_values(counter))
        self.schema_, self.n_features_in_ = counter.schema_, counter.n_features_in_
        if hasattr(counter, "feature_names_in_"):
            self.feature_names_in_ = counter.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _learn(self, M: Floats, y: Floats, omega: Floats, spread: Floats) -> None:
        """Least squares of centred columns in deviations, through the eigenvectors of their products."""
        used = spread > 0
        n, root = float(omega.sum()), np.sqrt(omega)
        mean, level = omega @ M / n, float(omega @ y / n)
        unit = np.where(used & self.scale, spread, 1.0)
        Z = (M - mean)[:, used] / unit[used] * root[:, None]
        centred = (y - level) * root
        values, vectors = np.linalg.eigh(Z.T @ Z)
        values = np.maximum(values, 0.0)
        moved, total = vectors.T @ (Z.T @ centred), float(centred @ centred)
        self.penalty_ = _by_evidence(values, moved, total, n) if self.penalty == "evidence" else float(self.penalty)
        # Drop directions with a zero eigenvalue (collinear features).
        values = np.where(values > DEPENDENT * values.max(initial=0.0), values, 0.0)
        curve = values + self.penalty_
        inverse = np.divide(1.0, curve, out=np.zeros_like(curve), where=curve > 0)
        w = vectors @ (moved * inverse)
        residual = float(((centred - Z @ w) ** 2).sum())
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
        """Predict the expected y of each row, shape (n_rows,)."""
        with np.errstate(all="ignore"):  # what overflows is refused
            expected = np.asarray(self._matrix(X) @ self.coef_ + self.intercept_)
        if not np.isfinite(expected).all():
            row = int(np.argmin(np.isfinite(expected)))
            raise BayesError(f"row {row} has no prediction: cells or weights are so large that sums leave the floats")
        return expected

    def predict_scale(self, X: Any) -> Floats:
        """The scale of the predictive Student's t of each row: √(σ² (1 + 1/n + what is unknown of w))."""
        M = self._matrix(X)
        if not self.df_ > 0:
            raise BayesError(
                f"{self._n:g} rows for {int(self._used.sum()) + 1} weights leave nothing to tell the noise by: give "
                "more rows, or a penalty above 0"
            )
        Z = (M - self._mean)[:, self._used] / self._unit[self._used]
        return np.sqrt(self.noise_variance_ * (1 + 1 / self._n + ((Z @ self._root) ** 2).sum(axis=1)))

    def predict_interval(self, X: Any, level: float = 0.95) -> Floats:
        """Return the bounds of the predictive interval of each row, shape (n_rows, 2)."""
        from scipy import stats

        _, upper = tails(level)
        half = stats.t.ppf(upper, self.df_) * self.predict_scale(X) if self.df_ > 0 else self.predict_scale(X)
        middle = self.predict(X)
        return np.column_stack([middle - half, middle + half])

    def table(self) -> Table:
        """Return a table of intercept and weights."""
        self._check_is_fitted()
        return Table({"feature": ["(intercept)", *self.features_], "weight": [self.intercept_, *self.coef_.tolist()]})

    def describe_structure(self) -> StructureDescription:
        """The weights, of which a prediction is the sum."""
        self._check_is_fitted()
        noise = f"noise of variance {self.noise_variance_:.4g}" if self.df_ > 0 else "no row left to tell the noise by"
        return StructureDescription(f"a prediction is a sum of weights, with {noise}", self.table())

    # -- persistence -----------------------------------------------------------------------------------

    def _fitted_parts(self) -> dict[str, Any]:
        """Return the fitted column statistics."""
        return {"counter": self._counter}

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """Return the name of the column statistics part."""
        return ("counter",)

    def _held_state(self) -> State:
        """The weights, and what is unknown of them; numbers of the fit that may be infinite or none stand as such."""
        numbers = (self.intercept_, self.penalty_, self.df_, self._n, self.noise_variance_, self.log_likelihood_)
        arrays = [self.coef_, self._mean, self._unit, self._root, np.array(numbers, dtype=np.float64)]
        return State({}, [*arrays, self._used.astype(np.uint8)])

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Restore a fitted model from a file."""
        self._check_settings()
        state.holds(6)
        counter = parts["counter"]
        if not isinstance(counter, NaiveBayes):
            raise BadFile(
                f"the columns of a LinearRegression are counted by a NaiveBayes, not {type(counter).__name__}"
            )
        design = Design.of(counter.tally_, self._coding())
        width, used = design.n_features, state.arrays[5]
        if used.dtype != np.uint8 or used.shape != (width,) or used.max(initial=0) > 1:
            raise BadFile("which features take part does not fit the columns")
        self.coef_, self._mean, self._unit = (state.numbers(i, width) for i in range(3))
        self._used = used.astype(bool)
        n_used = int(self._used.sum())
        self._root = state.numbers(3, n_used, n_used)
        scalars = state.arrays[4]
        if scalars.dtype != np.float64 or scalars.shape != (6,) or not np.isfinite(scalars[:4]).all():
            raise BadFile("intercept, penalty or rows of a LinearRegression are no numbers")
        self.intercept_, self.penalty_, self.df_, self._n, self.noise_variance_, self.log_likelihood_ = scalars.tolist()
        whole = self.noise_variance_ >= 0 if self.df_ > 0 else np.isnan(self.noise_variance_)
        if not whole or self._n <= 0 or self.penalty_ < 0 or not (self._unit > 0).all() or np.isnan(scalars[5]):
            raise BadFile("the noise, the scales or the rows of a LinearRegression are less than nothing")
        return self._become(counter, design)

    def _matrix(self, X: Any) -> Floats:
        self._check_is_fitted()
        return self._design.dense(self._counter._encoder().blocks(open_source(X)))

    def _count(self, X: Any, n_rows: int, sample_weight: Any) -> NaiveBayes:
        """Values, means and spreads of the columns: counted as for a classifier of one class."""
        settings = {"roles": self.roles, "domains": self.domains, "schema": self.schema, "unseen": self.unseen}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "there is one class only")
            return NaiveBayes(**settings).fit(X, np.zeros(n_rows, dtype=np.int64), sample_weight)

    def _coding(self) -> str:
        return self.coding if self.coding != "auto" else "reference" if self.penalty == 0 else "full"

    def _check_settings(self) -> None:
        number = isinstance(self.penalty, (int, float, np.number)) and not isinstance(self.penalty, bool)
        if not (number and 0 <= self.penalty < np.inf) and not (
            isinstance(self.penalty, str) and self.penalty == "evidence"
        ):
            raise BayesError(f'penalty={self.penalty!r}: give λ as a finite number of at least 0, or "evidence"')
        if self.coding not in ("auto", "full", "reference"):
            raise BayesError(f"coding={self.coding!r} is not one of 'auto', 'full', 'reference'")

    def _check_is_fitted(self) -> None:
        check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def _values(counter: NaiveBayes) -> dict[str, list[Any]]:
    return {name: list(table.values) for name, table in counter.params_.tables.items()}


def _split(X: Any, y: Any) -> tuple[Any, Floats]:
    """(the columns to learn from, the numbers to learn)."""
    if isinstance(y, str):
        table = read_table(X, y)
        column, X = table.labels, table.data
    else:
        column = label_column(y)[0]
        if getattr(column, "dtype", None) is not None and column.dtype.kind == "c":
            raise BayesError("Complex data not supported: y holds complex numbers; fit real and imaginary parts apart")
    numbers = as_floats(column, "y", 0)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise BayesError(
            f"Input y contains NaN or infinity: row {bad[0]} has {numbers[bad[0]]}; drop the row or mend it"
        )
    return X, numbers


def _by_evidence(values: Floats, moved: Floats, total: float, n: float) -> float:
    """The λ of the largest ln P(y | λ) = ½ p ln λ − ½ Σ ln(v + λ) − ½ (n − 1) ln(residual + λ |w|²)."""
    from scipy.optimize import minimize_scalar

    def against(log_penalty: float) -> float:
        penalty = float(logspace.exp(log_penalty))
        left = max(total - float((moved**2 / (values + penalty)).sum()), POSITIVE)
        return float(-0.5 * (logspace.log(penalty / (values + penalty)).sum() - (n - 1) * logspace.log(left)))

    return float(logspace.exp(minimize_scalar(against, bounds=tuple(logspace.log(RANGE)), method="bounded").x))
