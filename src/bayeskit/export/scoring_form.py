"""Scoring form: a fitted model as plain numbers that can be evaluated without bayeskit.

    z_c = base_c + Σ_terms term_c(row)        P(c | row) = exp(z_c / T) / Σ_k exp(z_k / T)

A term reads one column, a column given others, or the words of a document. SQL, ONNX and JSON are all written from this
form, so a model with a scoring form can be exported to all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, format_setting
from bayeskit.estimate.calibration import ScoreMap
from bayeskit.estimate.columns.coded import CodedColumns, Histogram
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.moments import GaussianColumns, LogNormalColumns
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.estimate.conditional import ConditionalTable
from bayeskit.estimate.variance import log_peak
from bayeskit.typing import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Coding:
    """Codes of the cells of a column: 0 is missing, 1 … V are the values, V + 1 is unseen.

    A column of numbers has ``cuts`` in place of values: code i is cuts[i − 2] < x ≤ cuts[i − 1], and none is unseen.
    """

    column: str
    values: tuple[Value, ...] = ()
    cuts: tuple[float, ...] | None = None
    refuses_unseen: bool = False

    @property
    def n_codes(self) -> int:
        """Number of values or intervals."""
        return len(self.values) if self.cuts is None else len(self.cuts) + 1


@dataclass(frozen=True, eq=False)
class Term:
    """A summand of the scores, by default of one column."""

    name: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads."""
        return (self.name,)


@dataclass(frozen=True, eq=False)
class TableTerm(Term):
    """Score by code: ``table`` has shape (n_codes + 2, n_classes), first missing, last unseen."""

    coding: Coding
    table: Floats


@dataclass(frozen=True, eq=False)
class QuadraticTerm(Term):
    """Normal density: constant_c − ½ precision_c (x − mean_c)², each (n_classes,). Missing numbers add 0."""

    mean: Floats
    precision: Floats
    constant: Floats


@dataclass(frozen=True, eq=False)
class LogNormalTerm(QuadraticTerm):
    """Log-normal density: power · (constant_c − ½ precision_c (ln x − mean_c)² − ln x).

    Numbers that are missing, zero or negative add 0; with ``refuses_unseen`` zero and negative numbers are refused.
    """

    power: float
    refuses_unseen: bool

    @property
    def of_logarithm(self) -> QuadraticTerm:
        """Return the part that differs between classes, as a term of ln x."""
        return QuadraticTerm(self.name, self.mean, self.power * self.precision, self.power * self.constant)


@dataclass(frozen=True, eq=False)
class LinearTerm(Term):
    """Linear score: present_c + slope_c (x − center) for a present number."""

    center: float
    slope: Floats
    present: Floats


APART = 100.0  # nats between a mean and the center; differences then keep thirteen decimals


@dataclass(frozen=True, eq=False)
class PolynomialTerm(Term):
    """Polynomial score: constant_c + linear_c (x − center) + square_c (x − center)², each (n_classes,)."""

    center: float
    constant: Floats
    linear: Floats
    square: Floats


def polynomial(term: QuadraticTerm | LinearTerm) -> PolynomialTerm | None:
    """Return a term as a polynomial around a center near the means; None if digits would cancel."""
    if isinstance(term, LinearTerm):
        return PolynomialTerm(term.name, term.center, term.present, term.slope, np.zeros_like(term.slope))
    center, half = float(term.mean.mean()), 0.5 * term.precision
    apart = term.mean - center
    if (half * apart**2).max() > APART:
        return None
    return PolynomialTerm(term.name, center, term.constant - half * apart**2, 2 * half * apart, -half)


@dataclass(frozen=True, eq=False)
class ContextTables:
    """Tables of a column for each combination of codes of its first parents.

    ``codes`` (contexts, parents) and ``tables`` (contexts, values, classes).
    """

    codes: Ints
    tables: Floats


