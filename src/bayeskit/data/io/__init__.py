"""Read rows from files, pipes and databases."""
