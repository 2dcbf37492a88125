"""Tables from data: counts by hand, every smoothing, learning and forgetting, the diabetes network."""

import doctest
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BayesError, BayesWarning, NotLearned, SchemaMismatch
from bayeskit.estimate.smoothing import as_smoothing, probabilities

EDGES = [("a", "c"), ("b", "c"), ("c", "d")]
cells = {
    "a": st.sampled_from("xy"),
    "b": st.sampled_from("uvw"),
    "c": st.sampled_from("pq"),
    "d": st.sampled_from("rst"),
}
rows = st.lists(st.fixed_dictionaries({k: st.one_of(st.none(), v) for k, v in cells.items()}), min_size=1, max_size=40)
DOMAINS = {"a": [*"xy"], "b": [*"uvw"], "c": [*"pq"], "d": [*"rst"]}


@pytest.mark.slow
@given(rows, st.sampled_from([1, 0.5, "auto", bk.MEstimate(2, "marginal"), bk.Dirichlet(3), bk.Laplace()]))
def test_each_table_is_the_smoothed_count_of_the_rows_that_have_its_cells(data, smoothing):
    n = bk.BayesianNetwork.from_data(EDGES, data, smoothing=smoothing, domains=DOMAINS)
    for node in "abcd":
        family = (*n.parents[node], node)
        counts = np.zeros([len(n.states[f]) for f in family])
        for row in data:
            if all(row[f] is not None for f in family):
                counts[tuple(n.states[f].index(row[f]) for f in family)] += 1
        flat = counts.reshape(-1, counts.shape[-1])
        pseudo = as_smoothing(smoothing).pseudo_counts(n.states[node], flat)
        np.testing.assert_allclose(n.array(node).reshape(flat.shape), probabilities(flat, pseudo), rtol=1e-14)
        assert n.tally_.counts[node].tolist() == counts.tolist()


@pytest.mark.slow
@given(rows, rows)
def test_learning_merging_and_forgetting_give_the_network_of_the_same_rows(first, second):
    both = bk.BayesianNetwork.from_data(EDGES, first + second, domains=DOMAINS)
    one, two = (bk.BayesianNetwork.from_data(EDGES, part, domains=DOMAINS) for part in (first, second))
    assert one.learn(second) == both == one + two == two.merge(one)
    assert both.tally_ == (one + two).tally_
    some = any(all(row[f] is not None for f in family) for row in first for family in ("a", "b", "acb", "cd"))
    if some:
        assert both.forget(second).tally_ == one.tally_
        assert both.forget(second) == one


def test_new_values_come_and_go():
    n = bk.BayesianNetwork.from_data([("a", "b")], {"a": ["x", "y"], "b": ["u", "v"]})
    more = n.learn({"a": ["z"], "b": ["w"]})
    assert more.states == {"a": ("x", "y", "z"), "b": ("u", "v", "w")}
    assert more == bk.BayesianNetwork.from_data([("a", "b")], {"a": ["x", "y", "z"], "b": ["u", "v", "w"]})
    assert more.forget({"a": ["z"], "b": ["w"]}) == n
    with pytest.raises(NotLearned, match="a = z"):
        n.forget({"a": ["z"], "b": ["w"]})
    with pytest.raises(BayesError, match="without data"):
        n.forget({"a": ["x", "y"], "b": ["u", "v"]})


def test_blocks_of_rows_add_up(monkeypatch):
    from bayeskit.data import frames

    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.integers(0, 30, 500).astype(str), "b": rng.integers(0, 5, 500).astype(str)})
    whole = bk.BayesianNetwork.from_data([("a", "b")], data)
    monkeypatch.setattr(frames, "BLOCK", 7)
    assert bk.BayesianNetwork.from_data([("a", "b")], data) == whole
    weighted = bk.BayesianNetwork.from_data([("a", "b")], data, sample_weight=np.full(500, 2.0))
    assert weighted.tally_.counts["b"].sum() == 1000