@dataclass(frozen=True, eq=False)
class ContextTerm(Term):
    """Score of a column given its parents, from the longest context that was seen.

    ``levels[d]`` holds the contexts of the first d parents; level 0 has one table. A cell that is missing or unseen
    adds nothing. A row with a known cell and a parent that is missing or unseen is refused: the model sums over the
    values of the parent, which is not a sum of terms.
    """

    coding: Coding
    parents: tuple[Coding, ...]
    levels: tuple[ContextTables, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads."""
        return (self.name, *(parent.column for parent in self.parents))


@dataclass(frozen=True, eq=False)
class WordShares:
    """Length-normalized word scores: Σ (1 + ln n) · score / √Σ ((1 + ln n) · length)².

    Single words and runs of several (``runs``) have each a sum and a length of their own; one of length 0 adds nothing.
    """

    lengths: Floats  # (words,)
    runs: Bools  # (words,)
    scores: Floats  # (words, classes)


@dataclass(frozen=True, eq=False)
class WordsTerm(Term):
    """Sum over the known words of a document: weight times count.

    With ``presence`` a word counts once. With ``repeats`` a word that occurs n times adds
    (1 + ln n) · weight + ln n · repeat. With ``scale`` the sum is divided by the power ``scale`` of the number of
    distinct known words. Documents with known words also get ``present``. ``shares`` are added to that sum, undivided.
    """

    words: tuple[str, ...]
    weights: Floats  # (words, classes)
    presence: bool = False
    repeats: Floats | None = None  # (words, classes)
    scale: float = 0.0
    present: Floats | None = None  # (classes,)
    shares: WordShares | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Return no column: the words are in a table of their own."""
        return ()


@dataclass(frozen=True, eq=False)
class AveragedTerm(Term):
    """Log of the mean over parents of the product of the other columns given each parent (AODE).

    The codes of all columns, missing and unseen included, are slots one after another. ``alone`` (slots, classes) is
    ln P(x | c), ``given[p]`` (codes of p, slots, classes) is ln P(x | c, x_p), 0 for the parent itself, and
    ``is_parent`` (slots,) tells which codes take part as a parent. Rows without a parent get the sum of ``alone``.
    """

    codings: tuple[Coding, ...]
    alone: Floats
    given: tuple[Floats, ...]
    is_parent: Bools

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads."""
        return tuple(one.column for one in self.codings)

    @property
    def starts(self) -> Ints:
        """First slot of each column, and their number."""
        return np.cumsum([0, *(one.n_codes + 2 for one in self.codings)])


@dataclass(frozen=True, eq=False)
class LeavesTerm(Term):
    """Log of the sum over the leaves of a tree of the products of their columns (NBTree).

    ``leaves`` (n_leaves, n_classes) is ln P(leaf | c), and ``tables`` has for each column the scores of its codes in
    the leaves, (n_codes + 2, n_leaves, n_classes): −∞ where a question on the way to the leaf has another answer, 0
    for cells that are missing or unseen and for columns on the way.
    """

    codings: tuple[Coding, ...]
    leaves: Floats
    tables: tuple[Floats, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that it reads."""
        return tuple(one.column for one in self.codings)


@dataclass(frozen=True, eq=False)
class CalibrationCurves:
    """Correction of probabilities: a curve of the log odds of each class (of two classes the second), or a temperature.

    Probabilities from ``n_rows`` rows become (n p + 1) / (n + C); with 0 rows they stay.
    """

    curves: tuple[ScoreMap, ...]
    temperature: float
    n_rows: float


@dataclass(frozen=True, eq=False)
class ScoringForm:
    """A whole model: classes, base scores, and terms in the order of the columns.

    ``prior`` of shape (n_classes,) is the answer for rows that are impossible under every class; if it is None,
    ``refuses_undecidable`` tells whether such a row is an error. ``temperature`` divides scores before they become
    probabilities.
    """

    target: str
    classes: tuple[Value, ...]
    base: Floats  # (classes,)
    terms: tuple[Term, ...]
    prior: Floats | None
    refuses_undecidable: bool = False
    temperature: float = 1.0
    model: str = ""
    notes: Sequence[str] = field(default=())
    calibration: CalibrationCurves | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, in the order of the terms."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.columns))

    @property
    def texts(self) -> tuple[str, ...]:
        """Text columns that are read."""
        return tuple(term.name for term in self.terms if isinstance(term, WordsTerm))


def column_terms(columns: Columns, refuses_unseen: bool) -> Iterator[Term]:
    """Yield the term of each used column of a kind.

    A column of another kind (a kernel density, a Student, a Poisson) has no closed form that every database computes.
    """
    if isinstance(columns, CodedColumns):
        for name in columns.used:
            table = columns.tables[name]
            cuts = table.cuts if isinstance(table, Histogram) else None
            yield TableTerm(name, coding(name, table.values, refuses_unseen, cuts), table.log_table)
    elif isinstance(columns, GaussianColumns):
        mean, precision, constant = columns.normal_form
        for j, name in enumerate(columns.used):
            yield QuadraticTerm(name, mean[:, j], precision[:, j], constant[:, j])
    elif isinstance(columns, LogNormalColumns):
        for name in columns.used:
            of_log, variance = columns.parameters(name).values()
            power = 1.0 if columns.powers is None else float(columns.powers[name])
            yield LogNormalTerm(name, of_log, 1 / variance, log_peak(variance), power, refuses_unseen)
    elif isinstance(columns, TextColumns):
        for name, words in columns.words.items():
            yield WordsTerm(name, tuple(words.tolist()), columns.log_tables[name])
    elif columns.used:
        name = columns.used[0]
        raise BayesError(
            f"column {name!r} is {columns.kind}, which has no closed form to export",
            hint=f"fit it with {format_setting('numeric', {name: 'gaussian'})} or "
            f"{format_setting('numeric', {name: 'histogram'})}",
        )


def coding(
    name: str, values: tuple[object, ...], refuses_unseen: bool, cuts: tuple[float, ...] | None = None
) -> Coding:
    """Return how the cells of a column are read; a part of dates is a column of its own."""
    if cuts is not None:
        return Coding(name, (), tuple(cuts))
    return Coding(name, values, None, refuses_unseen)  # type: ignore[arg-type]


def context_term(name: str, table: ConditionalTable, codings: dict[str, Coding]) -> ContextTerm:
    """Return the term of a column given its parents."""
    contexts = table.contexts
    codes, sizes = np.zeros((1, 0), dtype=np.int64), [len(level) for level in contexts.counts]
    starts = np.cumsum([0, *sizes])
    flat = table.log_table.reshape(table.n_nodes, len(table.values) + 2, -1)[:, 1:-1]
    levels = [ContextTables(codes, flat[starts[0] : starts[1]])]
    for depth, (step, above) in enumerate(zip(contexts.steps, contexts.above, strict=True), 1):
        last = np.zeros(sizes[depth], dtype=np.int64)
        nodes, slots = np.nonzero(step >= 0)
        last[step[nodes, slots]] = slots
        codes = np.column_stack([codes[above], last])
        levels.append(ContextTables(codes, flat[starts[depth] : starts[depth + 1]]))
    return ContextTerm(name, codings[name], tuple(codings[parent] for parent in table.parents), tuple(levels))
