"""Smoothing against exact fractions, known tables and brute force."""

import copy
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayeskit.errors import BayesError, BayesWarning, UnknownValue
from bayeskit.estimate.smoothing import (
    MLE,
    UNSEEN,
    Automatic,
    Dirichlet,
    Laplace,
    Lidstone,
    MEstimate,
    Smoothing,
    as_smoothing,
    probabilities,
)

LEVELS = ["low", "medium", "high"]
COUNTS = np.array([[10, 13, 17], [2, 13, 0]])  # yes, no
SIMPLE = [MLE(), Laplace(), Lidstone(0.3), MEstimate(4), Dirichlet(2.5)]
ALL = [
    *SIMPLE,
    MEstimate(3, {"low": 0.2, "medium": 0.3, "high": 0.5}),
    MEstimate(3, "marginal"),
    Dirichlet({"low": 1, "medium": 2, "high": 3}),
    Automatic(),
]

tables = arrays(
    np.int64, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=st.integers(0, 3) | st.integers(0, 60)
)


def table(smoothing, counts=COUNTS, values=LEVELS):
    return probabilities(counts, smoothing.pseudo_counts(values, counts))


def test_low_medium_high():
    assert table(MLE())[0, 0] == 1 / 4
    assert table(Laplace())[1, 2] == 1 / 18


def test_a_class_prior_is_smoothed_like_any_other_column():
    classes = COUNTS.sum(axis=1)[None, :]
    assert table(MLE(), classes, ["yes", "no"])[0, 1] == 15 / 55
    assert table(Laplace(), classes, ["yes", "no"])[0].tolist() == [41 / 57, 16 / 57]
    assert table(MEstimate(2, {"yes": 0.5, "no": 0.5}), classes, ["yes", "no"])[0, 0] == 41 / 57


def test_class_histograms_give_the_posterior_at_each_length():
    at_length = np.array([[10, 2], [3, 9], [6, 6]])  # lengths 3, 7, 5
    posterior = table(MLE(), at_length, ["one", "other"])[:, 0]
    assert posterior == pytest.approx([0.833, 0.250, 0.500], abs=5e-4)


@given(tables, st.sampled_from(SIMPLE))
def test_one_cell_by_hand_is_that_cell_of_the_table(counts, smoothing):
    n_values = counts.shape[1]
    p = table(smoothing, counts, list(range(n_values)))
    for c, v in np.ndindex(counts.shape):
        one = smoothing.probability(count=counts[c, v], total=counts[c].sum(), n_values=n_values)
        assert one == pytest.approx(p[c, v], rel=1e-12, nan_ok=True)


@given(tables, st.fractions(0, 100))
def test_lidstone_is_the_fraction(counts, alpha):
    a = Fraction(float(alpha))
    p = table(Lidstone(float(alpha)), counts, list(range(counts.shape[1])))
    for c, v in np.ndindex(counts.shape):
        total = int(counts[c].sum()) + a * counts.shape[1]
        if total:
            assert p[c, v] == pytest.approx(float((int(counts[c, v]) + a) / total), rel=1e-14)
        else:
            assert np.isnan(p[c, v])


