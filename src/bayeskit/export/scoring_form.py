"""The scoring form: what a fitted model says of a row, as plain numbers that need no bayeskit to be read.

    z_c = base_c + Σ_terms term_c(row)        P(c | row) = exp(z_c / T) / Σ_k exp(z_k / T)

A term reads one column, or a column in the context of others, or the words of a document. Everything that carries a
model elsewhere (SQL, ONNX, JSON) is written from this form, so a model that can say its form can go to all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bayeskit.data.schema import DatePart, Schema
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, format_setting
from bayeskit.estimate.columns.coded import CodedColumns, Histogram
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.estimate.conditional import ConditionalTable
from bayeskit.typing import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Coding:
    """How the cells of a column become codes: 0 is missing, 1 … V are the values, V + 1 is a value never seen.

    A column of numbers has ``cuts`` in place of values: code i is cuts[i − 2] < x ≤ cuts[i − 1], and none is unseen.
    """

    column: str
    values: tuple[Value, ...] = ()
    cuts: tuple[float, ...] | None = None
    refuses_unseen: bool = False

    @property
    def n_codes(self) -> int:
        """Values or intervals."""
        return len(self.values) if self.cuts is None else len(self.cuts) + 1


@dataclass(frozen=True, eq=False)
class TableTerm:
    """A row of a table for each code: ``table`` (codes + 2, classes), first a missing cell, last a value never seen."""

    name: str
    coding: Coding
    table: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.coding.column,)


@dataclass(frozen=True, eq=False)
class QuadraticTerm:
    """constant_c − ½ precision_c (x − mean_c)², all (classes,): a normal density. A missing number says nothing."""

    name: str
    mean: Floats
    precision: Floats
    constant: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.name,)


@dataclass(frozen=True, eq=False)
class LinearTerm:
    """present_c + slope_c (x − center), for a number that is there."""

    name: str
    center: float
    slope: Floats
    present: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.name,)


@dataclass(frozen=True, eq=False)
class Context:
    """Tables of a column where its first parents have some codes.

    ``codes`` (contexts, parents) and ``tables`` (contexts, values, classes).
    """

    codes: Ints
    tables: Floats


@dataclass(frozen=True, eq=False)
class ContextTerm:
    """A column given its parents: the table of the longest context that is known says it.

    ``levels[d]`` holds the contexts of the first d parents; that of none has one table. A cell that is missing or was
    never seen says nothing; neither does a parent, behind which no longer context is known.
    """

    name: str
    coding: Coding
    parents: tuple[Coding, ...]
    levels: tuple[Context, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (self.coding.column, *(parent.column for parent in self.parents))


@dataclass(frozen=True, eq=False)
class WordShares:
    """What words add by their share of a document's length: Σ (1 + ln n) · score / √Σ ((1 + ln n) · length)².

    Single words and runs of several (``runs``) have each a sum and a length of their own; one of length 0 adds nothing.
    """

    lengths: Floats  # (words,)
    runs: Bools  # (words,)
    scores: Floats  # (words, classes)


@dataclass(frozen=True, eq=False)
class WordsTerm:
    """Σ over the words of a document that are known: a weight times how often it stands there.

    With ``presence`` a word counts once. With ``repeats`` a word that stands there n times says
    (1 + ln n) · weight + ln n · repeat. With ``scale`` the sum is divided by the power ``scale`` of the number of
    different known words, and a document without any says nothing: not even ``present``, which others are given.
    ``shares`` are added to that sum, undivided.
    """

    name: str
    words: tuple[str, ...]
    weights: Floats  # (words, classes)
    presence: bool = False
    repeats: Floats | None = None  # (words, classes)
    scale: float = 0.0
    present: Floats | None = None  # (classes,)
    shares: WordShares | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of documents; where words are in a table of their own, none is read."""
        return ()


Term = TableTerm | QuadraticTerm | LinearTerm | ContextTerm | WordsTerm


@dataclass(frozen=True, eq=False)
class ScoringForm:
    """A whole model: classes in order, what is said before any cell, and the terms in the order of the columns.

    ``prior`` (classes,) is what is said where every class is impossible, and None where nothing is; then ``refuses``
    says whether such a row is refused. ``temperature`` divides scores before they become probabilities.
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

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the data that are read, in the order of the terms."""
        return tuple(dict.fromkeys(name for term in self.terms for name in term.columns))

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns whose words are read."""
        return tuple(term.name for term in self.terms if isinstance(term, WordsTerm))


def column_terms(columns: Columns, schema: Schema, refuses_unseen: bool) -> Iterator[Term]:
    """The term of each column of a kind that is used.

    A column of another kind (a kernel density, a Student, a Poisson) has no closed form that every database computes.
    """
    if isinstance(columns, CodedColumns):
        for name in columns.used:
            table = columns.tables[name]
            cuts = table.cuts if isinstance(table, Histogram) else None
            yield TableTerm(name, coding(name, table.values, schema, refuses_unseen, cuts), table.log_table)
    elif isinstance(columns, GaussianColumns):
        mean, precision, constant = columns.normal_form
        for j, name in enumerate(columns.used):
            yield QuadraticTerm(name, mean[:, j], precision[:, j], constant[:, j])
    elif isinstance(columns, TextColumns):
        for name, words in columns.tables.items():
            yield WordsTerm(name, tuple(words.vocabulary.tolist()), words.weights.table)
    elif columns.used:
        name = columns.used[0]
        raise BayesError(
            f"column {name!r} is {columns.kind}, which has no closed form to export",
            hint=f"fit it with {format_setting('numeric', {name: 'gaussian'})} or "
            f"{format_setting('numeric', {name: 'histogram'})}",
        )


def coding(
    name: str,
    values: tuple[object, ...],
    schema: Schema,
    refuses_unseen: bool,
    cuts: tuple[float, ...] | None = None,
) -> Coding:
    """How the cells of a column are read; parts of dates are refused, since databases keep other calendars."""
    role = schema.columns[name]
    if isinstance(role, DatePart):
        raise BayesError(
            f"column {name!r} is a part of the dates of {role.of!r}, which databases read each in a time zone of their "
            "own: make the part a column of the table, and fit on that",
        )
    if cuts is not None:
        return Coding(name, (), tuple(cuts))
    return Coding(name, values, None, refuses_unseen)  # type: ignore[arg-type]


def context_term(name: str, table: ConditionalTable, codings: dict[str, Coding]) -> ContextTerm:
    """A column given its parents, with the codes that lead to each of its contexts."""
    contexts = table.contexts
    codes, sizes = np.zeros((1, 0), dtype=np.int64), [len(level) for level in contexts.counts]
    starts = np.cumsum([0, *sizes])
    flat = table.log_table.reshape(table.n_nodes, len(table.values) + 2, -1)[:, 1:-1]
    levels = [Context(codes, flat[starts[0] : starts[1]])]
    for depth, (step, above) in enumerate(zip(contexts.steps, contexts.above, strict=True), 1):
        last = np.zeros(sizes[depth], dtype=np.int64)
        nodes, slots = np.nonzero(step >= 0)
        last[step[nodes, slots]] = slots
        codes = np.column_stack([codes[above], last])
        levels.append(Context(codes, flat[starts[depth] : starts[depth + 1]]))
    return ContextTerm(name, codings[name], tuple(codings[parent] for parent in table.parents), tuple(levels))
