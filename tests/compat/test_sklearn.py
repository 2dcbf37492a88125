"""The drop-in classifiers give what scikit-learn's give: attributes, scores, refusals."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayeskit.compat import sklearn as drop_in
from bayeskit.datasets import load_penguins, load_worked_example

NAMES = drop_in.__all__
COUNTING = ["BernoulliNB", "ComplementNB", "MultinomialNB"]
DISCRETE = [*COUNTING, "CategoricalNB"]
LABELS = {
    "int64": np.array([0, 1, 2]),
    "int8": np.array([-100, 3, 120], dtype=np.int8),
    "uint64": np.array([1, 2, 2**63 + 5], dtype=np.uint64),
    "far apart": np.array([-(10**12), 0, 10**12]),
    "bool": np.array([False, True, True]),
    "float": np.array([0.0, 1.0, 5.0]),
    "text": np.array(["ant", "bee", "caterpillar"]),
    "object": np.array(["ant", "bee", "caterpillar"], dtype=object),
}


def both(name, **settings):
    return getattr(naive_bayes, name)(**settings), getattr(drop_in, name)(**settings)


def assert_same_model(theirs, ours, X):
    fitted = {key for key in vars(theirs) if key.endswith("_")}
    assert fitted == {key for key in vars(ours) if key.endswith("_")}
    for key in fitted:
        a, b = getattr(theirs, key), getattr(ours, key)
        assert type(a) is type(b), key
        for left, right in zip(a, b, strict=True) if isinstance(a, list) else [(a, b)]:
            assert np.asarray(left).dtype == np.asarray(right).dtype, key
            if np.asarray(left).dtype.kind in "UO":
                np.testing.assert_array_equal(left, right, err_msg=key)
            else:
                np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-13, err_msg=key)
    assert_same_answers(theirs, ours, X)


@np.errstate(all="ignore")
def assert_same_answers(theirs, ours, X):
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        a, b = getattr(theirs, method)(X), getattr(ours, method)(X)
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=method)
    scores = np.sort(theirs.predict_joint_log_proba(X), axis=1)
    clear = np.ones(len(scores), bool) if scores.shape[1] < 2 else scores[:, -1] - scores[:, -2] > 1e-9
    a, b = theirs.predict(X), ours.predict(X)
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a[clear], b[clear])


def assert_same_refusal(theirs, ours):
    with pytest.raises(Exception) as expected:
        theirs()
    with pytest.raises(type(expected.value)) as got:
        ours()
    assert str(got.value) == str(expected.value)


def make_rows(name, rng, n, n_columns=4):
    if name == "GaussianNB":
        return rng.normal(size=(n, n_columns)) * 10.0 ** rng.integers(-3, 4, n_columns) + rng.normal()
    return rng.integers(0, 5, (n, n_columns))


seeds = st.integers(0, 2**32 - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(seed=seeds, n=st.integers(8, 60), kind=st.sampled_from(sorted(LABELS)), weighted=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_fit_on_any_labels_and_weights_is_scikit_learns(name, seed, n, kind, weighted):
    rng = np.random.default_rng(seed)
    X, y = make_rows(name, rng, n), rng.choice(LABELS[kind], n)
    weights = rng.choice([0.0, 0.5, 1.0, 2.75], n) + 1e-3 if weighted else None
    theirs, ours = both(name)
    assert_same_model(theirs.fit(X, y, weights), ours.fit(X, y, weights), X)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(
    seed=seeds,
    cuts=st.lists(st.integers(1, 49), max_size=4),
    weighted=st.booleans(),
    kind=st.sampled_from(["int8", "object", "float"]),
)
@settings(max_examples=30, deadline=None)
def test_learning_in_batches_follows_scikit_learn_batch_by_batch(name, seed, cuts, weighted, kind):
    rng = np.random.default_rng(seed)
    X, y = make_rows(name, rng, 50), rng.choice(LABELS[kind], 50)
    theirs, ours = both(name)
    for part in np.split(np.arange(50), sorted(set(cuts))):
        weights = rng.uniform(0, 3, len(part)) if weighted else None
        for model in (theirs, ours):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                model.partial_fit(X[part], y[part], classes=np.unique(LABELS[kind]), sample_weight=weights)
        if name != "CategoricalNB":
            assert_same_model(theirs, ours, X)
    assert_same_model(theirs, ours, X[: len(part)])


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("GaussianNB", {"var_smoothing": 0.1}),
        ("GaussianNB", {"var_smoothing": 0}),
        ("GaussianNB", {"priors": [0.2, 0.3, 0.5]}),
        *((name, {"alpha": 0.25, "fit_prior": False}) for name in DISCRETE),
        *((name, {"class_prior": [0.2, 0.3, 0.5]}) for name in DISCRETE),
        *((name, {"alpha": [0.5, 1.0, 2.0, 3.0]}) for name in ("ComplementNB", "MultinomialNB")),
        ("ComplementNB", {"norm": True}),
        ("BernoulliNB", {"binarize": 2.5}),
        ("CategoricalNB", {"min_categories": 9}),
        ("CategoricalNB", {"min_categories": [9, 2, 7, 5]}),
        ("CategoricalNB", {"alpha": 0}),
    ],
)
def test_every_setting_means_the_same(name, settings):
    rng = np.random.default_rng(3)
    X, y = make_rows(name, rng, 200), rng.integers(0, 3, 200)
    theirs, ours = both(name, **settings)
    assert_same_model(theirs.fit(X, y), ours.fit(X, y), X)


def test_bernoulli_without_binarizing_takes_zeros_and_ones_as_they_are():
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (100, 5)), rng.integers(0, 3, 100)
    theirs, ours = both("BernoulliNB", binarize=None)
    assert_same_model(theirs.fit(X, y), ours.fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_digits])
@pytest.mark.parametrize("name", NAMES)
def test_real_tables_give_the_same_model(name, load):
    X, y = load(return_X_y=True)
    theirs, ours = both(name)
    assert_same_model(theirs.fit(X, y), ours.fit(X, y), X)


def test_penguins_with_names_of_columns_give_the_same_model():
    penguins = load_penguins().to_pandas().dropna()
    X, y = (
        penguins[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]],
        penguins["species"],
    )
    theirs, ours = both("GaussianNB")
    assert_same_model(theirs.fit(X, y), ours.fit(X, y), X)
    assert ours.feature_names_in_.tolist() == list(X.columns)
    assert_same_refusal(lambda: theirs.predict(X.iloc[:, ::-1]), lambda: ours.predict(X.iloc[:, ::-1]))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64", "bool", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", NAMES)
def test_every_number_type_and_memory_order_gives_the_same_model(name, order, dtype):
    rng = np.random.default_rng(5)
    X = np.asarray(rng.integers(0, 2 if dtype == "bool" else 120, (300, 6)), dtype=dtype, order=order)
    y = rng.integers(0, 4, 300)
    theirs, ours = both(name)
    theirs.fit(X, y), ours.fit(X, y)
    if name == "GaussianNB" and dtype == "float32":
        assert ours.theta_.dtype == theirs.theta_.dtype
    assert_same_model(theirs, ours, X[::3])
    assert_same_answers(theirs, ours, X[::-2, :].astype(np.float64))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", NAMES)
def test_frames_give_the_same_model(name, frame):
    rng = np.random.default_rng(6)
    table = frame(
        {
            "a": rng.integers(0, 9, 80).astype(np.int8),
            "b": rng.integers(0, 300, 80),
            "c": rng.integers(0, 3, 80),
        }
    )
    y = pd.Series(rng.choice(["x", "y"], 80))
    theirs, ours = both(name)
    assert_same_model(theirs.fit(table, y), ours.fit(table, y), table)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("name", COUNTING)
def test_sparse_rows_give_the_same_model(name, container):
    rng = np.random.default_rng(7)
    X = container(rng.poisson(0.3, (120, 30)))
    y, weights = rng.choice(["x", "y", "z"], 120), rng.uniform(0, 2, 120)
    theirs, ours = both(name)
    assert_same_model(theirs.fit(X, y), ours.fit(X, y), X)
    assert_same_model(theirs.fit(X, y, weights), ours.fit(X, y, weights), X)
    for model in (theirs, ours):
        model.partial_fit(X[:50], y[:50])
    assert_same_model(theirs, ours, X)


def test_values_far_from_zero_keep_their_variance():
    rng = np.random.default_rng(8)
    X, y = rng.normal([1e6, -1e5, 0], size=(500, 3)), rng.integers(0, 2, 500)
    theirs, ours = both("GaussianNB")
    theirs.fit(X, y), ours.fit(X, y)
    exact = [[np.var((X[y == c, j] - X[0, j]).astype(np.longdouble)) for j in range(3)] for c in (0, 1)]
    np.testing.assert_allclose(ours.var_ - ours.epsilon_, np.array(exact, dtype=float), rtol=1e-8)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-10)


def test_a_constant_column_and_a_class_of_one_row_give_the_same_model():
    X = np.array([[1.0, 0.1], [2.0, 0.1], [4.0, 0.1], [9.0, 0.1]])
    theirs, ours = both("GaussianNB")
    assert_same_model(theirs.fit(X, [0, 0, 0, 1]), ours.fit(X, [0, 0, 0, 1]), X)


def test_a_row_impossible_under_every_class_is_nan_as_in_scikit_learn():
    X, y = np.array([[0, 0], [0, 0], [1, 1], [1, 1]]), [0, 0, 1, 1]
    theirs, ours = both("CategoricalNB", alpha=0)
    with np.errstate(all="ignore"):
        assert_same_answers(theirs.fit(X, y), ours.fit(X, y), np.array([[0, 1], [1, 1]]))
        assert np.isnan(ours.predict_proba([[0, 1]])).all()


REFUSED_ROWS = {
    "NaN": [[np.nan, 1.0], [2.0, 3.0], [1.0, 1.0], [0.0, 1.0]],
    "infinite": [[np.inf, 1.0], [2.0, 3.0], [1.0, 1.0], [0.0, 1.0]],
    "negative": [[-1, 1], [2, 3], [1, 1], [0, 1]],
    "text": [["a", "b"], ["c", "d"], ["a", "b"], ["a", "b"]],
    "one dimension": [1, 2, 3, 4],
    "no rows": np.empty((0, 2)),
    "one row too many": [[1, 1]] * 5,
    "complex": [[1j, 1], [2, 3], [1, 1], [0, 1]],
}
REFUSED_LABELS = {
    "missing": None,
    "NaN": [0.0, 1.0, np.nan, 1.0],
    "continuous": [0.5, 1.25, 0.5, 1.25],
    "mixed types": np.array([1, "a", 1, "a"], dtype=object),
    "two columns": [[0, 1]] * 4,
}


@pytest.mark.parametrize("rows", REFUSED_ROWS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_that_scikit_learn_refuses_are_refused_in_its_words(name, rows):
    X, y, good = REFUSED_ROWS[rows], [0, 1, 0, 1], [[0, 1], [1, 0], [2, 1], [0, 2]]
    theirs, ours = both(name)
    if rows == "negative" and name in ("GaussianNB", "BernoulliNB"):
        return assert_same_model(theirs.fit(X, y), ours.fit(X, y), X)
    assert_same_refusal(lambda: theirs.fit(X, y), lambda: ours.fit(X, y))
    assert_same_refusal(
        lambda: theirs.partial_fit(X, y, classes=[0, 1]), lambda: ours.partial_fit(X, y, classes=[0, 1])
    )
    theirs, ours = both(name)
    theirs.fit(good, y), ours.fit(good, y)
    if rows not in ("one row too many", "negative") or (name == "CategoricalNB" and rows == "negative"):
        assert_same_refusal(lambda: theirs.predict(X), lambda: ours.predict(X))
    return assert_same_model(theirs, ours, good)


@pytest.mark.parametrize("labels", REFUSED_LABELS)
@pytest.mark.parametrize("name", NAMES)
def test_labels_that_scikit_learn_refuses_are_refused_in_its_words(name, labels):
    X, y = [[0, 1], [1, 0], [2, 1], [0, 2]], REFUSED_LABELS[labels]
    theirs, ours = both(name)
    assert_same_refusal(lambda: theirs.fit(X, y), lambda: ours.fit(X, y))


@pytest.mark.parametrize("name", NAMES)
def test_weights_settings_and_classes_are_refused_in_the_same_words(name):
    X, y = np.array([[0, 1], [1, 0], [2, 1], [0, 2]]), [0, 1, 0, 1]
    for weights in ([1.0, np.nan, 1.0, 1.0], [1.0, 1.0], [[1.0]] * 4):
        theirs, ours = both(name)
        assert_same_refusal(lambda: theirs.fit(X, y, weights), lambda: ours.fit(X, y, weights))  # noqa: B023
    prior = "priors" if name == "GaussianNB" else "class_prior"
    theirs, ours = both(name, **{prior: [0.1, 0.2, 0.7]})
    assert_same_refusal(lambda: theirs.fit(X, y), lambda: ours.fit(X, y))
    smoothing = "var_smoothing" if name == "GaussianNB" else "alpha"
    theirs, ours = both(name, **{smoothing: -1.0})
    assert_same_refusal(lambda: theirs.fit(X, y), lambda: ours.fit(X, y))
    theirs, ours = both(name)
    assert_same_refusal(lambda: theirs.predict(X), lambda: ours.predict(X))
    assert_same_refusal(lambda: theirs.partial_fit(X, y), lambda: ours.partial_fit(X, y))
    theirs.partial_fit(X, y, classes=[0, 1]), ours.partial_fit(X, y, classes=[0, 1])
    assert_same_refusal(lambda: theirs.partial_fit(X, y, [0, 1, 2]), lambda: ours.partial_fit(X, y, [0, 1, 2]))


@pytest.mark.parametrize("name", NAMES)
def test_a_label_outside_the_first_classes_is_treated_as_in_scikit_learn(name):
    X, y = np.array([[0, 1], [1, 0], [2, 1], [0, 2]]), [0, 1, 0, 7]
    theirs, ours = both(name)
    if name == "GaussianNB":
        return assert_same_refusal(lambda: theirs.partial_fit(X, y, [0, 1]), lambda: ours.partial_fit(X, y, [0, 1]))
    theirs.partial_fit(X, y, [0, 1]), ours.partial_fit(X, y, [0, 1])
    return assert_same_model(theirs, ours, X)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float64])
def test_a_category_beyond_those_learned_is_an_index_error(dtype):
    X = np.array([[0, 127], [1, 0], [2, 1], [0, 2]], dtype=dtype)
    theirs, ours = both("CategoricalNB")
    theirs.fit(X, [0, 1, 0, 1]), ours.fit(X, [0, 1, 0, 1])
    beyond = np.array([[0, 1], [5, 0]], dtype=dtype)
    assert_same_refusal(lambda: theirs.predict(beyond), lambda: ours.predict(beyond))


@pytest.mark.parametrize("rows_of_a_class", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_many_classes_are_warned_of_where_scikit_learn_warns(name, rows_of_a_class):
    X, y = np.arange(180).reshape(90, 2), np.arange(90) // rows_of_a_class
    said = []
    for model in both(name):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        said.append([str(warning.message) for warning in caught])
    assert said[0] == said[1]


@pytest.mark.parametrize("name", NAMES)
def test_a_model_survives_cloning_and_pickling(name):
    rng = np.random.default_rng(9)
    X, y = make_rows(name, rng, 60), rng.integers(0, 3, 60)
    smoothing = {"var_smoothing": 0.5} if name == "GaussianNB" else {"alpha": 0.5}
    ours = getattr(drop_in, name)(**smoothing).fit(X, y)
    assert clone(ours).get_params() == ours.get_params()
    assert not hasattr(clone(ours), "classes_")
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.predict_proba(X), ours.predict_proba(X))
    again.partial_fit(X, y)
    assert isinstance(ours, getattr(naive_bayes, name))


def test_a_grid_search_finds_what_it_finds_with_scikit_learn():
    X, y = load_iris(return_X_y=True)
    grid = {"var_smoothing": [1e-9, 1e-2, 1.0]}
    theirs, ours = (GridSearchCV(model, grid, cv=3, scoring="neg_log_loss").fit(X, y) for model in both("GaussianNB"))
    assert theirs.best_params_ == ours.best_params_
    np.testing.assert_allclose(theirs.cv_results_["mean_test_score"], ours.cv_results_["mean_test_score"], rtol=1e-9)


def test_pipelines_from_text_and_from_categories_give_the_same_answers():
    sports = load_worked_example("sports").to_pydict()
    words = [
        make_pipeline(CountVectorizer(), model).fit(sports["text"], sports["tag"]) for model in both("MultinomialNB")
    ]
    np.testing.assert_allclose(*(model.predict_proba(["a very close game"]) for model in words), rtol=1e-10)
    tennis = load_worked_example("tennis").to_pandas()
    X, y = tennis.drop(columns="play"), tennis["play"]
    tables = [make_pipeline(OrdinalEncoder(), model).fit(X, y) for model in both("CategoricalNB")]
    np.testing.assert_allclose(*(model.predict_proba(X) for model in tables), rtol=1e-10)


@pytest.mark.slow
@parametrize_with_checks([getattr(drop_in, name)() for name in NAMES])
def test_scikit_learn_calls_it_an_estimator(estimator, check):
    check(estimator)
