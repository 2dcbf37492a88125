"""Tallies whose classes are parts of classes: subclasses, or the rows of a class in a leaf of a tree.

A part is named by its class and its number, as JSON; so counts of parts add, subtract and are saved like any others.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value, sort_values
from bayeskit.errors import BayesError
from bayeskit.tally.families import Family
from bayeskit.tally.joints import check_memory
from bayeskit.tally.moments import Moments
from bayeskit.tally.tally import Tally

FEWER = "Learn fewer classes, or use NaiveBayes."
Index = npt.NDArray[Any]


def name_of(label: Value, number: int) -> str:
    """The name of a part in a tally.

    >>> name_of("yes", 2)
    '["yes", 2]'
    """
    return json.dumps([label, number], ensure_ascii=False)


def parts_of(tally: Tally, model: str, what: str) -> tuple[Index, Index, tuple[Value, ...]]:
    """(the class of each part, its number, the classes); other tallies are refused."""
    try:
        read = [json.loads(name) for name in tally.classes]  # type: ignore[arg-type]
        named = [(label, int(number)) for label, number in read]
        for (label, number), name in zip(named, tally.classes, strict=True):
            if not isinstance(label, (str, int, float)) or number < 0 or name_of(label, number) != name:
                raise ValueError
    except (ValueError, TypeError):
        raise BayesError(
            f"{model} learns from rows, or from the counts of another one: these counts know no {what}"
        ) from None
    classes = tuple(sort_values({label for label, _ in named}))
    at = {label: i for i, label in enumerate(classes)}
    owner = np.array([at[label] for label, _ in named], dtype=np.int64)
    return owner, np.array([number for _, number in named], dtype=np.int64), classes


def of_classes(tally: Tally, owner: Index, classes: tuple[Value, ...]) -> Tally:
    """The counts of the classes: their parts together."""
    check_memory(f"{len(owner):,} parts of {len(classes):,} classes", 8.0 * len(classes) * len(owner), None, FEWER)
    onto = np.zeros((len(classes), len(owner)), dtype=tally.class_counts.dtype)
    onto[owner, np.arange(len(owner))] = 1
    families = {name: Family(f.values, onto @ f.counts) for name, f in tally.families.items()}
    moments = Moments.zeros(len(classes), tally.moments.shape[1], weighted=tally.weighted)
    for part, c in enumerate(owner):
        moments = moments + tally.moments.take(np.where(np.arange(len(classes)) == c, part, -1))
    target = replace(tally.schema.target, domain=None)
    return replace(
        tally,
        schema=replace(tally.schema, target=target),
        classes=classes,
        class_counts=onto @ tally.class_counts,
        families=families,
        moments=moments,
    )


def readable(sentence: str, tally: Tally) -> str:
    """A sentence of a tally of leaves, its parts named as people do."""
    for name in tally.classes:
        label, number = json.loads(str(name))
        sentence = sentence.replace(repr(name), f"{label!r} in leaf {number}")
    return sentence
