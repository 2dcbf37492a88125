"""The words by which a topic is known: by probability, by lift, or by a mean of both.

Formula: relevance = λ ln P(w ∣ k) + (1 − λ) ln (P(w ∣ k) / P(w))  (Sievert and Shirley 2014)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError
from bayeskit.models.base.settings import one_of, whole_number
from bayeskit.topics.topic_beliefs import TopicBeliefs
from bayeskit.typing import Floats, Ints

ORDERS = ("probability", "lift", "relevance")
WEIGHT = 0.6  # what readers of topics found best (Sievert and Shirley 2014)


class TopWord(NamedTuple):
    """A word of a topic: P(word | topic), and how much likelier that is than P(word)."""

    word: str
    probability: float
    lift: float


def word_scores(believed: TopicBeliefs, by: str = "probability", weight: float = WEIGHT) -> Floats:
    """(topics, words): the larger, the more a word stands for the topic; −∞ where the topic never has it.

    >>> believed = TopicBeliefs(np.array([[60, 20], [3, 0], [37, 80]], np.int32), np.ones(2), 0.01)
    >>> [int(word_scores(believed, by)[0].argmax()) for by in ORDERS]
    [0, 1, 0]
    """
    one_of("by", by, ORDERS)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight <= 1:
        raise BayesError(f"weight={weight!r}: λ of the relevance is a number from 0 to 1", culprit=weight)
    log_p = logspace.log(believed.topic_words)
    if by == "probability":
        scores = log_p
    else:
        lift = log_p - logspace.log(word_shares(believed))
        scores = lift if by == "lift" else weight * log_p + (1 - weight) * lift
    return np.asarray(np.where(believed.table.T > 0, scores, -np.inf))


def word_shares(believed: TopicBeliefs) -> Floats:
    """P(word): the mean of P(word | topic) by the tokens of topics."""
    totals = believed.totals + believed.beta * len(believed.table)
    return np.asarray(totals / totals.sum() @ believed.topic_words)


def top_words(believed: TopicBeliefs, n: int, by: str = "probability", weight: float = WEIGHT) -> list[Ints]:
    """The numbers of up to n words that stand for each topic, of those that it has; the first of equals first."""
    whole_number("n", n, 1)
    scores = word_scores(believed, by, weight)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    return [words[np.isfinite(scores[k, words])] for k, words in enumerate(order)]
