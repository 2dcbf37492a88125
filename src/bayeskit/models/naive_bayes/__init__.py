"""Naive Bayes of mixed tables, and what it says of each row without it."""
