"""Tables in files: CSV, Parquet and JSON lines, as a source of rows."""

from bayeskit.data.files.file_source import FileSource

__all__ = ["FileSource"]
