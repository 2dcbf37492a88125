"""How much a word's presence says of the class, in nats.

Formula: I(class; word)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def information_gain(documents: npt.NDArray[Any], class_counts: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """I(class; word present) of each word, from ``documents`` that have it (words, classes) and documents by class.

    >>> information_gain(np.array([[2, 0], [1, 1], [2, 2]]), np.array([2, 2])).round(6).tolist()
    [0.693147, 0.0, 0.0]
    """
    total = float(np.sum(class_counts))
    share = class_counts / total
    gain = np.zeros(len(documents))
    for joint in (documents / total, (class_counts - documents) / total):
        of_word = joint.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = joint * np.log(joint / (of_word * share))
        gain += np.where(joint > 0, terms, 0.0).sum(axis=1)
    return np.maximum(gain, 0.0)
