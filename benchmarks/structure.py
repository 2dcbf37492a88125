"""Networks learned from data beside pgmpy and pyAgrum, distances to known networks, and large networks."""

from __future__ import annotations

import logging
import os
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
from bench import Row, compare

import bayeskit as bk

TITLE = "Networks learned from data"
NOTE = (
    "Whole calls on a data frame of categories, BDeu with equivalent sample size 1, at most 3 parents on all sides. "
    "pgmpy: `HillClimbSearch`; pyAgrum: `useGreedyHillClimbing`. All scores are computed by `structure_score`. "
    "Tables of a given structure: `BayesianNetwork.from_data` against pgmpy's `fit`."
)
ROWS = 20_000
SEEDS = range(100, 105)
BARS = {"alarm": 3, "insurance": 10, "child": 0, "hailfinder": 40}  # median distance to the true network
LARGE_ROWS = 10_000
LARGE_SECONDS = 600.0


def run() -> list[Row]:
    """Return the lines of the table; parts whose peer or data is missing are left out."""
    folder = _folder()
    if folder is None:
        return []
    network = bk.read_bif(folder / "alarm.bif")
    data = _sample(network, ROWS, SEEDS[0])
    rows: list[Row] = []
    if find_spec("pgmpy"):
        rows.append(compare(_named("tabu", data), "pgmpy", 150, lambda: _ours(data, "tabu"), lambda: _pgmpy(data), 2))
    if find_spec("pyagrum"):
        for search, bar in (("tabu", 15), ("order", 1)):
            ours = lambda search=search: _ours(data, search)  # noqa: E731
            rows.append(compare(_named(search, data), "pyAgrum", bar, ours, lambda: _pyagrum(data)))
    if find_spec("pgmpy"):
        rows.append(_tables(network))
    return rows


def appendix() -> str:
    """Return tables of scores, distances and large networks."""
    folder = _folder()
    return "" if folder is None else "\n\n".join([_scores(folder), _distances(folder), _large(folder)])


def _folder() -> Path | None:
    folder = Path(os.environ.get("BAYESKIT_DATA", ""), "networks")
    if not folder.is_dir():
        print("BAYESKIT_DATA names no folder with networks: left out")
    return folder if folder.is_dir() else None


def _sample(network: bk.BayesianNetwork, n: int, seed: int) -> pd.DataFrame:
    drawn = network.sample(n, random_state=seed)
    return pd.DataFrame({node: pd.Categorical(drawn[node]) for node in network.nodes})


def _named(search: str, data: pd.DataFrame) -> str:
    return f"`{search}`, {len(data):,} rows of alarm"


def _ours(data: pd.DataFrame, search: str) -> list[tuple[str, str]]:
    return bk.learn_network(data, search=search).edges


def _pgmpy(data: pd.DataFrame) -> list[tuple[str, str]]:
    from pgmpy.estimators import BDeu, HillClimbSearch

    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    score = BDeu(data, equivalent_sample_size=1)
    found = HillClimbSearch(data).estimate(scoring_method=score, max_indegree=3, show_progress=False)
    return list(found.edges())


def _pyagrum(data: pd.DataFrame) -> list[tuple[str, str]]:
    import pyagrum as gum

    learner = gum.BNLearner(data)
    learner.setNumberOfThreads(1)
    learner.setMaxIndegree(3)
    learner.useScoreBDeu()
    learner.useGreedyHillClimbing()
    return [(learner.nameFromId(a), learner.nameFromId(b)) for a, b in learner.learnDAG().arcs()]


def _tables(network: bk.BayesianNetwork) -> Row:
    """Estimate the tables of alarm from a million rows."""
    from pgmpy.models import DiscreteBayesianNetwork

    data = _sample(network, 1_000_000, 0)

    def theirs() -> Any:
        model = DiscreteBayesianNetwork(network.edges)
        model.fit(data)
        return model

    fitted, found = theirs(), bk.BayesianNetwork.from_data(network.edges, data, smoothing=0)
    for node in ("HYPOVOLEMIA", "LVFAILURE"):
        expected = fitted.get_cpds(node)
        for state, p in zip(found.states[node], found.array(node), strict=True):
            np.testing.assert_allclose(p, expected.get_value(**{node: state}), atol=1e-9)
    ours = lambda: bk.BayesianNetwork.from_data(network.edges, data, smoothing=0)  # noqa: E731
    return compare("tables of alarm, 1,000,000 × 37", "pgmpy `fit`", 20, ours, theirs, 2)


