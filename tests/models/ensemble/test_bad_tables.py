"""BayesClassifier on odd tables and settings: a defined answer, or an error with the way out."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example
from bayeskit.errors import TooLarge
from tests.models.ensemble.test_classifier import SMALL, table

Y = np.array(["no", "yes"] * 20)
ODD = {
    "one value": pd.DataFrame({"x": ["a"] * 40, "z": [1.0] * 40}),
    "many values": pd.DataFrame({"x": [f"v{i}" for i in range(40)], "z": np.arange(40.0)}),
    "all missing": pd.DataFrame({"x": pd.Series([None] * 40, dtype=object), "z": [np.nan] * 40}),
    "equal to the class": pd.DataFrame({"x": Y, "z": (Y == "yes").astype(float)}),
    "more columns than rows": pd.DataFrame(np.random.default_rng(0).normal(size=(40, 60)).round(2)),
}


@pytest.mark.parametrize("what", ODD)
@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_odd_columns_have_a_defined_answer(what):
    model = bk.BayesClassifier(**SMALL).fit(ODD[what], Y)
    proba = model.predict_proba(ODD[what])
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    if what == "equal to the class":
        assert model.score(ODD[what], Y) == 1
    if what in ("one value", "all missing"):
        np.testing.assert_allclose(proba, 0.5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_ten_thousand_values_are_taken():
    X = pd.DataFrame({"id": [f"v{i % 10_000}" for i in range(12_000)], "x": ["a", "b"] * 6_000})
    y = np.array(["no", "yes"] * 6_000)
    assert bk.BayesClassifier(n_members=2, n_chains=2).fit(X, y).score(X.iloc[:500], y[:500]) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_few_rows_and_classes_of_one_row_are_taken(n):
    X = pd.DataFrame({"x": np.arange(n, dtype=float), "a": list("pqrpqr"[:n])})
    proba = bk.BayesClassifier(**SMALL).fit(X, [f"c{i}" for i in range(n)]).predict_proba(X)
    assert proba.shape == (n, n)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_too_much_memory_is_refused_with_the_figure():
    X, y, _ = table()
    with pytest.raises(TooLarge, match=r"60 rows × 3 columns × 3 classes may take .*B, more than memory_limit=10 kB"):
        bk.BayesClassifier(memory_limit=10_000).fit(X, y)
    with pytest.raises(TooLarge, match=r"first 60 rows × 3 columns would take 1.44 kB .*more than memory_limit=1 kB"):
        bk.BayesClassifier(memory_limit=1000).fit(X, y)


@pytest.mark.parametrize(
    "setting", [{"n_members": 0}, {"n_chains": -1}, {"memory_limit": 0}, {"unseen": "smooth"}, {"n_members": True}]
)
def test_settings_that_mean_nothing_are_refused_by_name(setting):
    with pytest.raises(bk.BayesError, match=next(iter(setting))):
        bk.BayesClassifier(**setting).fit([[1.0], [2.0]], [0, 1])


def test_a_table_with_all_columns_ignored_is_refused():
    X, y, _ = table()
    with pytest.raises(bk.BayesError, match="every column is ignored"):
        bk.BayesClassifier(roles="ignore").fit(X, y)


def test_texts_without_a_word_are_a_warning():
    X, y, _ = table()
    with pytest.warns(bk.BayesWarning, match="no document has a word"):
        model = bk.BayesClassifier(**SMALL, roles={"a": "text"}).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_the_tennis_table_is_taken_as_it_is():
    days = load_worked_example("tennis")
    model = bk.BayesClassifier(**SMALL).fit(days, "play")
    assert model.predict(days).shape == (14,)
    assert "exponent" in str(model.table("outlook"))
