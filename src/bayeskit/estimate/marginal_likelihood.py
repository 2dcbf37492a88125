"""Compute the marginal likelihood of counts under Dirichlet priors, in closed form.

    P(counts) = Π_contexts  B(n + β) / B(β),   B(β) = Π Γ(β_v) / Γ(Σ β_v)

The rows are in their given order. A smoothing is such a prior with the pseudo-counts as hyperparameters: Lidstone(α) is
the posterior mean under Dirichlet(α), Laplace under the uniform prior. Zero pseudo-counts, and amounts chosen from the
same counts, are not priors.

Formula: ln P(table) under Dirichlet priors: Σ ln B(n + β) − ln B(β)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import Dirichlet, Laplace, Lidstone, MEstimate, Smoothing
from bayeskit.typing import Array, Floats


def log_evidence(counts: Any, beta: Any) -> float:
    """Return Σ over contexts of ln B(n + β) − ln B(β), for counts of shape (…, n_values).

    >>> round(float(logspace.exp(log_evidence([1, 1], [1, 1]))), 6)              # 1/2 · 1/3
    0.166667
    """
    from scipy.special import gammaln

    n, b = np.asarray(counts, dtype=np.float64), np.asarray(beta, dtype=np.float64)
    b = np.broadcast_to(b, n.shape)
    of_values = (gammaln(n + b) - gammaln(b)).sum(axis=-1)
    return float((of_values + gammaln(b.sum(axis=-1)) - gammaln((n + b).sum(axis=-1))).sum())


def hyperparameters(rule: Smoothing, values: Sequence[object], setting: Any) -> Floats:
    """Return β_v of the prior of a smoothing; raise an error if the smoothing is not a Dirichlet prior."""
    is_prior = isinstance(rule, (Laplace, Lidstone, Dirichlet)) or (
        isinstance(rule, MEstimate) and rule.prior != "marginal"
    )
    beta = rule.pseudo_counts(values, np.zeros((1, len(values)))) if is_prior else np.zeros(len(values))
    if isinstance(rule, Dirichlet):
        beta = beta + 1  # its pseudo-counts are those of the mode
    if not is_prior or not (beta > 0).all():
        raise BayesError(
            f"smoothing={setting!r} is not a prior over tables, which the probability of the data asks for",
            hint="pass smoothing=1.0",
        )
    return beta


def log_class_evidence(prior: Any, classes: Sequence[Any], class_counts: Array) -> float:
    """Return ln P(labels): a Dirichlet for a smoothing, uniform for "empirical"; else as given."""
    if isinstance(prior, str) and prior == "empirical":
        prior = Laplace()
    if isinstance(prior, Smoothing):
        return log_evidence(class_counts, hyperparameters(prior, classes, prior))
    shares = class_prior(prior, classes, class_counts)
    counted = class_counts > 0
    return float(class_counts[counted] @ logspace.log(shares[counted]))
