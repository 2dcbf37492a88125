"""Text in other encodings than UTF-8: which one fits bytes that are none, and how they read in it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress

from bayeskit.errors import BadFile
from bayeskit.remedy import Remedy

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
SAMPLE = 1 << 16  # bytes on each side of the first wrong one that decide which encoding fits
AROUND = 40  # bytes on each side that are shown, at most


def checked(encoding: str | None, name: str) -> str | None:
    """The encoding, where there is one of that name for text."""
    if encoding is not None:
        try:
            with suppress(UnicodeError):
                bytes(4).decode(encoding)
        except (LookupError, ValueError):
            raise BadFile(
                f"{name}: there is no encoding {encoding!r} for text; common ones are utf-8, latin-1, cp1252, utf-16"
            ) from None
    return encoding


def marked(first: bytes) -> str | None:
    """The encoding that the mark at the start of a file names."""
    return next((encoding for mark, encoding in MARKS.items() if first.startswith(mark)), None)


def fitting(raw: bytes) -> str:
    """The encoding in which the bytes are text: by their mark, UTF-16 by its zeros, UTF-8, else Western.

    >>> [fitting(text) for text in (b"sky", "Größe".encode("latin-1"), "Größe".encode("utf-16-le"), b"caf\\x81")]
    ['utf-8', 'cp1252', 'utf-16-le', 'latin-1']
    """
    if encoding := marked(raw):
        return encoding
    for encoding in (*wide(raw), "utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(raw)  # it may end within a character
        except UnicodeError:
            continue
        return encoding
    return "latin-1"


def wide(raw: bytes) -> list[str]:
    """UTF-16 without a mark: every other byte of Western text is zero."""
    zeros = (raw[::2].count(0), raw[1::2].count(0))
    if not any(zeros) or max(zeros) * 3 < len(raw) // 2 or max(zeros) < 3 * min(zeros):
        return []
    return ["utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"]


def reading(raw: bytes, at: int, encoding: str) -> str:
    """The word around a byte, as it reads in an encoding.

    >>> reading("sky,Größe,y".encode("cp1252"), 6, "cp1252")
    'Größe'
    """
    start = max(raw.rfind(b"\n", 0, at) + 1, at - AROUND)
    if encoding.startswith("utf-16"):
        start -= start % 2
    if encoding.startswith("utf-32"):
        start -= start % 4
    before = raw[start:at].decode(encoding, "replace")
    after = raw[at : at + AROUND].decode(encoding, "replace")
    tail = re.match(r".\w*", after, re.DOTALL)
    head = re.search(r"\w*$", before)
    return (head[0] if head else "") + (tail[0] if tail else "")


def not_in(wanted: str, where: str, raw: bytes, at: int) -> BadFile:
    """The refusal of bytes that are not in the encoding they should be in, the wrong one at ``at``."""
    encoding = marked(raw) or fitting(raw[max(at - SAMPLE, 0) & ~3 : at + SAMPLE])
    word = reading(raw, at, encoding)
    return BadFile(
        f"{where}: the text is not {wanted}. In {encoding} it would read {word!r}: if that is right, pass ",
        Remedy("encoding", encoding),
        ", else the encoding that it was written in, or save the file as UTF-8.",
        culprit=word,
        place=where,
    )


def transcoding(read: Callable[[int], bytes], encoding: str, name: str) -> Callable[[int], bytes]:
    """A function that reads text in an encoding as UTF-8; a text that is not in it is refused with the line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line, ended = 1, False

    def more(size: int) -> bytes:
        nonlocal line, ended
        while not ended:
            raw = bytes(read(size))
            ended = not raw
            try:
                text = decoder.decode(raw, ended)
            except UnicodeDecodeError as problem:
                line += problem.object[: problem.start].count(b"\n")
                raise not_in(encoding, f"{name}, line {line}", problem.object, problem.start) from None
            line += text.count("\n")
            if text:
                return text.encode("utf-8", "surrogatepass")
        return b""

    return more
