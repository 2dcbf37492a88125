"""A scoring form as one query, in the dialect of the database where the data is."""
