"""Exact inference beside pyAgrum and pgmpy, and a question of a million rows from a cold start."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from bench import Row, compare

import bayeskit as bk

TITLE = "Networks"
NOTE = (
    "All posteriors given three findings, drawn from the network; the tree is compiled beforehand on both sides. "
    "pyAgrum: `LazyPropagation`, filled from our tables. pgmpy: `VariableElimination`, node by node; all nodes in one "
    "call form their joint table, which takes less time for asia (then the ratio is about 30) and does not fit in "
    "memory for the others. 1,000 rows are taken at once on our side, one after "
    "another on theirs. Posteriors agree to 1e-9. `bayes ask` is a new process each time, everything "
    "it loads included, against two seconds."
)
NETWORKS = ("asia", "alarm", "insurance", "hailfinder")
FINDINGS = 3
ONE = 20


def run() -> list[Row]:
    """All lines of the table; parts whose peer or data is not here are left out."""
    folder = Path(os.environ.get("BAYESKIT_DATA", ""), "networks")
    rows: list[Row] = []
    if not folder.is_dir():
        print("BAYESKIT_DATA names no folder with networks: left out")
    for name in NETWORKS if folder.is_dir() else ():
        n = bk.read_bif(folder / f"{name}.bif")
        drawn = n.sample(1000, random_state=0)
        nodes = np.random.default_rng(0).choice(n.nodes, FINDINGS, replace=False).tolist()
        columns = {node: drawn[node] for node in nodes}
        records = [{node: drawn[node][i] for node in nodes} for i in range(1000)]
        n.posterior(records[0])
        if find_spec("pyagrum"):
            rows += _pyagrum(n, name, records, columns)
        if find_spec("pgmpy"):
            rows.append(_pgmpy(n, name, records, folder / f"{name}.bif"))
    return [*rows, _ask()]


def _pyagrum(n: bk.BayesianNetwork, name: str, records: list[dict[str, Any]], columns: dict[str, Any]) -> list[Row]:
    import pyagrum as gum

    theirs = gum.BayesNet()
    for node in n.nodes:
        theirs.add(gum.LabelizedVariable(node, node, list(n.states[node])))
    for parent, child in n.edges:
        theirs.addArc(parent, child)
    for node in n.nodes:
        table = n.array(node)
        for context in itertools.product(*(range(len(n.states[p])) for p in n.parents[node])):
            theirs.cpt(node)[dict(zip(n.parents[node], context, strict=True))] = table[context].tolist()
    engine = gum.LazyPropagation(theirs)

    def ask(evidence: dict[str, Any]) -> dict[str, Any]:
        engine.setEvidence(evidence)
        engine.makeInference()
        return {node: engine.posterior(node).toarray() for node in n.nodes}

    expected = ask(records[0])
    for node, p in n.posterior(columns).items():
        np.testing.assert_allclose(p[0], expected[node], atol=1e-9)
    one = compare(
        f"{name}: {ONE} single queries",
        "pyAgrum",
        1,
        lambda: [n.posterior(record) for record in records[:ONE]],
        lambda: [ask(record) for record in records[:ONE]],
    )
    many = compare(
        f"{name}: 1,000 rows",
        "pyAgrum",
        20,
        lambda: n.posterior(columns, n_threads=1),
        lambda: [ask(record) for record in records],
        rounds=2,
    )
    return [one, many]


def _pgmpy(n: bk.BayesianNetwork, name: str, records: list[dict[str, Any]], path: Path) -> Row:
    import logging

    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    model = BIFReader(str(path)).get_model()
    for table in model.get_cpds():
        table.normalize()
    engine = VariableElimination(model)
    rest = [node for node in n.nodes if node not in records[0]]

    def ask(evidence: dict[str, Any]) -> dict[str, Any]:
        return {node: engine.query([node], evidence=evidence, show_progress=False) for node in rest}

    found, ours = ask(records[0]), n.posterior(records[0])
    for node in rest:
        values = [found[node].get_value(**{node: state}) for state in n.states[node]]
        np.testing.assert_allclose(list(ours[node].values()), values, atol=1e-9)
    return compare(
        f"{name}: {ONE} single queries",
        "pgmpy",
        50,
        lambda: [n.posterior(record) for record in records[:ONE]],
        lambda: [ask(record) for record in records[:ONE]],
        rounds=2,
    )


def _ask() -> Row:
    """``bayes ask`` on a Parquet file of a million rows and eight columns, everything loaded anew."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    size = 1_000_000
    table = {f"c{j}": np.array([f"value {i}" for i in range(j + 2)])[rng.integers(0, j + 2, size)] for j in range(4)}
    table |= {f"x{j}": rng.normal(size=size) for j in range(4)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "million.parquet")
        pq.write_table(pa.table(table), path)
        question = 'P(c1 = "value 1" | c3 in {"value 2", "value 3"} and x0 > 0.5)'
        best = float("inf")
        for _ in range(3):
            before = os.times()
            command = [sys.executable, "-m", "bayeskit.cli", "ask", str(path), question]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            after = os.times()
            best = min(best, sum(after[2:4]) - sum(before[2:4]))
    row = Row("`bayes ask` on a 1,000,000-row Parquet, cold start", "2 s", 1, best, 2.0)
    print(row, flush=True)
    return row
