"""``bayes ask``: a question of a data file, a network or a saved model, and the answer with what it rests on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.cli.options import AS_IT_IS, Json, Reading, grouped

if TYPE_CHECKING:
    from bayeskit.data.source import Source
    from bayeskit.data.vocabulary import Value
    from bayeskit.network.network import BayesianNetwork
    from bayeskit.network.query.grammar import Query

Record = dict[str, Any]


@grouped
def command(
    data_or_model: Annotated[
        str,
        typer.Argument(metavar="DATA_OR_MODEL", help="A data file or folder, a network (.bif) or a model (.bayes)."),
    ],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="P(event | condition), in quotes.")],
    level: Annotated[float, typer.Option(help="The probability inside the credible interval.")] = 0.95,
    probability: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The file is a table of probabilities, in this column.")
    ] = None,
    count: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The file is a table of counts, in this column.")
    ] = None,
    reading: Reading = AS_IT_IS,
    json: Json = False,
) -> None:
    """Ask a probability of data, of a network or of a model.

    Data is answered by counting its rows, a network or a model exactly.

    \b
    Example:
      bayes ask birds.csv "P(species = Gentoo | body_mass_g > 4500)"
    """
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import load_model, open_data, watched
    from bayeskit.network.query.grammar import parse

    page = Page(json)
    question = parse(query)  # a slip in the question is told before a large file is opened
    suffix = Path(data_or_model).suffix.lower()
    if suffix == ".bif":
        from bayeskit.network.bif import read_bif

        found = of_network(read_bif(data_or_model), question)
    elif suffix == ".bayes":
        model = load_model(data_or_model)
        network = network_of(model)
        refuse_untabled(model, network, question)
        found = of_network(network, question)
    else:
        source = open_data([data_or_model], None, reading)
        with watched(source, "counting") as rows:
            if probability is not None or count is not None:
                found = of_table(rows, question, probability, count)
            else:
                found = of_data(rows, question, level)
    for line in lines(found):
        page.line(line)
    page.json(found)


def of_data(source: Source, query: Query, level: float = 0.95) -> Record:
    """The answer of data: the share, the rows behind it, its interval, and the rows left out."""
    from bayeskit.network.query import answers

    answer = answers.of_data(source, query)
    low, high = answer.interval(level)
    return {
        "query": query.text.strip(),
        "probability": answer.probability,
        "matching": answer.n_both,
        "of": answer.n_condition,
        "rows": answer.n_rows,
        "left_out": answer.n_left_out,
        "interval": {"level": level, "low": low, "high": high},
        "weights": [name for name in ("probability", "count") if name in source.kinds and name not in query.columns],
    }


def of_table(source: Source, query: Query, probability: str | None, count: str | None) -> Record:
    """The answer of a table of a distribution."""
    from bayeskit.network.joint_distribution import JointDistribution

    joint = JointDistribution.from_table(source, probability, count)
    return {"query": query.text.strip(), "probability": joint.probability(query.text), "cells": joint.n_cells}


def of_network(n: BayesianNetwork, query: Query) -> Record:
    """The answer of a network."""
    from bayeskit.network.query import answers

    return {"query": query.text.strip(), "probability": answers.of_network(n, query), "nodes": len(n.nodes)}


def refuse_untabled(model: Any, network: BayesianNetwork, query: Query) -> None:
    """A column that the model knows, but not as a table of values."""
    from bayeskit.network.query.grammar import leaves

    columns = {} if model is network else model.schema_.columns
    sides = [query.event] if query.condition is None else [query.event, query.condition]
    for leaf in (leaf for side in sides for leaf in leaves(side)):
        if leaf.column in columns and leaf.column not in network.states:
            role = columns[leaf.column].name
            remedy = (
                "fit it with --numeric histogram, or ask the data file" if role == "numeric" else "ask the data file"
            )
            why = {"numeric": "it is measured, not counted", "ignore": "it is ignored"}.get(role, f"it is {role}")
            raise query.error(leaf.at, f"the model holds no table of {leaf.column!r} ({why}): {remedy}")


def lines(found: Record) -> list[str]:
    """An answer in words."""
    said = [f"{found['query']} = {found['probability']:.6g}"]
    if "nodes" in found:
        return [*said, f"exact, by a network of {found['nodes']} nodes"]
    if "cells" in found:
        return [*said, f"exact, by a table of {found['cells']:,} cells"]
    interval = found["interval"]
    counted = found["rows"] - found["left_out"]
    some = f" that match the condition ({counted:,} in all)" if found["of"] < counted else ""
    said.append(f"rows: {found['matching']:,} of the {found['of']:,}{some}")
    said.append(f"{100 * interval['level']:g} % credible interval: {interval['low']:.6g} to {interval['high']:.6g}")
    if found["left_out"]:
        said.append(f"left out: {found['left_out']:,} rows with a missing cell in a column that is asked for")
    return said + [f"rows were counted; to weigh them by {name!r}, pass --{name} {name}" for name in found["weights"]]


def network_of(model: Any) -> BayesianNetwork:
    """A network as it is; a model as the network class → column (and parents → column), of the columns with tables."""
    import numpy as np

    from bayeskit import logspace
    from bayeskit.data.schema import Numeric
    from bayeskit.errors import BayesError, QueryError, with_article
    from bayeskit.estimate.cuts import labels
    from bayeskit.network.network import BayesianNetwork

    if isinstance(model, BayesianNetwork):
        return model
    tables = getattr(getattr(model, "params_", None), "tables", None)
    if tables is None:
        raise BayesError(
            f"{with_article(type(model).__name__)} holds no tables to ask of; "
            "save a network, or a naive, tan or kdb model"
        )
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
            states[column] = tuple(labels(cuts[column])) if column in cuts else tuple(table.values)
            others = getattr(table, "parents", None)
            parents[column] = (target, *(others or ()))
            if others is None:
                arrays[column] = table.probabilities[:, 1 : len(table.values) + 1]
            else:
                arrays[column] = model.factor(column).reshape(-1, len(table.values))
    if len(arrays) == 1:
        raise QueryError(
            "the model knows no column as a table of values: its numbers are measured, not counted. "
            "Fit it with --numeric histogram, or ask the data file."
        )
    whole = {name: array / array.sum(axis=1, keepdims=True) for name, array in arrays.items()}  # without a missing cell
    return BayesianNetwork.of_arrays(parents, states, whole, cuts)
