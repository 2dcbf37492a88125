"""HiddenMarkovModel: hidden states learned by counting labels or by Baum–Welch.

Formula: P(states, rows) = P(s_1) Π P(s_t ∣ s_{t−1}) · Π P(row_t ∣ s_t)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Categorical, Numeric, Role, Schema, Target, as_classes, infer
from bayeskit.data.sequences import Sequences
from bayeskit.data.vocabulary import Value, Vocabulary, canonical, sort_values
from bayeskit.errors import BadFile, BayesError, TooLarge
from bayeskit.estimate.emissions import ColumnScale, Statistics, column_scales, tally_column_scales
from bayeskit.estimate.state_transitions import MOST_COPIES
from bayeskit.models.base import rules
from bayeskit.models.base.available import unavailable
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.progress import Bar, check_progress
from bayeskit.sequence.base import impossible_error
from bayeskit.sequence.baum_welch import BaumWelch, EMHistory, HMMStructure, StateLabels
from bayeskit.sequence.forward_backward import HMMStatistics, ImpossibleSequence, Observations, Trellis
from bayeskit.sequence.inference import HMMInference
from bayeskit.settings import is_integer
from bayeskit.storage.model_file import State
from bayeskit.tables import Table
from bayeskit.tally.plan import Space
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import CONVERGED, SLACK
from bayeskit.typing import Floats

MOST_STARTS = 100_000


class ExpectedStatistics(NamedTuple):
    """Expected statistics of sequences with hidden states, centered by the scales of their columns."""

    sums: HMMStatistics
    scales: Mapping[str, ColumnScale]
    training: EMHistory


@dataclass(eq=False, repr=False)
class HiddenMarkovModel(HMMInference):
    """Hidden Markov model of symbols, numbers, counts, or several columns at once.

    Sequences come in any form that :meth:`bayeskit.Sequences.of` takes; missing cells are marginalized. Fully labeled
    sequences are counted, so the model learns, forgets and merges them exactly. Sequences with some or no labels are
    learned by Baum–Welch, together with the counted ones.

    Parameters
    ----------
    n_states : int or sequence of int, optional
        Number of states, if labels do not say it. ``choose_by`` selects among several, such as ``range(1, 9)``.
    states : sequence, optional
        Names of the states, in the order of ``transitions`` and ``start``.
    smoothing : float or dict, default=1.0
        Pseudo-count of every symbol in every state, or one per column.
    transition_smoothing, start_smoothing : float, default=1.0
        Pseudo-counts of transitions and of first states.
    numeric : {"gaussian", "poisson", "multinomial"} or dict, default="gaussian"
        Distribution of numeric columns: "poisson" for counts, "multinomial" for counts whose total is given (all such
        columns together). A dict sets it by column.
    covariance : {"diagonal", "spherical", "full", "tied"}, default="diagonal"
        Covariance of the Gaussian columns.
    variance_floor, variance_weight, mean_weight : float, default=0.01, 1.0, 0.0
        Normal–inverse-gamma prior of a state: ``variance_weight`` rows with this share of the column's variance, and
        ``mean_weight`` rows at its mean.
    start, transitions : array-like or str, optional
        Fixed probabilities (0 forbids a transition), names for tied ones, None for free ones; or "left-to-right" (stay
        or go to the next state) or "ordered" (go to any later state).
    min_stay : int or dict, default=1
        Minimum number of steps in a state, for all or by name.
    roles, domains, schema
        Roles of the columns, as in ``NaiveBayes``.
    unseen : {"ignore", "smooth", "error"}, default="ignore"
        Treatment of symbols never seen in training.
    undecidable : {"error", "nan"}, default="error"
        Treatment of sequences that no path of states can produce.
    n_starts : int, default=3
        Number of Baum–Welch starts, 100,000 at most.
    max_rounds : int, default=200
        Maximum number of rounds of a start.
    tol : float
        Stop when a round gains less than this share of the log posterior.
    choose_by : {"bic", "icl", "held-out"}, default="bic"
        Criterion if ``n_states`` lists several numbers.
    random_state : int, default=0
        Seed. The result does not depend on the number of threads.
    n_threads : int, optional
        Number of threads, by default all cores.
    progress : bool or callable, optional
        True for a progress bar on stderr, or a function called as ``progress(stage, done, of)``.
    memory_limit : int or str, optional
        Refuse work that needs more memory.
    sequence, order : str, optional
        For frames and files: the column with the sequence of a row, and the column that orders its rows.

    Attributes
    ----------
    states_ : ndarray of shape (n_states,)
        Names of the states.
    start_ : ndarray of shape (n_states,)
        Start probabilities.
    transitions_ : ndarray of shape (n_states, n_states)
        Transition matrix.
    training_ : EMHistory or None
        History of Baum–Welch.

    Examples
    --------
    >>> days = [["walk", "shop", "clean"], ["walk", "walk", "shop"], ["clean", "shop"]]
    >>> sky = [["sun", "rain", "rain"], ["sun", "sun", "sun"], ["rain", "rain"]]
    >>> model = HiddenMarkovModel(smoothing=0, transition_smoothing=0, start_smoothing=0).fit(days, sky)
    >>> print(model.table("transitions"))
    from      rain       sun
    rain         1         0
    sun   0.333333  0.666667
    >>> model.predict([["walk", "clean", "clean"]])
    [['sun', 'rain', 'rain']]
    """

    n_states: Any = None
    states: Any = None
    smoothing: Any = 1.0
    transition_smoothing: float = 1.0
    start_smoothing: float = 1.0
    numeric: Any = "gaussian"
    covariance: Literal["diagonal", "spherical", "full", "tied"] = "diagonal"
    variance_floor: float = 0.01
    variance_weight: float = 1.0
    mean_weight: float = 0.0
    start: Any = None
    transitions: Any = None
    min_stay: Any = 1
    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    unseen: Literal["ignore", "smooth", "error"] = "ignore"
    undecidable: Literal["error", "nan"] = "error"
    n_starts: int = 3
    max_rounds: int = 200
    tol: float = CONVERGED
    choose_by: Literal["bic", "icl", "held-out"] = "bic"
    random_state: Any = 0
    n_threads: int | None = None
    progress: Any = None
    memory_limit: Any = None
    sequence: str | None = None
    order: str | None = None

    _rows_are: ClassVar[str] = "steps"
    leave_one_out = unavailable("what was expected of a sequence is in all states. Use held-out likelihoods")
    restrict = unavailable("its columns found the states together. Fit again without the column")

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Fit the model to sequences.

        Parameters
        ----------
        X : sequences
            In any form that :meth:`bayeskit.Sequences.of` takes.
        y : sequences of states, optional
            States of the steps in the same form, missing where they are hidden.
        lengths : array-like of int, optional
            Lengths of the sequences if ``X`` is a single array.

        Returns
        -------
        HiddenMarkovModel
            The model itself.
        """
        self._check_settings()
        sequences = self._read(X, y, lengths)
        if not sequences.n_rows:
            raise BayesError("there are no steps to learn from: every sequence is empty")
        several = candidate_numbers(self.n_states) if sequences.labels is None else None
        if several is not None:
            best, self.selection_ = choose_n_states(self, sequences, several, self.choose_by)
            return self._become(best.tally_, best.expected_statistics_)
        states = StateLabels.state_names(sequences, self.n_states, self.states)
        labels = StateLabels.of(sequences, states)
        if labels.whole.all():
            self._become(self._count(labels.labeled, self._schema_for(labels.labeled)), None)
        else:
            self._fit_hidden(labels, states)
        StateLabels.of(sequences, self.tally_.classes).warn_forbidden_transitions(self.structure_.rules)
        return self

    def _fit_hidden(self, labels: StateLabels, states: tuple[Value, ...]) -> Self:
        """Run Baum–Welch on the sequences that are not fully labeled."""
        plain = replace(labels.sequences, labels=None)
        encoder = Encoder(self._schema_for(plain), grow=True, n_threads=self._threads())
        block = plain.block(encoder)
        schema = _with_domains(encoder, states)
        scales = column_scales(block, schema.measured)
        tally = Tally.empty(schema, HMMStructure.counting_plan(self, schema))
        if labels.whole.any() and labels.labeled.n_rows:
            tally = self._count(labels.labeled, schema)
        return self._become(tally, self._expect(tally, labels, self._nothing_expected(tally, scales), resume=False))

    def _nothing_expected(self, tally: Tally, scales: Mapping[str, ColumnScale]) -> ExpectedStatistics:
        statistics = HMMStructure.of(self, tally, scales).empty_statistics()
        return ExpectedStatistics(statistics, scales, EMHistory((), 0.0, False))

    def _expect(
        self, tally: Tally, labels: StateLabels, before: ExpectedStatistics, resume: bool
    ) -> ExpectedStatistics:
        """Run Baum–Welch with the statistics of other sequences, from new starts or from their parameters."""
        structure = HMMStructure.of(self, tally, before.scales)
        base = structure.statistics_of_tally(tally).plus(before.sums)
        block = replace(labels.sequences, labels=None).block(self._encoder(tally))
        structure.check_counts(block)
        em = BaumWelch(structure, labels.observed(block), base, self.max_rounds, self.tol, self._threads())
        with Bar(self.progress) as tell:
            try:
                if resume:
                    sums, _, training = em.run(structure.estimate(base), partial(tell, "rounds"))
                else:
                    sums, _, training = em.fit(self.n_starts, seed_of(self.random_state), tell)
            except ImpossibleSequence as problem:
                sequence, row = problem.args
                name = labels.sequences.name(int(labels.hidden[sequence]))
                raise impossible_error(name, row - int(em.observed.starts[sequence]) + 1) from None
        return ExpectedStatistics(before.sums.plus(sums), before.scales, training)

    def partial_fit(self, X: Any, y: Any = None, lengths: Any = None) -> Self:
        """Learn more sequences.

        Labeled sequences are counted. For others Baum–Welch continues from the current parameters; the expected
        statistics of earlier sequences stay as they are.

        Parameters
        ----------
        X, y, lengths
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, lengths)
        self._check_settings()
        sequences = self._read(X, y, lengths)
        fixed = self.expected_statistics_ is not None or sequences.labels is None
        states = self.tally_.classes if fixed else StateLabels.state_names(sequences, None, self.states)
        labels = StateLabels.of(sequences, states)
        tally, expected = self.tally_, self.expected_statistics_
        if labels.labeled.n_rows:
            tally = tally + self._count(labels.labeled, tally.schema)
        if not labels.whole.all():
            if expected is None:
                expected = self._nothing_expected(tally, tally_column_scales(tally, tally.schema.measured))
            expected = self._expect(tally, StateLabels.of(sequences, tally.classes), expected, resume=True)
        self._become(tally, expected)
        StateLabels.of(sequences, tally.classes).warn_forbidden_transitions(self.structure_.rules)
        return self

    def forget(self, X: Any, y: Any, lengths: Any = None) -> Self:
        """Remove labeled sequences that were learned.

        Parameters
        ----------
        X, y, lengths
            As in :meth:`fit`; every step needs a state.

        Returns
        -------
        HiddenMarkovModel
            The model itself.

        Raises
        ------
        BayesError
            If the sequences cannot have been learned. The model stays unchanged.
        """
        self._check_settings()
        sequences = self._read(X, y, lengths)
        if sequences.labels is None:
            raise BayesError("only sequences that were counted can be forgotten: give the states of their positions")
        labels = StateLabels.of(sequences, self.tally_.classes)
        if not labels.whole.all():
            name = sequences.name(int(labels.hidden[0]))
            raise BayesError(f"{name} has positions without a state: what was expected of it cannot be forgotten")
        left = self.tally_ - self._count(labels.labeled, self.tally_.schema)
        if not left.n_rows and self.expected_statistics_ is None:
            raise BayesError.forgets_all("sequences")
        return self._become(left, self.expected_statistics_)

    def merge(self, other: Any) -> Self:
        """Return a new model of the labeled sequences of both models, with the settings of this one.

        Parameters
        ----------
        other : HiddenMarkovModel
            A model of labeled sequences.

        Returns
        -------
        HiddenMarkovModel
        """
        self._check_mergeable(other)
        if self.expected_statistics_ is not None or other.expected_statistics_ is not None:
            raise BayesError("only models of labeled sequences merge: other states are found anew in every fit")
        return clone(self)._restore(self.tally_ + other.tally_, None)

    # -- reading -------------------------------------------------------------------------------------

    _rules: ClassVar[rules.Rules] = {
        "undecidable": rules.words("error", "nan"),
        "choose_by": rules.words("bic", "icl", "held-out"),
        "n_threads": rules.threads,
        "memory_limit": rules.optional(rules.memory),
        "n_starts": rules.integer(1, MOST_STARTS),
        "max_rounds": rules.integer(1),
        "tol": rules.number("give a share of the log likelihood, from 0 to 1", 0, np.nextafter(1, 0)),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        HMMStructure.check_settings(self)
        check_progress(self.progress)
        candidate_numbers(self.n_states)

    def _read(self, X: Any, y: Any = None, lengths: Any = None) -> Sequences:
        """Read sequences, and the states of their steps if given."""
        return Sequences.read(X, lengths, y, self.sequence, self.order)

    def _schema_for(self, sequences: Sequences) -> Schema:
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise BayesError(f"schema= takes the schema_ of a model, not {type(self.schema).__name__}")
            return self.schema
        target = Target(sequences.target or "state", None if self.states is None else as_classes(self.states, "state"))
        schema = infer(sequences.kinds, roles=self.roles, domains=self.domains, target=target, named=sequences.named)
        if texts := schema.texts:
            raise BayesError.takes_no_texts("HiddenMarkovModel", texts)
        return schema

    def _count(self, sequences: Sequences, schema: Schema) -> Tally:
        """Count fully labeled sequences."""
        encoder = Encoder(schema, classes=Vocabulary(schema.target.domain or ()), grow=True, n_threads=self._threads())
        block = sequences.block(encoder)
        grown = {n: tuple(encoder.vocabularies[n].values) if n in encoder.vocabularies else () for n in schema.coded}
        space = Space(encoder.schema, tuple(encoder.classes.values), grown, block.weights is not None)
        plan = HMMStructure.counting_plan(self, schema)
        return Tally.of_block(block, space, plan, self._threads(), self.memory_limit).tidy()

    def _encoder(self, tally: Tally) -> Encoder:
        known = {name: Vocabulary(tally.space.values.get(name, ())) for name in tally.schema.coded}
        return Encoder(tally.schema, known, refuse_unseen=self.unseen == "error", n_threads=self._threads())

    # -- estimation ----------------------------------------------------------------------------------

    def _become(self, tally: Tally, expected: ExpectedStatistics | None) -> Self:
        scales = tally_column_scales(tally, tally.schema.measured) if expected is None else expected.scales
        structure = HMMStructure.of(self, tally, scales)
        sums = structure.statistics_of_tally(tally)
        parameters = structure.estimate(sums if expected is None else sums.plus(expected.sums))
        self.tally_, self.expected_statistics_ = tally, expected
        self.structure_, self.parameters_ = structure, parameters
        self.trellis_: Trellis = parameters.trellis(structure.stays, self._threads())
        return self

    @classmethod
    def from_tables(cls, start: Any, transitions: Any, emissions: Any) -> Self:
        """Build a model from known probabilities.

        Parameters
        ----------
        start : dict
            ``{state: probability}``.
        transitions : dict
            ``{state: {state: probability}}``.
        emissions : dict
            For one column ``{state: {symbol: probability}}``, or ``{state: (mean, variance)}`` for numbers; for several
            columns ``{column: …}`` of these.

        Returns
        -------
        HiddenMarkovModel

        Examples
        --------
        >>> weather = HiddenMarkovModel.from_tables(
        ...     {"rain": 0.5, "dry": 0.5},
        ...     {"rain": {"rain": 0.7, "dry": 0.3}, "dry": {"rain": 0.3, "dry": 0.7}},
        ...     {"rain": {"umbrella": 0.9, "none": 0.1}, "dry": {"umbrella": 0.2, "none": 0.8}})
        >>> weather.states_.tolist(), weather.filter([["umbrella", "umbrella"]])[0].round(6).tolist()
        (['dry', 'rain'], [[0.181818, 0.818182], [0.116643, 0.883357]])
        """
        schema, expected = read_probability_tables(start, transitions, emissions)
        model = cls(smoothing=0.0, transition_smoothing=0.0, start_smoothing=0.0, variance_weight=0.0)
        return model._become(Tally.empty(schema, HMMStructure.counting_plan(model, schema)), expected)

    def fit_tally(self, tally: Tally) -> Self:
        """Fit from the tally of labeled sequences.

        Parameters
        ----------
        tally : Tally

        Returns
        -------
        HiddenMarkovModel
            The model itself.
        """
        self._check_settings()
        return self._become(tally, None)

    @property
    def training_(self) -> EMHistory | None:
        """History of Baum–Welch, None if all sequences were labeled."""
        return None if self.expected_statistics_ is None else self.expected_statistics_.training

    def _observe(self, sequences: Sequences) -> Observations:
        """Encode sequences as the kernels read them."""
        block = replace(sequences, labels=None).block(self._encoder(self.tally_))
        self.structure_.check_counts(block)
        return Observations(block, sequences.starts)

    # -- persistence ---------------------------------------------------------------------------------

    def _state_to_save(self) -> State | None:
        """Return the expected statistics of sequences with hidden states."""
        if self.expected_statistics_ is None:
            return None
        sums, scales, training = self.expected_statistics_
        header = {
            "scales": {name: [scale.mean, scale.variance] for name, scale in scales.items()},
            "training": [list(part) if isinstance(part, tuple) else part for part in training],
        }
        return State(header, sums.arrays())

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Restore the model from a file."""
        self._check_settings()
        for wanted in HMMStructure.counting_plan(self, tally.schema):
            counted = tally.plan.of(wanted.kind)
            if counted is None or not {*wanted.names} <= {*counted.names}:
                raise BadFile(f"the counts lack {wanted.kind}, which the settings need")
        if state is None:
            return self._become(tally, None)
        if state.header["scales"].keys() != {*tally.schema.measured}:
            raise BadFile("the scales of columns are not those of the columns with numbers")
        scales = {name: ColumnScale(*map(float, pair)) for name, pair in state.header["scales"].items()}
        if not all(np.isfinite(scale.mean) and 0 <= scale.variance < np.inf for scale in scales.values()):
            raise BadFile("the scale of a column is not a number")
        structure = HMMStructure.of(self, tally, scales)
        shapes = [array.shape for array in structure.empty_statistics().arrays()]
        state.holds(len(shapes), "scales", "training")
        sums = structure.statistics_from_arrays([state.numbers(i, *shape) for i, shape in enumerate(shapes)])
        if any((array < 0).any() for array in (sums.starts, sums.moves)):
            raise BadFile("expected counts are negative")
        rounds, likelihood, converged, interrupted, ends = state.header["training"]
        rounds, ends = tuple(map(float, rounds)), tuple(map(float, ends))
        training = EMHistory(rounds, float(likelihood), bool(converged), bool(interrupted), ends)
        return self._become(tally, ExpectedStatistics(sums, scales, training))


