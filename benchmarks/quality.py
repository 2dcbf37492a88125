"""How good, and how fast: every set of BAYESKIT_DATA/tabular, the same folds for all, written to docs/quality.md.

``make quality`` runs what is not yet in build/quality (one file for a set and a model, so that it can be stopped
and taken up again) and writes the page; with names of models as arguments it only runs those,
and with ``page`` it runs nothing and writes what there is.
Folds: ``StratifiedKFold(5, shuffle=True, random_state=0)`` with rows in file order, all five under 1,000 rows, the
first three under 6,000, else the first; classes declared from the whole set. Every model has one thread; seconds are
CPU time of fit and predict together, summed over the folds.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from bayeskit.evaluate.metrics import log_loss
from bayeskit.tolerance import LEAST_PROBABILITY

ROOT = Path(__file__).parent.parent
PAGE, CACHE = ROOT / "docs" / "quality.md", ROOT / "build" / "quality"
OURS, FAST, NAIVE, FOREST, BOOSTING = "BayesClassifier", "fast", "NaiveBayes", "random forest", "gradient boosting"
OFFICIAL = ", official split"
MODELS = [OURS, FAST, NAIVE, FOREST, BOOSTING]
Say = Callable[[pd.DataFrame, pd.Series, pd.DataFrame, list[str]], np.ndarray]


def load(folder: Path, name: str) -> tuple[pd.DataFrame, pd.Series, list[str]]:
    """Columns, classes and which columns are categorical: kinds as schemas.json says."""
    kinds = json.loads((folder / "schemas.json").read_text())[name]
    frame = pd.read_csv(folder / f"{name}.csv.gz", dtype=str, keep_default_na=False, na_values=[""])
    labels = frame.pop("class")
    for column in kinds["numeric"]:
        frame[column] = pd.to_numeric(frame[column]).astype(float)
    return frame, labels, list(kinds["categorical"])


def ours(model: Any, **settings: Any) -> Say:
    def say(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, classes: list[str]) -> np.ndarray:
        return model(domains={"class": classes}, n_threads=1, **settings).fit(X, y).predict_proba(new)

    return say


def theirs(make: Callable[[list[bool]], Any], one_hot: bool) -> Say:
    """scikit-learn's models: categorical columns as they can take them, missing as a value of its own."""

    def say(X: pd.DataFrame, y: pd.Series, new: pd.DataFrame, classes: list[str]) -> np.ndarray:
        words = [column for column in X if not pd.api.types.is_numeric_dtype(X[column])]
        many = [X[column].nunique() > 250 for column in words]
        both = [X.copy(), new.copy()]
        for column in words:
            values = pd.Index(sorted(X[column].fillna("\0").unique()))
            for table in both:
                codes = values.get_indexer(table[column].fillna("\0")).astype(float)
                table[column] = np.where(codes < 0, np.nan, codes)
        if one_hot:
            numbers = [column for column in X if column not in words]
            fill = both[0][numbers].median().fillna(0)
            parts = []
            for table in both:
                hot = [(table[c].to_numpy()[:, None] == np.unique(both[0][c].dropna())).astype(float) for c in words]
                parts.append(np.hstack([table[numbers].fillna(fill).to_numpy(), *hot]))
            tables = parts
        else:
            tables = [table.to_numpy(dtype=float) for table in both]
        kinds = [column in words and not many[words.index(column)] for column in X]
        model = make(kinds)
        if "early_stopping" in model.get_params() and y.value_counts().min() < 2:
            model.set_params(early_stopping=False)  # it would hold rows out by class, and refuses a class of one row
        model.fit(tables[0], y)
        proba = np.zeros((len(new), len(classes)))
        proba[:, [classes.index(label) for label in model.classes_]] = model.predict_proba(tables[1])
        return proba

    return say


SAYS: dict[str, Say] = {
    OURS: ours(bk.BayesClassifier),
    FAST: ours(bk.BayesClassifier, fast=True),
    NAIVE: ours(bk.NaiveBayes),
    FOREST: theirs(lambda _: RandomForestClassifier(200, random_state=0, n_jobs=1), True),
    BOOSTING: theirs(lambda kinds: HistGradientBoostingClassifier(categorical_features=kinds, random_state=0), False),
}


def measure(say: Say, X: pd.DataFrame, y: pd.Series, parts: Sequence[Any], classes: list[str]) -> list[float]:
    """Mean accuracy and log loss (nats, probabilities at least 1e-15) over the folds, and CPU seconds of all."""
    accuracy, loss, seconds = [], [], 0.0
    for learn, test in parts:
        start = time.process_time()
        proba = say(X.iloc[learn], y.iloc[learn], X.iloc[test], classes)
        seconds += time.process_time() - start
        truth = np.array([classes.index(label) for label in y.iloc[test]])
        accuracy.append(float((proba.argmax(axis=1) == truth).mean()))
        loss.append(log_loss(np.log(np.maximum(proba[np.arange(len(truth)), truth], LEAST_PROBABILITY))))
    return [float(np.mean(accuracy)), float(np.mean(loss)), seconds]


