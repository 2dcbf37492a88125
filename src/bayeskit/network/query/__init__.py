"""Questions in words, ``P(event | condition)``: their grammar, when a statement holds, and the answers."""

from bayeskit.network.query.grammar import parse

__all__ = ["parse"]
