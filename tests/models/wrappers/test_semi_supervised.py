"""Few labels and many rows: expected counts, documents, mixtures, and the answer to whether it helped."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.models import from_bytes, to_bytes


def blobs(n=200, seed=0):
    """Two classes that differ in three columns, each by itself a weak sign."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({f"x{j}": rng.normal(size=n) + 2.0 * y for j in range(3)})
    frame["sky"] = np.where(rng.random(n) < 0.2 + 0.6 * y, "sun", "rain")
    return frame, np.where(y, "good", "bad")


def documents(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    shares = [np.random.default_rng(c).dirichlet(np.full(200, 0.1)) for c in range(3)]
    return [" ".join(f"word{w}" for w in rng.choice(200, 15, p=shares[c])) for c in y], np.array(list("abc"))[y]


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA])
def test_missing_labels_are_rows_without_label(gap):
    X, y = blobs()
    some = y.astype(object)
    some[10:] = gap
    model = bk.SemiSupervised(bk.NaiveBayes(), folds=0).fit(X, list(some))
    assert model.classes_.tolist() == ["bad", "good"]
    assert (model.predict(X) == y).mean() > 0.9


def test_minus_one_is_a_class_unless_said_otherwise():
    X, y = blobs(60)
    codes = np.where(y == "good", 1, 0)
    codes[20:] = -1
    assert bk.SemiSupervised(bk.NaiveBayes(), folds=0).fit(X, codes).classes_.tolist() == [-1, 0, 1]
    assert bk.SemiSupervised(bk.NaiveBayes(), unlabeled=-1, folds=0).fit(X, codes).classes_.tolist() == [0, 1]


def test_a_round_of_em_on_a_table_is_what_brute_force_says():
    X = pd.DataFrame({"sky": ["sun", "sun", "rain", "sun", "rain"]})
    y = ["a", "b", "b", None, None]
    model = bk.SemiSupervised(bk.NaiveBayes(smoothing=1), rounds=1, folds=0).fit(X, y)
    # labeled alone: P(a) = 1/3, P(sun|a) = 2/3, P(sun|b) = 1/2
    p_sun = (1 / 3 * 2 / 3) / (1 / 3 * 2 / 3 + 2 / 3 * 1 / 2)
    p_rain = (1 / 3 * 1 / 3) / (1 / 3 * 1 / 3 + 2 / 3 * 1 / 2)
    n_a = 1 + p_sun + p_rain
    fitted = model.estimator_
    assert fitted.tally_.class_counts.tolist() == pytest.approx([n_a, 5 - n_a])
    assert fitted.table("sky")["P(sky | a)"][1] == pytest.approx((1 + p_sun + 1) / (n_a + 2))


def test_the_likelihood_of_unsmoothed_tables_never_falls():
    X, y = blobs(120)
    some = np.where(np.arange(120) < 12, y, None)
    told = bk.SemiSupervised(bk.NaiveBayes(ddof=0, smoothing=0.0), folds=0).fit(X, list(some)).history_
    assert all(b >= a - 1e-9 * abs(a) for a, b in zip(told["log likelihood"], told["log likelihood"][1:], strict=False))


def test_unlabeled_rows_help_and_it_is_said(capsys):
    X, y = documents()
    some = [label if i < 24 else None for i, label in enumerate(y)]
    model = bk.SemiSupervised(bk.TextClassifier(), folds=3, verbose=True).fit(X, some)
    assert model.helped_
    assert "helped" in str(model.comparison_)
    assert len(model.history_["round"]) == 8
    assert "round 8" in capsys.readouterr().out
    alone = bk.TextClassifier().fit(X[:24], y[:24])
    assert (model.predict(X) == y).mean() >= (alone.predict(X) == y).mean()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.slow
def test_where_they_do_not_help_the_labeled_ones_teach_alone():
    rng = np.random.default_rng(3)
    X, y = blobs(40)
    noise = pd.DataFrame({f"x{j}": rng.normal(size=400) * 30 for j in range(3)})
    noise["sky"] = rng.choice(["sun", "rain"], 400)
    with pytest.warns(BayesWarning, match="did not help"):
        model = bk.SemiSupervised(bk.NaiveBayes()).fit(pd.concat([X, noise], ignore_index=True), [*y, *[None] * 400])
    assert not model.helped_
    alone = bk.NaiveBayes().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X))


@pytest.mark.slow
def test_without_labels_it_is_a_mixture():
    X, y = blobs(300)
    model = bk.SemiSupervised(bk.NaiveBayes(), n_classes=2, random_state=0).fit(X)
    found = model.predict(X) == 1
    assert max((found == (y == "good")).mean(), (found != (y == "good")).mean()) > 0.9
    again = bk.SemiSupervised(bk.NaiveBayes(), n_classes=2, random_state=0).fit(X, [None] * 300)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    texts, labels = documents()
    topics = bk.SemiSupervised(bk.TextClassifier("multinomial"), n_classes=3, random_state=0).fit(texts)
    together = [len(set(labels[topics.predict(texts) == c])) for c in range(3)]
    assert min(together) <= 2


def test_bad_settings_are_refused():
    X, y = blobs(20)
    for settings, message in [
        ({"classifier": object()}, "counting classifier"),
        ({"folds": 1}, "folds"),
        ({"weight": -1}, "weight"),
        ({"rounds": 0}, "rounds"),
    ]:
        with pytest.raises(BayesError, match=message):
            bk.SemiSupervised(**settings).fit(X, y)
    with pytest.raises(BayesError, match="n_classes"):
        bk.SemiSupervised().fit(X)
    with pytest.raises(BayesError, match="multinomial"):
        bk.SemiSupervised(bk.TextClassifier(), n_classes=2).fit(["a few", "words"])
    with pytest.raises(BayesError, match="inconsistent"):
        bk.SemiSupervised().fit(X, y[:3])


@pytest.mark.slow
@pytest.mark.skipif("BAYESKIT_DATA" not in os.environ, reason="BAYESKIT_DATA names no folder")
def test_300_labels_and_the_rest_without_beat_300_labels_by_twelve_points():
    import pyarrow.parquet as pq

    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / "20news_bydate.parquet").to_pandas()
    train, test = table[table.split == "train"], table[table.split == "test"]
    y = train.label.to_numpy(dtype=object)
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        labeled = np.concatenate([rng.choice(np.flatnonzero(y == c), 15, replace=False) for c in np.unique(y)])
        some = np.full(len(y), None, dtype=object)
        some[labeled] = y[labeled]
        together = bk.SemiSupervised(bk.TextClassifier(), folds=0).fit(train.text, some)
        alone = bk.TextClassifier().fit(train.text.iloc[labeled], y[labeled])
        gains.append((together.predict(test.text) == test.label).mean() - alone.score(test.text, test.label))
    assert min(gains) > 0
    assert np.mean(gains) >= 0.12


def test_settings_of_the_inner_model_that_cannot_be_are_refused_by_the_loader():
    model = bk.SemiSupervised(bk.TextClassifier("multinomial")).fit(["good", "bad", "good"], ["p", "n", None])
    assert from_bytes(to_bytes(model)).classifier.lowercase is True
    model.classifier.lowercase = 0.5
    with pytest.raises(BadFile, match=r"lowercase=0\.5"):
        from_bytes(to_bytes(model))
