"""Evaluation record: measures, majority baseline, confusion matrix and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
from bayeskit.tables import WIDTH, Grid, Readable, Sheet, Table, class_header
from bayeskit.typing import Array, Floats


@dataclass(frozen=True, repr=False)
class Evaluation(Readable, Drawable):
    """Result of predicting rows by models that were not trained on them.

    Attributes
    ----------
    method : str
        "leave-one-out", "10-fold cross-validation" or "held-out rows".
    accuracy : float
    log_loss : float
        Mean of −ln P(true class) with probabilities clipped at 1e-15, without the rows counted in ``n_lost``.
    brier : float
        Mean of Σ_c (P(c) − [c is true])², from 0 to 2.
    baseline : Measures
        The three measures of the majority class, whose probabilities are the class frequencies of the training rows.
    confusion : Table
        Counts by true class (rows) and predicted class (columns).
    by_class : Table
        Rows, precision, recall and F of each class; None if undefined.
    probabilities : ndarray of shape (n_rows, n_classes)
    truth : ndarray of shape (n_rows,)
        Codes of the true classes in ``classes``.
    weights : ndarray of shape (n_rows,) or None
    n_rows : float
        Number of rows, or their total weight.
    n_lost : float
        Rows whose class occurs in no training row: they count as wrong.
    n_undecidable : int
        Rows impossible under every class, scored by the class priors.
    n_clipped : int
        Rows whose true class has a probability below 1e-15, except those in ``n_lost``.
    held : tuple of str
        Parts of the model that were chosen with all rows and stayed fixed, such as "structure".
    remark : str
        Why ``method`` was chosen, if it was chosen automatically.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets
    >>> days = datasets.load_worked_example("tennis")
    >>> result = NaiveBayes().fit(days, "play").leave_one_out(days, "play")
    >>> result.method, round(result.accuracy, 3), result.n_rows
    ('leave-one-out', 0.5, 14)
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
    n_clipped: int
    counts: Array = field(repr=False, compare=False)
    probabilities: Floats = field(repr=False, compare=False)
    held: tuple[str, ...] = ()
    truth: npt.NDArray[np.intp] | None = field(default=None, repr=False, compare=False)
    weights: Floats | None = field(default=None, repr=False, compare=False)
    remark: str = ""

    @property
    def confusion(self) -> Table:
        """Return the confusion matrix: counts by true class (rows) and predicted class (columns)."""
        columns = {f"as {label}": self.counts[:, i].tolist() for i, label in enumerate(self.classes)}
        return Table({class_header(self.target, columns): list(self.classes), **columns})

    @property
    def by_class(self) -> Table:
        """Return rows, precision, recall and F of each class."""
        precision, recall = precision_recall(self.counts)
        scores = {"precision": precision, "recall": recall, "F": f_by_class(self.counts)}
        shown = {name: [None if np.isnan(v) else float(v) for v in values] for name, values in scores.items()}
        columns = {"rows": self.counts.sum(axis=1).tolist(), **shown}
        return Table({class_header(self.target, columns): list(self.classes), **columns})

    @property
    def measures(self) -> Table:
        """Return accuracy, log loss and Brier score beside those of the majority baseline."""
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
        """Return the reliability of the predicted classes, or None if the record has no probabilities.

        A true class with a probability below 1e-15 makes its verdict "inconsistent".
        """
        known = self.truth is not None and not np.isnan(self.probabilities).all()
        return replace(self.reliability(), n_impossible=self.n_clipped) if known else None

    @property
    def calibration_error(self) -> float:
        """Return the expected calibration error of the predicted class, with 15 bins of equal width."""
        return self.reliability().error

    def reliability(self, of: Any = None, bins: int = BINS, strategy: Any = "uniform") -> Reliability:
        """Compute the reliability diagram of the predicted class, or of one class.

        Parameters
        ----------
        of : class label, optional
        bins : int, default=15
        strategy : {"uniform", "quantile"}, default="uniform"

        Returns
        -------
        Reliability
        """
        truth = self._truth()
        if of is None:
            return top_reliability(self.probabilities, truth, bins, strategy, self.weights)
        at = self._place(of)
        return reliability(self.probabilities[:, at], truth == at, bins, strategy, self.weights, self.classes[at])

    def brier_parts(self, bins: int = BINS) -> BrierParts:
        """Decompose the Brier score into reliability, resolution and uncertainty.

        Parameters
        ----------
        bins : int, default=15

        Returns
        -------
        BrierParts
        """
        return brier_parts(self.probabilities, self._truth(), bins, self.weights)

    def roc(self, of: Any = None) -> RocCurve:
        """Compute the ROC curve of a class against all others.

        Parameters
        ----------
        of : class label, optional
            The second class by default if there are two classes.

        Returns
        -------
        RocCurve
        """
        return roc_curve(*self._class_scores(of))

    def precision_recall(self, of: Any = None) -> PrecisionRecall:
        """Compute the precision-recall curve of a class against all others.

        Parameters
        ----------
        of : class label, optional
            The second class by default if there are two classes.

        Returns
        -------
        PrecisionRecall
        """
        return precision_recall_curve(*self._class_scores(of))

    def lift(self, of: Any = None) -> LiftCurve:
        """Compute the lift curve of a class.

        Parameters
        ----------
        of : class label, optional
            The second class by default if there are two classes.

        Returns
        -------
        LiftCurve
        """
        return lift_curve(*self._class_scores(of))

    def _class_scores(self, of: Any) -> tuple[Any, Floats, Floats | None, Value]:
        """Return (membership in the class, its probabilities, weights, its label)."""
        if of is None and len(self.classes) != 2:
            raise BayesError(f"which class? Name one of {', '.join(map(str, self.classes))}")
        at = 1 if of is None else self._place(of)
        return self._truth() == at, self.probabilities[:, at], self.weights, self.classes[at]

    def _place(self, of: Any) -> int:
        if of not in self.classes:
            words = tuple(map(str, self.classes))
            raise BayesError(f"{of!r} is none of the classes {', '.join(words)}{did_you_mean(str(of), words)}")
        return self.classes.index(of)

    def _truth(self) -> npt.NDArray[np.intp]:
        if self.truth is None:
            raise BayesError("this record does not hold the true class of each row")
        return self.truth

    @property
    def notes(self) -> list[str]:
        """Return remarks on the figures."""
        notes = [self.remark] if self.remark else []
        if self.n_lost:
            lost = f"{_rows(self.n_lost)} of a class that no other row has"
            notes.append(f"{lost}: counted as wrong, left out of the log loss.")
        if self.n_undecidable:
            notes.append(f"{_rows(self.n_undecidable)} impossible under every class: scored by the class priors.")
        if self.n_clipped:
            which = f"{_rows(self.n_clipped)} with a probability below 1e-15 for the true class"
            notes.append(f"{which}: clipped at 1e-15 in the log loss. Smoothing avoids this.")
        if self.held:
            notes.append(_optimism_note(self.held))
        if self.method == "leave-one-out" and self.weights is not None and (self.weights > 1).any():
            notes.append("Of a weight above 1 the rest stays in: the figures are too good. Cross-validate.")
        return notes

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        head = f"{self.method} of {_rows(self.n_rows)}, {len(self.classes)} classes"
        confusion = _clip_class_names(self.confusion)
        fits = max(map(len, confusion.text.splitlines())) <= WIDTH
        elsewhere = f"confusion: {len(self.classes)} × {len(self.classes)} classes, see .confusion"
        notes = ("", *self.notes) if self.notes else ()
        tables = ("", self.measures.grid, "", _clip_class_names(self.by_class), "", confusion if fits else elsewhere)
        return Sheet(head[:1].upper() + head[1:], (*tables, *notes))


