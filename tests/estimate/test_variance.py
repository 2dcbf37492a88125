"""Variances against NumPy and against the tax table worked by hand."""

from fractions import Fraction

import numpy as np
import pytest

from bayeskit.errors import BayesError
from bayeskit.estimate.variance import VarianceFloor, as_variance_floor, gaussian, n_parameters
from bayeskit.tally.moments import Moments

TINY = VarianceFloor(1e-9, of="total")
RULES = ["class_feature", "feature", "class", "all"]
INCOME = np.array([[125.0], [100], [70], [120], [95], [60], [220], [85], [75], [90]])
CHEAT = np.array([0, 0, 0, 0, 1, 0, 0, 1, 0, 1])


def counts(labels, n_classes):
    return np.bincount(labels, minlength=n_classes)


def fit(x, labels, rule="class_feature", ddof=1, n_classes=2, floor=None):
    moments = Moments.of(np.asarray(x, float), labels, n_classes)
    return gaussian(moments, rule, ddof, counts(labels, n_classes), floor)


@pytest.fixture
def table():
    rng = np.random.default_rng(11)
    return rng.normal(rng.normal(size=4), [1.0, 5.0, 0.1, 2.0], size=(60, 4)), rng.integers(0, 3, size=60)


def test_the_tax_table():
    g = fit(INCOME, CHEAT)
    assert g.mean.ravel().tolist() == [110.0, 90.0]
    assert g.variance.ravel().tolist() == [2975.0, 25.0]


def test_the_tax_table_after_forgetting_row_seven_is_a_fit_without_it():
    kept = np.arange(10) != 6
    whole = Moments.of(INCOME, CHEAT, 2)
    left = whole - Moments.of(INCOME[6:7], CHEAT[6:7], 2)
    g = gaussian(left, "class_feature", 1, [6, 3])
    assert g.mean[0, 0] == float(Fraction(550, 6))
    assert g.variance[0, 0] == pytest.approx(float(Fraction(2240, 3)), rel=1e-15)
    assert left == Moments.of(INCOME[kept], CHEAT[kept], 2)


@pytest.mark.parametrize("ddof", [0, 1])
def test_each_rule_is_numpys_variance_of_the_centered_values(table, ddof):
    x, y = table
    means = np.array([x[y == c].mean(axis=0) for c in range(3)])
    squares = (x - means[y]) ** 2
    n = counts(y, 3)
    own = np.array([x[y == c].var(axis=0, ddof=ddof) for c in range(3)])
    by_feature = squares.sum(axis=0) / (60 - 3 * ddof)
    by_class = np.array([squares[y == c].sum() for c in range(3)]) / (4 * (n - ddof))
    one = squares.sum() / (4 * (60 - 3 * ddof))
    expected = dict(zip(RULES, [own, by_feature, by_class[:, None], one], strict=True))
    for rule in RULES:
        g = fit(x, y, rule, ddof, 3)
        np.testing.assert_allclose(g.mean, means, rtol=1e-13)
        np.testing.assert_allclose(g.variance, np.broadcast_to(expected[rule], (3, 4)), rtol=1e-12)
        assert g.used.all()


@pytest.mark.parametrize("ddof", [0, 1])
def test_a_class_of_one_value_borrows_the_pooled_variance(ddof):
    x, y = [[1.0], [3.0], [9.0]], [0, 0, 1]
    pooled = 2.0 / (3 - 2 * ddof) if ddof else 2.0 / 3
    assert fit(x, y, ddof=ddof).variance.ravel() == pytest.approx([2.0 / (2 - ddof), pooled])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("ddof", [0, 1])
def test_classes_of_one_value_each_have_the_total_variance(rule, ddof):
    g = fit([[1.0], [3.0]], [0, 1], rule, ddof)
    assert g.variance.ravel() == pytest.approx([2.0 / (2 - ddof)] * 2)


def test_a_pooled_variance_of_zero_is_no_help_to_a_class_of_one_value():
    g = fit([[1.0], [1.0], [3.0]], [0, 0, 1])
    total = np.var([1, 1, 3], ddof=1)
    assert g.variance.ravel() == pytest.approx([0.01 * total, total])
    assert fit([[1.0], [1.0], [3.0]], [0, 0, 1], floor=TINY).variance.ravel() == pytest.approx([1e-9 * total, total])


SPIKES = np.array([[0.0, 0.0, 7.0], [0.0, 1e9, 7.0], [1.0, 2e9, 8.0], [1.0, 3e9, 9.0]])  # 0: constant in each class


