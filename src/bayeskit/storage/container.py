"""Store a JSON header and raw little-endian arrays in one byte string: only data, checked before use.

Layout: 8 bytes of magic with the format's version, header length (u64), header (JSON, UTF-8), the arrays one
after another, each padded to 8 bytes, and a SHA-256 of all that stands before it. The header names the
version that wrote it, and each array's dtype (one of a fixed few) and shape; every length is checked against what is
there before any memory is taken. Long lists of values in the header stand as arrays, too
(:class:`ValueLists`). Arrays are views of the bytes: reading takes little more memory than they do.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from operator import lt
from typing import Any

import numpy as np

from bayeskit import __version__
from bayeskit.arrow_arrays import aligned
from bayeskit.errors import BadFile, TooLarge
from bayeskit.lazy import pa, pc
from bayeskit.storage.files import MAGIC as MAGIC
from bayeskit.typing import Array

LONG = 16  # shorter lists stay in the header
CHUNK = 1 << 20
TYPES = (int, float, bool)
LIST_DTYPES = ["|u1", "<i8", "<i8", "|u1"]  # types of the numbers, their bits; where strings start and end, their text
VERSION = 1
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype("<" + name) for name in ("i8", "f8", "u1", "u4")}
HEADER_LIMIT = 3 << 19  # bytes; as Python's objects they take up to thirty times as much
DEPTH_LIMIT = 64
REFERENCE = "@list"
_CHECKSUM = 32
_PREFIX = len(MAGIC) + 2 + 8


def check_file(holds: Any, message: str) -> None:
    """Raise :class:`BadFile` unless a condition on the contents of a file holds."""
    if not holds:
        raise BadFile(message)


def pack(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """Serialize a header and arrays for :func:`unpack`.

    >>> header, arrays = unpack(pack({"what": "counts"}, [np.arange(3)]))
    >>> header["what"], arrays[0].tolist()
    ('counts', [0, 1, 2])
    """
    found: list[Sequence[Any]] = []
    header = _without_long_lists(header, found)
    lists = ValueLists.of(found)
    arrays = [*arrays, *(lists.arrays if found else ())]
    whole = {
        "bayeskit": __version__,
        "content": header,
        "arrays": [{"dtype": _name(array), "shape": list(array.shape)} for array in arrays],
        "lists": lists.sizes,
    }
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) > HEADER_LIMIT:
        raise TooLarge(
            f"names and settings take {len(encoded):,} bytes, and a file has room for {HEADER_LIMIT:,} "
            "(about 10,000 columns). Keep fewer columns: restrict(…)."
        )
    parts = [MAGIC, struct.pack("<HQ", VERSION, len(encoded)), encoded, _padding(_PREFIX + len(encoded))]
    for array in arrays:
        raw = np.ascontiguousarray(array, dtype=DTYPES[_name(array)]).tobytes()
        parts += [raw, _padding(len(raw))]
    body = b"".join(parts)
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes | memoryview) -> tuple[dict[str, Any], list[Array]]:
    """Return header and arrays; raise :class:`BadFile` for anything that :func:`pack` has not written."""
    view = memoryview(data)
    is_data = len(view) >= _PREFIX + _CHECKSUM and bytes(view[: len(MAGIC)]) == MAGIC
    check_file(is_data, "this is not bayeskit data: it does not start as such a file does")
    version, length = struct.unpack_from("<HQ", view, len(MAGIC))
    if version != VERSION:
        action = "upgrade bayeskit" if version > VERSION else "fit the model again"
        raise BadFile(f"the file has format version {version}, and this bayeskit reads version {VERSION}: {action}")
    body = view[:-_CHECKSUM]
    whole = hashlib.sha256(body).digest() == bytes(view[-_CHECKSUM:])
    check_file(whole, "the bytes are damaged: their checksum does not fit (a truncated or altered file)")
    fits = length <= min(HEADER_LIMIT, len(body) - _PREFIX)
    check_file(fits, f"the header claims {length} bytes, more than there are")
    encoded = bytes(body[_PREFIX : _PREFIX + length])
    header = _header(encoded)
    arrays = _arrays(header["arrays"], body[_PREFIX + length + len(_padding(_PREFIX + length)) :])
    lists, sizes = ValueLists.of([]), header["lists"]
    if sizes:  # their values are in the last arrays
        check_file(len(arrays) >= len(LIST_DTYPES), "the header names lists of values that no arrays hold")
        lists = ValueLists(sizes, arrays[-len(LIST_DTYPES) :])
        lists.check()
        del arrays[-len(LIST_DTYPES) :]
    content = header["content"]
    if REFERENCE.encode() in encoded:
        content = {name: _with_lists(value, lists) for name, value in content.items()}
    return content, arrays


def strings(data: bytes) -> set[str]:
    """Return every string of a file: of its header, of its lists of values and of its lists of words.

    >>> sorted(strings(pack({"sky": ["rain", "sun"]}, [])))
    ['rain', 'sky', 'sun']
    """
    content, arrays = unpack(data)
    found, rest = set(), [content]
    while rest:
        match rest.pop():
            case dict() as mapping:
                rest += [*mapping.keys(), *mapping.values()]
            case list() | ValueList() as values:
                rest += values
            case str() as text:
                found.add(text)
    for text, ends in pairwise(arrays):
        if text.dtype == np.uint8 and ends.dtype == np.int64 and len(ends) and ends[0] == 0 and ends[-1] == len(text):
            raw, at = text.tobytes(), ends.tolist()
            found |= {raw[a:b].decode("utf-8", "replace") for a, b in pairwise(at)}
    return found


def _without_long_lists(part: Any, lists: list[Sequence[Any]]) -> Any:
    """Replace each long list of values in the header by a reference."""
    if isinstance(part, dict):
        return {key: _without_long_lists(value, lists) for key, value in part.items()}
    if not isinstance(part, (list, tuple, ValueList)):
        return part
    if len(part) >= LONG and is_packable(part):
        lists.append(part)
        return {REFERENCE: len(lists) - 1}
    return [_without_long_lists(value, lists) for value in part]


def _with_lists(part: Any, lists: ValueLists) -> Any:
    """Replace the references of :func:`_without_long_lists` by the lists."""
    if isinstance(part, list):
        return [_with_lists(value, lists) for value in part]
    if not isinstance(part, dict):
        return part
    if REFERENCE not in part:
        return {key: _with_lists(value, lists) for key, value in part.items()}
    index = part[REFERENCE]
    known = len(part) == 1 and type(index) is int and 0 <= index < len(lists)
    check_file(known, "the header refers to a list of values that is not there")
    return lists[index]


def _arrays(listed: list[Any], body: memoryview) -> list[Array]:
    arrays = []
    at = 0
    for entry in listed:
        known = isinstance(entry, dict) and isinstance(entry.get("dtype"), str) and entry["dtype"] in DTYPES
        check_file(known and "shape" in entry, "an array in the header has no known dtype and shape")
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        possible = _are_lengths(shape) and len(shape) <= 32 and math.prod(max(n, 1) for n in shape) < 1 << 48
        check_file(possible, "an array in the header has an impossible shape")
        size = math.prod(shape) * dtype.itemsize
        check_file(size <= len(body) - at, f"an array claims {size} bytes where {len(body) - at} are left")
        arrays.append(aligned(np.frombuffer(body[at : at + size], dtype=dtype)).reshape(shape))
        at += size + len(_padding(size))
    check_file(at == len(body), f"{len(body) - at} bytes stand after the last array")
    return arrays


def _header(encoded: bytes) -> dict[str, Any]:
    try:
        check_file(_depth(encoded) <= DEPTH_LIMIT, "the header is nested too deeply")
        header = json.loads(
            encoded.decode("utf-8", "surrogatepass"),
            parse_constant=_finite,
            parse_float=_finite,
            object_pairs_hook=_unique,
        )
        listed = isinstance(header["arrays"], list) and all(_are_lengths(sizes, 2) for sizes in header["lists"])
        check_file(listed and isinstance(header["content"], dict), "the header has no content and arrays")
        return header
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise (problem if isinstance(problem, BadFile) else BadFile(f"the header cannot be read: {problem}")) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    check_file(len(made) == len(pairs), "the header names something twice")
    return made


def _are_lengths(numbers: Any, count: int | None = None) -> bool:
    is_list = isinstance(numbers, list) and (count is None or len(numbers) == count)
    return is_list and all(type(n) is int and 0 <= n < 1 << 48 for n in numbers)


def _finite(digits: str) -> float:
    """Parse a number of the header; raise an error for NaN and infinity, such as 1e999."""
    number = float(digits)
    check_file(math.isfinite(number), f"the header has a number that is infinite or none: {digits[:20]}")
    return number


def _depth(encoded: bytes) -> int:
    """Return an upper bound on the nesting of brackets, without recursion."""
    raw = np.frombuffer(encoded, dtype=np.uint8)
    step = np.isin(raw, list(b"[{")).astype(np.int32) - np.isin(raw, list(b"]}")).astype(np.int32)
    return int(np.cumsum(step).max(initial=0))


def _name(array: Array) -> str:
    return next(name for name, dtype in DTYPES.items() if dtype == array.dtype)


def _padding(length: int) -> bytes:
    return b"\0" * (-length % 8)


# -- lists of values ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ValueLists:
    """Undecoded lists: the numbers of numbers and strings of each, and the arrays of all.

    >>> lists = ValueLists.of([[1, 2.5, "rain", "sun"], ["hail"]])
    >>> lists.check()
    >>> lists.sizes, list(lists[0]), list(lists[1])
    ([[2, 2], [0, 1]], [1, 2.5, 'rain', 'sun'], ['hail'])
    """

    sizes: list[list[int]]
    arrays: list[Array]

    @classmethod
    def of(cls, lists: Sequence[Sequence[Any]]) -> ValueLists:
        """Build the arrays of lists that are all :func:`is_packable`."""
        counts = [_n_numbers(values) for values in lists]
        numbers = list(chain.from_iterable(values[:n] for values, n in zip(lists, counts, strict=True)))
        ends, text = _text_arrays(list(chain.from_iterable(v[n:] for v, n in zip(lists, counts, strict=True))))
        kinds = np.array([TYPES.index(type(v)) for v in numbers], dtype=np.uint8)
        bits = np.array([int(v) if type(v) is not float else 0 for v in numbers], dtype=np.int64)
        bits[kinds == 1] = np.array([v for v in numbers if type(v) is float], dtype=np.float64).view(np.int64)
        sizes = [[n, len(values) - n] for values, n in zip(lists, counts, strict=True)]
        return cls(sizes, [kinds, bits, ends, text])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, index: int) -> ValueList:
        return ValueList(self, index)

    @cached_property
    def starts(self) -> Array:
        """Return the starts of the numbers and strings of each list, (n_lists + 1, 2)."""
        sizes = np.array(self.sizes, dtype=np.int64).reshape(-1, 2)
        return np.concatenate([np.zeros((1, 2), dtype=np.int64), np.cumsum(sizes, axis=0)])

    @cached_property
    def strings(self) -> Any:
        """Return all strings as one Arrow array over the same bytes."""
        ends, text = self.arrays[2:]
        return pa.Array.from_buffers(pa.large_string(), len(ends) - 1, [None, pa.py_buffer(ends), pa.py_buffer(text)])

    def check(self) -> None:
        """Raise an error for anything :meth:`of` has not written: unsorted values, invalid UTF-8."""
        known = [a.dtype.str for a in self.arrays] == LIST_DTYPES and all(a.ndim == 1 for a in self.arrays)
        check_file(known, "the lists of values have arrays of other types")
        kinds, bits, ends, text = self.arrays
        n_numbers, n_strings = self.starts[-1].tolist()
        fits = len(kinds) == len(bits) == n_numbers and len(ends) == n_strings + 1
        check_file(fits, "the lists of values do not fill their arrays")
        self._check_numbers(kinds, bits)
        check_file(ends[0] == 0 and ends[-1] == len(text), "the strings of values do not fill their bytes")
        for start in range(0, n_strings, CHUNK):
            part = ends[start : start + CHUNK + 1]
            check_file((part[1:] >= part[:-1]).all(), "a string has a negative length")
        if n_strings:
            self._check_strings()

    def _check_numbers(self, kinds: Array, bits: Array) -> None:
        check_file(kinds.max(initial=0) < len(TYPES), "a list of values has numbers of no known type")
        for start in range(0, len(bits), CHUNK):
            k, whole = kinds[start : start + CHUNK + 1], bits[start : start + CHUNK + 1]
            floats = np.where(k == 1, whole.view(np.float64), whole.astype(np.float64))
            sound = np.isfinite(floats).all() and not ((k == 2) & (floats != 0) & (floats != 1)).any()
            check_file(sound, "a list of values has numbers that are none")
            both_whole = (k[1:] != 1) & (k[:-1] != 1)
            rising = np.where(both_whole, whole[1:] > whole[:-1], floats[1:] > floats[:-1])
            _check_rising(rising, self.starts[:-1, 0], start)

    def _check_strings(self) -> None:
        strings = self.strings
        try:
            strings.validate(full=True)
        except pa.ArrowException as problem:
            raise BadFile(f"a list of values holds bytes that are not text: {problem}") from None
        for start in range(0, len(strings), CHUNK):
            part = strings.slice(start, CHUNK + 1)
            rising = pc.greater(part[1:], part[:-1]).to_numpy(zero_copy_only=False).astype(bool)
            _check_rising(rising, self.starts[:-1, 1], start)


def _check_rising(rising: Array, firsts: Array, start: int) -> None:
    """Check that values rise; the first value of a list may be below the last of the list before."""
    rising[firsts[(firsts > start) & (firsts <= start + len(rising))] - start - 1] = True
    check_file(rising.all(), "a list of values does not rise")


@dataclass(eq=False)
class ValueList(Sequence[Any]):
    """One of the lists; its values are decoded on first use."""

    lists: ValueLists
    which: int

    def __len__(self) -> int:
        return sum(self.lists.sizes[self.which])

    @cached_property
    def _values(self) -> list[Any]:
        (low, first), (high, last) = self.lists.starts[self.which : self.which + 2].tolist()
        kinds, bits = (array[low:high] for array in self.lists.arrays[:2])
        numbers = bits.tolist()
        if kinds.any():
            floats = bits.view(np.float64).tolist()
            decoded = zip(kinds.tolist(), numbers, floats, strict=True)
            numbers = [x if kind == 1 else bool(n) if kind == 2 else n for kind, n, x in decoded]
        return numbers + (self.lists.strings.slice(first, last - first).to_pylist() if last > first else [])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __getitem__(self, index: Any) -> Any:
        return self._values[index]


def is_packable(values: Sequence[Any]) -> bool:
    """Return True if a list is sorted 64-bit numbers followed by sorted strings."""
    n = _n_numbers(values)
    numbers, strings = values[:n], values[n:]
    if not {*map(type, numbers)} <= {*TYPES} or not {*map(type, strings)} <= {str}:
        return False
    if any(type(v) is int and not -(2**63) <= v < 2**63 for v in numbers):
        return False
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        return False
    return all(all(map(lt, part, part[1:])) for part in (numbers, strings))


def _text_arrays(texts: list[str]) -> tuple[Array, Array]:
    """Return the offsets of strings, and their bytes."""
    if not texts:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    _, ends, text = pa.array(texts, pa.large_string()).buffers()
    ends = np.frombuffer(ends, dtype=np.int64)[: len(texts) + 1]
    return ends, np.frombuffer(text or b"", dtype=np.uint8)[: ends[-1]]


def _n_numbers(values: Sequence[Any]) -> int:
    return next((i for i, value in enumerate(values) if isinstance(value, str)), len(values))
