"""A declared domain keeps its order in tables, charts and files, and changes no number."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.network.bif import read_bif, write_bif

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
ORDER = ["Low", "Medium", "High"]
TABLE = {
    "level": ["High", "Low", "Medium", "High", "Low", "High", None, "High"] * 4,
    "wind": ["no", "yes", "no", "yes", "yes", "no", "no", "no"] * 4,
}
LABELS = ["b", "a", "a", "b", "a", "b", "a", "b"] * 4
MODELS = [bk.NaiveBayes, bk.TAN, bk.KDB, bk.AODE, bk.FullJointBayes, bk.NBTree, bk.LogisticRegression]


@pytest.mark.parametrize("kind", MODELS)
def test_tables_have_the_declared_order_and_predictions_are_those_of_any_order(kind, tmp_path):
    model = kind(domains={"level": ORDER}).fit(TABLE, LABELS)
    other = kind(domains={"level": sorted(ORDER)}).fit(TABLE, LABELS)
    np.testing.assert_allclose(model.predict_proba(TABLE), other.predict_proba(TABLE), atol=1e-9)
    assert model.schema_.columns["level"].domain == tuple(ORDER)
    if kind not in (bk.NBTree, bk.AODE, bk.LogisticRegression):
        assert list(dict.fromkeys(model.table("level")["level"])) == ORDER
    model.save(tmp_path / "m.bayes")
    loaded = bk.load(tmp_path / "m.bayes")
    assert loaded.schema_.columns["level"].domain == tuple(ORDER)
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE))


def test_the_order_stays_when_rows_come_and_go():
    rows = {name: cells[:8] for name, cells in TABLE.items()}
    model = bk.NaiveBayes(domains={"level": ORDER}).fit(rows, LABELS[:8])
    model.partial_fit(TABLE, LABELS).forget(rows, LABELS[:8])
    assert model.table("level")["level"] == ORDER
    other = bk.NaiveBayes(domains={"level": ORDER[::-1]}).fit(rows, LABELS[:8])
    both = model.merge(other)
    assert both.table("level")["level"] == ORDER
    assert both.table("level")["count | a"] == [
        a + dict(zip(other.table("level")["level"], other.table("level")["count | a"], strict=True))[value]
        for value, a in zip(ORDER, model.table("level")["count | a"], strict=True)
    ]


def test_sides_that_declare_other_values_do_not_fit():
    model = bk.NaiveBayes(domains={"level": ORDER}).fit(TABLE, LABELS)
    other = bk.NaiveBayes(domains={"level": [*ORDER, "None"]}).fit(TABLE, LABELS)
    with pytest.raises(bk.errors.SchemaMismatch, match="level"):
        model.merge(other)


def test_tallies_of_counts_networks_and_joints_keep_it(tmp_path):
    counts = {"level": {"yes": {"Low": 10, "Medium": 13, "High": 17}, "no": {"Low": 2, "Medium": 13}}}
    tally = bk.Tally.from_counts(counts, domains={"level": ORDER})
    assert bk.NaiveBayes().fit_tally(tally).table("level")["level"] == ORDER
    assert bk.Tally.from_bytes(tally.to_bytes()) == tally
    joint = bk.JointDistribution.from_data({"level": ["High", "Low"]}, domains={"level": ORDER})
    assert joint.values["level"] == tuple(ORDER)
    network = bk.BayesianNetwork.from_data([("wind", "level")], TABLE, domains={"level": ORDER}, smoothing=1)
    assert network.states["level"] == tuple(ORDER)
    write_bif(network, tmp_path / "n.bif")
    assert read_bif(tmp_path / "n.bif").states["level"] == tuple(ORDER)


def test_the_chart_of_a_table_has_the_order():
    table = bk.NaiveBayes(domains={"level": ORDER}).fit(TABLE, LABELS).table("level")
    text = str(table.chart("bars").to_dict())
    assert text.index("Low") < text.index("Medium") < text.index("High")


def test_weekdays_begin_on_monday():
    when = {"when": np.array(["2024-01-01", "2024-01-05", "2024-01-07"], dtype="datetime64[s]")}
    model = bk.NaiveBayes(roles={"when": "weekday"}).fit(when, ["a", "b", "a"])
    assert model.table("when.weekday")["when.weekday"] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def test_classes_stay_sorted():
    model = bk.NaiveBayes(domains={"class": ["c", "b", "a"]}).fit(TABLE, LABELS)
    assert model.classes_.tolist() == ["a", "b", "c"]


def test_counts_outside_a_declared_domain_are_refused():
    counts = {"level": {"yes": {"Low": 10, "Huge": 1}}}
    with pytest.raises(bk.BayesError, match="'Huge', outside its declared domain"):
        bk.Tally.from_counts(counts, domains={"level": ORDER})
    with pytest.raises(bk.BayesError, match="'size', which has no counts"):
        bk.Tally.from_counts(counts, domains={"size": ORDER})


def test_what_a_column_holds_is_listed_in_its_declared_order():
    sizes = {"size": ["High", "Medium", "High", "Low", "Medium", "High"]}
    assert "3: Low, Medium, High" in str(
        bk.NaiveBayes(domains={"size": ["Low", "Medium", "High"]}).fit(sizes, [*"aabbab"])
    )
    assert "3: High, Medium, Low" in str(bk.NaiveBayes().fit(sizes, [*"aabbab"]))  # the most frequent first
    cut = bk.NaiveBayes(numeric="histogram", cuts=[10, 20]).fit({"x": [5.0, 15.5, 15.2, 25.0]}, [*"aabb"])
    assert "3: ≤ 10, 10 – 20, > 20" in str(cut)


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ({"size": "Low"}, "the domain of column 'size' is a list of its values, not 'Low'"),
        ({"size": 3}, "the domain of column 'size' is a list of its values, not 3"),
        (["Low"], r"domains=\['Low'\]: it is a mapping from column to its values"),
    ],
)
def test_a_domain_is_a_list_of_values(domains, message):
    with pytest.raises(bk.BayesError, match=message):
        bk.NaiveBayes(domains=domains).fit({"size": ["Low", "High"]}, [*"ab"])
