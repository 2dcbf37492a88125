"""The tally is a value with + and −, aligned by name."""

import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.errors import NotLearned, SchemaMismatch
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

cells = st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["sun", "rain", "hail"]), st.booleans())
tables = st.lists(cells, max_size=15)
few = settings(max_examples=40, deadline=None)


def counted(rows, weight=1):
    """A tally by brute force: a table of counts from a Counter."""
    sky, flag = ({c: {} for c in "abc"} for _ in range(2))
    for (label, value), n in Counter((c, s) for c, s, _ in rows).items():
        sky[label][value] = n * weight
    for (label, value), n in Counter((c, f) for c, _, f in rows).items():
        flag[label][value] = n * weight
    return Tally.from_counts({"sky": sky, "flag": flag})


def as_fitted(rows):
    columns = {"sky": [s for _, s, _ in rows], "flag": [f for _, _, f in rows]}
    return bk.NaiveBayes().fit(columns, [c for c, _, _ in rows]).tally_


@few
@given(tables, tables, tables)
def test_addition_is_commutative_and_associative_and_has_a_neutral_element(a, b, c):
    a, b, c = counted(a), counted(b), counted(c)
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    nothing = Tally.empty(a.schema, Plan(families=("sky", "flag")))
    assert a + nothing == a == nothing + a
    assert a - nothing == a
    assert a - a == nothing


@few
@given(tables, tables)
def test_subtraction_undoes_addition(a, b):
    total = counted(a) + counted(b)
    assert total == counted(a + b)
    assert total - counted(b) == counted(a)
    assert (total - counted(a)).to_bytes() == counted(b).to_bytes()


@few
@given(tables.filter(lambda rows: len({row[0] for row in rows}) > 1))
def test_rows_counted_are_rows_in_a_table_of_counts(rows):
    assert as_fitted(rows) == counted(rows)
    assert as_fitted(rows).n_rows == len(rows)
    assert as_fitted(rows).classes == tuple(sorted({row[0] for row in rows}))


@few
@given(tables, tables)
def test_a_subtraction_is_refused_exactly_where_a_count_would_be_negative(a, b):
    negative = Counter((c, s) for c, s, _ in b) - Counter((c, s) for c, s, _ in a)
    negative += Counter((c, f) for c, _, f in b) - Counter((c, f) for c, _, f in a)
    left, right = counted(a), counted(b)
    before = left.to_bytes(), right.to_bytes()
    if negative:
        with pytest.raises(NotLearned, match="nothing was changed"):
            _ = left - right
    else:
        assert (left - right).n_rows == len(a) - len(b)
    assert (left.to_bytes(), right.to_bytes()) == before


@few
@given(tables, st.sampled_from([0.1, 0.3, 1 / 3, 7.7]))
def test_weights_that_cancel_leave_nothing(rows, weight):
    tally = counted(rows, weight)
    added = tally
    for _ in range(3):
        added = added + tally
    for _ in range(3):
        added = added - tally
    assert added.classes == tally.classes
    assert added.families["sky"].values == tally.families["sky"].values
    np.testing.assert_allclose(added.class_counts, tally.class_counts, rtol=1e-9)
    assert (added - tally).n_rows == 0
    assert (added - tally).classes == ()


def test_whole_counts_are_integers_and_weights_are_floats():
    rows = {"x": ["u", "v"]}
    assert bk.NaiveBayes().fit(rows, [0, 1]).tally_.class_counts.dtype == np.int64
    weighted = bk.NaiveBayes().fit(rows, [0, 1], sample_weight=[1, 1]).tally_
    assert weighted.class_counts.dtype == np.float64
    both = weighted + bk.NaiveBayes().fit(rows, [0, 1]).tally_
    assert both.weighted
    assert both.families["x"].counts.dtype == np.float64
    assert Tally.from_bytes(both.to_bytes()) == both


def test_values_and_classes_are_sorted_and_the_unused_are_gone():
    tally = Tally.from_counts({"x": {"b": {"z": 1, "never": 0, 10: 1, 9: 1, 2.5: 1}, "a": {}, "c": {"z": 0}}})
    assert tally.classes == ("b",)
    assert tally.families["x"].values == (2.5, 9, 10, "z")


def test_one_and_true_and_one_point_zero_are_one_value():
    one, true = (Tally.from_counts({"x": {"c": {value: 1}}}) for value in (1, True))
    assert (one + true).families["x"].counts.tolist() == [[0, 2]]
    assert (one + true).to_bytes() == (true + one).to_bytes()
    floats = bk.NaiveBayes(roles="categorical").fit([[1.0], [2.0]], [0, 1]).tally_
    integers = bk.NaiveBayes(roles="categorical").fit([[1], [2]], [0, 1]).tally_
    assert floats == integers


