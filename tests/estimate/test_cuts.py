"""Cut points against brute force and definitions; the Discretizer against scikit-learn's and by hand."""

import itertools
import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk
from bayeskit import kernels
from bayeskit.datasets import load_penguins
from bayeskit.estimate import cuts

few = settings(max_examples=60, deadline=None)
rows = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), min_size=1, max_size=40)


def entropy(labels):
    return -sum(p * math.log2(p) for c in set(labels) if (p := labels.count(c) / len(labels)))


def fayyad_irani(pairs):
    """The published rule, in bits, by trying every cut."""
    pairs = sorted(pairs)
    values, labels = [x for x, _ in pairs], [c for _, c in pairs]
    n, tried = len(pairs), []
    for i in range(1, n):
        if values[i - 1] < values[i]:
            e = (i * entropy(labels[:i]) + (n - i) * entropy(labels[i:])) / n
            tried.append((round(e, 10), i))
    if not tried:
        return []
    _, i = min(tried)
    left, right = labels[:i], labels[i:]
    k, k1, k2 = (len(set(part)) for part in (labels, left, right))
    whole, e1, e2 = entropy(labels), entropy(left), entropy(right)
    gain = whole - (i * e1 + (n - i) * e2) / n
    delta = math.log2(3**k - 2) - (k * whole - k1 * e1 - k2 * e2)
    if gain <= (math.log2(n - 1) + delta) / n + 1e-12:
        return []
    return sorted([*fayyad_irani(pairs[:i]), (values[i - 1] + values[i]) / 2, *fayyad_irani(pairs[i:])])


@few
@given(rows, st.integers(0, 4))
def test_mdl_cuts_are_those_of_the_published_rule(drawn, shift):
    pairs = [(float(x + shift * c), c) for x, c in drawn]
    x, y = (np.array(part) for part in zip(*pairs, strict=True))
    assert list(cuts.mdl(x, y, 3)) == pytest.approx(fayyad_irani(pairs))


def test_mdl_finds_the_steps_of_a_large_table_and_none_in_noise():
    rng = np.random.default_rng(0)
    x = rng.random(200_000)
    y = (np.digitize(x, [0.25, 0.5, 0.9]) % 2) ^ (rng.random(len(x)) < 0.05)
    assert cuts.mdl(x, y, 2) == pytest.approx((0.25, 0.5, 0.9), abs=1e-4)
    assert cuts.mdl(x, rng.integers(0, 3, len(x)), 3) == ()
    assert cuts.mdl(np.exp(np.exp(5 * x)), y, 2) == pytest.approx(
        np.exp(np.exp(5 * np.array([0.25, 0.5, 0.9]))), rel=0.1
    )


@few
@given(rows, st.integers(1, 8))
def test_a_weight_of_two_cuts_as_the_row_twice(drawn, n_bins):
    x, y = (np.array(part) for part in zip(*drawn, strict=True))
    x = x.astype(float)
    double, weights = np.repeat(x, 2), np.full(len(x), 2.0)
    assert cuts.mdl(x, y, 3, weights) == cuts.mdl(double, np.repeat(y, 2), 3)
    assert cuts.equal_frequency(x, n_bins, weights) == cuts.equal_frequency(double, n_bins)


@few
@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 9))
def test_equal_frequency_leaves_no_interval_empty_and_none_too_full_but_for_ties(drawn, n_bins):
    x = np.array(drawn, dtype=float)
    found = cuts.equal_frequency(x, n_bins)
    counts = np.bincount(np.searchsorted(found, x), minlength=len(found) + 1)
    assert (counts > 0).all()
    assert len(counts) <= n_bins
    most_equal = np.unique(x, return_counts=True)[1].max()
    assert counts.max() <= math.ceil(len(x) / n_bins) + most_equal


