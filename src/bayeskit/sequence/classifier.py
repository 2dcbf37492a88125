"""SequenceClassifier: Bayes' rule over one sequence model per class.

Formula: P(class ∣ sequence) ∝ P(class) · P(sequence ∣ model of the class)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.cells import as_floats
from bayeskit.data.schema import Categorical, Schema, Target
from bayeskit.data.sequences import Sequences, label_values
from bayeskit.data.vocabulary import Value, Vocabulary, canonical, positions, sort_values, union
from bayeskit.errors import BadFile, BayesError, NotLearned, format_setting, with_article
from bayeskit.estimate.prior import class_prior
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.leave_one_out import leave_one_out
from bayeskit.explain.evidence import Explanations, class_position
from bayeskit.explain.overview import percent
from bayeskit.models.base import rules, scoring
from bayeskit.models.base.available import available_if, unavailable
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.classifier import class_array
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.persistence import Composite
from bayeskit.sequence.base import SequenceModel
from bayeskit.sequence.explanation import explain_sequences
from bayeskit.sequence.hidden_markov import HiddenMarkovModel
from bayeskit.sequence.markov_chain import LeaveOneOutChains, MarkovChain
from bayeskit.storage.model_file import Saved, State
from bayeskit.tables import Figure, Grid, ProbabilityTable, Table, class_header
from bayeskit.tally.plan import Space, format_times
from bayeskit.tally.tally import LARGEST, Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Floats, Ints
from bayeskit.undecidable import refuse_no_numbers


@dataclass(frozen=True)
class ClassTallies:
    """Tally of each class's sequences and the number (or weight) of its sequences; classes are sorted."""

    tallies: Mapping[Value, Tally]
    counts: Mapping[Value, Any]

    def __add__(self, other: ClassTallies) -> ClassTallies:
        """Return the tallies of both sides together."""
        a, b = self.tallies, other.tallies
        both = {c: a[c] + b[c] if c in a and c in b else (a if c in a else b)[c] for c in sort_values({**a, **b})}
        return ClassTallies(both, {c: self.counts.get(c, 0) + other.counts.get(c, 0) for c in both})

    def __sub__(self, other: ClassTallies) -> ClassTallies:
        """Subtract tallies whose sequences were all counted here; classes may vanish."""
        gone = GONE * sum(self.counts.values())
        left = {c: self.counts.get(c, 0) - other.counts.get(c, 0) for c in {**self.counts, **other.counts}}
        for c, n in left.items():
            if n < -gone:
                learned, times = format_times(self.counts.get(c, 0)), format_times(other.counts[c])
                what = f"class {c!r} was learned {learned} and cannot be forgotten {times}"
                raise NotLearned(f"{what}; nothing was changed")
        tallies = {c: held - other.tallies[c] if c in other.tallies else held for c, held in self.tallies.items()}
        remaining = [c for c in self.tallies if left[c] > gone]
        if not remaining:
            raise BayesError.forgets_all("sequences")
        return ClassTallies({c: tallies[c] for c in remaining}, {c: left[c] for c in remaining})


def check_not_empty(by_class: Mapping[Value, Tally | Sequences]) -> None:
    """Raise an error if all sequences of a class are empty."""
    for label, of_class in by_class.items():
        if not of_class.n_rows:
            raise BayesError(f"the sequences of class {label!r} are all empty, so nothing is known of it")


def shared_schema(model: Any, sequences: Sequences) -> Schema:
    """Infer the schema shared by the models of all classes, with the symbols that occur in any class."""
    schema = clone(model).set_params(states=None)._schema_for(sequences)
    where = schema.locate(list(sequences.kinds), sequences.named)
    symbols = {}
    for name in schema.coded:
        role = schema.columns[name]
        if type(role) is Categorical and role.domain is None:
            vocabulary = Vocabulary()
            sequences.coded(sequences.columns[where[name]], vocabulary, grow=True, name=name)
            if vocabulary.values:
                symbols[name] = Categorical(tuple(sort_values(vocabulary.values)))
    return schema.replace(symbols)


