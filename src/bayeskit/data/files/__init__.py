"""Tables in files: CSV, Parquet and JSON lines, as a source of rows."""

from bayeskit.data.files.file_source import FileSource
from bayeskit.moved import forwarded

__all__ = ["FileSource"]

__getattr__ = forwarded(__name__)
