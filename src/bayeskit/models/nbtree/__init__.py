"""A tree with a naive Bayes in each leaf: the classifier, how it grows, and its rows left out."""

from bayeskit.moved import forwarded

__getattr__ = forwarded(__name__)
