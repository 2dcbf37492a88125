"""Estimates from counts: pure functions of a tally, with and without one of its rows."""
