"""Rows of pyarrow datasets, of readers and of functions that open one; folders that are tables."""

import functools

import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyarrow.csv import ConvertOptions

import bayeskit as bk
from bayeskit.data.frames import open_source
from bayeskit.engines.processes import Processes
from bayeskit.errors import BadFile, BayesError
from tests.tallies import agree

TABLE = pa.table(
    {
        "sky": ["sun", "rain", None, "sun", "snow", "rain"] * 50,
        "wind": [None if i % 6 == 3 else 0.137 + i * 7.919 % 12.5 for i in range(300)],
        "year": [2023 + i % 11 for i in range(300)],
        "play": ["yes", "no", "no", "yes", "no", "yes"] * 50,
    }
)


def counts(data, **settings):
    return bk.NaiveBayes(roles={"year": "numeric"}).fit_source(data, "play", **settings).tally_


def in_memory(table=TABLE):
    return bk.NaiveBayes(roles={"year": "numeric"}).fit(table, "play").tally_


@pytest.fixture
def hive(tmp_path):
    pds.write_dataset(TABLE, tmp_path / "hive", format="parquet", partitioning=["year"], partitioning_flavor="hive")
    return tmp_path / "hive"


@pytest.mark.parametrize("form", ["parquet", "orc", "csv", "feather"])
def test_a_dataset_of_any_format_counts_like_its_table(tmp_path, form):
    if form == "orc":
        orc.write_table(TABLE, tmp_path / "a.orc")
    else:
        pds.write_dataset(TABLE, tmp_path, format=form)
    if form == "csv":
        form = pds.CsvFileFormat(convert_options=ConvertOptions(strings_can_be_null=True))
    assert agree(counts(pds.dataset(tmp_path, format=form)), in_memory())


def test_a_dataset_decides_which_cells_are_missing(tmp_path):
    pds.write_dataset(TABLE, tmp_path, format="csv")
    dataset = pds.dataset(tmp_path, format="csv")
    assert agree(counts(dataset), in_memory(dataset.to_table()))
    assert "" in dataset.to_table()["sky"].to_pylist()


def test_a_dataset_without_files_counts_like_its_table():
    for dataset in (pds.dataset(TABLE), pds.dataset([pds.dataset(TABLE.slice(100)), pds.dataset(TABLE.slice(0, 100))])):
        assert agree(counts(dataset), in_memory())


def test_a_dataset_has_its_partition_columns_and_its_filter(hive):
    dataset = pds.dataset(hive, partitioning="hive")
    assert agree(counts(dataset), in_memory(TABLE.set_column(2, "year", TABLE["year"].cast(pa.int32()))))
    late = dataset.filter(pds.field("year") > 2023).filter(pds.field("wind") < 8)
    rows = TABLE.filter((pds.field("year") > 2023) & (pds.field("wind") < 8))
    assert agree(counts(late), in_memory(rows))


def test_the_fragments_of_a_dataset_are_the_parts_of_engines(hive, tmp_path):
    pq.write_table(TABLE, tmp_path / "groups.parquet", row_group_size=40)
    for dataset in (pds.dataset(hive, partitioning="hive"), pds.dataset(tmp_path / "groups.parquet")):
        parts = open_source(dataset, "play").parts(4)
        assert len(parts) > 2
        assert sum(batch.n_rows for part in parts for batch in part.batches()) == 300
        assert agree(counts(dataset, engine=Processes(2)), counts(dataset))


def test_a_filtered_dataset_is_not_split_by_engines(hive):
    with pytest.raises(BayesError, match="Processes does not read"):
        counts(pds.dataset(hive, partitioning="hive").filter(pds.field("year") > 2023), engine=Processes(2))


def test_readers_and_functions_that_open_them_are_streamed_and_read_as_often_as_needed():
    reader = functools.partial(pa.RecordBatchReader.from_batches, TABLE.schema, TABLE.to_batches(70))
    assert agree(counts(reader), in_memory())
    assert agree(counts(reader()), in_memory())
    assert agree(counts(lambda: TABLE), in_memory())
    rows = open_source(reader(), "play")
    assert [sum(batch.n_rows for batch in rows.batches()) for _ in range(2)] == [300, 300]
    pairs = [(one.n_rows, two.n_rows) for one, two in zip(rows.batches(), rows.batches(), strict=True)]
    assert pairs == [(n, n) for n in (70, 70, 70, 70, 20)]


