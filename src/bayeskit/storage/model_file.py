"""Read and write the .bayes file: schema, tally and settings of a model, with nested models; only data.

No type, code or path is taken from a file: settings are plain values, and objects among them are made by the
fixed table below. What a file must be, byte by byte, stands in :mod:`bayeskit.storage.container`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.data.schema import TYPES, Categorical, Date, DatePart, Ignored, Numeric, Schema, Text
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.smoothing import MLE, Automatic, BackOff, Dirichlet, Laplace, Lidstone, MEstimate
from bayeskit.estimate.variance import VarianceFloor
from bayeskit.storage.container import MAGIC, check_file, pack, unpack
from bayeskit.storage.files import (
    LOCK_TIMEOUT,
    check_readable,
    holds_lock,
    lock_file,
    read_bytes,
    resolve_links,
    write_file,
)
from bayeskit.storage.history import Event, History
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

WHAT = "bayeskit model"
SMOOTHINGS = (MLE, Laplace, Lidstone, MEstimate, Dirichlet, Automatic, BackOff)
ROLES = (Categorical, Numeric, Ignored, Text, Date, DatePart)
OBJECTS = {kind.__name__: kind for kind in (*SMOOTHINGS, *ROLES, VarianceFloor, Tokenizer)}
"""What may stand in settings besides plain values: frozen dataclasses that check their own fields."""
KINDS = {kind.__name__: kind for kind in TYPES}
"""Types of columns, which may stand for them."""
OF_THE_MACHINE = ("n_threads", "progress")  # settings that say nothing of the model
LARGEST = 1e150  # of a fitted number, as of a cell: beyond it products are not numbers


@dataclass(frozen=True)
class Numbers:
    """Description of an array of fitted numbers: shape, smallest and largest number, and dtype.

    A dimension of None may have any length. Bounds are inclusive; infinite bounds admit infinite numbers and NaN.
    """

    shape: tuple[int | None, ...] = ()
    least: float = -LARGEST
    most: float = LARGEST
    dtype: type[np.generic] = np.float64

    def check(self, array: Array) -> Array:
        """Return the array; raise an error unless it fits the description."""
        fits = array.dtype == self.dtype and array.ndim == len(self.shape)
        if not fits or any(n not in (None, m) for n, m in zip(self.shape, array.shape, strict=True)):
            shape = "×".join("any" if n is None else str(n) for n in self.shape)
            raise BadFile(f"the fitted numbers do not fit the model: {shape or 'one'} expected")
        finite = not np.isfinite(self.most) or (np.abs(array) < LARGEST).all()
        check_file(finite, f"a fitted number is infinite, missing or beyond {LARGEST:g}")
        outside = (array < self.least).any() or (array > self.most).any()
        check_file(not outside, f"a fitted number is outside the range from {self.least:g} to {self.most:g}")
        return array


ANY_NUMBER = Numbers((), -np.inf, np.inf)
Described = Mapping[str, Numbers | type | tuple[type, ...]]


@dataclass(frozen=True)
class State:
    """Fitted state of a model besides its tally, such as weights: plain data and arrays."""

    header: dict[str, Any]
    arrays: list[Array]

    @classmethod
    def of(cls, **values: Any) -> State:
        """Build a state from values by name: numbers and arrays become arrays, all else plain data.

        >>> state = State.of(weights=np.array([0.5, 2.0]), rows=3.0, method="folds")
        >>> state.read({"weights": Numbers((2,)), "rows": Numbers((), 0), "method": str})["weights"].tolist()
        [0.5, 2.0]
        >>> state.read({"weights": Numbers((2,)), "rows": Numbers((), 4), "method": str})
        Traceback (most recent call last):
        ...
        bayeskit.errors.BadFile: a fitted number is outside the range from 4 to 1e+150
        """
        numbers = {name: value for name, value in values.items() if isinstance(value, (float, np.floating, np.ndarray))}
        plain = {name: value for name, value in values.items() if name not in numbers}
        return cls(plain, [np.asarray(value) for value in numbers.values()])

    def read(self, described: Described) -> dict[str, Any]:
        """Return the values by name; raise an error unless they are exactly the described ones.

        Arrays are described by :class:`Numbers`, in the order of :meth:`of`; plain data by type.
        """
        names = [name for name, description in described.items() if isinstance(description, Numbers)]
        self.holds(len(names), *(name for name in described if name not in names))
        arrays = dict(zip(names, self.arrays, strict=True))
        values: dict[str, Any] = {}
        for name, description in described.items():
            if isinstance(description, Numbers):
                values[name] = description.check(arrays[name])
                continue
            types = description if isinstance(description, tuple) else (description,)
            value = values[name] = self.header[name]
            check_file(
                type(value) in types, f"{name} is {value!r} in the file, which is not of type {types[0].__name__}"
            )
        return values

    def numbers(self, at: int, *shape: int) -> Floats:
        """Return one of the arrays; raise an error unless it has this shape and valid numbers.

        >>> State({}, [np.array([0.5, np.inf])]).numbers(0, 2)
        Traceback (most recent call last):
        ...
        bayeskit.errors.BadFile: a fitted number is infinite, missing or beyond 1e+150
        """
        if at >= len(self.arrays):
            raise BadFile(f"the fitted numbers do not fit the model: {'×'.join(map(str, shape)) or 'one'} expected")
        return Numbers(shape).check(self.arrays[at])

    def holds(self, n_arrays: int, *names: str) -> None:
        """Raise an error for other arrays or entries than these."""
        same = len(self.arrays) == n_arrays and self.header.keys() == {*names}
        check_file(same, "what the model holds beside its counts is not what such a model holds")


@dataclass(frozen=True)
class Template:
    """An unfitted model among the settings of another: its name and settings."""

    model: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Saved:
    """The content of a file: model name, settings, tally, fitted state and nested models; the history of the file."""

    model: str
    settings: dict[str, Any]
    tally: Tally | None = None
    state: State | None = None
    parts: dict[str, Saved] = field(default_factory=dict)
    history: History = field(default_factory=History)

    def counted(self) -> Tally:
        """Return the tally of a model without nested models."""
        if self.tally is None or self.parts:
            raise BadFile(f"{self.model} is made of counts, and the file holds {'none' if not self.tally else 'more'}")
        return self.tally

    def wrapped(self, *names: str) -> State:
        """Return the state of a model that consists of these nested models and has no tally."""
        if self.tally is not None or self.parts.keys() != {*names} or self.state is None:
            held = ", ".join(self.parts) or "none"
            raise BadFile(f"{self.model} is made of {' and '.join(names) or 'arrays alone'}, and the file holds {held}")
        return self.state


def to_bytes(saved: Saved) -> bytes:
    """Serialize a model; equal models give equal bytes.

    >>> tally = Tally.from_counts({"sky": {"yes": {"sun": 3}, "no": {"rain": 2}}})
    >>> back = from_bytes(to_bytes(Saved("NaiveBayes", {"smoothing": Lidstone(0.5)}, tally)))
    >>> back.model, back.settings, back.tally == tally
    ('NaiveBayes', {'smoothing': Lidstone(alpha=0.5)}, True)
    """
    content, arrays = _content(saved)
    history = {"history": saved.history.to_json()} if saved.history.events else {}
    return pack({"what": WHAT, **content, **history}, arrays)


def _content(saved: Saved) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays of a model: tally, then state, then nested models."""
    content: dict[str, Any] = {"model": saved.model, "settings": _plain_settings(saved.settings)}
    arrays: list[Array] = []
    if saved.tally is not None:
        content["tally"], arrays = saved.tally.to_parts()
    if saved.state is not None:
        content["state"] = {"held": saved.state.header, "arrays": len(saved.state.arrays)}
        arrays = [*arrays, *saved.state.arrays]
    if saved.parts:
        parts = {name: _content(part) for name, part in saved.parts.items()}
        content["parts"] = [[name, inner, len(own)] for name, (inner, own) in parts.items()]
        arrays = [*arrays, *(array for _, own in parts.values() for array in own)]
    return content, arrays


