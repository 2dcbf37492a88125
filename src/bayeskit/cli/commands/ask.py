"""``bayes ask``: answer a query about a data file, a network or a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeskit.cli.options import JSON, Reading, argument, grouped, option
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.errors import BayesError
from bayeskit.storage.files import NETWORK_ENDINGS

if TYPE_CHECKING:
    from bayeskit.cli.console import Page

Record = dict[str, Any]
ONE_NUMBER = "one number has no picture: ask for all values of a column, P(column | condition)"
SHOWN = 40  # values of a column in a table; --json has all
MOST_VALUES = 6  # of a variable


@grouped
def command(
    data_or_model: str = argument(
        "DATA_OR_MODEL", "A data file or folder, a network (.bif, .xml, .net, .dsc) or a model (.bayes)."
    ),
    question: str = argument("QUERY", "P(event | condition) or E(column | condition), in quotes."),
    *,
    level: float = option("--level", None, "Probability of the credible interval.", 0.95),
    probability: str | None = option(
        "--probability", "COLUMN", "The file is a table of probabilities; this is their column."
    ),
    count: str | None = option("--count", "COLUMN", "The file is a table of counts; this is their column."),
    reading: Reading,
    plot: str | None = PLOT,
    json: bool = JSON,
) -> None:
    """Compute a probability from data, a network or a model.

    Rows of data are counted; a network or a model is computed exactly.
    P(column | condition) gives the distribution of a column,
    E(column | condition) the mean of its numbers.

    \b
    Examples:
      bayes ask birds.csv "P(species = Gentoo | body_mass_g > 4500)"
      bayes ask birds.csv "P(species | sex is missing)"
      bayes ask birds.csv "E(body_mass_g | species = Gentoo)"
      bayes ask birds.csv "P(species | island = Dream)" --plot dream.png
    """
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import load_model, open_data, watched
    from bayeskit.cli.saved_models import probability_model
    from bayeskit.network.ask import answer_from_data, of_model, of_table, reply_of
    from bayeskit.network.query import parse

    page = Page(json)
    check_plot(plot, [data_or_model])
    asked = parse(question)  # report syntax errors before opening a large file
    if plot is not None and (asked.variable is None or asked.asks == "E"):
        raise BayesError(ONE_NUMBER)
    if Path(data_or_model).suffix.lower() in (*NETWORK_ENDINGS, ".bayes"):
        answer = of_model(probability_model(load_model(data_or_model)), asked)
    else:
        source = open_data([data_or_model], None, reading)
        with watched(source, "counting") as rows:
            if probability is not None or count is not None:
                answer = of_table(rows, asked, probability, count)
            else:
                answer = answer_from_data(rows, asked, level)
    first, *rest = lines(answer)
    page.line(first)
    if "distribution" in answer:
        _show_values(page, answer)
    page.sentences(rest)
    draw(page, plot, lambda: reply_of(answer).chart())
    page.json(answer)


def lines(record: Record) -> list[str]:
    """Return an answer in words, with alternative weightings of the rows."""
    from bayeskit.network.ask import lines as in_words

    return in_words(record) + [
        f"rows were counted; to weigh them by {name!r}, pass --{name} {name}" for name in record.get("weights", ())
    ]


def _show_values(page: Page, record: Record) -> None:
    """Show the values of a distribution as a table."""
    from bayeskit.tables import Figure, Grid

    values = record["distribution"]
    page.line()
    columns: dict[str, list[Any]] = {
        record["variable"]: [str(one["value"]) for one in values],
        "probability": [Figure(f"{one['probability']:.6g}") for one in values],
    }
    if values and "matching" in values[0]:
        columns["rows"] = [one["matching"] for one in values]
        intervals = [one["interval"] for one in values]
        columns[f"{100 * intervals[0]['level']:g} % interval"] = [
            Figure(f"{interval['low']:.4f} to {interval['high']:.4f}") for interval in intervals
        ]
    page.grid(Grid(columns), SHOWN)
    page.line()


def inspect_model(page: Any, path: str, fitted: Any, column: str | None, plot: str | None) -> None:
    """Show a network or a joint distribution: its variables and their values, or the table of one."""
    from bayeskit.cli.console import columns_of, table_record
    from bayeskit.nearest import did_you_mean

    values = fitted.states if hasattr(fitted, "states") else fitted.values
    parents = getattr(fitted, "parents", {})
    if column is not None:
        if column not in values:
            raise BayesError(f"there is no variable {column!r}{did_you_mean(column, values)}")
        table = fitted.table(column) if parents else fitted.marginal(column).table()
        columns = columns_of(table)
        page.table(columns, keys=max(len(parents.get(column, ())), 1))
        draw(page, plot, table.chart if parents else fitted.marginal(column).chart)
        page.json({"column": column, "table": table_record(table)})
        return
    page.heading(f"{path}: {repr(fitted).strip('<>')}")
    listing: dict[str, Any] = {"variable": list(values), "values": [_some(listed) for listed in values.values()]}
    if parents:
        listing["parents"] = [", ".join(parents[node]) for node in values]
    page.table(listing)
    draw(page, plot, fitted.chart)
    page.json(
        {
            "model": type(fitted).__name__,
            "variables": [
                {"variable": name, "values": list(map(str, listed)), "parents": list(parents.get(name, ()))}
                for name, listed in values.items()
            ],
        }
    )


def _some(values: Any) -> str:
    more = ", …" if len(values) > MOST_VALUES else ""
    return f"{len(values):,}: " + ", ".join(map(str, values[:MOST_VALUES])) + more
