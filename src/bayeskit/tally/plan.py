"""What a model asks to have counted: the meeting point of models and engines."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, repr=False)
class Plan:
    """Columns and sets of columns to count by class.

    ``families``: columns whose values are counted; ``moments``: columns whose n, Σx and Σx² are kept;
    ``pairs``: columns of which all pairs are counted; ``joints``: sets of columns counted together, such as
    parents with their child. Columns of pairs and joints are among the families.
    ``words``: columns of text whose words are counted; ``values``: columns whose distinct numbers are counted,
    ``max_values`` of them at most; ``products``: whether the products of all pairs of the columns with moments are
    kept too.
    """

    families: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    joints: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    max_values: int = 4096
    products: bool = False

    def __repr__(self) -> str:
        shown = [f for f in fields(self) if getattr(self, f.name) != f.default or f.name in ("families", "moments")]
        return f"Plan({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in shown)})"
