"""Tallies: statistics with + and −. The ones that come with the package are known from here on."""

from bayeskit.tally import (
    contexts,
    counts,
    distinct,
    families,
    joints,
    leaves,
    logarithms,
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
    "counts",
    "distinct",
    "families",
    "joints",
    "leaves",
    "logarithms",
    "moments",
    "pairs",
    "products",
    "rows",
    "tags",
    "transitions",
    "words",
]
