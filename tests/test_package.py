"""What importing the package costs and offers."""

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

import bayeskit


def run(code):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    return done.stdout.strip()


def test_importing_loads_no_large_dependency():
    heavy = run(
        "import sys, bayeskit\n"
        "print([m for m in ('sklearn', 'scipy', 'pyarrow', 'pandas', 'polars', 'numpy.testing') if m in sys.modules])"
    )
    assert heavy == "[]"


@pytest.mark.slow
def test_smoothing_and_tallies_load_neither_scikit_learn_nor_scipy():
    heavy = run(
        "import sys, bayeskit\n"
        "bayeskit.Laplace, bayeskit.Tally, bayeskit.BetaBernoulli, bayeskit.Schema, bayeskit.BayesError\n"
        "print([m for m in ('sklearn', 'scipy', 'pandas') if m in sys.modules])"
    )
    assert heavy == "[]"


@pytest.mark.slow
def test_importing_takes_less_than_a_fifth_of_a_second_over_numpy():
    code = "import time, numpy\nstart = time.process_time()\nimport bayeskit\nprint(time.process_time() - start)"
    assert min(float(run(code)) for _ in range(3)) < 0.2


@pytest.mark.parametrize("name", bayeskit.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name):
    thing = getattr(bayeskit, name)
    assert name in dir(bayeskit)
    if name != "__version__":
        assert thing.__name__.rpartition(".")[2] == name
        assert thing.__doc__
        assert getattr(thing, "__module__", thing.__name__).startswith("bayeskit.")


def test_rooms_that_a_person_uses_are_there_without_an_import():
    told = run(
        "import bayeskit as bk\n"
        "print(bk.datasets.load_penguins().num_rows, bk.decisions.decide([[0.2, 0.8]]).labels.tolist())\n"
        "print(bk.charts.evidence_chart.__name__, bk.charts.offline.__name__, bk.errors.NotLearned.__name__)"
    )
    assert told.split("\n") == ["344 [1]", "evidence_chart offline NotLearned"]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'NaivBayes'; did you mean NaiveBayes"):
        _ = bayeskit.NaivBayes
    with pytest.raises(AttributeError, match="no attribute 'dataset'; did you mean datasets"):
        _ = bayeskit.dataset
    with pytest.raises(AttributeError, match=r"no attribute '_core_of_all'$"):
        _ = bayeskit._core_of_all
    with pytest.raises(ImportError):
        from bayeskit import NaivBayes  # noqa: F401


def test_the_version_is_that_of_the_distribution():
    assert re.fullmatch(r"\d+\.\d+\.\d+", bayeskit.__version__)
    try:
        installed = importlib.metadata.version("bayeskit")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("bayeskit runs from its source and is not installed")
    assert installed == bayeskit.__version__


def test_the_readme_lists_the_requirements_of_the_package():
    root = Path(__file__).parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    required = ", ".join(line.replace(">=", " ") for line in project["dependencies"])
    sentence = f"It needs {required}, or newer."
    readme = root / "README.md"
    text = readme.read_text("utf-8")
    if os.environ.get("BAYESKIT_WRITE"):
        readme.write_text(re.sub(r"It needs [^,]+, .*?, or newer\.", sentence, text), "utf-8")
    assert sentence in readme.read_text("utf-8")


def test_the_package_is_typed():
    assert files("bayeskit").joinpath("py.typed").is_file()


def test_every_import_of_the_stub_is_public_to_type_checkers():
    stub = ast.parse(files("bayeskit").joinpath("__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    assert all(name.asname == name.name for node in imports for name in node.names)


CHOICES = {  # what a person sets, the ranges of searches and of weights: no tolerances
    "data/source.py": {1e-100},
    "estimate/variance.py": {1e-9},
    "models/ensemble/training_rows.py": {1e-30},
    "models/linear.py": {1e-8},
    "models/logistic.py": {1e-6},
    "models/base/rules.py": {1e-6},
}


def test_every_tolerance_stands_with_its_reason_in_one_file():
    source = Path(bayeskit.__file__).parent
    strangers = {}
    for file in sorted(source.rglob("*.py")):
        name = file.relative_to(source).as_posix()
        if name == "tolerance.py":
            continue
        small = {
            node.value
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 5e-6
        }
        strangers |= {name: small - CHOICES.get(name, set())} if small - CHOICES.get(name, set()) else {}
    assert not strangers


def test_every_tolerance_has_a_reason_and_a_use():
    source = Path(bayeskit.__file__).parent
    body = ast.parse((source / "tolerance.py").read_text("utf-8")).body
    constants = [i for i, node in enumerate(body) if isinstance(node, ast.Assign)]
    assert all(isinstance(body[i + 1], ast.Expr) for i in constants)
    elsewhere = "".join(f.read_text("utf-8") for f in source.rglob("*.py") if f.name != "tolerance.py")
    unused = [body[i].targets[0].id for i in constants if not re.search(rf"\b{body[i].targets[0].id}\b", elsewhere)]
    assert not unused


def test_no_message_writes_an_article_before_a_name_that_it_cannot_know():
    package = Path(bayeskit.__file__).parent
    wrong = [
        f"{file.relative_to(package)}:{text.lineno}"
        for file in package.rglob("*.py")
        for text in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(text, ast.JoinedStr)
        for before, after in pairwise(text.values)
        if isinstance(before, ast.Constant) and isinstance(after, ast.FormattedValue)
        if re.search(r"\ban? $", before.value, re.IGNORECASE)
    ]
    assert not wrong, "with_article(name) says 'an AODE' and 'a TAN'"
