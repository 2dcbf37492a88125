r"""Where the rows of CSV text end, and which lines are comments: a quoted cell may hold line breaks and comment signs.

>>> shape = shape_of(",", "#")
>>> text = b'sky,note\n# "mended" by hand\nsun,"a\n# b"\nrain,"c\n'
>>> text[: end_of_rows(text, shape)]                       # the last row is not whole: its quote is open
b'sky,note\n# "mended" by hand\nsun,"a\n# b"\n'
>>> without_comments(text, shape)                          # an empty line is left, so that lines keep their number
b'sky,note\n\nsun,"a\n# b"\nrain,"c\n'
>>> line_of_row([text], shape, 3)
5
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from typing import Any

LONGEST = 1 << 26  # bytes of a row: what is longer is handed on as it is, and refused where it is read
BREAK = b"\xff"  # stands for a line break inside a cell; no UTF-8 has it

Shape = re.Pattern[bytes]


def shape_of(delimiter: str, comment: str | None) -> Shape:
    """What a line break or a comment sign may stand in: quoted cells, and comment lines where there are some."""
    quoted = rb"(?:^|(?<=" + re.escape(delimiter.encode()) + rb'))"[^"]*(?:""[^"]*)*(?:"|\Z)'
    if comment is None:
        return re.compile(rb"(?P<quoted>" + quoted + rb")", re.MULTILINE)
    line = rb"^" + re.escape(comment.encode()) + rb"[^\r\n]*"
    return re.compile(rb"(?P<comment>" + line + rb")|(?P<quoted>" + quoted + rb")", re.MULTILINE)


def end_of_rows(text: bytes, shape: Shape) -> int:
    """How much of a text that starts with a row is whole rows."""
    end = text.rfind(b"\n") + 1
    if b'"' not in text:
        return end
    quoted = [match.span("quoted") for match in shape.finditer(text) if match["quoted"]]
    for start, stop in reversed(quoted):
        if stop < end:
            break
        if start < end:
            end = text.rfind(b"\n", 0, start) + 1
    return end


def end_of_first_row(text: bytes, shape: Shape) -> int:
    r"""How long the first row is, with its line break; 0 where it is not whole.

    >>> end_of_first_row(b'"a\nb",c\n1,2\n', shape_of(",", None)), end_of_first_row(b'a,"b\n', shape_of(",", None))
    (8, 0)
    """
    end = text.find(b"\n") + 1
    for match in shape.finditer(text):
        start, stop = match.span()
        if start >= end:
            break
        if end <= stop:
            end = text.find(b"\n", stop) + 1
    return end


def without_comments(text: bytes, shape: Shape) -> bytes:
    """Whole rows, with an empty line for each comment."""
    return shape.sub(lambda match: b"" if match["comment"] else match[0], text)


def line_of_row(parts: Iterable[bytes], shape: Shape, row: int) -> int:
    """The line, from 1, on which the row of that number (from 1, empty lines and comments aside) begins."""
    line, rest = 1, b""
    for part in (*parts, b"\n"):
        text = rest + part
        end = end_of_rows(text, shape)
        rest = text[end:]
        for one in shape.sub(_in_one_line, text[:end]).split(b"\n")[:-1]:
            row -= bool(one.strip(b"\r"))
            if row <= 0:
                return line
            line += 1 + one.count(BREAK)
    return line


def _in_one_line(match: re.Match[bytes]) -> bytes:
    return match["quoted"].replace(b"\n", BREAK) if match["quoted"] else b""


class CommentsRemoved(io.RawIOBase):
    """The text that a function reads, without its comments."""

    def __init__(self, read: Callable[[int], Any], shape: Shape) -> None:
        self._read, self._shape = read, shape
        self._rest = self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        while not self._ready and not self._ended:
            chunk = bytes(self._read(max(len(room), io.DEFAULT_BUFFER_SIZE)))
            self._ended = not chunk
            text = self._rest + chunk
            end = len(text) if self._ended or len(text) > LONGEST else end_of_rows(text, self._shape)
            self._ready, self._rest = without_comments(text[:end], self._shape), text[end:]
        count = min(len(room), len(self._ready))
        room[:count], self._ready = self._ready[:count], self._ready[count:]
        return count
