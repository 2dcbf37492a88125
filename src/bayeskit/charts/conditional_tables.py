"""P(value | class) of a column, or P(node | parents) of a network: bars side by side, or a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.charts.bars import bars, rest_of, strongest
from bayeskit.charts.heat import SIDE, heat
from bayeskit.charts.notebook import offline
from bayeskit.charts.probabilities import most_probable
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import PALETTE, colour, in_title, named_axis, safe, title
from bayeskit.data.probability_table import ProbabilityTable
from bayeskit.errors import BayesError
from bayeskit.explain.phrases import cell
from bayeskit.tolerance import OFF_ONE

MOST = 30  # values that have bars of their own
ROOM = 140  # bars of a chart
FAINT = 0.5  # where no probability is above, the largest is drawn darkest


def conditional_chart(record: ProbabilityTable, kind: str | None = None) -> Any:
    """Bars of each context side by side ("bars"), or a map ("heat"); without a kind, what has room.

    Of a table without contexts, such as that of the classes, bars alone.
    """
    if kind not in (None, "bars", "heat"):
        raise BayesError(f"kind={kind!r}: a table is drawn as 'bars' or as 'heat'")
    shares = record.shares
    if not np.isfinite(shares).any():
        raise BayesError(f"column {record.variable!r} tells nothing of any class: there is nothing to draw")
    if not record.given:
        names, numbers, remark = most_probable([cell(value) for value in record.values], shares[0].tolist())
        head = f"How probable each {in_title(record.variable)} is before any evidence"
        return bars(names, numbers, head, "probability", remark=remark)
    few = len(record.contexts) <= len(PALETTE)
    if kind is None:
        kind = "bars" if few and len(record.contexts) * min(len(record.values), MOST) <= ROOM else "heat"
    head = f"How probable each value of {in_title(record.variable)} is, given {in_title(record.given)}"
    return _bars(record, head) if kind == "bars" else _heat(record, head)


def _drawn_values(record: ProbabilityTable, n: int) -> tuple[list[str], np.ndarray[Any, Any], str]:
    """The values that are drawn, their shares (contexts, values), and what was left out."""
    kept = strongest(np.nanmax(record.shares, axis=0).tolist(), n)
    names, shares = [cell(record.values[i]) for i in kept], record.shares[:, kept]
    if len(kept) < len(record.values):
        totals = record.shares.sum(axis=1)
        drawn = f"the {len(kept)} most probable of {len(record.values):,} values"
        if np.nanmax(totals) > 1 + OFF_ONE:  # each has a coin of its own
            return names, shares, drawn
        return names, shares, f"{drawn}; {rest_of(float(np.nanmax(totals - shares.sum(axis=1))))}"
    return names, shares, ""


def _bars(record: ProbabilityTable, head: str) -> Any:
    alt = altair()
    names, shares, remark = _drawn_values(record, MOST)
    contexts = list(record.contexts)
    if len(contexts) > len(PALETTE):
        remark = f"the first {len(PALETTE)} of {len(contexts):,} contexts; {remark}".rstrip("; ")
        contexts = contexts[: len(PALETTE)]
    rows = [
        {"at": j, "class": i, "context": str(contexts[i]), "value": names[j], "P": rounded(float(shares[i, j]))}
        for i in range(len(contexts))
        for j in range(len(names))
        if np.isfinite(shares[i, j])
    ]
    chart = (
        alt.Chart(inline(rows), title=title(head, remark))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            alt.X("P:Q", title="probability", scale=alt.Scale(zero=True)),
            alt.Y(
                "at:O",
                title=safe(record.variable),
                **named_axis(names),
            ),
            alt.YOffset("class:N", scale=alt.Scale(domain=list(range(len(contexts))))),
            colour(contexts, heading=safe(record.given)),
            tooltip=[
                alt.Tooltip("value:N", title=safe(record.variable)),
                alt.Tooltip("context:N", title=safe(record.given)),
                alt.Tooltip("P:Q", title="probability", format=".4f"),
            ],
        )
        .properties(width=380, height=alt.Step(max(7, 18 - 2 * len(contexts)), **{"for": "offset"}))
    )
    return offline(chart)


def _heat(record: ProbabilityTable, head: str) -> Any:
    names, shares, remark = _drawn_values(record, SIDE)
    contexts = list(record.contexts)
    if len(contexts) > SIDE:
        remark = f"the first {SIDE} of {len(contexts):,} contexts; {remark}".rstrip("; ")
        contexts, shares = contexts[:SIDE], shares[:SIDE]
    most = float(np.nanmax(shares))
    shade = np.clip(shares, 0.0, 1.0)
    if most < FAINT:
        shade, remark = shares / (most or 1.0), f"{remark}; darkest: {most:.2g}".lstrip("; ")
    across = {"down_is": record.given, "across_is": record.variable, "figure_is": "probability", "form": ".2f"}
    return heat(contexts, names, shares, head, remark=remark, shade=shade, **across)
