"""The logistic twin: the same form as naive Bayes, its weights fitted to the classes."""
