"""SubclassBayes: mixtures inside classes, against brute force and against what naive Bayes cannot do."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit import progress
from bayeskit.datasets import load_penguins
from bayeskit.estimate.columns.moments import GaussianColumns
from bayeskit.estimate.mixtures import GAIN, HeldOutDensities
from bayeskit.models import from_bytes, to_bytes

XOR = pd.DataFrame({"a": list("0011") * 10, "b": list("0101") * 10})
XOR_Y = ["same", "other", "other", "same"] * 10


def rings(n=300, seed=0):
    """One class in two heaps, the other between them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    center = np.where(y == 1, 0.0, rng.choice([-4.0, 4.0], n))
    X = pd.DataFrame({"x": center + rng.normal(size=n), "z": rng.normal(size=n), "k": rng.choice(list("pq"), n)})
    X.loc[rng.random(n) < 0.05, "x"] = np.nan
    return X, np.array(["outer", "inner"])[y]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([bk.SubclassBayes(max_subclasses=2, restarts=1, folds=2, max_rounds=10)])
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("numeric", ["gaussian", "histogram"])
def test_the_order_of_columns_does_not_change_the_model(numeric):
    X, y = rings(80)
    fitted = [
        bk.SubclassBayes(2, numeric=numeric, random_state=0, restarts=1).fit(X[names], y)
        for names in (["x", "z", "k"], ["k", "x", "z"])
    ]
    np.testing.assert_allclose(fitted[0].predict_proba(X), fitted[1].predict_proba(X), atol=1e-9)


def test_it_solves_xor_where_naive_bayes_cannot():
    assert bk.NaiveBayes().fit(XOR, XOR_Y).score(XOR, XOR_Y) == 0.5
    model = bk.SubclassBayes().fit(XOR, XOR_Y)
    assert model.score(XOR, XOR_Y) == 1
    assert model.n_subclasses_ == {"other": 2, "same": 2}


def test_it_solves_the_parity_of_five_bits_with_sixteen_subclasses():
    bits = np.array(list(itertools.product([0, 1], repeat=5)) * 8)
    y = bits.sum(axis=1) % 2
    model = bk.SubclassBayes(n_subclasses=16, roles="categorical", restarts=3).fit(bits, y)
    assert model.score(bits, y) == 1
    assert bk.NaiveBayes(roles="categorical").fit(bits, y).score(bits, y) <= 0.5


def test_one_subclass_is_naive_bayes():
    X, y = rings()
    one, naive = bk.SubclassBayes(n_subclasses=1).fit(X, y), bk.NaiveBayes(numeric="gaussian").fit(X, y)
    np.testing.assert_allclose(one.predict_joint_log_proba(X), naive.predict_joint_log_proba(X), rtol=1e-9)
    assert one.tally_.classes == naive.tally_.classes


def test_the_joint_is_the_sum_over_subclasses_of_products():
    model = bk.SubclassBayes(n_subclasses=2).fit(XOR, XOR_Y)
    naive, classes = model.params_.naive, model.classes_.tolist()
    for a, b in itertools.product("01", repeat=2):
        expected = dict.fromkeys(classes, 0.0)
        for s, owner in enumerate(model.params_.owner):
            p = np.exp(naive.log_prior[s])
            p *= naive.tables["a"].probabilities[s, 1 + int(a)] * naive.tables["b"].probabilities[s, 1 + int(b)]
            expected[classes[owner]] += p
        found = np.exp(model.predict_joint_log_proba({"a": [a], "b": [b]})[0])
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-12)
    total = sum(np.exp(model.score_samples({"a": [a], "b": [b]})[0]) for a, b in itertools.product("01", repeat=2))
    assert total == pytest.approx(1)


@pytest.mark.slow
def test_the_number_is_chosen_by_the_likelihood_of_held_out_classes():
    X, y = rings()
    model = bk.SubclassBayes().fit(X, y)
    assert model.n_subclasses_["outer"] >= 2
    for label, found in model.held_out_.items():
        assert found[model.n_subclasses_[label]] >= max(found.values()) - (GAIN + 1e-6) / len(y)
    given = bk.SubclassBayes(n_subclasses={"outer": 3, "inner": 1}).fit(X, y)
    assert given.n_subclasses_ == {"inner": 1, "outer": 3}
    assert model.score(X, y) > bk.NaiveBayes().fit(X, y).score(X, y) - 0.02


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_for_any_number_of_threads():
    X, y = rings()
    one = bk.SubclassBayes(n_threads=1, random_state=5).fit(X, y)
    for other in (bk.SubclassBayes(n_threads=3, random_state=5).fit(X, y),):
        assert one.subclass_tally_.to_bytes() == other.subclass_tally_.to_bytes()
        assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_a_weight_of_two_is_the_row_twice_where_the_clusters_are_clear():
    twice = bk.SubclassBayes(n_subclasses=2).fit(XOR, XOR_Y, sample_weight=[2] * len(XOR))
    again = bk.SubclassBayes(n_subclasses=2).fit(pd.concat([XOR, XOR]), XOR_Y * 2)
    np.testing.assert_allclose(twice.predict_proba(XOR), again.predict_proba(XOR), rtol=1e-6)


