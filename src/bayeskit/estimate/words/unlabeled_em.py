"""EM for documents of which few have labels: naive Bayes weights on tf-idf, taught by their own posteriors.

Values are x = (1 + ln tf)(1 + ln((1 + n)/(1 + df))), of length one, with df over labeled and unlabeled documents.
With N_cw = Σ x over the labeled documents of c + λ Σ P(c | d) x over the others, n_w = Σ_c N_cw and s_c the class's
share of all mass,

    M-step   W_cw = ln[(N_cw / s_c + a) / (n_w + a)]
    E-step   P(c | d) = softmax_c(β x·W_c + ln prior_c)

β is fitted once, on the labeled documents each left out in turn, and kept; the prior is given and kept, too.
After an E-step the columns are rescaled to the prior a few times (``balance``). Textbook counts with Laplace's rule,
in which an unlabeled document counts as much as a labeled one, stay at chance where there are many classes.

Formula: EM for documents
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.estimate.words.weighted_evidence import words_log_odds
from bayeskit.estimate.words.weights import cosine_normalized
from bayeskit.tolerance import LEAST_SHARE, POSITIVE
from bayeskit.typing import Array, Floats

ROUNDS_OF_BALANCE = 3
BETAS = np.log([0.01, 1000.0])


@dataclass(frozen=True)
class DocumentEM:
    """Weights (words, classes), β and the prior: what is believed after the last round."""

    weights: Floats
    beta: float
    log_prior: Floats

    def log_joint(self, x: Any) -> Floats:
        """β x·W + ln prior of documents x (documents, words)."""
        return self.beta * (x @ self.weights) + self.log_prior


@dataclass(frozen=True)
class Round:
    """What one E-step found: mean log evidence of the unlabeled documents, and how many changed their class."""

    number: int
    log_evidence: float
    changed: int


def sublinear_tf_idf(counts: Array, ids: Array, indptr: Array, idf: Floats) -> Floats:
    """(1 + ln tf) · idf, every document of length one."""
    return cosine_normalized((1 + np.log(counts.astype(np.float64))) * idf[ids], indptr)


def left_out_evidence(x: Any, labels: Array, mass: Floats, a: float) -> Floats:
    """x·W' of labeled documents (CSR), each without itself (documents, classes), up to a constant for each."""
    k, n = mass.shape[1], x.shape[0]
    document = np.repeat(np.arange(n), np.diff(x.indptr))
    own = np.zeros((n, k))
    own[np.arange(n), labels] = 1.0
    length = np.bincount(document, x.data, minlength=n)
    totals = mass.sum(axis=0) - own * length[:, None]
    share = np.maximum(totals / np.maximum(totals.sum(axis=1, keepdims=True), POSITIVE), LEAST_SHARE)
    scores = np.zeros((n, k))
    for c in range(k):
        left = np.maximum(mass[x.indices, c] - own[document, c] * x.data, 0.0)
        scores[:, c] = np.bincount(document, x.data * np.log(left / share[document, c] + a), minlength=n)
    return scores


def fit_beta(evidence: Floats, labels: Array, log_prior: Floats) -> float:
    """The β with the least log loss −Σ ln softmax(β · evidence + ln prior)."""
    from scipy.optimize import minimize_scalar

    def loss(log_beta: float) -> float:
        scores = np.exp(log_beta) * evidence + log_prior
        return -float(logspace.log_posterior_of(scores, labels).mean())

    return float(np.exp(minimize_scalar(loss, bounds=tuple(BETAS), method="bounded").x))


def balanced(p: Floats, prior: Floats) -> Floats:
    """Posteriors whose columns are rescaled to the prior, rows to one, three times."""
    for _ in range(ROUNDS_OF_BALANCE):
        p = p * (prior * len(p) / np.maximum(p.sum(axis=0), POSITIVE))
        p = p / np.maximum(p.sum(axis=1, keepdims=True), POSITIVE)
    return p


def fit_em(
    labeled: Any,
    labels: Array,
    unlabeled: Any,
    prior: Floats,
    a: float = 1.0,
    weight: float = 0.3,
    rounds: int = 8,
    balance: bool = True,
    tell: Callable[[Round], None] | None = None,
) -> tuple[DocumentEM, list[Round]]:
    """What is believed of labeled and unlabeled documents (CSR matrices of x), and how it came about."""
    n = len(labels)
    member = np.zeros((n, len(prior)))
    member[np.arange(n), labels] = 1.0
    given = np.asarray(labeled.T @ member)
    log_prior = logspace.log(prior)
    beta = fit_beta(left_out_evidence(labeled, labels, given, a), labels, log_prior)
    model = DocumentEM(words_log_odds(given, a)[0], beta, log_prior)
    told: list[Round] = []
    before = np.full(unlabeled.shape[0], -1)
    for number in range(1, rounds + 1 if unlabeled.shape[0] else 1):
        p, evidence = logspace.normalise(model.log_joint(unlabeled))
        p = balanced(p, prior) if balance else p
        chosen = p.argmax(axis=1)
        told.append(Round(number, float(evidence.mean()), int((chosen != before).sum())))
        if tell is not None:
            tell(told[-1])
        before = chosen
        mass = given + weight * np.asarray(unlabeled.T @ p)
        model = DocumentEM(words_log_odds(mass, a)[0], beta, log_prior)
    return model, told
