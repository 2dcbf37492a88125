"""Which documents are held in their words while weights are fitted on them: all, or a drawn part that fits into memory.

What a fit takes is known before it is taken: some bytes for each cell (a document and a different word of it), for each
document and class, and for each word and class.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words, union
from bayeskit.errors import AdviceWarning, TooLarge
from bayeskit.estimate.words.weighted_evidence import most_documents, n_features
from bayeskit.memory import memory_allowed, memory_size
from bayeskit.models.text.reading import LabelledDocuments, document_frequency
from bayeskit.models.text.word_choice import Limits, limits_of, rows_within_limits, runs_of, words_within
from bayeskit.remedy import Remedy, Setting
from bayeskit.threads import thread_count
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.text.recipe import Settings

CELL, DOCUMENT, SCORE, FEATURE = 40, 64, 32, 16  # bytes of a cell, a document, one and a class, a feature of one
WORD, WEIGHT = 100, 64  # of a word, of a word and class
LEAST = 500  # documents that must fit in, or all
SHARE = 0.6  # of the room beside single words that drawn documents take, where runs of words are to be tried
BYTES = 1 << 22  # of text, counted at a time
SEED = 2


@dataclass(frozen=True)
class Room:
    """What a fit on documents of so many classes may take."""

    limit: float
    n_classes: int
    n_sampled: int = 0
    """Documents whose evidence is held by features, at most."""

    @classmethod
    def of(cls, memory_limit: float | None, n_classes: int, n_sampled: int = 0) -> Room:
        """By the setting, and no more than the machine has."""
        return cls(memory_allowed(memory_limit), n_classes, min(n_sampled, most_documents(n_classes)))

    def of_documents(self, n_cells: npt.ArrayLike, n_documents: npt.ArrayLike) -> Floats:
        """Bytes of documents in their words, of their scores, and of the features of some."""
        features = FEATURE * n_features(self.n_classes) * np.minimum(n_documents, self.n_sampled)
        each = (DOCUMENT + SCORE * self.n_classes) * np.asarray(n_documents, np.float64)
        return CELL * np.asarray(n_cells, np.float64) + each + features

    def of_words(self, n_words: int) -> float:
        """Bytes of the tables of words."""
        return float(n_words) * (WORD + WEIGHT * self.n_classes)

    def holds(self, rows: TokenRows) -> bool:
        """Whether a fit on these documents and words fits in."""
        taken = self.of_documents(len(rows.ids), len(rows.lengths)) + self.of_words(len(rows.words))
        return bool(taken <= self.limit)

    def surely_holds(self, read: LabelledDocuments, tokenizer: Tokenizer) -> bool:
        """Whether documents in their words fit in whatever they say: a word has a byte or more."""
        low, high = tokenizer.ngrams
        runs = high - low + 1
        if tokenizer.characters is not None:
            runs += 3 * (tokenizer.characters[1] - tokenizer.characters[0] + 1)
        return bool(self.of_documents(runs * len(read.texts.data), len(read.labels)) <= self.limit)


@dataclass(frozen=True)
class Sizes:
    """The words of all documents, and how many cells each document has at most."""

    words: Words
    pruned: bool
    cells: Ints

    @classmethod
    def of(cls, read: LabelledDocuments, tries: Sequence[Tokenizer], limits: Limits, n_threads: int) -> Sizes:
        """Count in parts: the words of the first try exactly, runs of the others by what they can be at most."""
        first, most = tries[0], tries[-1]
        words, totals = Words.of([]), np.zeros((2, 0))
        cells = np.zeros(len(read.labels), np.int64)
        for some in read.texts.parts(BYTES):
            texts = read.texts.part(some)
            rows = count_documents(texts, first, None, n_threads)
            cells[some] = np.diff(rows.indptr)
            if longer := most.ngrams[1] - first.ngrams[1]:
                plain = replace(first, characters=None)
                single = rows if plain == first else count_documents(texts, plain, None, n_threads)
                cells[some] += longer * single.lengths
            if most.characters is not None and first.characters is None:
                inside = np.concatenate([[0], np.cumsum(runs_of(rows.words, *most.characters)[rows.ids])])
                cells[some] += np.diff(inside[rows.indptr])
            words, before, now = union(words, rows.words)
            sums = np.zeros((2, len(words)))
            sums[:, before] = totals
            sums[0, now] += document_frequency(rows)
            sums[1, now] += np.bincount(rows.ids, rows.counts, minlength=len(rows.words))
            totals = sums
        keep = words_within(totals[0], totals[1], len(read.labels), limits)
        return cls(words if keep is None else words.take(keep), keep is not None, cells)

    def need(self, room: Room) -> float:
        """Bytes of all documents and words."""
        return float(room.of_documents(self.cells.sum(), len(self.cells))) + room.of_words(len(self.words))

    def drawn(self, room: Room, share: float) -> Ints:
        """Documents that fit in beside the tables of words, drawn at random and in order; all where they do.

        Where they do not, they take a share of the room.
        """
        n, tables = len(self.cells), room.of_words(len(self.words))
        if self.need(room) <= room.limit:
            return np.arange(n)
        order = np.random.default_rng(SEED).permutation(n)
        taken = room.of_documents(np.cumsum(self.cells[order]), np.arange(1, n + 1))
        least = min(n, LEAST)
        if tables + taken[least - 1] > room.limit:
            raise TooLarge(
                f"{len(self.words):,} words of {room.n_classes:,} classes and {least:,} documents take "
                f"{memory_size(tables + taken[least - 1])} to fit, more than ",
                Setting("memory_limit", room.limit, shown=memory_size(room.limit)),
                ": give more of it (",
                Remedy("memory_limit"),
                "), or fewer words (",
                Remedy("hash_bits"),
                Remedy("min_df", clause=", {} or max_features=", without=""),
                ")",
                culprit=len(self.words),
            )
        n_drawn = int(np.searchsorted(taken, share * (room.limit - tables), side="right"))
        return np.sort(order[: max(n_drawn, least)])


def tell(n_drawn: int, sizes: Sizes, room: Room) -> None:
    """Say that not all documents are held."""
    n = len(sizes.cells)
    warnings.warn(
        AdviceWarning(
            f"all {n:,} documents are counted, and weights are fitted on {n_drawn:,} of them, drawn at random: all "
            f"take {memory_size(sizes.need(room))}, more than ",
            Setting("memory_limit", room.limit, shown=memory_size(room.limit)),
            ". For more of them give ",
            Remedy("memory_limit"),
            culprit=n_drawn,
        ),
        stacklevel=2,
    )


def rows_that_fit(read: LabelledDocuments, settings: Settings) -> tuple[TokenRows, bool]:
    """All documents in their words, and whether words were cut off; refused where they take too much memory."""
    room, tokenizer = Room.of(settings.memory_limit, len(read.classes)), settings.tokenizer()
    if not room.surely_holds(read, tokenizer):
        sizes = Sizes.of(read, (tokenizer,), limits_of(settings), thread_count(settings.n_threads))
        if sizes.need(room) > room.limit:
            raise TooLarge(
                f"{len(sizes.cells):,} documents in their words take {memory_size(sizes.need(room))}, more than ",
                Setting("memory_limit", room.limit, shown=memory_size(room.limit)),
                ": give more of it (",
                Remedy("memory_limit"),
                "), or ",
                Remedy("recipe", "auto"),
                ", which counts all and fits weights on a part",
                culprit=len(sizes.cells),
            )
    return rows_within_limits(read, settings)
