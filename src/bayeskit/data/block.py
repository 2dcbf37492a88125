"""Some rows as the kernels read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokens import TokenRows

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32


@dataclass(frozen=True)
class Block:
    """Some rows as the kernels read them: codes, floats and texts by column, labels and weights."""

    n_rows: int
    start: int
    codes: Mapping[str, Codes]
    floats: Mapping[str, npt.NDArray[np.float64]]
    labels: Codes | None = None
    responsibilities: npt.NDArray[np.float64] | None = None
    weights: npt.NDArray[np.float64] | None = None
    texts: Mapping[str, Documents] = field(default_factory=dict)
    tokens: Mapping[str, TokenRows] = field(default_factory=dict)  # in the encoder's words, where it has some
    sequence_starts: npt.NDArray[np.int64] | None = None  # where rows make up sequences: begin of each, and the end

    def take(self, rows: npt.NDArray[Any]) -> Block:
        """These rows alone."""
        count = len(rows) if rows.dtype != bool else int(rows.sum())
        codes = {name: column[rows] for name, column in self.codes.items()}
        floats = {name: column[rows] for name, column in self.floats.items()}
        labels, soft, weights = (
            None if part is None else part[rows] for part in (self.labels, self.responsibilities, self.weights)
        )
        texts = {name: column.take(rows) for name, column in self.texts.items()}
        tokens = {name: column.take(rows) for name, column in self.tokens.items()}
        return Block(count, self.start, codes, floats, labels, soft, weights, texts, tokens)
