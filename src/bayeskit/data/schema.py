"""Define column roles: frozen records that round-trip through JSON.

A role depends only on the column's kind (its dtype), never on its values, so that any part of a table infers the same
schema; a column of Python objects has the kind that its cells share. :mod:`bayeskit.data.advice` suggests other roles
by looking at the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import islice, pairwise
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.vocabulary import Value, canonical, sort_values
from bayeskit.errors import BadFile, BayesError, SchemaMismatch, format_setting
from bayeskit.nearest import did_you_mean
from bayeskit.tables import Grid, Readable, Sheet

Kind = Literal["string", "boolean", "integer", "float", "date", "object", "null", "text", "code"]
"""Kinds of columns; "text" are whole documents, "code" asks for numbers that are categories."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """Role of a column of categories.

    Parameters
    ----------
    domain : tuple of values, optional
        All possible values, in order. They count in smoothing even if no row shows them.

    Examples
    --------
    >>> Schema({"sky": Categorical(("sun", "rain", "snow"))}).coded
    ['sky']
    """

    domain: tuple[Value, ...] | None = None
    name: ClassVar[str] = "categorical"


@dataclass(frozen=True, slots=True)
class Numeric:
    """Role of a column of numbers.

    Parameters
    ----------
    cuts : tuple of float, optional
        Read a number as the interval between cuts that contains it; a value on a cut belongs to the left interval.
    kind : str, optional
        Distribution of the column, set by models that choose it from the data.

    Raises
    ------
    BayesError
        If the cuts do not rise or are not finite.

    Examples
    --------
    >>> schema = Schema({"age": Numeric(), "height": Numeric(cuts=(160.0, 180.0))})
    >>> schema.measured, schema.coded
    (['age'], ['height'])
    """

    cuts: tuple[float, ...] | None = None
    kind: str | None = None
    name: ClassVar[str] = "numeric"

    def __post_init__(self) -> None:
        if self.cuts is None:
            return
        cuts = self.cuts.tolist() if isinstance(self.cuts, np.ndarray) else self.cuts
        if not isinstance(cuts, Sequence) or len(cuts) > MOST_DECLARED or not all(isinstance(c, Real) for c in cuts):
            raise BayesError(f"Numeric(cuts={cuts!r}): give a list of numbers, at most {MOST_DECLARED:,}")
        # As large as the numbers that are read.
        if not all(a < b for a, b in pairwise(cuts)) or not all(abs(c) <= 1e150 for c in cuts):
            raise BayesError(f"cut points must rise, within ±1e150: {list(cuts)}")
        object.__setattr__(self, "cuts", tuple(cuts))


@dataclass(frozen=True, slots=True)
class WrittenNumber(Numeric):
    """Role of a column of texts that write numbers, such as "$50,000", "57%" and "125K"."""

    name: ClassVar[str] = "number"


@dataclass(frozen=True, slots=True)
class Ignored:
    """Role of a column that is not a feature, such as a name or a row number.

    Examples
    --------
    >>> Schema({"id": Ignored(), "age": Numeric()}).used
    ['age']
    """

    name: ClassVar[str] = "ignore"


@dataclass(frozen=True, slots=True)
class Text:
    """Role of a column of documents, whose words are counted. It is never inferred, only declared.

    Parameters
    ----------
    tokenizer : Tokenizer
        Settings by which documents are split into words.

    Examples
    --------
    >>> Schema({"review": Text(), "age": Numeric()}).texts
    ['review']
    """

    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    name: ClassVar[str] = "text"


WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PARTS: dict[str, tuple[Value, ...] | None] = {
    "year": None,
    "month": tuple(range(1, 13)),
    "day": tuple(range(1, 32)),
    "weekday": WEEKDAYS,
    "hour": tuple(range(24)),
}
"""Parts of a date, and their possible values where these are few."""


@dataclass(frozen=True, slots=True)
class DatePart(Categorical):
    """A categorical column derived from a column of dates by :class:`Date`."""

    of: str = ""
    part: str = "month"
    name: ClassVar[str] = "date part"


@dataclass(frozen=True, init=False)
class Date:
    """Role of a column of dates or timestamps, read as one categorical column per part.

    Parameters
    ----------
    parts : tuple of str
        Some of "year", "month", "day", "weekday" and "hour".

    >>> Date("month", "weekday").columns("when")["when.month"].domain
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    """

    parts: tuple[str, ...]
    name: ClassVar[str] = "date"

    def __init__(self, *names: str, parts: Iterable[str] = ()) -> None:
        listed = isinstance(parts, Iterable) and getattr(parts, "ndim", 1) > 0
        more = tuple(islice(parts, len(PARTS) + 1)) if listed else (parts,)
        object.__setattr__(self, "parts", (*names, *more))
        unknown = [part for part in self.parts if not isinstance(part, str) or part not in PARTS]
        if unknown or not self.parts or len(set(self.parts)) < len(self.parts):
            raise BayesError(f"Date{self.parts!r}: it takes some of {_list(PARTS)}, each once")

    def columns(self, name: str) -> dict[str, Role]:
        """Return the columns derived from a column of dates.

        Parameters
        ----------
        name : str
            The column of dates.

        Returns
        -------
        dict of str to role
        """
        domains = {part: as_domain(of, part) if (of := PARTS[part]) is not None else None for part in self.parts}
        return {f"{name}.{part}": DatePart(domain, name, part) for part, domain in domains.items()}


Role = Categorical | Numeric | Text | Ignored
ROLES: dict[str, type[Role]] = {role.name: role for role in (Categorical, Numeric, WrittenNumber, Text, Ignored)}
DEFAULT_ROLES: dict[Kind, type[Role]] = {
    "string": Categorical,
    "boolean": Categorical,
    "object": Categorical,
    "null": Categorical,
    "integer": Numeric,
    "float": Numeric,
}


@dataclass(frozen=True, slots=True)
class Target:
    """The target column. ``domain`` declares classes that exist even if no row shows them."""

    name: str = "class"
    domain: tuple[Value, ...] | None = None


NO_TARGET = Target("", ("",))
"""Target of tables without classes: every row belongs to one class without a name."""


@dataclass(frozen=True, repr=False)
class Schema(Readable):
    """Roles of the columns, in order, and the target.

    Parameters
    ----------
    columns : mapping of str to role
    target : Target, optional
    named : bool, default=True
        False if the data had no column names; columns are then matched by position.

    >>> schema = Schema({"sky": Categorical(), "age": Numeric()})
    >>> Schema.from_json(schema.to_json()) == schema
    True
    """

    columns: dict[str, Role]
    target: Target = Target()
    named: bool = True  # False where the data had no column names: then position decides

    def __hash__(self) -> int:
        return hash((tuple(self.columns.items()), self.target))

    @property
    def sheet(self) -> Sheet:
        """The role and the settings of each column, as a table."""
        settings = [
            ", ".join(f"{each.name}={getattr(role, each.name)!r}" for each in fields(role) if getattr(role, each.name))
            for role in self.columns.values()
        ]
        roles = [role.name for role in self.columns.values()]
        target = f" for the target {self.target.name!r}" if self.target != NO_TARGET else ""
        grid = Grid({"column": [*self.columns], "role": roles, "settings": settings})
        return Sheet(f"Schema of {len(self.columns):,} columns{target}", (grid,))

    @cached_property
    def used(self) -> list[str]:
        """Return the columns that are features."""
        return [name for name, role in self.columns.items() if not isinstance(role, Ignored)]

    @cached_property
    def inputs(self) -> list[str]:
        """Return the columns of the data, in order; date parts count as one column."""
        return list(dict.fromkeys(map(self.input_of, self.columns)))

    @cached_property
    def needed(self) -> list[str]:
        """Return the columns of the data that are used."""
        return list(dict.fromkeys(map(self.input_of, self.used)))

    def input_of(self, name: str) -> str:
        """Return the data column of a schema column: itself, or the date that it is a part of.

        Parameters
        ----------
        name : str

        Returns
        -------
        str
        """
        role = self.columns[name]
        return role.of if isinstance(role, DatePart) else name

    @cached_property
    def coded(self) -> list[str]:
        """Return the columns read as codes: categorical ones and numbers with cuts."""
        others = {*self.measured, *self.texts}
        return [name for name in self.used if name not in others]

    @cached_property
    def measured(self) -> list[str]:
        """Return the columns read as numbers."""
        return [n for n in self.used if isinstance(r := self.columns[n], Numeric) and r.cuts is None]

    @cached_property
    def texts(self) -> list[str]:
        """Return the columns read as documents."""
        return [n for n in self.used if isinstance(self.columns[n], Text)]

    def replace(self, roles: Mapping[str, Role]) -> Schema:
        """Return the schema with some roles changed.

        Parameters
        ----------
        roles : mapping from str to role

        Returns
        -------
        Schema
        """
        return replace(self, columns={**self.columns, **roles})

    def with_numbers(self, settings: Mapping[str, Mapping[str, Any]]) -> Schema:
        """Return the schema with some ``cuts`` or ``kind`` of numeric columns changed.

        Parameters
        ----------
        settings : mapping from str to mapping
            ``{column: {"cuts": cut points, "kind": name}}``, or one of both.

        Returns
        -------
        Schema
        """
        roles: dict[str, Any] = self.columns
        return self.replace({name: replace(roles[name], **changes) for name, changes in settings.items()})

    def restrict(self, names: Iterable[str]) -> Schema:
        """Return the schema with only these columns, in schema order; a date stands for its parts.

        Parameters
        ----------
        names : iterable of str

        Returns
        -------
        Schema
        """
        keep = {self.find(name) for name in names}
        return replace(self, columns={n: r for n, r in self.columns.items() if {n, self.input_of(n)} & keep})

    def __contains__(self, name: object) -> bool:
        """Return True if a name or position is one of the columns."""
        return self._name(name) is not None

    def find(self, name: str | int) -> str:
        """Return a column's name, given its name or position; the error for unknown ones lists all names.

        Parameters
        ----------
        name : str or int

        Returns
        -------
        str

        Raises
        ------
        SchemaMismatch
            For an unknown column.
        """
        column = self._name(name)
        if column is None:
            meant = did_you_mean(name, self.columns)
            raise SchemaMismatch(f"there is no column {name!r} (columns: {_list(self.columns)}){meant}")
        return column

    def _name(self, name: object) -> str | None:
        if isinstance(name, bool):
            return None
        if str(name) in self.columns:
            return str(name)  # names come first: a frame may have numbers for names
        inputs = self.inputs
        if str(name) in inputs:
            return str(name)
        return inputs[name] if isinstance(name, int) and -len(inputs) <= name < len(inputs) else None

    def locate(self, names: Sequence[str], named: bool) -> dict[str, str]:
        """Map each used column to one of the data's ``names``: by name, or by position if names are generated.

        Parameters
        ----------
        names : sequence of str
        named : bool
            Whether the data names its columns.

        Returns
        -------
        dict of str to str

        Raises
        ------
        SchemaMismatch
            If a column is missing.
        """
        if (named and self.named) or (named and set(self.needed) <= set(names)):
            there = set(names)
            missing = [name for name in self.needed if name not in there]
            if missing:
                raise SchemaMismatch(
                    f"column{'s' * (len(missing) > 1)} {_list(missing)} missing from the data (it has: {_list(names)})."
                    " Columns are matched by name; pass an empty column (all missing) to do without one.",
                )
            return {name: self.input_of(name) for name in self.used}
        inputs = self.inputs
        if len(names) != len(inputs):
            raise SchemaMismatch(
                f"X has {len(names)} features, but bayeskit is expecting {len(inputs)} features as input "
                f"({_list(inputs)}), in this order."
            )
        theirs = dict(zip(inputs, names, strict=True))
        return {name: theirs[self.input_of(name)] for name in self.used}

    def to_json(self) -> dict[str, Any]:
        """Return plain data for :meth:`from_json`.

        Returns
        -------
        dict
        """
        columns = []
        for name, role in self.columns.items():
            entry: dict[str, Any] = {"name": name, "role": role.name}
            for each in fields(role):
                value = getattr(role, each.name)
                if value is not None:
                    plain = value.to_json() if isinstance(value, Tokenizer) else value
                    entry[each.name] = list(plain) if isinstance(plain, tuple) else plain
            columns.append(entry)
        target = {"name": self.target.name, "domain": self.target.domain and list(self.target.domain)}
        return {"columns": columns, "target": None if self.target == NO_TARGET else target, "named": self.named}

    @classmethod
    def from_json(cls, data: Any) -> Schema:
        """Restore a schema from :meth:`to_json`; raise an error for anything else.

        Parameters
        ----------
        data : dict

        Returns
        -------
        Schema

        Raises
        ------
        BadFile
            For anything else.
        """
        try:
            columns = {str(entry["name"]): _role_from_json(entry) for entry in data["columns"]}
            if len(columns) != len(data["columns"]):
                raise BadFile("a schema names a column twice")
            target = NO_TARGET
            if (entry := data["target"]) is not None:
                domain = entry["domain"]
                target = Target(str(entry["name"]), None if domain is None else as_classes(domain, "class"))
            return cls(columns, target, bool(data["named"]))
        except (KeyError, TypeError, AttributeError, OverflowError) as problem:
            raise BadFile(f"this is not a schema: {problem!r}") from None


def _role_from_json(entry: Any) -> Role:
    role = DatePart if entry["role"] == DatePart.name else ROLES.get(entry["role"])
    if role is None:
        raise BadFile(f"a schema names the unknown role {entry['role']!r}")
    made = {each.name: entry[each.name] for each in fields(role) if each.default is not None or each.name in entry}
    if "domain" in made:
        made["domain"] = as_domain(made["domain"], entry["name"])
    if "cuts" in made:
        made["cuts"] = tuple(float(cut) for cut in made["cuts"])
    if "tokenizer" in made:
        made["tokenizer"] = Tokenizer.from_json(made["tokenizer"])
    texts = [made[name] for name in ("kind", "of", "part") if name in made]
    if not all(isinstance(text, str) for text in texts) or made.get("part", "day") not in PARTS:
        raise BadFile(f"a schema has {texts} for the kind of a column or the part of a date")
    return role(**made)


MOST_DECLARED = 10_000_000


def as_domain(values: Iterable[object], name: str) -> tuple[Value, ...]:
    """Return declared values without duplicates, in declared order; a missing value is an error.

    >>> as_domain(["Low", "Medium", "High", "Low"], "size")
    ('Low', 'Medium', 'High')
    """
    is_scalar = getattr(values, "ndim", 1) == 0
    if is_scalar or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise BayesError(f"the domain of column {name!r} is a list of its values, not {values!r}")
    if isinstance(values, Sized) and len(values) > MOST_DECLARED:
        raise BayesError(f"column {name!r} declares {len(values):,} values, more than {MOST_DECLARED:,}")
    domain = [canonical(value) for value in values]
    if not domain or None in domain:
        raise BayesError(f"the domain of column {name!r} needs at least one value, and missing is none: {domain}")
    return tuple(v for v in dict.fromkeys(domain) if v is not None)


def as_classes(values: Iterable[object], name: str) -> tuple[Value, ...]:
    """Return declared classes without duplicates, sorted."""
    return tuple(sort_values(as_domain(values, name)))


def infer(
    kinds: Mapping[str, Kind],
    *,
    roles: str | Role | Date | Mapping[Any, str | Role | Date] | None = None,
    domains: Mapping[Any, Iterable[object]] | None = None,
    target: Target | None = None,
    named: bool = True,
) -> Schema:
    """Infer the schema from column kinds and declarations.

    >>> infer({"sky": "string", "age": "float", "zip": "integer"}, roles={"zip": "categorical"}).coded
    ['sky', 'zip']
    """
    every = roles if roles is not None and not isinstance(roles, Mapping) else None
    schema = Schema({name: Ignored() for name in kinds}, target or Target(), named)
    declared = declared_roles(roles, kinds, schema)
    columns: dict[str, Role] = {}
    for name, kind in kinds.items():
        role = declared.get(name) or _default(name, kind, every)
        made = role.columns(name) if isinstance(role, Date) else {name: role}
        if twice := [part for part in made if part != name and part in kinds]:
            raise SchemaMismatch(f"column {name!r} would become {twice[0]!r}, which is there: rename it")
        columns |= made
    if domains is not None and not isinstance(domains, Mapping):
        raise BayesError(f"domains={domains!r}: it is a mapping from column to its values")
    for key, values in (domains or {}).items():
        if key == schema.target.name and key not in columns:
            schema = replace(schema, target=replace(schema.target, domain=as_classes(values, key)))
            continue
        name = schema.find(key)
        if name in declared and not isinstance(declared[name], Categorical):
            raise BayesError(f"column {name!r} has a declared domain, so its role is categorical, not {declared[name]}")
        columns[name] = Categorical(as_domain(values, name))
    schema = replace(schema, columns=columns)
    if not schema.used:
        raise BayesError("there is no column to learn from: every column is ignored" if kinds else NO_COLUMNS)
    return schema


def declared_roles(roles: Any, kinds: Mapping[str, Kind], schema: Schema) -> dict[str, Role | Date]:
    """Resolve the columns of a mapping of roles: by name, by position, or else by kind.

    >>> kinds = {"sky": "string", "age": "float", "zip": "integer"}
    >>> schema = Schema(dict.fromkeys(kinds, Ignored()))
    >>> declared_roles({int: "categorical", "age": "ignore"}, kinds, schema)
    {'zip': Categorical(domain=None), 'age': Ignored()}
    """
    if not isinstance(roles, Mapping):
        return {}
    if unknown := [key for key in roles if isinstance(key, type) and key not in TYPES]:
        names = ", ".join(known.__name__ for known in TYPES)
        raise BayesError(f"roles= names the type {unknown[0].__name__}: by type, it gives a role to {names}")
    by_kind = {TYPES[key]: as_role(role) for key, role in roles.items() if isinstance(key, type)}
    by_name = {_column(key, role, schema): as_role(role) for key, role in roles.items() if not isinstance(key, type)}
    return {name: by_kind[kind] for name, kind in kinds.items() if kind in by_kind and name not in by_name} | by_name


def _column(key: Any, role: Any, schema: Schema) -> str:
    """Return the column that a key of ``roles`` names. Tools that convert frames to arrays lose names, not order."""
    if schema.named and key not in schema and key == schema.target.name:
        raise SchemaMismatch(f"column {key!r} is the target:", hint="roles= is for the columns to learn from")
    if schema.named or key in schema or not isinstance(key, str):
        return schema.find(key)
    raise SchemaMismatch(
        f"there is no column {key!r}: the columns have no names here ({_list(schema.columns)}), such as in an array "
        "that was made of a frame.",
        hint=f"Name columns by position, the first is 0: {format_setting('roles', {0: role})}",
    )


TYPES: dict[type, Kind] = {int: "integer", float: "float", str: "string", bool: "boolean"}
"""Kinds of columns by the Python type of their cells."""

NO_COLUMNS = "the data has no columns: 0 feature(s) (shape=(n, 0)) while a minimum of 1 is required."


def as_role(role: str | Role | Date) -> Role | Date:
    """Return a role by its name; names of date parts are separated by commas.

    >>> as_role("month,weekday")
    Date(parts=('month', 'weekday'))
    """
    if isinstance(role, (Categorical, Numeric, Text, Ignored, Date)):
        return role
    if isinstance(role, str) and role in ROLES:
        return ROLES[role]()
    if isinstance(role, str) and all(part.strip() in PARTS for part in role.split(",")):
        return Date(*map(str.strip, role.split(",")))
    raise BayesError(
        f"roles= has {role!r}, which is not a role (roles: {_list(ROLES)}; of dates some of {_list(PARTS)}, with "
        "commas between them)"
        f"{did_you_mean(role, ROLES)}",
    )


def _default(name: str, kind: Kind, every: str | Role | Date | None) -> Role | Date:
    if every is not None:
        return as_role(every)
    if kind not in DEFAULT_ROLES:
        raise SchemaMismatch(
            f"column {name!r} holds dates, which are used only if declared",
            hint=f"{format_setting('roles', {name: 'month,weekday'})} takes parts (also year, day, hour), and other "
            "roles are numeric (seconds since 1970), categorical and ignore.",
        )
    return DEFAULT_ROLES[kind]()


def _list(names: Iterable[object]) -> str:
    listed = [str(name) for name in names]
    return ", ".join(listed[:12]) + (f", … ({len(listed)} in all)" if len(listed) > 12 else "")
