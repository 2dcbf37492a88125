"""`choose` beside `best` on every set of BAYESKIT_DATA/tabular: accuracy, log loss and CPU seconds by turns.

python benchmarks/choosing.py            folds as in quality.py; one thread each; a few minutes
python benchmarks/choosing.py prices     what each model of a choice cost, beside the price that was said beforehand
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
from bayeskit.tolerance import LEAST_PROBABILITY


def scores(model: Any, X: Any, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log loss of a fitted model."""
    p = model.predict_proba(X)
    return float((p.argmax(axis=1) == truth).mean()), float(
        -np.log(np.maximum(p[np.arange(len(truth)), truth], LEAST_PROBABILITY)).mean()
    )


def main(asked: list[str]) -> None:
    """Print a line for each set, and the means."""
    warnings.simplefilter("ignore")
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    rows, chosen, prices = [], Counter(), []
    for name in json.loads((folder / "schemas.json").read_text()):
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
            prices += [(name, c.name, c.price, c.seconds) for c in choice.candidates if c.seconds is not None]
        found = np.array(figures)
        rows.append(
            [
                found[:, 0].mean(),
                found[:, 1].mean(),
                found[:, 2].sum(),
                found[:, 3].mean(),
                found[:, 4].mean(),
                found[:, 5].sum(),
            ]
        )
        print(name, [round(float(v), 4) for v in rows[-1]], flush=True)
    means = np.array(rows)
    print("accuracy: auto", means[:, 0].mean().round(4), "best", means[:, 3].mean().round(4))
    print("log loss: auto", means[:, 1].mean().round(4), "best", means[:, 4].mean().round(4))
    print("CPU seconds: auto", means[:, 2].sum().round(1), "best", means[:, 5].sum().round(1))
    print(
        "ratio of sums",
        (means[:, 2].sum() / means[:, 5].sum()).round(3),
        "mean of ratios",
        (means[:, 2] / means[:, 5]).mean().round(3),
    )
    print("chosen:", dict(chosen))
    if asked == ["prices"]:
        for kind in dict.fromkeys(p[1] for p in prices):
            ratio = np.array([p[2] / p[3] for p in prices if p[1] == kind])
            print(kind, "price / seconds of the trial: quartiles", np.quantile(ratio, [0, 0.25, 0.5, 0.75, 1]).round(2))


if __name__ == "__main__":
    main(sys.argv[1:])