def _scores(folder: Path) -> str:
    """Return BDeu minus the true graph's of each search on samples of alarm."""
    network = bk.read_bif(folder / "alarm.bif")
    searches: dict[str, Any] = {s: lambda data, s=s: _ours(data, s) for s in ("hill_climb", "tabu", "order")}
    searches |= {"pgmpy": _pgmpy} if find_spec("pgmpy") else {}
    searches |= {"pyAgrum": _pyagrum} if find_spec("pyagrum") else {}
    gaps: dict[str, list[float]] = {name: [] for name in searches}
    for seed in SEEDS:
        data = _sample(network, ROWS, seed)
        true = bk.structure_score(network.edges, data).score
        for name, search in searches.items():
            gaps[name].append(bk.structure_score(search(data), data).score - true)
    lines = [f"| {name} | {', '.join(f'{gap:+,.0f}' for gap in found)} |" for name, found in gaps.items()]
    head = f"BDeu minus that of the true graph, alarm, {ROWS:,} rows, seeds {SEEDS[0]} to {SEEDS[-1]}:"
    return "\n".join([head, "", "| search | gaps |", "|---|---|", *lines])


def _distances(folder: Path) -> str:
    """Return the distance of the default search's networks to the true ones, and of two variants."""
    variants: dict[str, dict[str, Any]] = {
        "default": {}, "columns reversed": {}, "bic": {"score": "bic"}, "4 parents": {"max_parents": 4},
    }  # fmt: skip
    lines = []
    for name, bar in BARS.items():
        network = bk.read_bif(folder / f"{name}.bif")
        found: dict[str, list[int]] = {variant: [] for variant in variants}
        gaps = []
        for seed in SEEDS:
            data = _sample(network, ROWS, seed)
            for variant, settings in variants.items():
                table = data[data.columns[::-1]] if variant == "columns reversed" else data
                learned = bk.learn_network(table, **settings)
                found[variant].append(bk.structural_distance(learned, network))
                if variant == "default":
                    gaps.append(learned.search_.value - bk.structure_score(network.edges, data).score)
        middle = median(found["default"])
        missed = "" if middle <= bar else " (missed)"
        others = " | ".join(str(list(map(int, found[v]))).strip("[]") for v in variants)
        lines.append(f"| {name} | {bar} | {middle}{missed} | {median(gaps):+,.0f} | {others} |")
        print(lines[-1], flush=True)
    head = f"Structural Hamming distance of equivalence classes, `order`, {ROWS:,} rows, five samples each:"
    columns = " | ".join(["network", "bar", "median", "median gap of BDeu", *variants])
    return "\n".join([head, "", f"| {columns} |", "|" + "---|" * (4 + len(variants)), *lines])


def _large(folder: Path) -> str:
    """Return time and score on networks of hundreds of nodes."""
    lines = []
    for name in ("andes", "pigs", "generated"):
        network = generated_network(600) if name == "generated" else bk.read_bif(folder / f"{name}.bif")
        data = _sample(network, LARGE_ROWS, 0)
        true = bk.structure_score(network.edges, data).score
        for most in (3, 5):
            start = time.process_time()
            learned = bk.learn_network(data, max_parents=most)
            seconds = time.process_time() - start
            missed = "" if seconds < LARGE_SECONDS else " (missed)"
            distance = bk.structural_distance(learned, network)
            scores = f"{learned.search_.value:,.0f} | {true:,.0f}"
            lines.append(
                f"| {name} | {len(network.nodes)} | {most} | {seconds:.1f} s{missed} | {scores} | {distance} |"
            )
            print(lines[-1], flush=True)
    head = f"Large networks, `order`, {LARGE_ROWS:,} rows (bar: {LARGE_SECONDS / 60:g} minutes):"
    columns = "| network | nodes | max_parents | CPU | BDeu found | BDeu of the true graph | distance |"
    return "\n".join([head, "", columns, "|---|---|---|---|---|---|---|", *lines])


def generated_network(n: int, seed: int = 0) -> bk.BayesianNetwork:
    """Return a network of 2 to 4 states and up to 3 parents per node, with random tables."""
    rng = np.random.default_rng(seed)
    states = {f"v{i}": [f"s{j}" for j in range(rng.integers(2, 5))] for i in range(n)}
    names = list(states)
    edges: list[tuple[str, str]] = []
    tables = {}
    for i, node in enumerate(names):
        near = np.arange(max(0, i - 30), i)
        parents = [names[p] for p in sorted(rng.choice(near, min(len(near), rng.integers(0, 4)), replace=False))]
        edges += [(parent, node) for parent in parents]
        shape = [len(states[parent]) for parent in parents]
        tables[node] = rng.dirichlet(np.full(len(states[node]), 0.5), size=shape or None)
    return bk.BayesianNetwork(edges, tables, states)
