"""The ensemble at its level: counts move exactly while structure, cuts, m and exponents are held."""

import inspect
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.models.base import Classifier

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("laws")
SMALL = {"n_members": 2, "n_chains": 3, "n_trees": 4, "n_threads": 1}


@pytest.fixture(scope="module")
def law(ensemble_law):
    return ensemble_law


def copy_of(model):
    return pickle.loads(pickle.dumps(model))


def same(a, b, X, same_counts):
    same_counts(a.tally_, b.tally_)
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.structure_ == b.structure_
    np.testing.assert_allclose(a.predict_log_proba(X), b.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@lawful
@given(data=st.data())
def test_learning_more_rows_is_a_fit_on_all_with_the_structure_held(law, same_counts, data):
    a, b, c = law.rows(data, min_size=4), law.rows(data), law.rows(data)
    first = law.fit(a)
    whole = law.fit(a + b + c, structure=first.structure_)
    X = law.frame(a + b + c)
    same(law.learn(law.learn(copy_of(first), b), c), whole, X, same_counts)
    same(law.learn(law.learn(copy_of(first), c), b), whole, X, same_counts)


@lawful
@given(data=st.data())
def test_forgetting_undoes_learning(law, same_counts, data):
    kept, gone = law.rows(data, min_size=4), law.rows(data)
    model = law.fit(kept)
    X = law.frame(kept + gone)
    again = law.forget(law.learn(copy_of(model), gone), gone)
    same(again, model, X, same_counts)
    all_of_them = law.fit(kept + gone)
    without = law.forget(copy_of(all_of_them), gone)
    # Forgetting drops names that no row has any more from the structure; a given structure keeps them.
    same(without, law.fit(kept, structure=without.structure_), X, same_counts)
    refit = law.fit(kept, structure=all_of_them.structure_)
    np.testing.assert_allclose(without.predict_log_proba(X), refit.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@lawful
@given(data=st.data())
def test_forgetting_what_was_not_learned_is_refused_and_changes_nothing(law, data):
    rows, other = law.rows(data, min_size=4), law.rows(data, label="z")
    model = law.fit(rows)
    before, said = model.tally_.to_bytes(), model.predict_proba(law.frame(rows))
    with pytest.raises(bk.BayesError, match="z"):
        law.forget(model, other)
    assert model.tally_.to_bytes() == before
    assert np.array_equal(model.predict_proba(law.frame(rows)), said)


def test_rows_whose_every_cell_was_learned_but_which_were_not_are_refused():
    X = {"a": ["x", "x", "y", "y"] * 3, "b": ["u", "u", "v", "v"] * 3}
    model = bk.BayesClassifier(**SMALL).fit(X, ["no", "yes"] * 6)
    said = model.predict_proba(X)
    with pytest.raises(bk.BayesError, match="row 0 of those to forget was not learned"):
        model.forget({"a": ["x"], "b": ["v"]}, ["no"])
    assert np.array_equal(model.predict_proba(X), said)
    assert model.tally_.n_rows == 12


@lawful
@given(data=st.data())
def test_a_class_that_is_forgotten_whole_is_gone(law, data):
    kept, gone = law.rows(data, label="a"), law.rows(data, label="z")
    model = law.fit(kept + gone)
    assert model.classes_.tolist() == ["a", "z"]
    assert law.forget(model, gone).classes_.tolist() == ["a"]


@lawful
@given(data=st.data())
def test_merging_equals_a_fit_on_all_rows_and_leaves_both_sides_as_they_were(law, same_counts, data):
    rows, others = law.rows(data, min_size=4), law.rows(data)
    a = law.fit(rows)
    turned = law.fit(others, columns=list(reversed(law.columns)), structure=a.structure_)
    before = a.tally_.to_bytes(), turned.tally_.to_bytes()
    whole, X = law.fit(rows + others, structure=a.structure_), law.frame(rows + others)
    same(a.merge(turned), whole, X, same_counts)
    same(turned + a, whole, X, same_counts)
    assert (a.tally_.to_bytes(), turned.tally_.to_bytes()) == before


def test_models_of_different_structures_do_not_merge():
    X, y = {"a": ["x", "y"] * 10, "b": np.arange(20.0)}, ["no", "yes"] * 10
    a, b = (bk.BayesClassifier(**SMALL, random_state=seed).fit(X, y) for seed in (0, 1))
    with pytest.raises(bk.BayesError, match=r"structure=first\.structure_"):
        a.merge(b)
    with pytest.raises(bk.BayesError, match="not with a NaiveBayes"):
        a.merge(bk.NaiveBayes().fit(X, y))
    with pytest.raises(bk.BayesError, match="structure"):
        bk.BayesClassifier(structure=a.structure_).fit({"a": ["x", "y"]}, ["no", "yes"])


def test_scores_and_structure_stay_those_of_the_fit_while_rows_come_and_go_as_the_methods_say():
    X, y = {"a": ["x", "y"] * 10, "b": np.arange(20.0)}, ["no", "yes"] * 10
    model, more = bk.BayesClassifier(**SMALL).fit(X, y), ({"a": ["x"], "b": [3.5]}, ["yes"])
    fitted = model.structure_, str(model.left_out_), str(model.importance_)
    second = bk.BayesClassifier(**SMALL, structure=model.structure_, schema=model.schema_).fit(X, y)
    for changed in (model.partial_fit(*more), model.forget(*more), model.merge(second)):
        assert (changed.structure_, str(changed.left_out_), str(changed.importance_)) == fitted
    for method in ("partial_fit", "forget", "merge"):
        general, special = (inspect.getdoc(getattr(kind, method)) for kind in (Classifier, bk.BayesClassifier))
        assert special.startswith(general)
        assert "structure" in special.removeprefix(general)
        assert "``left_out_`` and ``importance_``" in " ".join(special.split())


@lawful
@given(data=st.data())
def test_a_row_of_weight_zero_adds_no_value_and_no_class(law, same_counts, data):
    rows = law.rows(data, min_size=3)
    nothing = {"sky": "hail", "flag": True, "size": 777.0, "year": 1999, "label": "z", "weight": 0.0}
    y, kept = [row["label"] for row in rows], [row["weight"] for row in rows]
    with_it = law.model().fit(law.frame([*rows, nothing]), [*y, "z"], sample_weight=[*kept, 0.0])
    same(with_it, law.model().fit(law.frame(rows), y, sample_weight=kept), law.frame(rows), same_counts)
    ones = law.model().fit(law.frame(rows), y, sample_weight=np.ones(len(rows)))
    same(ones, law.model().fit(law.frame(rows), y), law.frame(rows), same_counts)


@lawful
@given(data=st.data())
def test_neither_blocks_nor_company_nor_order_of_columns_change_what_is_said(law, same_counts, data):
    rows = law.rows(data, min_size=4, max_size=16)
    whole, X = law.fit(rows), law.frame(rows)
    said = whole.predict_log_proba(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", data.draw(st.integers(1, 5)))
        same(law.fit(rows), whole, X, same_counts)
    order = data.draw(st.permutations(range(len(rows))))
    turned = law.frame([rows[i] for i in order], list(reversed(law.columns)))
    np.testing.assert_allclose(whole.predict_log_proba(turned), said[list(order)], rtol=1e-12)
    proba = whole.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(said), proba, rtol=1e-9)


@lawful
@given(data=st.data())
def test_explanations_sum_to_the_log_odds(law, data):
    model = law.fit(law.rows(data, min_size=4))
    assume(len(model.classes_) > 1)
    rows = law.rows(data)
    proba = model.predict_log_proba(law.frame(rows))
    for i, record in enumerate(model.explain(law.frame(rows))):
        parts = record.prior_log_odds + sum(c.log_odds for c in record.contributions)
        a, b = (model.classes_.tolist().index(c) for c in (record.predicted, record.against))
        assert parts == pytest.approx(record.log_odds, abs=1e-9)
        assert record.log_odds == pytest.approx(proba[i, a] - proba[i, b], abs=1e-9)
        assert [c.column for c in record.contributions] == list(law.columns)


@lawful
@given(data=st.data())
def test_a_file_gives_the_same_model_which_goes_on_learning(law, same_counts, tmp_path_factory, data):
    rows, more = law.rows(data, min_size=4), law.rows(data)
    model, path = law.fit(rows), tmp_path_factory.mktemp("saved") / "model.bayes"
    model.save(path)
    again = bk.load(path)
    X = law.frame(rows + more)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.left_out_) == str(model.left_out_)
    assert str(again.importance_) == str(model.importance_)
    same(law.learn(again, more), law.learn(model, more), X, same_counts)


@lawful
@given(data=st.data())
def test_scores_of_rows_left_out_are_those_of_refits_with_the_structure_held(law, data):
    """Up to the cap, which knows n rows instead of n − 1; with declared values, which no lonely row takes along."""
    skies = ["sun", "rain", "hail", "", "été"]
    law = replace(law, missing=False, weighted=False, settings=SMALL | {"fast": law.settings.get("fast", False)})
    rows = law.rows(data, min_size=12, max_size=20)
    y = [row["label"] for row in rows]
    assume(min(y.count(c) for c in "abc") > 1)
    held = {"domains": {"sky": skies, "class": ["a", "b", "c"]}}
    held["structure"] = law.model(**held).fit(law.frame(rows), y).structure_
    found = law.model(**held).fit(law.frame(rows), y).left_out_["log loss"][0]
    lost = []
    for i, row in enumerate(rows):
        others = rows[:i] + rows[i + 1 :]
        model = law.model(**held).fit(law.frame(others), y[:i] + y[i + 1 :])
        lost.append(-model.predict_log_proba(law.frame([row]))[0, "abc".index(row["label"])])
    assert found == pytest.approx(np.mean(lost), abs=0.05)


def test_the_number_of_threads_changes_no_bit():
    rng = np.random.default_rng(0)
    n = 3000
    X = {"a": rng.choice(list("uvw"), n), "b": rng.normal(size=n), "c": rng.integers(0, 9, n)}
    y = np.where((X["a"] == "u") ^ (X["b"] > 0), "yes", "no")
    models = [bk.BayesClassifier(n_members=3, n_chains=9, n_threads=t).fit(X, y) for t in (1, 2, 3)]
    for model in models[1:]:
        assert model.structure_ == models[0].structure_
        assert np.array_equal(model.predict_proba(X), models[0].predict_proba(X))
        assert (
            model.partial_fit(X, y).predict_proba(X).tolist()
            == copy_of(models[0]).partial_fit(X, y).predict_proba(X).tolist()
        )
