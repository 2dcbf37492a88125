"""Suggest names for a misspelled name."""

from __future__ import annotations

from collections.abc import Iterable

AS_CLOSE = 0.1  # similarity: names within this distance of the closest are suggested too


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return the end of a message about an unknown name: similar names, or an empty string.

    >>> did_you_mean("speces", ["species", "island"]), did_you_mean("year", ["species", "island"])
    ('; did you mean species?', '')
    """
    meant = nearest(name, known)
    return f"; {meant}" if meant.startswith("did you mean") else ""


def nearest(name: object, known: Iterable[object]) -> str:
    """Return the closest names to an unknown one, else the first few, as the end of a message.

    >>> nearest("asai", ["asia", "smoke"])
    'did you mean asia?'
    >>> nearest("x", ["asia", "smoke"])
    'known: asia, smoke'
    """
    from difflib import SequenceMatcher, get_close_matches  # imported late: slow to load

    names = [str(other) for other in known]
    folded = {other.casefold(): other for other in reversed(names)}
    asked = str(name).casefold()
    close = {match: SequenceMatcher(a=match, b=asked).ratio() for match in get_close_matches(asked, folded, 3, 0.6)}
    if close:
        best = max(close.values())
        meant = [folded[match] for match, ratio in close.items() if ratio > best - AS_CLOSE]
        return f"did you mean {' or '.join(meant)}?"
    return "known: " + ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
