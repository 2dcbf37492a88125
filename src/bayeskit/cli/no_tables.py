"""Files that are no tables, named for what they are instead of being read as a broken CSV file."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import TYPE_CHECKING

from bayeskit.errors import BadFile
from bayeskit.storage.container import MAGIC

if TYPE_CHECKING:
    from bayeskit.data.io.streams import Place

STARTS = {
    MAGIC: "a model of bayeskit",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "an old Office file",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
ARCHIVES = {".npz": "a file of NumPy arrays", ".xlsx": "an Excel workbook", ".ods": "a spreadsheet"}
PARQUET = b"PAR1"
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


def refuse_no_table(place: Place, encoding: str | None) -> None:
    """Refuse a file that is neither CSV nor Parquet nor JSON lines, by how it starts."""
    from bayeskit.data.io.streams import peek

    refuse_start(peek(place), place.name, encoding)


def refuse_start(start: bytes, name: str, encoding: str | None) -> None:
    """Refuse what is no table, by its first bytes and its name."""
    if what := _kind(start, Path(name).suffix.lower(), encoding):
        raise BadFile(f"{name} is {what}, and no table: give a CSV, Parquet or JSON lines file")


def _kind(start: bytes, suffix: str, encoding: str | None) -> str | None:
    if suffix == ".bif":
        return "a Bayesian network, for bayes ask"
    if start.startswith(b"PK\x03\x04"):
        return ARCHIVES.get(suffix, "a zip archive")
    for first, what in STARTS.items():
        if start.startswith(first):
            return what
    is_table = start.startswith((PARQUET, *WIDE)) or suffix in (".parquet", ".pq") or encoding is not None
    return "a binary file" if b"\0" in start and not is_table else None
