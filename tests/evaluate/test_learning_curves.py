"""Learning curves: counts that are added give what fits on the same rows give."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import bayeskit as bk
from bayeskit.errors import BayesError

BIRDS = bk.datasets.load_penguins().drop_columns(["year"])
pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.UndecidableWarning")
CATEGORIES = BIRDS.select(["species", "island", "sex"])


def refitted(model, table, sizes, seed):
    """The accuracies of fits on the same rows, as the order of the rows is drawn."""
    from bayeskit.evaluate.cross_validation import labeled_table, stratified_folds

    given = labeled_table(table, "species")
    train, test = stratified_folds(given.codes, 3, seed)[0]
    order = train[np.random.default_rng(seed).permutation(len(train))]
    return [model.fit(table.take(order[:size]), "species").score(table.take(test), "species") for size in sizes]


@pytest.mark.parametrize("kind", [bk.NaiveBayes, bk.TAN, bk.AODE, bk.FullJointBayes])
def test_counts_that_are_added_give_what_fits_give(kind):
    sizes = [20, 50, 200]
    curve = bk.learning_curve(kind(), CATEGORIES, "species", sizes=sizes, random_state=3)
    assert curve.added == (kind.__name__,)
    assert curve["accuracy"] == pytest.approx(refitted(kind(), CATEGORIES, sizes, 3))


@pytest.mark.parametrize(
    "model",
    [bk.TAN(), bk.KDB(), bk.NBTree(), bk.NaiveBayes(numeric="histogram"), bk.NaiveBayes(numeric="kernel")],
    ids=repr,
)
def test_a_model_that_would_hold_cuts_or_a_tree_is_fitted_anew(model):
    sizes = [40, 100]
    curve = bk.learning_curve(model, BIRDS, "species", sizes=sizes)
    assert curve.added == ()
    assert curve["accuracy"] == pytest.approx(refitted(model, BIRDS, sizes, 0))


def test_documents_are_added_where_nothing_is_fitted_to_them():
    texts = ["red apple", "green pear", "blue sea", "deep sea", "red cherry", "salt sea"] * 6
    labels = ["fruit", "fruit", "water", "water", "fruit", "water"] * 6
    rows = texts, labels, texts, labels
    assert bk.learning_curve(bk.TextClassifier("multinomial"), *rows, sizes=[6, 24]).added == ("TextClassifier",)
    assert bk.learning_curve(bk.TextClassifier("multinomial", min_df=2), *rows, sizes=[6, 24]).added == ()
    assert bk.learning_curve(bk.TextClassifier("tfidf"), *rows, sizes=[6, 24]).added == ()


def test_several_models_learn_the_same_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = y[:, None] + rng.normal(size=(200, 3))
    models = {
        "naive": bk.NaiveBayes(numeric="gaussian"),
        "again": bk.NaiveBayes(numeric="gaussian"),
        "tree": DecisionTreeClassifier(random_state=0),
    }
    curve = bk.learning_curve(models, X, y, repeats=2)
    assert curve.sizes == (16, 32, 64, 128, 133)
    assert curve.accuracy.shape == curve.log_loss.shape == (3, 5, 2)
    np.testing.assert_array_equal(curve.accuracy[0], curve.accuracy[1])
    assert curve.added == ("naive", "again")
    assert curve.log_loss[2].max() <= -np.log(1e-15)  # a tree says 0, which counts as 1e-15
    assert curve.table.column_names[:3] == ["model", "rows", "accuracy"]
    assert "2 times" in str(curve)


def test_a_class_that_the_first_rows_do_not_show_is_wrong_and_not_an_error():
    X, y = [[float(i)] for i in range(20)], ["a"] * 18 + ["b", "c"]
    curve = bk.learning_curve(bk.NaiveBayes(), X, y, X, y, sizes=[2, 20])
    assert curve["accuracy"][0] <= 0.95
    other = bk.learning_curve(bk.NaiveBayes(), X, y, X[:4], ["a", "a", "d", "a"], sizes=[20])
    assert other["accuracy"] == [0.75]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"sizes": [0]}, "sizes reach"),
        ({"sizes": [10**6]}, "training rows"),
        ({"sizes": []}, "nowhere"),
        ({"sizes": [2.5]}, "2.5 is not a whole number"),
        ({"sizes": "ab"}, "'a' is not a whole number"),
        ({"repeats": 0}, "repeats=0"),
    ],
)
def test_what_means_nothing_is_refused(settings, why):
    with pytest.raises(BayesError, match=why):
        bk.learning_curve(bk.NaiveBayes(), BIRDS, "species", **settings)


def test_one_row_no_model_and_no_such_measure_are_refused():
    with pytest.raises(BayesError, match="one row cannot be learned and tested"):
        bk.learning_curve(bk.NaiveBayes(), [[1.0]], ["a"])
    with pytest.raises(BayesError, match="no model"):
        bk.learning_curve({}, BIRDS, "species")
    curve = bk.learning_curve(bk.NaiveBayes(), [[1.0], [2.0]], ["a", "b"])  # the only class learned is not that tested
    assert curve["accuracy"] == [0.0]
    for of in (curve.means, curve.spreads, curve.chart):
        with pytest.raises(BayesError, match="measure='acuracy'"):
            of("acuracy")
