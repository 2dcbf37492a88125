"""What both models for hmmlearn's users share: start, transitions, EM, likelihoods, paths and draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.errors import BayesError
from bayeskit.models.base.estimator import Estimator, check_is_fitted
from bayeskit.models.base.settings import one_of
from bayeskit.sequence.drop_in.convergence import ConvergenceMonitor, log
from bayeskit.typing import Array, Floats, Ints

Counts = dict[str, Floats]  # what is expected of a round, by name


@dataclass(frozen=True)
class Observed:
    """Rows as the kernels take them: logarithms by row, or by symbol with the symbol of each row, or normal columns."""

    logs: Floats
    codes: Array | None
    starts: Ints
    normals: tuple[list[Floats], Floats, Floats, Floats, Floats] | None = (
        None  # columns, mean, precision, constant, centre
    )


class HmmContract(Estimator):
    """A hidden Markov model with the face of hmmlearn's. A model adds its emissions."""

    n_components: int
    startprob_prior: Any
    transmat_prior: Any
    algorithm: str
    random_state: Any
    n_iter: int
    tol: float
    verbose: bool
    params: str
    init_params: str
    implementation: str
    startprob_: Floats
    transmat_: Floats
    emission_names: ClassVar[Mapping[str, str]]  # letter of ``params``: attribute

    @property
    def monitor_(self) -> ConvergenceMonitor:
        """How EM went; one with a rule of its own may be put here before a fit."""
        if "_monitor" not in vars(self):
            self._monitor = ConvergenceMonitor(self.tol, self.n_iter, self.verbose)
        return self._monitor

    @monitor_.setter
    def monitor_(self, monitor: ConvergenceMonitor) -> None:
        self._monitor = monitor

    # -- what a model adds ---------------------------------------------------------------------------

    def observed(self, X: Array, starts: Ints) -> Observed:
        """ln P(row | state)."""
        raise NotImplementedError

    def expected(self, X: Array, seen: Observed) -> tuple[float, Counts]:
        """(ln P of all rows, what is expected to be counted)"""
        raise NotImplementedError

    def improve(self, counts: Counts) -> None:
        """Emissions from what was expected."""
        raise NotImplementedError

    def n_scalars(self) -> dict[str, int]:
        """Free numbers by the letters of ``params``."""
        states = self.n_components
        return {"s": states - 1, "t": states * (states - 1)}

    def emit(self, state: int, random_state: Any) -> Any:
        """A row drawn in a state."""
        raise NotImplementedError

    def as_rows(self, X: Any) -> Array:
        """Rows as an array (rows, columns)."""
        from sklearn.utils.validation import check_array

        return np.asarray(check_array(X))

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, lengths: Any = None) -> Self:
        """Learn by Baum–Welch from rows ``X``, cut into sequences of these ``lengths``."""
        rows = self.as_rows(X)
        starts = starts_of(lengths, len(rows))
        self._init(rows, lengths)
        self._check()
        self.monitor_.reset()
        for _ in range(self.n_iter):
            with np.errstate(under="ignore"):  # shares of states that are as good as none
                log_prob, counts = self.expected(rows, self.observed(rows, starts))
            if not np.isfinite(log_prob):
                raise BayesError(
                    "no path of states can have made these rows: ln P is not finite. Look at zeros in startprob_, "
                    "transmat_ and the emissions."
                )
            self._improve_chain(counts)
            self.improve(counts)
            self.monitor_.report(log_prob)
            if self.monitor_.converged:
                break
        return self

    def _improve_chain(self, counts: Counts) -> None:
        """Starts and transitions; what is forbidden stays so, and a state that was never left keeps its row."""
        if "s" in self.params:
            self.startprob_ = updated(self.startprob_, self.startprob_prior, counts["start"])
        if "t" in self.params:
            self.transmat_ = updated(self.transmat_, self.transmat_prior, counts["transitions"])

    def _counted(self, seen: Observed, by_row: bool) -> tuple[float, Counts, Floats]:
        """(ln P, expected starts and transitions, P(state) of each row or by symbol, or sums of normal columns)"""
        log_start, log_transition = self._log_chain()
        likelihoods, _, start, transitions, states, _ = kernels.count_states(
            seen.logs,
            seen.codes,
            None,
            None,
            seen.normals,
            seen.starts,
            log_start,
            log_transition,
            None,
            None,
            by_row,
            1,
        )
        return float(likelihoods.sum()), {"start": start, "transitions": transitions}, states

    def _log_chain(self) -> tuple[Floats, Floats]:
        return (
            np.ascontiguousarray(logspace.log(self.startprob_)),
            np.ascontiguousarray(logspace.log(self.transmat_)),
        )

    def _init(self, X: Array, lengths: Any = None) -> None:
        """Numbers to begin with, drawn as hmmlearn draws them."""
        from sklearn.utils import check_random_state

        self._check_and_set_n_features(X)
        states, rng = self.n_components, check_random_state(self.random_state)
        if self._needs_init("s", "startprob_"):
            self.startprob_ = rng.dirichlet(np.full(states, 1.0 / states))
        if self._needs_init("t", "transmat_"):
            self.transmat_ = rng.dirichlet(np.full(states, 1.0 / states), size=states)
        sizes = self.n_scalars()
        wanted = sum(sizes[letter] for letter in self.params)
        if X.size < wanted:
            log.warning("%d numbers are to be found from %d: this will be a degenerate solution", wanted, X.size)

    def _needs_init(self, letter: str, name: str) -> bool:
        there = hasattr(self, name)
        if there and letter in self.init_params:
            log.warning("%s is set, and will be overwritten: init_params has %r", name, letter)
        return letter in self.init_params or not there

    def _check_and_set_n_features(self, X: Array) -> None:
        raise NotImplementedError

    def _check(self) -> None:
        """Refuse numbers that make no model."""
        one_of("algorithm", self.algorithm, ("viterbi", "map"))
        one_of("implementation", self.implementation, ("log", "scaling"))
        self.startprob_ = np.asarray(self.startprob_, dtype=np.float64)
        self.transmat_ = np.asarray(self.transmat_, dtype=np.float64)
        states = self.n_components
        for name, table, shape in (
            ("startprob_", self.startprob_, (states,)),
            ("transmat_", self.transmat_, (states, states)),
        ):
            check_table(name, table, shape)

    # -- asking --------------------------------------------------------------------------------------

    def _seen(self, X: Any, lengths: Any) -> tuple[Array, Observed]:
        self._check_is_fitted()
        self._check()
        rows = self.as_rows(X)
        return rows, self.observed(rows, starts_of(lengths, len(rows)))

    def score(self, X: Any, lengths: Any = None) -> float:
        """ln P(X)."""
        _, seen = self._seen(X, lengths)
        log_start, log_transition = self._log_chain()
        likelihoods = kernels.filter_states(
            seen.logs, seen.codes, None, None, seen.normals, seen.starts, log_start, log_transition, None, False, 1
        )[0]
        return float(likelihoods.sum())

    def score_samples(self, X: Any, lengths: Any = None) -> tuple[float, Floats]:
        """(ln P(X), P(state | all rows of its sequence) of each row)"""
        _, seen = self._seen(X, lengths)
        log_prob, _, posteriors = self._counted(seen, by_row=True)
        return log_prob, posteriors

    def predict_proba(self, X: Any, lengths: Any = None) -> Floats:
        """P(state | all rows of its sequence) of each row (rows, states)."""
        return self.score_samples(X, lengths)[1]

    def decode(self, X: Any, lengths: Any = None, algorithm: str | None = None) -> tuple[float, Ints]:
        """(ln P of the path, the path): the most probable path ("viterbi"), or the most probable state of each row
        ("map", where the number is the sum of their probabilities, as hmmlearn has it)."""
        algorithm = algorithm or self.algorithm
        if algorithm not in ("viterbi", "map"):
            raise BayesError(f"Unknown decoder {algorithm!r}: it is 'viterbi' or 'map'", culprit=algorithm)
        if algorithm == "map":
            posteriors = self.predict_proba(X, lengths)
            return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1)
        _, seen = self._seen(X, lengths)
        log_start, log_transition = self._log_chain()
        path, scores, _, _ = kernels.best_states(
            seen.logs, seen.codes, None, None, seen.normals, seen.starts, log_start, log_transition, None, -1, True, 1
        )
        assert path is not None
        return float(scores.sum()), path.astype(np.int64)

    def predict(self, X: Any, lengths: Any = None) -> Ints:
        """The states, by ``algorithm``."""
        return self.decode(X, lengths)[1]

    def sample(self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None) -> tuple[Array, Ints]:
        """(rows, states) of one sequence; it begins in the state ``currstate`` where that is given."""
        from sklearn.utils import check_random_state

        self._check_is_fitted()
        self._check()
        rng = check_random_state(self.random_state if random_state is None else random_state)
        reached, reached_first = np.cumsum(self.transmat_, axis=1), np.cumsum(self.startprob_)
        state = int((reached_first > rng.rand()).argmax()) if currstate is None else int(currstate)
        states, rows = [state], [self.emit(state, rng)]
        for _ in range(n_samples - 1):
            state = int((reached[state] > rng.rand()).argmax())
            states.append(state)
            rows.append(self.emit(state, rng))
        return np.atleast_2d(rows), np.array(states, dtype=np.int64)

    def aic(self, X: Any, lengths: Any = None) -> float:
        """Akaike's criterion, −2 ln P + 2 · free numbers: the lower the better."""
        return -2 * self.score(X, lengths) + 2 * sum(self.n_scalars().values())

    def bic(self, X: Any, lengths: Any = None) -> float:
        """Schwarz's criterion, −2 ln P + ln rows · free numbers: the lower the better."""
        return -2 * self.score(X, lengths) + sum(self.n_scalars().values()) * float(logspace.log(len(X)))

    def get_stationary_distribution(self) -> Floats:
        """P(state) that the transitions leave as it is."""
        check_is_fitted(self)
        values, vectors = np.linalg.eig(self.transmat_.T)
        own = np.real(vectors[:, np.argmin(np.abs(values - 1))])
        return np.asarray(own / own.sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "startprob_") and hasattr(self, "transmat_")

    def _check_is_fitted(self) -> None:
        check_is_fitted(self)


