"""The same table, however it is held, gives the same model."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import bayeskit as bk
from bayeskit.data.frames import _pandas_column
from bayeskit.datasets import load_penguins

SKY = ["sun", "rain", None, "sun", "hail", "rain"]
FLAG = [True, None, False, True, True, False]
SIZE = [1.5, None, -2.0, 4.25, 0.0, 3.0]
YEAR = [2001, 2003, 2001, 2002, 2002, 2001]
Y = ["a", "b", "a", "b", "a", "b"]
RECORDS = [{"sky": s, "flag": f, "size": z, "year": n} for s, f, z, n in zip(SKY, FLAG, SIZE, YEAR, strict=True)]
COLUMNS = {"sky": SKY, "flag": FLAG, "size": SIZE, "year": YEAR}


def nan(values):
    return [np.nan if value is None else value for value in values]


def without_gaps(record):
    return {key: value for key, value in record.items() if value is not None}


ARROW = pa.table(COLUMNS)
MIXED = {
    "records": lambda: RECORDS,
    "records with absent keys": lambda: [without_gaps(record) for record in RECORDS],
    "columns as lists": lambda: COLUMNS,
    "columns as tuples": lambda: {name: tuple(cells) for name, cells in COLUMNS.items()},
    "columns as arrays": lambda: {
        "sky": np.array(SKY, dtype=object),
        "flag": np.array(FLAG, dtype=object),
        "size": np.array(nan(SIZE)),
        "year": np.array(YEAR),
    },
    "columns of all kinds": lambda: {
        "sky": pl.Series(SKY),
        "flag": pa.array(FLAG),
        "size": pd.Series(SIZE),
        "year": pa.chunked_array([YEAR[:2], YEAR[2:]]),
    },
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas with objects": lambda: pd.DataFrame(COLUMNS).astype({"sky": object, "flag": object}),
    "pandas with NaN for missing text": lambda: pd.DataFrame(COLUMNS | {"sky": pd.Series(nan(SKY), dtype=object)}),
    "pandas with nullable types": lambda: pd.DataFrame(
        {
            "sky": pd.Series(SKY, dtype="string"),
            "flag": pd.Series(FLAG, dtype="boolean"),
            "size": pd.Series(SIZE, dtype="Float64"),
            "year": pd.Series(YEAR, dtype="Int16"),
        }
    ),
    "pandas with categories": lambda: pd.DataFrame(COLUMNS).assign(
        sky=pd.Categorical(SKY, categories=["never", "rain", "sun", "hail"]), flag=pd.Categorical(FLAG)
    ),
    "pandas with Arrow types": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas with another index": lambda: pd.DataFrame(COLUMNS, index=[5, 5, 0, 1, 9, -1]),
    "pandas with sparse numbers": lambda: pd.DataFrame(COLUMNS).assign(
        size=pd.arrays.SparseArray(nan(SIZE)), year=pd.arrays.SparseArray(YEAR)
    ),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars with categories": lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("sky").cast(pl.Categorical)),
    "polars with an enumeration": lambda: pl.DataFrame(COLUMNS).with_columns(
        pl.col("sky").cast(pl.Enum(["sun", "rain", "hail", "fog"])), pl.col("size").cast(pl.Float32)
    ),
    "polars in chunks": lambda: pl.concat([pl.DataFrame(RECORDS[:2]), pl.DataFrame(RECORDS[2:])], rechunk=False),
    "Arrow table": lambda: ARROW,
    "Arrow table with dictionaries": lambda: ARROW.set_column(0, "sky", ARROW["sky"].dictionary_encode()),
    "Arrow chunks with dictionaries of their own": lambda: pa.concat_tables(
        [
            part.set_column(0, "sky", part["sky"].combine_chunks().dictionary_encode())
            for part in (ARROW.slice(0, 3), ARROW.slice(3))
        ]
    ),
    "Arrow with other widths": lambda: ARROW.cast(
        pa.schema({"sky": pa.large_string(), "flag": pa.bool_(), "size": pa.float32(), "year": pa.uint16()})
    ),
    "Arrow decimals": lambda: ARROW.set_column(
        2, "size", pa.array([None if x is None else Decimal(str(x)) for x in SIZE])
    ),
    "Arrow slice": lambda: pa.concat_tables([ARROW, ARROW, ARROW]).combine_chunks().slice(6, 6),
    "Arrow record batch": lambda: ARROW.to_batches()[0],
    "Arrow stream": lambda: pa.RecordBatchReader.from_batches(
        ARROW.schema, [ARROW.slice(0, 4).to_batches()[0], ARROW.slice(4).to_batches()[0]]
    ),
    "only a PyCapsule": lambda: OnlyACapsule(ARROW),
    "structured array": lambda: np.ma.array(
        [(s or "", bool(f), z or 0.0, n) for s, f, z, n in zip(SKY, FLAG, SIZE, YEAR, strict=True)],
        mask=[tuple(cell is None for cell in record.values()) for record in RECORDS],
        dtype=[("sky", "U8"), ("flag", "?"), ("size", "f8"), ("year", "i2")],
    ),
}


class OnlyACapsule:
    """Something that speaks Arrow's protocol and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("held", MIXED)