def _plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value, name) for name, value in sorted(settings.items()) if name not in OF_THE_MACHINE}


def from_bytes(data: bytes) -> Saved:
    """Restore a model from :func:`to_bytes`; raise :class:`BadFile` for anything else."""
    header, arrays = unpack(data)
    check_file(header.get("what") == WHAT, "this is bayeskit data, but no model")
    try:
        history = History.from_json(header["history"]) if "history" in header else History()
        return replace(_saved(header, arrays), history=history)
    except BadFile:
        raise
    except (BayesError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        what = problem if isinstance(problem, BayesError) else repr(problem)
        raise BadFile(f"the model's settings or counts cannot be read: {what}") from None


def _saved(content: Any, arrays: list[Array]) -> Saved:
    """Restore the content from :func:`_content`."""
    name, settings = content.get("model"), content.get("settings")
    check_file(isinstance(name, str) and isinstance(settings, dict), "this is bayeskit data, but no model")
    made = {setting: _made(value) for setting, value in settings.items() if setting not in OF_THE_MACHINE}
    parts, arrays = _parts(content.get("parts", []), arrays)
    state, arrays = _state(content.get("state"), arrays)
    tally = None
    if "tally" in content or arrays:
        with np.errstate(all="ignore"):  # overflow is detected and refused afterwards
            tally = Tally.from_parts(content.get("tally"), arrays)
    return Saved(name, made, tally, state, parts)


def _parts(written: Any, arrays: list[Array]) -> tuple[dict[str, Saved], list[Array]]:
    """Return (the nested models, the arrays of the model itself)."""
    counts = [count for _, _, count in written]
    fits = all(type(count) is int and count >= 0 for count in counts) and sum(counts) <= len(arrays)
    check_file(fits, "the models within the model do not fit the arrays")
    at = end = len(arrays) - sum(counts)
    parts = {}
    for name, content, count in written:
        parts[str(name)] = _saved(content, arrays[at : at + count])
        at += count
    return parts, arrays[:end]


def _state(written: Any, arrays: list[Array]) -> tuple[State | None, list[Array]]:
    """Return (the state besides the tally, the arrays of the tally)."""
    if written is None:
        return None, arrays
    held, count = written["held"], written["arrays"]
    fits = type(count) is int and 0 <= count <= len(arrays) and isinstance(held, dict)
    check_file(fits, "what the model holds beside its counts does not fit the arrays")
    at = len(arrays) - count
    return State(held, arrays[at:]), arrays[:at]


def read_model_bytes(path: str | Path) -> bytes:
    """Read the bytes of a model file or pipe; of anything else, only the first few."""
    return read_bytes(path, MAGIC)


def write_model(
    path: str | Path,
    data: bytes,
    timeout: float | None = LOCK_TIMEOUT,
    on_wait: Callable[[], None] | None = None,
) -> None:
    """Write the bytes of a model as a whole; an existing file is locked first, unless this thread has locked it."""
    is_new = not os.path.isfile(resolve_links(path))  # noqa: PTH113  (its folder may be unreadable)
    with nullcontext() if is_new or holds_lock(path) else lock_file(path, timeout, on_wait):
        write_file(path, data)


def save_new(path: str | Path, saved: Saved) -> None:
    """Write a model to a file with a new history."""
    write_model(path, to_bytes(replace(saved, history=History((Event.now("fit", "", _n_rows(saved)),)))))


def _n_rows(saved: Saved) -> float:
    """Return the number of rows that a model or a model in it has counted, 0 where none has."""
    return max([_n_rows(part) for part in saved.parts.values()] + [saved.tally.n_rows if saved.tally else 0.0])


def check_is_file(path: str | Path) -> None:
    """Raise an error, before anything is locked, for a model that does not come from a file."""
    if check_readable(path) == "pipe":
        raise BadFile(f"{path} is a pipe", hint="a model can be changed only in a file")


def _plain(value: Any, name: str) -> Any:
    """Convert a setting to JSON; objects are stored with their type name."""
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
    if isinstance(value, Template):
        return {"model": value.model, "settings": _plain_settings(value.settings)}
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
    """Restore a setting from :func:`_plain`."""
    if not isinstance(value, dict):
        check_file(not isinstance(value, list), "a setting is a bare list")
        return value
    match value:
        case {"type": str(name)} if name in KINDS:
            return KINDS[name]
        case {"schema": schema}:
            return Schema.from_json(schema)
        case {"object": str(kind), "fields": dict(parts)} if kind in OBJECTS:
            return OBJECTS[kind](**{name: _made(part) for name, part in parts.items()})
        case {"model": str(name), "settings": dict(settings)}:
            return Template(name, {key: _made(setting) for key, setting in settings.items()})
        case {"map": pairs}:
            return {_made(k): _made(v) for k, v in pairs}
        case {"list": values}:
            return [_made(v) for v in values]
        case {"tuple": values}:
            return tuple(_made(v) for v in values)
    raise BadFile(f"a setting is of no known kind ({', '.join(map(str, list(value)[:3]))})")
