"""Evidence waterfalls, worked products and nomograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts import style
from bayeskit.charts.marks import LABEL, Waterfall, waterfall
from bayeskit.charts.style import alt, cut, in_title, inline, offline, plain_axis, round_to, safe, shape, title
from bayeskit.errors import BayesError, format_setting
from bayeskit.explain.evidence import Explanation, format_probability
from bayeskit.explain.nomogram import DOT, FAINT, FONT, INK, Nomogram, Tick, lay_out_nomogram
from bayeskit.models.text.explanations import WordsForAndAgainst

if TYPE_CHECKING:
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
        parts = [(f"{c.column} {c.display_value}", c.log_odds) for c in spoken]
        short = {f"{c.column} {c.display_value}": _label(c.column, c.display_value) for c in spoken}
        if record.undecidable:
            head, parts = f"{record.predicted} by the prior alone", []
            remark = f"The row is impossible under every class. {remark}"
        start = ("before any evidence", record.prior_log_odds)
        labels = str(record.predicted), str(record.against)
        return Waterfall(head, remark, *labels, start, parts, record.log_odds, short)
    if not isinstance(record, WordsForAndAgainst):
        raise BayesError(
            f"evidence is drawn from the explanation of one row, not {type(record).__name__}",
            hint="explain rows and draw one of them, such as model.explain(rows)[0]",
        )
    head = f"Evidence of the words of a document for {_quoted(record.label)} against {_quoted(record.other)}"
    never = ", ".join(word for word, _, odds in record.words if not math.isfinite(odds))
    words = [(f"{word} (×{count})" if count > 1 else word, odds) for word, count, odds in record.words]
    if record.undecidable:
        head, words = f"{record.label} by the prior alone", []
    remark = f"ruled out by {never}" if never else ""
    start = ("without words", record.base)
    return Waterfall(head, remark, str(record.label), str(record.other), start, words, record.total)


FACTORS = 40  # steps that are drawn
DECADE = math.log(10.0)


def work_chart(record: Work) -> Any:
    """Draw the log product of each class factor by factor; a ruled-out class ends early."""
    order = np.argsort([-p for p in record.posterior], kind="stable")[: len(style.PALETTE)]
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
    axis = style.named_axis(["prior", *(factor.what for factor in factors)], labelAngle=-40)
    x = alt.X("at:O", title=None, **axis)
    y = alt.Y("y:Q", title="product so far, as a power of ten", scale=alt.Scale(zero=False))
    whole = style.name_of([record.classes[i] for i in order.tolist()])
    base = alt.Chart(inline(rows)).transform_calculate(label=whole)
    hue = style.color(names, heading="posterior")
    lines = base.mark_line(strokeWidth=2.2).encode(x, y, hue, style.dash(len(names)))
    shapes = [shape(names, heading="posterior")] if len(names) > 1 else []
    tip = [
        alt.Tooltip("label:N", title=safe(record.target)),
        alt.Tooltip("factor:N", title="after"),
        alt.Tooltip("y:Q", title="power of ten"),
    ]
    points = base.mark_point(filled=True, size=55, opacity=1).encode(x, y, hue, *shapes, tooltip=tip)
    remark = [f"{len(record.factors) - FACTORS:,} more factors are not drawn"] * (len(record.factors) > FACTORS)
    head = f"Product of P({in_title(record.target)}) and its factors"
    return style.finish_chart([lines, points], alt.Step(46), 260, head, *remark)


CURVE = 200  # steps of a smooth line
WHOLE = 60  # letters of what is said of a tick that is pointed at


def nomogram_chart(record: Nomogram) -> Any:
    """Draw the axes of points of all columns, and the probability by total points."""
    if not isinstance(record, Nomogram):
        raise BayesError(f"rulers are drawn from what nomogram gives, not {type(record).__name__}")
    if not any(axis.most >= 1 for axis in record.axes):
        certain = next((axis.column for axis in record.axes if not all(map(math.isfinite, axis.points))), None)
        if certain is None:
            raise BayesError("no column tells these two classes apart: there is nothing to draw")
        raise BayesError(
            f"there is nothing to draw: column {certain!r} rules out one of the two classes (P = 0), and no other "
            "column distinguishes them",
            hint=f"smooth the estimates, as with {format_setting('smoothing', 1.0)}",
        )
    page = lay_out_nomogram(record)
    x, y = plain_axis(alt.X, "x:Q", 0, page.width), plain_axis(alt.Y, "y:Q", page.height, 0)
    lines = [{key: round(at, 1) for key, at in zip(("x", "y", "x2", "y2"), line, strict=True)} for line in page.lines]
    layers = [alt.Chart(inline(lines)).mark_rule(color=FAINT).encode(x, y, x2="x2:Q", y2="y2:Q")]
    tip = alt.Tooltip(["column:N", "value:N", "points:Q"])
    ticks, rings, dots = (
        alt.Chart(inline([_tick(tick) for tick in some])) for some in (page.ticks, page.rings, page.dots)
    )
    layers += [
        ticks.mark_rule(color=INK, strokeWidth=1.5).encode(x, y, tip, y2="end:Q"),
        rings.mark_point(color=INK, size=40).encode(x, y, tip),
        dots.mark_point(color=DOT, size=65, filled=True, opacity=1).encode(x, y, tip),
    ]
    for anchor, align in (("start", "left"), ("middle", "center"), ("end", "right")):
        for faint in (False, True):
            names = [
                {"x": round(name.x, 1), "y": round(name.y, 1), "text": name.text}
                for name in page.names
                if (name.anchor, name.faint) == (anchor, faint)
            ]
            look = {"align": align, "baseline": "alphabetic", "fontSize": FONT, "color": FAINT if faint else "black"}
            layers.append(alt.Chart(inline(names)).mark_text(**look).encode(x, y, alt.Text("text:N")))
    remark = ""
    if record.row is not None:
        probability = format_probability(record.probability(record.row.total))
        remark = f"The dots are one row: {record.row.total:.1f} points in total, P({record.predicted}) {probability}"
    head = title(f"Nomogram of {in_title(record.predicted)} against {in_title(record.against)}", remark)
    drawn = alt.layer(*layers).properties(width=page.width, height=page.height, title=head)
    return offline(alt.vconcat(drawn, _probability_chart(record)))


def _tick(tick: Tick) -> dict[str, Any]:
    """Return a tick as data, rounded to visible precision."""
    places = {"x": round(tick.x, 1), "y": round(tick.y, 1), "end": round(tick.end, 1)}
    said = {"column": cut(tick.column, WHOLE), "value": cut(tick.value, WHOLE), "points": round(tick.points, 1)}
    return places | said


def _probability_chart(record: Nomogram) -> Any:
    """Draw P(predicted) by total points."""
    own = [record.row.total] if record.row is not None and math.isfinite(record.row.total) else []
    low, high = min([record.totals[0][0], *own]), max([record.totals[-1][0], *own])
    steps = (low + (high - low) * i / CURVE for i in range(CURVE + 1))
    curve = [{"total": round_to(total, 6), "P": round_to(record.probability(total))} for total in steps]
    dots = [{"total": total, "P": p} for total, p in record.totals]
    x = alt.X("total:Q", title="total points", scale=alt.Scale(zero=False))
    y = alt.Y("P:Q", title="probability", scale=alt.Scale(domain=[0, 1]))
    tip = alt.Tooltip(["total:Q", "P:Q"])
    layers = [
        alt.Chart(inline(curve)).mark_line(color=FAINT).encode(x, y),
        alt.Chart(inline(dots)).mark_point(filled=True, color=INK, opacity=1).encode(x, y, tip),
    ]
    if own:
        row = alt.Chart(inline([{"total": own[0], "P": record.probability(own[0])}]))
        layers.append(row.mark_point(filled=True, color=DOT, size=90, opacity=1).encode(x, y, tip))
    head = title(f"P({in_title(record.predicted)}) by total points")
    return alt.layer(*layers).properties(width=660, height=140, title=head)
