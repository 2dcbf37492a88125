"""`compare` beside the fits and predictions of its models alone, by turns: 5,000 rows, 20 columns, five models.

python benchmarks/comparing.py
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd

import bayeskit as bk
from bayeskit.evaluate.cross_validation import stratified_folds
from bayeskit.models.base.estimator import clone

ROWS, COLUMNS, TURNS = 5_000, 20, 7


def table(n_numeric: int, y: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Columns of numbers, then of strings."""
    columns: dict[str, np.ndarray] = {}
    for j in range(COLUMNS):
        if j < n_numeric:
            columns[f"n{j}"] = y * rng.random() + rng.normal(size=ROWS)
        else:
            columns[f"c{j}"] = np.array(list("abcdef"))[(y * rng.integers(0, 2) + rng.integers(0, 5, ROWS)) % 6]
    return pd.DataFrame(columns)


def main() -> None:
    """Print the medians of CPU seconds and their ratio."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS)
    labels = np.array(["u", "v", "w"])[y]
    models = {name: bk.model_named(name) for name in ("naive", "student", "cuts", "tan", "aode")}
    for n_numeric in (COLUMNS // 2, 0):
        X = table(n_numeric, y, rng)
        apart, together = [], []
        for _ in range(TURNS):
            start = time.process_time()
            for train, test in stratified_folds(y, 5, 0):
                part, rest = X.iloc[train], X.iloc[test]
                for model in models.values():
                    clone(model).fit(part, labels[train]).predict_proba(rest)
            middle = time.process_time()
            bk.compare(models, X, labels)
            apart.append(middle - start)
            together.append(time.process_time() - middle)
        a, b = float(np.median(apart)), float(np.median(together))
        ratio = float(np.median(np.array(together) / np.array(apart)))
        print(f"{n_numeric} numbers: fits and predictions {a:.3f} s, compare {b:.3f} s, {ratio:.2f} ×")


if __name__ == "__main__":
    main()
