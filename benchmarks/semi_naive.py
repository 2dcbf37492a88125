"""TAN and AODE beside Weka's, and cut points beside scikit-learn's."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from bench import Row, compare
from sklearn.preprocessing import KBinsDiscretizer

import bayeskit as bk

TITLE = "Beyond naive"
NOTE = (
    "TAN and AODE: 1,000,000 rows × 20 categorical columns of 2 to 21 values, 5 classes. Weka 3.6 (`WEKA_JAR`, else "
    "/usr/share/java/weka.jar) is measured in the same run, in its own process, by the CPU time of its thread, on rows "
    "that are in its memory; ours start from a NumPy matrix. Cuts: 1,000,000 × 10 numbers; `KBinsDiscretizer` looks at "
    "200,000 of the rows by default, and at all with `subsample=None`."
)
ROWS, VALUES, CLASSES = 1_000_000, list(range(2, 22)), 5
WEKA = Path(os.environ.get("WEKA_JAR", "/usr/share/java/weka.jar"))


def run() -> list[Row]:
    """All lines of the table."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, ROWS)
    codes = np.column_stack([rng.integers(0, s, ROWS) for s in VALUES]).astype(np.int8)
    return [*_models(codes, y), *_cuts(rng, y)]


def _models(codes: np.ndarray, y: np.ndarray) -> list[Row]:
    weka, rows = _weka(codes, y), []
    for model, bars in ((bk.AODE, (4, 4)), (bk.TAN, (30, 10))):
        if model.__name__ not in weka:
            continue
        ours = model(roles="categorical", n_threads=1)
        for work, bar, call, theirs in zip(
            ("fit", "predict_proba"), bars, (lambda m=ours: m.fit(codes, y), lambda m=ours: m.predict_proba(codes)),
            weka[model.__name__], strict=True,
        ):  # fmt: skip
            rows.append(Row(f"{model.__name__}: {work}", "Weka 3.6", bar, _least(call, 5), theirs))
            print(rows[-1], flush=True)
    return rows


def _weka(codes: np.ndarray, y: np.ndarray) -> dict[str, tuple[float, float]]:
    """Seconds of fit and predict by model; nothing where there is no Weka."""
    if not WEKA.exists():
        print(f"no Weka at {WEKA}: its lines are left out")
        return {}
    with tempfile.NamedTemporaryFile(suffix=".bytes") as file:
        np.column_stack([codes, y]).astype(np.uint8).tofile(file)
        file.flush()
        source = Path(__file__).parent / "weka" / "Timing.java"
        sizes = [str(size) for size in (*VALUES, CLASSES)]
        words = ["java", "-Xmx3g", "-cp", str(WEKA), str(source), file.name, str(ROWS), str(len(VALUES)), *sizes]
        said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    names = {"AODE": "AODE", "BayesNet": "TAN"}
    found = [line.split() for line in said.splitlines() if line.split()[0] in names]
    return {names[name]: (float(fit) * ROWS / 1e6, float(predict) * ROWS / 1e6) for name, fit, predict in found}


def _cuts(rng: np.random.Generator, y: np.ndarray) -> list[Row]:
    numbers = rng.normal(size=(ROWS, 10)) + y[:, None] * 0.1
    rows = []
    for work, ours in (("mdl", bk.Discretizer(n_threads=1)), ("frequency", bk.Discretizer(("frequency", 5)))):
        for peer, theirs in (
            ("`KBinsDiscretizer`, quantile, 200,000 rows", KBinsDiscretizer(strategy="quantile", encode="ordinal")),
            ("the same, `subsample=None`", KBinsDiscretizer(strategy="quantile", encode="ordinal", subsample=None)),
        ):
            call, other = (lambda m=ours: m.fit(numbers, y)), (lambda m=theirs: m.fit(numbers))
            rows.append(compare(f"cuts by {work}: fit", peer, 1, call, other, 3))
    return rows


def _least(call: object, rounds: int) -> float:
    """The least CPU time of some rounds."""
    assert callable(call)
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best
