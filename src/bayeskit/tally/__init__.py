"""What was counted: values with + and −, aligned by name."""
