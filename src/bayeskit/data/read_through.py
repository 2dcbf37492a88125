"""A source that reads through another one, and changes some of what comes: the rest is said in one place."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Self

from bayeskit.data.schema import Kind
from bayeskit.data.source import Narrowing, in_one_state


@dataclass(frozen=True)
class ReadThrough:
    """What is the same as of the source behind it. Who derives from it gives ``batches``."""

    source: Any

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds of the columns."""
        return self.source.kinds

    @property
    def named(self) -> bool:
        """Whether the columns have names of their own."""
        return bool(self.source.named)

    @property
    def target(self) -> str | None:
        """The column of labels."""
        return self.source.target

    @property
    def name(self) -> str | None:
        """What a person calls it, where it has a name."""
        return getattr(self.source, "name", None)

    @property
    def here(self) -> str | None:
        """Where rows are that an error names."""
        return getattr(self.source, "here", None)

    @property
    def unordered(self) -> bool:
        """Whether two readings may give the rows in two orders."""
        return getattr(self.source, "unordered", False)

    def in_one_state(self) -> AbstractContextManager[None]:
        """While it lasts every reading finds the same rows, where the source can see to that."""
        return in_one_state(self.source)

    @property
    def asked(self) -> Mapping[str, Kind | None] | None:
        """The columns that are read, where the source can be told; nothing is to be told to others."""
        return self.source.asked if isinstance(self.source, Narrowing) else {}

    def reading(self, asked: Mapping[str, Kind | None]) -> Self:
        """The same rows with these columns alone."""
        return replace(self, source=self.source.reading(asked)) if isinstance(self.source, Narrowing) else self
