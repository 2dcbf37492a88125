"""What lies at a path, one writer at a time, and files that are written as a whole or not at all."""
