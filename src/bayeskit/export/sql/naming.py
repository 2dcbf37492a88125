"""Names of a query's columns: those of the classes and of the evidence, told apart and short enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayeskit.data.vocabulary import Value
from bayeskit.dialects.dialect import Dialect
from bayeskit.errors import BayesError

LONGEST = 60  # bytes: PostgreSQL cuts names after 63


def result_names(prefix: str, things: Sequence[object], taken: Iterable[str] = ()) -> list[str]:
    """A name for each thing, with a number where two would be one to a database that folds case, or be cut.

    >>> result_names("p_", ["yes", "Yes", True, "a\\x00b"])
    ['p_yes', 'p_Yes_1', 'p_True', 'p_a\ufffdb']
    """
    names: list[str] = []
    seen = {name.casefold() for name in taken}
    for i, thing in enumerate(things):
        short = full = prefix + str(thing).replace("\x00", "\N{REPLACEMENT CHARACTER}").replace("${", "$")
        while len(short.encode()) > LONGEST - 8:
            short = short[:-1]
        while short.casefold() in seen or (short != full and not short.endswith(f"_{i}")):
            short = f"{short}_{i}"
        seen.add(short.casefold())
        names.append(short)
    return names


def check_keys(keys: str | Sequence[str] | None, dialect: Dialect) -> tuple[str, ...]:
    """The keys by which rows are known; a query without them is refused, since its rows have no order."""
    given = (keys,) if isinstance(keys, str) else tuple(keys or ())
    if not given:
        raise BayesError("keys=: name the columns that say which row it is, since the rows of a query have no order")
    if twice := [key for i, key in enumerate(given) if key.casefold() in {k.casefold() for k in given[:i]}]:
        raise BayesError(f"keys= names {twice[0]!r} twice", culprit=twice[0])
    if len(long := max(given, key=lambda key: len(key.encode())).encode()) > dialect.longest_name:
        raise BayesError(f"key {long.decode()!r} is longer than a name of {dialect.title} can be")
    return given


def check_free(names: Iterable[str], keys: Sequence[str]) -> None:
    """Refuse keys that are named as one of the results."""
    taken = {name.casefold() for name in names}
    if clash := [key for key in keys if key.casefold() in taken]:
        raise BayesError(
            f"the query gives a column {clash[0]!r} itself: rename the key, in a view for instance", culprit=clash[0]
        )


def check_told_apart(columns: Iterable[str], dialect: Dialect) -> None:
    """Refuse columns of the model that the database would read from one of its own."""
    if alike := dialect.one_to_it(columns):
        raise BayesError(
            f"{dialect.title} takes {' and '.join(map(repr, alike))} for one column: say by columns= what each is "
            "called in the table",
            culprit=alike[1],
        )


def class_labels(classes: Sequence[Value]) -> list[object]:
    """Classes as they stand in names: 3.0 is 3."""
    return [int(c) if isinstance(c, float) and c.is_integer() else c for c in classes]
