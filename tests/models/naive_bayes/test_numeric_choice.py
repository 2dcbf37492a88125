"""numeric="auto": the kind of each column by rows left out, held in the schema."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayeskit as bk
from bayeskit.errors import BayesError, SchemaMismatch
from bayeskit.models.base.estimator import clone
from bayeskit.models.naive_bayes_loo import CHOICE_ROWS, GAIN, KINDS, SILENT, RowSample, best_kinds

N = 600
RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, N)
TABLE = {
    "normal": RNG.normal(size=N) + Y,
    "price": np.exp(2 * RNG.normal(size=N) + 2 * Y),
    "humps": np.where(Y, RNG.choice([-4.0, 4.0], N), 0.0) + RNG.normal(size=N),
    "noise": RNG.normal(size=N),
}
LABELS = np.where(Y, "yes", "no")


@pytest.fixture(scope="module")
def model():
    return bk.NaiveBayes().fit(TABLE, LABELS)


def test_columns_get_a_kind_that_fits_them(model):
    prices = bk.NaiveBayes().fit({"price": TABLE["price"]}, LABELS)
    assert prices.numeric_ == {"price": "lognormal"}
    humps = bk.NaiveBayes().fit({"humps": TABLE["humps"]}, LABELS)
    assert humps.numeric_["humps"] in ("kernel", "histogram")
    plain = bk.NaiveBayes(numeric="gaussian").fit(TABLE, LABELS)
    assert model.leave_one_out(TABLE, LABELS).log_loss < plain.leave_one_out(TABLE, LABELS).log_loss


def test_no_other_kind_of_a_column_is_better_by_more_than_the_gain():
    nb = bk.NaiveBayes()
    source = nb._with_labels(nb._labeled(TABLE, LABELS, None))
    schema = nb._inferred_schema(source)
    kinds = best_kinds(nb, RowSample.of(nb, schema, source), list(TABLE), tempered=False)

    def worth(chosen):
        cuts = {name: kind.cuts for name, kind in chosen.items() if kind.cuts is not None}
        numeric = {name: kind.numeric for name, kind in chosen.items()}
        fitted = bk.NaiveBayes(numeric=numeric, cuts=cuts).fit(TABLE, LABELS)
        return -N * fitted.leave_one_out(TABLE, LABELS).log_loss

    best = worth(kinds)
    for name in TABLE:
        for kind in (*KINDS, SILENT):
            if kind.numeric != "lognormal" or min(TABLE[name]) > 0:
                assert worth(kinds | {name: kind}) <= best + GAIN + 1e-6


def test_a_copy_of_a_column_is_made_silent_where_it_does_harm():
    copies = {f"x{i}": TABLE["normal"] for i in range(6)}
    model = bk.NaiveBayes().fit(copies, LABELS)
    silent = [name for name, role in model.schema_.columns.items() if role.cuts == ()]
    assert len(silent) >= 3
    assert (
        model.leave_one_out(copies, LABELS).log_loss
        < bk.NaiveBayes(numeric="gaussian").fit(copies, LABELS).leave_one_out(copies, LABELS).log_loss
    )


def test_the_settings_stay_and_the_choice_is_held(model, tmp_path):
    assert model.numeric == "auto"
    assert model.leave_one_out(TABLE, LABELS).held[0] == "kinds of numbers"
    assert not model._is_its_counts()
    model.save(tmp_path / "auto.bayes")
    again = bk.load(tmp_path / "auto.bayes")
    assert again.numeric_ == model.numeric_
    assert again.schema_ == model.schema_
    assert np.array_equal(again.predict_proba(TABLE), model.predict_proba(TABLE))


def test_learning_forgetting_and_merging_hold_the_kinds(model):
    part, rest = ({n: c[i] for n, c in TABLE.items()} for i in (slice(0, 400), slice(400, None)))
    held = bk.NaiveBayes(numeric="auto", schema=model.schema_)
    grown = clone(held).fit(part, LABELS[:400]).partial_fit(rest, LABELS[400:])
    np.testing.assert_allclose(grown.predict_proba(TABLE), model.predict_proba(TABLE), rtol=1e-9)
    less = clone(held).fit(TABLE, LABELS).forget(rest, LABELS[400:])
    other = clone(held).fit(rest, LABELS[400:])
    np.testing.assert_allclose((less + other).predict_proba(TABLE), model.predict_proba(TABLE), rtol=1e-9)
    with pytest.raises(SchemaMismatch, match="the two sides do not fit"):
        model + bk.NaiveBayes(numeric="kernel").fit(TABLE, LABELS)


def test_tune_fixes_kinds_smoothing_and_temperature():
    tuned = bk.NaiveBayes().tune(TABLE, LABELS)
    assert tuned.numeric == tuned.numeric_
    again = bk.NaiveBayes(**tuned.get_params(deep=False)).fit(TABLE, LABELS)
    np.testing.assert_allclose(again.predict_proba(TABLE), tuned.predict_proba(TABLE), rtol=1e-9)


def test_columns_with_a_kind_of_their_own_and_of_other_types_are_left_alone():
    table = {**TABLE, "sky": np.where(RNG.random(N) < 0.5, "sun", "rain"), "calls": RNG.poisson(2, N)}
    model = bk.NaiveBayes(numeric={"normal": "student", "calls": "poisson", "price": "auto"}).fit(table, LABELS)
    assert (model.numeric_["normal"], model.numeric_["calls"]) == ("student", "poisson")
    others = bk.NaiveBayes(numeric={"normal": "student", "calls": "poisson"}).fit(table, LABELS)
    assert others.schema_ == model.schema_


def test_rows_in_any_form_and_any_batches_choose_the_same(model, tmp_path):
    pq.write_table(pa.table({**TABLE, "class": LABELS}), tmp_path / "rows.parquet", row_group_size=70)
    of_file = bk.NaiveBayes().fit_source(tmp_path / "rows.parquet", "class")
    assert of_file.numeric_ == model.numeric_
    matrix = bk.NaiveBayes().fit(np.column_stack(list(TABLE.values())), LABELS)
    assert list(matrix.numeric_.values()) == list(model.numeric_.values())


def test_weights_are_rows(model):
    doubled = {n: np.concatenate([c, c[:50]]) for n, c in TABLE.items()}
    weights = np.where(np.arange(N) < 50, 2.0, 1.0)
    twice = bk.NaiveBayes().fit(doubled, np.concatenate([LABELS, LABELS[:50]]))
    weighed = bk.NaiveBayes().fit(TABLE, LABELS, sample_weight=weights)
    assert weighed.numeric_.keys() == twice.numeric_.keys()


def test_a_number_below_zero_anywhere_is_no_log_normal_column():
    many = {"price": np.exp(np.random.default_rng(0).normal(size=9000)) + 1e-9}
    y = np.where(many["price"] > 1, "a", "b")
    many["price"][-1] = -1.0
    assert bk.NaiveBayes().fit(many, y).numeric_["price"] != "lognormal"


def test_few_rows_and_rare_classes():
    model = bk.NaiveBayes().fit({"x": [1.0, 2.0, 5.0], "z": [1.0, 1.0, None]}, ["a", "a", "b"])
    assert model.predict_proba({"x": [1.5], "z": [1.0]}).shape == (1, 2)


def test_workers_choose_the_same_kinds():
    from bayeskit.engines import Processes

    there = bk.NaiveBayes().fit_source({**TABLE, "class": LABELS}, "class", engine=Processes(2))
    assert there.schema_.columns == bk.NaiveBayes().fit(TABLE, LABELS).schema_.columns


def test_a_database_that_counts_cannot_choose():
    import duckdb

    from bayeskit.engines.sql import sql

    rows = "(VALUES (1.5, 'a'), (2.5, 'b'), (2.0, 'a')) AS rows(size, kind)"
    pushed = sql(f"SELECT * FROM {rows}", duckdb.connect(), push=True)
    with pytest.raises(BayesError, match='numeric="gaussian"'):
        bk.NaiveBayes().fit(pushed, "kind")
    assert bk.NaiveBayes(numeric="gaussian").fit(pushed, "kind").tally_.n_rows == 3


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(0)
    n = 6 * CHOICE_ROWS
    y = rng.integers(0, 2, n)
    table = {"a": rng.normal(size=n) + y, "b": rng.exponential(size=n) * (1 + y), "c": rng.integers(0, 9, n) * 1.0}
    order = rng.permutation(n)
    shuffled = {name: column[order] for name, column in table.items()}
    one, two = bk.NaiveBayes().fit(table, y), bk.NaiveBayes().fit(shuffled, y[order])
    assert one.schema_.columns == two.schema_.columns
    assert np.allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-9, atol=1e-12)


def test_other_kinds_do_not_merge_and_the_hint_helps():
    half = {name: column[:300] for name, column in TABLE.items()}, LABELS[:300]
    rest = {"normal": TABLE["noise"], "price": -TABLE["price"], "humps": TABLE["price"], "noise": TABLE["humps"]}
    one, two = bk.NaiveBayes().fit(*half), bk.NaiveBayes().fit(rest, LABELS)
    with pytest.raises(SchemaMismatch, match=r"schema=a\.schema_"):
        one.merge(two)
    again = bk.NaiveBayes(schema=one.schema_).fit(rest, LABELS)
    assert one.merge(again).tally_.n_rows == N + 300


def test_the_first_batch_fixes_the_kinds(model):
    first, rest = ({name: c[part] for name, c in TABLE.items()} for part in (slice(200), slice(200, None)))
    streamed = bk.NaiveBayes().partial_fit(first, LABELS[:200])
    kinds = streamed.schema_.columns
    assert streamed.partial_fit(rest, LABELS[200:]).schema_.columns == kinds
    assert kinds == bk.NaiveBayes().fit(first, LABELS[:200]).schema_.columns
    assert streamed.fixed_[0] == "kinds of numbers"
    assert bk.NaiveBayes().fit({"sky": ["sun", "rain"]}, ["a", "b"]).fixed_ == ()


@pytest.mark.parametrize("cells", [[np.nan] * 5 + [1.0], [1.0, 2.0, 3.0, np.nan, np.nan, np.nan]])
def test_a_class_without_numbers_in_an_unsmoothed_model_leaves_one_kind(cells):
    table = {"x": cells, "z": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]}
    model = bk.NaiveBayes(smoothing=0).fit(table, list("aaabbb"))
    assert model.schema_.columns["x"].kind == "histogram"
    assert model.predict(table).tolist() == list("aaabbb")
