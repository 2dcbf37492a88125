"""Documents: a classifier by recipes, and what counts words for other models."""

from typing import TYPE_CHECKING

from bayeskit.lazy import lazy_names

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier as TextClassifier
    from bayeskit.models.text.token_counter import TokenCounter as TokenCounter

_HOMES = {"TextClassifier": "classifier", "TokenCounter": "token_counter"}

__all__ = ["TextClassifier", "TokenCounter"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
