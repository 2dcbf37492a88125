"""Names of output columns: the same in SQL, in ONNX and on the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST = 60  # bytes: PostgreSQL cuts names after 63
PREDICTED = "predicted"


def result_names(prefix: str, things: Sequence[object], taken: Iterable[str] = ()) -> list[str]:
    """Name columns: short enough, and distinct for databases that fold case.

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


def probability_names(classes: Sequence[object]) -> list[str]:
    """Name the columns with the probability of each class.

    >>> probability_names(["no", "yes"]), probability_names([1.0, 2.5])
    (['p_no', 'p_yes'], ['p_1', 'p_2.5'])
    """
    labels = [int(c) if isinstance(c, float) and c.is_integer() else c for c in classes]
    return result_names("p_", labels, [PREDICTED, "against"])
