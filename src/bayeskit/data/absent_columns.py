"""Fill columns that are absent from rows to be scored with missing cells.

A single record may lack columns silently; a table that lacks one causes a warning. A column whose name is nearly that
of the absent one is an error, since it is probably misspelled. JSON lines may differ in their keys: a key that no line
has shown yet is expected in all of them, so that a prediction does not depend on the lines before it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Self

from bayeskit.data.frames import MemorySource
from bayeskit.data.io.files import FileSource, Progress
from bayeskit.data.schema import Kind, Numeric, Schema, Text
from bayeskit.data.source import Batch, ReadThrough, Source
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesWarning, SchemaMismatch
from bayeskit.lazy import pa

SLIP = 0.8  # similarity above which one name counts as a misspelling of another


def completed(source: Source, schema: Schema, vocabularies: Mapping[str, Vocabulary]) -> Source:
    """Return the source with all columns that the schema uses; absent ones are missing in every row.

    ``vocabularies`` hold what is known of the coded columns. Where all columns are lacking, the source is as it
    was, for the schema to refuse.

    >>> from bayeskit.data.schema import Categorical
    >>> from bayeskit.data.frames import open_source
    >>> schema = Schema({"sky": Categorical(), "wind": Categorical()})
    >>> batch = next(completed(open_source({"sky": "sun"}), schema, {}).batches())
    >>> batch.columns["sky"].to_pylist(), batch.columns["wind"].to_pylist()
    (['sun'], [None])
    """
    there = source.kinds
    absent = [name for name in schema.needed if name not in there]
    if not absent or not source.named or (not schema.named and len(absent) == len(schema.needed)):
        return source
    if isinstance(source, FileSource) and source.has_lines_of_keys:
        kinds = {name: _kind(schema, name, vocabularies.get(name)) for name in absent}
        source = source.expecting({name: kind for name, kind in kinds.items() if kind is not None})
        _tell(absent, source, "in its first lines")
        unknown = tuple(name for name, kind in kinds.items() if kind is None)
        return WithAbsent(source, unknown) if unknown else source
    if len(absent) == len(schema.needed):
        return source
    _refuse_slips(absent, [name for name in there if name not in schema.inputs and name != schema.target.name])
    if isinstance(source, FileSource):
        source.refuse_later(absent)
    if not (isinstance(source, MemorySource) and source.n_rows == 1):
        _tell(absent, source)
    return WithAbsent(source, tuple(absent))


def _kind(schema: Schema, name: str, vocabulary: Vocabulary | None) -> Kind | None:
    """Return the kind expected of a key that no line has shown so far, None if unknown."""
    role = schema.columns.get(name)  # None for a date, which is read by its parts
    if role is None or isinstance(role, (Numeric, Text)):
        return "string" if role is None else "text" if isinstance(role, Text) else "float"
    types = {type(value) for value in vocabulary.values} if vocabulary is not None else set()
    if types <= {int, float}:
        return "float" if types else None
    return {frozenset({str}): "string", frozenset({bool}): "boolean"}.get(frozenset(types))  # type: ignore[return-value]


def _refuse_slips(absent: Iterable[str], unknown: Iterable[str]) -> None:
    folded = {name.casefold(): name for name in unknown}
    for name in absent:
        for close in get_close_matches(name.casefold(), folded, n=1, cutoff=SLIP):
            raise SchemaMismatch(
                f"column {name!r} is missing from the data, which has {folded[close]!r}: did you mean {name!r}? Rename "
                f"it; or, to do without {name!r}, leave {folded[close]!r} out.",
            )


def _tell(absent: list[str], source: Source, where: str = "") -> None:
    name = getattr(source, "name", None)
    columns = f"column{'s' * (len(absent) > 1)} {', '.join(absent[:12])}{', …' * (len(absent) > 12)}"
    place = f"{name} has no {columns}" if name else f"the data has no {columns}"
    it = "it is" if len(absent) == 1 else "they are"
    warnings.warn(BayesWarning(f"{place}{' ' * bool(where)}{where}: {it} taken as missing"), stacklevel=5)


@dataclass(frozen=True)
class WithAbsent(ReadThrough):
    """A source with added columns that are missing in every row."""

    absent: tuple[str, ...]

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Return the kinds of the source; absent columns have no kind."""
        return {**self.source.kinds, **dict.fromkeys(self.absent, "null")}

    def reading(self, columns_to_read: Mapping[str, Kind | None]) -> Self:
        """Return a source restricted to these columns."""
        return super().reading({name: kind for name, kind in columns_to_read.items() if name not in self.absent})

    def watched(self, watch: Callable[[Progress], None] | None) -> Self:
        """Return a source that reports its progress to ``watch``."""
        return replace(self, source=self.source.watched(watch))

    def batches(self) -> Iterator[Batch]:
        for batch in self.source.batches():
            yield replace(batch, columns={**batch.columns, **{n: pa.nulls(batch.n_rows) for n in self.absent}})
