"""Tables for the terminal and for notebooks."""
