"""SQL as a tree, and what the databases write differently."""
