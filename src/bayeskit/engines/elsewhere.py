"""Rows that the workers of an engine read: this machine knows their kinds and a first look, never all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bayeskit.data.read_through import ReadThrough
from bayeskit.data.source import Batch, Divisible, Source, first_rows, open_source
from bayeskit.errors import BayesError
from bayeskit.remedy import OtherModel, Setting


def not_here(engine: Any) -> BayesError:
    """The refusal to bring all rows to this machine."""
    return BayesError(
        f"this work must see the rows themselves, which {type(engine).__name__} reads elsewhere: ",
        Setting("engine", clause="fit without {}"),
        ", on rows that this machine can read (a sample may do), or take a model that needs counts alone, such as ",
        OtherModel("NaiveBayes"),
    )


@dataclass(frozen=True)
class Elsewhere(ReadThrough):
    """A source that can be cut into parts, handed over to an engine whose workers read them.

    ``passes`` are the rows that each reading has found so far: the data must not change between them.
    """

    engine: Any
    passes: list[int] = field(default_factory=list, compare=False, repr=False)

    @property
    def here(self) -> None:
        """Nowhere: workers name the files that they read."""

    def with_target(self, name: str) -> Elsewhere:
        """The same rows, labelled by one of the columns."""
        return replace(self, source=open_source(self.source, name))

    def with_weight(self, name: str) -> Elsewhere:
        """The same rows, each counting as often as one of the columns says."""
        return replace(self, source=open_source(self.source, None, name))

    def look(self) -> Batch | None:
        """Some of the first rows."""
        return first_rows(self.source)

    def batches(self) -> Iterator[Batch]:
        """None: nobody brings all rows here unasked."""
        raise not_here(self.engine)

    @property
    def n_bytes(self) -> int:
        """Of all files, as they lie there; 0 where there are none."""
        return sum(place.size or 0 for place in places(self.source))

    def parts(self, n: int) -> Sequence[Source]:
        """Parts for the workers; files under paths that mean the same in the folder of any process."""
        assert isinstance(self.source, Divisible)
        return [part.absolute() if hasattr(part, "absolute") else part for part in self.source.parts(n)]


def places(source: Any) -> list[Any]:
    """Where the rows of a source lie, if that is in files."""
    return [file.place for file in getattr(source, "files", ()) if hasattr(file, "place")]


def handed_over(data: Any, engine: Any) -> Elsewhere | None:
    """Files or a table for an engine's workers to read; None for rows that cannot be cut into parts, such as a pipe."""
    if isinstance(data, Elsewhere):
        return replace(data, engine=engine)
    source = open_source(data)
    in_pipes = any(place.size is None for place in places(source))
    return Elsewhere(source, engine) if isinstance(source, Divisible) and not in_pipes else None
