"""Worked posterior: the product of prior and factors as done by hand, and its normalization.

    P(c) · Π_j P(x_j | c),   P(c | x) = that / the sum over all classes

Each factor is given as counts, after smoothing, and as a number.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import latex, logspace
from bayeskit.data.block import Block
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.estimate.formulas import LARGEST_FRACTION, SMALLEST, Written, WrittenFactor, probability, product, short
from bayeskit.tables import Figure, Grid, Readable, Sheet
from bayeskit.typing import Floats
from bayeskit.undecidable import Impossible

CHAIN = 14  # factors of a product that stand in a line
MOST_ADDED = 2  # classes whose sum stands below each of them


@dataclass(frozen=True, repr=False)
class Work(Readable, Drawable):
    """Posterior of one row, worked by hand.

    ``prior``: P(class) of each class; ``factors``: one per cell or word; ``left_out``: omitted cells with the reason;
    ``log_joint``: logarithm of the product in each class; ``posterior``; ``undecidable``: every product is zero, and
    the posterior follows the setting ``undecidable``.
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
        """Return the factors of a class, with its prior first."""
        i = self.classes.index(label)
        return (self.prior[i], *(factor.of_class[i] for factor in self.factors))

    def latex(self) -> str:
        """Write the products and the normalization as ``align*`` environments (LaTeX with amsmath).

        Notebooks show it with ``IPython.display.Latex``.
        """
        parts: list[list[str]] = []
        for i, label in enumerate(self.classes):
            factors, name = self.product(label), latex.name(label)
            lines = _align_lines("", [f"P({name})", *(_symbol_latex(f, name) for f in self.factors)])
            if any(factor.counted is not None for factor in factors):
                before = [(factor.counted or factor) for factor in factors]
                lines += _align_lines(
                    r"\stackrel{\text{counted}}{=}", [factor.latex for factor in before], _sum_of(before)
                )
            parts.append(lines + _align_lines("=", [factor.latex for factor in factors], self.log_joint[i]))
        parts.append(self._shares_latex())
        return "\n".join(
            line for lines in parts for line in (r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}")
        )

    def _shares_latex(self) -> list[str]:
        notes, powers = self._shares()
        values = [latex.number(probability(log_p)) for log_p in powers]
        lines = [f"&{latex.name(line)}" for note in notes for line in textwrap.wrap(note, latex.LINE)]
        below = latex.lines(values, "+")
        if len(below) > 1 or len(values) > MOST_ADDED:  # too long to stand below each class
            total = latex.number(probability(float(logspace.log_sum_exp(np.array([powers]))[0])))
            lines += [f"Z &= {below[0]}", *(f"&{line}" for line in below[1:]), f"&= {total}"]
            below = ["Z"]
        for label, value, p in zip(self.classes, values, self.posterior, strict=False):  # none if undecidable
            share = rf"\frac{{{value}}}{{{below[0]}}}"
            lines.append(rf"P({latex.name(label)} \mid x) &= {share} = {latex.number(short(p))}")
        return lines

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        parts: list[str | Grid] = []
        for i, label in enumerate(self.classes):
            factors = self.product(label)
            given = (", ".join((str(label), *factor.given)) for factor in self.factors)
            names = [f"P({label})", *(f"P({f.what} | {g})" for f, g in zip(self.factors, given, strict=True))]
            columns: dict[str, list[Any]] = {f"{self.target} {label}": names}
            is_smoothed = any(factor.counted is not None for factor in factors)
            if is_smoothed:
                plain = (factor.counted for factor in factors)
                columns["counted"] = ["" if p is None else f"{p.text} = {probability(p.log_p)}" for p in plain]
            columns["smoothed" if is_smoothed else "formula"] = [factor.text for factor in factors]
            columns["P"] = [Figure(probability(factor.log_p)) for factor in factors]
            parts += ["", Grid(columns)]
            if is_smoothed:
                before = [factor.counted or factor for factor in factors]
                parts.append(f"product as counted: {_chain(before, _sum_of(before))}")
            parts.append(f"product: {_chain(factors, self.log_joint[i])}")
        parts.append("")
        parts += self._normalized()
        return Sheet(self._head, tuple(parts + [f"left out: {', '.join(self.left_out)}"] * bool(self.left_out)))

    @property
    def _head(self) -> str:
        cells = ", ".join(factor.what for factor in self.factors[:CHAIN] if not factor.absent)
        more = sum(not factor.absent for factor in self.factors) - CHAIN
        return f"{self.target} given {cells or 'nothing'}{f' and {more:,} more' if more > 0 else ''}"

    def _normalized(self) -> list[str]:
        lines, powers = self._shares()
        values = [probability(log_p) for log_p in powers]
        for label, value, p in zip(self.classes, values, self.posterior, strict=False):  # none if undecidable
            lines.append(f"P({label} | x) = {value} / ({' + '.join(values)}) = {short(p)}")
        return lines

    def _shares(self) -> tuple[list[str], list[float]]:
        """Return remarks on the normalization, and the logarithm of each class's numerator."""
        if self.undecidable:
            return ["every product is 0: undecidable; the posterior is what the setting undecidable= makes of it"], []
        powers = [log_p / self.temperature for log_p in self.log_joint]
        notes = [f"each product is taken to the power 1/{self.temperature:g} (temperature)"] * (self.temperature != 1)
        top = max(powers) if max(powers) < SMALLEST else 0.0
        if top:
            notes.append("the products are too small to be written: all are divided by the largest")
        return notes, [log_p - top for log_p in powers]


def build_work(
    model: Any,
    block: Block,
    scores: Floats,
    prior: Sequence[Written],
    factors: Sequence[WrittenFactor],
    left_out: Sequence[str],
) -> Work:
    """Build the record of the one row of a block."""
    posterior, evidence = logspace.normalize(model._tempered(scores))
    Impossible(model.undecidable).settle(posterior, evidence, block.start, logspace.exp(model.params_.log_prior))
    tally = model.tally_
    written = tuple(prior), tuple(factors), tuple(left_out)
    found = tuple(scores[0].tolist()), tuple(posterior[0].tolist()), float(model.temperature)
    return Work(tally.schema.target.name, tuple(tally.classes), *written, *found, bool(np.isneginf(evidence[0])))


def _sum_of(factors: Sequence[Written]) -> float:
    return float(sum(factor.log_p for factor in factors))


def _chain(factors: Sequence[Written], log_p: float) -> str:
    """Format a product: a/b · c/d · … = fraction = number."""
    chain = " · ".join(_shorten([factor.summed for factor in factors], "…"))
    exact = product(factors)
    is_short = exact is not None and exact.numerator and exact.denominator < LARGEST_FRACTION // 1000
    fraction = f" = {exact}" if is_short and len(factors) > 1 else ""
    return f"{chain}{fraction} = {probability(log_p)}"


def _shorten(parts: list[str], dots: str) -> list[str]:
    return parts if len(parts) <= CHAIN else [*parts[: CHAIN - 2], dots, parts[-1]]


def _symbol_latex(factor: WrittenFactor, label: str) -> str:
    given = "".join(f", {latex.name(part)}" for part in factor.given)
    return rf"P({latex.name(factor.what)} \mid {label}{given})"


def _align_lines(sign: str, factors: list[str], log_p: float | None = None) -> list[str]:
    """Return the lines of an ``align*``: a product after its sign, and its value."""
    first, *more = latex.lines(_shorten(factors, r"\cdots"), r"\cdot")
    result = [] if log_p is None else [f"&= {latex.number(probability(log_p))}"]
    return [f"&{sign} {first}", *(f"&{line}" for line in more), *result]
