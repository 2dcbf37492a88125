"""Frames of Spark and Dask: learned from and scored where they are, whatever the cluster does to its tasks."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.data.schema import Categorical, Schema
from bayeskit.engines import Dask, Spark
from bayeskit.engines.records import Task, fan_in
from bayeskit.errors import LostParts
from bayeskit.tally.plan import Plan
from tests.engines import clusters
from tests.engines.conftest import dask_frame, in_files, spark_frame
from tests.engines.faults import with_trouble
from tests.tallies import agree

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")]
on_spark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
on_dask = [pytest.mark.dask, pytest.mark.xdist_group("dask")]
FRAMES = [pytest.param(spark_frame, id="spark", marks=on_spark), pytest.param(dask_frame, id="dask", marks=on_dask)]


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array(np.arange(n) + 1000 * seed),
            "sky": pa.array(rng.choice(["sun", "rain", None], n)),
            "size": pa.array(rng.normal(size=n)),
            "days": pa.array(rng.integers(0, 3, n)),
            "play": pa.array(rng.choice(["no", "yes"], n)),
        }
    )


PARTS = [rows(40, 1), rows(20, 2)]
SETTINGS = {"numeric": "gaussian", "roles": {"id": "ignore", "days": "ignore"}}


def here(frame):
    """A cluster's frame as a table in memory, sorted by its key."""
    table = frame.toArrow() if hasattr(frame, "toArrow") else pa.Table.from_pandas(frame.compute())
    return table.sort_by("id")


@pytest.fixture(params=FRAMES)
def frame(request):
    return request.param(PARTS, None)[0]


def test_a_frame_is_learned_from_as_it_is(frame):
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    whole = pa.concat_tables(PARTS)
    assert agree(model.tally_, bk.NaiveBayes(**SETTINGS).fit(whole, "play").tally_)
    model.partial_fit(frame, "play").forget(whole, "play")
    assert agree(model.tally_, bk.NaiveBayes(**SETTINGS).fit(whole, "play").tally_)
    weighted = bk.NaiveBayes(numeric="gaussian", roles={"id": "ignore"}).fit(frame, "play", sample_weight="days")
    assert weighted.tally_.n_rows == pa.compute.sum(whole["days"]).as_py()


def test_a_frame_is_scored_where_it_is(frame):
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    whole = pa.concat_tables(PARTS).sort_by("id")
    scored = here(model.predict_proba(frame))
    assert scored.column_names[:5] == whole.column_names
    np.testing.assert_allclose(
        np.column_stack([scored["p_no"], scored["p_yes"]]), model.predict_proba(whole), rtol=0, atol=1e-12
    )
    assert here(model.predict(frame))["predicted"].to_pylist() == model.predict(whole).tolist()


def test_the_accuracy_of_a_frame_is_counted_where_it_is(frame):
    model = bk.NaiveBayes(numeric="gaussian", roles={"id": "ignore"}).fit(frame, "play", sample_weight="days")
    whole = pa.concat_tables(PARTS)
    assert model.score(frame, "play") == pytest.approx(model.score(whole, "play"), abs=1e-12)
    weighted = model.score(frame, "play", sample_weight="days")
    assert weighted == pytest.approx(model.score(whole, "play", sample_weight="days"), abs=1e-12)


@pytest.mark.filterwarnings("ignore::bayeskit.BayesWarning")
@pytest.mark.parametrize("weight", [None, "days"])
def test_a_frame_is_evaluated_where_it_is(frame, weight):
    """With a class that was never learned, rows that are impossible, and probabilities that are clipped."""
    learned = rows(30, 3).set_column(1, "sky", pa.array(["sun"] * 15 + ["rain"] * 15))
    labels = ["no"] * 15 + ["maybe"] * 15
    settings = {"roles": {"id": "ignore", "days": "ignore", "size": "ignore"}, "smoothing": 0}
    whole = pa.concat_tables(PARTS)
    for model in (
        bk.NaiveBayes(**SETTINGS).fit(rows(30, 3), "play"),
        bk.NaiveBayes(**settings).fit(learned.drop_columns(["play"]), labels),
    ):
        found = model.evaluate(frame, "play", sample_weight=weight)
        expected = model.evaluate(whole, "play", sample_weight=weight, method="held-out")
        for name in ("accuracy", "log_loss", "brier"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12, nan_ok=True)
            ours, theirs = (getattr(one.baseline, name) for one in (found, expected))
            assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)
        for name in ("classes", "target", "n_rows", "n_lost", "n_undecidable", "n_clipped"):
            assert getattr(found, name) == getattr(expected, name), name
        np.testing.assert_array_equal(found.counts, expected.counts)
        assert str(found.by_class) == str(expected.by_class)
        with pytest.raises(bk.BayesError, match="does not hold the true class of each row"):
            found.roc("no")


