"""What the values of a column suggest is said once, with the remedy, and changes nothing."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import bayeskit as bk
from bayeskit.data.schema import Categorical, Numeric


def told(data, y=None, **roles):
    """The advice of a fit, and the roles that were taken."""
    rows = len(next(iter(data.values()))) if isinstance(data, dict) else len(data)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = bk.NaiveBayes(roles=roles or None).fit(data, ["p", "q"] * (rows // 2) if y is None else y)
    advice = [str(w.message) for w in said if issubclass(w.category, bk.AdviceWarning)]
    return advice, model.schema_.columns


@pytest.mark.parametrize("n", [300, 9_998, 20_000])
@pytest.mark.parametrize("held", [pa.array, pd.Categorical, lambda v: pa.array(v).dictionary_encode(), np.array])
def test_identifiers_are_seen_however_many_rows_there_are(n, held):
    (advice,), columns = told({"id": held([f"k{i}" for i in range(n)]), "size": np.arange(n) % 97 * 0.5})
    assert "column 'id' has another value in every row" in advice
    assert "roles={'id': \"ignore\"}" in advice
    assert isinstance(columns["id"], Categorical)


def test_values_that_come_back_are_no_identifiers():
    assert told({"town": pa.array([f"k{i % 15_000}" for i in range(20_000)]).dictionary_encode()})[0]  # not so far
    assert told({"town": [f"k{i // 2}" for i in range(20_000)]})[0] == []
    assert told({"town": [f"k{i * 4 // 5}" for i in range(300)]})[0] == []


def test_whole_numbers_that_rise_from_row_to_row_are_like_identifiers():
    (advice,), columns = told({"number": list(range(5, 605, 2))})
    assert "column 'number' rises from row to row, like an identifier" in advice
    assert isinstance(columns["number"], Numeric)
    assert told({"number": [3, 2, *range(4, 302)]})[0] == []
    assert told({"number": [i // 2 for i in range(300)]})[0] == []


def test_counts_are_no_codes():
    rng = np.random.default_rng(0)
    assert told({"children": rng.poisson(1.5, 300)})[0] == []
    assert told({"visits": 1 + rng.geometric(0.6, 300)})[0][0].startswith("column 'visits' holds a few")  # from 2 on
    assert told({"code": rng.integers(0, 6, 300)})[0][0].startswith("column 'code' holds a few whole numbers only")


def test_texts_that_are_all_numbers_are_categories_with_advice():
    texts = [None if i == 9 else f"{i * 0.37:.2f}" for i in range(60)]
    for table in ({"size": texts}, pd.DataFrame({"size": pd.Series(texts, dtype=object)})):
        (advice,), columns = told(table)
        assert "column 'size' holds numbers written as text, such as '0.00'" in advice
        assert advice.endswith("pass roles={'size': \"numeric\"}")
        assert isinstance(columns["size"], Categorical)
    mended, columns = told({"size": texts}, size="numeric")
    assert mended == []
    assert isinstance(columns["size"], Numeric)
    assert told({"place": [f"{i:05}" for i in range(1000, 1060)] * 2})[0] == []  # leading zeros: names
    assert told({"code": [str(i % 7) for i in range(60)]})[0] == []  # few
    assert told({"size": pd.Series(texts * 2, dtype="category")})[0] == []  # said to be categories


def test_an_array_that_made_texts_of_its_numbers_is_told_by_position(tmp_path):
    array = np.array([["sun", i * 0.5] for i in range(40)])
    with pytest.warns(bk.AdviceWarning, match=r"column 1 holds numbers written as text.*roles=\{1: \"numeric\"\}"):
        bk.NaiveBayes().fit(array, [0, 1] * 20)
    assert bk.NaiveBayes(roles={1: "numeric"}).fit(array, [0, 1] * 20).tally_.moments.n.tolist() == [[20], [20]]
    pq.write_table(pa.table({"size": array[:, 1].astype(object), "y": ["a", "b"] * 20}), tmp_path / "sizes.parquet")
    with pytest.warns(bk.AdviceWarning, match="column 'size' holds numbers written as text"):
        bk.NaiveBayes().fit_source(tmp_path / "sizes.parquet", "y")
    (tmp_path / "sizes.csv").write_text("size,y\n" + "".join(f"{i / 2},{'ab'[i % 2]}\n" for i in range(40)) * 2)
    bk.NaiveBayes().fit_source(bk.open_source(tmp_path / "sizes.csv", "y", types={"size": "string"}))  # as declared


def test_cells_of_several_types_are_categories_with_advice():
    cells = pd.Series([(1, 2.5, "x")[i % 3] for i in range(60)], dtype=object)
    (advice,), columns = told(pd.DataFrame({"thing": cells}))
    assert "column 'thing' holds cells of several types (the float 2.5, the int 1, the str 'x')" in advice
    assert isinstance(columns["thing"], Categorical)
    assert told(pd.DataFrame({"thing": cells}), thing="categorical")[0] == []


def test_a_few_texts_among_numbers_are_counted_and_named(tmp_path):
    file = tmp_path / "ages.csv"
    ages = ["unknown" if i % 100 == 7 else "" if i == 5 else str(i % 60) for i in range(300)]
    file.write_text("age,y\n" + "".join(f"{age},{'pq'[i % 2]}\n" for i, age in enumerate(ages)))
    with pytest.warns(bk.AdviceWarning) as said:
        model = bk.NaiveBayes().fit(file, "y")
    (advice,) = [str(w.message) for w in said]
    assert "column 'age' holds numbers, but text in some cells ('unknown')" in advice
    assert "missing=['unknown', ''] to open_source" in advice
    assert isinstance(model.schema_.columns["age"], Categorical)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mended = bk.NaiveBayes().fit_source(bk.open_source(file, "y", missing=["unknown", ""]))
    assert isinstance(mended.schema_.columns["age"], Numeric)


def test_many_kinds_of_text_among_numbers_are_mended_by_hand():
    (advice,), _ = told({"dose": [f"<{i}" if i < 8 else str(i) for i in range(300)]})
    assert "text in some cells ('<0', '<1', '<2', …)" in advice
    assert "correct or empty these cells" in advice


def test_decimal_commas_are_named():
    (advice,), columns = told({"size": [f"{i % 40},{i % 7}" for i in range(300)]})
    assert "column 'size' holds numbers with a comma, such as '0,0'" in advice
    assert "write them with a decimal point" in advice
    assert isinstance(columns["size"], Categorical)


def test_codes_and_declared_text_are_left_alone():
    assert told({"code": ["x" if i % 60 == 0 else str(i % 5) for i in range(300)]})[0] == []  # few codes
    assert told({"code": [f"A{i % 50}" if i % 2 else str(i % 50) for i in range(300)]})[0] == []


def test_two_whole_numbers_are_like_categories_also_where_gaps_made_them_floats():
    flags = [None if i == 3 else float(i % 3 == 0) for i in range(60)]
    for column in (
        flags,
        pd.Series(flags),
        np.array([i % 2 for i in range(60)], dtype="f4"),
        [i % 2 for i in range(60)],
    ):
        (advice,), columns = told({"flag": column})
        assert "column 'flag' holds two whole numbers only" in advice or "holds a few whole numbers only" in advice
        assert "roles={'flag': \"categorical\"}" in advice
        assert isinstance(columns["flag"], Numeric)
    for numbers in ([0.5, 1.0], [0.0, 1.0, 2.0], [1.0], [np.nan]):
        y = np.repeat(["p", "q"], 30)
        assert told({"x": np.resize(numbers, 60), "z": np.arange(60) * 0.5 % 7}, y)[0] == []
    assert told({"flag": flags}, flag="numeric")[0] == []


def test_a_column_that_is_constant_within_a_class_is_told_once_with_the_remedy():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    spike = np.where(y == "a", 7.0, rng.normal(size=60))
    (advice,), _ = told({"spike": spike, "x": rng.normal(size=60)}, y)
    assert "column 'spike' is constant within class 'a' (7)" in advice
    assert "if its numbers are codes, pass roles={'spike': \"categorical\"}" in advice
    (both,), _ = told({"spike": spike, "x": rng.normal(size=60), "too": spike - 1}, y)
    assert "and so is 'too' within some class" in both
    assert "roles={'spike': \"categorical\", 'too': \"categorical\"}" in both
    with pytest.warns(bk.AdviceWarning, match=r"to leave it out, pass roles=.'spike': \"ignore\"") as said:
        bk.GaussianBayes().fit({"spike": spike, "x": rng.normal(size=60)}, y)
    assert len(said) == 1


def test_nothing_is_said_of_constant_columns_where_it_is_chance_or_declared_or_no_gaussian():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 30)
    spike = np.where(y == "a", 7.0, rng.normal(size=60))
    assert told({"spike": spike}, y, spike="numeric")[0] == []
    assert told({"spike": spike[24:42]}, y[24:42])[0] == []  # 18 rows
    assert told({"spike": spike[26:]}, y[26:])[0] == []  # four of them in the class
    assert told({"same": np.full(60, 3.0), "x": rng.normal(size=60)}, y)[0] == []
    for model in (bk.NaiveBayes(numeric="kernel"), bk.NaiveBayes(numeric="histogram"), bk.TAN()):
        model.fit({"spike": spike, "x": rng.normal(size=60)}, y)  # a warning would be an error
    bk.NaiveBayes().fit(np.column_stack([spike, rng.normal(size=60)]), y)


RNG = np.random.default_rng(1)
AMOUNTS = RNG.choice(90_000, 60, replace=False)
WRITTEN = {
    "price": [f"${v:,}" for v in AMOUNTS],
    "share": [f"{v % 997 / 10}%" for v in AMOUNTS],
    "size": [f"{v}K" for v in AMOUNTS],
}
NUMBERS = {"price": AMOUNTS * 1.0, "share": AMOUNTS % 997 / 10 / 100, "size": AMOUNTS * 1000.0}
DAYS = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(60)]


def test_numbers_and_dates_written_as_text_get_advice_that_works():
    (advice,), columns = told(WRITTEN | {"day": DAYS})
    assert f"column 'price' holds numbers written as text, such as {WRITTEN['price'][0]!r};\n" in advice
    assert "column 'day' holds dates written as text, such as '2024-01-01'" in advice
    asked = {"price": "number", "share": "number", "size": "number", "day": "month,weekday"}
    assert str(asked).replace('"', "").replace("'", "") in advice.replace('"', "").replace("'", "")
    assert {type(role) for role in columns.values()} == {Categorical}
    again, columns = told(WRITTEN | {"day": DAYS}, **asked)
    assert again == []
    assert isinstance(columns["price"], Numeric)
    assert list(columns)[-2:] == ["day.month", "day.weekday"]


@pytest.mark.parametrize(
    "model",
    [
        bk.NaiveBayes(),
        bk.NaiveBayes(numeric="histogram", cuts="mdl"),
        bk.GaussianBayes(covariance="diagonal"),
        *(
            pytest.param(slow, marks=pytest.mark.slow)
            for slow in (
                bk.NaiveBayes(numeric="auto"), bk.TAN(), bk.NBTree(), bk.LogisticRegression(),
                bk.BayesClassifier(fast=True),
            )
        ),
    ],
    ids=str,
)  # fmt: skip
def test_written_numbers_give_the_model_of_the_numbers_also_from_files_and_after_saving(model, tmp_path):
    y = np.where(AMOUNTS > 40_000, "high", "low")
    y[:5] = "low"
    plain = clone(model).set_params(roles="numeric").fit(NUMBERS, y)
    written = clone(model).set_params(roles=dict.fromkeys(WRITTEN, "number")).fit(WRITTEN, y)
    pd.DataFrame({**WRITTEN, "y": y}).to_csv(tmp_path / "t.csv", index=False)
    of_file = clone(written).fit(str(tmp_path / "t.csv"), "y")
    written.save(tmp_path / "m.bayes")
    for one in (written, of_file, bk.load(tmp_path / "m.bayes")):
        np.testing.assert_allclose(one.predict_proba(WRITTEN), plain.predict_proba(NUMBERS), rtol=1e-9)
    np.testing.assert_allclose(written.predict_proba(NUMBERS), plain.predict_proba(NUMBERS), rtol=1e-9)


def test_a_cell_that_writes_no_number_is_named_and_an_empty_one_is_missing():
    model = bk.NaiveBayes(roles={"price": "number"}).fit({"price": ["$1", "$2", " ", "4 €"]}, ["a", "a", "b", "b"])
    assert model.table("price")["mean"] == [1.5, 4.0]
    with pytest.raises(bk.errors.SchemaMismatch, match="column 'price' has 'cheap' in row 1, which is not a number"):
        model.predict({"price": ["$1", "cheap"]})
    with pytest.raises(
        bk.errors.SchemaMismatch, match=r"has '\$1' in row 0, which is not a number.*roles=\{'price': \"number\"\}"
    ):
        bk.NaiveBayes(roles={"price": "numeric"}).fit({"price": ["$1", "$2"]}, ["a", "b"])


def test_texts_are_advised_to_a_model_that_reads_them_and_refused_by_others():
    words = np.array(["good", "bad", "film", "plot", "actor", "music", "scene", "story", "fun", "dull"])
    table = {"review": [" ".join(RNG.choice(words, 12)) for _ in range(60)], "n": RNG.normal(size=60)}
    y = ["p", "q"] * 30
    assert told(table)[0][0].endswith("pass roles={'review': \"text\"}")
    for kind in (bk.TAN, bk.KDB, bk.AODE, bk.NBTree, bk.LogisticRegression, bk.SubclassBayes):
        with pytest.warns(
            bk.AdviceWarning, match=rf"and {kind.__name__} takes no texts .*roles=\{{'review': \"ignore\"\}}"
        ):
            kind().fit(table, y)
        with pytest.raises(bk.BayesError, match=f"^{kind.__name__} takes no texts: leave column 'review' out"):
            kind(roles={"review": "text"}).fit(table, y)
