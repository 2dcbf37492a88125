"""What an NBTree believes, and leave-one-out: a row leaves its class, and the leaf in which it was counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.estimate.leaf_table import LeafTable
from bayeskit.estimate.smoothing import smoothed
from bayeskit.models.base.coded_classifier import CodedLeftOut
from bayeskit.models.nbtree.growth import Routes, Tree, leaf_paths
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Floats

if TYPE_CHECKING:
    from bayeskit.models.nbtree.classifier import NBTree


@dataclass(frozen=True)
class TreeParameters:
    """What an NBTree believes: class prior, leaves (leaves, classes), and a table for each column."""

    log_prior: Floats
    tree: Tree
    leaf_counts: Floats
    leaf_alpha: float
    tables: dict[str, LeafTable]
    values: dict[str, tuple[Value, ...]]
    n_classes: int

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Codes of the values."""
        return {name: Vocabulary(values) for name, values in self.values.items()}

    @cached_property
    def routes(self) -> Routes:
        """The way of rows to their leaves."""
        return Routes(self.tree, self.vocabularies)

    @cached_property
    def paths(self) -> list[list[tuple[str, Value]]]:
        """Columns and values on the way to each leaf."""
        return leaf_paths(self.tree)

    @cached_property
    def speaking(self) -> list[list[str]]:
        """The columns that speak in each leaf: those not on the way to it."""
        return [[name for name in self.tables if name not in {column for column, _ in path}] for path in self.paths]

    @cached_property
    def log_leaf(self) -> Floats:
        """ln P(leaf | class), (leaves, classes)."""
        pseudo_total = self.leaf_alpha * len(self.leaf_counts)
        return np.asarray(
            logspace.log(smoothed(self.leaf_counts, self.leaf_counts.sum(axis=0), self.leaf_alpha, pseudo_total))
        )


class TreeLeftOut(CodedLeftOut):
    """Leave-one-out for an NBTree: a row leaves its class, and the leaf in which it was counted."""

    model: NBTree
    _home: Array  # the leaf of each row, by its values as they were learnt

    def _of_unit(self, block: Block, unit: float) -> Floats:
        self._home = self.model.params_.routes.leaves(block.codes, block.n_rows)
        return super()._of_unit(block, unit)

    def likelihoods(self, block: Block, unit: float) -> tuple[Floats, Floats]:
        params, threads = self.model.params_, thread_count(self.model.n_threads)
        labels = np.asarray(block.labels, dtype=np.int64)
        home = self._home
        scores = np.full((block.n_rows, params.n_classes), -np.inf)
        own_scores = np.full(block.n_rows, -np.inf)
        n_leaves = len(params.leaf_counts)
        of_class = params.leaf_counts.sum(axis=0)[labels] - unit
        for leaf, rows in params.routes.compatible(block.codes, block.n_rows):
            names, mine = params.speaking[leaf], labels[rows]
            some = np.tile(params.log_leaf[leaf], (len(rows), 1))
            codes = {name: np.ascontiguousarray(block.codes[name][rows]) for name in names}
            tables = [params.tables[name].log_table[leaf] for name in names]
            kernels.score_codes(list(codes.values()), tables, some, threads)
            scores[rows] = logspace.log_add_exp(scores[rows], some)
            at_home = np.where(home[rows] == leaf, unit, 0.0)
            count, total = np.maximum(params.leaf_counts[leaf][mine] - at_home, 0.0), np.maximum(of_class[rows], 0.0)
            own_at_leaf = logspace.log(smoothed(count, total, params.leaf_alpha, params.leaf_alpha * n_leaves))
            for name in names:
                own_at_leaf += params.tables[name].left_out(leaf, codes[name], mine, at_home, unit)
            own_scores[rows] = logspace.log_add_exp(own_scores[rows], own_at_leaf)
        return scores, np.tile(own_scores[:, None], (1, params.n_classes))
