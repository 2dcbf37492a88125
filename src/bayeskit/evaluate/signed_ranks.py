"""One model against another over many data sets: wins, Wilcoxon's signed ranks, and the Bayesian signed-rank test.

Wilcoxon's test asks how surprising the differences would be if neither were better. The Bayesian test (Benavoli,
Corani, Mangili, Zaffalon and Ruggeri, 2014) asks what one would like to know: how probable it is that the one is better
on the next data set, the other is, or that they are practically the same, nearer than ``rope``. The weights of the
differences z_1 … z_n, and of a z_0 = 0 that stands for what was not seen, are drawn from a Dirichlet distribution; in
each draw the three cases have the shares

    Σ_ij w_i w_j [z_i + z_j > 2 rope],   Σ_ij w_i w_j [|z_i + z_j| ≤ 2 rope],   Σ_ij w_i w_j [z_i + z_j < −2 rope]

and the case with the largest share wins the draw.

Formula: the Bayesian signed-rank test
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.errors import BayesError
from bayeskit.tolerance import TIE
from bayeskit.typing import Floats

DRAWS = 50_000
UNSEEN = 0.5  # data sets that the z_0 = 0 is worth
AT_A_TIME = 1 << 22  # numbers of a part of the draws


@dataclass(frozen=True)
class Duel:
    """One model against another over data sets; differences are such that above 0 is better for the first.

    ``wins``, ``ties`` and ``losses`` of the first; ``median`` difference; ``p_value`` of Wilcoxon's test (two-sided);
    the probabilities that the first is ``better``, practically the ``same`` (within ``rope``) or ``worse``. With fewer
    than two data sets p-value and probabilities are NaN.
    """

    first: str
    second: str
    measure: str
    wins: int
    ties: int
    losses: int
    median: float
    p_value: float
    better: float
    same: float
    worse: float
    rope: float

    @property
    def sentence(self) -> str:
        """In words."""
        by = self.measure.replace("_", " ")
        told = f"{self.first} against {self.second} by {by}: {self.wins} wins, {self.ties} ties, {self.losses} losses"
        if np.isnan(self.p_value):
            return f"{told}."
        chances = f"better with probability {self.better:.2f}, the same {self.same:.2f}, worse {self.worse:.2f}"
        return f"{told}; Wilcoxon p = {self.p_value:.3g}; {chances}."


def duel(first: str, second: str, measure: str, differences: Any, rope: float = 0.01, random_state: int = 0) -> Duel:
    """The record of differences, one for each data set; NaN, where one of the two has no score, is left out.

    >>> found = duel("a", "b", "accuracy", [0.03, 0.05, -0.02, 0.0, 0.04, 0.06])
    >>> found.wins, found.ties, found.losses, found.better > 0.8
    (4, 1, 1, True)
    """
    z = np.asarray(differences, dtype=np.float64)
    z = z[~np.isnan(z)]
    wins, losses = int((z > TIE).sum()), int((z < -TIE).sum())
    chances = signed_rank_probabilities(z, rope, random_state) if len(z) > 1 else (float("nan"),) * 3
    p_value = wilcoxon(z) if len(z) > 1 else float("nan")
    median = float(np.median(z)) if len(z) else float("nan")
    return Duel(first, second, measure, wins, len(z) - wins - losses, losses, median, p_value, *chances, rope)


def wilcoxon(differences: Floats) -> float:
    """The two-sided p-value of Wilcoxon's signed ranks, as SciPy has it; 1 where nothing differs.

    >>> round(wilcoxon(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), 4)      # 2 / 2⁵
    0.0625
    """
    from scipy.stats import wilcoxon as of_scipy

    z = np.where(np.abs(differences) <= TIE, 0.0, differences)
    return float(of_scipy(z).pvalue) if z.any() else 1.0


def signed_rank_probabilities(
    differences: Floats, rope: float = 0.01, random_state: int = 0, draws: int = DRAWS
) -> tuple[float, float, float]:
    """P(first is better), P(practically the same), P(second is better).

    >>> better, same, worse = signed_rank_probabilities(np.full(20, 0.1))
    >>> better > 0.99, worse
    (True, 0.0)
    """
    if not rope >= 0:
        raise BayesError(f"rope={rope!r}: give a number of at least 0", culprit=rope)
    z = np.append(0.0, differences)
    sums = z[:, None] + z[None]
    regions = np.stack([sums > 2 * rope + TIE, sums < -2 * rope - TIE]).astype(np.float64)
    shape = np.append(UNSEEN, np.ones(len(differences)))
    rng = np.random.default_rng(random_state)
    won, left = np.zeros(3), draws
    while left:
        n = min(left, max(AT_A_TIME // len(z), 1))
        weights = rng.dirichlet(shape, n)
        better, worse = (np.einsum("ni,ni->n", weights @ region, weights) for region in regions)
        shares = np.stack([better, 1 - better - worse, worse])
        won += np.bincount(shares.argmax(axis=0), minlength=3)
        left -= n
    chances = won / draws
    return float(chances[0]), float(chances[1]), float(chances[2])
