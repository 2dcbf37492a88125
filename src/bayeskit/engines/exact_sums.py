"""Exact sums of numbers inside a database, as whole numbers that no order of adding can change.

A pilot finds E with |x| < 2^E for all x. Then y = x · 2^−E is within ±1, and with ⌊·⌉ for rounding

    Σx  = 2^E  · (Σ⌊y·2^53⌉ / 2^53 + Σ⌊(y·2^53 − ⌊y·2^53⌉) · 2^53⌉ / 2^106)
    Σx² = 2^2E · (the same of p = y·y, and Σ⌊(y² − p) · 2^106⌉ / 2^106)

where y² − p, what p loses, is had without loss by splitting y into two halves (Dekker). Each summand fits 54 bits and
each sum 128, so nothing is lost but what is below 2^−106 of the largest number. Plain sums of doubles lost a fifth of a
variance at a mean of 10⁶ deviations; and what was added in one order could not be taken away in another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit.data.numbers import LARGEST
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.dialects import syntax
from bayeskit.dialects.syntax import Node
from bayeskit.engines.grouped_counts import CLASS, GroupedCounts
from bayeskit.errors import BayesError, LostParts
from bayeskit.tally.counts import LARGEST_COUNT
from bayeskit.tally.moments import Moments

BITS = 2.0**53
SPLIT = 2.0**27 + 1  # Veltkamp's: times this, a double falls into two halves
NOTHING = 2.0**-140  # of the largest number: such add nothing to any sum, and their squares would vanish
LEAST_SCALE = -900
COLUMNS = 12  # that one query sums


def refuse_unusable(counts: GroupedCounts, names: Sequence[str]) -> dict[str, float]:
    """The largest size of each column of numbers; infinite and huge ones are refused."""
    largest = dict(zip(names, _extremes(counts, names), strict=True)) if names else {}
    for name, size in largest.items():
        if size > LARGEST:
            what = "infinity or a value too large" if math.isinf(size) else "a value too large (beyond 1e150)"
            raise BayesError(
                f"Input X contains {what} for dtype('float64'): column {name!r} has {size:g} or its negative in some "
                "row. Replace it by a number or by a missing cell.",
                culprit=name,
            )
    return largest


def _extremes(counts: GroupedCounts, names: Sequence[str]) -> list[float]:
    exp = syntax.sqlglot().exp
    step = counts.step({f"x{i}": counts.number(name) for i, name in enumerate(names)})
    columns = [
        syntax.named(exp.Max(this=syntax.called("ABS", syntax.column("s", f"x{i}"))), f"m{i}")
        for i in range(len(names))
    ]
    table = counts.run(_over(columns, step))
    return [float(table[f"m{i}"][0].as_py() or 0.0) for i in range(len(names))]


def refuse_no_counts(counts: GroupedCounts, names: Sequence[str]) -> None:
    """Refuse columns of counts that hold other numbers."""
    exp = syntax.sqlglot().exp
    step = counts.step({f"x{i}": counts.number(name) for i, name in enumerate(names)})
    columns = []
    for i in range(len(names)):
        x = syntax.column("s", f"x{i}")
        odd = syntax.any_of(
            [
                syntax.compared(x, "<", syntax.number(0.0)),
                syntax.compared(x.copy(), ">", syntax.number(LARGEST_COUNT)),
                syntax.compared(x.copy(), "<>", syntax.called("FLOOR", x.copy())),
            ]
        )
        columns.append(syntax.named(exp.Max(this=syntax.case([(odd, x.copy())])), f"m{i}"))
    table = counts.run(_over(columns, step))
    for i, name in enumerate(names):
        if (odd_one := table[f"m{i}"][0].as_py()) is not None:
            raise BayesError(
                f"column {name!r} has {odd_one:g} in some row, which is no count (a whole number from 0). Take it "
                'otherwise: numeric="gaussian", for all columns or for this one.',
                culprit=name,
            )


def exact_moments(
    counts: GroupedCounts, names: Sequence[str], classes: Sequence[Value], largest: Mapping[str, float]
) -> Moments:
    """n, Σx and Σx² (classes, columns), in double-double as everywhere."""
    shape = (len(classes), len(names))
    n = np.zeros(shape, dtype=np.int64)
    sums, squares = np.full(shape, Fraction(0), dtype=object), np.full(shape, Fraction(0), dtype=object)
    position = {label: i for i, label in enumerate(classes)}
    for start in range(0, len(names), COLUMNS):
        part = names[start : start + COLUMNS]
        scales = [_scale(largest[name]) for name in part]
        for row in counts.run(_sums(counts, part, scales)).to_pylist():
            label: Any = canonical(row[CLASS]) if counts.source.target is not None else classes[0]
            for j, scale in enumerate(scales):
                if (row[f"m{j}"] or 0.0) > 1.0:
                    raise LostParts(
                        f"{counts.source.name}: column {part[j]!r} changed while it was counted. Nothing was "
                        "learnt; give an address in place of a connection."
                    )
                at = position[label], start + j
                n[at] = row[f"n{j}"]
                high, low, p_high, p_low, lost = (int(row[f"{kind}{j}"] or 0) for kind in ("a", "b", "p", "q", "e"))
                sums[at] = _shifted(high * 2**53 + low, scale - 106)
                squares[at] = _shifted(p_high * 2**53 + p_low + lost, 2 * scale - 106)
    return Moments.from_sums(n, sums, squares)


def _shifted(integer: int, power: int) -> Fraction:
    return Fraction(integer) * (Fraction(2) ** power)


def _scale(largest: float) -> int:
    """E with |x| < 2^E."""
    return max(math.frexp(largest)[1], LEAST_SCALE) if largest else 0


def _sums(counts: GroupedCounts, names: Sequence[str], scales: Sequence[int]) -> Node:
    """Steps in which each number is taken apart, and the sums of the parts by class."""
    cells = {
        f"y{j}": _scaled(counts.number(name), scale) for j, (name, scale) in enumerate(zip(names, scales, strict=True))
    }
    step = counts.step(cells)
    n = range(len(names))
    label = [] if counts.source.target is None else [(CLASS, _of(CLASS))]
    first: list[tuple[str, Node]] = list(label)
    for j in n:
        y = _of(f"y{j}")
        wide = syntax.times(y, syntax.number(SPLIT))
        first += [
            (f"y{j}", y.copy()),
            (f"v{j}", syntax.times(y.copy(), syntax.number(BITS))),
            (f"p{j}", syntax.times(y.copy(), y.copy())),
            (f"h{j}", syntax.minus(wide, syntax.minus(wide.copy(), y.copy()))),
        ]
    second: list[tuple[str, Node]] = [(name, node.copy()) for name, node in label]
    for j in n:
        low = syntax.minus(_of(f"y{j}"), _of(f"h{j}"))
        lost = syntax.minus(syntax.times(_of(f"h{j}"), _of(f"h{j}")), _of(f"p{j}"))
        both = syntax.times(syntax.times(syntax.number(2.0), _of(f"h{j}")), low)
        scaled_square = syntax.times(_of(f"p{j}"), syntax.number(BITS))
        second += [
            (f"y{j}", _of(f"y{j}")),
            (f"v{j}", _of(f"v{j}")),
            (f"i{j}", syntax.cast(_of(f"v{j}"), "bigint")),
            (f"w{j}", scaled_square),
            (f"k{j}", syntax.cast(scaled_square.copy(), "bigint")),
            (f"e{j}", syntax.plus(syntax.plus(_grouped(lost), both), syntax.times(low.copy(), low.copy()))),
        ]
    steps = _fenced(counts, second, _fenced(counts, first, step))
    exp = syntax.sqlglot().exp
    columns = [syntax.named(node.copy(), name) for name, node in label]
    for j in n:
        rest, rest_of_square = (
            syntax.times(_grouped(syntax.minus(_of(v), syntax.cast(_of(i), "double"))), syntax.number(BITS))
            for v, i in ((f"v{j}", f"i{j}"), (f"w{j}", f"k{j}"))
        )
        lost_bits = syntax.times(_of(f"e{j}"), syntax.number(BITS * BITS))
        parts = {
            "a": _of(f"i{j}"),
            "b": syntax.cast(rest, "bigint"),
            "p": _of(f"k{j}"),
            "q": syntax.cast(rest_of_square, "bigint"),
            "e": syntax.cast(lost_bits, "bigint"),
        }
        columns.append(syntax.named(exp.Count(this=_of(f"y{j}")), f"n{j}"))
        columns.append(syntax.named(exp.Max(this=syntax.called("ABS", _of(f"y{j}"))), f"m{j}"))
        columns += [syntax.named(syntax.cast(exp.Sum(this=node), "text"), f"{kind}{j}") for kind, node in parts.items()]
    query = _over(columns, steps)
    if label:
        query.set("group", exp.Group(expressions=[_of(CLASS)]))
    return query


def _of(name: str) -> Node:
    return syntax.column("s", name)


def _grouped(node: Node) -> Node:
    """In parentheses: sums of doubles are no sums of numbers, and their order counts."""
    return syntax.sqlglot().exp.Paren(this=node)


def _scaled(x: Node, scale: int) -> Node:
    """x · 2^−E, and 0 for what is too small to count."""
    y = syntax.times(x, syntax.number(2.0**-scale))
    small = syntax.compared(syntax.called("ABS", x.copy()), "<", syntax.number(NOTHING * 2.0**scale))
    return syntax.case([(small, syntax.cast(syntax.number(0.0), "double"))], y)


def _fenced(counts: GroupedCounts, columns: Sequence[tuple[str, Node]], step: Node) -> Node:
    """One more step; PostgreSQL would compute its columns again at each of their uses."""
    exp = syntax.sqlglot().exp
    select = _over([syntax.named(node, name) for name, node in columns], step)
    if counts.source.database.dialect.fences:
        select.set("offset", exp.Offset(expression=syntax.whole(0)))
    return select


def _over(columns: Sequence[Node], step: Node) -> Node:
    exp = syntax.sqlglot().exp
    inner = exp.Subquery(this=step, alias=exp.TableAlias(this=syntax.name("s")))
    return exp.Select(expressions=list(columns)).from_(inner)
