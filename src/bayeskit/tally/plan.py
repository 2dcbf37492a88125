"""Define requests and plans: the statistics that a model asks an engine to count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bayeskit.errors import BadFile


@dataclass(frozen=True)
class Request:
    """A request for one kind of statistic of some columns or sets of columns; plain data.

    >>> Request.from_json(Request("joints", (("sky", "wind"), ("wind",))).to_json()).names
    ('sky', 'wind')
    """

    kind: str
    columns: tuple[Any, ...]  # names, or tuples of names that are counted together
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the distinct columns to count."""
        named = (part if isinstance(part, tuple) else (part,) for part in self.columns)
        return tuple(dict.fromkeys(name for part in named for name in part))

    def is_for(self, other: Request) -> bool:
        """Return True if the other requests the same, in any column order."""
        return self.kind == other.kind and set(self.columns) == set(other.columns)

    def __hash__(self) -> int:
        return hash((self.kind, self.columns))

    def __reduce__(self) -> tuple[Any, ...]:
        return Request, (self.kind, self.columns, dict(self.options))

    def to_json(self) -> list[Any]:
        """Return plain data for :meth:`from_json`."""
        columns = [list(part) if isinstance(part, tuple) else part for part in self.columns]
        return [self.kind, columns, dict(self.options)]

    @classmethod
    def from_json(cls, written: Any) -> Request:
        """Restore a request from :meth:`to_json`; raise an error for anything else."""
        try:
            kind, listed, options = written
            columns = tuple(part if isinstance(part, str) else tuple(part) for part in listed)
        except (TypeError, ValueError):
            raise BadFile("this is no list of what was counted") from None
        request = cls(kind, columns, options)
        if not isinstance(kind, str) or not isinstance(options, dict):
            raise BadFile("this is no list of what was counted")
        if not all(isinstance(name, str) for name in (kind, *request.names)) or len(set(columns)) < len(columns):
            raise BadFile("columns are counted that have no name, or are counted twice")
        return request


class Plan(tuple[Request, ...]):
    """A list of requests, or columns by the kind of statistic.

    >>> Plan(families=["sky"], moments=[])
    Plan(families=('sky',))
    >>> Plan(Request("distinct", ("size",), {"max_values": 100}), families=("sky",)).of("distinct").options
    {'max_values': 100}
    """

    def __new__(cls, *requests: Request, **columns: Iterable[Any]) -> Plan:
        """Build a plan; requests without columns are dropped."""
        by_kind = (Request(kind, tuple(names)) for kind, names in columns.items())
        return super().__new__(cls, (request for request in (*requests, *by_kind) if request.columns))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def of(self, kind: str) -> Request | None:
        """Return the request of one kind, None if absent."""
        return next((request for request in self if request.kind == kind), None)

    def __repr__(self) -> str:
        return f"Plan({', '.join(f'{request.kind}={request.columns!r}' for request in self)})"
