"""Questions in words, ``P(event | condition)``: their grammar, when a statement holds, and the answers."""

from bayeskit.moved import forwarded
from bayeskit.network.query.grammar import parse

__all__ = ["parse"]

__getattr__ = forwarded(__name__)
