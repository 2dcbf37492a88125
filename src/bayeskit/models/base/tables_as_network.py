"""A model of tables as a Bayesian network: the class above every column, and the parents of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.schema import Numeric
from bayeskit.data.vocabulary import Value
from bayeskit.errors import QueryError
from bayeskit.estimate.cuts import labels
from bayeskit.network.network import BayesianNetwork
from bayeskit.remedy import Remedy
from bayeskit.typing import Floats


def network_of_tables(
    model: Any, tables: Mapping[str, tuple[tuple[Value, ...], tuple[str, ...], Floats]]
) -> BayesianNetwork:
    """``tables``: of each column its values, its parents besides the class, and P (contexts, values)."""
    target = model.schema_.target.name
    parents: dict[str, tuple[str, ...]] = {target: ()}
    states: dict[str, tuple[Value, ...]] = {target: tuple(model.tally_.classes)}
    cuts: dict[str, tuple[float, ...]] = {}
    arrays = {target: np.asarray(logspace.exp(model.params_.log_prior))[None]}
    for column, (values, others, array) in tables.items():
        if column == target:
            continue
        role = model.schema_.columns[column]
        if isinstance(role, Numeric) and role.cuts is not None:
            cuts[column] = role.cuts
        states[column] = tuple(labels(cuts[column])) if column in cuts else tuple(values)
        parents[column], arrays[column] = (target, *others), array
    if len(arrays) == 1:
        raise QueryError(
            "the model knows no column as a table of values: its numbers are measured, not counted. Fit it with ",
            Remedy("numeric", "histogram"),
            ", or ask the data",
        )
    whole = {name: array / array.sum(axis=1, keepdims=True) for name, array in arrays.items()}  # without a missing cell
    return BayesianNetwork.of_arrays(parents, states, whole, cuts)
