"""Tables that are awkward to judge, in Python and by commands: each has an answer or a refusal that says why."""

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk
from bayeskit.errors import BayesError

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
TABLES = {
    "one class in a fold": (list("uvuvuvuvuv"), list("aaaaaaaaab")),
    "one class": (list("uvuvuvuvuv"), list("aaaaaaaaaa")),
    "constant scores": (list("uuuuuuuuuu"), list("ababababab")),
    "never predicted": (list("uuuuuuuuuuuu"), list("baaabaaabaaa")),
    "zero and one": (list("uuuuuuvvvvvv"), list("aaaaaabbbbbb")),
    "zero for the true class": (list("uuuuuuvvvvvv"), list("aaaaabbbbbbb")),
}


@pytest.fixture(params=TABLES, ids=str)
def awkward(request, here):
    x, y = TABLES[request.param]
    pd.DataFrame({"x": x, "y": y}).to_csv("t.csv", index=False)
    return request.param, {"x": x}, y


def test_an_awkward_table_is_evaluated_in_python_and_by_a_command_alike(bayes, awkward):
    kind, X, y = awkward
    bayes("fit", "t.csv", "-t", "y", "--smoothing", "0", "-o", "m.bayes")
    told = bayes("evaluate", "m.bayes", "t.csv", "--folds", "5", "--json").json["evaluations"]
    model = bk.NaiveBayes(smoothing=0)
    records = [model.fit(X, y).leave_one_out(X, y), bk.cross_validate(model, X, y, folds=5)]
    for record, said in zip(records, told, strict=True):
        assert said["accuracy"] == pytest.approx(record.accuracy)
        loss = said["log_loss"]
        assert record.log_loss == (np.inf if loss in (None, "Infinity") else pytest.approx(float(loss)))
        assert said["calibration"]["error"] == pytest.approx(record.calibration_error)
        assert 0 <= record.brier <= 2
        assert record.brier_parts().brier == pytest.approx(record.brier)
    left_out, folded = records
    if kind == "one class in a fold":
        assert left_out.n_lost == folded.n_lost == 1
        assert folded.accuracy == 0.9
        assert folded.by_class["F"][1] == 0.0
    if kind == "one class":
        assert (left_out.accuracy, left_out.log_loss, left_out.brier) == (1.0, 0.0, 0.0)
        assert np.isnan(left_out.roc("a").area)
    if kind == "constant scores":
        assert folded.roc().area == folded.precision_recall().average_precision == 0.5
        assert folded.lift().lift.tolist() == [1.0, 1.0]
    if kind == "never predicted":
        assert folded.by_class["precision"] == [0.75, None]
        assert folded.by_class["recall"] == [1.0, 0.0]
        assert folded.by_class["F"][1] == 0.0
    if kind == "zero and one":
        assert set(folded.probabilities.ravel().tolist()) == {0.0, 1.0}
        assert (folded.log_loss, folded.brier, folded.calibration_error, folded.roc().area) == (0.0, 0.0, 0.0, 1.0)
    if kind == "zero for the true class":
        assert left_out.n_clipped
        assert "clipped at 1e-15" in bayes("evaluate", "m.bayes", "t.csv").out


@pytest.mark.slow
def test_awkward_tables_are_drawn_or_refused_with_the_reason(bayes, awkward):
    kind, X, y = awkward
    bayes("fit", "t.csv", "-t", "y", "-o", "m.bayes")
    assert "drawn in e.svg" in bayes("evaluate", "m.bayes", "t.csv", "--plot", "e.svg").out
    model = bk.NaiveBayes().fit(X, y)
    if kind == "one class":
        with pytest.raises(BayesError, match="one class only"):
            model.explain(X)
        assert "one class only" in bayes("explain", "m.bayes", "t.csv", "--plot", "why.svg", code=1).err
        with pytest.raises(BayesError, match="a ROC needs both"):
            model.leave_one_out(X, y).roc("a").chart()
    if kind == "constant scores":
        with pytest.raises(BayesError, match="nothing to draw"):
            model.nomogram().chart()
        with pytest.raises(BayesError, match="nothing to draw"):
            model.diagnose(X, y).chart()
        refused = bayes("diagnose", "m.bayes", "t.csv", "--plot", "pairs.svg", code=1)
        assert "nothing to draw" in refused.err


