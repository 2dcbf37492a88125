"""Documents: a classifier by recipes, and what counts words for other models."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier as TextClassifier
    from bayeskit.models.text.token_counter import TokenCounter as TokenCounter

_HOMES = {"TextClassifier": "classifier", "TokenCounter": "token_counter"}

__all__ = ["TextClassifier", "TokenCounter"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"bayeskit.models.text.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'bayeskit.models.text' has no attribute {name!r}")
