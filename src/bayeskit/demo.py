"""Demonstrate bayeskit on the bundled penguins: ``python -m bayeskit.demo``."""

from collections.abc import Iterable

import numpy as np

from bayeskit.datasets import load_penguins
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.tables import Table

TARGET = "species"
NO_ATTRIBUTE = {"year": "ignore"}  # the year of measurement is not related to the species


def main() -> None:
    """Print the demonstration; every number is computed while it runs."""
    birds = load_penguins()
    held_out = np.arange(birds.num_rows) % 4 == 0
    train, test = birds.filter(~held_out), birds.filter(held_out)
    empty = sum(column.null_count for column in birds.columns)

    _heading(f"The data: {birds.num_rows} penguins, {empty} cells empty, as they came")
    print(Table({name: birds[name].slice(2, 3).to_pylist() for name in _narrow_columns(birds.column_names)}))

    model = NaiveBayes(numeric="gaussian", roles=NO_ATTRIBUTE).fit(train, TARGET)
    _heading(f"Learned from {train.num_rows} of them by counting once; each column was taken for")
    for role in ("categorical", "numeric", "ignore"):
        names = [name for name, taken in model.schema_.columns.items() if taken.name == role]
        print(f"{role:<12} {', '.join(names)}")

    _heading("The class counts, and what was learned of two columns")
    print(model.table())
    print()
    island = model.table("island")
    print(Table({name: island[name] for name in island.column_names if not name.startswith("count")}))
    print()
    print(model.table("bill_length_mm"))

    right = round(model.score(test, TARGET) * test.num_rows)
    guess = max(test[TARGET].to_pylist().count(label) for label in model.classes_.tolist())
    _heading(f"The {test.num_rows} birds held out")
    print(f"right: {right} ({right / test.num_rows:.1%}); always saying the commonest species: {guess}")

    bird = {"island": "Dream", "bill_length_mm": 49.3, "flipper_length_mm": 195, "sex": "male"}
    _heading("One bird, of which two measurements are missing")
    print(", ".join(f"{name} {value}" for name, value in bird.items()))
    row = {**dict.fromkeys(model.schema_.used), **bird}
    print(f"most probably {model.predict(row)[0]}:")
    print(Table({TARGET: model.classes_.tolist(), "P(species | bird)": model.predict_proba(row)[0].tolist()}))

    _heading("Two stations learn apart, and their models are added")
    half = train.num_rows // 2
    one = NaiveBayes(numeric="gaussian", roles=NO_ATTRIBUTE).fit(train.slice(0, half), TARGET)
    two = NaiveBayes(numeric="gaussian", roles=NO_ATTRIBUTE).fit(train.slice(half), TARGET)
    both = one + two
    print(f"{one.tally_.n_rows} rows + {two.tally_.n_rows} rows = {both.tally_.n_rows} rows")
    _compare("one fit on all rows", both, model, test)

    _heading("The first twenty birds ask to be forgotten")
    both.forget(train.slice(0, 20), TARGET)
    print(f"{both.tally_.n_rows} rows are left")
    never = NaiveBayes(numeric="gaussian", roles=NO_ATTRIBUTE).fit(train.slice(20), TARGET)
    _compare("a fit that never saw them", both, never, test)


def _heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def _narrow_columns(names: Iterable[str]) -> list[str]:
    """Return the names of columns that fit side by side."""
    return [name for name in names if name not in ("bill_depth_mm", "flipper_length_mm", "year")]


def _compare(what: str, a: NaiveBayes, b: NaiveBayes, rows: object) -> None:
    mine, theirs = a.tally_, b.tally_
    same = mine.families == theirs.families and np.array_equal(mine.class_counts, theirs.class_counts)
    apart = float(np.abs(a.predict_proba(rows) - b.predict_proba(rows)).max())
    print(f"compared with {what}:")
    print(f"  counts equal: {same}; largest difference of a probability: {apart:g}")


if __name__ == "__main__":
    main()
