"""What a person waits for at a terminal: the commands on a small file, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import Row

import bayeskit as bk
from bayeskit.datasets import path

TITLE = "Start-up"
NOTE = (
    "CPU seconds of a new process each time, everything it loads included, against what a person would not notice: "
    "0.8 s for an answer about a small file (344 penguins), 0.2 s for the version and the help. Minimum of seven runs, "
    "modules compiled beforehand as after any first run."
)
ROUNDS = 7
QUESTION = "P(species = Gentoo | body_mass_g > 4500)"


def run() -> list[Row]:
    """All lines of the table."""
    birds = str(path("penguins"))
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "birds.bayes"))
        bk.NaiveBayes(roles={"year": "ignore"}).fit_source(birds, "species").save(model)
        one = Path(folder, "one.csv")
        one.write_text("".join(Path(birds).read_text().splitlines(keepends=True)[:2]))
        return [
            _row("`bayes --version`", 0.2, ["--version"]),
            _row("`bayes --help`", 0.2, ["--help"]),
            _row("`bayes predict` of one row", 0.8, ["predict", model, str(one)]),
            _row("`bayes predict` of 344 rows", 0.8, ["predict", model, birds]),
            _row("`bayes explain` of one row", 0.8, ["explain", model, str(one)]),
            _row("`bayes ask` of 344 rows", 0.8, ["ask", birds, QUESTION]),
            _row("`bayes ask` of a model", 0.8, ["ask", model, "P(species | island = Biscoe)"]),
        ]


def _row(work: str, limit: float, words: list[str]) -> Row:
    command = [sys.executable, "-m", "bayeskit.cli", *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(ROUNDS + 1):
        before = os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        after = os.times()
        times.append(sum(after[2:4]) - sum(before[2:4]))
    row = Row(work, f"{limit:g} s", 1, min(times[1:]), limit)
    print(row, flush=True)
    return row
