"""Sources in parts, weights by column, and what an engine refuses."""

import os
import pickle
from itertools import chain
from threading import Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.data.frames import open_source
from bayeskit.data.io.files import FileSource
from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.source import first_rows
from bayeskit.engines import Processes, local
from bayeskit.engines.engine import RemoteSource
from bayeskit.engines.records import Counted, Ledger, Task, groups
from bayeskit.errors import BadFile, LostParts, TooLarge
from bayeskit.tally.plan import Plan, Request
from tests.tallies import agree

TABLE = pa.table({"sky": ["sun", "rain", None, "sun", "hail"], "x": [1.0, 2.0, None, 4.0, 8.0], "y": list("abaab")})
FRAME_SCHEMA = Schema({"sky": Categorical(), "x": Numeric()})
PLAN = Plan(families=["sky"], moments=["x"])


def read(source):
    """(rows in order, their numbers)"""
    batches = list(source.batches())
    cells = [cell for batch in batches for cell in batch.columns["x"].to_pylist()]
    return cells, [batch.start + i for batch in batches for i in range(batch.n_rows)]


@pytest.mark.parametrize("n", [1, 2, 3, 100])
def test_parts_of_a_parquet_file_are_its_row_groups_in_order(tmp_path, n):
    pq.write_table(TABLE, tmp_path / "t.parquet", row_group_size=2)
    parts = FileSource.of(tmp_path / "t.parquet", "y").parts(n)
    assert len(parts) <= min(n, 3)
    assert sum(part.n_rows for part in parts) == 5
    found = [read(pickle.loads(pickle.dumps(part))) for part in parts]
    assert [*chain(*(cells for cells, _ in found))] == TABLE["x"].to_pylist()
    assert [*chain(*(numbers for _, numbers in found))] == [*range(5)]


def test_parts_of_a_folder_are_runs_of_files_and_may_be_empty(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(TABLE.slice(0, 0), tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("sky,x,y\nsun,16,a\n")
    parts = FileSource.of(tmp_path, "y").parts(50)
    assert [*chain(*(read(part)[0] for part in parts))] == [*TABLE["x"].to_pylist(), 16]
    assert [] in [list(part.batches()) for part in FileSource.of(tmp_path / "b.parquet", "y").parts(4)]
    with pytest.raises(BadFile, match="no rows"):
        list(FileSource.of(tmp_path / "b.parquet", "y").batches())


def test_a_table_in_memory_has_parts_that_know_their_rows():
    parts = [pickle.loads(pickle.dumps(part)) for part in open_source(TABLE, "y").parts(2)]
    assert [next(part.batches()).start for part in parts] == [0, 2]
    assert [*chain(*(part.columns["sky"].to_pylist() for part in parts))] == TABLE["sky"].to_pylist()


def test_an_empty_part_is_counted_as_nothing():
    empty = local.collect_part(open_source(TABLE.slice(0, 0), "y"), FRAME_SCHEMA, PLAN)
    some = local.collect_part(open_source(TABLE, "y"), FRAME_SCHEMA, PLAN)
    assert not empty.n_rows
    assert empty + some == some == some + empty


@pytest.mark.parametrize("source", ["memory", "file"])
def test_a_column_holds_the_weights(tmp_path, source):
    table = TABLE.append_column("w", pa.array([1, 0, 2, 1, 3]))
    pq.write_table(table, tmp_path / "t.parquet")
    data = table if source == "memory" else tmp_path / "t.parquet"
    found = bk.NaiveBayes().fit(data, "y", sample_weight="w")
    assert agree(found.tally_, bk.NaiveBayes().fit(TABLE, "y", sample_weight=[1, 0, 2, 1, 3]).tally_)
    assert found.schema_.used == ["sky", "x"]
    assert found.partial_fit(data, "y", sample_weight="w").forget(data, "y", sample_weight="w").tally_.n_rows == 7


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([1, None, 1, 1, 1], "row 1 has no weight"),
        ([1, -1, 1, 1, 1], "has weight -1"),
        (["a", "b", "c", "d", "e"], "is not a number"),
        ([1.0, float("inf"), 1.0, 1.0, 1.0], "has weight inf"),
    ],
)
def test_a_weight_that_is_none_is_refused_with_its_place(tmp_path, cells, said):
    pq.write_table(TABLE.append_column("w", pa.array(cells)), tmp_path / "t.parquet")
    for data in (tmp_path / "t.parquet", pq.read_table(tmp_path / "t.parquet")):
        with pytest.raises(bk.BayesError, match=said):
            bk.NaiveBayes().fit(data, "y", sample_weight="w")


