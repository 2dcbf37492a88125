"""Compute the class prior: empirical, uniform, given, or smoothed.

Formula: P(class), and without one row
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.formulas import Given, Share, Written
from bayeskit.estimate.smoothing import MLE, Smoothing, probabilities, smoothed
from bayeskit.nearest import did_you_mean
from bayeskit.tolerance import GONE, OFF_ONE, SLACK
from bayeskit.typing import Array, Floats

SPECS = (
    '"empirical", "uniform", a mapping from class to probability, probabilities in the order of the sorted classes, '
    "or a smoothing such as Laplace()"
)


def class_prior(prior: Any, classes: Sequence[Value], class_counts: Array) -> Floats:
    """Return P(class) in the order of ``classes``.

    >>> class_prior("empirical", ["no", "yes"], np.array([5, 9]))
    array([0.35714286, 0.64285714])
    >>> class_prior({"yes": 0.5, "no": 0.5}, ["no", "yes"], np.array([5, 9]))
    array([0.5, 0.5])
    """
    if isinstance(prior, str) and prior == "empirical":
        return probabilities(class_counts, 0.0)
    if isinstance(prior, str) and prior == "uniform":
        return np.full(len(classes), 1 / len(classes))
    if isinstance(prior, Smoothing) and not isinstance(prior, type):
        return np.asarray(probabilities(class_counts[None], prior.pseudo_counts(classes, class_counts[None]))[0])
    if isinstance(prior, Mapping):
        given = {canonical(label): share for label, share in prior.items()}
        lacking = [label for label in classes if label not in given]
        unknown = [label for label in given if label not in classes]
        if lacking or unknown:
            problem = f"does not name {lacking}" if lacking else f"names {unknown}, which are not classes"
            problem += f" but {unknown}" if lacking and unknown else ""
            meant = did_you_mean(unknown[0], lacking) if unknown else ""
            raise BayesError(f"the prior {problem} (classes: {list(classes)}); name every class once{meant}")
        return normalized([given[label] for label in classes])
    if _is_vector(prior):
        if len(prior) != len(classes):
            raise BayesError(f"the prior has {len(prior)} numbers for {len(classes)} classes: {list(classes)}")
        return normalized(prior)
    check_prior("prior", prior)
    raise AssertionError


def _is_vector(prior: Any) -> bool:
    """Return True for a sequence or an array of one dimension, whose items are not looked at."""
    if isinstance(prior, np.ndarray):
        return prior.ndim == 1
    return isinstance(prior, Sequence) and not isinstance(prior, (str, bytes))


def check_prior(name: str, prior: Any) -> None:
    """Raise an error for a prior that is of no known form; its classes are compared when they are known."""
    rule = isinstance(prior, (Mapping, Smoothing)) and not isinstance(prior, type)
    if not (rule or _is_vector(prior) or (isinstance(prior, str) and prior in ("empirical", "uniform"))):
        raise BayesError(f"{name}={prior!r}", hint=f"it is {SPECS}{did_you_mean(prior, ('empirical', 'uniform'))}")


def write_prior(prior: Any, classes: Sequence[Value], class_counts: Array) -> tuple[Written, ...]:
    """Return P(class) as a formula: a share of the rows if it is one, else the number.

    >>> [share.text for share in write_prior("empirical", ["no", "yes"], np.array([5, 9]))]
    ['5/14', '9/14']
    """
    if isinstance(prior, str) and prior == "uniform":
        return tuple(Share(1, len(classes)) for _ in classes)
    rule = MLE() if isinstance(prior, str) and prior == "empirical" else prior
    if not isinstance(rule, Smoothing):
        return tuple(Given(float(logspace.log(p))) for p in class_prior(prior, classes, class_counts))
    added = rule.pseudo_counts(classes, class_counts[None])
    total, whole = float(class_counts.sum()), float(added.sum())
    return tuple(Share(float(n), total, float(a), whole) for n, a in zip(class_counts, added, strict=True))


def log_prior_without(prior: Any, classes: Sequence[Value], class_counts: Array, label: int, unit: float) -> Floats:
    """Return ln P(class) without ``unit`` rows of a class; a class without other rows is impossible.

    >>> log_prior_without("empirical", ["no", "yes"], np.array([1, 3]), 0, 1.0).tolist()
    [-inf, 0.0]
    """
    counts = np.array(class_counts, dtype=np.float64)
    total = counts.sum()
    counts[label] -= unit
    if counts[label] > GONE * total:
        return logspace.log(class_prior(prior, classes, counts))
    log_prior = np.full(len(classes), -np.inf)
    others = [i for i in range(len(classes)) if i != label]
    if others:
        left = tuple(classes[i] for i in others)
        log_prior[others] = logspace.log(class_prior(prior_without_class(prior, classes, label), left, counts[others]))
    return log_prior


def prior_without_class(prior: Any, classes: Sequence[Value], label: int) -> Any:
    """Return the same prior for the other classes: a rule unchanged, given probabilities renormalized.

    >>> prior_without_class([0.2, 0.3, 0.5], ["a", "b", "c"], 2)
    [0.4, 0.6]
    """
    if isinstance(prior, (str, Smoothing)) or not (isinstance(prior, Mapping) or _is_vector(prior)):
        return prior
    shares = np.delete(class_prior(prior, classes, np.zeros(len(classes))), label)
    if len(shares) and not shares.sum() > 0:
        raise BayesError(
            f"the prior rules out every class but {classes[label]!r}, and without its only row nothing is left",
            hint='give another class a probability above 0, or pass prior="empirical"',
        )
    return (shares / shares.sum()).tolist()


def shares_without(class_counts: Array, labels: Array, units: Floats, pseudo: float = 0.0) -> Floats:
    """Return P(class) = (n' + a) / (N' + a C), shape (n_rows, n_classes), without ``units`` of the class of each row.

    >>> shares_without(np.array([1.0, 3.0]), np.array([0, 1]), np.ones(2)).round(6).tolist()
    [[0.0, 1.0], [0.333333, 0.666667]]
    """
    left = np.tile(class_counts.astype(np.float64), (len(labels), 1))
    left[np.arange(len(labels)), labels] -= units
    left[left <= GONE * class_counts.sum()] = 0.0
    return smoothed(left, left.sum(axis=1, keepdims=True), pseudo, pseudo * left.shape[1])


def normalized(shares: Any, what: str = "prior probabilities") -> Floats:
    """Return probabilities that sum to one; within 1e-3 of it they are normalized with a warning."""
    try:
        if not all(np.ndim(share) == 0 for share in shares):
            raise TypeError
        p = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(f"{what} are numbers: {list(shares)}") from None
    if not np.isfinite(p).all() or (p < 0).any():
        raise BayesError(f"{what} are finite and not negative: {p.tolist()}")
    if abs(p.sum() - 1) > SLACK:
        raise BayesError(f"{what} sum to {p.sum():.6g}, not to one: {p.tolist()}")
    if abs(p.sum() - 1) > OFF_ONE:
        warnings.warn(f"{what} sum to {p.sum():.9g}; they were normalized", BayesWarning, stacklevel=6)
    return p / p.sum()
