"""What was learnt, in short: columns, classes, what joins them, scores. A model prints it, and so do the commands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bayeskit.tables.sheet import Figure, Grid, Sheet
from bayeskit.tables.table import Table
from bayeskit.tolerance import WHOLE

if TYPE_CHECKING:
    from bayeskit.tally.tally import Tally

RECORDS = ("report_", "costs_", "comparison_")  # what models hold that has a form of its own
INNER = ("classifier_", "estimator_", "nb_")  # where a model keeps the one that it is made around


def overview(model: Any) -> Sheet:
    """A fitted model in short, from what it has counted and what it believes: no row is read."""
    return _of_counts(model) if hasattr(model, "tally_") else _of_weights(model)


def _of_weights(model: Any) -> Sheet:
    """A model that keeps no counts: its table, the records that it holds, and the model that it is made around."""
    facts = [f"{model.n_features_in_:,} columns"] if hasattr(model, "n_features_in_") else []
    facts += [f"{len(model.classes_):,} classes"] if hasattr(model, "classes_") else []
    parts: list[Any] = [f"settings: {', '.join(changed)}"] if (changed := model._changed_settings()) else []
    if hasattr(model, "table"):
        parts += ["", model.table().grid]
    for name in RECORDS:
        record: Any = getattr(model, name, None)
        if isinstance(record, Table):
            parts += ["", record.grid]
        elif record is not None:
            parts += ["", *(record.sheet.parts if hasattr(record, "sheet") else [str(record)])]
    for name in INNER:
        if hasattr(inner := getattr(model, name, None), "tally_"):
            around = _of_counts(inner, with_scores=False)  # those of the model inside are not its own
            parts += ["", f"made around {around.title}", *around.parts]
    return Sheet(f"{type(model).__name__}: {', '.join(facts)}" if facts else type(model).__name__, tuple(parts))


def _of_counts(model: Any, with_scores: bool = True) -> Sheet:
    tally = model.tally_
    rows, classes = count_of(tally.n_rows), len(tally.classes)
    head = f"{type(model).__name__} of {tally.schema.target.name}: {rows:,} {model._rows_are}, {classes:,} classes"
    parts: list[Any] = [f"settings: {', '.join(changed)}"] if (changed := model._changed_settings()) else []
    parts += ["", columns_grid(tally), "", classes_grid(tally)]
    if hasattr(model, "describe_structure"):
        structure = model.describe_structure().sheet
        parts += ["", structure.title, *structure.parts]
    return Sheet(head, (*parts, "", *_scores(model)) if with_scores else tuple(parts))


def _scores(model: Any) -> tuple[Any, ...]:
    """The scores that a model holds of rows it was not told of, or how to get some."""
    if hasattr(model, "report"):
        report = model.report().sheet
        return (report.title, *report.parts)
    if hasattr(model, "leave_one_out"):
        return ("scores: leave_one_out(X, y), or bayeskit.cross_validate(model, X, y)",)
    return ("scores: bayeskit.cross_validate(model, X, y)",)


def columns_grid(tally: Tally) -> Grid:
    """What each column was taken for, and what it holds."""
    records = column_records(tally)
    return Grid(
        {
            "column": [record["column"] for record in records],
            "taken as": [record["role"] for record in records],
            "holds": [contents(record) for record in records],
            "missing": [record.get("missing") for record in records],
        }
    )


def classes_grid(tally: Tally) -> Grid:
    """How many rows each class has."""
    counts = [count_of(n) for n in tally.class_counts.tolist()]
    total = sum(counts)
    return Grid(
        {
            tally.schema.target.name: [str(label) for label in tally.classes],
            "rows": [Figure(f"{n:,}") for n in counts],
            "share": [percent(n / total) for n in counts],
        }
    )


def percent(share: float) -> Figure:
    """A share as a person reads it.

    >>> percent(0.9796)
    '98.0%'
    """
    return Figure("–" if math.isnan(share) else f"{share:.1%}")


def column_records(tally: Tally) -> list[dict[str, Any]]:
    """What each column was taken for, and what it holds."""
    from bayeskit.estimate.cuts import labels as intervals

    rows: float = tally.n_rows
    records: list[dict[str, Any]] = []
    for name, role in tally.schema.columns.items():
        record: dict[str, Any] = {"column": name, "role": role.name}
        if name in tally.families:
            family = tally.families[name]
            present = family.present.sum(axis=0)
            top = sorted(range(len(present)), key=lambda i, n=present: (-n[i], i))[:3]  # type: ignore[misc]
            cuts = getattr(role, "cuts", None)
            names = family.values if cuts is None else intervals(cuts)
            has_order = cuts is not None or getattr(role, "domain", None) is not None
            frequent = [names[i] for i in (sorted(top) if has_order else top)]
            record |= {"values": len(family.values), "most_frequent": frequent}
            record["missing"] = count_of(family.missing.sum().item())
        elif name in tally.logged:
            record["missing"] = count_of(rows - tally.moments_of([name]).pooled().n[0, 0].item())
        elif name in tally.summed:
            pooled = tally.moments_of([name]).pooled()
            n = pooled.n[0, 0].item()
            spread = math.sqrt(max(pooled.squared_deviations()[0, 0].item(), 0.0) / max(n - 1, 1))
            record |= {"mean": pooled.mean()[0, 0].item(), "sd": spread, "missing": count_of(rows - n)}
        elif name in tally.words:
            counted = tally.words[name]
            total = counted.totals("documents")
            top = sorted(range(len(total)), key=lambda i, n=total: (-n[i], i))[:3]  # type: ignore[misc]
            missing = rows - counted.n_documents.sum().item()
            record |= {"words": len(total), "most_frequent": [counted.words[i] for i in top], "missing": missing}
        elif name in tally.values:
            counts = tally.values[name].counts
            record |= {"values": counts.shape[1], "missing": rows - counts.sum().item()}
        records.append(record)
    return records


def count_of(n: float) -> int | float:
    """A number of rows; of expected counts what is rounding goes.

    >>> count_of(-5.7e-14), count_of(89.0000000001), count_of(2.5)
    (0, 89, 2.5)
    """
    return round(n) if abs(n - round(n)) <= WHOLE * max(abs(n), 1.0) else n


def contents(record: dict[str, Any]) -> str:
    if "mean" in record:
        return f"{record['mean']:.4g} ± {record['sd']:.3g}" if not math.isnan(record["mean"]) else "nothing"
    if "words" in record:
        more = ", …" if record["words"] > len(record["most_frequent"]) else ""
        return f"{record['words']:,} words: " + ", ".join(record["most_frequent"]) + more
    if "values" not in record:
        return "" if record["role"] == "ignore" else "–"
    count, first = record["values"], record.get("most_frequent")
    if not count:
        return "nothing"
    if first is None:
        return f"{count:,} numbers"
    return f"{count:,}: " + ", ".join(map(_listed, first)) + (", …" if count > len(first) else "")


def _listed(value: Any) -> str:
    """A value in a list: quoted where it has a comma itself.

    >>> ", ".join(map(_listed, ["Paris, Texas", "Oslo", 3]))
    "'Paris, Texas', Oslo, 3"
    """
    return repr(value) if isinstance(value, str) and "," in value else str(value)
