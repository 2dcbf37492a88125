"""Clusters are scikit-learn's, for the same random state."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans

from bayeskit.errors import BayesError
from bayeskit.estimate.k_means import Clusters, k_means

Rows = np.ndarray[Any, np.dtype[np.float64]]


def drawn(seed: int, n: int, d: int) -> Rows:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 3 * rng.normal(size=(4, d))[rng.integers(0, 4, n)]


def both(rows: Rows, n_clusters: int, seed: int) -> tuple[Clusters, KMeans]:
    ours, theirs = np.random.RandomState(seed), np.random.RandomState(seed)
    clusters = k_means(rows, n_clusters, ours)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = KMeans(n_clusters, n_init=10, random_state=theirs).fit(rows)
    assert ours.random_sample() == theirs.random_sample()  # as many draws were taken
    return clusters, peer


def same(rows: Rows, n_clusters: int, seed: int) -> None:
    clusters, peer = both(rows, n_clusters, seed)
    near = 1e-9 * float(np.abs(rows).max())
    np.testing.assert_allclose(clusters.centres, peer.cluster_centers_, rtol=1e-9, atol=near)
    np.testing.assert_array_equal(clusters.labels, peer.labels_)
    np.testing.assert_allclose(clusters.inertia, peer.inertia_, rtol=1e-9)


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 12])
@pytest.mark.parametrize(("n", "d"), [(60, 1), (300, 2), (301, 3), (1_000, 4), (299, 7), (150, 21)])
def test_centres_and_their_order_are_scikit_learns(n: int, d: int, n_clusters: int) -> None:
    for seed in range(3):
        same(drawn(seed, n, d), n_clusters, seed)


def test_many_rounds_over_many_rows() -> None:
    same(np.random.default_rng(0).normal(size=(20_000, 4)), 13, 5)


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_are_there_twice(seed: int) -> None:
    rows = drawn(seed, 400, 3)
    same(rows[np.random.default_rng(seed).integers(0, 90, 400)], 6, seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_constant_column_an_outlier_and_numbers_far_from_zero(seed: int) -> None:
    rows = drawn(seed, 300, 4)
    rows[:, 1] = 7.0
    same(rows, 5, seed)
    same(rows + 1e5, 5, seed)
    rows[0] *= 1e6
    same(rows, 5, seed)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("more", [0, 1, 2])
def test_hardly_more_rows_than_clusters(seed: int, more: int) -> None:
    """Two rows that are each other's nearest are as good a next centre: which comes first is rounding's choice."""
    rows = drawn(seed, 9 + more, 4)
    clusters, peer = both(rows, 9, seed)
    np.testing.assert_allclose(clusters.inertia, peer.inertia_, rtol=1e-9, atol=1e-12)
    ours, theirs = (centres[np.lexsort(centres.T)] for centres in (clusters.centres, peer.cluster_centers_))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_fewer_different_rows_than_clusters(seed: int) -> None:
    rows = drawn(seed, 5, 3)[np.arange(40) % 5]
    clusters, _ = both(rows, 8, seed)
    assert len(np.unique(clusters.labels)) == 5
    np.testing.assert_allclose(clusters.centres[clusters.labels], rows, atol=1e-12)


def test_more_clusters_than_rows_are_refused() -> None:
    with pytest.raises(BayesError, match="n_samples=3 should be >= n_clusters=4"):
        k_means(np.zeros((3, 2)), 4, np.random.RandomState(0))
