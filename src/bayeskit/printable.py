"""Escape control characters in untrusted text before printing it to a terminal.

A name in a file may contain bytes that clear the screen, move the cursor, change the window title or reverse the
writing direction. Such characters are printed as Python escapes.
"""

from __future__ import annotations

import re

STEERING = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: \x1b starts an escape sequence, \x9b too
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of the writing direction
    "\u2028\u2029"  # line breaks that many terminals do not show
    "\ud800-\udfff"  # surrogates from undecodable file names, which terminals reject
)
_STEERING = re.compile(f"[{STEERING}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def printable(text: str, keep: str = "\n\t") -> str:
    r"""Return the text with control characters escaped, except those in ``keep``.

    >>> print(printable("red\x1b[2J\x9bm"), printable("two\nlines", keep=""))
    red\x1b[2J\x9bm two\nlines
    """
    return _STEERING.sub(lambda match: match[0] if match[0] in keep else _escape(match[0]), text)


def printable_json(text: str) -> str:
    r"""Return equivalent JSON with control characters as JSON escapes.

    >>> print(printable_json('{"a": "\u202e\x9b"}'))
    {"a": "\u202e\u009b"}
    """
    return _STEERING.sub(lambda match: match[0] if match[0] in "\n\t" else f"\\u{ord(match[0]):04x}", text)


def _escape(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
