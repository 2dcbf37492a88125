"""Recipe "nbsvm": margins, and probabilities of them that are fitted on folds which the machines have not seen."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import LinearSVC

import bayeskit as bk
from bayeskit.errors import BadFile
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.text.recipe import assign_folds

WORDS = ["sun", "sea", "rain", "fog", "wind", "ice", "snow", "calm", "storm", "dry"]


def documents(n, classes, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.array(classes, dtype=object)[rng.integers(0, len(classes), n)]
    texts = []
    for label in labels:
        own = [WORDS[(3 * classes.index(label) + i) % len(WORDS)] for i in range(3)]
        texts.append(" ".join([*rng.choice(own, 2), *rng.choice(WORDS, 3)]))
    return texts, labels


def fitted(texts, labels, **settings):
    return bk.TextClassifier("nbsvm", **settings).fit(texts, labels)


def margins_by_hand(learned, labels, asked, classes, weights=None):
    """Wang and Manning's machine written out, with the words of ``learned`` alone."""
    counter = CountVectorizer(binary=True).fit(learned)
    x, new = counter.transform(learned).toarray(), counter.transform(asked).toarray()
    w = np.ones(len(learned)) if weights is None else weights
    out = np.zeros((len(asked), len(classes)))
    for c in range(1, 2) if len(classes) == 2 else range(len(classes)):
        own = labels == classes[c]
        p, q = 1 + x[own].sum(axis=0), 1 + x[~own].sum(axis=0)
        r = np.log(p / p.sum()) - np.log(q / q.sum())
        machine = LinearSVC(C=1.0, random_state=0, max_iter=10_000).fit(x * r, own, w)
        coef, mean = machine.coef_[0], np.abs(machine.coef_[0]).sum() / x.shape[1]
        share = np.average(own, weights=w)
        out[:, c] = new @ (r * (0.75 * mean + 0.25 * coef)) + 0.75 * mean * np.log(share / (1 - share))
        out[:, c] += 0.25 * machine.intercept_[0]
    return out


def penalized(numbers, margins, truth, weights):
    """What scale and biases minimize."""
    centered = margins - margins.mean(axis=1, keepdims=True)
    size = np.sqrt((centered**2).mean())
    z = numbers[0] * centered / size + numbers[1:]
    lost = weights @ (np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), truth])
    return lost + ((numbers[0] - 1) ** 2 + (numbers[1:] ** 2).sum()) / 2, size


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c", "d"]])
@pytest.mark.parametrize("weighted", [False, True])
def test_scale_and_biases_are_those_of_machines_refitted_by_hand_without_each_fold(classes, weighted):
    texts, labels = documents(90, classes)
    texts = [f"{text} only{i}" if i % 9 == 0 else text for i, text in enumerate(texts)]  # words of one document
    weights = np.resize([1.0, 2.0, 0.5], 90) if weighted else np.ones(90)
    model = bk.TextClassifier("nbsvm").fit(texts, labels, sample_weight=weights if weighted else None)
    weights = weights / weights.mean()
    truth = np.array([classes.index(label) for label in labels])
    fold, texts = assign_folds(truth), np.array(texts, dtype=object)
    margins = np.zeros((90, len(classes)))
    for f in range(3):
        out = fold == f
        of_rest = margins_by_hand(texts[~out], labels[~out], texts[out], classes, weights[~out])
        margins[out] = of_rest
    objective = lambda v: penalized(v, margins, truth, weights)[0]  # noqa: E731
    v = minimize(objective, np.append(1.0, np.zeros(len(classes))), method="BFGS", options={"gtol": 1e-7}).x
    size = penalized(v, margins, truth, weights)[1]
    found = model.recipe_.calibration
    assert found.scale == pytest.approx(v[0] / size, rel=1e-3)
    np.testing.assert_allclose(found.bias, v[1:], atol=1e-3)


