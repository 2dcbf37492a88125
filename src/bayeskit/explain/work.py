"""The work behind a posterior: the product factor by factor, as it is done by hand, and its normalisation.

    P(c) · Π_j P(x_j | c),   P(c | x) = that / the sum over all classes

A factor stands as counts, as what smoothing makes of them, and as a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.sheet import Figure, Grid, Readable, Sheet
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.estimate.formulas import LARGEST_FRACTION, Written, WrittenFactor, product
from bayeskit.printable import printable
from bayeskit.tally.tally import Tally
from bayeskit.undecidable import Impossible

Floats = npt.NDArray[np.float64]
CHAIN = 14  # factors of a product that stand in a line
SMALLEST = -690.0  # logarithms of numbers that can still be written
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "¬": r"$\neg$", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Work(Readable, Drawable):
    """The posterior of one row, worked by hand.

    ``prior``: P(class) of each class as it is written out; ``factors``: one for each cell, or word, that speaks;
    ``left_out``: what says nothing and why; ``log_joint``: ln of the product in each class; ``posterior``;
    ``undecidable``: every product is zero, and the posterior that of the setting ``undecidable``.
    """

    target: str
    classes: tuple[Value, ...]
    prior: tuple[Written, ...]
    factors: tuple[WrittenFactor, ...]
    left_out: tuple[str, ...]
    log_joint: tuple[float, ...]
    posterior: tuple[float, ...]
    temperature: float = 1.0
    undecidable: bool = False

    def product(self, label: Any) -> tuple[Written, ...]:
        """The factors of a class, its prior first."""
        i = self.classes.index(label)
        return (self.prior[i], *(factor.of_class[i] for factor in self.factors))

    def latex(self) -> str:
        """An ``align*`` of all of it, for LaTeX with amsmath; notebooks show it by ``IPython.display.Latex``."""
        lines: list[str] = []
        for i, label in enumerate(self.classes):
            factors, name = self.product(label), _name(label)
            parts = _shortened([f"P({name})", *(self._symbol_latex(f, name) for f in self.factors)], r"\cdots")
            lines.append("& " + r" \cdot ".join(parts))
            before = [(factor.counted or factor) for factor in factors]
            if any(factor.counted is not None for factor in factors):
                counted = r" \cdot ".join(_shortened([factor.latex for factor in before], r"\cdots"))
                lines.append(rf"&\stackrel{{\text{{counted}}}}{{=}} {counted} = {_power_of_ten(_sum_of(before))}")
            filled = r" \cdot ".join(_shortened([factor.latex for factor in factors], r"\cdots"))
            lines += [f"&= {filled}", f"&= {_power_of_ten(self.log_joint[i])}"]
        if not self.undecidable and self.temperature == 1:
            all_of = " + ".join(_power_of_ten(log_p) for log_p in self.log_joint)
            for label, log_p, p in zip(self.classes, self.log_joint, self.posterior, strict=True):
                share = rf"\frac{{{_power_of_ten(log_p)}}}{{{all_of}}}"
                lines.append(rf"P({_name(label)} \mid x) &= {share} = {_short(p)}")
        return "\n".join([r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}"])

    @staticmethod
    def _symbol_latex(factor: WrittenFactor, label: str) -> str:
        given = "".join(f", {_name(part)}" for part in factor.given)
        return rf"P({_name(factor.what)} \mid {label}{given})"

    @property
    def sheet(self) -> Sheet:
        """A grid and a product for each class, then the normalisation."""
        parts: list[str | Grid] = []
        for i, label in enumerate(self.classes):
            factors = self.product(label)
            names = [f"P({label})", *(_symbol(factor, label) for factor in self.factors)]
            columns: dict[str, list[Any]] = {f"{self.target} {label}": names}
            is_smoothed = any(factor.counted is not None for factor in factors)
            if is_smoothed:
                columns["counted"] = [_counted(factor) for factor in factors]
            columns["smoothed" if is_smoothed else "formula"] = [factor.text for factor in factors]
            columns["P"] = [Figure(_value(factor.log_p)) for factor in factors]
            parts += ["", Grid(columns)]
            if is_smoothed:
                before = [factor.counted or factor for factor in factors]
                parts.append(f"product as counted: {_chain(before, _sum_of(before))}")
            parts.append(f"product: {_chain(factors, self.log_joint[i])}")
        parts.append("")
        parts += self._normalised()
        return Sheet(self._head, tuple(parts + [f"left out: {', '.join(self.left_out)}"] * bool(self.left_out)))

    @property
    def _head(self) -> str:
        cells = ", ".join(factor.what for factor in self.factors[:CHAIN] if not factor.absent)
        more = sum(not factor.absent for factor in self.factors) - CHAIN
        return f"{self.target} given {cells or 'nothing'}{f' and {more:,} more' if more > 0 else ''}"

    def _normalised(self) -> list[str]:
        if self.undecidable:
            return ["every product is 0: undecidable; the posterior is what the setting undecidable= makes of it"]
        powers = [log_p / self.temperature for log_p in self.log_joint]
        lines = [f"each product is taken to the power 1/{self.temperature:g} (temperature)"] * (self.temperature != 1)
        top = max(powers) if max(powers) < SMALLEST else 0.0
        if top:
            lines.append("the products are too small to be written: all are divided by the largest")
        values = [_value(log_p - top) for log_p in powers]
        for label, value, p in zip(self.classes, values, self.posterior, strict=True):
            lines.append(f"P({label} | x) = {value} / ({' + '.join(values)}) = {_short(p)}")
        return lines


class Worked(Protocol):
    """What the work asks of a fitted model."""

    undecidable: str
    temperature: float

    @property
    def tally_(self) -> Tally: ...
    @property
    def params_(self) -> Any: ...
    def tempered(self, scores: Floats) -> Floats:
        """Log scores as they become probabilities."""
        ...


def work_of(
    model: Worked,
    block: Block,
    scores: Floats,
    prior: Sequence[Written],
    factors: Sequence[WrittenFactor],
    left_out: Sequence[str],
) -> Work:
    """The record of the one row of a block, its scores and how they come about."""
    posterior, evidence = logspace.normalise(model.tempered(scores))
    Impossible(model.undecidable).settle(posterior, evidence, block.start, logspace.exp(model.params_.log_prior))
    tally = model.tally_
    return Work(
        tally.schema.target.name,
        tuple(tally.classes),
        tuple(prior),
        tuple(factors),
        tuple(left_out),
        tuple(scores[0].tolist()),
        tuple(posterior[0].tolist()),
        float(model.temperature),
        bool(np.isneginf(evidence[0])),
    )


def _symbol(factor: WrittenFactor, label: Value) -> str:
    return f"P({factor.what} | {', '.join((str(label), *factor.given))})"


def _counted(factor: Written) -> str:
    plain = factor.counted
    return "" if plain is None else f"{plain.text} = {_value(plain.log_p)}"


def _sum_of(factors: Sequence[Written]) -> float:
    logs = [factor.log_p for factor in factors]
    return math.nan if any(math.isnan(log_p) for log_p in logs) else float(sum(logs))


def _chain(factors: Sequence[Written], log_p: float) -> str:
    """a/b · c/d · … = fraction = number"""
    chain = " · ".join(_shortened([factor.summed for factor in factors], "…"))
    exact = product(factors)
    is_short = exact is not None and exact.numerator and exact.denominator < LARGEST_FRACTION // 1000
    fraction = f" = {exact}" if is_short and len(factors) > 1 else ""
    return f"{chain}{fraction} = {_value(log_p)}"


def _shortened(parts: list[str], dots: str) -> list[str]:
    return parts if len(parts) <= CHAIN else [*parts[: CHAIN - 2], dots, parts[-1]]


def _value(log_p: float) -> str:
    """A probability from its logarithm, however small; none where it is 0/0.

    >>> _value(-1386.294361), _value(-math.inf), _value(math.nan), _value(0.0)
    ('10^-602', '0', 'none', '1')
    """
    if math.isnan(log_p):
        return "none"
    if -math.inf < log_p < SMALLEST:
        return f"10^{log_p / logspace.log(10.0):.0f}"
    return _short(float(logspace.exp(log_p)))


def _short(p: float) -> str:
    """A number with six digits; 1 only where it is."""
    return "above 0.999999" if 0.9999995 <= p < 1 else f"{p:.6g}"


def _power_of_ten(log_p: float) -> str:
    """The same for LaTeX."""
    text = _value(log_p).replace("10^", "1e")
    digits, _, power = text.partition("e")
    return text if not power else rf"{digits} \cdot 10^{{{int(power)}}}"


def _name(text: object) -> str:
    """A name inside a formula."""
    escaped = "".join(_LATEX.get(letter, letter) for letter in printable(str(text), keep=""))
    return rf"\text{{{escaped}}}"
