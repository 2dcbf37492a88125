"""Exponents over naive Bayes: convex, leave-one-out, additive."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from bayeskit.data.frames import open_source
from bayeskit.datasets import load_penguins
from bayeskit.estimate.conditional_likelihood import best_exponents

BIRDS = load_penguins().to_pandas().drop(columns="year")
X, Y = BIRDS.drop(columns="species"), BIRDS["species"]


def test_left_out_terms_equal_refitting_without_the_row_column_by_column():
    model = bk.NaiveBayes(numeric="gaussian", n_threads=1).fit(X, Y)
    blocks = list(model._encoder().blocks(open_source(X, Y)))
    terms = model._left_out().terms(blocks[0])
    assert model._left_out().term_names == ["species", "island", "sex", *model.params_.used[2:]]
    some = np.arange(0, len(X), 29)
    for i in some:
        rest = bk.NaiveBayes(numeric="gaussian", n_threads=1).fit(X.drop(index=X.index[i]), Y.drop(index=X.index[i]))
        for j, name in enumerate(model._left_out().term_names[1:], 1):
            alone = rest.restrict([name])
            own = alone.predict_joint_log_proba(X.iloc[[i]])[0] - alone.params_.log_prior
            np.testing.assert_allclose(terms[i, :, j], own, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(terms.sum(axis=2), model._left_out().scores(blocks[0]), rtol=1e-9)


def test_left_out_terms_sum_to_the_scores_under_weights_too():
    weights = np.random.default_rng(0).choice([0.25, 0.5, 1.0, 3.0], len(X))
    model = bk.NaiveBayes(variance="class").fit(X, Y, sample_weight=weights)
    block = next(iter(model._encoder().blocks(open_source(X, Y, weights))))
    np.testing.assert_allclose(model._left_out().terms(block).sum(axis=2), model._left_out().scores(block), rtol=1e-9)


def test_the_exponents_minimize_the_penalized_conditional_loss():
    rng = np.random.default_rng(0)
    terms, labels, weights = rng.normal(size=(80, 3, 4)), rng.integers(0, 3, 80), rng.random(80)

    def loss(w):
        scores = terms @ w
        lse = np.logaddexp.reduce(scores, axis=1)
        return weights @ (lse - scores[np.arange(80), labels]) + ((w - 1) ** 2).sum()

    by_hand = minimize(loss, np.ones(4), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 9999})
    np.testing.assert_allclose(best_exponents(terms, labels, weights, 2.0), by_hand.x, atol=1e-5)


def test_an_absurd_cell_does_not_hold_up_the_others():
    rng = np.random.default_rng(0)
    terms, labels = rng.normal(size=(200, 2, 3)), rng.integers(0, 2, 200)
    terms[7, 0, 0] = -1e9
    w = best_exponents(terms, labels, np.ones(200), 1.0)
    scores = terms @ w
    shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    slope = np.einsum("nc,ncj->j", shares, terms) - terms[np.arange(200), labels].sum(axis=0) + w - 1
    curve = np.sqrt(np.einsum("nc,ncj->j", shares * (1 - shares), terms**2) + 1)
    assert (np.abs(slope) / curve < 1e-2).all()


def test_a_strong_prior_is_naive_bayes_itself():
    stiff = bk.DiscriminativeWeights(penalty=1e9).fit(X, Y)
    np.testing.assert_allclose(stiff.predict_proba(X), stiff.nb_.predict_proba(X), atol=1e-5)
    assert stiff.exponents_["species"] == pytest.approx(1, abs=1e-5)


def test_contributions_sum_to_the_log_odds():
    model = bk.DiscriminativeWeights().fit(X, Y)
    parts = model.contributions(X)
    np.testing.assert_allclose(parts.sum(axis=2), model.predict_joint_log_proba(X), rtol=1e-10, atol=1e-10)
    log_p = model.predict_log_proba(X)
    np.testing.assert_allclose(parts[:, 0].sum(axis=1) - parts[:, 1].sum(axis=1), log_p[:, 0] - log_p[:, 1], atol=1e-8)
    assert model.table()["column"] == list(model.exponents_)


def test_a_column_copied_nine_times_counts_once():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    seen = np.where(rng.random(2000) < 0.7, y, 1 - y) == 1
    model = bk.DiscriminativeWeights().fit(np.repeat(seen[:, None], 10, axis=1), y)
    once = bk.NaiveBayes().fit(seen[:, None], y)
    np.testing.assert_allclose(
        model.predict_proba(np.repeat(seen[:, None], 10, axis=1)), once.predict_proba(seen[:, None]), atol=0.02
    )


def test_rows_to_learn_the_exponents_from_can_be_limited():
    few, same = (bk.DiscriminativeWeights(max_rows=50, random_state=s).fit(X, Y).exponents_ for s in (3, 3))
    assert few == same
    assert few != bk.DiscriminativeWeights(max_rows=50, random_state=4).fit(X, Y).exponents_


@pytest.mark.parametrize("settings", [{"penalty": 0}, {"penalty": np.inf}, {"max_rows": 0}, {"nb": "nb"}])
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(bk.BayesError, match=next(iter(settings))):
        bk.DiscriminativeWeights(**settings).fit(X, Y)


DATA = Path(os.environ.get("BAYESKIT_DATA", "")) / "tabular"


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("BAYESKIT_DATA") or not DATA.exists(), reason="no BAYESKIT_DATA/tabular")
@pytest.mark.parametrize("name", ["australian", "vehicle", "vote", "crx"])
def test_held_out_log_loss_falls_by_a_third_at_least(name):
    kinds = json.loads((DATA / "schemas.json").read_text())[name]
    table = pd.read_csv(DATA / f"{name}.csv.gz", dtype=str, keep_default_na=False)
    frame = pd.DataFrame({c: table[c].where(~table[c].isin(["", "?"])) for c in kinds["categorical"]})
    frame = frame.assign(**{c: pd.to_numeric(table[c], errors="coerce") for c in kinds["numeric"]})
    y = table[table.columns[-1]].to_numpy()
    roles, losses = dict.fromkeys(kinds["categorical"], "categorical"), {}
    for learn, test in StratifiedKFold(5, shuffle=True, random_state=0).split(frame, y):
        naive = bk.NaiveBayes(numeric="gaussian", roles=roles)
        for model in (naive, bk.DiscriminativeWeights(clone(naive))):
            p = model.fit(frame.iloc[learn], y[learn]).predict_proba(frame.iloc[test])
            losses.setdefault(type(model).__name__, []).append(log_loss(y[test], p, labels=model.classes_))
    assert np.mean(losses["DiscriminativeWeights"]) < 0.67 * np.mean(losses["NaiveBayes"])


def test_soft_labels_are_refused():
    from bayeskit.data.source import Responsibilities

    soft = Responsibilities(("a", "b"), np.full((len(X), 2), 0.5))
    with pytest.raises(bk.BayesError, match="one label a row"):
        bk.DiscriminativeWeights().fit(X, soft)
