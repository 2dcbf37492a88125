"""The product of each class as it grows factor by factor, on a scale of powers of ten."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import PALETTE, cut, dash, in_title, name_of, named_axis, safe, shape, title
from bayeskit.charts.style import colour as colour_of
from bayeskit.errors import BayesError
from bayeskit.explain.phrases import chance

if TYPE_CHECKING:
    from typing import Any

    from bayeskit.explain.work import Work

FACTORS = 40  # steps that are drawn
DECADE = math.log(10.0)


def work_chart(record: Work) -> Any:
    """A line for each class from its prior down, one step a factor; a class that is ruled out ends where it was."""
    alt = altair()
    order = np.argsort([-p for p in record.posterior], kind="stable")[: len(PALETTE)]
    factors = record.factors[:FACTORS]
    rows: list[dict[str, Any]] = []
    for code, i in enumerate(order.tolist()):
        steps = [factor.log_p for factor in record.product(record.classes[i])[: len(factors) + 1]]
        for at, total in enumerate(np.cumsum(steps).tolist()):
            if math.isfinite(total):
                factor = factors[at - 1].what if at else "prior"
                rows.append({"at": at, "y": rounded(total / DECADE, 5), "class": code, "factor": factor})
    if not rows:
        raise BayesError("every product is zero from its first factor: there is nothing to draw")
    names = [f"{cut(record.classes[i])}  {chance(record.posterior[i])}" for i in order.tolist()]
    axis = named_axis(["prior", *(factor.what for factor in factors)], labelAngle=-40)
    x = alt.X("at:O", title=None, **axis)
    y = alt.Y("y:Q", title="product so far, as a power of ten", scale=alt.Scale(zero=False))
    whole = name_of([record.classes[i] for i in order.tolist()])
    base = alt.Chart(inline(rows)).transform_calculate(label=whole)
    hue = colour_of(names, heading="posterior")
    lines = base.mark_line(strokeWidth=2.2).encode(x, y, hue, dash(len(names)))
    shapes = [shape(names, heading="posterior")] if len(names) > 1 else []
    tip = [
        alt.Tooltip("label:N", title=safe(record.target)),
        alt.Tooltip("factor:N", title="after"),
        alt.Tooltip("y:Q", title="power of ten"),
    ]
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x, y, hue, *shapes, tooltip=tip)
    remark = [f"{len(record.factors) - FACTORS:,} more factors are not drawn"] * (len(record.factors) > FACTORS)
    head = f"P({in_title(record.target)}) times one factor after the other"
    return offline(alt.layer(lines, points).properties(width=alt.Step(46), height=260, title=title(head, *remark)))
