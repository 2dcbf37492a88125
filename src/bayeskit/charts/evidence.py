"""The evidence for one row as bars, and a nomogram as rulers."""

from __future__ import annotations

import math
from typing import Any

from bayeskit.charts.spec import altair, inline, literal, title
from bayeskit.errors import BayesError
from bayeskit.explain.evidence import Explanation
from bayeskit.explain.nomogram import Nomogram
from bayeskit.explain.phrases import cell, chance, times
from bayeskit.models.text.words_for_and_against import WordsForAndAgainst

FOR, AGAINST = "#2a6f97", "#c8553d"
APART = 4.0  # points between two names on a ruler
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
    return (
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
    axes = [axis for axis in record.axes if any(p > 1 for p in axis.points if math.isfinite(p))]
    if not axes:
        raise BayesError("no column tells these two classes apart: there is nothing to draw")
    marks = []
    for order, axis in enumerate(axes):
        finite = sorted((p, cell(v)) for v, p in zip(axis.values, axis.points, strict=True) if math.isfinite(p))
        ruler = {"column": axis.column, "order": order}
        marks += [{**ruler, "points": p, "value": names} for p, names in _apart(finite, axis.is_number)]
    data = inline(marks)
    x = alt.X("points:Q", title="points", axis=alt.Axis(orient="top"))
    y = alt.Y("column:N", sort=alt.EncodingSortField("order", op="min"), title=None, axis=alt.Axis(labelLimit=200))
    base = alt.Chart(data).encode(x, y)
    lines = alt.Chart(data).mark_line(color="#999999").encode(x, y, alt.Detail("column:N"))
    ticks = base.mark_tick(thickness=2, size=12, color=FOR).encode(alt.Tooltip(["column:N", "value:N", "points:Q"]))
    names = base.mark_text(dy=-11, fontSize=9).encode(alt.Text("value:N"))
    head = title(f"points for {record.predicted} against {record.against}")
    rulers = (lines + ticks + names).properties(width=620, height=alt.Step(38), title=head)

    totals = [{"total": t, "P": p, "label": f"{p:g}"} for t, p in record.totals]
    below = alt.Chart(inline(totals), title=title(f"P({record.predicted}) by total points")).encode(
        alt.X("total:Q", title="total points", scale=alt.Scale(zero=False))
    )
    whole = below.mark_line(color="#999999").encode(alt.Y("P:Q", title="probability"))
    dots = below.mark_point(filled=True, color=FOR).encode(alt.Y("P:Q"), alt.Tooltip(["total:Q", "P:Q"]))
    return alt.vconcat(rulers, (whole + dots).properties(width=620, height=140))


def _apart(marks: list[tuple[float, str]], is_number: bool) -> list[tuple[float, str]]:
    """Rising marks with room for their names: of numbers some are left out, values too near share a mark."""
    found: list[tuple[float, list[str]]] = []
    for points, name in marks:
        if not found or points - found[-1][0] >= APART:
            found.append((points, [name]))
        elif not is_number:
            found[-1][1].append(name)
    return [(points, ", ".join(names[:3]) + (", …" if len(names) > 3 else "")) for points, names in found]
