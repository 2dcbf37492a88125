"""TallyClassifier: what every counting classifier shares; a model adds its plan, estimate and score."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError

from bayeskit import logspace
from bayeskit.data.advice import advice
from bayeskit.data.encode import Block, Encoder, encode_labels, raise_unusable
from bayeskit.data.schema import Schema, Target, as_domain, infer
from bayeskit.data.source import Responsibilities, Source, open_source
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.engines import local
from bayeskit.errors import AdviceWarning, BayesError, BayesWarning
from bayeskit.estimate.smoothing import is_number
from bayeskit.models.ties import best_class
from bayeskit.models.undecidable import Undecidable
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

Scores = npt.NDArray[np.float64]


BY_COLUMN = ("roles", "domains", "smoothing", "numeric", "variance", "cuts")  # settings that may be mappings


class Parameters(Protocol):
    """What an estimate holds at least: the class prior and how to read values."""

    @property
    def log_prior(self) -> Scores: ...
    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]: ...


class LogLikelihood(NamedTuple):
    """Sums over rows: ln P(x, y) and ln P(y | x)."""

    joint: float
    conditional: float


class TallyClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is its tally: learns, forgets and merges exactly.

    A model gives :meth:`plan` (what to count), :meth:`estimate` (what to believe, a pure function of the
    tally) and :meth:`log_joint` (what to say of a block of rows).
    """

    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    unseen: str = "ignore"
    undecidable: str = "prior"
    ties: str = "first"
    random_state: Any = None
    n_threads: int | None = None
    temperature: float = 1.0  # log scores are divided by it before they become probabilities
    memory_limit: int | None = None

    # -- what a model adds ---------------------------------------------------------------------------

    def plan(self, schema: Schema) -> Plan:
        """What to count for this schema."""
        raise TypeError(f"{type(self).__name__} has no plan")

    def learn_plan(self, schema: Schema, source: Source) -> Plan:
        """What to count where that must be learnt from the rows first, such as which columns go together."""
        return self.plan(schema)

    def estimate(self, tally: Tally) -> Any:
        """Parameters from a tally: same tally, same parameters."""
        raise TypeError(f"{type(self).__name__} has no estimate")

    def log_joint(self, params: Any, block: Block) -> Scores:
        """ln P(x, class) of each row (rows, classes)."""
        raise TypeError(f"{type(self).__name__} has no score")

    def complete_schema(self, schema: Schema, source: Source) -> Schema:
        """The schema with what must be learnt before counting, such as cut points."""
        return schema

    def check_settings(self) -> None:
        """Refuse settings that mean nothing; called before any work."""
        one_of("unseen", self.unseen, ("ignore", "smooth", "error"))
        one_of("undecidable", self.undecidable, ("prior", "nan", "error"))
        one_of("ties", self.ties, ("first", "random"))
        if self.n_threads is not None and (not isinstance(self.n_threads, (int, np.integer)) or self.n_threads < 1):
            raise BayesError(f"n_threads={self.n_threads!r}: give a whole number of at least 1, or None for all cores")
        if not is_number(self.temperature) or not 0 < self.temperature < np.inf:
            raise BayesError(
                f"temperature={self.temperature!r}: it is a number above 0, 1 where scores are taken as is"
            )
        limit = self.memory_limit
        if limit is not None and (not is_number(limit) or not limit > 0):
            raise BayesError(f"memory_limit={limit!r}: give a number of bytes, or None for 2 GB")

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with classes ``y`` (values, or the name of a column of ``X``)."""
        self.check_settings()
        source = self._labelled(X, y, sample_weight)
        schema = self._schema_for(source)
        return self.fit_tally(self._collect(source, schema, self.learn_plan(schema, source)))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new values and classes may appear at any time.

        ``classes`` declares classes ahead, as scikit-learn's callers do; it is not needed.
        """
        self.check_settings()
        source = self._labelled(X, y, sample_weight)
        if self._is_fitted():
            return self.fit_tally(self.tally_ + self._collect(source, self.schema_, self.tally_.plan))
        schema = self._schema_for(source)
        if classes is not None:
            schema = Schema(schema.columns, Target(schema.target.name, as_domain(classes, "class")), schema.named)
        return self.fit_tally(self._collect(source, schema, self.learn_plan(schema, source)))

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt: the counts are then those of a fit without them.

        Rows that would make a count negative are refused and change nothing. (Counts cannot know rows: that
        test is necessary, not sufficient.)
        """
        self._check_is_fitted()
        source = self._labelled(X, y, sample_weight)
        left = self.tally_ - self._collect(source, self.schema_, self.tally_.plan)
        if not left.n_rows:
            raise BayesError("forgetting these rows would leave nothing to believe; start a new model instead")
        return self.fit_tally(left)

    def merge(self, other: TallyClassifier) -> Self:
        """A new model of the rows of both; settings are those of this one. Both sides stay as they are."""
        self._check_is_fitted()
        if type(other) is not type(self):
            raise BayesError(f"a {type(self).__name__} merges with another one, not with {type(other).__name__}")
        other._check_is_fitted()
        return self._with_tally(self.tally_ + other.tally_)

    def __radd__(self, other: object) -> Self:
        """``sum(models)`` starts from 0."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, TallyClassifier) else NotImplemented

    def fit_tally(self, tally: Tally) -> Self:
        """Learn from counts alone: from a table of counts, another model's tally, a sum of tallies."""
        self.check_settings()
        if not isinstance(tally, Tally):
            raise BayesError(f"fit_tally takes a Tally, not {type(tally).__name__}; rows go to fit")
        if not tally.n_rows:
            raise BayesError("the tally is empty: there is nothing to believe")
        params = self.estimate(tally)  # may refuse; the model is still as it was
        self.params_ = params
        self.tally_, self.schema_ = tally, tally.schema
        self.classes_ = _as_array(tally.classes)
        self.n_features_in_ = len(tally.schema.columns)
        if tally.schema.named:
            self.feature_names_in_ = np.array(list(tally.schema.columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if len(tally.classes) == 1:
            warnings.warn(
                f"there is one class only ({tally.classes[0]!r}): every row will be put in it",
                BayesWarning,
                stacklevel=3,
            )
        return self

    def restrict(self, columns: Iterable[str]) -> Self:
        """A new model over these columns alone, from the same tally: nothing is read again."""
        self._check_is_fitted()
        tally = self.tally_.restrict([columns] if isinstance(columns, str) else columns)
        by_name = {}  # settings by position would mean other columns now
        for setting, value in self.get_params(deep=False).items():
            if setting in BY_COLUMN and isinstance(value, Mapping):
                named = {key if key not in self.schema_ else self.schema_.find(key): v for key, v in value.items()}
                by_name[setting] = {
                    key: v for key, v in named.items() if key in tally.schema or key not in self.schema_
                }
        return self._with_tally(tally, **by_name)

    def with_prior(self, prior: Any) -> Self:
        """A new model with another class prior, from the same tally."""
        self._check_is_fitted()
        return self._with_tally(self.tally_, prior=prior)

    # -- saying --------------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> Scores:
        """ln P(x, class) of each row (rows, classes); −∞ where impossible."""
        return _stack([scores for _, scores in self._score(X)], len(self.classes_))

    def predict_proba(self, X: Any) -> Scores:
        """P(class | x) of each row (rows, classes)."""
        return _stack(self._posteriors(X), len(self.classes_))

    def predict_log_proba(self, X: Any) -> Scores:
        """ln P(class | x) of each row (rows, classes)."""
        parts, impossible = [], Undecidable(self.undecidable)
        for block, scores in self._score(X):
            log_proba, evidence = logspace.log_normalise(self._tempered(scores))
            impossible.settle(
                log_proba, evidence, block.start, logspace.log_normalise(self.params_.log_prior[None])[0][0]
            )
            parts.append(log_proba)
        impossible.tell()
        return _stack(parts, len(self.classes_))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; ties as the setting ``ties`` says."""
        seed = (seed_of(self.random_state) or 0) if self.ties == "random" else 0
        chosen, impossible = [], Undecidable(self.undecidable)
        for block, scores in self._score(X):
            impossible.settle(scores, scores.max(axis=1), block.start, self.params_.log_prior)
            chosen.append(best_class(np.nan_to_num(scores, nan=-np.inf), block, self.ties == "random", seed))
        impossible.tell()
        return np.asarray(self.classes_[np.concatenate(chosen)] if chosen else self.classes_[:0])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows ``X`` with classes ``y``."""
        labels, weights = self._label_codes(X, y, sample_weight)
        right = self.predict(X) == np.append(self.classes_, self.classes_[:1])[labels]
        right &= labels < len(self.classes_)
        if weights is not None and not weights.any():
            raise BayesError("every row has weight zero, so there is nothing to score")
        return float(np.average(right, weights=weights))

    def score_samples(self, X: Any) -> Scores:
        """ln p(x) of each row."""
        parts = [logspace.log_sum_exp(scores) for _, scores in self._score(X)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> LogLikelihood:
        """Σ ln P(x, y) and Σ ln P(y | x) over the rows; −∞ where a row has a class that is not known."""
        labels, weights = self._label_codes(X, y, sample_weight)
        scores = np.column_stack([self.predict_joint_log_proba(X), np.full(len(labels), -np.inf)])
        joint, tempered = scores[np.arange(len(labels)), labels], self._tempered(scores)
        with np.errstate(invalid="ignore"):
            conditional = tempered[np.arange(len(labels)), labels] - logspace.log_sum_exp(tempered)
        conditional[np.isneginf(joint)] = -np.inf
        keep = slice(None) if weights is None else weights > 0
        w = np.ones(len(labels)) if weights is None else weights
        return LogLikelihood(float(joint[keep] @ w[keep]), float(conditional[keep] @ w[keep]))

    def table(self, column: str | int | None = None) -> Table:
        """The class prior, or what was learnt of one column."""
        self._check_is_fitted()
        if column is None or (column == self.schema_.target.name and column not in self.schema_.columns):
            prior = logspace.exp(self.params_.log_prior)
            name, counts = self.schema_.target.name, self.tally_.class_counts.tolist()
            return Table(
                {self._class_header(): list(self.tally_.classes), "count": counts, f"P({name})": prior.tolist()}
            )
        return self.column_table(self.schema_.find(column))

    def _class_header(self) -> str:
        """The target's name above a column of classes, told apart from the names beside it."""
        name = self.schema_.target.name
        return f"{name} (class)" if name in ("count", "mean", "variance") else name

    def column_table(self, column: str) -> Table:
        """What was learnt of one column."""
        raise TypeError(f"{type(self).__name__} has no tables")

    # -- inside --------------------------------------------------------------------------------------

    def _collect(self, source: Source, schema: Schema, plan: Plan) -> Tally:
        return local.collect(source, schema, plan, self._threads(), self.memory_limit)

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if y is None:
            raise BayesError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return open_source(X, y, sample_weight)

    def _schema_for(self, source: Source) -> Schema:
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise BayesError(f"schema= takes the schema_ of a model, not {type(self.schema).__name__}")
            schema = self.schema
        else:
            target = Target(source.target or "class")
            schema = infer(source.kinds, roles=self.roles, domains=self.domains, target=target, named=source.named)
            if source.named:
                self._advise(source, schema)
        return self.complete_schema(schema, source)

    def _advise(self, source: Source, schema: Schema) -> None:
        if self.roles is not None and not isinstance(self.roles, Mapping):
            return
        declared = {schema.find(key) for key in self.roles or ()}
        undeclared = [name for name in schema.used if name not in declared]
        if source.target in schema.used:
            warnings.warn(
                f"column {source.target!r} has the name of the target and is learnt from; if it is the target, "
                f'pass its name as y, or roles={{{source.target!r}: "ignore"}}',
                AdviceWarning,
                stacklevel=4,
            )
        batch = next(iter(source.batches()), None)
        if batch is not None and undeclared:
            for sentence in advice(batch, schema.restrict(undeclared)):
                warnings.warn(sentence, AdviceWarning, stacklevel=4)

    def encoder(self) -> Encoder:
        """Reads rows in the codes of this model's tables and classes."""
        vocabularies, classes = dict(self.params_.vocabularies), Vocabulary(self.tally_.classes)
        refuse = self.unseen == "error"
        return Encoder(self.schema_, vocabularies, classes, refuse_unseen=refuse, n_threads=self._threads())

    def _score(self, X: Any) -> Iterator[tuple[Block, Scores]]:
        self._check_is_fitted()
        self.check_settings()
        source = open_source(X)
        empty = True
        for block in self.encoder().blocks(source):
            empty = False
            scores = self.log_joint(self.params_, block)
            if not np.isfinite(scores).all():
                raise_unusable(block.floats, block.start)
            yield block, scores
        if empty:
            raise BayesError("there are no rows: Found array with 0 sample(s) while a minimum of 1 is required.")

    def _tempered(self, scores: Scores) -> Scores:
        """Log scores as they become probabilities."""
        return scores if self.temperature == 1 else scores / self.temperature

    def _posteriors(self, X: Any) -> list[Scores]:
        parts, impossible = [], Undecidable(self.undecidable)
        for block, scores in self._score(X):
            proba, evidence = logspace.normalise(self._tempered(scores), self._threads())
            impossible.settle(proba, evidence, block.start, logspace.exp(self.params_.log_prior))
            parts.append(proba)
        impossible.tell()
        return parts

    def _label_codes(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """(class codes, C for an unknown class; weights)"""
        self._check_is_fitted()
        source = self._labelled(X, y, sample_weight)
        classes = Vocabulary(self.tally_.classes)
        codes, weights = [], []
        for batch in source.batches():
            if isinstance(batch.labels, Responsibilities):
                raise BayesError("one label a row is needed here")
            codes.append(encode_labels(batch.labels, classes, batch.start, grow=False).astype(np.int64))
            weights.append(batch.weights)
        given = [w for w in weights if w is not None]
        return np.concatenate(codes), np.concatenate(given) if given else None

    def _threads(self) -> int:
        return self.n_threads or os.cpu_count() or 1

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        other: Self = clone(self).set_params(**settings)
        return other.fit_tally(tally)

    def _is_fitted(self) -> bool:
        return hasattr(self, "tally_")

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _check_is_fitted(self) -> None:
        if not self._is_fitted():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with rows and classes first."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _repr_html_(self) -> str:
        if not self._is_fitted():
            return f"<pre>{self!r}</pre>"
        shown = self.schema_.used[:20]
        more = len(self.schema_.used) - len(shown)
        parts = [f"<b>{type(self).__name__}</b>: {self.tally_.n_rows:,} rows, {len(self.classes_)} classes"]
        parts.append(self.table()._repr_html_())
        parts += [
            f"<details open><summary>{html.escape(n)}</summary>{self.table(n)._repr_html_()}</details>" for n in shown
        ]
        return "".join([*parts, f"<p>… and {more} more columns</p>" if more > 0 else ""])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _as_array(classes: tuple[Value, ...]) -> npt.NDArray[Any]:
    """Class labels as an array of their own type; as objects where NumPy would round them."""
    array = np.array(classes)
    return array if array.tolist() == list(classes) else np.array(classes, dtype=object)


def _stack(parts: list[Scores], n_classes: int) -> Scores:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros((0, n_classes))


def seed_of(random_state: Any) -> int | None:
    """A whole number from what scikit-learn calls a random state; None for a fresh draw."""
    if random_state is None:
        return None
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) & (2**64 - 1)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    raise BayesError(f"random_state={random_state!r}: give a whole number, a NumPy generator, or None")


def one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise BayesError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}")
