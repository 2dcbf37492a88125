"""Define tallies: additive statistics. Importing this package registers the built-in statistics."""

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
