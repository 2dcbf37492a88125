"""Score a family, a node with its parents, from its counts: likelihood, BIC, AIC, BDeu and K2.

The score of a network is the sum over its families. Heckerman, Geiger and Chickering, "Learning Bayesian networks: the
combination of knowledge and statistical data", 1995; Cooper and Herskovits, "A Bayesian method for the induction of
probabilistic networks from data", 1992.

Formula: BIC, AIC, BDeu and K2 scores of a network
"""

from __future__ import annotations

import numpy as np

from bayeskit.typing import Array

SCORES = ("bdeu", "bic", "aic", "k2", "log_likelihood")


def log_likelihood(counts: Array) -> float:
    """Return Σ n_jk ln(n_jk / n_j), the log-likelihood at its maximum.

    Parameters
    ----------
    counts : ndarray of shape (n_contexts, n_states)

    >>> round(log_likelihood(np.array([[2, 2]])), 4)             # 4 · ln ½
    -2.7726
    """
    from scipy.special import xlogy

    return float(xlogy(counts, counts).sum() - (n := counts.sum(axis=1)) @ np.log(np.where(n > 0, n, 1)))


def dirichlet(counts: Array, pseudo_count: float) -> float:
    """Return ln P(data) of the contexts, each with a symmetric Dirichlet prior.

    Parameters
    ----------
    counts : ndarray of shape (n_contexts, n_states)
    pseudo_count : float
        Of every state in every context.

    >>> round(dirichlet(np.array([[1, 1]]), 1.0), 4)             # ∫ p (1 − p) dp = 1/6
    -1.7918
    """
    from scipy.special import gammaln

    n, total = counts.sum(axis=1), pseudo_count * counts.shape[1]
    rows = gammaln(total) - gammaln(total + n)
    cells = gammaln(pseudo_count + counts) - gammaln(pseudo_count)
    return float(rows.sum() + cells.sum())


def family_score(counts: Array, score: str, equivalent_sample_size: float = 1.0) -> float:
    """Return the score of a family from its counts.

    Parameters
    ----------
    counts : ndarray of shape (n_contexts, n_states)
        All contexts, those without rows too.
    score : {"bdeu", "bic", "aic", "k2", "log_likelihood"}
    equivalent_sample_size : float, default=1.0
        Of BDeu: rows that the uniform prior is worth.

    >>> family_score(np.array([[3, 0], [0, 3]]), "aic")          # ln 1 − 2 parameters
    -2.0
    """
    n_contexts, n_states = counts.shape
    if score == "bdeu":
        return dirichlet(counts, equivalent_sample_size / counts.size)
    if score == "k2":
        return dirichlet(counts, 1.0)
    parameters = n_contexts * (n_states - 1)
    penalty = {"bic": 0.5 * float(np.log(max(counts.sum(), 1))), "aic": 1.0, "log_likelihood": 0.0}[score]
    return log_likelihood(counts) - penalty * parameters
