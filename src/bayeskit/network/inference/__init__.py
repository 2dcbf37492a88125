"""Exact inference: factors, in which order variables are summed out, and the junction tree."""
