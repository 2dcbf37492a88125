"""Drop-in replacements for hmmlearn's CategoricalHMM and GaussianHMM: same settings, attributes and results."""

from __future__ import annotations

import logging
import sys
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.errors import BayesError
from bayeskit.models.base.estimator import Estimator, check_is_fitted
from bayeskit.models.base.rules import one_of
from bayeskit.tolerance import LEAST_ROWS, LIFT
from bayeskit.typing import Array, Floats, Ints

WIGGLE = float(np.finfo(float).eps) ** 0.5  # tolerated decrease of a likelihood by rounding
log = logging.getLogger("bayeskit.sequence")


class ConvergenceMonitor:
    """Record the log likelihood of each EM iteration and decide when to stop; subclasses may change the rule.

    >>> class Patient(ConvergenceMonitor):
    ...     @property
    ...     def converged(self):
    ...         return self.iter >= 3
    >>> watch = Patient(tol=0.01, n_iter=10, verbose=False)
    >>> for likelihood in (-9.0, -5.0, -4.0):
    ...     watch.report(likelihood)
    >>> watch.iter, list(watch.history), watch.converged
    (3, [-9.0, -5.0, -4.0], True)
    """

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:
        self.tol, self.n_iter, self.verbose = tol, n_iter, verbose
        self.history: deque[float] = deque()
        self.iter = 0

    def __repr__(self) -> str:
        shown = {**vars(self), "history": list(self.history)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in sorted(shown.items()))})"

    def reset(self) -> None:
        """Clear the history."""
        self.iter = 0
        self.history.clear()

    def report(self, log_prob: float) -> None:
        """Record the log likelihood of an iteration; print it if ``verbose``."""
        delta = log_prob - self.history[-1] if self.history else float("nan")
        if self.verbose:
            print(f"{self.iter + 1:>10d} {log_prob:>16.8f} {delta:>+16.8f}", file=sys.stderr)
        if delta < -WIGGLE:
            log.warning("the log likelihood fell by %g, to %.9g: EM with such priors need not rise", -delta, log_prob)
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """True if all iterations are done or the last gain is below ``tol``."""
        gained = self.history[-1] - self.history[-2] if len(self.history) >= 2 else np.inf
        return self.iter == self.n_iter or gained < self.tol


Counts = dict[str, Floats]  # expected statistics of an E-step, by name


@dataclass(frozen=True)
class HMMRows:
    """Rows as the kernels read them: logs by row, logs by symbol with codes, or Gaussian columns."""

    logs: Floats
    codes: Array | None
    starts: Ints
    # columns, mean, precision, constant, center
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None = None