def test_a_context_that_no_row_shows_is_uniform_and_said():
    data = {"a": ["x", "x", "y"], "b": ["u", "v", None]}
    with pytest.warns(BayesWarning, match=r"no row shows some contexts of b \(1 of 2\)"):
        n = bk.BayesianNetwork.from_data([("a", "b")], data, smoothing=0)
    assert n.array("b").tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_numbers_need_cuts_or_to_be_called_categorical():
    data = {"age": [20, 40, 60], "ill": [True, False, True]}
    with pytest.raises(SchemaMismatch, match="column 'age' holds numbers"):
        bk.BayesianNetwork.from_data([("age", "ill")], data)
    cut = bk.BayesianNetwork.from_data([("age", "ill")], data, roles={"age": bk.Numeric(cuts=(30.0,))})
    assert cut.states["age"] == ("≤ 30", "> 30")
    assert cut.posterior({"age": 25}) == cut.posterior({"age": "≤ 30"})
    assert cut.query("P(ill | age > 30)") == pytest.approx(cut.posterior({"age": 31})["ill"][True], rel=1e-14)
    np.testing.assert_allclose(
        cut.predict_proba({"age": [25.0, 31, None]}, "ill")[:2, 0],
        [cut.posterior({"age": 25})["ill"][False], cut.posterior({"age": 31})["ill"][False]],
    )
    plain = bk.BayesianNetwork.from_data([("age", "ill")], data, roles={"age": "categorical"})
    assert plain.states["age"] == (20, 40, 60)


def test_bad_edges_and_data_are_refused():
    with pytest.raises(SchemaMismatch, match="did you mean b"):
        bk.BayesianNetwork.from_data([("a", "B")], {"a": ["x"], "b": ["y"]})
    with pytest.raises(BayesError, match="circle"):
        bk.BayesianNetwork.from_data([("a", "b"), ("b", "a")], {"a": ["x"], "b": ["y"]})
    for edges, message in ((5, "edges=5: give pairs"), ([3], "not 3"), ([(["a"], "b")], "an edge is")):
        with pytest.raises(BayesError, match=message):
            bk.BayesianNetwork.from_data(edges, {"a": ["x"], "b": ["y"]})
    with pytest.raises(BayesError, match="'a' has no value"):
        bk.BayesianNetwork.from_data([], {"a": [None, None], "b": ["y", "y"]})
    with pytest.raises(BayesError, match="different edges"):
        bk.BayesianNetwork.from_data([], {"a": ["x"]}) + bk.BayesianNetwork.from_data([], {"b": ["x"]})
    with pytest.raises(BayesError, match="written, not counted"):
        bk.BayesianNetwork([], {"a": 0.5}).learn({"a": [True]})


@pytest.fixture(scope="module")
def course():
    """The block of the course on the Pima data, run: what it defined, and where it printed something else."""
    page = Path(__file__).parents[2] / "docs" / "course" / "08-networks.md"
    folder = os.environ.get("BAYESKIT_DATA")
    if not folder or not Path(folder, "tabular", "pima.csv.gz").exists() or not page.exists():
        pytest.skip("BAYESKIT_DATA names no folder with tabular/pima.csv.gz")
    block = re.search(r"^```pycon\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]
    examples = doctest.DocTestParser().get_doctest(block, {}, "the diabetes network", str(page), 0)
    report: list[str] = []
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    doctest.DocTestRunner(optionflags=flags).run(examples, out=report.append, clear_globs=False)
    return examples.globs, report


def test_the_course_prints_the_diabetes_network_as_it_is(course):
    assert not course[1], "".join(course[1])


def test_the_diabetes_network_of_the_course_is_counted_from_its_rows(course):
    n, pima = course[0]["diabetes"], course[0]["pima"]
    assert len(n.table("mass")) * (len(n.states["mass"]) - 1) == 24
    assert n.n_parameters_ == 3 + 2 + 24 + 36 + 2 + 4
    here = pima[(pima["age"] <= 25) & (pima["pregnancies"] == 0) & pima["mass"].notna()]
    assert n.table("mass")["count"][0] == len(here)
    expected = (int((here["mass"] <= 50).sum()) + 1) / (len(here) + 3)
    assert n.array("mass")[0, 0, 0] == pytest.approx(expected, rel=1e-14)
    joint = bk.JointDistribution.from_network(n)
    question = 'P(diabetes = tested_positive | glucose > 117 and age = "25 – 50")'
    assert n.query(question) == pytest.approx(joint.probability(question), rel=1e-12)
