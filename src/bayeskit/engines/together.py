"""Counting columns together, block by block: pairs densely, other sets by the rows of values that occur."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.encode import Block
from bayeskit.tally.families import Counts
from bayeskit.tally.joints import Joint, Pairs, Together, check_memory, pair_cells
from bayeskit.tally.plan import Plan

FEWER = (
    'Leave columns out (roles={"name": "ignore"}), cut numbers more coarsely (cuts=), or use NaiveBayes, which counts '
    "each column alone; or raise memory_limit=."
)


@dataclass
class RunningTogether:
    """Growing counts of columns together, in the encoder's codes."""

    plan: Plan
    memory_limit: int | None
    sizes: Mapping[str, int] | None = None
    n_classes: int = 0
    counted: Together | None = None

    def add(self, block: Block, sizes: Mapping[str, int], n_classes: int, n_threads: int) -> None:
        """Count one more block; codes and classes may have grown since the last."""
        if not self.plan.pairs and not self.plan.joints:
            return
        self._check(sizes, n_classes)
        joints = {names: self._joint(names, block, sizes, n_classes, n_threads) for names in self.plan.joints}
        new = Together(self._pairs(block, sizes, n_classes, n_threads), joints)
        if self.counted is not None:
            new = self._grown(sizes, n_classes) + new
        self.counted, self.sizes, self.n_classes = new, sizes, n_classes
        cells = sum(joint.counts.size + joint.cells.size for joint in new.joints.values())
        check_memory("counting columns together", 16.0 * cells, self.memory_limit, FEWER)

    def _check(self, sizes: Mapping[str, int], n_classes: int) -> None:
        """The pairs as they will be, and once more while a block is added to them."""
        wanted = [sizes[name] for name in self.plan.pairs]
        n_bytes = 16.0 * n_classes * pair_cells(wanted)
        what = f"counting all pairs of {len(wanted)} columns ({sum(wanted):,} values in all) in {n_classes} classes"
        check_memory(what, n_bytes, self.memory_limit, FEWER)

    def _grown(self, sizes: Mapping[str, int], n_classes: int) -> Together:
        """What was counted, with room for the new codes and classes."""
        assert self.counted is not None
        assert self.sizes is not None
        slots = {name: _kept(self.sizes[name], size) for name, size in sizes.items()}
        return self.counted.align(_kept(self.n_classes, n_classes), slots)

    def _pairs(self, block: Block, sizes: Mapping[str, int], n_classes: int, n_threads: int) -> Pairs:
        names = self.plan.pairs
        if not names:
            return Together.empty().pairs
        own = tuple(sizes[name] for name in names)
        columns = [block.codes[name] for name in names]
        if block.responsibilities is None:
            assert block.labels is not None
            counts = kernels.count_pairs(columns, own, block.labels, n_classes, block.weights, n_threads)
            return Pairs(names, own, counts)
        tables = [np.zeros((n_classes, 0))]
        for i, a in enumerate(columns):
            for j in range(i + 1, len(columns)):
                cells = (a.astype(np.uint32) * own[j] + columns[j]).astype(np.uint32)
                tables += kernels.count_responsibilities([cells], [own[i] * own[j]], block.responsibilities, n_threads)
        return Pairs(names, own, np.concatenate(tables, axis=1))

    def _joint(
        self, names: tuple[str, ...], block: Block, sizes: Mapping[str, int], n_classes: int, n_threads: int
    ) -> Joint:
        columns = [block.codes[name] for name in names]
        indices, first = kernels.factor_codes(columns, [sizes[name] for name in names])
        counts: Counts
        if block.responsibilities is None:
            assert block.labels is not None
            counts = kernels.count_codes([indices], [len(first)], block.labels, n_classes, block.weights, n_threads)[0]
        else:
            counts = kernels.count_responsibilities([indices], [len(first)], block.responsibilities, n_threads)[0]
        cells = np.stack([column[first].astype(np.uint32) for column in columns], axis=1)
        return Joint.of(names, cells, np.ascontiguousarray(counts.T))


def _kept(old: int, new: int) -> npt.NDArray[np.int64]:
    """Slots 0..old stay, the others are new."""
    index = np.arange(new)
    index[old:] = -1
    return index