def test_learned_rows_of_a_frame_are_evaluated_as_held_out_on_request_alone(frame):
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    with pytest.raises(bk.BayesError, match=r"the rows that the model learned.*method='held-out'"):
        model.evaluate(frame, "play")
    with pytest.raises(bk.BayesError, match="leave-one-out reads the rows on this machine: "):
        model.evaluate(frame, "play", method="leave-one-out")
    assert model.evaluate(frame, "play", method="held-out").accuracy == model.score(frame, "play")


def test_labels_beside_a_frame_are_refused_with_the_name_to_pass(frame):
    for labels in (frame["play"], ["no"] * 60):
        with pytest.raises(bk.BayesError, match="y= of a frame of a cluster is the name of one of its columns"):
            bk.NaiveBayes(**SETTINGS).fit(frame, labels)
    with pytest.raises(bk.BayesError, match="sample_weight= of a frame of a cluster is the name"):
        bk.NaiveBayes(**SETTINGS).fit(frame, "play", sample_weight=frame["days"])


def test_a_frame_is_explained_where_it_is(frame):
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    explained = here(model.explain(frame))
    expected = model.explain(pa.concat_tables(PARTS).sort_by("id"))
    assert explained["predicted"].to_pylist() == [one.predicted for one in expected]
    assert explained["against"].to_pylist() == [one.against for one in expected]
    parts = [explained[f"evidence_{name}"].to_numpy() for name in ("prior", "sky", "size")]
    np.testing.assert_allclose(np.sum(parts, axis=0), [one.log_odds for one in expected], atol=1e-12)


def test_a_column_of_the_frame_is_not_written_over(frame):
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    with pytest.raises(bk.BayesError, match="more than one column named 'predicted'"):
        model.predict(model.predict(frame))


def test_work_that_reads_rows_here_refuses_a_frame_with_the_way_out(frame):
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    for work in (
        lambda: model.leave_one_out(frame, "play"),
        lambda: bk.BayesClassifier(roles={"id": "ignore"}).fit(frame, "play"),
        lambda: bk.LogisticRegression().fit(frame, "play"),
        lambda: bk.cross_validate(model, frame, "play"),
        lambda: bk.open_source(frame),
    ):
        with pytest.raises(bk.BayesError, match=r"rows"):
            work()


def test_a_target_that_is_not_there_is_refused(frame):
    with pytest.raises(bk.BayesError, match=r"no target column 'plai'.*did you mean play"):
        bk.NaiveBayes().fit(frame, "plai")


def test_no_more_than_a_look_comes_here(frame, monkeypatch):
    for engine in ("spark", "dask"):
        monkeypatch.setattr(f"bayeskit.engines.{engine}.LOOK", 5)
    source = Spark(frame.sparkSession).owns(frame) if hasattr(frame, "sparkSession") else Dask().owns(frame)
    assert source.with_target("play").look().n_rows == 5


NAMES = ['a"b', "select", "tick`tock", "x.y", "été", "a b", "--", "'; DROP TABLE t; --"]
VALUES = ["it's", 'q"q', "back\\slash", "new\nline", "nul\0", "--", "", None, "$1", "{}", "été", "x"]


