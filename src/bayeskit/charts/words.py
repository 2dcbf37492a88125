"""Word weights and topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.marks import SIDE, Line, LineChart, bars, heat
from bayeskit.charts.style import alt, cut, inline, lookup, name_of, offline, round_to, title
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.topics.measures import DocumentTopics, TopicChoice, TopicTable


CLASSES = 12
WORDS = 12
ACROSS = 4  # classes beside each other
BAR = "#a9c6de"  # light, so that words can be read upon it


def words_chart(record: Any) -> Any:
    """Draw the words of each class with the most evidence, from a table with class, word and evidence."""
    labels, words, numbers = (record[name] for name in (record.column_names[0], "word", "evidence"))
    groups: dict[Any, list[tuple[str, float]]] = {}
    for label, word, number in zip(labels, words, numbers, strict=True):
        groups.setdefault(label, []).append((str(word), float(number)))
    return grouped_words(groups, f"Words with the most evidence by {record.column_names[0]}", "evidence (nats)")


def grouped_words(groups: dict[Any, list[tuple[str, float]]], head: str, axis: str, remark: str = "") -> Any:
    """Draw bars of words for each group, strongest first."""
    kept = list(groups)[:CLASSES]
    if not any(groups[label] for label in kept):
        raise BayesError(f"{head}: there is nothing to draw")
    rows = [
        {"class": i, "rank": rank, "word": word, "short": cut(word, 20), "number": round_to(number)}
        for i, label in enumerate(kept)
        for rank, (word, number) in enumerate(groups[label][:WORDS])
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


def topics_chart(record: TopicTable, kind: str = "words") -> Any:
    """Draw the topics of a model: their words, or their shares."""
    if kind not in ("words", "shares"):
        raise BayesError(f"kind={kind!r}: topics are drawn by their 'words' or their 'shares'")
    names = [f"topic {k}" for k in record.topics]
    if kind == "shares":
        return topic_shares_chart(names, list(record.shares))
    words = {name: [(w.word, w.probability) for w in own] for name, own in zip(names, record.words, strict=True)}
    return topic_words_chart(words, list(record.shares))


def document_chart(record: DocumentTopics) -> Any:
    """Draw the topic shares of a document, with the words of each topic."""
    if not record.topics:
        raise BayesError("no topic has a share of the document: there is nothing to draw")
    return bars(
        [f"topic {one.topic}: {', '.join(w.word for w in one.words[:3]) or 'no word'}" for one in record.topics[:SIDE]],
        [one.share for one in record.topics[:SIDE]],
        f"Topics of a document ({record.n_words:,} known words)",
        "share of the words",
        tips={"words": [", ".join(w.word for w in one.words) for one in record.topics[:SIDE]]},
    )


def topic_choice_chart(record: TopicChoice) -> Any:
    """Draw held-out perplexity by number of topics."""
    numbers = np.array(record.table["n_topics"], dtype=np.float64)
    order = np.argsort(numbers, kind="stable")
    losses = np.array(record.table["perplexity"], dtype=np.float64)
    return LineChart(
        f"Held-out perplexity by number of topics (best: {record.n_topics})",
        "topics",
        "perplexity",
        lines=[Line("perplexity", numbers[order], losses[order])],
        points=True,
    ).chart()


DOCUMENTS = 24  # of a map


def topic_words_chart(words: Mapping[Any, Sequence[tuple[str, float]]], shares: Sequence[float] | None = None) -> Any:
    """Draw the most probable words of each topic, largest topics first."""
    remark, named = "", {str(name): list(own) for name, own in words.items()}
    if shares is not None:
        order = sorted(zip(shares, words, strict=True), key=lambda topic: -topic[0])
        named = {f"{name} ({share:.0%})": list(words[name]) for share, name in order}
        remark = "beside a name: the topic's share"
    return grouped_words(named, "Words by topic", "probability in the topic", remark)


def topic_shares_chart(topics: Sequence[object], shares: Any, documents: Sequence[object] | None = None) -> Any:
    """Draw the share of each topic as bars, or shares (n_documents, n_topics) as a heat map."""
    s = np.asarray(shares, dtype=np.float64)
    if s.shape[-1] != len(topics) or s.ndim not in (1, 2) or not s.size:
        raise BayesError(f"one share for each topic: {s.shape} does not fit {len(topics)} topics")
    if s.ndim == 1:
        order = np.argsort(-s, kind="stable")[:SIDE].tolist()
        more = len(topics) - len(order)
        remark = f"{more:,} smaller topics are not drawn" if more else ""
        names = [topics[i] for i in order]
        return bars(names, s[order].tolist(), "Topic shares", "share of the words", remark=remark)
    names = [str(i) for i in range(len(s))] if documents is None else [str(name) for name in documents]
    columns = np.sort(np.argsort(-s.sum(axis=0), kind="stable")[:SIDE])
    rows = np.arange(len(s))
    remark = ""
    if len(s) > DOCUMENTS:  # the documents that a topic has most of, topic by topic
        rows = np.argsort(-s.max(axis=1), kind="stable")[:DOCUMENTS]
        rows = rows[np.lexsort((-s[rows].max(axis=1), s[rows].argmax(axis=1)))]
        remark = f"the {DOCUMENTS} documents of {len(s):,} that are most of one topic"
    heading = {"down_is": "document", "across_is": "topic", "figure_is": "share", "form": ".2f"}
    picked = s[np.ix_(rows, columns)]
    return heat([names[i] for i in rows], [topics[i] for i in columns], picked, "Topics by document",
                remark=remark, shade=np.clip(picked, 0, 1), **heading)  # fmt: skip
