"""What the running interpreter knows of each character: always its own Unicode version, made when first needed."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.typing import Bools, Bytes

N_CODE_POINTS = 0x110000
WORD, SPACE, CASED, IGNORABLE = 1, 2, 4, 8
SIGMA, FINAL_SIGMA, LINE_END = 0x3A3, 0x3C2, 0x0A
_ALL = np.arange(N_CODE_POINTS, dtype="<u4")


class UnicodeTables(NamedTuple):
    """What the running interpreter knows of each code point, for text beyond ASCII."""

    kinds: Bytes  # bits: 1 word, 2 space, 4 cased and not ignorable, 8 case-ignorable
    lower: npt.NDArray[np.uint32]  # lower case, or 0x110000 + row of expansions
    expansions: npt.NDArray[np.uint32]  # (rows, 3): code points, then zeros


def unicode_tables(data: Bytes) -> UnicodeTables | None:
    """The tables that these bytes need: none where they are ASCII; those for Σ only where one is there."""
    alphabet = kernels.text_alphabet(data)
    return _tables(alphabet == 2) if alphabet else None


@cache
def _tables(with_sigma: bool) -> UnicodeTables:
    if with_sigma:
        plain = _tables(False)
        return plain._replace(kinds=plain.kinds | _sigma_kinds())
    text = _text(_ALL)
    kinds = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    for expression, bit in ((r"\w+", WORD), (r"\s+", SPACE)):
        for run in re.finditer(expression, text):
            kinds[run.start() : run.end()] |= bit
    lower, expansions = _lower(text)
    return UnicodeTables(kinds, lower, expansions)


def _lower(text: str) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Lower case of each code point; where it is several characters, 0x110000 + its row of expansions."""
    lowered = text.replace("İ", "i").replace("Σ", "σ").lower()
    if len(lowered) == len(text):
        lower, longer = _numbers(lowered).astype(np.uint32), ["İ"]
    else:  # a Unicode version with more such letters: one by one
        single = [character.lower() for character in text]
        longer = [character for character, low in zip(text, single, strict=True) if len(low) > 1]
        lower = np.array([ord(low[0]) for low in single], dtype=np.uint32)
    expansions = np.zeros((len(longer), 3), dtype=np.uint32)
    for row, character in enumerate(longer):
        points = [ord(low) for low in character.lower()]
        expansions[row, : len(points)] = points
        lower[ord(character)] = N_CODE_POINTS + row
    return lower, expansions


def _sigma_kinds() -> Bytes:
    """Cased and case-ignorable characters, asked through what they do to a Σ: no module tells them otherwise."""
    kinds = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    cased = _makes_final([_ALL])
    kinds[cased] = CASED
    kinds[_makes_final([np.full_like(_ALL, ord("A")), _ALL]) & ~cased] = IGNORABLE
    return kinds


def _makes_final(before: list[npt.NDArray[np.uint32]]) -> Bools:
    """Whether a Σ after these characters is the last letter of a word."""
    lines = np.stack([*before, np.full_like(_ALL, SIGMA), np.full_like(_ALL, LINE_END)], axis=1)
    lines[ord("İ"), len(before) - 1] = ord("I")  # of the same kind, and one character when lower-cased
    lowered = _numbers(_text(lines.ravel()).lower()).reshape(lines.shape)
    return lowered[:, -2] == FINAL_SIGMA


def _text(points: npt.NDArray[np.uint32]) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _numbers(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
