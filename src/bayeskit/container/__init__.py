"""Arrays and plain data as bytes and back: the form of a file, below what it means."""
