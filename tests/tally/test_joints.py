"""Columns counted together: against a Counter, as values with + and −, within the memory allowed."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.source import Responsibilities
from bayeskit.engines import local
from bayeskit.errors import BadFile, NotLearned, SchemaMismatch, TooLarge
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

SCHEMA = Schema({"sky": Categorical(), "flag": Categorical(), "step": Numeric((0.0, 2.0))})
NAMES = ("sky", "flag", "step")
JOINTS = (("flag", "sky"), ("step", "flag", "sky"), ("step",))
PLAN = Plan(families=NAMES, pairs=NAMES, joints=JOINTS)
few = settings(max_examples=30, deadline=None)
rows = st.lists(
    st.tuples(
        st.sampled_from(["sun", "rain", "hail", None]),
        st.sampled_from(["x", "y", None]),
        st.sampled_from([-1.0, 0.5, 9.0, None]),
        st.sampled_from(["a", "b", "c"]),
    ),
    min_size=1,
    max_size=20,
)


def collected(drawn, block=1 << 16, weights=None, plan=PLAN, **kwargs):
    columns = {name: np.array([row[i] for row in drawn], dtype=object) for i, name in enumerate(NAMES[:2])}
    columns["step"] = np.array([np.nan if row[2] is None else row[2] for row in drawn])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", block)
        return local.collect(open_source(columns, [row[3] for row in drawn], weights), SCHEMA, plan, **kwargs)


def cells_of(tally, names):
    """(class, values...) → count, from the tally's joint or pair of these columns."""
    values = [(None, *tally.families[name].values) for name in names]
    if names in tally.joints:
        joint = tally.joints[names]
        found = {
            (label, *(values[j][s] for j, s in enumerate(cell))): n
            for cell, counts in zip(joint.cells, joint.counts, strict=True)
            for label, n in zip(tally.classes, counts, strict=True)
        }
    else:
        table = tally.pairs.table(*names)
        found = {
            (label, u, v): table[c, i, j]
            for c, label in enumerate(tally.classes)
            for i, u in enumerate(values[0])
            for j, v in enumerate(values[1])
        }
    return {key: n for key, n in found.items() if n}


def counted(drawn, names):
    def cell(row, name):
        if name == "step":
            return None if row[2] is None else int(row[2] > 0) + int(row[2] > 2)
        return row[NAMES.index(name)]

    return Counter((row[3], *(cell(row, name) for name in names)) for row in drawn)


@few
@given(rows, st.integers(1, 7), st.integers(1, 3))
def test_pairs_and_joints_are_those_of_a_counter(drawn, block, n_threads):
    tally = collected(drawn, block, n_threads=n_threads)
    for names in (*JOINTS, ("sky", "flag"), ("sky", "step"), ("flag", "step"), ("step", "sky")):
        assert cells_of(tally, names) == counted(drawn, names), names


@pytest.mark.slow
@few
@given(rows, rows, st.sampled_from([None, 0.1, 3.0]))
def test_they_add_and_subtract_and_go_through_bytes(a, b, weight):
    weights = [None if weight is None else np.full(len(part), weight) for part in (a, b, a + b)]
    one, two, both = (collected(part, weights=w) for part, w in zip((a, b, a + b), weights, strict=True))
    if weight != 0.1:
        assert one + two == both == two + one
        assert both - two == one
        assert both.to_bytes() == (two + one).to_bytes()
    np.testing.assert_allclose((one + two - two).pairs.counts, one.pairs.counts)
    assert Tally.from_bytes(both.to_bytes()) == both
    assert both.plan == PLAN
    assert one + Tally.from_bytes(two.to_bytes()) == one + two


@few
@given(rows)
def test_responsibilities_of_zero_and_one_are_labels(drawn):
    columns = {name: np.array([row[i] for row in drawn], dtype=object) for i, name in enumerate(NAMES[:2])}
    columns["step"] = np.array([np.nan if row[2] is None else row[2] for row in drawn])
    matrix = np.array([[row[3] == label for label in "abc"] for row in drawn], dtype=float)
    soft = local.collect(open_source(columns, Responsibilities(("a", "b", "c"), matrix)), SCHEMA, PLAN)
    assert soft == collected(drawn, weights=np.ones(len(drawn)))


