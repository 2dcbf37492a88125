"""Learning, forgetting and merging: a model is its tally, however the rows came."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.evaluate.cross_validation import SAME, SAME_COUNTS, _compare_with_learned

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("laws")


@lawful
@given(data=st.data())
def test_counting_two_halves_is_counting_the_whole(law, same_model, data):
    a, b = law.rows(data), law.rows(data)
    whole = law.fit(a + b)
    halves = law.model().fit_tally(law.fit(a).tally_ + law.fit(b).tally_)
    same_model(halves, whole, law.frame(a + b))


@lawful
@given(data=st.data())
def test_batches_in_any_order_give_the_same_model(law, same_model, data):
    batches = [law.rows(data, max_size=5) for _ in range(3)]
    model = law.model()
    for batch in data.draw(st.permutations(batches)):
        law.learn(model, batch)
    rows = [row for batch in batches for row in batch]
    same_model(model, law.fit(rows), law.frame(rows))
    same_model(model, law.fit(data.draw(st.permutations(rows))), law.frame(rows))


@lawful
@given(data=st.data())
def test_one_row_at_a_time_gives_the_same_model(law, same_model, data):
    rows = law.rows(data, max_size=6)
    model = law.model()
    for row in rows:
        law.learn(model, [row])
    same_model(model, law.fit(rows), law.frame(rows))


@lawful
@given(data=st.data())
def test_forgetting_undoes_learning(law, same_model, data):
    kept, gone = law.rows(data), law.rows(data)
    model = law.forget(law.fit(kept + gone), gone)
    same_model(model, law.fit(kept), law.frame(kept + gone))
    same_model(law.learn(model, gone), law.fit(kept + gone), law.frame(kept))


@lawful
@given(data=st.data())
def test_forgetting_an_outlier_leaves_no_trace_of_it(law, same_model, data):
    """An outlier of 1e12 among values that lie a thousand apart: within the 1e9 standard deviations promised."""
    kept = [{**row, "size": row["size"] and row["size"] * 1e6 / 3} for row in law.rows(data)]
    assume(len({row["size"] for row in kept} - {None}) != 1)
    outlier = {**law.rows(data, 1, 1)[0], "size": 1e12}
    model = law.forget(law.fit([*kept, outlier]), [outlier])
    same_model(model, law.fit(kept), law.frame(kept))


@lawful
@given(data=st.data())
def test_a_class_that_is_forgotten_whole_is_gone(law, data):
    kept, gone = law.rows(data, label="a"), law.rows(data, label="z")
    model = law.fit(kept + gone)
    assert model.classes_.tolist() == ["a", "z"]
    assert law.forget(model, gone).classes_.tolist() == ["a"]


@lawful
@given(data=st.data())
def test_forgetting_what_was_not_learned_is_refused_and_changes_nothing(law, data):
    rows, other = law.rows(data), law.rows(data, label="z")
    model = law.fit(rows)
    before, said = model.tally_.to_bytes(), model.predict_joint_log_proba(law.frame(rows))
    with pytest.raises(bk.BayesError, match="z"):
        law.forget(model, other)
    assert model.tally_.to_bytes() == before
    assert np.array_equal(model.predict_joint_log_proba(law.frame(rows)), said)


@lawful
@given(data=st.data())
def test_a_weight_of_two_is_the_row_twice(law, same_model, data):
    rows = law.rows(data)
    once = law.model().fit(law.frame(rows), [r["label"] for r in rows], sample_weight=[2] * len(rows))
    twice = law.model().fit(law.frame(rows + rows), [r["label"] for r in rows + rows])
    same_model(once, twice, law.frame(rows))


@lawful
@given(data=st.data())
def test_weights_of_one_are_no_weights(law, same_model, data):
    rows = law.rows(data)
    y = [row["label"] for row in rows]
    same_model(
        law.model().fit(law.frame(rows), y, sample_weight=np.ones(len(rows))),
        law.model().fit(law.frame(rows), y),
        law.frame(rows),
    )


@lawful
@given(data=st.data())
def test_a_row_of_weight_zero_adds_no_value_and_no_class(law, same_model, data):
    rows = law.rows(data)
    nothing = {"sky": "never seen", "flag": True, "size": 777.0, "year": 1999, "label": "z", "weight": 0.0}
    if "domains" in law.settings:
        nothing |= {"sky": "fog", "year": 2009}
    where = data.draw(st.integers(0, len(rows)))
    with_it = [*rows[:where], nothing, *rows[where:]]
    weights = [row["weight"] for row in with_it]
    model = law.model().fit(law.frame(with_it), [r["label"] for r in with_it], sample_weight=weights)
    y, kept = [row["label"] for row in rows], [row["weight"] for row in rows]
    same_model(model, law.model().fit(law.frame(rows), y, sample_weight=kept), law.frame(rows))
    assert "z" not in model.classes_


@lawful
@given(data=st.data())
def test_merging_equals_a_fit_on_all_rows_and_leaves_both_sides_as_they_were(law, same_model, data):
    rows, others = law.rows(data), law.rows(data)
    a, b = law.fit(rows), law.fit(others)
    before = a.tally_.to_bytes(), b.tally_.to_bytes()
    merged = a.merge(b)
    same_model(merged, law.fit(rows + others), law.frame(rows + others))
    same_model(a + b, b + a, law.frame(rows + others))
    assert (a.tally_.to_bytes(), b.tally_.to_bytes()) == before
    assert merged is not a
    assert merged.get_params().keys() == a.get_params().keys()


@lawful
@given(data=st.data())
def test_models_learned_from_columns_in_another_order_merge_by_name(law, same_model, data):
    rows, others = law.rows(data), law.rows(data)
    turned = law.fit(others, columns=list(reversed(law.columns)))
    same_model(law.fit(rows).merge(turned), law.fit(rows + others), law.frame(rows))
    same_model(turned.merge(law.fit(rows)), law.fit(rows + others), law.frame(rows))


@lawful
@given(data=st.data())
def test_the_size_of_the_blocks_does_not_matter(law, same_model, data):
    rows = law.rows(data, min_size=4, max_size=16)
    whole = law.fit(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", data.draw(st.integers(1, 5)))
        blocks = law.fit(rows)
        np.testing.assert_allclose(
            whole.predict_joint_log_proba(law.frame(rows)), blocks.predict_joint_log_proba(law.frame(rows)), rtol=1e-9
        )
    same_model(blocks, whole, law.frame(rows))


@lawful
@given(data=st.data())
def test_columns_are_matched_by_name(law, same_model, data):
    rows = law.rows(data)
    columns = data.draw(st.permutations(law.columns))
    model = law.fit(rows)
    same_model(model, law.fit(rows, columns=columns), law.frame(rows))
    turned = law.frame(rows, columns).append_column("extra", [["ignored"] * len(rows)])
    assert np.array_equal(model.predict_proba(turned), model.predict_proba(law.frame(rows)))


@lawful
@given(data=st.data())
def test_restricting_equals_a_fit_on_these_columns(law, same_model, data):
    if law.held:
        pytest.skip("its structure names all columns")
    rows = law.rows(data)
    model = law.fit(rows)
    columns = data.draw(st.sets(st.sampled_from(model.schema_.used), min_size=1))
    columns = [name for name in law.columns if name in columns]
    before = model.tally_.to_bytes()
    same_model(model.restrict(columns), law.fit(rows, columns=columns), law.frame(rows))
    assert model.tally_.to_bytes() == before


@lawful
@given(data=st.data())
def test_another_prior_equals_a_fit_with_it(law, same_model, data):
    if any(child == "class" for _, child in law.settings.get("edges", ())):
        pytest.skip("its class has parents, and a table instead of a prior")
    rows = law.rows(data)
    model = law.fit(rows)
    shares = data.draw(st.lists(st.integers(1, 9), min_size=3, max_size=3))[: len(model.classes_)]
    given_ = {label: n / sum(shares) for label, n in zip(model.classes_.tolist(), shares, strict=True)}
    priors = [given_, "uniform", "empirical", bk.Laplace(), bk.MEstimate(3), bk.Dirichlet(1.5)]
    prior = data.draw(st.sampled_from(priors))
    same_model(model.with_prior(prior), law.fit(rows, prior=prior), law.frame(rows))
    same_model(model, law.fit(rows), law.frame(rows))


@lawful
@given(data=st.data())
def test_a_tally_round_trips_through_bytes(law, data):
    rows = law.rows(data)
    tally = law.fit(rows).tally_
    packed = tally.to_bytes()
    back = bk.Tally.from_bytes(packed)
    assert back == tally
    assert back.to_bytes() == packed
    assert back.schema == tally.schema
    again = law.model().fit_tally(back)
    assert np.array_equal(
        again.predict_joint_log_proba(law.frame(rows)), law.fit(rows).predict_joint_log_proba(law.frame(rows))
    )


@lawful
@given(data=st.data())
def test_the_estimate_is_a_function_of_the_tally_alone(law, data):
    rows = law.rows(data)
    model = law.fit(rows)
    params, again = model._estimate(model.tally_), model._estimate(bk.Tally.from_bytes(model.tally_.to_bytes()))
    assert np.array_equal(params.log_prior, again.log_prior)


@lawful
@given(data=st.data())
def test_declaring_the_classes_ahead_adds_those_that_no_row_shows(law, same_model, data):
    rows = law.rows(data)
    assume({row["label"] for row in rows} >= {"a", "b"})
    args, weight = law.told(rows)
    model = law.model().partial_fit(*args, classes=["a", "b", "c", "d"], **weight)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert np.isfinite(model.predict_proba(law.frame(rows))).all()


def test_the_number_of_threads_changes_no_bit(law):
    rng = np.random.default_rng(7)
    n = 70_000
    rows = pa.table(
        {
            "sky": rng.choice(["sun", "rain", "hail"], n),
            "flag": rng.random(n) < 0.5,
            "size": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.1),
            "year": rng.integers(2000, 2005, n),
        }
    )
    y = rng.choice(["a", "b", "c"], n)
    weight = {"sample_weight": rng.random(n)} if law.weighted else {}
    one = law.model(n_threads=1).fit(rows, y, **weight)
    said = one.predict_joint_log_proba(rows), one.predict_proba(rows)
    for n_threads in (2, 3):
        several = law.model(n_threads=n_threads).fit(rows, y, **weight)
        assert several.tally_.to_bytes() == one.tally_.to_bytes()
        assert np.array_equal(several.predict_joint_log_proba(rows), said[0])
        assert np.array_equal(several.predict_proba(rows), said[1])


@pytest.mark.parametrize("model", [bk.NaiveBayes(), bk.GaussianBayes()], ids=lambda m: type(m).__name__)
def test_after_two_cycles_counts_are_the_same_bits_and_sums_the_same_numbers(model):
    """Low parts of Σx² may end in other bits, 106 bits down: what is made of them stays within 1e-12."""
    rng = np.random.default_rng(3)
    tables = [rng.normal(size=(n, 2)) * 1000 + 5 for n in (9, 5, 4)]
    labels = [rng.choice(list("ab"), len(X)) for X in tables]
    cycled, fresh = (clone(model).fit(tables[0], labels[0]) for _ in range(2))
    for _ in range(2):
        for i in (1, 2):
            cycled.partial_fit(tables[i], labels[i])
        for i in (1, 2):
            cycled.forget(tables[i], labels[i])
    a, b = cycled.tally_, fresh.tally_
    assert np.array_equal(a.class_counts, b.class_counts)
    assert np.array_equal(a.moments.n, b.moments.n)
    np.testing.assert_allclose(a.moments.mean(), b.moments.mean(), rtol=1e-15)
    np.testing.assert_allclose(a.moments.squared_deviations(), b.moments.squared_deviations(), rtol=1e-12)
    np.testing.assert_allclose(cycled.predict_proba(tables[0]), fresh.predict_proba(tables[0]), rtol=1e-9)


@lawful
@given(data=st.data())
def test_training_rows_are_recognized_in_any_order_and_changed_rows_are_not(law, data):
    rows = law.rows(data, min_size=3)
    model = law.fit(rows)
    same = SAME if model._model_tally().row_hash is not None else SAME_COUNTS
    args, weight = law.told(data.draw(st.permutations(rows)))
    assert _compare_with_learned(model, frames.open_source(*args, weight.get("sample_weight"))) == (same, False)
    args, weight = law.told([*rows[:-1], {**rows[-1], "label": "new"}])
    assert _compare_with_learned(model, frames.open_source(*args, weight.get("sample_weight")))[0] != same