def test_a_weight_column_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(bk.BayesError, match=r"no column of weights 'skyy'.*did you mean sky"):
        bk.NaiveBayes().fit(TABLE, "y", sample_weight="skyy")
    with pytest.raises(bk.BayesError, match="both the target and the weight"):
        bk.NaiveBayes().fit(TABLE, "y", sample_weight="y")


@pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")
def test_an_id_column_is_refused_by_name_on_an_engine_and_learned_here(tmp_path):
    table = pa.table({"id": [f"id{i}" for i in range(300)], "x": ["u", "v"] * 150, "y": list("abc") * 100})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
    assert len(bk.NaiveBayes().fit(table, "y").tally_.families["id"].values) == 300
    with pytest.raises(TooLarge, match=r"column 'id' has more than 100 values.*roles=\{'id': \"ignore\"\}") as told:
        bk.NaiveBayes().fit_source(tmp_path / "t.parquet", "y", engine=Processes(1, max_categories=100))
    assert "'id'" in str(told.value)
    few = bk.NaiveBayes(roles={"id": "ignore"})
    assert few.fit_source(tmp_path / "t.parquet", "y", engine=Processes(1, max_categories=100)).tally_.n_rows == 300


def test_a_cap_holds_for_all_parts_together():
    task = Task(FRAME_SCHEMA, PLAN, max_categories=2)
    parts = open_source(TABLE, "y").parts(5)
    records = [task.count(i, part) for i, part in enumerate(parts)]
    with pytest.raises(TooLarge, match="column 'sky' has more than 2 values"):
        Ledger.of(parts, []).close(records, task, None)


def test_too_many_numbers_to_learn_cuts_of_are_refused_with_the_remedy():
    plan = Plan(Request("distinct", ("x",), {"max_values": 1 << 20, "refuse_beyond": 100}))
    numbers = open_source({"x": np.arange(101.0)}, ["a"] * 101)
    with pytest.raises(TooLarge, match=r"more than 100 different numbers.*cuts=\{'x': \[\.\.\.\]\}"):
        local.collect(numbers, Schema({"x": Numeric()}), plan)
    kept = local.collect(open_source({"x": np.arange(100.0)}, ["a"] * 100), Schema({"x": Numeric()}), plan)
    assert bk.Tally.from_bytes(kept.to_bytes()) == kept
    with pytest.raises(TooLarge):
        kept + local.collect(open_source({"x": [-1.0]}, ["a"]), Schema({"x": Numeric()}), plan)