def check_columns_vary(label: Value, of_class: Sequences, all_of_them: Sequences, schema: Schema) -> None:
    """Raise an error if a numeric column varies overall but not within a class: its density would be degenerate."""
    where = schema.locate(list(of_class.kinds), of_class.named)
    for name in schema.measured:
        if _varies(of_class, where[name]) or not _varies(all_of_them, where[name]):
            continue
        ignore, symbols = (format_setting("roles", {name: role}) for role in ("ignore", "categorical"))
        what = f"column {name!r} does not vary in the sequences of class {label!r}, so its density is not known"
        raise BayesError(what, hint=f"leave it out with {ignore} of the model, or take it as {symbols}")


def _varies(sequences: Sequences, name: str) -> bool:
    numbers = as_floats(sequences.columns[name], name, 0)
    numbers = numbers[~np.isnan(numbers)]
    return len(numbers) > 0 and bool(numbers.min() < numbers.max())


ONLY_COUNTED = "its models are found by EM, and other sequences make other ones. Fit again, or with a MarkovChain"


READ_WHOLE = "sequences are read whole. Give Sequences.of(path, sequence=..., order=...)"


def _by_class(sequences: Sequences, labels: Sequence[Value]) -> dict[Value, Sequences]:
    """Split sequences by class, sorted."""
    classes = tuple(sort_values(dict.fromkeys(labels)))
    codes = positions(labels, classes)
    return {label: sequences.take(codes == code) for code, label in enumerate(classes)}


class ClassPrior(NamedTuple):
    """Log prior of the classes."""

    log_prior: Floats


def _is_counted(classifier: Any) -> bool:
    return isinstance(classifier._class_model(), MarkovChain)


