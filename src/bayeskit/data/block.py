"""Define blocks: encoded rows for the kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokens import TokenRows
from bayeskit.typing import Array, Codes, Floats, Ints


@dataclass(frozen=True)
class Block:
    """A block of encoded rows: codes, floats and texts by column, labels and weights."""

    n_rows: int
    start: int
    codes: Mapping[str, Codes]
    floats: Mapping[str, Floats]
    labels: Codes | None = None
    responsibilities: Floats | None = None
    weights: Floats | None = None
    texts: Mapping[str, Documents] = field(default_factory=dict)
    tokens: Mapping[str, TokenRows] = field(default_factory=dict)  # in the encoder's words, where it has some
    sequence_starts: Ints | None = None  # where rows make up sequences: begin of each, and the end

    def take(self, rows: Array) -> Block:
        """Return the rows at these indices."""
        count = len(rows) if rows.dtype != bool else int(rows.sum())
        codes = {name: column[rows] for name, column in self.codes.items()}
        floats = {name: column[rows] for name, column in self.floats.items()}
        labels, soft, weights = (
            None if part is None else part[rows] for part in (self.labels, self.responsibilities, self.weights)
        )
        texts = {name: column.take(rows) for name, column in self.texts.items()}
        tokens = {name: column.take(rows) for name, column in self.tokens.items()}
        return Block(count, self.start, codes, floats, labels, soft, weights, texts, tokens)
