"""``evaluate`` recognizes the training rows by their hash or counts: leave-one-out for them, no removal for others."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import bayeskit as bk
from bayeskit import datasets
from bayeskit.engines import Processes
from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import NESTED, OTHER, SAME, SAME_COUNTS, SHARED
from bayeskit.models import from_bytes, to_bytes


def birds():
    table = datasets.load_penguins().drop(["year"])
    return table.take(np.random.default_rng(0).permutation(table.num_rows))


MODELS = [bk.NaiveBayes, bk.TAN, bk.AODE, bk.KDB, bk.NBTree]


@pytest.mark.parametrize("model", MODELS)
def test_training_rows_in_any_order_are_left_out(model):
    table = birds()
    fitted = model().fit(table, "species")
    found = fitted.evaluate(table.take(np.arange(table.num_rows)[::-1]), "species")
    remark = SAME_COUNTS if model is bk.NBTree else SAME  # whose leaves count the rows, without a hash
    assert (found.method, found.remark) == ("leave-one-out", remark)
    assert remark in str(found).replace("\n", " ")
    assert found.log_loss == pytest.approx(fitted.leave_one_out(table, "species").log_loss)


@pytest.mark.parametrize("model", MODELS)
def test_other_rows_are_scored_as_they_are(model):
    table = birds()
    fitted = model().fit(table.slice(0, 120), "species")
    new = table.slice(120)
    found = fitted.evaluate(new, "species")
    assert (found.method, found.remark) == ("held-out rows", OTHER)
    truth = np.searchsorted(fitted.classes_, np.array(new["species"].to_pylist()))
    p = fitted.predict_proba(new)[np.arange(len(truth)), truth]
    assert found.log_loss == pytest.approx(-np.log(np.maximum(p, 1e-15)).mean())


def test_learning_merging_and_forgetting_change_what_was_learned():
    table = birds()
    parts = table.slice(0, 150), table.slice(150)
    fitted = bk.NaiveBayes(numeric="gaussian").fit(parts[0], "species")
    assert fitted.evaluate(parts[0], "species").remark == SAME
    merged = fitted.merge(bk.NaiveBayes(numeric="gaussian").fit(parts[1], "species"))
    assert merged.evaluate(table, "species").remark == SAME
    assert merged.forget(parts[1], "species").evaluate(parts[0], "species").remark == SAME


def swapped(table, column, a, b):
    """The table with the cells of two rows of a column exchanged."""
    rows = np.arange(table.num_rows)
    rows[[a, b]] = rows[[b, a]]
    return table.set_column(table.column_names.index(column), column, table[column].take(rows))


@pytest.mark.parametrize("model", [bk.NaiveBayes, bk.TAN, bk.AODE, bk.KDB, bk.BayesClassifier])
def test_other_rows_with_the_counts_of_the_training_rows_are_not_taken_for_them(model):
    table = birds().select(["island", "sex", "species"]).slice(0, 60)
    fitted = model().fit(table, "species")
    kinds, islands, sexes = (table[name].to_pylist() for name in ("species", "island", "sex"))
    a, b = next(
        (a, b)
        for a in range(60)
        for b in range(60)
        if kinds[a] == kinds[b] and islands[a] != islands[b] and sexes[a] != sexes[b]
    )
    other = swapped(table, "sex", a, b)
    if model is bk.NaiveBayes:
        assert model().fit(other, "species").tally_ == fitted.tally_
    assert fitted.evaluate(other, "species").method == "held-out rows"
    if model is not bk.BayesClassifier:
        assert fitted.evaluate(table, "species").method == "leave-one-out"


def test_a_part_of_the_training_rows_is_reported_both_ways():
    table = birds()
    for learned, rows, n in ((table, table.slice(0, 100), 100), (table.slice(0, 100), table, 100)):
        with pytest.warns(bk.BayesWarning, match="the scores are too good"):
            found = bk.NaiveBayes().fit(learned, "species").evaluate(rows, "species")
        assert found.method == "held-out rows"
        assert found.remark.startswith(SHARED[:38])
        assert abs(int(found.remark.split("about ")[1].split()[0]) - n) < 35
    first = bk.NaiveBayes().fit(table.slice(0, 60), "species").partial_fit(table.slice(60, 40), "species")
    with pytest.warns(bk.BayesWarning, match=r"about [34]\d of the 100 rows"):
        first.evaluate(table.slice(60), "species")  # forty rows of the first hundred, and others


def test_rows_that_repeat_by_chance_are_not_taken_for_training_rows():
    rng = np.random.default_rng(0)
    X, y = {f"x{i}": rng.choice(list("ab"), 600) for i in range(4)}, rng.choice(["u", "v"], 600)
    halves = [
        ({name: column[part] for name, column in X.items()}, y[part]) for part in (slice(0, 300), slice(300, 600))
    ]
    assert bk.NaiveBayes().fit(*halves[0]).evaluate(*halves[1]).remark == OTHER


def test_without_a_hash_the_counts_decide_and_the_remark_says_so():
    table = birds()
    model = bk.NaiveBayes().fit(table, "species")
    vars(model)["tally_"] = replace(model.tally_, row_hash=None)
    assert model.evaluate(table, "species").remark == SAME_COUNTS
    found = model.evaluate(table.slice(0, 100), "species")
    assert found.remark == NESTED.format("these rows", "those that the model learned")
    many = {"x": np.random.default_rng(0).normal(size=40_000)}, np.arange(40_000) % 2
    assert bk.NaiveBayes().fit(*many).evaluate(*many).remark == SAME_COUNTS


def test_files_batches_and_engines_give_one_hash(tmp_path):
    table = birds()
    csv.write_csv(table, tmp_path / "birds.csv")
    parquet.write_table(table, tmp_path / "birds.parquet", row_group_size=50)
    model = bk.NaiveBayes(numeric="gaussian").fit(table, "species")
    whole = model.tally_.row_hash
    again = from_bytes(to_bytes(model))
    assert again.tally_.row_hash == whole
    for file, engine in (("birds.csv", None), ("birds.parquet", None), ("birds.parquet", Processes(2))):
        assert bk.NaiveBayes(numeric="gaussian").fit_source(tmp_path / file, "species", engine).tally_.row_hash == whole
        assert again.evaluate(str(tmp_path / file), "species").remark == SAME
    assert bk.NaiveBayes(numeric="gaussian").fit(table.to_pandas(), "species").tally_.row_hash == whole
    parts = [table.slice(at, 43) for at in range(0, 344, 43)]
    learned = bk.NaiveBayes(numeric="gaussian").fit(parts[0], "species")
    for part in parts[1:]:
        learned.partial_fit(part, "species")
    assert learned.tally_.row_hash == whole
    assert sum(bk.NaiveBayes(numeric="gaussian").fit(part, "species") for part in parts).tally_.row_hash == whole
    left = learned.forget(parts[3], "species").evaluate(pa.concat_tables(parts[:3] + parts[4:]), "species")
    assert left.remark == SAME


def test_the_method_can_be_forced():
    table = birds()
    fitted = bk.NaiveBayes().fit(table, "species")
    assert fitted.evaluate(table, "species", method="held-out").method == "held-out rows"
    assert fitted.evaluate(table.slice(0, 50), "species", method="leave-one-out").method == "leave-one-out"
    with pytest.raises(BayesError, match="method='loo'"):
        fitted.evaluate(table, "species", method="loo")


def test_training_rows_of_a_model_without_leave_one_out_are_refused():
    table = birds()
    model = bk.BayesClassifier(fast=True).fit(table.slice(0, 200), "species")
    with pytest.raises(BayesError, match="these are the rows that it learned"):
        model.evaluate(table.slice(0, 200), "species")
    assert model.evaluate(table.slice(200), "species").method == "held-out rows"


def test_weights_belong_to_the_rows():
    table = birds()
    weights = np.random.default_rng(1).integers(1, 4, table.num_rows).astype(float)
    fitted = bk.NaiveBayes().fit(table, "species", weights)
    assert fitted.evaluate(table, "species", weights).remark == SAME
    with pytest.warns(bk.BayesWarning, match="about 344 of the 344 rows"):
        assert fitted.evaluate(table, "species").method == "held-out rows"


def test_documents_are_recognized():
    texts = ["good great film", "bad awful film", "great fun", "awful boring mess"] * 5
    model = bk.TextClassifier("multinomial").fit(texts, [1, 0, 1, 0] * 5)
    assert model.evaluate(texts[::-1], [0, 1, 0, 1] * 5).remark == SAME
    assert model.evaluate(["great awful mess"] * 4, [1, 0, 1, 0]).remark != SAME


def test_cross_validation_and_comparison_give_one_log_loss():
    rng = np.random.default_rng(0)
    X = {f"x{i}": rng.choice(list("abcdefgh"), 60) for i in range(3)}
    y = rng.choice(["u", "v", "w"], 60)
    model = bk.NaiveBayes(smoothing=0)
    folded = bk.cross_validate(model, X, y, folds=5)
    assert folded.n_clipped
    assert bk.compare({"m": model}, X, y, folds=5).log_loss.item() == pytest.approx(folded.log_loss, rel=0.05)


def test_lists_of_numbers_are_rows_for_every_classifier():
    X, y = [[1, 2], [2, 0], [0, 3], [4, 1]] * 3, [0, 1, 0, 1] * 3
    model = bk.MultinomialNB()
    assert (
        bk.cross_validate(model, X, y, folds=3).log_loss == bk.cross_validate(model, np.array(X), y, folds=3).log_loss
    )


def test_a_classifier_of_numbers_refuses_columns_with_names_in_plain_words():
    table = {"sky": ["sun", "rain"] * 6, "play": ["yes", "no", "no"] * 4}
    with pytest.raises(bk.BayesError, match="takes a matrix of numbers, and these rows are columns with names"):
        bk.cross_validate(bk.MultinomialNB(), table, "play", folds=2)


def test_a_model_of_states_is_no_classifier():
    with pytest.raises(bk.BayesError, match="GaussianHMM learns no classes, since fit takes no labels"):
        bk.cross_validate(bk.GaussianHMM(2), [[1.0], [2.0]] * 4, ["a", "b"] * 4, folds=2)
    with pytest.raises(bk.BayesError, match="give the number of rows of each sequence"):
        bk.GaussianHMM(2).fit([[1.0], [2.0]], ["a", "b"])