def starts_of(lengths: Any, n_rows: int) -> Ints:
    """Where sequences begin, and the end."""
    if lengths is None:
        return np.array([0, n_rows], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(np.atleast_1d(lengths))]).astype(np.int64)
    if starts[-1] != n_rows or (np.diff(starts) < 0).any():
        raise BayesError(f"lengths array {lengths} doesn't sum to {n_rows} samples", culprit="lengths")
    return starts


def updated(table: Floats, prior: Any, counts: Floats, zeros_stay: bool = True) -> Floats:
    """The most probable table under a Dirichlet prior; zeros stay, and so does a row of which nothing was counted.

    >>> updated(np.array([[0.5, 0.5], [0.3, 0.7]]), 1.0, np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.3, 0.7]]
    """
    grown = np.where(zeros_stay & (table == 0), 0.0, np.maximum(np.asarray(prior) - 1 + counts, 0.0))
    totals = grown.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(totals > 0, grown / np.where(totals > 0, totals, 1.0), table))


def check_table(name: str, table: Floats, shape: tuple[int, ...]) -> None:
    """Refuse what are no probabilities of this shape."""
    if table.shape != shape:
        raise BayesError(f"{name} must have shape {shape}, and has {table.shape}", culprit=name)
    sums = table.sum(axis=-1)
    if not np.allclose(sums, 1):
        raise BayesError(f"{name} must sum to 1 (got {sums})", culprit=name)