@pytest.mark.parametrize("rule", RULES)
def test_no_variance_is_below_a_hundredth_of_the_one_within_classes_else_of_the_total(rule):
    g = fit(SPIKES, [0, 0, 1, 1], rule)
    least = np.array([0.01 * SPIKES[:, 0].var(ddof=1), 0.01 * 5e17, 0.01 * 0.25])
    assert (g.variance >= least * (1 - 1e-12)).all()
    assert g.used.all()
    if rule == "class_feature":
        np.testing.assert_allclose(g.variance, [[least[0], 5e17, least[2]], [least[0], 5e17, 0.5]])


@pytest.mark.parametrize("rule", RULES)
def test_the_floor_of_older_files_is_a_billionth_of_the_total(rule):
    g = fit(SPIKES, [0, 0, 1, 1], rule, floor=TINY)
    least = 1e-9 * SPIKES.var(axis=0, ddof=1)
    assert (g.variance >= least).all()
    if rule == "class_feature":
        np.testing.assert_allclose(g.variance, [[least[0], 5e17, least[2]], [least[0], 5e17, 0.5]])


def test_a_spread_within_classes_that_is_rounding_is_none():
    noise = 1e-6 * np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0])
    x = np.array([0.0, 0.0, 5.0, 5.0, 9.0, 9.0]) + noise
    g = fit(x[:, None], [0, 0, 1, 1, 2, 2], n_classes=3)
    np.testing.assert_allclose(g.variance, np.full((3, 1), 0.01 * x.var(ddof=1)))


@pytest.mark.parametrize("share", [0, -0.01, 1.5, 1e-10, np.nan, np.inf, "much", None, True, [0.01]])
def test_a_floor_that_is_no_share_is_refused(share):
    with pytest.raises(BayesError, match=r"variance_floor=.*give a share of the variance"):
        as_variance_floor(share)


def test_a_floor_is_of_what_lies_within_the_classes_or_of_the_total():
    with pytest.raises(BayesError, match=r'variance_floor of=.classes.: a share is "within"'):
        VarianceFloor(0.01, of="classes")
    assert as_variance_floor(np.float64(0.5)) == VarianceFloor(0.5)
    assert as_variance_floor(TINY) is TINY


@pytest.mark.parametrize("rule", RULES)
def test_a_constant_feature_is_left_out_and_does_not_touch_the_others(rule):
    x = np.column_stack([INCOME, np.full(10, 0.1)])
    g, alone = fit(x, CHEAT, rule), fit(INCOME, CHEAT, rule)
    assert g.used.tolist() == [True, False]
    np.testing.assert_array_equal(g.variance[:, 0], alone.variance[:, 0])
    assert np.isnan(g.variance[:, 1]).all()


def test_a_feature_that_a_class_never_shows_is_left_out():
    x = np.column_stack([INCOME, np.where(CHEAT[:, None] == 1, np.nan, INCOME)])
    assert fit(x, CHEAT).used.tolist() == [True, False]


def test_a_declared_class_without_rows_has_the_pooled_mean_and_variance():
    g = fit(INCOME, CHEAT, n_classes=3)
    assert g.used.all()
    assert g.mean[2, 0] == INCOME.mean()
    assert g.variance[2, 0] == 2237.5
    tied = fit(INCOME, CHEAT, "feature", n_classes=3)
    assert tied.variance.ravel().tolist() == [2237.5] * 3


def test_no_rows_at_all_leave_nothing_to_use():
    g = gaussian(Moments.zeros(2, 3), "class_feature", 1, [0, 0])
    assert not g.used.any()


def test_weight_two_is_the_row_twice(table):
    x, y = table
    once = Moments.of(x, y, 3)
    twice = once + once
    doubled = Moments(twice.n.astype(float), *(getattr(twice, f) for f in list(vars(twice))[1:]))
    for rule in RULES:
        a = gaussian(doubled, rule, 1, 2 * counts(y, 3))
        b = fit(np.concatenate([x, x]), np.concatenate([y, y]), rule, n_classes=3)
        np.testing.assert_allclose(a.variance, b.variance, rtol=1e-12)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(BayesError, match="class_feature, feature, class, all"):
        gaussian(Moments.zeros(1, 1), "tied", 1, [1])
    with pytest.raises(BayesError, match="ddof=2"):
        gaussian(Moments.zeros(1, 1), "all", 2, [1])


def test_parameters_of_two_classes_and_n_features():
    assert n_parameters("class_feature", 2, 7) == 4 * 7
    assert n_parameters("feature", 2, 7) == 3 * 7
    assert [n_parameters(rule, 3, 0) for rule in RULES] == [0, 0, 0, 0]
