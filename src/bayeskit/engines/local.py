"""The default engine: counts a source on this machine, block by block."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.encode import Block, Codes, Encoder, raise_unusable
from bayeskit.data.schema import Numeric, Schema, Text
from bayeskit.data.source import Source
from bayeskit.data.tokens import Tokenizer, count_classes, count_documents
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.engines.together import RunningTogether
from bayeskit.errors import BayesError
from bayeskit.tally.families import Counts, Family
from bayeskit.tally.joints import Together
from bayeskit.tally.moments import Moments
from bayeskit.tally.plan import Plan
from bayeskit.tally.products import count_products, stacked
from bayeskit.tally.tally import Tally
from bayeskit.tally.values import Values
from bayeskit.tally.words import WordCounts, length_moments


def collect(source: Source, schema: Schema, plan: Plan, n_threads: int = 1, memory_limit: int | None = None) -> Tally:
    """Count what the plan asks for; blocks are added in order, so threads change nothing.

    Counts of columns together that would take more than ``memory_limit`` bytes (2 GB unless given) are refused.
    """
    encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True, n_threads=n_threads)
    running = _Running(plan, RunningTogether(plan, memory_limit))
    for block in encoder.blocks(source):
        running.add(block, encoder)
    return running.tally(schema, encoder)


def count_blocks(blocks: Iterable[Block], encoder: Encoder, plan: Plan) -> Tally:
    """The tally of blocks that an encoder has read, for models that read rows once and count them many times."""
    running = _Running(plan, RunningTogether(plan, None))
    for block in blocks:
        running.add(block, encoder)
    return running.tally(encoder.schema, encoder)


@dataclass
class _Running:
    """Growing sums over blocks, in the encoder's codes."""

    plan: Plan
    together: RunningTogether
    n_rows: int = 0
    class_counts: Counts | None = None
    counts: list[Counts] | None = None
    moments: Moments | None = None
    words: dict[str, WordCounts] = field(default_factory=dict)
    values: dict[str, Values] = field(default_factory=dict)
    products: Moments | None = None

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
        if self.plan.products:
            both = _products(floats, block, n_classes, moments, threads)
            if self.products is not None:
                old = np.array([*range(len(self.products.n)), *[-1] * (n_classes - len(self.products.n))])
                both = self.products.take(old) + both
            self.products = both
        for name in self.plan.words:
            found = _words(block, encoder, name)
            if name in self.words:
                before = self.words[name]
                found = before.with_classes(_first(found.n_classes, before)).plus(found)
            self.words[name] = found
        for name in self.plan.values:
            distinct = _distinct(block, name, n_classes, self.plan.max_values)
            if name in self.values:
                old = np.arange(n_classes)
                old[len(self.values[name].counts) :] = -1
                distinct = self.values[name].take(old) + distinct
            self.values[name] = distinct
        self.n_rows += block.n_rows
        slots = {name: _slots(encoder, name) for name in self.plan.families}
        self.together.add(block, slots, n_classes, threads)

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
        return Tally(
            schema,
            classes,
            self.class_counts,
            families,
            self.plan.moments,
            moments,
            self.together.counted or Together.empty(),
            words=self.words,
            values=self.values,
            products=self.products,
        ).tidy()


def _words(block: Block, encoder: Encoder, name: str) -> WordCounts:
    """The words of one column, counted by class in one pass; weights and soft labels go by documents."""
    texts, n_classes, threads = block.texts[name], len(encoder.classes.values), encoder.n_threads
    role = encoder.schema.columns[name]
    tokenizer = role.tokenizer if isinstance(role, Text) else Tokenizer()
    if block.labels is not None and block.weights is None:
        found = count_classes(texts, block.labels, n_classes, tokenizer, threads)
        lengths = np.where(texts.missing, np.nan, found.lengths)
        return WordCounts.of_classes(found, length_moments(lengths, block.labels, n_classes, None, threads))
    rows = count_documents(texts, tokenizer, None, threads)
    lengths = np.where(texts.missing, np.nan, rows.lengths)
    if block.responsibilities is not None:
        sums = kernels.moments_responsibilities([lengths], block.responsibilities, threads)
        return WordCounts.of_responsibilities(rows, block.responsibilities, Moments(*sums[:-1]))
    labels = np.zeros(0, np.uint8) if block.labels is None else block.labels
    moments = length_moments(lengths, labels, n_classes, block.weights, threads)
    return replace(WordCounts.of_rows(rows, labels, n_classes, block.weights), lengths=moments)


def _first(n_classes: int, old: WordCounts) -> npt.NDArray[np.int64]:
    """Classes keep their codes; new ones come after."""
    return np.array([*range(old.n_classes), *[-1] * (n_classes - old.n_classes)], dtype=np.int64)


def _distinct(block: Block, name: str, n_classes: int, max_values: int) -> Values:
    """The distinct numbers of a column of a block."""
    if block.responsibilities is not None:
        return Values.of_responsibilities(block.floats[name], block.responsibilities, max_values)
    labels: Codes = block.labels  # type: ignore[assignment]  # counted already
    return Values.of(block.floats[name], labels, n_classes, block.weights, max_values)


def _products(
    floats: list[npt.NDArray[np.float64]], block: Block, n_classes: int, moments: Moments, n_threads: int
) -> Moments:
    """The products of all pairs of these columns of a block whose moments are known."""
    shares = block.responsibilities
    if shares is None:
        labels: Codes = block.labels  # type: ignore[assignment]  # counted already
        return count_products(floats, labels, n_classes, block.weights, moments, n_threads)
    one = np.zeros(block.n_rows, dtype=np.uint8)
    parts = [
        count_products(floats, one, 1, np.ascontiguousarray(shares[:, c]), moments.take([c]), n_threads)
        for c in range(n_classes)
    ]
    return stacked(parts)


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
