"""Calibrated naive Bayes on every set of BAYESKIT_DATA/tabular, and what calibration costs.

python benchmarks/calibration.py           calibration error (top label, 15 bins, pooled over five test folds), log loss
python benchmarks/calibration.py choice    the methods judged inside training parts alone, as the default was chosen
python benchmarks/calibration.py price     leave-one-out calibration beside one predict, by turns
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from quality import load
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from bayeskit.models.wrappers.calibrated import METHODS, HonestScores, honest_scores
from bayeskit.tolerance import LEAST_PROBABILITY


def figures(p: np.ndarray, truth: np.ndarray) -> list[float]:
    """Calibration error, log loss, accuracy."""
    own = np.maximum(p[np.arange(len(truth)), truth], LEAST_PROBABILITY)
    return [bk.calibration_error(p, truth), float(-np.log(own).mean()), float((p.argmax(axis=1) == truth).mean())]


def on_test_folds(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """Model → (sets, figures), pooled over the test folds."""
    found: dict[str, list[list[float]]] = {}
    for name in names:
        X, y, _ = load(folder, name)
        classes = sorted(y.unique())
        truth = np.array([classes.index(label) for label in y])
        naive = bk.NaiveBayes(numeric="gaussian", domains={"class": classes}, n_threads=1)
        models: dict[str, Any] = {"naive": naive} | {method: bk.Calibrated(naive, method) for method in METHODS}
        said = {model: np.zeros((len(y), len(classes))) for model in models}
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
            for label, model in models.items():
                said[label][test] = model.fit(X.iloc[train], y.iloc[train]).predict_proba(X.iloc[test])
        for label, p in said.items():
            found.setdefault(label, []).append(figures(p, truth))
    return {label: np.array(rows) for label, rows in found.items()}


def inside_training(folder: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The same on the first training part alone: curves of one half of its left-out scores, judged on the other."""
    found: dict[str, list[list[float]]] = {}
    for name in names:
        X, y, _ = load(folder, name)
        train, _ = next(iter(StratifiedKFold(5, shuffle=True, random_state=0).split(np.zeros(len(y)), y)))
        rows, labels = X.iloc[train], y.iloc[train]
        naive = bk.NaiveBayes(numeric="gaussian", n_threads=1).fit(rows, labels)
        scores = honest_scores(naive, rows, labels, None, None, 20_000, 0)
        half = np.random.default_rng(0).permutation(len(scores.labels)) % 2 == 0
        for method in METHODS:
            p = np.zeros(scores.scores.shape)
            for part in (half, ~half):
                learned = HonestScores(scores.scores[part], scores.labels[part], None, "")
                curve = bk.Calibrated(method=method)._learn(naive, learned)
                p[~part] = curve.calibrated(scores.scores[~part])
            found.setdefault(method, []).append(figures(p, scores.labels))
    return {label: np.array(rows) for label, rows in found.items()}


def price() -> None:
    """Medians over turns: predict, and what calibration adds to a fit."""
    rng = np.random.default_rng(0)
    for n in (2_000, 20_000, 200_000):
        y = rng.integers(0, 3, n)
        X = {f"n{j}": y * rng.random() + rng.normal(size=n) for j in range(10)}
        X |= {f"c{j}": np.array(list("abcdef"))[(y * (j % 2) + rng.integers(0, 5, n)) % 6] for j in range(10)}
        naive = bk.NaiveBayes(numeric="gaussian", n_threads=1).fit(X, y)
        predicts, added = [], []
        for _ in range(9):
            start = time.process_time()
            naive.predict_proba(X)
            middle = time.process_time()
            rows = honest_scores(naive, X, y, None, None, bk.Calibrated().max_rows, 0)
            bk.Calibrated()._learn(naive, rows)
            predicts.append(middle - start)
            added.append(time.process_time() - middle)
        a, b = float(np.median(predicts)), float(np.median(added))
        print(f"{n:,} × 20, 3 classes: predict {a * 1e3:.1f} ms, calibration {b * 1e3:.1f} ms, {b / a:.2f} ×")


def main(asked: list[str]) -> None:
    """Print what was asked for."""
    warnings.simplefilter("ignore")
    if asked == ["price"]:
        price()
        return
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    names = list(json.loads((folder / "schemas.json").read_text()))
    found = inside_training(folder, names) if asked == ["choice"] else on_test_folds(folder, names)
    first = next(iter(found.values())).mean(axis=0)
    for label, rows in found.items():
        means = rows.mean(axis=0)
        print(f"{label:12} error, log loss, accuracy {means.round(4)}, of the first {(means / first).round(3)}")


if __name__ == "__main__":
    main(sys.argv[1:])
