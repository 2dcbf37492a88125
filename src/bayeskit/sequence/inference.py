"""Inference with a fitted hidden Markov model: likelihoods, posteriors, Viterbi paths, forecasts and draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.schema import Schema
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.estimate.emissions import CategoricalEmission
from bayeskit.estimate.state_transitions import stationary_distribution
from bayeskit.memory import Need, check_memory
from bayeskit.models.base.classifier import class_array
from bayeskit.models.base.estimator import seed_of
from bayeskit.models.base.rules import check_integer
from bayeskit.nearest import did_you_mean
from bayeskit.sequence.base import SequenceModel, impossible_error, shares_table
from bayeskit.sequence.baum_welch import HMMParameters, HMMStructure
from bayeskit.sequence.explanation import StateExplanation, explain_state
from bayeskit.sequence.forward_backward import ImpossibleSequence, Observations, OnlineFilter, Trellis
from bayeskit.tables import ProbabilityTable, Table
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import UNDERFLOW
from bayeskit.typing import Array, Bools, Floats

MOST_SHOWN = 12  # states, columns and values that a printed model shows
FAINT = float(logspace.log(UNDERFLOW))


class StatePath(NamedTuple):
    """Path of states: ``log_joint`` is ln P(states, sequence), ``probability`` is P(states | sequence)."""

    states: list[Value]
    log_joint: float
    probability: float


class Posteriors(NamedTuple):
    """P(state | sequence), shape (n_steps, n_states), from ``step`` of a ``sequence`` on, both counted from 0."""

    sequence: int
    step: int
    probabilities: Floats


class Forecast(NamedTuple):
    """Forecast after the end of each sequence.

    ``states``: shape (n_sequences, n_steps, n_states). ``columns``: probabilities of symbols, or mean and variance, of
    each column, shape (n_sequences, n_steps) each.
    """

    states: Floats
    columns: dict[str, dict[str, Floats]]


class HMMInference(SequenceModel):
    """Inference methods of a model that has ``trellis_``, ``parameters_`` and ``structure_``."""

    tally_: Tally
    parameters_: HMMParameters
    structure_: HMMStructure
    trellis_: Trellis
    random_state: Any
    undecidable: Literal["error", "nan"]
    _observe: ClassVar[Callable[..., Any]]

    # -- parameters ------------------------------------------------------------------------------------

    @property
    def states_(self) -> Array:
        """Names of the states."""
        return class_array(tuple(self.tally_.classes))

    classes_ = states_

    @property
    def schema_(self) -> Schema:
        """Schema of the columns."""
        return self.tally_.schema

    @property
    def start_(self) -> Floats:
        """Start probabilities, shape (n_states,)."""
        return self.parameters_.start

    @property
    def transitions_(self) -> Floats:
        """Transition matrix, shape (n_states, n_states)."""
        return self.parameters_.moves

    def table(self, what: str = "transitions") -> Table:
        """Return a table of the parameters.

        Parameters
        ----------
        what : str, default="transitions"
            "start", "transitions", or a column, for its emission in each state.

        Returns
        -------
        Table
        """
        names = [str(state) for state in self.states_.tolist()]
        if what == "start":
            first = {"state": names, "P(first)": self.start_.tolist()}
            shares = self.start_[None]
            return ProbabilityTable(first, variable="first state", values=names, given="", contexts=[""], shares=shares)
        if what == "transitions":
            return shares_table("from", names, "next state", names, self.transitions_)
        for emission in self.parameters_.emissions:
            if what in emission.names:
                if isinstance(emission, CategoricalEmission):
                    return shares_table("state", names, what, emission.values, emission.probabilities)
                return Table({"state": names, **emission.table(what)})
        known = ["start", "transitions", *self.schema_.used]
        raise BayesError(f"there is no table {what!r} ({', '.join(known)}){did_you_mean(what, known)}")

    def n_parameters(self) -> int:
        """Return the number of free parameters.

        Returns
        -------
        int
        """
        return self.structure_.rules.n_parameters() + sum(e.n_parameters() for e in self.parameters_.emissions)

    def expected_time(self) -> Table:
        """Return the mean length of a visit to each state, and the share of steps in the long run.

        Returns
        -------
        Table
        """
        stay, least = np.diagonal(self.transitions_), self.structure_.stays.least
        with np.errstate(divide="ignore"):
            visit = least + np.where(stay < 1, stay / (1 - stay), np.inf)
        copies = logspace.exp(self.structure_.stays.log_moves(self.transitions_))
        share = self.structure_.stays.summed(stationary_distribution(copies))
        names = [str(state) for state in self.states_.tolist()]
        return Table({"state": names, "steps of a visit": visit.tolist(), "share in the long run": share.tolist()})

    # -- likelihoods -----------------------------------------------------------------------------------

    def log_likelihood(self, X: Any, lengths: Any = None) -> Floats:
        """Return ln P(sequence) of each sequence (forward algorithm).

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_sequences,)
            0 for an empty sequence, −∞ for an impossible one.
        """
        return self.trellis_.log_likelihoods(self._observed(X, lengths)[1])

    def score(self, X: Any, y: Any = None, lengths: Any = None) -> float:
        """Return ln P of all sequences or, given their states, the accuracy of :meth:`predict`.

        Parameters
        ----------
        X : sequences
        y : sequences of states, optional
        lengths : array-like of int, optional

        Returns
        -------
        float
        """
        if y is None:
            return float(self.log_likelihood(X, lengths).sum())
        sequences = self._read(X, y, lengths)
        states: Any = sequences.labels
        labels = states.to_pylist() if hasattr(states, "to_pylist") else states
        pairs = zip(labels, chain.from_iterable(self.predict(sequences)), strict=True)
        known = [a == b for a, b in pairs if a is not None and a == a]
        if not known:
            raise BayesError("no position has a state to compare with")
        return float(np.mean(known))

    def _log_terms(self, sequences: Sequences) -> Floats:
        """Return ln P(row | rows before it) of each step; their sum is ``log_likelihood``."""
        terms, observed = np.zeros(sequences.n_rows), self._observe(sequences)
        first, log_moves = self.trellis_.log_chain
        moves = logspace.exp(log_moves)
        carried: Floats | None = None
        for chunk, filtered, _, _ in self.trellis_.forward(observed):
            scores = self.trellis_.scores(observed.rows(chunk.a, chunk.b))[:, self.structure_.stays.owner]
            past = np.vstack([filtered[:1] if carried is None else carried[None], filtered[:-1]])
            before = logspace.log(logspace.exp(past) @ moves)
            for t in np.flatnonzero(((past < FAINT) & (past > -np.inf)).any(axis=1)).tolist():  # underflow of a state
                before[t] = logspace.log_sum_exp(past[t][:, None] + log_moves, axis=0)
            begins = chunk.starts[:-1][np.diff(chunk.starts) > 0]
            begins = begins if carried is None else begins[begins > 0]
            before[begins] = first
            terms[chunk.a : chunk.b] = logspace.log_sum_exp(np.where(np.isnan(before), -np.inf, before) + scores)
            goes_on = chunk.b < int(sequences.starts[chunk.first + len(chunk.starts) - 1])
            carried = filtered[-1] if goes_on else None
        return terms

    # -- states and paths ------------------------------------------------------------------------------

    def predict(self, X: Any, lengths: Any = None) -> list[list[Any]]:
        """Return the most probable path of states of each sequence (Viterbi).

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        list of list
            The state of every step.
        """
        sequences, observed = self._observed(X, lengths)
        path, scores = self.trellis_.viterbi(observed)
        return self._named(sequences, path, np.isneginf(scores))

    def decode(self, X: Any, lengths: Any = None) -> list[StatePath]:
        """Return the most probable path of each sequence (Viterbi) with its probability.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        list of StatePath
        """
        sequences, observed = self._observed(X, lengths)
        path, scores = self.trellis_.viterbi(observed)
        evidence = self.trellis_.log_likelihoods(observed)
        states = self._named(sequences, path, np.isneginf(scores))
        return [_path(path, score, whole) for path, score, whole in zip(states, scores, evidence, strict=True)]

    def best_paths(self, X: Any, k: int = 5, lengths: Any = None) -> list[list[StatePath]]:
        """Return the k most probable paths of each sequence, best first.

        Parameters
        ----------
        X : sequences
        k : int, default=5
        lengths : array-like of int, optional

        Returns
        -------
        list of list of StatePath
            Fewer than k paths if no more are possible.
        """
        check_integer("k", k, 1)
        sequences, observed = self._observed(X, lengths)
        longest = int(sequences.lengths.max(initial=0))
        need = 4.0 * longest * len(self.structure_.stays.owner) * k + 8.0 * sequences.n_rows * (k + len(self.start_))
        check_memory(Need(f"the {k} best paths of {longest:,} steps", need, "Ask for fewer."), self.memory_limit)
        paths, scores = self.trellis_.k_best_viterbi(observed, int(k))
        evidence = self.trellis_.log_likelihoods(observed)
        named = [self._named(sequences, path, np.isneginf(scores[:, 0])) for path in paths]
        possible = [[rank for rank in range(k) if score[rank] > -np.inf or not rank] for score in scores]
        return [[_path(named[r][i], scores[i, r], evidence[i]) for r in ranks] for i, ranks in enumerate(possible)]

    def predict_codes(self, X: Any, lengths: Any = None) -> list[Array]:
        """Return the Viterbi path as positions in ``states_``, one byte per step, for very long sequences.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        list of ndarray of shape (n_steps,)
        """
        sequences, observed = self._observed(X, lengths)
        path, scores = self.trellis_.viterbi(observed)
        for i in np.flatnonzero(np.isneginf(scores))[:1].tolist():
            raise BayesError(f"{sequences.name(i)} is impossible: it has no path of states")
        return [path[a:b] for a, b in pairwise(sequences.starts.tolist())]

    def predict_proba(self, X: Any, lengths: Any = None) -> list[Floats]:
        """Return the posterior P(state | sequence) of every step (forward–backward).

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        list of ndarray of shape (n_steps, n_states)
        """
        sequences = self._sequences(X, lengths)
        return self._cut(sequences, self._forward_backward(sequences))

    def decode_steps(self, X: Any, lengths: Any = None) -> list[list[Any]]:
        """Return the most probable state of every step by itself (posterior decoding).

        The states of a sequence may be impossible together.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        list of list
        """
        sequences = self._sequences(X, lengths)
        posteriors = self._forward_backward(sequences)
        lost = np.concatenate([[0], np.cumsum(np.isnan(posteriors).any(axis=1))])[sequences.starts]
        gone = np.diff(lost) > 0
        return self._named(sequences, np.nan_to_num(posteriors).argmax(axis=1), gone)

    def posterior_blocks(self, X: Any, lengths: Any = None) -> Iterator[Posteriors]:
        """Yield P(state | sequence) a few thousand steps at a time, for sequences too long to hold at once.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Yields
        ------
        Posteriors
        """
        sequences, observed = self._observed(X, lengths)
        for chunk, posteriors in self.trellis_.posteriors(observed):
            for i, (a, b) in enumerate(pairwise(chunk.starts.tolist())):
                first = chunk.a + a - int(sequences.starts[chunk.first + i])
                self._refuse(sequences, chunk.first + i, bool(b > a and np.isnan(posteriors[a]).any()), observed)
                yield Posteriors(chunk.first + i, first, posteriors[a:b])

    def filter(self, X: Any, lengths: Any = None) -> list[Floats]:
        """Return P(state | the sequence up to this step) of every step.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        list of ndarray of shape (n_steps, n_states)
        """
        sequences, observed = self._observed(X, lengths)
        filtered_shares = np.zeros((sequences.n_rows, len(self.start_)))
        for chunk, filtered, _, impossible in self.trellis_.forward(observed):
            for i in np.flatnonzero(impossible >= 0).tolist():
                self._refuse(sequences, chunk.first + i, True, observed)
            filtered_shares[chunk.a : chunk.b] = self.structure_.stays.summed(logspace.exp(filtered))
        return self._cut(sequences, filtered_shares)

    def time_in_states(self, X: Any, lengths: Any = None) -> Floats:
        """Return the expected number of steps of each sequence in each state.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_sequences, n_states)
        """
        sequences = self._sequences(X, lengths)
        total = np.zeros((len(sequences), len(self.start_)))
        for part in self.posterior_blocks(sequences):
            total[part.sequence] += part.probabilities.sum(axis=0)
        return total

    def online(self) -> OnlineFilter:
        """Return a filter that takes one observation at a time.

        Returns
        -------
        OnlineFilter
        """
        return OnlineFilter(self.trellis_, self.schema_, self.states_)

    def explain(
        self, X: Any, step: int, sequence: int = 0, state: Any = None, against: Any = None, lengths: Any = None
    ) -> StateExplanation:
        """Explain the state of one step by the evidence of past, observation and future.

        Parameters
        ----------
        X : sequences
        step : int
            Step of the sequence, from 0.
        sequence : int, default=0
        state, against : optional
            States to compare, by default the two most probable ones.
        lengths : array-like of int, optional

        Returns
        -------
        StateExplanation
            Parts that sum to the log odds.
        """
        check_integer("step", step, 0)
        check_integer("sequence", sequence, 0)
        sequences = self._sequences(X, lengths)
        if not 0 <= sequence < len(sequences):
            raise BayesError(f"sequence={sequence}: there are {len(sequences)}, counted from 0")
        part = sequences.take([sequence])
        if not 0 <= step < part.n_rows:
            raise BayesError(f"step={step}: the sequence has {part.n_rows} steps, counted from 0")
        observed = self._observe(part)
        self._refuse(part, 0, bool(np.isneginf(self.trellis_.log_likelihoods(observed)[0])), observed)
        names = self.states_.tolist()
        return explain_state(self.trellis_, observed, step, names, self._code(state, names), self._code(against, names))

    @staticmethod
    def _code(state: Any, names: list[Any]) -> int | None:
        if state is None:
            return None
        if state not in names:
            raise BayesError(f"{state!r} is not a state{did_you_mean(state, names)} ({', '.join(map(str, names[:8]))})")
        return names.index(state)

    # -- forecasts -------------------------------------------------------------------------------------

    def forecast(self, X: Any, steps: int = 1, lengths: Any = None) -> Forecast:
        """Return the distribution of states and columns in the next steps after each sequence.

        Parameters
        ----------
        X : sequences
        steps : int, default=1
        lengths : array-like of int, optional

        Returns
        -------
        Forecast
        """
        check_integer("steps", steps, 1)
        sequences, observed = self._observed(X, lengths)
        likelihoods, last = self.trellis_.final_forward(observed)
        for i in np.flatnonzero(np.isneginf(likelihoods)).tolist():
            self._refuse(sequences, i, True, observed)
        stays = self.structure_.stays
        moves, ahead, now = logspace.exp(stays.log_moves(self.transitions_)), [], logspace.exp(last)
        empty = sequences.lengths == 0
        for step in range(int(steps)):
            now = np.where((empty & (step == 0))[:, None], logspace.exp(stays.log_start(self.start_)), now @ moves)
            ahead.append(stays.summed(now))
        states = np.stack(ahead, axis=1)
        flat = states.reshape(-1, states.shape[2])
        columns = {
            name: {key: part.reshape(states.shape[:2]) for key, part in emission.forecast(name, flat).items()}
            for emission in self.parameters_.emissions
            for name in emission.names
        }
        return Forecast(states, columns)

    def predict_next(self, X: Any, lengths: Any = None, steps: int = 1) -> Floats:
        """Return the distribution of the symbol ``steps`` after the end of each sequence.

        Parameters
        ----------
        X : sequences
            Of a model with one column of symbols.
        lengths : array-like of int, optional
        steps : int, default=1

        Returns
        -------
        ndarray of shape (n_sequences, n_symbols)
        """
        emissions = self.parameters_.emissions
        if len(emissions) != 1 or not isinstance(emissions[0], CategoricalEmission):
            raise BayesError("predict_next is of one column of symbols: forecast says what is expected of several")
        columns = self.forecast(X, steps, lengths).columns[emissions[0].name]
        return np.stack([part[:, -1] for part in columns.values()], axis=1)

    # -- sampling --------------------------------------------------------------------------------------

    def sample(self, n: int = 1, length: int = 10, random_state: Any = None, states: bool = False) -> Any:
        """Draw sequences from the model.

        Parameters
        ----------
        n : int, default=1
            Number of sequences.
        length : int, default=10
        random_state : int, optional
        states : bool, default=False
            Return the hidden states as well.

        Returns
        -------
        list of list, or (sequences, states)
            Cells for one column, records for several.
        """
        self._check_draws(n, length, 1 + len(self.schema_.used))
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        starts = np.arange(n + 1, dtype=np.int64) * length
        stays = self.structure_.stays
        path, _, _ = kernels.draw_states(
            np.zeros((1, len(stays.owner))), np.zeros(n * length, np.uint8), None, None, None, starts,
            stays.log_start(self.start_), stays.log_moves(self.transitions_), None, -1, rng.random(n * length + 1), 1,
        )  # fmt: skip
        codes = stays.owner[path]
        cells: dict[str, list[Any]] = {}
        for emission in self.parameters_.emissions:
            cells |= {name: column.to_pylist() for name, column in emission.sample(codes, rng).items()}
        used = [name for name in self.schema_.used if name in cells]
        listed = zip(*(cells[name] for name in used), strict=True)
        rows = cells[used[0]] if len(used) == 1 else [dict(zip(used, row, strict=True)) for row in listed]
        drawn = [rows[a:b] for a, b in pairwise(starts.tolist())]
        names = self.states_[codes].tolist()
        return (drawn, [names[a:b] for a, b in pairwise(starts.tolist())]) if states else drawn

    def sample_paths(self, X: Any, n: int = 1, random_state: Any = None, lengths: Any = None) -> list[list[list[Any]]]:
        """Draw paths of states from P(path | sequence).

        Parameters
        ----------
        X : sequences
        n : int, default=1
            Number of paths per sequence.
        random_state : int, optional
        lengths : array-like of int, optional

        Returns
        -------
        list of list of list
            n paths for each sequence.
        """
        check_integer("n", n, 0)
        sequences, observed = self._observed(X, lengths)
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        try:
            draws = [self.trellis_.sample_paths(observed, rng) for _ in range(n)]
        except ImpossibleSequence as problem:
            at = problem.args[0]
            self._refuse(sequences, at, True, observed)
            raise BayesError(f"{sequences.name(at)} is impossible, so no path can be drawn") from None
        named = [self._named(sequences, path, np.zeros(len(sequences), bool)) for path in draws]
        return [[paths[i] for paths in named] for i in range(len(sequences))]

    # -- internals -------------------------------------------------------------------------------------

    def _observed(self, X: Any, lengths: Any) -> tuple[Sequences, Observations]:
        """Check the model, read sequences and encode them."""
        sequences = self._sequences(X, lengths)
        return sequences, self._observe(sequences)

    def _forward_backward(self, sequences: Sequences) -> Floats:
        observed = self._observe(sequences)
        answers = np.zeros((sequences.n_rows, len(self.start_)))
        for chunk, part in self.trellis_.posteriors(observed):
            answers[chunk.a : chunk.b] = part
        for i in np.flatnonzero(np.isnan(answers).any(axis=1))[:1].tolist():
            self._refuse(sequences, int(np.searchsorted(sequences.starts, i, side="right")) - 1, True, observed)
        return answers

    def _refuse(self, sequences: Sequences, i: int, impossible: bool, observed: Observations) -> None:
        """Raise an error for an impossible sequence unless ``undecidable="nan"``."""
        if not impossible or self.undecidable == "nan":
            return
        row = next(
            int(first[at]) for chunk, _, _, first in self.trellis_.forward(observed)
            for at in [i - chunk.first] if 0 <= at < len(first) and first[at] >= 0
        )  # fmt: skip
        raise impossible_error(sequences.name(i), row - int(sequences.starts[i]) + 1)

    def _named(self, sequences: Sequences, path: Any, impossible: Bools) -> list[list[Any]]:
        if impossible.any():
            i = int(np.argmax(impossible))
            self._refuse(sequences, i, True, self._observe(sequences))
        named = sequences.listed(self.states_[np.asarray(path, dtype=np.int64)])
        pairs = zip(named, impossible.tolist(), strict=True)
        return [[None] * len(states) if gone else states for states, gone in pairs]

    def _cut(self, sequences: Sequences, rows: Floats) -> list[Floats]:
        return [rows[a:b] for a, b in pairwise(sequences.starts.tolist())]

    def _facts(self) -> tuple[Any, ...]:
        facts = f"{len(self.start_)} states, {self.n_parameters():,} parameters"
        shown: list[Any] = [self.table("transitions" if len(self.start_) <= MOST_SHOWN else "start").grid]
        for name in self.schema_.used[:MOST_SHOWN]:
            emission = self.table(name)
            few = len(emission) - 1 <= MOST_SHOWN and len(self.start_) <= MOST_SHOWN
            shown += [f"{name} in each state", emission.grid] if few else [f"table({name!r}) shows it in each state"]
        return f"{', '.join(self.schema_.used)}: {facts}", *shown


def _path(states: Sequence[Any], score: float, evidence: float) -> StatePath:
    probability = float(logspace.exp(score - evidence)) if evidence > -np.inf else float("nan")
    return StatePath(list(states), float(score), probability)
