"""Model files: the container format, the content of a .bayes file, and reading and writing whole files."""
