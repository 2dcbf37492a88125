"""scikit-learn, SciPy and pandas are imported where they are used: a command that needs none of them starts at once."""

import json
import subprocess
import sys

import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins, load_worked_example

HEAVY = {"sklearn", "scipy", "pandas", "joblib", "polars"}


def modules(code, *arguments):
    """All modules that a program of Python has imported by its end."""
    told = f"import json, sys\ntry:\n    {code}\nfinally:\n    print(json.dumps([*sys.modules]), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, check=True)
    return set(json.loads(run.stderr.splitlines()[-1]))


def loaded(code, *arguments):
    """The heavy packages that a program of Python has imported by its end."""
    return HEAVY & {name.partition(".")[0] for name in modules(code, *arguments)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small data and models of it."""
    from pyarrow import csv

    here = tmp_path_factory.mktemp("light")
    days, birds = load_worked_example("tennis"), load_penguins().drop_columns(["year"])
    csv.write_csv(days, here / "days.csv")
    csv.write_csv(birds.slice(0, 50), here / "birds.csv")
    bk.NaiveBayes().fit(days, "play").save(here / "days.bayes")
    bk.TAN().fit(birds, "species").save(here / "birds.bayes")
    sports = load_worked_example("sports")
    bk.TextClassifier("multinomial").fit(sports["text"], sports["tag"]).save(here / "sports.bayes")
    csv.write_csv(sports, here / "sports.csv")
    return here


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "days.bayes", "days.csv"],
        ["predict", "birds.bayes", "birds.csv", "--proba"],
        ["predict", "sports.bayes", "sports.csv", "--text", "text"],
        ["explain", "days.bayes", "days.csv"],
        ["explain", "birds.bayes", "birds.csv"],
        ["inspect", "days.bayes"],
        ["ask", "days.bayes", "P(play = yes | outlook = sunny)"],
        ["learn", "days.bayes", "days.csv", "-o", "more.bayes"],
        ["fit", "days.csv", "-t", "play", "-o", "again.bayes"],
    ],
    ids=" ".join,
)
def test_a_command_on_a_small_file_imports_nothing_heavy(words, folder):
    paths = [str(folder / word) if word.endswith((".bayes", ".csv")) else word for word in words]
    run = "sys.argv = ['bayes', *sys.argv[1:]]; from bayeskit.cli import main; main()"
    assert loaded(run, *paths) == set()


def test_the_version_is_printed_without_numpy_and_without_the_commands():
    imported = modules("sys.argv = ['bayes', '--version']; from bayeskit.cli import main; main()")
    assert not {"numpy", "pyarrow", "rich"} & imported
    assert not [name for name in imported if name.startswith("bayeskit.cli.commands.")]


def test_predicting_imports_neither_other_commands_nor_explanations(folder):
    run = "sys.argv = ['bayes', *sys.argv[1:]]; from bayeskit.cli import main; main()"
    imported = modules(run, "predict", str(folder / "days.bayes"), str(folder / "days.csv"))
    unused = (
        "bayeskit.explain.",
        "bayeskit.charts.",
        "bayeskit.evaluate.cross_validation",
        "bayeskit.evaluate.diagnosis",
    )
    assert [name for name in imported if name.startswith("bayeskit.cli.commands.")] == ["bayeskit.cli.commands.predict"]
    assert [name for name in imported if name.startswith(unused)] == []


def test_loading_asking_and_copying_a_model_imports_nothing_heavy(folder):
    run = (
        "import bayeskit; from bayeskit.models.base import clone; model = bayeskit.load(sys.argv[1]); "
        "day = {'outlook': 'rain', 'temperature': 'mild', 'humidity': 'high', 'wind': 'weak'}; model.predict(day); "
        "model.predict([day]); model.explain([day]); repr(model); dir(model); clone(model).set_params(smoothing=2)"
    )
    assert loaded(run, str(folder / "days.bayes")) == set()


@pytest.mark.parametrize("name", sorted({"Discretizer", "TokenCounter", "LogisticRegression", "CostSensitive"}))
def test_importing_an_estimator_imports_nothing_heavy(name):
    assert loaded(f"import bayeskit; bayeskit.{name}()") == set()


def test_every_public_name_but_the_drop_ins_is_imported_without_scikit_learn():
    drop_ins = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"]
    run = f"import bayeskit; [getattr(bayeskit, name) for name in bayeskit.__all__ if name not in {drop_ins}]"
    assert loaded(run) == set()
