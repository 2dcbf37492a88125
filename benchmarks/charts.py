"""Charts of ten million rows: seconds from record to specification, and sizes of specification and page.

``python benchmarks/charts.py [rows]``. Records are made first, by reading the rows; what is timed is ``chart()`` and
the specification, once Altair is loaded, in CPU seconds. The page's size is that of ``save("page.html")`` beyond the
library that every page brings.
"""

import io
import sys
import time

import altair as alt
import numpy as np
import pyarrow as pa

import bayeskit as bk
from bayeskit.charts.style import offline
from bayeskit.evaluate.ranking_curves import lift_curve, precision_recall_curve, roc_curve
from bayeskit.evaluate.reliability import reliability

MANY = 200  # categories


def page(chart) -> int:
    file = io.StringIO()
    chart.save(file, format="html")
    return len(file.getvalue().encode())


def records(n: int):
    """Records of n rows, by name."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    names = [f"a category with a long name, number {i}" for i in range(MANY)]
    words = pa.DictionaryArray.from_arrays(((rng.integers(0, MANY, n) + 3 * y) % MANY).astype(np.int32), names)
    rows = pa.table({"x": rng.normal(size=n) + y, "z": rng.normal(size=n) - 0.5 * y, "word": words})
    model = bk.NaiveBayes(numeric="gaussian", roles={"word": "categorical"}).fit(rows, y)
    scores = model.predict_proba(rows)[:, 1]
    yield "densities", model.densities("x", rows, y)
    yield "regions", model.regions("x", "z", rows, y)
    yield "table of 200 values", model.table("word")
    yield "evidence", model.explain(rows.slice(0, 1))[0]
    yield "nomogram", model.nomogram(1, 0)
    yield "confusion", model.leave_one_out(rows, y)
    yield "ROC", roc_curve(y == 1, scores, of=1)
    yield "precision and recall", precision_recall_curve(y == 1, scores, of=1)
    yield "lift", lift_curve(y == 1, scores, of=1)
    yield "reliability", reliability(scores, y == 1)


def main() -> None:
    n = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    bare = page(offline(alt.Chart(alt.InlineData(values=[])).mark_point()))
    bk.BetaBernoulli().chart().to_dict()  # Altair is loaded
    print(
        f"{n:,} rows\n\n| record | CPU seconds | specification, kB | page beyond the library, kB |\n|---|---|---|---|"
    )
    for name, record in records(n):
        start = time.process_time()
        chart = record.chart()
        spec = len(chart.to_json(indent=None).encode())
        seconds = time.process_time() - start
        print(f"| {name} | {seconds:.2f} | {spec / 1e3:.1f} | {(page(chart) - bare) / 1e3:.1f} |", flush=True)


if __name__ == "__main__":
    main()
