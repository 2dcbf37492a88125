"""Overview of a fitted model: columns, classes, structure and scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayeskit.data.schema import Numeric
from bayeskit.estimate.cuts import labels as intervals
from bayeskit.tables import Figure, Grid, Sheet, Table, class_header
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import WHOLE

RECORDS = ("report_", "costs_", "comparison_")  # what models hold that has a form of its own
SCORES_HINT = "scores: "  # before the methods that score a model
INNER = ("classifier_", "estimator_", "nb_")  # where a model keeps the one that it is made around


def overview(model: Any) -> Sheet:
    """Summarize a fitted model from its counts and parameters."""
    return _counts_overview(model) if hasattr(model, "tally_") else _weights_overview(model)


def _weights_overview(model: Any) -> Sheet:
    """Summarize a model without counts: its table, its records and the model that it wraps."""
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
            around = _counts_overview(inner, with_scores=False)  # those of the model inside are not its own
            parts += ["", f"made around {around.title}", *around.parts]
    return Sheet(f"{type(model).__name__}: {', '.join(facts)}" if facts else type(model).__name__, tuple(parts))


def _counts_overview(model: Any, with_scores: bool = True) -> Sheet:
    tally = model.tally_
    rows, classes = round_count(tally.n_rows), len(tally.classes)
    head = f"{type(model).__name__} of {tally.schema.target.name}: {rows:,} {model._rows_are}, {classes:,} classes"
    parts: list[Any] = [f"settings: {', '.join(changed)}"] if (changed := model._changed_settings()) else []
    parts += ["", columns_grid(tally), "", classes_grid(tally)]
    if hasattr(model, "describe_structure"):
        structure = model.describe_structure().sheet
        parts += ["", structure.title, *structure.parts]
    return Sheet(head, (*parts, "", *_scores(model)) if with_scores else tuple(parts))


def _scores(model: Any) -> tuple[Any, ...]:
    """Return the evaluation stored in a model, or a hint to get one."""
    if hasattr(model, "report"):
        report = model.report().sheet
        return (report.title, *report.parts)
    first = "leave_one_out(X, y), or " if hasattr(model, "leave_one_out") else ""
    return (f"{SCORES_HINT}{first}bayeskit.cross_validate(model, X, y)",)


def columns_grid(tally: Tally) -> Grid:
    """Return the role and content of each column."""
    records = column_records(tally)
    columns = {"column": [record["column"] for record in records]}
    columns["role"] = [", ".join(record[key] for key in ("role", "kind") if key in record) for record in records]
    return Grid({**columns, "holds": [contents(r) for r in records], "missing": [r.get("missing") for r in records]})


def classes_grid(tally: Tally, by_size: bool = False) -> Grid:
    """Return the number of rows of each class, in the order of the classes or the largest first."""
    counts = [round_count(n) for n in tally.class_counts.tolist()]
    order = sorted(range(len(counts)), key=lambda i: -counts[i] if by_size else i)
    header = class_header(tally.schema.target.name, ("rows", "share"))
    total = sum(counts)
    rows = [Figure(f"{counts[i]:,}" if counts[i] % 1 == 0 else f"{counts[i]:,.6g}") for i in order]
    shares = [percent(counts[i] / total if total else math.nan) for i in order]
    return Grid({header: [str(tally.classes[i]) for i in order], "rows": rows, "share": shares})


def percent(share: float) -> Figure:
    """Format a share as a percentage.

    >>> percent(0.9796)
    '98.0%'
    """
    return Figure("–" if math.isnan(share) else f"{share:.1%}")


def column_records(tally: Tally) -> list[dict[str, Any]]:
    """Return the role and content of each column as records."""
    rows: float = tally.n_rows
    records: list[dict[str, Any]] = []
    for name, role in tally.schema.columns.items():
        record: dict[str, Any] = {"column": name, "role": role.name}
        if isinstance(role, Numeric) and role.kind is not None:
            record["kind"] = "unused" if role.cuts == () else role.kind
        if name in tally.families:
            family = tally.families[name]
            top = np.argsort(-family.present.sum(axis=0), kind="stable")[:3].tolist()
            cuts = getattr(role, "cuts", None)
            names = family.values if cuts is None else intervals(cuts)
            has_order = cuts is not None or getattr(role, "domain", None) is not None
            frequent = [names[i] for i in (sorted(top) if has_order else top)]
            record |= {"values": len(family.values), "most_frequent": frequent}
            record["missing"] = round_count(family.missing.sum().item())
        elif name in tally.logged:
            record["missing"] = round_count(rows - tally.moments_of([name]).pooled().n[0, 0].item())
        elif name in tally.summed:
            pooled = tally.moments_of([name]).pooled()
            n = pooled.n[0, 0].item()
            spread = math.sqrt(max(pooled.squared_deviations()[0, 0].item(), 0.0) / max(n - 1, 1))
            record |= {"mean": pooled.mean()[0, 0].item(), "sd": spread, "missing": round_count(rows - n)}
        elif name in tally.words:
            counted = tally.words[name]
            top = np.argsort(-counted.totals("documents"), kind="stable")[:3].tolist()
            record |= {"words": len(counted.words), "most_frequent": [counted.words[i] for i in top]}
            record["missing"] = rows - counted.n_documents.sum().item()
        elif name in tally.values:
            counts = tally.values[name].counts
            record |= {"values": counts.shape[1], "missing": rows - counts.sum().item()}
        records.append(record)
    return records


def class_records(tally: Tally) -> list[dict[str, Any]]:
    """Return the number of rows of each class as records."""
    pairs = zip(tally.classes, tally.class_counts.tolist(), strict=True)
    return [{"class": label, "rows": round_count(n)} for label, n in pairs]


def round_count(n: float) -> int | float:
    """Round a number of rows that is a whole number up to rounding errors.

    >>> round_count(-5.7e-14), round_count(89.0000000001), round_count(2.5)
    (0, 89, 2.5)
    """
    return round(n) if abs(n - round(n)) <= WHOLE * max(abs(n), 1.0) else n


def contents(record: dict[str, Any]) -> str:
    if "mean" in record:
        return f"{record['mean']:.4g} ± {record['sd']:.3g}" if not math.isnan(record["mean"]) else "nothing"
    if "words" in record:
        more = ", …" if record["words"] > len(record["most_frequent"]) else ""
        return f"{record['words']:,} words: " + ", ".join(record["most_frequent"]) + more
    if "values" not in record or record.get("kind") == "unused":
        return "" if record["role"] == "ignore" else "–"
    count, first = record["values"], record.get("most_frequent")
    if not count:
        return "nothing"
    if first is None:
        return f"{count:,} numbers"
    return f"{count:,}: " + ", ".join(map(_quote_value, first)) + (", …" if count > len(first) else "")


def _quote_value(value: Any) -> str:
    """Format a value in a list, quoted if it contains a comma.

    >>> ", ".join(map(_quote_value, ["Paris, Texas", "Oslo", 3]))
    "'Paris, Texas', Oslo, 3"
    """
    return repr(value) if isinstance(value, str) and "," in value else str(value)
