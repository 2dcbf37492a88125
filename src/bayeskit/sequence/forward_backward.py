"""Forward–backward and Viterbi over hidden states, chunk by chunk so that long sequences fit in memory.

A single categorical or Gaussian emission is read directly by the kernels. Anything else is scored a chunk at a time:
some thousand rows of a long sequence, or many short sequences together. A long sequence is processed twice: once to
find the probabilities at the chunk boundaries, and once for the result.
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
from bayeskit.estimate.emissions.categorical import CategoricalEmission
from bayeskit.estimate.emissions.emission import Emission, Statistics, add_statistics
from bayeskit.estimate.emissions.gaussian import GaussianEmission
from bayeskit.estimate.state_transitions import MinimumStays
from bayeskit.typing import Array, Bytes, Floats, Ints

LONG, TOGETHER = 4_096, 32_768  # rows of a chunk of one sequence, and of many


@dataclass(frozen=True, eq=False)
class Observations:
    """Rows of sequences; ``labels`` are 0 where the state is unknown, else its code + 1."""

    block: Block
    starts: Ints
    labels: Array | None = None

    def rows(self, a: int, b: int) -> Block:
        """Return rows a to b as a block."""
        codes = {name: column[a:b] for name, column in self.block.codes.items()}
        return Block(b - a, self.block.start + a, codes, {n: x[a:b] for n, x in self.block.floats.items()})


class Chunk(NamedTuple):
    """Rows ``a`` to ``b`` of consecutive sequences from number ``first`` on; ``starts`` are relative to ``a``."""

    a: int
    b: int
    first: int
    starts: Ints


class ExpectedCounts(NamedTuple):
    """Expected counts of an E-step, and ln P of each sequence."""

    log_likelihoods: Floats
    starts: Floats
    moves: Floats
    emissions: tuple[Statistics, ...]


class ImpossibleSequence(Exception):
    """Raised for a sequence that no path of states can produce, with the row where it becomes impossible."""

    def __init__(self, sequence: int, row: int) -> None:
        super().__init__(sequence, row)
        self.sequence, self.row = sequence, row


@dataclass(frozen=True, eq=False)
class Trellis:
    """A hidden Markov model unrolled over sequences.

    States with a minimum stay are represented by chains of copies (``stays``).
    """

    start: Floats
    moves: Floats
    emissions: tuple[Emission, ...]
    stays: MinimumStays
    n_threads: int = 1

    @cached_property
    def _chain(self) -> tuple[Floats, Floats]:
        return self.stays.log_start(self.start), self.stays.log_moves(self.moves)

    @cached_property
    def _allowed(self) -> Bytes:
        """Allowed copies by label, shape (n_states + 1, n_copies); label 0 allows all."""
        own = self.stays.owner[None, :] == np.arange(len(self.start))[:, None]
        return np.vstack([np.ones((1, own.shape[1]), bool), own]).astype(np.uint8)

    @cached_property
    def _symbols(self) -> CategoricalEmission | None:
        """The categorical emission if it is the only one."""
        only = self.emissions[0] if len(self.emissions) == 1 else None
        return only if isinstance(only, CategoricalEmission) else None

    @cached_property
    def _normals(self) -> GaussianEmission | None:
        """The Gaussian emission if it is the only one and every column varies."""
        only = self.emissions[0] if len(self.emissions) == 1 else None
        return only if isinstance(only, GaussianEmission) and len(only.used) == len(only.names) else None

    @property
    def _reads_columns_directly(self) -> bool:
        """True if the kernels read the columns without precomputed scores."""
        return self._symbols is not None or self._normals is not None

    def scores(self, block: Block) -> Floats:
        """Return ln P(row | state), shape (n_rows, n_states)."""
        scores = np.zeros((block.n_rows, len(self.start)))
        for emission in self.emissions:
            emission.add_scores(block, scores, self.n_threads)
        return scores

    def _kernel_arguments(self, observed: Observations, chunk: Chunk) -> dict[str, Any]:
        """Return the arguments shared by all kernels."""
        symbols, numbers, block = self._symbols, self._normals, observed.rows(chunk.a, chunk.b)
        known = None if observed.labels is None else observed.labels[chunk.a : chunk.b]
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
            "starts": chunk.starts,
            "log_start": self._chain[0],
            "log_transition": self._chain[1],
            "n_threads": self.n_threads,
        }

    def runs(self, observed: Observations) -> Iterator[list[Chunk]]:
        """Yield lists of consecutive chunks: those of one long sequence, or one chunk of many short ones."""
        starts = observed.starts
        n = len(starts) - 1
        if self._reads_columns_directly:
            yield [Chunk(0, int(starts[-1]), 0, starts)]
            return
        long = np.flatnonzero(np.diff(starts) > LONG)
        i = 0
        while i < n:
            next_long = int(long[np.searchsorted(long, i)]) if len(long) and long[-1] >= i else n
            if next_long == i:
                a, b = int(starts[i]), int(starts[i + 1])
                cuts = [*range(a, b, LONG), b]
                yield [Chunk(c, d, i, np.array([0, d - c])) for c, d in pairwise(cuts)]
                i += 1
                continue
            end = int(np.searchsorted(starts, starts[i] + TOGETHER, side="right")) - 1
            end = min(max(end, i + 1), next_long)
            a, b = int(starts[i]), int(starts[end])
            yield [Chunk(a, b, i, starts[i : end + 1] - a)]
            i = end

    # -- likelihoods -----------------------------------------------------------------------------------

    def log_likelihoods(self, observed: Observations) -> Floats:
        """Return ln P of each sequence, −∞ for an impossible one."""
        return self.final_forward(observed)[0]

    def final_forward(self, observed: Observations) -> tuple[Floats, Floats]:
        """Return ln P of each sequence and the forward log probabilities of its last row."""
        n = len(observed.starts) - 1
        found, last = np.zeros(n), np.zeros((n, len(self.stays.owner)))
        for run in self.runs(observed):
            before = None
            for chunk in run:
                log_likelihoods, impossible, filtered = kernels.filter_states(
                    **self._kernel_arguments(observed, chunk), before=before, every=False
                )
                own = slice(chunk.first, chunk.first + len(chunk.starts) - 1)
                found[own] += log_likelihoods
                last[own] = filtered
                if len(run) > 1 and impossible[0] >= 0:
                    break
                before = filtered[-1] if len(run) > 1 else None
        return found, last

    def forward(self, observed: Observations) -> Iterator[tuple[Chunk, Floats, Floats, Ints]]:
        """Run the forward algorithm, chunk by chunk.

        Yields the chunk, ln P(copy | rows so far), ln P of its sequences, and their first impossible row or −1.
        """
        for run in self.runs(observed):
            before = None
            for chunk in run:
                log_likelihoods, impossible, filtered = kernels.filter_states(
                    **self._kernel_arguments(observed, chunk), before=before, every=True
                )
                yield chunk, filtered, log_likelihoods, np.where(impossible < 0, -1, impossible + chunk.a)
                before = np.ascontiguousarray(filtered[-1]) if len(run) > 1 else None

    def _forward_boundaries(
        self, observed: Observations, run: list[Chunk], first: Floats | None = None
    ) -> list[Floats | None]:
        """Return the forward log probabilities before each chunk; ``first`` if the sequence began earlier."""
        held = self._boundary_rows(run)
        before: list[Floats | None] = [first]
        for chunk, row in zip(run[:-1], held, strict=True):
            _, impossible, filtered = kernels.filter_states(
                **self._kernel_arguments(observed, chunk), before=before[-1], every=False
            )
            if impossible[0] >= 0:
                raise ImpossibleSequence(chunk.first, chunk.a + int(impossible[0]))
            row[:] = filtered[0]
            before.append(row)
        return before

    def _boundary_rows(self, run: list[Chunk]) -> Floats:
        """Allocate one row per chunk boundary in a single array, to avoid memory fragmentation."""
        return np.empty((len(run) - 1, len(self.stays.owner)))

    # -- expectations ----------------------------------------------------------------------------------

    def expected_counts(self, observed: Observations) -> ExpectedCounts:
        """Run forward–backward and return expected counts.

        Raises :class:`ImpossibleSequence` for the first impossible sequence.
        """
        n_copies, n_states = len(self.stays.owner), len(self.start)
        likelihoods = np.zeros(len(observed.starts) - 1)
        starts, moves = np.zeros(n_copies), np.zeros((n_copies, n_copies))
        sums: tuple[Statistics, ...] = tuple(
            tuple(np.zeros(shape) for shape in emission.shapes(n_states)) for emission in self.emissions
        )
        for run in self.runs(observed):
            begins, after = self._forward_boundaries(observed, run), None
            for chunk, before in zip(reversed(run), reversed(begins), strict=True):
                found = kernels.count_states(
                    **self._kernel_arguments(observed, chunk),
                    before=before,
                    after=after,
                    by_row=not self._reads_columns_directly,
                )
                bad = np.flatnonzero(found[1] >= 0)
                if len(bad):
                    raise ImpossibleSequence(chunk.first + int(bad[0]), chunk.a + int(found[1][bad[0]]))
                likelihoods[chunk.first : chunk.first + len(found[0])] += found[0]
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
                block = observed.rows(chunk.a, chunk.b)
                own = (
                    emission.statistics_of_rows(block, np.ascontiguousarray(shares), self.n_threads)
                    for emission in self.emissions
                )
                sums = tuple(add_statistics(whole, part) for whole, part in zip(sums, own, strict=True))
        return ExpectedCounts(likelihoods, self.stays.summed(starts), self.stays.counted_moves(moves), sums)

    def posteriors(self, observed: Observations) -> Iterator[tuple[Chunk, Floats]]:
        """Run forward–backward; yield each chunk with P(state | sequence) of its rows, NaN for impossible sequences."""
        for run in self._bounded_runs(observed):
            afters: list[Floats | None] = [None]
            try:
                begins = self._forward_boundaries(observed, run)
                for chunk, before, row in zip(run[:0:-1], begins[:0:-1], self._boundary_rows(run), strict=True):
                    row[:] = self._forward_backward(observed, chunk, before, afters[-1])[5]
                    afters.append(row)
            except ImpossibleSequence:
                for chunk in run:
                    yield chunk, np.full((chunk.b - chunk.a, len(self.start)), np.nan)
                continue
            for chunk, before, after in zip(run, begins, reversed(afters), strict=True):
                yield chunk, self.stays.summed(self._forward_backward(observed, chunk, before, after)[4])

    def backward(self, observed: Observations, step: int, now: Floats) -> Floats:
        """Run the backward algorithm; return ln P(rows after a step | copy at the step) up to a constant.

        The observations are one sequence; ``now`` is ln P(copy | rows up to the step).
        """
        n = observed.block.n_rows - step - 1
        ahead = Observations(observed.rows(step + 1, step + 1 + n), np.array([0, n]))
        after: Floats | None = None
        for run in self._bounded_runs(ahead) if n else ():
            for chunk, before in zip(reversed(run), reversed(self._forward_boundaries(ahead, run, now)), strict=True):
                after = self._forward_backward(ahead, chunk, before, after)[5]
        return np.zeros(len(now)) if after is None else after

    def _forward_backward(self, observed: Observations, chunk: Chunk, before: Any, after: Any) -> Any:
        return kernels.count_states(**self._kernel_arguments(observed, chunk), before=before, after=after, by_row=True)

    def _bounded_runs(self, observed: Observations) -> Iterator[list[Chunk]]:
        """Yield runs of chunks of bounded size, whatever the columns are."""
        return Trellis(self.start, self.moves, (), self.stays).runs(observed)

    # -- paths -----------------------------------------------------------------------------------------

    def viterbi(self, observed: Observations) -> tuple[Array, Floats]:
        """Run Viterbi; return the most probable path and ln P(path, sequence) of each sequence."""
        scores = np.zeros(len(observed.starts) - 1)
        path = np.zeros(int(observed.starts[-1]), np.uint8 if len(self.start) <= 256 else np.uint16)
        for run in self.runs(observed):
            begins: list[Floats | None] = [None]
            for chunk in run[:-1]:
                rows = self._kernel_arguments(observed, chunk)
                begins.append(kernels.best_states(**rows, before=begins[-1], last=-1, keep=False)[2])
            state = -1
            for chunk, before in zip(reversed(run), reversed(begins), strict=True):
                found, score, _, came_from = kernels.best_states(
                    **self._kernel_arguments(observed, chunk), before=before, last=state, keep=True
                )
                path[chunk.a : chunk.b] = self._states(found)
                if state < 0:
                    scores[chunk.first : chunk.first + len(score)] = score
                state = came_from
        return path, scores

    def k_best_viterbi(self, observed: Observations, k: int) -> tuple[Array, Floats]:
        """Return the k most probable paths, shape (k, n_rows), and ln P(path, sequence), shape (n_sequences, k)."""
        whole = Chunk(0, int(observed.starts[-1]), 0, observed.starts)
        paths, scores = kernels.k_best_states(**self._kernel_arguments(observed, whole), k=k)
        return self._states(paths), scores

    def sample_paths(self, observed: Observations, rng: np.random.Generator) -> Array:
        """Draw a path for every sequence from P(path | sequence). Raises :class:`ImpossibleSequence`."""
        path = np.zeros(int(observed.starts[-1]), np.uint8 if len(self.start) <= 256 else np.uint16)
        uniforms = rng.random(len(path) + 1)
        for run in self.runs(observed):
            state = -1
            for chunk, before in zip(reversed(run), reversed(self._forward_boundaries(observed, run)), strict=True):
                found, log_likelihoods, state = kernels.draw_states(
                    **self._kernel_arguments(observed, chunk),
                    before=before,
                    last=state,
                    uniforms=uniforms[chunk.a : chunk.b + 1],
                )
                bad = np.flatnonzero(np.isneginf(log_likelihoods))
                if len(bad):
                    raise ImpossibleSequence(chunk.first + int(bad[0]), chunk.a)
                path[chunk.a : chunk.b] = self._states(found)
        return path

    def _states(self, copies: Any) -> Array:
        return np.asarray(copies) if self.stays.plain else self.stays.owner[copies]
