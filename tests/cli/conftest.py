"""``bayes`` inside the tests' own process, in a folder with data."""

import io
import json
import sys
from dataclasses import dataclass

import pytest
from pyarrow import csv

from bayeskit.cli import main
from bayeskit.datasets import load_penguins, load_worked_example


@dataclass
class Told:
    """What a command said and how it ended."""

    out: str
    err: str
    code: int

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with birds.csv, half.csv, rest.csv and tennis.csv."""
    monkeypatch.chdir(tmp_path)
    birds = load_penguins()
    csv.write_csv(birds, "birds.csv")
    even = [i % 2 == 0 for i in range(birds.num_rows)]
    csv.write_csv(birds.filter(even), "half.csv")
    csv.write_csv(birds.filter([not e for e in even]), "rest.csv")
    csv.write_csv(load_worked_example("tennis"), "tennis.csv")
    return tmp_path


@pytest.fixture
def bayes(here, monkeypatch, capfd):
    """``bayes("fit", "birds.csv", …)``: runs the command and fails the test where it does not end as it should."""

    def run(*words, code=0, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["bayes", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        try:
            main()
            ended = 0
        except SystemExit as end:
            ended = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        said = capfd.readouterr()
        told = Told(said.out, said.err, ended)
        assert ended in (code if isinstance(code, tuple) else (code,)), told
        assert "Traceback" not in told.err
        return told

    return run


@pytest.fixture
def refused(bayes, here):
    """``refused(["fit", "no.csv"], 1, "there is no file")``: told on stderr, in one line, and no model is written."""

    def run(words, code, said):
        told = bayes(*words, code=code)
        assert said in told.err
        assert told.out == ""
        if code == 1:
            assert len(told.err.strip().splitlines()) == 1
        assert list(here.glob("*.bayes")) == []

    return run


@pytest.fixture
def model(bayes):
    """birds.bayes, fitted."""
    bayes("fit", "birds.csv", "--target", "species", "--role", "year=categorical", "-o", "birds.bayes", "--no-scores")
    return "birds.bayes"