def _with_domains(encoder: Encoder, states: tuple[Value, ...]) -> Schema:
    """Return the schema with the observed values as domains."""
    roles = {
        name: replace(role, domain=tuple(sort_values(encoder.vocabularies[name].values)))
        for name, role in encoder.schema.columns.items()
        if isinstance(role, Categorical) and role.domain is None and name in encoder.vocabularies
    }
    schema = encoder.schema.replace(roles)
    return Schema(schema.columns, Target(schema.target.name, states), schema.named)


FOLDS = 5


def candidate_numbers(setting: Any) -> list[int] | None:
    """Return the candidate numbers of states, None if there is only one or none is given."""
    if setting is None:
        return None
    if is_integer(setting):
        if setting < 1:
            raise BayesError(f"n_states={setting!r}: there is at least one state")
        if setting > MOST_COPIES:
            raise TooLarge(f"n_states={setting:,}: more than {MOST_COPIES:,} states are not walked")
        return None
    try:
        given = list(islice(setting, MOST_COPIES + 1))
        numbers = sorted({int(number) for number in given if not isinstance(number, bool) and int(number) == number})
    except (TypeError, ValueError, OverflowError):
        given = numbers = []
    if not numbers or len(given) > MOST_COPIES or not 1 <= numbers[0] <= numbers[-1] <= MOST_COPIES:
        raise BayesError(f"n_states={setting!r}: give a whole number, or several to choose from")
    return numbers


