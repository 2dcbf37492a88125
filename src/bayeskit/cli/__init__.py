"""The command ``bayes``."""
