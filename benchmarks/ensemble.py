"""The kernels of `BayesClassifier` against their NumPy twins."""

from __future__ import annotations

import numpy as np
import pandas as pd
from bench import Row, compare

from bayeskit import kernels
from bayeskit.data.schema import infer
from bayeskit.data.source import open_source
from bayeskit.engines import local
from bayeskit.kernels import twins
from bayeskit.models.ensemble.parameters import coded_sizes, prior_of
from bayeskit.models.ensemble.structure import draw_chains, draw_members
from bayeskit.models.ensemble.training_rows import plan_of, training_rows

TITLE = "The counting ensemble"
NOTE = (
    "4,000 rows × 10 columns, half of them numbers, 3 classes; four members and four chains. "
    "`BayesClassifier` beside gradient boosting and random forests: [quality](quality.md)."
)


def run() -> list[Row]:
    """Every kernel, once compiled and once in NumPy."""
    rng, n = np.random.default_rng(0), 4_000
    y = rng.integers(0, 3, n)
    X = {f"n{i}": rng.normal(size=n) + y * rng.random() for i in range(5)}
    X |= {f"c{i}": (rng.integers(0, 6, n) * (rng.random(n) < 0.7) + y).astype(str) for i in range(5)}
    source = open_source(pd.DataFrame(X), y)
    schema = infer(source.kinds)
    rows = training_rows(local.collect(source, schema, plan_of(schema)))
    members, sizes, prior = draw_members(rows, 4, rng, 1), coded_sizes(rows.codes), prior_of(rows)
    codes, asked = members.codes(rows.columns, rows.codes, 1), np.arange(n, dtype=np.int64)
    of_members = (codes, members.sizes, members.parents, np.arange(10))
    of_rows = (rows.labels, 3, None, asked)
    chains = (rows.columns, sizes, *of_rows)
    drawn = draw_chains(rows, 4, rng)
    factors = kernels.learn_backoff(*of_members, *of_rows, 1)[1]
    learnt = kernels.learn_chains(*chains, *drawn, prior, 1)[2]
    terms, exponents = rng.normal(size=(n, 3, 13)).astype(np.float32), rng.random(13)
    calls = {
        "learn_backoff": (*of_members, *of_rows, 1),
        "score_backoff": (*of_members, 3, factors, 1),
        "learn_chains": (*chains, *drawn, prior, 1),
        "count_chains": (*chains, *learnt[:4], prior, 1),
        "score_chains": (rows.columns, sizes, rows.columns, rows.n, prior, learnt, 1),
        "exponent_loss": (terms, rows.labels, None, exponents, 1),
    }
    return [
        compare(
            f"`{name}`", "its twin in NumPy", 5,
            lambda name=name, args=args: getattr(kernels, name)(*args),
            lambda name=name, args=args: getattr(twins, name)(*args),
            rounds=3,
        )
        for name, args in calls.items()
    ]  # fmt: skip
