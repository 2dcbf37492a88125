"""A chart stays small and quick, whatever the number of rows behind it; every record that has a picture draws."""

import importlib
import inspect
import io
import pkgutil
import time

import altair as alt
import numpy as np
import pytest

import bayeskit
import bayeskit as bk
from bayeskit.charts.drawing import PICTURES
from bayeskit.charts.style import offline
from bayeskit.drawable import Drawable


def kinds():
    """Every class of the package that has ``chart``, by its name."""
    found = {}
    for module in pkgutil.walk_packages(bayeskit.__path__, "bayeskit."):
        if module.name.startswith(("bayeskit.cli", "bayeskit.charts", "bayeskit.compat", "bayeskit._core")):
            continue
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(kind, Drawable) and kind is not Drawable and kind.__module__ == module.name:
                found[kind.__name__] = kind
    return found


def test_every_record_with_a_chart_has_its_picture_and_no_picture_is_of_nothing():
    drawable = kinds()
    assert PICTURES.keys() <= drawable.keys()
    for name, kind in drawable.items():
        bases = [base.__name__ for base in kind.__mro__]
        own = "chart" in vars(kind)  # such as a table that draws another record
        assert own or name.startswith("_") or inspect.isabstract(kind) or any(base in PICTURES for base in bases), name
    for where in PICTURES.values():
        module, _, function = where.rpartition(".")
        assert callable(getattr(importlib.import_module(f"bayeskit.charts.{module}"), function)), where


@pytest.mark.slow
def test_charts_of_many_rows_are_as_small_and_quick_as_those_of_few():
    rng = np.random.default_rng(0)
    n = 150_000
    y = rng.integers(0, 3, n)
    rows = {"x": rng.normal(size=n) + y, "z": rng.normal(size=n), "w": (rng.integers(0, 200, n) + y) % 200}
    model = bk.NaiveBayes(roles={"w": "categorical"}).fit(rows, y)
    scores = model.leave_one_out(rows, y)
    regions = bk.decision_regions(model, "x", "z", rows, y, "missing")
    records = [
        model.densities("x", rows, y), regions, model.table("w"), scores, scores.roc(1),
        scores.precision_recall(1), scores.lift(1), scores.reliability(),
    ]  # fmt: skip
    bare = page(offline(alt.Chart(alt.InlineData(values=[])).mark_point()))
    for record in records:
        start = time.process_time()
        chart = record.chart()
        spec = chart.to_json(indent=None)
        assert time.process_time() - start < 10  # a tenth of a second on a quiet machine
        assert len(spec.encode()) < 100_000
        assert page(chart) - bare < 100_000


def page(chart):
    file = io.StringIO()
    chart.save(file, format="html")
    return len(file.getvalue().encode())
