"""A statistic from outside the package: one class, registered, that counts, merges, forgets and goes through files."""

from dataclasses import dataclass

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Responsibilities, open_source
from bayeskit.engines import local
from bayeskit.errors import BadFile, BayesError, NotLearnt
from bayeskit.tally import statistic as registry
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.space import counts_agree, taken, without
from bayeskit.tally.statistic import Statistic, register
from bayeskit.tally.tally import Tally


@dataclass(frozen=True, eq=False)
class Zeros(Statistic):
    """How many cells of each column are zero, by class: (classes, columns)."""

    kind = "zeros"
    columns: tuple[str, ...]
    counts: np.ndarray

    @property
    def request(self):
        return Request(self.kind, self.columns)

    @classmethod
    def empty(cls, request, space):
        return cls(request.columns, np.zeros((space.n_classes, len(request.columns)), space.dtype))

    @classmethod
    def count(cls, request, counter):
        columns = [(counter.block.floats[name] == 0).astype(np.uint8) for name in request.columns]
        return cls(request.columns, np.column_stack([t[:, 1] for t in counter.by_class(columns, [2] * len(columns))]))

    def recode(self, recoding):
        return Zeros(self.columns, taken(self.counts, recoding.classes, 0))

    def plus(self, other):
        return Zeros(self.columns, self.counts + other.restrict(self.columns).counts)

    def minus(self, other, space, tolerance):
        left = without(self.counts, other.restrict(self.columns).counts, tolerance)
        if (left < 0).any():
            raise NotLearnt(f"column {self.columns[np.argwhere(left < 0)[0, 1]]!r} had fewer zeros")
        return Zeros(self.columns, left)

    def as_float(self):
        return Zeros(self.columns, self.counts.astype(float))

    def agrees(self, other):
        return counts_agree(self.counts, other.counts, float(self.counts.sum()))

    def __eq__(self, other):
        return isinstance(other, Zeros) and self.columns == other.columns and np.array_equal(self.counts, other.counts)

    __hash__ = None

    def restrict(self, names):
        kept = tuple(name for name in names if name in self.columns)
        return Zeros(kept, self.counts[:, [self.columns.index(name) for name in kept]]) if kept else None

    def to_parts(self):
        return {}, [self.counts]

    @classmethod
    def from_parts(cls, request, header, arrays, space):
        if len(arrays) != 1 or arrays[0].shape != (space.n_classes, len(request.columns)):
            raise BadFile("the zeros do not fit their columns")
        return cls(request.columns, arrays[0])


SCHEMA = Schema({"size": Numeric(), "depth": Numeric()})
PLAN = Plan(moments=("size",), zeros=("size", "depth"))
ROWS = {"size": [0.0, 1.0, 0.0, 3.0, 0.0], "depth": [0.0, 0.0, 2.0, np.nan, 5.0]}
LABELS = ["a", "b", "a", "b", "b"]


@pytest.fixture
def zeros(monkeypatch):
    """The statistic, known for the time of a test."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    return register(Zeros)


def counted(which=slice(None), **kwargs):
    rows = {name: np.array(column)[which] for name, column in ROWS.items()}
    weights = kwargs.pop("weights", None)
    return local.collect(open_source(rows, np.array(LABELS)[which], weights), SCHEMA, PLAN, **kwargs)


def test_it_counts_whatever_the_blocks_are(zeros):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", 2)
        parts = counted()
    assert parts == counted()
    assert counted().statistics["zeros"].counts.tolist() == [[2, 1], [1, 1]]


def test_it_merges_and_forgets(zeros):
    one, two = counted(slice(0, 2)), counted(slice(2, None))
    assert one + two == counted() == two + one
    assert counted() - two == one
    assert one + Tally.empty(SCHEMA, PLAN) == one
    schema, plan = Schema({"size": Numeric()}), Plan(zeros=("size",))
    some, never = (local.collect(open_source({"size": [x]}, ["a"]), schema, plan) for x in (1.0, 0.0))
    with pytest.raises(NotLearnt, match="'size' had fewer zeros"):
        _ = some - never


def test_it_grows_with_classes_and_takes_weights_and_shares(zeros):
    weighted = counted(weights=[0.5, 1.0, 2.0, 1.0, 1.0])
    assert weighted.statistics["zeros"].counts.tolist() == [[2.5, 0.5], [1.0, 1.0]]
    assert (weighted + counted()).statistics["zeros"].counts.dtype == np.float64
    soft = Responsibilities(("a", "b"), np.array([[float(label == c) for c in "ab"] for label in LABELS]))
    shared = local.collect(open_source({n: np.array(c) for n, c in ROWS.items()}, soft), SCHEMA, PLAN)
    assert shared.agrees(counted().as_float())


def test_it_goes_through_a_file_and_a_restriction(zeros):
    tally = counted()
    assert Tally.from_bytes(tally.to_bytes()) == tally
    assert tally.restrict(["depth"]).plan == Plan(zeros=("depth",))


def test_a_file_that_names_an_unregistered_statistic_is_refused(zeros, monkeypatch):
    data = counted().to_bytes()
    monkeypatch.delitem(registry._KINDS, "zeros")
    with pytest.raises(BadFile, match="there is no statistic 'zeros'"):
        bk.Tally.from_bytes(data)
    with pytest.raises(BayesError, match="there is no statistic 'zeros'"):
        counted()


def test_two_statistics_cannot_share_a_name(zeros):
    with pytest.raises(BayesError, match="another statistic is registered as 'families'"):
        register(type("Other", (Zeros,), {"kind": "families"}))
