"""The recipes by their names: a new one is a file and a line here, or ``register`` from outside."""

from __future__ import annotations

from typing import TypeVar

from bayeskit.errors import BayesError
from bayeskit.models.text.automatic import Automatic
from bayeskit.models.text.best import BEST
from bayeskit.models.text.nbsvm import NaiveBayesSVM
from bayeskit.models.text.plain_counts import Complement, Multinomial, NormalisedComplement, SetOfWords
from bayeskit.models.text.recipe import CONDITIONAL, Recipe
from bayeskit.models.text.tf_idf import TfIdf, TransformedComplement
from bayeskit.models.text.weighted import FAST, WEIGHTED

BUILT_IN: tuple[Recipe, ...] = (
    Multinomial(),
    SetOfWords(),
    Complement(),
    NormalisedComplement(),
    TransformedComplement(),
    TfIdf(),
    NaiveBayesSVM(),
    BEST,
    WEIGHTED,
    Automatic(),
    FAST,
)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in BUILT_IN}
R = TypeVar("R", bound=Recipe)


def register(recipe: R) -> R:
    """Make a recipe known by its name, to models and to files. Nothing is imported because a file says so."""
    for method in recipe.absent:
        if method not in CONDITIONAL:
            raise BayesError(f"recipe {recipe.name!r} cannot do without {method!r}: only {', '.join(CONDITIONAL)} can")
    if RECIPES.setdefault(recipe.name, recipe) is not recipe:
        raise BayesError(f"another recipe is registered as {recipe.name!r}")
    return recipe


def recipe_named(name: str) -> Recipe:
    """The recipe that is registered under a name."""
    if name not in RECIPES:
        raise BayesError(f"there is no recipe {name!r} (known: {', '.join(RECIPES)})")
    return RECIPES[name]
