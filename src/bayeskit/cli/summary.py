"""What was learnt, as records and as tables: columns, classes, scores, what tells most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayeskit.capabilities import SpeaksByColumn, can
from bayeskit.cli.console import Page, short
from bayeskit.data.sheet import Figure
from bayeskit.explain.overview import contents, count_of, percent

if TYPE_CHECKING:
    from bayeskit.evaluate.evaluation import Evaluation
    from bayeskit.tally.tally import Tally

SHOWN = 12  # columns and classes in a table; --json has them all


def show_columns(page: Page, records: list[dict[str, Any]]) -> None:
    """The columns as a table."""
    shown = records[:SHOWN] if len(records) > SHOWN + 3 else records
    page.table(
        {
            "column": [record["column"] for record in shown],
            "taken as": [record["role"] for record in shown],
            "holds": [contents(record) for record in shown],
            "missing": [record.get("missing") for record in shown],
        }
    )
    _tell_more(page, len(records) - len(shown), "columns")


def show_classes(page: Page, tally: Tally) -> None:
    """How many rows each class has."""
    counts = [count_of(n) for n in tally.class_counts.tolist()]
    order = sorted(range(len(counts)), key=lambda i: -counts[i])
    shown = order if len(order) <= SHOWN + 3 else order[:SHOWN]
    if len(order) == len(shown):
        shown = sorted(shown)
    total = sum(counts)
    page.table(
        {
            tally.schema.target.name: [str(tally.classes[i]) for i in shown],
            "rows": [counts[i] for i in shown],
            "share": [percent(counts[i] / total) for i in shown],
        }
    )
    _tell_more(page, len(order) - len(shown), "classes")


def _tell_more(page: Page, more: int, what: str) -> None:
    if more > 0:
        page.line(f"… and {more:,} more {what}", style="dim")


def evaluation_record(found: Evaluation) -> dict[str, Any]:
    """Scores as plain data."""
    by_class, confusion = found.by_class, found.confusion
    names = ("accuracy", "log_loss", "brier")
    return {
        "method": found.method,
        "rows": found.n_rows,
        **{name: getattr(found, name) for name in names},
        "baseline": {name: getattr(found.baseline, name) for name in names},
        "by_class": [dict(zip(by_class.column_names, row, strict=True)) for row in _rows(by_class)],
        "classes": list(found.classes),
        "confusion": [list(row[1:]) for row in _rows(confusion)],
        "calibration": calibration_record(found),
        "notes": found.notes,
    }


def calibration_record(found: Evaluation) -> dict[str, Any] | None:
    """How far probabilities are from what they say, and the parts of the Brier score; None where none were said."""
    curve = found.trust
    if curve is None:
        return None
    parts = found.brier_parts()
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


def show_measures(page: Page, found: Evaluation) -> None:
    """Scores beside those of always saying the commonest class."""
    model = [percent(found.accuracy), short(found.log_loss), short(found.brier)]
    base = found.baseline
    majority = [percent(base.accuracy), short(base.log_loss), short(base.brier)]
    page.table(
        {
            found.method: ["accuracy", "log loss (nats)", "Brier score"],
            "model": model,
            "majority class": majority,
        }
    )
    for note in found.notes:
        page.line(note)


def show_telling(page: Page, model: Any, limit: int = 6) -> None:
    """The columns that tell most of the class."""
    found = telling_of(model)
    if found is None:
        return
    page.table(
        {
            "most telling columns": [column.column for column in found.columns[:limit]],
            f"bits of {found.class_bits:.3g}": [Figure(f"{column.bits:.3f}") for column in found.columns[:limit]],
            "share": [Figure(f"{column.share:.0%}") for column in found.columns[:limit]],
        }
    )


def telling_records(model: Any) -> list[dict[str, Any]] | None:
    """Mutual information of each column with the class, the most telling first."""
    found = telling_of(model)
    if found is None:
        return None
    return [{"column": c.column, "bits": c.bits, "share": c.share} for c in found.columns]


def telling_of(model: Any) -> Any:
    """What tells most of the class, of all columns but texts; None where there is nothing to tell."""
    if not can(model, SpeaksByColumn):
        return None
    tally = model.tally_
    if not tally.words:
        return model.telling()
    others = [name for name in tally.schema.used if name not in tally.words]
    return model.restrict(others).telling() if others else None


def show_left_out(page: Page, model: Any) -> None:
    """The ensemble's scores on rows left out, beside naive Bayes and the majority, and its columns by importance."""
    from bayeskit.models.ensemble.parameters import MOST_FITTED

    scores, found = model.left_out_, model.importance_
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
    order = sorted(zip(found["importance"], found["column"], strict=True), key=lambda pair: -pair[0])[:SHOWN]
    page.table(
        {
            "most important columns": [column for _, column in order],
            "log loss without it": [Figure(f"{rise:+.4f}") for rise, _ in order],
        }
    )


def left_out_record(model: Any) -> dict[str, Any]:
    """The same as plain data."""
    scores, found = model.left_out_, model.importance_
    return {
        "optimistic": True,
        "models": [dict(zip(scores.column_names, row, strict=True)) for row in _rows(scores)],
        "importance": dict(zip(found["column"], found["importance"], strict=True)),
    }
