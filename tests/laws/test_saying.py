"""What a model says of rows: probabilities, evidence, ties, samples."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import bayeskit as bk
from bayeskit.data import frames

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
lawful = settings.get_profile("laws")


@lawful
@given(data=st.data())
def test_probabilities_sum_to_one_and_agree_with_their_logarithms(law, data):
    model, X = law.fit(law.rows(data)), law.frame(law.rows(data))
    proba = model.predict_proba(X)
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    log_proba = model.predict_log_proba(X)
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_proba), proba, rtol=1e-11, atol=1e-300)


@lawful
@given(data=st.data())
def test_the_evidence_is_the_sum_of_the_joint_over_the_classes(law, data):
    model, X = law.fit(law.rows(data)), law.frame(law.rows(data))
    joint = model.predict_joint_log_proba(X)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(model.score_samples(X), special.logsumexp(joint, axis=1), rtol=1e-12, atol=1e-12)
    possible = np.isfinite(joint).any(axis=1)
    np.testing.assert_allclose(
        model.predict_proba(X)[possible], special.softmax(joint[possible], axis=1), rtol=1e-10, atol=1e-300
    )


@lawful
@given(data=st.data())
def test_the_log_likelihood_sums_the_joint_and_the_posterior_of_the_true_class(law, data):
    rows = law.rows(data)
    model, X, y = law.fit(rows), law.frame(rows), [row["label"] for row in rows]
    index = [model.classes_.tolist().index(label) for label in y]
    joint, posterior = model.predict_joint_log_proba(X), model.predict_log_proba(X)
    weights = np.arange(len(rows)) % 3
    found = model.log_likelihood(X, y, sample_weight=weights)
    picked = np.arange(len(rows)), index
    kept = weights > 0
    assert found.joint == pytest.approx(joint[picked][kept] @ weights[kept], rel=1e-9)
    assert found.conditional == pytest.approx(posterior[picked][kept] @ weights[kept], rel=1e-9, abs=1e-12)


@lawful
@given(data=st.data())
def test_neither_order_nor_batch_changes_what_is_said_of_a_row(law, data):
    model, rows = law.fit(law.rows(data)), law.rows(data, min_size=2)
    whole = model.predict_joint_log_proba(law.frame(rows))
    order = data.draw(st.permutations(range(len(rows))))
    turned = model.predict_joint_log_proba(law.frame([rows[i] for i in order]))
    np.testing.assert_allclose(turned, whole[list(order)], rtol=1e-12)
    alone = np.vstack([model.predict_joint_log_proba(law.frame([row])) for row in rows])
    np.testing.assert_allclose(alone, whole, rtol=1e-12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", 2)
        assert model.predict(law.frame(rows)).tolist() == model.predict(law.frame(rows)).tolist()


@lawful
@given(data=st.data())
def test_asking_changes_nothing(law, data):
    model, rows = law.fit(law.rows(data)), law.rows(data)
    before = model.tally_.to_bytes()
    first = model.predict_joint_log_proba(law.frame(rows))
    model.table(), model.n_parameters_, model.predict(law.frame(rows)), model._repr_html_()
    for name in model.schema_.used:
        str(model.table(name)), model.table(name).to_pandas()
    model.sample(3, random_state=0)
    assert np.array_equal(model.predict_joint_log_proba(law.frame(rows)), first)
    assert model.tally_.to_bytes() == before


@lawful
@given(data=st.data())
def test_equal_classes_tie_whatever_the_floats_say(law, data):
    rows = law.rows(data, label="b")
    twin = [{**row, "label": "a"} for row in rows]
    model = law.fit(rows + twin[::-1])
    assert set(model.predict(law.frame(rows))) == {"a"}
    drawn = law.fit(rows + twin[::-1], ties="random", random_state=3)
    first = drawn.predict(law.frame(rows))
    assert first.tolist() == drawn.predict(law.frame(rows)).tolist()
    assert first.tolist() == drawn.predict(law.frame(rows[::-1])).tolist()[::-1]
    assert first.tolist() == [drawn.predict(law.frame([row]))[0] for row in rows]


def a_hundred_rows(law):
    rng = np.random.default_rng(11)
    return [
        {
            "sky": str(rng.choice(["sun", "rain", "hail"])),
            "flag": bool(rng.random() < 0.3),
            "size": None if law.missing and rng.random() < 0.1 else float(rng.normal(3, 2)),
            "year": int(rng.integers(2000, 2005)),
            "label": str(rng.choice(["a", "b"], p=[0.3, 0.7])),
            "weight": float(rng.integers(1, 4)),
        }
        for _ in range(100)
    ]


def test_samples_approach_the_model(law):
    n = 40_000
    model = law.fit(a_hundred_rows(law))
    drawn, labels = model.sample(n, random_state=5)
    prior = dict(zip(model.classes_.tolist(), model.table()[model.table().column_names[-1]], strict=True))
    for label, p in prior.items():
        inside = labels == label
        assert inside.mean() == pytest.approx(p, abs=5 * np.sqrt(p * (1 - p) / n))
        for name in model.tally_.families:
            table = model.table(name)
            if model.tally_.pairs.columns or model.tally_.joints:
                continue  # columns that depend on each other are drawn so; their own tests look at whole rows
            if model.schema_.columns[name].name == "numeric":
                cells = np.digitize(
                    np.array(drawn[name], dtype=float)[inside], model.schema_.columns[name].cuts, right=True
                )
                shares = np.bincount(cells, minlength=len(table)) / inside.sum()
                np.testing.assert_allclose(shares, table[f"P({name} | {label})"], atol=5 / np.sqrt(inside.sum()))
                continue
            cells = np.array(drawn[name], dtype=object)[inside]
            probabilities = table[f"P({name} | {label})"]
            for value, q in zip(table[name], np.array(probabilities) / sum(probabilities), strict=True):
                share = sum(cell == value for cell in cells) / inside.sum()
                assert share == pytest.approx(q, abs=5 * np.sqrt(max(q * (1 - q), 1e-4) / inside.sum())), value
        for name in model.tally_.summed:
            table = model.table(name)
            row = table[table.column_names[0]].index(label)
            cells = np.array(drawn[name], dtype=float)[inside]
            if "variance" not in table.column_names:
                _follow(cells, model, name, row)
                continue
            spread = np.sqrt(table["variance"][row])
            assert cells.mean() == pytest.approx(table["mean"][row], abs=5 * spread / np.sqrt(inside.sum()))
            assert cells.var() == pytest.approx(table["variance"][row], rel=10 / np.sqrt(inside.sum()))


def _follow(cells, model, name, row):
    """Draws lie below the points of equal probability as often as they should; whole numbers each occur so often."""
    within = 5 * 0.5 / np.sqrt(len(cells))
    if model.params_.by_column[name].whole:
        some = np.arange(int(cells.max()) + 1.0)
        shares = np.exp(model._column_scores(model.params_, name, some)[:, row])
        assert np.abs(np.bincount(cells.astype(int)) / len(cells) - shares).max() < within
    else:
        points = model._column_points(model.params_, name, 9)[row]
        below = (cells[:, None] <= points).mean(axis=0)
        assert np.abs(below - (np.arange(9) + 0.5) / 9).max() < within


def test_a_model_takes_its_own_samples(law):
    model = law.fit(a_hundred_rows(law))
    drawn, labels = model.sample(200, random_state=1)
    assert np.isfinite(model.predict_proba(drawn)).all()
    strict = {"unseen": "error"} if "unseen" in model.get_params() else {}
    assert law.model(**strict).fit_tally(model.tally_).predict(drawn).shape == (200,)
    again, same_labels = model.sample(200, random_state=1)
    assert again.arrow.equals(drawn.arrow)
    assert labels.tolist() == same_labels.tolist()


@pytest.mark.parametrize("seed", range(3))
def test_random_ties_are_fair(seed):
    model = bk.NaiveBayes(ties="random", random_state=seed, roles="categorical")
    n = 3000
    model.fit({"x": [*range(n)] * 3}, ["a"] * n + ["b"] * n + ["c"] * n)
    shares = np.unique(model.predict({"x": range(n)}), return_counts=True)[1] / n
    np.testing.assert_allclose(shares, 1 / 3, atol=5 * np.sqrt(2 / 9 / n))


def test_a_gap_is_a_gap_whatever_its_bits_when_a_tie_is_drawn():
    X = np.column_stack([np.full(64, np.nan), np.arange(64.0)])
    model = bk.NaiveBayes(ties="random", random_state=1, prior="uniform").fit(
        np.vstack([X, X]), ["a"] * 64 + ["b"] * 64
    )
    other = X.copy()
    other[:, 0] = np.copysign(np.nan, -1)
    assert model.predict(X).tolist() == model.predict(other).tolist()


def test_without_a_seed_one_model_is_consistent_and_two_fits_draw_anew():
    n = 200
    X, y = {"x": [*range(n)] * 2}, ["a"] * n + ["b"] * n
    asked = {"x": range(n)}
    answers = set()
    for state in (None, None, np.random.default_rng(5), np.random.RandomState(5)):
        model = bk.NaiveBayes(ties="random", roles="categorical", random_state=state).fit(X, y)
        first = model.predict(asked).tolist()
        assert first == model.predict(asked).tolist()
        assert first == [record.predicted for record in model.explain(asked)]
        assert set(first) == {"a", "b"}
        answers.add("".join(first))
        answers.add("".join(model.fit(X, y).predict(asked)))
    assert len(answers) == 8
    seeded = [bk.NaiveBayes(ties="random", roles="categorical", random_state=0).fit(X, y).predict(asked) for _ in "ab"]
    assert seeded[0].tolist() == seeded[1].tolist()


@settings(settings.get_profile("few"), max_examples=2)
@given(data=st.data())
def test_a_model_that_has_spoken_is_copied_and_pickled_as_it_is(any_law, data):
    model, X = any_law.fit(any_law.rows(data)), any_law.frame(any_law.rows(data))
    proba = model.predict_proba(X)
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict_proba(X), proba)
        assert again.tally_ == model.tally_


def test_a_model_that_has_spoken_of_documents_is_copied_and_pickled_as_it_is(recipe):
    texts, labels = ["sun sea sun", "sea", "rain ice", "ice fog rain"], ["a", "a", "b", "b"]
    model = bk.TextClassifier(recipe).fit(texts, labels)
    scores, record = model.predict_joint_log_proba(texts), str(model.explain(texts)[0])
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict_joint_log_proba(texts), scores)
        assert str(again.explain(texts)[0]) == record
        assert again.recipe_.name == model.recipe_.name