@pytest.mark.slow
def test_the_explanation_sums_to_the_log_odds():
    X, y = rings()
    model = bk.SubclassBayes(n_subclasses=2).fit(X, y)
    posterior, classes = model.predict_log_proba(X), model.classes_.tolist()
    for record in model.explain(X[:40]):
        a, b = classes.index(record.predicted), classes.index(record.against)
        parts = record.prior_log_odds + sum(c.log_odds for c in record.contributions)
        assert parts == pytest.approx(posterior[record.row, a] - posterior[record.row, b], abs=1e-9)


def test_subclasses_can_be_read():
    model = bk.SubclassBayes().fit(XOR, XOR_Y)
    table = model.subclasses_
    assert table["subclass"] == [1, 2, 1, 2]
    assert all("a " in text or "b " in text for text in table["what sets it apart"])
    assert table["share"] == pytest.approx([0.5] * 4, abs=0.02)
    assert model.subclass_proba(XOR).sum(axis=1) == pytest.approx(1)
    assert "P(a | same 1)" in model.table("a").column_names
    assert model.n_parameters_ == 3 + 4 * 2


@pytest.mark.slow
def test_samples_follow_the_model():
    model = bk.SubclassBayes().fit(XOR, XOR_Y)
    drawn, labels = model.sample(2000, random_state=1)
    right = (np.array(drawn["a"]) == np.array(drawn["b"])) == (labels == "same")
    assert right.mean() > 0.8


def test_methods_that_it_cannot_honor_are_not_there():
    model = bk.SubclassBayes().fit(XOR, XOR_Y)
    for name in ("partial_fit", "forget", "merge", "leave_one_out", "restrict"):
        assert not hasattr(model, name), name
    with pytest.raises(AttributeError, match="other clusters"):
        model.forget(XOR, XOR_Y)
    with pytest.raises(AttributeError, match=r"other clusters.*cross_validate"):
        model.leave_one_out(XOR, XOR_Y)


def test_another_prior_keeps_the_clusters():
    model = bk.SubclassBayes().fit(XOR, XOR_Y)
    other = model.with_prior({"same": 0.9, "other": 0.1})
    fitted = bk.SubclassBayes(prior={"same": 0.9, "other": 0.1}).fit(XOR, XOR_Y)
    np.testing.assert_allclose(other.predict_proba(XOR), fitted.predict_proba(XOR), rtol=1e-12)


@pytest.mark.slow
def test_it_saves_and_loads(tmp_path):
    frame = load_penguins().to_pandas().drop(columns="year")
    model = bk.SubclassBayes(max_subclasses=3).fit(frame, "species")
    model.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.classes_.tolist() == model.classes_.tolist()


def test_numbers_as_classes_stay_numbers():
    model = bk.SubclassBayes().fit(XOR, [3, 10, 10, 3] * 10)
    assert model.classes_.tolist() == [3, 10]
    assert model.predict(XOR).tolist() == [3, 10, 10, 3] * 10


def test_progress_is_told():
    told = []
    bk.SubclassBayes(progress=lambda *step: told.append(step)).fit(XOR, XOR_Y)
    assert told[0] == ("classes", 0, 2)
    assert told[-1] == ("classes", 2, 2)
    assert told[-2] == ("subclasses of same", 2, 2)  # 1 and 2 for twenty rows


@pytest.mark.slow
def test_a_bar_is_shown_where_the_fit_takes_its_time(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", -1)
    bk.SubclassBayes(progress=True).fit(XOR, XOR_Y)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    bk.SubclassBayes(progress=True).fit(XOR, XOR_Y)
    assert "subclasses of same" in capsys.readouterr().err
    bk.SubclassBayes(2, progress=False).fit(XOR, XOR_Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_odd_columns_and_classes_have_a_defined_answer():
    X, y = rings(60)
    X = X.assign(same=1.0, one="v", empty=np.nan, label=y, many=[f"v{i}" for i in range(60)])
    y = np.append(y, "alone")
    X = pd.concat([X, X[:1]])
    model = bk.SubclassBayes(roles={"many": "categorical"}).fit(X, y)
    assert model.n_subclasses_["alone"] == 1
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.predict_proba(X[:2].assign(k="never", x=np.nan))).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"n_subclasses": 0},
        {"n_subclasses": "many"},
        {"max_subclasses": 0},
        {"folds": 1},
        {"numeric": "kernel"},
        {"progress": 3},
    ],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(bk.BayesError, match=next(iter(settings))):
        bk.SubclassBayes(**settings).fit(XOR, XOR_Y)


