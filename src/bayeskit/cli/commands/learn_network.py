"""``bayes learn-network``: learn the arcs and tables of a Bayesian network from data."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import typer

from bayeskit.cli import options as opt
from bayeskit.cli.options import Reading, arcs_of, choice, grouped, listed_names, option, option_group, roles_of
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.errors import BayesError
from bayeskit.storage.files import NETWORK_ENDINGS

ENDINGS = (*NETWORK_ENDINGS, ".bayes")
SHOWN = 60  # arcs in a table; --json has all


@option_group
class SearchOptions:
    """Options for the search of arcs."""

    output: str = option("--output -o", "FILE", "Write the network: .bif, .xml, .net, .dsc or .bayes.", ...)
    score: str = choice("--score", "Score of a network.", "bdeu bic aic k2 log_likelihood", "bdeu")
    search: str = choice("--search", "Method of the search.", "order tabu hill_climb exact tree tan", "order")
    max_parents: int = option("--max-parents", "N", "Most parents of a node.", 3, min=0, max=7)
    ess: float = option("--ess", "N", "Equivalent sample size of the score bdeu.", 1.0)
    require: list[str] | None = option("--require", "'A -> B'", "An arc that must be there. May be repeated.")
    forbid: list[str] | None = option("--forbid", "'A -> B'", "An arc that must not be there. May be repeated.")
    tier: list[str] | None = option(
        "--tier", "A,B,...", "Columns of one time; no arc leads to columns of an earlier --tier. Repeat in order."
    )
    target: str | None = option("--target -t", "COLUMN", "Class of --search tan.")
    cuts: int = option("--cuts", "N", "Intervals of equal frequency into which a column of numbers is cut.", 5, min=2)
    missing: str = choice(
        "--missing", "Rows with missing cells: drop them from the search, or estimate them by EM.", "drop em", "drop"
    )
    smoothing: float = option("--smoothing", "N", "Pseudo-count of each cell of the tables.", 1.0, min=0.0)
    seed: int = option("--seed", "N", "Random seed.", 0, min=0)
    strengths: int = option("--strengths", "N", "Also learn from N bootstrap samples: how sure is each arc?", 0, min=0)


@grouped
def command(
    data: list[str] = opt.DATA,
    *,
    options: SearchOptions,
    reading: Reading,
    role: list[str] | None = opt.ROLES,
    ignore: list[str] | None = opt.IGNORE,
    plot: str | None = PLOT,
    json: bool = opt.JSON,
) -> None:
    """Learn a Bayesian network: its arcs and its tables.

    Every column becomes a node, unless its --role is ignore. Prints the arcs with
    their information in bits, the score and the number of rows. An arrow shows
    dependence, not cause: arcs whose direction the data leaves open are marked.
    Ctrl-C ends the search and writes the best network found so far.

    \b
    Examples:
      bayes learn-network birds.csv -o birds.bif
      bayes ask birds.bif "P(species | island = Dream)"
      bayes learn-network birds.csv -o birds.bif --forbid "species -> sex"
    """
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import check_writable, open_data, watched

    output = options.output
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        why = f"{output}: the name's ending says the format, one of {', '.join(ENDINGS)}"
        raise typer.BadParameter(why, param_hint="--output")
    check_plot(plot, data)
    check_writable(output, is_model=ending == ".bayes", reads=data)
    constraints: dict[str, Any] = {
        "required": arcs_of("--require", options.require),
        "forbidden": arcs_of("--forbid", options.forbid),
        "tiers": [listed_names(tier) for tier in options.tier or ()],
    }
    if (options.target is None) == (options.search == "tan"):
        raise BayesError("--search tan needs its class, --target COLUMN; the other searches take no --target")
    if options.strengths and (options.missing == "em" or options.search in ("tree", "tan")):
        raise BayesError("--strengths goes with --missing drop and a --search other than tree and tan")
    if options.strengths and any(constraints.values()):
        raise BayesError("--strengths takes no --require, --forbid and --tier: it shows what the data alone says")
    page, roles = Page(json), roles_of(role, ignore)
    source = open_data(data, None, reading)
    with watched(source, "reading") as rows:
        table, name = _read(rows), source.name
    _check_names([column for column in table if roles.get(column) != "ignore"], output)
    network = _learn(table, options, constraints, roles)
    report = network.search_
    n_rows = len(next(iter(table.values()), ()))
    _write(network, output, name)
    undirected = {frozenset(edge) for edge in network.cpdag().edges}
    found = network.describe_structure().table
    listing: dict[str, list[Any]] = {column: list(found[column]) for column in found.column_names}
    arcs = list(zip(listing["parent"], listing["child"], strict=True))
    listing["direction"] = [
        "required" if arc in constraints["required"] else "open" if frozenset(arc) in undirected else "determined"
        for arc in arcs
    ]
    if options.strengths and report.finished:
        try:
            strengths = _strengths(table, options, roles)
            listing["strength"] = [strengths.get(frozenset(arc), 0.0) for arc in arcs]
        except KeyboardInterrupt:
            print("bayes: note: interrupted; the network is written, its strengths are left out", file=sys.stderr)
    left_out = n_rows - report.n_rows
    page.line(
        f"{name}: {plural(n_rows, 'row')}, {plural(len(network.nodes), 'node')}, {plural(len(network.edges), 'arc')}, "
        f"{plural(network.n_parameters_, 'parameter')}"
    )
    page.line(
        f"{report.score} {report.value:,.2f} on {plural(report.n_rows, 'row')}"
        + (f"; {plural(left_out, 'row')} with missing cells left out of the search" if left_out else "")
    )
    if arcs:
        page.line()
        page.table({name: values[:SHOWN] for name, values in listing.items()}, keys=2)
        page.more(len(arcs) - SHOWN, "arcs")
    page.line()
    page.line(f"network written to {output}", style="bold")
    draw(page, plot, network.chart)
    page.json(
        {
            "data": name,
            "network": output,
            "rows": n_rows,
            "rows_searched": report.n_rows,
            "nodes": network.nodes,
            "parameters": network.n_parameters_,
            "score": report.score,
            "value": report.value,
            "finished": report.finished,
            "arcs": [dict(zip(listing, row, strict=True)) for row in zip(*listing.values(), strict=True)],
        }
    )


def _read(source: Any) -> dict[str, Any]:
    """Return the columns in memory: the rows are read once."""
    from bayeskit.data.reader import read_batch

    return dict(read_batch(source).columns)


def _check_names(columns: Sequence[str], output: str) -> None:
    """Raise an error, before the search, if the format of the file has no such names of nodes."""
    from bayeskit.network.formats import FORMATS
    from bayeskit.network.network import BayesianNetwork

    form = FORMATS.get(Path(output).suffix.lower())
    if form is not None and columns:
        form.write(BayesianNetwork([], dict.fromkeys(columns, 0.5)))


def _learn(table: Any, options: SearchOptions, constraints: dict[str, Any], roles: dict[str, str]) -> Any:
    """Learn the network, with a bar on a terminal; the first Ctrl-C ends the search with the best network so far."""
    from bayeskit.network.structure import learn_network
    from bayeskit.progress import Bar

    with _deferred_interrupt() as interrupted, Bar(sys.stderr.isatty()) as bar:

        def show(stage: str, done: int, of: int) -> None:
            bar(stage, done, of)
            if interrupted and stage == "arcs":  # there the search returns its best network
                raise KeyboardInterrupt

        network = learn_network(
            table,
            **_settings(options, roles),
            target=options.target,
            smoothing=options.smoothing,
            missing=cast(Any, options.missing),
            progress=show,
            **constraints,
        )
    if not network.search_.finished:
        print("bayes: note: interrupted; the best network found so far is written", file=sys.stderr)
    return network


@contextmanager
def _deferred_interrupt() -> Iterator[list[int]]:
    """Collect the first Ctrl-C in a list instead of raising an exception; the second one ends the program."""
    caught: list[int] = []

    def note(number: int, frame: Any) -> None:
        if caught:
            raise KeyboardInterrupt
        caught.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield caught
    finally:
        signal.signal(signal.SIGINT, before)


def _settings(options: SearchOptions, roles: dict[str, str]) -> dict[str, Any]:
    """Return the settings that the search and the bootstrap share."""
    return {
        "score": options.score,
        "search": options.search,
        "max_parents": options.max_parents,
        "equivalent_sample_size": options.ess,
        "roles": roles or None,
        "cuts": ("frequency", options.cuts),
        "random_state": options.seed,
    }


def _strengths(table: Any, options: SearchOptions, roles: dict[str, str]) -> dict[frozenset[str], float]:
    """Return the share of bootstrap samples that connect two nodes, by pair."""
    from bayeskit.network.averaging import arc_strengths

    settings = _settings(options, roles)
    found = arc_strengths(table, n_samples=options.strengths, progress=sys.stderr.isatty(), **settings).table
    connected = zip(found["parent"], found["child"], strict=True)
    return {frozenset(pair): strength for pair, strength in zip(connected, found["strength"], strict=True)}


def _write(network: Any, output: str, name: str) -> None:
    """Write a network in the format of the file's ending."""
    if Path(output).suffix.lower() == ".bayes":
        from bayeskit.cli.inputs import first_event, save_model

        save_model(network, output, first_event(network, name))
        return
    from bayeskit.network.formats import write_network

    write_network(network, output)
