"""What some recipes have and others not: methods that a model then lacks, with the reason, and fitted state."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getattr_static
from typing import Any, TypeVar

from bayeskit.models.base.available import Conditional

C = TypeVar("C", bound=type)


class RecipeMethod(Conditional):
    """A method that is there unless ``model.absent_by_recipe`` names it."""

    def __init__(self, name: str, method: Any) -> None:
        self.name, self.method = name, method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is not None and (why := model.absent_by_recipe.get(self.name)) is not None:
            raise AttributeError(f"{type(model).__name__} has no {self.name} with recipe={model.recipe!r}: {why}")
        return self.method.__get__(model, kind)


class RecipeState(Conditional):
    """What the fitted recipe holds under a name, where it does."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        return self if model is None else getattr(model.recipe_, self.name)


def by_recipe(*names: str) -> Callable[[C], C]:
    """Let ``model.absent_by_recipe``, from method to reason, rule over these methods of a class, inherited or not."""

    def ruled(kind: C) -> C:
        for name in names:
            setattr(kind, name, RecipeMethod(name, getattr_static(kind, name)))
        return kind

    return ruled
