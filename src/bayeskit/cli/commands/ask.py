"""``bayes ask``: a question of a data file, a network or a saved model, and the answer with what it rests on."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.cli.options import AS_IT_IS, Json, Reading, grouped
from bayeskit.cli.plots import Plot, check_plot
from bayeskit.cli.plots import plot as draw
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayeskit.cli.console import Page
    from bayeskit.data.source import Source
    from bayeskit.data.vocabulary import Value
    from bayeskit.network.network import BayesianNetwork
    from bayeskit.network.query.answers import Answer, Shares
    from bayeskit.network.query.distribution import Distribution
    from bayeskit.network.query.grammar import Query
    from bayeskit.network.query.truth import Domain

Record = dict[str, Any]
ONE_NUMBER = "one number has no picture: ask for all values of a column, P(column | condition)"
SHOWN = 40  # values of a column in a table; --json has them all


@grouped
def command(
    data_or_model: Annotated[
        str,
        typer.Argument(metavar="DATA_OR_MODEL", help="A data file or folder, a network (.bif) or a model (.bayes)."),
    ],
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="P(event | condition) or E(column | condition), in quotes.")
    ],
    level: Annotated[float, typer.Option(help="The probability inside the credible interval.")] = 0.95,
    probability: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The file is a table of probabilities, in this column.")
    ] = None,
    count: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The file is a table of counts, in this column.")
    ] = None,
    reading: Reading = AS_IT_IS,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Ask a probability of data, of a network or of a model.

    Data is answered by counting its rows, a network or a model exactly.
    A column alone, P(column | condition), asks for all its values, and
    E(column | condition) for the mean of its numbers.

    \b
    Examples:
      bayes ask birds.csv "P(species = Gentoo | body_mass_g > 4500)"
      bayes ask birds.csv "P(species | sex is missing)"
      bayes ask birds.csv "E(body_mass_g | species = Gentoo)"
      bayes ask birds.csv "P(species | island = Dream)" --plot dream.png
    """
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import load_model, open_data, watched
    from bayeskit.cli.saved_models import believed
    from bayeskit.network.query.grammar import parse

    page = Page(json)
    check_plot(plot, [data_or_model])
    question = parse(query)  # a slip in the question is told before a large file is opened
    if plot is not None and (question.variable is None or question.asks == "E"):
        raise BayesError(ONE_NUMBER)
    suffix = Path(data_or_model).suffix.lower()
    if suffix == ".bif":
        from bayeskit.network.bif import read_bif

        found = of_network(read_bif(data_or_model), question)
    elif suffix == ".bayes":
        found = of_model(believed(load_model(data_or_model)), question)
    else:
        source = open_data([data_or_model], None, reading)
        with watched(source, "counting") as rows:
            if probability is not None or count is not None:
                found = of_table(rows, question, probability, count)
            else:
                found = of_data(rows, question, level)
    first, *rest = lines(found)
    page.line(first)
    if "distribution" in found:
        _show_values(page, found)
    for line in rest:
        page.line(line)
    draw(page, plot, lambda: _picture(found))
    page.json(found)


def _picture(found: Record) -> Any:
    """The probability of each value, with its interval where rows were counted."""
    from bayeskit.charts.probabilities import answer_chart

    if "distribution" not in found:
        raise BayesError(ONE_NUMBER)
    values = found["distribution"]
    intervals = [(v["interval"]["low"], v["interval"]["high"]) for v in values if "interval" in v]
    shares = [v["probability"] for v in values]
    return answer_chart(found["query"], found["variable"], [v["value"] for v in values], shares, intervals)


def of_data(source: Source, query: Query, level: float = 0.95) -> Record:
    """The answer of data: the share, the rows behind it, its interval, and the rows left out."""
    from bayeskit.network.query import answers

    answer = answers.of_data(source, query)
    record: Record = {"query": query.text.strip()}
    if isinstance(answer, answers.Answer):
        record |= {"probability": answer.probability, "matching": answer.n_both}
    elif isinstance(answer, answers.Mean):
        record |= {"mean": answer.mean, "standard_deviation": answer.standard_deviation}
        record["standard_error"] = answer.standard_error
    else:
        record |= {"variable": answer.variable, "distribution": [_share(answer, v, level) for v in answer.counts]}
    record |= {"of": answer.n_condition, "rows": answer.n_rows, "left_out": answer.n_left_out}
    if isinstance(answer, answers.Answer):
        record["interval"] = _interval(answer, level)
    weights = [name for name in ("probability", "count") if name in source.kinds and name not in query.columns]
    return record | {"weights": weights}