@dataclass(eq=False, repr=False)
class SequenceClassifier(SequenceModel, Composite):
    """Classify whole sequences with one sequence model per class and Bayes' rule.

    With Markov chains the classifier learns, forgets and merges exactly, and has closed-form leave-one-out scores. The
    chains share the symbols seen in any class.

    Parameters
    ----------
    model : MarkovChain, HiddenMarkovModel or dict, optional
        Model of each class, by default ``MarkovChain()``. ``{class: model}`` gives classes different models.
    prior : str, dict, list or smoothing, default="empirical"
        "empirical", "uniform", ``{class: probability}``, a list, or a smoothing.
    undecidable : {"prior", "nan", "error"}, default="prior"
        Treatment of sequences that are impossible in every class.
    ties : {"first", "random"}, default="first"
        Choice among tied classes; "random" draws by seed and content.
    random_state : int, optional
    temperature : float, default=1.0
        Log scores are divided by it before they become probabilities.
    n_threads : int, optional
    sequence, order : str, optional
        For frames and files: the column with the sequence of a row, and the column that orders its rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    models_ : dict
        Fitted model of each class.
    class_counts_ : ndarray of shape (n_classes,)
        Number or weight of the sequences of each class.

    Examples
    --------
    >>> words = [list("abab"), list("baba"), list("aabb"), list("bbaa")]
    >>> turns = SequenceClassifier().fit(words, ["turns", "turns", "runs", "runs"])
    >>> turns.predict([list("ababab"), list("aaabbb")]).tolist()
    ['turns', 'runs']
    >>> turns.predict_proba([list("abab")]).round(3).tolist()
    [[0.111, 0.889]]
    """

    model: Any = None
    prior: Any = "empirical"
    undecidable: Literal["prior", "nan", "error"] = "prior"
    ties: Literal["first", "random"] = "first"
    random_state: Any = None
    temperature: float = 1.0
    n_threads: int | None = None
    sequence: str | None = None
    order: str | None = None

    params_: ClassPrior = field(init=False)

    _estimator_type = "classifier"
    _rules: ClassVar[rules.Rules] = rules.SCORING
    _rows_are: ClassVar[str] = "sequences"
    _fitted_attribute: ClassVar[str] = "models_"
    _fit_takes: ClassVar[str] = "sequences and classes"
    fit_source = unavailable(f"{READ_WHOLE} to fit")
    learn_source = unavailable(f"{READ_WHOLE} to partial_fit")
    forget_source = unavailable(f"{READ_WHOLE} to forget")
    restrict = unavailable("its models speak of whole steps. Fit again without the column")
    column_importance = unavailable("steps are not columns. explain says what each step adds")
    nomogram = unavailable("steps are not columns. explain says what each step adds")

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit one model per class.

        Parameters
        ----------
        X : sequences
            In any form that :meth:`bayeskit.Sequences.of` takes.
        y : array-like of shape (n_sequences,) or str
            Class of each sequence, or a column that is constant within a sequence.
        sample_weight : array-like of shape (n_sequences,), optional
        class_weight : "balanced" or mapping, optional
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        SequenceClassifier
            The model itself.
        """
        self._check_settings()
        sequences, labels = self._labeled(X, y, sample_weight)
        if class_weight is not None:
            weights = weigh_classes(None, labels, sequences.weights, class_weight)
            sequences = replace(sequences, weights=weights)
        if not len(sequences):
            raise BayesError("there are no sequences: Found array with 0 sample(s) while a minimum of 1 is required.")
        parts = _by_class(sequences, labels)
        counts = np.bincount(positions(labels, tuple(parts)), sequences.weights, minlength=len(parts))
        counts = counts.astype(np.int64) if sequences.weights is None else counts
        if not counts.all():
            raise BayesError(f"every sequence of class {list(parts)[int(np.argmin(counts))]!r} has weight zero")
        check_not_empty(parts)
        models: dict[Value, Any] = {}
        for label, part in parts.items():
            try:
                models[label] = self._unfitted(label, part, sequences).fit(part)
            except BayesError as problem:
                raise problem.within(f"class {label!r}") from None
        name = y if isinstance(y, str) else getattr(y, "name", None)
        return self._become(models, counts, str(name) if name else "class")

    def _unfitted(self, label: Value, of_class: Sequences, all_of_them: Sequences) -> Any:
        """Return the unfitted model of a class, with the symbols of all classes."""
        model = clone(self._class_model(label))
        if isinstance(model, HiddenMarkovModel):
            schema = shared_schema(model, all_of_them)
            check_columns_vary(label, of_class, all_of_them, schema)
            model.set_params(schema=schema)
        return model

    @available_if(_is_counted, ONLY_COUNTED)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more sequences, which may have new symbols and classes.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : sequence, default=None
            Accepted for scikit-learn and not needed.

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        self._check_settings()
        return self._become_tallies(self._class_tallies() + self._counted(X, y, sample_weight))

    @available_if(_is_counted, ONLY_COUNTED)
    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove sequences that were learned.

        Parameters
        ----------
        X, y, sample_weight
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
        return self._become_tallies(self._class_tallies() - self._counted(X, y, sample_weight))

    @available_if(_is_counted, ONLY_COUNTED)
    def merge(self, other: Any) -> Self:
        """Return a new classifier of the sequences of both, with the settings of this one.

        Parameters
        ----------
        other : SequenceClassifier

        Returns
        -------
        SequenceClassifier
        """
        self._check_mergeable(other)
        if not _is_counted(other):
            raise BayesError("a SequenceClassifier of chains merges with another one, not with one of other models")
        merged = clone(self)
        merged.target_ = self.target_
        return merged._become_tallies(self._class_tallies() + other._class_tallies())

    def _class_tallies(self) -> ClassTallies:
        """Return the tallies of all classes."""
        counts = dict(zip(self.models_, self.class_counts_.tolist(), strict=True))
        return ClassTallies({label: model.tally_ for label, model in self.models_.items()}, counts)

    def _counted(self, X: Any, y: Any, sample_weight: Any) -> ClassTallies:
        """Count more sequences."""
        parts = _by_class(*self._labeled(X, y, sample_weight))
        tallies = {label: self._class_model(label)._count_transitions(part) for label, part in parts.items()}
        weights = {label: np.ones(len(p), np.int64) if p.weights is None else p.weights for label, p in parts.items()}
        return ClassTallies(tallies, {label: own.sum().item() for label, own in weights.items()})

    def _become_tallies(self, counted: ClassTallies) -> Self:
        """Estimate the classifier from tallies."""
        check_not_empty(counted.tallies)
        models = {c: clone(self._class_model(c)).fit_tally(tally) for c, tally in counted.tallies.items()}
        return self._become(models, np.array(list(counted.counts.values())), self.target_)

    def _become(self, models: dict[Value, Any], counts: Array, target: str) -> Self:
        classes = tuple(models)
        log_prior = logspace.log(class_prior(self.prior, classes, counts))
        if all(isinstance(model, MarkovChain) for model in models.values()):
            symbols: tuple[Value, ...] = reduce(union, (chain.symbols_ for chain in models.values()), ())
            for chain in models.values():
                chain._become(chain.tally_, symbols)
        self.models_, self.class_counts_, self.params_ = models, counts, ClassPrior(np.asarray(log_prior))
        self.classes_, self.target_ = class_array(classes), target
        return self

    # -- prediction ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each sequence; the setting ``ties`` decides between equals.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        return scoring.most_probable(self, X)

    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior P(class | sequence) of each sequence.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
            In the order of ``classes_``.
        """
        return scoring.posterior(self, X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(class | sequence) of each sequence.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
        """
        return scoring.log_posterior(self, X)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return ln P(sequence, class) of each sequence, −∞ where impossible.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
        """
        return scoring.joint_scores(self, X)

    def score_samples(self, X: Any) -> Floats:
        """Return ln p(sequence) of each sequence.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        return scoring.log_evidence(self, X)

    def probabilities(self, row: Any, joint: bool = False) -> dict[Any, float]:
        """Return the probability of each class by name, for one sequence.

        Parameters
        ----------
        row : sequences with one sequence
        joint : bool, default=False
            Return P(sequence, class), which is not normalized, instead of P(class | sequence).

        Returns
        -------
        dict of class to float
        """
        return scoring.probabilities_by_name(self, row, joint)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on labeled sequences.

        Parameters
        ----------
        X : sequences
        y : array-like of shape (n_sequences,) or str
        sample_weight : array-like of shape (n_sequences,), optional

        Returns
        -------
        float
        """
        sequences, labels = self._labeled(X, y, sample_weight)
        if not len(sequences):
            raise BayesError("there are no sequences to score")
        right = np.array([a == b for a, b in zip(self.predict(sequences).tolist(), labels, strict=True)])
        if sequences.weights is not None and not sequences.weights.any():
            raise BayesError("every sequence has weight zero, so there is nothing to score")
        return float(np.average(right, weights=sequences.weights))

    def explain(self, X: Any, against: Any = None) -> Explanations:
        """Explain the class of each sequence by the log odds that every step adds.

        Parameters
        ----------
        X : sequences
        against : optional
            Class to compare with, by default the runner-up.

        Returns
        -------
        Explanations
            The evidence of a step is the log ratio of P(step | steps before it) of the two classes.
        """
        sequences, classes = self._sequences(X), tuple(self.models_)
        if len(classes) < 2:
            raise BayesError("there is one class only: there are no odds to explain")
        if not len(sequences):
            raise BayesError("there are no sequences to explain")
        rival = None if against is None else class_position(against, classes)
        return explain_sequences(self, sequences, self._contents(sequences), rival)

    @available_if(_is_counted, "its models have no closed form without a sequence: use bayeskit.cross_validate")
    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Return leave-one-out scores of the training sequences, in closed form.

        Symbols and a chosen smoothing stay fixed.

        Parameters
        ----------
        X, y, sample_weight
            The training data, as in :meth:`fit`.

        Returns
        -------
        Evaluation
        """
        self._check_settings()
        sequences, labels = self._labeled(X, y, sample_weight)
        classes = tuple(self.models_)
        codes = positions(labels, classes)
        if (codes < 0).any():
            raise NotLearned(f"{sequences.name(int(np.argmin(codes)))} has a class that was never learned")
        whole = Tally(Space(Schema({}, Target(self.target_)), classes, {}), self.class_counts_, {})
        block = self._contents(sequences, codes.astype(np.uint32))
        left_out = LeaveOneOutChains(self, whole, sequences)
        choose = self._choose if self.ties == "random" else None
        fixed = ("smoothing",) * any(chain._chooses_smoothing for chain in self.models_.values())
        return leave_one_out(
            left_out,
            [block],
            whole,
            choose=choose,
            undecidable=self.undecidable,
            temperature=self.temperature,
            held=fixed,
        )

    def sample(self, n: int = 1, length: int = 10, random_state: Any = None) -> tuple[list[Any], Array]:
        """Draw classes from the prior and sequences from their models.

        Parameters
        ----------
        n : int, default=1
            Number of sequences.
        length : int, default=10
        random_state : int, optional

        Returns
        -------
        sequences : list
        classes : ndarray of shape (n,)
        """
        rng = np.random.default_rng(seed_of(random_state))
        codes = np.sort(rng.choice(len(self.models_), n, p=logspace.exp(self.params_.log_prior)))
        drawn: list[Any] = []
        for code, model in enumerate(self.models_.values()):
            drawn += model.sample(int((codes == code).sum()), length, int(rng.integers(2**31)))
        order = rng.permutation(n)
        return [drawn[i] for i in order.tolist()], np.asarray(self.classes_[codes[order]])

    def table(self, label: Any = None) -> Table:
        """Return the class prior, or the table of one class's model.

        Parameters
        ----------
        label : optional
            A class.

        Returns
        -------
        Table
        """
        if label is not None:
            classes = tuple(self.models_)
            return self.models_[classes[class_position(label, classes)]].table()
        prior, labels = logspace.exp(self.params_.log_prior), list(self.models_)
        table = {"sequences": self.class_counts_.tolist(), f"P({self.target_})": prior.tolist()}
        return ProbabilityTable(
            {self.target_: labels, **table},
            variable=self.target_, values=labels, given="", contexts=[""], shares=prior[None],
        )  # fmt: skip

    # -- internals -----------------------------------------------------------------------------------

    def _class_model(self, label: Value | None = None) -> Any:
        """Return the unfitted model of a class."""
        if not isinstance(self.model, Mapping):
            return MarkovChain() if self.model is None else self.model
        given = {canonical(c): model for c, model in self.model.items()}
        if label is None:  # any other model than a chain, if there is one
            return min(given.values(), key=lambda model: isinstance(model, MarkovChain), default=MarkovChain())
        if label not in given:
            raise BayesError(f"model= has none for class {label!r} (it has: {', '.join(map(repr, given))})")
        return given[label]

    def _check_settings(self) -> None:
        """Check the settings."""
        models = list(self.model.values()) if isinstance(self.model, Mapping) else [self._class_model()]
        for model in models:
            if not isinstance(model, (MarkovChain, HiddenMarkovModel)):
                raise BayesError(f"model={model!r}: give a MarkovChain, a HiddenMarkovModel, or one for each class")
            model._check_settings()
        super()._check_settings()

    def _read_sequences(self, X: Any, y: Any) -> tuple[Sequences, Any]:
        """Read sequences and labels in any form that ``fit`` takes; cross-validation splits them."""
        sequences = self._read(X)
        return sequences.of_sequence(y) if isinstance(y, str) else (sequences, y)

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> tuple[Sequences, list[Value]]:
        if y is None:
            raise BayesError("SequenceClassifier requires y to be passed, but the target y is None")
        sequences, labels = self._read_sequences(X, y)
        sequences = Sequences.of(sequences, weights=sample_weight)
        values = label_values(labels, len(sequences))
        if None in values:
            name = sequences.name(values.index(None))
            raise BayesError(f"{name} has no label: each sequence needs one, or is left out")
        if len({isinstance(value, str) for value in values}) > 1:
            raise BayesError("labels are all strings or all numbers, not both")
        broken = [value for value in values if isinstance(value, float)]
        if broken:
            raise BayesError(f"Unknown label type: continuous ({broken[0]}): classes are strings or whole numbers")
        return sequences, [value for value in values if value is not None]

    def _sequences(self, X: Any, lengths: Any = None) -> Sequences:
        sequences = super()._sequences(X, lengths)
        if self.target_ in sequences.columns and sequences.named:  # Ignore the class column of a table.
            columns = {name: column for name, column in sequences.columns.items() if name != self.target_}
            sequences = replace(sequences, columns=columns)
        return sequences

    def _read(self, X: Any, lengths: Any = None) -> Sequences:
        return Sequences.read(X, lengths, sequence=self.sequence, order=self.order)

    def _score(self, X: Any) -> Iterator[tuple[Block, Floats]]:
        """Yield one block, which stands for all sequences, with ln P(sequence, class)."""
        sequences = self._sequences(X)
        scores = np.column_stack([model.log_likelihood(sequences) for model in self.models_.values()])
        scores = np.asarray(scores + self.params_.log_prior)
        refuse_no_numbers(scores, 0, self.classes_)
        yield self._contents(sequences), scores

    def _choose(self, scores: Floats, block: Block) -> Ints:
        """Return the class of each sequence by its scores."""
        return scoring.best_class(scores, block, self.ties == "random", scoring.tie_seed(self))

    def _tempered(self, scores: Floats) -> Floats:
        """Divide log scores by the temperature."""
        return scores / self.temperature

    def _prior_setting(self) -> Any:
        """Return the class prior to use."""
        return self.prior

    def _contents(self, sequences: Sequences, labels: Array | None = None) -> Block:
        """Return a block with one row per sequence and a hash of its content, by which ties are drawn."""
        codes = {"content": sequences.hashed()} if self.ties == "random" else {}
        return Block(len(sequences), 0, codes, {}, labels, None, sequences.weights)

    def _facts(self) -> tuple[str, Grid]:
        n = self.class_counts_.sum().item()
        inner = type(next(iter(self.models_.values()))).__name__
        facts = f"{n:,} sequences, {len(self.models_)} classes, {with_article(inner)} of each"
        shares: dict[str, list[Any]] = {
            class_header(self.target_, ("sequences", "share")): [str(label) for label in self.models_],
            "sequences": [Figure(f"{k:,}") for k in self.class_counts_.tolist()],
            "share": [percent(k / n) for k in self.class_counts_.tolist()],
        }
        return f"{self.target_}: {facts}", Grid(shares)

    # -- persistence ---------------------------------------------------------------------------------

    def _fitted_parts(self) -> dict[str, Any]:
        """Return the model of each class, keyed by class index."""
        return {str(i): model for i, model in enumerate(self.models_.values())}

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """Return one name per class."""
        classes = saved.state.header.get("classes") if saved.state is not None else None
        return tuple(map(str, range(len(classes)))) if isinstance(classes, list) else ()

    def _state_to_save(self) -> State:
        """Return the classes and their sequence counts."""
        return State({"classes": list(self.models_), "target": self.target_}, [self.class_counts_])

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Restore the model from a file."""
        state.holds(1, "classes", "target")
        classes, counts, target = state.header["classes"], state.arrays[0], state.header["target"]
        plain = [canonical(label) for label in classes]
        is_sorted = classes and None not in plain and sort_values(dict.fromkeys(classes)) == classes
        if not is_sorted or not isinstance(target, str):
            raise BadFile("the classes of the sequences are missing, not sorted, or not unique")
        is_counted = counts.shape == (len(classes),) and counts.dtype in (np.int64, np.float64)
        if not is_counted or not (np.isfinite(counts) & (counts > 0)).all() or counts.sum(dtype=float) > LARGEST:
            raise BadFile(f"a class has no sequences, or all have more than {LARGEST:,}")
        self._check_settings()
        models = dict(zip(classes, parts.values(), strict=True))
        if any(type(model) is not type(self._class_model(label)) for label, model in models.items()):
            raise BadFile("the models of the classes are not of the kind that the settings name")
        return self._become(models, counts, target)

    def _reads_by(self) -> Any:
        """Return None: sequences are not rows of a table."""
        return None
