"""Naive Bayes of mixed tables, and what it says of each row without it."""

from bayeskit.moved import forwarded

__getattr__ = forwarded(__name__)
