"""Sentences read from lists of words or strings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.arrow_arrays import as_one_array
from bayeskit.errors import BayesError, with_article
from bayeskit.lazy import pa, pc
from bayeskit.typing import Ints

WORD = re.compile(r"\w+(?:[-'’.,:/@]\w+)*|[^\w\s]")  # runs of letters and digits, what joins them; marks one by one
Tokenize = Callable[[str], list[str]]


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences: sentence i has the words ``words[starts[i]:starts[i + 1]]``; a word is a non-empty string.

    >>> texts = Sentences.of(["A dog barked.", ["No", "cat"]])
    >>> texts.words.to_pylist(), texts.starts.tolist()
    (['A', 'dog', 'barked', '.', 'No', 'cat'], [0, 4, 6])
    """

    words: pa.Array  # large strings
    starts: Ints

    @classmethod
    def of(cls, sentences: Any, tokenize: Tokenize = WORD.findall, what: str = "word") -> Sentences:
        """Read lists of words, strings that are tokenized, or a column of either in Arrow, pandas or polars."""
        listed = _as_lists(sentences, tokenize, what)
        words, starts = (
            listed.flatten(),
            np.asarray(listed.offsets, dtype=np.int64) if len(listed) else np.zeros(1, np.int64),
        )
        words = words.cast(pa.large_string())
        made = cls(words, starts - starts[0])
        made.check(what)
        return made

    def __len__(self) -> int:
        return len(self.starts) - 1

    def check(self, what: str) -> None:
        """Raise an error for a missing or empty word."""
        absent = pc.fill_null(pc.equal(pc.binary_length(self.words), 0), True)
        if pc.any(absent, min_count=0).as_py():
            at = int(np.argmax(absent.to_numpy(zero_copy_only=False)))
            i, j = self.place(at)
            raise BayesError(
                f"{what} {j} of sentence {i} is missing or empty: every {what} is a string of one character or more"
            )

    def place(self, at: int) -> tuple[int, int]:
        """Return the sentence and the word of a position, both counted from 1."""
        i = int(np.searchsorted(self.starts, at, side="right")) - 1
        return i + 1, at - int(self.starts[i]) + 1

    def check_beside(self, words: Sentences, what: str) -> None:
        """Raise an error unless there is one tag for each word."""
        if len(self) != len(words):
            raise BayesError(f"there are {len(words):,} sentences and {what}s of {len(self):,}")
        apart = np.flatnonzero(np.diff(self.starts) != np.diff(words.starts))
        if len(apart):
            i = int(apart[0])
            n, m = int(np.diff(words.starts)[i]), int(np.diff(self.starts)[i])
            raise BayesError(
                f"sentence {i + 1} has {n} words and {m} {what}s: give one {what} for each word"
                + (" (strings were cut into words; give lists of words)" if m else ""),
            )


def _as_lists(sentences: Any, tokenize: Tokenize, what: str) -> Any:
    """Return an Arrow list array of strings."""
    if isinstance(sentences, (str, bytes)):
        raise BayesError("sentences come in a list: for one alone, [sentence]")
    if not isinstance(sentences, (pa.Array, pa.ChunkedArray)):
        if hasattr(sentences, "to_arrow"):  # polars
            return _as_lists(sentences.to_arrow(), tokenize, what)
        sentences = _tokenize(list(sentences), tokenize)
        try:
            sentences = pa.array(sentences, type=pa.large_list(pa.large_string()))
        except (pa.ArrowException, TypeError, ValueError):
            raise _not_words_error(sentences, what) from None
    column = as_one_array(sentences)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _as_lists(column.to_pylist(), tokenize, what)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        raise BayesError(f"sentences are lists of {what}s or strings, and this is a column of {kind}")
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise BayesError(f"sentence {row + 1} is missing: give an empty list where it has no words")
    return column.cast(pa.large_list(pa.large_string()))


def _tokenize(sentences: list[Any], tokenize: Tokenize) -> list[Any]:
    """Tokenize strings; leave everything else."""
    return [tokenize(one) if isinstance(one, str) else one for one in sentences]


def _not_words_error(sentences: list[Any], what: str) -> BayesError:
    """Build the error for the first item that is not a list of words."""
    for i, one in enumerate(sentences):
        if not hasattr(one, "__iter__") or isinstance(one, (bytes, dict)):
            return BayesError(
                f"sentence {i + 1} is {with_article(type(one).__name__)}, not a list of {what}s or a string"
            )
        for j, word in enumerate(one):
            if not isinstance(word, str):
                name = with_article(type(word).__name__) if word is not None else "missing"
                return BayesError(f"{what} {j + 1} of sentence {i + 1} is {name}: every {what} is a string")
            try:
                word.encode()
            except UnicodeEncodeError:
                return BayesError(
                    f"{what} {j + 1} of sentence {i + 1} holds half of a surrogate pair, which is not text"
                )
    return BayesError(f"these are not sentences: give lists of {what}s, or strings")
