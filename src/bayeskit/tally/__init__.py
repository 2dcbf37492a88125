"""Tallies: statistics with + and −. The ones that come with the package are known from here on."""

from bayeskit.tally import (
    contexts,
    distinct,
    families,
    joints,
    leaves,
    moments,
    pairs,
    products,
    rows,
    tags,
    transitions,
    words,
)

__all__ = [
    "contexts",
    "distinct",
    "families",
    "joints",
    "leaves",
    "moments",
    "pairs",
    "products",
    "rows",
    "tags",
    "transitions",
    "words",
]
