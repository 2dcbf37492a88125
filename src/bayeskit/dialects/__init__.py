"""Build SQL as a tree, and describe the differences between databases."""
