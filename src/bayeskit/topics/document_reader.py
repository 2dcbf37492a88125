"""Documents of any kind as a corpus: to learn from, or by the words that a model knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError
from bayeskit.topics.corpus import Corpus, read_counts, read_texts
from bayeskit.topics.document_forms import CountMatrix, form_of

Names = Words | tuple[str, ...] | None
"""The words of texts, names that were given to columns, or nothing."""


@dataclass(frozen=True)
class DocumentReader:
    """How texts are cut (None: words of two letters or more, without stop words), and which words are kept."""

    tokenizer: Tokenizer | None
    limits: tuple[float, float, int | None]
    n_threads: int

    def learn(self, X: Any, words: Iterable[str] | None = None) -> tuple[Corpus, Names]:
        """Documents to learn from, and the names of their words; refused where there is nothing to learn."""
        form = form_of(X)
        corpus, names = self._matrix(form, words) if isinstance(form, CountMatrix) else self._texts(form, words)
        if not len(corpus):
            raise BayesError("there are no documents to learn from")
        if not corpus.n_tokens:
            raise BayesError(
                f"none of the {len(corpus):,} documents has a word to learn from: empty vocabulary; perhaps they hold "
                "stop words only, or stand in fewer or more documents than was asked for"
            )
        return corpus, names

    def known(self, X: Any, names: Names, n_words: int) -> Corpus:
        """Documents by the words that a model knows."""
        form = form_of(X)
        if isinstance(form, CountMatrix):
            return read_counts(form.counts, n_words)
        if not isinstance(names, Words):
            raise BayesError(
                "the model was fitted on counts of words: give counts, as the same TokenCounter makes them"
            )
        return read_texts(form, self._cut, names, n_threads=self.n_threads)[0]

    @property
    def _cut(self) -> Tokenizer:
        return Tokenizer(stop_words="english") if self.tokenizer is None else self.tokenizer

    def _matrix(self, form: CountMatrix, words: Iterable[str] | None) -> tuple[Corpus, Names]:
        corpus = read_counts(form.counts)
        given = form.names if words is None else words
        return corpus, None if given is None else checked_names(given, corpus.n_words)

    def _texts(self, X: Any, words: Iterable[str] | None) -> tuple[Corpus, Names]:
        if words is not None:
            raise BayesError("words names the columns of a matrix, and these are texts: leave it out")
        return read_texts(X, self._cut, None, self.limits, self.n_threads)


def checked_names(words: Iterable[str], n: int) -> tuple[str, ...]:
    """The names of n words."""
    names = () if isinstance(words, str) else tuple(str(word) for word in words)
    if len(names) != n:
        raise BayesError(f"the matrix has {n:,} columns, and words names {len(names):,}")
    return names
