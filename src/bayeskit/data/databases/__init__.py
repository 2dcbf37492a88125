"""Rows of a query: from DuckDB, PostgreSQL and SQLite, streamed as Arrow."""
