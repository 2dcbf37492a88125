"""Every statistic of the package keeps the same laws: halves are the whole, − undoes +, codes are only names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayeskit.data import frames
from bayeskit.data.frames import open_source
from bayeskit.data.schema import Categorical, Numeric, Schema, Text
from bayeskit.data.sequences import Sequences
from bayeskit.data.source import Responsibilities
from bayeskit.engines import local
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch
from bayeskit.models.ensemble.classifier import BayesClassifier
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.statistic import _KINDS
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import CLASSES
from tests.tallies import agree

SCHEMA = Schema(
    {"sky": Categorical(), "flag": Categorical(("n", "y")), "step": Numeric((0.0, 2.0)), "size": Numeric(),
     "depth": Numeric(), "note": Text(),
     "hits": Numeric(), "rate": Numeric()}
)  # fmt: skip
CODED, MEASURED = ("sky", "flag", "step"), ("size", "depth")


def _leaves():
    """What asks for the leaves of some trees, over coded columns and a number."""
    sky, size = ["sun", "rain", None, "hail"] * 12, [0.0, -2.5, 1e9, 4.0, None, 7.0] * 8
    labels = ["u" if (x or 0) > 1 else "v" if y == "sun" else "w" for x, y in zip(size, sky, strict=True)]
    model = BayesClassifier(n_members=1, n_chains=1, keep_rows=False, random_state=0)
    tally = model.fit({"sky": sky, "flag": ["n", "y", "y"] * 16, "size": size}, labels).tally_
    return tally.statistics["leaves"].request


PLANS = {
    "families": Plan(families=CODED),
    "moments": Plan(moments=MEASURED),
    "counts": Plan(counts=("hits",)),
    "logarithms": Plan(logarithms=("rate",)),
    "products": Plan(moments=MEASURED, products=MEASURED),
    "distinct": Plan(Request("distinct", MEASURED, {"max_values": 16})),
    "pairs": Plan(families=CODED, pairs=CODED),
    "joints": Plan(families=CODED, joints=(("flag", "sky"), ("step",), ("sky", "step", "flag"))),
    "contexts": Plan(contexts=(("flag", "sky"), ("step",), ("flag",))),
    "words": Plan(words=("note",)),
    "rows": Plan(rows=(*CODED, *MEASURED)),
    "sample": Plan(Request("sample", (*CODED, *MEASURED), {"n_rows": 100})),
    "documents": Plan(documents=("note",)),
    "leaves": Plan(_leaves()),
    "transitions": Plan(Request("transitions", (CLASSES,), {"order": 2}), families=CODED),
    "all": Plan(
        families=CODED, moments=MEASURED, products=MEASURED, distinct=MEASURED, pairs=CODED,
        joints=(("flag", "sky"),), contexts=(("sky", "step"),), words=("note",), rows=(*CODED, *MEASURED),
    ),
}  # fmt: skip
KINDS = st.sampled_from([*PLANS])
CELLS = st.tuples(
    st.sampled_from(["sun", "rain", "hail", None]),
    st.sampled_from(["n", "y", None]),
    st.sampled_from([-1.0, 0.5, 9.0, None]),
    st.sampled_from([0.0, -2.5, 1e9, None]),
    st.integers(-3, 3).map(float),
    st.sampled_from(["a cat", "the the dog", "", None]),
    st.sampled_from(["u", "v", "w"]),
    st.sampled_from([0.25, 1.0, 3.0]),
)
ROWS = st.lists(CELLS, min_size=1, max_size=12)
few = settings(max_examples=25, deadline=None)


def table_of(rows):
    columns = {name: [row[i] for row in rows] for i, name in enumerate(SCHEMA.columns) if name not in ("hits", "rate")}
    numbers = {name: np.array([np.nan if x is None else x for x in columns[name]]) for name in ("step", *MEASURED)}
    table = {name: numbers.get(name, np.array(column, dtype=object)) for name, column in columns.items()}
    return {**table, "hits": np.abs(numbers["depth"]), "rate": 2.0 ** numbers["depth"]}


def walks(rows):
    """A row as a sequence: of one to four positions, whose classes follow from its cells."""
    lengths = [1 + (row[0] is None) + 2 * (row[1] == "n") for row in rows]
    steps = [(row, i) for row, length in zip(rows, lengths, strict=True) for i in range(length)]
    return [(*row[:6], "uvw"["uvw".index(row[6]) * (1 + i) % 3], row[7]) for row, i in steps], lengths


def counted(rows, plan, weighted=False, block=1 << 16, soft=False):
    if plan.of("transitions") is not None:
        steps, lengths = walks(rows)
        source = Sequences.of(
            table_of(steps),
            lengths,
            labels=[row[6] for row in steps],
            weights=[row[7] for row in rows] if weighted else None,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frames, "BLOCK", block)
            return local.collect(source, SCHEMA, plan)
    labels = [row[6] for row in rows]
    weights = [row[7] for row in rows] if weighted else None
    if soft:
        labels = Responsibilities(("u", "v", "w"), np.array([[float(x == c) for c in "uvw"] for x in labels]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "BLOCK", block)
        return local.collect(open_source(table_of(rows), labels, weights), SCHEMA, plan)


def test_every_statistic_of_the_package_is_here():
    counted_elsewhere = {"tags"}  # from sentences and not from rows: its laws are those of the Tagger
    assert {*PLANS} - {"all"} | counted_elsewhere == {
        kind for kind, made in _KINDS.items() if made.__module__.startswith("bayeskit.")
    }


@few
@given(KINDS, ROWS, st.booleans(), st.integers(1, 5))
def test_blocks_do_not_matter(kind, rows, weighted, block):
    assert agree(counted(rows, PLANS[kind], weighted, block), counted(rows, PLANS[kind], weighted))


@few
@given(KINDS, ROWS, ROWS, st.booleans())
def test_halves_are_the_whole_in_any_order_and_can_be_taken_away(kind, a, b, weighted):
    one, two, both = (counted(rows, PLANS[kind], weighted) for rows in (a, b, a + b))
    assert agree(one + two, both)
    assert agree(two + one, both)
    assert agree(both - two, one) or kind in ("distinct", "all")  # whose bits, once dropped, do not come back
    if not weighted and kind != "logarithms":  # of which no sum is exact: the bits beyond 1e-27 may differ
        assert one + two == both
    assert (both - two).n_rows == one.n_rows


@few
@given(KINDS, ROWS, ROWS)
def test_weights_of_one_are_rows_and_whole_counts_become_weights_beside_them(kind, a, b):
    plain = counted(a, PLANS[kind])
    ones = counted([(*row[:7], 1.0) for row in a], PLANS[kind], weighted=True)
    assert agree(ones, plain.as_float())
    mixed = plain + counted(b, PLANS[kind], weighted=True)
    assert mixed.weighted
    assert agree(mixed, plain.as_float() + counted(b, PLANS[kind], weighted=True))
    assert Tally.from_bytes(mixed.to_bytes()) == mixed


@few
@given(
    st.sampled_from([kind for kind in PLANS if kind not in ("rows", "documents", "transitions", "leaves", "all")]), ROWS
)
def test_shares_of_zero_and_one_are_labels(kind, rows):
    assert agree(counted(rows, PLANS[kind], soft=True), counted(rows, PLANS[kind]).as_float())


@few
@given(KINDS, ROWS, st.booleans())
def test_bytes_and_parts_are_the_tally_again_and_an_empty_one_is_neutral(kind, rows, weighted):
    tally = counted(rows, PLANS[kind], weighted)
    assert Tally.from_bytes(tally.to_bytes()) == tally
    assert Tally.from_bytes(tally.to_bytes()).to_bytes() == tally.to_bytes()
    nothing = Tally.empty(SCHEMA, PLANS[kind])
    assert tally + nothing == tally == nothing + tally
    assert tally - nothing == tally
    assert (tally - tally).n_rows == 0
    assert tally.plan == PLANS[kind] or kind in ("distinct", "all")


@few
@given(KINDS, ROWS)
def test_a_row_that_was_never_counted_cannot_be_forgotten(kind, rows):
    tally = counted(rows, PLANS[kind])
    before = tally.to_bytes()
    never = ("snow", "n", 0.5, 77.25, 99.0, "a word nobody said", rows[0][6], 1.0)
    if kind in ("contexts",) and len([row for row in rows if row[6] == rows[0][6]]) < 2:
        return
    with pytest.raises(NotLearned, match="nothing was changed"):
        _ = tally - counted([never], PLANS[kind])
    assert tally.to_bytes() == before


@few
@given(KINDS, ROWS, st.data())
def test_fewer_columns_are_the_count_of_these(kind, rows, data):
    names = data.draw(st.lists(st.sampled_from([*SCHEMA.columns]), min_size=1, unique=True))
    tally = counted(rows, PLANS[kind])
    part = tally.restrict(names)
    assert {*part.schema.columns} == {*names}
    assert all({*request.names} <= {*names, CLASSES} for request in part.plan)
    if part.plan and kind == "transitions":
        steps, lengths = walks(rows)
        left = {n: c for n, c in table_of(steps).items() if n in names}
        labels = [row[6] for row in steps]
        assert agree(local.collect(Sequences.of(left, lengths, labels=labels), part.schema, part.plan), part)
    elif part.plan:
        again = local.collect(
            open_source({n: c for n, c in table_of(rows).items() if n in names}, [row[6] for row in rows]),
            part.schema,
            part.plan,
        )
        assert agree(again, part)


@few
@given(KINDS, ROWS, st.data())
def test_damage_gives_a_refusal_or_a_sound_tally(kind, rows, data):
    header, arrays = counted(rows, PLANS[kind]).to_parts()
    arrays = [array.copy() for array in arrays]
    sizes = [i for i, array in enumerate(arrays) if array.size]
    array = arrays[data.draw(st.sampled_from(sizes))]
    number = data.draw(st.sampled_from([0, 1, 2, 1000] if array.dtype.kind == "u" else [0, 1, -1, 1000, 2**53]))
    array.flat[data.draw(st.integers(0, array.size - 1))] = array.dtype.type(number % 256 if array.dtype.itemsize == 1
                                                                            else number)  # fmt: skip
    try:
        tally = Tally.from_parts(header, arrays)
    except BadFile:
        return
    assert Tally.from_bytes(tally.to_bytes()) == tally
    try:
        assert (tally + tally).n_rows == 2 * tally.n_rows
    except BayesError:
        return


def test_sides_that_counted_different_things_do_not_add():
    rows = [("sun", "n", 0.5, 1.0, 1.0, "a", "u", 1.0)]
    with pytest.raises(SchemaMismatch, match="counted different things"):
        _ = counted(rows, PLANS["families"]) + counted(rows, PLANS["pairs"])
    with pytest.raises(BayesError, match="there is no statistic 'spells'"):
        counted(rows, Plan(spells=("sky",)))
