"""Memory in words, and work that would take too much of it refused before any is taken."""

from __future__ import annotations

import os
from typing import NamedTuple

from bayeskit.errors import TooLarge

MEMORY = 2_000_000_000  # bytes that counts and tables may take unless a setting says otherwise


class Need(NamedTuple):
    """The bytes that some work needs, its description, and what to do if there are not so many."""

    what: str
    n_bytes: float
    hint: str = ""


def check_memory(need: Need, limit: float | None) -> None:
    """Refuse work that would take more memory than allowed.

    >>> check_memory(Need("pairs of 2,000 columns", 64e9, "Use fewer columns."), None)
    Traceback (most recent call last):
    ...
    bayeskit.errors.TooLarge: pairs of 2,000 columns would take 64 GB of memory, ...
    """
    allowed = memory_allowed(limit)
    if need.n_bytes > allowed:
        raise TooLarge(
            f"{need.what} would take {memory_size(need.n_bytes)} of memory, more than "
            f"memory_limit={memory_size(allowed)}.",
            hint=need.hint,
        )


def memory_allowed(limit: float | None) -> float:
    """Bytes by a setting, and no more than the machine has: a file may name any limit."""
    return min(MEMORY if limit is None else limit, memory_of_the_machine())


def memory_of_the_machine() -> float:
    """Bytes, or infinity on a system that does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory_size(n_bytes: float) -> str:
    """Bytes in words.

    >>> memory_size(999), memory_size(1.2e7)
    ('999 bytes', '12 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
