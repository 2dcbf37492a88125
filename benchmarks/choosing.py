"""`choose` beside `best` on every set of BAYESKIT_DATA/tabular: accuracy, log loss and CPU seconds by turns.

python benchmarks/choosing.py              folds as in quality.py; one thread each; a few minutes
python benchmarks/choosing.py prices       what each model of a choice cost, beside the price that was said beforehand
python benchmarks/choosing.py threshold    how clear a lead must be, and of how many rows, inside first training parts
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from quality import folds, load

import bayeskit as bk
from bayeskit.evaluate.folds import posterior_over, stratified_folds
from bayeskit.models.choice import FAVOURITE, candidates
from bayeskit.threads import one_blas_thread
from bayeskit.tolerance import LEAST_PROBABILITY

THRESHOLDS = (0.0, 1.0, 2.0, 3.0, 4.0, np.inf)
JURIES = (0, 25, 50, 100, 200)


def scores(model: Any, X: Any, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log loss of a fitted model."""
    p = model.predict_proba(X)
    return float((p.argmax(axis=1) == truth).mean()), float(
        -np.log(np.maximum(p[np.arange(len(truth)), truth], LEAST_PROBABILITY)).mean()
    )


def beside_best(folder: Path, names: list[str], with_prices: bool) -> None:
    """Print a line for each set, and the means."""
    rows, chosen, prices = [], Counter(), []
    for name in names:
        X, y, _ = load(folder, name)
        classes = sorted(y.unique())
        truth = np.array([classes.index(label) for label in y])
        settings = {"domains": {"class": classes}, "n_threads": 1}
        figures = []
        for train, test in folds(y):
            start = time.process_time()
            choice = bk.choose(X.iloc[train], y.iloc[train], seconds=600, **settings)
            auto = scores(choice.model, X.iloc[test], truth[test])
            middle = time.process_time()
            best = bk.BayesClassifier(**settings).fit(X.iloc[train], y.iloc[train])
            of_best = scores(best, X.iloc[test], truth[test])
            end = time.process_time()
            figures.append([*auto, middle - start, *of_best, end - middle])
            chosen[choice.winner] += 1
            prices += [(c.name, c.price, c.seconds) for c in choice.candidates if c.seconds is not None]
        rows.append(np.array(figures).mean(axis=0))
        print(name, rows[-1].round(4).tolist(), flush=True)
    means = np.array(rows)
    print("accuracy: auto", means[:, 0].mean().round(4), "best", means[:, 3].mean().round(4))
    print("log loss: auto", means[:, 1].mean().round(4), "best", means[:, 4].mean().round(4))
    ratios = means[:, 2] / means[:, 5]
    print(
        "CPU: ratio of sums", (means[:, 2].sum() / means[:, 5].sum()).round(3), "mean of ratios", ratios.mean().round(3)
    )
    print("chosen:", dict(chosen))
    for kind in dict.fromkeys(p[0] for p in prices) if with_prices else ():
        ratio = np.array([p[1] / p[2] for p in prices if p[0] == kind])
        print(kind, "price / seconds of the trial: quartiles", np.quantile(ratio, [0, 0.25, 0.5, 0.75, 1]).round(2))


def inside_training(folder: Path, names: list[str]) -> None:
    """Models learn three fifths of the first training part, another judges, and the last says what the choice is
    worth: the mean over the sets and over five ways to deal the fifths out."""
    lost: dict[tuple[float, int], list[float]] = {}
    beaten: Counter[tuple[float, int]] = Counter()
    for name in names:
        X, y, _ = load(folder, name)
        classes = sorted(y.unique())
        truth = np.array([classes.index(label) for label in y])
        train = folds(y)[0][0]
        of_set: dict[tuple[float, int], list[float]] = {}
        parts = [train[test] for _, test in stratified_folds(truth[train], 5)]
        for k in range(5):
            judging, final = parts[k], parts[(k + 1) % 5]
            learnt = np.concatenate([part for i, part in enumerate(parts) if i not in (k, (k + 1) % 5)])
            log_true = {}
            for kind, model in candidates(domains={"class": classes}, n_threads=1).items():
                model.fit(X.iloc[learnt], y.iloc[learnt])
                log_true[kind] = [
                    np.maximum(
                        posterior_over(model, X.iloc[part], tuple(classes))[0][np.arange(len(part)), truth[part]],
                        np.log(LEAST_PROBABILITY),
                    )
                    for part in (judging, final)
                ]
            best = max(log_true, key=lambda kind: log_true[kind][0].mean())
            gain = log_true[best][0] - log_true[FAVOURITE][0]
            error = gain.std() / np.sqrt(len(gain))
            for threshold in THRESHOLDS:
                for jury in JURIES:
                    wins = len(judging) >= jury and gain.mean() > threshold * error and best != FAVOURITE
                    of_set.setdefault((threshold, jury), []).append(-log_true[best if wins else FAVOURITE][1].mean())
                    beaten[threshold, jury] += wins
        for key, losses in of_set.items():
            lost.setdefault(key, []).append(float(np.mean(losses)))
        print(name, flush=True)
    for (threshold, jury), losses in lost.items():
        told = f"{threshold:4} standard errors of {jury:3} rows: log loss {np.mean(losses):.5f}"
        print(f"{told}, beaten {beaten[threshold, jury]}")


def main(asked: list[str]) -> None:
    """What was asked for."""
    warnings.simplefilter("ignore")
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    names = list(json.loads((folder / "schemas.json").read_text()))
    with one_blas_thread():  # CPU seconds of threads that wait are no work
        if asked == ["threshold"]:
            inside_training(folder, names)
        else:
            beside_best(folder, names, asked == ["prices"])


if __name__ == "__main__":
    main(sys.argv[1:])
