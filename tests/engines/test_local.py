"""The local engine counts what brute force counts, whatever the blocks and the threads."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Ignored, Numeric, Schema
from bayeskit.data.source import Responsibilities
from bayeskit.engines import local
from bayeskit.engines.engine import RemoteSource
from bayeskit.tally.plan import Plan

SCHEMA = Schema({"sky": Categorical(), "size": Numeric(), "step": Numeric((0.0, 2.0)), "id": Ignored()})
PLAN = Plan(families=("sky", "step"), moments=("size",))
rows = st.lists(
    st.tuples(
        st.sampled_from(["sun", "rain", None]),
        st.integers(-100, 100) | st.none(),
        st.sampled_from([-1.0, 0.0, 0.5, 2.0, 9.0, None]),
        st.sampled_from(["a", "b"]),
    ),
    min_size=1,
    max_size=20,
)


def table(drawn):
    sky, size, step, label = zip(*drawn, strict=True)
    numbers = [np.array([np.nan if x is None else x for x in cells], dtype=float) for cells in (size, step)]
    sky = np.array(sky, dtype=object)
    return {"sky": sky, "size": numbers[0], "step": numbers[1], "id": np.arange(len(sky))}, np.array(
        label, dtype=object
    )


def interval(x):
    return None if x is None else int(x > 0) + int(x > 2)


@settings(max_examples=40, deadline=None)
@given(rows, st.integers(1, 7), st.integers(1, 3))
def test_counts_and_moments_are_those_of_brute_force(drawn, block, threads):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", block)
        tally = local.collect(open_source(*table(drawn)), SCHEMA, PLAN, n_threads=threads)
    assert dict(zip(tally.classes, tally.class_counts.tolist(), strict=True)) == Counter(row[3] for row in drawn)
    for name, cell in (("sky", lambda row: row[0]), ("step", lambda row: interval(row[2]))):
        wanted = Counter((row[3], cell(row)) for row in drawn)
        family = tally.families[name]
        found = {
            (label, value): family.counts[i, j]
            for i, label in enumerate(tally.classes)
            for j, value in enumerate((None, *family.values))
        }
        assert {key: n for key, n in found.items() if n} == wanted
    for i, label in enumerate(tally.classes):
        numbers = [row[1] for row in drawn if row[3] == label and row[1] is not None]
        assert tally.moments.n[i, 0] == len(numbers)
        assert tally.moments.sum_hi[i, 0] == sum(numbers)
        assert tally.moments.square_hi[i, 0] == sum(x * x for x in numbers)


@settings(max_examples=25, deadline=None)
@given(rows, st.integers(1, 7))
def test_responsibilities_of_zero_and_one_are_labels(drawn, block):
    columns, labels = table(drawn)
    matrix = np.column_stack([labels == "a", labels == "b"]).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", block)
        soft = local.collect(open_source(columns, Responsibilities(("a", "b"), matrix)), SCHEMA, PLAN)
        hard = local.collect(open_source(columns, labels, np.ones(len(labels))), SCHEMA, PLAN)
    assert soft.classes == hard.classes
    assert np.array_equal(soft.class_counts, hard.class_counts)
    assert soft.families == hard.families
    np.testing.assert_allclose(soft.moments.mean(), hard.moments.mean(), rtol=1e-14)


def test_responsibilities_are_weights_by_class():
    X = {"sky": ["sun", "rain"], "size": [1.0, 3.0], "step": [1.0, 1.0], "id": [0, 1]}
    soft = Responsibilities(("b", "a"), np.array([[0.25, 0.75], [1.0, 0.0]]))
    tally = local.collect(open_source(X, soft, [2.0, 1.0]), SCHEMA, PLAN)
    assert tally.classes == ("a", "b")
    assert tally.class_counts.tolist() == [1.5, 1.5]
    assert tally.families["sky"].present.tolist() == [[0, 1.5], [1, 0.5]]
    assert tally.moments.mean()[:, 0] == pytest.approx([1.0, (0.5 * 1 + 3) / 1.5])


@pytest.mark.parametrize(
    ("classes", "matrix"),
    [
        (("a", "b"), [[1.0], [1.0]]),
        (("a", "a"), [[0.5, 0.5], [0.5, 0.5]]),
        (("a", "b"), [[1.0, -1.0], [0.5, 0.5]]),
        (("a", "b"), [[np.nan, 1.0], [0.5, 0.5]]),
        (("a", "b"), [[0.5, 0.5]]),
        (("a", "b"), [0.5, 0.5]),
    ],
)
def test_responsibilities_that_make_no_sense_are_refused(classes, matrix):
    X = {"sky": ["sun", "rain"], "size": [1.0, 3.0], "step": [1.0, 1.0], "id": [0, 1]}
    with pytest.raises(bk.BayesError):
        local.collect(open_source(X, Responsibilities(classes, np.array(matrix))), SCHEMA, PLAN)


def test_values_and_classes_may_appear_in_any_block():
    n = 50
    X = {"code": np.arange(n) * 10_000, "word": [f"w{i}" for i in range(n)]}
    schema = Schema({"code": Categorical(), "word": Categorical()})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", 7)
        tally = local.collect(open_source(X, np.arange(n)), schema, Plan(families=("code", "word")))
    assert tally.classes == tuple(range(n))
    assert tally.families["code"].present.tolist() == np.eye(n).tolist()
    assert len(tally.families["word"].values) == n


class OtherMachine:
    """An engine that counts on another machine, as the local one does here."""

    def owns(self, data):
        return RemoteSource(data, self)

    def collect(self, source, schema, plan, *, n_threads=1, memory_limit=None):
        return local.collect(source.source, schema, plan, n_threads=n_threads, memory_limit=memory_limit)


def test_another_engine_counts_what_can_be_counted_and_is_not_asked_for_rows():
    X, y = {"x": ["u", "v", "u"], "z": [1.0, 2.0, 4.0]}, ["a", "b", "a"]
    source = open_source(X, y)
    assert bk.NaiveBayes().fit_source(source, engine=OtherMachine()).tally_ == bk.NaiveBayes().fit(X, y).tally_
    with pytest.raises(bk.BayesError, match=r"rows themselves.*fit without engine="):
        bk.BayesClassifier(n_members=2, fast=True).fit_source(source, engine=OtherMachine())
