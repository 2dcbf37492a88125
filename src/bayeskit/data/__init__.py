"""Anything → coded blocks."""