def test_models_predict_and_score_datasets_and_readers():
    model = bk.NaiveBayes(roles={"year": "numeric"}).fit(TABLE, "play")
    for data in (pds.dataset(TABLE), TABLE.to_reader(), lambda: TABLE):
        assert model.predict(data).tolist() == model.predict(TABLE).tolist()
    assert model.score(pds.dataset(TABLE), "play") == model.score(TABLE, "play")


def test_a_long_reader_takes_the_memory_of_a_few_batches():
    batch = TABLE.to_batches()[0]
    reader = pa.RecordBatchReader.from_batches(batch.schema, (batch for _ in range(2000)))
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in open_source(reader, "play").batches())
    assert most < 200 * batch.nbytes


def test_a_function_that_opens_no_rows_is_refused():
    with pytest.raises(BayesError, match=r"a function that opens a RecordBatchReader.*returned 3"):
        counts(lambda: 3)


def test_a_pipe_of_batches_is_not_split_by_engines():
    with pytest.raises(BayesError, match="Processes does not read"):
        counts(lambda: TABLE, engine=Processes(2))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_the_keys_of_a_folder_with_partitions_are_columns(tmp_path, form):
    table = TABLE.append_column("place", pa.array(["a b", "é/x", None] * 100))
    keys = ["year", "place"]
    pds.write_dataset(table, tmp_path / "t", format=form, partitioning=keys, partitioning_flavor="hive")
    assert agree(counts(tmp_path / "t"), in_memory(table))
    assert agree(counts(tmp_path / "t", engine=Processes(2)), in_memory(table))
    model = bk.NaiveBayes().fit_source(tmp_path / "t", "year")
    assert model.classes_.tolist() == list(range(2023, 2034))


def test_a_key_that_is_also_a_column_is_refused(tmp_path):
    (tmp_path / "year=2023").mkdir()
    pq.write_table(TABLE, tmp_path / "year=2023" / "a.parquet")
    with pytest.raises(BayesError, match=r"'year'.*year=2023.*also a column"):
        counts(tmp_path)


def test_files_with_other_keys_are_refused(tmp_path):
    for folder in ("year=2023", "month=2"):
        (tmp_path / folder).mkdir()
        pq.write_table(TABLE.drop(["year"]), tmp_path / folder / "a.parquet")
    with pytest.raises(BayesError, match=r"a\.parquet.*month= before and year= here"):
        counts(tmp_path)


@pytest.mark.parametrize(
    ("mark", "advice"),
    [
        ("_delta_log/0.json", r"Delta.*to_pyarrow_dataset"),
        (".hoodie/hoodie.properties", "Hudi"),
        ("metadata/v1.metadata.json", r"Iceberg.*to_arrow_batch_reader"),
    ],
)
def test_folders_of_table_formats_are_refused(tmp_path, mark, advice):
    table = tmp_path / "all" / "orders"
    (table / mark).parent.mkdir(parents=True)
    (table / mark).write_text("{}")
    (table / "data").mkdir()
    pq.write_table(TABLE, table / "data" / "removed.parquet")
    for path in (table, table / "data", tmp_path / "all", table / "data" / "*.parquet"):
        with pytest.raises(BadFile, match=advice):
            counts(path)
    assert agree(counts(table / "data" / "removed.parquet"), in_memory())


def test_a_path_of_an_object_store_points_to_datasets():
    with pytest.raises(BayesError, match=r's3://shop/orders.*pyarrow\.dataset\.dataset\("s3://shop/orders"\)'):
        counts("s3://shop/orders")


def test_a_damaged_file_of_a_dataset_is_named(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    dataset = pds.dataset(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(BadFile, match=r"a\.parquet"):
        counts(dataset)
