"""What is said beside what is seen: scikit-learn's curve, and the parts of the Brier score that sum to it."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.evaluate.reliability import top_reliability


def said_and_seen(n=500, off=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p, rng.random(n) < p**off


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_is_that_of_scikit_learn(strategy):
    p, seen = said_and_seen()
    p[:3] = 0.0, 1.0, 0.2
    curve = bk.reliability(p, seen, 10, strategy)
    true, said = calibration_curve(seen, p, n_bins=10, strategy=strategy)
    np.testing.assert_allclose(curve.seen, true)
    np.testing.assert_allclose(curve.said, said)
    assert curve.rows.sum() == 500


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_parts_sum_to_the_brier_score_of_scikit_learn(n_classes):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(n_classes), 300)
    y = np.array([rng.choice(n_classes, p=row) for row in p])
    weights = rng.integers(0, 4, 300)
    for w in (None, weights):
        parts = bk.brier_parts(p, y, sample_weight=w)
        whole = brier_score_loss(
            y, p if n_classes > 2 else p[:, 1], sample_weight=w, scale_by_half=False, labels=range(n_classes)
        )
        assert parts.brier == pytest.approx(whole)
        assert parts.reliability - parts.resolution + parts.uncertainty + parts.within == pytest.approx(whole)
    few = p.round(0)
    few[few.sum(axis=1) == 0] = 1 / n_classes
    few = few / few.sum(axis=1, keepdims=True)
    assert bk.brier_parts(few, y, bins=50).within == pytest.approx(0, abs=1e-12)  # all of a bin were told the same


def test_calibrated_probabilities_have_the_error_that_chance_gives():
    errors, chance = [], []
    for seed in range(60):
        p, seen = said_and_seen(seed=seed)
        curve = bk.reliability(p, seen)
        errors.append(curve.error)
        chance.append(curve.by_chance)
    assert np.mean(errors) == pytest.approx(np.mean(chance), rel=0.05)
    assert np.std(errors) == pytest.approx(curve.chance_spread, rel=0.3)


def test_probabilities_that_are_too_sure_are_not_to_be_trusted():
    curve = bk.reliability(*said_and_seen(off=2.0))
    assert curve.verdict == "inconsistent"
    assert "overconfident, it says 53" in curve.sentence
    assert "underconfident" in bk.reliability(*said_and_seen(off=0.5)).sentence
    p, seen = said_and_seen(4000)
    bent = np.where(p > 0.5, 0.95, 0.05)  # too high here and too low there
    assert "off by" in bk.reliability(bent, seen).sentence
    assert "are consistent" in bk.reliability(p, seen).sentence


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300])
@pytest.mark.parametrize("shape", ["uniform", "confident", "equal", "certain", "rare"])
def test_calibrated_probabilities_are_called_inconsistent_in_five_percent_of_draws(shape, n):
    rng = np.random.default_rng(n)
    draw = {
        "uniform": lambda: rng.random(n),
        "confident": lambda: 0.5 + rng.beta(8, 1.5, n) / 2,
        "equal": lambda: np.full(n, 0.81),
        "certain": lambda: 1 - 10 ** -rng.uniform(0.3, 6, n),
        "rare": lambda: rng.beta(0.3, 8, n),
    }[shape]
    drawn = [draw() for _ in range(300)]
    # The verdict "inconsistent" implies p < 0.05.
    rejected = [bk.reliability(p, rng.random(n) < p).p_value < 0.05 for p in drawn]
    assert np.mean(rejected) < 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5


@pytest.mark.slow
def test_a_hundred_rows_that_are_ten_points_off_are_never_consistent():
    rng = np.random.default_rng(3)
    verdicts = [bk.reliability(np.full(100, 0.81), rng.random(100) < 0.71).verdict for _ in range(500)]
    assert "consistent" not in verdicts
    spread = 0.71 + rng.random((300, 100)) / 5
    verdicts += [bk.reliability(p, rng.random(100) < p - 0.1).verdict for p in spread]
    assert "consistent" not in verdicts


@pytest.mark.slow
def test_the_detectable_error_is_found_in_four_of_five_draws():
    rng = np.random.default_rng(4)
    p = 0.5 + rng.beta(8, 1.5, 400) / 2
    least = bk.reliability(p, rng.random(400) < p).detectable
    found = [bk.reliability(p, rng.random(400) < p - least).verdict == "inconsistent" for _ in range(400)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)


def test_the_p_value_is_that_of_the_binomial_distribution():
    curve = bk.reliability([0.8] * 100, [1] * 70 + [0] * 30)
    assert curve.p_value == pytest.approx(binomtest(70, 100, 0.8).pvalue, abs=0.015)
    assert curve.verdict == "inconsistent"
    assert "p = " in curve.sentence


def test_an_outcome_of_probability_zero_is_inconsistent():
    p = np.append(np.full(1000, 0.5), 0.0)
    curve = bk.reliability(p, np.append(np.arange(1000) % 2 == 0, True))
    assert (curve.verdict, curve.p_value, curve.n_impossible) == ("inconsistent", 0.0, 1)
    assert "1 row had an outcome of probability zero" in curve.sentence
    assert bk.reliability([1.0] * 100, [True] * 100).verdict == "consistent"
    assert bk.reliability([1.0] * 5, [True] * 5).verdict == "too few rows"


def test_a_weight_is_so_many_rows():
    p, seen = said_and_seen()
    weights = np.random.default_rng(2).integers(0, 3, 500)
    weighed = bk.reliability(p, seen, sample_weight=weights)
    twice = bk.reliability(np.repeat(p, weights), np.repeat(seen, weights))
    for name in ("rows", "said", "seen"):
        np.testing.assert_allclose(getattr(weighed, name), getattr(twice, name))
    assert weighed.error == pytest.approx(twice.error)
    assert weighed.by_chance > twice.by_chance  # a row counted twice is still one row


def test_the_record_of_an_evaluation_has_the_curves_of_its_rows():
    birds = bk.datasets.load_penguins()
    found = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species").leave_one_out(birds, "species")
    truth = np.array([found.classes.index(label) for label in birds["species"].to_pylist()])
    assert found.calibration_error == bk.calibration_error(found.probabilities, truth)
    assert found.brier_parts().brier == pytest.approx(found.brier)
    gentoo = found.reliability("Gentoo")
    assert gentoo.of == "Gentoo"
    np.testing.assert_allclose(gentoo.seen, calibration_curve(truth == 2, found.probabilities[:, 2], n_bins=15)[0])
    with pytest.raises(BayesError, match="did you mean Gentoo"):
        found.reliability("Gento")
    folded = bk.cross_validate(bk.NaiveBayes(roles={"year": "ignore"}), birds, "species", 5)
    assert folded.calibration_error == bk.calibration_error(folded.probabilities, truth)


def test_the_same_by_rows_of_weight_two_and_rows_held_out():
    X, y = {"x": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}, list("aababb")
    weighed = bk.NaiveBayes().fit(X, y, sample_weight=[2.0] * 6).leave_one_out(X, y, sample_weight=[2.0] * 6)
    assert weighed.weights.tolist() == [2.0] * 6
    assert weighed.reliability().rows.sum() == 12
    from bayeskit.evaluate.cross_validation import evaluate_test_set

    model = bk.NaiveBayes().fit(X, y)
    assert evaluate_test_set(model, bk.open_source(X, y)).truth.tolist() == [0, 0, 1, 0, 1, 1]


def test_rows_without_a_probability_are_left_out():
    assert bk.reliability([0.5, np.nan, 0.5], [1, 1, 0]).rows.tolist() == [2.0]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (([0.5], [True, False]), "do not fit"),
        (([1.5, 0.2], [True, False]), "^1.5 is not a probability"),
        (([0.5, 0.2], ["yes", "no"]), "row 0 is 'yes', which is neither true nor false"),
        (([0.5, 0.2], [2, 0]), "row 0 is 2, which is neither"),
        (([], []), "no rows"),
        (([np.nan], [True]), "no rows"),
        (([0.5], [True], 0), "bins=0"),
        (([0.5], [True], 5, "widths"), "strategy='widths'"),
        (([0.5], [True], 5, "uniform", [-1.0]), "weight"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, why):
    with pytest.raises(BayesError, match=why):
        bk.reliability(*arguments)
    for measure in (top_reliability, bk.brier_parts, bk.calibration_error):
        for p, truth in (([[0.5, 0.5]], [0, 1]), ([0.5, 0.5], [0, 1]), ([[0.5, 0.5], [1.0]], [0, 1])):
            with pytest.raises(BayesError):
                measure(p, truth)
        for truth in (["a", "b"], [0, 2], [-1, 0], [0.0, 1.0]):
            with pytest.raises(BayesError, match="places among the 2 columns"):
                measure([[0.5, 0.5], [0.2, 0.8]], truth)


def test_it_prints_bin_by_bin():
    text = str(bk.reliability([0.8, 0.8, 0.1], [1, 0, 0], bins=5))
    assert "Reliability of the probabilities of the chosen class" in text
    assert max(map(len, text.splitlines())) <= 80
