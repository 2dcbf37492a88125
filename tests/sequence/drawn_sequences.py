"""Labeled sequences drawn at random, and the settings that add nothing to counts."""

from typing import Any

import numpy as np

PLAIN: dict[str, Any] = {"smoothing": 0, "transition_smoothing": 0, "start_smoothing": 0}


def drawn(rng: np.random.Generator, n: int, length: int) -> tuple[list[Any], list[Any]]:
    """Labeled sequences of two columns with gaps."""
    sequences, labels = [], []
    for _ in range(n):
        states = rng.integers(0, 3, rng.integers(1, length))
        sequences.append(
            [
                {"sky": [None, "sun", "rain", "hail"][rng.integers(0, 4)], "wind": float(rng.normal(s, 0.5))}
                if rng.random() > 0.1
                else {"sky": "sun", "wind": None}
                for s in states
            ]
        )
        labels.append([["a", "b", "c"][s] for s in states])
    return sequences, labels
