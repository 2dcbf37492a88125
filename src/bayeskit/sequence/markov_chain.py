"""MarkovChain: each symbol depends on the k before it.

Formula: P(x_1 … x_T) = Π P(x_t ∣ x_{t−k} … x_{t−1})
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Schema, Target, as_classes
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, union
from bayeskit.errors import BayesError, NotLearned, UnknownValue
from bayeskit.estimate.sampling import draw_slots
from bayeskit.estimate.smoothing import Automatic, BackOff, as_smoothing
from bayeskit.estimate.transition_table import TransitionTable
from bayeskit.memory import Need, check_memory
from bayeskit.models.base import rules
from bayeskit.models.base.available import conditional_property, unavailable
from bayeskit.models.base.classifier import refuse_no_counts
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.left_out import LeftOutRows
from bayeskit.sequence.base import UNSEEN, SequenceModel, shares_table, unknown_step
from bayeskit.storage.model_file import State
from bayeskit.tables import Grid, Table
from bayeskit.tally.plan import Space
from bayeskit.tally.tally import Tally
from bayeskit.tally.transitions import Transitions, run_keys, runs_of
from bayeskit.typing import Floats, Ints

MOST_ORDER = 1_000


@dataclass(eq=False, repr=False)
class MarkovChain(SequenceModel):
    """Markov chain of symbols, each depending on the ``order`` before it, learned by counting.

    A missing step is skipped, and so are the steps whose context contains it. The length of sequences is not modeled;
    an empty sequence has probability 1.

    Parameters
    ----------
    order : int, default=1
        Number of symbols in the context.
    smoothing : float, str or smoothing, default=1.0
        Pseudo-count (1 is Laplace), "auto", "back-off" (interpolate with shorter contexts, best for orders above 1), or
        a smoothing such as ``Lidstone(0.5)``.
    symbols : sequence, optional
        All possible symbols, by default those seen.
    unseen : {"ignore", "error"}, default="ignore"
        Skip symbols never seen, or raise an error.
    n_threads : int, optional
    memory_limit : int or str, optional

    Attributes
    ----------
    symbols_ : tuple
        Sorted symbols.
    start_ : ndarray of shape (n_symbols,)
        Start probabilities.
    transitions_ : ndarray of shape (n_symbols, n_symbols)
        Transition matrix of a chain of order 1.

    Examples
    --------
    >>> chain = MarkovChain(smoothing=0).fit([["sun", "sun", "rain"], ["rain", "rain", "sun", "sun"]])
    >>> print(chain.table())
    after   rain   sun
    (start)  0.5   0.5
    rain     0.5   0.5
    sun   0.333333 0.666667
    >>> float(logspace.exp(chain.log_likelihood([["sun", "rain"]])[0]).round(4))          # 1/2 · 1/3
    0.1667
    >>> chain.predict_next([["rain", "sun"]]).round(3).tolist()
    [[0.333, 0.667]]
    """

    order: int = 1
    smoothing: Any = 1.0
    symbols: Any = None
    unseen: Literal["ignore", "error"] = "ignore"
    n_threads: int | None = None
    memory_limit: Any = None

    _rows_are: ClassVar[str] = "steps"
    predict_proba = unavailable("it has no classes. predict_next has the probabilities of the next symbol")
    predict = unavailable("it has no classes. predict_next has the probabilities of the next symbol")
    leave_one_out = unavailable("it has no classes. A SequenceClassifier of chains has it")

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Count the transitions of sequences.

        Parameters
        ----------
        X : sequences
            In any form that :meth:`bayeskit.Sequences.of` takes.
        lengths : array-like of int, optional
            Lengths of the sequences if ``X`` is a single array.
        sample_weight : array-like of shape (n_sequences,), optional

        Returns
        -------
        MarkovChain
            The model itself.
        """
        self._check_settings()
        return self.fit_tally(self._count_transitions(self._read(X, lengths, sample_weight)))

    def fit_tally(self, tally: Tally) -> Self:
        """Fit from a tally.

        Parameters
        ----------
        tally : Tally

        Returns
        -------
        MarkovChain
            The model itself.
        """
        self._check_settings()
        refuse_no_counts(tally)
        return self._become(tally, ())

    def partial_fit(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Learn more sequences, which may have new symbols.

        Parameters
        ----------
        X, lengths, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, lengths, sample_weight)
        self._check_settings()
        return self.fit_tally(self.tally_ + self._count_transitions(self._read(X, lengths, sample_weight)))

    def forget(self, X: Any, lengths: Any = None, sample_weight: Any = None) -> Self:
        """Remove sequences that were learned.

        Parameters
        ----------
        X, lengths, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        BayesError
            If the sequences cannot have been learned. The model stays unchanged.
        """
        self._check_settings()
        left = self.tally_ - self._count_transitions(self._read(X, lengths, sample_weight))
        if not left.n_rows:
            raise BayesError.forgets_all("sequences")
        return self.fit_tally(left)

    def merge(self, other: Any) -> Self:
        """Return a new chain of the sequences of both chains, which must have the same order.

        Parameters
        ----------
        other : MarkovChain

        Returns
        -------
        MarkovChain
        """
        self._check_mergeable(other)
        return clone(self).fit_tally(self.tally_ + other.tally_)

    # -- inference -----------------------------------------------------------------------------------

    def log_likelihood(self, X: Any, lengths: Any = None) -> Floats:
        """Return ln P(sequence) of each sequence.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        ndarray of shape (n_sequences,)
            0 for an empty sequence, −∞ for an impossible one.
        """
        sequences = self._sequences(X, lengths)
        return sum_by_sequence(self._log_terms(sequences), sequences.starts)

    def score(self, X: Any, lengths: Any = None) -> float:
        """Return ln P of all sequences together.

        Parameters
        ----------
        X : sequences
        lengths : array-like of int, optional

        Returns
        -------
        float
        """
        return float(self.log_likelihood(X, lengths).sum())

    def _log_terms(self, sequences: Sequences) -> Floats:
        """Return ln P(symbol | symbols before it) of each step, 0 for skipped steps."""
        terms = np.zeros(sequences.n_rows)
        runs, here = runs_of(self._encode_steps(sequences), sequences.starts, self.order)
        terms[here] = logspace.log(self._transition_table.probabilities(runs))
        return terms

    def predict_next(self, X: Any, lengths: Any = None, steps: int = 1) -> Floats:
        """Return the distribution of the symbol ``steps`` after the end of each sequence.

        Parameters
        ----------
        X : sequences
            Their last ``order`` symbols must be known.
        lengths : array-like of int, optional
        steps : int, default=1

        Returns
        -------
        ndarray of shape (n_sequences, n_symbols)
            In the order of ``symbols_``.
        """
        rules.check_integer("steps", steps, 1)
        sequences = self._sequences(X, lengths)
        contexts = self._contexts(sequences)
        of: Ints = np.arange(len(sequences))
        p: Floats = self._transition_table.next_probabilities(contexts)
        weights: Floats = np.ones(len(sequences))
        for _ in range(int(steps) - 1):  # possible contexts after each step, and their probabilities
            n = len(self.symbols_)
            what = f"{len(contexts) * n:,} contexts that may come"
            check_memory(Need(what, 8.0 * len(contexts) * n * n, "Look fewer steps ahead."), self.memory_limit)
            weights = (weights[:, None] * p).ravel()
            of = np.repeat(of, n)
            contexts = np.column_stack([np.repeat(contexts[:, 1:], n, axis=0), np.tile(np.arange(n), len(contexts))])
            keyed, inverse = np.unique(np.column_stack([of, contexts]), axis=0, return_inverse=True)
            weights = np.bincount(inverse.ravel(), weights, minlength=len(keyed)).astype(np.float64)
            of, contexts = keyed[:, 0], keyed[:, 1:]
            p = self._transition_table.next_probabilities(contexts)
        ahead = np.zeros((len(sequences), len(self.symbols_)))
        np.add.at(ahead, of, weights[:, None] * p)
        return ahead

    def sample(self, n: int = 1, length: int = 10, random_state: Any = None) -> list[list[Value]]:
        """Draw sequences of a given length.

        Parameters
        ----------
        n : int, default=1
            Number of sequences.
        length : int, default=10
        random_state : int, optional

        Returns
        -------
        list of list
        """
        self._check_draws(n, length)
        rng = np.random.default_rng(seed_of(random_state))
        contexts = np.full((n, self.order), -1, dtype=np.int64)
        drawn = np.zeros((n, length), dtype=np.int64)
        for step in range(length):
            seen, inverse = np.unique(contexts, axis=0, return_inverse=True)
            drawn[:, step] = draw_slots(self._transition_table.next_probabilities(seen)[inverse.ravel()], rng)
            contexts = np.column_stack([contexts[:, 1:], drawn[:, step]])
        return [[self.symbols_[code] for code in row] for row in drawn.tolist()]

    def table(self) -> Table:
        """Return P(next symbol) after every context seen, the start first.

        Returns
        -------
        Table
        """
        self._check_is_fitted()
        level = self._transition_table.levels[-1].counted
        contexts = np.unique(level.runs[:, :-1], axis=0)
        symbols = ["(start)", *map(str, self.symbols_)]
        rows = [sorted({-1} & {*row}) + [code for code in row if code >= 0] for row in contexts.tolist()]
        names = [" ".join(symbols[code + 1] for code in row) for row in rows]
        p = self._transition_table.next_probabilities(contexts)
        return shares_table("after", names, "next symbol", self.symbols_, p)

    @property
    def start_(self) -> Floats:
        """Start probabilities, shape (n_symbols,)."""
        self._check_is_fitted()
        return np.asarray(self._transition_table.next_probabilities(np.full((1, self.order), -1))[0])

    @conditional_property
    def transitions_(self) -> Floats:
        """Transition matrix, shape (n_symbols, n_symbols), of a chain of order 1."""
        self._check_is_fitted()
        if self.order != 1:
            raise AttributeError(f"a chain of order {self.order} has no table of pairs: table() has its contexts")
        return self._transition_table.next_probabilities(np.arange(len(self.symbols_))[:, None])

    # -- internals -----------------------------------------------------------------------------------

    _rules: ClassVar[rules.Rules] = {
        "order": rules.integer(1, MOST_ORDER),
        "smoothing": lambda _, value: as_smoothing(value),
        "unseen": rules.words("ignore", "error"),
        "memory_limit": rules.optional(rules.memory),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        self._declared()

    def _declared(self) -> tuple[Value, ...] | None:
        return None if self.symbols is None else as_classes(self.symbols, "symbol")

    def _read(self, X: Any, lengths: Any = None, weights: Any = None) -> Sequences:
        """Read sequences of one column of symbols."""
        sequences = Sequences.of(X, lengths, weights=weights)
        learned: str = self.tally_.schema.target.name if self.__sklearn_is_fitted__() else ""
        if sequences.named and learned in sequences.columns:
            return replace(sequences, columns={learned: sequences.columns[learned]})
        if len(sequences.columns) > 1:
            what = f"a chain takes one column, not the columns {', '.join(sequences.columns)}"
            raise BayesError(f"{what}: give one of them alone, or take a HiddenMarkovModel")
        return sequences

    def _count_transitions(self, sequences: Sequences) -> Tally:
        """Count the transitions of sequences."""
        declared = self._declared()
        vocabulary = Vocabulary(declared or ())
        path = self._coded(sequences, vocabulary, grow=declared is None)
        if declared is not None and (path == UNSEEN).any():
            raise self._unknown(sequences, path, "outside the declared symbols", declared)
        n = len(vocabulary.values)
        weights = None if sequences.weights is None else np.repeat(sequences.weights, sequences.lengths)
        transitions = Transitions.of(path, sequences.starts, n, self.order, weights)
        there = path >= 0
        counts = np.bincount(path[there], None if weights is None else weights[there], minlength=n)
        name = next(iter(sequences.columns)) if sequences.named and sequences.columns else "symbol"
        schema = Schema({}, Target(name, declared), sequences.named)
        space = Space(schema, tuple(vocabulary.values), {}, weights is not None)
        return Tally.of(space, counts.astype(space.dtype), transitions)

    def _encode_steps(self, sequences: Sequences) -> Ints:
        """Encode each step by its position in ``symbols_``; negative if missing or unknown."""
        path = self._coded(sequences, Vocabulary(self.symbols_), grow=False)
        if self.unseen == "error" and (path == UNSEEN).any():
            raise self._unknown(sequences, path, "not seen in training", self.symbols_)
        return path

    def _coded(self, sequences: Sequences, vocabulary: Vocabulary, grow: bool) -> Ints:
        if not sequences.columns:
            return np.zeros(0, dtype=np.int64)
        ((name, column),) = sequences.columns.items()
        path = sequences.coded(column, vocabulary, grow=grow, name=name)
        broken = [value for value in vocabulary.values if isinstance(value, float)]
        if broken:
            what = f"a step is {broken[0]!r}: symbols are strings, whole numbers or booleans"
            raise BayesError(f"{what}. Cut numbers into intervals first, or take a HiddenMarkovModel.")
        return path

    def _unknown(self, sequences: Sequences, path: Ints, why: str, known: Sequence[Value]) -> UnknownValue:
        (column,) = sequences.columns.values()
        return UnknownValue(unknown_step(sequences, column, int(np.argmax(path == UNSEEN)), why, known))

    def _contexts(self, sequences: Sequences) -> Ints:
        """Return the last symbols of each sequence, shape (n_sequences, order), padded with −1 at the start."""
        path, ends = self._encode_steps(sequences), sequences.starts[1:]
        back = np.arange(self.order, 0, -1)
        at = ends[:, None] - back
        inside = at >= sequences.starts[:-1, None]
        contexts = np.where(inside, path[np.maximum(at, 0)] if len(path) else -1, -1)
        unknown = inside & (contexts < 0)
        if unknown.any():
            i = int(np.argmax(unknown.any(axis=1)))
            what = f"{sequences.name(i)} has a missing or unknown symbol among its last {self.order}"
            raise BayesError(f"{what}, so what follows is not known")
        return contexts

    @property
    def _chooses_smoothing(self) -> bool:
        """True if the smoothing was chosen from the counts."""
        smoothing = as_smoothing(self.smoothing)
        return isinstance(smoothing, Automatic) or (isinstance(smoothing, BackOff) and smoothing.m is None)

    def _facts(self) -> tuple[str, Grid]:
        facts = f"order {self.order}, {self.tally_.n_rows:,} steps, {len(self.symbols_)} symbols"
        return f"{self.tally_.schema.target.name}: {facts}", self.table().grid

    def _become(self, tally: Tally, others: Sequence[Value]) -> Self:
        """Estimate the chain from a tally; ``others`` are symbols that only other chains have seen."""
        symbols = union(tally.classes, others)
        counted = tally.statistics["transitions"]
        assert isinstance(counted, Transitions)
        if counted.order != self.order:
            raise BayesError(f"these are counts of order {counted.order}, and the chain has order {self.order}")
        smoothing = as_smoothing(self.smoothing)
        self._transition_table = TransitionTable.of(counted, tally.classes, symbols, smoothing, self.memory_limit)
        self.tally_, self.symbols_ = tally, symbols
        return self

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Restore the model from a file."""
        return self.fit_tally(tally)


def sum_by_sequence(terms: Floats, starts: Ints) -> Floats:
    """Sum terms by sequence: 0 for an empty one, −∞ if a step is impossible.

    >>> sum_by_sequence(np.array([1.0, 2.0, -np.inf]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, -inf]
    """
    lengths = np.diff(starts)
    totals = np.zeros(len(lengths))
    filled = lengths > 0
    if filled.any():
        totals[filled] = np.add.reduceat(terms, starts[:-1][filled])
    return totals


class LeaveOneOutChains(LeftOutRows):
    """Closed-form leave-one-out scores of sequences under the chains of all classes.

    Each sequence's own runs are subtracted from the counts of its class; symbols and a chosen smoothing stay fixed.
    """

    def __init__(self, model: Any, tally: Tally, sequences: Sequences) -> None:
        super().__init__(model, tally)
        self.sequences = sequences

    def scores(self, block: Block) -> Floats:
        """Return ln P(sequence, class), shape (n_sequences, n_classes), each sequence left out."""
        labels, units = self.labels_and_units(block)
        chains = self.model.models_.values()  # over the same symbols
        scores = np.column_stack([chain.log_likelihood(self.sequences) for chain in chains])
        for label, chain in enumerate(chains):
            of_class = np.flatnonzero(labels == label)
            if len(of_class):
                scores[of_class, label] = self._without_itself(chain, of_class, units[of_class])
        return np.asarray(scores + self.log_priors(labels, units))

    def _without_itself(self, chain: MarkovChain, of_class: Ints, units: Floats) -> Floats:
        """Return ln P of a class's sequences, each with its own counts removed."""
        sequences = self.sequences.take(of_class)
        runs, here = runs_of(chain._encode_steps(sequences), sequences.starts, chain.order)
        of = np.searchsorted(sequences.starts, here, side="right") - 1
        counts = []
        for level in chain._transition_table.levels:
            n, total = level.counts(runs)
            ends, k = level.ends(runs), level.counted.n_classes
            n = n - units[of] * _count_repeats(of, run_keys(ends, k))
            total = total - units[of] * _count_repeats(of, run_keys(ends[:, :-1], k))
            if (n < -0.5).any():
                name = self.sequences.name(int(of_class[of[np.argmin(n)]]))
                raise NotLearned(f"{name} was not learned: leave-one-out scores the training sequences, each once")
            counts.append((np.maximum(n, 0.0), np.maximum(total, 0.0)))
        terms = np.zeros(sequences.n_rows)
        terms[here] = logspace.log(chain._transition_table.estimate(counts, runs[:, -1]))
        return sum_by_sequence(terms, sequences.starts)


def _count_repeats(of: Ints, keys: Ints) -> Floats:
    """Count how often each key occurs within its sequence."""
    order = np.lexsort((keys, of))
    if not len(order):
        return np.zeros(0)
    changed = (of[order][1:] != of[order][:-1]) | (keys[order][1:] != keys[order][:-1])
    group = np.concatenate([[0], np.cumsum(changed)])
    times = np.empty(len(order))
    times[order] = np.bincount(group)[group]
    return times
