"""The record of leave-one-out: real tables against refitting, corners, and measures by hand."""

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss, precision_recall_fscore_support

import bayeskit as bk
from bayeskit import datasets

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
DATA = Path(os.environ.get("BAYESKIT_DATA", "nowhere")) / "tabular"


def penguins():
    birds = datasets.load_penguins()
    return birds, bk.NaiveBayes(roles={"year": "ignore"}).fit(birds, "species")


def refitted(model, table, target, rows):
    """P(class) of some rows by models fitted without them."""
    found = np.zeros((len(rows), len(model.classes_)))
    for i, row in enumerate(rows):
        rest = table.take([j for j in range(table.num_rows) if j != row])
        other = type(model)(**model.get_params()).fit(rest, target)
        index = [model.classes_.tolist().index(c) for c in other.classes_.tolist()]
        found[i, index] = other.predict_proba(table.slice(row, 1))[0]
    return found


def test_leave_one_out_of_the_penguins_equals_refitting_without_each_bird():
    birds, model = penguins()
    rows = list(range(0, 344, 7))
    found = model.leave_one_out(birds, "species")
    np.testing.assert_allclose(found.probabilities[rows], refitted(model, birds, "species", rows), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="BAYESKIT_DATA has no tables")
@pytest.mark.parametrize("how", [{}, {"smoothing": 0}, {"unseen": "smooth", "missing": "value", "variance": "feature"}])
@pytest.mark.parametrize("name", ["crx", "soybean-large", "hepatitis", "zoo", "labor", "primary-tumor", "glass"])
def test_leave_one_out_equals_refitting_on_tables_with_gaps_and_rare_values(name, how):
    with gzip.open(DATA / f"{name}.csv.gz") as file:
        table = csv.read_csv(file, convert_options=csv.ConvertOptions(strings_can_be_null=True, null_values=["", "?"]))
    target = table.column_names[-1]
    model = bk.NaiveBayes(numeric="gaussian", **how).fit(table, target)
    found = model.leave_one_out(table, target)
    rng = np.random.default_rng(0)
    rows = rng.choice(table.num_rows, min(25, table.num_rows), replace=False).tolist()
    np.testing.assert_allclose(found.probabilities[rows], refitted(model, table, target, rows), rtol=0, atol=1e-9)


def test_the_measures_are_those_of_scikit_learn():
    birds, model = penguins()
    found = model.leave_one_out(birds, "species")
    y, classes = birds["species"].to_pylist(), model.classes_.tolist()
    chosen = model.classes_[found.probabilities.argmax(axis=1)]
    assert found.accuracy == pytest.approx(np.mean(chosen == y))
    assert found.log_loss == pytest.approx(log_loss(y, found.probabilities))
    one_hot = np.array([[label == c for c in classes] for label in y], dtype=float)
    assert found.brier == pytest.approx(np.mean(((found.probabilities - one_hot) ** 2).sum(axis=1)))
    np.testing.assert_array_equal(found.counts, confusion_matrix(y, chosen))
    precision, recall, f, rows = precision_recall_fscore_support(y, chosen)
    by_class = found.by_class
    np.testing.assert_allclose(by_class["precision"], precision)
    np.testing.assert_allclose(by_class["recall"], recall)
    np.testing.assert_allclose(by_class["F"], f)
    assert by_class["rows"] == rows.tolist()


def test_two_classes_brier_is_twice_the_usual_one():
    X, y = np.array([[0.0], [1.0], [0.5], [2.0], [1.5], [3.0]]), [0, 1, 0, 1, 0, 1]
    found = bk.NaiveBayes().fit(X, y).leave_one_out(X, y)
    assert found.brier == pytest.approx(2 * brier_score_loss(y, found.probabilities[:, 1]))


def test_the_baseline_is_the_majority_of_the_other_rows():
    y = ["a"] * 3 + ["b"] * 2
    found = bk.NaiveBayes().fit({"x": list("vwxyz")}, y).leave_one_out({"x": list("vwxyz")}, y)
    assert found.baseline.accuracy == 3 / 5  # an a leaves 2 : 2, and the first class wins the tie
    shares = np.array([[2 / 4, 2 / 4]] * 3 + [[3 / 4, 1 / 4]] * 2)
    true = np.array([[1, 0]] * 3 + [[0, 1]] * 2)
    assert found.baseline.log_loss == pytest.approx(-np.log((shares * true).sum(axis=1)).mean())
    assert found.baseline.brier == pytest.approx(((shares - true) ** 2).sum(axis=1).mean())


