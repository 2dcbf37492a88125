"""What a model asks to have counted: the meeting point of models and engines."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, repr=False)
class Plan:
    """Columns and sets of columns to count by class.

    ``families``: columns whose values are counted; ``moments``: columns whose n, Σx and Σx² are kept;
    ``pairs``: columns of which all pairs are counted; ``joints``: sets of columns counted together, such as
    parents with their child. Columns of pairs and joints are among the families.
    """

    families: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    pairs: tuple[str, ...] = ()
    joints: tuple[tuple[str, ...], ...] = ()

    def __repr__(self) -> str:
        shown = [f.name for f in fields(self) if getattr(self, f.name) or f.name in ("families", "moments")]
        return f"Plan({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"