def test_a_declared_class_without_rows_is_there_and_has_the_prior_of_none(tmp_path):
    declared = {"class": ["never", "other", "same"]}
    model = bk.SubclassBayes(domains=declared).fit(XOR, XOR_Y)
    naive = bk.NaiveBayes(domains=declared).fit(XOR, XOR_Y)
    assert model.classes_.tolist() == naive.classes_.tolist() == ["never", "other", "same"]
    assert (model.predict_proba(XOR)[:, 0] == 0).all()
    assert model.score(XOR, XOR_Y) == 1
    model.save(tmp_path / "m.bayes")
    assert np.array_equal(bk.load(tmp_path / "m.bayes").predict_proba(XOR), model.predict_proba(XOR))
    even = bk.SubclassBayes(1, domains=declared, prior="uniform").fit(XOR, XOR_Y)
    naive = bk.NaiveBayes(domains=declared, prior="uniform").fit(XOR, XOR_Y)
    np.testing.assert_allclose(even.predict_proba(XOR), naive.predict_proba(XOR), rtol=1e-9)


def test_texts_and_plain_tallies_are_refused():
    with pytest.raises(bk.BayesError, match="no texts"):
        bk.SubclassBayes(roles={"a": "text"}).fit(XOR, XOR_Y)
    with pytest.raises(bk.BayesError, match="know no subclasses"):
        bk.SubclassBayes().fit_tally(bk.NaiveBayes().fit(XOR, XOR_Y).tally_)


def test_tuning_fits_a_temperature_by_cross_validation():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    seen = (rng.random(300) < np.where(y == 1, 0.7, 0.3)).astype(int)
    X = {f"copy {i}": seen for i in range(6)}  # one piece of evidence, six times
    plain, tuned = (bk.SubclassBayes(1, roles="categorical") for _ in range(2))
    plain.fit(X, y)
    assert 4 < tuned.tune(X, y).temperature < 9
    assert tuned.predict(X).tolist() == plain.predict(X).tolist()
    assert bk.cross_validate(tuned, X, y).log_loss < 0.5 * bk.cross_validate(plain, X, y).log_loss


@pytest.mark.slow
def test_whole_numbers_do_not_make_subclasses_of_their_own():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 300)
    X = pd.DataFrame({"code": rng.integers(1, 5, 300), "income": rng.normal(40, 13, 300)})
    roles = {"code": "numeric"}
    model = bk.SubclassBayes(2, roles=roles).fit(X, y)
    variance = model.params_.naive.of_kind(GaussianColumns).gaussian.variance[:, 0]
    assert variance.min() >= 1 / (2 * np.pi) - 1e-12  # of gaps of one
    assert variance.max() > 0.2
    cents = X.assign(code=X["code"] / 100)  # the unit is not what matters
    small = bk.SubclassBayes(2, roles=roles).fit(cents, y)
    np.testing.assert_allclose(small.predict_proba(cents), model.predict_proba(X), atol=0.01)
    same = model.with_prior("empirical")
    assert np.array_equal(same.predict_proba(X), model.predict_proba(X))
    chosen = bk.SubclassBayes(max_subclasses=4, restarts=1, folds=2, roles=roles)
    found, naive = (bk.cross_validate(m, X, y, 3).log_loss for m in (chosen, bk.NaiveBayes(roles=roles)))
    assert found < naive + 0.05


def test_a_class_with_one_number_only_is_as_in_naive_bayes():
    X, y = pd.DataFrame({"n": [1, 1, 1, 1, 2, 3, 5, 3]}), list("aaaabbbb")
    one, naive = bk.SubclassBayes(1, roles="numeric").fit(X, y), bk.NaiveBayes(roles="numeric").fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), naive.predict_proba(X), rtol=1e-9)


def test_whole_numbers_are_saved_with_their_gaps(tmp_path):
    X, y = pd.DataFrame({"n": [1, 2, 3, 4, 7, 8] * 10}), ["a", "b"] * 30
    model = bk.SubclassBayes(2, roles="numeric").fit(X, y)
    model.save(tmp_path / "m.bayes")
    assert np.array_equal(bk.load(tmp_path / "m.bayes").predict_proba(X), model.predict_proba(X))
    model.gaps_ = {"n": -1.0}
    with pytest.raises(bk.BayesError, match="gaps"):
        from_bytes(to_bytes(model))


def _held_out(gains):
    """Rows of two classes, of which a second part of the first makes the odds of each larger by so much."""
    gains = np.asarray(gains)
    labels = np.zeros(len(gains), dtype=np.int64)
    first = {1: np.zeros(len(gains)), 2: gains}
    return HeldOutDensities([first, {1: np.zeros(len(gains))}], np.zeros((len(gains), 2)), labels, np.ones(len(gains)))


def test_more_parts_need_a_gain_that_is_sure():
    sure = np.full(40, 1.0)
    for gains, number in ((sure, 2), (0 * sure, 1), (-sure, 1)):
        assert _held_out(gains).best()[0] == [number, 1]
    few = np.r_[np.full(4, 50.0), np.full(36, -0.03)]  # ln 2 at most for each of four rows: 2.8 nats less 0.5
    assert _held_out(few).best()[0] == [1, 1]
