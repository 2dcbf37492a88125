"""Bars of named numbers, a few of many: what tells most, how probable each value is, weights with their sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import AGAINST, FAINT, INK, band, named_axis, safe, title
from bayeskit.errors import BayesError

MOST = 40  # bars of a chart; the rest is one bar, or told


def bars(
    names: Sequence[object],
    numbers: Sequence[float],
    head: str,
    axis: str,
    *,
    remark: str = "",
    of: str | None = None,
    form: str = ".3~g",
    ticks: Sequence[float] | None = None,
    ticks_are: str = "",
    intervals: Sequence[tuple[float, float]] | None = None,
    tips: dict[str, Sequence[Any]] | None = None,
) -> Any:
    """A bar for each name, to the left of zero where its number is negative.

    ``of``: what the names are, at the left; ``ticks`` and ``intervals`` are marked beside the bars; ``tips``: what else
    is said of a bar that is pointed at.
    """
    alt = altair()
    if not any(math.isfinite(number) for number in numbers):
        raise BayesError(f"{head}: there is nothing to draw")
    rows = []
    for at, (name, number) in enumerate(zip(names, numbers, strict=True)):
        row = {"at": at, "name": str(name), "number": rounded(number, 6), "sign": "for" if number >= 0 else "against"}
        row |= {key: column[at] for key, column in (tips or {}).items()}
        rows.append(row | ({"tick": rounded(ticks[at], 6)} if ticks is not None else {}))
    y = alt.Y("at:O", title=None if of is None else safe(of), **named_axis(names))
    axis = safe(axis)
    x = alt.X("number:Q", title=axis, scale=alt.Scale(zero=True))
    colour = alt.Color("sign:N", legend=None, scale=alt.Scale(domain=["for", "against"], range=[INK, AGAINST]))
    tip = [alt.Tooltip("name:N", title="of"), alt.Tooltip("number:Q", title=axis, format=form)]
    tip += [alt.Tooltip(f"{key}:N", title=key) for key in tips or {}]
    base = alt.Chart(inline(rows))
    layers = [base.mark_bar(height={"band": 0.72}).encode(x, y, colour, tooltip=tip)]
    if ticks is not None:
        mark = base.mark_tick(color="#222222", thickness=2, height={"band": 0.9})
        layers.append(mark.encode(alt.X("tick:Q"), y, tooltip=tip))
        remark = f"{remark + '; ' if remark else ''}the tick beside a bar is {ticks_are}"
    figures = base.mark_text(align="left", dx=4, fontSize=10, color="#333333").transform_calculate(
        right="max(datum.number, 0)"
    )
    if intervals is not None:
        ends = [{"at": i, "low": rounded(low), "high": rounded(high)} for i, (low, high) in enumerate(intervals)]
        whisker = alt.Chart(inline(ends)).mark_rule(color="#222222", strokeWidth=1.5)
        layers.append(whisker.encode(alt.X("low:Q"), y, alt.X2("high:Q")))
        remark = f"{remark + '; ' if remark else ''}thin lines: credible intervals"
    if ticks is None and intervals is None:
        layers.append(figures.encode(alt.X("right:Q"), y, alt.Text("number:Q", format=form)))
    if any(number < 0 for number in numbers):
        layers.append(alt.Chart(inline([{"number": 0}])).mark_rule(color=FAINT).encode(alt.X("number:Q")))
    return offline(
        alt.layer(*layers).properties(width=360, height=alt.Step(band(len(rows), most=22)), title=title(head, remark))
    )


def rest_of(share: float) -> str:
    """What is left out of a chart of probabilities.

    >>> rest_of(0.1234)
    'the others have up to 12.3 % together'
    """
    return f"the others have up to {100 * share:.3g} % together"


def strongest(numbers: Sequence[float], n: int = MOST) -> list[int]:
    """Where the n largest stand, in their own order; all of them where there are few more.

    >>> strongest([0.1, 0.5, 0.2, 0.3], 2), strongest([0.1, 0.2, 0.3], 2)
    ([1, 3], [0, 1, 2])
    """
    if len(numbers) <= n + 1:
        return list(range(len(numbers)))
    return sorted(sorted(range(len(numbers)), key=lambda i: -abs(numbers[i]))[:n])
