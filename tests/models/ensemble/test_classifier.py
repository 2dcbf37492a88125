"""BayesClassifier against its recipe written out directly, against brute force, and on whatever can come."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit import kernels, progress
from bayeskit.data.frames import open_source
from bayeskit.data.schema import infer
from bayeskit.datasets import load_penguins
from bayeskit.engines import local
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.ensemble.structure import draw_chains, draw_members
from bayeskit.models.ensemble.training_rows import plan_of, training_rows
from bayeskit.storage.container import pack, unpack
from tests.kernels import reference

GRID = (0.5, 2, 8, 32, 128, 512)
KEYS = "columns", "values", "missing", "temperatures", "accuracy", "log loss", "importance", "trees", "line", "boosting"
DRAWN = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "ranks and parts are drawn from the rows, and rows that are repeated are drawn otherwise",
)
SMALL = {"n_members": 2, "n_chains": 3, "n_trees": 4, "n_threads": 1}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([bk.BayesClassifier(**SMALL)], expected_failed_checks=lambda _: DRAWN)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def penguins():
    frame = load_penguins().to_pandas()
    return frame.drop(columns=["species", "year"]), frame["species"]


@pytest.fixture(scope="module")
def model(penguins):
    return bk.BayesClassifier(n_members=4, n_chains=10).fit(*penguins)


def xor(n=200, noise=2, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{i}": rng.choice(["a", "b"], n) for i in range(2 + noise)})
    return X, np.where(X["x0"] == X["x1"], "same", "other")


def table(n=60, seed=0, weights=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.choice(["u", "v", "w"], n), "b": rng.choice(["k", None], n), "c": rng.normal(size=n)})
    X.loc[rng.random(n) < 0.1, "c"] = np.nan
    y = np.where(rng.random(n) < 0.3, "no", np.where(X["a"] == "u", "yes", "maybe"))
    return X, y, rng.integers(1, 4, n).astype(float) if weights else None


# -- the recipe, written out ---------------------------------------------------------------------------


def backoff(rows, x, parents, values, new=None):
    """ln p_K(x | y, u) for each class by the recipe: rows are (x, parents, class); m by leave-one-out; `new` is left
    out of the counts where it is one of the rows."""

    def count(among, d, u, k=None, value=None):
        return sum(
            1
            for x_r, u_r, y_r in among
            if u_r[:d] == u[:d] and (k is None or y_r == k) and (value is None or x_r == value)
        )

    def p(among, d, value, u, k, m):
        if d < 0 or count(among, d, u) < 5:
            return p(among, d - 1, value, u, k, m) if d > 0 else 1 / values
        return (count(among, d, u, k, value) + m[d] * p(among, d - 1, value, u, k, m)) / (count(among, d, u, k) + m[d])

    m = []
    for d in range(len(parents) + 1):
        gains = []
        for choice in GRID:
            lost = 0.0
            for i, (x_r, u_r, y_r) in enumerate(rows):
                others = rows[:i] + rows[i + 1 :]
                if count(others, d, u_r) >= 5:
                    lost += math.log(p(others, d, x_r, u_r, y_r, [*m, choice]))
            gains.append(lost)
        m.append(GRID[int(np.argmax(gains))])
    among = rows if new is None else rows[:new] + rows[new + 1 :]
    n_classes = max(y for *_, y in rows) + 1
    return [math.log(p(among, len(parents), x, tuple(parents), k, m)) for k in range(n_classes)], m


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_back_off_equals_the_recipe_written_out_with_each_row_left_out(seed):
    rng = np.random.default_rng(seed)
    n = 24
    codes = rng.integers(0, 2, (1, 3, n)).astype(np.uint8)
    labels = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), codes[0, 0] ^ codes[0, 1]).astype(np.uint32)
    labels[:2] = 0, 1
    sizes, parents = np.full((1, 3), 2), np.array([[[1, 2], [-1, -1], [1, -1]]], dtype=np.int32)
    said, learned = kernels.learn_backoff(
        codes, sizes, parents, np.arange(3), labels, 2, None, np.arange(n, dtype=np.int64), 1
    )
    new = np.array([[0, 1, 1], [1, 0, 1], [2, 1, 0], [0, 2, 1], [1, 1, 2]], dtype=np.uint8).T[None].copy()
    fresh = kernels.score_backoff(new, sizes, parents, np.arange(3), 2, learned, 1)
    for i, above in ((0, (1, 2)), (1, ()), (2, (1,))):
        rows = [(int(codes[0, i, r]), tuple(int(codes[0, u, r]) for u in above), int(labels[r])) for r in range(n)]
        for r in range(0, n, 5):
            expected, m = backoff(rows, rows[r][0], rows[r][1], 2, new=r)
            np.testing.assert_allclose(said[r, :, i], expected, rtol=1e-9)
            np.testing.assert_array_equal(learned[0][i, : len(m)], m)
        for r in range(5):
            x, u = int(new[0, i, r]), tuple(int(new[0, v, r]) for v in above)
            expected = backoff(rows, x, u, 2)[0] if x < 2 else [0.0, 0.0]
            np.testing.assert_allclose(fresh[r, :, i], expected, rtol=1e-6)


def test_a_chain_of_one_step_is_the_formula():
    x = np.array([0, 0, 0, 0, 1, 1, 1, 1], dtype=np.uint8)
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 0], dtype=np.uint32)
    part = np.array([[1, 1, 0, 0, 1, 1, 0, 0]], dtype=np.uint8)
    prior, none = np.full(2, 0.5), np.full((1, 1, 1, 3), np.nan)
    asked, candidates = np.arange(8, dtype=np.int64), np.zeros((1, 1, 1), dtype=np.int32)
    logs, sums, learned = kernels.learn_chains(
        [x], np.array([2]), labels, 2, None, asked, part, candidates, none, prior, 1
    )
    assert learned[2].tolist() == [1.0]  # the part is clear, so the smallest m wins
    g = (2 + 1 * (4 / 9)) / (3 + 1)  # row 2 left out: two of three others in its context are of its class
    assert sums[2, 0] == pytest.approx((8 * g + 1) / 10)
    assert logs[2, 0] == pytest.approx(math.log(sums[2, 0]))
    assert not sums[[0, 1, 4, 5]].any()  # the rows that chose it are not scored by it
    new = kernels.score_chains([np.array([0, 2], dtype=np.uint8)], np.array([2]), [x], 8.0, prior, learned, 1)[1]
    assert new[0, 0] == pytest.approx((8 * (3 + 0.5) / 5 + 1) / 10)
    assert new[1].tolist() == [0.5, 0.5]  # a value never seen ends the chain


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_counted_again_with_its_choices_held_is_the_same(seed, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 6, 20, 150]))
    X = pd.DataFrame({"a": rng.choice(list("pqrs"), n), "b": rng.choice(["k", None], n), "c": rng.normal(size=n)})
    X["d"] = rng.integers(0, 3, n).astype(float)
    weight = rng.integers(1, 5, n) / 2 if weighted else None
    source = open_source(X, rng.choice(["x", "y", "z"], n), weight)
    schema = infer(source.kinds)
    rows = training_rows(local.collect(source, schema, plan_of(schema)), {})
    members = draw_members(rows, 2, rng, 1)
    codes = members.codes(rows.columns, rows.codes, 1)
    asked, n_classes, columns = np.arange(0, len(rows.labels), 2), len(rows.classes), np.arange(4)
    args = (codes, members.sizes, members.parents, columns, rows.labels, n_classes, rows.weights, asked)
    ours, theirs = kernels.learn_backoff(*args, 3), reference.learn_backoff(*args, 1)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ours[1][0], theirs[1])
    held = kernels.learn_backoff(*args, 3, ours[1][0])
    np.testing.assert_array_equal(held[0], ours[0])
    same_arrays(held[1], ours[1])
    nobody = np.zeros(0, dtype=np.int64)
    same_arrays(kernels.learn_backoff(*args[:-1], nobody, 3, ours[1][0])[1], ours[1])
    sizes = np.array([how.size for how in rows.codes.values()])
    prior = (rows.class_weights + 1) / (rows.n + n_classes)
    args = (rows.columns, sizes, rows.labels, n_classes, rows.weights, asked, *draw_chains(rows, 3, rng), prior)
    ours, theirs = kernels.learn_chains(*args, 3), reference.learn_chains(*args, 1)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-10)
    held = (rows.columns, sizes, rows.labels, n_classes, rows.weights, asked, *ours[2][:4], prior)
    same_arrays(kernels.count_chains(*held, 3)[2], ours[2])


def same_arrays(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, tuple):
            same_arrays(a, b)
        else:
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


# -- the model -----------------------------------------------------------------------------------------


def test_it_sees_what_naive_bayes_cannot(penguins):
    X, y = xor()
    assert bk.NaiveBayes().fit(X, y).score(X, y) < 0.65
    for fast in (False, True):
        assert bk.BayesClassifier(n_members=8, n_chains=16, fast=fast).fit(X, y).score(*xor(seed=1)) == 1.0


def test_any_number_of_threads_gives_the_same_bits(penguins):
    X, y = penguins
    one, three = (
        bk.BayesClassifier(n_members=3, n_chains=9, n_threads=t, random_state=7).fit(X, y).predict_proba(X)
        for t in (1, 3)
    )
    np.testing.assert_array_equal(one, three)
    other = bk.BayesClassifier(n_members=3, n_chains=9, random_state=8).fit(X, y).predict_proba(X)
    assert not np.array_equal(one, other)


def test_rows_are_scored_alike_in_any_company(model, penguins):
    X, _ = penguins
    one_by_one = np.vstack([model.predict_proba(X.iloc[[r]]) for r in range(0, 344, 40)])
    np.testing.assert_allclose(one_by_one, model.predict_proba(X)[::40], rtol=1e-12)


def test_no_probability_is_more_than_the_rows_allow(model, penguins):
    proba = model.predict_proba(penguins[0])
    assert proba.max() <= 345 / 347 + 1e-12
    assert proba.min() >= 1 / 347 - 1e-12
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_rows_of_weight_zero_are_not_there():
    X, y, _ = table()
    more = pd.concat([X, pd.DataFrame({"a": ["new"], "b": ["other"], "c": [9.0]})], ignore_index=True)
    weights = np.append(np.ones(60), 0)
    with_it = bk.BayesClassifier(**SMALL).fit(more, [*y, "fourth"], sample_weight=weights)
    without = bk.BayesClassifier(**SMALL).fit(X, y)
    assert with_it.classes_.tolist() == without.classes_.tolist()
    np.testing.assert_array_equal(with_it.predict_proba(X), without.predict_proba(X))


def test_unseen_and_missing_values_have_an_answer(model, penguins):
    X, _ = penguins
    row = X.iloc[[0]].assign(island="Atlantis", bill_length_mm=np.nan)
    assert np.isfinite(model.predict_proba(row)).all()
    strict = pickle.loads(pickle.dumps(model)).set_params(unseen="error")
    with pytest.raises(bk.BayesError, match="Atlantis"):
        strict.predict(row)


@pytest.mark.parametrize("number", [np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("ask", ["predict", "predict_proba", "predict_log_proba", "explain", "score", "partial_fit"])
def test_infinity_is_refused_with_column_and_row(model, penguins, ask, number):
    X, y = penguins[0][:9].copy(), penguins[1][:9]
    X.loc[X.index[7], "body_mass_g"] = number
    before = model.predict_proba(penguins[0])
    with pytest.raises(bk.BayesError, match=r"'body_mass_g' has .* in row 7"):
        getattr(model, ask)(X, y) if ask in ("score", "partial_fit") else getattr(model, ask)(X)
    assert np.array_equal(model.predict_proba(penguins[0]), before)


def test_infinity_in_a_file_is_refused_with_its_name(model, penguins, tmp_path):
    X = penguins[0][:5].assign(body_mass_g=[3000, 3000, np.inf, 3000, 3000])
    X.to_csv(tmp_path / "birds.csv", index=False)
    with pytest.raises(bk.BayesError, match=r"birds.csv.*'body_mass_g'"):
        model.predict(tmp_path / "birds.csv")


def test_classes_may_be_declared():
    X, y, _ = table()
    model = bk.BayesClassifier(domains={"class": ["maybe", "never", "no", "yes"]}, **SMALL).fit(X, y)
    proba = model.predict_proba(X)
    assert model.classes_.tolist() == ["maybe", "never", "no", "yes"]
    assert proba[:, 1].max() < 0.1
    assert proba[:, 1].min() >= 1 / 64 - 1e-12


def test_it_pickles_and_clones(model, penguins):
    X, y = penguins
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), model.predict_proba(X))


def test_left_out_scores_stand_beside_the_majority(model, penguins):
    scores = model.left_out_
    assert scores["model"] == ["BayesClassifier", "NaiveBayes", "majority"]
    assert scores["accuracy"][0] > 0.95
    assert scores["accuracy"][2] == pytest.approx(152 / 344)
    assert scores["log loss"][0] < scores["log loss"][1] < scores["log loss"][2]


def test_a_column_that_decides_matters_and_one_that_says_nothing_does_not():
    X = pd.DataFrame({"same": ["a"] * 80, "noise": ["u", "u", "v", "v"] * 20, "tells": ["x", "y"] * 40})
    found = bk.BayesClassifier(**SMALL, fast=True).fit(X, ["no", "yes"] * 40).importance_
    assert found["column"][0] == "tells"
    rises = found.by_column
    assert rises["same"] == pytest.approx(0, abs=1e-9)
    assert abs(rises["noise"]) < 0.05 < 0.3 < rises["tells"]


def test_progress_is_told():
    X, y, _ = table()
    told = []
    bk.BayesClassifier(**SMALL, progress=lambda *step: told.append(step)).fit(X, y)
    assert [stage for stage, *_ in told] == [
        "columns",
        "chains",
        *["trees"] * 2,
        *["line"] * 2,
        *["exponents"] * 2,
        *["boosting"] * 2,
    ]
    assert all(done <= of for _, done, of in told)


def test_a_bar_is_shown_where_the_fit_takes_its_time(monkeypatch, capsys):
    X, y, _ = table()
    monkeypatch.setattr(progress, "PATIENCE", -1)
    bk.BayesClassifier(**SMALL, progress=True).fit(X, y)
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    bk.BayesClassifier(**SMALL, progress=True).fit(X, y)
    said = capsys.readouterr()
    assert "chains" in said.err
    assert said.out == ""


def test_the_report_says_that_its_scores_are_a_little_optimistic(model):
    assert str(model.left_out_) in model.report()
    assert "a little optimistic" in " ".join(model.report().split())


def test_what_it_cannot_honor_is_absent(model):
    for name in ("fit_tally", "restrict", "with_prior", "score_samples", "leave_one_out"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match=r"have seen every row\. left_out_ .*cross_validate"):
        model.leave_one_out([[1]], [1])


# -- files ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved():
    X, y, weights = table(weights=True)
    model = bk.BayesClassifier(**SMALL).fit(X, y, sample_weight=weights)
    return X, model, to_bytes(model)


def test_the_same_model_gives_the_same_bytes_and_machine_settings_stay_outside(saved):
    X, model, data = saved
    again = from_bytes(data)
    assert to_bytes(again) == data
    again.set_params(progress=print, structure=model.structure_, n_threads=2)
    assert to_bytes(again) == data
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(120))
def test_a_hostile_file_is_refused_or_is_a_model(saved, seed):
    X, _, data = saved
    rng = np.random.default_rng(seed)
    header, arrays = unpack(data)
    arrays = [array.copy() for array in arrays]
    own = len(arrays) - header["state"]["arrays"] - header["tally"]["statistics"][-1][2]
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(own, len(arrays)))
        array = arrays[at]
        match rng.integers(4):
            case 0 if array.size:  # a cell that points elsewhere
                odd = [0, 1, 2, 2**31, 2**32 - 1] if array.dtype.kind == "u" else [-(2**62), -2, -1, 0, 1, 2**40]
                odd = [np.nan, np.inf, -1.0, 1e308, 0.0] if array.dtype.kind == "f" else odd
                odd = [0, 1, 254, 255] if array.dtype == np.uint8 else odd
                array.ravel()[rng.integers(array.size)] = odd[rng.integers(len(odd))]
            case 1:  # shorter
                arrays[at] = array[: len(array) // 2]
            case 2:  # of another type
                with np.errstate(invalid="ignore"):
                    arrays[at] = array.astype(rng.choice(["<i8", "<f8", "|u1", "<u4"]))
            case _:  # something else of the header
                key = rng.choice([*KEYS])
                odd = [[], None, ["a"], [1e308] * 3, [-1, 0], {"x": 1}, [0.5] * 3]
                header["state"]["held"][key] = odd[rng.integers(7)]
    try:
        model = from_bytes(pack(header, arrays))
    except bk.BayesError:
        return
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_file_without_its_rows_or_with_those_of_another_model_is_refused(saved):
    _, _, data = saved
    header, arrays = unpack(data)
    own = len(arrays) - header["state"]["arrays"]
    with pytest.raises(bk.BayesError):
        from_bytes(pack({k: v for k, v in header.items() if k != "state"}, arrays[:own]))
    *others, rows = header["tally"]["statistics"]
    first = own - rows[2]
    without = {**header, "tally": {**header["tally"], "statistics": others}}
    with pytest.raises(bk.BayesError):
        from_bytes(pack(without, [*arrays[:first], *arrays[own:]]))
    labels = arrays[first].copy()
    labels[np.flatnonzero(labels == 0)[0]] = 1
    with pytest.raises(bk.BayesError, match="the rows are not those that were counted"):
        from_bytes(pack(header, [*arrays[:first], labels, *arrays[first + 1 :]]))
    with pytest.raises(bk.BayesError, match="holds nothing beside its counts"):
        from_bytes(pack({**header, "model": "NaiveBayes", "settings": {}}, arrays))


def many_values(n, seed=0):
    """Rows with a column of nearly as many values as rows, which tells nothing, and a code that tells the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 8, n)
    X = pd.DataFrame({"size": y + rng.normal(size=n), "id": [f"i{k}" for k in rng.integers(0, 2 * n, n)]})
    return X.assign(code=[f"{c}-{rng.integers(0, 12)}" for c in y]), y


