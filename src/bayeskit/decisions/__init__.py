"""Decisions: expected costs, rejection, ranking under a budget, and the probability of a mistake."""

from bayeskit.decisions.costs import Costs, Decisions, decide, rank, read_costs
from bayeskit.decisions.mistake import mistake_probability

__all__ = ["Costs", "Decisions", "decide", "mistake_probability", "rank", "read_costs"]
