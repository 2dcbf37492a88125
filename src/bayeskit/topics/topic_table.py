"""The topics of a model as a table: a line a topic, the largest first, its share of all words and the words for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bayeskit.data.table import Table
from bayeskit.drawable import Drawable, draw
from bayeskit.topics.top_words import TopWord


class TopicTable(Table, Drawable):
    """Topics by number, ``shares`` of all words, and ``words`` of each with their probabilities."""

    def __init__(self, topics: Sequence[int], shares: Sequence[float], words: Sequence[Sequence[TopWord]]) -> None:
        lines = [" ".join(one.word for one in topic_words) for topic_words in words]
        super().__init__({"topic": list(topics), "share": [round(share, 4) for share in shares], "words": lines})
        self.topics, self.shares, self.words = (
            tuple(topics),
            tuple(shares),
            tuple(tuple(topic_words) for topic_words in words),
        )

    def chart(self, kind: Literal["words", "shares"] = "words") -> Any:
        """The words of each topic as bars, or the share that each has."""
        return draw(self, kind=kind)
