"""Exact leave-one-out evaluation in closed form.

A model provides :class:`LeftOut`: the scores of training rows under the estimates of a fit without each of them. A row
of weight w is scored w times with one unit removed (w < 1: with all of w removed).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import NO_ROWS
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, NotLearned
from bayeskit.estimate.prior import shares_without
from bayeskit.evaluate.evaluation import Evaluation, build_evaluation
from bayeskit.evaluate.metrics import Scoreboard, brier
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats


class LeftOut(Protocol):
    """Scores of training rows, each by the model without that row."""

    def scores(self, block: Block) -> Floats:
        """Return ln P(x, class), shape (n_rows, n_classes); −∞ for a class without other rows."""

    def log_prior(self, label: int, unit: float) -> Floats:
        """Return ln P(class) without ``unit`` rows of a class."""


def leave_one_out(
    left_out: LeftOut,
    blocks: Iterable[Block],
    tally: Tally,
    *,
    choose: Callable[[Floats, Block], Array] | None = None,
    undecidable: str = "prior",
    temperature: float = 1.0,
    n_threads: int = 1,
    held: tuple[str, ...] = (),
) -> Evaluation:
    """Evaluate all rows of the blocks, which are the rows counted in the tally.

    ``choose`` maps scores to class codes; by default the first class of a tie. Scores are divided by ``temperature``.
    ``held`` names the parts of the model that were chosen with all rows.
    """
    classes, counts = tally.classes, tally.class_counts.astype(np.float64)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    seen = np.zeros(len(classes))
    parts, true, n_undecidable = [], [], 0
    weighed: list[Any] = []
    for given in blocks:
        block = _check_labels(given, classes)
        assert block.labels is not None
        labels = block.labels.astype(np.intp)
        unit = None if block.weights is None else np.minimum(block.weights, 1.0)
        if counts.sum() - (1.0 if unit is None else unit.max(initial=0.0)) <= GONE * counts.sum():
            raise BayesError("leave-one-out needs two rows at least: without its only row a model has no data")
        seen += np.bincount(labels, block.weights, minlength=len(classes))
        if (seen > counts * (1 + GONE)).any():
            c = int(np.argmax(seen - counts))
            raise NotLearned(
                f"there are more rows of class {classes[c]!r} here than were learned ({counts[c]:g}): "
                "leave-one-out scores the rows that the model was fitted on, each once"
            )
        scores = left_out.scores(block)
        scores = scores if temperature == 1 else scores / temperature
        judged = kernels.judge(scores, block.labels, logspace.TIE, n_threads)
        impossible = np.flatnonzero(np.isneginf(judged[1]))
        if len(impossible):
            _replace_impossible(left_out, block, scores, impossible, undecidable)
            again = kernels.judge(scores[impossible], block.labels[impossible], logspace.TIE, 1)
            for part, mended in zip(judged, again, strict=True):
                part[impossible] = mended
            n_undecidable += len(impossible)
        proba, _, best, log_true, squares = judged
        chosen = best if choose is None else choose(scores, block)
        board.add(labels, chosen, log_true, squares, block.weights, is_last_of_class(counts, labels, unit))
        _add_majority(baseline, counts, labels, unit, block.weights)
        if len(impossible) and undecidable == "nan":
            proba[impossible] = np.nan
        parts.append(proba)
        true.append(labels)
        weighed.append(block.weights)
    if not parts:
        raise BayesError(NO_ROWS)
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    weights: Floats | None = None if weighed[0] is None else np.concatenate(weighed)
    target, truth = tally.schema.target.name, np.concatenate(true)
    return build_evaluation(
        "leave-one-out", target, classes, board, baseline, whole, n_undecidable, held=held, truth=truth, weights=weights
    )


def _check_labels(block: Block, classes: tuple[Value, ...]) -> Block:
    """Check that every label is a known class; rows of weight 0 may have an unknown one."""
    if block.labels is None:
        raise BayesError("leave-one-out needs one label a row, not class probabilities")
    unknown = block.labels >= len(classes)
    if not unknown.any():
        return block
    never = np.flatnonzero(unknown if block.weights is None else unknown & (block.weights > 0))
    if len(never):
        raise NotLearned(
            f"row {block.start + never[0]} has a class that was never learned (classes: {list(classes)}). "
            "Leave-one-out scores the rows that the model was fitted on."
        )
    return replace(block, labels=np.where(unknown, 0, block.labels).astype(block.labels.dtype))


def is_last_of_class(counts: Floats, labels: Array, unit: Floats | None) -> Bools | None:
    """Return the mask of rows whose class has no other rows; None if there are none."""
    if unit is None:
        alone = counts - 1 <= GONE * counts.sum()
        return alone[labels] if alone.any() else None
    lost: Bools = counts[labels] - unit <= GONE * counts.sum()
    return lost if lost.any() else None


def _replace_impossible(left_out: LeftOut, block: Block, scores: Floats, rows: Array, undecidable: str) -> None:
    """Replace the scores of rows impossible under every class by the priors without the row."""
    if undecidable == "error":
        raise BayesError.impossible(block.start + int(rows[0]), " once it is left out")
    labels = np.asarray(block.labels)
    for row in rows:
        unit = 1.0 if block.weights is None else float(min(block.weights[row], 1.0))
        scores[row] = left_out.log_prior(int(labels[row]), unit)


def _add_majority(
    board: Scoreboard, counts: Floats, labels: Array, unit: Floats | None, weights: Floats | None
) -> None:
    """Add the majority baseline without each row, grouped by class and unit."""
    distinct, which = (np.ones(1), 0) if unit is None else np.unique(unit, return_inverse=True)
    cells = np.bincount(labels * len(distinct) + which, weights, minlength=len(counts) * len(distinct))
    shown = np.flatnonzero(cells)
    kinds, units = shown // len(distinct), distinct[shown % len(distinct)]
    share = shares_without(counts, kinds, units)
    of_true = share[np.arange(len(kinds)), kinds]
    times = cells[shown].astype(np.float64)
    board.add(kinds, share.argmax(axis=1), logspace.log(of_true), brier(share, kinds), times, of_true == 0)
