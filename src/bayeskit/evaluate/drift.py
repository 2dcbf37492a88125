"""Detect drift: columns with more missing cells or unseen values than the training data suggests.

By the Good–Turing estimate, the expected share of cells with a new value is n₁ / N, the share of values seen once. A
share is reported if it exceeds the expected one by at least 1/20 of the cells and has a probability below 1/1000 over
all columns by Chernoff's bound: n KL(share ‖ expected) > ln(1000 · columns).

Formula: n₁ / N new values (Good and Turing), and when a share is remarkable
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.estimate.information import weighted_log_ratio
from bayeskit.tally.tally import Tally

MORE = 0.05  # of the cells: less is not worth a word
ODDS = 1000.0  # against chance


@dataclass(frozen=True)
class Shift:
    """A column with more missing or unseen cells than the training data suggests."""

    column: str
    what: Literal["missing", "unseen"]
    count: int
    of: int
    expected: float

    @property
    def share(self) -> float:
        """Return the share of the cells."""
        return self.count / self.of


class Drift:
    """Count missing and unseen cells over blocks of new rows and compare them with a model's tally.

    >>> from bayeskit import NaiveBayes, open_source
    >>> model = NaiveBayes().fit({"sky": ["sun", "rain"] * 20}, ["yes", "no"] * 20)
    >>> drift = Drift(model.tally_, model._encoder().vocabularies)
    >>> for block in model._encoder().blocks(open_source({"sky": ["hail", "snow", None, "sun"] * 5})):
    ...     drift.add(block)
    >>> [(shift.column, shift.what, shift.count, shift.of) for shift in drift.shifts()]
    [('sky', 'missing', 5, 20), ('sky', 'unseen', 10, 15)]
    """

    def __init__(self, tally: Tally, vocabularies: Mapping[str, Vocabulary]) -> None:
        self._unseen = {name: vocabulary.unseen for name, vocabulary in vocabularies.items()}
        self._expected_missing, self._expected_new = _expected(tally)
        self._missing: Counter[str] = Counter()
        self._new: Counter[str] = Counter()
        self.n_rows = 0

    def add(self, block: Block) -> None:
        """Count the cells of a block."""
        self.n_rows += block.n_rows
        for name, numbers in block.floats.items():
            self._missing[name] += int(np.count_nonzero(np.isnan(numbers)))
        for name, codes in block.codes.items():
            self._missing[name] += int(np.count_nonzero(codes == 0))
            if name in self._unseen:
                self._new[name] += int(np.count_nonzero(codes == self._unseen[name]))

    def shifts(self) -> list[Shift]:
        """Return the significant shifts in column order."""
        shifts = []
        for name, missing in self._missing.items():
            if name in self._expected_missing:
                shifts.append(Shift(name, "missing", missing, self.n_rows, self._expected_missing[name]))
            if name in self._new and name in self._expected_new:
                present = self.n_rows - missing
                shifts.append(Shift(name, "unseen", self._new[name], present, self._expected_new[name]))
        bound = float(logspace.log(ODDS * max(len(self._missing), 1)))
        return [shift for shift in shifts if shift.of and _is_remarkable(shift, bound)]


def _is_remarkable(shift: Shift, bound: float) -> bool:
    if shift.share < shift.expected + MORE:
        return False
    counts = np.array([shift.count, shift.of - shift.count], dtype=np.float64)
    expected = np.array([shift.expected, 1 - shift.expected])
    return float(weighted_log_ratio(counts, counts / shift.of, expected).sum()) > bound


def _expected(tally: Tally) -> tuple[dict[str, float], dict[str, float]]:
    """Return the expected (share of missing cells, share of new values) of each counted column."""
    missing, new, rows = {}, {}, float(tally.n_rows)
    for name, family in tally.families.items():
        missing[name] = _share(family.missing.sum().item(), rows)
        counts = family.present.sum(axis=0)
        new[name] = _share(float(np.count_nonzero(counts == 1)), counts.sum().item())
    for name in tally.summed:
        missing[name] = _share(rows - tally.moments_of([name]).pooled().n[0, 0].item(), rows)
    for name, distinct in tally.values.items():
        missing[name] = _share(rows - distinct.counts.sum().item(), rows)
    return missing, new


def _share(count: float, of: float) -> float:
    """Return a smoothed share that is neither 0 nor 1."""
    return (max(count, 0.0) + 0.5) / (of + 1)
