"""Bayesian models from counted data: probabilities, predictions and decisions.

A model is a plan of what to count, an estimate computed from the counts, and a score for a row.

The public names are listed in ``__init__.pyi`` and imported on first use.
"""

from typing import Any

import lazy_loader

__version__ = "0.3.0"

_load, _, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_names]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _load(name)
    hint = ""
    if not name.startswith("_"):
        from bayeskit.nearest import did_you_mean

        hint = did_you_mean(name, __all__)
    raise AttributeError(f"module 'bayeskit' has no attribute {name!r}{hint}")
