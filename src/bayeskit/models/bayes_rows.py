"""Rows as the ensemble reads them: codes 0 … V − 1, missing a value where it occurs, V for what is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.encode import Block, Encoder, raise_unusable
from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, TooLarge
from bayeskit.tally.joints import memory_size

Floats = npt.NDArray[np.float64]
LIGHTEST, HEAVIEST = 1e-30, 1e30  # what counts of 32 bits hold with room to spare


@dataclass(frozen=True)
class ColumnCodes:
    """How one column is coded: its values, and whether missing is one of them."""

    values: tuple[Value, ...] | None  # None for a number; the intervals of given cuts are 0, 1, …
    missing: bool

    @property
    def size(self) -> int:
        """Number of values of a coded column, at least one; 0 for a number."""
        return 0 if self.values is None else max(len(self.values) + self.missing, 1)

    def shift(self, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The encoder's codes (0 missing, 1 … V, V + 1 unseen) as those of the ensemble."""
        if self.missing:
            return codes
        unknown = self.size
        return np.where(codes == 0, unknown, np.minimum(codes - 1, unknown)).astype(np.min_scalar_type(unknown))

    def codes_in(self, other: ColumnCodes) -> npt.NDArray[np.int64]:
        """The code that another coding has for each of ours, −1 where it has none.

        >>> ColumnCodes(("rain", "sun"), True).codes_in(ColumnCodes(("hail", "sun"), True)).tolist()
        [0, -1, 2]
        """
        found = positions(self.values or (), other.values or ())
        found[found >= 0] += other.missing
        return np.concatenate([[0 if other.missing else -1], found]) if self.missing else found


@dataclass(frozen=True)
class LearntRows:
    """All rows to learn from, in memory: columns in the schema's order, labels as codes."""

    codes: dict[str, ColumnCodes]
    columns: list[npt.NDArray[Any]]
    labels: npt.NDArray[np.uint32]
    classes: tuple[Value, ...]
    weights: Floats | None

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.weights):
            least, total = float(self.weights.min()), float(self.weights.sum())
            if least < LIGHTEST or not total <= HEAVIEST:
                raise BayesError(
                    f"weights from {least:g} on that sum to {total:g}: BayesClassifier counts in single precision, for "
                    f"weights from {LIGHTEST:g} on that sum to {HEAVIEST:g} at most; scale them"
                )

    @property
    def n(self) -> float:
        """Rows, or the sum of their weights."""
        return float(len(self.labels) if self.weights is None else self.weights.sum())

    @property
    def class_weights(self) -> Floats:
        """Rows of each class, weighed."""
        return np.bincount(self.labels, self.weights, minlength=len(self.classes)).astype(np.float64)


def read_rows(source: Source, schema: Schema, n_threads: int, memory_limit: float = np.inf) -> LearntRows:
    """Read everything; rows of weight zero are as if they were not there."""
    if texts := schema.texts():
        raise BayesError(
            f"column {texts[0]!r} is a text, which BayesClassifier does not read: "
            f'pass roles={{{texts[0]!r}: "ignore"}} or "categorical", or use NaiveBayes'
        )
    if not schema.used:
        raise BayesError("every column is ignored: there is nothing to learn from")
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True, n_threads=n_threads)
    blocks, n_rows = [], 0
    for block in encoder.blocks(source):
        if block.labels is None:
            raise BayesError("one label a row is needed here, not responsibilities")
        raise_unusable(block.floats, block.start)
        blocks.append(block if block.weights is None else block.take(block.weights > 0))
        n_rows += blocks[-1].n_rows
        if (size := 8.0 * n_rows * len(schema.used)) > memory_limit:
            raise TooLarge(
                f"the first {n_rows:,} rows × {len(schema.used):,} columns take {memory_size(size)}, more than "
                f"memory_limit={memory_size(memory_limit)}. Raise it, learn from a sample of the "
                "rows, or use NaiveBayes, which counts row by row."
            )
    if not blocks or not any(batch.n_rows for batch in source.batches()):
        raise BayesError("there are no rows to learn: Found array with 0 sample(s) while a minimum of 1 is required.")
    if not n_rows:
        raise BayesError("every row has weight zero, so there is nothing to learn")
    weights = (
        None if blocks[0].weights is None else np.concatenate([b.weights for b in blocks if b.weights is not None])
    )
    labels, classes = _labels(blocks, encoder, schema)
    codes, columns = {}, []
    for name in schema.used:
        role = schema.columns[name]
        if name in blocks[0].floats:
            column = np.ascontiguousarray(np.concatenate([block.floats[name] for block in blocks]))
            codes[name] = ColumnCodes(None, bool(np.isnan(column).any()))
        else:
            column = np.concatenate([block.codes[name].astype(np.uint32) for block in blocks])
            if isinstance(role, Numeric):
                values: tuple[Value, ...] = tuple(range(len(role.cuts or ()) + 1))
            else:
                values, column = _sorted_codes(encoder.vocabularies[name], column, role)
            codes[name] = ColumnCodes(values, bool((column == 0).any()))
            column = codes[name].shift(column).astype(np.min_scalar_type(codes[name].size))
        columns.append(column)
    return LearntRows(codes, columns, labels, classes, None if weights is None or (weights == 1).all() else weights)


def _labels(blocks: list[Block], encoder: Encoder, schema: Schema) -> tuple[npt.NDArray[np.uint32], tuple[Value, ...]]:
    labels = np.concatenate([np.asarray(block.labels, dtype=np.int64) for block in blocks])
    found = [value for i, value in enumerate(encoder.classes.values) if i in set(np.unique(labels).tolist())]
    classes = tuple(sort_values({*found, *(schema.target.domain or ())}))
    place = {value: i for i, value in enumerate(classes)}
    table = np.array([place.get(value, 0) for value in encoder.classes.values], dtype=np.uint32)
    return table[labels], classes


def _sorted_codes(
    vocabulary: Vocabulary, column: npt.NDArray[Any], role: Any
) -> tuple[tuple[Value, ...], npt.NDArray[Any]]:
    """Values in sorted order, those that occur or are declared; the result does not depend on who came first."""
    occurring = set(np.unique(column).tolist())
    declared = isinstance(role, Categorical) and role.domain is not None
    kept = [(value, i + 1) for i, value in enumerate(vocabulary.values) if declared or i + 1 in occurring]
    values = sort_values(value for value, _ in kept)
    place = {value: i + 1 for i, value in enumerate(values)}
    table = np.zeros(len(vocabulary.values) + 1, dtype=np.uint32)
    for value, code in kept:
        table[code] = place[value]
    return tuple(values), table[column]


def block_columns(block: Block, codes: Mapping[str, ColumnCodes]) -> list[npt.NDArray[Any]]:
    """The columns of new rows, coded as they were learnt; infinity, which here means unknown, is refused."""
    raise_unusable(block.floats, block.start)
    found = []
    for name, how in codes.items():
        if how.values is None:
            found.append(np.ascontiguousarray(block.floats[name]))
        else:
            coded = how.shift(block.codes[name])
            found.append(np.minimum(coded, how.size).astype(np.min_scalar_type(how.size)))
    return found
