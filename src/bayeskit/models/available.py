"""Methods that a model has in some settings only: absent where it could not honour them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn.utils.metaestimators import available_if

Method = TypeVar("Method", bound=Callable[..., Any])


def available_where(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """scikit-learn's ``available_if``, with types kept."""
    return cast(Callable[[Method], Method], available_if(check))
