"""Evaluate models on held-out rows: cross-validation, metrics, curves, calibration and comparisons."""
