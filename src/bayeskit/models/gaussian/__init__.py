"""Multivariate normal classes, and what they say of each row without it."""

from bayeskit.moved import forwarded

__getattr__ = forwarded(__name__)
