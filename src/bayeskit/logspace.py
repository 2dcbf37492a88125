"""Compute with probabilities in log space. Only this module takes ``exp`` or ``log`` of a probability.

The product of two thousand fair coin flips underflows a float; its logarithm does not. Scores are therefore sums of
logarithms and become probabilities only after subtracting the largest one:

    P(c | x) = exp(s_c − log Σ_k exp(s_k)),   s_c = log P(c) + Σ log P(x_j | c)

>>> coin = np.array([[2000 * log(0.5), 2000 * log(0.5) + log(3)]])   # e^-1386: 0.0 as a float
>>> probabilities, log_evidence = normalize(coin)
>>> probabilities.round(6)
array([[0.25, 0.75]])

Formula: log Σ exp, normalization, log odds, every log and exp of a probability
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayeskit import kernels
from bayeskit.tolerance import TIE as TIE  # logspace.TIE is the tolerance for comparing scores
from bayeskit.typing import Array, Floats

# Up to this row length, comparing column by column is faster.
SHORT = 16


def log(p: ArrayLike) -> Any:
    """Return the natural logarithm of probabilities of any shape; log 0 is −inf without a warning.

    >>> log([1.0, 0.0])
    array([  0., -inf])
    """
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(p, dtype=np.float64))


def exp(log_p: ArrayLike) -> Any:
    """Return probabilities from their logarithms, of any shape.

    >>> exp([0.0, -np.inf])
    array([1., 0.])
    """
    return np.exp(np.asarray(log_p, dtype=np.float64))


def log1p(x: ArrayLike) -> Any:
    """Return ln(1 + x), accurate for small x.

    >>> float(log1p(1e-20))
    1e-20
    """
    return np.log1p(np.asarray(x, dtype=np.float64))


def power(log_p: Floats, exponent: float) -> Floats:
    """Raise probabilities to a power; impossible events stay impossible, also to the power of zero.

    >>> power(np.array([-2.0, -np.inf]), 0.0).tolist()
    [-0.0, -inf]
    """
    with np.errstate(invalid="ignore"):
        return np.ascontiguousarray(np.where(np.isneginf(log_p), -np.inf, log_p * exponent))


def log_sum_exp(a: ArrayLike, axis: int = -1) -> Any:
    """Return log Σ exp(a) along an axis, shifted by the largest term to avoid overflow and underflow.

    If all terms are log 0 = −inf, the result is −inf.

    >>> float(log_sum_exp(log([0.25, 0.5])).round(6)), float(log(0.75).round(6))
    (-0.287682, -0.287682)
    >>> log_sum_exp([[-2000.0, -2000.0], [-np.inf, -np.inf]])
    array([-1999.30685282,           -inf])
    """
    terms = np.asarray(a, dtype=np.float64)
    if terms.shape[axis] == 0:
        return np.full(np.delete(terms.shape, axis), -np.inf)[()]
    largest = terms.max(axis=axis, keepdims=True)
    # An infinite maximum must not be subtracted from itself: inf − inf is NaN.
    shift = np.where(np.isinf(largest), 0.0, largest)
    with np.errstate(over="ignore"):
        total = np.exp(terms - shift).sum(axis=axis)
    return log(total) + np.squeeze(shift, axis=axis)


def log_sum_exp_below(terms: Floats, largest: Floats) -> Floats:
    """Return log Σ exp of terms, shape (n_rows,), whose largest are known and finite; overwrites the terms, shape
    (n_rows, n_terms).

    >>> log_sum_exp_below(np.array([[-2000.0, -2000.0]]), np.array([-2000.0])).round(6).tolist()
    [-1999.306853]
    """
    terms -= largest[:, None]
    np.exp(terms, out=terms)
    return np.log(terms.sum(axis=1)) + largest


def log_add_exp(a: ArrayLike, b: ArrayLike) -> Any:
    """Return log(exp(a) + exp(b)) elementwise.

    >>> float(exp(log_add_exp(log(0.25), log(0.5))))
    0.75
    """
    return np.logaddexp(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))


def log_odds(log_p: ArrayLike, log_q: ArrayLike) -> Any:
    """Return ln p / q from logarithms, elementwise: infinite if one of them is impossible, NaN if both are.

    >>> log_odds(log([0.75, 0.5, 0.0]), log([0.25, 0.0, 0.0])).round(6).tolist()
    [1.098612, inf, nan]
    """
    with np.errstate(invalid="ignore"):
        return np.subtract(log_p, log_q)


def logistic(log_odds: ArrayLike) -> Any:
    """Return the probability of log odds, from 0 to 1, without overflow.

    >>> logistic([0.0, -2000.0, np.inf]).tolist()
    [0.5, 0.0, 1.0]
    """
    return exp(-log_add_exp(0.0, -np.asarray(log_odds, dtype=np.float64)))


def log_odds_of_each(log_joint: Floats) -> Floats:
    """Return ln P(c) / (1 − P(c)) of each class, shape (n_rows, n_classes), accurate for nearly certain classes.

    ``log_joint`` may have any scale, such as ln P(x, c). The result is NaN for rows impossible under every class.

    >>> log_odds_of_each(log([[0.02, 0.06], [0.0, 1.0]])).round(6).tolist()
    [[-1.098612, 1.098612], [-inf, inf]]
    >>> log_odds_of_each(np.array([[0.0, -50.0, -50.0]]))[0, 0].round(6) == round(50 - float(log(2)), 6)
    np.True_
    """
    log_p = log_normalize(log_joint)[0]
    if log_p.shape[1] == 2:
        return log_odds(log_p, log_p[:, ::-1])
    rows, best = np.arange(len(log_p)), log_p.argmax(axis=1)
    log_rest = log1p(-np.minimum(exp(log_p), 0.5))  # exact below 1/2; only the best class can be above
    others = log_p.copy()
    others[rows, best] = -np.inf
    log_rest[rows, best] = normalize(others)[1]
    return log_odds(log_p, log_rest)


def normalize(log_joint: Floats, n_threads: int = 1, out: Floats | None = None) -> tuple[Floats, Floats]:
    """Return posteriors, shape (n_rows, n_classes), and log evidence, shape (n_rows,), of log P(c, x); ``out`` is
    optional.

    A row that is impossible under every class (all −inf) has posterior NaN and evidence −inf. The caller decides how to
    handle it.

    >>> probabilities, log_evidence = normalize(log([[0.02, 0.06], [0.0, 0.0]]))
    >>> probabilities
    array([[0.25, 0.75],
           [ nan,  nan]])
    >>> exp(log_evidence)
    array([0.08, 0.  ])
    """
    return kernels.normalize(np.ascontiguousarray(log_joint, dtype=np.float64), n_threads, out)


def log_normalize(log_joint: Floats) -> tuple[Floats, Floats]:
    """Return log posteriors, shape (n_rows, n_classes), and log evidence, shape (n_rows,): `normalize` in log space.

    A class of posterior 1e-400 keeps its rank here; `normalize` rounds it to 0.

    >>> log_probabilities, _ = log_normalize(np.array([[0.0, -921.0]]))
    >>> log_probabilities
    array([[   0., -921.]])
    """
    probabilities, log_evidence = normalize(log_joint)
    best = largest_of_rows(log_joint)[:, None]
    with np.errstate(invalid="ignore"):  # −inf − −inf: NaN is intended
        # Subtract the score of the best class: for scores of −4e9 the evidence has only seven decimals, the difference
        # is exact.
        return log_joint - best + log(largest_of_rows(probabilities))[:, None], log_evidence


def largest_of_rows(a: Floats) -> Floats:
    """Return the maximum of each row, shape (n_rows,): a faster ``a.max(axis=1)`` for short rows.

    >>> largest_of_rows(np.array([[1.0, 3.0], [2.0, -np.inf]])).tolist()
    [3.0, 2.0]
    """
    if not 0 < a.shape[1] <= SHORT:
        return a.max(axis=1)
    largest = a[:, 0].copy()
    for c in range(1, a.shape[1]):
        np.maximum(largest, a[:, c], out=largest)
    return largest


def log_posterior_of(log_joint: Floats, labels: Array) -> Floats:
    """Return ln P(label | x) of each row's own label, shape (n_rows,); NaN if the row is impossible under every class.

    >>> exp(log_posterior_of(log([[0.02, 0.06]]) - 4e9, np.array([1]))).round(6).tolist()   # 3 : 1, far away
    [0.75]
    """
    return log_normalize(log_joint)[0][np.arange(len(labels)), labels]