def test_the_same_table_gives_the_same_model(held):
    wanted = bk.NaiveBayes(numeric="gaussian").fit(pd.DataFrame(COLUMNS), Y)
    assert wanted.schema_.coded == ["sky", "flag"]
    assert wanted.tally_.families["sky"].counts.tolist() == [[1, 1, 0, 1], [0, 0, 2, 1]]
    assert wanted.tally_.families["flag"].values == (False, True)
    found = bk.NaiveBayes(numeric="gaussian").fit(MIXED[held](), Y)
    assert found.schema_ == wanted.schema_
    assert found.tally_ == wanted.tally_
    assert found.tally_.to_bytes() == wanted.tally_.to_bytes()
    np.testing.assert_array_equal(found.predict_proba(MIXED[held]()), wanted.predict_proba(RECORDS))
    np.testing.assert_array_equal(wanted.predict_proba(MIXED[held]()), wanted.predict_proba(RECORDS))


def test_one_record_is_one_row():
    model = bk.NaiveBayes().fit(RECORDS, Y)
    for record, row in zip(RECORDS, model.predict_proba(RECORDS), strict=True):
        np.testing.assert_allclose(model.predict_proba(record)[0], row, rtol=1e-14)


def test_a_list_of_rows_has_a_type_for_each_column():
    rows = [[*record.values()] for record in RECORDS]
    model = bk.NaiveBayes(numeric="gaussian").fit(rows, Y)
    assert (model.schema_.coded, model.schema_.measured) == (["x0", "x1"], ["x2", "x3"])
    named = bk.NaiveBayes(numeric="gaussian").fit(RECORDS, Y)
    np.testing.assert_array_equal(model.predict_proba([tuple(row) for row in rows]), named.predict_proba(RECORDS))


LABELS = {
    "list": lambda y: y,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda y: np.array(y, dtype=object),
    "bytes": lambda y: np.array(y, dtype="S"),
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "pandas frame": lambda y: pd.DataFrame({"y": y}),
    "pandas category": lambda y: pd.Series(y, dtype="category").cat.add_categories(["never"]),
    "polars": pl.Series,
    "polars category": lambda y: pl.Series(y, dtype=pl.Categorical),
    "polars frame": lambda y: pl.DataFrame({"y": y}),
    "Arrow": pa.array,
    "Arrow chunks": lambda y: pa.chunked_array([y[:2], y[2:]]),
    "Arrow table": lambda y: pa.table({"y": y}),
    "masked": lambda y: np.ma.array(y, mask=False),
}


