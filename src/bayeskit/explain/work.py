"""Worked posterior: the product of prior and factors as done by hand, and its normalization.

    P(c) · Π_j P(x_j | c),   P(c | x) = that / the sum over all classes

Each factor is given as counts, after smoothing, and as a number.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import latex, logspace
from bayeskit.data.block import Block
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.estimate.formulas import (
    LARGEST_FRACTION,
    SMALLEST,
    Written,
    WrittenFactor,
    probability,
    product,
    short,
    superscript,
)
from bayeskit.settings import check_integer
from bayeskit.tables import Figure, Grid, Readable, Sheet
from bayeskit.typing import Floats
from bayeskit.undecidable import Impossible

CHAIN = 14  # factors of a product that stand in a line
MOST_ADDED = 2  # classes whose sum stands below each of them


class WorkedPosterior(Readable):
    """Base of the worked posteriors: the joint probability of each class and its normalization."""

    target: str
    classes: tuple[Value, ...]
    left_out: tuple[str, ...]
    log_joint: tuple[float, ...]
    posterior: tuple[float, ...]
    temperature: float
    undecidable: bool

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

    def _cells(self, factors: Sequence[WrittenFactor]) -> str:
        cells = ", ".join(factor.what for factor in factors[:CHAIN] if not factor.absent)
        more = sum(not factor.absent for factor in factors) - CHAIN
        return f"{self.target} given {cells or 'nothing'}{f' and {more:,} more' if more > 0 else ''}"

    def _sheet(self, head: str, parts: list[str | Grid]) -> Sheet:
        left_out = [f"left out: {', '.join(self.left_out)}"] * bool(self.left_out)
        return Sheet(head, (*parts, "", *self._normalized(), *left_out))


@dataclass(frozen=True, repr=False)
class Exercise(Readable):
    """A worked posterior with numbered gaps: ``answers`` holds what belongs in them, in order."""

    question: Sheet
    answers: tuple[str, ...]

    @property
    def sheet(self) -> Sheet:
        """Return the sheet for the student."""
        return self.question

    @property
    def key(self) -> str:
        """Return the answer key, one line for each gap."""
        return "\n".join(f"({i}) {answer}" for i, answer in enumerate(self.answers, start=1))


@dataclass(frozen=True, repr=False)
class Work(WorkedPosterior, Drawable):
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
            symbols = [f"P({name})", *(_symbol_latex(factor, name, i) for factor in self.factors)]
            lines = _align_lines(rf"P({name}, x) &=", symbols)
            lines += _align_lines("&=", [factor.latex for factor in factors], self.log_joint[i])
            if any(factor.counted is not None for factor in factors):  # a line of its own: counts are another value
                before = [(factor.counted or factor) for factor in factors]
                lines += _align_lines(r"\text{without smoothing} &:", [f.latex for f in before], _sum_of(before))
            parts.append(lines)
        parts.append(self._shares_latex())
        return _aligned(parts)

    def exercise(self, blank: int | None = None, random_state: int = 0) -> Exercise:
        """Return the work as an exercise with gaps to fill in, and its answer key.

        Parameters
        ----------
        blank : int, optional
            Number of gaps, drawn among the factors, the products and the posterior; None leaves all of them out.
        random_state : int, default=0
            Seed of the draw: another seed makes another exercise from the same row.

        Returns
        -------
        Exercise
            ``print(exercise)`` is the sheet for the student, ``print(exercise.key)`` that for the teacher.

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes(smoothing=0).fit({"sky": ["sun", "sun", "rain"]}, ["yes", "no", "no"])
        >>> exercise = model.work({"sky": "sun"}).exercise(blank=2, random_state=1)
        >>> print(exercise)
        class given sky sun
        <BLANKLINE>
        class no         value
        P(no)            2/3 = 0.666667
        P(sky sun | no)  1/2 = 0.5
        product: 0.333333
        <BLANKLINE>
        class yes         value
        P(yes)            (1) ______
        P(sky sun | yes)  (2) ______
        product: 0.333333
        <BLANKLINE>
        P(no | x) = 0.5
        P(yes | x) = 0.5
        >>> print(exercise.key)
        (1) 1/3 = 0.333333
        (2) 1/1 = 1
        """
        solutions: list[str] = []
        for label, log_p in zip(self.classes, self.log_joint, strict=True):
            solutions += [f"{factor.text} = {probability(factor.log_p)}" for factor in self.product(label)]
            solutions.append(probability(log_p))
        solutions += [] if self.undecidable else [short(p) for p in self.posterior]
        n_gaps = len(solutions) if blank is None else blank
        check_integer("blank", n_gaps, 1, len(solutions))
        gaps = sorted(np.random.default_rng(random_state).choice(len(solutions), n_gaps, replace=False).tolist())
        numbers = {gap: f"({i}) ______" for i, gap in enumerate(gaps, start=1)}
        shown = iter([numbers.get(i, solution) for i, solution in enumerate(solutions)])
        parts: list[str | Grid] = []
        for i, label in enumerate(self.classes):
            names = [f"P({label})", *(_symbol(factor, label, i) for factor in self.factors)]
            parts += ["", Grid({f"{self.target} {label}": names, "value": [next(shown) for _ in names]})]
            parts.append(f"product: {next(shown)}")
        parts += ["", *(f"P({label} | x) = {value}" for label, value in zip(self.classes, shown, strict=False))]
        key = tuple(solutions[gap] for gap in gaps)
        return Exercise(Sheet(self._cells(self.factors), tuple(parts)), key)

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        parts: list[str | Grid] = []
        for i, label in enumerate(self.classes):
            factors = self.product(label)
            names = [f"P({label})", *(_symbol(factor, label, i) for factor in self.factors)]
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
        return self._sheet(self._cells(self.factors), parts)


@dataclass(frozen=True, repr=False)
class AveragedWork(WorkedPosterior):
    """Posterior of one row of a model that averages products, worked by hand.

    ``members``: the :class:`Work` of each product by name, before normalization over the members; ``log_joint``:
    logarithm of their mean in each class; ``posterior``; ``left_out`` and ``undecidable`` as in :class:`Work`.
    """

    target: str
    classes: tuple[Value, ...]
    members: dict[str, Work]
    left_out: tuple[str, ...]
    log_joint: tuple[float, ...]
    posterior: tuple[float, ...]
    temperature: float = 1.0
    undecidable: bool = False

    def latex(self) -> str:
        """Write the terms of each mean and the normalization as ``align*`` environments (LaTeX with amsmath)."""
        parts: list[list[str]] = []
        for i, label in enumerate(self.classes):
            name, lines = latex.name(label), []
            for member, work in self.members.items():
                left = rf"P_{{{latex.name(member)}}}({name}, x) &="
                lines += _align_lines(left, [factor.latex for factor in work.product(label)], work.log_joint[i])
            terms = [latex.number(probability(work.log_joint[i])) for work in self.members.values()]
            first, *more = latex.lines(_shorten(terms, r"\cdots"), "+")
            total = latex.number(probability(self.log_joint[i]))
            lines += [rf"P({name}, x) &= \frac{{1}}{{{len(terms)}}} \Big( {first}", *(f"&{line}" for line in more)]
            lines[-1] += r" \Big)"
            parts.append([*lines, f"&= {total}"])
        return _aligned([*parts, self._shares_latex()])

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        parts: list[str | Grid] = []
        for i, label in enumerate(self.classes):
            products = [_chain(work.product(label), work.log_joint[i]) for work in self.members.values()]
            values = [probability(work.log_joint[i]) for work in self.members.values()]
            columns = {f"{self.target} {label}": [str(member) for member in self.members], "product": products}
            mean = f"({' + '.join(_shorten(values, '…'))})/{len(values)} = {probability(self.log_joint[i])}"
            parts += ["", Grid(columns), f"mean: {mean}"]
        first = next(iter(self.members.values()))
        return self._sheet(self._cells(first.factors), parts)


def build_work(
    model: Any,
    block: Block,
    scores: Floats,
    prior: Sequence[Written],
    factors: Sequence[WrittenFactor],
    left_out: Sequence[str],
    is_member: bool = False,
) -> Work:
    """Build the record of the one row of a block; a member of a mean may be impossible under every class."""
    posterior, evidence = logspace.normalize(model._tempered(scores))
    Impossible("prior" if is_member else model.undecidable).settle(
        posterior, evidence, block.start, logspace.exp(model.params_.log_prior)
    )
    tally = model.tally_
    written = tuple(prior), tuple(factors), tuple(left_out)
    found = tuple(scores[0].tolist()), tuple(posterior[0].tolist()), float(model.temperature)
    return Work(tally.schema.target.name, tuple(tally.classes), *written, *found, bool(np.isneginf(evidence[0])))


def build_averaged_work(
    model: Any,
    block: Block,
    scores: Floats,
    prior: Sequence[Written],
    members: Mapping[str, Sequence[WrittenFactor]],
    left_out: Sequence[str],
) -> AveragedWork:
    """Build the record of the one row of a block, from the factors of each member."""
    works = {}
    for name, factors in members.items():
        products = [[p, *(factor.of_class[i] for factor in factors)] for i, p in enumerate(prior)]
        sums = np.array([[_sum_of(p) for p in products]])
        works[name] = build_work(model, block, sums, prior, factors, left_out, is_member=True)
    whole = build_work(model, block, scores, prior, (), left_out)
    return AveragedWork(
        whole.target, whole.classes, works, whole.left_out, whole.log_joint, whole.posterior, whole.temperature,
        whole.undecidable,
    )  # fmt: skip


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


def _symbol(factor: WrittenFactor, label: Value, i: int) -> str:
    power = superscript(factor.power) if factor.power > 1 else ""
    return f"P({factor.what} | {', '.join((str(label), *factor.condition_of(i)))}){power}"


def _symbol_latex(factor: WrittenFactor, label: str, i: int) -> str:
    given = "".join(f", {latex.name(part)}" for part in factor.condition_of(i))
    power = f"^{{{factor.power}}}" if factor.power > 1 else ""
    return rf"P({latex.name(factor.what)} \mid {label}{given}){power}"


def _align_lines(left: str, factors: list[str], log_p: float | None = None) -> list[str]:
    """Return the lines of an ``align*``: a product after its left side, and its value."""
    first, *more = latex.lines(_shorten(factors, r"\cdots"), r"\cdot")
    result = [] if log_p is None else [f"&= {latex.number(probability(log_p))}"]
    return [f"{left} {first}", *(f"&{line}" for line in more), *result]


def _aligned(parts: Sequence[Sequence[str]]) -> str:
    return "\n".join(line for lines in parts for line in (r"\begin{align*}", " \\\\\n".join(lines), r"\end{align*}"))
