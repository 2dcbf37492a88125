"""When a statement holds: for each value of a column, and from there for cells, rows and tables.

Formula: the query language, and when a statement holds
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from bayeskit.data.vocabulary import Value
from bayeskit.errors import QueryError
from bayeskit.nearest import nearest
from bayeskit.network.query.grammar import IS_MISSING, Comparison, Junction, Negation, Query, Statement, Token, leaves
from bayeskit.typing import Array, Bools

TRUE = ({True, False}, {"true", "false"}, {"yes", "no"})


def evaluate(statement: Statement, leaf: Callable[[Comparison], Bools]) -> Bools:
    """Where a statement holds, from where each comparison holds; without recursion, and with few arrays at a time."""
    work: list[Statement | str] = [statement]
    held: list[Bools] = []
    while work:
        one = work.pop()
        if isinstance(one, Comparison):
            held.append(leaf(one))
        elif isinstance(one, Negation):
            work += ["not", one.part]
        elif isinstance(one, Junction):
            for part in reversed(one.parts[1:]):
                work += [one.kind, part]
            work.append(one.parts[0])
        elif one == "not":
            held[-1] = ~held[-1]
        else:
            last = held.pop()
            held[-1] = held[-1] & last if one == "and" else held[-1] | last
    return held[0]


def conjuncts(statement: Statement, negated: bool = False) -> list[Statement]:
    """Statements that hold together exactly where this one (or its negation) does, as many as can be told apart."""
    waiting, parts = [(statement, negated)], []
    while waiting:
        one, flip = waiting.pop()
        if isinstance(one, Negation):
            waiting.append((one.part, not flip))
        elif isinstance(one, Junction) and (one.kind == "and") != flip:
            waiting.extend((part, flip) for part in reversed(one.parts))
        else:
            parts.append(Negation(one) if flip else one)
    return parts


class Domain:
    """The values a column can have; ``cuts`` where they are the intervals between these."""

    def __init__(self, name: str, values: Sequence[Value], cuts: tuple[float, ...] | None = None) -> None:
        self.name, self.values, self.cuts = name, tuple(values), cuts

    @cached_property
    def numeric(self) -> bool:
        """Whether every value is a number, so that they have an order."""
        return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values)

    @cached_property
    def folded(self) -> list[Value]:
        """The values in lower case, where they are texts."""
        return [value.casefold() if isinstance(value, str) else value for value in self.values]

    @cached_property
    def boolean(self) -> bool:
        """Whether the values are true and false, so that the name alone is a statement."""
        return any(set(self.folded) <= pair for pair in TRUE)

    @cached_property
    def _by_number(self) -> dict[float, int]:
        return {v: i for i, v in enumerate(self.values) if not isinstance(v, (str, bool))}

    @cached_property
    def _by_text(self) -> dict[str, int]:
        lower = {str(v).lower(): i for i, v in enumerate(self.values) if isinstance(v, bool)}
        return lower | {str(v): i for i, v in enumerate(self.values)}

    def position(self, token: Token) -> int | None:
        """Which value is meant: as a number where it is one and unquoted, else by its text; None where none is."""
        if token.kind == "word" and self._by_number:
            try:
                return self._by_number[float(token.content)]
            except (ValueError, KeyError):
                pass
        return self._by_text.get(token.content)


def holds(query: Query, comparison: Comparison, domain: Domain, *, so_far: bool = False) -> Bools:
    """For which values of its column a comparison holds; ``so_far``: a value not among them may still come.

    >>> from bayeskit.network.query.grammar import parse
    >>> question = parse("P(age >= 30)")
    >>> holds(question, question.event, Domain("age", (25, 30, 35))).tolist()
    [False, True, True]
    """
    if comparison.op == "true":
        return _is_true(query, comparison, domain)
    if comparison.op in IS_MISSING:
        what = f"{comparison.column!r} is missing nowhere, for here every value is known: ask the data itself"
        raise query.error(comparison.at, what)
    if comparison.op in ("=", "!=", "in", "not in"):
        mask = np.zeros(len(domain.values), dtype=bool)
        for token in comparison.values:
            at = domain.position(token)
            if at is not None:
                mask[at] = True
            elif not so_far:
                meant = nearest(token.content, domain.values)
                raise query.error(token.at, f"{domain.name!r} has no value {token.content!r} ({meant})")
        return ~mask if comparison.op in ("!=", "not in") else mask
    bound = number(query, comparison.values[0], comparison.op)
    if domain.cuts is not None:
        return _beside_cut(query, comparison, domain, bound)
    if not domain.numeric:
        raise query.error(
            comparison.at,
            f"{comparison.op} needs a column of numbers, and {comparison.column!r} has the values "
            f"{_some(domain.values)}",
        )
    return compare(np.array(domain.values, dtype=np.float64), comparison.op, bound)


def compare(numbers: Array, op: str, bound: float) -> Bools:
    """numbers op bound, cell by cell."""
    by = {"=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    return np.asarray(by[op](numbers, bound))


def number(query: Query, token: Token, op: str) -> float:
    """The number a value is; an error where it is none."""
    try:
        bound = float(token.content)
    except ValueError:
        bound = np.nan
    if np.isnan(bound):
        raise query.error(token.at, f"{op} compares numbers, and {token.content!r} is none")
    return bound


def _is_true(query: Query, comparison: Comparison, domain: Domain) -> Bools:
    if not domain.boolean:
        raise query.error(
            comparison.at,
            f"{comparison.column!r} alone is no statement, for it is not boolean: compare it with one of "
            f"{_some(domain.values)}",
        )
    return np.array([value in (True, "true", "yes") for value in domain.folded], dtype=bool)


def _beside_cut(query: Query, comparison: Comparison, domain: Domain, bound: float) -> Bools:
    cuts = domain.cuts or ()
    if comparison.op not in ("<=", ">") or bound not in cuts:
        raise query.error(
            comparison.at,
            f"{comparison.column!r} is known by its intervals only: ask <= or > at one of {_some(cuts)}, "
            f"or for one of {_some(domain.values)}",
        )
    below = np.arange(len(domain.values)) <= cuts.index(bound)
    return below if comparison.op == "<=" else ~below


def _some(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:6])) + (", …" if len(values) > 6 else "")


def unknown_column(query: Query, column: str, known: Sequence[str]) -> QueryError:
    """The error for a name that is no column."""
    sides = [query.event] if query.condition is None else [query.event, query.condition]
    at = next(leaf.at for side in sides for leaf in leaves(side) if leaf.column == column)
    return query.error(at, f"there is no column {column!r} ({nearest(column, known)})")


def check_numbers(query: Query, domain: Domain) -> None:
    """Refuse the mean of what is no number."""
    if domain.cuts is not None or not domain.numeric:
        raise no_mean(query, _some(domain.values))


def no_mean(query: Query, values: str) -> QueryError:
    """The error for the mean of what is no number."""
    name, at = query.event.column, query.event.at  # type: ignore[union-attr]
    return query.error(
        at, f"{name!r} has no mean, for it holds no numbers ({values}): ask P({name} | …) for its values"
    )


def impossible(query: Query) -> QueryError:
    """The error for a condition of probability zero."""
    condition = query.condition_text if len(query.condition_text) < 80 else query.condition_text[:77] + "…"
    return QueryError(f"the condition {condition} has probability 0, so nothing can be said given it")
