"""One body of tests for every engine: however rows are cut into parts, the counts are those of one machine."""

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from tests.tallies import agree

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")]

SCHEMA = pa.schema(
    {
        "sky": pa.string(),
        "flag": pa.bool_(),
        "code": pa.int64(),
        "size": pa.float64(),
        "label": pa.string(),
        "days": pa.int64(),
    }
)


def rows(n, seed=0, labels=("no", "yes")):
    """A table with gaps, numbers that do not add up exactly in floats, and integers beyond 2^53."""
    rng = np.random.default_rng(seed)
    sky = rng.choice(np.array(["sun", "rain", "a'b", 'q"q', "été", "", None], dtype=object), n)
    flag = rng.choice(np.array([True, False, None], dtype=object), n)
    code = rng.choice(np.array([1, 2, 2**53, 2**53 + 1, None], dtype=object), n)
    size = np.where(rng.random(n) < 0.1, None, np.round(rng.normal(1e6, 1.0, n), 2))
    drawn = [sky, flag, code, size, rng.choice(labels, n), rng.integers(0, 4, n)]
    return pa.table({field.name: pa.array(list(cells), field.type) for field, cells in zip(SCHEMA, drawn, strict=True)})


def model(**settings):
    roles = {"code": "categorical", "days": "ignore"}
    return bk.NaiveBayes(**{"numeric": "gaussian", "roles": roles, **settings})


def whole(parts, **settings):
    """What one machine learns from all parts."""
    return model(**settings).fit(pa.concat_tables(parts), "label")


EMPTY = rows(0)
SPLITS = {
    "one part": [rows(40)],
    "two halves": [rows(20, 1), rows(20, 2)],
    "parts of one row": [rows(1, seed) for seed in range(5)],
    "an empty part first": [EMPTY, rows(20, 3)],
    "empty parts between and after": [rows(7, 4), EMPTY, rows(9, 5), EMPTY],
    "a class in one part only": [rows(10, 6), rows(5, 7, ["maybe"])],
    "a value in one part only": [
        rows(10, 8),
        rows(6, 9).set_column(0, "sky", pa.array(["hail"] * 6)),
        rows(3, 10),
    ],
    "a part of missing cells": [
        rows(10, 11),
        pa.table({name: pa.nulls(4, t) for name, t in zip(SCHEMA.names, SCHEMA.types, strict=True)})
        .set_column(4, "label", pa.array(["no"] * 4))
        .set_column(5, "days", pa.array([1] * 4)),
    ],
}


@pytest.mark.parametrize("split", SPLITS)
def test_any_split_gives_the_counts_of_one_machine(way, split, tmp_path):
    parts = SPLITS[split]
    found = model().fit_source(way.source(parts, tmp_path, "label"))
    assert agree(found.tally_, whole(parts).tally_)


def test_parts_in_another_order_give_the_same_counts(way, tmp_path):
    parts = [rows(6, seed) for seed in range(4)]
    found = model().fit_source(way.source(parts[::-1], tmp_path, "label"))
    assert agree(found.tally_, whole(parts).tally_)


def test_rows_learned_here_are_forgotten_there(way, tmp_path):
    kept, gone = [rows(20, 1), rows(5, 2)], [rows(8, 3), EMPTY, rows(4, 4)]
    here = whole(kept + gone)
    here.forget_source(way.source(gone, tmp_path, "label"))
    assert agree(here.tally_, whole(kept).tally_)


def test_rows_learned_there_are_forgotten_here(way, tmp_path):
    kept, gone = [rows(20, 1), rows(5, 2)], rows(8, 3)
    there = model().fit_source(way.source([*kept, gone], tmp_path, "label"))
    there.forget(gone, "label")
    assert agree(there.tally_, whole(kept).tally_)


def test_more_rows_are_learned_there(way, tmp_path):
    first, more = [rows(20, 1)], [rows(5, 2, ["maybe"]), rows(5, 3)]
    found = whole(first).learn_source(way.source(more, tmp_path, "label"))
    assert agree(found.tally_, whole(first + more).tally_)


