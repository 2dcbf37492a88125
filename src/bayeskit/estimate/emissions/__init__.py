"""Emissions of hidden states, one class per kind of column."""
