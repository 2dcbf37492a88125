"""A statistic from outside the package: one class, registered, that counts, merges, forgets and goes through files."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.data import frames
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Responsibilities
from bayeskit.engines import local
from bayeskit.errors import BadFile, BayesError, NotLearned
from bayeskit.tally import statistic as registry
from bayeskit.tally.plan import Plan
from bayeskit.tally.statistic import ArrayStatistic, register
from bayeskit.tally.tally import Tally
from tests.tallies import agree


class Zeros(ArrayStatistic):
    """Counts (classes,) of the cells of each column that are zero."""

    kind = "zeros"

    @classmethod
    def shape(cls, key, space):
        return ()

    @classmethod
    def count(cls, request, counter):
        columns = [(counter.block.floats[name] == 0).astype(np.uint8) for name in request.columns]
        tables = counter.by_class(columns, [2] * len(columns))
        return cls({name: table[:, 1] for name, table in zip(request.columns, tables, strict=True)})


SCHEMA = Schema({"size": Numeric(), "depth": Numeric()})
PLAN = Plan(moments=("size",), zeros=("size", "depth"))
ROWS = {"size": [0.0, 1.0, 0.0, 3.0, 0.0], "depth": [0.0, 0.0, 2.0, np.nan, 5.0]}
LABELS = ["a", "b", "a", "b", "b"]
ZEROS = {"size": [2, 1], "depth": [1, 1]}


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
    assert {name: table.tolist() for name, table in counted().statistics["zeros"].tables.items()} == ZEROS


def test_it_merges_and_forgets(zeros):
    one, two = counted(slice(0, 2)), counted(slice(2, None))
    assert one + two == counted() == two + one
    assert counted() - two == one
    assert one + Tally.empty(SCHEMA, PLAN) == one
    schema, plan = Schema({"size": Numeric()}), Plan(zeros=("size",))
    some, never = (local.collect(open_source({"size": [x]}, ["a"]), schema, plan) for x in (1.0, 0.0))
    with pytest.raises(NotLearned, match="'size' was not counted so often in class 'a' in the zeros"):
        _ = some - never


def test_it_grows_with_classes_and_takes_weights_and_shares(zeros):
    weighted = counted(weights=[0.5, 1.0, 2.0, 1.0, 1.0])
    assert weighted.statistics["zeros"].tables["size"].tolist() == [2.5, 1.0]
    assert (weighted + counted()).statistics["zeros"].tables["size"].dtype == np.float64
    soft = Responsibilities(("a", "b"), np.array([[float(label == c) for c in "ab"] for label in LABELS]))
    shared = local.collect(open_source({n: np.array(c) for n, c in ROWS.items()}, soft), SCHEMA, PLAN)
    assert agree(shared, counted().as_float())


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
