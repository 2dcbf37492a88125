"""Runs of classes are those that one would count by hand; its laws are those of every statistic."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Schema, Target
from bayeskit.data.sequences import Sequences
from bayeskit.engines import local
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import Transitions

SCHEMA = Schema({"x0": Categorical()}, Target("state"))
WALKS = st.lists(st.lists(st.integers(-1, 3), max_size=6), max_size=6)


def by_hand(walks, order):
    counts = Counter()
    for walk in walks:
        marked = [-9] * order + walk
        for t in range(len(walk)):
            run = tuple(marked[t : t + order + 1])
            if -1 not in run:
                counts[tuple(-1 if c == -9 else c for c in run)] += 1
    return dict(sorted(counts.items()))


@settings(max_examples=60, deadline=None)
@given(WALKS, st.integers(1, 4))
def test_runs_are_those_counted_by_hand(walks, order):
    path = np.array([c for walk in walks for c in walk], dtype=np.int64)
    made = Transitions.of(path, np.cumsum([0, *map(len, walks)]), 4, order)
    assert dict(zip(map(tuple, made.runs.tolist()), made.counts.tolist(), strict=True)) == by_hand(walks, order)
    if all(-1 not in walk for walk in walks):
        assert made.shorter(1) == Transitions.of(path, np.cumsum([0, *map(len, walks)]), 4, 1)
        moves = Counter(pair for walk in walks for pair in pairwise(walk))
        assert {(i, j): n for (i, j), n in np.ndenumerate(made.moves()) if n} == moves
        assert made.starts().tolist() == [sum(walk[:1] == [c] for walk in walks) for c in range(4)]


def tally(walks, order=1):
    source = Sequences.of([["o"] * len(walk) for walk in walks], labels=walks)
    return local.collect(source, SCHEMA, Plan(Transitions.request_for(order), families=("x0",)))


def test_forgetting_what_never_followed_is_refused_by_name():
    one = tally([["a", "b"], ["b", "b"]])
    with pytest.raises(
        NotLearned, match="'b' and then 'a' was learned never and cannot be forgotten once; nothing was"
    ):
        _ = one - tally([["b", "a"]])
    with pytest.raises(NotLearned, match="at the start 'a' was learned once and cannot be forgotten 2 times"):
        _ = one + tally([["b", "a", "b"]]) - tally([["a"], ["a"]])


def test_orders_do_not_mix_and_need_room():
    with pytest.raises(SchemaMismatch, match="order 1, the other of order 2"):
        _ = tally([["a"]]) + tally([["a"]], 2)
    with pytest.raises(BayesError, match="take a smaller order"):
        Transitions.of(np.arange(300), np.array([0, 300]), 300, 8)
    with pytest.raises(BayesError, match="order=0"):
        Transitions.of(np.arange(3), np.array([0, 3]), 3, 0)


def test_rows_that_make_up_no_sequences_have_no_transitions():
    plan = Plan(Transitions.request_for())
    with pytest.raises(BayesError, match="make up no sequences"):
        local.collect(open_source({"x0": ["o"]}, ["a"]), SCHEMA, plan)


def test_weights_are_of_whole_sequences():
    with pytest.raises(BayesError, match="different weights"):
        Transitions.of(np.array([0, 1]), np.array([0, 2]), 2, 1, np.array([1.0, 2.0]))
    twice = Transitions.of(np.array([0, 1, 1]), np.array([0, 2, 3]), 2, 1, np.array([2.0, 2.0, 0.0]))
    assert (twice.runs.tolist(), twice.counts.tolist()) == ([[-1, 0], [0, 1]], [2.0, 2.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda runs, counts: (runs[::-1].copy(), counts), "not in order"),
        (lambda runs, counts: (runs + 7, counts), "not there"),
        (lambda runs, counts: (runs, counts * 0), "negative or no numbers"),
        (lambda runs, counts: (runs, counts * 3), "more positions than the classes"),
        (lambda runs, counts: (runs[:, :1].copy(), counts), "do not fit their order"),
        (lambda runs, counts: (runs[2:], counts[2:]), "do not fit together"),
    ],
)
def test_a_damaged_file_is_refused(change, message):
    header, arrays = tally([["a", "b"], ["b", "b"]]).to_parts()
    at = next(i for i, array in enumerate(arrays) if array.ndim == 2 and array.shape[1] == 2 and array.min() < 0)
    arrays[at : at + 2] = change(*arrays[at : at + 2])
    with pytest.raises(BadFile, match=message):
        Tally.from_parts(header, arrays)
