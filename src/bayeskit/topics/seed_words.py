"""Words that a person expects in a topic: it begins as if it had seen them some times before."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.errors import BayesError, BayesWarning


def seed_lists(seed_words: Any, n_topics: int) -> dict[int, list[str]]:
    """Topic → its words, from a mapping or from a list of lists.

    >>> seed_lists([["ball", "goal"], ["vote"]], 3)
    {0: ['ball', 'goal'], 1: ['vote']}
    """
    if seed_words is None:
        return {}
    is_listed = isinstance(seed_words, Sequence) and not isinstance(seed_words, str)
    if not isinstance(seed_words, Mapping) and not is_listed:
        raise BayesError(f"seed_words={seed_words!r}: give topic → words, or a list of lists of words")
    pairs = seed_words.items() if isinstance(seed_words, Mapping) else enumerate(seed_words)
    lists: dict[int, list[str]] = {}
    for topic, words in pairs:
        whole = isinstance(topic, (int, np.integer)) and not isinstance(topic, bool)
        if not whole or not 0 <= topic < n_topics:
            raise BayesError(f"seed_words names topic {topic!r}, and there are 0 to {n_topics - 1}", culprit=topic)
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise BayesError(f"the seed words of topic {topic} are {words!r}: give a list of words", culprit=words)
        lists[int(topic)] = [str(word) for word in words]
    return lists


def seed_table(
    lists: Mapping[int, list[str]], weight: int, known: Mapping[str, int], n_topics: int
) -> npt.NDArray[np.int32] | None:
    """(words, topics): how often each seed word counts as seen in its topic; None where there are none."""
    if not lists:
        return None
    table = np.zeros((len(known), n_topics), np.int32)
    unknown: list[str] = []
    for topic, words in lists.items():
        columns = [known[word] for word in words if word in known]
        if words and not columns:
            first_words = ", ".join(map(repr, words[:3]))
            raise BayesError(f"no document has a seed word of topic {topic} ({first_words})", culprit=words[0])
        unknown += [word for word in words if word not in known]
        table[columns, topic] = weight
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        some = ", ".join(map(repr, unknown[:3]))
        warnings.warn(f"no document has the seed words {some}{more}: they are left out", BayesWarning, stacklevel=4)
    return table
