"""The design matrix: a table as numbers, for models that multiply columns by weights.

A measured column is itself; a coded column is one indicator per value ("full"), or per value but the first
("reference"). A missing cell, and a value never seen, stands at the average of its features, so it adds no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.frames import is_sparse, open_source
from bayeskit.data.reader import NO_ROWS
from bayeskit.data.schema import Schema
from bayeskit.errors import BayesError
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import DEPENDENT, POSITIVE
from bayeskit.typing import Floats

Matrix = Any  # a dense array, or SciPy's CSR where that would be large
DENSE = 1 << 24  # cells of a dense matrix that holds indicators


@dataclass(frozen=True)
class Design:
    """Mapping from a table to a design matrix, with mean and standard deviation of each feature.

    Features are the measured columns in order, then the indicators of each coded column.
    """

    schema: Schema
    columns: tuple[str, ...]  # measured
    values: dict[str, int]  # coded column → number of its values
    skip: int  # 1 where the first value of a coded column is the reference
    mean: Floats
    spread: Floats  # standard deviation; 0 for a constant feature, which is left out

    @classmethod
    def of(cls, tally: Tally, coding: str) -> Design:
        """From counts: means and spreads need no further look at the data."""
        together = tally.moments.pooled()
        n = np.maximum(together.n[0].astype(np.float64), POSITIVE)
        means, spreads = [np.nan_to_num(together.mean()[0])], [np.sqrt(together.squared_deviations()[0] / n)]
        skip = int(coding == "reference")
        for family in tally.families.values():
            counts = family.present.sum(axis=0).astype(np.float64)
            share = counts / max(counts.sum(), POSITIVE)
            means.append(share[skip:])
            spreads.append(np.sqrt(share * (1 - share))[skip:])
        values = {name: len(family.values) for name, family in tally.families.items()}
        return cls(tally.schema, tally.moment_columns, values, skip, np.concatenate(means), np.concatenate(spreads))

    @property
    def n_features(self) -> int:
        """Columns of the matrix."""
        return len(self.mean)

    def spans(self) -> Iterator[tuple[str, slice]]:
        """Each coded column with its features."""
        at = len(self.columns)
        for name, n_values in self.values.items():
            width = max(n_values - self.skip, 0)
            yield name, slice(at, at + width)
            at += width

    def names(self, tally: Tally) -> list[str]:
        """Return the names of the features."""
        coded = (f"{name}={v}" for name, family in tally.families.items() for v in family.values[self.skip :])
        return [*self.columns, *coded]

    def rows(self, block: Block) -> Floats:
        """The matrix of a block (n_rows, n_features)."""
        out = np.empty((block.n_rows, self.n_features))
        for j, name in enumerate(self.columns):
            x = block.floats[name]
            out[:, j] = np.where(np.isnan(x), self.mean[j], x)
        for name, span in self.spans():
            out[:, span] = self.indicators(name, span)[block.codes[name]]
        return out

    def indicators(self, name: str, span: slice) -> Floats:
        """Return the features of each code, shape (n_slots, n_features); missing and unseen codes get the mean."""
        table = np.zeros((self.values[name] + 2, span.stop - span.start))
        table[[0, -1]] = self.mean[span]
        table[np.arange(1 + self.skip, self.values[name] + 1), np.arange(span.stop - span.start)] = 1.0
        return table

    def dense(self, blocks: Iterator[Block]) -> Floats:
        """All rows as one array (n_rows, n_features)."""
        parts = [self.rows(block) for block in blocks]
        if not parts:
            raise BayesError(NO_ROWS)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def matrix(self, blocks: Iterator[Block], n_rows: int) -> Matrix:
        """All rows: dense, or sparse where indicators are many."""
        if not self.values or n_rows * self.n_features <= DENSE:
            return self.dense(blocks)
        from scipy import sparse

        step = max(DENSE // (4 * self.n_features), 1)
        parts = [
            sparse.csr_matrix(self.rows(block.take(np.arange(start, min(start + step, block.n_rows)))))
            for block in blocks
            for start in range(0, block.n_rows, step)
        ]
        return sparse.vstack(parts).tocsr()


def as_it_is(X: Any, design: Design, tally: Tally) -> Matrix | None:
    """The data itself where it is the design matrix already: an array of floats without gaps."""
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or X.ndim != 2 or isinstance(X, np.ma.MaskedArray):
        return None
    if design.values or X.shape[1] != len(design.columns) or not X.flags.c_contiguous:
        return None
    complete = bool((tally.moments.n.sum(axis=0) == tally.class_counts.sum()).all())
    return X if complete else None


def sparse_matrix(X: Any) -> Any:
    """A sparse matrix of numbers as CSR of floats; a stored cell that is not a finite number is refused."""
    if not is_sparse(X):
        raise BayesError("this model was fitted on a sparse matrix; give it one")
    open_source(X)
    matrix = X.tocsr().astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right") - 1)
        raise BayesError(
            f"Input X contains NaN or infinity: row {row} has {matrix.data[bad[0]]} in column "
            f"x{matrix.indices[bad[0]]}. In a sparse matrix every cell is a number."
        )
    return matrix


def collinear(M: Matrix, weights: Floats, mean: Floats, spread: Floats, names: list[str]) -> list[str]:
    """Features that are weighted sums of the others: without a prior, many weights would do equally well."""
    from scipy import linalg

    used = np.flatnonzero(spread > 0)
    if not len(used):
        return []
    gram = np.zeros((len(used), len(used)))
    for start in range(0, M.shape[0], 4096):
        part = M[start : start + 4096]
        part = (part.toarray() if is_sparse(part) else part)[:, used]
        part = (part - mean[used]) / spread[used] * np.sqrt(weights[start : start + 4096])[:, None]
        gram += part.T @ part
    _, r, order = linalg.qr(gram, pivoting=True, mode="economic")
    left = np.abs(np.diag(r))
    rank = int((left > DEPENDENT * left[0]).sum())
    return [names[used[i]] for i in sorted(order[rank:].tolist())]


def collinear_sentence(columns: list[str]) -> str:
    """Return the error message for collinear features."""
    return (
        f"{', '.join(columns[:5])}{', …' if len(columns) > 5 else ''}: collinear, a weighted sum of the other columns, "
        "so the weights are not determined. Leave a column out, or pass a penalty above 0 (a prior decides)."
    )
