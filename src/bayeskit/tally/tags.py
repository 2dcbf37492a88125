"""Count tagged sentences: pairs of words and states, and trigrams of states.

A state is a tag, maybe a finer tag within it, and for some words the word itself. States and words belong to this
statistic, which is counted from sentences and not from blocks of rows; the classes of its tally are the tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from bayeskit.data.text.word_list import Words, union
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch
from bayeskit.tally.plan import Recoding, Request, Space, arrays_of, check_file, format_times, spread_counts
from bayeskit.tally.statistic import BlockCounts, CountArrays, Parts, Statistic, register
from bayeskit.typing import Array, Counts, Ints

COLUMN = "word"
MOST_STATES = 1 << 16


class TagState(NamedTuple):
    """The state of a word: a tag, a fine-grained tag or "", and the lower-cased word or ""."""

    tag: str
    fine: str = ""
    word: str = ""


@register
@dataclass(frozen=True, eq=False)
class TagCounts(CountArrays, Statistic):
    """``words[w]`` was ``pair_counts`` times in ``states[s]``, by rising key w · S + s; three states a, b, c stood in a
    row ``triple_counts`` times, by rising key (a · (S + 1) + b) · (S + 1) + c, two starts and an end being state S.
    """

    kind = "tags"
    count_fields = ("pair_counts", "triple_counts")
    words: Words
    states: tuple[TagState, ...]  # sorted
    pair_keys: Ints
    pair_counts: Counts
    triple_keys: Ints
    triple_counts: Counts
    own_states: tuple[str, ...] = ()  # words, in small letters, that are states of their own
    fine: bool = False  # whether there are finer tags

    @property
    def request(self) -> Request:
        """Return the request that this statistic answers."""
        return Request(self.kind, (COLUMN,), {"own_states": list(self.own_states), "fine": self.fine})

    @classmethod
    def empty(cls, request: Request, space: Space) -> Self:
        """Return zero counts."""
        none, keys = np.zeros(0, space.dtype), np.zeros(0, np.int64)
        options = request.options
        return cls(Words.of([]), (), keys, none, keys, none, tuple(options["own_states"]), options["fine"])

    @classmethod
    def count(cls, request: Request, counter: BlockCounts) -> Self:
        """Raise an error: a block of rows has no sentences."""
        raise BayesError("sentences are counted by a Tagger, not row by row")

    @classmethod
    def of(
        cls,
        words: Words,
        codes: Ints,
        states: Sequence[TagState],
        path: Ints,
        starts: Ints,
        *,
        own_states: tuple[str, ...] = (),
        fine: bool = False,
    ) -> Self:
        """Count sentences of coded words and states; sentence i spans starts[i] to starts[i + 1].

        >>> counted = TagCounts.of(Words.of(["a", "dog"]), np.array([0, 1, 1]), [TagState("D"), TagState("N")],
        ...                        np.array([0, 1, 1]), np.array([0, 2, 3]))
        >>> counted.pairs().tolist(), counted.triples().tolist(), counted.triple_counts.tolist()
        ([[1, 0], [0, 2]], [[0, 1, 2], [2, 0, 1], [2, 1, 2], [2, 2, 0], [2, 2, 1]], [1, 1, 1, 1, 1])
        """
        starts = starts[np.concatenate([[True], np.diff(starts) > 0])]  # sentences without a word say nothing
        n, lengths = len(states), np.diff(starts)
        marked = np.full(len(path) + 3 * len(lengths), n, dtype=np.int64)  # two starts before a sentence, an end after
        marked[np.arange(len(path)) + 2 + 3 * np.repeat(np.arange(len(lengths)), lengths)] = path
        thirds = np.ones(len(marked), dtype=bool)
        begins = starts[:-1] + 3 * np.arange(len(lengths))
        thirds[begins] = thirds[begins + 1] = False
        at = np.flatnonzero(thirds)
        base = n + 1
        triples = (marked[at - 2] * base + marked[at - 1]) * base + marked[at]
        pair_keys, pair_counts = np.unique(codes * max(n, 1) + path, return_counts=True)
        triple_keys, triple_counts = np.unique(triples, return_counts=True)
        made = cls(words, tuple(states), pair_keys, pair_counts, triple_keys, triple_counts, own_states, fine)
        return made.tidy()

    # -- reading -------------------------------------------------------------------------------------

    @property
    def pair_words(self) -> Ints:
        """Return the word of each pair."""
        return self.pair_keys // max(len(self.states), 1)

    @property
    def pair_states(self) -> Ints:
        """Return the state of each pair."""
        return self.pair_keys % max(len(self.states), 1)

    def pairs(self) -> Counts:
        """Return a dense array of counts (n_words, n_states)."""
        table = np.zeros((len(self.words), len(self.states)), dtype=self.pair_counts.dtype)
        table[self.pair_words, self.pair_states] = self.pair_counts
        return table

    def triples(self) -> Ints:
        """Return the states of each trigram, (n_triples, 3)."""
        base = len(self.states) + 1
        return np.column_stack(
            [self.triple_keys // base // base, self.triple_keys // base % base, self.triple_keys % base]
        )

    def state_counts(self) -> Counts:
        """Return the number of words in each state."""
        return np.bincount(self.pair_states, self.pair_counts, len(self.states)).astype(self.pair_counts.dtype)

    def tag_counts(self) -> tuple[tuple[str, ...], Counts]:
        """Return (the tags, the number of words of each)."""
        tags = sorted({state.tag for state in self.states})
        index = {tag: i for i, tag in enumerate(tags)}
        counts = np.zeros(len(tags), dtype=self.pair_counts.dtype)
        np.add.at(counts, np.array([index[state.tag] for state in self.states], dtype=np.int64), self.state_counts())
        return tuple(tags), counts

    # -- algebra -------------------------------------------------------------------------------------

    def tidy(self) -> Self:
        """Drop unused words and states, and sort states."""
        kept_pairs, kept_triples = self.pair_counts > 0, self.triple_counts > 0
        words = np.zeros(len(self.words), dtype=bool)
        words[self.pair_words[kept_pairs]] = True
        occurring = np.zeros(len(self.states), dtype=bool)
        occurring[self.pair_states[kept_pairs]] = True
        order = sorted(np.flatnonzero(occurring).tolist(), key=self.states.__getitem__)
        place = np.full(len(self.states) + 1, -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        place[-1] = len(order)
        word_place = np.cumsum(words) - 1
        states = tuple(self.states[i] for i in order)
        return self._take(kept_pairs, kept_triples).placed(self.words.take(words), word_place, states, place)

    def drop_unused_states(self) -> Self:
        """Drop the words that are states of their own and that no sentence has any more."""
        present = {state.word for state in self.states}
        return replace(self, own_states=tuple(word for word in self.own_states if word in present))

    def placed(self, words: Words, word_place: Ints, states: tuple[TagState, ...], place: Ints) -> Self:
        """Return the counts with other codes of words and states; the last of ``place`` is the boundary mark."""
        pair_keys = word_place[self.pair_words] * max(len(states), 1) + place[self.pair_states]
        a, b, c = place[self.triples()].T if len(self.triple_keys) else np.zeros((3, 0), np.int64)
        triple_keys = (a * (len(states) + 1) + b) * (len(states) + 1) + c
        placed = replace(self, words=words, states=states, pair_keys=pair_keys, triple_keys=triple_keys)
        return placed._take(np.argsort(pair_keys, kind="stable"), np.argsort(triple_keys, kind="stable"))

    def _take(self, pairs: Array, triples: Array) -> Self:
        """Return the pairs and trigrams at these indices."""
        return replace(
            self,
            pair_keys=self.pair_keys[pairs],
            pair_counts=self.pair_counts[pairs],
            triple_keys=self.triple_keys[triples],
            triple_counts=self.triple_counts[triples],
        )

    def align(self, other: Self) -> tuple[Self, Self]:
        """Return both sides over the union of words and states, of pairs and of trigrams."""
        if self.own_states != other.own_states:
            raise SchemaMismatch(
                "the two sides have other words as states of their own: give the second side those of the first, "
                "Tagger(own_states=first.own_states_)"
            )
        if self.fine != other.fine and self.states and other.states:
            raise SchemaMismatch("one side has finer tags and the other has not: give both sides fine=, or neither")
        words, *word_places = union(self.words, other.words)
        states = tuple(sorted({*self.states, *other.states}))
        index = {state: i for i, state in enumerate(states)}
        sides = []
        for side, word_place in zip((self, other), word_places, strict=True):
            place = np.array([*(index[state] for state in side.states), len(states)], dtype=np.int64)
            sides.append(side.placed(words, word_place, states, place))
        pairs, triples = (np.union1d(*(getattr(side, keys) for side in sides)) for keys in ("pair_keys", "triple_keys"))
        ours, theirs = (
            replace(
                side,
                pair_keys=pairs,
                pair_counts=spread_counts(side.pair_keys, side.pair_counts, pairs),
                triple_keys=triples,
                triple_counts=spread_counts(side.triple_keys, side.triple_counts, triples),
            )
            for side in sides
        )
        return ours, theirs

    def recode(self, recoding: Recoding) -> Self:
        """Return the counts unchanged: class codes are not used here."""
        return self

    def plus(self, other: Self) -> Self:
        """Add the sentences of both sides."""
        return replace(super().plus(other), fine=self.fine or other.fine)

    def not_learned(self, other: Self, name: str, cell: tuple[int, ...], space: Space, key: Any) -> NotLearned:
        """Return an error that names the word and its tag, or the tags in a row."""
        if name == "triple_counts":
            tags = (self.states[s].tag if s < len(self.states) else "|" for s in self.triples()[cell])
            return NotLearned(f"tags in the order {' '.join(tags)} were not learned so often; nothing was changed")
        word, state = self.words[int(self.pair_words[cell])], self.states[int(self.pair_states[cell])]
        return NotLearned(
            f"the word {word!r} was learned {format_times(self.pair_counts[cell])} as {state.fine or state.tag} and "
            f"cannot be forgotten {format_times(other.pair_counts[cell])}; nothing was changed"
        )

    def restrict(self, names: Sequence[str]) -> Self | None:
        """Return all or nothing."""
        return self if COLUMN in names else None

    # -- files ---------------------------------------------------------------------------------------

    def to_parts(self) -> Parts:
        """Return the states in the header and the words as bytes."""
        return {"states": [list(state) for state in self.states]}, arrays_of(self)

    @classmethod
    def from_parts(cls, request: Request, header: Any, arrays: list[Array], space: Space) -> Self:
        """Read keys that are sorted and in range, with positive counts."""
        data, offsets, pair_keys, pair_counts, triple_keys, triple_counts = arrays
        words = Words.checked(data, offsets)
        states = tuple(TagState(*map(_text, state)) for state in header["states"])
        own_states, fine = tuple(map(_text, request.options["own_states"])), request.options["fine"]
        n = len(states)
        known = request.columns == (COLUMN,) and type(fine) is bool and list(own_states) == sorted({*own_states})
        check_file(known, "the counts of tags have other settings than a tagger has")
        if n > MOST_STATES or list(states) != sorted({*states}):
            raise BadFile("the states of the tags are not sorted, or appear twice")
        for keys, counts, size in (
            (pair_keys, pair_counts, len(words) * n),
            (triple_keys, triple_counts, (n + 1) ** 3),
        ):
            fits = keys.dtype == np.int64 and counts.dtype == np.int64 and keys.ndim == 1 and keys.shape == counts.shape
            fits = fits and bool((counts >= 1).all() and (keys[1:] > keys[:-1]).all())
            check_file(fits, "the counts of tags do not fit their words and states")
            within = not len(keys) or 0 <= keys[0] <= keys[-1] < size
            check_file(within, "the counts of tags name words or states that are not there")
        return cls(words, states, pair_keys, pair_counts, triple_keys, triple_counts, own_states, fine)

    def check(self, space: Space, class_counts: Counts, others: Mapping[str, Statistic]) -> None:
        """Raise an error for counts that do not come from the sentences of the tally."""
        tags, counts = self.tag_counts()
        fits = tuple(space.classes) == tags and np.array_equal(class_counts, counts)
        n, (a, b, c) = len(self.states), self.triples().T
        into, out_of = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
        np.add.at(into, c, self.triple_counts)
        np.add.at(out_of, b, self.triple_counts)
        ended_too_early = (b == n) & (c == n) | (a != n) & (b == n)
        fits = fits and np.array_equal(into, out_of) and not ended_too_early.any()
        check_file(fits, "the counts of tags do not fit together")
        fits = np.array_equal(into[:n], self.state_counts()) and len(np.unique(self.pair_words)) == len(self.words)
        check_file(fits, "the counts of tags do not fit those of their words")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadFile("a tag is not text")
    return value
