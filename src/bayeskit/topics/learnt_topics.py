"""What a topic model has learnt: counts of words by topic, the prior of documents, and how a file holds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile
from bayeskit.memory import Need, check_memory
from bayeskit.model_file import State
from bayeskit.topics.assignments import Assignments
from bayeskit.topics.document_prior import LEAST, MOST
from bayeskit.topics.sampler import Sampled
from bayeskit.typing import Array, Floats

HEADER = ("names", "n_words", "seed", "log_likelihood", "documents", "origin")


@dataclass(frozen=True, eq=False)
class LearntTopics:
    """``table`` (words, topics) counts; ``names`` are the words of texts, names that were given, or None."""

    names: Words | tuple[str, ...] | None
    table: npt.NDArray[np.int32]
    alpha: Floats
    seed: int
    log_likelihood: float = 0.0
    n_documents: int = 0
    assignments: Assignments | None = None

    @classmethod
    def nothing(cls, names: Words | tuple[str, ...] | None, n_words: int, alpha: Floats, seed: int) -> Self:
        """Before the first document."""
        return cls(names, np.zeros((n_words, len(alpha)), np.int32), alpha, seed)

    def after(
        self, sampled: Sampled, table: npt.NDArray[np.int32], n_documents: int, assignments: Assignments | None
    ) -> Self:
        """With more documents."""
        return replace(
            self, table=table, alpha=sampled.alpha, log_likelihood=sampled.log_likelihood,
            n_documents=self.n_documents + n_documents, assignments=assignments,
        )  # fmt: skip

    def holding(self, assignments: Assignments) -> Self:
        """With these documents, and no other."""
        return replace(self, table=assignments.table, n_documents=len(assignments.corpus), assignments=assignments)

    def named(self, names: tuple[str, ...]) -> Self:
        """With names for the words."""
        return replace(self, names=names)

    @property
    def n_words(self) -> int:
        """How many words are known."""
        return len(self.table)

    @property
    def word_names(self) -> npt.NDArray[np.object_]:
        """The words, by column; x0, x1, … where they have no names."""
        listed = [f"x{i}" for i in range(self.n_words)] if self.names is None else list(self.names)
        return np.array(listed, dtype=object)

    def to_state(self) -> State:
        """Plain data and arrays: counts where no documents are held, which have them."""
        header: dict[str, Any] = {
            "names": list(self.names) if isinstance(self.names, tuple) else None,
            "n_words": self.n_words,
            "seed": f"{self.seed:016x}",
            "log_likelihood": self.log_likelihood,
            "documents": self.n_documents,
            "origin": None if self.assignments is None else self.assignments.origin,
        }
        words = [self.names.data, self.names.offsets] if isinstance(self.names, Words) else _no_words()
        if self.assignments is not None:
            return State(header, [self.alpha, *words, *self.assignments.arrays()])
        cells = np.flatnonzero(self.table)
        return State(header, [self.alpha, *words, cells, self.table.ravel()[cells].astype(np.uint32)])

    @classmethod
    def of_state(cls, state: State) -> Self:
        """What :meth:`to_state` wrote; anything else is refused."""
        held = len(state.arrays) == 8
        state.holds(8 if held else 5, *HEADER)
        n_words, seed, value, n = (state.header[name] for name in ("n_words", "seed", "log_likelihood", "documents"))
        whole = all(type(x) is int and 0 <= x < 2**31 for x in (n_words, n))
        if not whole or type(seed) is not str or type(value) not in (int, float) or abs(value) > 1e150:
            raise BadFile("what the topic model says of itself are no such numbers")
        alpha = state.numbers(0, *state.arrays[0].shape)
        if alpha.ndim != 1 or not len(alpha) or not ((alpha >= LEAST / 100) & (alpha <= MOST * 1000)).all():
            raise BadFile("the prior of the documents is none")
        check_memory(Need("the table of words by topics", 4.0 * n_words * len(alpha), ()), None)
        names = _checked_names(state, n_words)
        assignments = None
        if held:
            assignments = Assignments.checked(state.arrays[3:], state.header["origin"], n_words, len(alpha))
            table = assignments.table
        else:
            table = _checked_table(state.arrays[3], state.arrays[4], n_words, len(alpha))
        if not table.any() or (assignments is not None and n != len(assignments.corpus)):
            raise BadFile("the topic model has learnt nothing, or not what it says")
        return cls(names, table, alpha, int(seed, 16), float(value), n, assignments)


def _no_words() -> list[Array]:
    return [np.zeros(0, np.uint8), np.zeros(1, np.int64)]


def _checked_names(state: State, n_words: int) -> Words | tuple[str, ...] | None:
    listed = state.header["names"]
    if listed is not None:
        if not isinstance(listed, list) or len(listed) != n_words or not all(isinstance(one, str) for one in listed):
            raise BadFile("the names of the words do not fit the counts")
        return tuple(listed)
    words = Words.checked(state.arrays[1], state.arrays[2])
    if len(words) not in (0, n_words):
        raise BadFile("the words do not fit the counts")
    return words if len(words) else None


def _checked_table(cells: Array, counts: Array, n_words: int, n_topics: int) -> npt.NDArray[np.int32]:
    """(words, topics) from the cells that are not 0."""
    fits = cells.dtype == np.int64 and counts.dtype == np.uint32 and cells.ndim == 1 and cells.shape == counts.shape
    fits = fits and len(cells) > 0 and cells[0] >= 0 and cells[-1] < n_words * n_topics
    fits = fits and bool((cells[1:] > cells[:-1]).all()) and int(counts.min()) > 0
    if not fits or int(counts.sum(dtype=np.int64)) > 2**30:
        raise BadFile("the counts of words by topics do not fit together")
    table = np.zeros(n_words * n_topics, np.int32)
    table[cells] = counts
    return table.reshape(n_words, n_topics)