class BaseHMM(Estimator):
    """Base of the hmmlearn replacements.

    A subclass adds its emissions: ``_encode_rows(X, starts)`` returns ln P(row | state) as the kernels read it,
    ``_e_step(X, seen)`` ln P of all rows and the expected statistics, ``_m_step(counts)`` estimates the parameters,
    ``_emit(state, random_state)`` draws a row, and ``_check_and_set_n_features(X)`` checks the columns.
    """

    startprob_: Floats
    transmat_: Floats
    n_components: int
    n_iter: int
    tol: float
    verbose: bool
    params: str
    init_params: str
    algorithm: str
    implementation: str
    random_state: Any
    startprob_prior: Any
    transmat_prior: Any
    _encode_rows: ClassVar[Callable[..., Any]]
    _e_step: ClassVar[Callable[..., Any]]
    _m_step: ClassVar[Callable[..., Any]]
    _emit: ClassVar[Callable[..., Any]]
    _check_and_set_n_features: ClassVar[Callable[..., Any]]

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """Convergence monitor of EM; assign a custom one before fitting."""
        if "_monitor" not in vars(self):
            self._monitor = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
        return self._monitor

    @monitor_.setter
    def monitor_(self, monitor: ConvergenceMonitor) -> None:
        self._monitor = monitor

    def _n_free_parameters(self) -> dict[str, int]:
        """Return the number of free parameters by letter of ``params``."""
        states = self.n_components
        return {"s": states - 1, "t": states * (states - 1)}

    def _as_rows(self, X: Any) -> Array:
        """Return rows as an array, shape (n_rows, n_columns)."""
        from sklearn.utils.validation import check_array

        return np.asarray(check_array(X))

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, lengths: Any = None) -> Self:
        """Fit by Baum–Welch on rows ``X``, split into sequences of these ``lengths``.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        self
        """
        rows = self._as_rows(X)
        starts = sequence_starts(lengths, len(rows))
        self._init(rows, lengths)
        self._check()
        self.monitor_.reset()
        for _ in range(self.n_iter):
            with np.errstate(under="ignore"):  # shares of states that are as good as none
                log_prob, counts = self._e_step(rows, self._encode_rows(rows, starts))
            if not np.isfinite(log_prob):
                where = "look at zeros in startprob_, transmat_ and the emissions"
                raise BayesError(f"no path of states can have made these rows, ln P is not finite: {where}")
            if "s" in self.params:
                self.startprob_ = dirichlet_mode(self.startprob_, self.startprob_prior, counts["start"])
            if "t" in self.params:
                self.transmat_ = dirichlet_mode(self.transmat_, self.transmat_prior, counts["transitions"])
            self._m_step(counts)
            self.monitor_.report(log_prob)
            if self.monitor_.converged:
                break
        return self

    def _forward_backward(self, seen: HMMRows, by_row: bool) -> tuple[float, Counts, Floats]:
        """Run forward–backward: return ln P, expected starts and transitions, and posteriors or emission sums."""
        found = kernels.count_states(**self._kernel_arguments(seen), after=None, by_row=by_row)
        likelihoods, _, start, transitions, states, _ = found
        return float(likelihoods.sum()), {"start": start, "transitions": transitions}, states

    def _kernel_arguments(self, seen: HMMRows) -> dict[str, Any]:
        """Return the arguments shared by all kernels."""
        return {
            **vars(seen),
            "labels": None,
            "allowed": None,
            "log_start": np.ascontiguousarray(logspace.log(self.startprob_)),
            "log_transition": np.ascontiguousarray(logspace.log(self.transmat_)),
            "before": None,
            "n_threads": 1,
        }

    def _init(self, X: Array, lengths: Any = None) -> None:
        """Initialize the parameters as hmmlearn does."""
        from sklearn.utils import check_random_state

        self._check_and_set_n_features(X)
        states, rng = self.n_components, check_random_state(self.random_state)
        if self._needs_init("s", "startprob_"):
            self.startprob_ = rng.dirichlet(np.full(states, 1.0 / states))
        if self._needs_init("t", "transmat_"):
            self.transmat_ = rng.dirichlet(np.full(states, 1.0 / states), size=states)
        wanted = sum(self._n_free_parameters()[letter] for letter in self.params)
        if X.size < wanted:
            log.warning("%d numbers are to be found from %d: this will be a degenerate solution", wanted, X.size)

    def _needs_init(self, letter: str, name: str) -> bool:
        there = hasattr(self, name)
        if there and letter in self.init_params:
            log.warning("%s is set, and will be overwritten: init_params has %r", name, letter)
        return letter in self.init_params or not there

    def _check(self) -> None:
        """Check settings and parameters."""
        one_of("algorithm", self.algorithm, ("viterbi", "map"))
        one_of("implementation", self.implementation, ("log", "scaling"))
        self.startprob_ = np.asarray(self.startprob_, dtype=np.float64)
        self.transmat_ = np.asarray(self.transmat_, dtype=np.float64)
        check_table("startprob_", self.startprob_, (self.n_components,))
        check_table("transmat_", self.transmat_, (self.n_components, self.n_components))

    # -- inference -----------------------------------------------------------------------------------

    def _seen(self, X: Any, lengths: Any) -> Any:
        """Check the model and read rows as the kernels do."""
        self._check_is_fitted()
        self._check()
        rows = self._as_rows(X)
        return self._encode_rows(rows, sequence_starts(lengths, len(rows)))

    def score(self, X: Any, lengths: Any = None) -> float:
        """Return ln P(X).

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        float
        """
        seen = self._kernel_arguments(self._seen(X, lengths))
        return float(kernels.filter_states(**seen, every=False)[0].sum())

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Floats]:
        """Return ln P(X) and the posteriors, shape (n_rows, n_states).

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        (float, ndarray of shape (n_rows, n_states))
        """
        log_prob, _, posteriors = self._forward_backward(self._seen(X, lengths), by_row=True)
        return log_prob, posteriors

    def predict_proba(self, X: Any, lengths: Any = None) -> Floats:
        """Return the posteriors P(state | sequence), shape (n_rows, n_states).

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
        """
        return self.score_samples(X, lengths)[1]

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, Ints]:
        """Return the log probability and the path: Viterbi, or the most probable state of each row ("map").

        For "map" the number is the sum of the posterior probabilities, as in hmmlearn.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.
        algorithm : str, default=None
            "viterbi" or "map"; None for the setting.

        Returns
        -------
        (float, ndarray of shape (n_rows,))
        """
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            raise BayesError(f"Unknown decoder {algorithm!r}: it is 'viterbi' or 'map'")
        if algorithm == "map":
            posteriors = self.predict_proba(X, lengths)
            return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1)
        seen = self._kernel_arguments(self._seen(X, lengths))
        path, scores, _, _ = kernels.best_states(**seen, last=-1, keep=True)
        assert path is not None
        return float(scores.sum()), path.astype(np.int64)

    def predict(self, X: Any, lengths: Any = None) -> Ints:
        """Return the states found by ``algorithm``.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.decode(X, lengths)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None) -> tuple[Array, Ints]:
        """Draw one sequence; return (rows, states). It begins in state ``currstate`` if given.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int or RandomState, default=None
        currstate : int, default=None

        Returns
        -------
        (ndarray of shape (n_samples, n_columns), ndarray of shape (n_samples,))
        """
        from sklearn.utils import check_random_state

        self._check_is_fitted()
        self._check()
        rng = check_random_state(self.random_state if random_state is None else random_state)
        reached, reached_first = np.cumsum(self.transmat_, axis=1), np.cumsum(self.startprob_)
        state = int((reached_first > rng.rand()).argmax()) if currstate is None else int(currstate)
        states, rows = [state], [self._emit(state, rng)]
        for _ in range(n_samples - 1):
            state = int((reached[state] > rng.rand()).argmax())
            states.append(state)
            rows.append(self._emit(state, rng))
        return np.atleast_2d(rows), np.array(states, dtype=np.int64)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Return the Akaike information criterion, −2 ln P + 2 · parameters; lower is better.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        float
        """
        return -2 * self.score(X, lengths) + 2 * sum(self._n_free_parameters().values())

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Return the Bayesian information criterion, −2 ln P + ln rows · parameters; lower is better.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        lengths : array-like of int, default=None
            Rows of each sequence; None for one sequence.

        Returns
        -------
        float
        """
        return -2 * self.score(X, lengths) + sum(self._n_free_parameters().values()) * float(logspace.log(len(X)))

    def get_stationary_distribution(self) -> Floats:
        """Return the stationary distribution of the transition matrix.

        Returns
        -------
        ndarray of shape (n_states,)
        """
        check_is_fitted(self)
        values, vectors = np.linalg.eig(self.transmat_.T)
        own = np.real(vectors[:, np.argmin(np.abs(values - 1))])
        return np.asarray(own / own.sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "startprob_") and hasattr(self, "transmat_")


def sequence_starts(lengths: Any, n_rows: int) -> Ints:
    """Return the start of each sequence, and the end."""
    if lengths is None:
        return np.array([0, n_rows], dtype=np.int64)
    sizes = np.atleast_1d(lengths)
    if sizes.dtype.kind not in "iuf" and sizes.size:
        raise BayesError(f"lengths={str(lengths)[:80]!r}: give the number of rows of each sequence")
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if starts[-1] != n_rows or (np.diff(starts) < 0).any():
        raise BayesError(f"lengths array {lengths} doesn't sum to {n_rows} samples")
    return starts


def dirichlet_mode(table: Floats, prior: Any, counts: Floats, zeros_stay: bool = True) -> Floats:
    """Return the posterior mode under a Dirichlet prior; zeros stay, and so does a row without counts.

    >>> dirichlet_mode(np.array([[0.5, 0.5], [0.3, 0.7]]), 1.0, np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.3, 0.7]]
    """
    grown = np.where(zeros_stay & (table == 0), 0.0, np.maximum(np.asarray(prior) - 1 + counts, 0.0))
    totals = grown.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(totals > 0, grown / np.where(totals > 0, totals, 1.0), table))


def check_table(name: str, table: Floats, shape: tuple[int, ...]) -> None:
    """Raise an error unless the table has this shape and its rows sum to one."""
    if table.shape != shape:
        raise BayesError(f"{name} must have shape {shape}, and has {table.shape}")
    sums = table.sum(axis=-1)
    if not np.allclose(sums, 1):
        raise BayesError(f"{name} must sum to 1 (got {sums})")


@dataclass(eq=False, repr=False)
class CategoricalHMM(BaseHMM):
    """Drop-in replacement for ``hmmlearn.hmm.CategoricalHMM``.

    Settings and attributes are hmmlearn's: ``startprob_``, ``transmat_`` and ``emissionprob_``, which may be set
    instead of learned. ``implementation`` is taken and makes no difference.

    >>> weather = CategoricalHMM(2)
    >>> weather.startprob_, weather.transmat_ = [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]]
    >>> weather.emissionprob_ = [[0.9, 0.1], [0.2, 0.8]]
    >>> weather.predict_proba([[0], [0]])[:, 0].round(6).tolist()                      # 621 / 703 on both days
    [0.883357, 0.883357]
    """

    n_components: int = 1
    startprob_prior: Any = 1.0
    transmat_prior: Any = 1.0
    _: KW_ONLY
    emissionprob_prior: Any = 1.0
    n_features: int | None = None
    algorithm: str = "viterbi"
    random_state: Any = None
    n_iter: int = 10
    tol: float = 1e-2
    verbose: bool = False
    params: str = "ste"
    init_params: str = "ste"
    implementation: str = "log"

    def _as_rows(self, X: Any) -> Array:
        """Return one column of integers."""
        rows = super()._as_rows(X)
        if rows.shape[1] != 1:
            warnings.warn("Inputs of shape other than (n_samples, 1) are deprecated.", DeprecationWarning, stacklevel=4)
            rows = rows.reshape(-1, 1)
        return rows

    def _encode_rows(self, X: Array, starts: Ints) -> HMMRows:
        """Return the log table of symbols and the symbol of each row."""
        table = np.ascontiguousarray(logspace.log(self.emissionprob_).T)
        if X.dtype.kind not in "iu":
            raise BayesError("Symbols should be integers")
        if X.size and (X.min() < 0 or X.max() >= len(table)):
            bad = int(X.min() if X.min() < 0 else X.max())
            raise BayesError(f"the symbol {bad} is none of the model's, which are 0 to {len(table) - 1}")
        return HMMRows(table, X[:, 0].astype(np.uint32), starts)

    def _e_step(self, X: Array, seen: HMMRows) -> tuple[float, Counts]:
        """Run the E-step: ln P, and expected counts of starts, transitions and symbols."""
        log_prob, counts, symbols = self._forward_backward(seen, by_row=False)
        return log_prob, {**counts, "symbols": symbols.T}

    def _m_step(self, counts: Counts) -> None:
        """Run the M-step of P(symbol | state)."""
        if "e" in self.params:
            table, prior = self.emissionprob_, self.emissionprob_prior
            self.emissionprob_: Floats = dirichlet_mode(table, prior, counts["symbols"], zeros_stay=False)

    def _n_free_parameters(self) -> dict[str, int]:
        """Return the number of free parameters by letter of ``params``."""
        n_symbols = self.emissionprob_.shape[1] if self.n_features is None else self.n_features
        return {**super()._n_free_parameters(), "e": self.n_components * (n_symbols - 1)}

    def _emit(self, state: int, random_state: Any) -> list[int]:
        """Draw a symbol."""
        return [int((np.cumsum(self.emissionprob_[state]) > random_state.rand()).argmax())]

    def _init(self, X: Array, lengths: Any = None) -> None:
        from sklearn.utils import check_random_state

        super()._init(X, lengths)
        if self._needs_init("e", "emissionprob_"):
            drawn: Floats = check_random_state(self.random_state).rand(self.n_components, self.n_features)
            self.emissionprob_ = drawn / drawn.sum(axis=1, keepdims=True)

    def _check_and_set_n_features(self, X: Array) -> None:
        if not np.issubdtype(X.dtype, np.integer):
            raise BayesError("Symbols should be integers")
        if X.min() < 0:
            raise BayesError("Symbols should be nonnegative")
        if self.n_features is None:
            self.n_features = int(X.max()) + 1
        elif self.n_features <= X.max():
            most = self.n_features - 1
            raise BayesError(f"Largest symbol is {X.max()} but the model only emits symbols up to {most}")

    def _check(self) -> None:
        super()._check()
        self.emissionprob_ = np.atleast_2d(np.asarray(self.emissionprob_, dtype=np.float64))
        if self.n_features is None:
            self.n_features = self.emissionprob_.shape[1]
        check_table("emissionprob_", self.emissionprob_, (self.n_components, self.n_features))


LOG_TWO_PI = float(logspace.log(2 * np.pi))


@dataclass(eq=False, repr=False)
class GaussianHMM(BaseHMM):
    """Drop-in replacement for ``hmmlearn.hmm.GaussianHMM``.

    Settings and attributes are hmmlearn's: ``startprob_``, ``transmat_``, ``means_`` and ``covars_``, which may be set
    instead of learned. ``implementation`` is taken and makes no difference: likelihoods do not underflow.

    >>> X = np.array([0.1, -0.2, 0.0, 5.1, 4.9, 5.2, 0.3, -0.1]).reshape(-1, 1)
    >>> two = GaussianHMM(2, random_state=0).fit(X)
    >>> np.sort(two.means_.ravel()).round(2).tolist(), len(set(two.predict(X)[[0, 3]].tolist()))
    ([0.02, 5.07], 2)
    """

    n_components: int = 1
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "diag"
    min_covar: float = 1e-3
    startprob_prior: Any = 1.0
    transmat_prior: Any = 1.0
    means_prior: Any = 0
    means_weight: Any = 0
    covars_prior: Any = 1e-2
    covars_weight: Any = 1
    algorithm: str = "viterbi"
    random_state: Any = None
    n_iter: int = 10
    tol: float = 1e-2
    verbose: bool = False
    params: str = "stmc"
    init_params: str = "stmc"
    implementation: str = "log"

    # -- covariances ---------------------------------------------------------------------------------

    @property
    def covars_(self) -> Floats:
        """Covariance matrix of each state, shape (n_states, n_columns, n_columns)."""
        if "_covars_" not in vars(self):
            raise AttributeError("covars_ is not set yet")
        held, states = self._covars_, self.n_components
        if self.covariance_type == "full":
            return np.asarray(held)
        if self.covariance_type == "tied":
            return np.tile(held, (states, 1, 1))
        d = self.n_features
        return np.asarray(self._variances(d)[:, :, None] * np.eye(d))

    @covars_.setter
    def covars_(self, covars: Any) -> None:
        given = np.array(covars, dtype=np.float64)
        states = self.n_components
        if self.covariance_type == "spherical":
            if not given.ndim or len(given) != states or not given.size:
                raise BayesError("'spherical' covars have length n_components")
            given = given.reshape(states, -1).mean(axis=1)
        shapes = {"spherical": 1, "diag": 2, "full": 3, "tied": 2}
        self._check_covariance_type()
        if given.ndim != shapes[self.covariance_type]:
            raise BayesError(f"covars_ of type {self.covariance_type!r} have not {given.ndim} axes")
        if self.covariance_type in ("spherical", "diag"):
            if (given <= 0).any():
                raise BayesError(f"{self.covariance_type!r} covars must be positive")
        elif given.shape[-1] != given.shape[-2] or not _are_definite(given):
            raise BayesError("covars must be symmetric, positive-definite")
        self._covars_ = given

    def _check_covariance_type(self) -> None:
        one_of("covariance_type", self.covariance_type, ("spherical", "diag", "full", "tied"))

    def _variances(self, d: int) -> Floats:
        """Return variances, shape (n_states, n_columns), for diagonal and spherical covariances."""
        held = self._covars_
        return np.asarray(np.repeat(held[:, None], d, axis=1) if held.ndim == 1 else held)

    # -- rows ----------------------------------------------------------------------------------------

    def _as_rows(self, X: Any) -> Array:
        """Return rows in column-major order, as the kernels read them."""
        return np.asfortranarray(super()._as_rows(X))

    def _encode_rows(self, X: Array, starts: Ints) -> HMMRows:
        """Return the log density of each row in each state."""
        X = X.astype(np.float64, copy=False)
        if X.shape[1] != self.means_.shape[1]:
            raise BayesError(f"rows have {X.shape[1]} columns, and the model has {self.means_.shape[1]}")
        means = self.means_
        if self.covariance_type == "full":
            of_states = [_joint_densities(X, means[[k]], self._covars_[k]) for k in range(self.n_components)]
            return HMMRows(np.concatenate(of_states, axis=1), None, starts)
        if self.covariance_type == "tied":
            return HMMRows(_joint_densities(X, means, self._covars_), None, starts)
        variances = np.maximum(self._variances(X.shape[1]), np.finfo(float).tiny)
        columns = [np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])]
        normals = (columns, *_normal_form(means, variances), X.mean(axis=0))
        return HMMRows(np.zeros((0, self.n_components)), None, starts, normals)

    def _e_step(self, X: Array, seen: HMMRows) -> tuple[float, Counts]:
        """Run the E-step: ln P, and sums of rows by state, centered on the overall mean."""
        center = X.mean(axis=0)
        if seen.normals is not None:
            log_prob, counts, (n, first, second) = self._forward_backward(seen, by_row=False)
            return log_prob, counts | {"n": n[:, 0], "first": first, "second": second, "center": center}
        log_prob, counts, states = self._forward_backward(seen, by_row=True)
        away = X - center
        counts |= {"n": states.sum(axis=0), "first": states.T @ away, "center": center}
        if self.covariance_type == "tied":
            counts["second"] = (away.T @ away)[None]  # of all states, which share every row
        else:
            counts["second"] = np.stack([(away * states[:, [k]]).T @ away for k in range(states.shape[1])])
        return log_prob, counts

    def _m_step(self, counts: Counts) -> None:
        """Run the M-step of means and covariances; a state without rows keeps its own."""
        n, weight = counts["n"][:, None], self.means_weight
        reached = n[:, 0] > 0
        if "m" in self.params:
            total = counts["first"] + n * counts["center"]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = (weight * np.asarray(self.means_prior) + total) / (weight + n)
            self.means_: Floats = np.where(np.isfinite(means), means, self.means_)
        if "c" not in self.params:
            return
        shift, from_prior = self.means_ - counts["center"], self.means_ - self.means_prior
        if self.covariance_type in ("full", "tied"):
            across = counts["first"][:, :, None] * shift[:, None, :]
            spread = n[:, :, None] * shift[:, :, None] * shift[:, None, :] - across - np.swapaxes(across, 1, 2)
            spread += weight * from_prior[:, :, None] * from_prior[:, None, :]
            weight = max(self.covars_weight - self.n_features, 0)
            if self.covariance_type == "tied":
                self._covars_ = (self.covars_prior + counts["second"][0] + spread.sum(axis=0)) / (weight + n.sum())
            else:
                divisor = np.where(reached, weight + n[:, 0], 1.0)[:, None, None]
                own = (self.covars_prior + (spread + counts["second"])) / divisor
                self._covars_ = np.where(reached[:, None, None], own, self._covars_)
            return
        spread = counts["second"] - 2 * shift * counts["first"] + n * shift**2 + weight * from_prior**2
        prior = np.asarray(self.covars_prior)
        prior = prior[:, None] if self.covariance_type == "spherical" and prior.ndim == 1 else prior
        variances = (prior + np.maximum(spread, 0.0)) / np.maximum(max(self.covars_weight - 1, 0) + n, LEAST_ROWS)
        if self.covariance_type == "spherical":
            self._covars_ = np.where(reached, variances.mean(axis=1), self._covars_)
        else:
            self._covars_ = np.where(reached[:, None], variances, self._covars_)

    def _n_free_parameters(self) -> dict[str, int]:
        """Return the number of free parameters by letter of ``params``."""
        states, d = self.n_components, self.n_features
        triangle = d * (d + 1) // 2
        covariances = {"spherical": states, "diag": states * d, "full": states * triangle, "tied": triangle}
        return {**super()._n_free_parameters(), "m": states * d, "c": covariances[self.covariance_type]}

    def _emit(self, state: int, random_state: Any) -> Floats:
        """Draw a row."""
        return np.asarray(random_state.multivariate_normal(self.means_[state], self.covars_[state]))

    # -- initialization ------------------------------------------------------------------------------

    def _init(self, X: Array, lengths: Any = None) -> None:
        super()._init(X, lengths)
        if self._needs_init("m", "means_"):
            from sklearn.cluster import KMeans

            clusters = KMeans(self.n_components, random_state=self.random_state, n_init=10)
            self.means_ = clusters.fit(X).cluster_centers_
        if self._needs_init("c", "covars_"):
            states, d = self.n_components, X.shape[1]
            whole = np.atleast_2d(np.cov(X.T)) + self.min_covar * np.eye(d)
            self.covars_ = {
                "spherical": np.full(states, whole.mean()),
                "diag": np.tile(np.diag(whole), (states, 1)),
                "full": np.tile(whole, (states, 1, 1)),
                "tied": whole,
            }[self.covariance_type]

    def _check_and_set_n_features(self, X: Array) -> None:
        self._check_covariance_type()
        known = getattr(self, "n_features", X.shape[1])
        if known != X.shape[1]:
            raise BayesError(f"Unexpected number of dimensions, got {X.shape[1]} but expected {known}")
        self.n_features = X.shape[1]

    def _check(self) -> None:
        super()._check()
        self._check_covariance_type()
        self.means_ = np.asarray(self.means_, dtype=np.float64)
        if self.means_.ndim != 2 or len(self.means_) != self.n_components:
            raise BayesError(f"means_ must have one row for each state, and its shape is {self.means_.shape}")
        self.n_features = self.means_.shape[1]


def _normal_form(means: Floats, variances: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (mean, precision, constant); ln density is constant − precision (x − mean)² / 2."""
    constant = -0.5 * (LOG_TWO_PI + logspace.log(variances))
    return np.ascontiguousarray(means), np.ascontiguousarray(1.0 / variances), np.ascontiguousarray(constant)


