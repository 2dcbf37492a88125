"""Calibration: what was said beside what was seen, and how many rows stand behind each point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.bars import bars
from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import FAINT, INK, title

if TYPE_CHECKING:
    from bayeskit.evaluate.reliability import BrierParts, Reliability


def reliability_chart(record: Reliability) -> Any:
    """Said against seen in each bin, with what chance would do; below it the rows of the bins."""
    alt = altair()
    rows = [
        {
            "said": rounded(record.said[i]), "seen": rounded(record.seen[i]), "rows": rounded(float(record.rows[i]), 6),
            "low": rounded(max(record.said[i] - 2 * record.spread[i], 0.0)), "from": rounded(record.low[i]),
            "high": rounded(min(record.said[i] + 2 * record.spread[i], 1.0)), "to": rounded(record.high[i]), "zero": 0,
        }
        for i in range(len(record.rows))
    ]  # fmt: skip
    unit = alt.Scale(domain=[0, 1], nice=False)
    x, y = alt.X("said:Q", title=None, scale=unit), alt.Y("seen:Q", title="share that came true", scale=unit)
    tip = [
        alt.Tooltip("said:Q", title="said, on average"),
        alt.Tooltip("seen:Q", title="came true"),
        alt.Tooltip("rows:Q", title="rows", format=",.6~g"),
    ]
    base = alt.Chart(inline(rows))
    ideal = alt.Chart(inline([{"said": 0, "seen": 0}, {"said": 1, "seen": 1}]))
    most = float(np.max(record.rows))
    size = alt.Size("rows:Q", legend=None, scale=alt.Scale(domain=[0, most], range=[20, 160]))
    upper = alt.layer(
        ideal.mark_line(color=FAINT, strokeDash=[3, 4]).encode(x, y),
        base.mark_rule(color=FAINT, strokeWidth=5, opacity=0.35).encode(x, alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_line(color=INK, strokeWidth=2).encode(x, y),
        base.mark_point(filled=True, color=INK, opacity=1).encode(x, y, size, tooltip=tip),
    ).properties(width=300, height=300, title=title(*_heads(record)))
    lower = (
        base.mark_rect(color=INK, opacity=0.55, stroke="white")
        .encode(
            alt.X("from:Q", title="probability that was said", scale=unit),
            alt.Y("rows:Q", title="rows", axis=alt.Axis(tickCount=3, format="~s")),
            alt.X2("to:Q"),
            alt.Y2("zero:Q"),
            tooltip=tip,
        )
        .properties(width=300, height=60)
    )
    return offline(alt.vconcat(upper, lower, spacing=8))


def brier_chart(record: BrierParts) -> Any:
    """What the Brier score is made of: reliability and uncertainty add to it, resolution takes away."""
    parts = {
        "reliability": record.reliability,
        "resolution": -record.resolution,
        "uncertainty": record.uncertainty,
        "within bins": record.within,
        "Brier score": record.brier,
    }
    return bars(
        list(parts),
        list(parts.values()),
        f"What the Brier score of {record.brier:.3f} is made of",
        "part of the Brier score",
        form="+.4f",
        remark="reliability: how far off what is said is; resolution: what the model tells of the classes",
    )


def _heads(record: Reliability) -> tuple[str, str]:
    """Whether the probabilities can be trusted, and of what they are."""
    of = "of the chosen class" if record.of is None else f"of {record.of}"
    verdict = "are as good as they say" if record.is_trusted else "are not to be trusted"
    error = f"calibration error {record.error:.3f}, by chance {record.by_chance:.3f}"
    return f"Probabilities {of} {verdict}", f"{error}; bars: where chance would put the dots"
