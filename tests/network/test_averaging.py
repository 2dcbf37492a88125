"""Strengths of arcs by bootstrap and by summing over all structures."""

import itertools

import numpy as np
import pytest

from bayeskit import BayesError, arc_strengths, kernels
from bayeskit.estimate.family_scores import family_score
from tests.network.test_structure import random_table


def over_orders(data, max_parents):
    """Return P(parent → child | data) by listing all orders and all parent sets that fit them."""
    names = list(data)
    codes = {name: np.unique(cells, return_inverse=True)[1] for name, cells in data.items()}
    sizes = {name: int(code.max()) + 1 for name, code in codes.items()}

    def weight(child, parents):
        members = [*parents, child]
        shape = [sizes[m] for m in members]
        counts = np.bincount(np.ravel_multi_index([codes[m] for m in members], shape), minlength=np.prod(shape))
        return np.exp(family_score(counts.reshape(-1, shape[-1]), "bdeu") + 30)

    total, arcs = 0.0, np.zeros((len(names), len(names)))
    for order in itertools.permutations(names):
        sums, with_arc = [], {}
        for i, child in enumerate(order):
            sets = [s for k in range(max_parents + 1) for s in itertools.combinations(order[:i], k)]
            weights = {s: weight(child, s) for s in sets}
            sums.append(sum(weights.values()))
            for p in order[:i]:
                with_arc[p, child] = sum(w for s, w in weights.items() if p in s) / sums[-1]
        whole = np.prod(sums)
        total += whole
        for (p, child), share in with_arc.items():
            arcs[names.index(p), names.index(child)] += whole * share
    return arcs / total


def test_exact_strengths_equal_a_sum_over_all_orders():
    data = random_table(1, 4, 25)
    found = arc_strengths(data, method="exact", max_parents=2)
    np.testing.assert_allclose(found.probabilities, over_orders(data, 2), atol=1e-10)


def test_bootstrap_and_exact_agree_on_what_is_sure():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 400)) < 0.5
    data = {"a": a, "b": b, "c": (a & b) ^ (rng.random(400) < 0.05)}
    for method in ("bootstrap", "exact"):
        found = arc_strengths(data, method=method, n_samples=20)
        assert sorted(found.network().edges) == [("a", "c"), ("b", "c")]
        assert found.table["strength"][0] > 0.9


def test_the_same_seed_gives_the_same_strengths():
    data = random_table(2, 5, 60)
    one, other = (arc_strengths(data, n_samples=5, random_state=3).probabilities for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_chart_shows_the_strengths():
    found = arc_strengths(random_table(2, 4, 60), n_samples=5)
    assert "Strength of arcs" in found.chart().to_json()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "guess"}, "not one of bootstrap, exact"),
        ({"n_samples": 0}, "n_samples=0"),
        ({"random_state": None}, "random_state=None"),
        ({"method": "exact", "score": "bic"}, "needs a probability"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(BayesError, match=message):
        arc_strengths(random_table(0, 3, 20), **settings)


def test_an_interrupt_ends_the_bootstrap(monkeypatch):
    search = kernels.learn_structure
    monkeypatch.setattr(kernels, "learn_structure", lambda *settings: (*search(*settings)[:3], False))
    with pytest.raises(KeyboardInterrupt):
        arc_strengths(random_table(0, 3, 20))


@pytest.mark.parametrize("threshold", [-0.1, 1, "half", float("nan")])
def test_a_threshold_is_a_share(threshold):
    with pytest.raises(BayesError, match="give a number from 0 to below 1"):
        arc_strengths(random_table(0, 3, 20), n_samples=2).network(threshold)
