"""Clusters of rows around their means, with scikit-learn's draws: the same random state gives the same centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.errors import BayesError
from bayeskit.typing import Floats

MAX_ROUNDS, TOLERANCE = 300, 1e-4  # of the mean variance of the columns: scikit-learn's


class Clusters(NamedTuple):
    """Centres (clusters, columns), the cluster of each row, and the sum of squared distances."""

    centres: Floats
    labels: npt.NDArray[np.uint32]
    inertia: float


def k_means(rows: Floats, n_clusters: int, rng: np.random.RandomState, n_starts: int = 10) -> Clusters:
    """The best of several starts of Lloyd's algorithm, seeded by greedy k-means++ (Arthur & Vassilvitskii 2007).

    >>> rows = np.array([[0.0, 1.0], [0.2, 1.0], [7.0, 1.0], [7.2, 1.0], [7.4, 1.0]])
    >>> centres, labels, inertia = k_means(rows, 2, np.random.RandomState(0))
    >>> np.sort(centres, axis=0).round(6).tolist(), round(inertia, 6)
    ([[0.1, 1.0], [7.2, 1.0]], 0.1)
    """
    n = len(rows)
    if n < n_clusters:
        raise BayesError(f"n_samples={n} should be >= n_clusters={n_clusters}.", culprit=n_clusters)
    centre = rows.mean(axis=0)
    n_trials = 2 + int(logspace.log(n_clusters))
    draws = rng.random_sample((n_starts, 1 + (n_clusters - 1) * n_trials))
    reached = np.cumsum(np.full(n, 1.0) / n)
    first = np.searchsorted(reached / reached[-1], draws[:, 0], side="right")
    uniforms = np.ascontiguousarray(draws[:, 1:]).reshape(n_starts, n_clusters - 1, n_trials)
    tolerance = float(np.mean(np.var(rows, axis=0)) * TOLERANCE)
    best = kernels.k_means(np.ascontiguousarray(rows - centre), first, uniforms, MAX_ROUNDS, tolerance, 1)
    return Clusters(best[0] + centre, best[1], best[2])
