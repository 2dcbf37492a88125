"""The structure of the ensemble: what stays as it is when the counts move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit.models.ensemble.boosted_part import BoostedPart
from bayeskit.models.ensemble.class_chains import Steps
from bayeskit.models.ensemble.linear_part import LinearPart
from bayeskit.models.ensemble.members import Members
from bayeskit.models.ensemble.weighed_terms import WeighedTerms
from bayeskit.tally.coded_trees import CodedTrees, ColumnCodes
from bayeskit.typing import Array, Floats

Codes = dict[str, ColumnCodes]


@dataclass(frozen=True, eq=False)
class Structure:
    """What stays as it is when the counts move: cuts, parents, m, steps of chains, trees, line, boosting, exponents.

    Given as ``structure=`` to another fit, it lets models of several places be merged.
    """

    codes: Codes  # in which the steps of chains single out values
    cuts: tuple[dict[str, Floats], ...]  # of each member
    parents: npt.NDArray[np.int32]  # (members, columns, parents)
    m: Floats  # (columns, members, levels)
    steps: Steps
    temperatures: tuple[float, ...]  # of the chains' two means, and of the forests' four
    exponents: Floats  # of the weighed terms
    trees: CodedTrees | None = None  # of both forests; the line reads their codes, too
    line: LinearPart | None = None
    boosting: BoostedPart | None = None  # its trees read the same codes

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(self.codes)

    @property
    def n_trees(self) -> int:
        """Of both forests."""
        return 0 if self.trees is None else len(self.trees)

    @property
    def terms(self) -> WeighedTerms:
        """What is weighed."""
        return WeighedTerms.of(len(self.codes), len(self.cuts), len(self.steps), self.n_trees, self.line is not None)

    @property
    def column_exponents(self) -> Floats:
        """The exponent of each column's factor, 0 where there are no members."""
        n_columns = self.terms.columns
        return self.exponents[:n_columns] if n_columns else np.zeros(len(self.codes))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure) or len(self.cuts) != len(other.cuts):
            return False
        if self.columns != other.columns or self.codes != other.codes or self.trees != other.trees:
            return False
        ours, theirs = self._arrays(), other._arrays()
        return len(ours) == len(theirs) and all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(ours, theirs, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def _arrays(self) -> list[Array]:
        cuts, steps = [mine[name] for mine in self.cuts for name in sorted(mine)], self.steps
        weighed = [np.array(self.temperatures), self.exponents, *(self.line.arrays() if self.line else ())]
        weighed += self.boosting.arrays() if self.boosting else []
        return [*cuts, self.parents, self.m, steps.start, steps.column, steps.m, steps.cuts, *weighed]

    def __repr__(self) -> str:
        return f"Structure({len(self.cuts)} members, {len(self.steps)} chains, {self.n_trees} trees)"

    def members(self, how: Codes) -> Members:
        """The members for columns coded so."""
        return Members.of(self.cuts, self.parents, how)

    def steps_in(self, how: Codes) -> Steps:
        """The steps of chains for columns coded so."""
        return self.steps.recoded(self.codes, how)
