"""The evidence for one row as bars, and a nomogram as rulers."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, literal, title
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import Explanation
from bayeskit.explain.nomogram import Nomogram
from bayeskit.explain.phrases import cell, chance, times
from bayeskit.explain.rulers import FAINT, FONT, INK, rulers
from bayeskit.models.text.words_for_and_against import WordsForAndAgainst

FOR, AGAINST = INK, "#c8553d"
CURVE = 200  # steps of a smooth line
WORDS = 20  # of a document that have a bar of their own


def evidence_chart(record: Explanation | WordsForAndAgainst) -> Any:
    """Bars of log odds: the prior, each column or word by its strength, and their sum.

    Contributions by probability zero have no length; the title names them.
    """
    alt = altair()
    head, ruled_out, predicted, against, parts = _parts(record)
    rows = [
        {
            "what": what,
            "order": order,
            "log_odds": odds,
            "speaks": "for" if odds >= 0 else "against",
            "times": f"{times(abs(odds))} times",
        }
        for order, (what, odds) in enumerate(parts)
        if math.isfinite(odds)
    ]
    speaks = f"datum.value == 'for' ? {literal(f'for {predicted}')} : {literal(f'for {against}')}"
    return offline(
        alt.Chart(inline(rows), title=title(head, ruled_out))
        .mark_bar()
        .encode(
            alt.X("log_odds:Q", title="log odds"),
            alt.Y("what:N", sort=alt.SortField("order"), title=None, axis=alt.Axis(labelLimit=260)),
            alt.Color(
                "speaks:N",
                title=None,
                legend=alt.Legend(labelExpr=speaks),
                scale=alt.Scale(domain=["for", "against"], range=[FOR, AGAINST]),
            ),
            alt.Tooltip(["what:N", "times:N", "log_odds:Q"]),
        )
        .properties(width=380)
    )


def _parts(record: Any) -> tuple[str, str, str, str, list[tuple[str, float]]]:
    """(title, what is ruled out, the two classes, bars with their log odds) of the evidence for a row or a document."""
    if isinstance(record, Explanation):
        bars = [("before any evidence", record.prior_log_odds)]
        bars += [(f"{c.column} {cell(c.value)}", c.log_odds) for c in record.by_size if c.state != "unused"]
        head = f"{record.predicted} with probability {chance(record.probability)}"
        never = "; ".join(c.sentence for c in record.ruled_out)
        return head, never, str(record.predicted), str(record.against), [*bars, ("together", record.log_odds)]
    if isinstance(record, WordsForAndAgainst):
        bars = [("(without words)", record.base)]
        bars += [(f"{word} (×{count})" if count > 1 else word, odds) for word, count, odds in record.words[:WORDS]]
        if more := record.words[WORDS:]:
            bars.append((f"(and {len(more):,} more)", sum(odds for _, _, odds in more)))
        head, bars = f"{record.label} against {record.other}", [*bars, ("(together)", record.total)]
        never = ", ".join(word for word, _, odds in record.words if not math.isfinite(odds))
        return head, f"ruled out by {never}" if never else "", str(record.label), str(record.other), bars
    if isinstance(record, (tuple, list)):
        raise BayesError("these are explanations of several rows: draw one of them, such as explanations[0]")
    raise BayesError(f"evidence is drawn from what explain gives for a row or a document, not {type(record).__name__}")


def nomogram_chart(record: Nomogram) -> Any:
    """A ruler of points for each column, and below them the one from the total to the probability."""
    alt = altair()
    if not isinstance(record, Nomogram):
        raise BayesError(f"rulers are drawn from what nomogram gives, not {type(record).__name__}")
    if not any(axis.most >= 1 for axis in record.axes):
        raise BayesError("no column tells these two classes apart: there is nothing to draw")
    page = rulers(record)
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, page.width], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[page.height, 0], nice=False, zero=False))
    lines = [dict(zip(("x", "y", "x2", "y2"), line, strict=True)) for line in page.lines]
    layers = [alt.Chart(inline(lines)).mark_rule(color=FAINT).encode(x, y, x2="x2:Q", y2="y2:Q")]
    tip = alt.Tooltip(["column:N", "value:N", "points:Q"])
    ticks = [asdict(tick) for tick in page.ticks]
    layers.append(alt.Chart(inline(ticks)).mark_rule(color=FOR, strokeWidth=1.5).encode(x, y, tip, y2="end:Q"))
    rings = [asdict(ring) for ring in page.rings]
    layers.append(alt.Chart(inline(rings)).mark_point(color=FOR, size=40).encode(x, y, tip))
    for anchor, align in (("start", "left"), ("middle", "center"), ("end", "right")):
        for faint in (False, True):
            names = [asdict(name) for name in page.names if (name.anchor, name.faint) == (anchor, faint)]
            look = {"align": align, "baseline": "alphabetic", "fontSize": FONT, "color": FAINT if faint else "black"}
            layers.append(alt.Chart(inline(names)).mark_text(**look).encode(x, y, alt.Text("text:N")))
    head = title(f"points for {record.predicted} against {record.against}")
    drawn = alt.layer(*layers).properties(width=page.width, height=page.height, title=head)
    return offline(alt.vconcat(drawn, _probability_chart(record)).configure_view(stroke=None))


def _probability_chart(record: Nomogram) -> Any:
    """P(predicted) by total points: a curve, and the totals of the ruler as dots."""
    alt = altair()
    (low, _), (high, _) = record.totals[0], record.totals[-1]
    steps = (low + (high - low) * i / CURVE for i in range(CURVE + 1))
    curve = [{"total": total, "P": record.probability(total)} for total in steps]
    dots = [{"total": total, "P": p} for total, p in record.totals]
    x = alt.X("total:Q", title="total points", scale=alt.Scale(zero=False))
    y = alt.Y("P:Q", title="probability", scale=alt.Scale(domain=[0, 1]))
    line = alt.Chart(inline(curve), title=title(f"P({record.predicted}) by total points"))
    points = alt.Chart(inline(dots)).mark_point(filled=True, color=FOR, opacity=1)
    both = line.mark_line(color=FAINT).encode(x, y) + points.encode(x, y, alt.Tooltip(["total:Q", "P:Q"]))
    return both.properties(width=660, height=140)
