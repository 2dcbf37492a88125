"""Rows at the leaves of given trees: counted in any blocks, added, taken away, saved."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import Tally, open_source
from bayeskit.data.schema import infer
from bayeskit.engines import local
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch
from bayeskit.tally.coded_trees import Leaves, LeavesRequest
from bayeskit.tally.plan import Plan


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = {"a": rng.choice(["u", "v", "w", None], n).tolist(), "b": rng.normal(size=n), "c": rng.choice(list("1234"), n)}
    return X, np.where((X["b"] > 0) ^ (rng.random(n) < 0.2), "yes", "no")


@pytest.fixture(scope="module")
def trees():
    return bk.BayesClassifier(fast=True, n_trees=3).fit(*table()).structure_.trees


def counted(trees, X, y, weights=None):
    source = open_source(X, y, weights)
    schema = infer(source.kinds)
    return local.collect(source, schema, Plan(LeavesRequest.of(trees), families=schema.coded))


def some(X, rows):
    return {name: [column[i] for i in rows] for name, column in X.items()}


def test_parts_add_up_and_go_away_again(trees):
    X, y = table()
    first, last = range(50), range(50, 80)
    a, b = (counted(trees, some(X, rows), y[list(rows)]) for rows in (first, last))
    whole = counted(trees, X, y)
    assert a + b == whole
    assert whole - b == a
    assert whole.statistics["leaves"].counts.sum() == 80 * len(trees)
    with pytest.raises(NotLearned):
        a - whole


def test_a_weight_of_two_is_the_row_twice(trees):
    X, y = table(30)
    twice = {name: [*column, *column] for name, column in X.items()}
    weighed = counted(trees, X, y, np.full(30, 2.0)).statistics["leaves"]
    np.testing.assert_array_equal(weighed.counts, counted(trees, twice, [*y, *y]).statistics["leaves"].counts)


def test_new_values_end_where_they_are_asked_for_and_new_classes_have_room(trees):
    X, y = table(40)
    strange = {"a": ["never"], "b": [0.0], "c": ["9"]}
    both = counted(trees, X, y) + counted(trees, strange, ["maybe"])
    leaves = both.statistics["leaves"]
    assert leaves.counts.shape[1] == 3
    assert leaves.counts[:, 0].sum() == len(trees)  # maybe


def test_a_file_holds_trees_and_counts_and_others_are_refused(trees):
    X, y = table()
    tally = counted(trees, X, y)
    again = Tally.from_bytes(tally.to_bytes())
    assert again == tally
    header, arrays = tally.to_parts()
    at = len(arrays) - 2
    for change in (-1, 2**40):
        odd = [array.copy() for array in arrays]
        odd[at][0] = change
        with pytest.raises(BadFile):
            Tally.from_parts(header, odd)


def test_leaves_of_other_trees_do_not_add(trees):
    X, y = table()
    others = bk.BayesClassifier(fast=True, n_trees=3, random_state=1).fit(X, y).structure_.trees
    with pytest.raises(SchemaMismatch):
        counted(trees, X, y) + counted(others, X, y)
    with pytest.raises(BayesError, match="given"):
        Leaves.empty(Plan(leaves=["a"])[0], counted(trees, X, y).space)
