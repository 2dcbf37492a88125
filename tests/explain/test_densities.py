"""Densities, their regions and P(mistake): closed forms and worked examples say the same."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from tests.charts.drawn import check, head_of


def normals(means, counts):
    """Rows of classes with these means, of variance 1 by maximum likelihood."""
    x = [m + s for m, n in zip(means, counts, strict=True) for s in (-1.0, 1.0) * n]
    y = [f"c{i}" for i, n in enumerate(counts) for _ in range(2 * n)]
    return bk.NaiveBayes(ddof=0).fit({"x": x}, y)


def test_three_normals_have_the_boundaries_and_the_mistake_of_the_worked_example():
    model = normals([-2.0, 0.0, 2.0], [1, 2, 1])  # worked example 37
    record = model.densities("x")
    assert record.boundaries == pytest.approx([-1.346574, 1.346574], abs=1e-6)
    assert record.mistake == pytest.approx(0.217429, abs=2e-6)
    assert [label for _, _, label in record.regions] == ["c0", "c1", "c2"]


def test_two_normals_agree_with_the_closed_form():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    model = bk.NaiveBayes().fit({"x": rng.normal(size=300) * (1 + y) + 2 * y}, y)
    exact, record = bk.mistake_probability(model), model.densities("x")
    assert record.mistake == pytest.approx(exact.probability, abs=1e-6)
    assert record.boundaries == pytest.approx([low for low, _, _ in exact.regions[1:]], abs=1e-9)


def test_counts_are_summed_over_whole_numbers():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    model = bk.NaiveBayes(numeric="poisson").fit({"n": rng.poisson(3 + 4 * y)}, y)
    record, n = model.densities("n"), np.arange(200.0)
    best = np.exp(model.predict_joint_log_proba({"n": n})).max(axis=1).sum()
    assert record.mistake == pytest.approx(1 - best, abs=1e-6)
    assert record.whole


def test_the_histogram_counts_the_rows_of_each_class_and_leaves_gaps_out():
    birds = datasets.load_penguins()
    model = bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")
    record = model.densities("bill_length_mm", birds, "species")
    assert record.counts.sum(axis=1).tolist() == [151, 68, 123]
    weighted = model.densities("bill_length_mm", birds.slice(0, 10), ["Gentoo"] * 10)
    assert weighted.counts.sum() == 9  # a bird was not measured
    assert "P(mistake) 0.24" in str(record)


@pytest.mark.slow
def test_the_picture_says_the_mistake_and_names_the_classes(tmp_path):
    birds = datasets.load_penguins()
    for kind in ("gaussian", "student", "kernel"):
        model = bk.NaiveBayes(numeric=kind, roles={"year": "ignore"}).fit(birds, "species")
        chart = check(model.densities("bill_length_mm", birds, "species").chart(), tmp_path, kind)
        assert "P(mistake) 0.2" in head_of(chart)
    check(model.table("body_mass_g").chart(), tmp_path)
    many = np.repeat(np.arange(12), 50)
    model = bk.NaiveBayes().fit({"x": many + np.tile(np.linspace(-1, 1, 50), 12)}, many)
    assert "6 rarer classes are not drawn" in head_of(check(model.densities("x").chart(), tmp_path))


def test_what_has_no_density_is_refused():
    table = {"sky": ["sun", "rain"] * 3, "x": [1.0] * 6, "n": [1.0, 2.0, 3.0, 4.0, 5.0, 9.0]}
    model = bk.NaiveBayes(numeric="gaussian", roles={"n": "ignore"}).fit(table, ["a", "b"] * 3)
    with pytest.raises(bk.BayesError, match="has values and no density"):
        model.densities("sky")
    with pytest.raises(bk.BayesError, match="tells nothing of any class"):
        model.densities("x")
    with pytest.raises(bk.BayesError, match="is ignored"):
        model.densities("n")
    with pytest.raises(AttributeError, match="its columns act jointly"):
        bk.TAN().fit(table, ["a", "b"] * 3).densities  # noqa: B018


def test_the_steps_of_a_histogram_have_the_area_and_the_mistake_of_its_table():
    lengths = [3.0] * 12 + [7.0] * 12 + [5.0] * 12
    kinds = [kind for g, k in ((10, 2), (3, 9), (6, 6)) for kind in ["grasshopper"] * g + ["katydid"] * k]
    model = bk.NaiveBayes(smoothing=0, numeric="histogram", cuts=[4, 6]).fit({"length": lengths}, kinds)
    record = model.densities("length", {"length": lengths}, kinds)
    assert record.densities[0, 1::2][:3] == pytest.approx([10 / 19 / 2, 6 / 19 / 2, 3 / 19 / 2])  # intervals of width 2
    widths = np.diff(record.line)
    areas = ((record.densities[:, 1:] + record.densities[:, :-1]) / 2 * widths).sum(axis=1)
    assert areas == pytest.approx([1.0, 1.0], abs=1e-3)
    assert record.mistake == pytest.approx((2 + 6 + 3) / 36)
    assert record.mistake == bk.mistake_probability(model).probability
    assert record.regions[0] == (-np.inf, 4, "grasshopper")
    one = bk.NaiveBayes(numeric="histogram", cuts=[]).fit({"x": [1.0, 2.0]}, ["a", "b"])
    with pytest.raises(bk.BayesError):
        one.densities("x")