def test_a_value_that_only_the_row_has_becomes_unseen():
    X, y = {"x": ["u", "v", "v", "v"]}, ["a", "a", "b", "b"]
    model = bk.NaiveBayes().fit(X, y)
    without = bk.NaiveBayes().fit({"x": ["v", "v", "v"]}, ["a", "b", "b"])
    np.testing.assert_allclose(model.leave_one_out(X, y).probabilities[0], without.predict_proba({"x": ["u"]})[0])


def test_a_class_that_only_the_row_has_counts_as_wrong_and_is_reported_apart():
    X, y = {"x": ["u", "v", "v", "u"]}, ["a", "b", "b", "c"]
    found = bk.NaiveBayes().fit(X, y).leave_one_out(X, y)
    assert found.n_lost == 2
    assert found.accuracy == 0.5
    assert found.probabilities[0, 0] == found.probabilities[3, 2] == 0
    assert np.isfinite(found.log_loss)
    assert "2 rows of a class that no other row has" in str(found)


def test_a_row_of_weight_three_is_scored_three_times_without_one_of_them():
    X, y, w = {"x": ["u", "v", "u", "v", "u"]}, ["a", "a", "b", "b", "b"], [3, 1, 2, 1, 1]
    weighted = bk.NaiveBayes().fit(X, y, sample_weight=w).leave_one_out(X, y, sample_weight=w)
    repeated = np.repeat(np.arange(5), w)
    X2, y2 = {"x": [X["x"][i] for i in repeated]}, [y[i] for i in repeated]
    plain = bk.NaiveBayes().fit(X2, y2).leave_one_out(X2, y2)
    for name in ("accuracy", "log_loss", "brier", "n_rows"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name))
        if name != "n_rows":
            assert getattr(weighted.baseline, name) == pytest.approx(getattr(plain.baseline, name))
    np.testing.assert_allclose(weighted.probabilities[repeated], plain.probabilities)


def test_a_row_of_weight_zero_may_have_what_was_never_learned():
    X, y, w = {"x": ["u", "v", "u", "v", "new"]}, ["a", "a", "b", "b", "z"], [1, 1, 1, 1, 0]
    found = bk.NaiveBayes().fit(X, y, sample_weight=w).leave_one_out(X, y, sample_weight=w)
    assert found.n_rows == 4
    assert found.classes == ("a", "b")


@pytest.mark.parametrize("undecidable", ["prior", "nan", "error"])
def test_a_row_impossible_without_itself_is_settled_by_the_priors_that_are_left(undecidable):
    X, y = {"x": ["u", "v", "w", "w"]}, ["a", "a", "b", "b"]
    model = bk.NaiveBayes(smoothing=0, undecidable=undecidable, unseen="smooth").fit(X, y)
    if undecidable == "error":
        with pytest.raises(bk.BayesError, match="row 0 is impossible under every class once it is left out"):
            model.leave_one_out(X, y)
        return
    found = model.leave_one_out(X, y)
    assert found.n_undecidable == 2
    if undecidable == "nan":
        assert np.isnan(found.probabilities[0]).all()
    else:
        np.testing.assert_allclose(found.probabilities[0], [1 / 3, 2 / 3])
    assert np.isfinite([found.accuracy, found.log_loss, found.brier]).all()


def test_probability_zero_for_the_true_class_is_clipped_and_said():
    X, y = {"x": ["u", "v", "u", "v"]}, ["a", "b", "b", "b"]
    found = bk.NaiveBayes(smoothing=0).fit({"x": ["u", "u", "v", "v"]}, ["a", "b", "b", "b"])
    found = found.leave_one_out({"x": ["u", "u", "v", "v"]}, ["a", "b", "b", "b"])
    assert found.n_lost == 1
    X, y = {"x": ["u", "u", "u", "v", "v", "u"]}, ["a", "a", "b", "b", "b", "a"]
    found = bk.NaiveBayes(smoothing=0).fit(X, y).leave_one_out(X, y)
    p = np.maximum(found.probabilities[np.arange(6), found.truth], 1e-15)
    assert found.log_loss == pytest.approx(-np.log(p).mean())
    assert found.n_clipped == (p == 1e-15).sum() > 0
    assert "below 1e-15 for the true class" in str(found)
    assert found.trust.verdict == "inconsistent"


