"""Models that wrap other models: calibration, costs, model averaging, unlabeled rows, exponents, encoding."""