def test_probabilities_are_the_softmax_of_scaled_margins_and_sum_over_words():
    texts, labels = documents(120, ["a", "b", "c"])
    model = fitted(texts, labels)
    asked, _ = documents(20, ["a", "b", "c"], 5)
    asked = [*asked, "", "never seen"]
    made, linear = model.recipe_.calibration, model.linear_
    margins = np.array([
        linear.constant + sum((linear.table[model.words_.tolist().index(w)] for w in {*text.split()} & {*model.words_}),
                              np.zeros(3)) for text in asked
    ])  # fmt: skip
    z = made.scale * margins + made.bias
    expected = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(asked), expected, atol=1e-12)
    np.testing.assert_allclose(model.predict_log_proba(asked), np.log(expected), atol=1e-9)
    for record, p in zip(model.explain(asked), expected, strict=True):
        chosen, other = (model.tally_.classes.index(c) for c in (record.label, record.other))
        total = record.base + sum(evidence for _, _, evidence in record.words)
        assert total == pytest.approx(np.log(p[chosen] / p[other]), abs=1e-9)
    form = model.to_logistic()
    counts = bk.TokenCounter(vocabulary=form.features, binary=True).transform(asked)
    np.testing.assert_allclose(form.intercept + counts @ form.weights.T, model.decision_function(asked), atol=1e-9)


def test_probabilities_are_nearer_to_what_is_seen_than_margins_are():
    texts, labels = documents(600, ["a", "b", "c", "d"])
    model = fitted(texts[:400], labels[:400])
    at = (np.arange(200), [model.classes_.tolist().index(label) for label in labels[400:]])
    made = model.recipe_.calibration
    scores = (model.predict_joint_log_proba(texts[400:]) - made.bias - model.params_.log_prior) / made.scale
    plain = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    loss = -model.predict_log_proba(texts[400:])[at].mean()
    assert loss < -plain[at].mean()
    assert loss == pytest.approx(model.recipe_.calibration.log_loss, abs=0.2)


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["sun", "rain"], ["a", "b"]),
        (["sun", "rain", "fog"], ["a", "b", "c"]),
        (["sun", "sun", "rain"], ["a", "a", "b"]),
        (["sun", "sea"] * 20 + ["rain"], ["a"] * 40 + ["b"]),
        (["sun", "sea"] * 20 + ["rain", "fog", "fog"], ["a"] * 40 + ["b", "c", "c"]),
        (["sun"] * 20, ["a", "b"] * 10),
        (["sun"] * 30 + ["rain"] * 30, ["a"] * 30 + ["b"] * 30),
    ],
)
def test_tiny_classes_and_perfect_ones_get_probabilities(texts, labels):
    model = fitted(texts, labels)
    p = model.predict_proba(["sun", "rain", "", "never seen", "sun rain fog"])
    assert np.isfinite(p).all()
    assert (p > 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_proba(texts), model.predict_proba(texts))


def test_the_only_document_of_a_class_stays_in_and_others_are_shared_out_evenly():
    labels = np.array([0] * 7 + [1] + [2] * 2 + [3] * 3)
    fold = assign_folds(labels)
    assert fold[7] == -1
    assert sorted(fold[8:10]) == [0, 1]
    assert sorted(fold[10:]) == [0, 1, 2]
    assert sorted(np.bincount(fold[:7])) == [2, 2, 3]


@pytest.mark.parametrize("change", ["scale", "loss", "bias", "none", "more"])
def test_a_scale_that_no_fit_could_have_made_is_refused(change):
    from bayeskit.storage.container import pack, unpack

    header, arrays = unpack(to_bytes(fitted(*documents(40, ["a", "b"]))))
    held = header["state"]["held"]
    if change == "scale":
        held["scale"] = -1.0
    elif change == "loss":
        held["log_loss"] = "small"
    elif change == "none":
        del held["scale"]
    elif change == "bias":
        arrays[-1] = np.array([np.nan, 0.0])
    else:
        arrays[-1] = np.zeros(3)
    with pytest.raises(BadFile):
        from_bytes(pack(header, arrays))
