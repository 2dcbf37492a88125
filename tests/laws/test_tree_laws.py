"""Learning, forgetting and merging with a tree held: an NBTree is the tally of its leaves, however the rows came."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data import frames

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("few")


def fit(law, rows, **changes):
    args, weight = law.told(rows)
    settings = {**law.settings, **changes}  # the tree is one setting, not one for each column
    return bk.NBTree(**settings).fit(*args, **weight)


def same(a, b, X):
    assert a.leaf_tally_.classes == b.leaf_tally_.classes
    assert np.array_equal(a.leaf_tally_.class_counts, b.leaf_tally_.class_counts)
    for name, family in a.leaf_tally_.families.items():
        assert family == b.leaf_tally_.families[name] or a.tally_.weighted != b.tally_.weighted
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(X), rtol=1e-9, atol=1e-9)


@lawful
@given(data=st.data())
def test_batches_in_any_order_give_the_same_model(tree_law, data):
    batches = [tree_law.rows(data, max_size=5) for _ in range(3)]
    rows = [row for batch in batches for row in batch]
    first, *others = data.draw(st.permutations(batches))
    model = fit(tree_law, first)
    for batch in others:
        tree_law.learn(model, batch)
    same(model, fit(tree_law, rows), tree_law.frame(rows))


@lawful
@given(data=st.data())
def test_forgetting_undoes_learning(tree_law, data):
    kept, gone = tree_law.rows(data), tree_law.rows(data)
    model = tree_law.forget(fit(tree_law, kept + gone), gone)
    same(model, fit(tree_law, kept), tree_law.frame(kept + gone))


@lawful
@given(data=st.data())
def test_forgetting_what_was_not_learned_is_refused_and_changes_nothing(tree_law, data):
    rows, other = tree_law.rows(data), tree_law.rows(data, label="z")
    model = fit(tree_law, rows)
    before = model.leaf_tally_.to_bytes()
    with pytest.raises(bk.BayesError, match="z"):
        tree_law.forget(model, other)
    assert model.leaf_tally_.to_bytes() == before


@lawful
@given(data=st.data())
def test_merging_equals_a_fit_on_all_rows(tree_law, data):
    rows, others = tree_law.rows(data), tree_law.rows(data)
    a, b = fit(tree_law, rows), fit(tree_law, others)
    before = a.leaf_tally_.to_bytes(), b.leaf_tally_.to_bytes()
    same(a + b, fit(tree_law, rows + others), tree_law.frame(rows + others))
    same(b + a, a + b, tree_law.frame(rows))
    assert (a.leaf_tally_.to_bytes(), b.leaf_tally_.to_bytes()) == before


@lawful
@given(data=st.data())
def test_a_weight_of_two_is_the_row_twice(tree_law, data):
    rows = tree_law.rows(data)
    X, y = tree_law.frame(rows), [row["label"] for row in rows]
    once = bk.NBTree(**tree_law.settings).fit(X, y, sample_weight=[2] * len(rows))
    twice = bk.NBTree(**tree_law.settings).fit(tree_law.frame(rows + rows), y + y)
    same(once, twice, X)


@lawful
@given(data=st.data())
def test_neither_blocks_nor_bytes_change_the_model(tree_law, data):
    rows = tree_law.rows(data, min_size=4)
    whole = fit(tree_law, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", data.draw(st.integers(1, 5)))
        same(fit(tree_law, rows), whole, tree_law.frame(rows))
    again = bk.NBTree(**tree_law.settings).fit_tally(bk.Tally.from_bytes(whole.leaf_tally_.to_bytes()))
    same(again, whole, tree_law.frame(rows))


@lawful
@given(data=st.data())
def test_probabilities_sum_to_one_and_another_prior_equals_a_fit_with_it(tree_law, data):
    rows = tree_law.rows(data)
    model = fit(tree_law, rows)
    np.testing.assert_allclose(model.predict_proba(tree_law.frame(rows)).sum(axis=1), 1, rtol=1e-12)
    same(model.with_prior("uniform"), fit(tree_law, rows, prior="uniform"), tree_law.frame(rows))


@lawful
@given(data=st.data())
def test_leave_one_out_equals_refitting(tree_law, data):
    rows = tree_law.rows(data, min_size=3)
    smoothing = tree_law.settings.get("smoothing") or bk.BackOff(4.0)
    args, weight = tree_law.told(rows)
    found = fit(tree_law, rows, smoothing=smoothing).leave_one_out(*args, **weight).probabilities
    for i, row in enumerate(rows):
        unit = min(row["weight"], 1.0) if tree_law.weighted else row["weight"]
        left = [*rows[:i], {**row, "weight": row["weight"] - unit}, *rows[i + 1 :]]
        left = [r for r in left if r["weight"] > 0]
        model = fit(tree_law, left, smoothing=smoothing)
        at = [model.classes_.tolist().index(c) if c in model.classes_ else -1 for c in fit(tree_law, rows).classes_]
        said = np.append(model.predict_proba(tree_law.frame([row]))[0], 0.0)[at]
        np.testing.assert_allclose(found[i], said, rtol=1e-9, atol=1e-12)
