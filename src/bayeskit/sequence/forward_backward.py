"""Lattice: sequences over hidden states. What the kernels say of them, piece by piece, so that long ones fit in memory.

A column of symbols alone is read by the kernels as it is. Anything else is scored a piece at a time: some thousand rows
of a long sequence, or many short ones together. A long sequence is walked twice, once to know where each piece begins
(or how it goes on), and once for what is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.estimate.emissions.emission import Emission, Sums, add
from bayeskit.estimate.emissions.normals import Normals
from bayeskit.estimate.emissions.symbols import Symbols
from bayeskit.estimate.state_moves import Stays
from bayeskit.typing import Array, Bytes, Floats, Ints

LONG, TOGETHER = 4_096, 32_768  # rows of a piece of one sequence, and of many


@dataclass(frozen=True, eq=False)
class Observed:
    """Rows of sequences as the kernels read them; ``labels`` are 0 where the state is not known, else its code + 1."""

    block: Block
    starts: Ints
    labels: Array | None = None

    def rows(self, a: int, b: int) -> Block:
        """Some rows."""
        codes = {name: column[a:b] for name, column in self.block.codes.items()}
        return Block(b - a, self.block.start + a, codes, {n: x[a:b] for n, x in self.block.floats.items()})


class Piece(NamedTuple):
    """Rows a … b of some sequences, from ``first`` on, and where these begin among the rows."""

    a: int
    b: int
    first: int
    starts: Ints


class Counted(NamedTuple):
    """What sequences are expected to add up to, and ln P of each."""

    log_likelihoods: Floats
    starts: Floats
    moves: Floats
    emissions: tuple[Sums, ...]


class Impossible(Exception):
    """A sequence that no path of states can have, and the row from which on it cannot."""

    def __init__(self, sequence: int, row: int) -> None:
        super().__init__(sequence, row)
        self.sequence, self.row = sequence, row


@dataclass(frozen=True, eq=False)
class Lattice:
    """Start and moves of the states, what they emit, and the copies of states that last a minimum of steps."""

    start: Floats
    moves: Floats
    emissions: tuple[Emission, ...]
    stays: Stays
    n_threads: int = 1

    @cached_property
    def _chain(self) -> tuple[Floats, Floats]:
        return self.stays.log_start(self.start), self.stays.log_moves(self.moves)

    @cached_property
    def _allowed(self) -> Bytes:
        """Which copies a label leaves open: all for 0."""
        own = self.stays.owner[None, :] == np.arange(len(self.start))[:, None]
        return np.vstack([np.ones((1, own.shape[1]), bool), own]).astype(np.uint8)

    @cached_property
    def _symbols(self) -> Symbols | None:
        """The one column of symbols, where there is nothing else."""
        only = self.emissions[0] if len(self.emissions) == 1 else None
        return only if isinstance(only, Symbols) else None

    @cached_property
    def _normals(self) -> Normals | None:
        """Columns of normal numbers, where there is nothing else; those that are constant say nothing."""
        only = self.emissions[0] if len(self.emissions) == 1 else None
        return only if isinstance(only, Normals) and len(only.used) == len(only.names) else None

    @property
    def _at_once(self) -> bool:
        """Whether the kernels read the columns as they are."""
        return self._symbols is not None or self._normals is not None

    def scores(self, block: Block) -> Floats:
        """ln P(row | state) (rows, states)."""
        scores = np.zeros((block.n_rows, len(self.start)))
        for emission in self.emissions:
            emission.add_scores(block, scores, self.n_threads)
        return scores

    def _rows(self, observed: Observed, piece: Piece) -> dict[str, Any]:
        """The arguments that all kernels take."""
        symbols, numbers, block = self._symbols, self._normals, observed.rows(piece.a, piece.b)
        known = None if observed.labels is None else observed.labels[piece.a : piece.b]
        normals = None
        if symbols is not None:
            logs = symbols.log_table
        elif numbers is not None:
            logs = np.zeros((0, len(self.start)))
            tables = (np.ascontiguousarray(table[self.stays.owner]) for table in numbers.normal_form)
            normals = ([block.floats[name] for name in numbers.names], *tables, numbers.centre)
        else:
            logs = self.scores(block)
        return {
            "logs": logs if self.stays.plain else np.ascontiguousarray(logs[:, self.stays.owner]),
            "codes": None if symbols is None else block.codes[symbols.name],
            "labels": known,
            "allowed": None if known is None else self._allowed,
            "normals": normals,
            "starts": piece.starts,
            "log_start": self._chain[0],
            "log_transition": self._chain[1],
            "n_threads": self.n_threads,
        }

    def runs(self, observed: Observed) -> Iterator[list[Piece]]:
        """Pieces that go on one into the other: those of a long sequence, or one of many short ones."""
        starts = observed.starts
        n = len(starts) - 1
        if self._at_once:
            yield [Piece(0, int(starts[-1]), 0, starts)]
            return
        long = np.flatnonzero(np.diff(starts) > LONG)
        i = 0
        while i < n:
            next_long = int(long[np.searchsorted(long, i)]) if len(long) and long[-1] >= i else n
            if next_long == i:
                a, b = int(starts[i]), int(starts[i + 1])
                cuts = [*range(a, b, LONG), b]
                yield [Piece(c, d, i, np.array([0, d - c])) for c, d in pairwise(cuts)]
                i += 1
                continue
            end = int(np.searchsorted(starts, starts[i] + TOGETHER, side="right")) - 1
            end = min(max(end, i + 1), next_long)
            a, b = int(starts[i]), int(starts[end])
            yield [Piece(a, b, i, starts[i : end + 1] - a)]
            i = end

    # -- likelihoods -----------------------------------------------------------------------------------

    def log_likelihoods(self, observed: Observed) -> Floats:
        """ln P of each sequence; −∞ where it is impossible."""
        return self.ends(observed)[0]

    def ends(self, observed: Observed) -> tuple[Floats, Floats]:
        """(ln P of each sequence, ln P(copy | sequence) of its last row (sequences, copies))."""
        n = len(observed.starts) - 1
        found, last = np.zeros(n), np.zeros((n, len(self.stays.owner)))
        for run in self.runs(observed):
            before = None
            for piece in run:
                log_likelihoods, impossible, filtered = kernels.filter_states(
                    **self._rows(observed, piece), before=before, every=False
                )
                own = slice(piece.first, piece.first + len(piece.starts) - 1)
                found[own] += log_likelihoods
                last[own] = filtered
                if len(run) > 1 and impossible[0] >= 0:
                    break
                before = filtered[-1] if len(run) > 1 else None
        return found, last

    def filtered(self, observed: Observed) -> Iterator[tuple[Piece, Floats, Floats, Ints]]:
        """(piece, ln P(copy | rows so far), ln P of each sequence of it, their first impossible row or −1)."""
        for run in self.runs(observed):
            before = None
            for piece in run:
                log_likelihoods, impossible, filtered = kernels.filter_states(
                    **self._rows(observed, piece), before=before, every=True
                )
                yield piece, filtered, log_likelihoods, np.where(impossible < 0, -1, impossible + piece.a)
                before = np.ascontiguousarray(filtered[-1]) if len(run) > 1 else None

    def _begins(self, observed: Observed, run: list[Piece], first: Floats | None = None) -> list[Floats | None]:
        """What is believed before each piece of a run, ``first`` where its sequence has begun before it."""
        held = self._held(run)
        before: list[Floats | None] = [first]
        for piece, row in zip(run[:-1], held, strict=True):
            _, impossible, filtered = kernels.filter_states(
                **self._rows(observed, piece), before=before[-1], every=False
            )
            if impossible[0] >= 0:
                raise Impossible(piece.first, piece.a + int(impossible[0]))
            row[:] = filtered[0]
            before.append(row)
        return before

    def _held(self, run: list[Piece]) -> Floats:
        """A row for each joint of pieces, in one array: small ones between the large would keep these from being
        given back."""
        return np.empty((len(run) - 1, len(self.stays.owner)))

    # -- expectations ----------------------------------------------------------------------------------

    def counted(self, observed: Observed) -> Counted:
        """What is expected to be counted. Raises :class:`Impossible` at the first sequence that no path can have."""
        n_copies, n_states = len(self.stays.owner), len(self.start)
        likelihoods = np.zeros(len(observed.starts) - 1)
        starts, moves = np.zeros(n_copies), np.zeros((n_copies, n_copies))
        sums: tuple[Sums, ...] = tuple(
            tuple(np.zeros(shape) for shape in emission.shapes(n_states)) for emission in self.emissions
        )
        for run in self.runs(observed):
            begins, after = self._begins(observed, run), None
            for piece, before in zip(reversed(run), reversed(begins), strict=True):
                found = kernels.count_states(
                    **self._rows(observed, piece), before=before, after=after, by_row=not self._at_once
                )
                bad = np.flatnonzero(found[1] >= 0)
                if len(bad):
                    raise Impossible(piece.first + int(bad[0]), piece.a + int(found[1][bad[0]]))
                likelihoods[piece.first : piece.first + len(found[0])] += found[0]
                starts += found[2]
                moves += found[3]
                after = found[5]
                if self._normals is not None:
                    parts = np.swapaxes(self.stays.summed(np.swapaxes(found[4], 1, 2)), 1, 2)
                    sums = (tuple(parts),)
                    continue
                shares = self.stays.summed(found[4])
                if self._symbols is not None:
                    sums = ((np.ascontiguousarray(shares[1:-1].T),),)
                    continue
                block = observed.rows(piece.a, piece.b)
                own = (
                    emission.of_block(block, np.ascontiguousarray(shares), self.n_threads)
                    for emission in self.emissions
                )
                sums = tuple(add(whole, part) for whole, part in zip(sums, own, strict=True))
        return Counted(likelihoods, self.stays.summed(starts), self.stays.counted_moves(moves), sums)

    def posteriors(self, observed: Observed) -> Iterator[tuple[Piece, Floats]]:
        """(piece, P(state | sequence) of its rows) in order; NaN for sequences that are impossible."""
        for run in self._small(observed):
            afters: list[Floats | None] = [None]
            try:
                begins = self._begins(observed, run)
                for piece, before, row in zip(run[:0:-1], begins[:0:-1], self._held(run), strict=True):
                    row[:] = self._smoothed(observed, piece, before, afters[-1])[5]
                    afters.append(row)
            except Impossible:
                for piece in run:
                    yield piece, np.full((piece.b - piece.a, len(self.start)), np.nan)
                continue
            for piece, before, after in zip(run, begins, reversed(afters), strict=True):
                yield piece, self.stays.summed(self._smoothed(observed, piece, before, after)[4])

    def future(self, observed: Observed, step: int, now: Floats) -> Floats:
        """ln P(the rows after a step | copy at this step), up to a number, of the one sequence; ``now`` is
        ln P(copy | the rows up to the step)."""
        n = observed.block.n_rows - step - 1
        ahead = Observed(observed.rows(step + 1, step + 1 + n), np.array([0, n]))
        after: Floats | None = None
        for run in self._small(ahead) if n else ():
            for piece, before in zip(reversed(run), reversed(self._begins(ahead, run, now)), strict=True):
                after = self._smoothed(ahead, piece, before, after)[5]
        return np.zeros(len(now)) if after is None else after

    def _smoothed(self, observed: Observed, piece: Piece, before: Any, after: Any) -> Any:
        return kernels.count_states(**self._rows(observed, piece), before=before, after=after, by_row=True)

    def _small(self, observed: Observed) -> Iterator[list[Piece]]:
        """Pieces that never hold all rows, whatever the columns are."""
        return Lattice(self.start, self.moves, (), self.stays).runs(observed)

    # -- paths -----------------------------------------------------------------------------------------

    def best(self, observed: Observed) -> tuple[Array, Floats]:
        """(The most probable state of every row, together; ln P(path, sequence) of each sequence)."""
        scores = np.zeros(len(observed.starts) - 1)
        path = np.zeros(int(observed.starts[-1]), np.uint8 if len(self.start) <= 256 else np.uint16)
        for run in self.runs(observed):
            begins: list[Floats | None] = [None]
            for piece in run[:-1]:
                rows = self._rows(observed, piece)
                begins.append(kernels.best_states(**rows, before=begins[-1], last=-1, keep=False)[2])
            state = -1
            for piece, before in zip(reversed(run), reversed(begins), strict=True):
                found, score, _, came_from = kernels.best_states(
                    **self._rows(observed, piece), before=before, last=state, keep=True
                )
                path[piece.a : piece.b] = self._states(found)
                if state < 0:
                    scores[piece.first : piece.first + len(score)] = score
                state = came_from
        return path, scores

    def k_best(self, observed: Observed, k: int) -> tuple[Array, Floats]:
        """(The k most probable paths (k, rows), ln P(path, sequence) (sequences, k))."""
        whole = Piece(0, int(observed.starts[-1]), 0, observed.starts)
        paths, scores = kernels.k_best_states(**self._rows(observed, whole), k=k)
        return self._states(paths), scores

    def drawn(self, observed: Observed, rng: np.random.Generator) -> Array:
        """A path for every sequence, drawn from P(path | sequence). Raises :class:`Impossible`."""
        path = np.zeros(int(observed.starts[-1]), np.uint8 if len(self.start) <= 256 else np.uint16)
        uniforms = rng.random(len(path) + 1)
        for run in self.runs(observed):
            state = -1
            for piece, before in zip(reversed(run), reversed(self._begins(observed, run)), strict=True):
                found, log_likelihoods, state = kernels.draw_states(
                    **self._rows(observed, piece),
                    before=before,
                    last=state,
                    uniforms=uniforms[piece.a : piece.b + 1],
                )
                bad = np.flatnonzero(np.isneginf(log_likelihoods))
                if len(bad):
                    raise Impossible(piece.first + int(bad[0]), piece.a)
                path[piece.a : piece.b] = self._states(found)
        return path

    def _states(self, copies: Any) -> Array:
        return np.asarray(copies) if self.stays.plain else self.stays.owner[copies]
