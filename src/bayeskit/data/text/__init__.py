"""Documents: where they lie, what their tokens are, and the words they are made of."""
