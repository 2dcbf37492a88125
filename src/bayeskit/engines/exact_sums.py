"""Exact sums of numbers, and of their products, inside a database: whole numbers that no order of adding can change.

A pilot finds E with |x| < 2^E for all x. Then y = x · 2^−E is within ±1, and with ⌊·⌉ for rounding

    Σx   = 2^E     · (Σ⌊y·2^53⌉ / 2^53 + Σ⌊(y·2^53 − ⌊y·2^53⌉) · 2^53⌉ / 2^106)
    Σx·z = 2^(E+F) · (the same of p = y·v, and Σ⌊(y·v − p) · 2^106⌉ / 2^106)

where y·v − p, what p loses, is had without loss by splitting y and v into two halves (Dekker). A weight is one factor
more, and what is lost twice is added up. Each summand fits 54 bits and each sum 128, so nothing is lost but what is
below 2^−106 of the largest number. Plain sums of doubles lost a fifth of a variance at a mean of 10⁶ deviations; and
what was added in one order could not be taken away in another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from bayeskit.data.numbers import LARGEST
from bayeskit.data.source import HEAVIEST, LIGHTEST
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
TOGETHER = 36  # sums of one query


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


def weight_scale(counts: GroupedCounts) -> int | None:
    """E with w < 2^E for all weights, whose sums are exact in 106 bits; None where rows have none.

    Weights that are none are refused, and such as lie too far apart to be summed exactly.
    """
    if (name := counts.source.weight) is None:
        return None
    exp, w = syntax.sqlglot().exp, syntax.column("s", "w")
    over_zero = syntax.case([(syntax.compared(w, ">", syntax.number(0.0)), w.copy())])
    parts = {
        "n": exp.Count(this=exp.Star()),
        "there": exp.Count(this=w.copy()),
        "least": exp.Min(this=w.copy()),
        "light": exp.Min(this=over_zero),
        "most": exp.Max(this=w.copy()),
    }
    step = counts.step({"w": counts.weight()})
    table = counts.run(_over([syntax.named(node, part) for part, node in parts.items()], step))
    n, there, least, light, most = (table[part][0].as_py() for part in parts)
    if there < n:
        raise BayesError(f"some row has no weight: column {name!r} is missing there", culprit=name)
    for weight in (least, light, most):
        if weight and not LIGHTEST <= weight <= HEAVIEST:
            raise BayesError(
                f"column {name!r} has weight {weight:g} in some row; weights are 0 or from {LIGHTEST:g} to "
                f"{HEAVIEST:g}: scale them",
                culprit=name,
            )
    scale = math.frexp(most or 0.0)[1]
    if light is not None and light < 2.0 ** (scale - 54):
        raise BayesError(
            f"column {name!r} has weights from {light:g} to {most:g}, too far apart for exact sums inside a database: "
            "read the rows, without push=True",
            culprit=name,
        )
    return scale


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


@dataclass(frozen=True)
class Sum:
    """Σ of the product of some columns, over the rows where these and those beside are there; of none, their number."""

    factors: tuple[str, ...]
    beside: tuple[str, ...] = ()


def exact_moments(
    counts: GroupedCounts, names: Sequence[str], classes: Sequence[Value], largest: Mapping[str, float]
) -> Moments:
    """n, Σx and Σx² (classes, columns), in double-double as everywhere."""
    return _moments(counts, [(Sum((), (x,)), Sum((x,)), Sum((x, x))) for x in names], classes, largest)


def exact_products(
    counts: GroupedCounts, names: Sequence[str], classes: Sequence[Value], largest: Mapping[str, float]
) -> Moments:
    """n, Σx_i and Σx_i·x_j (classes, columns · columns) over the rows where both are there."""
    pairs = [(a, b) for a in names for b in names]
    cells = [
        (Sum((), tuple(sorted({a, b}))), Sum((a,), () if a == b else (b,)), Sum((min(a, b), max(a, b))))
        if a != b
        else (Sum((), (a,)), Sum((a,)), Sum((a, a)))
        for a, b in pairs
    ]
    return _moments(counts, cells, classes, largest)


def _moments(
    counts: GroupedCounts,
    cells: Sequence[tuple[Sum, Sum, Sum]],
    classes: Sequence[Value],
    largest: Mapping[str, float],
) -> Moments:
    """Each of three sums for each cell (classes, cells)."""
    wanted = list(dict.fromkeys(one for cell in cells for one in cell))
    totals: dict[Sum, list[Fraction]] = {}
    for start in range(0, len(wanted), TOGETHER):
        totals |= _totals(counts, wanted[start : start + TOGETHER], classes, largest)
    parts = [[[totals[cell[k]][c] for cell in cells] for c in range(len(classes))] for k in range(3)]
    n, sums, squares = (np.array(part, dtype=object).reshape(len(classes), len(cells)) for part in parts)
    return Moments.from_sums(n if counts.weight_scale is not None else n.astype(np.int64), sums, squares)


def _totals(
    counts: GroupedCounts, sums: Sequence[Sum], classes: Sequence[Value], largest: Mapping[str, float]
) -> dict[Sum, list[Fraction]]:
    """Each sum by class."""
    query = _Query(counts, sums, largest)
    position = {label: i for i, label in enumerate(classes)}
    totals = {one: [Fraction(0)] * len(classes) for one in sums}
    for row in counts.run(query.node()).to_pylist():
        label: Any = canonical(row[CLASS]) if counts.source.target is not None else classes[0]
        for i, name in enumerate(query.columns):
            if (row[f"m{i}"] or 0.0) > 1.0:
                raise LostParts(
                    f"{counts.source.name}: column {name!r} changed while it was counted. Nothing was "
                    "learnt; give an address in place of a connection."
                )
        if label in position:  # else it has rows of weight zero alone
            for j, one in enumerate(sums):
                totals[one][position[label]] = query.total(row, j)
    return totals


class _Query:
    """The query of some sums: steps in which each number is taken apart, and the sums of the parts by class."""

    def __init__(self, counts: GroupedCounts, sums: Sequence[Sum], largest: Mapping[str, float]) -> None:
        self.counts, self.sums = counts, sums
        self.columns = list(dict.fromkeys(name for one in sums for name in (*one.factors, *one.beside)))
        self.scales = {name: _scale(largest[name]) for name in self.columns}
        self._at = {name: i for i, name in enumerate(self.columns)}

    def total(self, row: Mapping[str, Any], j: int) -> Fraction:
        """A sum, of the whole numbers that the database has added up."""
        high, low, lost = (int(row.get(f"{kind}{j}") or 0) for kind in "abc")
        weight, factors = self.counts.weight_scale, self.sums[j].factors
        if weight is None and not factors:
            return Fraction(high)
        scale = sum(self.scales[name] for name in factors) + (weight or 0)
        return Fraction(high * 2**53 + low + lost) * Fraction(2) ** (scale - 106)

    def node(self) -> Node:
        """The query."""
        exp = syntax.sqlglot().exp
        scaled = {f"y{i}": _scaled(self.counts.number(x), self.scales[x]) for i, x in enumerate(self.columns)}
        held, step = list(scaled), self.counts.step(scaled | self.counts.weight_cell())
        label = [] if self.counts.source.target is None else [CLASS]
        held += [*label, *self.counts.weight_cell()]

        def fenced(new: Mapping[str, Node]) -> None:
            nonlocal step
            columns = [*((name, _of(name)) for name in held), *new.items()]
            step = _fenced(self.counts, columns, step)
            held.extend(new)

        factors = [self._factors(one) for one in self.sums]
        products = list(dict.fromkeys(parts[-2:] for parts in factors if len(parts) > 1))
        triples = list(dict.fromkeys(parts for parts in factors if len(parts) > 2))
        if products:
            fenced({f"h{a}": _high(_of(a)) for a in dict.fromkeys(a for parts in (*products, *triples) for a in parts)})
            fenced({f"p{a}{b}": syntax.times(_of(a), _of(b)) for a, b in products})
            fenced({f"e{a}{b}": _lost(a, b, f"p{a}{b}") for a, b in products})
        if triples:
            fenced({f"hp{b}{c}": _high(_of(f"p{b}{c}")) for _, b, c in triples})
            fenced({f"p{a}{b}{c}": syntax.times(_of(a), _of(f"p{b}{c}")) for a, b, c in triples})
            twice = {(a, b, c): syntax.times(_of(a), _of(f"e{b}{c}")) for a, b, c in triples}
            fenced(
                {
                    f"e{a}{b}{c}": syntax.plus(_lost(a, f"p{b}{c}", f"p{a}{b}{c}"), again)
                    for (a, b, c), again in twice.items()
                }
            )
        values = {j: self._value(one, parts) for j, (one, parts) in enumerate(zip(self.sums, factors, strict=True))}
        wide = {f"v{j}": syntax.times(node, syntax.number(BITS)) for j, node in values.items() if factors[j]}
        fenced(wide)
        fenced({f"i{name}": syntax.cast(_of(name), "bigint") for name in wide})
        columns = [syntax.named(_of(name), name) for name in label]
        sizes = {f"m{i}": syntax.called("ABS", _of(f"y{i}")) for i in range(len(self.columns))}
        columns += [syntax.named(exp.Max(this=size), name) for name, size in sizes.items()]
        for j, parts in enumerate(factors):
            if not parts:
                columns.append(syntax.named(exp.Count(this=values[j]), f"a{j}"))
                continue
            whole, rest = _of(f"iv{j}"), syntax.minus(_of(f"v{j}"), syntax.cast(_of(f"iv{j}"), "double"))
            limbs = {"a": whole, "b": syntax.cast(syntax.times(_grouped(rest), syntax.number(BITS)), "bigint")}
            if len(parts) > 1:
                lost = syntax.times(_of("e" + "".join(parts)), syntax.number(BITS * BITS))
                limbs["c"] = syntax.cast(lost, "bigint")
            columns += [syntax.named(syntax.cast(exp.Sum(this=n), "text"), f"{kind}{j}") for kind, n in limbs.items()]
        query = _over(columns, step)
        if label:
            query.set("group", exp.Group(expressions=[_of(CLASS)]))
        return query

    def _factors(self, one: Sum) -> tuple[str, ...]:
        """The cells whose product is summed, the weight first."""
        return (*self.counts.weight_cell(), *(f"y{self._at[name]}" for name in one.factors))

    def _value(self, one: Sum, parts: tuple[str, ...]) -> Node:
        """What is summed of a row; NULL where a cell is missing."""
        value = syntax.whole(1) if not parts else _of(parts[0] if len(parts) == 1 else "p" + "".join(parts))
        absent = [syntax.is_null(_of(f"y{self._at[name]}")) for name in one.beside]
        return syntax.case([(syntax.any_of(absent), syntax.null())], value) if absent else value


def _scale(largest: float) -> int:
    """E with |x| < 2^E."""
    return max(math.frexp(largest)[1], LEAST_SCALE) if largest else 0


def _high(x: Node) -> Node:
    """The upper half of a double (Veltkamp)."""
    wide = syntax.times(x, syntax.number(SPLIT))
    return syntax.minus(wide, syntax.minus(wide.copy(), x.copy()))


def _lost(a: str, b: str, product: str) -> Node:
    """a · b − product, without loss (Dekker)."""
    low_a, low_b = (syntax.minus(_of(x), _of(f"h{x}")) for x in (a, b))
    high_a, high_b = _of(f"h{a}"), _of(f"h{b}")
    lost = _grouped(syntax.minus(syntax.times(high_a, high_b), _of(product)))
    lost = _grouped(syntax.plus(lost, syntax.times(high_a.copy(), low_b)))
    lost = _grouped(syntax.plus(lost, syntax.times(low_a, high_b.copy())))
    return _grouped(syntax.plus(lost, syntax.times(low_a.copy(), low_b.copy())))


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
