"""Student columns: the posterior predictive of a normal, against SciPy and against refitting."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import BadFile
from bayeskit.estimate.columns.kinds import NUMERIC, register
from bayeskit.estimate.columns.moments import StudentColumns

RNG = np.random.default_rng(11)
Y = np.repeat(["a", "b", "c"], [40, 5, 2])
X = {"x": RNG.normal(size=47) * 2 + (Y == "b"), "z": RNG.normal(size=47) + 100}


def by_hand(x, y, at, ddof=1):
    """ln p(at | class) by the formulas of the documentation."""
    classes = np.unique(y)
    parts = [x[(y == c) & ~np.isnan(x)] for c in classes]
    squares = [((p - p.mean()) ** 2).sum() for p in parts]
    pooled = sum(squares) / sum(len(p) - ddof for p in parts)
    logs = []
    for part, square in zip(parts, squares, strict=True):
        n = len(part)
        scale = np.sqrt((square + 2 * pooled) / (n + 1) * (1 + 1 / n))
        logs.append(stats.t(n + 1, part.mean(), scale).logpdf(at))
    return np.column_stack(logs)


@pytest.mark.parametrize("ddof", [0, 1])
def test_scores_are_those_of_the_posterior_predictive(ddof):
    model = bk.NaiveBayes(numeric="student", ddof=ddof).fit(X, Y)
    at = {name: RNG.normal(size=30) * 5 + column.mean() for name, column in X.items()}
    prior = np.log(np.array([40, 5, 2]) / 47)
    expected = prior + by_hand(X["x"], Y, at["x"], ddof) + by_hand(X["z"], Y, at["z"], ddof)
    np.testing.assert_allclose(model.predict_joint_log_proba(at), expected, rtol=1e-12)


def test_with_many_rows_it_is_the_gaussian():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 200_000)
    x = {"x": rng.normal(size=200_000) + (y == "b")}
    at = {"x": [0.0, 2.0, -3.0]}
    scores = [bk.NaiveBayes(numeric=n).fit(x, y).predict_joint_log_proba(at) for n in ("student", "gaussian")]
    np.testing.assert_allclose(*scores, atol=2e-3)


def test_a_class_of_one_number_has_the_spread_of_the_others():
    model = bk.NaiveBayes(numeric="student").fit({"x": [1.0, 2.0, 3.0, 7.0]}, ["a", "a", "a", "b"])
    table = model.table("x")
    assert table["location"] == [2.0, 7.0]
    assert table["freedom"] == [4.0, 2.0]
    np.testing.assert_allclose(table["scale"], np.sqrt([4 / 3, 2.0]))


def test_a_column_without_spread_or_without_numbers_of_a_class_says_nothing():
    flat = bk.NaiveBayes(numeric="student").fit({"x": [3.0, 3.0, 3.0]}, ["a", "a", "b"])
    assert flat.params_.unused == {"x"}
    assert np.array_equal(flat.predict_joint_log_proba({"x": [3.0]})[0], flat.params_.log_prior)
    assert flat.predict_proba({"x": 3.0}).tolist() == flat.predict_proba({"x": [3.0]}).tolist()
    assert flat.sample(3, 0)[0]["x"] == [None] * 3
    empty = bk.NaiveBayes(numeric="student").fit({"x": [1.0, 2.0, None], "z": [1.0, 2.0, 4.0]}, ["a", "a", "b"])
    assert empty.params_.unused == {"x"}
    assert empty.n_parameters_ == 1 + 4


def test_a_declared_class_without_rows_is_one_number_in_the_middle():
    schema = bk.NaiveBayes().fit({"x": [1.0, 2.0, 6.0]}, ["a", "a", "b"]).schema_
    schema = type(schema)(schema.columns, type(schema.target)(schema.target.name, ("a", "b", "c")), schema.named)
    model = bk.NaiveBayes(numeric="student", schema=schema, prior="uniform").fit(
        {"x": [1.0, 2.0, 6.0]}, ["a", "a", "b"]
    )
    table = model.table("x")
    assert table["location"] == [1.5, 6.0, 3.0]
    assert table["freedom"] == [3.0, 2.0, 2.0]
    assert table["scale"][2] == table["scale"][1]


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_a_class_that_is_constant_keeps_the_floor():
    y = ["a"] * 1000 + ["b"] * 1000
    x = {"x": np.concatenate([np.full(1000, 2.0), np.random.default_rng(0).normal(size=1000)])}
    scale = bk.NaiveBayes(numeric="student").fit(x, y).table("x")["scale"]
    wide = bk.NaiveBayes(numeric="student", variance_floor=0.25).fit(x, y).table("x")["scale"]
    pooled = x["x"][1000:].var(ddof=1) * 999 / 1998
    np.testing.assert_allclose([scale[0] ** 2, wide[0] ** 2], np.array([0.01, 0.25]) * pooled * (1 + 1 / 1000))


def test_where_no_class_has_any_spread_the_total_serves():
    model = bk.NaiveBayes(numeric="student").fit({"x": [1.0, 1.0, 4.0, 4.0]}, ["a", "a", "b", "b"])
    np.testing.assert_allclose(np.array(model.table("x")["scale"]) ** 2, 2 * 3.0 / 3 * 1.5)


def test_a_number_far_away_is_told_apart_and_a_huge_one_refused():
    model = bk.NaiveBayes(numeric="student").fit({"x": [1e-140, 2e-140, 3e-140, 7e-140]}, ["a", "a", "a", "b"])
    scores = model.predict_joint_log_proba({"x": [1e149, -1e149]})
    assert np.isfinite(scores).all()
    assert (scores[:, 1] > scores[:, 0]).all()  # fewer rows, heavier tails
    with pytest.raises(bk.BayesError, match="column 'x' has 1e\\+200 in row 1"):
        model.predict({"x": [1.0, 1e200]})
    with pytest.raises(bk.BayesError, match="column 'x' has 1e\\+151 in row 0"):
        model.predict({"x": [1e151]})


def test_a_weight_of_two_is_the_row_twice():
    twice = bk.NaiveBayes(numeric="student").fit({n: np.repeat(c, 2) for n, c in X.items()}, np.repeat(Y, 2))
    heavy = bk.NaiveBayes(numeric="student").fit(X, Y, sample_weight=np.full(47, 2.0))
    np.testing.assert_allclose(heavy.predict_joint_log_proba(X), twice.predict_joint_log_proba(X), rtol=1e-12)


def test_columns_may_differ_and_the_file_keeps_it(tmp_path):
    model = bk.NaiveBayes(numeric={"x": "student"}).fit(X, Y)
    assert model.table("x").column_names == ["class", "count", "location", "scale", "freedom"]
    assert model.table("z").column_names == ["class", "count", "mean", "variance"]
    model.save(tmp_path / "model.bayes")
    loaded = bk.load(tmp_path / "model.bayes")
    assert loaded.numeric == {"x": "student"}
    assert np.array_equal(loaded.predict_joint_log_proba(X), model.predict_joint_log_proba(X))


def test_draws_follow_the_distribution():
    model = bk.NaiveBayes(numeric="student").fit(X, Y)
    drawn, classes = model.sample(4000, 3)
    location, scale, freedom = (model.table("x")[name][0] for name in ("location", "scale", "freedom"))
    of_a = np.array(drawn["x"])[classes == "a"]
    assert stats.kstest(of_a, stats.t(freedom, location, scale).cdf).pvalue > 0.01


def test_exponents_weigh_such_columns():
    model = bk.DiscriminativeWeights(bk.NaiveBayes(numeric="student")).fit(X, Y)
    assert list(model.exponents_) == ["class", "x", "z"]
    np.testing.assert_allclose(model.contributions(X).sum(axis=2), model.predict_joint_log_proba(X), rtol=1e-12)


def test_a_file_with_a_kind_that_nobody_registered_is_refused(tmp_path, monkeypatch):
    model = bk.NaiveBayes(numeric="student").fit(X, Y)
    model.save(tmp_path / "model.bayes")
    monkeypatch.delitem(NUMERIC, "student")
    with pytest.raises(BadFile, match="'student'"):
        bk.load(tmp_path / "model.bayes")


def test_a_kind_registered_after_the_import_is_a_setting(monkeypatch):
    monkeypatch.setitem(NUMERIC, "late", None)  # taken out again afterwards
    del NUMERIC["late"]
    register(type("Late", (StudentColumns,), {"kind": "late"}))
    late, student = (bk.NaiveBayes(numeric=name).fit(X, Y).predict_proba(X) for name in ("late", "student"))
    np.testing.assert_array_equal(late, student)


def test_two_kinds_do_not_share_a_name():
    with pytest.raises(bk.BayesError, match="another kind of column is registered as 'student'"):
        register(type("Other", (StudentColumns,), {}))
