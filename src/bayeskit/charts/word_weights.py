"""Words by class: those that say most for each, as bars with the words beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayeskit.charts.notebook import offline
from bayeskit.charts.spec import altair, inline, rounded
from bayeskit.charts.style import cut, lookup, name_of, title
from bayeskit.errors import BayesError

CLASSES = 12
WORDS = 12
ACROSS = 4  # classes beside each other
BAR = "#a9c6de"  # light, so that words can be read upon it


def words_chart(record: Any) -> Any:
    """The words of each class with the most evidence for it, from a table with class, word and evidence."""
    labels, words, numbers = (record[name] for name in (record.column_names[0], "word", "evidence"))
    groups: dict[Any, list[tuple[str, float]]] = {}
    for label, word, number in zip(labels, words, numbers, strict=True):
        groups.setdefault(label, []).append((str(word), float(number)))
    return grouped_words(groups, f"The words that say most for each {record.column_names[0]}", "evidence (nats)")


def grouped_words(groups: dict[Any, list[tuple[str, float]]], head: str, axis: str, remark: str = "") -> Any:
    """Bars of words for each group, the strongest first: classes by their words, topics by theirs."""
    alt = altair()
    kept = list(groups)[:CLASSES]
    if not any(groups[label] for label in kept):
        raise BayesError(f"{head}: there is nothing to draw")
    rows = [
        {"class": i, "rank": rank, "word": word, "short": cut(word, 20), "number": rounded(number)}
        for i, label in enumerate(kept)
        for rank, (word, number) in enumerate(_first(groups[label]))
    ]
    most = max((len(groups[label][:WORDS]) for label in kept), default=1)
    y = alt.Y("rank:O", axis=None, scale=alt.Scale(domain=list(range(most))))
    x = alt.X("number:Q", title=axis, axis=alt.Axis(tickCount=3, labelFlush=True))
    base = alt.Chart(inline(rows)).transform_calculate(label=name_of(kept))
    tip = [alt.Tooltip("label:N", title="of"), "word:N", alt.Tooltip("number:Q", title=axis)]
    bars = base.mark_bar(color=BAR, height={"band": 0.8}).encode(x, y, tooltip=tip)
    texts = base.mark_text(align="left", dx=4, fontSize=11, color="#16181a").encode(
        y, alt.X(datum=0), alt.Text("short:N"), tooltip=tip
    )
    across = min(ACROSS, len(kept))
    header = alt.Header(labelExpr=lookup(kept, 24), labelAnchor="start", title=None)
    faceted = (
        alt.layer(bars, texts)
        .properties(width=150, height=alt.Step(17))
        .facet(facet=alt.Facet("class:N", title=None, header=header), columns=across)
    )
    more = len(groups) - len(kept)
    told = f"{remark}; the first {len(kept)} of {len(groups):,}".lstrip("; ") if more else remark
    return offline(faceted.properties(title=title(head, told)))


def _first(words: Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    return words[:WORDS]
