"""Rows as codes of their values, all at once; and all combinations of values there can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from bayeskit.data.encoder import Encoder
from bayeskit.data.reader import read_block
from bayeskit.data.schema import TYPES, Categorical, Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value, declared_first
from bayeskit.estimate.cuts import labels
from bayeskit.typing import Floats, Ints


class Combinations(Sequence[tuple[Value, ...]]):
    """All combinations of values, without a list of them."""

    def __init__(self, values: Mapping[str, Sequence[Value]]) -> None:
        self.values = list(values.values())

    def __len__(self) -> int:
        return prod(len(column_values) for column_values in self.values)

    def __getitem__(self, at: Any) -> Any:
        if not 0 <= at < len(self):
            raise IndexError(at)
        cells = []
        for column_values in reversed(self.values):
            at, i = divmod(at, len(column_values))
            cells.append(column_values[i])
        return tuple(reversed(cells))


class Cells(NamedTuple):
    """All rows of a source: codes (0 is missing) and floats by column, the values sorted."""

    n_rows: int
    values: dict[str, tuple[Value, ...]]
    codes: dict[str, Ints]
    floats: dict[str, Floats]
    cuts: dict[str, tuple[float, ...]]


def read_cells(source: Source, schema: Schema) -> Cells:
    """All rows of a source, column by column."""
    encoder = Encoder(schema, grow=True)
    block = read_block(encoder, source)
    roles = schema.columns
    cuts = {n: r.cuts for n in schema.coded() if isinstance(r := roles[n], Numeric) and r.cuts is not None}
    values: dict[str, tuple[Value, ...]] = {}
    codes: dict[str, Ints] = {}
    for name in schema.coded():
        cells = block.codes[name].astype(np.int64)
        if name in cuts:
            values[name], codes[name] = tuple(labels(cuts[name])), cells
            continue
        met = encoder.vocabularies[name].values
        role = roles[name]
        order = declared_first((role.domain or ()) if isinstance(role, Categorical) else (), met)
        place = {value: i + 1 for i, value in enumerate(order)}
        values[name] = order
        codes[name] = np.array([0, *(place[value] for value in met)], dtype=np.int64)[cells]
    floats = {name: block.floats[name] for name in schema.measured()}
    return Cells(block.n_rows, values, codes, floats, cuts)


def by_value(roles: Any, kinds: Mapping[str, Any]) -> Any:
    """Roles in which an undeclared column is read by its values."""
    if roles is None:
        return "categorical"
    if not isinstance(roles, Mapping):
        return roles
    by_type = {TYPES.get(key) for key in roles if isinstance(key, type)}
    return {name: "categorical" for name, kind in kinds.items() if kind not in by_type} | dict(roles)


def every_cell(values: Mapping[str, Sequence[Value]]) -> dict[str, Ints]:
    """The code of each variable in every combination, the last variable fastest.

    >>> {name: codes.tolist() for name, codes in every_cell({"a": "xy", "b": "uvw"}).items()}
    {'a': [0, 0, 0, 1, 1, 1], 'b': [0, 1, 2, 0, 1, 2]}
    """
    left, right, codes = 1, prod(len(states) for states in values.values()), {}
    for name, states in values.items():
        right //= len(states)
        codes[name] = np.tile(np.repeat(np.arange(len(states)), right), left)
        left *= len(states)
    return codes
