"""Between naive Bayes and the full joint: columns that depend on each other, as far as there are rows to tell."""
