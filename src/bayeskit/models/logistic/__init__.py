"""The logistic twin: the same form as naive Bayes, its weights fitted to the classes."""

from bayeskit.moved import forwarded

__getattr__ = forwarded(__name__)