def test_awkward_tables_are_compared_and_calibrated(bayes, awkward):
    kind, X, y = awkward
    found = bk.compare(["naive", "tree", "logistic"], X, y, folds=3)
    told = bayes("compare", "t.csv", "-t", "y", "--models", "naive,tree,logistic", "--folds", "3", "--json").json
    np.testing.assert_allclose(np.array(told["log_loss"], dtype=float), found.log_loss)
    assert np.isfinite(found.means["log loss"][:2]).all()
    one_class = kind in ("one class", "one class in a fold")
    assert [r.model for r in found.refused] == (["logistic"] if one_class else [])
    assert all("('a')" in r.why for r in found.refused)
    for method in ("isotonic", "sigmoid", "beta", "temperature"):
        p = bk.Calibrated(method=method).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.isfinite(p).all()
    bayes("fit", "t.csv", "-t", "y", "--calibrate", "isotonic", "-o", "c.bayes")
    np.testing.assert_allclose(bk.load("c.bayes").predict_proba(X), bk.Calibrated().fit(X, y).predict_proba(X))


def test_fewer_rows_than_folds_are_refused_with_the_number_of_rows(bayes, here):
    bayes("fit", "tennis.csv", "-t", "play", "-o", "m.bayes")
    for words in (["evaluate", "m.bayes", "tennis.csv"], ["compare", "tennis.csv", "-t", "play", "--models", "naive"]):
        told = bayes(*words, "--folds", "15", code=2)
        assert "from 2 to the number of rows (14)" in " ".join(told.err.split())
    with pytest.raises(BayesError, match=r"folds=15.*\(14\)"):
        bk.cross_validate(bk.NaiveBayes(), "tennis.csv", "play", folds=15)
    few = bk.Calibrated(folds=15).fit("tennis.csv", "play")  # as many folds as there are rows
    assert few.method_ == "14 folds"


def test_a_command_scores_rows_by_their_weight_as_the_fit_did(bayes, here):
    rng = np.random.default_rng(1)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    table = pd.DataFrame({"x": (y == "yes") + rng.normal(size=60), "y": y, "n": rng.integers(0, 3, 60)})
    table.to_csv("weighed.csv", index=False)
    table.loc[table.index.repeat(table["n"])].drop(columns="n").to_csv("often.csv", index=False)
    fitted = bayes("fit", "weighed.csv", "-t", "y", "--weight", "n", "-o", "w.bayes", "--json").json["leave_one_out"]
    bayes("fit", "often.csv", "-t", "y", "-o", "often.bayes")
    for how in ([], ["--held-out"]):
        one = bayes("evaluate", "w.bayes", "weighed.csv", "--weight", "n", *how, "--json").json["evaluations"][0]
        other = bayes("evaluate", "often.bayes", "often.csv", *how, "--json").json["evaluations"][0]
        for name in ("accuracy", "log_loss", "brier"):
            assert one[name] == pytest.approx(other[name]), (how, name)
        assert one["calibration"]["error"] == pytest.approx(other["calibration"]["error"])
        if not how:
            assert one["log_loss"] == pytest.approx(fitted["log_loss"])
    folded = bayes("evaluate", "w.bayes", "weighed.csv", "--weight", "n", "--folds", "3", "--json").json["evaluations"][
        1
    ]
    columns = {"x": table["x"].to_numpy()}
    record = bk.cross_validate(bk.NaiveBayes(), columns, y, 3, sample_weight=table["n"])
    assert folded["log_loss"] == pytest.approx(record.log_loss)
    assert (
        f"{table['n'].sum():,} rows of weighed.csv" in bayes("evaluate", "w.bayes", "weighed.csv", "--weight", "n").out
    )
    assert "no column of weights" in bayes("evaluate", "w.bayes", "weighed.csv", "--weight", "m", code=1).err


def test_a_weight_is_so_many_rows_in_every_judgment(here):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    X = {"x": y + rng.normal(size=60), "z": rng.choice(list("uvw"), 60)}
    weights = rng.integers(1, 4, 60)
    often = np.repeat(np.arange(60), weights)
    twice = {name: column[often] for name, column in X.items()}
    weighed = bk.NaiveBayes().fit(X, y, weights).leave_one_out(X, y, weights)
    plain = bk.NaiveBayes().fit(twice, y[often]).leave_one_out(twice, y[often])
    for name in ("accuracy", "log_loss", "brier", "calibration_error"):
        assert getattr(weighed, name) == pytest.approx(getattr(plain, name)), name
    for label in range(3):
        assert weighed.roc(label).area == pytest.approx(plain.roc(label).area)
        assert weighed.precision_recall(label).break_even == pytest.approx(plain.precision_recall(label).break_even)
        assert weighed.lift(label).found_at(0.1) == pytest.approx(plain.lift(label).found_at(0.1))
    for method in ("isotonic", "sigmoid", "beta", "temperature"):
        one = bk.Calibrated(method=method).fit(X, y, weights).predict_proba(X)
        np.testing.assert_allclose(one, bk.Calibrated(method=method).fit(twice, y[often]).predict_proba(X), atol=1e-6)