def test_a_column_of_weights_is_the_row_as_often(way, tmp_path):
    parts = [rows(15, 1), EMPTY, rows(10, 2)]
    found = bk.NaiveBayes(numeric="gaussian", roles={"code": "categorical"}).fit_source(
        way.source(parts, tmp_path, "label", "days")
    )
    table = pa.concat_tables(parts)
    again = np.repeat(np.arange(table.num_rows), table["days"].to_numpy())
    repeated = bk.NaiveBayes(numeric="gaussian", roles={"code": "categorical"}).fit(
        table.take(again).drop_columns(["days"]), "label"
    )
    assert agree(found.tally_, repeated.tally_.as_float())
    assert "days" not in found.schema_.columns


@pytest.mark.parametrize(
    "other",
    [
        bk.NaiveBayes(numeric="gaussian", roles={"code": "categorical"}),
        bk.NaiveBayes(roles={"code": "categorical"}, numeric="histogram", cuts=4),
        bk.TAN(),
        bk.GaussianBayes(roles={"sky": "ignore", "flag": "ignore"}),
    ],
    ids=lambda other: type(other).__name__,
)
@pytest.mark.filterwarnings("ignore::bayeskit.BayesWarning")
def test_weights_that_are_no_whole_numbers_are_summed_as_on_one_machine(way, other, tmp_path):
    parts = []
    for part in (rows(25, 1), EMPTY, rows(20, 2)):
        weights = np.random.default_rng(3).choice([0.0, 0.1, 1 / 3, 2.5, 1e-9, 1e6], part.num_rows)
        other_size = pa.compute.multiply(part["size"], part["days"])  # a second number, for products
        parts.append(part.append_column("w", pa.array(weights)).append_column("more", other_size))
    found = bk.models.base.clone(other).fit_source(way.source(parts, tmp_path, "label", "w"))
    expected = bk.models.base.clone(other).fit(pa.concat_tables(parts), "label", sample_weight="w")
    assert agree(found.tally_, expected.tally_)
    assert found.schema_ == expected.schema_


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), 1e-200, None])
def test_a_weight_that_is_none_is_refused(way, weight, tmp_path):
    part = rows(3, 1).append_column("w", pa.array([1.0, 2.0, weight]))
    with pytest.raises(bk.BayesError, match="weight"):
        model().fit_source(way.source([part], tmp_path, "label", "w"))


@pytest.mark.filterwarnings("ignore::bayeskit.BayesWarning")
def test_weights_too_far_apart_are_summed_exactly_or_refused(way, tmp_path):
    part = rows(4, 1).append_column("w", pa.array([1.0, 1e-30, 2.0, 1e20]))
    if way.counts_alone:
        with pytest.raises(bk.BayesError, match=r"weights from 1e-30 to 1e[+]20, too far apart for exact sums"):
            model().fit_source(way.source([part], tmp_path, "label", "w"))
        return
    found = model().fit_source(way.source([part], tmp_path, "label", "w"))
    assert agree(found.tally_, model().fit(part, "label", sample_weight="w").tally_)


@pytest.mark.parametrize(
    "settings",
    [
        {"numeric": "histogram", "cuts": "mdl"},
        {"numeric": "histogram", "cuts": ("frequency", 4)},
        {"numeric": "histogram", "cuts": 5},
        {"numeric": "histogram", "cuts": ("random", 5), "random_state": 3},
        {"numeric": "kernel"},
    ],
    ids=str,
)
def test_cut_points_are_those_of_one_machine(way, settings, tmp_path):
    parts = [rows(60, 1), EMPTY, rows(40, 2)]
    shifted = [
        part.set_column(
            3,
            "size",
            pa.array(
                [
                    x and x + 5 * (y == "yes")
                    for x, y in zip(*map(pa.ChunkedArray.to_pylist, (part["size"], part["label"])), strict=True)
                ],
                pa.float64(),
            ),
        )
        for part in parts
    ]
    found = model(**settings).fit_source(way.source(shifted, tmp_path, "label"))
    expected = whole(shifted, **settings)
    assert found.schema_ == expected.schema_
    assert agree(found.tally_, expected.tally_)


