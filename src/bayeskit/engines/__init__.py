"""Engines: from a source and a plan to a tally."""
