"""Documents read in words that are tried: what evidence is fitted on, and what is summed of all documents.

All documents are held in their words where that fits into memory. Where it does not, all are summed by class in parts,
and a part of them that fits, drawn at random, is held for what is fitted on single documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bayeskit.data.schema import Schema
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words, union
from bayeskit.estimate.words import weighted_evidence
from bayeskit.estimate.words.weighted_evidence import TrainingDocuments
from bayeskit.models.text.held_documents import BYTES, SHARE, Room, Sizes, tell
from bayeskit.models.text.reading import LabelledDocuments, SummedWords, document_frequency, has_space, is_inside
from bayeskit.models.text.word_choice import NO_LIMITS, Limits, candidate_rows, tried_alone, words_within
from bayeskit.tally.tally import Tally
from bayeskit.typing import Bools, Floats


class Masses(Protocol):
    """What is summed of words, and which of them are no evidence."""

    def values(self, rows: TokenRows) -> Floats:
        """Of each cell."""
        ...

    def silent(self, words: Words) -> Bools | None:
        """(words,), None where all are evidence."""
        ...


@dataclass(frozen=True)
class Reading:
    """Documents read in some words: the sums over all of them, and those that are held to fit evidence on."""

    tokenizer: Tokenizer
    rows: TokenRows
    pruned: bool
    summed: SummedWords
    documents: TrainingDocuments
    class_counts: Floats
    is_drawn: bool = False

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        rows: TokenRows,
        pruned: bool,
        read: LabelledDocuments,
        masses: Masses,
        whole: tuple[LabelledDocuments, SummedWords] | None = None,
    ) -> Reading:
        """All documents, or ``read`` drawn from a ``whole`` that is summed."""
        mass, silent = masses.values(rows), masses.silent(rows.words)
        everything, summed = whole or (read, SummedWords.of(rows, mass, read))
        class_mass = summed.values
        if silent is not None:
            mass, class_mass = np.where(silent[rows.ids], 0.0, mass), np.where(silent[:, None], 0.0, class_mass)
        class_counts, having = everything.class_counts, summed.documents.sum(axis=1)
        importance = np.ones(len(read.labels)) if read.weights is None else read.weights
        documents = TrainingDocuments(
            rows.indptr, rows.ids, rows.counts, read.labels, importance, class_mass, having,
            weighted_evidence.log_prior_of(class_counts), read.classes, weighted_evidence.bands_of(having), mass,
        )  # fmt: skip
        return cls(tokenizer, rows, pruned, summed, documents, class_counts, whole is not None)

    def tally(self, schema: Schema, read: LabelledDocuments) -> Tally:
        """The tally of all documents."""
        return self.summed.tally(schema, read, self.pruned)

    @property
    def features(self) -> str:
        """What is read, in words."""
        pairs, runs = self.tokenizer.ngrams[1] > 1, self.tokenizer.characters is not None
        return "words" + ", pairs" * pairs + ", characters" * runs


@dataclass(frozen=True)
class Trying:
    """Words to be tried on documents: ``tries`` of which the last reads most, each with its masses."""

    read: LabelledDocuments
    tries: Sequence[Tokenizer]
    limits: Limits
    masses: Callable[[Tokenizer], Masses]
    memory_limit: float | None
    n_threads: int
    n_sampled: int
    """Documents on which weights of evidence are fitted, at most."""

    def readings(self) -> Iterator[Reading]:
        """A reading by each try; those whose tables do not fit in are left out, all but the first."""
        room, read = Room.of(self.memory_limit, len(self.read.classes), self.n_sampled), self.read
        if room.surely_holds(read, self.tries[-1]):
            is_first = True
            for tokenizer, rows, pruned in self._candidates():
                if not room.holds(rows):
                    break
                yield Reading.of(tokenizer, rows, pruned, read, self.masses(tokenizer))
                is_first = False
            if not is_first:
                return
        tries = self.tries[:1] if tried_alone(self.tries) else self.tries
        sizes = Sizes.of(read, tries, self.limits, self.n_threads)
        drawn = sizes.drawn(room, 1.0 if len(tries) == 1 else SHARE)
        if len(drawn) < len(read.labels):
            tell(len(drawn), sizes, room)
            yield from self._summed(tries, room, sizes, read.take(drawn))
            return
        for tokenizer, rows, pruned in self._candidates():
            if not room.holds(rows):
                return
            yield Reading.of(tokenizer, rows, pruned, read, self.masses(tokenizer))

    def _candidates(self) -> Iterator[tuple[Tokenizer, TokenRows, bool]]:
        return candidate_rows(self.read, self.tries, self.limits, self.n_threads)

    def _summed(
        self, tries: Sequence[Tokenizer], room: Room, sizes: Sizes, drawn: LabelledDocuments
    ) -> Iterator[Reading]:
        """All documents summed in parts; runs count where two of those drawn have them."""
        for tokenizer in tries:
            words, is_first = sizes.words, tokenizer is tries[0]
            if not is_first:
                words = self._with_runs(words, tokenizer, drawn)
                cells, n = float(sizes.cells.sum()) * len(drawn.labels) / len(sizes.cells), len(drawn.labels)
                if room.of_words(len(words)) + room.of_documents(cells, n) > room.limit:
                    return
            masses = self.masses(tokenizer)
            rows = count_documents(drawn.texts, tokenizer, words, self.n_threads)
            summed = self._sum(tokenizer, words, masses.values)
            whole = self.read, summed
            yield Reading.of(tokenizer, rows, sizes.pruned or not is_first, drawn, masses, whole)

    def _with_runs(self, words: Words, tokenizer: Tokenizer, drawn: LabelledDocuments) -> Words:
        """These words, and the runs of words and characters that two documents drawn have."""
        rows = count_documents(drawn.texts, tokenizer, None, self.n_threads)
        is_run = has_space(rows.words)
        if tokenizer.characters is not None:
            is_run |= is_inside(rows.words)
        words = union(words, rows.words.take(is_run & (document_frequency(rows) >= 2)))[0]
        if self.limits == NO_LIMITS:
            return words
        counted = self._sum(tokenizer, words, lambda rows: rows.counts.astype(np.float64))
        totals = counted.documents.sum(axis=1), counted.values.sum(axis=1)
        keep = words_within(*totals, len(self.read.labels), self.limits)
        return words if keep is None else words.take(keep)

    def _sum(self, tokenizer: Tokenizer, words: Words, values: Callable[[TokenRows], Floats]) -> SummedWords:
        read = self.read
        summed = SummedWords.zeros(words, len(read.classes), len(read.labels))
        for some in read.texts.parts(BYTES):
            rows = count_documents(read.texts.part(some), tokenizer, words, self.n_threads)
            summed.add(rows, values(rows), read, some)
        return summed
