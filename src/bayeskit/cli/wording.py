"""Numbers with their nouns, sizes of files, and names that may have been meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bayeskit.errors import BayesError


@contextmanager
def suggesting(names: Iterable[str], known: Iterable[object]) -> Iterator[None]:
    """What goes wrong meanwhile is told with what a name that is not known may have meant.

    >>> with suggesting(["specie"], ["species", "island"]):
    ...     raise BayesError("there is no column 'specie'")
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: there is no column 'specie'; did you mean species?
    """
    try:
        yield
    except BayesError as problem:
        from bayeskit.nearest import nearest

        there = [str(name) for name in known]
        unknown = next((name for name in names if name not in there), None)
        meant = "" if unknown is None else nearest(unknown, there)
        if not meant.startswith("did you mean") or repr(unknown) not in str(problem):
            raise
        raise problem.followed_by(f"; {meant}") from None


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
