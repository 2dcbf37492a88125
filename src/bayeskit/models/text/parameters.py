"""What is believed of words, and how documents are scored by it: score_c = ln P(c) + constant_c + Σ value · table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from bayeskit import kernels
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError
from bayeskit.estimate.words.weights import CoinWeights, WordWeights
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.typing import Floats, Ints


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

    def text_scores(self, texts: Documents, tokenizer: Tokenizer, n_threads: int) -> Floats | None:
        """The same straight from the text; None where its words must be counted first."""
        return None

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
        return self.log_prior + self.weights.constant

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
        return self.values(rows)[:, None] * self.table[rows.ids]


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


@dataclass(frozen=True)
class CoinParameters(PresenceParameters):
    """A coin for each word, where words may be certain."""

    weights: CoinWeights

    @cached_property
    def said_by_presence(self) -> Floats:
        """What a word adds to :meth:`without_words` (words, classes): for certain ones, which are not in it, ln p."""
        if not len(self.weights.certain):
            return self.table
        table = self.table.copy()
        table[self.weights.certain] = self.weights.present
        return table

    def without_words(self, rows: TokenRows) -> Floats:
        """What all absent words say, of certain ones those alone that the document lacks (documents, classes)."""
        scores = super().without_words(rows)
        if len(self.weights.certain):
            at = np.full(len(self.vocabulary), -1)
            at[self.weights.certain] = np.arange(len(self.weights.certain))
            scores += _lacking(rows, at, self.weights.absent)
        return scores

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        out = self.without_words(rows)
        kernels.score_rows(rows.indptr, rows.ids, self.values(rows), self.said_by_presence, out, n_threads)
        return out

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        return self.said_by_presence[rows.ids]

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Weights, and what they are added to; refused where words are certain."""
        if len(self.weights.certain):
            word = self.vocabulary[int(self.weights.certain[0])]
            raise BayesError(
                f"every document of a class has {word!r}, and without smoothing one that lacks it is impossible: no "
                "sum over the words that are there says so. Smooth the estimates."
            )
        return super().words_term(name)


def _lacking(rows: TokenRows, at: Ints, absent: Floats) -> Floats:
    """Σ of ``absent`` (k, classes) over those of k words that each document lacks; word w is the ``at[w]``-th or −1."""
    from scipy.sparse import csr_matrix

    documents = np.repeat(np.arange(len(rows.lengths)), np.diff(rows.indptr))
    words = at[rows.ids]
    is_one = words >= 0
    shape = (len(rows.lengths), len(absent))
    there = csr_matrix((np.ones(is_one.sum()), (documents[is_one], words[is_one])), shape=shape)
    impossible = np.isneginf(absent)
    finite = np.where(impossible, 0.0, absent)
    n_impossible = impossible.sum(axis=0) - there @ impossible.astype(np.float64)
    return np.where(n_impossible > 0, -np.inf, finite.sum(axis=0) - there @ finite)