def test_random_ties_are_drawn_as_predict_draws_them():
    X, y = {"x": [f"value {i}" for i in range(200)]}, ["a", "b"] * 100
    model = bk.NaiveBayes(ties="random", random_state=5, prior="uniform").fit(X, y)
    assert 0.3 < model.leave_one_out(X, y).accuracy < 0.7  # every value is unseen without its row
    assert bk.NaiveBayes(prior="uniform").fit(X, y).leave_one_out(X, y).accuracy == 0.5  # the first class


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_the_number_of_threads_changes_no_bit(n_threads):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3000, 5)), rng.integers(0, 3, 3000)
    first = bk.NaiveBayes(n_threads=1).fit(X, y).leave_one_out(X, y)
    other = bk.NaiveBayes(n_threads=n_threads).fit(X, y).leave_one_out(X, y)
    assert np.array_equal(first.probabilities, other.probabilities)
    assert first == other


def test_what_was_not_learned_is_refused():
    X, y = {"x": ["u", "v", "u", "v"]}, ["a", "a", "b", "b"]
    model = bk.NaiveBayes().fit(X, y)
    before = model.tally_.to_bytes()
    for rows, labels, what in [
        (X, ["a", "a", "b", "z"], "row 3 has a class that was never learned"),
        ({"x": ["u", "v", "u", "w"]}, y, "row 3 was never learned: its value of column 'x'"),
        ({"x": ["u", "v", "u", "v", "u"]}, [*y, "a"], "more rows of class 'a' here than were learned"),
    ]:
        with pytest.raises(bk.errors.NotLearned, match=what):
            model.leave_one_out(rows, labels)
    with pytest.raises(bk.BayesError, match="two rows at least"):
        bk.NaiveBayes().fit({"x": ["u"]}, ["a"]).leave_one_out({"x": ["u"]}, ["a"])
    with pytest.raises(bk.BayesError, match="no rows"):
        model.leave_one_out({"x": []}, [])
    assert model.tally_.to_bytes() == before


def test_a_model_without_a_closed_form_has_no_leave_one_out():
    from bayeskit.models.base import Classifier

    class Bare(Classifier):
        pass

    assert not hasattr(Bare(), "leave_one_out")
    assert hasattr(bk.NaiveBayes(), "leave_one_out")


def test_the_record_reads_in_eighty_columns_and_in_html():
    rng = np.random.default_rng(0)
    labels = [f"a rather long name of class number {i}" for i in range(12)]
    y = rng.choice(labels, 300)
    X = pa.table({"x": rng.choice(list("uvw"), 300), "z": rng.normal(size=300)})
    found = bk.NaiveBayes().fit(X, y).leave_one_out(X, y)
    assert max(map(len, str(found).splitlines())) <= 80
    assert "<table>" in found._repr_html_()
    birds, model = penguins()
    found = model.leave_one_out(birds, "species")
    assert max(map(len, str(found).splitlines())) <= 80
    assert found.confusion["as Gentoo"] == [0, 0, 124]
    with pytest.raises(AttributeError):
        found.accuracy = 1.0


@pytest.mark.parametrize(
    "prior", ["empirical", "uniform", bk.Laplace(), {"a": 0.2, "b": 0.3, "c": 0.5}, [0.2, 0.3, 0.5]]
)
@pytest.mark.parametrize("kind", [bk.NaiveBayes, bk.TAN, bk.KDB, bk.AODE, bk.FullJointBayes])
def test_a_class_that_only_the_row_shows_has_no_prior_without_it(kind, prior):
    table = {"x": ["p", "p", "q", "q", "p"], "z": ["s", "s", "t", "t", "t"]}  # the last is impossible in a and in b
    model = kind(smoothing=0, prior=prior).fit(table, ["a", "a", "b", "b", "c"])
    left_out = model.leave_one_out(table, ["a", "a", "b", "b", "c"]).probabilities[4]
    given = isinstance(prior, (dict, list))  # what was given for the others, divided by its sum
    np.testing.assert_allclose(left_out, [0.4, 0.6, 0.0] if given else [0.5, 0.5, 0.0], rtol=1e-12)


def test_a_prior_that_leaves_nothing_without_the_row_is_named():
    table, labels = {"x": ["p", "p", "q"]}, ["a", "a", "c"]
    model = bk.NaiveBayes(prior={"a": 0.0, "c": 1.0}).fit(table, labels)
    with pytest.raises(bk.BayesError, match="rules out every class but 'c'"):
        model.leave_one_out(table, labels)
