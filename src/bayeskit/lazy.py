"""Names of a package that are imported when they are first used: ``import bayeskit`` takes a moment, not a second."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package: names by the module below it that holds each, and some modules.

    >>> look_up, names = lazy_names("bayeskit.models.text", {"TextClassifier": "classifier"})
    >>> look_up("TextClassifier").__name__, names()
    ('TextClassifier', ['TextClassifier'])
    >>> look_up("TextClasifier")
    Traceback (most recent call last):
    ...
    AttributeError: module 'bayeskit.models.text' has no attribute 'TextClasifier'; did you mean TextClassifier?
    """
    below = frozenset(modules)

    def look_up(name: str) -> Any:
        if name in homes:
            return getattr(import_module(f"{package}.{homes[name]}"), name)
        if name in below:
            return import_module(f"{package}.{name}")
        meant = ""
        if not name.startswith("_"):  # a tool asks for those, and no person reads the answer
            from bayeskit.nearest import did_you_mean

            meant = did_you_mean(name, [*homes, *below])
        raise AttributeError(f"module {package!r} has no attribute {name!r}{meant}")

    def names() -> list[str]:
        return sorted([*homes, *below])

    return look_up, names
