"""What the laws have found, kept as it was found: each case failed once."""

import numpy as np
import pytest

import bayeskit as bk

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def test_log_posteriors_of_scores_of_minus_four_thousand_million_sum_to_one():
    X = {"size": np.full(3, np.nan), "year": [2000.0, 2003.0, 2002.0]}
    model = bk.GaussianBayes(covariance="tied").fit(X, ["b", "b", "a"], sample_weight=[0.25, 0.5, 3.0])
    asked = {"size": [np.nan], "year": [2000.0]}
    log_proba = model.predict_log_proba(asked)
    np.testing.assert_allclose(np.exp(log_proba).sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba), model.predict_proba(asked), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize(
    "model", [bk.NaiveBayes(), bk.GaussianBayes(), bk.GaussianNB()], ids=lambda m: type(m).__name__
)
def test_log_posteriors_far_from_all_that_was_learned_sum_to_one(model):
    X, y = np.array([[0.0], [0.002]] * 4), ["a"] * 4 + ["b"] * 4
    asked = np.array([[70.0], [-90.0], [1e4]])
    fitted = model.fit(X, y)
    assert fitted.predict_joint_log_proba(asked).max() < -1e8
    log_proba = fitted.predict_log_proba(asked)
    np.testing.assert_allclose(log_proba, np.log(0.5), rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba), fitted.predict_proba(asked), rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("recipe", ["complement", "wcnb", "twcnb"])
@pytest.mark.parametrize("smoothing", [0, bk.MLE(), {"sun": 0.0}], ids=str)
def test_recipes_that_would_weigh_a_word_infinitely_ask_for_smoothing(recipe, smoothing):
    model = bk.TextClassifier(recipe, smoothing=smoothing, pattern="words1")
    with pytest.raises(bk.BayesError, match="needs smoothing over 0"):
        model.fit(["sun sea", "rain", "fog sun"], ["a", "b", "a"])
    assert not hasattr(model, "classes_")


def test_weights_that_single_precision_cannot_count_are_refused():
    X, y = {"x": ["u", "v", "u", "v"]}, ["a", "b", "b", "a"]
    for weight in (1e38, 1e-38):
        with pytest.raises(bk.BayesError, match="counts in single precision"):
            bk.BayesClassifier(n_members=2, n_chains=2).fit(X, y, sample_weight=[weight, 1.0, 1.0, 1.0])
    for weight in (1e29, 1e-30):
        model = bk.BayesClassifier(n_members=2, n_chains=2).fit(X, y, sample_weight=[weight, 1.0, 1.0, 1.0])
        assert np.isfinite(model.predict_proba(X)).all()


def test_weights_whose_products_overflow_are_refused():
    X, y = {"x": ["u", "v", "u", "v"], "z": ["p", "q", "q", "q"]}, ["a", "b", "b", "a"]
    with pytest.raises(bk.BayesError, match=r"row 2 has weight 1e\+300; weights are 0 or from 1e-100 to 1e\+100"):
        bk.TAN().fit(X, y, sample_weight=[1.0, 0.0, 1e300, 1.0])


