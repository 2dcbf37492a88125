"""Distributions of a column in each class: one file for each kind, one interface (`column.py`)."""
