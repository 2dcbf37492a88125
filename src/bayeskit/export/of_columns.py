"""What columns say by themselves, as terms of a scoring form; kinds without one are refused by name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bayeskit.data.schema import DatePart, Schema
from bayeskit.errors import BayesError
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.gaussian import GaussianColumns
from bayeskit.estimate.columns.histogram import Histogram
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.estimate.conditional import ConditionalTable
from bayeskit.export.scoring_form import Coding, Context, ContextTerm, QuadraticTerm, TableTerm, Term, WordsTerm
from bayeskit.remedy import Remedy


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
            f"column {name!r} is {columns.kind}, which has no closed form to carry elsewhere: fit it with ",
            Remedy("numeric", {name: "gaussian"}),
            " or ",
            Remedy("numeric", {name: "histogram"}, short=True),
            culprit=name,
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
            culprit=name,
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