@pytest.mark.parametrize("held", LABELS)
def test_the_same_labels_give_the_same_model(held):
    model = bk.NaiveBayes().fit(RECORDS, LABELS[held](Y))
    assert model.classes_.tolist() == ["a", "b"]
    assert np.array_equal(model.tally_.class_counts, [3, 3])
    assert model.score(RECORDS, LABELS[held](Y)) == bk.NaiveBayes().fit(RECORDS, Y).score(RECORDS, Y)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([3, -1, 3, -1, 3, 7], dtype=np.int8), [-1, 3, 7]),
        (np.array([3, 2**63 + 1, 3, 3, 3, 3], dtype=np.uint64), [3, 2**63 + 1]),
        (np.array([-(10**15), 0, 10**15] * 2), [-(10**15), 0, 10**15]),
        (np.array([1.0, 2, 1, 2, 1, 2]), [1.0, 2.0]),
        (np.array([1.0, 2, 1, 2, 1, 2], dtype=np.float16), [1.0, 2.0]),
        (np.array([1e300, 2e300] * 3), [1e300, 2e300]),
        ([True, False] * 3, [False, True]),
        (np.array([True, False] * 3), [False, True]),
        (pd.Series([1, 2] * 3, dtype="Int64"), [1, 2]),
        (pd.Series([True, False] * 3, dtype="boolean"), [False, True]),
        (["", "a"] * 3, ["", "a"]),
    ],
)
def test_labels_of_any_kind_come_back_as_classes(labels, classes):
    model = bk.NaiveBayes().fit(RECORDS, labels)
    assert model.classes_.tolist() == classes
    assert set(model.predict(RECORDS).tolist()) <= set(classes)
    assert model.tally_.class_counts.sum() == 6
    back = bk.Tally.from_bytes(model.tally_.to_bytes())
    assert bk.NaiveBayes().fit_tally(back).classes_.dtype == model.classes_.dtype


def test_the_target_may_be_a_column_of_the_table():
    table = ARROW.append_column("kind", [Y])
    by_name = bk.NaiveBayes().fit(table, "kind")
    assert by_name.schema_.target.name == "kind"
    assert by_name.schema_.used == list(COLUMNS)
    np.testing.assert_array_equal(by_name.predict_proba(table), bk.NaiveBayes().fit(ARROW, Y).predict_proba(ARROW))
    assert by_name.score(table, "kind") == by_name.score(ARROW, Y)


INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u2", "f2", "f4", "f8", ">f8", "g", "O"]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["categorical", "numeric"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_arrays_of_any_type_and_layout_are_read_alike(dtype, role):
    plain = np.random.default_rng(0).integers(0, 5, size=(30, 4))
    y = np.arange(30) % 3
    wanted = bk.NaiveBayes(roles=role).fit(plain, y)
    said = wanted.predict_joint_log_proba(plain)
    array = plain.astype(dtype)
    wide = np.zeros((60, 8), dtype=dtype)
    wide[::2, ::2] = array
    read_only = array.copy()
    read_only.flags.writeable = False
    layouts = [array, np.asfortranarray(array), wide[::2, ::2], array[::-1, ::-1][::-1, ::-1], read_only]
    for X in layouts:
        model = bk.NaiveBayes(roles=role).fit(X, y)
        assert model.tally_ == wanted.tally_
        np.testing.assert_array_equal(model.predict_joint_log_proba(X), said)
        np.testing.assert_array_equal(wanted.predict_joint_log_proba(X), said)


@pytest.mark.parametrize("dtype", ["U3", "S3", "O"])
def test_arrays_of_text_are_read_alike(dtype):
    X = np.array([["sun", "a"], ["rai", "b"], ["sun", "é"], ["x", "b"]])
    array = np.char.encode(X, "utf-8") if dtype == "S3" else X.astype(dtype)
    model = bk.NaiveBayes().fit(array, [0, 1, 0, 1])
    assert model.tally_.families["x0"].values == ("rai", "sun", "x")
    assert model.tally_.families["x1"].values == ("a", "b", "é")
    np.testing.assert_array_equal(model.predict_proba(array[::-1]), model.predict_proba(X)[::-1])


