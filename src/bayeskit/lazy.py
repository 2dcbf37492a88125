"""Packages that are imported when they are first used, since a program may not need them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["pa", "pc"]


class LazyModule:
    """A module that is imported at the first access to one of its names.

    >>> LazyModule("math").gcd(12, 18)
    6
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __reduce__(self) -> tuple[type[LazyModule], tuple[str]]:
        return LazyModule, (self._name,)  # for functions that are sent to the workers of a cluster

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    pa, pc = LazyModule("pyarrow"), LazyModule("pyarrow.compute")
