"""Numbers with their nouns, and sizes of files."""

from __future__ import annotations


def plural(count: int | float, word: str) -> str:
    """A number and its noun.

    >>> plural(1, "row"), plural(1234, "row"), plural(2, "class")
    ('1 row', '1,234 rows', '2 classes')
    """
    ending = "" if count == 1 else "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{ending}" if isinstance(count, int) else f"{count:,.6g} {word}{ending}"


def size_of(n_bytes: int) -> str:
    """Bytes as a person reads them.

    >>> size_of(812), size_of(3_400), size_of(2_500_000_000)
    ('812 bytes', '3.4 kB', '2.5 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes} bytes"