def _joint_densities(X: Floats, means: Floats, covariance: Floats) -> Floats:
    """Return log densities, shape (n_rows, n_states), under one covariance."""
    root = _root(covariance)
    turned, turned_means = (np.asarray(np.linalg.solve(root, rows.T).T, dtype=np.float64) for rows in (X, means))
    scores = np.full((len(X), len(means)), -float(logspace.log(np.diagonal(root)).sum()))
    columns = [np.ascontiguousarray(turned[:, j]) for j in range(turned.shape[1])]
    kernels.score_gaussian(columns, *_normal_form(turned_means, np.ones_like(means)), scores, 1)
    return scores


def _are_definite(covariances: Floats) -> bool:
    """Return True if all matrices are symmetric and positive definite."""
    matrices = covariances.reshape(-1, *covariances.shape[-2:])
    symmetric = np.allclose(matrices, np.swapaxes(matrices, 1, 2))
    return bool(symmetric and (np.linalg.eigvalsh(matrices) > 0).all())


def _root(covariance: Floats) -> Floats:
    """Return the Cholesky factor; a singular matrix is lifted slightly."""
    for lifted in (covariance, covariance + LIFT * np.eye(len(covariance))):
        try:
            return np.asarray(np.linalg.cholesky(lifted), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise BayesError("'covars' must be symmetric, positive-definite")
