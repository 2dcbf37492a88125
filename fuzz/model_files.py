"""Model files altered on purpose: their header and arrays, not their bytes, and sealed again as if they were right.

A flipped byte is found by the checksum and shows nothing. So a file is taken apart as the container has it, one to
three things in it are changed (types, numbers at their extremes, names, references, shapes, whole parts), and it is
put together with a checksum that fits. What must then hold stands in :func:`check`.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import math
import struct
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bayeskit import (
    BayesianNetwork,
    HiddenMarkovModel,
    JointDistribution,
    LinearRegression,
    MarkovChain,
    SequenceClassifier,
    TopicModel,
)
from bayeskit.errors import BadFile, BayesError
from bayeskit.inner_model import reader_of
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.base.classifier import Classifier
from bayeskit.storage.container import MAGIC

REFERENCE = Path(__file__).parents[1] / "tests" / "reference" / "files"
PREFIX, CHECKSUM = len(MAGIC) + 10, 32
DTYPES = ("i8", "f8", "u1", "u4")
NUMBERS = (
    *(0, 1, -1, 2, 3, 7, 255, 256, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400),
    *(
        0.0,
        -0.0,
        0.5,
        -0.5,
        1e-3,
        1e-12,
        5e-324,
        2.3e-308,
        1e-150,
        1e15,
        1e150,
        1e154,
        1e300,
        1.7e308,
        -1.7e308,
        -1e150,
    ),
)
THINGS = (
    *(None, True, False, "", "x", "nan", "auto", "\0", "\x1b[2J", "\ud800", "é" * 40, [], {}, [[]], [None], ["x", 1]),
    *({"@list": 0}, {"@list": -1}, {"@list": True}, {"@list": "0"}, {"@list": 0, "x": 1}, {"@list": 2**63}),
    *({"list": []}, {"tuple": []}, {"map": []}, {"map": [[1, 2]]}, {"map": 3}, {"list": 7}, {"tuple": {"@list": 0}}),
    {"object": "Popen", "fields": {}},
    *({"object": "Lidstone", "fields": {"alpha": a}} for a in (0, 1e308, 5e-324, -1, True, "1", None)),
    *({"object": "MEstimate", "fields": {"m": a}} for a in (0, 1e308, 5e-324, 10**400)),
    *({"object": "Dirichlet", "fields": {"beta": a}} for a in (1, 1e308, 0.5, {"map": [["a", 1e308]]})),
    *({"object": "BackOff", "fields": {"m": a}} for a in (None, 0, 1e308, 5e-324)),
    *({"object": name, "fields": {}} for name in ("MLE", "Laplace", "Automatic", "Numeric", "Text", "Tokenizer")),
)
RAW = (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"1e-999", b"00", b"9" * 5000, b"[" * 200, b'"\xff"')
CELLS = (0.0, 1.0, -1.0, 0.5, 5e-324, 1e-300, 1e-150, 1e150, 1e300, 1.7e308, -1.7e308, math.nan, math.inf, -math.inf)


@dataclass
class Parts:
    """A model file taken apart: the header as JSON has it, and an array for each entry of its list of arrays."""

    header: Any
    arrays: list[np.ndarray]
    version: int

    @classmethod
    def of(cls, data: bytes) -> Parts:
        """The parts of a file that is right."""
        version, length = struct.unpack_from("<HQ", data, len(MAGIC))
        header = json.loads(data[PREFIX : PREFIX + length].decode("utf-8", "surrogatepass"))
        at, arrays = PREFIX + length + -(PREFIX + length) % 8, []
        for entry in header["arrays"]:
            dtype, shape = np.dtype("<" + entry["dtype"]), entry["shape"]
            size = math.prod(shape) * dtype.itemsize
            arrays.append(np.frombuffer(data[at : at + size], dtype).reshape(shape).copy())
            at += size + -size % 8
        return cls(header, arrays, version)

    def describe(self, which: int) -> None:
        """Let the header say what an array is, where it still has a list of them."""
        listed = self.header.get("arrays") if isinstance(self.header, dict) else None
        if isinstance(listed, list) and which < len(listed):
            array = self.arrays[which]
            listed[which] = {"dtype": array.dtype.str[1:], "shape": list(array.shape)}

    def bytes(self, raw: bytes | None = None) -> bytes:
        """The bytes of the file, with a checksum that fits; ``raw`` stands where the header has a mark."""
        header = json.dumps(self.header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        if raw is not None:
            header = header.replace(b'"\\u0001raw\\u0001"', raw)
        return sealed(header, self.arrays, self.version)


def sealed(header: bytes, arrays: list[np.ndarray], version: int) -> bytes:
    """A file of this header and these arrays."""
    body = MAGIC + struct.pack("<HQ", version, len(header)) + header
    body += b"\0" * (-len(body) % 8)
    body += b"".join(raw + b"\0" * (-len(raw) % 8) for raw in (array.tobytes() for array in arrays))
    return body + hashlib.sha256(body).digest()


@cache
def seeds() -> dict[str, tuple[bytes, list[Any], Any]]:
    """Read the reference files: name → (file, rows to predict, classes that were predicted).

    Distributions have no rows, and models that predict no classes get two labels that they do not know.
    """
    files = {}
    for file in sorted(REFERENCE.glob("*.bayes")):
        method, rows, answer = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))[0]
        rows = rows if isinstance(rows, list) else []
        has_classes = method == "predict" and all(isinstance(label, str) for label in answer)
        labels = sorted(set(answer)) if has_classes else ["a", "b"]
        files[file.stem] = file.read_bytes(), rows[:2] + rows[-1:], labels
    return files


@cache
def parts_of(name: str) -> Parts:
    return Parts.of(seeds()[name][0])


@cache
def settings_seen() -> list[tuple[str, Any]]:
    """Every setting of every file: what one model may be told in another's words."""
    seen = {
        json.dumps([name, value], sort_keys=True): (name, value)
        for seed in seeds()
        for name, value in parts_of(seed).header["content"]["settings"].items()
    }
    return [seen[key] for key in sorted(seen)]


