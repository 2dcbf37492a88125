"""Methods and fitted attributes that some recipes have: absent from a model of another one, which says why."""

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
            raise AttributeError(f"{type(model).__name__} has no {self.name}: with recipe={model.recipe!r}, {why}")
        return self.method.__get__(model, kind)


class RecipeAttribute(Conditional):
    """What the fitted recipe holds under a name of its own, where it does."""

    def __init__(self, held: str) -> None:
        self.held = held

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self
        recipe = vars(model).get("recipe_")
        if not hasattr(recipe, self.held):
            why = "nothing is fitted yet" if recipe is None else f"recipe={recipe.name!r} fits no {self.held}"
            raise AttributeError(f"{type(model).__name__} has no {self.name}: {why}")
        return getattr(recipe, self.held)


def by_recipe(*names: str) -> Callable[[C], C]:
    """Let ``model.absent_by_recipe``, from method to reason, rule over these methods of a class, inherited or not."""

    def ruled(kind: C) -> C:
        for name in names:
            setattr(kind, name, RecipeMethod(name, getattr_static(kind, name)))
        return kind

    return ruled
