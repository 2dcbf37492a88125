"""Images of classes, words of classes, and the graph of dependence."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import bayeskit as bk
from bayeskit import datasets
from tests.charts.drawn import check, head_of, rows_of


def test_the_image_of_a_class_is_the_mean_of_its_rows():
    X, y = load_digits(return_X_y=True)
    images = bk.NaiveBayes(numeric="gaussian").fit(X, y).images((8, 8))
    for digit in (0, 7):
        assert images.pixels[digit] == pytest.approx(X[y == digit].mean(axis=0).reshape(8, 8))
    with pytest.raises(bk.BayesError, match="63 pixels, and the table 64 columns"):
        bk.NaiveBayes(numeric="gaussian").fit(X, y).images((7, 9))
    with pytest.raises(bk.BayesError, match="give \\(height, width\\)"):
        bk.NaiveBayes(numeric="gaussian").fit(X, y).images(8)
    with pytest.raises(bk.BayesError, match="no mean of column 'x0', which is histogram"):
        bk.NaiveBayes(numeric="histogram").fit(X, y).images((8, 8))


@pytest.mark.slow
def test_means_and_weights_are_drawn_and_large_images_made_smaller(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = bk.NaiveBayes(numeric="gaussian", variance="feature").fit(X, y)
    codes = [row["v"] for row in rows_of(check(model.images((8, 8)).chart(), tmp_path)) if "v" in row]
    assert len(codes) == 10
    assert np.array(codes).max() == 99
    check(model.to_logistic().images((8, 8)).chart(), tmp_path)
    wide = np.random.default_rng(0).normal(size=(40, 120 * 100))
    large = bk.NaiveBayes(numeric="gaussian").fit(wide, np.repeat([0, 1], 20))
    drawn = [row["v"] for row in rows_of(check(large.images((120, 100)).chart(), tmp_path)) if "v" in row]
    assert sum(map(len, drawn)) <= 9_000


@pytest.mark.slow
def test_the_words_of_each_class_are_drawn_with_their_evidence(tmp_path):
    docs = datasets.load_docstrings()
    model = bk.TextClassifier("multinomial").fit(docs["text"], docs["area"])
    table = model.telling_words(5)
    drawn = rows_of(check(table.chart(), tmp_path))
    assert [row["word"] for row in drawn] == table["word"]
    assert [row["number"] for row in drawn] == pytest.approx(table["evidence"], rel=1e-3)
    long = "a class of which the name is much too long for its place"
    of_long = bk.TextClassifier("multinomial").fit(["red apple", "blue sea"], [long, "water"]).telling_words()
    spec = of_long.chart().to_json()
    assert f'"{long}", "water"][datum.class]' in spec.replace("\\", "")  # said in full where a bar is pointed at
    many = bk.TextClassifier("multinomial", pattern="words1").fit([f"w{i}" for i in range(30)], [*map(str, range(30))])
    assert "the first 12 of 30" in head_of(check(many.telling_words().chart(), tmp_path))


def test_dependence_is_that_of_the_pairs_and_chance_is_none():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 4000)
    table = {"a": a, "b": a ^ (rng.random(4000) < 0.1), "c": rng.integers(0, 2, 4000)}
    found = bk.TAN(roles="categorical").fit(table, rng.integers(0, 2, 4000)).dependence()
    ((one, other, bits),) = [pair for pair in found.pairs if pair[2] > 0.01]
    assert {one, other} == {"a", "b"}
    assert bits == pytest.approx(1 - 0.469, abs=0.03)  # the entropy of a coin of 0.1 is missing to one bit
    assert "a" in str(found)
    aode = bk.AODE(roles="categorical").fit(table, rng.integers(0, 2, 4000)).dependence()
    assert aode.columns == found.columns


@pytest.mark.slow
def test_the_graph_of_dependence_is_drawn_for_few_and_for_many_columns(tmp_path):
    rng = np.random.default_rng(0)
    base = rng.integers(0, 3, (1500, 30))
    table = {f"a column with a long name {i}": base[:, i // 2] + (rng.random(1500) < 0.2) for i in range(60)}
    model = bk.TAN(roles="categorical").fit(table, rng.integers(0, 2, 1500))
    assert "weaker pairs are not drawn" in head_of(check(model.dependence().chart(), tmp_path))
    few = bk.TAN(roles={"year": "ignore"}).fit(datasets.load_penguins(), "species").dependence()
    assert "body_mass_g and sex" in head_of(check(few.chart(), tmp_path))
    none = bk.TAN(roles="categorical").fit({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5}, [0] * 10 + [1] * 10)
    with pytest.raises(bk.BayesError, match="no two columns depend"):
        none.dependence().chart()
    assert "no two columns" in str(none.dependence())
