"""Count the rows that reach each leaf of given trees, by class.

The trees are part of what is asked for; they do not change while rows come and go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayeskit import kernels
from bayeskit.data.numbers import raise_unusable
from bayeskit.errors import BadFile, BayesError, NotLearnt
from bayeskit.memory import Need, check_memory
from bayeskit.tally.coded_trees import CodedTrees, ColumnCodes
from bayeskit.tally.plan import Request
from bayeskit.tally.space import Recoding, Space, subtract_counts, take_codes
from bayeskit.tally.statistic import Parts, Statistic, register
from bayeskit.tolerance import ROUNDING
from bayeskit.typing import Array, Counts

if TYPE_CHECKING:
    from bayeskit.tally.block_counts import BlockCounts
    from bayeskit.tally.tally import Tally

FEWER = "Grow fewer trees, or raise the limit."


@dataclass(frozen=True)
class LeavesRequest(Request):
    """A request for the leaves of these trees. A file stores the trees with the counts, not with the request."""

    trees: CodedTrees | None = field(default=None, compare=False)

    @classmethod
    def of(cls, trees: CodedTrees) -> LeavesRequest:
        """Build a request for all columns of the trees."""
        return cls(Leaves.kind, tuple(trees.coding), trees=trees)

    def is_for(self, other: Request) -> bool:
        """Return True if the other requests leaves of the same trees."""
        return isinstance(other, LeavesRequest) and super().is_for(other) and self.trees == other.trees

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        return LeavesRequest, (self.kind, self.columns, dict(self.options), self.trees)


@register
@dataclass(frozen=True, eq=False)
class Leaves(Statistic):
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
        cells, coding = coded_cells(trees, block.codes, block.floats, counter.space)
        codes = trees.codes(cells, trees.tables(coding), counter.n_threads)
        labels = counter.labels.astype(np.uint32)
        counts = kernels.count_leaves(
            codes, labels, counter.space.n_classes, block.weights, trees.arrays, counter.n_threads
        )
        return cls(trees, counts.astype(counter.space.dtype))

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts under other classes; trees keep their own codes."""
        return type(self)(self.trees, take_codes(self.counts, recoding.classes, axis=1))

    def plus(self, other: Self) -> Self:
        """Add the counts of both sides."""
        return type(self)(self.trees, self.counts + other.counts)

    def minus(self, other: Self, space: Space, tolerance: float) -> Self:
        """Subtract counts; raise an error for too few rows of a class."""
        left = subtract_counts(self.counts, other.counts, tolerance)
        if (left < 0).any():
            code = int(np.argwhere(left < 0)[0][1])
            raise NotLearnt(f"some of these rows{space.in_class(code)} were not learnt; nothing was changed")
        return type(self)(self.trees, left)

    def as_float(self) -> Self:
        """Return the counts as sums of weights."""
        return type(self)(self.trees, self.counts.astype(np.float64))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Leaves) and self.trees == other.trees and bool(np.array_equal(self.counts, other.counts))
        )

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
        if set(coding) != set(request.columns) or not all(isinstance(codes.missing, bool) for codes in coding.values()):
            raise BadFile("the trees do not read the columns that were counted")
        trees = CodedTrees.from_parts(coding, header["columns"], of_trees)
        fits = at.dtype == np.int64 and at.ndim == 1 and at.shape == numbers.shape
        size = trees.n_nodes * space.n_classes
        if not fits or (len(at) and not (at[0] >= 0 and at[-1] < size and (at[1:] > at[:-1]).all())):
            raise BadFile("the counts of leaves do not fit their trees")
        kinds = ("f",) if space.weighted else ("i", "u")
        if numbers.dtype.kind not in kinds or not np.isfinite(numbers).all() or numbers.min(initial=1) <= 0:
            raise BadFile("the tally holds counts that are negative or no numbers")
        if (whole := cls.memory_needed(LeavesRequest.of(trees), space)) is not None:  # a file holds few of its cells
            check_memory(whole, math.inf)
        counts = np.zeros((trees.n_nodes, space.n_classes), dtype=space.dtype)
        counts.ravel()[at] = numbers
        return cls(trees, counts)

    def check(self, tally: Tally) -> None:
        """Check that every tree has counted all rows."""
        start = self.trees.arrays[0][:-1]
        if len(start):
            by_tree = np.add.reduceat(self.counts.astype(np.float64), start, axis=0)
            if not np.allclose(by_tree, tally.class_counts, rtol=ROUNDING, atol=ROUNDING):
                raise BadFile("the leaves of the trees have not counted the rows of the classes")


def trees_of(request: Request) -> CodedTrees:
    """Return the trees of a request."""
    if isinstance(request, LeavesRequest) and request.trees is not None:
        return request.trees
    raise BayesError("leaves are counted for trees that are given")


def coded_cells(
    trees: CodedTrees, slots: Mapping[str, Any], floats: Mapping[str, Any], space: Space
) -> tuple[dict[str, Any], dict[str, ColumnCodes]]:
    """Return cells of rows, in slots (0 missing) or floats, for the trees, and the coding of the slots."""
    cells, coding = {}, {}
    for name, before in trees.coding.items():
        if before.values is None:
            cells[name], coding[name] = floats[name], before
        else:
            cells[name], coding[name] = slots[name], ColumnCodes(tuple(space.values[name]), True)
    return cells, coding