def test_missing_cells_are_counted_apart():
    tally = Tally.from_counts({"x": {"a": {"u": 3, None: 2}}, "y": {"a": {"v": 4}}})
    assert tally.class_counts.tolist() == [5]
    assert tally.families["x"].counts.tolist() == [[2, 3]]
    assert tally.families["y"].counts.tolist() == [[1, 4]]
    with pytest.raises(bk.BayesError, match="'x' has more cells"):
        Tally.from_counts({"x": {"a": {"u": 3}}}, class_counts={"a": 2})
    given_ = Tally.from_counts({"x": {"a": {"u": 3}}}, class_counts={"a": 7, "b": 1})
    assert given_.families["x"].missing.tolist() == [4, 1]


@pytest.mark.parametrize(
    "counts", [{}, {"x": {}}, {"x": {None: {"u": 1}}}, {"x": {"a": {"u": -1}}}, {"x": {"a": {"u": "3"}}}]
)
def test_tables_that_are_no_counts_are_refused(counts):
    with pytest.raises(bk.BayesError):
        Tally.from_counts(counts)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -0.5, None])
def test_counts_are_finite_and_not_negative(number):
    with pytest.raises(bk.BayesError):
        Tally.from_counts({"x": {"a": {"u": number}}})


def test_columns_in_another_order_are_aligned_by_name():
    rows = {"p": [1.0, 2.0, 3.0], "q": [10.0, 20.0, 40.0], "r": ["u", "v", "u"]}
    a = bk.NaiveBayes().fit(rows, [0, 1, 0]).tally_
    b = bk.NaiveBayes().fit(dict(reversed(rows.items())), [0, 1, 0]).tally_
    both = a + b
    assert both.moments.mean().tolist() == a.moments.mean().tolist()
    assert (both - b) == a


def test_sides_that_do_not_fit_are_refused_and_stay_as_they_were():
    a = Tally.from_counts({"x": {"a": {"u": 1}}})
    for b in (
        Tally.from_counts({"y": {"a": {"u": 1}}}),
        Tally.from_counts({"x": {1: {"u": 1}}}),
        bk.NaiveBayes().fit({"x": [1.0, 2.0]}, ["a", "b"]).tally_,
        bk.NaiveBayes(domains={"x": ["u", "v"]}).fit({"x": ["u", "v"]}, ["a", "b"]).tally_,
    ):
        for join in (lambda p, q: p + q, lambda p, q: p - q):
            with pytest.raises(SchemaMismatch):
                join(a, b)
            with pytest.raises(SchemaMismatch):
                join(b, a)
    assert a == Tally.from_counts({"x": {"a": {"u": 1}}})


def test_declared_classes_of_either_side_stay():
    X, y = {"x": ["u", "v"]}, ["a", "b"]
    declared = bk.NaiveBayes().partial_fit(X, y, classes=["a", "b", "c"]).tally_
    plain = bk.NaiveBayes().fit(X, y).tally_
    assert (declared + plain).classes == (plain + declared).classes == ("a", "b", "c")
    assert declared + plain == plain + declared


def test_a_restricted_tally_is_the_tally_of_these_columns():
    rows = {"p": [1.0, 2.0, 3.0], "q": [10.0, None, 40.0], "r": ["u", None, "u"]}
    y = [0, 1, 0]
    tally = bk.NaiveBayes().fit(rows, y).tally_
    for names in (["p"], ["q", "r"], ["r"], ["r", "p"]):
        part = {name: rows[name] for name in rows if name in names}
        assert tally.restrict(names) == bk.NaiveBayes().fit(part, y).tally_


def test_a_tally_pickles():
    tally = bk.NaiveBayes().fit({"p": [1.0, 2.0], "r": ["u", "v"]}, [0, 1]).tally_
    assert pickle.loads(pickle.dumps(tally)) == tally


def test_a_plan_says_what_is_counted():
    model = bk.NaiveBayes(numeric={"q": "histogram"}, cuts=[1.5]).fit({"p": [1.0, 2.0], "q": [1, 2]}, [0, 1])
    assert model._plan(model.schema_) == Plan(families=("q",), moments=("p",))


def test_strings_and_numbers_are_not_merged_as_values_of_one_column():
    numbers = Tally.from_counts({"zip": {"a": {1: 2, 2: 1}}})
    strings = Tally.from_counts({"zip": {"a": {"1": 2, "2": 1}}})
    with pytest.raises(SchemaMismatch, match=r"'zip' holds the int 1 .* the str '1'"):
        numbers + strings
    both = Tally.from_counts({"zip": {"a": {"1": 2, 2: 1}}})
    assert (numbers + both).families["zip"].values == (1, 2, "1")


@pytest.mark.parametrize("roles", ["categorical", "numeric"])
def test_the_columns_of_a_plan_are_not_gathered_once_for_each_column(roles, monkeypatch):
    names, gathered = Plan.names.fget, []
    monkeypatch.setattr(Plan, "names", property(lambda self: gathered.append(self) or names(self)))
    X, y = np.random.default_rng(0).integers(0, 3, (40, 60)), np.arange(40) % 2
    model = bk.NaiveBayes(numeric="gaussian", roles=roles).fit(X, y)
    model.partial_fit(X[:1], y[:1])
    assert 0 < len(gathered) < 20
