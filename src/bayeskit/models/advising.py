"""What the first rows suggest of columns whose role nobody has said."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from bayeskit.data.advice import advice
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source
from bayeskit.errors import AdviceWarning


def advise(source: Source, schema: Schema, roles: Any) -> None:
    """Warn of columns that may be meant otherwise, with the ``roles=`` that would say so."""
    if roles is not None and not isinstance(roles, Mapping):
        return
    declared = {schema.find(key) for key in roles or ()}
    undeclared = [name for name in schema.used if name not in declared]
    if source.target in schema.used:
        warnings.warn(
            f"column {source.target!r} has the name of the target and is learnt from; if it is the target, "
            f'pass its name as y, or roles={{{source.target!r}: "ignore"}}',
            AdviceWarning,
            stacklevel=5,
        )
    batch = next(iter(source.batches()), None)
    if batch is not None and undeclared:
        for sentence in advice(batch, schema.restrict(undeclared)):
            warnings.warn(sentence, AdviceWarning, stacklevel=5)
