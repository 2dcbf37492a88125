"""Define tallies: additive statistics. Importing this package registers the built-in statistics."""

from bayeskit.tally import distinct, joints, leaves, products, rows, tags, transitions, words  # noqa: F401
