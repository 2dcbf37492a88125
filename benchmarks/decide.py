"""Logistic regression beside scikit-learn, and what exponents do for naive Bayes on 48 tables.

``OMP_NUM_THREADS=1 python benchmarks/decide.py`` measures the second part and writes its table into
docs/logistic.md; it needs the folder ``tabular`` below the environment variable BAYESKIT_DATA.
"""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

import bayeskit as bk
from bayeskit.tolerance import LEAST_PROBABILITY

TITLE = "Logistic regression and exponents"
NOTE = (
    "1,000,000 rows × 20 numbers, two classes, λ = 1, `scale=False`; ours ends at the same loss or lower. Exponents: "
    "the time to fit `DiscriminativeWeights` against that of the `NaiveBayes` underneath, summed over 48 tables and 5 "
    "folds (a ratio of 0.05 would be 20 times the price); the line is there where `BAYESKIT_DATA` is."
)
PAGE = Path(__file__).parent.parent / "docs" / "logistic.md"


def run() -> list:
    """All lines of the table."""
    from bench import Row, compare

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 20))
    w = rng.normal(size=20) / 2
    y = (rng.random(len(X)) < 1 / (1 + np.exp(0.5 - X @ w))).astype(int)
    ours, theirs = bk.LogisticRegression(scale=False, n_threads=1), LogisticRegression(solver="lbfgs")
    rows = [compare("fit", '`LogisticRegression(solver="lbfgs")`', 1, lambda: ours.fit(X, y), lambda: theirs.fit(X, y))]
    ends = [_loss(X, y, m.coef_[0], m.intercept_[0]) for m in (ours, theirs)]
    assert ends[0] <= ends[1] * (1 + 1e-9), ends
    if tables():
        results = measure(tables())
        times = results[["nb seconds", "exponents seconds"]].sum()
        rows.append(Row("exponents, 48 tables", "`NaiveBayes`", 1 / 20, times.iloc[1], times.iloc[0]))
        print(rows[-1])
    return rows


def _loss(X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float) -> float:
    z = X @ w + b
    return float(np.logaddexp(0, np.where(y == 1, -z, z)).sum() + 0.5 * w @ w)


def tables() -> Path | None:
    """The folder of tables, where there is one."""
    folder = Path(os.environ.get("BAYESKIT_DATA", "/nowhere")) / "tabular"
    return folder if folder.exists() else None


def load(folder: Path, name: str, kinds: dict) -> tuple[pd.DataFrame, np.ndarray]:
    """The columns of a table by their kinds, and its classes."""
    table = pd.read_csv(folder / f"{name}.csv.gz", dtype=str, keep_default_na=False)
    frame = pd.DataFrame({c: table[c].where(~table[c].isin(["", "?"])) for c in kinds["categorical"]})
    return (
        frame.assign(**{c: pd.to_numeric(table[c], errors="coerce") for c in kinds["numeric"]}),
        table[table.columns[-1]].to_numpy(),
    )


def measure(folder: Path) -> pd.DataFrame:
    """Log loss, accuracy and seconds of both models on each table, 5-fold; a probability of 0 counts as 1e-15."""
    lines = []
    for name, kinds in json.loads((folder / "schemas.json").read_text()).items():
        X, y = load(folder, name, kinds)
        kind = (
            "mixed" if kinds["categorical"] and kinds["numeric"] else "numeric" if kinds["numeric"] else "categorical"
        )
        line: dict = {"table": name, "kind": kind}
        found: dict = {}
        for learn, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            for key, model in (
                ("nb", bk.NaiveBayes(numeric="gaussian", n_threads=1)),
                ("exponents", bk.DiscriminativeWeights(bk.NaiveBayes(numeric="gaussian", n_threads=1))),
            ):
                start = time.process_time()
                model.fit(X.iloc[learn], y[learn])
                line[f"{key} seconds"] = line.get(f"{key} seconds", 0.0) + time.process_time() - start
                p = model.predict_proba(X.iloc[test])
                own = (p * (y[test][:, None] == model.classes_)).sum(axis=1)
                right = model.predict(X.iloc[test]) == y[test]
                found.setdefault(key, []).append(np.column_stack([-np.log(np.maximum(own, LEAST_PROBABILITY)), right]))
        for key, parts in found.items():
            line[f"{key} log loss"], line[f"{key} accuracy"] = np.concatenate(parts).mean(axis=0)
        lines.append(line)
    return pd.DataFrame(lines)


def summary(results: pd.DataFrame) -> str:
    """The table of the page."""
    head = "| tables | how many | log loss, naive Bayes | with exponents | accuracy, naive Bayes | with exponents | "
    head += "fit, times naive Bayes |"
    lines = [head, "|---|---|---|---|---|---|---|"]
    for kind in ("numeric", "categorical", "mixed", "all"):
        part = results if kind == "all" else results[results.kind == kind]
        mean = part.mean(numeric_only=True)
        ratio = part["exponents seconds"].sum() / part["nb seconds"].sum()
        lines.append(
            f"| {kind} | {len(part)} | {mean['nb log loss']:.3f} | {mean['exponents log loss']:.3f} | "
            f"{mean['nb accuracy']:.3f} | {mean['exponents accuracy']:.3f} | {ratio:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if tables() is None:
        raise SystemExit("BAYESKIT_DATA names no folder with tabular/")
    results = measure(tables())
    ratios = results["exponents seconds"] / results["nb seconds"]
    text = summary(results)
    print(text)
    all_ = results.mean(numeric_only=True)
    print(
        f"log loss falls by {1 - all_['exponents log loss'] / all_['nb log loss']:.1%}; accuracy rises by "
        f"{100 * (all_['exponents accuracy'] - all_['nb accuracy']):.1f} points; fit: median {ratios.median():.1f}, "
        f"largest {ratios.max():.1f} ({results.table[ratios.argmax()]}) times naive Bayes"
    )
    page = PAGE.read_text(encoding="utf-8")
    between = re.compile(r"(?<=<!-- exponents -->\n).*?(?=<!-- end -->)", re.DOTALL)
    made = between.sub(lambda _: text + "\n", page)
    PAGE.write_text(made, encoding="utf-8")
