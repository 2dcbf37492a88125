"""GaussianHMM: hidden states that emit normal numbers, with hmmlearn's settings, attributes and results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.errors import BayesError
from bayeskit.estimate.k_means import k_means
from bayeskit.sequence.drop_in.hmm_contract import Counts, HmmContract, Observed
from bayeskit.tolerance import LEAST_ROWS, LIFT
from bayeskit.typing import Array, Floats, Ints

TYPES = ("spherical", "diag", "full", "tied")
LOG_TWO_PI = float(logspace.log(2 * np.pi))


@dataclass(eq=False, repr=False)
class GaussianHMM(HmmContract):
    """A hidden Markov model of numbers, for code that was written for hmmlearn's.

    Settings and attributes are hmmlearn's: ``startprob_``, ``transmat_``, ``means_`` and ``covars_``, which may be set
    instead of learnt. ``implementation`` is taken and makes no difference: likelihoods do not underflow.

    >>> X = np.array([0.1, -0.2, 0.0, 5.1, 4.9, 5.2, 0.3, -0.1]).reshape(-1, 1)
    >>> two = GaussianHMM(2, random_state=0).fit(X)
    >>> np.sort(two.means_.ravel()).round(2).tolist(), len(set(two.predict(X)[[0, 3]].tolist()))
    ([0.02, 5.07], 2)
    """

    n_components: int = 1
    covariance_type: str = "diag"
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

    emission_names: ClassVar[Mapping[str, str]] = {"m": "means_", "c": "covars_"}

    # -- covariances ---------------------------------------------------------------------------------

    @property
    def covars_(self) -> Floats:
        """The covariance matrix of each state (states, columns, columns)."""
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
                raise BayesError("'spherical' covars have length n_components", culprit="covars_")
            given = given.reshape(states, -1).mean(axis=1)
        shapes = {"spherical": 1, "diag": 2, "full": 3, "tied": 2}
        if self.covariance_type not in shapes:
            raise BayesError(f"covariance_type must be one of {', '.join(TYPES)}", culprit=self.covariance_type)
        if given.ndim != shapes[self.covariance_type]:
            raise BayesError(f"covars_ of type {self.covariance_type!r} have not {given.ndim} axes", culprit="covars_")
        if self.covariance_type in ("spherical", "diag"):
            if (given <= 0).any():
                raise BayesError(f"{self.covariance_type!r} covars must be positive", culprit="covars_")
        elif given.shape[-1] != given.shape[-2] or not _are_definite(given):
            raise BayesError("covars must be symmetric, positive-definite", culprit="covars_")
        self._covars_ = given

    def _variances(self, d: int) -> Floats:
        """Of each state and column, where columns are apart."""
        held = self._covars_
        return np.asarray(np.repeat(held[:, None], d, axis=1) if held.ndim == 1 else held)

    # -- rows ----------------------------------------------------------------------------------------

    def as_rows(self, X: Any) -> Array:
        """Rows by column, as every round reads them."""
        return np.asfortranarray(super().as_rows(X))

    def observed(self, X: Array, starts: Ints) -> Observed:
        """ln of the density of each row in each state."""
        X = X.astype(np.float64, copy=False)
        if X.shape[1] != self.means_.shape[1]:
            raise BayesError(f"rows have {X.shape[1]} columns, and the model has {self.means_.shape[1]}")
        means = self.means_
        if self.covariance_type == "full":
            of_states = [_joint_densities(X, means[[k]], self._covars_[k]) for k in range(self.n_components)]
            return Observed(np.concatenate(of_states, axis=1), None, starts)
        if self.covariance_type == "tied":
            return Observed(_joint_densities(X, means, self._covars_), None, starts)
        variances = np.maximum(self._variances(X.shape[1]), np.finfo(float).tiny)
        columns = [np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])]
        normals = (columns, *_normal_form(means, variances), X.mean(axis=0))
        return Observed(np.zeros((0, self.n_components)), None, starts, normals)

    def expected(self, X: Array, seen: Observed) -> tuple[float, Counts]:
        """ln P, and sums of rows by state, around the mean of all."""
        centre = X.mean(axis=0)
        if seen.normals is not None:
            log_prob, counts, (n, first, second) = self._counted(seen, by_row=False)
            return log_prob, counts | {"n": n[:, 0], "first": first, "second": second, "centre": centre}
        log_prob, counts, states = self._counted(seen, by_row=True)
        away = X - centre
        counts |= {"n": states.sum(axis=0), "first": states.T @ away, "centre": centre}
        if self.covariance_type == "tied":
            counts["second"] = (away.T @ away)[None]  # of all states, which share every row
        else:
            counts["second"] = np.stack([(away * states[:, [k]]).T @ away for k in range(states.shape[1])])
        return log_prob, counts

    def improve(self, counts: Counts) -> None:
        """Means and covariances, by their priors; a state that no row reached keeps its own."""
        n, weight = counts["n"][:, None], self.means_weight
        reached = n[:, 0] > 0
        if "m" in self.params:
            total = counts["first"] + n * counts["centre"]
            with np.errstate(invalid="ignore", divide="ignore"):
                means = (weight * np.asarray(self.means_prior) + total) / (weight + n)
            self.means_: Floats = np.where(np.isfinite(means), means, self.means_)
        if "c" not in self.params:
            return
        shift, from_prior = self.means_ - counts["centre"], self.means_ - self.means_prior
        if self.covariance_type in ("full", "tied"):
            across = counts["first"][:, :, None] * shift[:, None, :]
            spread = n[:, :, None] * shift[:, :, None] * shift[:, None, :] - across - np.swapaxes(across, 1, 2)
            spread += weight * from_prior[:, :, None] * from_prior[:, None, :]
            held = max(self.covars_weight - self.n_features, 0)
            if self.covariance_type == "tied":
                self._covars_ = (self.covars_prior + counts["second"][0] + spread.sum(axis=0)) / (held + n.sum())
            else:
                spread += counts["second"]
                divisor = np.where(reached, held + n[:, 0], 1.0)[:, None, None]
                own = (self.covars_prior + spread) / divisor
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

    def n_scalars(self) -> dict[str, int]:
        """Free numbers by the letters of ``params``."""
        states, d = self.n_components, self.n_features
        triangle = d * (d + 1) // 2
        covariances = {"spherical": states, "diag": states * d, "full": states * triangle, "tied": triangle}
        return {**super().n_scalars(), "m": states * d, "c": covariances[self.covariance_type]}

    def emit(self, state: int, random_state: Any) -> Floats:
        """A row."""
        drawn: Floats = random_state.multivariate_normal(self.means_[state], self.covars_[state])
        return drawn

    # -- beginning -----------------------------------------------------------------------------------

    def _init(self, X: Array, lengths: Any = None) -> None:
        super()._init(X, lengths)
        if self._needs_init("m", "means_"):
            self.means_ = self._cluster_means(X)
        if self._needs_init("c", "covars_"):
            states, d = self.n_components, X.shape[1]
            whole = np.atleast_2d(np.cov(X.T)) + self.min_covar * np.eye(d)
            self.covars_ = {
                "spherical": np.full(states, whole.mean()),
                "diag": np.tile(np.diag(whole), (states, 1)),
                "full": np.tile(whole, (states, 1, 1)),
                "tied": whole,
            }[self.covariance_type]

    def _cluster_means(self, X: Array) -> Floats:
        """Means of the clusters that hmmlearn begins with: k-means of ten starts."""
        if X.dtype == np.float32:  # scikit-learn then draws and adds up in 32 bits
            from sklearn.cluster import KMeans

            means: Floats = KMeans(self.n_components, random_state=self.random_state, n_init=10).fit(X).cluster_centers_
            return means
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.utils import check_random_state

        clusters = k_means(X.astype(np.float64, copy=False), self.n_components, check_random_state(self.random_state))
        n_distinct = len(np.unique(clusters.labels))
        if n_distinct < self.n_components:
            warnings.warn(
                f"Number of distinct clusters ({n_distinct}) found smaller than n_clusters ({self.n_components}). "
                "Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return clusters.centres

    def _check_and_set_n_features(self, X: Array) -> None:
        if self.covariance_type not in TYPES:
            raise BayesError(f"covariance_type must be one of {', '.join(TYPES)}", culprit=self.covariance_type)
        known = getattr(self, "n_features", X.shape[1])
        if known != X.shape[1]:
            raise BayesError(f"Unexpected number of dimensions, got {X.shape[1]} but expected {known}")
        self.n_features = X.shape[1]

    def _check(self) -> None:
        super()._check()
        if self.covariance_type not in TYPES:
            raise BayesError(f"covariance_type must be one of {', '.join(TYPES)}", culprit=self.covariance_type)
        self.means_ = np.asarray(self.means_, dtype=np.float64)
        if self.means_.ndim != 2 or len(self.means_) != self.n_components:
            raise BayesError(f"means_ must have one row for each state, and its shape is {self.means_.shape}")
        self.n_features = self.means_.shape[1]


def _normal_form(means: Floats, variances: Floats) -> tuple[Floats, Floats, Floats]:
    """(mean, precision, constant) (states, columns): ln of the density is constant − precision (x − mean)² / 2."""
    constant = -0.5 * (LOG_TWO_PI + logspace.log(variances))
    return np.ascontiguousarray(means), np.ascontiguousarray(1.0 / variances), np.ascontiguousarray(constant)


def _joint_densities(X: Floats, means: Floats, covariance: Floats) -> Floats:
    """ln of the density (rows, states) under one covariance: columns are apart once they are turned by its root."""
    root = _root(covariance)
    turned, turned_means = (np.asarray(np.linalg.solve(root, rows.T).T, dtype=np.float64) for rows in (X, means))
    scores = np.full((len(X), len(means)), -float(logspace.log(np.diagonal(root)).sum()))
    columns = [np.ascontiguousarray(turned[:, j]) for j in range(turned.shape[1])]
    kernels.score_gaussian(columns, *_normal_form(turned_means, np.ones_like(means)), scores, 1)
    return scores


def _are_definite(covariances: Floats) -> bool:
    """Whether these are symmetric and positive definite."""
    matrices = covariances.reshape(-1, *covariances.shape[-2:])
    symmetric = np.allclose(matrices, np.swapaxes(matrices, 1, 2))
    return bool(symmetric and (np.linalg.eigvalsh(matrices) > 0).all())


def _root(covariance: Floats) -> Floats:
    """Its lower triangle whose square it is; a singular one is lifted a little."""
    for lifted in (covariance, covariance + LIFT * np.eye(len(covariance))):
        try:
            return np.asarray(np.linalg.cholesky(lifted), dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise BayesError("'covars' must be symmetric, positive-definite")
