"""Every log loss is one: the mean of −ln P(own class), from logarithms, and not cut off."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.cli import main
from bayeskit.evaluate.learning_curve import generative_vs_discriminative
from bayeskit.evaluate.metrics import log_loss

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def witnesses():
    """Forty columns that all say the same, and are wrong at times: naive Bayes is far too sure of itself."""
    rng = np.random.default_rng(3)
    labels = np.where(np.arange(300) % 2 == 1, "yes", "no")
    told = np.where(rng.random(300) < 0.1, -1, 1) * np.where(labels == "yes", 3.0, -3.0) + rng.normal(size=300)
    return {f"c{i}": told + 0.01 * rng.normal(size=300) for i in range(40)}, labels


def own(log_proba, classes, labels):
    return log_proba[np.arange(len(labels)), np.searchsorted(classes, labels)]


def test_probabilities_below_the_limit_are_clipped_and_counted():
    table, labels = witnesses()
    found = bk.NaiveBayes().fit(table, labels).leave_one_out(table, labels)
    assert found.log_loss == pytest.approx(sklearn_log_loss(labels, np.clip(found.probabilities, 1e-15, 1)), rel=1e-9)
    assert found.n_clipped > 0


def test_the_ensemble_and_leave_one_out_say_the_same_of_naive_bayes():
    table, labels = witnesses()
    beside = bk.BayesClassifier(n_members=2, fast=True).fit(table, labels).left_out_
    alone = bk.NaiveBayes().fit(table, labels).leave_one_out(table, labels)
    assert beside["model"][1] == "NaiveBayes"
    assert beside["log loss"][1] == pytest.approx(alone.log_loss, rel=1e-9)
    assert beside["accuracy"][1] == alone.accuracy


def test_a_class_of_one_row_is_left_out_of_every_log_loss():
    table, labels = witnesses()
    labels = labels.astype(object)
    labels[0] = "rare"
    beside = bk.BayesClassifier(n_members=2, fast=True).fit(table, labels).left_out_
    alone = bk.NaiveBayes(numeric="gaussian").fit(table, labels).leave_one_out(table, labels)
    assert beside["log loss"][1] == pytest.approx(alone.log_loss, rel=1e-9)
    assert np.isfinite(beside["log loss"]).all()


def test_where_every_row_takes_its_class_along_there_is_no_log_loss(tmp_path):
    model = bk.BayesClassifier(n_members=2, fast=True).fit({"x": ["u", "v", "w"]}, ["a", "b", "c"])
    assert model.left_out_["log loss"] == [None, None, None]
    assert "–" in model.report()
    model.save(tmp_path / "few.bayes")
    assert bk.load(tmp_path / "few.bayes").left_out_["log loss"] == [None, None, None]


@pytest.mark.parametrize("kind", [bk.NaiveBayes, GaussianNB, lambda: bk.BayesClassifier(n_members=2, fast=True)])
def test_cross_validation_takes_the_logarithms_that_a_model_gives(kind):
    table, labels = witnesses()
    X = np.column_stack(list(table.values()))
    losses = []
    found = bk.cross_validate(kind(), X, labels, folds=3)
    for learn, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, labels):
        fitted = kind().fit(X[learn], labels[learn])
        losses.append(own(fitted.predict_log_proba(X[test]), fitted.classes_, labels[test]))
    assert found.log_loss == pytest.approx(log_loss(np.concatenate(losses)), rel=1e-9)


def test_the_comparison_by_training_size_takes_them_too():
    table, labels = witnesses()
    X = np.column_stack(list(table.values()))
    records = generative_vs_discriminative(X, labels, sizes=[200], repeats=2)
    of_naive = next(r["log_loss"] for r in records if r["model"] == "naive Bayes")
    assert 1 < of_naive < 4


def test_the_command_line_says_the_same(tmp_path, monkeypatch, capsys):
    table, labels = witnesses()
    csv.write_csv(pa.table({**table, "y": labels}), tmp_path / "t.csv")
    words = ["bayes", "fit", str(tmp_path / "t.csv"), "--target", "y", "-o", str(tmp_path / "m.bayes"), "--json"]
    monkeypatch.setattr("sys.argv", words)
    main()
    said = json.loads(capsys.readouterr().out)["leave_one_out"]["log_loss"]
    alone = bk.NaiveBayes().fit(table, labels).leave_one_out(table, labels)
    assert said == pytest.approx(alone.log_loss, rel=1e-6)


def test_probabilities_are_clipped_and_weight_zero_is_no_loss():
    assert log_loss(np.array([0.0, -np.inf])) == pytest.approx(-np.log(1e-15) / 2)
    assert log_loss(np.array([-2.0, -np.inf]), np.array([3.0, 0.0])) == 2.0
    assert str(log_loss(np.zeros(2))) == "0.0"  # and no −0.0
