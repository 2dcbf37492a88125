"""Topics of words by collapsed Gibbs sampling (Griffiths and Steyvers 2004), and of documents whose words are given.

Formula: P(topic k of a token ∣ all others) ∝ (n_dk + α_k) (n_wk + β) / (n_k + V β)

The compiled kernels draw in single precision, eight topics side by side; here the same numbers are made in the same
order, so that both draw the same topics from the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from bayeskit.kernels.twins.checks import check_cells, check_threads

Offsets = npt.NDArray[np.int64]
WordIds = npt.NDArray[np.uint32]
Topics = npt.NDArray[np.uint16]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

WIDE = 8
TOGETHER = 4  # documents in flight
MOST_DENSE = 128  # topics up to which the whole row of a word is summed
MOST_TOPICS, MOST_SWEEPS, MOST_SHARDS, MOST_PARTICLES = 65535, 4096, 4096, 1024
STEP, MASK = 0x9E3779B97F4A7C15, 2**64 - 1


def mixed(x: int) -> int:
    """A 64-bit mixer: neighbouring numbers lead to unrelated ones (Steele, Lea and Flood 2014)."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def sample_topics(
    start: Offsets,
    words: WordIds,
    topics: Topics,
    n_words: int,
    base: npt.NDArray[np.int32] | None,
    alpha: Floats,
    beta: float,
    seed: int,
    sweep: int,
    n_sweeps: int,
    n_shards: int,
    exact: bool,
    n_threads: int,
) -> Topics:
    """The topics of all tokens after some sweeps of collapsed Gibbs sampling.

    Document d has the tokens start[d] to start[d + 1]. ``base`` (words, topics) counts what was seen before and stays.
    Documents are taken in shards of about as many tokens, each of which begins with the counts of the sweep's start;
    it draws from a stream of its own, made from seed, sweep and shard. Without ``exact``, and up to 128 topics, four
    documents are in flight: a token is drawn while one token of each of the three others is out of the counts.

    >>> start, words = np.array([0, 3, 6]), np.array([0, 0, 1, 2, 2, 1], np.uint32)
    >>> first = np.array([0, 1, 0, 1, 0, 1], np.uint16)
    >>> drawn = sample_topics(start, words, first, 3, None, np.array([0.1, 0.1]), 0.1, 0, 0, 50, 1, True, 1)
    >>> bool(drawn[0] == drawn[1] and drawn[3] == drawn[4])
    True
    """
    check_threads(n_threads)
    _check_tokens(start, words, n_words)
    _check_topics(topics, len(words), _check_alpha(alpha))
    if len(words) > 2**30:
        raise ValueError(f"there are {len(words)} tokens, more than can be counted")
    if not 1e-8 <= beta <= 1e4:
        raise ValueError("beta is not from 1e-8 to 1e4")
    _check_whole(n_words=(n_words, 0, 2**32 - 1), n_sweeps=(n_sweeps, 0, MOST_SWEEPS))
    _check_whole(n_shards=(n_shards, 1, MOST_SHARDS), seed=(seed, 0, MASK), sweep=(sweep, 0, MASK))
    if base is not None:
        check_cells("base", base, "int32", n_words, len(alpha))
        if base.size and (base.min() < 0 or int(base.sum(dtype=np.int64)) > 2**30):
            raise ValueError("base is negative, or more than can be counted")
    out = topics.copy()
    sampler = _Sampler(start, words, out, n_words, base, alpha, beta)
    bounds = np.searchsorted(start[:-1], (len(words) * (np.arange(n_shards + 1) / n_shards)).astype(np.int64))
    bounds[0], bounds[-1] = 0, len(start) - 1
    for now in range(sweep, sweep + n_sweeps if len(words) else sweep):
        before = out.copy()
        after = out.copy()
        for shard, (first, last) in enumerate(pairwise(bounds.tolist())):
            out[:] = before
            stream = mixed(
                (mixed((mixed((seed + STEP) & MASK) + now) & MASK) + 0xD1B54A32D192ED03 * (shard + 1)) & MASK
            )
            sampler.shard(first, last, stream, exact)
            own = slice(start[first], start[last])
            after[own] = out[own]
        out[:] = after
    return out


