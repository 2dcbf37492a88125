"""Every kind of emission, with gaps, minimum stays and moves that are forbidden or tied, against all paths."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bayeskit import HiddenMarkovModel

STEPS = 5


def log_densities(model: HiddenMarkovModel, row: np.ndarray) -> np.ndarray:
    """ln P(row | state) by SciPy, from what the model says of itself."""
    (emission,) = model.parameters_.emissions
    there = ~np.isnan(row)
    x, out = row[there], np.zeros(len(model.start_))
    for s in range(len(out)) if there.any() else ():
        if emission.kind == "normals":
            out[s] = stats.norm.logpdf(x, emission.mean[s][there], np.sqrt(emission.variance[s][there])).sum()
        elif emission.kind == "joint normals":
            covariance = emission.covariance[s][np.ix_(there, there)]
            out[s] = stats.multivariate_normal.logpdf(x, emission.mean[s][there], covariance)
        elif emission.kind == "rates":
            out[s] = stats.poisson.logpmf(x, emission.rate[s][there]).sum()
        else:
            p = emission.probabilities[s][there]
            out[s] = stats.multinomial.logpmf(x, int(x.sum()), p / p.sum())
    return out


def all_paths(model: HiddenMarkovModel, logs: np.ndarray, least: list[int]) -> dict[tuple[int, ...], float]:
    """ln P(path, rows) of each path that there can be."""
    with np.errstate(divide="ignore"):
        moves, start = np.log(model.transitions_), np.log(model.start_)
    found = {}
    for path in product(range(3), repeat=len(logs)):
        total, stay = start[path[0]] + logs[0][path[0]], 1
        for t in range(1, len(path)):
            before, now = path[t - 1], path[t]
            free = stay >= least[before]
            total += moves[before, now] if free else 0.0 if before == now else -np.inf
            total += logs[t][now]
            stay = stay + 1 if before == now else 1
        if total > -np.inf:
            found[path] = total
    return found


def shares(paths: dict[tuple[int, ...], float], t: int) -> np.ndarray:
    """P(state at a step) over these paths."""
    weights = np.exp(np.array(list(paths.values())) - max(paths.values()))
    return np.bincount([path[t] for path in paths], weights / weights.sum(), 3)


@pytest.mark.slow
@pytest.mark.parametrize("emission", ["diagonal", "spherical", "full", "tied", "poisson", "multinomial"])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"min_stay": {"a": 3, "c": 2}},
        {"transitions": "left-to-right", "min_stay": 2},
        {"transitions": [[None, 0, None], [None, None, 0], [0.5, None, None]]},
        {"transitions": [["s", "l", "l"], ["l", "s", "l"], ["l", "l", "s"]], "min_stay": 2},
    ],
    ids=["free", "stay", "onward", "forbidden", "tied"],
)
def test_answers_are_sums_and_maxima_over_all_paths(emission: str, rules: dict[str, Any]) -> None:
    rng = np.random.default_rng(len(emission))
    counts = emission in ("poisson", "multinomial")
    rows = [rng.poisson(3, (12, 2)) * 1.0 if counts else rng.normal(size=(12, 2)) for _ in range(6)]
    for part in rows:
        part[rng.random(part.shape) < 0.2] = np.nan
    kind = {"numeric": emission} if counts else {"covariance": emission}
    model = HiddenMarkovModel(states=["a", "b", "c"], n_starts=1, max_rounds=5, **kind, **rules).fit(rows)
    least = model.structure_.stays.least.tolist()
    asked = rows[0][:STEPS]
    logs = np.array([log_densities(model, row) for row in asked])
    paths = all_paths(model, logs, least)
    scores = np.sort(list(paths.values()))[::-1]
    whole = np.logaddexp.reduce(scores)
    np.testing.assert_allclose(model.log_likelihood([asked])[0], whole, rtol=1e-9)
    smoothed = np.array([shares(paths, t) for t in range(STEPS)])
    np.testing.assert_allclose(model.predict_proba([asked])[0], smoothed, atol=1e-9)
    np.testing.assert_allclose(model.time_in_states([asked])[0], smoothed.sum(axis=0), atol=1e-9)
    best = model.best_paths([asked], 6)[0]
    np.testing.assert_allclose([path.log_joint for path in best], scores[:6], rtol=1e-9)
    np.testing.assert_allclose([path.probability for path in best], np.exp(scores[:6] - whole), atol=1e-9)
    assert len({tuple(path.states) for path in best}) == len(best) == min(6, len(scores))
    drawn = model.sample_paths([asked], 1_500, random_state=0)[0]
    told = np.array([[["a", "b", "c"].index(state) for state in path] for path in drawn])
    assert {*map(tuple, told.tolist())} <= {*paths}
    np.testing.assert_allclose([np.bincount(step, minlength=3) / 1_500 for step in told.T], smoothed, atol=0.06)
    now, ahead = model.online(), model.forecast([asked], 3).states[0]
    for t, (row, filtered) in enumerate(zip(asked, model.filter([asked])[0], strict=True)):
        np.testing.assert_allclose(filtered, shares(all_paths(model, logs[: t + 1], least), t), atol=1e-9)
        np.testing.assert_allclose(now.update({"x0": row[0], "x1": row[1]}), filtered, atol=1e-9)
        explained = model.explain([asked], t)
        against = explained.against_probability / explained.probability
        np.testing.assert_allclose(np.exp(-explained.log_odds), against, atol=1e-9)
    for h in range(3):
        further = np.vstack([logs, np.zeros((h + 1, 3))])
        np.testing.assert_allclose(ahead[h], shares(all_paths(model, further, least), STEPS + h), atol=1e-9)
        np.testing.assert_allclose(now.forecast(h + 1), ahead[h], atol=1e-9)
