"""Tagger: a tag for each word of a sentence, by a hidden Markov model whose counts come and go (Brants 2000).

Formula: tags = argmax Π P(state ∣ the two before it) · P(state ∣ word) / P(state)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.schema import Schema, Target, Text
from bayeskit.data.sentences import WORD, Sentences
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError
from bayeskit.estimate.tagging import Lexicon, TrigramTable, log_transitions
from bayeskit.explain.overview import _counts_overview
from bayeskit.memory import Need, check_memory
from bayeskit.models.base import rules
from bayeskit.models.base.estimator import Estimator, clone
from bayeskit.tables import Sheet
from bayeskit.tally.plan import Space
from bayeskit.tally.tags import COLUMN, MOST_STATES, TagCounts, TagState
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Ints

TOKENIZERS: dict[str, Callable[[str], list[str]]] = {"words": WORD.findall, "spaces": str.split}


class TagReport(NamedTuple):
    """Tagging accuracy of all words, of words never seen in training, and of whole sentences."""

    accuracy: float
    n_words: int
    unknown_accuracy: float
    n_unknown: int
    sentence_accuracy: float
    n_sentences: int


@dataclass(frozen=True)
class TagBeliefs:
    """Parameters of a tagger: transitions, lexicon, and the tag of each state."""

    transitions: TrigramTable
    lexicon: Lexicon
    tags: Array  # of each state


@dataclass(eq=False, repr=False)
class Tagger(Estimator):
    """Part-of-speech tagger: a second-order hidden Markov model (Brants 2000, "TnT").

    Parameters
    ----------
    own_states : int or iterable of str, default=100
        Number of the most frequent words that are states of their own, or these words: what follows *to* need not
        follow *of*. They are chosen by the first fit and stay fixed (``own_states_``).
    tokenizer : {"words", "spaces"}, default="words"
        Cuts sentences given as strings: "words" (runs of letters and digits, and single marks) or "spaces". Lists of
        words are used as they are.
    n_threads : int, default=None
        None for all cores.
    memory_limit : float, default=None
        Bytes that the tables may take.

    Examples
    --------
    >>> tagger = Tagger().fit([["the", "dog", "barks"], ["a", "cat", "sleeps"]], [["D", "N", "V"], ["D", "N", "V"]])
    >>> tagger.predict(["The cat barks", "a dog sleeps"])
    [['D', 'N', 'V'], ['D', 'N', 'V']]
    """

    own_states: int | Iterable[str] = 100
    tokenizer: str = "words"
    n_threads: int | None = None
    memory_limit: Any = None

    _fitted_attribute: ClassVar[str] = "tally_"
    _fit_takes: ClassVar[str] = "sentences and tags"
    _rows_are: ClassVar[str] = "words"
    _rules: ClassVar[rules.Rules] = {
        "tokenizer": rules.words(*TOKENIZERS),
        "n_threads": rules.threads,
        "memory_limit": rules.optional(rules.memory),
    }

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, sentences: Any, tags: Any, fine: Any = None) -> Self:
        """Fit on tagged sentences.

        Parameters
        ----------
        sentences : list of str or of list of str
        tags : list of list of str
            A tag for each word.
        fine : list of list of str, optional
            A finer tag for each word: the states of the model. ``predict`` still returns ``tags``.

        Returns
        -------
        self
        """
        self._check_settings()
        words, coarse, finer = self._read(sentences, tags, fine)
        return self._become(self._tally(words, coarse, finer, self._choose(words)))

    def partial_fit(self, sentences: Any, tags: Any, fine: Any = None) -> Self:
        """Add sentences; the model equals one fit on all of them with the same ``own_states_``.

        Parameters
        ----------
        sentences, tags, fine
            As in :meth:`fit`.

        Returns
        -------
        Tagger
            The model itself.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(sentences, tags, fine)
        return self._become(self.tally_ + self._more(sentences, tags, fine))

    def forget(self, sentences: Any, tags: Any, fine: Any = None) -> Self:
        """Remove sentences that were learned.

        Words that no remaining sentence has are gone; a word that the fit chose as a state of its own leaves
        ``own_states_`` then.

        Parameters
        ----------
        sentences, tags, fine
            As in :meth:`fit`.

        Returns
        -------
        Tagger
            The model itself.

        Raises
        ------
        NotLearned
            If the sentences cannot have been learned. The model stays unchanged.
        """
        left = self.tally_ - self._more(sentences, tags, fine)
        if not left.n_rows:
            raise BayesError.forgets_all("sentences")
        counts = left.statistics[TagCounts.kind]
        if isinstance(self.own_states, int) and isinstance(counts, TagCounts):
            left = left.with_statistic(counts.drop_unused_states())
        return self._become(left)

    def merge(self, other: Any) -> Self:
        """Return a new model of the sentences of both.

        Parameters
        ----------
        other : Tagger
            With the same ``own_states_``.

        Returns
        -------
        Tagger
        """
        self._check_mergeable(other)
        return clone(self)._restore(self.tally_ + other.tally_, None)

    # -- prediction -----------------------------------------------------------------------------------

    def predict(self, sentences: Any) -> list[list[str]]:
        """Predict the most probable sequence of tags of each sentence.

        Parameters
        ----------
        sentences : list of str or of list of str

        Returns
        -------
        list of list of str
        """
        self._check_is_fitted()
        self._check_settings()
        words, path, _ = self._path(Sentences.of(sentences, TOKENIZERS[self.tokenizer]))
        tags, at = self._beliefs.tags[path].tolist(), words.starts.tolist()
        return [tags[a:b] for a, b in pairwise(at)]

    def score(self, sentences: Any, tags: Any) -> float:
        """Return the share of words with the correct tag.

        Parameters
        ----------
        sentences : list of str or of list of str
        tags : list of list of str

        Returns
        -------
        float
        """
        return self.report(sentences, tags).accuracy

    def report(self, sentences: Any, tags: Any) -> TagReport:
        """Return the accuracy of all words, of words never seen in training, and of whole sentences.

        Parameters
        ----------
        sentences : list of str or of list of str
        tags : list of list of str

        Returns
        -------
        TagReport
        """
        words, truth, _ = self._read(sentences, tags, None)
        _, path, known = self._path(words)
        right = self._beliefs.tags[path] == np.asarray(truth.words.to_pylist(), dtype=object)
        if not len(right):
            raise BayesError("there are no words to score")
        wrong = np.concatenate([[0], np.cumsum(~right)])
        whole = (wrong[words.starts[1:]] == wrong[words.starts[:-1]])[np.diff(words.starts) > 0]
        unknown = right[~known]
        missed = float(unknown.mean()) if len(unknown) else float("nan")
        return TagReport(float(right.mean()), len(right), missed, len(unknown), float(whole.mean()), len(whole))

    def tokenize(self, sentence: str) -> list[str]:
        """Cut a sentence into words, as ``predict`` does with a string.

        Parameters
        ----------
        sentence : str

        Returns
        -------
        list of str
        """
        return TOKENIZERS[self.tokenizer](sentence)

    @property
    def states_(self) -> tuple[TagState, ...]:
        """The states: tag, fine tag, and the word if it is a state of its own."""
        return self._counts.states

    @property
    def own_states_(self) -> tuple[str, ...]:
        """The words that are states of their own."""
        return self._counts.own_states

    @property
    def classes_(self) -> Array:
        """The tags."""
        return np.array(self.tally_.classes, dtype=object)

    # -- inside --------------------------------------------------------------------------------------

    def _overview(self) -> Sheet:
        return _counts_overview(self, with_scores=False) if self.__sklearn_is_fitted__() else super()._overview()

    def _check_settings(self) -> None:
        super()._check_settings()
        given = self.own_states
        is_list = isinstance(given, (list, tuple, set, frozenset)) or (
            isinstance(given, np.ndarray) and given.ndim == 1
        )
        if not is_list and not (rules.is_integer(given) and given >= 0):
            raise BayesError(f"own_states={given!r}: give a number of words, 0 or more, or a list of words")

    def _read(self, sentences: Any, tags: Any, fine: Any) -> tuple[Sentences, Sentences, Sentences | None]:
        words = Sentences.of(sentences, TOKENIZERS[self.tokenizer])
        coarse = Sentences.of(tags, str.split, "tag")
        coarse.check_beside(words, "tag")
        finer = None if fine is None else Sentences.of(fine, str.split, "fine tag")
        if finer is not None:
            finer.check_beside(words, "fine tag")
        return words, coarse, finer

    def _choose(self, words: Sentences) -> tuple[str, ...]:
        """The words that are states of their own: those given, or the most frequent (ties by alphabet)."""
        import pyarrow.compute as pc

        if not isinstance(self.own_states, (int, np.integer)):
            return tuple(sorted({str(word).lower() for word in self.own_states}))
        counted = pc.value_counts(pc.utf8_lower(words.words)).to_pylist()
        common = sorted(counted, key=lambda one: (-one["counts"], one["values"]))[: self.own_states]
        return tuple(sorted(one["values"] for one in common))

    def _more(self, sentences: Any, tags: Any, fine: Any) -> Tally:
        """Count further sentences like the first ones."""
        self._check_settings()
        held = self._counts
        if held.fine != (fine is not None):
            hint = "with finer tags: give fine= here too" if held.fine else "without finer tags: leave out fine="
            raise BayesError(f"the model was fitted {hint}")
        return self._tally(*self._read(sentences, tags, fine), held.own_states)

    def _tally(self, words: Sentences, coarse: Sentences, fine: Sentences | None, own_states: tuple[str, ...]) -> Tally:
        """Count tagged sentences."""
        if not len(words.words):
            raise BayesError("there are no words to learn from")
        listed, codes = _coded(words.words)
        lower = {word: i + 1 for i, word in enumerate(own_states)}
        own_code = np.array([lower.get(word.lower(), 0) for word in listed], dtype=np.int64)[codes]
        tags, tag = _coded(coarse.words)
        finer, fine_code = _coded(fine.words) if fine is not None else ([""], np.zeros(len(codes), np.int64))
        named = ("", *own_states)
        shape = (len(tags), len(finer), len(named))
        keys, path = np.unique(np.ravel_multi_index((tag, fine_code, own_code), shape), return_inverse=True)
        if len(keys) > MOST_STATES:
            raise BayesError(f"the tags make {len(keys):,} states, more than {MOST_STATES:,}: are these tags?")
        parts = zip(*np.unravel_index(keys, shape), strict=True)
        states = [TagState(tags[t], finer[f], named[w]) for t, f, w in parts]
        check_memory(_table(len(states)), self.memory_limit)
        known, word_codes = Words.of(listed), _sorted(listed)[codes]
        counts = TagCounts.of(
            known, word_codes, states, path, words.starts, own_states=own_states, fine=fine is not None
        )
        classes, class_counts = counts.tag_counts()
        return Tally.of(Space(Schema({COLUMN: Text()}, Target("tag")), classes, {}), class_counts, counts)

    def _become(self, tally: Tally) -> Self:
        self.tally_ = tally
        vars(self).pop("_beliefs", None)
        return self

    def _restore(self, tally: Tally, state: Any) -> Self:
        """Restore a fitted model from a file."""
        self._check_settings()
        check_memory(_table(len(tally.statistics["tags"].states)), self.memory_limit)  # type: ignore[attr-defined]
        return self._become(tally)

    @property
    def _counts(self) -> TagCounts:
        counts = self.tally_.statistics["tags"]
        assert isinstance(counts, TagCounts)
        return counts

    @cached_property
    def _beliefs(self) -> TagBeliefs:
        """The parameters, computed when first needed and again after the counts change."""
        counts = self._counts
        tags = np.array([state.tag for state in counts.states], dtype=object)
        return TagBeliefs(log_transitions(counts), Lexicon.of(counts), tags)

    def _path(self, words: Sentences) -> tuple[Sentences, npt.NDArray[np.int32], Bools]:
        """Return the best states of all words, and a mask of the known words."""
        spans, known = self._beliefs.lexicon.spans(words.words)
        transitions, threads = self._beliefs.transitions, self._threads()
        path, _ = kernels.best_tags(
            spans.first, spans.last, words.starts, spans.states, spans.scores, *transitions, threads
        )
        return words, path, known

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_beliefs"}


def _coded(column: Any) -> tuple[list[str], Ints]:
    """(distinct strings, the number of each cell's)"""
    encoded = column.dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices, dtype=np.int64)


def _sorted(listed: list[str]) -> Ints:
    """Return the rank of each string in byte order."""
    place = np.empty(len(listed), dtype=np.int64)
    place[sorted(range(len(listed)), key=lambda i: listed[i].encode())] = np.arange(len(listed))
    return place


def _table(n_states: int) -> Need:
    """The tables of states by states."""
    what = f"a table of {n_states:,} by {n_states:,} states"
    return Need(what, 24.0 * (n_states + 1) ** 2, "Give fewer words a state of their own: own_states.")
