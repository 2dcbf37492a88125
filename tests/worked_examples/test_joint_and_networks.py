"""Worked examples 5, 6, 30 and 9: joint distributions and networks, to the figures of the course."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example


@pytest.fixture(scope="module")
def wealth():
    with pytest.warns(bk.BayesWarning, match=r"sum to 0\.9999991; they were normalized"):
        return bk.JointDistribution.from_table(load_worked_example("wealth"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("P(wealth = poor)", 0.7607),
        ("P(wealth = poor and gender = male)", 0.4654),
        ("P(gender = male | wealth = poor)", 0.6118),
        ('P(wealth = rich | gender = female and hours_worked = "<=40.5")', 0.0885),
        ('P(wealth = rich | gender = female and hours_worked = ">40.5")', 0.2161),
        ('P(wealth = rich | gender = male, hours_worked = "<=40.5")', 0.2267),
        ('P(wealth = rich | gender = male, hours_worked = ">40.5")', 0.4413),
    ],
)
def test_5_a_joint_distribution_answers_by_adding_its_rows(wealth, question, expected):
    assert round(wealth.probability(question), 4) == expected


def test_5_the_same_to_the_last_digit(wealth):
    rows = load_worked_example("wealth").to_pylist()
    exact = {
        tuple(row[c] for c in ("gender", "hours_worked", "wealth")): Fraction(str(row["probability"])) for row in rows
    }
    total = sum(exact.values())
    assert total == Fraction("0.9999991")
    poor = sum(p for (_, _, w), p in exact.items() if w == "poor")
    assert wealth.probability("P(wealth = poor)") == pytest.approx(float(poor / total), rel=1e-14)


@pytest.mark.parametrize(
    ("statement", "holds"),
    [
        ("A", lambda a, b, c: a),
        ("A and B", lambda a, b, c: a and b),
        ("A or B and C", lambda a, b, c: a or (b and c)),
        ("(A or B) and C", lambda a, b, c: (a or b) and c),
        ("not (A or B)", lambda a, b, c: not (a or b)),
        ("not A or B", lambda a, b, c: (not a) or b),
        ("A = 0", lambda a, b, c: a == 0),
        ("A != 0 and B ≠ 1", lambda a, b, c: a != 0 and b != 1),
        ("A in {0, 1} and C in {1}", lambda a, b, c: c == 1),
        ("A = 1 or not (B = 0 or C != 1)", lambda a, b, c: a == 1 or not (b == 0 or c != 1)),
    ],
)
def test_6_any_statement_is_the_sum_of_the_rows_that_match(statement, holds):
    table = load_worked_example("boolean_joint")
    joint = bk.JointDistribution.from_table(table)
    rows = [(r["A"], r["B"], r["C"], Fraction(str(r["probability"]))) for r in table.to_pylist()]
    expected = sum((p for a, b, c, p in rows if holds(a, b, c)), Fraction(0))
    assert joint.probability(f"P({statement})") == pytest.approx(float(expected), abs=1e-15)
    given = sum((p for a, b, c, p in rows if holds(a, b, c) and c), Fraction(0)) / sum(p for _, _, c, p in rows if c)
    assert joint.probability(f"P({statement} | C)") == pytest.approx(float(given), abs=1e-15)


def example_30():
    return bk.BayesianNetwork(
        [("C", "W"), ("C", "B"), ("S", "B"), ("B", "A")],
        {
            "C": 0.8, "S": 0.02, "W": {True: 0.9, False: 0.01}, "A": {True: 0.7, False: 0.1},
            "B": {(True, True): 0.9, (True, False): 0.2, (False, True): 0.9, (False, False): 0.01},
        },
    )  # fmt: skip


def exactly(event, condition=lambda **_: True):
    """P(event | condition) of example 30 by fractions."""
    total = both = Fraction(0)
    b_table = {(1, 1): "0.9", (1, 0): "0.2", (0, 1): "0.9", (0, 0): "0.01"}
    for c, s, w, b, a in itertools.product((1, 0), repeat=5):
        cell = Fraction(1)
        for value, chance in (
            (c, "0.8"), (s, "0.02"), (w, "0.9" if c else "0.01"), (b, b_table[c, s]), (a, "0.7" if b else "0.1"),
        ):  # fmt: skip
            cell *= Fraction(chance) if value else 1 - Fraction(chance)
        at = {"c": c, "s": s, "w": w, "b": b, "a": a}
        if condition(**at):
            total += cell
            both += cell if event(**at) else 0
    return float(both / total)


@pytest.mark.parametrize(
    ("question", "figure", "event", "condition"),
    [
        ("P(A)", 0.206056, lambda a, **_: a, lambda **_: True),
        ("P(B)", 0.17676, lambda b, **_: b, lambda **_: True),
        ("P(S | A)", 0.0621190, lambda s, **_: s, lambda a, **_: a),
        ("P(C | A, W)", 0.9985830, lambda c, **_: c, lambda a, w, **_: a and w),
        ("P(S | A, not W)", 0.0860044, lambda s, **_: s, lambda a, w, **_: a and not w),
        ("P(C | W)", 0.9972299, lambda c, **_: c, lambda w, **_: w),
    ],
)
def test_30_the_network_answers_exactly(question, figure, event, condition):
    n = example_30()
    expected = exactly(event, condition)
    assert round(expected, 7) == figure
    assert n.query(question) == pytest.approx(expected, abs=1e-12)
    assert bk.JointDistribution.from_network(n).probability(question) == pytest.approx(expected, abs=1e-12)


def test_30_the_junction_tree_says_the_same():
    n = example_30()
    assert n.posterior({"A": True})["S"][True] == pytest.approx(exactly(lambda s, **_: s, lambda a, **_: a), abs=1e-12)
    assert n.posterior({"A": True, "W": True})["C"][True] == pytest.approx(0.9985829604516261, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_9_the_full_joint_of_booleans_has_two_to_the_n_minus_one_numbers_a_class(n):
    rows = np.random.default_rng(0).random((64, n)) < 0.5
    every = {f"x{i}": [True, False] for i in range(n)}
    assert 2 * bk.JointDistribution.from_data(rows, domains=every).n_parameters_ + 1 == 2 * (2**n - 1) + 1


def test_9_mass_given_age_and_pregnancies_has_twenty_four_numbers():
    states = {"age": range(4), "pregnancies": range(3), "mass": range(3)}
    tables = {name: np.full((1, len(own)), 1 / len(own)) for name, own in states.items()}
    tables["mass"] = np.full((4, 3, 3), 1 / 3)
    n = bk.BayesianNetwork([("age", "mass"), ("pregnancies", "mass")], tables, states)
    assert n.n_parameters_ == 3 + 2 + 24
