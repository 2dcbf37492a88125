"""What the models of several classes must share for their likelihoods to be compared: symbols, columns that vary."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.data.numbers import as_floats
from bayeskit.data.schema import Categorical, Schema, Target, infer
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, sort_values
from bayeskit.errors import BayesError
from bayeskit.remedy import Remedy


def schema_of(model: Any, sequences: Sequences) -> Schema:
    """What the columns of all sequences mean to a ``HiddenMarkovModel``, with the symbols that any of them shows: one
    that a class never shows is improbable in it, not unknown to it."""
    if model.schema is not None:
        schema: Schema = model.schema
    else:
        kinds, target = sequences.kinds, Target("state")
        schema = infer(kinds, roles=model.roles, domains=model.domains, target=target, named=sequences.named)
    where = schema.locate(list(sequences.kinds), sequences.named)
    symbols = {}
    for name in schema.coded():
        role = schema.columns[name]
        if type(role) is Categorical and role.domain is None:
            vocabulary = Vocabulary()
            sequences.coded(sequences.columns[where[name]], vocabulary, grow=True, name=name)
            if vocabulary.values:
                symbols[name] = Categorical(tuple(sort_values(vocabulary.values)))
    return schema.replace(symbols)


def check_varies(label: Value, of_class: Sequences, all_of_them: Sequences, schema: Schema) -> None:
    """Refuse a column of numbers that varies, but not within a class: the density there would have no width."""
    where = schema.locate(list(of_class.kinds), of_class.named)
    for name in schema.measured():
        if _varies(of_class, where[name]) or not _varies(all_of_them, where[name]):
            continue
        raise BayesError(
            f"column {name!r} does not vary in the sequences of class {label!r}, so their likelihoods cannot be "
            "compared with those of other classes: leave it out with ",
            Remedy("roles", {name: "ignore"}),
            " of the model, or take it as ",
            Remedy("roles", {name: "categorical"}, short=True),
            culprit=(label, name),
        )


def _varies(sequences: Sequences, name: str) -> bool:
    numbers = as_floats(sequences.columns[name], name, 0)
    numbers = numbers[~np.isnan(numbers)]
    return len(numbers) > 0 and bool(numbers.min() < numbers.max())
