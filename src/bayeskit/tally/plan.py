"""What a model asks to have counted: the meeting point of models and engines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """``families``: columns counted with the class; ``moments``: columns whose n, Σx and Σx² are kept.

    ``words``: columns of text whose words are counted with the class; ``values``: columns whose distinct numbers
    are counted, ``max_values`` of them at most; ``products``: whether the products of all pairs of the columns with
    moments are kept too.
    """

    families: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    max_values: int = 4096
    products: bool = False
