"""Summarize a fitted model as records and tables: columns, classes, scores, column importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit.cli.console import Page, short
from bayeskit.explain.overview import contents, percent, round_count
from bayeskit.tables.sheet import Figure

if TYPE_CHECKING:
    from bayeskit.evaluate.evaluation import Evaluation
    from bayeskit.tally.tally import Tally

SHOWN = 12  # columns and classes in a table; --json has all


def show_columns(page: Page, records: list[dict[str, Any]]) -> None:
    """Show the columns as a table."""
    first = records[:SHOWN] if len(records) > SHOWN + 3 else records
    page.table(
        {
            "column": [record["column"] for record in first],
            "taken as": [record["role"] for record in first],
            "holds": [contents(record) for record in first],
            "missing": [record.get("missing") for record in first],
        }
    )
    _tell_more(page, len(records) - len(first), "columns")


def show_classes(page: Page, tally: Tally) -> None:
    """Show the number of rows of each class."""
    counts = [round_count(n) for n in tally.class_counts.tolist()]
    order = sorted(range(len(counts)), key=lambda i: -counts[i])
    listed = order if len(order) <= SHOWN + 3 else order[:SHOWN]
    if len(order) == len(listed):
        listed = sorted(listed)
    total = sum(counts)
    page.table(
        {
            tally.schema.target.name: [str(tally.classes[i]) for i in listed],
            "rows": [counts[i] for i in listed],
            "share": [percent(counts[i] / total) for i in listed],
        }
    )
    _tell_more(page, len(order) - len(listed), "classes")


def _tell_more(page: Page, more: int, what: str) -> None:
    if more > 0:
        page.line(f"… and {more:,} more {what}", style="dim")


def evaluation_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return scores as plain data."""
    by_class, confusion = evaluation.by_class, evaluation.confusion
    names = ("accuracy", "log_loss", "brier")
    return {
        "method": evaluation.method,
        "rows": evaluation.n_rows,
        **{name: getattr(evaluation, name) for name in names},
        "baseline": {name: getattr(evaluation.baseline, name) for name in names},
        "by_class": [dict(zip(by_class.column_names, row, strict=True)) for row in _rows(by_class)],
        "classes": list(evaluation.classes),
        "confusion": [list(row[1:]) for row in _rows(confusion)],
        "calibration": calibration_record(evaluation),
        "notes": evaluation.notes,
    }


def calibration_record(evaluation: Evaluation) -> dict[str, Any] | None:
    """Return the calibration error and the decomposition of the Brier score; None without probabilities."""
    curve = evaluation.trust
    if curve is None:
        return None
    parts = evaluation.brier_parts()
    return {
        "error": curve.error,
        "by_chance": curve.by_chance,
        "said": curve.said_in_all,
        "seen": curve.seen_in_all,
        "trusted": curve.is_trusted,
        "brier_parts": {n: getattr(parts, n) for n in ("reliability", "resolution", "uncertainty", "within")},
    }


def _rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name] for name in table.column_names), strict=True))


def show_measures(page: Page, evaluation: Evaluation) -> None:
    """Show scores beside those of the majority class."""
    model = [percent(evaluation.accuracy), short(evaluation.log_loss), short(evaluation.brier)]
    base = evaluation.baseline
    majority = [percent(base.accuracy), short(base.log_loss), short(base.brier)]
    page.table(
        {
            evaluation.method: ["accuracy", "log loss (nats)", "Brier score"],
            "model": model,
            "majority class": majority,
        }
    )
    for note in evaluation.notes:
        page.line(note)


def show_telling(page: Page, model: Any, limit: int = 6) -> None:
    """Show the most informative columns."""
    informative = telling_of(model)
    if informative is None:
        return
    page.table(
        {
            "most telling columns": [column.column for column in informative.columns[:limit]],
            f"bits of {informative.class_bits:.3g}": [
                Figure(f"{column.bits:.3f}") for column in informative.columns[:limit]
            ],
            "share": [Figure(f"{column.share:.0%}") for column in informative.columns[:limit]],
        }
    )


def telling_records(model: Any) -> list[dict[str, Any]] | None:
    """Return the mutual information of each column with the class, in decreasing order."""
    informative = telling_of(model)
    if informative is None:
        return None
    return [{"column": c.column, "bits": c.bits, "share": c.share} for c in informative.columns]


def telling_of(model: Any) -> Any:
    """Return the informative columns except texts; None if there are none."""
    if not hasattr(model, "column_importance"):
        return None
    tally = model.tally_
    if not tally.words:
        return model.column_importance()
    others = [name for name in tally.schema.used if name not in tally.words]
    return model.restrict(others).column_importance() if others else None


def show_left_out(page: Page, model: Any) -> None:
    """Show the ensemble's out-of-sample scores, beside naive Bayes and the majority, and its columns by importance."""
    from bayeskit.models.ensemble.parameters import MOST_FITTED

    scores, importance = model.left_out_, model.importance_
    page.table(
        {
            "leave-one-out": scores["model"],
            "accuracy": [percent(share) for share in scores["accuracy"]],
            "log loss (nats)": [Figure("–") if loss is None else short(loss) for loss in scores["log loss"]],
        }
    )
    if model.tally_.n_rows > MOST_FITTED:
        page.line(f"Scored are {MOST_FITTED:,} of the rows, drawn at random; all {model.tally_.n_rows:,} were counted.")
    page.line(
        "The first line is a little optimistic: structure and exponents have seen the row that is left out. "
        "Cross-validate for a figure to rely on."
    )
    page.line()
    order = sorted(zip(importance["importance"], importance["column"], strict=True), key=lambda pair: -pair[0])[:SHOWN]
    page.table(
        {
            "most important columns": [column for _, column in order],
            "log loss without it": [Figure(f"{rise:+.4f}") for rise, _ in order],
        }
    )


def left_out_record(model: Any) -> dict[str, Any]:
    """Return the out-of-sample scores as plain data."""
    scores, importance = model.left_out_, model.importance_
    return {
        "optimistic": True,
        "models": [dict(zip(scores.column_names, row, strict=True)) for row in _rows(scores)],
        "importance": dict(zip(importance["column"], importance["importance"], strict=True)),
    }