@pytest.mark.parametrize(
    "other",
    [
        bk.TAN(roles={"days": "ignore"}),
        bk.KDB(k=1, roles={"days": "ignore"}),
        bk.AODE(roles={"days": "ignore"}),
        bk.FullJointBayes(roles={"code": "ignore", "days": "ignore"}),
        bk.GaussianBayes(roles={"sky": "ignore", "flag": "ignore", "code": "ignore"}),
        bk.NaiveBayes(numeric="gaussian", roles={"sky": "text", "code": "ignore"}),
    ],
    ids=lambda other: type(other).__name__,
)
def test_other_models_learn_the_same(way, other, tmp_path):
    parts = [rows(30, 1), EMPTY, rows(20, 2)]
    if way.counts_alone and "text" in other.roles.values():
        with pytest.raises(bk.BayesError, match=r"a database does not count .* read its rows, without push=True"):
            bk.models.base.clone(other).fit_source(way.source(parts, tmp_path, "label"))
        return
    found = bk.models.base.clone(other).fit_source(way.source(parts, tmp_path, "label"))
    expected = bk.models.base.clone(other).fit(pa.concat_tables(parts), "label")
    assert agree(found.tally_, expected.tally_)
    np.testing.assert_allclose(found.predict_proba(parts[0]), expected.predict_proba(parts[0]), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::bayeskit.BayesWarning")
def test_networks_and_joint_distributions_are_those_of_one_machine(way, tmp_path):
    parts = [rows(30, 1), EMPTY, rows(20, 2)]
    table, edges = pa.concat_tables(parts), [("label", "sky"), ("label", "flag"), ("sky", "flag"), ("flag", "code")]
    roles = {"size": "ignore", "days": "ignore", "code": "categorical"}
    data, engine = way.place(parts, tmp_path)
    network = bk.BayesianNetwork.from_data(edges, data, roles=roles, engine=engine)
    expected = bk.BayesianNetwork.from_data(edges, table, roles=roles)
    assert network == expected
    assert agree(network.tally_.tally, expected.tally_.tally)
    assert network.learn(data, engine=engine) == expected.learn(table)
    assert network.learn(parts[0]).forget(data, engine=engine) == expected.learn(parts[0]).forget(table)
    joint = bk.JointDistribution.from_data(data, roles=roles, engine=engine)
    alone = bk.JointDistribution.from_data(table, roles=roles)
    assert (joint.values, joint.n_rows) == (alone.values, alone.n_rows)
    np.testing.assert_array_equal(joint.p, alone.p)
    for name in alone.variables:
        np.testing.assert_array_equal(joint.codes[name], alone.codes[name])


def test_rows_without_a_label_are_refused_or_left_out_and_counted(way, tmp_path):
    gaps = rows(4, 2).set_column(4, "label", pa.array(["yes", None, None, "no"]))
    none = rows(2, 3).set_column(4, "label", pa.nulls(2, pa.string()))
    parts = [rows(6, 1), gaps, none]
    with pytest.raises(bk.BayesError, match="label"):
        model().fit_source(way.source(parts, tmp_path, "label"))
    with pytest.warns(bk.BayesWarning, match="4 of 12 rows have no label"):
        found = model(unlabeled="drop").fit_source(way.source(parts, tmp_path, "label"))
    expected = model().fit(
        pa.concat_tables(parts).filter(pa.compute.is_valid(pa.concat_tables(parts)["label"])), "label"
    )
    assert agree(found.tally_, expected.tally_)


def test_no_rows_at_all_are_refused(way, tmp_path):
    with pytest.raises(bk.BayesError, match="no rows"):
        model().fit_source(way.source([EMPTY, EMPTY], tmp_path, "label"))


def test_a_bad_cell_is_refused_in_the_same_words_and_nothing_changes(way, tmp_path):
    learned = whole([rows(10)])
    before = learned.tally_
    bad = rows(6, 1).set_column(3, "size", pa.array([1.0, 2.0, float("inf"), 1.0, 1.0, 1.0]))
    where = "or its negative in some row" if way.counts_alone else "in row 2"
    with pytest.raises(bk.BayesError, match=f"column 'size' has inf {where}"):
        learned.learn_source(way.source([bad], tmp_path, "label"))
    assert learned.tally_ is before
