r"""Format names, numbers and long products for LaTeX with amsmath.

Non-Latin letters are left unchanged; XeLaTeX and LuaLaTeX print them with a suitable font.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bayeskit.printable import printable

LINE = 54  # characters that fit on a line of an article
_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''", "<": "$<$", ">": "$>$", "|": "$|$",
    "¬": r"$\neg$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "·": r"$\cdot$", "×": r"$\times$",
    "–": "--", "…": r"\dots{}",
}  # fmt: skip
_COMMAND = re.compile(r"\\(?:text|frac|sqrt|left|right|stackrel)\b|\\(?=[{}$&#_%])|[{}^$]|\\[a-z]+ ?")


def name(text: object) -> str:
    r"""Format a name inside a formula.

    >>> print(name("a_b <= 50 %"))
    \text{a\_b $<$= 50 \%}
    """
    return rf"\text{{{''.join(_SIGNS.get(sign, sign) for sign in printable(str(text), keep=''))}}}"


def number(text: str) -> str:
    r"""Format a number given as text, with powers of ten in exponent notation.

    >>> print(number("0.25"), number("−1.2e−09"), number("10^-602"), number("above 0.9"), number("none"))
    0.25 -1.2 \cdot 10^{-9} 10^{-602} \text{above 0.9} \text{none}
    """
    if text[0].isalpha():
        return name(text)
    digits, power, exponent = text.replace("−", "-").replace("10^", "e").partition("e")
    return digits if not power else r" \cdot ".join(filter(None, (digits, f"10^{{{int(exponent)}}}")))


def lines(parts: Iterable[str], sign: str) -> list[str]:
    r"""Join parts by a sign and break them into lines that fit a page; every line but the first begins with the sign.

    >>> print(*lines(["a", "b" * 40, "c" * 30], r"\cdot"), sep="\n")
    a \cdot bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    \quad \cdot cccccccccccccccccccccccccccccc
    """
    broken: list[str] = []
    room = 0
    for part in parts:
        width = width_of(part) + 2
        if broken and width <= room:
            broken[-1] += f" {sign} {part}"
        else:
            broken.append(rf"\quad {sign} {part}" if broken else part)
            room = LINE
        room -= width
    return broken


def width_of(formula: str) -> int:
    r"""Estimate the width of a formula in characters; a fraction is as wide as both its parts.

    >>> width_of(r"\frac{3 + 1}{9}"), width_of(name("a_b"))
    (6, 3)
    """
    return len(_COMMAND.sub("", formula))
