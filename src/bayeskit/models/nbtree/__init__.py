"""A tree with a naive Bayes in each leaf: the classifier, how it grows, and its rows left out."""
