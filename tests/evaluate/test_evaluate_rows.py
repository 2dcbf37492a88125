"""``evaluate`` recognizes the training rows by their counts: leave-one-out for them, no removal for others."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit import datasets
from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import NESTED, OTHER, SAME


def birds():
    table = datasets.load_penguins().drop(["year"])
    return table.take(np.random.default_rng(0).permutation(table.num_rows))


MODELS = [bk.NaiveBayes, bk.TAN, bk.AODE, bk.KDB, bk.NBTree]


@pytest.mark.parametrize("model", MODELS)
def test_training_rows_in_any_order_are_left_out(model):
    table = birds()
    fitted = model().fit(table, "species")
    found = fitted.evaluate(table.take(np.arange(table.num_rows)[::-1]), "species")
    assert (found.method, found.remark) == ("leave-one-out", SAME)
    assert SAME in str(found).replace("\n", " ")
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
    fitted = bk.NaiveBayes().fit(parts[0], "species")
    assert fitted.evaluate(parts[0], "species").remark == SAME
    merged = fitted.merge(bk.NaiveBayes().fit(parts[1], "species"))
    assert merged.evaluate(table, "species").remark == SAME
    assert merged.forget(parts[1], "species").evaluate(parts[0], "species").remark == SAME


def test_a_part_of_the_training_rows_is_reported_both_ways():
    table = birds()
    found = bk.NaiveBayes().fit(table, "species").evaluate(table.slice(0, 100), "species")
    assert found.remark == NESTED.format("these rows", "those that the model learned")
    found = bk.NaiveBayes().fit(table.slice(0, 100), "species").evaluate(table, "species")
    assert found.remark == NESTED.format("the rows that the model learned", "these")


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
    assert fitted.evaluate(table, "species").remark != SAME


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
