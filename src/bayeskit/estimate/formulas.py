"""Format probabilities as worked formulas: counts as a fraction, a density with its numbers.

Each formula has its value (``log_p``), its text and LaTeX forms, and the unsmoothed fraction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from bayeskit import latex, logspace
from bayeskit.estimate.smoothing import smoothed
from bayeskit.estimate.variance import log_peak

LARGEST_FRACTION = 10**15  # largest readable numerator or denominator
SMALLEST = -690.0  # smallest logarithm that can be printed as a number
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Written(Protocol):
    """Probability or density with its formula."""

    @property
    def log_p(self) -> float:
        """Return the natural logarithm of the value."""

    @property
    def text(self) -> str:
        """Return the formula with its numbers."""

    @property
    def summed(self) -> str:
        """Return the formula with its sums evaluated."""
        return self.text

    @property
    def latex(self) -> str:
        """Return the formula in LaTeX."""

    @property
    def counted(self) -> Share | None:
        """Return the unsmoothed fraction; None without smoothing or without counts."""
        return None

    @property
    def fraction(self) -> Fraction | None:
        """Return the exact value if it is a fraction of integers."""
        return None


@dataclass(frozen=True)
class Share(Written):
    """Smoothed relative frequency ((n + a) / (N + A))^times.

    >>> share = Share(2, 9, 1, 3)
    >>> share.text, share.summed, share.counted.text, share.fraction, round(share.log_p, 6)
    ('(2 + 1)/(9 + 3)', '3/12', '2/9', Fraction(1, 4), -1.386294)
    >>> Share(2, 25, times=2).text
    '(2/25)²'
    """

    count: float
    total: float
    added: float = 0.0
    added_total: float = 0.0
    times: int = 1

    @property
    def log_p(self) -> float:
        p = float(smoothed(self.count, self.total, self.added, self.added_total))
        return float(logspace.log(p)) * self.times

    @property
    def text(self) -> str:
        if self.added_total == 0:
            return self.summed
        share = f"({number(self.count)} + {number(self.added)})/({number(self.total)} + {number(self.added_total)})"
        return share if self.times == 1 else f"({share}){superscript(self.times)}"

    @property
    def latex(self) -> str:
        above, below, added, added_below = (
            latex.number(number(x)) for x in (self.count, self.total, self.added, self.added_total)
        )
        if self.added_total:
            above, below = f"{above} + {added}", f"{below} + {added_below}"
        share = rf"\frac{{{above}}}{{{below}}}"
        return share if self.times == 1 else rf"\left({share}\right)^{{{self.times}}}"

    @property
    def summed(self) -> str:
        above, below = number(self.count + self.added), number(self.total + self.added_total)
        return f"{above}/{below}" if self.times == 1 else f"({above}/{below}){superscript(self.times)}"

    @property
    def counted(self) -> Share | None:
        return Share(self.count, self.total, times=self.times) if self.added_total else None

    @property
    def fraction(self) -> Fraction | None:
        parts = [float(x) for x in (self.count, self.added, self.total, self.added_total)]
        if any(part != int(part) or part > LARGEST_FRACTION for part in parts) or parts[2] + parts[3] == 0:
            return None
        return Fraction(int(parts[0] + parts[1]), int(parts[2] + parts[3])) ** self.times


@dataclass(frozen=True)
class NormalDensity(Written):
    """Normal density exp(−(x − μ)² / 2σ²) / √(2πσ²).

    >>> density = NormalDensity(120.0, 110.0, 2975.0)
    >>> density.text, round(float(logspace.exp(density.log_p)), 6)
    ('exp(−(120 − 110)²/(2 · 2975))/√(2π · 2975)', 0.007192)
    """

    x: float
    mean: float
    variance: float

    @property
    def log_p(self) -> float:
        away = self.x - self.mean
        return float(log_peak(self.variance)) - 0.5 * away * away / self.variance

    @property
    def text(self) -> str:
        variance = number(self.variance)
        mean = number(self.mean) if self.mean >= 0 else f"({number(self.mean)})"
        return f"exp(−({number(self.x)} − {mean})²/(2 · {variance}))/√(2π · {variance})"

    @property
    def latex(self) -> str:
        x, mean, variance = (latex.number(number(x)) for x in (self.x, self.mean, self.variance))
        away = f"{x} - {mean if self.mean >= 0 else f'({mean})'}"
        return rf"\frac{{1}}{{\sqrt{{2\pi \cdot {variance}}}}} e^{{-\frac{{({away})^2}}{{2 \cdot {variance}}}}}"


@dataclass(frozen=True)
class Given(Written):
    """Named number without a formula, such as a given prior or another density."""

    logarithm: float
    name: str = ""

    @property
    def log_p(self) -> float:
        return self.logarithm

    @property
    def text(self) -> str:
        return self.name or number(float(logspace.exp(self.log_p)))

    @property
    def latex(self) -> str:
        return latex.number(probability(self.log_p))


@dataclass(frozen=True)
class WrittenFactor:
    """P(column = value | class, given) in each class; ``absent`` for the probability that a word is absent.

    ``given``: for each class the cells in the condition beside the class; empty if there are none in any class.
    """

    column: str
    value: str
    of_class: tuple[Written, ...]
    given: tuple[tuple[str, ...], ...] = ()
    absent: bool = False

    def condition_of(self, i: int) -> tuple[str, ...]:
        """Return the cells in the condition beside class i."""
        return self.given[i] if self.given else ()

    @property
    def power(self) -> int:
        """Return how often the factor occurs, such as a word that is repeated."""
        return max((getattr(written, "times", 1) for written in self.of_class), default=1)

    @property
    def what(self) -> str:
        """Return the event of the probability, with ¬ before an absent word."""
        return " ".join(filter(None, (self.column, f"¬{self.value}" if self.absent else self.value)))


def superscript(power: int) -> str:
    """Format an exponent.

    >>> superscript(12)
    '¹²'
    """
    return str(power).translate(_SUPERSCRIPTS)


def product(factors: Sequence[Written]) -> Fraction | None:
    """Return the exact product of fractions if it is readable; else None.

    >>> product([Share(1, 2), Share(2, 3)])
    Fraction(1, 3)
    """
    result = Fraction(1)
    for factor in factors:
        fraction = factor.fraction
        if fraction is None:
            return None
        result *= fraction
        if result.denominator > LARGEST_FRACTION:
            return None
    return result


def probability(log_p: float) -> str:
    """Format a probability from its logarithm, however small; "none" for 0/0.

    >>> probability(-1386.294361), probability(-math.inf), probability(math.nan), probability(0.0)
    ('10^-602', '0', 'none', '1')
    """
    if math.isnan(log_p):
        return "none"
    if -math.inf < log_p < SMALLEST:
        return f"10^{log_p / logspace.log(10.0):.0f}"
    return short(float(logspace.exp(log_p)))


def short(p: float) -> str:
    """Format a number with six digits; "1" only if it is exactly 1."""
    return "above 0.999999" if 0.9999995 <= p < 1 else f"{p:.6g}"


def number(x: Any) -> str:
    """Format a number: integers without decimals, others with six digits.

    >>> number(9.0), number(746.6666667), number(-2), number(0.25)
    ('9', '746.667', '−2', '0.25')
    """
    x = float(x)
    text = str(int(x)) if math.isfinite(x) and x == int(x) and abs(x) < LARGEST_FRACTION else f"{x:.6g}"
    return text.replace("-", "−")
