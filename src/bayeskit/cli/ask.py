"""``bayes ask``: a question of a data file, a network or a saved model, and the answer with what it rests on."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BayesError, QueryError
from bayeskit.network import asking
from bayeskit.network.query import Query, parse

if TYPE_CHECKING:
    from bayeskit.data.source import Source
    from bayeskit.data.vocabulary import Value
    from bayeskit.network.network import BayesianNetwork

MODELS = (".bayes",)


def ask(
    data_or_model: str,
    query: str,
    level: float = 0.95,
    probability: str | None = None,
    count: str | None = None,
) -> None:
    """Ask P(event | condition) of a CSV or Parquet file, a network (.bif) or a saved model.

    Of data it is the share of the rows that match, with a credible interval; of a network or a model it is exact. With
    --probability or --count a file is read as a table of a distribution, and that column holds its numbers.
    """
    for line in answer(data_or_model, query, level, probability, count):
        print(line)


def answer(
    path: str, query: str, level: float = 0.95, probability: str | None = None, count: str | None = None
) -> list[str]:
    """The lines that answer a question of whatever is at a path."""
    question = parse(query)  # a slip in the question is told before a large file is opened
    suffix = Path(path).suffix.lower()
    if suffix == ".bif":
        from bayeskit.network.bif import read_bif

        return of_network(read_bif(path), question, Path(path).name)
    if suffix in MODELS:
        model = import_module("bayeskit.io").load(path)
        return of_network(network_of(model), question, Path(path).name)
    if probability is not None or count is not None:
        from bayeskit.network.joint import JointDistribution

        joint = JointDistribution.from_table(path, probability, count)
        return [f"{query.strip()} = {joint.probability(query):.6g}", f"exact, from a table of {joint.n_cells:,} cells"]
    from bayeskit.data.source import open_source

    return of_data(open_source(path), question, level)


def of_network(n: BayesianNetwork, query: Query, name: str) -> list[str]:
    """The answer of a network."""
    p = asking.of_network(n, query)
    return [f"{query.text.strip()} = {p:.6g}", f"exact, by the network {name} of {len(n.nodes)} nodes"]


def of_data(source: Source, query: Query, level: float = 0.95) -> list[str]:
    """The answer of data: the share, the rows behind it, the interval, and the rows left out."""
    found = asking.of_data(source, query)
    low, high = found.interval(level)
    counted = found.n_rows - found.n_left_out
    given = "rows" if query.condition is None else f"that match the condition ({counted:,} rows in all)"
    lines = [
        f"{query.text.strip()} = {found.probability:.6g}",
        f"rows: {found.n_both:,} of the {found.n_condition:,} {given}",
        f"{100 * level:g} % credible interval: {low:.6g} to {high:.6g} (Jeffreys' prior on these rows)",
    ]
    if found.n_left_out:
        lines.append(f"left out: {found.n_left_out:,} rows with a missing cell in a column that is asked for")
    weights = [name for name in ("probability", "count") if name in source.kinds and name not in query.columns]
    return lines + [f"note: rows were counted; to weigh them by {name!r}, pass --{name} {name}" for name in weights]


def network_of(model: Any) -> BayesianNetwork:
    """A saved network as it is; a naive Bayes model as the network class → column, of the columns that have tables."""
    from bayeskit.data.schema import Numeric
    from bayeskit.estimate.cuts import labels
    from bayeskit.network.network import BayesianNetwork

    if isinstance(model, BayesianNetwork):
        return model
    tables = getattr(getattr(model, "params_", None), "tables", None)
    if tables is None:
        raise BayesError(f"a {type(model).__name__} holds no tables to ask of; save a network or a naive Bayes model")
    target = model.schema_.target.name
    parents: dict[str, tuple[str, ...]] = {target: ()}
    states: dict[str, tuple[Value, ...]] = {target: tuple(model.tally_.classes)}
    cuts: dict[str, tuple[float, ...]] = {}
    arrays = {target: np.asarray(logspace.exp(model.params_.log_prior))[None]}
    for column, table in tables.items():
        if table.used and column != target:
            role = model.schema_.columns[column]
            if isinstance(role, Numeric) and role.cuts is not None:
                cuts[column] = role.cuts
            parents[column] = (target,)
            states[column] = tuple(labels(role.cuts)) if column in cuts else tuple(table.values)
            arrays[column] = table.probabilities[:, 1 : len(table.values) + 1]
    if len(arrays) == 1:
        raise QueryError("the model knows no column as a table of values: its numbers are measured, not counted")
    whole = {name: array / array.sum(axis=1, keepdims=True) for name, array in arrays.items()}  # without a missing cell
    return BayesianNetwork.of_arrays(parents, states, whole, cuts)
