"""Methods that a model has in some settings only: absent where it could not honour them, and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar, cast

from bayeskit.nearest import did_you_mean

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
        return AttributeError(_Unknown(model, name))
    return AttributeError(f"{type(model).__name__} has no {name}: {reason}")


class _Unknown:
    """What is said of a name that a model does not have; what it may have meant is looked for when it is read.

    ``hasattr`` asks for such names all the time, and reads nothing.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name

    def __str__(self) -> str:
        names = () if self.name.startswith("_") else (name for name in dir(self.model) if not name.startswith("_"))
        meant = did_you_mean(self.name, names)
        return f"{type(self.model).__name__!r} object has no attribute {self.name!r}{meant}"

    __repr__ = __str__
