"""A JSON header and raw little-endian arrays in one byte string: only data, and checked before use.

Layout: 8 bytes of magic with the format's version, header length (u64), header (JSON, UTF-8), the arrays one
after another, each padded to 8 bytes, and a SHA-256 of all that stands before it. The header lists each
array's dtype (one of a fixed few) and shape; every length is checked against what is there before any
memory is taken.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.errors import BadFile

MAGIC = b"BAYES\x00"
VERSION = 1
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype("<" + name) for name in ("i8", "f8", "u1", "u4")}
HEADER_LIMIT = 1 << 28
DEPTH_LIMIT = 64
_CHECKSUM = 32
_PREFIX = len(MAGIC) + 2 + 8

Array = npt.NDArray[Any]


def pack(header: dict[str, Any], arrays: Sequence[Array]) -> bytes:
    """The bytes that :func:`unpack` reads.

    >>> header, arrays = unpack(pack({"what": "counts"}, [np.arange(3)]))
    >>> header["what"], arrays[0].tolist()
    ('counts', [0, 1, 2])
    """
    listed = [{"dtype": _name(array), "shape": list(array.shape)} for array in arrays]
    text = json.dumps({"content": header, "arrays": listed}, ensure_ascii=False, allow_nan=False, sort_keys=True)
    encoded = text.encode("utf-8", "surrogatepass")
    parts = [MAGIC, struct.pack("<HQ", VERSION, len(encoded)), encoded, _padding(_PREFIX + len(encoded))]
    for array in arrays:
        raw = np.ascontiguousarray(array, dtype=DTYPES[_name(array)]).tobytes()
        parts += [raw, _padding(len(raw))]
    body = b"".join(parts)
    return body + hashlib.sha256(body).digest()


def unpack(data: bytes | memoryview) -> tuple[dict[str, Any], list[Array]]:
    """Header and arrays; :class:`BadFile` for anything :func:`pack` has not written."""
    view = memoryview(data)
    if len(view) < _PREFIX + _CHECKSUM or bytes(view[: len(MAGIC)]) != MAGIC:
        raise BadFile("this is no bayeskit data: it does not start as such a file does")
    version, length = struct.unpack_from("<HQ", view, len(MAGIC))
    if version > VERSION:
        raise BadFile(
            f"this was written by a newer bayeskit (format {version}, this one reads up to {VERSION}): upgrade"
        )
    body = view[:-_CHECKSUM]
    if hashlib.sha256(body).digest() != bytes(view[-_CHECKSUM:]):
        raise BadFile("the bytes are damaged: their checksum does not fit (a truncated or altered file)")
    if length > min(HEADER_LIMIT, len(body) - _PREFIX):
        raise BadFile(f"the header claims {length} bytes, more than there are")
    header = _header(bytes(body[_PREFIX : _PREFIX + length]))
    return header["content"], _arrays(header["arrays"], body[_PREFIX + length + len(_padding(_PREFIX + length)) :])


def _arrays(listed: list[Any], body: memoryview) -> list[Array]:
    arrays = []
    at = 0
    for entry in listed:
        if not isinstance(entry, dict) or entry.get("dtype") not in DTYPES or not isinstance(entry.get("shape"), list):
            raise BadFile("an array in the header has no known dtype and shape")
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        if len(shape) > 32 or not all(type(n) is int and 0 <= n < 1 << 48 for n in shape):
            raise BadFile("an array in the header has an impossible shape")
        size = math.prod(shape) * dtype.itemsize
        if size > len(body) - at:
            raise BadFile(f"an array claims {size} bytes where {len(body) - at} are left")
        arrays.append(np.frombuffer(body[at : at + size], dtype=dtype).reshape(shape).copy())
        at += size + len(_padding(size))
    if at != len(body):
        raise BadFile(f"{len(body) - at} bytes stand after the last array")
    return arrays


def _header(encoded: bytes) -> dict[str, Any]:
    try:
        if _depth(encoded) > DEPTH_LIMIT:
            raise BadFile("the header is nested too deeply")
        header = json.loads(encoded.decode("utf-8", "surrogatepass"), parse_constant=_refuse_constant)
        if isinstance(header["content"], dict) and isinstance(header["arrays"], list):
            return dict(header)
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise (problem if isinstance(problem, BadFile) else BadFile(f"the header cannot be read: {problem}")) from None
    raise BadFile("the header has no content and arrays")


def _refuse_constant(name: str) -> float:
    raise BadFile(f"the header holds {name}, which is no number")


def _depth(encoded: bytes) -> int:
    """Deepest nesting of brackets, strings included (an upper bound), without recursion."""
    raw = np.frombuffer(encoded, dtype=np.uint8)
    step = np.isin(raw, list(b"[{")).astype(np.int32) - np.isin(raw, list(b"]}")).astype(np.int32)
    return int(np.cumsum(step).max(initial=0))


def _name(array: Array) -> str:
    return next(name for name, dtype in DTYPES.items() if dtype == array.dtype)


def _padding(length: int) -> bytes:
    return b"\0" * (-length % 8)
