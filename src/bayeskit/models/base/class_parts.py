"""Tallies that count parts of classes, such as the leaves of a tree or subclasses, under composite names."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from bayeskit.data.vocabulary import Value, sort_values
from bayeskit.errors import BayesError
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array


def name_of(label: Value, number: int) -> str:
    """Return the name of a part in a tally.

    >>> name_of("yes", 2)
    '["yes", 2]'
    """
    return json.dumps([label, number], ensure_ascii=False)


def parts_of(tally: Tally, model: str, what: str) -> tuple[Array, Array, tuple[Value, ...]]:
    """Return (the class of each part, its number, the classes); raise an error for other tallies."""
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


def of_classes(tally: Tally, owner: Array, classes: tuple[Value, ...]) -> Tally:
    """Return the counts of the classes, the sums of their parts."""
    schema = replace(tally.schema, target=replace(tally.schema.target, domain=None))
    order = np.argsort(owner, kind="stable")
    numbers = np.empty_like(owner)  # of each part within its class
    numbers[order] = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order])
    whole: Tally | None = None
    for number in range(int(numbers.max(initial=-1)) + 1):  # one part of each class at a time
        index = np.full(len(classes), -1)
        these = np.flatnonzero(numbers == number)
        index[owner[these]] = these
        some = tally.with_classes(index, classes)
        whole = some if whole is None else whole.plus(some)
    return (whole or tally).with_schema(schema)


def readable(sentence: str, tally: Tally) -> str:
    """Replace the names of parts in a message by class and leaf."""
    for name in tally.classes:
        label, number = json.loads(str(name))
        sentence = sentence.replace(repr(name), f"{label!r} in leaf {number}")
    return sentence
