"""The record of an evaluation: measures, the majority baseline beside them, confusion, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.evaluate.metrics import Measures, Scoreboard, f_by_class, precision_recall
from bayeskit.evaluate.ranking_curves import (
    LiftCurve,
    PrecisionRecall,
    RocCurve,
    lift_curve,
    precision_recall_curve,
    roc_curve,
)
from bayeskit.evaluate.reliability import BINS, BrierParts, Reliability, brier_parts, reliability, top_reliability
from bayeskit.nearest import did_you_mean
from bayeskit.tables.sheet import WIDTH, Grid, Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.typing import Array, Floats


@dataclass(frozen=True, repr=False)
class Evaluation(Readable, Drawable):
    """How well rows were predicted by models that had not learnt them. Frozen, and plain data.

    Attributes
    ----------
    method: "leave-one-out" or "10-fold cross-validation".
    accuracy: the share of the rows put in their own class.
    log_loss: mean of −ln P(own class); infinite where some row's own class was given probability zero. The rows
        counted in ``n_lost``, for which it could not be otherwise, have no part in it.
    brier: mean of Σ_c (P(c) − [c is true])², from 0 to 2.
    baseline: the same three of a model that knows the class counts alone: always the majority class, its
        probabilities the class frequencies; learnt from the same rows.
    confusion: rows by true class (down) and chosen class (across).
    by_class: rows, precision, recall and F of each class; None where there is nothing to divide by.
    probabilities: P(class) of each row (rows, classes), in the order of ``classes``.
    truth: the true class of each row (rows,), as its place in ``classes``.
    weights: of the rows, None where all are 1.
    n_rows: how many rows were scored, or their total weight.
    n_lost: rows of a class that only they show: they count as wrong, and apart.
    n_undecidable: rows impossible under every class, scored by the class priors.
    held: what was chosen with all rows and stays as it is while each is left out, such as "structure".
    """

    method: str
    target: str
    classes: tuple[Value, ...]
    accuracy: float
    log_loss: float
    brier: float
    baseline: Measures
    n_rows: int | float
    n_lost: int | float
    n_undecidable: int
    counts: Array = field(repr=False, compare=False)
    probabilities: Floats = field(repr=False, compare=False)
    held: tuple[str, ...] = ()
    truth: npt.NDArray[np.intp] | None = field(default=None, repr=False, compare=False)
    weights: Floats | None = field(default=None, repr=False, compare=False)

    @property
    def confusion(self) -> Table:
        """Rows by true class (down) and chosen class (across)."""
        columns = {f"as {label}": self.counts[:, i].tolist() for i, label in enumerate(self.classes)}
        return Table({self.target: list(self.classes), **columns})

    @property
    def by_class(self) -> Table:
        """Rows, precision, recall and F of each class."""
        precision, recall = precision_recall(self.counts)
        columns = {"precision": precision, "recall": recall, "F": f_by_class(self.counts)}
        shown = {name: [None if np.isnan(v) else float(v) for v in values] for name, values in columns.items()}
        return Table({self.target: list(self.classes), "rows": self.counts.sum(axis=1).tolist(), **shown})

    @property
    def measures(self) -> Table:
        """Accuracy, log loss and Brier score, beside those of the majority baseline."""
        names = ("accuracy", "log_loss", "brier")
        shown = ["accuracy", "log loss (nats)", "Brier score"]
        return Table(
            {
                "measure": shown,
                "model": [getattr(self, name) for name in names],
                "majority": [getattr(self.baseline, name) for name in names],
            }
        )

    @property
    def trust(self) -> Reliability | None:
        """What was said of the chosen classes beside what was seen; None where the record cannot tell."""
        known = self.truth is not None and not np.isnan(self.probabilities).all()
        return self.reliability() if known else None

    @property
    def calibration_error(self) -> float:
        """The mean of |said − seen| of the chosen class, in 15 bins of equal width."""
        return self.reliability().error

    def reliability(self, of: Any = None, bins: int = BINS, strategy: Any = "uniform") -> Reliability:
        """What was said beside what was seen: of the chosen classes, or of the class ``of``."""
        truth = self._truth()
        if of is None:
            return top_reliability(self.probabilities, truth, bins, strategy, self.weights)
        at = self._place(of)
        return reliability(self.probabilities[:, at], truth == at, bins, strategy, self.weights, self.classes[at])

    def brier_parts(self, bins: int = BINS) -> BrierParts:
        """Reliability, resolution and uncertainty, of which the Brier score is made."""
        return brier_parts(self.probabilities, self._truth(), bins, self.weights)

    def roc(self, of: Any = None) -> RocCurve:
        """The ROC of a class against all others; of two classes that of the second unless said."""
        return roc_curve(*self._ranked(of))

    def precision_recall(self, of: Any = None) -> PrecisionRecall:
        """Precision and recall of a class; of two classes that of the second unless said."""
        return precision_recall_curve(*self._ranked(of))

    def lift(self, of: Any = None) -> LiftCurve:
        """How much of a class is found in the rows that score highest; of two classes the second unless said."""
        return lift_curve(*self._ranked(of))

    def _ranked(self, of: Any) -> tuple[Any, Floats, Floats | None, Value]:
        """(rows of the class, its probabilities, weights, its name)"""
        if of is None and len(self.classes) != 2:
            raise BayesError(f"which class? Name one of {', '.join(map(str, self.classes))}", culprit="of")
        at = 1 if of is None else self._place(of)
        return self._truth() == at, self.probabilities[:, at], self.weights, self.classes[at]

    def _place(self, of: Any) -> int:
        if of not in self.classes:
            words = tuple(map(str, self.classes))
            raise BayesError(
                f"{of!r} is none of the classes {', '.join(words)}{did_you_mean(str(of), words)}", culprit=of
            )
        return self.classes.index(of)

    def _truth(self) -> npt.NDArray[np.intp]:
        if self.truth is None:
            raise BayesError("this record does not hold the true class of each row")
        return self.truth

    @property
    def notes(self) -> list[str]:
        """What the figures do not say by themselves."""
        notes = []
        if self.n_lost:
            lost = f"{_rows(self.n_lost)} of a class that the rest of the rows does not show"
            notes.append(f"{lost}: counted as wrong, left out of the log loss.")
        if self.n_undecidable:
            notes.append(f"{_rows(self.n_undecidable)} impossible under every class: scored by the class priors.")
        if np.isinf(self.log_loss):
            notes.append("Log loss is infinite: probability zero for the own class of a row. Smoothing mends it.")
        if self.held:
            notes.append(_held(self.held))
        return notes

    @property
    def sheet(self) -> Sheet:
        """Readable in 80 columns."""
        head = f"{self.method} of {_rows(self.n_rows)}, {len(self.classes)} classes"
        confusion = _clipped(self.confusion)
        fits = max(map(len, confusion.text.splitlines())) <= WIDTH
        elsewhere = f"confusion: {len(self.classes)} × {len(self.classes)} classes, see .confusion"
        notes = ("", *self.notes) if self.notes else ()
        tables = ("", self.measures.grid, "", _clipped(self.by_class), "", confusion if fits else elsewhere)
        return Sheet(head[:1].upper() + head[1:], (*tables, *notes))


def finished(
    method: str,
    target: str,
    classes: Sequence[Value],
    board: Scoreboard,
    baseline: Scoreboard,
    probabilities: Floats,
    n_undecidable: int,
    held: tuple[str, ...] = (),
    truth: Array | None = None,
    weights: Floats | None = None,
) -> Evaluation:
    """The record of two scoreboards."""
    m = board.measures()
    counts = board.confusion
    whole = bool((counts == np.round(counts)).all())
    return Evaluation(
        method,
        target,
        tuple(classes),
        m.accuracy,
        m.log_loss,
        m.brier,
        baseline.measures(),
        _plain(board.weight),
        _plain(board.lost),
        n_undecidable,
        counts.astype(np.int64) if whole else counts,
        probabilities,
        held,
        None if truth is None else truth.astype(np.intp),
        weights,
    )


def _held(what: tuple[str, ...]) -> str:
    """Why figures of rows left out may be too good.

    >>> _held(("smoothing",))
    'Smoothing has seen the row that is left out: where rows are few, the figures are too good. Cross-validate.'
    """
    words = " and ".join([", ".join(what[:-1]), what[-1]] if len(what) > 1 else what)
    verb = "have" if len(what) > 1 or words.endswith("s") else "has"
    seen = f"{words[:1].upper()}{words[1:]} {verb} seen the row that is left out"
    return f"{seen}: where rows are few, the figures are too good. Cross-validate."


def _plain(weight: float) -> int | float:
    return int(weight) if float(weight).is_integer() else weight


def _rows(n: int | float) -> str:
    return f"{n:,} row" + ("" if n == 1 else "s") if isinstance(n, int) else f"rows of weight {n:,.6g}"


def _clipped(table: Table) -> Grid:
    """The table, names of classes cut to what fits beside the figures."""
    grid = table.grid
    first, *rest = table.column_names
    names = [_short(str(v), 24) for v in grid.columns[first]]
    head = {name: _short(name, 15) for name in rest}
    if len(set(head.values())) < len(head):
        head = {name: name for name in rest}
    return Grid({_short(first, 24): names, **{head[name]: grid.columns[name] for name in rest}}, grid.more)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