@pytest.mark.parametrize("make", FRAMES)
def test_any_name_and_any_value_is_only_a_name_and_a_value(make):
    table = pa.table(
        {name: pa.array(VALUES[i:] + VALUES[:i]) for i, name in enumerate(NAMES)}
        | {"days": [1] * len(VALUES), "play": ["no", "yes"] * (len(VALUES) // 2)}
    )
    settings = {"roles": {"days": "ignore"}}
    frame = make([table], None)[0]
    model = bk.NaiveBayes(**settings).fit(frame, "play")
    assert model.tally_ == bk.NaiveBayes(**settings).fit(table, "play").tally_
    scored = model.predict_proba(frame)
    table_of = scored.toArrow() if hasattr(scored, "toArrow") else pa.Table.from_pandas(scored.compute())
    np.testing.assert_allclose(table_of["p_yes"].to_numpy(), model.predict_proba(table)[:, 1], atol=1e-12)


@pytest.mark.parametrize("make", FRAMES)
def test_dates_decimals_and_large_integers_are_the_same_values(make):
    table = pa.table(
        {
            "day": pa.array([date(2024, 2, 29), date(1969, 12, 31), None, date(2024, 3, 1)]),
            "at": pa.array(
                [datetime(2024, 2, 29, 23, 59), None, datetime(1969, 12, 31, 0, 30), datetime(2000, 1, 1, 12)]
            ),
            "price": pa.array([Decimal("1.10"), Decimal("-2.25"), None, Decimal("1.10")], pa.decimal128(10, 2)),
            "key": pa.array([2**53, 2**53 + 1, -(2**63), None], pa.int64()),
            "days": pa.array([1, 1, 1, 1]),
            "play": ["no", "yes", "no", "yes"],
        }
    )
    roles = {
        "day": "categorical",
        "at": "month,weekday,hour",
        "price": "numeric",
        "key": "categorical",
        "days": "ignore",
    }
    assert agree(
        bk.NaiveBayes(numeric="gaussian", roles=roles).fit(make([table], None)[0], "play").tally_,
        bk.NaiveBayes(numeric="gaussian", roles=roles).fit(table, "play").tally_,
    )


# -- faults ------------------------------------------------------------------------------------------


@pytest.fixture
def trouble(monkeypatch, tmp_path_factory):
    """Counting that meets a fault at the second part."""
    folder = tmp_path_factory.mktemp("tried")

    def meet(what):
        for engine in (Dask, Spark):
            monkeypatch.setattr(engine, "count", with_trouble(engine.count, folder, what))
        return folder

    return meet


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("kind", ["frame", "files"])
@pytest.mark.parametrize("what", ["killed", "failed", "slow"])
def test_a_task_that_spark_tries_again_is_counted_once(trouble, what, kind, tmp_path):
    session = clusters.spark_session()
    tried = trouble(what)
    data = spark_frame(PARTS, None)[0] if kind == "frame" else in_files(PARTS, tmp_path)
    model = bk.NaiveBayes(**SETTINGS).fit_source(data, "play", engine=Spark(session, parts=4))
    assert agree(model.tally_, bk.NaiveBayes(**SETTINGS).fit(pa.concat_tables(PARTS), "play").tally_)
    assert len(list(tried.iterdir())) == {"killed": 2, "failed": 3, "slow": 1}[what]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_the_part_of_an_executor_that_is_killed_is_counted_by_another(tmp_path):
    if not clusters.has_spark():
        clusters.absent(clusters.NO_SPARK)
    folder, tried = tmp_path / "rows", tmp_path / "tried"
    for made in (folder, tried):
        made.mkdir()
    root = str(Path(__file__).parents[2])
    run = subprocess.run(
        [sys.executable, "-m", "tests.engines.killed_executor", str(in_files(PARTS, folder)), str(tried)],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert "agrees after trials: 2" in run.stdout, run.stderr[-2000:]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_part_that_spark_never_gets_counted_is_an_error_and_changes_nothing(trouble):
    learned = bk.NaiveBayes(**SETTINGS).fit(PARTS[0], "play")
    before = learned.tally_
    trouble("always killed")
    with pytest.raises(LostParts, match="Spark did not count every part"):
        learned.learn_source(spark_frame(PARTS, None)[0], "play")
    assert learned.tally_ is before


@pytest.mark.dask
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("what", ["killed", "slow"])
def test_a_part_of_a_dask_worker_that_dies_is_counted_by_another(trouble, what, tmp_path):
    client = clusters.dask_client()
    trouble(what)
    model = bk.NaiveBayes(**SETTINGS).fit_source(in_files(PARTS, tmp_path), "play", engine=Dask(client, parts=4))
    assert agree(model.tally_, bk.NaiveBayes(**SETTINGS).fit(pa.concat_tables(PARTS), "play").tally_)


@pytest.mark.dask
@pytest.mark.xdist_group("dask")
def test_a_dask_frame_needs_no_client():
    clusters.need_dask()
    import dask
    import dask.dataframe as dd

    frame = dd.from_pandas(PARTS[0].to_pandas(), npartitions=3)
    with dask.config.set(scheduler="synchronous"):
        model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    assert agree(model.tally_, bk.NaiveBayes(**SETTINGS).fit(PARTS[0], "play").tally_)


@pytest.mark.dask
@pytest.mark.xdist_group("dask")
def test_a_refused_row_of_a_dask_frame_is_named_with_its_part():
    clusters.need_dask()
    import dask
    import dask.dataframe as dd

    whole = pa.concat_tables(PARTS).to_pandas()
    whole.loc[45, "size"] = float("inf")
    frame = dd.from_pandas(whole, npartitions=3)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(bk.BayesError, match=r"part 2 of the frame: .*column 'size' has inf in row 5\b"),
    ):
        bk.NaiveBayes(**SETTINGS).fit(frame, "play")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_many_partitions_of_spark_are_merged_in_a_tree(monkeypatch):
    monkeypatch.setattr("bayeskit.engines.spark.FAN_IN", 3)
    frame = spark_frame([rows(4, seed) for seed in range(8)], None)[0]
    source = Spark(frame.sparkSession).owns(frame)
    assert source.most_parts > 3
    model = bk.NaiveBayes(**SETTINGS).fit(frame, "play")
    expected = bk.NaiveBayes(**SETTINGS).fit(pa.concat_tables([rows(4, seed) for seed in range(8)]), "play")
    assert agree(model.tally_, expected.tally_)
    shuffled = frame.repartition(7)
    assert agree(bk.NaiveBayes(**SETTINGS).fit(shuffled, "play").tally_, expected.tally_)


@pytest.mark.filterwarnings("ignore::bayeskit.BayesWarning")
@pytest.mark.parametrize("make", FRAMES)
def test_large_tallies_are_added_few_at_a_time(make, monkeypatch, tmp_path):
    """The first rows tell their size; the counts are the same."""
    parts = [rows(4, seed) for seed in range(6)]
    frame, engine = make(parts, None)
    settings = {"roles": {"id": "ignore", "days": "ignore", "size": "ignore"}}
    expected = bk.TAN(**settings).fit(pa.concat_tables(parts), "play")
    first_rows = engine.owns(frame).with_target("play").first_rows
    task = Task(expected.schema_, expected.tally_.plan)
    assert fan_in(task, first_rows, 256) == 256
    monkeypatch.setattr("bayeskit.engines.records.NODE_BYTES", 1)
    assert fan_in(replace(task, plan=Plan(families=["sky"])), first_rows, 256) == 256
    used = []
    for name in ("dask", "spark"):
        monkeypatch.setattr(f"bayeskit.engines.{name}.fan_in", lambda *of: used.append(fan_in(*of)) or used[-1])
    for data in (frame, in_files(parts, tmp_path)):
        model = bk.TAN(**settings).fit_source(data, "play", engine=replace(engine, parts=6))
        assert agree(model.tally_, expected.tally_)
    assert used == [2, 2]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_frame_that_changes_between_two_readings_is_refused():
    frame, engine = spark_frame(PARTS, None)
    source = engine.owns(frame).with_target("play")
    plan, schema = Plan(families=["sky"]), Schema({"sky": Categorical()})
    engine.collect(source, schema, plan)
    with pytest.raises(LostParts, match="changed between two readings: 60 rows, then 59"):
        engine.collect(replace(source, frame=frame.where("id != 1001")), schema, plan)
