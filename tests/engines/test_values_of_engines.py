"""Dates, decimals, truths, large whole numbers, texts that a collation would fold: the same values on every engine."""

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.engines import Dask, sql
from tests.engines import clusters
from tests.engines.conftest import WAYS, Way, _param, in_files
from tests.tallies import agree

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")]

CELLS = {
    "day": pa.array([date(2024, 5, 1), date(1969, 12, 31), None, date(2024, 5, 1)], pa.date32()),
    "moment": pa.array(
        [datetime(2024, 5, 1, 10), datetime(2024, 5, 1, 10, 0, 0, 1), None, datetime(1600, 1, 1)], pa.timestamp("us")
    ),
    "instant": pa.array(
        [
            datetime(2024, 5, 1, 8, tzinfo=UTC),
            None,
            datetime(2024, 5, 1, 8, tzinfo=UTC),
            datetime(1900, 1, 1, tzinfo=UTC),
        ],
        pa.timestamp("us", "UTC"),
    ),
    "price": pa.array([Decimal("1.15"), Decimal("2.00"), Decimal("-0.07"), None], pa.decimal128(10, 2)),
    "ill": pa.array([True, False, None, True], pa.bool_()),
    "id": pa.array([2**53 + 1, 2**53, -(2**63), 2**63 - 1], pa.int64()),
    "small": pa.array([1, -1, None, 0], pa.int32()),
    "x": pa.array([0.1 + 0.2, 0.3, -0.0, 5e-324], pa.float64()),
    "large": pa.array([2.0**53, 2.0**53 + 2, 1e22, None], pa.float64()),
    "sky": pa.array(["Sun", "sun", "SUN ", ""], pa.string()),
    "word": pa.array(["ß", "ss", "e\u0301", "\u00e9"], pa.string()),
    "sign": pa.array(["'; --", 'a"b', "\\n", "NULL"], pa.string()),
    "days": pa.array([1, 2, 3, 4], pa.int64()),
    "label": pa.array(["a", "A", "a", "a "], pa.string()),
}
TABLE = pa.table(CELLS)
UNTYPED = ("id", "small", "x", "large", "sky", "word", "sign", "days", "label")  # what SQLite has types for


def local_parquet(parts, folder):
    return in_files(parts, folder), None


def local_csv(parts, folder):
    pa.csv.write_csv(pa.concat_tables(parts), folder / "rows.csv")
    return folder / "rows.csv", None


def local_frame(parts, folder):
    return pa.concat_tables(parts).to_pandas(types_mapper=pd_types().get), None


def pd_types():
    import pandas as pd

    return {pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}


def dask_objects(parts, folder):
    """A Dask frame whose dates, decimals and truths are objects, as pandas has them unless asked."""
    client = clusters.dask_client()
    import dask
    import dask.dataframe as dd

    frames = [part.to_pandas(types_mapper=pd_types().get, timestamp_as_object=True) for part in parts]
    with dask.config.set({"dataframe.convert-string": False}):
        return dd.from_map(lambda i: frames[i], range(len(frames)), meta=frames[0].iloc[:0]), Dask(client)


def from_sqlite(parts, folder):
    table = pa.concat_tables(parts)
    path = folder / "rows.sqlite"
    with sqlite3.connect(path) as connection:
        kinds = {pa.int64(): "INTEGER", pa.int32(): "INTEGER", pa.float64(): "REAL"}
        columns = ", ".join(f'"{f.name}" {kinds.get(f.type, "TEXT COLLATE NOCASE")}' for f in table.schema)
        connection.execute(f"CREATE TABLE way ({columns})")
        marks = ", ".join("?" * table.num_columns)
        cells = zip(*(column.to_pylist() for column in table.columns), strict=True)
        connection.executemany(f"INSERT INTO way VALUES ({marks})", cells)
    connection.close()
    return sql("SELECT * FROM way", path), None


MORE = [
    Way("parquet", local_parquet),
    Way("csv", local_csv),
    Way("frame", local_frame),
    Way("sqlite", from_sqlite),
    Way("dask-objects", dask_objects, "dask"),
]
HELD_AS_TEXT = [("csv", "moment"), ("csv", "instant"), ("csv", "sky"), ("csv", "sign")]  # '' and NULL are missing there
WRITTEN_NUMBERS = ("id", "x")  # texts that a number would not give back: -0, 9223372036854775807
UNHEARD_OF = [("sqlite", name) for name in CELLS if name not in UNTYPED]
NAMES = [name for name in CELLS if name not in ("label", "days")]
NUMBERS = ["price", "id", "small", "x", "large", "day", "moment", "instant"]


@pytest.fixture(params=[_param(way) for way in (*WAYS, *MORE) if way.cluster is None])
def anyhow(request):
    return request.param


