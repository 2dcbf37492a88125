"""K-means equals its twin, on any number of threads; and what rows are skipped does not show."""

import numpy as np
import pytest
from hypothesis import given, settings

from bayeskit import kernels
from bayeskit.kernels import twins

from .arguments import good_arguments
from .conftest import seeds, thread_counts


@settings(max_examples=60)
@given(seed=seeds, n_threads=thread_counts)
def test_clusters_equal_their_twin_for_any_number_of_threads(seed: int, n_threads: int) -> None:
    given = good_arguments("k_means", seed) | {"n_threads": 1}
    centres, labels, inertia = kernels.k_means(**given)
    for one, other in zip(kernels.k_means(**given | {"n_threads": n_threads}), (centres, labels, inertia), strict=True):
        np.testing.assert_array_equal(one, other)
    _, _, least = twins.k_means(**given)
    if len(given["rows"]) > 20 * len(centres):  # else two rows may be as good a seed, by rounding alone
        np.testing.assert_allclose(inertia, least, rtol=1e-9)
        np.testing.assert_allclose(centres, twins.k_means(**given)[0], rtol=1e-9, atol=1e-9)
    apart = ((given["rows"] - centres[labels]) ** 2).sum()
    np.testing.assert_allclose(apart, inertia, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_no_row_is_nearer_to_another_centre(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3_000, 4)) * rng.choice([1.0, 1e-3, 1e4], (3_000, 1))
    centres, labels, _ = kernels.k_means(rows, np.array([seed]), rng.random((1, 8, 4)), 300, 0.0, 1)
    apart = ((rows[:, None] - centres[None]) ** 2).sum(axis=2)
    own = apart[np.arange(len(rows)), labels]
    assert (own <= apart.min(axis=1) * (1 + 1e-12)).all()
    for cluster in range(9):
        np.testing.assert_allclose(centres[cluster], rows[labels == cluster].mean(axis=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("module", [kernels, twins])
def test_an_empty_cluster_takes_the_farthest_row(module: object) -> None:
    rows = np.array([[0.0], [0.0], [0.0], [10.0], [11.0], [50.0]])
    draws = np.zeros((1, 2, 1))  # the first row again and again
    centres, labels, _ = module.k_means(rows, np.array([0]), draws, 300, 0.0, 1)  # type: ignore[attr-defined]
    assert sorted(centres.ravel().tolist()) == [0.0, 10.5, 50.0]
    assert [int((labels == label).sum()) for label in labels] == [3, 3, 3, 2, 2, 1]


@pytest.mark.parametrize("module", [kernels, twins])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first": np.array([4])}, "beyond"),
        ({"first": np.array([-1])}, "beyond"),
        ({"first": np.array([0, 1])}, "uniforms"),
        ({"rows": np.zeros((4, 0))}, "column"),
        ({"uniforms": np.zeros((1, 4, 2))}, "clusters"),
        ({"uniforms": np.zeros((1, 1, 0))}, "trials|draws"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"n_threads": 0}, "n_threads"),
    ],
)
def test_what_makes_no_clusters_is_refused(module: object, change: dict[str, object], message: str) -> None:
    good = {
        "rows": np.arange(4.0).reshape(4, 1), "first": np.array([0]), "uniforms": np.zeros((1, 1, 2)),
        "max_rounds": 3, "tolerance": 0.0, "n_threads": 1,
    }  # fmt: skip
    module.k_means(**good)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=message):
        module.k_means(**good | change)  # type: ignore[attr-defined]