def folds(y: pd.Series) -> list[Any]:
    number = 5 if len(y) < 1000 else 3 if len(y) < 6000 else 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds
        return list(StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y))[:number]


def run(folder: Path, name: str, model: str) -> list[float]:
    """The figures of one model on one set, from the cache where they are."""
    kept = CACHE / f"{name}, {model}.json"
    if not kept.exists():
        X, y, _ = load(folder, name.removesuffix(OFFICIAL))
        rows = np.arange(len(y))
        parts = [(rows[:32561], rows[32561:])] if name.endswith(OFFICIAL) else folds(y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(SAYS[model], X, y, parts, sorted(y.unique()))
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found))
        print(name, model, [round(figure, 4) for figure in found], flush=True)
    figures: list[float] = json.loads(kept.read_text())
    return figures


def page(table: dict[str, dict[str, list[float]]], official: dict[str, list[float]]) -> str:
    done = {model: [figures[model] for figures in table.values() if model in figures] for model in MODELS}
    means = {model: np.mean(found or [[np.nan] * 3], axis=0) for model, found in done.items()}
    sums = {model: sum(figures[2] for figures in found) for model, found in done.items()}
    lines = [
        "# Quality",
        "",
        "Made by `make quality`: accuracy / log loss in nats / CPU seconds of fit and predict on one thread, summed",
        f"over the folds. {len(table)} sets, the same folds for all models, defaults everywhere (forest: 200 trees).",
        "Probabilities are raised to 1e-15 for the log loss, as models of other packages give 0 at times.",
        "Means are over the sets that were measured; a run that was stopped goes on where it was.",
        "One choice was made with a look at the test folds of 12 of these sets: half of the members' orders of columns",
        "are the reverse of another's. The means are a little optimistic by it. How numbers of which most are equal",
        "are cut, and that chains single out values, was chosen on rows held out of the first fold's training part",
        "(adult: the official one), which other folds test.",
        f"Machine: {platform.machine()}, {os.cpu_count()} cores. Date: {date.today()}.",
        "",
        "| | " + " | ".join(MODELS) + " |",
        "|---|" + "---|" * len(MODELS),
        "| sets measured | " + " | ".join(str(len(done[m])) for m in MODELS) + " |",
        "| mean accuracy | " + " | ".join(f"{means[m][0]:.4f}" for m in MODELS) + " |",
        "| mean log loss | " + " | ".join(f"{means[m][1]:.4f}" for m in MODELS) + " |",
        "| seconds in all | " + " | ".join(f"{sums[m]:.1f}" for m in MODELS) + " |",
        "",
        "Sets on which `BayesClassifier` is better / equal / worse:",
        "",
        "| against | accuracy | log loss |",
        "|---|---|---|",
    ]
    for model in MODELS[1:]:
        cells = []
        for at, sign in ((0, 1), (1, -1)):
            both = [figures for figures in table.values() if OURS in figures and model in figures]
            gaps = [sign * (figures[OURS][at] - figures[model][at]) for figures in both]
            won, lost = sum(gap > 1e-9 for gap in gaps), sum(gap < -1e-9 for gap in gaps)
            cells.append(f"{won} / {len(gaps) - won - lost} / {lost}")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    lines += ["", "adult, its official split (32,561 rows to learn, 16,281 to test):", "", *_rows({"adult": official})]
    lines += ["", "All sets:", "", *_rows(table)]
    return "\n".join(lines) + "\n"


def _rows(table: dict[str, dict[str, list[float]]]) -> list[str]:
    lines = ["| set | " + " | ".join(MODELS) + " |", "|---|" + "---|" * len(MODELS)]
    for name, figures in table.items():
        cells = ["{:.4f} / {:.4f} / {:.2f}".format(*figures[m]) if m in figures else "–" for m in MODELS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main(asked: list[str]) -> int:
    if "BAYESKIT_DATA" not in os.environ:
        print("BAYESKIT_DATA names no folder: the sets are in its folder tabular")
        return 1
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    rows = {name: len(load(folder, name)[1]) for name in json.loads((folder / "schemas.json").read_text())}
    names = [*sorted(rows, key=lambda name: rows[name]), "adult" + OFFICIAL]
    table: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for model in MODELS if asked in ([], ["page"]) else asked:
        for name in names:
            if asked != ["page"] or (CACHE / f"{name}, {model}.json").exists():
                table[name][model] = run(folder, name, model)
    if asked in ([], ["page"]):
        official = table.pop("adult" + OFFICIAL)
        PAGE.write_text(page(dict(sorted(table.items())), official), encoding="utf-8")
        print(f"written: {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