@pytest.fixture(params=[_param(way) for way in (*WAYS, *MORE) if way.cluster is not None])
def cluster(request):
    return request.param


def learned(anyhow, name, role, folder):
    """(what one machine learns of a column, what an engine does)"""
    if (anyhow.name, name) in UNHEARD_OF:
        pytest.skip("SQLite has no such type")
    table = TABLE.select([name, "days", "label"])
    model = bk.NaiveBayes(numeric="gaussian", roles={"days": "ignore", name: role})
    here = bk.models.base.clone(model).fit(table, "label").tally_
    return here, model.fit_source(anyhow.source([table.slice(0, 2), table.slice(2)], folder, "label")).tally_


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_values_is_the_same_on_every_engine(anyhow, name, tmp_path):
    if (anyhow.name, name) in HELD_AS_TEXT:
        pytest.skip("CSV has other ways to write it")
    here, there = learned(anyhow, name, "categorical", tmp_path)
    assert there.classes == here.classes == ("A", "a", "a ")
    if anyhow.name == "csv" and name in WRITTEN_NUMBERS:
        # A categorical column of a text file keeps the text of cells that a number would not give back.
        assert {*map(float, there.families[name].values)} == {*map(float, here.families[name].values)}
        assert {*map(type, there.families[name].values)} == {str}
        return
    assert there.families[name].values == here.families[name].values
    assert [*map(type, there.families[name].values)] == [*map(type, here.families[name].values)]
    assert agree(there, here)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_add_up_to_the_same_on_every_engine(anyhow, name, tmp_path):
    if anyhow.counts_alone and name == "x":
        with pytest.raises(bk.BayesError, match="too far apart for exact sums inside a database"):
            learned(anyhow, name, "numeric", tmp_path)
        return
    if (anyhow.name, name) == ("csv", "moment"):
        with pytest.raises(bk.BayesError, match="taken for numbers"):
            learned(anyhow, name, "numeric", tmp_path)
        return
    here, there = learned(anyhow, name, "numeric", tmp_path)
    assert agree(there, here)


def test_all_columns_of_values_are_the_same_on_a_cluster(cluster, tmp_path):
    """As above in one fit, which is what costs there: each column as categories, and numbers once more as numbers."""
    summed = {f"sum of {name}": TABLE[name] for name in NUMBERS}
    table = pa.table({**dict(zip(TABLE.column_names, TABLE.columns, strict=True)), **summed})
    roles = {"days": "ignore", **dict.fromkeys(NAMES, "categorical"), **dict.fromkeys(summed, "numeric")}
    here = bk.NaiveBayes(numeric="gaussian", roles=roles).fit(table, "label").tally_
    source = cluster.source([table.slice(0, 2), table.slice(2)], tmp_path, "label")
    there = bk.NaiveBayes(numeric="gaussian", roles=roles).fit_source(source).tally_
    assert there.classes == here.classes == ("A", "a", "a ")
    for name in NAMES:
        assert list(map(typed, there.families[name].values)) == list(map(typed, here.families[name].values)), name
    assert agree(there, here)


@pytest.mark.dask
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("to_texts", [False, True])
def test_objects_of_a_dask_frame_are_learned_as_its_own_rows_would_be(to_texts):
    """Whether Dask has made texts of them or not, and where a part alone has cells of one type."""
    clusters.need_dask()
    import dask
    import dask.dataframe as dd
    import pandas as pd

    cells = {
        "price": [Decimal("2.00"), Decimal("0.1"), 2.0, 0.1],
        "day": [date(2024, 5, 1), None, datetime(2024, 5, 1, 10), None],
        "ill": [True, None, None, False],
        "none at first": [None, None, date(2024, 5, 1), None],
    }
    table = pd.DataFrame({**cells, "sum of price": cells["price"]}, dtype=object).assign(label=["a", "b", "a", "a"])
    with dask.config.set({"dataframe.convert-string": to_texts, "scheduler": "synchronous"}):
        frame = dd.from_pandas(table, npartitions=2)
        own = frame.compute()
        model = bk.NaiveBayes(
            numeric="gaussian", roles={**dict.fromkeys(cells, "categorical"), "sum of price": "numeric"}
        )
        there = bk.models.base.clone(model).fit(frame, "label").tally_
    assert isinstance(own["price"].iloc[0], str) == to_texts
    here = model.fit(own, "label").tally_
    for name in cells:
        assert list(map(typed, there.families[name].values)) == list(map(typed, here.families[name].values)), name
    assert agree(there, here)


def typed(value):
    """1, 1.0 and True are equal, and not the same."""
    return type(value), value


def test_parquet_is_written_as_it_was_meant(tmp_path):
    """That the table is what the tests take it for."""
    pq.write_table(TABLE, tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet").equals(TABLE)