def choose_n_states(model: Any, sequences: Sequences, numbers: list[int], choose_by: str) -> tuple[Any, Table]:
    """Fit every candidate number of states; return the best model and a table of the criteria.

        BIC = −2 ln P(rows) + p ln n          ICL = −2 ln P(rows, best path) + p ln n

    with p free parameters and n rows; lower is better. "held-out" is the cross-validated ln P per row.

    Formula: BIC and ICL of hidden states
    """
    held_out = choose_by == "held-out"
    if held_out and len(sequences) < 2:
        raise BayesError('one sequence cannot be held out from itself: choose_by="bic" or "icl", or give several')
    fits: list[Any] = []
    rows: dict[str, list[Any]] = {"n_states": [*numbers]}
    rows |= {name: [] for name in ("log likelihood", "parameters", "bic", "icl", "held-out")[: 4 + held_out]}
    for number in numbers:
        fit = clone(model).set_params(n_states=number, progress=model.progress).fit(sequences)
        fits.append(fit)
        total, best = fit.score(sequences), fit.trellis_.viterbi(fit._observe(sequences))[1]
        parameters = fit.n_parameters()
        penalty = parameters * float(logspace.log(float(sequences.n_rows)))
        scores = [total, parameters, penalty - 2 * total, penalty - 2 * float(best.sum())]
        scores += [_cross_validated_score(fit, sequences)] if held_out else []
        for column, score in zip([*rows.values()][1:], scores, strict=True):
            column.append(score)
    criterion = np.array(rows[choose_by], dtype=np.float64)
    return fits[int(criterion.argmax() if held_out else criterion.argmin())], Table(rows)


