"""Pages of hidden Markov models: posteriors and paths of the browser equal to those of Python."""

from itertools import pairwise

import numpy as np
import pytest

import bayeskit as bk
from tests.report.test_pages import EVIL, TURNED, coded, payload_of

ANSWERS = "([model, all]) => all.map((steps) => bayeskitPage.unroll(model, steps))"
CASES = 200


def umbrella():
    return bk.HiddenMarkovModel.from_tables(
        {"rain": 0.5, "dry": 0.5},
        {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        {"rain": {"umbrella": 0.9, "none": 0.1}, "dry": {"umbrella": 0.2, "none": 0.8}},
    )


def table(n, seed, names):
    """Return rows of some columns, some cells missing, in sequences of one to six steps."""
    rng = np.random.default_rng(seed)
    size = rng.normal(0, 2, n)
    columns = {
        "sky": [("sun", "rain", "snow")[k] for k in rng.integers(0, 3, n)],
        "size": size.tolist(),
        "cost": (size / 2 + rng.normal(3, 1, n)).tolist(),
        "calls": rng.poisson(3, n).astype(float).tolist(),
        "visits": rng.poisson(2, n).astype(float).tolist(),
    }
    for cells in columns.values():
        for i in np.flatnonzero(rng.random(n) < 0.15):
            cells[i] = None
    lengths = rng.integers(1, 7, n)
    lengths = lengths[: np.searchsorted(np.cumsum(lengths), n)]
    return {name: columns[name][: lengths.sum()] for name in names}, lengths, rng.integers(0, 3, lengths.sum())


MODELS = {
    "symbols": (["sky"], {}),
    "numbers": (["size", "cost"], {}),
    "joint normals": (["size", "cost"], {"covariance": "full"}),
    "tied normals of two": (["sky", "size", "cost"], {"covariance": "tied"}),
    "counts": (["calls", "visits"], {"numeric": "poisson"}),
    "shares of counts": (["calls", "visits"], {"numeric": "multinomial"}),
    "every kind": (["sky", "size", "calls"], {"numeric": {"size": "gaussian", "calls": "poisson"}}),
    "minimum stays": (["sky", "size"], {"min_stay": 2}),
    "left to right": (["sky"], {"transitions": "left-to-right", "n_states": 3, "max_rounds": 5}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_browser_gives_the_posteriors_and_paths_of_python(opened, tmp_path, name):
    columns, settings = MODELS[name]
    rows, lengths, states = table(300, 0, columns)
    labels = None if "n_states" in settings else states
    model = bk.HiddenMarkovModel(undecidable="nan", **settings).fit(rows, labels, lengths)
    model.page(tmp_path / "page.html")
    page, _ = opened("page.html")
    payload = payload_of(model.page())
    rows, lengths, _ = table(CASES * 4, 1, columns)
    lengths = lengths[:CASES]
    n = int(lengths.sum())
    assert len(lengths) == CASES
    rows = {column: cells[:n] for column, cells in rows.items()}
    steps, starts = [coded(payload, rows, i) for i in range(n)], np.cumsum([0, *lengths])
    found = page.evaluate(ANSWERS, [payload, [steps[a:b] for a, b in pairwise(starts)]])
    expected = zip(
        found, model.predict_proba(rows, lengths), model.log_likelihood(rows, lengths), model.decode(rows, lengths),
        strict=True,
    )  # fmt: skip
    for trellis, posteriors, log_likelihood, path in expected:
        if not np.isfinite(log_likelihood):
            assert trellis["posteriors"] is None
            continue
        assert trellis["logLikelihood"] == pytest.approx(log_likelihood, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(trellis["posteriors"], posteriors, rtol=0, atol=1e-12)
        assert max(trellis["best"][-1]) == pytest.approx(path.log_joint, rel=1e-12, abs=1e-12)


@pytest.mark.slow
def test_clicks_add_observations_and_a_link_restores_them(opened, tmp_path):
    umbrella().page(tmp_path / "page.html")
    page, asked = opened("page.html")
    for _ in range(2):
        page.get_by_role("button", name="+ umbrella").click()
    bars = page.get_by_role("region", name="Posterior", exact=True).locator(".figure")
    assert bars.all_inner_texts() == ["11.7%", "88.3%"]
    page.reload()
    assert bars.all_inner_texts() == ["11.7%", "88.3%"]
    page.get_by_role("slider", name="Step 2 of 2").press("ArrowLeft")
    assert page.get_by_role("region", name="Filtered").locator(".figure").all_inner_texts() == ["18.2%", "81.8%"]
    worked = page.get_by_role("region", name="Worked step").inner_text()
    assert "(0.5) · 0.9 = 0.45" in worked
    assert asked == []


@pytest.mark.slow
def test_impossible_observations_are_named(opened, tmp_path):
    model = bk.HiddenMarkovModel.from_tables(
        {"a": 1.0, "b": 0.0},
        {"a": {"a": 1.0, "b": 0.0}, "b": {"a": 0.5, "b": 0.5}},
        {"a": {"x": 1.0, "y": 0.0}, "b": {"x": 0.5, "y": 0.5}},
    )
    model.page(tmp_path / "page.html")
    page, _ = opened("page.html#x0=x,y,x")
    assert "Step 2 is impossible" in page.get_by_role("alert").inner_text()
    assert "P(state at step 3 | all steps)" in page.inner_text("main")


@pytest.mark.slow
def test_names_of_states_and_symbols_are_text(opened, tmp_path):
    symbols, states = [EVIL, "a,b%2C", TURNED], [EVIL, TURNED]
    model = bk.HiddenMarkovModel(smoothing=0.5).fit([symbols, symbols[::-1]], [[*states, EVIL], [*states, EVIL]])
    model.page(tmp_path / "page.html")
    page, asked = opened("page.html")
    for symbol in symbols[:2]:
        page.locator(".tools button", has_text=symbol).first.click()
    page.reload()
    bars = page.get_by_role("region", name="Posterior", exact=True).locator(".figure").all_inner_texts()
    assert bars == [f"{100 * p:.1f}%" for p in model.predict_proba([symbols[:2]])[0][1]]
    assert page.title() == "HiddenMarkovModel: bayeskit"
    assert page.locator("main img, main script").count() == 0
    assert "\u202e" not in page.inner_text("main")
    assert asked == []
