"""What each part of BayesClassifier is worth: on training parts alone, for the table in docs/quality.md.

Of every set of BAYESKIT_DATA/tabular, the training part of the first fold of benchmarks/quality.py is divided again,
four fifths to learn and one to judge. ``python benchmarks/quality_parts.py`` measures all forms that are not yet in
build/quality, or those that are named; then ``python benchmarks/quality.py page`` writes them.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from quality import PARTS, folds, load, measure, ours
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from bayeskit.models.ensemble import classifier, fitting, structure
from bayeskit.models.ensemble.trees import Booster, number_of_trees

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # settings, and constants that are changed
    "all": ({}, {}),
    "without forests": ({"n_trees": 0}, {}),
    "without the line": ({}, {"MOST_CLASSES": 0}),
    "without members and chains": ({"fast": True}, {}),
    "without boosting": ({}, {"correct": lambda *_: None}),
    "without the boosted forest": ({}, {"fit_forest": lambda *_: None}),
    "with 16 members and 64 chains": ({"n_members": 16, "n_chains": 64}, {}),
    "with half of the trees": ({}, {"number_of_trees": lambda *size: number_of_trees(*size) // 2}),
    "exponents of columns under penalty 1": ({}, {"COLUMN_PENALTY": 1.0}),
    "as sure of new rows as of rows left out": ({}, {"OUT_OF_BAG_CORRECTION": 1.0}),
}


@contextmanager
def changed(constants: dict[str, Any]) -> Iterator[None]:
    homes = {"COLUMN_PENALTY": structure, "number_of_trees": classifier, "correct": Booster, "fit_forest": Booster}
    before = {name: getattr(homes.get(name, fitting), name) for name in constants}
    for name, value in constants.items():
        setattr(homes.get(name, fitting), name, value)
    yield
    for name, value in before.items():
        setattr(homes.get(name, fitting), name, value)


def main(asked: list[str]) -> int:
    folder = Path(os.environ["BAYESKIT_DATA"]) / "tabular"
    names = list(json.loads((folder / "schemas.json").read_text()))
    worth = json.loads(PARTS.read_text()) if PARTS.exists() else {}
    for form, (settings, constants) in FORMS.items():
        if form in worth or (asked and form not in asked):
            continue
        figures = []
        for name in names:
            X, y, _ = load(folder, name)
            classes, known = sorted(y.unique()), folds(y)[0][0]
            X, y = X.iloc[known], y.iloc[known]
            with warnings.catch_warnings(), changed(constants):
                warnings.simplefilter("ignore")
                part = next(iter(StratifiedKFold(5, shuffle=True, random_state=1).split(X, y)))
                figures.append(measure(ours(bk.BayesClassifier, **settings), X, y, [part], classes))
        accuracy, loss = np.mean(figures, axis=0)[:2]
        worth[form] = [float(accuracy), float(loss), float(np.sum(figures, axis=0)[4])]
        print(form, [round(figure, 4) for figure in worth[form]], flush=True)
        PARTS.parent.mkdir(parents=True, exist_ok=True)
        others = json.loads(PARTS.read_text()) if PARTS.exists() else {}  # of a run beside this one
        both = others | worth
        PARTS.write_text(json.dumps({name: both[name] for name in FORMS if name in both}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