def test_random_cuts_follow_their_seed_and_cut_within_the_numbers():
    x = np.random.default_rng(1).normal(size=500)
    a, b, c = (cuts.random(x, 8, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert a == b != c
    assert len(a) <= 7
    assert x.min() < a[0]
    assert a[-1] < x.max()


@pytest.mark.parametrize("values", [[], [math.nan] * 3, [2.0] * 5, [1.0]])
def test_columns_without_two_values_have_no_cut(values):
    x, y = np.array(values), np.arange(len(values)) % 2
    assert cuts.mdl(x, y, 2) == cuts.equal_frequency(x, 4) == cuts.random(x, 4, np.random.default_rng(0)) == ()


def test_neighboring_floats_are_told_apart():
    x = np.array([1.0] * 20 + [np.nextafter(1.0, 2.0)] * 20)
    (cut,) = cuts.mdl(x, np.repeat([0, 1], 20), 2)
    assert cut == 1.0


def test_more_intervals_than_numbers_are_cuts_between_all_in_no_time():
    x = np.array([3.0, 1.0, np.nan, 2.0, 2.0])
    for number in (4, 5, 40, 2**40):
        assert kernels.frequency_cuts([x], [number], 1e-9, 1)[0].tolist() == [1.5, 2.5]


# -- the transformer ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([bk.Discretizer(way, output="codes", roles="numeric") for way in ("frequency", "mdl")])
def test_the_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("way", ["mdl", "frequency", "width", "random"])
@pytest.mark.parametrize("huge", ["-inf", "2e+150"])
def test_what_is_too_large_is_refused_with_its_column_and_row(way, huge):
    x = np.arange(300_000.0)
    x[299_000] = float(huge)
    with pytest.raises(bk.BayesError, match=rf"column 'size' has {re.escape(huge)} in row 299000"):
        bk.Discretizer(way).fit({"age": np.arange(300_000.0), "size": x}, np.arange(300_000) % 2)


def test_codes_are_the_intervals_and_missing_stays_missing():
    X = np.array([[1.0, 5.0], [2.0, np.nan], [3.0, 7.0]])
    tool = bk.Discretizer({0: [1.5, 2.0], 1: [6]}, output="codes").fit(X)
    assert np.array_equal(tool.transform(X), [[0, 0], [1, np.nan], [2, 1]], equal_nan=True)


def test_labels_are_readable_and_other_columns_stay():
    birds = load_penguins()
    tool = bk.Discretizer().fit(birds, "species")
    assert set(tool.cuts_) == {"bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "year"}
    out = tool.transform(birds)
    assert out["island"] == birds["island"].to_pylist()
    assert out["bill_length_mm"].count(None) == birds["bill_length_mm"].null_count
    assert out["flipper_length_mm"][0].startswith("≤ ")
    assert tool.table("bill_length_mm")["interval"][0].startswith("≤ ")
    assert tool.table()["column"] == list(tool.cuts_)


def test_labels_come_in_the_kind_of_table_that_was_given():
    birds = load_penguins().select(["island", "bill_length_mm", "year", "sex"])
    y, roles = load_penguins()["species"].to_pylist(), {"year": "ignore"}
    tool = bk.Discretizer(roles=roles).fit(birds, y)
    plain = tool.transform(birds)
    frame = birds.to_pandas().set_index(np.arange(len(birds)) + 7)
    frame["island"] = frame["island"].astype("category")
    out = tool.fit(frame, y).transform(frame)
    assert isinstance(out, pd.DataFrame)
    assert out.index.equals(frame.index)
    assert out["island"].dtype == frame["island"].dtype
    assert list(out.columns) == ["island", "bill_length_mm", "sex"] == tool.get_feature_names_out().tolist()
    assert [None if pd.isna(cell) else cell for cell in out["bill_length_mm"]] == plain["bill_length_mm"]
    assert frame["bill_length_mm"].dtype == float  # what was given is left alone
    out = tool.transform(pl.from_arrow(birds))
    assert isinstance(out, pl.DataFrame)
    assert out["bill_length_mm"].to_list() == plain["bill_length_mm"]
    numbers = frame[["bill_length_mm", "year"]].to_numpy()
    out = tool.set_params(roles={1: "categorical"}).fit(numbers, y).transform(numbers)
    assert out.dtype == object
    assert out[:, 0].tolist() == plain["bill_length_mm"]
    assert np.array_equal(out[:, 1], numbers[:, 1])
    assert tool.get_feature_names_out().tolist() == ["x0", "x1"]


@pytest.mark.slow
def test_chains_of_scikit_learn_take_the_labels():
    frame = load_penguins().to_pandas()
    y, X = frame["species"], frame[["bill_length_mm", "flipper_length_mm", "island"]]
    for rows in (X, X.iloc[:, :2].to_numpy()):
        chain = make_pipeline(bk.Discretizer(), OneHotEncoder(handle_unknown="ignore"), RandomForestClassifier(10))
        assert chain.fit(rows, y).score(rows, y) > 0.9
    names = make_pipeline(bk.Discretizer(), OneHotEncoder()).fit(X, y).get_feature_names_out()
    assert names[-1] == "island_Torgersen"
    assert names[0].startswith("bill_length_mm_")
    columns = ColumnTransformer([("cut", bk.Discretizer(), ["bill_length_mm"])], remainder="passthrough")
    out = columns.fit_transform(X, y)
    assert out.shape == X.shape
    assert columns.get_feature_names_out().tolist()[0] == "cut__bill_length_mm"
    codes = make_pipeline(bk.Discretizer(output="codes"), HistGradientBoostingClassifier(max_iter=5)).fit(X, y)
    assert codes.score(X, y) > 0.9
    assert codes[0].get_feature_names_out().tolist() == ["bill_length_mm", "flipper_length_mm"]


@pytest.mark.parametrize("output", ["labels", "codes"])
def test_scikit_learn_chooses_the_container_where_it_is_told_to(output):
    birds = load_penguins().select(["bill_length_mm", "island"])
    y, tool = load_penguins()["species"].to_pylist(), bk.Discretizer(output=output)
    names = ["bill_length_mm", "island"] if output == "labels" else ["bill_length_mm"]
    for rows in (birds, birds.to_pandas(), pl.from_arrow(birds), birds.to_pydict()):
        for name, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
            out = tool.set_output(transform=name).fit_transform(rows, y)
            assert isinstance(out, kind)
            assert list(out.columns) == names
            with config_context(transform_output=name):
                assert isinstance(bk.Discretizer(output=output).fit_transform(rows, y), kind)


@pytest.mark.parametrize("setting", ["mdl", "frequency", ("frequency", 4), "width", ("random", 6), 7])
def test_a_model_cuts_as_the_transformer_does(setting):
    frame = load_penguins().to_pandas().drop(columns=["species", "year"])
    y = load_penguins()["species"].to_pylist()
    tool = bk.Discretizer(setting, random_state=1).fit(frame, y)
    inside = bk.NaiveBayes(numeric="histogram", cuts=setting, random_state=1).fit(frame, y)
    assert {n: r.cuts for n, r in inside.schema_.columns.items() if r.name == "numeric"} == tool.cuts_
    shared = bk.NaiveBayes(schema=inside.schema_).fit(frame, y)
    outside = make_pipeline(tool, bk.NaiveBayes()).fit(frame, y)
    np.testing.assert_allclose(shared.predict_proba(frame), inside.predict_proba(frame))
    assert (outside.predict(frame) == inside.predict(frame)).mean() > 0.99  # empty intervals count in smoothing


@pytest.mark.parametrize("setting", ["mld", ("mdl", 0), ("width", 2.5), 0, -1, 2.5, True, [3, 2], ["a"], {"x": "up"}])
def test_cuts_that_mean_nothing_are_refused(setting):
    with pytest.raises(bk.BayesError, match=r"cut|interval"):
        bk.Discretizer(setting).fit({"x": [1.0, 2.0]}, [0, 1])


def test_what_cannot_be_cut_is_refused_by_name():
    with pytest.raises(bk.BayesError, match="'sky'"):
        bk.Discretizer({"sky": 3}).fit({"sky": ["a", "b"], "x": [1, 2]}, [0, 1])
    with pytest.raises(bk.BayesError, match="needs one label"):
        bk.Discretizer("mdl").fit({"x": [1, 2]})
    with pytest.raises(bk.BayesError, match="row 1"):
        bk.Discretizer(3).fit({"x": [1.0, math.inf]})


def test_pandas_frames_of_every_number_type_are_cut():
    x = np.arange(40)
    frame = pd.DataFrame({"i": x.astype("int8"), "f": x.astype("float32"), "n": pd.array(x, dtype="Int64")})
    found = bk.Discretizer().fit(frame, x > 20).cuts_
    assert set(itertools.chain(*found.values())) == {20.5}


def test_selecting_gives_the_cuts_of_sorting_to_the_bit():
    rng = np.random.default_rng(0)
    for i in range(300):
        n = int(rng.integers(0, 120))
        x = [rng.normal(size=n), rng.integers(0, 9, n).astype(float), np.exp(9 * rng.normal(size=n))][i % 3]
        x[rng.random(n) < 0.2 * (i % 2)] = np.nan
        x = np.where(rng.random(n) < 0.6 * (i % 5 == 0), 0.0, x)
        n_bins, numbers = int(rng.integers(1, 30)), np.sort(x[~np.isnan(x)])
        expected = cuts.at_ranks(numbers, np.arange(1, n_bins) * (len(numbers) / n_bins))
        assert cuts.equal_frequency(x, n_bins) == expected