@pytest.mark.parametrize("smoothing", ALL)
def test_every_row_sums_to_one_and_zero_counts_do_no_harm(smoothing):
    assert isinstance(smoothing, Smoothing)
    assert table(smoothing).sum(axis=1) == pytest.approx(1.0, abs=1e-14)
    nothing = np.zeros((2, 3), dtype=np.int64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = table(smoothing, nothing)
    assert np.isnan(p).all() if not smoothing.pseudo_counts(LEVELS, nothing).any() else np.isfinite(p).all()


def test_laplace_is_the_map_under_beta_two_and_the_mean_under_beta_one():
    np.testing.assert_array_equal(table(Laplace()), table(Dirichlet(2)))
    np.testing.assert_array_equal(table(Laplace()), table(Lidstone(1)))
    np.testing.assert_array_equal(table(MLE()), table(Dirichlet(1)))
    np.testing.assert_allclose(table(Laplace()), table(MEstimate(3)), rtol=1e-15)


def test_the_marginal_prior_pulls_to_the_frequencies_over_all_classes():
    far = table(MEstimate(1e12, "marginal"))
    np.testing.assert_allclose(far, np.tile(COUNTS.sum(axis=0) / 55, (2, 1)), rtol=1e-9)


def test_the_unseen_value_gets_nothing_from_a_mapping_and_its_share_from_a_number():
    values, counts = [*LEVELS, UNSEEN], np.column_stack([COUNTS, [0, 0]])
    by_value = {"low": 0.25, "medium": 0.25, "high": 0.5}
    assert Lidstone(0.5).pseudo_counts(values, counts).tolist() == [0.5] * 4
    assert MEstimate(4).pseudo_counts(values, counts).tolist() == [1.0] * 4
    assert MEstimate(4, by_value).pseudo_counts(values, counts).tolist() == [1.0, 1.0, 2.0, 0.0]
    assert Dirichlet(dict.fromkeys(LEVELS, 2)).pseudo_counts(values, counts).tolist() == [1.0, 1.0, 1.0, 0.0]
    assert Dirichlet(2).pseudo_counts(values, counts).tolist() == [1.0] * 4
    assert copy.deepcopy(UNSEEN) is UNSEEN
    assert pickle.loads(pickle.dumps(UNSEEN)) is UNSEEN


def objective(counts, alpha):
    """Σ n_vc ln((n_vc − 1 + α) / (n_c − 1 + αm)), cell by cell."""
    total = 0.0
    for row in counts:
        for n in row:
            if n >= 1:
                total += n * np.log((n - 1 + alpha) / (row.sum() - 1 + alpha * counts.shape[1]))
    return total


@given(tables)
@settings(max_examples=60, deadline=None)
def test_automatic_is_no_worse_than_any_alpha_on_a_fine_grid(counts):
    best = Automatic().alpha(counts)
    assert 1e-3 <= best <= 1e3
    grid = np.geomspace(1e-3, 1e3, 3001)
    assert objective(counts, best) >= np.max(objective(counts, grid)) - 1e-9


def test_automatic_is_the_top_to_six_digits():
    from scipy.optimize import minimize_scalar

    counts = np.array([[5, 1, 0, 1], [0, 6, 1, 2]])
    top = minimize_scalar(lambda t: -objective(counts, np.exp(t)), bounds=(-2, 2), options={"xatol": 1e-10})
    assert np.log(Automatic().alpha(counts)) == pytest.approx(top.x, abs=1e-6)


@given(tables, st.randoms())
@settings(deadline=None)
def test_automatic_is_the_same_to_the_bit_in_any_order_of_classes_and_values(counts, random):
    rows, columns = list(range(counts.shape[0])), list(range(counts.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert Automatic().alpha(counts[rows][:, columns]) == Automatic().alpha(counts)
    empty = np.zeros((1, counts.shape[1]), dtype=np.int64)
    assert Automatic().alpha(np.concatenate([counts, empty])) == Automatic().alpha(counts)


@pytest.mark.parametrize("counts", [[[7], [3]], [[0, 0], [0, 0]], [[0.5, 0.2]], [[1, 0], [0, 1]], [[]]])
def test_automatic_with_nothing_to_choose_by_is_one(counts):
    assert Automatic().alpha(np.array(counts)) == 1.0


def test_automatic_trusts_sharp_counts_and_distrusts_blunt_ones():
    assert Automatic().alpha(np.array([[40, 0, 0], [0, 25, 0]])) == 1e-3
    assert Automatic().alpha(np.array([[10, 11, 9], [10, 9, 11]])) == 1e3


def test_what_a_person_may_write():
    assert as_smoothing(0) == Lidstone(0)
    assert as_smoothing(np.float64(0.5)) == Lidstone(0.5)
    assert as_smoothing("auto") == Automatic()
    for smoothing in ALL:
        assert as_smoothing(smoothing) is smoothing
    for wrong in ["laplace", None, True, [1], Laplace]:
        with pytest.raises(BayesError, match=r"a number .* 'auto'.*Laplace\(\)"):
            as_smoothing(wrong)


@pytest.mark.parametrize("wrong", [-1, np.inf, np.nan, "1", None, True])
def test_no_smoothing_exists_in_a_bad_state(wrong):
    for make in (Lidstone, MEstimate, Dirichlet):
        with pytest.raises(BayesError):
            make(wrong)


def test_beta_below_one_is_refused_with_the_way_out():
    with pytest.raises(BayesError, match=r"Below 1 .* Lidstone\(0.5\)"):
        Dirichlet(0.5)
    with pytest.raises(BayesError, match=r"for value 'rain' is 0\.5"):
        Dirichlet({"sun": 2, "rain": 0.5})


def test_a_value_without_its_prior_is_refused_by_name():
    with pytest.raises(UnknownValue, match="no β for 'high'"):
        Dirichlet({"low": 2, "medium": 2}).pseudo_counts(LEVELS, COUNTS)
    with pytest.raises(UnknownValue, match="no prior probability for 'high'"):
        MEstimate(1, {"low": 0.5, "medium": 0.5}).pseudo_counts(LEVELS, COUNTS)


def test_a_prior_that_nearly_sums_to_one_is_normalized_and_said():
    with pytest.warns(BayesWarning, match=r"sum to 0\.9995"):
        near = MEstimate(1, {"a": 0.4995, "b": 0.5})
    assert near.pseudo_counts(["a", "b"], np.zeros((1, 2))).sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(BayesError, match=r"sum to 0\.9, not to 1"):
        MEstimate(1, {"a": 0.4, "b": 0.5})
    with pytest.raises(BayesError, match="'uniform', 'marginal'"):
        MEstimate(1, "flat")


@pytest.mark.parametrize("smoothing", ALL)
def test_a_smoothing_is_a_value(smoothing):
    for twin in (copy.deepcopy(smoothing), pickle.loads(pickle.dumps(smoothing))):
        assert twin == smoothing
        assert hash(twin) == hash(smoothing)
    assert eval(repr(smoothing)) == smoothing
    assert sum(smoothing == other for other in ALL) == 1


def test_a_mapping_changed_later_does_not_change_the_smoothing():
    beta = {"low": 2, "medium": 2, "high": 2}
    smoothing = Dirichlet(beta)
    beta["low"] = 9
    assert smoothing.pseudo_counts(LEVELS, COUNTS).tolist() == [1.0, 1.0, 1.0]
