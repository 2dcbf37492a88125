"""Demonstrate bayeskit on bundled data: ``python -m bayeskit.demo`` or ``bayes demo``."""

import os
import sys
from pathlib import Path

import numpy as np

from bayeskit.datasets import load_penguins, load_worked_example
from bayeskit.models.ensemble.classifier import BayesClassifier
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.models.text.classifier import TextClassifier
from bayeskit.network.network import BayesianNetwork
from bayeskit.tables import Table

TARGET = "species"


def main() -> None:
    """Print the demonstration; every number is computed while it runs."""
    birds = load_penguins().drop_columns(["year"])  # the year of measurement is not related to the species
    held_out = np.arange(birds.num_rows) % 4 == 0
    train, test = birds.filter(~held_out), birds.filter(held_out)
    empty = sum(column.null_count for column in birds.columns)

    _heading(f"A table: {birds.num_rows} penguins, {empty} cells empty")
    names = [name for name in birds.column_names if name not in ("bill_depth_mm", "flipper_length_mm")]
    print(Table({name: birds[name].slice(2, 3).to_pylist() for name in names}))

    _heading(f"BayesClassifier: fit on {train.num_rows} rows, scored on the {test.num_rows} others")
    print("the strongest default; strings, numbers and empty cells as they are")
    best = BayesClassifier(random_state=0).fit(train, TARGET)
    _scores(best, test)

    _heading("NaiveBayes: counts that can be read, learned in one pass")
    model = NaiveBayes(numeric="gaussian").fit(train, TARGET)
    island = model.table("island")
    print(Table({name: island[name] for name in island.column_names if not name.startswith("count")}))
    _scores(model, test)

    _heading("Why? One bird, of which two measurements are missing")
    bird = {"island": "Dream", "bill_length_mm": 49.3, "flipper_length_mm": 195, "sex": "male"}
    print(model.explain({**dict.fromkeys(model.schema_.used), **bird})[0])

    _heading("Merge two models, then forget twenty birds: exactly")
    half = train.num_rows // 2
    one, two = (NaiveBayes(numeric="gaussian").fit(part, TARGET) for part in (train.slice(0, half), train.slice(half)))
    both = one + two
    print(f"{one.tally_.n_rows} rows + {two.tally_.n_rows} rows = {both.tally_.n_rows} rows")
    _compare("one fit on all rows", both, model, test)
    both.forget(train.slice(0, 20), TARGET)
    print(f"forget 20 rows: {both.tally_.n_rows} are left")
    _compare("a fit without them", both, NaiveBayes(numeric="gaussian").fit(train.slice(20), TARGET), test)

    _heading("Text: five short documents, and a new one")
    sports = load_worked_example("sports")
    texts = TextClassifier("multinomial", pattern="words1").fit(sports["text"], sports["tag"])
    document = "A very close game"
    for label, p in zip(texts.classes_.tolist(), texts.predict_proba([document])[0].tolist(), strict=True):
        print(f'P({label} | "{document}") = {p:.4f}')

    _heading("A Bayesian network: any question, answered exactly")
    alarm = {(True, True): 0.95, (True, False): 0.94, (False, True): 0.29, (False, False): 0.001}
    house = BayesianNetwork(
        [("burglary", "alarm"), ("earthquake", "alarm")], {"burglary": 0.001, "earthquake": 0.002, "alarm": alarm}
    )
    for question in ("P(burglary)", "P(burglary | alarm)", "P(burglary | alarm, earthquake)"):
        print(f"{question} = {house.query(question):.4f}")

    _heading("Try next")
    bayes, rows = (
        _short(Path(sys.executable).with_name("bayes")),
        _short(Path(__file__).parent / "sample_data" / "penguins.csv"),
    )
    print(f"{bayes} fit {rows} -t species -o birds.bayes")
    print(f"{bayes} page birds.bayes -o birds.html")
    print(f"{bayes} play")


def _heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def _scores(model: BayesClassifier | NaiveBayes, test: object) -> None:
    scores = model.evaluate(test, TARGET)
    print(f"accuracy {scores.accuracy:.1%}, log loss {scores.log_loss:.3f} (smaller is better)")


def _compare(what: str, a: NaiveBayes, b: NaiveBayes, rows: object) -> None:
    mine, theirs = a.tally_, b.tally_
    same = mine.families == theirs.families and np.array_equal(mine.class_counts, theirs.class_counts)
    apart = float(np.abs(a.predict_proba(rows) - b.predict_proba(rows)).max())
    print(f"  beside {what}: equal counts: {same}; largest difference of P: {apart:g}")


def _short(path: Path) -> str:
    """Return the shorter of a path and its form relative to the working directory."""
    return min(str(path), os.path.relpath(path), key=len)


if __name__ == "__main__":
    main()
