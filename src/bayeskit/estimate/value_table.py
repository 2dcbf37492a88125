"""P(value | class) of one coded column, from its family of counts.

Formula: P(value ∣ class) with missing and unseen values
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.vocabulary import Value
from bayeskit.estimate.smoothing import UNSEEN, Smoothing, probabilities
from bayeskit.tally.families import Family

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ValueTable:
    """Probabilities (classes, slots) and their logs as scores (slots, classes).

    Slot 0 is a missing cell, slots 1..V the values, slot V + 1 a value never seen. A slot that says nothing
    has log probability 0 for all classes and NaN as probability.
    """

    values: tuple[Value, ...]
    probabilities: Floats
    log_table: Floats
    pseudo: Floats  # (slots,): what smoothing added; NaN where a slot takes no part
    used: bool  # False where some class has no distribution: the column is left out for all

    @property
    def n_free(self) -> int:
        """Free parameters in each class."""
        return max(int((~np.isnan(self.pseudo)).sum()) - 1, 0) if self.used else 0


def value_table(
    family: Family, smoothing: Smoothing, class_counts: npt.NDArray[Any], missing: str, unseen: str
) -> ValueTable:
    """The table of a family under a smoothing.

    ``missing="value"`` makes a missing cell one more value where it occurs; ``unseen="smooth"`` makes every
    unseen value one more value with count 0.

    >>> from bayeskit.estimate.smoothing import Laplace
    >>> family = Family(("rain", "sun"), np.array([[0, 2, 0], [1, 1, 1]]))
    >>> value_table(family, Laplace(), np.array([2, 3]), "ignore", "ignore").probabilities[:, 1:3]
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    n_slots, counts = len(family.values) + 2, family.counts
    first = 0 if missing == "value" and bool(family.missing.any()) else 1
    last = n_slots if unseen == "smooth" else n_slots - 1
    if last == n_slots:
        counts = np.concatenate([counts, np.zeros((len(counts), 1), dtype=counts.dtype)], axis=1)
    counts, takes_part = counts[:, first:], slice(first, last)  # the slots that take part stand in a row
    pseudo, p = np.full(n_slots, np.nan), np.full((len(counts), n_slots), np.nan)
    log_table = np.zeros((n_slots, len(counts)))
    used = last > first
    if used:
        pseudo[takes_part] = smoothing.pseudo_counts((None, *family.values, UNSEEN)[takes_part], counts)
        part = probabilities(counts, pseudo[takes_part])
        nowhere = np.asarray(np.isnan(part).any(axis=1))
        used = not nowhere[class_counts > 0].any()
        part[nowhere] = 1 / (last - first)  # a declared class that no row shows
    if used:
        p[:, takes_part], log_table[takes_part] = part, logspace.log(part).T
        if missing == "value" and first == 1 and last == n_slots:
            p[:, 0], log_table[0] = p[:, -1], log_table[-1]
    return ValueTable(family.values, p, log_table, pseudo, used)
