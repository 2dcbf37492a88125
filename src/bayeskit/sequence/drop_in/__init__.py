"""CategoricalHMM and GaussianHMM for who comes from hmmlearn: its settings, attributes and results on our kernels."""

from bayeskit.sequence.drop_in.categorical_hmm import CategoricalHMM
from bayeskit.sequence.drop_in.gaussian_hmm import GaussianHMM

__all__ = ["CategoricalHMM", "GaussianHMM"]