def test_weights_and_numbers_near_their_limits_leave_a_kernel_its_bandwidth():
    """Squares of 1e150 times weights of 1e9 overflowed before they were divided."""
    X, weights = {"x": [0.0, -1e150, 1e150]}, [1e9, 1e9, 1.0]
    model = bk.NaiveBayes(numeric="kernel").fit(X, ["a", "a", "b"], sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("others", [[0.0, 0.0], [0.0] * 6])
def test_a_spread_far_below_its_floor_leaves_without_a_word(others):
    """How far the floor lies above a class was divided by a spread of 1e-18 beside one of 1e300: infinite, rightly."""
    X, y = {"x": [*others, -1e-9, -1e150]}, ["a"] * (len(others) - 1) + ["b", "b", "a"]
    naive = bk.NaiveBayes(smoothing=0)
    score = naive.fit(X, y).leave_one_out(X, y)
    assert 0 <= score.accuracy <= 1
    assert np.isfinite(bk.DiscriminativeWeights(naive).fit(X, y).predict_proba(X)).all()
    ensemble = bk.BayesClassifier(n_members=2, n_chains=2).fit(X, y)
    assert np.isfinite(ensemble.predict_proba(X)).all()


def test_a_class_that_a_later_column_lets_in_again_is_explained():
    """With few columns all parents of AODE may rule a class out that one more lets in: the odds were NaN."""
    X = {"sky": ["sun", "sun", "rain", "sun"], "flag": [False, None, None, False], "size": [None, 0.0, 0.01, 0.0]}
    X["year"] = [2000] * 4
    model = bk.AODE(roles={"year": "categorical"}, cuts={"size": [-50, 0, 12.5]}, smoothing=0)
    model.fit(X, ["a", "b", "a", "a"])
    record = model.explain({"sky": ["sun"], "flag": [False], "size": [0.01], "year": [2000]})[0]
    assert not record.undecidable
    assert record.prior_log_odds + sum(part.log_odds for part in record.contributions) == record.log_odds


def test_a_twin_that_is_sure_of_the_wrong_does_not_lead_the_logistic_fit_astray():
    """Its intercept of −905 left no curvature to go by, and the solver met NaN."""
    X, y = {"x": [0.0, 0.0], "y": [0.0, 1.0], "c": ["u", "u"]}, ["b", "a"]
    model = bk.LogisticRegression().fit(X, y, sample_weight=[0.5, 10.0])
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("cells", [[None] * 4, ["u", None, None, None]])
def test_exponents_are_fitted_beside_a_column_that_says_nothing(cells):
    table, y = {"k": cells, "x": [1.0, 2.0, 3.0, 4.0]}, [*"aabb"]
    model = bk.DiscriminativeWeights(bk.NaiveBayes(smoothing=0)).fit(table, y)
    assert np.isfinite(model.predict_proba(table)).all()


@pytest.mark.parametrize("recipe", ["weighted", "best", "auto"])
def test_evidence_that_is_rounding_gets_no_weight(recipe):
    """Without its document, a word that is repeated there alone spoke by 1e-16: its weight became 2e15."""
    texts, y = ["sun sea", "sun sea", "sun sun sun rain", ""], [*"abba"]
    fitted = bk.TextClassifier(recipe).fit(texts, y)
    assert np.abs(fitted.predict_joint_log_proba(["sun sun sun"])).max() < 100


def test_a_fold_that_holds_the_only_words_says_nothing_of_them():
    """The machine of the other folds had no words to be fitted on, and scikit-learn's error came through."""
    fitted = bk.TextClassifier("nbsvm").fit(["", "", "sun"], [*"aba"])
    np.testing.assert_allclose(fitted.predict_proba(["sun", ""]).sum(axis=1), 1)


def _ensemble(rows, weight):
    columns = ("sky", "flag", "size", "year")
    X = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    return (X, [row[-1] for row in rows]), {} if weight is None else {"sample_weight": [weight] * len(rows)}


def test_of_equal_rows_the_first_stay_when_one_is_forgotten():
    """The last copy stayed, in another place among the rows, which changed the draws of an ensemble."""
    settings = {"n_members": 2, "n_chains": 3, "n_trees": 3, "n_threads": 1, "roles": {"size": "numeric"}}
    copied = ("sun", False, 1.0, 2000, "a")
    kept = [copied, ("sun", False, 1.0, 2000, "b"), ("sun", False, 0.0, 2000, "a"), ("sun", None, 1.0, 2000, "a")]
    (X, y), _ = _ensemble([*kept, copied], None)
    model = bk.BayesClassifier(**settings).fit(X, y)
    model.forget(*_ensemble([copied], None)[0], refit=True)
    expected = bk.BayesClassifier(**settings).fit(*_ensemble(kept, None)[0])
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    rows = [(None, None, 1.0, 2000, "a")] * 2 + [(None, None, 1.0, 2000, "b"), ("sun", False, 1.0, 2000, "a")]
    args, weight = _ensemble(rows, 0.25)
    model = bk.BayesClassifier(**settings).fit(*args, **weight)
    before = model.predict_proba(args[0])
    more, weight = _ensemble(rows[:1], 0.25)
    model.partial_fit(*more, **weight).forget(*more, **weight)
    np.testing.assert_allclose(model.predict_proba(args[0]), before, rtol=1e-9)


def test_a_training_row_that_is_impossible_under_every_class_has_the_likelihood_of_its_prior():
    X = {
        "sky": ["sun", "sun", "sun", "rain", None],
        "flag": [False, False, False, True, True],
        "year": [2000, 2000, 2000, 2000, 2001],
    }
    y = ["a", "a", "b", "b", "a"]
    model = bk.TAN(roles={"year": "categorical"}, smoothing=0).fit(X, y)
    assert np.isneginf(model.predict_joint_log_proba(X)[4]).all()
    posterior = model.predict_log_proba(X)[range(5), [0, 0, 1, 1, 0]]
    assert posterior[4] == pytest.approx(np.log(3 / 5))
    assert model.log_likelihood(X, y).conditional == pytest.approx(posterior.sum())


def test_weights_that_stand_for_a_thousand_million_rows_are_refused_by_the_search_of_arcs():
    X, y = {"sky": ["sun", "rain", "sun"], "wind": ["low", "high", "high"]}, ["a", "b", "a"]
    with pytest.raises(bk.BayesError, match=r"1e\+09 rows, each repeated .* memory_limit=") as error:
        bk.NetworkClassifier().fit(X, y, sample_weight=[1e9, 1.0, 1.0])
    assert "Divide the weights by their mean" in str(error.value)
    bk.NetworkClassifier().fit(X, y, sample_weight=[2.5, 0.25, 0.25])
