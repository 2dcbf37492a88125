"""bayeskit: counted data into probabilities and decisions."""

__version__ = "0.1.0"
