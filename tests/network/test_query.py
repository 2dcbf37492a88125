"""The query language: what it means, where its errors point, and that nothing breaks it."""

import contextlib
import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import BayesError, QueryError
from bayeskit.network.query import parse

CUBE = {
    "A": [0, 0, 0, 0, 1, 1, 1, 1], "B": [0, 0, 1, 1, 0, 0, 1, 1], "C": [0, 1] * 4,
    "probability": [0.30, 0.05, 0.10, 0.05, 0.05, 0.10, 0.25, 0.10],
}  # fmt: skip
JOINT = bk.JointDistribution.from_table(CUBE)


@st.composite
def statements(draw, depth=4):
    """(text in the language, the same in Python)"""
    if depth == 0 or draw(st.booleans()):
        name = draw(st.sampled_from("ABC"))
        value = draw(st.integers(0, 1))
        kind = draw(st.integers(0, 5))
        return [
            (f"{name}", f"{name} == 1"),
            (f"{name}={value}", f"{name} == {value}"),
            (f"{name} != {value}", f"{name} != {value}"),
            (f'"{name}" in {{{value}, 1}}', f"{name} in ({value}, 1)"),
            (f"{name} not in {{ '{value}' }}", f"{name} not in ({value},)"),
            (f"{name} >= {value}", f"{name} >= {value}"),
        ][kind]
    kind = draw(st.sampled_from(["and", "or", "not", "()", "AND"]))
    left = draw(statements(depth=depth - 1))
    if kind == "not":
        return f"not {left[0]}", f"not {left[1]}"
    if kind == "()":
        return f"({left[0]})", f"({left[1]})"
    right = draw(statements(depth=depth - 1))
    return f"{left[0]} {kind} {right[0]}", f"{left[1]} {kind.lower()} {right[1]}"


def rows_where(python):
    code = compile(python, "the test's own expression", "eval")
    cells = zip(CUBE["A"], CUBE["B"], CUBE["C"], strict=True)
    return [bool(eval(code, {"A": a, "B": b, "C": c})) for a, b, c in cells]


@given(statements(), statements())
def test_statements_mean_what_python_means_by_them(event, condition):
    p = np.array(CUBE["probability"])
    values_where, known = np.array(rows_where(event[1])), np.array(rows_where(condition[1]))
    assert JOINT.probability(f"P({event[0]})") == pytest.approx(p[values_where].sum(), abs=1e-15)
    if p[known].sum() == 0:
        with pytest.raises(QueryError, match="probability 0"):
            JOINT.probability(f"P({event[0]} | {condition[0]})")
    else:
        expected = p[values_where & known].sum() / p[known].sum()
        assert JOINT.probability(f"P({event[0]} | {condition[0]})") == pytest.approx(expected, rel=1e-14, abs=1e-15)


@pytest.mark.slow
@given(statements(), statements())
def test_a_network_answers_as_its_joint_distribution(event, condition):
    tables = {
        "A": {1: 0.3, 0: 0.7}, "B": {1: {1: 0.9, 0: 0.1}, 0: {1: 0.0, 0: 1.0}},
        "C": {(1, 1): {1: 0.5, 0: 0.5}, (1, 0): {1: 1, 0: 0}, (0, 1): {1: 0.2, 0: 0.8}, (0, 0): {1: 0.4, 0: 0.6}},
    }  # fmt: skip
    n = bk.BayesianNetwork([("A", "B"), ("A", "C"), ("B", "C")], tables)
    joint = bk.JointDistribution.from_network(n)
    question = f"P({event[0]} | {condition[0]})"
    try:
        expected = joint.probability(question)
    except QueryError:
        with pytest.raises(QueryError, match="probability 0"):
            n.query(question)
    else:
        assert n.query(question) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.slow
@given(statements())
def test_a_distribution_is_the_probability_of_each_value_and_has_its_mean(condition):
    tables = {
        "A": {1: 0.3, 0: 0.7}, "B": {1: {1: 0.9, 0: 0.1}, 0: {1: 0.0, 0: 1.0}},
        "C": {(1, 1): {1: 0.5, 0: 0.5}, (1, 0): {1: 1, 0: 0}, (0, 1): {1: 0.2, 0: 0.8}, (0, 0): {1: 0.4, 0: 0.6}},
    }  # fmt: skip
    n = bk.BayesianNetwork([("A", "B"), ("A", "C"), ("B", "C")], tables)
    joint = bk.JointDistribution.from_network(n)
    for name in "ABC":
        try:
            share = joint.probability(f"P({name} = 1 | {condition[0]})")
        except QueryError:
            for known in (joint, n):
                with pytest.raises(QueryError, match="probability 0"):
                    known.distribution(f"P({name} | {condition[0]})")
            continue
        for known in (joint, n):
            whole = known.distribution(f"E({name} | {condition[0]})")
            assert whole.variable == name
            assert whole.probabilities.sum() == pytest.approx(1)
            assert whole[1] == whole.mean == pytest.approx(share, rel=1e-12, abs=1e-15)
            assert whole.standard_deviation == pytest.approx((share * (1 - share)) ** 0.5, abs=1e-7)


