"""Values that have no plain text or number: every engine refuses them alike, or tells them apart."""

import numpy as np
import pyarrow as pa
import pytest

import bayeskit as bk
from bayeskit.engines import sql
from tests.databases import database
from tests.tallies import agree

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::bayeskit.AdviceWarning")]

YEAR_10000 = 2_932_897  # days from 1970
BEYOND_YEARS = "column 'cell' has an infinite date, or one outside the years 1 to 9999"
REFUSED = {
    "bytes": (pa.array([b"\xff", b"\xfe", b"ab", None], pa.binary()), "categorical", "is not text in UTF-8"),
    "date": (pa.array([-719_163, 1, 2, None], pa.date32()), "categorical", BEYOND_YEARS),
    "late date": (pa.array([0, 1, None, YEAR_10000], pa.date32()), "categorical", BEYOND_YEARS),
    "date as number": (pa.array([-719_163, 1, 2, None], pa.date32()), "numeric", BEYOND_YEARS),
    "late date as number": (pa.array([0, 1, None, YEAR_10000], pa.date32()), "numeric", BEYOND_YEARS),
    "moment": (pa.array([-719_162 * 86_400 * 10**6 - 1, 1, 2, None], pa.timestamp("us")), "categorical", BEYOND_YEARS),
    "moment as number": (
        pa.array([1, 2, YEAR_10000 * 86_400 * 10**6, None], pa.timestamp("us")),
        "numeric",
        BEYOND_YEARS,
    ),
}
NANOSECONDS = {
    "moment": pa.array([1, 2, 1_000, -1, None, 2_001], pa.timestamp("ns")),
    "time": pa.array([1, 2, 1_000, 999, None, 2_001], pa.time64("ns")),
    "duration": pa.array([1, 2, 1_000, -1, None, 2_001], pa.duration("ns")),
}
TEXTS = {
    "moment": (
        "1969-12-31T23:59:59.999999999",
        "1970-01-01T00:00:00.000000001",
        "1970-01-01T00:00:00.000000002",
        "1970-01-01T00:00:00.000001",
        "1970-01-01T00:00:00.000002001",
    ),
    "time": (
        "00:00:00.000000001",
        "00:00:00.000000002",
        "00:00:00.000000999",
        "00:00:00.000001",
        "00:00:00.000002001",
    ),
    "duration": (-1e-9, 1e-9, 2e-9, 1e-6, 2.001e-6),
}


def table_of(cells):
    n = len(cells)
    return pa.table({"cell": cells, "days": pa.array(range(n), pa.int64()), "label": [*"abbaab"[:n]]})


@pytest.mark.parametrize("name", REFUSED)
def test_every_engine_refuses_a_cell_without_plain_value(way, name, tmp_path):
    cells, role, message = REFUSED[name]
    table = table_of(cells)
    source = way.source([table.slice(0, 2), table.slice(2)], tmp_path, "label")
    with pytest.raises(bk.BayesError, match=message):
        bk.NaiveBayes(numeric="gaussian", roles={"days": "ignore", "cell": role}).fit_source(source)


@pytest.mark.parametrize("kind", ["duckdb", "postgres"])
@pytest.mark.parametrize("push", [False, True])
@pytest.mark.parametrize("role", ["categorical", "numeric"])
@pytest.mark.parametrize("cell", ["infinity", "-infinity", "BC"])
@pytest.mark.parametrize("type_", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_a_database_with_an_infinite_date_is_refused_streamed_and_counted(kind, push, role, cell, type_):
    there = database(kind)
    bc = {"duckdb": "0044-03-15 (BC)", "postgres": "0044-03-15 BC"}[kind]
    days = [bc if cell == "BC" else cell, "2024-05-01", "2024-05-02", "0001-01-01", "9999-12-31"]
    rows = ", ".join(f"('{day}', '{label}')" for day, label in zip(days, "ababa", strict=True))
    query = f"SELECT CAST(d AS {type_}) AS cell, y FROM (VALUES {rows}) AS t(d, y)"
    model = bk.NaiveBayes(numeric="gaussian", roles={"cell": role})
    with pytest.raises(bk.BayesError, match=BEYOND_YEARS):
        model.fit(sql(query, there.source_of_rows(), push=push), "y")
    model.fit(sql(f"{query} WHERE d LIKE '____-__-__'", there.source_of_rows(), push=push), "y")
    assert model.tally_.n_rows == 4


@pytest.mark.parametrize("name", NANOSECONDS)
@pytest.mark.parametrize("role", ["categorical", "numeric"])
def test_nanoseconds_count(way, name, role, tmp_path):
    if (
        way.name.startswith("postgres")
        or way.name == "spark-frame"
        or (way.name.startswith("duckdb") and name != "moment")
    ):
        pytest.skip("it holds microseconds")
    table = table_of(NANOSECONDS[name])
    model = bk.NaiveBayes(numeric="gaussian", roles={"days": "ignore", "cell": role})
    here = bk.models.base.clone(model).fit(table, "label").tally_
    there = model.fit_source(way.source([table.slice(0, 2), table.slice(2)], tmp_path, "label")).tally_
    assert agree(there, here)
    if role == "categorical":
        assert here.families["cell"].values == TEXTS[name]


@pytest.mark.parametrize("unit", ["Y", "D", "h", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("role", ["categorical", "numeric"])
def test_a_date_is_the_same_in_every_unit(unit, role):
    days = np.array(["2001-01-01", "NaT", "1999-01-01", "2001-01-01"], "M8[D]")
    labels = ["a", "b", "a", "b"]
    if role == "categorical" and unit in "YD":
        pytest.skip("a day is not a moment")
    model = bk.NaiveBayes(numeric="gaussian", roles={"cell": role})
    expected = bk.models.base.clone(model).fit({"cell": days.astype("M8[us]")}, labels).tally_
    assert agree(model.fit({"cell": days.astype(f"M8[{unit}]")}, labels).tally_, expected)


@pytest.mark.parametrize("nanos", [1, 999, 1_000, -1, 10**18 + 1])
def test_a_moment_of_numpy_alone_means_the_same_as_in_a_column(nanos):
    from bayeskit.data.cells import factor_values
    from bayeskit.data.vocabulary import canonical

    for kind in ("M", "m"):
        cells = np.array([nanos], "i8").view(f"{kind}8[ns]")
        factor = factor_values(cells, "cell", 0)
        assert canonical(cells[0]) == factor.values[factor.indices[0] - factor.low]