@few
@given(rows)
def test_a_restricted_tally_is_that_of_the_columns(drawn):
    tally = collected(drawn).restrict(["sky", "step"])
    assert tally.pairs.columns == ("sky", "step")
    assert list(tally.joints) == [("sky",), ("step", "sky"), ("step",)]
    for names in (("sky", "step"), ("step", "sky")):
        assert cells_of(tally, names) == counted(drawn, names)


def test_columns_in_another_order_are_aligned_by_name():
    drawn = [("sun", "x", 1.0, "a"), ("rain", None, None, "b")]
    turned = collected(drawn, plan=Plan(families=NAMES[::-1], pairs=NAMES[::-1], joints=JOINTS))
    assert (collected(drawn) + turned) - turned == collected(drawn)


def test_values_that_were_not_learned_together_cannot_be_forgotten():
    tally = collected([("sun", "x", 1.0, "a"), ("rain", "y", 1.0, "a")])
    never = collected([("sun", "y", 1.0, "a")])
    with pytest.raises(NotLearned, match=r"'sky' and 'flag'.*nothing was changed"):
        _ = tally - never
    with pytest.raises(SchemaMismatch, match="counted different things"):
        _ = tally + collected([("sun", "y", 1.0, "a")], plan=Plan(families=NAMES, pairs=NAMES))


def test_more_memory_than_allowed_is_refused_with_the_figure():
    n = 3000
    columns = {"a": [f"a{i}" for i in range(n)], "b": [f"b{i}" for i in range(n)]}
    schema, plan = Schema({"a": Categorical(), "b": Categorical()}), Plan(families=("a", "b"), pairs=("a", "b"))
    with pytest.raises(TooLarge, match=r"288 MB .*memory_limit=100 MB.*NaiveBayes"):
        local.collect(open_source(columns, np.arange(n) % 2), schema, plan, memory_limit=100_000_000)
    joint = Plan(families=("a", "b"), joints=(("a", "b"),))
    assert local.collect(open_source(columns, np.arange(n) % 2), schema, joint, memory_limit=10_000_000).n_rows == n
    with pytest.raises(TooLarge, match="memory_limit=50 kB"):
        local.collect(open_source(columns, np.arange(n) % 2), schema, joint, memory_limit=50_000)


def test_damaged_parts_are_refused():
    header, arrays = collected([("sun", "x", 1.0, "a"), ("rain", None, None, "b")]).to_parts()
    families, pairs, joints = header["statistics"]
    for change in (
        lambda h, a: (h | {"statistics": [families, [["pairs", ["sky", "nowhere"], {}], *pairs[1:]], joints]}, a),
        lambda h, a: (h | {"statistics": [families, pairs, [["joints", [["sky"]], {}], *joints[1:]]]}, a),
        lambda h, a: (h | {"statistics": [families, [["pairs", 3, {}], *pairs[1:]], joints]}, a),
        lambda h, a: (h | {"statistics": [pairs, joints]}, [a[0], *a[4:]]),
        lambda h, a: (h | {"statistics": [families, pairs, joints, joints]}, a),
        lambda h, a: (h | {"statistics": [families, pairs, [["spells", *joints[0][1:]], *joints[1:]]]}, a),
        lambda h, a: (h, a[:-1]),
        lambda h, a: (h, [*a[:-2], a[-2] + np.uint32(9), a[-1]]),
        lambda h, a: (h, [*a[:-1], -a[-1]]),
        lambda h, a: (h, [*a[:-2], a[-2][::-1].copy(), a[-1][::-1].copy()]),
        lambda h, a: (h | {"statistics": [families]}, a),
    ):
        with pytest.raises(BadFile):
            Tally.from_parts(*change(header, list(arrays)))
    assert bk.Tally.from_parts(header, arrays).n_rows == 2
