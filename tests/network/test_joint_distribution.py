"""Joint distributions against sums written out, and SciPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import bayeskit as bk
from bayeskit.errors import BayesError, BayesWarning, QueryError, SchemaMismatch, TooLarge

rows = st.lists(
    st.fixed_dictionaries({"a": st.sampled_from("xyz"), "b": st.integers(0, 2), "c": st.booleans()}),
    min_size=1,
    max_size=30,
)


@given(rows, st.sampled_from([0, 1, 0.5, bk.Laplace(), bk.MLE(), bk.MEstimate(3), bk.Dirichlet(2)]))
def test_probabilities_of_data_are_smoothed_frequencies(data, smoothing):
    domains = {"a": [*"xyz"], "b": range(3), "c": [True, False]}
    joint = bk.JointDistribution.from_data(data, smoothing, domains=domains)
    alpha = {0: 0, 1: 1, 0.5: 0.5}.get(smoothing) if isinstance(smoothing, (int, float)) else None
    if alpha is None:
        alpha = {bk.Laplace(): 1, bk.MLE(): 0, bk.MEstimate(3): 3 / 18, bk.Dirichlet(2): 1}[smoothing]
    for a, b, c in [("x", 0, True), ("z", 2, False)]:
        n = sum(r == {"a": a, "b": b, "c": c} for r in data)
        found = joint.probability(f"P(a = {a} and b = {b} and c = {c})")
        assert found == pytest.approx((n + alpha) / (len(data) + 18 * alpha), abs=1e-14)
    assert joint.n_parameters_ == 17
    assert joint.table()["probability"] == pytest.approx(joint.table()["probability"])
    assert sum(joint.table()["probability"]) == pytest.approx(1)


@given(rows)
def test_information_equals_its_definition(data):
    joint = bk.JointDistribution.from_data(data)
    n = len(data)

    def p(**known):
        return Fraction(sum(all(r[k] == v for k, v in known.items()) for r in data), n)

    expected = conditional = 0.0
    for a in "xyz":
        for b in range(3):
            if p(a=a, b=b):
                expected += float(p(a=a, b=b)) * math.log(p(a=a, b=b) / (p(a=a) * p(b=b)))
            for c in (True, False):
                if p(a=a, b=b, c=c):
                    ratio = p(a=a, b=b, c=c) * p(c=c) / (p(a=a, c=c) * p(b=b, c=c))
                    conditional += float(p(a=a, b=b, c=c)) * math.log(ratio)
    assert joint.mutual_information("a", "b") == pytest.approx(expected, abs=1e-12)
    assert joint.mutual_information("a", "b", given="c") == pytest.approx(conditional, abs=1e-12)
    counts = [float(p(a=a)) for a in "xyz"]
    assert joint.entropy("a") == pytest.approx(stats.entropy(counts), abs=1e-12)
    assert joint.entropy("a", bits=True) == pytest.approx(stats.entropy(counts, base=2), abs=1e-12)
    assert joint.entropy("a", given="b") == pytest.approx(joint.entropy("a", "b") - joint.entropy("b"), abs=1e-12)
    assert joint.mutual_information("a", "b") == pytest.approx(
        joint.entropy("a") - joint.entropy("a", given="b"), abs=1e-12
    )


def test_the_independence_test_is_scipys_g_test():
    counts = np.array([[10, 13, 17], [2, 13, 5]])
    table = {"answer": ["yes"] * 3 + ["no"] * 3, "level": ["l", "m", "h"] * 2, "count": counts.ravel()}
    found = bk.JointDistribution.from_table(table).independence("answer", "level")
    theirs = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood")
    assert found.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert found.degrees_of_freedom == theirs.dof
    assert found.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    written = bk.JointDistribution.from_table(table | {"count": counts.ravel() / 60}, probability="count")
    assert written.independence("answer", "level").p_value is None


def test_marginals_conditionals_expectation_and_the_largest_cell():
    joint = bk.JointDistribution.from_table(
        {"x": [1, 1, 2, 2], "y": ["a", "b", "a", "b"], "probability": [0.1, 0.2, 0.3, 0.4]}
    )
    assert joint.marginal("x").table()["probability"] == pytest.approx([0.3, 0.7])
    assert joint.given("x = 2").marginal("y").table()["probability"] == pytest.approx([3 / 7, 4 / 7])
    assert joint.given({"y": "a"}).probability("P(x = 1)") == pytest.approx(0.25)
    table = joint.conditional("y", "x")
    assert table["x"] == [1, 2]
    assert table["P(y = a | x)"] == pytest.approx([1 / 3, 3 / 7])
    assert joint.conditional("y")["P(y = b)"] == pytest.approx([0.6])
    assert joint.expectation("x") == pytest.approx(1.7)
    assert joint.expectation("x", given="y = a") == pytest.approx(1.75)
    assert joint.argmax() == ({"x": 2, "y": "b"}, 0.4)
    assert joint.argmax("x = 1")[0] == {"x": 1, "y": "b"}
    with pytest.raises(QueryError, match="no mean"):
        joint.expectation("y")
    with pytest.raises(SchemaMismatch, match="did you mean"):
        joint.marginal("X")


def test_samples_follow_the_distribution():
    joint = bk.JointDistribution.from_table({"x": [1, 2, 3], "probability": [0.5, 0.0, 0.5]})
    drawn = joint.sample(10_000, random_state=0)["x"]
    assert 2 not in drawn
    assert abs(drawn.count(1) - 5000) < 200


def test_a_hundred_booleans_have_a_number_of_parameters_and_no_table():
    data = np.random.default_rng(0).random((50, 100)) < 0.5
    joint = bk.JointDistribution.from_data(data)
    assert joint.n_parameters_ == 2**100 - 1
    assert joint.n_cells == 50
    assert joint.probability("P(x0 = true)") == pytest.approx(data[:, 0].mean())
    assert joint.marginal("x3", "x99").n_cells <= 4
    assert joint.entropy() == pytest.approx(math.log(50))
    with pytest.raises(TooLarge, match=r"1\.03e\+33 bytes"):
        bk.JointDistribution.from_data(data, smoothing=1)
    n = bk.BayesianNetwork([], {f"n{i}": 0.5 for i in range(100)})
    with pytest.raises(TooLarge, match="bytes"):
        bk.JointDistribution.from_network(n)


def test_a_table_must_sum_to_one_and_nearly_so_is_said():
    with pytest.warns(BayesWarning, match=r"sum to 0\.9995; they were normalized"):
        joint = bk.JointDistribution.from_table({"a": [0, 1], "probability": [0.5, 0.4995]})
    assert joint.probability("P(a = 0 or a = 1)") == pytest.approx(1)
    for bad, what in (
        ([0.5, 0.4], r"sums to 0\.9, not to one"), ([1.5, -0.5], "row 1 has the probability -0.5, which is negative"),
        ([0.5, None], "row 1 .* not a number"), ([0.5, float("inf")], "infinite|too large"), ([0.0, 0.0], "sums to 0"),
    ):  # fmt: skip
        with pytest.raises(BayesError, match=what):
            bk.JointDistribution.from_table({"a": [0, 1], "probability": bad})
    with pytest.raises(BayesError, match="row 1 has no value of 'a'"):
        bk.JointDistribution.from_table({"a": ["x", None], "probability": [0.5, 0.5]})
    with pytest.raises(SchemaMismatch, match="did you mean prob"):
        bk.JointDistribution.from_table({"a": [0, 1], "probabilty": [0.5, 0.5]})


def test_rows_with_missing_cells_are_left_out_and_counted():
    with pytest.warns(BayesWarning, match="1 of 3 rows"):
        joint = bk.JointDistribution.from_data({"a": ["x", None, "y"], "b": [1, 2, 3]})
    assert joint.n_rows == 2
    assert joint.values["a"] == ("x", "y")


def test_cut_numbers_can_be_asked_at_their_cuts():
    joint = bk.JointDistribution.from_data({"age": [20, 30, 50, 80]}, roles={"age": bk.Numeric(cuts=(25, 50))})
    assert joint.values["age"] == ("≤ 25", "25 – 50", "> 50")
    assert joint.probability("P(age <= 50)") == 0.75
    assert joint.probability('P(age = "> 50")') == 0.25
    with pytest.raises(QueryError, match="by its intervals only"):
        joint.probability("P(age < 30)")
