"""Processes of this machine: what they import, what they tell, and what happens when one is killed."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.data.io.files import FileSource
from bayeskit.engines import Processes
from bayeskit.errors import LostParts
from tests.engines.faults import with_trouble
from tests.tallies import agree

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine():
    return Processes(2)


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    sky, size = rng.choice(["sun", "rain", None], 60), rng.normal(size=60)
    pq.write_table(
        pa.table({"sky": pa.array(sky), "size": size, "play": rng.choice(["no", "yes"], 60)}),
        tmp_path / "rows.parquet",
        row_group_size=10,
    )
    return tmp_path / "rows.parquet"


def test_a_worker_imports_what_counting_takes_and_no_model():
    code = (
        "import json, sys, bayeskit.engines.worker, bayeskit.engines.records;"
        "print(json.dumps([m for m in sys.modules if m.startswith('bayeskit.models') or m.split('.')[0] in "
        "('sklearn', 'scipy', 'pandas', 'pyspark', 'dask', 'duckdb')]))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(told.stdout) == []


def test_whoever_watches_hears_of_rows_and_bytes_until_all_are_read(engine, file):
    heard = []
    source = FileSource.of(file, "play").watched(heard.append)
    bk.NaiveBayes(numeric="gaussian").fit_source(source, engine=engine)
    counted = heard[1:]  # the first is of the look for advice
    assert [progress.rows for progress in counted] == sorted(progress.rows for progress in counted)
    assert (counted[-1].rows, counted[-1].bytes_read) == (60, counted[-1].bytes_total)


@pytest.mark.parametrize("what", ["killed", "slow"])
def test_a_part_whose_process_is_killed_is_counted_by_another(file, what, monkeypatch, tmp_path_factory):
    tried = tmp_path_factory.mktemp("tried")
    monkeypatch.setattr(Processes, "count", with_trouble(Processes.count, tried, what))
    model = bk.NaiveBayes(numeric="gaussian").fit_source(file, "play", engine=Processes(2))
    assert agree(model.tally_, bk.NaiveBayes(numeric="gaussian").fit(file, "play").tally_)
    assert len(list(tried.iterdir())) == {"killed": 2, "slow": 1}[what]


def test_a_part_that_kills_every_process_is_named_and_nothing_changes(file, monkeypatch, tmp_path_factory):
    tried = tmp_path_factory.mktemp("tried")
    learned = bk.NaiveBayes().fit(file, "play")
    before = learned.tally_
    monkeypatch.setattr(Processes, "count", with_trouble(Processes.count, tried, "always killed"))
    with pytest.raises(LostParts, match=r"part 1 \(.*rows\.parquet, row group 1\) was not counted"):
        learned.learn_source(file, "play", engine=Processes(2))
    assert learned.tally_ is before


def test_processes_end_with_their_engine(file):
    engine = Processes(2)
    bk.NaiveBayes().fit_source(file, "play", engine=engine)
    processes = [worker._process for worker in engine._workers]
    assert [process.poll() for process in processes] == [None, None]
    del engine
    assert [process.poll() for process in processes] == [0, 0]


def test_an_error_of_a_worker_comes_as_it_is_and_the_next_work_is_done(engine, file, tmp_path):
    bad = pq.read_table(file).set_column(1, "size", pa.array([*map(float, range(59)), 1e200]))
    pq.write_table(bad, tmp_path / "bad.parquet", row_group_size=10)
    with pytest.raises(bk.BayesError, match=r"bad\.parquet: .*column 'size' has 1e\+200"):
        bk.NaiveBayes().fit_source(tmp_path / "bad.parquet", "play", engine=engine)
    assert bk.NaiveBayes().fit_source(file, "play", engine=engine).tally_.n_rows == 60


def test_a_number_of_processes_that_is_none_is_refused():
    for n in (0, -1, 1.5, True, "two"):
        with pytest.raises(bk.BayesError, match="whole number of processes"):
            Processes(n)


def test_files_by_a_relative_path_are_found(engine, file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert bk.NaiveBayes().fit_source("rows.parquet", "play", engine=engine).tally_.n_rows == 60


def test_documents_of_a_folder_are_counted_in_parts(engine, tmp_path):
    for label in ("good", "bad"):
        (tmp_path / label).mkdir()
        for i in range(5):
            (tmp_path / label / f"{i}.txt").write_text(f"{label} day number {i}")
    model = bk.TextClassifier("multinomial")
    there = bk.models.base.clone(model).fit_source(tmp_path, engine=engine)
    assert there.tally_ == model.fit_source(tmp_path).tally_
    with pytest.raises(bk.BayesError, match=r"looks at every document.*multinomial"):
        bk.TextClassifier("auto").fit_source(tmp_path, engine=engine)


def test_the_command_counts_on_processes(file, tmp_path):
    run = [sys.executable, "-m", "bayeskit.cli", "fit", str(file), "-t", "play", "--no-scores", "--processes", "2"]
    environment = {**os.environ, "COLUMNS": "80"}
    told = subprocess.run(
        [*run, "-o", str(tmp_path / "m.bayes")], capture_output=True, text=True, check=True, env=environment
    )
    assert "60 rows" in " ".join(told.stdout.split())
    assert agree(bk.load(tmp_path / "m.bayes").tally_, bk.NaiveBayes().fit(file, "play").tally_)


def test_tallies_are_added_as_they_arrive_and_few_are_held(monkeypatch):
    from bayeskit.data.schema import Categorical, Schema
    from bayeskit.engines.records import Counted, MergeTree, Task
    from bayeskit.tally.plan import Plan

    rng = np.random.default_rng(0)
    task = Task(Schema({"x": Categorical()}), Plan(families=["x"]))
    tables = [{"x": rng.choice([*"abcd"], 5)} for _ in range(37)]
    records = [task.count(i, bk.open_source(table, ["u", "v"] * 2 + ["u"])) for i, table in enumerate(tables)]
    whole = Counted.merge(records)
    for order in (range(37), reversed(range(37)), rng.permutation(37)):
        tree = MergeTree()
        held = []
        for number in order:
            tree.add(records[number])
            held.append(len(tree._waiting))
        merged = Counted.merge(tree.records())
        assert merged.parts == whole.parts
        assert merged.tally == whole.tally
        if isinstance(order, range):
            assert max(held) <= 6


def test_a_worker_of_another_version_is_refused():
    from bayeskit.data.schema import Categorical, Schema
    from bayeskit.engines.records import Task
    from bayeskit.tally.plan import Plan

    task = Task(Schema({"x": Categorical()}), Plan(families=["x"]), version="0.0.1")
    with pytest.raises(bk.BayesError, match=r"a worker has bayeskit .*, and this program 0\.0\.1"):
        task.count(0, bk.open_source({"x": ["a"]}, ["u"]))


@pytest.mark.parametrize("package", ["bayeskit", "pyarrow"])
def test_spark_without_a_package_on_the_executors_names_it(package):
    from bayeskit.engines.spark import lost_parts

    missing = f"ModuleNotFoundError: No module named '{package}'"
    error = lost_parts(
        "Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3 "
        "(TID 3) (10.0.0.7 executor 1): org.apache.spark.api.python.PythonException: Traceback (most recent call last):"
        f'\n  File "worker.py", line 193, in read_command\n    return self.loads(obj)\n{missing}\n\n'
        "pyspark.serializers.SerializationError: Caused by Traceback (most recent call last):\n"
        f"{missing}\n\n\tat org.apache.spark.api.python.Reader.run(Reader.scala:1)\n"
    )
    assert f"nothing was learned: ModuleNotFoundError: No module named '{package}'" in str(error)
    assert f"install {package} in the Python of every executor" in error.hint