def test_numbers_far_apart_and_huge_are_categories_too():
    values = [2**63 + 5, 2**64 - 1, 0, 7]
    X = np.array([values, values[::-1]], dtype=np.uint64).T
    model = bk.NaiveBayes(roles="categorical").fit(X, [0, 1, 0, 1])
    assert model.tally_.families["x0"].values == tuple(sorted(values))
    small = bk.NaiveBayes(roles="categorical").fit([[1], [2]], [0, 1])
    np.testing.assert_allclose(small.predict_proba(np.array([[2**64 - 1]], dtype=np.uint64)), 0.5)
    objects = np.array([[2**70], [1], [2**70], [None]], dtype=object)
    codes = bk.NaiveBayes(roles="categorical").fit(objects, [0, 1, 0, 1])
    assert codes.tally_.families["x0"].values == (1, 2**70)
    assert bk.NaiveBayes().fit(objects, [0, 1, 0, 1]).tally_.moments.n.tolist() == [[2], [1]]


def test_masked_cells_are_missing_cells():
    y = [0, 1, 0, 1]
    mask = [[False], [True], [False], [False]]
    numbers = np.ma.array([[1], [99], [3], [4]], mask=mask)
    assert bk.NaiveBayes().fit(numbers, y).tally_.moments.n.tolist() == [[2], [1]]
    assert bk.NaiveBayes(roles="categorical").fit(numbers, y).tally_.families["x0"].values == (1, 3, 4)
    words = np.ma.array([["u"], ["zz"], ["u"], ["w"]], mask=mask)
    assert bk.NaiveBayes().fit(words, y).tally_.families["x0"].counts.tolist() == [[0, 2, 0], [1, 0, 1]]
    flags = np.ma.array([[True], [True], [False], [False]], mask=mask)
    assert bk.NaiveBayes().fit(flags, y).tally_.families["x0"].counts.tolist() == [[0, 1, 1], [1, 1, 0]]
    days = np.ma.array(np.array([[1], [2], [3], [4]], dtype="M8[D]"), mask=mask)
    assert bk.NaiveBayes(roles="numeric").fit(days, y).tally_.moments.n.tolist() == [[2], [1]]


FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("role", [None, "categorical"])
def test_sparse_matrices_of_any_format_are_read_as_their_dense_form(form, kind, role):
    dense = np.random.default_rng(1).poisson(0.5, size=(40, 5)).astype(float)
    y = np.arange(40) % 2
    matrix = getattr(sparse, f"{form}_{kind}")(dense)
    wanted = bk.NaiveBayes(roles=role).fit(dense, y)
    model = bk.NaiveBayes(roles=role).fit(matrix, y)
    assert model.tally_ == wanted.tally_
    np.testing.assert_array_equal(model.predict_proba(matrix), wanted.predict_proba(dense))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayeskit.data.frames.BLOCK", 7)
        np.testing.assert_allclose(model.predict_proba(matrix), wanted.predict_proba(dense), rtol=1e-12)


DAYS = [
    dt.datetime(2020, 1, 1),
    dt.datetime(2021, 6, 1, 12),
    None,
    dt.datetime(1969, 12, 31),
    dt.datetime(2020, 1, 2),
    None,
]
DATED = {
    "pandas": lambda: pd.DataFrame({"day": pd.Series(DAYS)}),
    "pandas ns": lambda: pd.DataFrame({"day": pd.Series(DAYS).astype("datetime64[ns]")}),
    "pandas with a time zone": lambda: pd.DataFrame({"day": pd.Series(DAYS).dt.tz_localize("UTC")}),
    "polars": lambda: pl.DataFrame({"day": DAYS}),
    "Arrow": lambda: pa.table({"day": DAYS}),
    "Arrow ns": lambda: pa.table({"day": pa.array(DAYS, pa.timestamp("ns"))}),
    "records": lambda: [{"day": day} for day in DAYS],
}


