"""The service of ``bayes serve``: predictions, explanations and learning over HTTP."""
