"""What is believed of words, and how documents are scored by it: score_c = ln P(c) + constant_c + Σ value · table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError
from bayeskit.estimate.words.weights import WordWeights
from bayeskit.export.scoring_form import WordsTerm

Floats = npt.NDArray[np.float64]


class Parameters(Protocol):
    """What every recipe makes of its counts."""

    log_prior: Floats
    vocabulary: Words

    @property
    def words(self) -> Mapping[str, Words]:
        """The vocabulary, by column, as the encoder asks for it."""
        return {COLUMN: self.vocabulary}

    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Text has no coded columns."""
        return {}

    @property
    def constant(self) -> Floats:
        """What words are added to (classes,)."""
        ...

    @property
    def table(self) -> Floats:
        """What a word says by being there once (words, classes)."""
        ...

    def without_words(self, rows: TokenRows) -> Floats:
        """The scores before any word (documents, classes)."""
        ...

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        ...

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        ...

    def halves(self, rows: TokenRows) -> tuple[Floats, ...]:
        """Parts of which each cell's is the sum (cells, classes); none where it is one number."""
        return ()

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """What is said before any word (classes,) and what words add, as plain numbers."""
        raise BayesError(
            "this recipe weighs a word by all others of its document: no sum over words can be carried elsewhere"
        )


@dataclass(frozen=True)
class WordParameters(Parameters):
    """The value of a word is how often it stands in the document."""

    log_prior: Floats
    vocabulary: Words
    weights: WordWeights
    pseudo: Floats

    def values(self, rows: TokenRows) -> Floats:
        """The value of each cell."""
        return rows.counts.astype(np.float64)

    @property
    def constant(self) -> Floats:
        """What words are added to."""
        return np.asarray(self.log_prior + self.weights.constant)

    @property
    def table(self) -> Floats:
        """What one occurrence of a word says (words, classes)."""
        return self.weights.table

    def without_words(self, rows: TokenRows) -> Floats:
        """The scores before any word (documents, classes): of a set of words, what all the absent ones say."""
        return np.tile(self.constant, (len(rows.lengths), 1))

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        out = self.without_words(rows)
        kernels.score_rows(rows.indptr, rows.ids, self.values(rows), self.table, out, n_threads)
        return out

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Weights, and what they are added to."""
        return self.constant, WordsTerm(name, tuple(self.vocabulary.tolist()), self.table)

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        return np.asarray(self.values(rows)[:, None] * self.table[rows.ids])


@dataclass(frozen=True)
class PresenceParameters(WordParameters):
    """A word that is there has the value 1, however often."""

    def values(self, rows: TokenRows) -> Floats:
        """The value of each cell."""
        return np.ones(len(rows.ids))

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """A word counts once."""
        base, term = super().words_term(name)
        return base, replace(term, presence=True)
