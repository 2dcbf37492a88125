"""Format memory sizes and check memory limits before work starts."""

from __future__ import annotations

import os
from typing import NamedTuple

from bayeskit.errors import TooLarge

MEMORY = 2_000_000_000  # default limit for counts and tables, in bytes


class Need(NamedTuple):
    """The bytes that some work needs, its description, and what to do if there are not so many."""

    what: str
    n_bytes: float
    hint: str = ""


def check_memory(need: Need, limit: float | None) -> None:
    """Raise an error if work needs more memory than allowed.

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
    """Return the limit in bytes, capped at the memory of the machine because a file may contain any limit."""
    return min(MEMORY if limit is None else float(limit), memory_of_the_machine())


def memory_of_the_machine() -> float:
    """Return the physical memory in bytes, or infinity if the system does not report it."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def memory_size(n_bytes: float) -> str:
    """Format a number of bytes.

    >>> memory_size(999), memory_size(1.2e7), memory_size(10**25)
    ('999 bytes', '12 MB', '1e+25 bytes')
    """
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if factor <= n_bytes < 1000 * factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes:.0f} bytes" if n_bytes < 1000 else f"{format_integer(int(n_bytes))} bytes"


def format_integer(n: int) -> str:
    """Format an integer of any size as a.bce+nn."""
    if n >= 10**4000:
        return "more than 1e+4000"
    digits = str(n)
    return f"{round(int(digits[:4]) / 1000, 2):g}e+{len(digits) - 1}"
