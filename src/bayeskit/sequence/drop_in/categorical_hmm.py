"""CategoricalHMM: hidden states that emit symbols 0 … n − 1, with hmmlearn's settings, attributes and results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.sequence.drop_in.hmm_contract import Counts, HmmContract, Observed, check_table, updated
from bayeskit.typing import Array, Floats, Ints


@dataclass(eq=False, repr=False)
class CategoricalHMM(HmmContract):
    """A hidden Markov model of symbols, for code that was written for hmmlearn's.

    Settings and attributes are hmmlearn's: ``startprob_``, ``transmat_`` and ``emissionprob_``, which may be set
    instead of learnt. ``implementation`` is taken and makes no difference.

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

    emission_names: ClassVar[Mapping[str, str]] = {"e": "emissionprob_"}

    def as_rows(self, X: Any) -> Array:
        """One column of whole numbers."""
        rows = super().as_rows(X)
        if rows.shape[1] != 1:
            warnings.warn("Inputs of shape other than (n_samples, 1) are deprecated.", DeprecationWarning, stacklevel=4)
            rows = rows.reshape(-1, 1)
        return rows

    def observed(self, X: Array, starts: Ints) -> Observed:
        """The table of symbols, and the symbol of each row."""
        table = np.ascontiguousarray(logspace.log(self.emissionprob_).T)
        if X.dtype.kind not in "iu":
            raise BayesError("Symbols should be integers")
        if X.size and (X.min() < 0 or X.max() >= len(table)):
            bad = int(X.min() if X.min() < 0 else X.max())
            raise BayesError(f"the symbol {bad} is none of the model's, which are 0 to {len(table) - 1}", culprit=bad)
        return Observed(table, X[:, 0].astype(np.uint32), starts)

    def expected(self, X: Array, seen: Observed) -> tuple[float, Counts]:
        """ln P, and counts of starts, transitions and symbols."""
        log_prob, counts, symbols = self._counted(seen, by_row=False)
        return log_prob, {**counts, "symbols": symbols.T}

    def improve(self, counts: Counts) -> None:
        """P(symbol | state)."""
        if "e" in self.params:
            self.emissionprob_: Floats = updated(self.emissionprob_, self.emissionprob_prior, counts["symbols"], False)

    def n_scalars(self) -> dict[str, int]:
        """Free numbers by the letters of ``params``."""
        return {**super().n_scalars(), "e": self.n_components * (self._n_symbols() - 1)}

    def _n_symbols(self) -> int:
        return self.n_features if self.n_features is not None else self.emissionprob_.shape[1]

    def emit(self, state: int, random_state: Any) -> list[int]:
        """A symbol."""
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
            raise BayesError(
                f"Largest symbol is {X.max()} but the model only emits symbols up to {self.n_features - 1}",
                culprit=int(X.max()),
            )

    def _check(self) -> None:
        super()._check()
        self.emissionprob_ = np.atleast_2d(np.asarray(self.emissionprob_, dtype=np.float64))
        if self.n_features is None:
            self.n_features = self.emissionprob_.shape[1]
        check_table("emissionprob_", self.emissionprob_, (self.n_components, self.n_features))
