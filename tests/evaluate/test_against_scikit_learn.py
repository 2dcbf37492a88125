"""Every measure of a record is scikit-learn's: several classes, ties, weights, certain answers, classes never said."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from bayeskit.evaluate.metrics import averages, f_by_class
from bayeskit.evaluate.ranking_curves import break_even


class Says(ClassifierMixin, BaseEstimator):
    """Says of a row what stands in it: log probabilities of the classes 0, 1, …"""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict_proba(self, X):
        return np.exp(X)

    def predict_log_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


def told(kind, n=240, seed=0):
    """(log probabilities, labels, weights): ``kind`` says what the probabilities look like."""
    rng = np.random.default_rng(seed)
    n_classes = 2 if kind == "two classes" else 4
    y = np.arange(n) % n_classes
    p = rng.dirichlet(np.full(n_classes, 0.7), n) + 0.5 * np.eye(n_classes)[y]
    if kind == "ties":
        p = p.round(1) + 0.1
    if kind == "constant":
        p = np.tile([0.4, 0.3, 0.2, 0.1], (n, 1))
    if kind == "never said":
        p[:, 2] *= 1e-3
    p /= p.sum(axis=1, keepdims=True)
    if kind == "zero and one":
        p = np.where(rng.random(n)[:, None] < 0.5, np.eye(n_classes)[y], p)
    with np.errstate(divide="ignore"):
        return np.log(p), y, rng.integers(0, 4, n).astype(float)


KINDS = ["two classes", "four classes", "ties", "constant", "never said", "zero and one"]


@pytest.mark.parametrize("weighed", [False, True], ids=["", "weighed"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_measure_of_an_evaluation_is_that_of_scikit_learn(kind, weighed):
    log_p, y, weights = told(kind)
    w = weights if weighed else None
    found = bk.cross_validate(Says(), log_p, y, folds=4, sample_weight=w)
    p, chosen = np.exp(log_p), log_p.argmax(axis=1)
    labels = list(range(p.shape[1]))
    settings = {"sample_weight": w, "labels": labels}
    np.testing.assert_allclose(found.probabilities, p)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(y, chosen, sample_weight=w))
    assert found.log_loss == pytest.approx(metrics.log_loss(y, p, **settings))
    of_two = p[:, 1] if len(labels) == 2 else p
    assert found.brier == pytest.approx(metrics.brier_score_loss(y, of_two, scale_by_half=False, **settings))
    np.testing.assert_allclose(found.counts, metrics.confusion_matrix(y, chosen, **settings))
    precision, recall, f, rows = metrics.precision_recall_fscore_support(y, chosen, zero_division=np.nan, **settings)
    for name, theirs in (("precision", precision), ("recall", recall), ("F", f), ("rows", rows)):
        ours = [np.nan if v is None else v for v in found.by_class[name]]
        np.testing.assert_allclose(ours, theirs, err_msg=name)
    for c in labels:
        area = metrics.roc_auc_score(y == c, p[:, c], sample_weight=w)
        assert found.roc(c).area == pytest.approx(area)
        average = metrics.average_precision_score(y == c, p[:, c], sample_weight=w)
        assert found.precision_recall(c).average_precision == pytest.approx(average)
    assert found.brier_parts().brier == pytest.approx(found.brier)


@pytest.mark.parametrize("alpha", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("kind", KINDS)
def test_averages_and_f_of_weighed_rows_are_those_of_scikit_learn(kind, alpha):
    log_p, y, weights = told(kind)
    chosen, beta = log_p.argmax(axis=1), np.sqrt(alpha)
    settings = {"sample_weight": weights, "labels": list(range(log_p.shape[1])), "zero_division": 0}
    counts = metrics.confusion_matrix(y, chosen, sample_weight=weights, labels=settings["labels"])
    np.testing.assert_allclose(
        f_by_class(counts, alpha), metrics.fbeta_score(y, chosen, beta=beta, average=None, **settings)
    )
    ours = averages(counts, alpha)
    for kind_of_mean in ("micro", "macro"):
        theirs = metrics.precision_recall_fscore_support(y, chosen, beta=beta, average=kind_of_mean, **settings)[:3]
        for name, value in zip(("precision", "recall", "f"), theirs, strict=True):
            assert getattr(ours, f"{kind_of_mean}_{name}") == pytest.approx(value)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_a_weight_is_so_many_rows_in_every_curve(digits):
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.3
    scores, weights = (truth + rng.normal(size=200)).round(digits), rng.integers(0, 4, 200)
    often, twice = np.repeat(truth, weights), np.repeat(scores, weights)
    for curve, names in (
        (bk.roc_curve, ("area", "false_positive_rate", "true_positive_rate", "thresholds")),
        (bk.precision_recall_curve, ("average_precision", "break_even", "precision", "recall", "share")),
        (bk.lift_curve, ("taken", "found", "lift", "share")),
    ):
        for name in names:
            np.testing.assert_allclose(
                getattr(curve(truth, scores, weights), name), getattr(curve(often, twice), name), err_msg=name
            )
    assert break_even(truth, scores, weights) == pytest.approx(break_even(often, twice))
    p = 1 / (1 + np.exp(-scores))
    for strategy in ("uniform", "quantile"):
        weighed, plain = (
            bk.reliability(p, truth, 7, strategy, weights),
            bk.reliability(np.repeat(p, weights), often, 7, strategy),
        )
        for name in ("low", "high", "rows", "said", "seen", "error", "largest"):
            np.testing.assert_allclose(getattr(weighed, name), getattr(plain, name), err_msg=f"{strategy} {name}")


def test_break_even_is_precision_at_as_many_rows_as_the_class_has():
    rng = np.random.default_rng(4)
    truth, scores = rng.random(300) < 0.3, rng.random(300)
    chosen = np.argsort(-scores)[: truth.sum()]
    said = np.isin(np.arange(300), chosen)
    precision, recall = metrics.precision_score(truth, said), metrics.recall_score(truth, said)
    assert break_even(truth, scores) == pytest.approx(precision) == pytest.approx(recall)


def test_the_folds_are_those_of_scikit_learn():
    log_p, y, _ = told("four classes")
    from bayeskit.evaluate.cross_validation import stratified_folds

    theirs = StratifiedKFold(5, shuffle=True, random_state=2).split(log_p, y)
    for (learn, test), (their_learn, their_test) in zip(stratified_folds(y, 5, 2), theirs, strict=True):
        np.testing.assert_array_equal(learn, their_learn)
        np.testing.assert_array_equal(test, their_test)


def test_a_learning_curve_is_what_scikit_learn_says_of_the_same_rows():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 120)
    X = y[:, None] + rng.normal(size=(120, 2))
    curve = bk.learning_curve(bk.NaiveBayes(), X[:80], y[:80], X[80:], y[80:], sizes=[80])
    fitted = bk.NaiveBayes().fit(X[:80], y[:80])
    assert curve.accuracy[0, 0, 0] == pytest.approx(metrics.accuracy_score(y[80:], fitted.predict(X[80:])))
    assert curve.log_loss[0, 0, 0] == pytest.approx(metrics.log_loss(y[80:], fitted.predict_proba(X[80:])))
