"""What the floor of variances is worth: naive Bayes as it comes with and without it, for the table of docs/tables.md.

``python benchmarks/variance_floor.py`` runs every set of BAYESKIT_DATA/tabular that has numbers, with the folds of
quality.py, and prints the table; sets where a floor changes anything come first, line by line. ``variance_floor.py
student`` runs one kind of numbers alone.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np
from quality import folds, load, measure, ours

import bayeskit as bk

BEFORE = bk.VarianceFloor(1e-9, of="total")
FLOORS = {"1e-9 of the total": BEFORE, "1 % of the variance within classes": 0.01}


def main() -> int:
    if "BAYESKIT_DATA" not in os.environ:
        print("BAYESKIT_DATA names no folder: the sets are in its folder tabular")
        return 1
    warnings.simplefilter("ignore")
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    kinds = json.loads((folder / "schemas.json").read_text())
    names = [name for name, kind in kinds.items() if kind["numeric"]]
    lines = []
    for numeric in sys.argv[1:] or ("gaussian", "student", "kernel"):
        figures = {}
        for name in names:
            X, y, _ = load(folder, name)
            says = [ours(bk.NaiveBayes, numeric=numeric, variance_floor=floor) for floor in FLOORS.values()]
            figures[name] = np.array([measure(say, X, y, folds(y), sorted(y.unique()))[:2] for say in says])
            before, after = figures[name]
            if not np.allclose(before, after, rtol=1e-6):
                print(numeric, name, *("{:.4f}/{:.4f}".format(*pair) for pair in (before, after)), flush=True)
        both = np.array(list(figures.values()))  # (sets, floors, accuracy and loss)
        rise = both[:, 1] - both[:, 0]
        for i, floor in enumerate(FLOORS):
            accuracy, loss = both[:, i].mean(axis=0)
            better = f"{(rise[:, 0] > 1e-6).sum()} / {(rise[:, 1] < -1e-6).sum()}" if i else ""
            worse = f"{(rise[:, 0] < -1e-6).sum()} / {(rise[:, 1] > 1e-6).sum()}" if i else ""
            lines.append(f'| `"{numeric}"` | {floor} | {accuracy:.4f} | {loss:.4f} | {better} | {worse} |')
    print(f"{len(names)} sets; better and worse by accuracy / by log loss", *lines, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
