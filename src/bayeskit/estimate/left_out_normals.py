"""Multivariate normals without one row: each learnt row scored by the normals made without it.

With d = x − mean, n and S = Σ d dᵀ of the row's own class, a row of weight u leaves

    mean' = mean − u d / (n − u)          x − mean' = d n / (n − u)
    S'    = S − a d dᵀ,  a = u n / (n − u)

so the inverse and the determinant follow from those of S by one product (Sherman and Morrison), and a row costs about
what a prediction costs. Rows with missing cells, shrunk matrices and matrices near singular are taken by the long way:
the covariances of the counts without the row, many rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.numbers import raise_unusable
from bayeskit.errors import NotLearnt
from bayeskit.estimate.covariance import CovarianceRule, Normal, covariances
from bayeskit.estimate.left_out import FAR, highest_floor
from bayeskit.estimate.prior import log_prior_without
from bayeskit.estimate.variance import VarianceFloor
from bayeskit.tally.moments import Moments
from bayeskit.tally.products import pairs, products_of_rows
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, LEAST_REST, NOISE, SINGULAR
from bayeskit.typing import Array, Floats

SEVERAL = 2  # rows of a class with a variance of its own
CELLS = 1 << 20  # numbers of the long way at a time


@dataclass(frozen=True, eq=False)
class NormalsLeftOut:
    """Scores of labelled rows that were learnt, each without itself (rows, classes).

    The ``normal`` is that of the tally by the ``rule``, ``ddof`` and ``floor``, over ``tally.moment_columns``.
    """

    tally: Tally
    normal: Normal
    prior: Any
    rule: CovarianceRule
    ddof: int
    floor: VarianceFloor

    @cached_property
    def products(self) -> Moments:
        """Of all pairs of columns."""
        assert self.tally.products is not None
        return self.tally.products

    def scores(self, block: Block) -> Floats:
        """ln P(x, class) of each row under the estimates made without it."""
        if block.labels is None or (block.labels >= len(self.tally.classes)).any():
            raise NotLearnt("a row to leave out has a class that was never learnt")
        labels = np.asarray(block.labels, dtype=np.int64)
        unit = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        x = np.column_stack([block.floats[name] for name in self.tally.moment_columns])
        raise_unusable({name: block.floats[name] for name in self.tally.moment_columns}, block.start)
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        long = np.ones(block.n_rows, dtype=bool)
        if self._short is not None:
            long = self._short_way(self._short, x, labels, unit, scores)
        rows = np.flatnonzero(long)
        step = max(1, CELLS // (len(self.tally.classes) * x.shape[1] ** 2))
        for some in np.split(rows, range(step, len(rows), step)) if len(rows) else ():
            self._refuse_unlearnt(x[some], labels[some], unit[some], block.start + some)
            scores[some] = self._long_way(x[some], labels[some], unit[some])
        for label in np.unique(labels):
            for u in np.unique(unit[labels == label]):
                scores[(labels == label) & (unit == u)] += self.log_prior(int(label), float(u))
        return scores

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without a row of a class, or a part of one; a class that only the row shows is impossible."""
        return log_prior_without(self.prior, self.tally.classes, self.tally.class_counts, label, unit)

    @cached_property
    def _short(self) -> _Short | None:
        """What the short way needs, where it can be gone: complete, regular, not shrunk."""
        spread, counts = self.normal.spread, self.tally.class_counts.astype(np.float64)
        n, moments = self.products.n, self.tally.moments
        plain = self.rule != "diagonal" and not spread.shrinkage.any() and not spread.lifted.any()
        if not plain or not spread.used.all() or not (n == self.tally.class_counts[:, None]).all():
            return None
        squares, total = moments.squared_deviations(), moments.pooled().squared_deviations()[0]
        freedom = counts - self.ddof
        enough = (freedom > 1.5) & (counts >= SEVERAL) if self.rule == "full" else counts > self.ddof + 1
        with np.errstate(invalid="ignore", divide="ignore"):
            above = squares / counts[:, None] > 10 / LEAST_REST * NOISE * total / counts.sum()
            near = np.abs(moments.mean()) < FAR * np.sqrt(squares / counts[:, None])
        if not enough.all() or not above.all() or not near.all():
            return None
        factor = np.asarray(np.linalg.cholesky(spread.correlation), dtype=np.float64)
        smallest = np.linalg.eigvalsh(spread.correlation)[:, 0]
        log_det = logspace.log(np.diagonal(factor, axis1=1, axis2=2) * spread.deviation).sum(axis=1)
        tied = self.rule == "tied"
        together = np.full(len(counts), freedom.sum()) if tied else freedom
        floor = highest_floor(moments.n, squares, total, self.ddof, self.floor)
        least = np.maximum(2 * SINGULAR / smallest, (2 * floor / spread.deviation**2).max(axis=1))
        if not (least < 0.5).all():
            return None
        return _Short(tied, counts, together, factor, log_det, np.maximum(LEAST_REST, least))

    def _short_way(self, short: _Short, x: Floats, labels: Array, unit: Floats, scores: Floats) -> Array:
        """Fills the scores of the rows that it can take; returns the others."""
        spread, mean = self.normal.spread, self.normal.mean
        rows, k = np.arange(len(x)), x.shape[1]
        z = np.stack(  # (classes, rows, columns), whitened
            [
                np.linalg.solve(short.factor[c], ((x - mean[c]) / spread.deviation[c]).T).T
                for c in range(len(short.counts))
            ]
        )
        q = (z * z).sum(axis=2).T
        n, freedom = short.counts[labels], short.freedom[labels]
        a = unit * n / (n - unit) / freedom  # of Σ
        own_distance = q[rows, labels]
        rest = 1 - a * own_distance
        long: Array = ~(rest > short.least[labels]) | ~(n - unit > SEVERAL) | np.isnan(x).any(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            grown = freedom / (freedom - unit)  # Σ' = grown · (Σ − a d dᵀ)
            half_log = 0.5 * k * logspace.log(grown) + 0.5 * logspace.log(np.where(long, 1.0, rest))
            base = -0.5 * k * logspace.log(2 * np.pi)
            if short.tied:
                across = np.einsum("crk,rk->rc", z, z[labels, rows])
                distance = (q + a[:, None] * across**2 / rest[:, None]) / grown[:, None]
                log_densities = base - short.log_det - half_log[:, None] - 0.5 * distance
            else:
                log_densities = base - short.log_det - 0.5 * q
            lost = (n / (n - unit)) ** 2 * own_distance / rest / grown
            log_densities[rows, labels] = base - short.log_det[labels] - half_log - 0.5 * lost
        scores[~long] = log_densities[~long]
        return long

    def _refuse_unlearnt(self, x: Floats, labels: Array, unit: Floats, at: Array) -> None:
        k = x.shape[1]
        cells = products_of_rows(x, unit).columns(np.arange(k) * (k + 1))
        lacks = self.tally.moments.take(labels).lacks(cells)
        if lacks.any():
            i, j = np.argwhere(lacks)[0]
            column = self.tally.moment_columns[j]
            raise NotLearnt(
                f"row {at[i]} was never learnt: its value of column {column!r} is not among those of "
                f"class {self.tally.classes[labels[i]]!r}. Leave-one-out scores the rows that the model was fitted on."
            )

    def _long_way(self, x: Floats, labels: Array, unit: Floats) -> Floats:
        """The covariances of the counts without each row, and the row's density under them."""
        k, at_label = x.shape[1], (np.arange(len(x)), labels)
        cells = products_of_rows(x, unit)
        diagonal = np.arange(k) * (k + 1)
        left = self.products.take(labels) - cells
        together = self.tally.moments.pooled().take(np.zeros(len(x), dtype=np.int64))
        together = together - cells.columns(diagonal)
        total = together.squared_deviations()
        n, spread = pairs(self.products)
        n, spread = (np.repeat(part.astype(np.float64)[None], len(x), axis=0) for part in (n, spread))
        n[at_label], spread[at_label] = pairs(left)
        mean = np.repeat(self.normal.mean[None], len(x), axis=0)
        mean[at_label] = left.columns(diagonal).mean()
        mean = np.where(np.diagonal(n, axis1=-2, axis2=-1) > 0, mean, together.mean()[:, None, :])
        counts = np.repeat(self.tally.class_counts.astype(np.float64)[None], len(x), axis=0)
        counts[at_label] -= unit
        occurs = counts > GONE * self.tally.n_rows
        held = self.normal.spread.shrinkage
        made = covariances(n, spread, total, occurs, self.rule, self.ddof, held, self.floor)
        present = (~np.isnan(x) & made.used)[:, None, :]
        both = present[..., :, None] & present[..., None, :]
        correlation = np.where(both, made.correlation, np.eye(k))
        with np.errstate(invalid="ignore"):
            d = np.where(present, (x[:, None, :] - mean) / made.deviation, 0.0)
        d = np.where(occurs[:, :, None], d, 0.0)
        factor = np.linalg.cholesky(correlation)
        z = np.linalg.solve(factor, d[..., None])[..., 0]
        constant = logspace.log(np.sqrt(2 * np.pi) * np.diagonal(factor, axis1=-2, axis2=-1) * made.deviation)
        return (-0.5 * z * z - np.where(present, constant, 0.0)).sum(axis=-1)


@dataclass(frozen=True)
class _Short:
    """What the short way knows of each class: rows, degrees of freedom, factors, determinants; and how much of its
    matrix must be left without a row, for that to be regular and above the floor."""

    tied: bool
    counts: Floats
    freedom: Floats
    factor: Floats
    log_det: Floats
    least: Floats
