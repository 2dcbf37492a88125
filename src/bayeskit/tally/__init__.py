"""Define tallies: additive statistics. Importing this package registers the built-in statistics."""

from bayeskit.tally import coded_trees, counts, distinct, moments, rows, sample, tags, transitions, words  # noqa: F401
