"""The .bayes file: schema, tally and settings of a model, only data.

No type, code or path is taken from a file: settings are plain values, and objects among them are made by the
fixed table below. What a file must be, byte by byte, stands in :mod:`bayeskit.container.packing`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.container.packing import MAGIC, pack, unpack, version_of
from bayeskit.data.schema import TYPES, Categorical, Date, DatePart, Ignored, Numeric, Schema, Text
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.disk.locks import PATIENCE, NoLocks, is_mine, locked
from bayeskit.disk.paths import read_bytes, readable_at, resolved
from bayeskit.disk.writing import write_whole
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.back_off import BackOff
from bayeskit.estimate.smoothing import MLE, Automatic, Dirichlet, Laplace, Lidstone, MEstimate
from bayeskit.estimate.variance import VarianceFloor
from bayeskit.tally.format_1 import as_written_today
from bayeskit.tally.tally import Tally

WHAT = "bayeskit model"
OBJECTS = {
    kind.__name__: kind
    for kind in (
        MLE,
        Laplace,
        Lidstone,
        MEstimate,
        Dirichlet,
        Automatic,
        BackOff,
        VarianceFloor,
        Categorical,
        Numeric,
        Ignored,
        Text,
        Date,
        DatePart,
        Tokenizer,
    )
}
"""What may stand in settings besides plain values: frozen dataclasses that check their own fields."""
KINDS = {kind.__name__: kind for kind in TYPES}
"""Types of columns, which may stand for them."""
OF_THE_MACHINE = ("n_threads", "progress")  # settings that say nothing of the model


@dataclass(frozen=True)
class State:
    """What a model holds beside its tally, such as fitted weights: plain data and arrays."""

    header: dict[str, Any]
    arrays: list[npt.NDArray[Any]]


@dataclass(frozen=True)
class Saved:
    """What a file holds: the model's name, its settings, its tally, and what it holds beside it."""

    model: str
    settings: dict[str, Any]
    tally: Tally
    state: State | None = None


def to_bytes(saved: Saved) -> bytes:
    """The bytes of a file: the same model gives the same bytes.

    >>> tally = Tally.from_counts({"sky": {"yes": {"sun": 3}, "no": {"rain": 2}}})
    >>> back = from_bytes(to_bytes(Saved("NaiveBayes", {"smoothing": Lidstone(0.5)}, tally)))
    >>> back.model, back.settings, back.tally == tally
    ('NaiveBayes', {'smoothing': Lidstone(alpha=0.5)}, True)
    """
    settings = {
        name: _plain(value, name) for name, value in sorted(saved.settings.items()) if name not in OF_THE_MACHINE
    }
    header, arrays = saved.tally.to_parts()
    whole = {"what": WHAT, "model": saved.model, "settings": settings, "tally": header}
    if saved.state is not None:
        whole["state"] = {"held": saved.state.header, "arrays": len(saved.state.arrays)}
        arrays = [*arrays, *saved.state.arrays]
    return pack(whole, arrays)


def from_bytes(data: bytes) -> Saved:
    """What :func:`to_bytes` wrote; anything else is refused as :class:`BadFile`."""
    header, arrays = unpack(data)
    if header.get("what") != WHAT or not isinstance(header.get("model"), str):
        raise BadFile("this is bayeskit data, but no model")
    settings = header.get("settings")
    if not isinstance(settings, dict):
        raise BadFile("the model has no settings")
    try:
        made = {name: _made(value) for name, value in settings.items() if name not in OF_THE_MACHINE}
        state, arrays = _state(header.get("state"), arrays)
        counted = header.get("tally"), arrays
        with np.errstate(all="ignore"):  # what overflows is found, and refused
            tally = Tally.from_parts(*(as_written_today(*counted) if version_of(data) == 1 else counted))
        return Saved(header["model"], made, tally, state)
    except BadFile:
        raise
    except BayesError as problem:
        raise BadFile(f"the model's settings or counts cannot be read: {problem}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise BadFile(f"the model's settings or counts cannot be read: {problem!r}") from None


def _state(written: Any, arrays: list[npt.NDArray[Any]]) -> tuple[State | None, list[npt.NDArray[Any]]]:
    """(what is held beside the tally, the arrays of the tally)"""
    if written is None:
        return None, arrays
    count = written["arrays"]
    if type(count) is not int or not 0 <= count <= len(arrays) or not isinstance(written["held"], dict):
        raise BadFile("what the model holds beside its counts does not fit the arrays")
    at = len(arrays) - count
    return State(written["held"], arrays[at:]), arrays[:at]


def read_whole(path: str | Path) -> bytes:
    """The bytes of a model's file or of a pipe; of what is no model, the first few and no more."""
    return read_bytes(path, MAGIC)


def write_model(
    path: str | Path, data: bytes, timeout: float | None = PATIENCE, waiting: Callable[[str], None] | None = None
) -> None:
    """Write the bytes of a model, as a whole; where someone is changing the model that is there, after them."""
    if is_mine(path) or not os.path.isfile(resolved(path)):  # noqa: PTH113  (it may lie where nobody may look)
        write_whole(path, data)
        return
    try:
        with locked(path, timeout, waiting):
            write_whole(path, data)
    except NoLocks:  # nobody can be changing it
        write_whole(path, data)


def check_changeable(path: str | Path) -> None:
    """Refuse to change what is no file at rest, before it is locked."""
    if readable_at(path) == "pipe":
        raise BadFile(f"{path} is a pipe: a model that is to be changed lies in a file")


def _plain(value: Any, name: str) -> Any:
    """A setting as JSON has it; what is no scalar is named for what it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, type) and value in TYPES:
        return {"type": value.__name__}
    if isinstance(value, Schema):
        return {"schema": value.to_json()}
    if type(value) in OBJECTS.values():
        made = {field.name: _plain(getattr(value, field.name), name) for field in fields(value)}
        return {"object": type(value).__name__, "fields": made}
    if isinstance(value, Mapping):
        return {"map": [[_plain(k, name), _plain(v, name)] for k, v in value.items()]}
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return {"tuple" if isinstance(value, tuple) else "list": [_plain(v, name) for v in value]}
    raise BayesError(
        f"{name}={value!r} cannot be saved: a file holds plain values, smoothings and roles. "
        + ("Give a whole number as the seed." if name == "random_state" else "Set it otherwise before saving.")
    )


def _made(value: Any) -> Any:
    """The setting that :func:`_plain` wrote."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise BadFile("a setting is a bare list")
        return value
    match value:
        case {"type": str(name)} if name in KINDS:
            return KINDS[name]
        case {"schema": schema}:
            return Schema.from_json(schema)
        case {"object": str(kind), "fields": dict(parts)} if kind in OBJECTS:
            return OBJECTS[kind](**{name: _made(part) for name, part in parts.items()})
        case {"map": pairs}:
            return {_made(k): _made(v) for k, v in pairs}
        case {"list": values}:
            return [_made(v) for v in values]
        case {"tuple": values}:
            return tuple(_made(v) for v in values)
    raise BadFile(f"a setting is of no known kind ({', '.join(map(str, list(value)[:3]))})")