def _share(shares: Shares, value: Value, level: float) -> Record:
    answer = shares.of(value)
    interval = _interval(answer, level)
    return {"value": value, "probability": answer.probability, "matching": answer.n_both, "interval": interval}


def _interval(answer: Answer, level: float) -> Record:
    low, high = answer.interval(level)
    return {"level": level, "low": low, "high": high}


def of_table(source: Source, query: Query, probability: str | None, count: str | None) -> Record:
    """The answer of a table of a distribution."""
    from bayeskit.network.joint_distribution import JointDistribution
    from bayeskit.network.query.truth import Domain

    joint = JointDistribution.from_table(source, probability, count)
    domains = {name: Domain(name, values) for name, values in joint.values.items()}
    return _exact(query, domains, joint.probability, joint.distribution) | {"cells": joint.n_cells}


def of_network(n: BayesianNetwork, query: Query) -> Record:
    """The answer of a network."""
    return _exact(query, n.domains, n.query, n.distribution) | {"nodes": len(n.nodes)}


def _exact(
    query: Query,
    domains: Mapping[str, Domain],
    probability: Callable[[str], float],
    distribution: Callable[[str], Distribution],
) -> Record:
    """The answer of what knows each probability; a column alone is a statement where it is boolean."""
    record: Record = {"query": query.text.strip()}
    domain = None if query.variable is None else domains.get(query.variable.column)
    if query.asks == "P" and (domain is None or domain.boolean):
        return record | {"probability": probability(query.text)}
    whole = distribution(query.text)
    if query.asks == "E":
        return record | {"mean": whole.mean, "standard_deviation": whole.standard_deviation}
    values = zip(whole.values, whole.probabilities.tolist(), strict=True)
    listed = [{"value": value, "probability": share} for value, share in values]
    return record | {"variable": whole.variable, "distribution": listed}


def of_model(model: Any, query: Query) -> Record:
    """The answer of a saved model: of a joint distribution by its cells, of all others by a network."""
    if type(model).__name__ == "JointDistribution":
        return {"query": query.text.strip(), "probability": model.probability(query.text), "cells": model.n_cells}
    network = network_of(model)
    refuse_untabled(model, network, query)
    return of_network(network, query)


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


def lines(record: Record) -> list[str]:
    """An answer in words; the values of a distribution stand in a table."""
    query = record["query"]
    if "probability" in record:
        sentences = [f"{query} = {record['probability']:.6g}"]
    elif "mean" in record:
        sentences = [f"{query} = {record['mean']:.6g}", f"standard deviation: {record['standard_deviation']:.6g}"]
    else:
        sentences = [f"{query}:"]
    if "nodes" in record:
        return [*sentences, f"exact, by a network of {record['nodes']} nodes"]
    if "cells" in record:
        return [*sentences, f"exact, by a table of {record['cells']:,} cells"]
    if "mean" in record and isfinite(record["standard_error"]):
        sentences[1] += f"; standard error of the mean: {record['standard_error']:.6g}"
    elif "mean" in record:
        del sentences[1]  # of one row
    counted = record["rows"] - record["left_out"]
    some = f" that match the condition ({counted:,} in all)" if record["of"] < counted else ""
    if "matching" in record:
        sentences.append(f"rows: {record['matching']:,} of the {record['of']:,}{some}")
    else:
        sentences.append(f"rows: the {record['of']:,}{some or ' there are'}")
    if "interval" in record:
        interval = record["interval"]
        sentences.append(
            f"{100 * interval['level']:g} % credible interval: {interval['low']:.6g} to {interval['high']:.6g}"
        )
    if record["left_out"]:
        sentences.append(f"left out: {record['left_out']:,} rows with a missing cell in a column that is asked for")
    return sentences + [
        f"rows were counted; to weigh them by {name!r}, pass --{name} {name}" for name in record["weights"]
    ]


def _show_values(page: Page, record: Record) -> None:
    """The values of a distribution as a table."""
    from bayeskit.data.sheet import Figure

    values = record["distribution"]
    listed = values[:SHOWN] if len(values) > SHOWN + 3 else values
    page.line()
    columns: dict[str, list[Any]] = {
        record["variable"]: [str(one["value"]) for one in listed],
        "probability": [Figure(f"{one['probability']:.6g}") for one in listed],
    }
    if listed and "matching" in listed[0]:
        columns["rows"] = [one["matching"] for one in listed]
        intervals = [one["interval"] for one in listed]
        columns[f"{100 * intervals[0]['level']:g} % interval"] = [
            Figure(f"{interval['low']:.4f} to {interval['high']:.4f}") for interval in intervals
        ]
    page.table(columns)
    if len(listed) < len(values):
        page.line(f"and {len(values) - len(listed):,} more: --json has them all", style="dim")
    page.line()


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
