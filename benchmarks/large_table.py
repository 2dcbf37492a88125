"""``BayesClassifier`` beside LightGBM at defaults on 10^6 rows × 20 columns: CPU seconds, memory, microseconds a row.

python benchmarks/large_table.py          both, each in a process of its own, one thread
python benchmarks/large_table.py 100000   of so many rows
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd


def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Twelve columns of categories of 4 to 37 values and eight of numbers, two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    columns: dict[str, object] = {}
    for j in range(12):
        k = 4 + 3 * j
        shares = rng.dirichlet(np.ones(k), 2)
        telling = np.where(y == 0, rng.choice(k, n, p=shares[0]), rng.choice(k, n, p=shares[1]))
        codes = np.where(rng.random(n) < 0.8, rng.integers(0, k, n), telling)
        columns[f"c{j}"] = pd.Categorical.from_codes(codes, [f"v{i}" for i in range(k)])
    first = columns["c0"].codes == 1  # type: ignore[attr-defined]
    for j in range(8):
        columns[f"x{j}"] = rng.normal(size=n) + 0.2 * y * (j % 3) + 0.3 * first
    return pd.DataFrame(columns), np.array(["no", "yes"])[y]


def measure(name: str, n: int) -> None:
    X, y = table(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if name == "LightGBM":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_jobs=1, verbose=-1, random_state=0)
    else:
        import bayeskit as bk

        model = bk.BayesClassifier(n_threads=1, random_state=0)
    start = time.process_time()
    model.fit(X, y)
    fitted = time.process_time()
    some = X.iloc[:100_000]
    model.predict_proba(some)
    asked = (time.process_time() - fitted) / len(some)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{name}: {n:,} × 20, fit {fitted - start:.1f} CPU s, predict {1e6 * asked:.1f} µs a row, "
        f"{memory / 1e6:.2f} GB at most, {before / 1e6:.2f} of them before the fit"
    )


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], int(sys.argv[2]))
    else:
        rows = sys.argv[1] if len(sys.argv) == 2 else "1000000"
        for kind in ("BayesClassifier", "LightGBM"):
            subprocess.run([sys.executable, __file__, kind, rows], check=True)