def test_random_columns_are_left_out_and_one_that_tells_something_beside_another_stays():
    rng = np.random.default_rng(1)
    X, y = xor(600)
    random = X.assign(**{f"r{k}": [f"v{c}" for c in rng.integers(0, k, 600)] for k in (8, 20, 50)})
    model = bk.BayesClassifier(**SMALL).fit(random, y)
    assert model.structure_.silent == ("r20", "r50", "r8")
    # Tells nothing alone; the class is told by it and x0 together.
    code = np.where(X["x1"] == "a", "p", "q") + rng.integers(0, 5, 600).astype(str).astype(object)
    assert bk.BayesClassifier(**SMALL).fit(X[["x0"]].assign(code=code), y).structure_.silent == ()
    size = np.where(X["x0"] == "a", 1.0, -1.0) * rng.exponential(size=600)
    assert bk.BayesClassifier(**SMALL).fit(pd.DataFrame({"size": size, "code": code}), y).structure_.silent == ()


def test_a_column_of_many_values_that_tells_nothing_is_left_out():
    X, y = many_values(600)
    model = bk.BayesClassifier(**SMALL).fit(X, y)
    assert model.structure_.silent == ("id",)
    assert model.importance_.by_column["id"] == 0
    assert {part.column: part.state for part in model.explain(X[:1])[0].contributions}["id"] == "unused"
    plain = bk.BayesClassifier(**SMALL).fit(X.drop(columns="id"), y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X.drop(columns="id")))
    assert "id" in str(model.report())
    assert model.structure_ != plain.structure_


