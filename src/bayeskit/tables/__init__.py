"""Print tables in terminals and notebooks."""