@pytest.mark.parametrize("held", DATED)
def test_dates_are_taken_when_they_are_declared(held):
    with pytest.raises(bk.BayesError, match=r"'day' holds dates.*roles=.*numeric"):
        bk.NaiveBayes(numeric="gaussian").fit(DATED[held](), Y)
    tally = bk.NaiveBayes(numeric="gaussian", roles={"day": "numeric"}).fit(DATED[held](), Y).tally_
    seconds = [[d.replace(tzinfo=dt.UTC).timestamp() for d in DAYS[i::2] if d] for i in (0, 1)]
    assert tally.moments.n.tolist() == [[2], [2]]
    assert tally.moments.mean()[:, 0] == pytest.approx([np.mean(s) for s in seconds], rel=1e-15)
    as_values = (
        bk.NaiveBayes(numeric="gaussian", roles={"day": "categorical"}).fit(DATED[held](), Y).tally_.families["day"]
    )
    assert len(as_values.values) == 4
    assert as_values.missing.tolist() == [1, 1]


def test_spans_and_times_of_day_are_seconds():
    spans = [dt.timedelta(seconds=s) for s in (1, 2, 3, 4.5)]
    for X in (
        pd.DataFrame({"t": spans}),
        pl.DataFrame({"t": spans}),
        pa.table({"t": spans}),
        [{"t": t} for t in spans],
    ):
        model = bk.NaiveBayes(numeric="gaussian", roles="numeric").fit(X, [0, 1, 0, 1])
        assert model.table("t")["mean"] == [2.0, 3.25]
    clock = [dt.time(0, 0, s) for s in (1, 2, 3, 4)]
    for X in (pl.DataFrame({"t": clock}), pa.table({"t": clock})):
        assert bk.NaiveBayes(numeric="gaussian", roles="numeric").fit(X, [0, 1, 0, 1]).table("t")["mean"] == [2.0, 3.0]


@pytest.mark.parametrize(
    "cells",
    [
        pd.cut(pd.Series([1.0, 2.0, np.nan, 9.0]), [0, 5, 10]),
        pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 5), (0, 5), None, (5, 10)])),
        pd.Series(pd.PeriodIndex(["2020-01", "2020-01", None, "2020-02"], freq="M")),
    ],
    ids=["pandas.cut", "intervals", "periods"],
)
def test_intervals_and_periods_of_pandas_are_their_text(cells):
    model = bk.NaiveBayes().fit(pd.DataFrame({"x": cells}), ["a", "b", "a", "b"])
    family = model.tally_.families["x"]
    assert family.counts.tolist() == [[1, 1, 0], [0, 1, 1]]
    assert all(isinstance(value, str) for value in family.values)
    assert np.isfinite(model.predict_proba(pd.DataFrame({"x": cells}))).all()


def test_columns_are_matched_by_name_and_missing_ones_are_named():
    model = bk.NaiveBayes().fit(RECORDS, Y)
    with pytest.raises(bk.BayesError, match=r"columns flag, year missing from the data \(it has: size, sky\)"):
        model.partial_fit(ARROW.select(["size", "sky"]), Y)
    np.testing.assert_array_equal(
        model.predict_proba(ARROW.select(["year", "sky", "size", "flag"])), model.predict_proba(ARROW)
    )


def test_arrays_are_matched_by_position():
    X = np.random.default_rng(0).normal(size=(10, 3))
    y = [0, 1] * 5
    model = bk.NaiveBayes().fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(bk.BayesError, match=r"X has 2 features, but .* is expecting 3 features"):
        model.predict(X[:, :2])
    named = bk.NaiveBayes().fit(pd.DataFrame(X, columns=["p", "q", "r"]), y)
    assert named.feature_names_in_.tolist() == ["p", "q", "r"]
    np.testing.assert_array_equal(named.predict_proba(X), model.predict_proba(X))


def test_roles_and_domains_are_given_by_name_or_position():
    X = [[1, 0.5, "u"], [2, 1.5, "v"], [1, 2.5, "u"]]
    model = bk.NaiveBayes(numeric="gaussian", roles={0: "categorical", -1: "ignore"}).fit(X, [0, 1, 0])
    assert (model.schema_.coded, model.schema_.measured) == (["x0"], ["x1"])
    model = bk.NaiveBayes(numeric="gaussian", domains={2: ["u", "v", "w"]}).fit(X, [0, 1, 0])
    assert model.tally_.families["x2"].values == ("u", "v", "w")
    frame = pd.DataFrame({7: [1, 2, 1], 0: [0.5, 1.5, 2.5]})  # names come before positions
    assert bk.NaiveBayes(numeric="gaussian", roles={0: "categorical"}).fit(frame, [0, 1, 0]).schema_.coded == ["0"]
    assert bk.NaiveBayes(numeric="gaussian", roles={7: "categorical"}).fit(frame, [0, 1, 0]).schema_.coded == ["7"]


@pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
def test_any_part_of_a_table_infers_the_same_schema():
    penguins = load_penguins()
    whole = bk.NaiveBayes(numeric="gaussian").fit(penguins, "species")
    for start in (0, 100, 300):
        part = bk.NaiveBayes(numeric="gaussian").fit(penguins.slice(start, 40).drop_columns("species"), [0, 1] * 20)
        assert part.schema_.columns == whole.schema_.columns


def test_columns_that_are_not_aligned_are_read_as_any_others():
    rng = np.random.default_rng(3)
    records = np.zeros(40, dtype=[("flag", "u1"), ("x", "f8"), ("n", "i4"), ("y", "i8"), ("w", "f8")])
    for name, values in (("x", rng.normal(size=40)), ("n", rng.integers(0, 3, 40)), ("y", rng.integers(0, 2, 40))):
        records[name] = values
    records["w"] = rng.random(40)
    packed, plain = ({name: form(records[name]) for name in "xn"} for form in (np.asarray, np.array))
    assert not packed["x"].flags.aligned
    for settings in ({"n": "categorical"}, {"n": "numeric"}):
        ours = bk.NaiveBayes(roles=settings).fit(packed, records["y"], sample_weight=records["w"])
        theirs = bk.NaiveBayes(roles=settings).fit(plain, records["y"].copy(), sample_weight=records["w"].copy())
        assert ours.tally_ == theirs.tally_
        np.testing.assert_array_equal(ours.predict_proba(packed), theirs.predict_proba(plain))


def test_large_integers_of_pandas_stay_apart_beside_missing_cells():
    import pandas as pd

    frame = pd.DataFrame({"code": pd.array([2**53, 2**53 + 1, None], dtype="Int64")})
    model = bk.NaiveBayes(roles="categorical").fit(frame, ["a", "b", "a"])
    assert model.tally_.families["code"].values == (2**53, 2**53 + 1)


def test_categories_of_polars_are_looked_at_for_advice():
    cells = pl.Series([f"k{i}" for i in range(30)], dtype=pl.Categorical)
    frame = pl.DataFrame({"s": cells, "x": np.linspace(0.1, 3.7, 30)})
    with pytest.warns(bk.AdviceWarning, match="'s' has another value in every row"):
        bk.NaiveBayes().fit(frame, ["a", "b"] * 15)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
def test_large_integers_of_arrow_dtypes_stay_apart_beside_a_missing_cell(kind):
    frame = pd.DataFrame({"x": pd.Series([2**53, 2**53 + 1, None], dtype=f"{kind}[pyarrow]"), "y": ["a", "b", "a"]})
    model = bk.NaiveBayes(roles={"x": "categorical"}).fit(frame, "y")
    assert model.tally_.families["x"].values == (2**53, 2**53 + 1)
    assert bk.NaiveBayes().fit(pd.DataFrame({"z": [1.0, 2.0, 3.0]}), frame["x"].fillna(0)).classes_.tolist() == [
        0,
        2**53,
        2**53 + 1,
    ]


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "values", [["b", "a", "b"], [2, 1, 2], [0.5, 1.5, 0.5], [True, False, True], ["a", None, "b"], []]
)
def test_pandas_categories_are_the_column_that_arrow_makes_of_them(values, ordered):
    series = pd.Series(pd.Categorical(values, ordered=ordered))
    for part in (series, series[::-1], series[1:]):
        column, expected = _pandas_column(part), pa.array(part, from_pandas=True)
        assert column.type == expected.type
        assert column.equals(expected)
