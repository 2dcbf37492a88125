"""Charts of scores: confusion, reliability, ROC, learning curves, comparisons, column importance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts import style
from bayeskit.charts.marks import MOST, SIDE, Line, LineChart, bars, heat
from bayeskit.charts.style import alt, cut, finish_chart, in_title, inline, offline, round_to, safe, title
from bayeskit.errors import BayesError
from bayeskit.tolerance import TIE

if TYPE_CHECKING:
    from bayeskit.decisions import Costs, Decisions
    from bayeskit.evaluate.compare import Comparison
    from bayeskit.evaluate.drift import DriftReport
    from bayeskit.evaluate.evaluation import Evaluation
    from bayeskit.evaluate.learning_curve import LearningCurve
    from bayeskit.evaluate.ranking_curves import LiftCurve, PrecisionRecall, RocCurve
    from bayeskit.evaluate.reliability import BrierParts, Reliability
    from bayeskit.evaluate.selection import Selection
    from bayeskit.explain.informative import ColumnImportance, LossImportance

NAMED = 12
"""Points of a comparison that have their names beside them."""


def importance_chart(record: ColumnImportance) -> Any:
    """Draw the mutual information of each column with the class."""
    if not record.columns:
        raise BayesError("there are no columns: there is nothing to draw")
    first = record.columns[:MOST]
    more = len(record.columns) - len(first)
    return bars(
        [c.column for c in first],
        [c.bits for c in first],
        f"Mutual information with {record.target} (entropy {record.class_bits:.3g} bits)",
        "mutual information (bits)",
        form=".3f",
        remark=f"{more:,} less informative columns are not drawn" if more else "",
        tips={"share": [f"{c.share:.0%}" for c in first]},
    )


def loss_importance_chart(record: LossImportance) -> Any:
    """Draw the rise of the log loss without each column."""
    columns, rises = record["column"], record["importance"]
    more = len(columns) - MOST
    return bars(
        columns[:MOST],
        rises[:MOST],
        "Rise of the log loss without a column",
        "log loss (nats)",
        form=".3f",
        remark=f"{more:,} less important columns are not drawn" if more > 0 else "",
    )


def drift_chart(record: DriftReport) -> Any:
    """Draw the population stability index of each column."""
    if not record.columns:
        raise BayesError("there are no columns: there is nothing to draw")
    first = record.columns[:MOST]
    more = len(record.columns) - len(first)
    return bars(
        [c.column for c in first],
        [c.psi for c in first],
        f"Drift of {record.rows:,} rows",
        "population stability index",
        form=".3f",
        remark=f"{more:,} columns that differ less are not drawn" if more else "",
        tips={"verdict": ["drifted" if c.has_drifted else "" for c in first]},
    )


def confusion_chart(record: Evaluation) -> Any:
    """Draw the confusion matrix, shaded by the share of the true class."""
    counts, classes = np.asarray(record.counts, dtype=np.float64), list(map(str, record.classes))
    if not counts.sum():
        raise BayesError("no row was scored: there is nothing to draw")
    remark = f"{record.method}; shaded by the share of the true class"
    if len(classes) > SIDE:
        kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[: SIDE - 1])
        counts, classes = _with_others(counts, kept), [*(classes[i] for i in kept), "(others)"]
        remark += f"; the {len(kept)} largest of {len(record.classes):,} classes"
    total = counts.sum(axis=1, keepdims=True)
    whole = bool((counts == np.round(counts)).all())
    return heat(
        classes,
        classes,
        counts,
        f"Confusion matrix (accuracy {record.accuracy:.1%})",
        down_is=f"true {record.target}",
        across_is="predicted",
        figure_is="rows",
        form=",.0f" if whole else ".3~g",
        remark=remark,
        shade=counts / np.where(total > 0, total, 1.0),
    )


def _with_others(counts: Any, kept: Any) -> Any:
    """Return the confusion of some classes, with all others merged into one."""
    fold = np.full(len(counts), len(kept))
    fold[kept] = np.arange(len(kept))
    smaller = np.zeros((len(kept) + 1, len(kept) + 1))
    np.add.at(smaller, (fold[:, None], fold[None, :]), counts)
    return smaller


def costs_chart(record: Costs) -> Any:
    """Draw the cost of each decision by true class."""
    return heat(
        record.classes[:SIDE], record.decisions[:SIDE], record.matrix[:SIDE, :SIDE], "Costs",
        down_is="true class", across_is="decision", figure_is="cost", form=".3~g",
    )  # fmt: skip


def decisions_chart(record: Decisions) -> Any:
    """Draw the number of rows by decision."""
    taken = Counter("rejected" if label is None else str(label) for label in record.labels.tolist())
    if not taken:
        raise BayesError("there are no rows: there is nothing to draw")
    names = [*(str(d) for d in record.decisions if str(d) in taken), *(["rejected"] if "rejected" in taken else [])]
    head, remark = f"Decisions for {len(record):,} rows", f"expected loss {record.total_loss:.6g} in all"
    return bars(names, [taken[n] for n in names], head, "rows", form=",.0f", remark=remark)


def selection_chart(record: Selection) -> Any:
    """Draw the log loss after each added or dropped column."""
    verb, losses = record.steps.column_names[0], record.steps["log loss (nats)"]
    head = f"Log loss by columns {verb} ({len(record.columns)} selected)"
    axis = "leave-one-out log loss (nats)"
    return bars(record.steps[verb], losses, head, axis, of=f"{verb}, in turn", form=".4f")


def reliability_chart(record: Reliability) -> Any:
    """Draw observed frequency by predicted probability, with sampling error, and rows by bin."""
    rows = [
        {
            "said": round_to(record.said[i]), "seen": round_to(record.seen[i]),
            "rows": round_to(float(record.rows[i]), 6),
            "low": round_to(max(record.said[i] - 2 * record.spread[i], 0.0)), "from": round_to(record.low[i]),
            "high": round_to(min(record.said[i] + 2 * record.spread[i], 1.0)), "to": round_to(record.high[i]),
            "zero": 0,
        }
        for i in range(len(record.rows))
    ]  # fmt: skip
    unit = alt.Scale(domain=[0, 1], nice=False)
    x, y = alt.X("said:Q", title=None, scale=unit), alt.Y("seen:Q", title="observed frequency", scale=unit)
    tip = [
        alt.Tooltip("said:Q", title="mean predicted probability"),
        alt.Tooltip("seen:Q", title="observed frequency"),
        alt.Tooltip("rows:Q", title="rows", format=",.6~g"),
    ]
    base = alt.Chart(inline(rows))
    ideal = alt.Chart(inline([{"said": 0, "seen": 0}, {"said": 1, "seen": 1}]))
    size = alt.Size("rows:Q", legend=None, scale=alt.Scale(domain=[0, float(np.max(record.rows))], range=[20, 160]))
    of = "the predicted class" if record.of is None else record.of
    head = f"Reliability diagram of {of} ({record.verdict})"
    error = f"calibration error {record.error:.3f}, by chance {record.by_chance:.3f}"
    upper = alt.layer(
        ideal.mark_line(color=style.FAINT, strokeDash=[3, 4]).encode(x, y),
        base.mark_rule(color=style.FAINT, strokeWidth=5, opacity=0.35).encode(x, alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_line(color=style.INK, strokeWidth=2).encode(x, y),
        base.mark_point(filled=True, color=style.INK, opacity=1).encode(x, y, size, tooltip=tip),
    ).properties(width=300, height=300, title=title(head, f"{error}; bars: where chance would put the dots"))
    lower = (
        base.mark_rect(color=style.INK, opacity=0.55, stroke="white")
        .encode(
            alt.X("from:Q", title="predicted probability", scale=unit),
            alt.Y("rows:Q", title="rows", axis=alt.Axis(tickCount=3, format="~s")),
            alt.X2("to:Q"),
            alt.Y2("zero:Q"),
            tooltip=tip,
        )
        .properties(width=300, height=60)
    )
    return offline(alt.vconcat(upper, lower, spacing=8))


def brier_chart(record: BrierParts) -> Any:
    """Draw the decomposition of the Brier score."""
    return bars(
        ["reliability", "resolution", "uncertainty", "within bins", "Brier score"],
        [record.reliability, -record.resolution, record.uncertainty, record.within, record.brier],
        f"Decomposition of the Brier score ({record.brier:.3f})",
        "part of the Brier score",
        form="+.4f",
        remark="reliability: calibration error (lower is better); resolution: separation of the classes",
    )


UNIT = (0.0, 1.0)


def roc_chart(record: RocCurve) -> Any:
    """Draw the true positive rate by false positive rate; the dotted line is chance."""
    if not np.isfinite(record.area):
        raise BayesError(f"there are rows of {record.of!r} alone, or none: a ROC needs both")
    return LineChart(
        f"ROC curve of {in_title(record.of)} (AUC {record.area:.3f})",
        "false positive rate",
        "true positive rate",
        remark="dotted: chance",
        lines=[Line(str(record.of), record.false_positive_rate, record.true_positive_rate)],
        x_domain=UNIT,
        y_domain=UNIT,
        guide=((0, 0), (1, 1)),
        size=(300, 300),
    ).chart()


def precision_recall_chart(record: PrecisionRecall) -> Any:
    """Draw precision by recall with the break-even point; the dotted line is chance."""
    if not np.isfinite(record.precision).any():
        raise BayesError(f"no row is of class {record.of!r}: there is nothing to draw")
    even = record.break_even
    return LineChart(
        f"Precision-recall curve of {in_title(record.of)} (break-even {even:.3f})",
        "recall",
        "precision",
        remark=f"average precision {record.average_precision:.3f}; dotted: chance",
        lines=[Line(str(record.of), record.recall, record.precision)],
        x_domain=UNIT,
        y_domain=(0, 1.04),
        guide=((0, record.share), (1, record.share)),
        marks=[(f"break-even {even:.3f}", even, even)] if np.isfinite(even) else [],
        size=(300, 300),
    ).chart()


def lift_chart(record: LiftCurve) -> Any:
    """Draw the lift by the share of the best-scored rows."""
    if not np.isfinite(record.lift).any():
        raise BayesError(f"no row is of class {record.of!r}: there is nothing to draw")
    return LineChart(
        f"Lift curve of {in_title(record.of)} (top 10 % of rows: {record.found_at(0.1):.0%} of the class)",
        "share of the rows taken, the best-scored first",
        "times as many as by chance",
        remark="dotted: chance",
        lines=[Line(str(record.of), record.taken, record.lift)],
        x_domain=UNIT,
        y_domain=(0, float(np.nanmax(record.lift)) * 1.05),
        guide=((0, 1), (1, 1)),
        marks=[("best tenth", 0.1, record.found_at(0.1) / 0.1)],
        size=(360, 280),
    ).chart()


def rank_chart(probabilities: Any, label: object) -> Any:
    """Draw the probability of a class by the rank of the row."""
    p = np.asarray(probabilities, dtype=np.float64)
    if not len(p):
        raise BayesError("there are no rows: there is nothing to draw")
    expected = float(p.sum())
    return LineChart(
        f"Probability of {in_title(label)} by rank ({expected:,.3g} expected among {len(p):,} rows)",
        "rows, the most probable first",
        f"P({label})",
        lines=[Line(str(label), np.arange(1.0, len(p) + 1), p)],
        y_domain=UNIT,
        points=len(p) == 1,
    ).chart()


def learning_chart(record: LearningCurve, measure: str = "accuracy") -> Any:
    """Draw a measure by the number of training rows, with a band of one standard deviation."""
    names = {"accuracy": "accuracy", "log_loss": UNITS["log_loss"]}
    if measure not in names:
        raise BayesError(f"measure={measure!r}: it is one of {', '.join(names)}")
    name = names[measure]
    sizes, means = np.asarray(record.sizes, dtype=np.float64), record.means(measure)
    spreads = record.spreads(measure) if record.accuracy.shape[2] > 1 else None
    lines = [
        Line(model, sizes, mean, *(() if spreads is None else (mean - spreads[i], mean + spreads[i])))
        for i, (model, mean) in enumerate(zip(record.models, means, strict=True))
    ]
    return LineChart(
        f"{name[0].upper()}{name[1:]} on {record.test_rows:,} other rows, by the number of rows learned",
        "rows learned",
        name,
        remark="" if spreads is None else "bands: a standard deviation over the repeats",
        lines=lines,
        log_x=True,
        points=True,
    ).chart()


FEW = 3  # data sets: for a scatter there are more
UNITS = {"log_loss": "log loss (nats)", "brier": "Brier score", "seconds": "CPU time (seconds)"}


def comparison_chart(
    record: Comparison, first: str | None = None, second: str | None = None, measure: str = "accuracy"
) -> Any:
    """Draw two models over the data sets, or bars of all models for few data sets."""
    scores, higher = record.scores(measure), measure == "accuracy"
    name = UNITS.get(measure, measure)
    if len(record.models) < 2 or (len(record.datasets) < FEW and first is None and second is None):
        means = [float(np.nanmean(of)) if np.isfinite(of).any() else math.nan for of in scores.T]
        sets = f"{len(record.datasets)} data sets" if len(record.datasets) > 1 else record.datasets[0]
        head = f"{name[0].upper()}{name[1:]} of {len(record.models)} models on {sets}"
        return bars(record.models, means, head, name, remark=record.method)
    one = first or next(model for model in record.models if model != second)
    other = second or next(model for model in record.models if model != one)
    up, across = (scores[:, record.models.index(model)] for model in (one, other))
    return scatter_chart(record.datasets, across, up, (other, one), name, higher_is_better=higher, remark=record.method)


def _place_labels(rows: list[dict[str, Any]], domain: list[Any]) -> Iterator[tuple[list[dict[str, Any]], str, int]]:
    """Yield the names of points for each side, clear of each other and of points; of many, those off the diagonal."""
    named = sorted(rows, key=lambda row: -abs(row["y"] - row["x"]))[:NAMED]
    size = domain[1] - domain[0]
    line, letter, middle = size / 28, size / 60, domain[0] + size / 2
    for on_right in (False, True):
        taken = [(row["x"], row["x"], row["y"]) for row in rows]
        placed = []
        for row in sorted((row for row in named if (row["x"] > middle) == on_right), key=lambda row: row["y"]):
            name, y = cut(row["set"], 16), row["y"]
            start, end = sorted((row["x"], row["x"] + (-1 if on_right else 1) * letter * (len(name) + 2)))
            own = (row["x"], row["x"], row["y"])
            beside = [at for low, high, at in taken if (low, high, at) != own and low <= end and high >= start]
            while any(abs(y - other) < line * 0.8 for other in beside):
                y += line / 4
            placed.append({"set": name, "x": row["x"], "label": y})
            taken.append((start, end, y))
        if placed:
            yield placed, *(("right", -8) if on_right else ("left", 8))


def scatter_chart(
    names: Sequence[str],
    first: Any,
    second: Any,
    models: tuple[str, str],
    measure: str,
    *,
    higher_is_better: bool = True,
    remark: str = "",
) -> Any:
    """Draw a point for each data set: the measure of one model by that of the other."""
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(known):
        raise BayesError(f"no data set has the {measure} of both models: there is nothing to draw")
    better = np.where(np.abs(y - x) <= TIE, 0, np.sign(y - x)) * (1 if higher_is_better else -1)
    rows = [
        {"set": str(names[i]), "x": round_to(x[i], 5), "y": round_to(y[i], 5), "wins": int(better[i])}
        for i in known.tolist()
    ]
    low, high = float(min(x[known].min(), y[known].min())), float(max(x[known].max(), y[known].max()))
    room = 0.04 * (high - low) or 0.5
    domain = [round_to(low - room, 3), round_to(high + room, 3)]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    across = alt.X("x:Q", title=safe(f"{measure} of {models[0]}"), scale=scale)
    up = alt.Y("y:Q", title=safe(f"{measure} of {models[1]}"), scale=scale)
    signs = [-1, 0, 1]
    hue = alt.Color(
        "wins:N", legend=None, scale=alt.Scale(domain=signs, range=[style.PALETTE[0], style.FAINT, style.PALETTE[2]])
    )
    form = alt.Shape(
        "wins:N", legend=None, scale=alt.Scale(domain=signs, range=[style.SHAPES[0], style.SHAPES[3], style.SHAPES[2]])
    )
    tip = [
        alt.Tooltip("set:N", title="data"),
        alt.Tooltip("x:Q", title=safe(models[0])),
        alt.Tooltip("y:Q", title=safe(models[1])),
    ]
    ends = [{"x": end, "y": end} for end in domain]
    equal = alt.Chart(inline(ends)).mark_line(color=style.FAINT, strokeDash=[3, 4]).encode(across, up)
    points = (
        alt.Chart(inline(rows)).mark_point(filled=True, size=60, opacity=0.9).encode(across, up, hue, form, tooltip=tip)
    )
    labels = [
        alt.Chart(inline(placed))
        .mark_text(align=align, dx=dx, fontSize=10, color=style.FAINT)
        .encode(across, alt.Y("label:Q", scale=scale), alt.Text("set:N"))
        for placed, align, dx in _place_labels(rows, domain)
    ]
    wins, losses = int((better[known] > 0).sum()), int((better[known] < 0).sum())
    ties = len(known) - wins - losses
    first, second = (in_title(model) for model in models)
    head = f"{second} against {first} on {len(known)} data sets (wins: {wins}, ties: {ties}, losses: {losses})"
    side = "above" if higher_is_better else "below"
    told = f"{side} the line (triangles): {models[1]} is better"
    return finish_chart([equal, points, *labels], 340, 340, head, told, remark)
