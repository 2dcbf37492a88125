"""The Tally: what was counted. A value with + and −, aligned by name; it knows no prior."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import lt
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.schema import Categorical, Numeric, Schema, Target
from bayeskit.data.vocabulary import Value, canonical, positions, sort_values, union
from bayeskit.errors import BadFile, BayesError, NotLearnt, SchemaMismatch
from bayeskit.tally.container import pack, unpack
from bayeskit.tally.families import Counts, Family, aligned
from bayeskit.tally.joint_parts import together_from_parts
from bayeskit.tally.joints import Joint, Together
from bayeskit.tally.moments import Moments
from bayeskit.tally.plan import Plan
from bayeskit.tally.plausible import ROUNDING, check_moments, check_sizes, uncounted
from bayeskit.tally.products import checked_products, of_classes, of_pairs, products_without
from bayeskit.tally.value_lists import ValueList
from bayeskit.tally.values import Values
from bayeskit.tally.words import WordCounts

CANCELLED = 1e-9  # of the total weight: what a subtraction of float weights may leave behind
UNNAMED = Target().name
PARTS = ("n", "sum_hi", "sum_lo", "square_hi", "square_lo", "n_lo")


@dataclass(frozen=True, eq=False, repr=False)
class Tally:
    """Counts by class: rows, values of the coded columns, moments of the measured ones, words of text.

    >>> a = Tally.from_counts({"sky": {"yes": {"sun": 3}, "no": {"sun": 1, "rain": 2}}})
    >>> b = Tally.from_counts({"sky": {"maybe": {"hail": 1}}})
    >>> (a + b).classes, (a + b).families["sky"].values
    (('maybe', 'no', 'yes'), ('hail', 'rain', 'sun'))
    >>> (a + b) - b == a
    True
    """

    schema: Schema
    classes: tuple[Value, ...]
    class_counts: Counts
    families: dict[str, Family] = field(default_factory=dict)
    moment_columns: tuple[str, ...] = ()
    moments: Moments = field(default_factory=lambda: Moments.zeros(0, 0))
    together: Together = field(default_factory=Together.empty)  # pairs and other sets of columns
    words: dict[str, WordCounts] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    products: Moments | None = None  # of all pairs of the moment columns

    @property
    def n_rows(self) -> int | float:
        """How many rows were counted, or their total weight."""
        total: int | float = self.class_counts.sum().item()
        return total

    @property
    def weighted(self) -> bool:
        """True where counts are sums of weights."""
        return bool(self.class_counts.dtype.kind == "f")

    @property
    def plan(self) -> Plan:
        """What was counted, for counting more of it."""
        pairs, joints = self.together.pairs.columns, tuple(self.together.joints)
        most = min((found.max_values for found in self.values.values()), default=Plan.max_values)
        families, words, values = tuple(self.families), tuple(self.words), tuple(self.values)
        return Plan(families, self.moment_columns, pairs, joints, words, values, most, self.products is not None)

    @classmethod
    def empty(
        cls, schema: Schema, plan_families: Iterable[str], plan_moments: Iterable[str], plan_words: Iterable[str] = ()
    ) -> Tally:
        """Nothing counted: neutral under +."""
        columns = tuple(plan_moments)
        families = {name: Family((), np.zeros((0, 1), dtype=np.int64)) for name in plan_families}
        words = {name: WordCounts.zeros(0) for name in plan_words}
        moments = Moments.zeros(0, len(columns))
        return cls(schema, (), np.zeros(0, dtype=np.int64), families, columns, moments, words=words).tidy()

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, Mapping[Any, Mapping[Any, int | float]]],
        class_counts: Mapping[Any, int | float] | None = None,
        target: str = "class",
    ) -> Tally:
        """A tally from tables ``{column: {class: {value: count}}}``.

        Without ``class_counts`` a class has as many rows as its fullest column has cells; fewer cells in
        another column are missing ones, and so are those counted under ``None``.
        """
        labels = {canonical(c) for table in counts.values() for c in table} | {canonical(c) for c in class_counts or ()}
        if None in labels or not labels:
            raise BayesError("a table of counts needs classes, and a missing label is none")
        classes = tuple(sort_values(label for label in labels if label is not None))
        _check_one_kind(classes)
        families = {name: _family_of(name, table, classes) for name, table in counts.items()}
        cells = np.array(
            [family.counts.sum(axis=1) for family in families.values()] or [np.zeros(len(classes), np.int64)]
        )
        rows = cells.max(axis=0)
        if class_counts is not None:
            given = {canonical(c): n for c, n in class_counts.items()}
            rows = _numbers([given.get(c, 0) for c in classes], "the class counts")
            if (cells > rows).any():
                column = list(families)[int(np.argmax((cells > rows).any(axis=1)))]
                raise BayesError(f"column {column!r} has more cells than the class counts have rows")
        for family, present in zip(families.values(), cells, strict=False):
            family.counts[:, 0] += rows - present
        if any(f.counts.dtype.kind == "f" for f in families.values()) or rows.dtype.kind == "f":
            rows = rows.astype(np.float64)
            families = {n: Family(f.values, f.counts.astype(np.float64)) for n, f in families.items()}
        schema = Schema({name: Categorical() for name in families}, Target(target))
        return cls(schema, classes, rows, families, (), Moments.zeros(len(classes), 0)).tidy()

    def __repr__(self) -> str:
        columns = len(self.families) + len(self.moment_columns) + len(self.words) + len(self.values)
        return f"<Tally of {self.n_rows:,} rows, {len(self.classes)} classes, {columns} columns>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Tally)
            and self.schema == other.schema
            and self.classes == other.classes
            and self.class_counts.dtype == other.class_counts.dtype
            and np.array_equal(self.class_counts, other.class_counts)
            and self.families == other.families
            and self.moment_columns == other.moment_columns
            and self.moments == other.moments
            and self.together == other.together
            and self.words == other.words
            and self.values == other.values
            and self.products == other.products
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Tally) -> Tally:
        """All rows of both sides."""
        a, b = self._align(other)
        families = {n: Family(f.values, f.counts + b.families[n].counts) for n, f in a.families.items()}
        return Tally(
            a.schema,
            a.classes,
            a.class_counts + b.class_counts,
            families,
            a.moment_columns,
            a.moments + b.moments,
            a.together + b.together,
            words={name: counts.plus(b.words[name]) for name, counts in a.words.items()},
            values={name: values + b.values[name] for name, values in a.values.items()},
            products=None if a.products is None or b.products is None else a.products + b.products,
        ).tidy()

    def __sub__(self, other: Tally) -> Tally:
        """The rows of this side without those of the other, which must all have been counted here.

        Counts cannot know rows: that no count becomes negative is necessary, not sufficient.
        """
        a, b = self._align(other)
        tolerance = CANCELLED * float(a.class_counts.sum()) if a.weighted or b.weighted else 0
        counts = _subtract(a.class_counts, b.class_counts, tolerance)
        if (counts < 0).any():
            c = int(np.argmin(counts))
            raise NotLearnt(
                f"class {a.classes[c]!r} was learnt {_times(a.class_counts[c])} and cannot be forgotten "
                f"{_times(b.class_counts[c])}; nothing was changed"
            )
        families = {}
        for name, family in a.families.items():
            left = _subtract(family.counts, b.families[name].counts, tolerance)
            if (left < 0).any():
                raise _not_learnt(name, a.classes, family, b.families[name], left)
            families[name] = Family(family.values, left)
        lacks = a.moments.lacks(b.moments)
        if lacks.any():
            c, column = np.argwhere(lacks)[0]
            raise NotLearnt(
                f"column {a.moment_columns[column]!r} had {a.moments.n[c, column]} numbers in class {a.classes[c]!r}, "
                f"and the {b.moments.n[c, column]} to forget cannot have been among them; nothing was changed"
            )
        together = a.together.minus(b.together, tolerance)
        if (lacking := together.lacking()) is not None:
            raise NotLearnt(
                f"columns {lacking} were not learnt with these values together and cannot forget them; "
                "nothing was changed"
            )
        words = {n: w.minus(b.words[n], n, a.classes, tolerance) for n, w in a.words.items()}
        values = {n: found.minus(b.values[n], n, a.classes, tolerance) for n, found in a.values.items()}
        moments = a.moments - b.moments
        products = products_without(a.products, b.products, a.moment_columns, a.classes)
        return Tally(
            a.schema, a.classes, counts, families, a.moment_columns, moments, together, words, values, products
        ).tidy()

    def _align(self, other: Tally) -> tuple[Tally, Tally]:
        """Both sides over the same classes and values."""
        check_same(self.schema, other.schema)
        if self.counted() != other.counted():
            raise SchemaMismatch(
                "the two sides counted different things: learn both with the same model and settings "
                "(a structure that was learnt must be given to the other side too)"
            )
        classes = union(self.classes, other.classes)
        _check_one_kind(classes)
        schema = replace(self.schema, target=_joint_target(self.schema.target, other.schema.target))
        order = [other.moment_columns.index(name) for name in self.moment_columns]
        moments = (self.moments, other.moments.columns(order))
        products = self.products, of_pairs(other.products, order)
        ours, theirs = positions(classes, self.classes), positions(classes, other.classes)
        for name, family in self.families.items():
            _check_same_kind(name, family, other.families[name])
        pairs = {n: aligned(f, other.families[n], ours, theirs) for n, f in self.families.items()}
        sides = []
        for i, (tally, index) in enumerate(((self, ours), (other, theirs))):
            families = {name: pair[i] for name, pair in pairs.items()}
            counts = (
                np.where(index < 0, 0, tally.class_counts[np.maximum(index, 0)]) if len(tally.classes) else 0 * index
            )
            counts = counts.astype(tally.class_counts.dtype)
            slots = {name: _slots(family.values, families[name].values) for name, family in tally.families.items()}
            together = tally.together.align(index, slots, self.together.pairs.columns)
            words = {name: tally.words[name].with_classes(index) for name in self.words}
            values = {name: tally.values[name].take(index) for name in self.values}
            taken, both = moments[i].take(index), of_classes(products[i], index)
            sides.append(
                Tally(schema, classes, counts, families, self.moment_columns, taken, together, words, values, both)
            )
        return sides[0], sides[1]

    def tidy(self) -> Tally:
        """Classes and values sorted; those that no row shows and no schema declares are gone."""
        declared = self.schema.target.domain or ()
        classes = union(declared, self._shown_classes())
        index = positions(classes, self.classes)
        families = {}
        for name, family in self.families.items():
            wanted = _declared_values(self.schema, name)
            shown = [v for v, n in zip(family.values, family.present.sum(axis=0), strict=True) if n > 0]
            families[name] = family.align(index, union(tuple(wanted), shown))
        counts = np.array([self.class_counts[i] if i >= 0 else 0 for i in index], dtype=self.class_counts.dtype)
        slots = {name: _slots(family.values, families[name].values) for name, family in self.families.items()}
        together = self.together.align(index, slots)
        words = {name: counted.with_classes(index) for name, counted in self.words.items()}
        distinct = {name: found.take(index).tidy() for name, found in self.values.items()}
        moments, both = self.moments.take(index), of_classes(self.products, index)
        return Tally(
            self.schema, classes, counts, families, self.moment_columns, moments, together, words, distinct, both
        )

    def counted(self) -> tuple[set[Any], ...]:
        """The columns whose values, moments, products, pairs, joints, words and distinct numbers were counted."""
        alone = set(self.families), set(self.moment_columns), set(self.words), set(self.values)
        multiplied = set() if self.products is None else set(self.moment_columns)
        return *alone, multiplied, set(self.together.pairs.columns), set(self.together.joints)

    def prune(self, min_count: float = 1, min_documents: float = 1) -> Tally:
        """Without the words seen less often: nothing is read again. Forgetting then does not look for them."""
        return replace(self, words={name: w.prune(min_count, min_documents) for name, w in self.words.items()})

    def _shown_classes(self) -> list[Value]:
        return [label for label, n in zip(self.classes, self.class_counts, strict=True) if n > 0]

    def restrict(self, names: Iterable[str]) -> Tally:
        """The same counts for these columns alone."""
        schema = self.schema.restrict(names)
        columns = tuple(name for name in self.moment_columns if name in schema.columns)
        index = [self.moment_columns.index(name) for name in columns]
        families = {name: family for name, family in self.families.items() if name in schema.columns}
        together = self.together.restrict(list(families))
        words = {name: counted for name, counted in self.words.items() if name in schema.columns}
        values = {name: found for name, found in self.values.items() if name in schema.columns}
        moments, both = self.moments.columns(index), of_pairs(self.products, index)
        return Tally(schema, self.classes, self.class_counts, families, columns, moments, together, words, values, both)

    def with_joints(self, joints: Mapping[tuple[str, ...], Joint]) -> Tally:
        """The same with other sets of columns counted together, in the slots of these families."""
        return replace(self, together=Together(self.together.pairs, dict(joints)))

    def to_bytes(self) -> bytes:
        """Header and arrays, for :meth:`from_bytes`: the same tally gives the same bytes."""
        return pack(*self.to_parts())

    def to_parts(self) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
        """(plain header, arrays): what a file holds of a tally."""
        header: dict[str, Any] = {
            "schema": self.schema.to_json(),
            "classes": list(self.classes),
            "families": [[name, list(family.values)] for name, family in self.families.items()],
            "moments": list(self.moment_columns),
        }
        if self.words:
            header["words"] = [[name, counted.pruned] for name, counted in self.words.items()]
        if self.values:
            header["values"] = [[name, found.level, found.max_values] for name, found in self.values.items()]
        products = [] if self.products is None else [getattr(self.products, part) for part in PARTS]
        if products:
            header["products"] = True
        moments = [getattr(self.moments, part) for part in PARTS]
        values = [part for found in self.values.values() for part in (found.values, found.counts)]
        words = [array for counted in self.words.values() for array in counted.to_arrays()]
        families = [family.counts for family in self.families.values()]
        more, together = self.together.to_parts()
        return header | more, [self.class_counts, *families, *moments, *values, *words, *products, *together]

    @classmethod
    def from_bytes(cls, data: bytes) -> Tally:
        """The tally that :meth:`to_bytes` wrote; damaged or foreign bytes are refused."""
        with np.errstate(all="ignore"):  # what overflows is found, and refused
            return cls.from_parts(*unpack(data))

    @classmethod
    def from_parts(cls, header: Any, arrays: list[npt.NDArray[Any]]) -> Tally:
        """The tally of :meth:`to_parts`, every shape and count checked."""
        check_sizes(header, arrays)
        try:
            schema = Schema.from_json(header["schema"])
            classes = _rising(header["classes"])
            _check_one_kind(classes)
            names = [str(name) for name, _ in header["families"]]
            values = [_rising(v) for _, v in header["families"]]
            columns = tuple(str(name) for name in header["moments"])
            distinct = [(str(name), level, most) for name, level, most in header.get("values", ())]
            texts = [(str(name), bool(pruned)) for name, pruned in header.get("words", ())]
            n_products = len(PARTS) if header.get("products") else 0
        except (KeyError, TypeError, ValueError) as problem:
            raise BadFile(f"this is no tally: {problem}") from None
        fixed, size = 1 + len(names) + len(PARTS), WordCounts.N_ARRAYS
        end = fixed + 2 * len(distinct)
        last = end + size * len(texts) + n_products
        known = [*names, *columns, *(name for name, _, _ in distinct), *(name for name, _ in texts)]
        if (
            len(arrays) < last
            or not {*names} <= set(schema.coded())
            or not {name for name, _ in texts} <= set(schema.texts())
            or not {*columns, *(name for name, _, _ in distinct)} <= set(schema.measured())
            or len(set(known)) < len(known)
        ):
            raise BadFile("the tally's arrays do not fit its schema")
        (counts, *rest), others = arrays[:fixed], arrays[end:last]
        families = {n: Family(v, a) for n, v, a in zip(names, values, rest, strict=False)}
        moments = Moments(*rest[len(names) :])
        words = {
            name: WordCounts.from_arrays(others[i * size : (i + 1) * size], len(classes), pruned)
            for i, (name, pruned) in enumerate(texts)
        }
        shape = (len(classes), len(columns))
        shapes_fit = (
            counts.shape == (len(classes),)
            and all(f.counts.shape == (len(classes), len(f.values) + 1) for f in families.values())
            and all(getattr(moments, part).shape == shape for part in PARTS)
            and all(getattr(moments, part).dtype.kind == "f" for part in PARTS[1:])
        )
        together = together_from_parts(header, arrays[last:], families)
        kinds = {counts.dtype.kind, *(f.counts.dtype.kind for f in families.values())} | (
            {moments.n.dtype.kind} if columns else set()
        )
        kinds |= {counted.counts.dtype.kind for counted in words.values()}
        if not shapes_fit or len(kinds) != 1 or kinds - {"i", "f"}:
            raise BadFile("the tally's arrays do not fit its header")
        check_moments([getattr(moments, part) for part in PARTS])
        if any((counted.n_documents > counts * (1 + ROUNDING)).any() for counted in words.values()):
            raise BadFile("the tally has more documents than rows")
        numbers = [counts, *(f.counts for f in families.values()), moments.n]
        if any(a.min(initial=0) < 0 for a in numbers):  # that all are finite was checked
            raise BadFile("the tally holds counts that are negative or no numbers")
        found = {
            name: Values.checked(level, most, arrays[fixed + 2 * i], arrays[fixed + 2 * i + 1], counts)
            for i, (name, level, most) in enumerate(distinct)
        }
        products = checked_products(arrays[last - n_products : last], moments) if n_products else None
        tally = cls(schema, classes, counts, families, columns, moments, together, words, found, products)
        if not tally._is_tidy():
            raise BadFile("the tally has values that were never counted, or lacks some that are declared")
        return tally

    def _is_tidy(self) -> bool:
        """Whether :meth:`tidy` would change nothing but the order."""
        for name, family in self.families.items():
            declared = tuple(_declared_values(self.schema, name))
            if (declared and family.values != declared) or (not declared and len(uncounted(family.counts))):
                return False
        domain = self.schema.target.domain or ()
        return {*domain, *self._shown_classes()} == {*self.classes}


def _rising(listed: Any) -> tuple[Value, ...]:
    """Values from a file, each once and sorted; long lists were looked through already, as bytes."""
    values = tuple(listed)
    if isinstance(listed, ValueList):
        return values
    if {*map(type, values)} == {str}:
        canonical("".join(values))  # refuses what is no text
        rise = all(map(lt, values, values[1:]))
    else:
        if None in [canonical(value) for value in values]:
            raise BadFile("a class or value is missing")
        rise = sort_values(dict.fromkeys(values)) == list(values)
    if not rise:
        raise BadFile("classes or values are not sorted, or stand there twice")
    return values


def _check_same_kind(name: str, a: Family, b: Family) -> None:
    """Refuse strings on one side against numbers on the other: '1' and 1 would be two values."""
    if (
        a.values
        and b.values
        and {isinstance(v, str) for v in a.values}.isdisjoint(isinstance(v, str) for v in b.values)
    ):
        raise SchemaMismatch(
            f"column {name!r} holds the {type(a.values[0]).__name__} {a.values[0]!r} on one side and the "
            f"{type(b.values[0]).__name__} {b.values[0]!r} on the other: give it the same type"
        )


def check_same(a: Schema, b: Schema) -> None:
    """Refuse two schemas that differ, saying where; columns may stand in another order."""
    if len({a.target.name, b.target.name, UNNAMED}) > 2:
        raise SchemaMismatch(
            f"the two sides do not fit: one learnt the target {a.target.name!r}, the other {b.target.name!r}. "
            "Learn both on the same target."
        )
    for name in {**a.columns, **b.columns}:
        ours, theirs = a.columns.get(name), b.columns.get(name)
        if ours != theirs:
            raise SchemaMismatch(
                f"the two sides do not fit: column {name!r} is {ours or 'absent'} on one and {theirs or 'absent'} "
                "on the other. Pass the schema_ of one as schema= to the fit of the other."
            )


def _joint_target(a: Target, b: Target) -> Target:
    """The name that was given, and the classes that either side declares."""
    return Target(b.name if a.name == UNNAMED else a.name, union(a.domain or (), b.domain or ()) or None)


def _check_one_kind(classes: Iterable[Value]) -> None:
    first = {isinstance(label, str): label for label in classes}
    if len(first) > 1:
        raise SchemaMismatch(
            f"classes are all strings or all numbers, not both: {first[False]!r} and {first[True]!r}. "
            "Give them the same type."
        )


def _declared_values(schema: Schema, name: str) -> Iterable[Value]:
    role = schema.columns[name]
    if isinstance(role, Numeric) and role.cuts is not None:
        return range(len(role.cuts) + 1)
    return (role.domain or ()) if isinstance(role, Categorical) else ()


def _slots(old: tuple[Value, ...], new: tuple[Value, ...]) -> npt.NDArray[np.int64]:
    """The old slot of each new one, −1 for a value that is new; slot 0 stays the missing cells."""
    found = positions(new, old)
    return np.concatenate([[0], np.where(found < 0, -1, found + 1)])


def _subtract(a: Counts, b: Counts, tolerance: float) -> Counts:
    left = a - b
    if tolerance:
        left[np.abs(left) <= tolerance] = 0
    return left


def _not_learnt(name: str, classes: tuple[Value, ...], have: Family, less: Family, left: Counts) -> NotLearnt:
    c, slot = np.argwhere(left < 0)[0]
    what = f"{have.values[slot - 1]!r}" if slot else "a missing cell"
    return NotLearnt(
        f"column {name!r} had {what} {_times(have.counts[c, slot])} in class {classes[c]!r} and cannot forget it "
        f"{_times(less.counts[c, slot])}; nothing was changed"
    )


def _times(count: Any) -> str:
    return "once" if count == 1 else "never" if count == 0 else f"{count:g} times"


def _numbers(values: list[Any], where: str) -> Counts:
    array = np.array(values)
    if array.dtype.kind not in "iuf" or not (array >= 0).all() or not np.isfinite(array).all():
        raise BayesError(f"{where}: counts are finite numbers and not negative, got {values}")
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def _family_of(name: str, table: Mapping[Any, Mapping[Any, int | float]], classes: tuple[Value, ...]) -> Family:
    rows = {canonical(label): {canonical(v): n for v, n in row.items()} for label, row in table.items()}
    values = sort_values({v: None for row in rows.values() for v in row if v is not None})
    listed = [[rows.get(label, {}).get(value, 0) for value in (None, *values)] for label in classes]
    return Family(tuple(values), _numbers(listed, f"column {name!r}"))
