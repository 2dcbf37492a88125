"""Methods that a model has in some settings only: absent where it could not honour them, and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class Conditional:
    """A method that some models of a class have, and others have not."""


class _Available(Conditional):
    """A method that is there where a check holds."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool], why: str) -> None:
        self.method, self.check, self.why = method, check, why
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is not None:
            return self._of(model)

        def of_any(model: Any, *args: Any, **settings: Any) -> Any:
            return self._of(model)(*args, **settings)

        return update_wrapper(of_any, self.method)

    def _of(self, model: Any) -> Any:
        if not self.check(model):
            raise absent(model, self.method.__name__, self.why)
        return self.method.__get__(model)


def available_where(check: Callable[[Any], bool], why: str = "") -> Callable[[Method], Method]:
    """The method is there where ``check(model)`` holds; elsewhere ``hasattr`` says no, and an error says ``why``.

    >>> class Door:
    ...     key = False
    ...     @available_where(lambda door: door.key, "it has no key")
    ...     def open(self):
    ...         return "open"
    >>> hasattr(Door(), "open")
    False
    >>> Door().open()
    Traceback (most recent call last):
    ...
    AttributeError: Door has no open: it has no key
    """

    def where(method: Method) -> Method:
        return cast(Method, _Available(method, check, why))

    return where


def having(method: str) -> Callable[[Any], bool]:
    """What a model can do only where it has another method."""
    return lambda model: hasattr(model, method)


def absent(model: Any, name: str, why: str = "") -> AttributeError:
    """What is raised for a method that is not there: by the model's table of reasons, or else ``why``."""
    tables = (vars(owner).get("absent", {}) for owner in type(model).__mro__)
    reason = next((table[name] for table in tables if name in table), why)
    if not reason:
        return AttributeError(f"{type(model).__name__!r} object has no attribute {name!r}")
    return AttributeError(f"{type(model).__name__} has no {name}: {reason}")
