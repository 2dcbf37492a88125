"""Bad input gets an error that names culprit, place and remedy, and changes nothing."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.errors import BayesWarning, NotLearned, NotScalar, SchemaMismatch, UnknownValue

X = pd.DataFrame({"sky": ["sun", "rain", "sun", None], "size": [1.0, 2.0, np.nan, 4.0]})
Y = ["a", "b", "a", "b"]
INF, NAN = float("inf"), float("nan")


def sky(*cells):
    return pd.DataFrame({"sky": pd.Series(cells, dtype=object), "size": [1.0] * len(cells)})


def size(*cells):
    return pd.DataFrame({"sky": ["sun"] * len(cells), "size": cells})


@pytest.fixture
def model():
    return bk.NaiveBayes().fit(X, Y)


# What is learned, and what the refusal says: culprit, place, remedy.
LEARNING = {
    "no rows": (X[:0], [], r"no rows"),
    "no columns": (X[[]], Y, r"column"),
    "no data": (None, Y, r"X is None"),
    "text for a table": ("sky", Y, r"no file or folder 'sky'"),
    "a single column": (X["size"], Y, r"Expected 2D array.*[Rr]eshape"),
    "a polars series": (pl.Series([1, 2]), [0, 1], r"Expected 2D array"),
    "an Arrow array": (pa.array([1, 2]), [0, 1], r"Expected 2D array"),
    "a cube": (np.zeros((2, 2, 2)), [0, 1], r"Expected 2D array, got 3D"),
    "rows of unequal length": ([[1, 2], [3]], [0, 1], r"rows differ in length"),
    "columns of unequal length": ({"sky": ["sun"], "size": [1.0, 2.0]}, Y[:2], r"columns differ in length"),
    "a value among columns": ({"sky": "sun", "size": [1.0, 2.0]}, Y[:2], r"'sky' is a single value"),
    "no labels": (X, None, r"requires y"),
    "too few labels": (X, Y[:3], r"\[4, 3\]"),
    "no such target": (X, "weather", r"no target column 'weather' \(columns: sky, size\)"),
    "a column twice": (pd.concat([X, X[["sky"]]], axis=1), Y, r"more than one column named sky; rename or drop"),
    "a missing column": (X[["sky"]], Y, r"column size missing from the data"),
    "an infinite number": (size(1.0, INF), Y[:2], r"'size' has inf in row 1\. Replace"),
    "a huge number": (size(1.0, 2.0, 1e200), Y[:3], r"'size' has 1e\+200 in row 2\. Replace"),
    "an infinite value": (sky("sun", INF), Y[:2], r"'sky', row 1: a value is infinite; replace"),
    "a word for a number": (size(1.0, "much"), Y[:2], r"'size' has 'much' in row 1, which is not a number"),
    "a list in a cell": (sky("sun", ["rain", "hail"]), Y[:2], r"'sky' has \['rain', 'hail'\] in row 1"),
    "lists in all cells": (sky(["sun"], ["rain", "hail"]), Y[:2], r"'sky' has \['sun'\] in row 0"),
    "a mapping in a cell": (sky("sun", {"a": 1}), Y[:2], r"'sky' has \{'a': 1\} in row 1"),
    "a list in a record": ([{"sky": ["sun"], "size": 1.0}], ["a"], r"'sky' has \['sun'\] in row 0"),
    "an object in a cell": (sky("sun", object()), Y[:2], r"'sky'.*row 1"),
    "half a surrogate pair": (sky("sun", "\ud800"), Y[:2], r"'sky', row 1: .* is not text"),
    "complex numbers": (np.array([[1j, 2], [3, 4]]), [0, 1], r"Complex data not supported"),
    "a missing label": (
        X,
        ["a", None, "a", "b"],
        r"row 1 has no label: label or drop such rows, or pass unlabeled=\"drop\"",
    ),
    "a NaN label": (X, [0.0, 1.0, NAN, 1.0], r"row 2 has no label"),
    "a masked label": (X, np.ma.array([0, 1, 0, 1], mask=[0, 0, 0, 1]), r"row 3 has no label"),
    "a null label": (X, pd.Series([1, 2, None, 1], dtype="Int64"), r"row 2 has no label"),
    "an infinite label": (X, [0.0, 1.0, INF, 1.0], r"Input y contains infinity"),
    "continuous labels": (X, [0.0, 1.0, 2.5, 1.0], r"continuous \(row 2 has 2\.5\).*cut the numbers"),
    "continuous Arrow labels": (X, pa.array([0.0, 1.0, 2.5, 1.0]), r"continuous \(row 2 has 2\.5\)"),
    "labels of two kinds": (X, ["a", 1, "a", "b"], r"all strings or all numbers"),
    "lists for labels": (X, [["a"], ["b", "c"], ["a"], ["b"]], r"not single value"),
    "a table of labels": (X, [[0, 2]] * 4, r"y should be a 1d array, got an array of shape \(4, 2\).* row 0 sums to 2"),
    "a table of names": (X, np.array([["a", "b"]] * 4), r"y should be a 1d array, got an array of shape \(4, 2\)"),
    "negative class probabilities": (X, [[-0.5, 1.5]] * 4, r"row 0 has a class probability that is negative"),
    "missing class probabilities": (X, [[0.5, 0.5]] * 3 + [[NAN, 1.0]], r"row 3 has a class probability"),
    "too few class probabilities": (X, [[0.5, 0.5]] * 3, r"inconsistent numbers of samples"),
    "one label": (X, 3, r"y should be a 1d array"),
}


@pytest.mark.parametrize("bad", LEARNING)
def test_what_cannot_be_learned_is_refused_and_changes_nothing(bad, model):
    table, labels, message = LEARNING[bad]
    before, said = model.tally_.to_bytes(), model.predict_joint_log_proba(X)
    for learn in (model.partial_fit, model.forget, bk.NaiveBayes(roles=None, schema=model.schema_).fit):
        with pytest.raises(bk.BayesError, match=message) as problem:
            learn(table, labels)
        assert not isinstance(problem.value, IndexError)
        assert len(str(problem.value)) < 500
    assert model.tally_.to_bytes() == before
    assert np.array_equal(model.predict_joint_log_proba(X), said)
    fresh = bk.NaiveBayes()
    if bad not in ("a missing column", "a word for a number"):  # these contradict what was learned before
        with pytest.raises(bk.BayesError):
            fresh.fit(table, labels)
        assert not hasattr(fresh, "tally_")


@pytest.mark.parametrize("bad", [name for name in LEARNING if "cell" in name or "lists for" in name])
def test_a_cell_that_is_no_scalar_is_a_type_error_too(bad, model):
    table, labels, _ = LEARNING[bad]
    with pytest.raises(TypeError) as problem:
        model.partial_fit(table, labels)
    assert isinstance(problem.value, NotScalar)


# What is wrong with labels; of rows that are scored, what is absent is missing.
LEARNED_ALONE = ("label", "target", "class probabilities", "a table of names", "a missing column")
SAYING = [name for name in LEARNING if not any(word in name for word in LEARNED_ALONE)]


@pytest.mark.slow
@pytest.mark.parametrize("bad", SAYING)
@pytest.mark.parametrize("ask", ["predict", "predict_proba", "predict_log_proba", "score_samples"])
def test_what_cannot_be_read_is_refused_in_asking_too(bad, ask, model):
    table, _, message = LEARNING[bad]
    with pytest.raises(bk.BayesError, match=message):
        getattr(model, ask)(table)


WEIGHTS = {
    "negative": ([1, -1, 1, 1], r"row 1 has weight -1"),
    "NaN": ([1, 1, NAN, 1], r"row 2 has weight nan"),
    "None": ([1, 1, None, 1], r"row 2 has weight nan"),
    "infinite": ([1, 1, 1, INF], r"row 3 has weight inf"),
    "too few": ([1, 1, 1], r"\(3,\), expected \(4,\)"),
    "a table": (np.ones((4, 2)), r"1D array or scalar"),
    "words": (["a"] * 4, r"sample_weight holds no numbers"),
    "a name": ("weight", "no column of weights .weight."),
    "all zero": ([0, 0, 0, 0], r"every row has weight zero"),
    "one beyond all sums": ([1e308] * 4, r"row 0 has weight 1e\+308; weights are 0 or from 1e-100 to 1e\+100.*scale"),
}


@pytest.mark.parametrize("bad", WEIGHTS)
@pytest.mark.parametrize("columns", [["sky"], ["sky", "size"]])
def test_bad_weights_are_refused_and_change_nothing(bad, columns):
    weights, message = WEIGHTS[bad]
    model = bk.NaiveBayes().fit(X[columns], Y)
    before = model.tally_.to_bytes()
    for learn in (model.partial_fit, model.forget, bk.NaiveBayes().fit):
        with pytest.raises(bk.BayesError, match=message):
            learn(X[columns], Y, sample_weight=weights)
    assert model.tally_.to_bytes() == before


def test_scoring_with_no_weight_at_all_is_refused(model):
    with pytest.raises(bk.BayesError, match="weight"):
        model.score(X, Y, sample_weight=[0, 0, 0, 0])


def test_one_class_is_allowed_with_a_warning():
    with pytest.warns(BayesWarning, match=r"one class only \('a'\)"):
        model = bk.NaiveBayes().fit(X, ["a"] * 4)
    assert model.predict_proba(X).tolist() == [[1.0]] * 4
    assert model.predict(X).tolist() == ["a"] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.partial_fit(X, Y).classes_.tolist() == ["a", "b"]


def test_a_value_outside_a_declared_domain_is_refused():
    model = bk.NaiveBayes(domains={"sky": ["sun", "rain"]}).fit(X, Y)
    before = model.tally_.to_bytes()
    message = r"'sky' has 'hail' in row 1, outside its declared domain \(sun, rain\)\. Add it to domains="
    for learn in (model.partial_fit, model.forget, bk.NaiveBayes(domains={"sky": ["sun", "rain"]}).fit):
        with pytest.raises(UnknownValue, match=message):
            learn(sky("sun", "hail"), Y[:2])
    assert model.tally_.to_bytes() == before
    numbers = bk.NaiveBayes(domains={0: range(3)})
    with pytest.raises(UnknownValue, match=r"'x0' has 7 in row 1"):
        numbers.fit(np.array([[1], [7]]), [0, 1])


def test_forgetting_more_than_was_learned_is_refused(model):
    before = model.tally_.to_bytes()
    refused = [
        (sky("sun", "sun", "sun"), ["a"] * 3, r"class 'a'"),
        (sky("rain"), ["a"], r"column 'sky' .*'rain'.* class 'a'"),
        (sky("hail"), ["a"], r"column 'sky' .*'hail'.* class 'a'"),
        (X.assign(size=1.0)[::2], ["a", "a"], r"column 'size' .* class 'a'"),
        (X[:1], ["z"], r"class 'z'"),
    ]
    for table, labels, message in refused:
        with pytest.raises(NotLearned, match=message + r".*nothing was changed"):
            model.forget(table, labels)
    with pytest.raises(bk.BayesError, match="without data"):
        model.forget(X, Y)
    assert model.tally_.to_bytes() == before


def test_models_of_different_schemas_do_not_merge(model):
    before = model.tally_.to_bytes()
    histogram = bk.NaiveBayes(numeric="histogram", cuts=[2])
    others = {
        r"column 'size' is .* absent": bk.NaiveBayes().fit(X[["sky"]], Y),
        r"column 'size' is .*cuts": histogram.fit(X, Y),
        r"column 'sky' is .*with the values 'sun', 'rain'": bk.NaiveBayes(domains={"sky": ["sun", "rain"]}).fit(X, Y),
        r"all strings or all numbers": bk.NaiveBayes().fit(X, [0, 1, 0, 1]),
    }
    for message, other in others.items():
        with pytest.raises(SchemaMismatch, match=message):
            model.merge(other)
        with pytest.raises(SchemaMismatch):
            _ = other + model
    with pytest.raises(SchemaMismatch, match="target"):
        bk.NaiveBayes().fit(X.assign(u=Y), "u").merge(bk.NaiveBayes().fit(X.assign(v=Y), "v"))
    with pytest.raises(bk.BayesError, match="GaussianNB"):
        model.merge(bk.GaussianNB().fit(np.eye(2), [0, 1]))
    with pytest.raises(TypeError):
        model + 1
    with pytest.raises(ValueError, match="not fitted"):
        model.merge(bk.NaiveBayes())
    assert model.tally_.to_bytes() == before


def test_classes_of_another_kind_are_not_learned_later():
    model = bk.NaiveBayes().fit(X, [0, 1, 0, 1])
    before = model.tally_.to_bytes()
    with pytest.raises(bk.BayesError, match=r"all strings or all numbers, not both: 1 and 'b'|0 and 'b'|and 'b'"):
        model.partial_fit(X, Y)
    assert model.tally_.to_bytes() == before


def test_histograms_with_other_cuts_do_not_merge():
    a, b = (bk.NaiveBayes(numeric="histogram", cuts=cuts).fit(X, Y) for cuts in ([1, 2], [1, 3]))
    with pytest.raises(SchemaMismatch, match=r"'size'.*cuts 1, 2 on one.*cuts 1, 3 on"):
        a.merge(b)


def test_a_most_probable_estimate_needs_hyperparameters_of_at_least_one():
    for beta in (0.5, {"sun": 2, "rain": 0.5}):
        with pytest.raises(bk.BayesError, match=r"β.* is 0\.5.*Lidstone"):
            bk.Dirichlet(beta)
    with pytest.raises(bk.BayesError, match="mode"):
        _ = bk.BetaBernoulli(0.5, 0.5).map


SETTINGS = {
    "smoothing": ["much", -1, NAN, None, {"sky": "much"}],
    "prior": ["even", {"a": 0.5}, {"a": 0.5, "b": 0.5, "c": 0}, {"a": 2, "b": -1}, [0.3, 0.3], [1.0], 0.5, ["u", "v"]],
    "numeric": ["normal", 1, {"size": "normal"}],
    "variance": ["none", None, {"size": "own"}],
    "ddof": [2, "1", None],
    "roles": ["text", {"sky": "date"}, {"nowhere": "numeric"}, {9: "numeric"}, "ignore", {"sky": "numeric"}],
    "domains": [{"sky": []}, {"sky": [None]}, {"nowhere": ["a"]}, {"sky": ["fog"]}],
    "schema": ["sky", {"sky": "categorical"}],
    "missing": ["drop", None],
    "unseen": ["drop", None],
    "undecidable": ["guess", None],
    "ties": ["last", None],
    "n_threads": [0, -1, 1.5, "2", True, 5000, 2**62, 2**70],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SETTINGS.items() for value in values])
def test_settings_that_mean_nothing_are_refused(name, value):
    model = bk.NaiveBayes(**{name: value})
    with pytest.raises(bk.BayesError):
        model.fit(X, Y)
    assert not hasattr(model, "tally_")


@pytest.mark.parametrize(
    "cuts", ["mld", ("mdl", 0), None, 2.5, 0, -3, [NAN], [INF], [2, 1], [1, 1], ["a"], {"size": [3, 2]}]
)
def test_cut_points_that_cut_nothing_are_refused(cuts):
    model = bk.NaiveBayes(numeric="histogram", cuts=cuts)
    with pytest.raises(bk.BayesError, match=r"cut|interval"):
        model.fit(X, Y)


@pytest.mark.parametrize("setting", ["smoothing", "numeric", "variance", "cuts"])
def test_a_column_of_its_own_must_exist(setting):
    value = {"smoothing": 2.0, "numeric": "histogram", "variance": "all", "cuts": 3}[setting]
    with pytest.raises(bk.BayesError, match="skies"):
        bk.NaiveBayes(**{setting: {"skies": value}}).fit(X, Y)


@pytest.mark.parametrize("seed", [1.5, "seed", object()])
def test_a_seed_is_a_number_or_a_generator(seed):
    with pytest.raises(bk.BayesError, match="random_state"):
        bk.NaiveBayes(ties="random", random_state=seed).fit(X, Y).predict(X)


@pytest.mark.parametrize("n", [-1, 2.5, "3"])
def test_samples_are_counted_in_whole_numbers(n, model):
    with pytest.raises(bk.BayesError):
        model.sample(n)


def test_a_setting_that_cannot_be_estimated_leaves_the_model_as_it_was():
    model = bk.NaiveBayes(prior={"a": 0.5, "b": 0.5}).fit(X, Y)
    before, said = model.tally_.to_bytes(), model.predict_proba(X)
    with pytest.raises(bk.BayesError, match=r"does not name \['c'\]"):
        model.partial_fit(X, ["a", "b", "c", "c"])
    with pytest.raises(bk.BayesError, match=r"prior"):
        model.with_prior({"a": 1.0})
    assert model.classes_.tolist() == ["a", "b"]
    assert model.tally_.to_bytes() == before
    assert np.array_equal(model.predict_proba(X), said)


def test_asking_for_what_is_not_there_names_what_is(model):
    for ask in (lambda: model.table("nowhere"), lambda: model.restrict(["nowhere"]), lambda: model.table(7)):
        with pytest.raises(SchemaMismatch, match=r"no column .* \(columns: sky, size\)"):
            ask()
    with pytest.raises(bk.BayesError, match="nothing"):
        bk.NaiveBayes(roles={"size": "ignore"}).fit(X, Y).table("size")


def test_a_model_is_learned_from_a_tally_and_from_nothing_else():
    for thing in ("tally", None, {"sky": 1}):
        with pytest.raises(bk.BayesError, match=r"[Tt]ally"):
            bk.NaiveBayes().fit_tally(thing)


@pytest.mark.parametrize(
    "ask", ["predict", "predict_proba", "score_samples", "table", "sample", "restrict", "with_prior"]
)
def test_a_model_that_was_not_fitted_says_so(ask):
    args = {"table": (), "sample": (), "restrict": (["sky"],), "with_prior": ("uniform",)}.get(ask, (X,))
    with pytest.raises(ValueError, match="not fitted yet"):
        getattr(bk.NaiveBayes(), ask)(*args)


def test_a_column_of_another_type_is_refused_and_not_silently_unseen():
    codes = bk.NaiveBayes(roles="categorical").fit([[1], [2], [1]], ["a", "b", "a"])
    with pytest.raises(SchemaMismatch, match=r"'x0' holds the str '1' .* held the int 1"):
        codes.predict([["1"], ["2"]])
    words = bk.NaiveBayes().fit([["1"], ["2"], ["1"]], ["a", "b", "a"])
    with pytest.raises(SchemaMismatch, match=r"'x0' holds the int 1 .* held the str '1'"):
        words.predict(np.array([[1], [2]]))


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e-155, 1e-150, 1e-100, 1e100, 1e140])
def test_numbers_of_any_size_never_give_nan(scale):
    numbers = np.array([[0.0], [1.0], [2.0], [3.0], [2.5], [0.5]]) * scale
    model = bk.NaiveBayes().fit(numbers, [0, 1, 0, 1, 0, 1])
    for asked in (numbers, numbers * 1.01, [[0.0]], [[1.0]], [[-1e149]]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bk.UndecidableWarning)
            proba = model.predict_proba(asked)
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1)


@pytest.mark.parametrize("numeric", ["gaussian", "histogram"])
@pytest.mark.parametrize("missing", ["ignore", "value"])
def test_gaps_everywhere_never_give_nan(numeric, missing):
    gaps = pd.DataFrame({"sky": pd.Series([None] * 4, dtype=object), "size": [NAN] * 4})
    partly = pd.DataFrame({"sky": [None, "sun", None, "sun"], "size": [1.0, NAN, 2.0, NAN]})
    for table in (gaps, partly):
        for smoothing in (0, 1, "auto"):
            model = bk.NaiveBayes(numeric=numeric, missing=missing, smoothing=smoothing).fit(table, Y)
            for asked in (gaps, partly, X, sky("never seen", None)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", bk.UndecidableWarning)
                    assert np.isfinite(model.predict_proba(asked)).all()


def test_constant_columns_say_nothing():
    model = bk.NaiveBayes().fit([[5.0, 1.0], [5.0, 2.0], [5.0, 2.5]], [0, 1, 1])
    without = bk.NaiveBayes().fit([[1.0], [2.0], [2.5]], [0, 1, 1])
    np.testing.assert_array_equal(model.predict_proba([[5.0, 1.5], [9.0, 1.5]]), without.predict_proba([[1.5], [1.5]]))
