"""Shapes, numbers and words of one call of a kernel, drawn at random."""

from typing import Any

import numpy as np

from bayeskit.data.text.tokens import Cut, unicode_tables
from bayeskit.data.text.word_list import pack_words

from .conftest import codes, floats, strided

Arguments = dict[str, Any]
LENGTHS = [0, 1, 2, 7, 130, 300]
WORDS = [
    b"",
    b"a",
    b"game",
    b"The",
    b"\xc3\xa9t\xc3\xa9",
    b"\xce\xa3",
    b"a word of more than fifteen bytes",
    b"\xff\xc3",
    b" ",
    b"!",
]


class Draw:
    """Shapes and numbers of one call."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.n = int(self.rng.choice(LENGTHS))
        self.k = int(self.rng.integers(0, 6))
        self.n_classes = int(self.rng.choice([1, 2, 3, 5, 9]))
        self.sizes = [int(s) for s in self.rng.choice([1, 2, 3, 40], self.k)]

    @property
    def threads(self) -> int:
        return int(self.rng.integers(1, 5))

    @property
    def labels(self) -> np.ndarray:
        return codes(self.rng, self.n, self.n_classes)

    @property
    def wide_labels(self) -> np.ndarray:
        return self.rng.integers(0, self.n_classes, self.n).astype(np.uint32)

    @property
    def weights(self) -> np.ndarray | None:
        return self.rng.random(self.n) * 3 if self.rng.random() < 0.5 else None

    @property
    def columns(self) -> list[np.ndarray]:
        return [codes(self.rng, self.n, size) for size in self.sizes]

    @property
    def numbers(self) -> list[np.ndarray]:
        return strided(floats(self.rng, self.n, self.k), int(self.rng.integers(0, 4)))

    @property
    def scores(self) -> np.ndarray:
        return self.normal(self.n, self.n_classes)

    @property
    def documents(self) -> tuple[np.ndarray, np.ndarray]:
        texts = [b" ".join(self.rng.choice(np.array(WORDS, dtype=object), 6)) for _ in range(min(self.n, 40))]
        return pack_words(texts)

    @property
    def words(self) -> tuple[np.ndarray, np.ndarray]:
        chosen = self.rng.random(len(WORDS)) < 0.6
        return pack_words(sorted(word for word, is_in in zip(WORDS, chosen, strict=True) if is_in))

    @property
    def cut(self) -> Cut:
        shortest = int(self.rng.integers(1, 4))
        longest, bits = shortest + int(self.rng.integers(0, 3)), int(self.rng.choice([0, 0, 4, 20]))
        pattern, inside = int(self.rng.integers(0, 5)), int(self.rng.integers(2, 5))
        within = (inside, inside + int(self.rng.integers(0, 3))) if pattern < 3 and self.rng.random() < 0.5 else (0, 0)
        lowercase = bool(self.rng.random() < 0.5)
        return Cut(pattern, shortest, longest, lowercase, bits, *self.words, TABLES, *within)

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.normal(size=shape)

    def whole(self, below: int, shape: Any, kind: str) -> np.ndarray:
        return self.rng.integers(0, max(below, 1), shape).astype(kind)


TABLES = unicode_tables(np.frombuffer("Σ".encode(), dtype=np.uint8))
