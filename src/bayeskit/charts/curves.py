"""Curves of how good a model is: ROC, precision and recall, lift, and by the number of rows learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.charts.lines import Line, Lines
from bayeskit.charts.style import in_title
from bayeskit.errors import BayesError

if TYPE_CHECKING:
    from bayeskit.evaluate.curves import LearningCurve
    from bayeskit.evaluate.ranking import LiftCurve, PrecisionRecall, RocCurve

UNIT = (0.0, 1.0)
NAMES = {"accuracy": "accuracy", "log_loss": "log loss (nats)"}


def roc_chart(record: RocCurve) -> Any:
    """True against false positives as the threshold falls; the dotted line is what chance gives."""
    if not np.isfinite(record.area):
        raise BayesError(f"there are rows of {record.of!r} alone, or none: a ROC needs both")
    return Lines(
        f"How well rows of {in_title(record.of)} come before the others: area {record.area:.3f}",
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
    """Precision by recall, with the point where they are equal; the dotted line is what chance gives."""
    if not np.isfinite(record.precision).any():
        raise BayesError(f"no row is of class {record.of!r}: there is nothing to draw")
    even = record.break_even
    return Lines(
        f"Precision and recall of {in_title(record.of)}: they meet at {even:.3f}",
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
    """How many times as many of the class as by chance are in the best-scored rows."""
    if not np.isfinite(record.lift).any():
        raise BayesError(f"no row is of class {record.of!r}: there is nothing to draw")
    return Lines(
        f"Lift of {in_title(record.of)}: the best-scored tenth holds {record.found_at(0.1):.0%} of the class",
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
    """The probability of a class by the place of the row, the most probable first."""
    p = np.asarray(probabilities, dtype=np.float64)
    if not len(p):
        raise BayesError("there are no rows: there is nothing to draw")
    expected = float(p.sum())
    return Lines(
        f"How probable {in_title(label)} is, row by row: {expected:,.3g} expected among {len(p):,}",
        "rows, the most probable first",
        f"P({label})",
        lines=[Line(str(label), np.arange(1.0, len(p) + 1), p)],
        y_domain=UNIT,
        points=len(p) == 1,
    ).chart()


def learning_chart(record: LearningCurve, measure: str = "accuracy") -> Any:
    """A measure on rows not learnt, by the number of rows learnt; bands are a standard deviation over the repeats."""
    if measure not in NAMES:
        raise BayesError(f"measure={measure!r}: it is one of {', '.join(NAMES)}")
    sizes, means = np.asarray(record.sizes, dtype=np.float64), record.means(measure)
    spreads = record.spreads(measure) if record.accuracy.shape[2] > 1 else None
    lines = [
        Line(name, sizes, mean, *(() if spreads is None else (mean - spreads[i], mean + spreads[i])))
        for i, (name, mean) in enumerate(zip(record.models, means, strict=True))
    ]
    return Lines(
        f"{_upper(NAMES[measure])} on {record.test_rows:,} other rows, by the number of rows learnt",
        "rows learnt",
        NAMES[measure],
        remark="" if spreads is None else "bands: a standard deviation over the repeats",
        lines=lines,
        log_x=True,
        points=True,
    ).chart()


def _upper(text: str) -> str:
    return text[0].upper() + text[1:]
