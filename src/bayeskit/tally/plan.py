"""What a model asks to have counted: the meeting point of models and engines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """``families``: columns counted with the class; ``moments``: columns whose n, Σx and Σx² are kept; ``values``:
    columns whose distinct numbers are counted, ``max_values`` of them at most."""

    families: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    max_values: int = 4096
