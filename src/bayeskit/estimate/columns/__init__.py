"""What a column is believed to be in each class: one file a kind, one protocol (`column.py`)."""