class Nowhere:
    """An engine that counts nothing."""

    def owns(self, data):
        return RemoteSource(open_source(data), self)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (bk.KDB(selective=True), "selective KDB scores each row.*selective=False"),
        (bk.AODE(weights="log-linear"), 'AODE with log-linear weights scores each row.*weights="equal"'),
        (bk.BayesClassifier(), "rows themselves.*NaiveBayes"),
        (bk.NBTree(), "NBTree grows its tree on rows.*NaiveBayes"),
        (bk.SubclassBayes(), "SubclassBayes goes over the rows.*NaiveBayes"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_must_see_rows_refuse_an_engine_with_reason_and_remedy(model, why):
    table = TABLE.drop_columns(["x"])
    with pytest.raises(bk.BayesError, match=why):
        model.fit_source(table, "y", engine=Nowhere())


def test_nobody_brings_the_rows_of_an_engine_here():
    source = Nowhere().owns(TABLE).with_target("y")
    assert first_rows(source).n_rows == 5
    with pytest.raises(bk.BayesError, match="must see the rows themselves"):
        source.batches()
    with pytest.raises(bk.BayesError, match="must see the rows themselves"):
        bk.NaiveBayes().fit(TABLE, "y").leave_one_out(source, None)


def test_a_pipe_is_not_for_an_engine(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    writer = Thread(target=(tmp_path / "pipe.csv").write_text, args=["x,y\n1,a\n2,b\n"])
    writer.start()
    with pytest.raises(bk.BayesError, match="Processes does not read"):
        bk.NaiveBayes().fit_source(tmp_path / "pipe.csv", "y", engine=Processes(1))
    writer.join()


# -- records -----------------------------------------------------------------------------------------


def counted(n_parts=4):
    task = Task(FRAME_SCHEMA, PLAN)
    parts = open_source(TABLE, "y").parts(n_parts)
    return task, parts, [task.count(i, part) for i, part in enumerate(parts)]


def test_records_in_any_order_and_in_any_tree_give_the_tally_of_all():
    task, parts, records = counted()
    expected = local.collect(open_source(TABLE, "y"), FRAME_SCHEMA, PLAN)
    assert Ledger.of(parts, []).close(records[::-1], task, None) == expected
    nodes = [Counted.merge(records[2:][::-1]), Counted.merge(records[:2])]
    assert Ledger.of(parts, []).close(nodes, task, None) == expected


def test_a_part_that_comes_twice_is_refused_by_name():
    task, parts, records = counted()
    with pytest.raises(LostParts, match=r"part 1 \(rows from 1 on\) came back more than once"):
        Ledger.of(parts, []).close([*records, records[1]], task, None)
    with pytest.raises(LostParts, match="more than once"):
        Ledger.of(parts, []).close([Counted.merge([records[0], records[0]]), *records[1:]], task, None)


def test_lost_parts_are_named_and_never_merged_around():
    task, parts, records = counted()
    with pytest.raises(LostParts, match=r"parts 1 \(rows from 1 on\), 3 .* of 4 did not come back"):
        Ledger.of(parts, []).close([records[0], records[2]], task, None)
    with pytest.raises(LostParts, match="never handed out"):
        Ledger.of(parts[:3], []).close(records, task, None)


def test_a_wrong_number_of_rows_is_refused():
    task, parts, records = counted()
    with pytest.raises(LostParts, match="the workers counted 5 rows of 6"):
        Ledger(["?"] * 4, None, 6).close(records, task, None)
    wrong = [Counted(((0, 9),), records[0].tally), *records[1:]]
    with pytest.raises(LostParts, match=r"part 0 .* has 1 rows, and a worker has read 9"):
        Ledger.of(parts, []).close(wrong, task, None)
    with pytest.raises(LostParts, match="changed between two readings: 4 rows, then 5"):
        Ledger.of(parts, [4]).close(records, task, None)


def test_merging_many_is_adding_one_by_one():
    rng = np.random.default_rng(0)
    tallies = []
    for _ in range(9):
        n = int(rng.integers(0, 12))
        columns = {"sky": rng.choice(list("abcdefgh"), n).astype(object), "x": rng.normal(size=n)}
        tallies.append(local.collect_part(open_source(columns, rng.choice(list("uvw"), n)), FRAME_SCHEMA, PLAN))
    one_by_one = tallies[0]
    for tally in tallies[1:]:
        one_by_one = one_by_one + tally
    assert agree(bk.Tally.total(tallies), one_by_one)
    assert bk.Tally.total(tallies).classes == one_by_one.classes


def test_strings_in_one_part_and_numbers_in_another_are_refused():
    tallies = [
        local.collect_part(open_source({"sky": cells, "x": [1.0]}, ["a"]), FRAME_SCHEMA, PLAN)
        for cells in (["1"], ["2"], [1])
    ]
    with pytest.raises(bk.BayesError, match="give it the same type"):
        bk.Tally.total(tallies)


def test_a_tree_has_nodes_of_bounded_size():
    assert [len(group) for group in groups(64_000)] == [256] * 250
    assert groups(0) == []
    assert sum(map(len, groups(1000, 7))) == 1000
