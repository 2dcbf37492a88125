"""NBTree: naive Bayes in the leaves of a rough tree, against brute force and refitting."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.estimate.smoothing import BackOff
from bayeskit.models import from_bytes, to_bytes

XOR = pd.DataFrame({"a": list("0011") * 20, "b": list("0101") * 20})
XOR_Y = np.array(["same", "other", "other", "same"] * 20)


def switched(n=400, seed=0, gaps=0.05):
    """Which way b, c and x speak depends on a."""
    rng = np.random.default_rng(seed)
    y, a = rng.integers(0, 3, n), rng.choice(list("uvw"), n)
    turn = np.array(["u", "v", "w"])[(y + (a == "u")) % 3]
    frame = pd.DataFrame(
        {
            "a": a,
            "b": np.where(rng.random(n) < 0.8, turn, rng.choice(list("uvw"), n)),
            "c": rng.choice(list("pq"), n),
            "x": np.where(a == "w", y, -y) * 2.0 + rng.normal(size=n),
        }
    ).astype({"a": object, "b": object, "c": object})
    frame = frame.mask(rng.random(frame.shape) < gaps)
    return frame, np.array(["k", "l", "m"])[y]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([bk.NBTree()])
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


def test_it_solves_xor_where_naive_bayes_cannot():
    assert bk.NaiveBayes().fit(XOR, XOR_Y).score(XOR, XOR_Y) == 0.5
    model = bk.NBTree().fit(XOR, XOR_Y)
    assert model.score(XOR, XOR_Y) == 1
    assert model.n_leaves_ == 2


def test_one_leaf_is_naive_bayes():
    frame, y = switched()
    one = bk.NBTree(min_rows=1e9, smoothing=1.0).fit(frame, y)
    assert one.n_leaves_ == 1
    naive = bk.NaiveBayes(numeric="histogram", cuts="mdl").fit(frame, y)
    np.testing.assert_allclose(one.predict_joint_log_proba(frame), naive.predict_joint_log_proba(frame), rtol=1e-10)


@pytest.mark.parametrize("smoothing", ["back-off", 1.0, BackOff(3.0)])
def test_the_joint_is_that_of_brute_force(smoothing):
    frame, y = switched(gaps=0)
    frame = frame[["a", "b", "c"]]
    model = bk.NBTree(smoothing=smoothing).fit(frame, y)
    assert model.tree_["column"] == "a"
    assert model.n_leaves_ == 3
    m = model.params_.tables["b"].m
    total = 0.0
    for a, b, c in itertools.product("uvw", "uvw", "pq"):
        found = np.exp(model.predict_joint_log_proba({"a": [a], "b": [b], "c": [c]})[0])
        for i, label in enumerate("klm"):
            inside, leaf = y == label, (y == label) & (frame["a"] == a).to_numpy()
            p = inside.mean() * (leaf.sum() + 1) / (inside.sum() + 3)
            for name, value, size in (("b", b, 3), ("c", c, 2)):
                column, weight = (frame[name] == value).to_numpy(), model.params_.tables[name].m
                if smoothing == 1.0:
                    p *= ((column & leaf).sum() + 1) / (leaf.sum() + size)
                else:
                    whole = ((column & inside).sum() + 1) / (inside.sum() + size)
                    p *= ((column & leaf).sum() + weight * whole) / (leaf.sum() + weight)
            assert found[i] == pytest.approx(p, rel=1e-10)
        total += found.sum()
    assert total == pytest.approx(1)
    assert m > 0 or smoothing == 1.0


def test_a_split_needs_its_share_of_the_errors_and_enough_rows():
    frame, y = switched()
    assert bk.NBTree().fit(frame, y).n_leaves_ > 1
    assert bk.NBTree(min_gain=1.0).fit(frame, y).n_leaves_ == 1
    assert bk.NBTree(min_rows=401).fit(frame, y).n_leaves_ == 1
    noise = pd.DataFrame(np.random.default_rng(0).choice(list("pq"), (300, 4)), columns=list("abcd"))
    assert bk.NBTree().fit(noise, y[:300]).n_leaves_ < 40


def test_a_missing_or_unknown_value_at_a_split_leaves_all_branches_open():
    frame, y = switched()
    model = bk.NBTree().fit(frame[["a", "b", "c"]], y)
    row = {"b": ["u"], "c": ["p"]}
    parts = [np.exp(model.predict_joint_log_proba({"a": [a], **row})[0]) for a in "uvw"]
    for gap in (None, "never seen"):
        found = np.exp(model.predict_joint_log_proba({"a": pd.Series([gap], dtype=object), **row})[0])
        np.testing.assert_allclose(found, np.sum(parts, axis=0), rtol=1e-10)
    with pytest.raises(bk.BayesError, match="never seen"):
        model.set_params(unseen="error").predict({"a": ["never seen"], **row})


def held(model, **changes):
    return bk.NBTree(**{**model.get_params(), "tree": model.tree_, "schema": model.schema_, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [BackOff(3.0), 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting_with_the_tree_held(smoothing, weighted):
    frame, y = switched(90)
    w = np.random.default_rng(1).choice([0.5, 1.0, 2.5], len(y)) if weighted else None
    frame.loc[3, "b"] = "only here"
    model = bk.NBTree(smoothing=smoothing, min_rows=10, min_gain=0.0).fit(frame, y, w)
    assert model.n_leaves_ > 1
    found = model.leave_one_out(frame, y, w)
    for i in [0, 1, 2, 3, 4, *range(5, 90, 4)]:
        left = np.ones(len(y)) if w is None else w.copy()
        left[i] -= min(left[i], 1.0)
        rows = (frame.drop(index=i), np.delete(y, i)) if w is None else (frame, y, left)
        other = held(model).fit(*rows)
        np.testing.assert_allclose(found.probabilities[i], other.predict_proba(frame.iloc[[i]])[0], rtol=1e-9)


def test_learning_forgetting_and_merging_give_a_fit_with_the_tree_held():
    frame, y = switched()
    first = bk.NBTree().fit(frame[:250], y[:250])
    whole = held(first).fit(frame, y)
    more = held(first).fit(frame[:250], y[:250]).partial_fit(frame[250:], y[250:])
    assert more.leaf_tally_ == whole.leaf_tally_
    assert np.array_equal(more.predict_proba(frame), whole.predict_proba(frame))
    other = held(first).fit(frame[250:], y[250:])
    assert first.merge(other).leaf_tally_ == whole.leaf_tally_
    assert (other + first).leaf_tally_ == whole.leaf_tally_
    assert more.forget(frame[250:], y[250:]).leaf_tally_ == first.leaf_tally_
    with pytest.raises(bk.BayesError, match=r"class 'z' in leaf \d+ was learned never"):
        more.forget(frame[:1], ["z"])
    with pytest.raises(bk.BayesError, match="different trees"):
        first.merge(bk.NBTree(min_rows=1e9, schema=first.schema_).fit(frame, y))


def test_new_values_and_classes_may_come_later():
    frame, y = switched()
    model = bk.NBTree().fit(frame, y)
    model.partial_fit(pd.DataFrame({"a": ["z"], "b": ["z"], "c": ["p"], "x": [0.0]}), ["new"])
    assert model.classes_.tolist() == ["k", "l", "m", "new"]
    assert np.isfinite(model.predict_proba(frame)).all()


def test_declared_classes_are_there_without_rows():
    frame, y = switched()
    model = bk.NBTree(domains={"class": ["k", "l", "m", "never"]}).fit(frame, y)
    assert model.classes_.tolist() == ["k", "l", "m", "never"]
    assert np.isfinite(model.predict_proba(frame)).all()


def test_the_explanation_sums_to_the_log_odds():
    frame, y = switched()
    model = bk.NBTree().fit(frame, y)
    posterior, classes = model.predict_log_proba(frame), model.classes_.tolist()
    for record in model.explain(frame[:40]):
        a, b = classes.index(record.predicted), classes.index(record.against)
        parts = record.prior_log_odds + sum(c.log_odds for c in record.contributions)
        assert parts == pytest.approx(posterior[record.row, a] - posterior[record.row, b], abs=1e-9)


def test_samples_follow_the_model():
    model = bk.NBTree().fit(XOR, XOR_Y)
    drawn, labels = model.sample(2000, random_state=1)
    right = (np.array(drawn["a"]) == np.array(drawn["b"])) == (labels == "same")
    assert right.mean() > 0.95


def test_the_tree_and_its_tables_can_be_read():
    frame, y = switched()
    model = bk.NBTree().fit(frame[["a", "b", "c"]], y)
    assert model.tree_text().startswith("a = ")
    assert "rows (k " in model.tree_text()
    assert "P(b | k, leaf)" in model.table("b").column_names
    assert model.n_parameters_ > 10
    assert bk.NBTree(min_rows=1e9).fit(XOR, XOR_Y).tree_text() == "leaf 0, 80 rows (other 40, same 40)"


def test_numbers_are_cut_where_the_class_turns():
    frame = load_penguins().to_pandas().drop(columns="year")
    model = bk.NBTree().fit(frame, "species")
    assert model.leave_one_out(frame, "species").accuracy > 0.95


def test_it_saves_and_loads(tmp_path):
    frame, y = switched()
    model = bk.NBTree().fit(frame, y)
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    assert again.tree_ == model.tree_
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.forget(frame[:3], y[:3]).leaf_tally_ == model.forget(frame[:3], y[:3]).leaf_tally_


def test_the_same_seed_gives_the_same_tree_for_any_number_of_threads():
    frame, y = switched()
    one, two = (bk.NBTree(n_threads=k).fit(frame, y) for k in (1, 3))
    assert one.tree_ == two.tree_
    assert np.array_equal(one.predict_proba(frame), two.predict_proba(frame))


def test_tuning_fits_the_temperature():
    frame, y = switched()
    model = bk.NBTree().tune(frame, y)
    best = model.leave_one_out(frame, y).log_loss
    assert best <= model.set_params(temperature=1.0).leave_one_out(frame, y).log_loss + 1e-12


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_odd_columns_and_classes_have_a_defined_answer():
    frame, y = switched(120)
    frame = frame.assign(same=1.0, one="v", empty=np.nan, label=y, many=[f"v{i}" for i in range(120)])
    frame, y = pd.concat([frame, frame[:1]]), np.append(y, "alone")
    model = bk.NBTree(roles={"many": "categorical"}).fit(frame, y)
    assert np.isfinite(model.predict_proba(frame)).all()
    assert np.isfinite(model.predict_proba(frame[:1].assign(a=None, many="never"))).all()
    wide = pd.DataFrame(np.random.default_rng(0).choice(list("pq"), (12, 60)))
    assert np.isfinite(bk.NBTree().fit(wide, list("kl") * 6).predict_proba(wide)).all()
    values = pd.DataFrame({"v": [str(i) for i in range(10_000)], "w": list("pq") * 5000})
    assert bk.NBTree(roles="categorical").fit(values, list("kl") * 5000).score(values, list("kl") * 5000) == 1


@pytest.mark.parametrize(
    "settings",
    [{"smoothing": 0}, {"min_rows": 0}, {"min_gain": 2}, {"folds": 1}, {"max_columns": 0}, {"tree": {"column": "a"}}],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(bk.BayesError, match=next(iter(settings))):
        bk.NBTree(**settings).fit(XOR, XOR_Y)


def test_what_it_cannot_learn_from_is_refused():
    with pytest.raises(bk.BayesError, match="no texts"):
        bk.NBTree(roles={"a": "text"}).fit(XOR, XOR_Y)
    with pytest.raises(bk.BayesError, match="leaf_tally_"):
        bk.NBTree().fit_tally(bk.NaiveBayes().fit(XOR, XOR_Y).tally_)
    with pytest.raises(bk.BayesError, match="know no leaves"):
        bk.NBTree(tree=0).fit_tally(bk.NaiveBayes().fit(XOR, XOR_Y).tally_)
    with pytest.raises(bk.BayesError, match="asks for column 'a'"):
        bk.NBTree(tree=bk.NBTree().fit(XOR, XOR_Y).tree_).fit(XOR[["b"]], XOR_Y)
    assert not hasattr(bk.NBTree(), "restrict")


@pytest.mark.parametrize(
    "tree",
    [
        {"column": "z", "default": 0, "branches": [["0", 0], ["1", 1]]},
        {"column": "a", "default": 0, "branches": [[["0"], 0], ["1", 1]]},
        {"column": "a", "default": 2, "branches": [["0", 0], ["1", 1]]},
        {"column": "a", "default": 0, "branches": [["0", 1], ["1", 0]]},
        0,
    ],
)
def test_a_file_with_another_tree_is_refused(tree, monkeypatch):
    model = bk.NBTree().fit(XOR, XOR_Y)
    monkeypatch.setattr(model, "tree_", tree)
    with pytest.raises(bk.BayesError, match="tree"):
        from_bytes(to_bytes(model))
