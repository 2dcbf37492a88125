"""Summarize a fitted model as records and tables: columns, classes, scores, column importance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.cli.console import Page, columns_of, records_of, short
from bayeskit.explain.overview import classes_grid, columns_grid, percent
from bayeskit.tables import Figure

if TYPE_CHECKING:
    from bayeskit.evaluate.evaluation import Evaluation
    from bayeskit.tally.tally import Tally

SHOWN = 12  # columns and classes in a table; --json has all


def show_columns(page: Page, tally: Tally) -> None:
    """Show the columns as a table."""
    page.grid(columns_grid(tally), SHOWN, "columns")


def show_classes(page: Page, tally: Tally) -> None:
    """Show the number of rows of each class; the largest classes if there are many."""
    page.grid(classes_grid(tally, by_size=len(tally.classes) > SHOWN + 3), SHOWN, "classes")


def evaluation_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return scores as plain data."""
    names = ("accuracy", "log_loss", "brier")
    return {
        "method": evaluation.method,
        "rows": evaluation.n_rows,
        **{name: getattr(evaluation, name) for name in names},
        "baseline": {name: getattr(evaluation.baseline, name) for name in names},
        "by_class": class_scores(evaluation),
        "classes": list(evaluation.classes),
        "confusion": [list(row.values())[1:] for row in records_of(evaluation.confusion)],
        "calibration": calibration_record(evaluation),
        "notes": evaluation.notes,
    }


def areas(evaluation: Evaluation) -> list[float | None]:
    """Return the area under the ROC curve of each class against the others; None where it is undefined."""
    if evaluation.trust is None or len(evaluation.classes) < 2:
        return [None] * len(evaluation.classes)
    there = np.bincount(evaluation._truth(), minlength=len(evaluation.classes))
    has_both = (there > 0) & (there < there.sum())
    return [evaluation.roc(label).area if has_both[i] else None for i, label in enumerate(evaluation.classes)]


def class_scores(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return rows, precision, recall and F of each class as plain data."""
    names = ("class", "rows", "precision", "recall", "f")
    return [dict(zip(names, row, strict=True)) for row in zip(*columns_of(evaluation.by_class).values(), strict=True)]


def calibration_record(evaluation: Evaluation) -> dict[str, Any] | None:
    """Return the calibration error and the decomposition of the Brier score; None without probabilities."""
    curve = evaluation.trust
    if curve is None:
        return None
    parts = evaluation.brier_parts()
    return {
        **{name: getattr(curve, name) for name in ("error", "by_chance")},
        "said": curve.said_in_all,
        "seen": curve.seen_in_all,
        **{name: getattr(curve, name) for name in ("p_value", "detectable", "verdict")},
        "brier_parts": {n: getattr(parts, n) for n in ("reliability", "resolution", "uncertainty", "within")},
    }


def show_measures(page: Page, evaluation: Evaluation) -> None:
    """Show scores beside those of the majority class."""
    columns: dict[str, Any] = {evaluation.method: ["accuracy", "log loss (nats)", "Brier score"]}
    for name, scores in (("model", evaluation), ("majority class", evaluation.baseline)):
        columns[name] = [percent(scores.accuracy), short(scores.log_loss), short(scores.brier)]
    page.table(columns)
    page.sentences(evaluation.notes)


def show_importance(page: Page, informative: Any, limit: int = 6) -> None:
    """Show the most informative columns."""
    first = informative.columns[:limit]
    page.table(
        {
            "most informative columns": [column.column for column in first],
            f"bits of {informative.class_bits:.3g}": [Figure(f"{column.bits:.3f}") for column in first],
            "share": [Figure(f"{column.share:.0%}") for column in first],
        }
    )


def importance_records(informative: Any) -> list[dict[str, Any]] | None:
    """Return the mutual information of each column with the class, in decreasing order."""
    if informative is None:
        return None
    return [{"column": c.column, "bits": c.bits, "share": c.share} for c in informative.columns]


def importance_of(model: Any) -> Any:
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
        "The scores of the model are a little optimistic: its structure has seen the row that is left out. "
        "Cross-validate for a figure to rely on."
    )
    page.line()
    page.table(
        {
            "most important columns": importance["column"][:SHOWN],
            "log loss without it": [Figure(f"{rise:+.4f}") for rise in importance["importance"][:SHOWN]],
        }
    )


def left_out_record(model: Any) -> dict[str, Any]:
    """Return the out-of-sample scores as plain data."""
    importance = model.importance_.by_column
    return {"optimistic": True, "models": records_of(model.left_out_), "importance": importance}
