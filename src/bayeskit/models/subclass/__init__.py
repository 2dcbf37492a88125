"""Classes of several parts each, found by EM."""

from bayeskit.moved import forwarded

__getattr__ = forwarded(__name__)
