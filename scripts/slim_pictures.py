"""Pictures of the documentation as small files: the same dots, packed as well as can be."""

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KINDS = {2: 3, 6: 4}  # of PNG: RGB and RGBA, and the bytes of a dot


def slim_png(data: bytes) -> bytes:
    """A PNG without its alpha channel, packed as well as can be."""
    dots = pixels(data).astype(np.uint8)
    height, width, _ = dots.shape
    lines = np.zeros((height, 3 * width + 1), dtype=np.uint8)
    lines[:, 1:] = dots.reshape(height, -1)
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))]
    parts += [(b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(map(_packed, parts))


def pixels(data: bytes) -> npt.NDArray[np.int64]:
    """The dots of a PNG (height, width, red green blue), of the forms that are drawn and kept here."""
    chunks: dict[bytes, bytes] = {}
    for kind, body in _chunks(data):
        chunks[kind] = chunks.get(kind, b"") + body
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), dtype=np.uint8).reshape(height, -1)
    if depth != 8 or kind not in KINDS or set(lines[:, 0].tolist()) - {0, 1}:
        raise ValueError(f"a PNG of {depth} bits, kind {kind}, is not read here")
    cells = lines[:, 1:].reshape(height, width, KINDS[kind])
    summed = np.cumsum(cells, axis=1, dtype=np.uint64).astype(np.uint8)  # each is the difference to its left neighbor
    dots = np.where((lines[:, 0] == 1)[:, None, None], summed, cells)
    return dots[:, :, :3].astype(np.int64)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def _packed(part: tuple[bytes, bytes]) -> bytes:
    kind, body = part
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
