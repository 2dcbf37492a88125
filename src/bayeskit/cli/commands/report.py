"""``bayes report``: write a report of a model on its data."""

from __future__ import annotations

from bayeskit.cli import options as opt
from bayeskit.cli.options import Reading, grouped, option, pairs


@grouped
def command(
    data: list[str] = opt.DATA,
    *,
    target: str = opt.TARGET,
    model: str = option("--model -m", "NAME", "Model to fit, named as in bayes compare.", "naive"),
    role: list[str] | None = opt.ROLES,
    rows: int = option("--rows", "N", "Also show the first N rows with their explanations.", 0, min=0),
    reading: Reading,
    drop_unlabeled: bool = opt.DROP_UNLABELED,
    output: str = option("--output -o", "FILE", "HTML file to write; - for stdout.", "-"),
) -> None:
    """Write a report of a model: one HTML file to hand on.

    Fits the model and shows what each column was taken for, honest scores beside
    naive Bayes and the majority class, calibration, learning curve, informative and
    dependent columns, a form to try the model, and a model card. The file holds
    aggregated figures only, unless --rows asks for examples. Works on rows in memory.

    \b
    Example:
      bayes report birds.csv -t species -o report.html
    """
    from bayeskit.cli.commands.compare import models_of, tables_of
    from bayeskit.cli.inputs import check_writable
    from bayeskit.cli.outputs import write_output
    from bayeskit.errors import BayesError
    from bayeskit.report.report import write_report

    check_writable(output, is_model=False, reads=data, mark=b"<!doctype html>")
    chosen = models_of(model, pairs("--role", role), drop_unlabeled)
    tables = tables_of(data, target, reading)
    if len(chosen) > 1 or len(tables) > 1:
        raise BayesError("a report is of one model and one file", hint="bayes compare sets several side by side")
    (fitted,), (table,) = chosen.values(), tables.values()
    write_output(output, write_report(fitted, table, target, rows=rows).html.encode())
