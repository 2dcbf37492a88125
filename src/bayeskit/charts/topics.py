"""Topics: bars of their top words, and the shares of topics in documents or over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.bars import bars
from bayeskit.charts.heat import SIDE, heat
from bayeskit.charts.lines import Line, Lines
from bayeskit.charts.word_weights import grouped_words
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.topics.measures import DocumentTopics, TopicChoice, TopicTable


def topics_chart(record: TopicTable, kind: str = "words") -> Any:
    """The topics of a model: their words, or the share of each."""
    if kind not in ("words", "shares"):
        raise BayesError(f"kind={kind!r}: topics are drawn by their 'words' or their 'shares'")
    names = [f"topic {k}" for k in record.topics]
    if kind == "shares":
        return topic_shares_chart(names, list(record.shares))
    words = {name: [(w.word, w.probability) for w in own] for name, own in zip(names, record.words, strict=True)}
    return topic_words_chart(words, list(record.shares))


def document_chart(record: DocumentTopics) -> Any:
    """The shares of a document's topics, with the words that speak for each."""
    if not record.topics:
        raise BayesError("no topic has a share of the document: there is nothing to draw")
    return bars(
        [f"topic {one.topic}: {', '.join(w.word for w in one.words[:3]) or 'no word'}" for one in record.topics[:SIDE]],
        [one.share for one in record.topics[:SIDE]],
        f"The topics of a document of {record.n_words:,} known words",
        "share of the words",
        tips={"words": [", ".join(w.word for w in one.words) for one in record.topics[:SIDE]]},
    )


def topic_choice_chart(record: TopicChoice) -> Any:
    """The perplexity of documents held out, by the number of topics."""
    numbers = np.array(record.table["n_topics"], dtype=np.float64)
    order = np.argsort(numbers, kind="stable")
    losses = np.array(record.table["perplexity"], dtype=np.float64)
    return Lines(
        f"{record.n_topics} topics have the least perplexity on documents held out",
        "topics",
        "perplexity",
        lines=[Line("perplexity", numbers[order], losses[order])],
        points=True,
    ).chart()


DOCUMENTS = 24  # of a map


def topic_words_chart(words: Mapping[Any, Sequence[tuple[str, float]]], shares: Sequence[float] | None = None) -> Any:
    """The words of each topic with their probabilities, the most probable first; the largest topics first."""
    order = list(words)
    if shares is not None:
        by_share = sorted(range(len(order)), key=lambda i: -shares[i])
        named = {f"{order[i]} ({shares[i]:.0%})": list(words[order[i]]) for i in by_share}
    else:
        named = {str(name): list(words[name]) for name in order}
    return grouped_words(
        dict(named),
        "The words of each topic",
        "probability in the topic",
        "beside a name: the topic's share" if shares is not None else "",
    )


def topic_shares_chart(topics: Sequence[object], shares: Any, documents: Sequence[object] | None = None) -> Any:
    """The share of each topic: bars of the whole, or a map of (documents, topics)."""
    s = np.asarray(shares, dtype=np.float64)
    if s.shape[-1] != len(topics) or s.ndim not in (1, 2) or not s.size:
        raise BayesError(f"one share for each topic: {s.shape} does not fit {len(topics)} topics")
    if s.ndim == 1:
        order = np.argsort(-s, kind="stable")[:SIDE].tolist()
        more = len(topics) - len(order)
        remark = f"{more:,} smaller topics are not drawn" if more else ""
        names = [topics[i] for i in order]
        return bars(
            names, s[order].tolist(), "How much of the texts each topic has", "share of the words", remark=remark
        )
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
    return heat([names[i] for i in rows], [topics[i] for i in columns], picked, "The topics of each document",
                remark=remark, shade=np.clip(picked, 0, 1), **heading)  # fmt: skip
