"""An explanation is the model: its parts sum to what is predicted, and its words say them."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

import bayeskit as bk
from bayeskit import datasets
from bayeskit.explain.nomogram import Axis, Nomogram, lay_out_nomogram, round_step, text_width

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
SETTINGS = [
    {},
    {"smoothing": 0},
    {"missing": "value", "unseen": "smooth"},
    {"numeric": "histogram", "cuts": 4, "smoothing": 0.5},
    {"variance": "feature", "prior": "uniform"},
]


def penguins(**how):
    birds = datasets.load_penguins()
    return birds, bk.NaiveBayes(roles={"year": "ignore"}, **{"numeric": "gaussian", **how}).fit(birds, "species")


def drawn(rng, n):
    return pa.table(
        {
            "sky": pa.array(rng.choice(["sun", "rain", "hail", None], n).tolist(), pa.string()),
            "flag": rng.random(n) < 0.5,
            "size": pa.array(rng.normal(size=n), mask=rng.random(n) < 0.2),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", SETTINGS, ids=str)
@settings.get_profile("few")
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 20), named=st.booleans())
def test_prior_and_contributions_sum_to_the_log_posterior_odds(how, seed, n, named):
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", *rng.choice(["a", "b", "c"], n - 2)])
    model = bk.NaiveBayes(**how).fit(drawn(rng, n), y)
    X = drawn(rng, 6)
    said, chosen = model.predict_log_proba(X), model.predict(X)
    classes = model.classes_.tolist()
    for i, record in enumerate(model.explain(X, against="b" if named else None)):
        a, b = classes.index(record.predicted), classes.index(record.against)
        assert record.row == i
        assert record.predicted == chosen[i]
        assert a != b
        assert [c.column for c in record.contributions] == ["sky", "flag", "size"]
        with np.errstate(invalid="ignore"):
            odds = said[i, a] - said[i, b]
        if record.undecidable:
            assert np.isneginf(model.predict_joint_log_proba(X)[i]).all()
            continue
        assert record.log_odds == pytest.approx(odds, rel=1e-9, abs=1e-9)
        parts = [record.prior_log_odds, *(c.log_odds for c in record.contributions)]
        assert sum(parts) == pytest.approx(odds, rel=1e-9, abs=1e-9)
        assert record.probability == pytest.approx(math.exp(said[i, a]))
        assert record.table["sum"][-1] == pytest.approx(odds, rel=1e-9, abs=1e-9)
        assert named is False or record.against == "b" or record.predicted == "b"
        assert str(record)
        assert record._repr_html_()


def test_the_runner_up_is_the_second_most_probable_class():
    birds, model = penguins()
    proba = model.predict_proba(birds)
    second = model.classes_[np.argsort(-proba, axis=1, kind="stable")[:, 1]]
    assert [record.against for record in model.explain(birds)] == second.tolist()


def test_sentences_say_by_what_factor():
    birds, model = penguins()
    bird = {**birds.slice(200, 1).to_pylist()[0], "bill_length_mm": 49.3, "sex": None, "island": "Mars"}
    record = model.explain(bird, against="Adelie")[0]
    spoken = {c.column: c.sentence for c in record.contributions}
    table = model.table("bill_length_mm")
    density = [
        math.exp(-((49.3 - m) ** 2) / (2 * v)) / math.sqrt(v)
        for m, v in zip(table["mean"], table["variance"], strict=True)
    ]
    factor = density[2] / density[0]
    assert spoken["bill_length_mm"] == f"bill_length_mm 49.3 makes Gentoo {factor:,.0f} times as likely as Adelie"
    assert spoken["sex"] == "sex is missing and left out"
    assert spoken["island"] == "island Mars was never seen in training and is left out"
    states = {c.column: c.state for c in record.contributions}
    assert (states["sex"], states["island"], states["body_mass_g"]) == ("missing", "unseen", "known")
    assert "before any evidence: Adelie 1.2 times as likely as Gentoo" in str(record)


def test_probability_zero_is_listed_apart():
    table = datasets.load_worked_example("computer")
    model = bk.NaiveBayes(smoothing=0).fit(table, "buys_computer")
    record = model.explain({"age": "31..40", "income": "high", "student": "no", "credit_rating": "excellent"})[0]
    assert [c.column for c in record.ruled_out] == ["age"]
    assert record.log_odds == math.inf
    assert record.ruled_out[0].sentence == "age 31..40 never occurs in no and rules it out"
    finite = [c.log_odds for c in record.by_size]
    assert np.isfinite(finite).all()
    assert sorted(map(abs, finite), reverse=True) == list(map(abs, finite))


def test_a_row_impossible_under_every_class_is_flagged_and_predicted_by_the_priors():
    X = {"x": ["u", "u", "v"], "z": ["p", "q", "q"]}
    model = bk.NaiveBayes(smoothing=0).fit({"x": ["u", "u", "v"], "z": ["p", "p", "q"]}, ["a", "a", "b"])
    record = model.explain({"x": "v", "z": "p"})[0]
    assert record.undecidable
    assert record.predicted == "a"
    assert record.probability == pytest.approx(2 / 3)
    assert "undecidable: impossible under every class" in str(record)
    assert not any(r.undecidable for r in bk.NaiveBayes().fit(X, ["a", "a", "b"]).explain(X))


def test_a_column_that_tells_nothing_is_named():
    model = bk.NaiveBayes(numeric="gaussian").fit({"x": [1.0, 1.0, 1.0, 1.0], "z": list("pqpq")}, list("abab"))
    record = model.explain({"x": 1.0, "z": "p"})[0]
    assert record.contributions[0].state == "unused"
    assert "x 1 is left out: the column tells nothing of any class" in str(record)


def test_what_cannot_be_explained_is_refused():
    birds, model = penguins()
    with pytest.raises(bk.BayesError, match=r"no class 'Emperor' \(classes: 'Adelie'"):
        model.explain(birds, against="Emperor")
    with pytest.raises(bk.BayesError, match="one class only"):
        bk.NaiveBayes().fit({"x": ["u"]}, ["a"]).explain({"x": "u"})
    with pytest.raises(bk.BayesError, match="no rows"):
        model.explain(birds.slice(0, 0))
    with pytest.raises(bk.BayesError, match="infinity"):
        model.explain({**birds.slice(0, 1).to_pylist()[0], "body_mass_g": math.inf})


def test_mutual_information_in_bits_is_that_of_the_counts():
    table = datasets.load_worked_example("tennis")
    found = bk.NaiveBayes(smoothing=0).fit(table, "play").column_importance()
    for record in found.columns:
        expected = mutual_info_score(table[record.column].to_pylist(), table["play"].to_pylist()) / math.log(2)
        assert record.bits == pytest.approx(expected, abs=1e-12)
    assert found.columns[0].column == "outlook"
    assert found.class_bits == pytest.approx(0.940285958670631)
    assert sum(v.bits for v in found.values if v.column == "outlook") == pytest.approx(found.columns[0].bits)
    assert found.values[0].sentence == "outlook overcast occurs in yes alone"


def test_mutual_information_of_a_gaussian_equals_its_integral():
    from scipy.integrate import quad
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 400, p=[0.3, 0.7])
    x = rng.normal(size=400) * np.where(y == "a", 1.0, 3.0) + (y == "a") * 2
    model = bk.NaiveBayes().fit({"x": x}, y)
    table, p = model.table("x"), np.array(model.table()["P(class)"])
    normal = [norm(m, math.sqrt(v)) for m, v in zip(table["mean"], table["variance"], strict=True)]

    def part(t):
        density = np.array([d.pdf(t) for d in normal])
        return float((p * density * np.log2(density / (p * density).sum())).sum())

    assert model.column_importance().columns[0].bits == pytest.approx(quad(part, -12, 14, limit=200)[0], abs=1e-3)


def test_a_column_without_news_has_no_bits_and_nothing_exceeds_the_class():
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b"], 50)
    found = (
        bk.NaiveBayes(smoothing=0)
        .fit({"same": ["u", "v"] * 50, "all": y, "x": rng.normal(size=100)}, y)
        .column_importance()
    )
    bits = {c.column: c.bits for c in found.columns}
    assert bits["same"] == pytest.approx(0, abs=1e-12)
    assert bits["all"] == pytest.approx(found.class_bits)
    assert 0 <= bits["x"] < 0.1
    assert "bits" in str(found)
    assert "<li>" in found._repr_html_()


@pytest.mark.parametrize("how", SETTINGS[:4], ids=str)
def test_the_points_of_a_nomogram_give_the_probability(how):
    _, model = penguins(**how)
    found = model.nomogram("Gentoo", "Adelie")
    assert max(max(p for p in axis.points if math.isfinite(p)) for axis in found.axes) == pytest.approx(100)
    row, total = {}, 0.0
    for axis in found.axes:
        i = len(axis.values) // 2
        row[axis.column] = axis.values[i]
        total += axis.points[i]
    if how.get("numeric") == "histogram":
        for name in row:
            role = model.schema_.columns[name]
            if getattr(role, "cuts", None):
                labels = next(axis.values for axis in found.axes if axis.column == name)
                row[name] = [role.cuts[0], *role.cuts[1:], role.cuts[-1] + 1][labels.index(row[name])]
    joint = model.predict_joint_log_proba(row)[0]
    expected = 1 / (1 + math.exp(joint[0] - joint[2]))
    assert found.probability(total) == pytest.approx(expected, rel=1e-9)
    for points, p in found.totals:
        assert found.probability(points) == pytest.approx(p)
    assert max(map(len, str(found).splitlines())) <= 80


def test_missing_cells_have_points_of_their_own():
    _, model = penguins()
    found = model.nomogram("Gentoo", "Adelie")
    total = sum(axis.missing_points for axis in found.axes)
    empty = dict.fromkeys(model.schema_.columns)
    joint = model.predict_joint_log_proba(empty)[0]
    assert found.probability(total) == pytest.approx(1 / (1 + math.exp(joint[0] - joint[2])))


def test_a_nomogram_is_for_two_classes():
    _, model = penguins()
    assert (model.nomogram().predicted, model.nomogram().against) == ("Adelie", "Gentoo")
    two = bk.NaiveBayes().fit({"x": list("uvuv")}, ["no", "yes", "no", "yes"]).nomogram()
    assert (two.predicted, two.against) == ("yes", "no")
    for bad, message in [(("Gentoo", "Gentoo"), "against itself"), (("Emperor", None), "no class 'Emperor'")]:
        with pytest.raises(bk.BayesError, match=message):
            model.nomogram(*bad)
    with pytest.raises(bk.BayesError, match="one class"):
        bk.NaiveBayes().fit({"x": ["u"]}, ["a"]).nomogram()
    with pytest.raises(bk.BayesError, match="prior rules out"):
        model.with_prior({"Adelie": 0, "Chinstrap": 0.5, "Gentoo": 0.5}).nomogram("Adelie")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_a_range_is_cut_at_few_round_numbers(low, width):
    step = round_step(low, low + width)
    assert 3 <= width / step < 30
    assert round(step / 10 ** math.floor(math.log10(step) + 1e-9), 9) in (1, 2, 5)


def skewed():
    """Rows of which no number is below zero, though a normal would expect many to be."""
    rng = np.random.default_rng(5)
    labels = np.where(rng.random(400) < 0.5, "yes", "no")
    fare = rng.exponential(30, 400) * np.where(labels == "yes", 2, 1)
    return {"fare": fare, "age": rng.integers(0, 80, 400), "port": rng.choice(["C", "Q", "S"], 400)}, labels


@pytest.mark.parametrize("numeric", ["gaussian", "student", "kernel", "poisson"])
def test_rulers_keep_to_the_range_of_the_rows(numeric):
    table, labels = skewed()
    whole = {name: np.round(column) if name == "fare" else column for name, column in table.items()}
    model = bk.NaiveBayes(numeric=numeric).fit(whole, labels)
    for axis in model.nomogram(X=whole).axes:
        if axis.is_number:
            assert (axis.values[0], axis.values[-1]) == (whole[axis.column].min(), whole[axis.column].max())
            assert list(axis.values) == sorted(axis.values)
            assert min(axis.points) == pytest.approx(0)


def test_a_kernel_density_knows_the_range_of_what_it_has_learned():
    table, labels = skewed()
    model = bk.NaiveBayes(numeric="kernel").fit(table, labels)
    assert model.nomogram().guessed == ()
    assert {axis.column: axis.values[0] >= 0 for axis in model.nomogram().axes if axis.is_number} == dict.fromkeys(
        ("fare", "age"), True
    )


def test_rulers_of_numbers_whose_range_is_not_known_go_where_they_are_expected_and_say_so():
    table, labels = skewed()
    model = bk.NaiveBayes(numeric="gaussian").fit(table, labels)
    assert {*model.nomogram().guessed} == {"fare", "age"}
    assert "nomogram(X=rows)" in str(model.nomogram())
    assert model.nomogram(X={"age": [0, 90]}).guessed == ("fare",)
    assert "nomogram(X=rows)" not in str(model.nomogram(X=table))


def test_rows_in_any_form_say_the_range_and_bad_ones_are_refused():
    table, labels = skewed()
    model = bk.NaiveBayes(numeric="gaussian").fit(table, labels)
    frame = pa.table(table)
    expected = model.nomogram(X=table).axes
    assert model.nomogram(X=frame).axes == model.nomogram(X=frame.to_pandas()).axes == expected
    with_gap = {**table, "age": np.where(np.arange(400) == 7, np.nan, table["age"].astype(float))}
    assert model.nomogram(X=with_gap).axes == expected
    plain = bk.NaiveBayes(numeric="gaussian").fit(np.column_stack([table["fare"], table["age"]]), labels)
    drawn = plain.nomogram(X=np.array([[0.0, 1.0], [9.0, 5.0]]))
    assert sorted((axis.values[0], axis.values[-1]) for axis in drawn.axes) == [(0.0, 9.0), (1.0, 5.0)]
    with pytest.raises(bk.BayesError, match="age"):
        model.nomogram(X={"age": ["old"]})
    with pytest.raises(bk.BayesError, match="inf"):
        model.nomogram(X={"age": [np.inf]})


def test_totals_are_those_that_some_row_may_have():
    table, labels = skewed()
    for model in (bk.NaiveBayes().fit(table, labels), bk.NaiveBayes().fit({"port": table["port"]}, labels)):
        found = model.nomogram(X=table)
        assert len(found.totals) >= 2
        assert all(-1e-9 <= total <= found.most + 1e-9 for total, _ in found.totals)
        assert [total for total, _ in found.totals] == sorted(total for total, _ in found.totals)


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=60),
    st.lists(st.text("abcdefgh äöü日本", min_size=1, max_size=30), min_size=1, max_size=60, unique=True),
    st.booleans(),
)
@example([5e-324], ["a"], False)
@settings(max_examples=60)
def test_no_name_on_a_ruler_covers_another(points, names, is_number):
    n = min(len(points), len(names))
    values = tuple(float(v) for v in range(n)) if is_number else tuple(names[:n])
    axis = Axis("column", values, tuple(points[:n]), tuple(points[:n]), 50.0, is_number)
    page = lay_out_nomogram(
        Nomogram("class", "a", "b", (axis, axis), 1.0, -50.0, ((0.0, 0.1), (2 * max(points[:n]), 0.9)))
    )
    boxes = [
        (name.x - text_width(name.text) / 2, name.x + text_width(name.text) / 2, name.y)
        for name in page.names
        if name.anchor == "middle"
    ]
    for i, (left, right, y) in enumerate(boxes):
        assert not [b for b in boxes[i + 1 :] if left < b[1] and b[0] < right and abs(y - b[2]) < 10]
    assert all(0 <= name.y <= page.height for name in page.names)
    assert all(left >= 0 and right <= page.width for left, right, _ in boxes)


def test_the_numbers_on_each_side_of_a_ruler_are_in_order():
    rows = {"x": [*np.linspace(-3, 3, 60), *np.linspace(-1, 1, 60)]}  # wide and narrow: the odds fall and rise again
    found = bk.NaiveBayes().fit(rows, ["wide"] * 60 + ["narrow"] * 60).nomogram("wide", "narrow", X=rows)
    ticks = [tick for tick in lay_out_nomogram(found).ticks if tick.column == "x"]
    for side in (-1, 1):
        values = [
            float(tick.value) for tick in sorted(ticks, key=lambda tick: tick.x) if side * (tick.end - tick.y) > 0
        ]
        assert values in (sorted(values), sorted(values, reverse=True))
        assert len(values) > 3


def test_the_page_of_a_nomogram_names_what_it_does_not_draw():
    table = {f"c{i}": ["u", "v", "u", "v"] for i in range(3)} | {"flat": ["u", "u", "v", "v"]}
    found = bk.NaiveBayes(smoothing=0).fit(table, ["a", "b", "a", "b"]).nomogram()
    page = found._repr_html_()
    assert "never in a: v" in page
    assert "under one point: flat" in page
    many = bk.NaiveBayes().fit({f"c{i}": ["u", "v"] * 4 for i in range(100)}, ["a", "b"] * 4).nomogram()
    assert "not drawn" in many._repr_html_()
    assert len(many._repr_html_()) < 60_000
    values = {"v": [f"value {i}" for i in range(2_000)]}
    wide = bk.NaiveBayes(roles="categorical").fit(values, ["a", "b"] * 1_000).nomogram()
    assert len(wide._repr_html_()) < 20_000


def test_the_importance_of_a_number_is_bounded_work_for_many_classes():
    rng = np.random.default_rng(0)
    y = np.arange(1_200) % 400
    model = bk.NaiveBayes(numeric="gaussian").fit({"x": rng.normal(size=1_200) + y % 4}, y)
    asked = []
    score = model._column_scores
    model._column_scores = lambda params, name, cells: asked.append(len(cells)) or score(params, name, cells)
    bits = model.column_importance().columns[0].bits
    assert sum(asked) <= 20_000
    line = np.linspace(-12, 16, 60_001)
    p = np.exp(score(model.params_, "x", line)) / 400
    whole = p.sum(axis=1)
    exact = np.sum(p * np.log2(np.maximum(p * 400, 1e-300) / whole[:, None]), axis=1).sum() * (line[1] - line[0])
    assert bits == pytest.approx(exact, abs=0.01)