def test_a_distribution_is_of_one_variable_of_numbers_where_its_mean_is_asked():
    with pytest.raises(QueryError, match="the name of one variable alone is expected"):
        JOINT.distribution("P(A = 1 | B)")
    sky = bk.JointDistribution.from_table({"sky": ["sun", "rain"], "count": [3, 1]})
    assert sky.distribution("P(sky)").table()["probability"] == [0.25, 0.75]
    with pytest.raises(QueryError, match=r"'sky' has no mean, for it holds no numbers \(rain, sun\).*at character 3"):
        sky.distribution("E(sky)")
    with pytest.raises(BayesError, match="'sky' has no mean"):
        _ = sky.distribution("P(sky)").mean
    with pytest.raises(BayesError, match="no value 'snu': did you mean sun"):
        sky.distribution("P(sky)")["snu"]


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([*"EP(AB)=!<>|,{}'\"\\ 01.andorti≠≤\t\n", " is ", "missing"]), max_size=30).map("".join)
)
def test_any_text_is_answered_or_refused_with_a_place(text):
    for question in (text, f"P({text})", f"P(A = 1 | {text})"):
        try:
            assert 0 <= JOINT.probability(question) <= 1
        except QueryError as problem:
            said = str(problem)
        else:
            said = "at character"
        assert "at character" in said or "probability 0" in said


@given(st.text())
def test_any_text_at_all_raises_nothing_but_query_errors(text):
    with contextlib.suppress(QueryError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "at", "what"),
    [
        ("", 1, "begins with P"),
        ("E(A = 1)", 5, r"'\|' or '\)' is expected here: E\( takes"),
        ("E(A, B)", 4, "takes the name of one column"),
        ("E(| A)", 3, "name of a column"),
        ("E(A | )", 7, "the condition"),
        ("E(A)", 1, "this asks for a mean"),
        ("P(A is 1)", 8, "'missing' or 'not missing' is expected here"),
        ("P(A is not 1)", 12, "'missing' or 'not missing' is expected here"),
        ("P(A | B is missing)", 7, "'B' is missing nowhere"),
        ("Q(A)", 1, "begins with P"),
        ("P A", 3, r"'\(' is expected"),
        ("P()", 3, "the event is empty"),
        ("P(A | )", 7, "the condition after '|' is empty".replace("|", r"\|")),
        ("P(A |", 6, "the condition"),
        ("P(A = )", 7, "a value is expected"),
        ("P(A = 1", 8, r"'\)' is expected"),
        ("P((A = 1)", 10, r"'\)' is expected"),
        ("P(not (A = 1 | B)", 7, "never closed"),
        ("P(A = 1))", 9, "nothing can follow"),
        ("P(A = 1 B = 2)", 9, r"'\)' is expected"),
        ("P(A in 1)", 8, r"'\{' is expected"),
        ("P(A in {1)", 10, "',' or '}'"),
        ("P(A in {})", 9, "a value is expected"),
        ("P(and A)", 3, "name of a column"),
        ('P(A = "x)', 7, "quote is never closed"),
        ("P(A ! 1)", 5, "has no meaning"),
        ("P(A = >4)", 7, "quotes"),
        ("P(A > x)", 7, "'x' is none"),
        ("P(A = 7)", 7, "has no value '7' .known: 0, 1"),
        ("P(D = 7)", 3, "no column 'D'"),
        ("P(A = 1 | b = 1)", 11, "did you mean B"),
    ],
)
def test_errors_point_at_the_character(text, at, what):
    with pytest.raises(QueryError, match=what) as said:
        JOINT.probability(text)
    assert f"at character {at}:" in str(said.value)
    pointer = str(said.value).splitlines()[-1]
    assert pointer.index("^") - 4 == at - 1 or text == ""


