"""Rows of a group are judged together: people who are measured several times, and new people to predict."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.models import from_bytes, to_bytes

SMALL = {"n_trees": 4, "n_threads": 1}


def people(n, seed, times=4):
    """People whose measurements differ little: numbers, classes and who each row is."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(n, 10))
    y = rng.random(n) < 1 / (1 + np.exp(-1.5 * mean[:, 0] - mean[:, 1]))
    X = np.repeat(mean, times, axis=0) + 0.3 * rng.normal(size=(times * n, 10))
    return (
        pd.DataFrame(X, columns=list("abcdefghij")),
        np.repeat(y, times),
        np.repeat([f"p{i}" for i in range(n)], times),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2])
def test_new_people_are_predicted_as_well_as_the_model_says(seed):
    X, y, who = people(250, seed)
    new, truth, _ = people(1_000, seed + 100)
    apart = bk.BayesClassifier(n_threads=1).fit(X[::4], y[::4])
    model = bk.BayesClassifier(n_threads=1).fit(X, y, groups=who)
    loss = log_loss(truth, model.predict_proba(new))
    assert loss <= 1.05 * log_loss(truth, apart.predict_proba(new))
    assert 1 / 1.3 <= model.left_out_["log loss"][0] / loss <= 1.3


def test_a_column_of_groups_is_not_learned_from():
    X, y, who = people(30, 0)
    model = bk.BayesClassifier(**SMALL).fit(X, y, groups=who)
    named = bk.BayesClassifier(**SMALL).fit(X.assign(who=who, y=y), "y", groups="who")
    assert "who" not in named.schema_.used
    assert named.schema_.target.name == "y"
    np.testing.assert_array_equal(named.predict_proba(X), model.predict_proba(X))
    assert named.left_out_["log loss"] == model.left_out_["log loss"]
    assert str(named.importance_) == str(model.importance_)


def test_groups_of_one_row_are_rows():
    X, y, _ = people(100, 1, times=1)
    model = bk.BayesClassifier(**SMALL).fit(X, y, groups=np.arange(100))
    plain = bk.BayesClassifier(**SMALL, fast=True).fit(X, y)
    assert model.left_out_["log loss"][0] == pytest.approx(plain.left_out_["log loss"][0], rel=0.25)


def test_a_grouped_model_is_saved_and_updated_but_not_refitted():
    X, y, who = people(30, 0)
    model = bk.BayesClassifier(**SMALL).fit(X, y, groups=who, sample_weight=np.arange(120) % 3)
    again = from_bytes(to_bytes(model))
    assert again.structure_ == model.structure_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(BayesError, match="groups"):
        again.forget(X[1:3], y[1:3], sample_weight=[1, 2], refit=True)
    again.forget(X[1:3], y[1:3], sample_weight=[1, 2])


def test_unlabeled_rows_leave_with_their_groups():
    X, y, who = people(30, 0)
    labels = np.where(np.arange(120) % 5 == 0, None, np.where(y, "yes", "no"))
    kept = labels != None  # noqa: E711
    with pytest.warns(bk.errors.BayesWarning):
        model = bk.BayesClassifier(**SMALL, unlabeled="drop").fit(X, labels, groups=who)
    same = bk.BayesClassifier(**SMALL).fit(X[kept], labels[kept], groups=who[kept])
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


@pytest.mark.parametrize(
    ("groups", "settings", "words"),
    [
        ([1, 2], {}, "120 rows and 2 groups"),
        ([7] * 120, {}, "one group"),
        (list(range(120)), {"fast": False}, "members and chains"),
        (list(range(120)), {"n_members": 2}, "members and chains"),
    ],
)
def test_impossible_groups_are_refused(groups, settings, words):
    X, y, _ = people(30, 0)
    with pytest.raises(BayesError, match=words):
        bk.BayesClassifier(**SMALL, **settings).fit(X, y, groups=groups)


def test_folds_keep_groups_together():
    X, y, who = people(30, 0)
    fits = []

    class Spy(bk.NaiveBayes):
        def fit(self, X, y, sample_weight=None, groups=None):
            fits.append({*np.asarray(groups).tolist()})
            return super().fit(X, y, sample_weight)

    found = bk.cross_validate(Spy(), X, y, 3, groups=who)
    assert found.method == "3-fold cross-validation by groups"
    assert [len(groups) for groups in fits] == [20, 20, 20]
    assert found.n_rows == 120
    table = X.assign(who=who, y=y)
    assert bk.cross_validate(bk.NaiveBayes(), table, "y", 3, groups="who").accuracy == found.accuracy
    with pytest.raises(BayesError, match=r"the number of groups \(30\)"):
        bk.cross_validate(bk.NaiveBayes(), X, y, 31, groups=who)


def test_comparisons_keep_groups_together():
    X, y, who = people(30, 0)
    table = X.assign(who=who, y=y)
    models = {"naive": bk.NaiveBayes(), "best": bk.BayesClassifier(**SMALL)}
    found = bk.compare(models, table, "y", folds=3, groups="who")
    alone = bk.cross_validate(bk.NaiveBayes(), X, y, 3, groups=who)
    assert found.accuracy[0, 0] == pytest.approx(alone.accuracy)
    with pytest.raises(BayesError, match="leave-one-out"):
        bk.compare(models, table, "y", folds="leave-one-out", groups="who")
