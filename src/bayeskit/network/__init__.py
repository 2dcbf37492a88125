"""Joint distributions, a query language, and Bayesian networks with exact inference."""
