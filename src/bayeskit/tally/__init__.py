"""Tallies: statistics with + and −. The ones that come with the package are known from here on."""

from bayeskit.tally import distinct, families, joints, moments, pairs, products, words

__all__ = ["distinct", "families", "joints", "moments", "pairs", "products", "words"]
