"""What a misspelt name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: object, known: Iterable[object]) -> str:
    """The names closest to one that is not known, else the first few, as the end of a message.

    >>> nearest("asai", ["asia", "smoke"])
    'did you mean asia?'
    >>> nearest("x", ["asia", "smoke"])
    'known: asia, smoke'
    """
    names = [str(other) for other in known]
    folded = {other.casefold(): other for other in reversed(names)}
    close = get_close_matches(str(name).casefold(), folded, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(folded[match] for match in close)}?"
    return "known: " + ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