def build_evaluation(
    method: str,
    target: str,
    classes: Sequence[Value],
    board: Scoreboard,
    baseline: Scoreboard,
    probabilities: Floats,
    n_undecidable: int,
    *,
    held: tuple[str, ...] = (),
    truth: Array | None = None,
    weights: Floats | None = None,
) -> Evaluation:
    """Build an evaluation from two scoreboards."""
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
        _to_plain(board.weight),
        _to_plain(board.lost),
        n_undecidable,
        board.clipped,
        counts.astype(np.int64) if whole else counts,
        probabilities,
        held,
        None if truth is None else truth.astype(np.intp),
        weights,
    )


def _optimism_note(what: tuple[str, ...]) -> str:
    """Explain why leave-one-out figures may be optimistic.

    >>> _optimism_note(("smoothing",))
    'Smoothing has seen the row that is left out: where rows are few, the figures are too good. Cross-validate.'
    """
    words = " and ".join([", ".join(what[:-1]), what[-1]] if len(what) > 1 else what)
    verb = "have" if len(what) > 1 or words.endswith("s") else "has"
    seen = f"{words[:1].upper()}{words[1:]} {verb} seen the row that is left out"
    return f"{seen}: where rows are few, the figures are too good. Cross-validate."


def _to_plain(weight: float) -> int | float:
    return int(weight) if float(weight).is_integer() else weight


def _rows(n: int | float) -> str:
    return f"{n:,} row" + ("" if n == 1 else "s") if isinstance(n, int) else f"rows of weight {n:,.6g}"


def _clip_class_names(table: Table) -> Grid:
    """Shorten the class names of a table so that it fits on the page."""
    grid = table.grid
    first, *rest = table.column_names
    names = [_short(str(v), 24) for v in grid.columns[first]]
    head = {name: _short(name, 15) for name in rest}
    if len(set(head.values())) < len(head):
        head = {name: name for name in rest}
    return Grid({_short(first, 24): names, **{head[name]: grid.columns[name] for name in rest}}, grid.more)


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
