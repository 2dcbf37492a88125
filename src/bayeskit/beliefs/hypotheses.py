"""Hypotheses: Bayes' rule over a finite set of named hypotheses.

    P(h | D) = P(D | h) · P(h) / Σ_k P(D | k) · P(k)

In bits: the description length of D by h is −log2 P(h) for the theory plus −log2 P(D | h) for the data given the
theory. The hypothesis with the shortest description (MDL) has the largest posterior (MAP).

Formula: P(h ∣ D) over named hypotheses, description lengths
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.beliefs.beta_dirichlet import likelihood_ratio
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.estimate.prior import normalized
from bayeskit.nearest import did_you_mean
from bayeskit.settings import is_integer
from bayeskit.tables import ROWS, Grid, Readable, Sheet, Table
from bayeskit.tolerance import TIE
from bayeskit.typing import Floats

BIT = float(logspace.log(2.0))


@dataclass(frozen=True, eq=False, init=False)
class Hypotheses(Readable, Drawable):
    """Posterior over a finite set of named hypotheses; ``update`` returns a new object.

    Parameters
    ----------
    prior : dict
        ``{hypothesis: probability}``.

    Attributes
    ----------
    names : tuple
    log_prior : ndarray of shape (n_hypotheses,)
    log_likelihood : ndarray of shape (n_hypotheses,)
        ln P(all evidence so far | hypothesis).

    Examples
    --------
    >>> patient = Hypotheses({"cancer": 0.008, "healthy": 0.992})
    >>> positive = {"cancer": 0.98, "healthy": 0.03}                     # P(test is positive | each)
    >>> once = patient.update(positive)
    >>> once.map, round(once.posterior["cancer"], 4)                     # .00784 / (.00784 + .02976)
    ('healthy', 0.2085)
    >>> once.update(positive).map                                        # a second, independent test
    'cancer'
    >>> once.maximum_likelihood, round(once.bayes_factor("cancer", "healthy"), 2)
    ('cancer', 32.67)
    """

    names: tuple[Any, ...]
    log_prior: Floats
    log_likelihood: Floats  # of all evidence so far

    def __init__(self, prior: Mapping[Any, float]) -> None:
        if not isinstance(prior, Mapping) or not prior:
            raise BayesError(f"Hypotheses: {prior!r} is not a mapping from hypothesis to prior probability")
        shares = _numbers(list(prior.values()), "prior probabilities")
        log_prior = logspace.log(normalized(shares))
        vars(self).update(names=tuple(prior), log_prior=log_prior, log_likelihood=np.zeros(len(prior)))

    @classmethod
    def from_bits(cls, lengths: Mapping[Any, float]) -> Hypotheses:
        """Build the prior from the lengths of the theories in bits: P(h) ∝ 2^−length.

        Parameters
        ----------
        lengths : dict
            ``{hypothesis: bits}``.

        Returns
        -------
        Hypotheses

        Examples
        --------
        >>> Hypotheses.from_bits({"short": 1, "long": 3}).prior
        {'short': 0.8, 'long': 0.2}
        """
        bits = _numbers(list(lengths.values()), "description lengths")
        weights = logspace.normalize(-BIT * bits[None])[0][0]
        return cls(dict(zip(lengths, weights.tolist(), strict=True)))

    def update(self, likelihood: Mapping[Any, float]) -> Hypotheses:
        """Return the posterior given new evidence.

        Parameters
        ----------
        likelihood : dict
            P(evidence | hypothesis) of each hypothesis.

        Returns
        -------
        Hypotheses

        Raises
        ------
        BayesError
            If a likelihood is missing or invalid, or if the evidence is impossible under every hypothesis.
        """
        given = self._aligned(likelihood, "likelihood")
        if not np.isfinite(given).all() or (given < 0).any():
            bad = self.names[int(np.argmax(~np.isfinite(given) | (given < 0)))]
            raise BayesError(f"the likelihood of {bad!r} is {likelihood[bad]!r}; it is finite and not negative")
        return self._with(self.log_likelihood + logspace.log(given))

    def update_log(self, log_likelihood: Mapping[Any, float]) -> Hypotheses:
        """Return the posterior given log likelihoods, for evidence too improbable for a float.

        Parameters
        ----------
        log_likelihood : dict
            ln P(evidence | hypothesis) of each hypothesis.

        Returns
        -------
        Hypotheses
        """
        given = self._aligned(log_likelihood, "log likelihood")
        if np.isnan(given).any() or np.isposinf(given).any():
            raise BayesError("log likelihoods are finite, or −inf for what cannot be")
        return self._with(self.log_likelihood + given)

    def update_exceptions(self, exceptions: Mapping[Any, float], n_rows: int, n_classes: int = 2) -> Hypotheses:
        """Return the posterior given the labels of rows, coded by the errors of each hypothesis.

        Parameters
        ----------
        exceptions : dict
            Number of errors of each hypothesis; see :func:`exception_bits`.
        n_rows : int
        n_classes : int, default=2

        Returns
        -------
        Hypotheses
        """
        counts = self._aligned(exceptions, "number of exceptions")
        bits = np.array([exception_bits(n_rows, k, n_classes) for k in counts.tolist()])
        return self._with(self.log_likelihood - BIT * bits)

    def _with(self, log_likelihood: Floats) -> Hypotheses:
        if np.isneginf(self.log_prior + log_likelihood).all():
            raise BayesError(
                "the evidence is impossible under every hypothesis: their posterior is 0/0. "
                "Some hypothesis is missing, or a likelihood of 0 should be a small number."
            )
        new = object.__new__(Hypotheses)
        vars(new).update(names=self.names, log_prior=self.log_prior, log_likelihood=log_likelihood, _index=self._index)
        return new

    @cached_property
    def _posterior(self) -> Floats:
        return logspace.normalize((self.log_prior + self.log_likelihood)[None])[0][0]

    @property
    def prior(self) -> dict[Any, float]:
        """P(h) before all evidence."""
        return dict(zip(self.names, logspace.exp(self.log_prior).tolist(), strict=True))

    @property
    def posterior(self) -> dict[Any, float]:
        """P(h | evidence)."""
        return dict(zip(self.names, self._posterior.tolist(), strict=True))

    @property
    def joint(self) -> dict[Any, float]:
        """P(evidence, h) = P(evidence | h) · P(h), which the posterior divides by its sum.

        >>> patient = Hypotheses({"cancer": 0.008, "healthy": 0.992}).update({"cancer": 0.98, "healthy": 0.03})
        >>> {name: round(p, 5) for name, p in patient.joint.items()}
        {'cancer': 0.00784, 'healthy': 0.02976}
        """
        return dict(zip(self.names, logspace.exp(self.log_prior + self.log_likelihood).tolist(), strict=True))

    def predict(self, votes: Mapping[Any, Mapping[Any, float]]) -> dict[Any, float]:
        """Return the Bayes optimal prediction, P(outcome | evidence) = Σ_h P(outcome | h) P(h | evidence).

        Parameters
        ----------
        votes : dict
            ``{hypothesis: {outcome: probability}}``.

        Returns
        -------
        dict
            ``{outcome: probability}``, the most probable first.

        Examples
        --------
        >>> three = Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
        >>> votes = {"h1": {"+": 1, "-": 0}, "h2": {"+": 0, "-": 1}, "h3": {"+": 0, "-": 1}}
        >>> three.map, {outcome: round(p, 6) for outcome, p in three.predict(votes).items()}
        ('h1', {'-': 0.6, '+': 0.4})
        """
        outcomes, table = self._votes(votes)
        p = self._posterior @ table
        order = sorted(range(len(outcomes)), key=lambda i: -p[i])
        return {outcomes[i]: float(p[i]) for i in order}

    def gibbs(self, votes: Mapping[Any, Mapping[Any, float]], n: int = 1, random_state: Any = None) -> list[Any]:
        """Draw predictions of the Gibbs classifier: the best outcome of a hypothesis drawn from the posterior.

        Parameters
        ----------
        votes : dict
            ``{hypothesis: {outcome: probability}}``.
        n : int, default=1
            Number of draws.
        random_state : int, optional

        Returns
        -------
        list

        Examples
        --------
        >>> three = Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
        >>> votes = {"h1": {"+": 1, "-": 0}, "h2": {"+": 0, "-": 1}, "h3": {"+": 0, "-": 1}}
        >>> round(three.gibbs(votes, 10_000, random_state=0).count("+") / 10_000, 2)
        0.4
        """
        if not is_integer(n) or n < 0:
            raise BayesError(f"gibbs({n!r}): give a whole number of draws")
        outcomes, table = self._votes(votes)
        best_outcome = [_best(row) for row in table]
        drawn = np.random.default_rng(random_state).choice(len(best_outcome), size=n, p=self._posterior)
        return [outcomes[best_outcome[h]] for h in drawn]

    def _votes(self, votes: Mapping[Any, Mapping[Any, float]]) -> tuple[list[Any], Floats]:
        """Return the outcomes and P(outcome | h), shape (n_hypotheses, n_outcomes)."""
        if not isinstance(votes, Mapping) or not all(isinstance(vote, Mapping) for vote in votes.values()):
            raise BayesError("give a mapping from hypothesis to the probability of each outcome: {'h1': {'+': 1}, …}")
        self._aligned(dict.fromkeys(votes, 0.0), "vote", "one mapping from outcome to probability")
        outcomes = list(dict.fromkeys(outcome for name in self.names for outcome in votes[name]))
        rows = {name: [votes[name].get(outcome, 0.0) for outcome in outcomes] for name in self.names}
        return outcomes, np.array([normalized(row, f"the votes of {name!r}") for name, row in rows.items()])

    @property
    def map(self) -> Any:
        """Most probable hypothesis; the first of several."""
        return self.names[_best(self.log_prior + self.log_likelihood)]

    @property
    def maximum_likelihood(self) -> Any:
        """Hypothesis under which the evidence is most probable; the first of several."""
        return self.names[_best(self.log_likelihood)]

    @property
    def log_evidence(self) -> float:
        """ln P(evidence) under all hypotheses together."""
        return float(logspace.log_sum_exp(self.log_prior + self.log_likelihood))

    def bayes_factor(self, one: Any, other: Any) -> float:
        """Return P(evidence | one) / P(evidence | other).

        Parameters
        ----------
        one, other
            Hypotheses.

        Returns
        -------
        float

        Raises
        ------
        BayesError
            If the evidence is impossible under both.
        """
        a, b = (float(self.log_likelihood[self._position(name)]) for name in (one, other))
        return likelihood_ratio(a, b, repr(one), repr(other))

    @property
    def description_lengths(self) -> Table:
        """Table of the bits of each theory, of the data given it, and of both."""
        theory, data = -self.log_prior / BIT + 0.0, -self.log_likelihood / BIT + 0.0
        names = list(self.names) if len({type(n) for n in self.names}) == 1 else [str(n) for n in self.names]
        return Table({"hypothesis": names, "theory bits": theory, "data bits": data, "total bits": theory + data})

    @property
    def mdl(self) -> Any:
        """Hypothesis with the shortest description of theory and data; it is the MAP hypothesis."""
        return self.names[_best(-(self.log_prior / -BIT + self.log_likelihood / -BIT))]

    @property
    def sheet(self) -> Sheet:
        """Prior and posterior of each hypothesis, for display."""
        first = self.names[:ROWS]
        after, before = self._posterior[:ROWS].tolist(), logspace.exp(self.log_prior[:ROWS]).tolist()
        columns = {"hypothesis": [str(name) for name in first], "before": before, "after": after}
        best = self._posterior[self._position(self.map)]
        head = f"{len(self.names)} hypotheses, the most probable {self.map} with {best:.4g}"
        return Sheet(head, (Grid(columns, more=len(self.names) - len(first)),))

    def __repr__(self) -> str:
        listed = ", ".join(f"{n!r}: {p:.6g}" for n, p in zip(self.names[:8], self._posterior.tolist(), strict=False))
        return f"Hypotheses({{{listed}{', …' if len(self.names) > 8 else ''}}})"

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _index(self) -> dict[Any, int]:
        return {name: i for i, name in enumerate(self.names)}

    def _position(self, name: Any) -> int:
        if name not in self._index:
            meant = did_you_mean(name, self.names)
            raise BayesError(f"there is no hypothesis {name!r} (there are: {_some(self.names)}){meant}")
        return self._index[name]

    def _aligned(self, given: Mapping[Any, float], what: str, shape: str = "one number") -> Floats:
        if not isinstance(given, Mapping):
            raise BayesError(f"{given!r} is not a mapping from hypothesis to {what}")
        if given.keys() != self._index.keys():
            lacking = [name for name in self.names if name not in given]
            unknown = [name for name in given if name not in self._index]
            problem = f"no {what} for {_some(lacking)}" if lacking else f"{_some(unknown)}: no such hypothesis"
            raise BayesError(f"{problem}. Give {shape} for each hypothesis ({_some(self.names)}).")
        return _numbers([given[name] for name in self.names], what)


def exception_bits(n_rows: int, n_exceptions: float, n_classes: int = 2) -> float:
    """Return the bits that describe the labels of rows given a hypothesis with some errors.

    log2(n + 1) for the number of errors, log2 (n over k) for their rows, log2(C − 1) for the true class of each.

    Parameters
    ----------
    n_rows : int
    n_exceptions : int
    n_classes : int, default=2

    Returns
    -------
    float

    Examples
    --------
    >>> exception_bits(3, 0), round(exception_bits(3, 1), 6)     # log2 4, log2 4 + log2 3
    (2.0, 3.584963)
    """
    if not 0 <= n_exceptions <= n_rows or int(n_exceptions) != n_exceptions or n_classes < 2:
        raise BayesError(f"{n_exceptions} exceptions among {n_rows} rows of {n_classes} classes cannot be")
    k = int(n_exceptions)
    which = (lgamma(n_rows + 1) - lgamma(k + 1) - lgamma(n_rows - k + 1)) / BIT
    return float(logspace.log(n_rows + 1) / BIT + which + k * logspace.log(n_classes - 1) / BIT)


def _best(scores: Floats) -> int:
    """Return the first index within rounding error of the largest score."""
    top = scores.max()
    return int(np.argmax(scores >= top - TIE * max(1.0, abs(top))))


def _numbers(values: list[Any], what: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(f"{what}: give numbers, one a hypothesis") from None


def _some(names: Any) -> str:
    listed = [repr(name) for name in list(names)[:6]]
    return ", ".join(listed) + (f", … ({len(names)} in all)" if len(names) > 6 else "")
