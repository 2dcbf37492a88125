"""The command `bayes`."""
