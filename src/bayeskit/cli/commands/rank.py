"""``bayes rank MODEL DATA --class spam``: sort rows by the probability of a class."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.options import DATA, MODEL, Reading, RowOptions, grouped, option
from bayeskit.cli.outputs import PLOT, check_plot, draw
from bayeskit.lazy import pa


@grouped
def command(
    model: str = MODEL,
    data: list[str] = DATA,
    *,
    label: str = option("--class", "CLASS", "Class to sort by.", ...),
    limit: int | None = option("--limit -n", "N", "Print the first N rows only.", min=1),
    output: str = option("--output -o", "FILE", "Output file: .csv, .parquet or .jsonl; - for stdout.", "-"),
    rows: RowOptions,
    reading: Reading,
    plot: str | None = PLOT,
    json: bool = option("--json", None, "Print JSON lines instead of CSV.", False),
) -> None:
    """Sort rows by the probability of a class.

    Prints CSV with a header: the number of the row (from 0), the kept columns and
    the probability of the class. Rows are sorted by its log odds, which differ
    where probabilities round to 1. Ties keep the order of the data.

    \b
    Examples:
      bayes rank mail.bayes new.csv --class spam -n 100 --keep id
      bayes rank birds.bayes new.csv --class Gentoo --json
    """
    from bayeskit.charts.scores import rank_chart
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import check_writable, watched
    from bayeskit.cli.outputs import notes_on, report, writer
    from bayeskit.cli.saved_models import load_classifier, open_to_predict, refuse_sequences
    from bayeskit.data.io.streams import Unreadable
    from bayeskit.errors import BayesError

    check_writable(output, is_model=False, reads=(model, *data), mark=b"p_")
    check_plot(plot, (model, *data, output))
    fitted = load_classifier(model)
    refuse_sequences(fitted, model)
    if not hasattr(fitted, "predict_proba"):
        raise BayesError(f"recipe {fitted.recipe} gives no probabilities to rank by")
    unreadable = Unreadable()
    source, of_batch = open_to_predict(fitted, data, rows, reading, unreadable)
    best: Any = None
    start = 0
    with watched(source, "ranking") as watching:
        for batch in watching.batches():
            best = _first(best, _ranked(fitted, of_batch(batch), label, start), limit)
            start += batch.n_rows
    notes = notes_on(unreadable)
    best = best.drop_columns([best.column_names[0]])
    with writer(output, "jsonl" if json else None) as write:
        write(best)
    draw(Page(json, output="-"), plot, lambda: rank_chart(best.column(best.num_columns - 1).to_numpy(), label))
    if not rows.quiet:
        report(len(best), output, notes)


def _ranked(model: Any, batch: tuple[Any, dict[str, Any]], label: str, start: int) -> Any:
    """Return the rows of one batch: their log odds, their numbers, the kept columns and the probability."""
    import numpy as np

    from bayeskit import logspace
    from bayeskit.cli.outputs import beside, plain
    from bayeskit.decisions import find_class
    from bayeskit.export.names import probability_names

    rows, kept = batch
    index = find_class(label, model.classes_.tolist())
    name = probability_names(model.classes_.tolist())[index]
    probabilities = model.predict_proba(rows)
    with np.errstate(divide="ignore"):
        log_p = model.predict_log_proba(rows) if hasattr(model, "predict_log_proba") else np.log(probabilities)
    others = logspace.log_sum_exp(np.delete(log_p, index, axis=1))
    # The own probability of a sure class, 1 - e^-800, rounds to 1: the other classes decide the order.
    log_odds = np.where(np.isnan(log_p[:, index]), -np.inf, log_p[:, index]) - others
    numbers = np.arange(start, start + len(log_p))
    copied = plain(pa.table(kept)) if kept else None
    columns = {name: copied.column(name) for name in kept} if copied is not None else {}
    number = next(iter(beside(dict.fromkeys(columns), [("row", None)], "ranked_").keys() - columns.keys()))
    columns = {number: numbers, **columns}
    columns = beside(columns, [(name, probabilities[:, index])])
    odds = next(iter(beside(dict.fromkeys(columns), [("log odds", None)]).keys() - columns.keys()))
    return pa.table({odds: log_odds, **columns})


def _first(best: Any, rows: Any, limit: int | None) -> Any:
    """Merge both in decreasing log odds, cut to the limit."""
    if best is not None:
        rows = pa.concat_tables([best, rows], promote_options="permissive")
    odds, number = rows.column_names[:2]
    rows = rows.sort_by([(odds, "descending"), (number, "ascending")])
    return rows if limit is None else rows.slice(0, limit)