def altered(name: str, random: Random) -> bytes:
    """One of the files with one to three things in it changed."""
    parts, raw = copy.deepcopy(parts_of(name)), None
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if random.random() < 0.5:
            raw = _alter_header(parts, random) or raw
        else:
            _alter_arrays(parts, random)
    return parts.bytes(raw)


def _places(part: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every (container, key) below a part of the header."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        found.append((part, key))
        _places(value, found)
    return found


def _alter_header(parts: Parts, random: Random) -> bytes | None:
    whole = parts.header
    places = _places(whole, [])
    if not places:
        return None
    if random.random() < 0.6:  # the list of arrays is long and alike: most changes go to what the model says
        content = whole.get("content")
        places = _places(content, []) or places
    (inside, key), kind = random.choice(places), random.randrange(12)
    value = inside[key]
    match kind:
        case 0 | 1:
            inside[key] = random.choice(NUMBERS)
        case 2:
            inside[key] = copy.deepcopy(random.choice(THINGS))
        case 3:
            other, at = random.choice(places)
            inside[key] = copy.deepcopy(other[at])
        case 4:
            del inside[key]
        case 5 if isinstance(inside, list):
            inside.insert(key, copy.deepcopy(value))
        case 5:
            inside[f"{key}{random.choice(('', ' ', '2'))}"] = inside.pop(key)
        case 6:
            other, at = random.choice(places)
            if not _holds(value, other) and not _holds(other[at], inside):
                inside[key], other[at] = other[at], inside[key]
        case 7 if isinstance(value, (int, float)) and not isinstance(value, bool):
            inside[key] = random.choice(
                (-value, value + 1, value - 1, value * 2, float(value), str(value), bool(value))
            )
        case 7 if isinstance(value, str):
            inside[key] = random.choice((value[:-1], value + "\0", value.upper(), [value], value * 3))
        case 7 if isinstance(value, list):
            random.shuffle(value)
        case 8:
            inside[key] = "\1raw\1"
            return random.choice(RAW)
        case 9 | 10:
            content = whole.get("content")
            settings = content.get("settings") if isinstance(content, dict) else None
            if isinstance(settings, dict):
                setting, told = random.choice(settings_seen())
                if setting in settings or random.random() < 0.1:
                    told = random.choice((told, told, random.choice(NUMBERS), random.choice(THINGS)))
                    settings[setting] = copy.deepcopy(told)
        case _:
            content, other = whole.get("content"), parts_of(random.choice(sorted(seeds()))).header["content"]
            if isinstance(content, dict):
                what = random.choice(("model", "settings", "tally", "state", "parts"))
                content[what] = copy.deepcopy(other.get(what))
    return None


def _holds(part: Any, other: Any) -> bool:
    return part is other or any(inside is other for inside, _ in _places(part, []))


def _alter_arrays(parts: Parts, random: Random) -> None:
    arrays = parts.arrays
    if not arrays:
        return
    which = random.randrange(len(arrays))
    array = arrays[which]
    match random.randrange(12):
        case 0 | 1 | 2 | 3 if array.size:
            for _ in range(random.choice((1, 1, 2))):
                array.flat[random.randrange(array.size)] = _cell(array.dtype, random)
        case 4 if array.size:
            arrays[which] = np.full_like(array, _cell(array.dtype, random))
        case 5:
            arrays[which] = array.astype("<" + random.choice(DTYPES)) if _safe(array) else array
        case 6:
            shape = random.choice((array.shape[::-1], (array.size,), (1, *array.shape), (*array.shape, 1), (0,)))
            arrays[which] = array.reshape(shape) if math.prod(shape) == array.size else np.zeros(shape, array.dtype)
        case 7:
            flat = array.ravel()
            n = random.randrange(flat.size + 3)
            arrays[which] = np.resize(flat, n) if flat.size else np.zeros(n, array.dtype)
        case 8 if array.size > 1:
            i, j = random.randrange(array.size), random.randrange(array.size)
            array.flat[i], array.flat[j] = array.flat[j], array.flat[i]
        case 9:
            other = random.randrange(len(arrays))
            arrays[which], arrays[other] = arrays[other], arrays[which]
            parts.describe(other)
        case 10:
            with np.errstate(all="ignore"):  # all counts, or all sums: what fits together goes on fitting
                by, kind = random.choice((0, -1, 2, 2**40, 1e-300, 1e-150, 1e150, 1e300)), random.choice("if")
                for i, one in enumerate(arrays):
                    if one.dtype.kind == kind:
                        arrays[i] = (
                            (one * by).astype(one.dtype) if kind == "f" or type(by) is int else one.astype("f8") * by
                        )
                        parts.describe(i)
        case _:
            with np.errstate(all="ignore"):  # rows with weights
                by = random.choice((1.0, 0.5, 1e-300, 1e-18, 1e18, 1e150, 1e300))
                for i, one in enumerate(arrays):
                    if one.dtype.kind in "if":
                        arrays[i] = one.astype("f8") * by
                        parts.describe(i)
    parts.describe(which)


def _safe(array: np.ndarray) -> bool:
    return array.dtype.kind != "f" or not array.size or bool((np.abs(array) < 2**31).all())


def _cell(dtype: np.dtype[Any], random: Random) -> Any:
    if dtype.kind == "f":
        return random.choice(CELLS) if random.random() < 0.8 else random.uniform(-3, 3)
    limits = np.iinfo(dtype)
    return random.choice((0, 1, 2, 3, limits.max, limits.min, limits.max - 1, max(limits.min, -1), limits.max // 2))


def check(data: bytes, rows: list[Any], labels: list[Any], thoroughly: bool = False) -> bool:
    """Whether the file opens. It is refused as :class:`BadFile`, or makes a model that is sound: its probabilities are
    some, and whatever it is asked it answers, or refuses as a :class:`BayesError`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = from_bytes(data)
        except BadFile:
            return False
        if hasattr(model, "n_threads"):
            model.n_threads = 1
        _asked(_check_probabilities, model, rows)
        if thoroughly:
            for question in (_say, _explain, _show, _sample, _learn_and_forget, _save):
                _asked(question, model, rows, labels)
    return True


def _asked(question: Any, *about: Any) -> None:
    with contextlib.suppress(BayesError):
        question(*about)


def _check_probabilities(model: Any, rows: list[Any]) -> None:
    if isinstance(model, LinearRegression):
        assert np.isfinite(model.predict(rows)).all(), "a prediction is not a number"
        assert not np.isnan(model.predict_scale(rows)).any(), "a scale is not a number"
        return
    if isinstance(model, (BayesianNetwork, JointDistribution)):
        _check_distribution(model)
        return
    if isinstance(model, TopicModel):
        shares, words = model.transform(rows), model.topic_words_.sum(axis=1)
        assert np.allclose(shares.sum(axis=1), 1, atol=1e-6), f"shares {shares.tolist()}"
        assert np.allclose(words, 1, atol=1e-6), f"words {words.tolist()}"
        return
    proba = model.predict_proba(rows) if _says_classes(model) else np.ones((len(rows), 1))
    proba = np.vstack(proba) if isinstance(model, HiddenMarkovModel) else proba
    reads = reader_of(model)
    nan = getattr(reads, "undecidable", "prior") == "nan"
    nothing = np.isnan(proba).all(axis=1) if nan else np.zeros(len(proba), dtype=bool)
    proba = proba[~nothing]
    assert np.isfinite(proba).all(), f"probabilities {proba.tolist()}"
    assert (proba >= 0).all(), f"probabilities {proba.tolist()}"
    assert np.allclose(proba.sum(axis=1), 1, atol=1e-6), f"probabilities {proba.tolist()}"


def _says_classes(model: Any) -> bool:
    return hasattr(model, "predict_proba") and hasattr(model, "classes_")


def _check_distribution(model: Any) -> None:
    """Probabilities of the values of every variable, each of which can be shown."""
    if isinstance(model, JointDistribution):
        shares = {name: model.marginal(name).p for name in model.variables}
    elif model.cost().bytes < 1 << 20:
        shares = {node: np.array(list(p.values())) for node, p in model.posterior().items()}
    else:
        return
    for name, p in shares.items():
        assert (p >= 0).all(), f"probabilities {name} {p.tolist()}"
        assert np.allclose(p.sum(), 1, atol=1e-6), f"probabilities {name} {p.tolist()}"


def _say(model: Any, rows: list[Any], _: Any) -> None:
    if not hasattr(model, "classes_"):
        return
    predicted = model.predict(rows)
    if isinstance(model, Classifier) and model.ties == "first" and model.undecidable == "prior":
        proba = model.predict_proba(rows)
        chosen = np.array([list(model.classes_).index(label) for label in predicted], dtype=np.int64)
        best = proba.max(axis=1) if len(proba) else np.zeros(0)
        assert (proba[np.arange(len(chosen)), chosen] >= best - 1e-9).all(), f"{predicted} of {proba.tolist()}"


def _sample(model: Any, *_: Any) -> None:
    if isinstance(model, (MarkovChain, HiddenMarkovModel, SequenceClassifier)):
        model.sample(2, 3)
    elif hasattr(model, "sample"):
        model.sample(3)


def _explain(model: Any, rows: list[Any], _: Any) -> None:
    if isinstance(model, HiddenMarkovModel):
        str(model.explain(rows, 0))
    elif hasattr(model, "explain"):
        str(model.explain(rows))
    if hasattr(model, "describe_structure"):
        str(model.describe_structure())


def _show(model: Any, *_: Any) -> None:
    repr(model)
    str(model)
    if isinstance(model, BayesianNetwork):
        for node in model.nodes:
            str(model.table(node))
    elif hasattr(model, "table"):
        str(model.table())
    for column in model.schema_.used if hasattr(model, "_column_table") else ():
        _asked(lambda name: str(model.table(name)), column)


def _learn_and_forget(model: Any, rows: list[Any], labels: list[Any]) -> None:
    labels = [labels[i % len(labels)] for i in range(len(rows))]
    if not hasattr(model, "classes_"):
        return
    if hasattr(model, "forget"):
        _asked(model.forget, rows[:1], labels[:1])
    if hasattr(model, "partial_fit"):
        model.partial_fit(rows, labels)
        _check_probabilities(model, rows)


def _save(model: Any, rows: list[Any], _: Any) -> None:
    data = to_bytes(model)
    _check_probabilities(from_bytes(data), rows)
