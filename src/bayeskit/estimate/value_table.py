"""P(value | class) of one coded column, from its family of counts."""

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
    n_slots = len(family.values) + 2
    counts = np.concatenate([family.counts, np.zeros((len(family.counts), 1), dtype=family.counts.dtype)], axis=1)
    takes_part = np.ones(n_slots, dtype=bool)
    takes_part[0] = missing == "value" and bool(family.missing.any())
    takes_part[-1] = unseen == "smooth"
    names = [name for name, takes in zip((None, *family.values, UNSEEN), takes_part, strict=True) if takes]
    pseudo, p = np.full(n_slots, np.nan), np.full(counts.shape, np.nan)
    used = bool(takes_part.any())
    if used:
        pseudo[takes_part] = smoothing.pseudo_counts(names, counts[:, takes_part])
        p[:, takes_part] = probabilities(counts[:, takes_part], pseudo[takes_part])
        nowhere = np.isnan(p[:, takes_part]).any(axis=1)
        used = not nowhere[class_counts > 0].any()
        p[np.ix_(nowhere, takes_part)] = 1 / takes_part.sum()  # a declared class that no row shows
    if not used:
        p[:] = np.nan
    elif missing == "value" and not takes_part[0]:
        p[:, 0] = p[:, -1]
    log_table = np.where(np.isnan(p), 0.0, logspace.log(np.nan_to_num(p, nan=1.0))).T
    return ValueTable(family.values, p, np.ascontiguousarray(log_table), pseudo, used)
