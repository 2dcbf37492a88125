"""What commands say of trust, of models side by side, of columns that depend, and of the model for these rows."""

import shlex

import numpy as np
import pandas as pd
import pytest

import bayeskit as bk


@pytest.fixture
def copied(here):
    """A table whose columns repeat each other."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    sky = np.where(rng.random(300) < 0.7, y, 1 - y)
    columns = {f"sky{i}": np.array(["sun", "rain"])[np.where(rng.random(300) < 0.95, sky, 1 - sky)] for i in range(6)}
    pd.DataFrame({**columns, "play": np.array(["no", "yes"])[y]}).to_csv("copied.csv", index=False)
    return "copied.csv"


def command_after(told, head):
    lines = told.out.splitlines()
    return shlex.split(lines[lines.index(head) + 1])[1:]


def test_evaluate_says_when_probabilities_are_not_to_be_trusted_and_what_helps(bayes, copied):
    bayes("fit", copied, "-t", "play", "-o", "m.bayes")
    told = bayes("evaluate", "m.bayes", copied)
    assert "The probabilities are not calibrated: overconfident" in " ".join(told.out.split())
    bayes(*command_after(told, "calibrated probabilities:"))
    model = bk.load("calibrated.bayes")
    assert type(model) is bk.Calibrated
    after = bayes("evaluate", "calibrated.bayes", copied, "--folds", "5")
    assert "There are too few rows to tell" in " ".join(after.out.split())
    record = bayes("evaluate", "m.bayes", copied, "--json").json["evaluations"][0]
    expected = bk.load("m.bayes").leave_one_out(copied, "play")
    assert record["calibration"]["error"] == expected.calibration_error
    assert record["calibration"]["verdict"] == "inconsistent"
    parts = record["calibration"]["brier_parts"]
    assert parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["within"] == pytest.approx(
        record["brier"]
    )


def test_the_remedy_names_the_model_and_the_roles_or_python(bayes, copied):
    bayes("fit", copied, "-t", "play", "-m", "aode", "--role", "sky5=ignore", "-o", "m.bayes")
    model = bk.load("m.bayes")
    told = bayes("evaluate", "m.bayes", copied)
    if model.leave_one_out(copied, "play").reliability().verdict == "inconsistent":
        words = command_after(told, "calibrated probabilities:")
        assert words[words.index("-m") + 1] == "aode"
        assert words[words.index("--ignore") + 1] == "sky5"
    bayes("fit", copied, "-t", "play", "-o", "n.bayes")
    held = bayes("evaluate", "n.bayes", copied, "--held-out")
    assert "in Python: Calibrated(NaiveBayes())" in " ".join(held.out.split())


@pytest.mark.parametrize("method", ["isotonic", "sigmoid", "beta", "temperature"])
def test_a_calibrated_model_is_fitted_kept_and_used(bayes, copied, method):
    told = bayes("fit", copied, "-t", "play", "--calibrate", method, "-o", "c.bayes")
    assert "before calibration" in told.out
    assert "stronger:" not in told.out
    expected = bk.Calibrated(bk.NaiveBayes(), method).fit(copied, "play")
    np.testing.assert_array_equal(bk.load("c.bayes").predict_proba(copied), expected.predict_proba(copied))
    first = bayes("predict", "c.bayes", copied, "--proba").out.splitlines()[1].split(",")
    assert float(first[1]) == pytest.approx(expected.predict_proba(copied)[0, 0])
    assert "Calibrated" in bayes("inspect", "c.bayes").out
    assert f"{expected.predict_proba(copied)[0].max():.4f}" in bayes("explain", "c.bayes", copied).out
    assert "before calibration" in bayes("explain", "c.bayes").out
    assert "cannot learn" in bayes("learn", "c.bayes", copied, code=1).err


def test_wrong_options_of_a_fit_are_refused(bayes, copied):
    assert "none of isotonic" in bayes("fit", copied, "-t", "play", "--calibrate", "isotone", code=2).err
    for words in (["--smoothing", "2"], ["--numeric", "student"], ["--prior", "uniform"]):
        assert "no such setting" in bayes("fit", copied, "-t", "play", "-m", "best", *words, code=2).err


def test_exponents_are_fitted_by_name(bayes, copied):
    bayes("fit", copied, "-t", "play", "-m", "exponents", "--smoothing", "2", "-o", "e.bayes")
    model = bk.load("e.bayes")
    assert type(model) is bk.DiscriminativeWeights
    assert model.nb_.smoothing == 2.0


def test_a_plain_fit_names_the_command(bayes, copied):
    told = bayes("fit", copied, "-t", "play", "-o", "m.bayes")
    words = command_after(told, "stronger:")
    assert words[words.index("-m") + 1] == "best"
    bayes(*words)
    assert bk.load("m.bayes").classes_.tolist() == ["no", "yes"]


def test_compare_sets_models_side_by_side(bayes, copied):
    told = bayes("compare", copied, "-t", "play", "--models", "naive,tree,knn")
    assert "3 models on copied, 300 rows, 5-fold cross-validation" in told.out
    found = bayes(
        "compare", copied, "tennis.csv", "-t", "play", "--models", "naive,tree", "--folds", "3", "--json"
    ).json
    assert found["datasets"] == ["copied", "tennis"]
    assert found["rows"] == [300, 14]
    expected = bk.compare(["naive", "tree"], {"copied": (copied, "play"), "tennis": ("tennis.csv", "play")}, folds=3)
    np.testing.assert_allclose(found["log_loss"], expected.log_loss)
    assert {duel["measure"] for duel in found["duels"]} == {"accuracy", "log_loss"}
    table = bayes("compare", copied, "tennis.csv", "-t", "play", "--models", "naive,tree", "--measure", "log_loss").out
    assert "naive against tree by accuracy" in " ".join(table.split())
    once = bayes("compare", "tennis.csv", "-t", "play", "--models", "naive,exponents", "--leave-one-out", "--json").json
    assert once["method"] == "leave-one-out"
    twice = bayes(
        "compare", "tennis.csv", "-t", "play", "--models", "naive", "--folds", "2", "--repeats", "3", "--json"
    )
    assert twice.json["method"] == "3 × 2-fold cross-validation"


def test_compare_takes_roles_and_rows_without_a_class(bayes, copied):
    table = pd.read_csv("birds.csv")
    table.loc[0, "species"] = None
    table.to_csv("some.csv", index=False)
    words = ["compare", "some.csv", "-t", "species", "--models", "naive,exponents,tree", "--role", "year=ignore"]
    found = bayes(*words, "--drop-unlabeled", "--json").json
    assert found["rows"] == [343]
    assert "--drop-unlabeled" in bayes(*words, code=1).err
    refused = bayes("compare", "birds.csv", "-t", "species", "--models", "naive,gaussian", "--json").json["refused"]
    assert [one["model"] for one in refused] == ["gaussian"]
    assert (
        "gaussian could not learn birds"
        in bayes("compare", "birds.csv", "-t", "species", "--models", "naive,gaussian").out
    )


def test_wrong_comparisons_are_refused(bayes, copied):
    assert "did you mean naive" in bayes("compare", copied, "-t", "play", "--models", "naiv", code=2).err
    assert "none of accuracy" in bayes("compare", copied, "-t", "play", "--measure", "f1", code=2).err
    assert "to the number of rows" in bayes("compare", "tennis.csv", "-t", "play", "--folds", "99", code=2).err


def test_diagnose_names_the_columns_and_the_commands(bayes, copied):
    bayes("fit", copied, "-t", "play", "-o", "m.bayes")
    told = bayes("diagnose", "m.bayes", copied)
    assert "15 of 15 pairs of columns" in " ".join(told.out.split())
    assert " × " in told.out
    bayes(*command_after(told, "an exponent for each column:"))
    assert type(bk.load("exponents.bayes")) is bk.DiscriminativeWeights
    found = bayes("diagnose", "m.bayes", copied, "--json").json
    expected = bk.NaiveBayes().diagnose(copied, "play")
    assert [pair["bits"] for pair in found["pairs"]] == [pair.bits for pair in expected.pairs]
    assert found["cures"][0]["log_loss"] == expected.log_loss
    bayes("fit", copied, "-t", "play", "--calibrate", "isotonic", "-o", "c.bayes")
    assert bayes("diagnose", "c.bayes", copied, "--json").json["pairs"] == found["pairs"]


def test_diagnose_is_of_naive_models_and_of_documents(bayes, copied, here):
    bayes("fit", copied, "-t", "play", "-m", "tan", "-o", "t.bayes")
    assert "is not naive" in bayes("diagnose", "t.bayes", copied, code=1).err
    rows = ["new york city", "old town", "new york bridge", "small town"] * 15
    pd.DataFrame({"text": rows, "kind": ["far", "near", "far", "near"] * 15}).to_csv("docs.csv", index=False)
    bayes("fit", "docs.csv", "--text", "text", "-t", "kind", "--recipe", "multinomial", "-o", "d.bayes")
    assert bayes("diagnose", "d.bayes", "docs.csv", "--json").json["things"] == "words"
    assert "words" in bayes("diagnose", "d.bayes", "docs.csv").out
