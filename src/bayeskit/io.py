"""The .bayes file: schema, tally and settings of a model, only data, written as a whole or not at all.

No type, code or path is taken from a file: settings are plain values, and objects among them are made by the
fixed table below. What a file must be, byte by byte, stands in :mod:`bayeskit.tally.container`.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.schema import Categorical, Ignored, Numeric, Schema, Text
from bayeskit.data.tokenizer import Tokenizer
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.back_off import BackOff
from bayeskit.estimate.smoothing import MLE, Automatic, Dirichlet, Laplace, Lidstone, MEstimate
from bayeskit.estimate.variance import VarianceFloor
from bayeskit.tally.container import pack, unpack
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
        Tokenizer,
    )
}
"""What may stand in settings besides plain values: frozen dataclasses that check their own fields."""
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
    """What :func:`to_bytes` wrote; anything else is refused."""
    header, arrays = unpack(data)
    if header.get("what") != WHAT or not isinstance(header.get("model"), str):
        raise BadFile("this is bayeskit data, but no model")
    settings = header.get("settings")
    if not isinstance(settings, dict):
        raise BadFile("the model has no settings")
    try:
        made = {name: _made(value) for name, value in settings.items() if name not in OF_THE_MACHINE}
        state, arrays = _state(header.get("state"), arrays)
        return Saved(header["model"], made, Tally.from_parts(header.get("tally"), arrays), state)
    except BayesError:
        raise
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
    """The bytes of a file that is there."""
    try:
        with Path(path).open("rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise BadFile(f"{path} is no file of bytes at rest")
            return file.read(found.st_size + 1)
    except FileNotFoundError:
        raise BadFile(f"there is no file {str(path)!r} (looked in {Path.cwd()})") from None
    except OSError as problem:
        raise BadFile(f"{path} cannot be read: {problem.strerror}") from None


def write_whole(path: str | Path, data: bytes) -> None:
    """Write a file so that at any moment the old or the new one stands there, whole.

    The bytes go to a file beside it, then to the disk, and take the name at once.
    """
    where = Path(path).expanduser().resolve()
    beside = where.with_name(f".{where.name}.{secrets.token_hex(6)}.part")
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(file, "wb") as out:
                out.write(data)
                out.flush()
                if where.exists():
                    beside.chmod(stat.S_IMODE(where.stat().st_mode))
                os.fsync(out.fileno())
            beside.replace(where)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        _settle(where.parent)
    except OSError as problem:
        raise BayesError(f"{path} cannot be written: {problem.strerror}") from None


def _settle(folder: Path) -> None:
    """The new name is on the disk, too, where the system can be asked for it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _plain(value: Any, name: str) -> Any:
    """A setting as JSON has it; what is no scalar is named for what it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and isfinite(value)):
        return value
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