@dataclass
class _Slot:
    """A document in flight: its next token and its end, how often it has each topic, and what that weighs."""

    at: int
    end: int
    counts: Offsets
    weights: Singles
    mass: float = 0.0


class _Sampler:
    """Counts and draws of one shard after the other."""

    def __init__(
        self,
        start: Offsets,
        words: WordIds,
        topics: Topics,
        n_words: int,
        base: npt.NDArray[np.int32] | None,
        alpha: Floats,
        beta: float,
    ) -> None:
        self.start, self.words, self.topics, self.base = start, words, topics, base
        self.alpha = _padded(alpha)
        self.beta, self.beta_words = np.float32(beta), np.float32(beta * float(n_words))
        self.n_topics, self.n_rows = len(alpha), int(words.max(initial=0)) + 1
        self.sparse = len(alpha) > MOST_DENSE
        self.longest = _rounded(len(alpha) // 5)

    def shard(self, first: int, last: int, stream: int, exact: bool) -> None:
        """Draw new topics for the tokens of some documents."""
        rows = np.zeros((self.n_rows, len(self.alpha)), np.int32)
        if self.base is not None:
            rows[:, : self.n_topics] = self.base[: self.n_rows]
        self.totals = np.bincount(self.topics, minlength=self.n_topics).astype(np.int64)
        if self.base is not None:
            self.totals += self.base.sum(axis=0, dtype=np.int64)
        self.inverse = np.zeros(len(self.alpha), np.float32)
        self.inverse[: self.n_topics] = 1 / (self.totals.astype(np.float32) + self.beta_words)
        self.lists = {word: self._list(word) for word in range(self.n_rows)} if self.sparse else {}
        np.add.at(rows, (self.words, self.topics), 1)
        self.rows, self.draw = rows, _stream(stream)
        documents = [d for d in range(first, last) if self.start[d] < self.start[d + 1]]
        together = 1 if exact or self.sparse else TOGETHER
        slots = [self._open(documents.pop(0)) for _ in range(min(together, len(documents)))]
        while slots:
            for slot in slots:
                self._remove(slot)
            masses = [] if self.sparse else [self._masses(slot) for slot in slots]
            for i, slot in enumerate(slots):
                k = self._from_lists(slot) if self.sparse else _drawn(masses[i], self.draw, self.n_topics)
                self._add(slot, k)
            self._refill(slots, documents)

    def _refill(self, slots: list[_Slot], documents: list[int]) -> None:
        """The next documents in place of those that are done; where there is none, the last slot moves up."""
        done = [s for s, slot in enumerate(slots) if slot.at == slot.end]
        for s in done:
            if documents:
                slots[s] = self._open(documents.pop(0))
        for s in reversed(done):
            if slots[s].at == slots[s].end:
                slots[s] = slots[-1]
                slots.pop()

    def _open(self, d: int) -> _Slot:
        at, end = int(self.start[d]), int(self.start[d + 1])
        counts = np.bincount(self.topics[at:end], minlength=len(self.alpha))
        slot = _Slot(at, end, counts, counts.astype(np.float32) + self.alpha)
        if self.sparse:
            slot.weights = slot.weights * self.inverse
            slot.mass = float(_running(_lanes(slot.weights)[-1])[-1])
        return slot

    def _change(self, slot: _Slot, k: int, by: int) -> None:
        slot.counts[k] += by
        self.totals[k] += by
        self.inverse[k] = np.float32(1) / (np.float32(self.totals[k]) + self.beta_words)
        now = np.float32(slot.counts[k]) + self.alpha[k]
        if self.sparse:
            now = now * self.inverse[k]
            slot.mass += float(now) - float(slot.weights[k])
        slot.weights[k] = now

    def _remove(self, slot: _Slot) -> None:
        word, k = int(self.words[slot.at]), int(self.topics[slot.at])
        self.rows[word, k] -= 1
        self._change(slot, k, -1)

    def _masses(self, slot: _Slot) -> Singles:
        row: Singles = self.rows[self.words[slot.at]].astype(np.float32)
        masses: Singles = (row + self.beta) * (slot.weights * self.inverse)
        return masses

    def _add(self, slot: _Slot, k: int) -> None:
        self.rows[self.words[slot.at], k] += 1
        self.topics[slot.at] = k
        self._change(slot, k, 1)
        slot.at += 1

    # -- many topics: a word's topics as a list, in the order in which they came ----------------------------------

    def _list(self, word: int) -> list[int] | None:
        """The topics of a word; None where it has so many that its row is summed."""
        before = [] if self.base is None else np.flatnonzero(self.base[word]).tolist()
        own = self.topics[self.words == word].tolist()
        found = list(dict.fromkeys([*before, *own]))
        is_short = _rounded(len(before) + len(own)) <= self.longest
        return None if not is_short and len(found) > self.longest - self.longest // 5 else found

    def _from_lists(self, slot: _Slot) -> int:
        word, weights = int(self.words[slot.at]), slot.weights
        ids, row = self.lists[word], self.rows[word]
        if ids is None:
            return _drawn((row.astype(np.float32) + self.beta) * weights, self.draw, self.n_topics)
        old = int(self.topics[slot.at])
        if row[old] == 0:
            ids[ids.index(old)] = ids[-1]
            ids.pop()
        masses = np.zeros(_rounded(len(ids)), np.float32)
        masses[: len(ids)] = row[ids].astype(np.float32) * weights[ids]
        total = _running(_lanes(masses)[-1])[-1] if len(ids) else np.float32(0)
        target = self.draw() * (total + np.float32(float(self.beta) * slot.mass))
        if target < total:
            return ids[_place(masses, target)]
        k = _place(weights, (target - total) / self.beta)
        k = k if k < self.n_topics else 0
        if k not in ids:
            own = int((self.words == word).sum()) + (0 if self.base is None else int((self.base[word] > 0).sum()))
            if len(ids) == min(_rounded(own), self.longest):
                self.lists[word] = None
            else:
                ids.append(k)
        return k


def _stream(stream: int) -> Callable[[], np.float32]:
    """Numbers from 0 to 1, in steps of 2^-24."""

    def draw() -> np.float32:
        nonlocal stream
        stream = (stream + STEP) & MASK
        return np.float32(mixed(stream) >> 40) * np.float32(2**-24)

    return draw


def _rounded(n: int) -> int:
    return -(-n // WIDE) * WIDE


def _padded(alpha: Floats) -> Singles:
    out = np.zeros(_rounded(len(alpha)), np.float32)
    out[: len(alpha)] = alpha
    return out


def _lanes(masses: Singles) -> Singles:
    """Running sums of each of eight lanes by itself."""
    return np.add.accumulate(masses.reshape(-1, WIDE), axis=0, dtype=np.float32)


def _running(totals: Singles) -> Singles:
    """Running sums over lanes: of pairs, of fours within each half, then the first half's sum onto the second."""
    pairs = totals.copy()
    pairs[[1, 2, 3, 5, 6, 7]] += totals[[0, 1, 2, 4, 5, 6]]
    fours = pairs.copy()
    fours[[2, 3, 6, 7]] += pairs[[0, 1, 4, 5]]
    fours[4:] += fours[3]
    return fours


def _drawn(masses: Singles, draw: Callable[[], np.float32], n_topics: int) -> int:
    k = _place(masses, draw() * _running(_lanes(masses)[-1])[-1])
    return k if k < n_topics else 0


def _place(masses: Singles, target: np.float32) -> int:
    """Where among the masses the target falls, lane by lane."""
    sums = _lanes(masses)
    running, totals = _running(sums[-1]), sums[-1]
    lane = int((running <= target).sum())
    if lane < WIDE and totals[lane] > 0:
        rest = target - running[lane - 1] if lane else target
        if not rest < totals[lane]:
            rest = np.nextafter(totals[lane], np.float32(0))
        rest = max(rest, np.float32(0))
    else:
        having = np.flatnonzero(totals > 0)
        if not len(having):
            return 0
        lane = int(having[-1])
        rest = np.nextafter(totals[lane], np.float32(0))
    return int(np.searchsorted(sums[:, lane], rest, side="right")) * WIDE + lane


# -- what stands around it ------------------------------------------------------------------------------------------


def topic_histograms(start: Offsets, topics: Topics, n_topics: int) -> tuple[Offsets, Offsets]:
    """(indptr, histogram): topic k has histogram[indptr[k] + c] parts with c tokens of it.

    >>> indptr, histogram = topic_histograms(np.array([0, 2, 3]), np.array([1, 1, 0], np.uint16), 2)
    >>> indptr.tolist(), histogram.tolist()
    ([0, 2, 5], [1, 1, 1, 0, 1])
    """
    check_cells("start", start, "int64", None)
    _check_parts(start, len(topics) if isinstance(topics, np.ndarray) else 0)
    _check_whole(n_topics=(n_topics, 1, MOST_TOPICS))
    _check_topics(topics, len(topics), n_topics)
    counts = np.zeros((len(start) - 1, n_topics), np.int64)
    np.add.at(counts, (np.repeat(np.arange(len(start) - 1), np.diff(start)), topics), 1)
    each = [np.bincount(column, minlength=1) for column in counts.T]
    return np.concatenate([[0], np.cumsum([len(one) for one in each])]), np.concatenate(each)


def fold_in_topics(
    start: Offsets,
    words: WordIds,
    likelihood: Singles,
    alpha: Floats,
    seed: int,
    n_sweeps: int,
    burn_in: int,
    n_threads: int,
) -> Floats:
    """(documents, topics): the shares of topics in documents, where P(word | topic) is given.

    ``likelihood`` (words, topics) has as many columns as make a multiple of 8, those beyond the topics 0. The topics of
    a document's tokens are drawn by Gibbs sampling, from a stream made from the seed and its words, and their counts
    after each sweep beyond the first ``burn_in`` are averaged.

    >>> likelihood = np.zeros((2, 8), np.float32)
    >>> likelihood[:, :2] = [[1, 0], [0, 1]]
    >>> fold_in_topics(np.array([0, 4, 4]), np.array([0, 0, 0, 1], np.uint32), likelihood, np.ones(2), 0, 5, 1, 1)
    array([[0.66666667, 0.33333333],
           [0.5       , 0.5       ]])
    """
    check_threads(n_threads)
    _check_given(start, words, likelihood, alpha, seed)
    _check_whole(n_sweeps=(n_sweeps, 1, MOST_SWEEPS))
    _check_whole(burn_in=(burn_in, 0, n_sweeps - 1))
    shares = np.empty((len(start) - 1, len(alpha)))
    for d, (a, b) in enumerate(pairwise(start.tolist())):
        given = _Given(words[a:b], likelihood, alpha, _content(seed, words[a:b]))
        added = np.zeros(len(alpha), np.int64)
        for i in range(b - a):
            given.add(i)
        for sweep in range(n_sweeps):
            for i in range(b - a):
                given.remove(i)
                given.add(i)
            if sweep >= burn_in:
                added += given.counts[: len(alpha)]
        shares[d] = (added / float(n_sweeps - burn_in) + alpha) / (float(b - a) + float(sum(alpha.tolist())))
    return shares


def left_to_right(
    start: Offsets, words: WordIds, likelihood: Singles, alpha: Floats, seed: int, n_particles: int, n_threads: int
) -> Floats:
    """ln P(words) of each document, where P(word | topic) is given: word by word, each by the mean over particles.

    The algorithm of Wallach, Murray, Salakhutdinov and Mimno (2009): before a word is judged, the topics of those
    before it are drawn anew.

    >>> likelihood = np.zeros((2, 8), np.float32)
    >>> likelihood[:, :2] = [[0.9, 0.5], [0.1, 0.5]]
    >>> float(left_to_right(np.array([0, 1]), np.array([0], np.uint32), likelihood, np.ones(2), 0, 3, 1)[0].round(4))
    -0.3567
    """
    check_threads(n_threads)
    _check_given(start, words, likelihood, alpha, seed)
    _check_whole(n_particles=(n_particles, 1, MOST_PARTICLES))
    out = np.empty(len(start) - 1)
    total = float(sum(alpha.tolist()))
    for d, (a, b) in enumerate(pairwise(start.tolist())):
        gains, stream = np.zeros(b - a), _content(seed, words[a:b])
        for particle in range(n_particles):
            given = _Given(words[a:b], likelihood, alpha, mixed((stream + particle) & MASK))
            for i in range(b - a):
                for before in range(i):
                    given.remove(before)
                    given.add(before)
                given.add(i)
                gains[i] += float(given.total) / (i + total)
        with np.errstate(divide="ignore"):
            out[d] = sum(np.log(gains / n_particles).tolist())
    return out


class _Given:
    """A document while its topics are drawn."""

    def __init__(self, words: WordIds, likelihood: Singles, alpha: Floats, stream: int) -> None:
        self.words, self.likelihood, self.alpha, self.n_topics = words, likelihood, _padded(alpha), len(alpha)
        self.topics, self.counts = np.zeros(len(words), np.int64), np.zeros(len(self.alpha), np.int64)
        self.draw, self.total = _stream(stream), np.float32(0)

    def remove(self, at: int) -> None:
        self.counts[self.topics[at]] -= 1

    def add(self, at: int) -> None:
        masses = self.likelihood[self.words[at]] * (self.counts.astype(np.float32) + self.alpha)
        self.total = _running(_lanes(masses)[-1])[-1]
        self.topics[at] = _drawn(masses, self.draw, self.n_topics)
        self.counts[self.topics[at]] += 1


def _content(seed: int, words: WordIds) -> int:
    """From the seed and the words of a document, whichever others there are."""
    stream = mixed((seed + STEP) & MASK)
    for word in words.tolist():
        stream = mixed((stream + STEP * (word + 1)) & MASK)
    return stream


# -- doors ----------------------------------------------------------------------------------------------------------


def _check_parts(start: Offsets, n: int) -> None:
    if not len(start) or start[0] != 0 or start[-1] != n or (np.diff(start) < 0).any():
        raise ValueError(f"start does not fit the {n} tokens")


def _check_tokens(start: Offsets, words: WordIds, n_words: int) -> None:
    check_cells("start", start, "int64", None)
    check_cells("words", words, "uint32", None)
    _check_parts(start, len(words))
    if len(words) and int(words.max()) >= n_words:
        raise ValueError(f"words reach beyond the {n_words} there are")


def _check_topics(topics: Topics, n: int, n_topics: int) -> None:
    check_cells("topics", topics, "uint16", n)
    if len(topics) and int(topics.max()) >= n_topics:
        raise ValueError(f"topics reach beyond the {n_topics} there are")


def _check_alpha(alpha: Floats) -> int:
    check_cells("alpha", alpha, "float64", None)
    if not 1 <= len(alpha) <= MOST_TOPICS or not ((alpha >= 1e-6) & (alpha <= 1e6)).all():
        raise ValueError("alpha is not from 1e-6 to 1e6, or of too few or too many topics")
    return len(alpha)


def _check_given(start: Offsets, words: WordIds, likelihood: Singles, alpha: Floats, seed: int) -> None:
    check_cells("likelihood", likelihood, "float32", None, _rounded(_check_alpha(alpha)))
    _check_tokens(start, words, len(likelihood))
    _check_whole(seed=(seed, 0, MASK))


def _check_whole(**numbers: tuple[int, int, int]) -> None:
    for name, (number, least, most) in numbers.items():
        if not least <= number <= most:
            raise ValueError(f"{name} is {number}, not from {least} to {most}")
