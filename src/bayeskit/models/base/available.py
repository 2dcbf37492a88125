"""Methods that a model has only under a condition: absent elsewhere, and the error gives the reason."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from inspect import cleandoc
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class Conditional:
    """A member that some models of a class have and others have not."""


class _AvailableIf(Conditional):
    """A method that raises ``AttributeError`` with a reason where its check fails."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool], reason: str) -> None:
        self.method, self.check, self.reason = method, check, reason
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is not None:
            return self._bind(model)

        def unbound(model: Any, *args: Any, **settings: Any) -> Any:
            return self._bind(model)(*args, **settings)

        return update_wrapper(unbound, self.method)

    def _bind(self, model: Any) -> Any:
        if not self.check(model):
            raise AttributeError(f"{type(model).__name__} has no {self.method.__name__}: {self.reason}")
        return self.method.__get__(model)


class conditional_property(property, Conditional):  # noqa: N801
    """A property that is absent, for ``hasattr`` and ``dir``, where it raises ``AttributeError``."""


class _Unavailable(Conditional):
    """A name that a model does not have, with the reason."""

    def __init__(self, reason: str, name: str = "") -> None:
        self.reason, self.name = reason, name

    def __set_name__(self, owner: type, name: str) -> None:
        setattr(owner, name, _Unavailable(self.reason, name))  # one for each name: ``a = b = unavailable(…)``

    def __get__(self, model: Any, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason}")


def available_if(check: Callable[[Any], bool] | str, reason: str) -> Callable[[Method], Method]:
    """Make a method available only where ``check(model)`` holds.

    Elsewhere ``hasattr`` is False and access raises ``AttributeError`` with the reason.

    Parameters
    ----------
    check : callable or str
        A predicate of the model, or the name of a member that the model must have.
    reason : str

    Examples
    --------
    >>> class Door:
    ...     key = False
    ...     @available_if(lambda door: door.key, "it has no key")
    ...     def open(self):
    ...         return "open"
    >>> hasattr(Door(), "open")
    False
    >>> Door().open()
    Traceback (most recent call last):
    ...
    AttributeError: Door has no open: it has no key
    """
    if isinstance(check, str):
        name = check
        check = lambda model: hasattr(model, name)  # noqa: E731
    predicate = check

    def decorate(method: Method) -> Method:
        return cast(Method, _AvailableIf(method, predicate, reason))

    return decorate


def unavailable(reason: str) -> Any:
    """Declare, in a class body, that a model does not have a method of other models.

    Examples
    --------
    >>> class Wall:
    ...     open = unavailable("it has no door")
    >>> Wall().open()
    Traceback (most recent call last):
    ...
    AttributeError: Wall has no open: it has no door
    """
    return _Unavailable(reason)


def with_remark(method: Method, remark: str) -> Method:
    """Return the same method with a remark at the end of its docstring.

    >>> def merge(self, other):
    ...     \"\"\"Return a new model.\"\"\"
    >>> print(with_remark(merge, "Both need one structure.").__doc__)
    Return a new model.
    <BLANKLINE>
    Both need one structure.
    """

    @wraps(method)
    def same(*args: Any, **settings: Any) -> Any:
        return method(*args, **settings)

    same.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{remark}"
    return cast(Method, same)