@pytest.mark.slow
def test_random_columns_of_fifty_values_leave_the_model_as_it_is():
    X, y = many_values(1200)
    X = X.drop(columns="id")
    rng = np.random.default_rng(1)
    more = X.assign(**{name: rng.choice([f"v{i}" for i in range(50)], len(X)) for name in ("noise", "other")})
    model, plain = (bk.BayesClassifier(**SMALL).fit(table, y) for table in (more, X))
    assert model.structure_.silent == ("noise", "other")
    np.testing.assert_array_equal(model.predict_proba(more), plain.predict_proba(X))


def test_a_model_with_a_column_left_out_is_saved_updated_and_merged():
    X, y = many_values(600)
    model = bk.BayesClassifier(**SMALL).fit(X, y)
    again = from_bytes(to_bytes(model))
    assert again.structure_ == model.structure_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    more, labels = many_values(100, 1)
    other = bk.BayesClassifier(**SMALL, structure=model.structure_).fit(more, labels)
    merged = model.merge(other).predict_proba(X)
    np.testing.assert_allclose(again.partial_fit(more, labels).predict_proba(X), merged, atol=1e-9)
    light = bk.BayesClassifier(keep_rows=False, n_trees=4).fit(X, y)
    np.testing.assert_array_equal(from_bytes(to_bytes(light)).predict_proba(X), light.predict_proba(X))


def test_the_linear_part_has_a_bounded_number_of_coefficients(monkeypatch):
    X, y = many_values(600)
    monkeypatch.setattr("bayeskit.models.ensemble.linear.MOST_CELLS", 200)
    model = bk.BayesClassifier(**SMALL).fit(X, y)
    line = model.structure_.line
    assert len(line.hot) == 0
    assert line.coefficients.size <= 200
    again = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
