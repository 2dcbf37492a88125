"""Which model for these rows: a favourite that only a clear lead beats, prices that are kept to, models for a file."""

import numpy as np
import pytest
from scipy import stats

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import labelled_table, stratified_folds
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.choice import candidates, is_clear, lead

BIRDS = bk.datasets.load_penguins().drop_columns(["year"])
LIGHT = {"naive": bk.NaiveBayes(), "best": bk.BayesClassifier(n_members=2, fast=True)}
pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")


def xor(n=400, seed=0):
    """A table on which naive Bayes knows nothing."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, n), rng.integers(0, 2, n)
    noise = rng.random(n) < 0.05
    return {"a": a.astype(str), "b": b.astype(str)}, (a ^ b) ^ noise


def test_a_trial_on_shared_counts_is_that_of_fits_of_their_own():
    choice = bk.choose(BIRDS, "species", seconds=0.05)
    given = labelled_table(BIRDS, "species")
    train, test = stratified_folds(given.codes, 5, 0)[0]
    for one in choice.candidates:
        if one.log_loss is not None:
            model = candidates()[one.name].fit(BIRDS.take(train), "species")
            log_p = model.predict_log_proba(BIRDS.take(test))
            truth = [model.classes_.tolist().index(v) for v in BIRDS.take(test)["species"].to_pylist()]
            assert one.log_loss == pytest.approx(-log_p[np.arange(len(test)), truth].mean(), rel=1e-6), one.name
    assert {one.name for one in choice.candidates} == set(candidates())


def test_the_winner_is_fitted_on_all_rows_and_can_be_saved():
    X, y = xor()
    for models in (
        None,
        LIGHT,
        {"exponents": bk.DiscriminativeWeights()},
        {"student": bk.NaiveBayes(numeric="student")},
    ):
        choice = bk.choose(X, y, seconds=0.05 if models is None else 60, models=models)
        again = from_bytes(to_bytes(choice.model))
        np.testing.assert_array_equal(again.predict_proba(X), choice.model.predict_proba(X))
    assert bk.choose(X, y, models=LIGHT).winner == "best"
    whole = bk.choose(X, y, models={"naive": bk.NaiveBayes()}).model
    np.testing.assert_array_equal(whole.predict_proba(X), bk.NaiveBayes().fit(X, y).predict_proba(X))
    for model in candidates().values():
        assert to_bytes(model.fit(X, y))


@pytest.mark.parametrize("weights", [None, np.arange(344) % 3])
@pytest.mark.parametrize("models", [None, LIGHT, {"exponents": bk.DiscriminativeWeights()}], ids=str)
def test_the_winner_knows_the_name_of_the_target(models, weights):
    frame = BIRDS.to_pandas()
    for table, y in ((BIRDS, "species"), (frame, "species"), (frame.drop(columns="species"), frame["species"])):
        model = bk.choose(table, y, seconds=0.05 if models is None else 60, models=models, sample_weight=weights).model
        assert getattr(model, "nb_", model).schema_.target.name == "species"
    X, y = frame[["bill_length_mm", "body_mass_g"]].fillna(0).to_numpy(), frame["species"].to_numpy()
    model = bk.choose(X, y, seconds=0.05 if models is None else 60, models=models, sample_weight=weights).model
    assert getattr(model, "nb_", model).schema_.target.name == "class"


def test_the_classes_are_declared_under_the_name_of_the_target():
    classes = ["Adelie", "Chinstrap", "Gentoo", "King"]
    choice = bk.choose(BIRDS, "species", seconds=0.05, domains={"species": classes})
    assert choice.model.classes_.tolist() == classes


def test_the_favourite_is_beaten_by_a_clear_lead_alone():
    X, y = xor()
    weak, strong = bk.NaiveBayes(), bk.TAN()
    assert bk.choose(X, y, models={"best": weak, "tan": strong}).winner == "tan"
    assert bk.choose(X, y, models={"best": strong, "naive": weak}).winner == "best"
    near = bk.NaiveBayes(smoothing=1.1)
    found = bk.choose(X, y, models={"best": weak, "other": near})
    assert found.winner == "best"
    other = next(one for one in found.candidates if one.name == "other")
    assert "behind" in other.why or "by chance" in other.why


def test_what_costs_more_than_it_may_is_not_tried():
    X, y = xor()
    cheap = bk.choose(X, y, seconds=0.05)
    best = next(one for one in cheap.candidates if one.name == "best")
    assert (best.log_loss, best.seconds) == (None, None)
    assert best.why.startswith("not tried: about 0.")
    assert best.price > 0.05
    assert cheap.limit == 0.05
    student = next(one for one in cheap.candidates if one.name == "student")
    assert student.why == "not tried: as naive, without numbers"
    assert cheap.winner in ("tan", "aode")
    with pytest.raises(BayesError, match="no model can be tried"):
        bk.choose(X, y, seconds=0)


def test_it_says_what_the_file_holds_and_what_the_winner_cannot():
    X, y = xor()
    assert any("holds the rows" in note for note in bk.choose(X, y, models=LIGHT).notes)
    exponents = bk.choose(X, y, models={"exponents": bk.DiscriminativeWeights()})
    assert exponents.notes == (
        "exponents cannot learn or forget or merge: for rows that come and go, fit again or take naive.",
    )
    assert bk.choose(X, y, models={"naive": bk.NaiveBayes()}).notes == ()
    assert any("cuts are held" in note for note in bk.choose(BIRDS, "species", models={"tan": bk.TAN()}).notes)
    text = str(bk.choose(X, y, models=LIGHT))
    assert text.startswith("best, of 2 models on 80 of 400 rows held out")
    assert "chosen" in text


def test_settings_weights_files_and_rows_without_a_label(tmp_path):
    X, y = xor(200)
    weights = np.random.default_rng(0).integers(0, 3, 200)
    assert bk.choose(X, y, seconds=0.05, sample_weight=weights).winner in ("tan", "aode")
    made = candidates(roles={"a": "ignore"}, n_threads=1)
    assert made["exponents"].nb.roles == made["tan"].roles == {"a": "ignore"}
    labels = [None, *map(str, y[1:])]
    assert bk.choose(X, labels, seconds=0.05, unlabelled="drop").n_rows == 199
    from pyarrow import csv

    csv.write_csv(BIRDS, tmp_path / "birds.csv")
    assert bk.choose(str(tmp_path / "birds.csv"), "species", seconds=0.05).n_rows == 344


def test_a_model_that_refuses_is_told_and_passed_over():
    found = bk.choose(BIRDS, "species", models={"gaussian": bk.GaussianBayes(), "naive": bk.NaiveBayes()})
    assert found.winner == "naive"
    assert found.candidates[-1].why.startswith("refused: ")


@pytest.mark.parametrize(
    ("rows", "settings", "why"),
    [
        (20, {"seconds": -1}, "seconds=-1"),
        (20, {"models": {}}, "no model to choose"),
        (20, {"smooothing": 1}, "no model has a setting"),
        (4, {}, "5 rows"),
    ],
)
def test_what_means_nothing_is_refused(rows, settings, why):
    X, y = xor(rows, seed=1)
    with pytest.raises(BayesError, match=why):
        bk.choose(X, y, **settings)
    with pytest.raises(BayesError, match="two classes"):
        bk.choose({"x": ["a"] * 9}, ["u"] * 9)


@pytest.mark.parametrize("n", [5, 7, 12, 60])
def test_tables_of_few_rows_are_compared_as_others_are(n):
    X, y = xor(n, seed=3)
    choice = bk.choose(X, y, models=LIGHT)
    assert choice.held_out == -(-n // 5)
    assert all(one.log_loss is not None for one in choice.candidates)
    assert choice.winner == "best" or n > 12  # a row or two cannot beat the favourite
    choice.chart()


def test_a_lead_of_few_rows_must_be_larger_as_students_distribution_says():
    rng = np.random.default_rng(0)
    for n in (3, 8, 40, 400):
        gains = rng.normal(size=n) + 1
        mean, error, rows = lead(gains, np.ones(n))
        found = stats.ttest_1samp(gains, 0, alternative="greater")
        assert rows == pytest.approx(n)
        assert mean / error == pytest.approx(found.statistic)
        for clearly in (0.5, 2.0, 3.0):
            assert is_clear(mean, error, rows, clearly) == (found.pvalue < stats.norm.sf(clearly))
    twice = lead(gains[:8], np.full(8, 2.0))
    assert twice == pytest.approx(lead(gains[:8], np.ones(8)))
    assert not is_clear(*lead(np.array([5.0]), np.ones(1)))
    assert not is_clear(*lead(np.full(9, 1.0), np.ones(9)))  # all gain the same: nothing tells how sure that is


def test_rows_of_weight_zero_neither_teach_nor_judge():
    X, y = xor(60)
    weights = np.r_[np.ones(40), np.zeros(20)]
    few = {name: column[:40] for name, column in X.items()}
    found, plain = bk.choose(X, y, seconds=0.05, sample_weight=weights), bk.choose(few, y[:40], seconds=0.05)
    assert [(c.name, c.log_loss) for c in found.candidates] == [(c.name, c.log_loss) for c in plain.candidates]
    assert (found.n_rows, found.held_out) == (40, 8)
    labels = np.r_[np.zeros(59, dtype=int), 1]
    with pytest.raises(BayesError, match="there is one class"):
        bk.choose(X, labels, sample_weight=1 - labels)
    with pytest.raises(BayesError, match="3 rows"):
        bk.choose(X, y, sample_weight=np.isin(np.arange(60), [*np.flatnonzero(y)[:2], np.flatnonzero(~y)[0]]))


def test_a_frame_is_read_once_for_all_models_and_the_choice_is_that_of_its_columns():
    frame = BIRDS.to_pandas()
    of_frame, of_columns = bk.choose(frame, "species", seconds=0.05), bk.choose(BIRDS, "species", seconds=0.05)
    assert [(c.name, c.log_loss) for c in of_frame.candidates] == [(c.name, c.log_loss) for c in of_columns.candidates]
    assert of_frame.model.feature_names_in_.tolist() == [name for name in frame.columns if name != "species"]