def _cross_validated_score(model: Any, sequences: Sequences) -> float:
    """Return the cross-validated ln P per row."""
    n = min(FOLDS, len(sequences))
    fold = np.random.default_rng(seed_of(model.random_state)).permutation(len(sequences)) % n
    total = 0.0
    for part in range(n):
        if not sequences.take(fold != part).n_rows:
            continue
        other = clone(model).set_params(schema=model.schema_).fit(sequences.take(fold != part))
        total += other.score(sequences.take(fold == part))
    return total / sequences.n_rows


def read_probability_tables(start: Any, transitions: Any, emissions: Any) -> tuple[Schema, ExpectedStatistics]:
    """Read start, transition and emission tables; return the schema and statistics that reproduce them.

    They are ``{state: P}``, ``{state: {state: P}}`` and, for one column, ``{state: {symbol: P}}`` or ``{state: (mean,
    variance)}``; for several columns ``{column: …}`` of these.
    """
    states = tuple(sort_values([_named(state) for state in start]))
    alone = {*emissions} == {*start}
    columns: Mapping[str, Any] = {"x0": emissions} if alone else emissions
    first = _table({"": start}, [""], states, "start")[0]
    moves = _table(transitions, states, states, "transitions")
    roles: dict[str, Role] = {}
    sums: list[Statistics] = []
    normals: dict[str, Floats] = {}
    for name, of in columns.items():
        if {*of} != {*start}:
            raise BayesError(f"column {name!r} says nothing of a state, or names one that is not there")
        if all(isinstance(cell, Mapping) for cell in of.values()):
            values = tuple(sort_values(dict.fromkeys(_named(v) for cell in of.values() for v in cell)))
            roles[name] = Categorical(values)
            sums.append((_table(of, states, values, f"column {name!r}"),))
            continue
        roles[name] = Numeric()
        pairs = np.array([of[state] for state in states], dtype=np.float64)
        if pairs.shape != (len(states), 2) or not np.isfinite(pairs).all() or (pairs[:, 1] <= 0).any():
            raise BayesError(f"column {name!r}: a state has a mean and a variance above 0")
        normals[name] = pairs
    scales = {
        name: ColumnScale(float(pairs[:, 0].mean()), float(pairs[:, 1].mean() + pairs[:, 0].var()))
        for name, pairs in normals.items()
    }
    if normals:
        mean, spread = (np.column_stack([pairs[:, k] for pairs in normals.values()]) for k in (0, 1))
        away = mean - np.array([scale.mean for scale in scales.values()])
        sums.append((np.ones_like(away), away, spread + away**2))
    statistics = HMMStatistics(first, moves, tuple(sums))
    schema = Schema(roles, Target("state", states), not alone)
    return schema, ExpectedStatistics(statistics, scales, EMHistory((), 0.0, True))


def _named(value: Any) -> Value:
    name = canonical(value)
    if name is None:
        raise BayesError("a state or a symbol of a table has no name")
    return name


def _table(given: Any, rows: Any, columns: tuple[Value, ...], what: str) -> Floats:
    """Read a table of probabilities and check that its rows sum to one."""
    table = np.zeros((len(rows), len(columns)))
    for i, row in enumerate(rows):
        own = {_named(key): float(p) for key, p in given[row].items()}
        unknown = [key for key in own if key not in columns]
        if unknown:
            raise BayesError(f"{what} names {unknown[0]!r}, which is not there")
        table[i] = [own.get(column, 0.0) for column in columns]
        if (table[i] < 0).any() or abs(table[i].sum() - 1) > SLACK:
            of = f" of {row!r}" if row else ""
            raise BayesError(f"{what}{of}: the probabilities sum to {table[i].sum():g}, not to 1")
    return np.asarray(table / table.sum(axis=1, keepdims=True))