def test_a_long_query_shows_the_part_around_the_slip():
    text = "P(" + " or ".join(["A = 1"] * 300) + " or A = ) "
    with pytest.raises(QueryError) as said:
        JOINT.probability(text)
    _, shown, pointer = str(said.value).splitlines()
    assert len(shown) < 100
    assert shown[pointer.index("^")] == ")"


def test_more_than_a_thousand_parentheses_are_refused_at_once_with_their_place():
    for n in (1_001, 100_000):
        for statement in ("(" * n, "(" * n + "A = 0" + ")" * n, "not (" * n + "A = 0"):
            start = time.process_time()
            with pytest.raises(QueryError, match="more than 1,000 parentheses are open here"):
                parse(f"P({statement})")
            assert time.process_time() - start < 5  # milliseconds on a quiet machine


@pytest.mark.slow
def test_ten_thousand_terms_and_a_thousand_parentheses_work():
    start = time.process_time()
    n = bk.BayesianNetwork([], {"A": {0: 0.5, 1: 0.5}, "B": {0: 0.25, 1: 0.75}})
    rows = {"A": [0, 1, 1], "B": [1, 1, 0]}
    many = " or ".join(itertools.islice(itertools.cycle(["A = 0", "B = 1"]), 10_000))
    both = " and ".join(["not B = 0"] * 10_000)
    deep = "(" * 1000 + "A = 0" + ")" * 1000
    nots = "not " * 10_001 + "A = 0"
    mixed = "not (A = 1 or " * 1000 + "B = 1" + ")" * 1000
    for statement, expected in ((many, 0.875), (both, 0.75), (deep, 0.5), (nots, 0.5)):
        assert n.query(f"P({statement})") == pytest.approx(expected, rel=1e-12)
        bk.JointDistribution.from_data(rows).probability(f"P({statement} | {deep})")
    assert n.query(f"P({mixed})") == pytest.approx(bk.JointDistribution.from_network(n).probability(f"P({mixed})"))
    assert n.query(f"P({deep} | {many})") == pytest.approx(0.5 / 0.875)
    with pytest.raises(QueryError):
        n.query("P(" + "(" * 100_000)
    with pytest.raises(QueryError):
        n.query("P(" + "A = 1 or " * 100_000 + ")")
    assert time.process_time() - start < 20


def test_names_and_values_may_be_anything_in_quotes():
    odd = {'say "hi"': ["it's", "a|b"], "and": ["or", "x y"], "probability": [0.25, 0.75]}
    joint = bk.JointDistribution.from_table(odd)
    assert joint.probability(r'P("say \"hi\"" = "a|b")') == 0.75
    assert joint.probability(r"""P('say "hi"' = 'it\'s' | "and" = or)""") == 1.0
    assert joint.probability("""P("and" in {or, "x y"})""") == 1.0


def test_order_comparisons_need_numbers_and_say_so():
    joint = bk.JointDistribution.from_table({"size": ["s", "m"], "n": [1, 2.5], "probability": [0.5, 0.5]})
    with pytest.raises(QueryError, match="> needs a column of numbers, and 'size' has the values m, s"):
        joint.probability("P(size > 3)")
    assert joint.probability("P(n >= 2.5)") == joint.probability("P(n > 1)") == joint.probability("P(n < 2)") == 0.5
    with pytest.raises(QueryError, match="'size' alone is not a statement"):
        joint.probability("P(size)")


def test_a_disjunction_over_forty_nodes_is_answered_by_its_opposite():
    n = bk.BayesianNetwork([], {f"n{i}": 0.1 for i in range(40)})
    some = " or ".join(f"n{i}" for i in range(40))
    assert n.query(f"P({some})") == pytest.approx(1 - 0.9**40, rel=1e-12)
    tied = " and ".join(f"(n{i} or n{i + 1})" for i in range(39))
    with pytest.raises(bk.BayesError, match=r"would take .* bytes|would take .* TB"):
        n.query(f"P({tied})")


def test_an_impossible_condition_is_quoted_as_it_was_written():
    with pytest.raises(QueryError, match="the condition B = 1 and not B has probability 0"):
        JOINT.probability("P(A = 1 | B = 1 and not B )")
    joint = bk.JointDistribution.from_table({"a": ["x|y", "z"], "probability": [1.0, 0.0]})
    with pytest.raises(QueryError, match="the condition a = z has"):
        joint.probability('P(a = "x|y" | a = z)')


def test_no_text_is_a_query():
    for nothing in (None, 3, b"P(A)"):
        with pytest.raises(BayesError):
            JOINT.probability(nothing)
