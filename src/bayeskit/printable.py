"""Text of strangers on a terminal: what would steer it is shown, not sent.

A name in a file may hold the bytes that clear a screen, move the cursor, change the title of the window or turn the
direction of writing around. Wherever such a name is printed for a person, these stand as Python writes them.
"""

from __future__ import annotations

import re

STEERING = (
    "\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: \x1b starts an escape sequence, \x9b too
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks, embeddings, overrides and isolates of the writing direction
    "\u2028\u2029"  # line breaks that many terminals do not show
    "\ud800-\udfff"  # bytes of a file name that are no text, which no terminal takes
)
_STEERING = re.compile(f"[{STEERING}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def printable(text: str, keep: str = "\n\t") -> str:
    r"""The text with control characters shown, but for those that are kept.

    >>> print(printable("red\x1b[2J\x9bm"), printable("two\nlines", keep=""))
    red\x1b[2J\x9bm two\nlines
    """
    return _STEERING.sub(lambda match: match[0] if match[0] in keep else _shown(match[0]), text)


def printable_json(text: str) -> str:
    r"""JSON that says the same, with what would steer a terminal as JSON itself escapes it.

    >>> print(printable_json('{"a": "\u202e\x9b"}'))
    {"a": "\u202e\u009b"}
    """
    return _STEERING.sub(lambda match: match[0] if match[0] in "\n\t" else f"\\u{ord(match[0]):04x}", text)


def _shown(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
