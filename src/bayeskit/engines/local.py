"""The default engine: counts a source on this machine, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from bayeskit import kernels
from bayeskit.data.encode import Block, Codes, Encoder, raise_unusable
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BayesError
from bayeskit.tally.families import Counts, Family
from bayeskit.tally.moments import Moments
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tally.values import Values


def collect(source: Source, schema: Schema, plan: Plan, n_threads: int = 1) -> Tally:
    """Count what the plan asks for; blocks are added in order, so threads change nothing."""
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True, n_threads=n_threads)
    running = _Running(plan)
    for block in encoder.blocks(source):
        running.add(block, encoder)
    return running.tally(schema, encoder)


@dataclass
class _Running:
    """Growing sums over blocks, in the encoder's codes."""

    plan: Plan
    n_rows: int = 0
    class_counts: Counts | None = None
    counts: list[Counts] | None = None
    moments: Moments | None = None
    values: dict[str, Values] = field(default_factory=dict)

    def add(self, block: Block, encoder: Encoder) -> None:
        n_classes, threads = len(encoder.classes.values), encoder.n_threads
        columns = [block.codes[name] for name in self.plan.families]
        sizes = [_slots(encoder, name) for name in self.plan.families]
        floats = [block.floats[name] for name in self.plan.moments]
        ones = np.zeros(block.n_rows, dtype=np.uint8)
        if block.responsibilities is not None:
            counted = kernels.count_responsibilities([ones, *columns], [1, *sizes], block.responsibilities, threads)
            sums = kernels.moments_responsibilities(floats, block.responsibilities, threads)
        else:
            labels, weights = block.labels, block.weights
            if labels is None:
                raise BayesError("rows without labels cannot be counted by class")
            counted = kernels.count_codes([ones, *columns], [1, *sizes], labels, n_classes, weights, threads)
            sums = kernels.moments(floats, labels, n_classes, weights, threads)
        if not sums[-1] or self.plan.values:
            raise_unusable(block.floats, block.start)
        rows, counted = counted[0][:, 0], counted[1:]
        moments = Moments(*sums[:-1])
        if self.class_counts is None or self.counts is None or self.moments is None:
            self.class_counts, self.counts, self.moments = rows, counted, moments
        else:
            self.class_counts = _grown(self.class_counts, rows)
            self.counts = [_grown(a, b) for a, b in zip(self.counts, counted, strict=True)]
            old = np.array([*range(len(self.moments.n)), *[-1] * (n_classes - len(self.moments.n))], dtype=np.int64)
            self.moments = self.moments.take(old) + moments
        for name in self.plan.values:
            found = _distinct(block, name, n_classes, self.plan.max_values)
            if name in self.values:
                old = np.arange(n_classes)
                old[len(self.values[name].counts) :] = -1
                found = self.values[name].take(old) + found
            self.values[name] = found
        self.n_rows += block.n_rows

    def tally(self, schema: Schema, encoder: Encoder) -> Tally:
        if self.class_counts is None or self.counts is None or self.moments is None:
            raise BayesError(
                "there are no rows to count: Found array with 0 sample(s) while a minimum of 1 is required."
            )
        families = {
            name: Family(_values(encoder, name), counts)
            for name, counts in zip(self.plan.families, self.counts, strict=True)
        }
        if not self.class_counts.any():
            raise BayesError("every row has weight zero, so nothing was counted")
        classes = tuple(encoder.classes.values)
        moments = self.moments
        if not np.isfinite(self.class_counts.sum()):
            raise BayesError("the weights sum to infinity: scale them down")
        if not all(np.isfinite(part).all() for part in (moments.sum_hi, moments.square_hi)):
            raise BayesError("the sums of squares of a column overflow: scale its numbers down")
        return Tally(schema, classes, self.class_counts, families, self.plan.moments, moments, self.values).tidy()


def _distinct(block: Block, name: str, n_classes: int, max_values: int) -> Values:
    """The distinct numbers of a column of a block."""
    if block.responsibilities is not None:
        return Values.of_responsibilities(block.floats[name], block.responsibilities, max_values)
    labels: Codes = block.labels  # type: ignore[assignment]  # counted already
    return Values.of(block.floats[name], labels, n_classes, block.weights, max_values)


def _slots(encoder: Encoder, name: str) -> int:
    return len(_values(encoder, name)) + 1


def _values(encoder: Encoder, name: str) -> tuple[Value, ...]:
    role = encoder.schema.columns[name]
    if isinstance(role, Numeric):
        return tuple(range(len(role.cuts or ()) + 1))
    return tuple(encoder.vocabularies[name].values)


def _grown(old: Counts, new: Counts) -> Counts:
    """old + new, where new has at least as many classes and values."""
    if old.shape != new.shape:
        old = np.pad(old, [(0, b - a) for a, b in zip(old.shape, new.shape, strict=True)])
    return old + new
