"""Exponents of several scores, fitted on leave-one-out: a convex problem with few unknowns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.source import Source
from bayeskit.models.base.tuning import weighty_blocks

if TYPE_CHECKING:
    from bayeskit.models.aode import AODE

Floats = npt.NDArray[np.float64]
ROWS = 20_000  # at most


def log_linear_weights(model: AODE, source: Source) -> Floats:
    """w ≥ 0 of the parents that minimise the leave-one-out log loss of Σ w_p ln P_p(x | class) + ln P(class).

    A penalty ‖w − 1/k‖² holds them to equal shares of one where the rows say little.
    """
    from scipy.optimize import minimize

    left_out, step = model.left_out(), max(1, int(np.ceil(float(model.tally_.n_rows) / ROWS)))
    parts = []
    for block in weighty_blocks(model, source):
        some = block.take(np.arange(-block.start % step, block.n_rows, step))
        if some.n_rows:
            parts.append((*left_out.parent_scores(some), np.asarray(some.labels, dtype=np.int64), some.weights))
    terms = np.concatenate([np.where(takes[:, :, None], scores, 0.0) for scores, takes, _, _ in parts])
    y = np.concatenate([labels for _, _, labels, _ in parts])
    weights = np.concatenate([np.ones(len(labels)) if w is None else w for _, _, labels, w in parts])
    k, rows = terms.shape[1], np.arange(len(y))
    finite = np.isfinite(terms).all(axis=(1, 2))
    terms, y, weights, rows = terms[finite], y[finite], weights[finite], rows[: int(finite.sum())]
    if not len(y) or not k:
        return np.full(k, 1 / max(k, 1))

    def loss(w: Floats) -> tuple[float, Floats]:
        scores = np.einsum("p,rpc->rc", w, terms) + model.params_.log_prior
        log_p, _ = logspace.log_normalise(scores)
        error = logspace.exp(log_p)
        error[rows, y] -= 1
        gradient = np.einsum("rc,rpc->p", error * weights[:, None], terms) + 2 * (w - 1 / k)
        return float(-(log_p[rows, y] @ weights) + ((w - 1 / k) ** 2).sum()), gradient

    start = np.full(k, 1 / k)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * k, options={"maxiter": 60})
    return np.asarray(found.x, dtype=np.float64)
