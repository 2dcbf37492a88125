"""Read and write model files: the container format, the .bayes content and atomic file access."""
