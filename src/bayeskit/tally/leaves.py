"""Count the rows that reach each leaf of given trees, by class.

The trees are part of what is asked for; they do not change while rows come and go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayeskit import kernels
from bayeskit.data.cells import raise_unusable
from bayeskit.errors import BayesError, NotLearned
from bayeskit.memory import Need, check_memory
from bayeskit.tally.coded_trees import CodedTrees, ColumnCodes
from bayeskit.tally.plan import Recoding, Request, Space, check_file, take_codes
from bayeskit.tally.statistic import BlockCounts, CountArrays, Parts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Counts

FEWER = "Grow fewer trees, or raise the limit."


@dataclass(frozen=True, eq=False)
class LeavesRequest(Request):
    """A request for the leaves of these trees. A file stores the trees with the counts, not with the request."""

    trees: CodedTrees | None = None

    @classmethod
    def of(cls, trees: CodedTrees) -> LeavesRequest:
        """Build a request for all columns of the trees."""
        return cls(Leaves.kind, tuple(trees.coding), trees=trees)

    def is_for(self, other: Request) -> bool:
        """Return True if the other requests leaves of the same trees."""
        return isinstance(other, LeavesRequest) and super().is_for(other) and self.trees == other.trees


@register
@dataclass(frozen=True, eq=False)
class Leaves(CountArrays, Statistic):
    """Counts of the rows that end at each node, (n_nodes, n_classes)."""

    kind = "leaves"
    may_hold_nan = True  # the tables of trees may say that there is none
    trees: CodedTrees
    counts: Counts

    @property
    def request(self) -> Request:
        """Return the request that this statistic answers."""
        return LeavesRequest.of(self.trees)

    @classmethod
    def memory_needed(cls, request: Request, space: Space) -> Need | None:
        """Return twice the table size, to allow for adding a block."""
        n_nodes = trees_of(request).n_nodes
        return Need(f"counting {n_nodes:,} nodes of trees", 16.0 * n_nodes * max(space.n_classes, 1), FEWER)

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        trees = trees_of(request)
        return cls(trees, np.zeros((trees.n_nodes, space.n_classes), space.dtype))

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Send each row of a block through all trees."""
        block, trees = counter.block, trees_of(request)
        if block.responsibilities is not None:
            raise BayesError("one label a row is needed here, not responsibilities")
        raise_unusable(block.floats, block.start)
        values = counter.space.values
        numbers = {name: before for name, before in trees.coding.items() if before.values is None}
        cells = {name: block.floats[name] if name in numbers else block.codes[name] for name in trees.coding}
        coding = {n: numbers[n] if n in numbers else ColumnCodes(tuple(values[n]), True) for n in trees.coding}
        codes = trees.codes(cells, trees.tables(coding), counter.n_threads)
        labels = counter.labels.astype(np.uint32)
        counts = kernels.count_leaves(
            codes, labels, counter.space.n_classes, block.weights, trees.arrays, counter.n_threads
        )
        return cls(trees, counts.astype(counter.space.dtype))

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes; trees keep their own codes."""
        return type(self)(self.trees, take_codes(self.counts, recoding.classes, axis=1))

    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return an error that names the class with too few rows."""
        return NotLearned(f"some of these rows{space.in_class(cell[1])} were not learned; nothing was changed")

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return the statistic unless a column is dropped: trees need all of their columns."""
        return self if set(self.trees.coding) <= set(names) else None

    def to_parts(self) -> Parts:
        """Return the trees, and positions and values of the nonzero counts."""
        columns, arrays = self.trees.to_parts()
        coding = [[name, list(codes.values or ()), codes.missing] for name, codes in self.trees.coding.items()]
        at = np.flatnonzero(self.counts)
        numbers = self.counts.ravel()[at]
        if numbers.dtype.kind == "i" and numbers.max(initial=0) < 2**32:
            numbers = numbers.astype(np.uint32)
        return {"coding": coding, "columns": columns}, [*arrays, at.astype(np.int64), numbers]

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read trees with valid links, and positive counts at distinct positions."""
        *of_trees, at, numbers = arrays
        coding = {
            str(name): ColumnCodes(tuple(values) if name in space.slots else None, missing)
            for name, values, missing in header["coding"]
        }
        known = set(coding) == set(request.columns) and all(type(codes.missing) is bool for codes in coding.values())
        check_file(known, "the trees do not read the columns that were counted")
        trees = CodedTrees.from_parts(coding, header["columns"], of_trees)
        fits = at.dtype == np.int64 and at.ndim == 1 and at.shape == numbers.shape
        size = trees.n_nodes * space.n_classes
        fits = fits and (not len(at) or bool(at[0] >= 0 and at[-1] < size and (at[1:] > at[:-1]).all()))
        check_file(fits, "the counts of leaves do not fit their trees")
        valid = numbers.dtype.kind in ("f" if space.weighted else "iu") and np.isfinite(numbers).all()
        check_file(valid and numbers.min(initial=1) > 0, "the tally holds counts that are negative or no numbers")
        if (whole := cls.memory_needed(LeavesRequest.of(trees), space)) is not None:  # a file holds few of its cells
            check_memory(whole, math.inf)
        counts = np.zeros((trees.n_nodes, space.n_classes), dtype=space.dtype)
        counts.ravel()[at] = numbers
        return cls(trees, counts)

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Check that every tree has counted all rows."""
        start = self.trees.arrays[0][:-1]
        if len(start):
            by_tree = np.add.reduceat(self.counts.astype(np.float64), start, axis=0)
            same = np.allclose(by_tree, class_counts, rtol=ROUNDING, atol=ROUNDING)
            check_file(same, "the leaves of the trees have not counted the rows of the classes")


def trees_of(request: Request) -> CodedTrees:
    """Return the trees of a request."""
    if isinstance(request, LeavesRequest) and request.trees is not None:
        return request.trees
    raise BayesError("leaves are counted for trees that are given")
