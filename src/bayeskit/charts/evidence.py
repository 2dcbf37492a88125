"""Evidence waterfalls and worked products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.marks import LABEL, Waterfall, waterfall
from bayeskit.charts.style import (
    PALETTE,
    altair,
    cut,
    dash,
    in_title,
    inline,
    name_of,
    named_axis,
    offline,
    round_to,
    safe,
    shape,
    title,
)
from bayeskit.charts.style import color as color_of
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import Explanation, format_cell, format_probability
from bayeskit.models.text.explanations import WordsForAndAgainst

if TYPE_CHECKING:
    from typing import Any

    from bayeskit.explain.work import Work


def evidence_chart(record: Explanation | WordsForAndAgainst) -> Any:
    """Draw log odds as a waterfall from the prior to their sum, strongest first.

    Contributions by probability zero have no length; the subtitle names them.
    """
    return waterfall(_steps(record))


def _label(column: str, value: str) -> str:
    """Return a column with its value, shortened to fit beside the axis."""
    name = cut(column, max(LABEL - 1 - len(value), LABEL * 3 // 5))
    return f"{name} {cut(value, LABEL - 1 - len(name))}"


def _quoted(label: object) -> str:
    """Quote a class of several words."""
    return f"“{in_title(label)}”" if " " in str(label) else in_title(label)


def _steps(record: Any) -> Waterfall:
    if isinstance(record, Explanation):
        why = f"Evidence for {_quoted(record.predicted)} against {_quoted(record.against)}"
        head = f"{why} (probability {format_probability(record.probability)})"
        remark = "; ".join(c.sentence for c in record.ruled_out)
        spoken = [c for c in record.by_size if c.state != "unused"]
        parts = [(f"{c.column} {format_cell(c.value)}", c.log_odds) for c in spoken]
        short = {f"{c.column} {format_cell(c.value)}": _label(c.column, format_cell(c.value)) for c in spoken}
        if record.undecidable:
            head, parts = f"{record.predicted} by the prior alone", []
            remark = f"The row is impossible under every class. {remark}"
        start = ("before any evidence", record.prior_log_odds)
        labels = str(record.predicted), str(record.against)
        return Waterfall(head, remark, *labels, start, parts, record.log_odds, short)
    if isinstance(record, WordsForAndAgainst):
        head = f"Evidence of the words of a document for {_quoted(record.label)} against {_quoted(record.other)}"
        never = ", ".join(word for word, _, odds in record.words if not math.isfinite(odds))
        words = [(f"{word} (×{count})" if count > 1 else word, odds) for word, count, odds in record.words]
        if record.undecidable:
            head, words = f"{record.label} by the prior alone", []
        remark = f"ruled out by {never}" if never else ""
        start = ("without words", record.base)
        return Waterfall(head, remark, str(record.label), str(record.other), start, words, record.total)
    if isinstance(record, (tuple, list)):
        raise BayesError("these are explanations of several rows: draw one of them, such as explanations[0]")
    raise BayesError(f"evidence is drawn from what explain gives for a row or a document, not {type(record).__name__}")


FACTORS = 40  # steps that are drawn
DECADE = math.log(10.0)


def work_chart(record: Work) -> Any:
    """Draw the log product of each class factor by factor; a ruled-out class ends early."""
    alt = altair()
    order = np.argsort([-p for p in record.posterior], kind="stable")[: len(PALETTE)]
    factors = record.factors[:FACTORS]
    rows: list[dict[str, Any]] = []
    for code, i in enumerate(order.tolist()):
        steps = [factor.log_p for factor in record.product(record.classes[i])[: len(factors) + 1]]
        for at, total in enumerate(np.cumsum(steps).tolist()):
            if math.isfinite(total):
                factor = factors[at - 1].what if at else "prior"
                rows.append({"at": at, "y": round_to(total / DECADE, 5), "class": code, "factor": factor})
    if not rows:
        raise BayesError("every product is zero from its first factor: there is nothing to draw")
    names = [f"{cut(record.classes[i])}  {format_probability(record.posterior[i])}" for i in order.tolist()]
    axis = named_axis(["prior", *(factor.what for factor in factors)], labelAngle=-40)
    x = alt.X("at:O", title=None, **axis)
    y = alt.Y("y:Q", title="product so far, as a power of ten", scale=alt.Scale(zero=False))
    whole = name_of([record.classes[i] for i in order.tolist()])
    base = alt.Chart(inline(rows)).transform_calculate(label=whole)
    hue = color_of(names, heading="posterior")
    lines = base.mark_line(strokeWidth=2.2).encode(x, y, hue, dash(len(names)))
    shapes = [shape(names, heading="posterior")] if len(names) > 1 else []
    tip = [
        alt.Tooltip("label:N", title=safe(record.target)),
        alt.Tooltip("factor:N", title="after"),
        alt.Tooltip("y:Q", title="power of ten"),
    ]
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x, y, hue, *shapes, tooltip=tip)
    remark = [f"{len(record.factors) - FACTORS:,} more factors are not drawn"] * (len(record.factors) > FACTORS)
    head = f"Product of P({in_title(record.target)}) and its factors"
    return offline(alt.layer(lines, points).properties(width=alt.Step(46), height=260, title=title(head, *remark)))
