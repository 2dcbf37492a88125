"""Forward–backward, Viterbi and online filtering over hidden states.

Sequences are processed chunk by chunk so that long ones fit in memory. A single categorical or Gaussian emission is
read directly by the kernels. Anything else is scored a chunk at a time: some thousand rows of a long sequence, or many
short sequences together. A long sequence is processed twice: once to find the probabilities at the chunk boundaries,
and once for the result. :class:`OnlineFilter` takes one observation at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.cells import LARGEST
from bayeskit.data.schema import Schema
from bayeskit.data.vocabulary import canonical
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions import (
    CategoricalEmission,
    Emission,
    GaussianEmission,
    MultinomialEmission,
    PoissonEmission,
    Statistics,
    add_statistics,
)
from bayeskit.estimate.state_transitions import MinimumStays
from bayeskit.models.base.rules import check_integer
from bayeskit.tolerance import UNDERFLOW
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


class HMMStatistics(NamedTuple):
    """Sufficient statistics: starts (n_states,), free transitions (n_states, n_states) and those of each emission."""

    starts: Floats
    moves: Floats
    emissions: tuple[Statistics, ...]

    @classmethod
    def zeros(cls, n_states: int, emissions: Sequence[Emission]) -> HMMStatistics:
        """Return statistics of zero."""
        sums = tuple(tuple(np.zeros(shape) for shape in emission.shapes(n_states)) for emission in emissions)
        return cls(np.zeros(n_states), np.zeros((n_states, n_states)), sums)

    def plus(self, other: HMMStatistics) -> HMMStatistics:
        """Return the sum of both sides."""
        emissions = tuple(add_statistics(a, b) for a, b in zip(self.emissions, other.emissions, strict=True))
        return HMMStatistics(self.starts + other.starts, self.moves + other.moves, emissions)

    def arrays(self) -> list[Floats]:
        """Return all arrays in a list."""
        return [self.starts, self.moves, *(array for sums in self.emissions for array in sums)]


class ImpossibleSequence(Exception):
    """Raised with the number of a sequence that no path of states can produce, and the row where it ends."""


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
    def log_chain(self) -> tuple[Floats, Floats]:
        """ln P of the first copy of a state, and of the moves between copies."""
        return self.stays.log_start(self.start), self.stays.log_moves(self.moves)

    @cached_property
    def _allowed(self) -> Bytes:
        """Allowed copies by label, shape (n_states + 1, n_copies); label 0 allows all."""
        own = self.stays.owner[None, :] == np.arange(len(self.start))[:, None]
        return np.vstack([np.ones((1, own.shape[1]), bool), own]).astype(np.uint8)

    @property
    def only_emission(self) -> Emission | None:
        """The emission if there is only one."""
        return self.emissions[0] if len(self.emissions) == 1 else None

    @cached_property
    def _symbols(self) -> CategoricalEmission | None:
        """The categorical emission if it is the only one."""
        only = self.only_emission
        return only if isinstance(only, CategoricalEmission) else None

    @cached_property
    def _normals(self) -> GaussianEmission | None:
        """The Gaussian emission if it is the only one and every column varies."""
        only = self.only_emission
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
            normals = ([block.floats[name] for name in numbers.names], *tables, numbers.center)
        else:
            logs = self.scores(block)
        return {
            "logs": logs if self.stays.plain else np.ascontiguousarray(logs[:, self.stays.owner]),
            "codes": None if symbols is None else block.codes[symbols.name],
            "labels": known,
            "allowed": None if known is None else self._allowed,
            "normals": normals,
            "starts": chunk.starts,
            "log_start": self.log_chain[0],
            "log_transition": self.log_chain[1],
            "n_threads": self.n_threads,
        }

    def runs(self, observed: Observations) -> Iterator[list[Chunk]]:
        """Yield lists of consecutive chunks: those of one long sequence, or one chunk of many short ones."""
        starts = observed.starts
        n = len(starts) - 1
        if self._reads_columns_directly:
            yield [Chunk(0, int(starts[-1]), 0, starts)]
            return
        long = np.append(np.flatnonzero(np.diff(starts) > LONG), n)
        i = 0
        while i < n:
            next_long = int(long[np.searchsorted(long, i)])
            end = int(np.searchsorted(starts, starts[i] + TOGETHER, side="right")) - 1
            end = min(max(end, i + 1), max(next_long, i + 1))
            a, b = int(starts[i]), int(starts[end])
            if next_long == i:
                yield [Chunk(c, d, i, np.array([0, d - c])) for c, d in pairwise([*range(a, b, LONG), b])]
            else:
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
            for chunk, log_likelihoods, impossible, filtered in self._filter(observed, run, every=False):
                own = slice(chunk.first, chunk.first + len(chunk.starts) - 1)
                found[own] += log_likelihoods
                last[own] = filtered
                if len(run) > 1 and impossible[0] >= 0:
                    break
        return found, last

    def forward(self, observed: Observations) -> Iterator[tuple[Chunk, Floats, Floats, Ints]]:
        """Run the forward algorithm, chunk by chunk.

        Yields the chunk, ln P(copy | rows so far), ln P of its sequences, and their first impossible row or −1.
        """
        for run in self.runs(observed):
            for chunk, log_likelihoods, impossible, filtered in self._filter(observed, run, every=True):
                yield chunk, filtered, log_likelihoods, np.where(impossible < 0, -1, impossible + chunk.a)

    def _filter(self, observed: Observations, run: list[Chunk], before: Any = None, *, every: bool) -> Iterator[Any]:
        """Yield the chunks of a run with the results of the kernel, for every row or for the last of each sequence."""
        for chunk in run:
            found = kernels.filter_states(**self._kernel_arguments(observed, chunk), before=before, every=every)
            yield chunk, *found
            before = np.ascontiguousarray(found[2][-1]) if len(run) > 1 else None

    def _forward_boundaries(
        self, observed: Observations, run: list[Chunk], first: Floats | None = None
    ) -> list[Floats | None]:
        """Return the forward log probabilities before each chunk; ``first`` if the sequence began earlier."""
        before: list[Floats | None] = [first]
        ends = self._filter(observed, run[:-1], first, every=False)
        for (chunk, _, impossible, filtered), row in zip(ends, self._boundary_rows(run), strict=True):
            if impossible[0] >= 0:
                raise ImpossibleSequence(chunk.first, chunk.a + int(impossible[0]))
            row[:] = filtered[0]
            before.append(row)
        return before

    def _boundary_rows(self, run: list[Chunk]) -> Floats:
        """Allocate one row per chunk boundary in a single array, to avoid memory fragmentation."""
        return np.empty((len(run) - 1, len(self.stays.owner)))

    # -- expectations ----------------------------------------------------------------------------------

    def expected_counts(self, observed: Observations) -> tuple[Floats, HMMStatistics]:
        """Run forward–backward; return ln P of each sequence and the expected statistics.

        Raises :class:`ImpossibleSequence` for the first impossible sequence.
        """
        n_copies = len(self.stays.owner)
        likelihoods = np.zeros(len(observed.starts) - 1)
        starts, moves = np.zeros(n_copies), np.zeros((n_copies, n_copies))
        sums = HMMStatistics.zeros(len(self.start), self.emissions).emissions
        for run in self.runs(observed):
            begins, after = self._forward_boundaries(observed, run), None
            for chunk, before in zip(reversed(run), reversed(begins), strict=True):
                counted = self._forward_backward(observed, chunk, before, after, not self._reads_columns_directly)
                found, impossible, first, moved, shares, after = counted
                for i in np.flatnonzero(impossible >= 0)[:1].tolist():
                    raise ImpossibleSequence(chunk.first + i, chunk.a + int(impossible[i]))
                likelihoods[chunk.first : chunk.first + len(found)] += found
                starts += first
                moves += moved
                if self._normals is not None:
                    sums = (tuple(np.swapaxes(self.stays.summed(np.swapaxes(shares, 1, 2)), 1, 2)),)
                elif self._symbols is not None:
                    sums = ((np.ascontiguousarray(self.stays.summed(shares)[1:-1].T),),)
                else:
                    block, shares = observed.rows(chunk.a, chunk.b), np.ascontiguousarray(self.stays.summed(shares))
                    own = (e.statistics_of_rows(block, shares, self.n_threads) for e in self.emissions)
                    sums = tuple(add_statistics(whole, part) for whole, part in zip(sums, own, strict=True))
        return likelihoods, HMMStatistics(self.stays.summed(starts), self.stays.counted_moves(moves), sums)

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

    def _forward_backward(
        self, observed: Observations, chunk: Chunk, before: Any, after: Any, by_row: bool = True
    ) -> Any:
        arguments = self._kernel_arguments(observed, chunk)
        return kernels.count_states(**arguments, before=before, after=after, by_row=by_row)

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
                rows = self._kernel_arguments(observed, chunk)
                found, score, _, came_from = kernels.best_states(**rows, before=before, last=state, keep=True)
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
                rows, own = self._kernel_arguments(observed, chunk), uniforms[chunk.a : chunk.b + 1]
                found, log_likelihoods, state = kernels.draw_states(**rows, before=before, last=state, uniforms=own)
                for i in np.flatnonzero(np.isneginf(log_likelihoods))[:1].tolist():
                    raise ImpossibleSequence(chunk.first + i, chunk.a)
                path[chunk.a : chunk.b] = self._states(found)
        return path

    def _states(self, copies: Any) -> Array:
        return np.asarray(copies) if self.stays.plain else self.stays.owner[copies]


FAINT, LEAST_MOVE = 2.0**-600, 2.0**-300  # as in native/simd/hidden_markov_loops.hpp
LOG_FAINT = float(logspace.log(FAINT))
MOST_ROWS = 100_000  # maximum number of cached symbols


class OnlineFilter:
    """Filter that takes one observation at a time, in microseconds.

    >>> from bayeskit import HiddenMarkovModel
    >>> model = HiddenMarkovModel(n_states=2, n_starts=1).fit([["a", "a", "b", "b", "a", "a", "b", "b"]])
    >>> now = model.online()
    >>> bool(np.allclose([now.update(symbol) for symbol in "aab"], model.filter([list("aab")])[0]))
    True
    >>> bool(np.isclose(now.log_likelihood, model.log_likelihood([list("aab")])[0]))
    True
    """

    def __repr__(self) -> str:
        return f"OnlineFilter(states={self.states.tolist()}, log_likelihood={self.log_likelihood:.6g})"

    def __init__(self, trellis: Trellis, schema: Schema, states: Array) -> None:
        self.states = states
        self._lattice, self._names, self._measured = trellis, schema.used, frozenset(schema.measured)
        stays = trellis.stays
        self._log_first, self._log_moves = trellis.log_chain
        self._first, self._moves = logspace.exp(self._log_first), logspace.exp(self._log_moves)
        self._hard = bool((self._moves < LEAST_MOVE).any())  # otherwise faded states recover from others
        self._owner = None if stays.plain else stays.owner
        counted = [e for e in trellis.emissions if isinstance(e, (PoissonEmission, MultinomialEmission))]
        self._counts = frozenset(name for emission in counted for name in emission.names)
        only = trellis.only_emission
        self._rows: dict[Any, tuple[Floats, Floats, float]] = {}  # by symbol
        self._symbols = isinstance(only, CategoricalEmission)
        self._normals: kernels.NormalRow | None = None
        if isinstance(only, GaussianEmission) and len(only.used):
            tables = (np.ascontiguousarray(table[stays.owner]) for table in only.normal_form)
            self._normals, self._varying = kernels.NormalRow(*tables), [only.names[j] for j in only.used]
        self.restart()

    def restart(self) -> None:
        """Start a new sequence."""
        self._belief: Floats | None = None
        self._log_belief: Floats | None = None
        self._faded = False
        self.n_steps = 0
        self._log_likelihood, self._likelihood_since = 0.0, 1.0  # the product of several steps is logged at once

    def update(self, observation: Any) -> Floats:
        """P(state) after one more observation: a cell where there is one column, else a mapping from column to cell.

        An observation that is impossible now is refused, and nothing changes.
        """
        likelihood, logs, top = self._likelihood(observation)
        if not self._faded:
            expected: Floats = self._first if self._belief is None else self._belief.dot(self._moves)  # faster than @
            total = float(expected.dot(likelihood))
            belief = expected * likelihood
            fades = self._hard and ((belief < FAINT) & (expected > 0) & (logs > -np.inf)).any()  # a possible state
            if total > UNDERFLOW and not fades:
                belief /= total
                self._hold(belief, None)
                if self._likelihood_since * total <= UNDERFLOW:
                    self._log_likelihood, self._likelihood_since = self.log_likelihood, 1.0
                self._likelihood_since *= total
                self._log_likelihood += top
                return belief if self._owner is None else self.probabilities
        self._in_logarithms(logs)
        return self.probabilities

    def _hold(self, belief: Floats, log_belief: Floats | None) -> None:
        belief.setflags(write=False)  # it is returned to the caller and reused in the next step
        self._belief, self._log_belief = belief, log_belief
        self.n_steps += 1

    @property
    def log_likelihood(self) -> float:
        """ln P(observations so far)."""
        return self._log_likelihood + float(logspace.log(self._likelihood_since))

    @property
    def probabilities(self) -> Floats:
        """Current state probabilities, shape (n_states,); the start probabilities before any observation."""
        if self._belief is None:
            return self._lattice.start.copy()
        return self._belief if self._owner is None else self._lattice.stays.summed(self._belief)

    def forecast(self, steps: int = 1) -> Floats:
        """Return the state probabilities after ``steps`` more steps, shape (n_states,)."""
        check_integer("steps", steps, 1)
        now = self._first if self._belief is None else self._belief @ self._moves
        for _ in range(steps - 1):
            now = now @ self._moves
        return self._lattice.stays.summed(now)

    def _in_logarithms(self, logs: Floats) -> None:
        """Update in log space, where probabilities underflow."""
        if self._belief is None:
            before = self._log_first
        else:
            past = logspace.log(self._belief) if self._log_belief is None else self._log_belief
            before = logspace.log_sum_exp(past[:, None] + self._log_moves, axis=0)
        joint = before + logs
        total = float(logspace.log_sum_exp(joint))
        if total == -np.inf:
            raise BayesError(f"step {self.n_steps + 1} is impossible after those before it (probability zero)")
        log_belief = joint - total
        self._faded = self._hard and bool(((log_belief < LOG_FAINT) & (log_belief > -np.inf)).any())
        self._hold(logspace.exp(log_belief), log_belief)
        self._log_likelihood += total

    def _likelihood(self, observation: Any) -> tuple[Floats, Floats, float]:
        """Return (exp(log − top), log, top) of the emission of each copy of a state."""
        if self._normals is not None:
            return self._of_numbers(observation, self._normals)
        if not self._symbols or isinstance(observation, Mapping):
            return self._scored(self._record(observation))
        try:
            row = self._rows.get(observation)
        except TypeError:  # unhashable values are not cells
            row = None
        if row is None:
            row = self._scored(self._record(observation))
            if len(self._rows) < MOST_ROWS:
                self._rows[observation] = row
        return row

    def _of_numbers(self, observation: Any, normals: kernels.NormalRow) -> tuple[Floats, Floats, float]:
        """Score an observation of numbers; anything but floats is read as a record."""
        if isinstance(observation, dict):
            cells: list[Any] = [observation.get(name) for name in self._varying]
        elif len(self._names) == 1:
            cells = [observation]
        else:
            raise self._no_record()
        for cell in cells:
            if type(cell) is not float or not -LARGEST < cell < LARGEST:
                record = self._record(observation)
                cells = [record[name] for name in self._varying]
                break
        (likelihood, logs), top = normals.score(cells)
        return likelihood, logs, top

    def _record(self, observation: Any) -> dict[str, Any]:
        """Read an observation as cells by column; missing numbers are NaN."""
        if not isinstance(observation, Mapping):
            if len(self._names) != 1:
                raise self._no_record()
            observation = {self._names[0]: observation}
        elif not any(name in observation for name in self._names):
            raise self._no_record()
        cells = {name: canonical(observation.get(name)) for name in self._names}
        return cells | {name: self._number(name, cells[name]) for name in self._measured if name in cells}

    def _number(self, name: str, cell: Any) -> float:
        if cell is None:
            return float("nan")
        if isinstance(cell, str):
            what = "not a number"
        elif abs(cell) > LARGEST:
            what = f"too large (beyond {LARGEST:g})"
        elif name in self._counts and (cell < 0 or cell != int(cell)):
            what = "not a count (a whole number from 0)"
        else:
            return float(cell)
        raise BayesError(f"column {name!r} is {cell!r} at step {self.n_steps + 1}, {what}")

    def _no_record(self) -> BayesError:
        return BayesError(f"an observation is a mapping from column to cell ({', '.join(self._names)})")

    def _scored(self, record: Mapping[str, Any]) -> tuple[Floats, Floats, float]:
        logs = reduce(np.add, (emission.score_record(record) for emission in self._lattice.emissions))
        logs = logs if self._owner is None else logs[self._owner]
        top = float(logs.max())
        top = top if top > -np.inf else 0.0
        return logspace.exp(logs - top), logs, top
