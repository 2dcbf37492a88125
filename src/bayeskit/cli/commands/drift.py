"""``bayes drift``: compare new rows with those that a model has counted."""

from __future__ import annotations

import typer

from bayeskit.cli import options as opt
from bayeskit.cli.options import Reading, grouped, option
from bayeskit.cli.outputs import PLOT, check_plot, draw


@grouped
def command(
    model: str = opt.MODEL,
    data: list[str] = opt.DATA,
    *,
    fail_above: float | None = option(
        "--fail-above", "PSI", "Exit with 1 if a column has drifted by a larger index.", min=0
    ),
    reading: Reading,
    plot: str | None = PLOT,
    json: bool = opt.JSON,
) -> None:
    """Compare new rows with those that a model has counted.

    For each column: the population stability index (PSI), a test corrected for the
    number of columns, missing and unseen cells, and means. A column has drifted if
    its index is above 0.1 and p is below 0.01. The predicted shares of the classes
    stand beside those of the training; where the data has the class, the log loss
    is printed as well. The rows are read into memory.

    \b
    Examples:
      bayes drift birds.bayes tuesday.csv
      bayes drift birds.bayes tuesday.csv --fail-above 0.25 --json
    """
    from dataclasses import asdict

    from bayeskit.cli.console import Page, columns_of, plural
    from bayeskit.cli.inputs import open_data
    from bayeskit.cli.saved_models import load_classifier, target_of
    from bayeskit.data.reader import read_batch
    from bayeskit.evaluate.drift import drift

    page = Page(json)
    check_plot(plot, (model, *data))
    fitted = load_classifier(model)
    source = open_data(data, None, reading)
    columns = dict(read_batch(source).columns)
    target = target_of(fitted)
    report = drift(fitted, columns, target if target in columns else None)
    names = ", ".join(column.column for column in report.drifted)
    verdict = f"drifted: {names}" if names else "no column has drifted"
    page.line(f"{source.name}: {plural(report.rows, 'row')}; {verdict}", style="bold")
    page.line()
    page.table(columns_of(report.table))
    page.line()
    page.table({"class": list(report.classes), "share in training": list(report.was), "predicted": list(report.now)})
    if report.log_loss is not None:
        page.line()
        page.line(f"log loss of these rows: {report.log_loss:.4g} nats")
    draw(page, plot, report.chart)
    shares = zip(report.classes, report.was, report.now, strict=True)
    page.json(
        {
            "model": model,
            "data": source.name,
            "rows": report.rows,
            "drifted": [column.column for column in report.drifted],
            "columns": [asdict(column) | {"drifted": column.has_drifted} for column in report.columns],
            "classes": [{"value": label, "was": was, "now": now} for label, was, now in shares],
            "log_loss": report.log_loss,
        }
    )
    if fail_above is not None and any(column.psi > fail_above for column in report.drifted):
        raise typer.Exit(1)
