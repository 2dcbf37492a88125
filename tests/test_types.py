"""Type checkers know the methods, settings and results of models."""

import subprocess
import sys
from pathlib import Path

import pytest

SNIPPET = """
import bayeskit
from bayeskit import HiddenMarkovModel, NaiveBayes, TAN, TextClassifier, load

model = NaiveBayes().fit({"x": ["a", "b"]}, ["n", "y"])
model.predict_proba({"x": "a"})
model.predict_prob({"x": "a"})  # wrong
TAN().fitt([])  # wrong
TextClassifier().predict_prob([])  # wrong
HiddenMarkovModel().predicts([])  # wrong
NaiveBayes(unseen="smoth")  # wrong
NaiveBayes(missing="skip")  # wrong
HiddenMarkovModel(covariance="round")  # wrong
model.explain({"x": "a"})[0].log_odds
model.explain({"x": "a"})[0].log_oddz  # wrong
TextClassifier().explain(["a"])[0].word_s  # wrong
load("m.bayes").predict({"x": "a"})
load("m.bayes", NaiveBayes).predict({"x": "a"})
load("m.bayes", NaiveBayes).predictt({"x": "a"})  # wrong
bayeskit.datasets.load_penguins().num_rows
bayeskit.learn_network({"x": ["a"]}, score="bdue")  # wrong
"""


@pytest.mark.slow
def test_mypy_finds_every_misspelt_name_and_setting_and_nothing_else(tmp_path):
    """The lines that mypy reports are those marked as wrong."""
    pytest.importorskip("mypy")
    path = tmp_path / "snippet.py"
    path.write_text(SNIPPET)
    root = Path(__file__).parents[1]
    cache = root / ".mypy_cache"
    settings = ["--config-file", str(root / "pyproject.toml"), "--cache-dir", str(cache), "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, str(path)], capture_output=True, text=True, cwd=root
    )
    assert not done.stderr
    reported = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    wrong = {i for i, line in enumerate(SNIPPET.splitlines(), 1) if line.endswith("# wrong")}
    assert reported == wrong, done.stdout
