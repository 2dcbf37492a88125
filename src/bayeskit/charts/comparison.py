"""The comparison of two models over many data sets: a point for each set, above the line where one is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.bars import bars
from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import FAINT, PALETTE, SHAPES, in_title, safe, title
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.evaluate.comparison import Comparison

FEW = 3  # data sets: for a scatter there are more
UNITS = {"log_loss": "log loss (nats)", "brier": "Brier score", "seconds": "CPU time (seconds)"}


def comparison_chart(
    record: Comparison, first: str | None = None, second: str | None = None, measure: str = "accuracy"
) -> Any:
    """Two models over the data sets; of one data set, or of few without names given, bars of all models."""
    scores, higher = record.scores(measure), measure == "accuracy"
    name = UNITS.get(measure, measure)
    if len(record.models) < 2 or (len(record.datasets) < FEW and first is None and second is None):
        means = [float(np.nanmean(scores[:, m])) if np.isfinite(scores[:, m]).any() else math.nan
                 for m in range(len(record.models))]  # fmt: skip
        sets = f"{len(record.datasets)} data sets" if len(record.datasets) > 1 else record.datasets[0]
        head = f"{name[0].upper()}{name[1:]} of {len(record.models)} models on {sets}"
        return bars(record.models, means, head, name, remark=record.method)
    one = first or next(model for model in record.models if model != second)
    other = second or next(model for model in record.models if model != one)
    up, across = (scores[:, record.models.index(model)] for model in (one, other))
    return scatter_chart(record.datasets, across, up, (other, one), name, higher_is_better=higher, remark=record.method)


def scatter_chart(
    names: Sequence[str],
    first: Any,
    second: Any,
    models: tuple[str, str],
    measure: str,
    *,
    higher_is_better: bool = True,
    remark: str = "",
) -> Any:
    """A point for each data set: the measure of one model across and of the other upwards, and where they are equal."""
    alt = altair()
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(known):
        raise BayesError(f"no data set has the {measure} of both models: there is nothing to draw")
    better = np.sign(y - x) * (1 if higher_is_better else -1)
    rows = [
        {"set": str(names[i]), "x": rounded(x[i], 5), "y": rounded(y[i], 5), "wins": int(better[i])}
        for i in known.tolist()
    ]
    low, high = float(min(x[known].min(), y[known].min())), float(max(x[known].max(), y[known].max()))
    room = 0.04 * (high - low) or 0.5
    scale = alt.Scale(domain=[rounded(low - room, 3), rounded(high + room, 3)], nice=False, zero=False)
    across = alt.X("x:Q", title=safe(f"{measure} of {models[0]}"), scale=scale)
    up = alt.Y("y:Q", title=safe(f"{measure} of {models[1]}"), scale=scale)
    domain = [-1, 0, 1]
    hue = alt.Color("wins:N", legend=None, scale=alt.Scale(domain=domain, range=[PALETTE[0], FAINT, PALETTE[2]]))
    form = alt.Shape("wins:N", legend=None, scale=alt.Scale(domain=domain, range=[SHAPES[0], SHAPES[3], SHAPES[2]]))
    tip = [
        alt.Tooltip("set:N", title="data"),
        alt.Tooltip("x:Q", title=safe(models[0])),
        alt.Tooltip("y:Q", title=safe(models[1])),
    ]
    ends = [
        {"x": rounded(low - room, 3), "y": rounded(low - room, 3)},
        {"x": rounded(high + room, 3), "y": rounded(high + room, 3)},
    ]
    equal = alt.Chart(inline(ends)).mark_line(color=FAINT, strokeDash=[3, 4]).encode(across, up)
    points = (
        alt.Chart(inline(rows)).mark_point(filled=True, size=60, opacity=0.9).encode(across, up, hue, form, tooltip=tip)
    )
    wins, losses = int((better[known] > 0).sum()), int((better[known] < 0).sum())
    ties = len(known) - wins - losses
    even = f", {ties} even" if ties else ""
    first, second = (in_title(model) for model in models)
    head = f"{second} is better on {wins} and {first} on {losses} of {len(known)} data sets{even}"
    side = "above" if higher_is_better else "below"
    told = f"{side} the line (triangles): {models[1]} is better"
    return offline(alt.layer(equal, points).properties(width=340, height=340, title=title(head, told, remark)))
