"""Read documents, split them into tokens and store word lists."""
