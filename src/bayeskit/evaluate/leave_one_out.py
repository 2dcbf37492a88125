"""Leave-one-out: every learnt row predicted by the model made without it, in closed form.

A model offers :class:`LeftOut`: the scores of learnt rows under the estimates that a fit without each of them
would make. A row of weight w is scored w times with one unit removed (w < 1: the whole of w).
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
from bayeskit.errors import BayesError, NotLearnt
from bayeskit.estimate.prior import shares_without
from bayeskit.evaluate.evaluation import Evaluation, finished
from bayeskit.evaluate.metrics import Scoreboard, brier
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Bools, Floats


class LeftOut(Protocol):
    """Scores of rows that a model has learnt, each without itself."""

    def scores(self, block: Block) -> Floats:
        """ln P(x, class) (rows, classes); −∞ for a class that only the row shows."""
        ...

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without ``unit`` rows of a class."""
        ...


def leave_one_out(
    left_out: LeftOut,
    blocks: Iterable[Block],
    tally: Tally,
    choose: Callable[[Floats, Block], Array] | None = None,
    undecidable: str = "prior",
    temperature: float = 1.0,
    n_threads: int = 1,
    held: tuple[str, ...] = (),
) -> Evaluation:
    """The record of all rows of the blocks, which are those that the tally has counted.

    ``choose`` says which class rows of such scores are put in; by default the first class of a tie. Scores are
    divided by ``temperature`` before they become probabilities. ``held`` names what has seen the rows all the same.
    """
    classes, counts = tally.classes, tally.class_counts.astype(np.float64)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    majority = _Majority(counts)
    seen = np.zeros(len(classes))
    parts, true, n_undecidable = [], [], 0
    weighed: list[Any] = []
    for given in blocks:
        block = _known(given, classes)
        assert block.labels is not None
        labels = block.labels.astype(np.intp)
        unit = None if block.weights is None else np.minimum(block.weights, 1.0)
        if counts.sum() - (1.0 if unit is None else unit.max(initial=0.0)) <= GONE * counts.sum():
            raise BayesError("leave-one-out needs two rows at least: without its only row a model believes nothing")
        seen += np.bincount(labels, block.weights, minlength=len(classes))
        if (seen > counts * (1 + GONE)).any():
            c = int(np.argmax(seen - counts))
            raise NotLearnt(
                f"there are more rows of class {classes[c]!r} here than were learnt ({counts[c]:g}): "
                "leave-one-out scores the rows that the model was fitted on, each once"
            )
        scores = left_out.scores(block)
        if temperature != 1:
            scores = scores / temperature
        judged = kernels.judge(scores, block.labels, logspace.TIE, n_threads)
        impossible = np.flatnonzero(np.isneginf(judged[1]))
        if len(impossible):
            _settle(left_out, block, scores, impossible, undecidable)
            for part, mended in zip(judged, _judged(scores, block, impossible), strict=True):
                part[impossible] = mended
            n_undecidable += len(impossible)
        proba, _, best, log_true, squares = judged
        chosen = best if choose is None else choose(scores, block)
        board.add(labels, chosen, log_true, squares, block.weights, takes_class_along(counts, labels, unit))
        majority.add(baseline, labels, unit, block.weights)
        if len(impossible) and undecidable == "nan":
            proba[impossible] = np.nan
        parts.append(proba)
        true.append(labels)
        weighed.append(block.weights)
    if not parts:
        raise BayesError(NO_ROWS)
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    weights: Floats | None = None if weighed[0] is None else np.concatenate(weighed)
    rows = (whole, n_undecidable, held, np.concatenate(true), weights)
    return finished("leave-one-out", tally.schema.target.name, classes, board, baseline, *rows)


def _known(block: Block, classes: tuple[Value, ...]) -> Block:
    """The block, once every label is a class; a row of weight zero may have one that is not known."""
    if block.labels is None:
        raise BayesError("leave-one-out needs one label a row, not responsibilities")
    unknown = block.labels >= len(classes)
    if not unknown.any():
        return block
    never = np.flatnonzero(unknown if block.weights is None else unknown & (block.weights > 0))
    if len(never):
        raise NotLearnt(
            f"row {block.start + never[0]} has a class that was never learnt (classes: {list(classes)}). "
            "Leave-one-out scores the rows that the model was fitted on."
        )
    return replace(block, labels=np.where(unknown, 0, block.labels).astype(block.labels.dtype))


def takes_class_along(counts: Floats, labels: Array, unit: Floats | None) -> Bools | None:
    """Rows without which, ``unit`` of each, their class has no row: they are lost. None where there are none."""
    if unit is None:
        alone = counts - 1 <= GONE * counts.sum()
        return alone[labels] if alone.any() else None
    lost: Bools = counts[labels] - unit <= GONE * counts.sum()
    return lost if lost.any() else None


def _settle(left_out: LeftOut, block: Block, scores: Floats, rows: Array, undecidable: str) -> None:
    """Rows impossible under every class: the priors that the rest of the rows has."""
    if undecidable == "error":
        raise BayesError.impossible(block.start + int(rows[0]), " once it is left out")
    labels = np.asarray(block.labels)
    for row in rows:
        unit = 1.0 if block.weights is None else float(min(block.weights[row], 1.0))
        scores[row] = left_out.log_prior(int(labels[row]), unit)


def _judged(scores: Floats, block: Block, rows: Array) -> tuple[Array, ...]:
    labels = np.ascontiguousarray(np.asarray(block.labels)[rows])
    return kernels.judge(np.ascontiguousarray(scores[rows]), labels, logspace.TIE, 1)


class _Majority:
    """The model that knows the class counts alone, made without each row."""

    def __init__(self, counts: Floats) -> None:
        self.counts = counts

    def add(self, board: Scoreboard, labels: Array, unit: Floats | None, weights: Floats | None) -> None:
        """All rows, the rows of one class and unit together."""
        distinct, which = (np.ones(1), 0) if unit is None else np.unique(unit, return_inverse=True)
        cells = np.bincount(labels * len(distinct) + which, weights, minlength=len(self.counts) * len(distinct))
        shown = np.flatnonzero(cells)
        kinds, units = shown // len(distinct), distinct[shown % len(distinct)]
        share = shares_without(self.counts, kinds, units)
        of_true = share[np.arange(len(kinds)), kinds]
        times = cells[shown].astype(np.float64)
        board.add(kinds, share.argmax(axis=1), logspace.log(of_true), brier(share, kinds), times, of_true == 0)
