"""``bayes ask``: answer a query about a data file, a network or a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayeskit.cli.options import AS_IT_IS, Json, Reading, grouped
from bayeskit.cli.outputs import Plot, check_plot
from bayeskit.cli.outputs import plot as draw_columns
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.cli.console import Page

Record = dict[str, Any]
ONE_NUMBER = "one number has no picture: ask for all values of a column, P(column | condition)"
SHOWN = 40  # values of a column in a table; --json has all


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
    from bayeskit.network.ask import answer_from_data, answer_from_network, of_model, of_table, reply_of
    from bayeskit.network.query import parse

    page = Page(json)
    check_plot(plot, [data_or_model])
    question = parse(query)  # report syntax errors before opening a large file
    if plot is not None and (question.variable is None or question.asks == "E"):
        raise BayesError(ONE_NUMBER)
    suffix = Path(data_or_model).suffix.lower()
    if suffix == ".bif":
        from bayeskit.network.bif import read_bif

        answer = answer_from_network(read_bif(data_or_model), question)
    elif suffix == ".bayes":
        answer = of_model(believed(load_model(data_or_model)), question)
    else:
        source = open_data([data_or_model], None, reading)
        with watched(source, "counting") as rows:
            if probability is not None or count is not None:
                answer = of_table(rows, question, probability, count)
            else:
                answer = answer_from_data(rows, question, level)
    first, *rest = lines(answer)
    page.line(first)
    if "distribution" in answer:
        _show_values(page, answer)
    for line in rest:
        page.line(line)
    draw_columns(page, plot, lambda: reply_of(answer).chart())
    page.json(answer)


def lines(record: Record) -> list[str]:
    """Return an answer in words, with alternative weightings of the rows."""
    from bayeskit.network.ask import lines as in_words

    return in_words(record) + [
        f"rows were counted; to weigh them by {name!r}, pass --{name} {name}" for name in record.get("weights", ())
    ]


def _show_values(page: Page, record: Record) -> None:
    """Show the values of a distribution as a table."""
    from bayeskit.tables.sheet import Figure

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
