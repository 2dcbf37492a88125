"""Fit from files, beside the usual readers; save and load."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TITLE = "Files"
ROWS_CSV, ROWS_PARQUET = 5_000_000, 10_000_000
COLUMNS = 20
NOTE = (
    "CSV: 1 GB, 20 string columns of 2 to 59 values, one of them the class; Parquet: 10,000,000 × 20, strings as "
    "dictionaries. Each side is a process of its own, on one thread (`pa.set_cpu_count(1)`); times are CPU time after "
    "the imports. The model that is saved has 1,000,000 table cells (100 columns × 1,000 values × 10 classes)."
)


def run() -> list[Any]:
    """All lines of the table."""
    from bench import Row

    global NOTE
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        csv, parquet = Path(folder) / "rows.csv", Path(folder) / "rows.parquet"
        _write_csv(csv, ROWS_CSV)
        ours, theirs = _child("fit_ours", csv), _child("fit_csv_theirs", csv)
        peer = "`pandas.read_csv` + `OrdinalEncoder` + `CategoricalNB`"
        size = f"{csv.stat().st_size / 1e9:.2f} GB"
        rows.append(_told(Row(f"fit from a CSV file of {size}", peer, 3, ours["seconds"], theirs["seconds"])))
        peak = f"Peak memory of the CSV fit: {ours['peak']:.0f} MB (bar 500 MB), theirs {theirs['peak']:.0f} MB."
        print(peak)
        csv.unlink()
        _write_parquet(parquet, ROWS_PARQUET)
        pairs = [(_child("fit_ours", parquet), _child("fit_parquet_theirs", parquet)) for _ in range(3)]
        ours, theirs = (min(side, key=lambda found: found["seconds"]) for side in zip(*pairs, strict=True))
        work = "fit from Parquet, 10,000,000 × 20"
        rows.append(_told(Row(work, "pyarrow read + `np.bincount`", 1, ours["seconds"], theirs["seconds"])))
        kept = _child("save_and_load", Path(folder) / "model.bayes")
        rows += [_told(Row(f"{what} a model", "0.1 s", 1, kept[what], 0.1)) for what in ("save", "load")]
    NOTE += f" {peak}"
    return rows


def _told(row: Any) -> Any:
    print(row, flush=True)
    return row


def _child(work: str, path: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, work, str(path)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _column(j: int, n: int, rng: Any) -> Any:
    import pyarrow as pa

    values = pa.array([f"value{j}_{i}" for i in range(2 + 3 * j)])
    return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(values), n, dtype="i4")), values)


def _write_csv(path: Path, n: int) -> None:
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv

    rng, block = np.random.default_rng(0), 200_000
    writer = None
    for _ in range(n // block):
        table = pa.table({f"c{j}": _column(j, block, rng).cast(pa.string()) for j in range(COLUMNS)})
        writer = writer or csv.CSVWriter(str(path), table.schema, write_options=csv.WriteOptions(quoting_style="none"))
        writer.write_table(table)
    writer.close()


def _write_parquet(path: Path, n: int) -> None:
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    parquet.write_table(pa.table({f"c{j}": _column(j, n, rng) for j in range(COLUMNS)}), path)


def fit_ours(path: str) -> dict[str, float]:
    """bayeskit on either file."""
    import bayeskit as bk

    model = bk.NaiveBayes(numeric="gaussian", n_threads=1)
    start = time.process_time()
    model.fit_source(path, "c0")
    return {"seconds": time.process_time() - start}


def fit_csv_theirs(path: str) -> dict[str, float]:
    """pandas and scikit-learn."""
    import pandas as pd
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.preprocessing import OrdinalEncoder

    start = time.process_time()
    frame = pd.read_csv(path)
    labels = frame.pop("c0")
    CategoricalNB().fit(OrdinalEncoder().fit_transform(frame), labels)
    return {"seconds": time.process_time() - start}


def fit_parquet_theirs(path: str) -> dict[str, float]:
    """pyarrow, and counts by NumPy."""
    import numpy as np
    from pyarrow import parquet

    start = time.process_time()
    table = parquet.read_table(path, use_threads=False)
    labels, *columns = (table.column(name).chunks for name in table.column_names)  # all chunks have one dictionary
    for column in columns:
        for part, label in zip(column, labels, strict=True):
            cells = len(part.dictionary) * len(label.dictionary)
            np.bincount(label.indices.to_numpy() * len(part.dictionary) + part.indices.to_numpy(), minlength=cells)
    return {"seconds": time.process_time() - start}


def save_and_load(path: str) -> dict[str, float]:
    """A model of 1,000,000 table cells."""
    import numpy as np

    import bayeskit as bk

    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, (10, 1000)).tolist()
    table = {f"class {c}": {f"value {v:04}": n for v, n in enumerate(row)} for c, row in enumerate(counts)}
    model = bk.NaiveBayes().fit_tally(bk.Tally.from_counts({f"column {j}": table for j in range(100)}))
    best = {"save": 9.0, "load": 9.0}
    for _ in range(5):
        for what, work in (("save", lambda: model.save(path)), ("load", lambda: bk.load(path))):
            start = time.process_time()
            work()
            best[what] = min(best[what], time.process_time() - start)
    return best


if __name__ == "__main__":
    import resource
    import warnings

    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    warnings.simplefilter("ignore")
    found = globals()[sys.argv[1]](sys.argv[2])
    print(json.dumps({**found, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3}))
