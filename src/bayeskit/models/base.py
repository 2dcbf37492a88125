"""TallyClassifier: what every counting classifier shares; a model adds its plan, estimate and score."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block, Encoder, encode_labels, raise_unusable
from bayeskit.data.schema import Schema, Target, as_domain, infer
from bayeskit.data.source import Responsibilities, Source, for_schema, naming_the_file, open_source
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.engines import local
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.smoothing import is_number
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.leave_one_out import leave_one_out
from bayeskit.explain.evidence import Explanations, explain_rows
from bayeskit.explain.nomogram import Nomogram, nomogram
from bayeskit.explain.telling import Telling, telling
from bayeskit.models.advising import advise, advise_spikes, tell_lost
from bayeskit.models.kept import Kept
from bayeskit.models.one_row import record_scores
from bayeskit.models.settings import check_temperature, one_of
from bayeskit.models.shown import model_html
from bayeskit.models.stacking import LogLikelihood, class_array, room_for, stacked
from bayeskit.models.ties import best_class, tie_seed
from bayeskit.remedy import Remedy, Setting
from bayeskit.tally.plan import Plan
from bayeskit.tally.statistic import check_movable
from bayeskit.tally.tally import Tally
from bayeskit.threads import thread_count
from bayeskit.undecidable import Impossible, refuse_no_numbers

Scores = npt.NDArray[np.float64]
BY_COLUMN = ("roles", "domains", "smoothing", "numeric", "variance", "cuts")  # settings that may be mappings


def _having(method: str) -> Callable[[Any], bool]:
    """What a model can do only where it has this method."""
    return lambda model: hasattr(model, method)


class Parameters(Protocol):
    """What an estimate holds at least: the class prior and how to read values."""

    @property
    def log_prior(self) -> Scores: ...
    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]: ...


class TallyClassifier(Kept, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    memory_limit: Any = None

    # -- what a model adds ---------------------------------------------------------------------------

    def plan(self, schema: Schema) -> Plan:
        """What to count for this schema."""
        raise TypeError(f"{type(self).__name__} has no plan")

    def learn_plan(self, schema: Schema, source: Source, engine: Any = None) -> Plan:
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
        thread_count(self.n_threads)
        check_temperature(self.temperature)
        limit = self.memory_limit
        if limit is not None and (not is_number(limit) or not limit > 0):
            instead = f"memory limit of {limit!r} bytes: give a number above 0"
            asked = "{}: give a number of bytes, or None for 2 GB"
            raise BayesError(Setting("memory_limit", shown=repr(limit), clause=asked, without=instead), culprit=limit)

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with classes ``y`` (values, or the name of a column of ``X``)."""
        self.check_settings()
        return self.fit_source(self._labelled(X, y, sample_weight))

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn from files or any other source; ``engine.collect(source, schema, plan)`` counts, else this machine."""
        self.check_settings()
        source = self._labelled_source(source, target)
        with naming_the_file(source):
            schema = self._schema_for(source)
        self.fit_tally(self._count_new(source, schema, engine))
        advise_spikes(self, source)
        return self

    def learn_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn more rows from files or any other source: ``partial_fit`` for what does not fit in memory."""
        if not self._is_fitted():
            return self.fit_source(source, target, engine)
        return self._with_more(self._count_more(self._labelled_source(source, target), engine))

    def forget_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Unlearn rows of files or any other source: ``forget`` for what does not fit in memory."""
        self._check_is_fitted()
        return self._without(self._count_more(self._labelled_source(source, target), engine))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new values and classes may appear at any time.

        ``classes`` declares classes ahead, as scikit-learn's callers do; it is not needed.
        """
        self.check_settings()
        source = self._labelled(X, y, sample_weight)
        if self._is_fitted():
            return self._with_more(self._count_more(source))
        schema = self._schema_for(source)
        if classes is not None:
            schema = Schema(schema.columns, Target(schema.target.name, as_domain(classes, "class")), schema.named)
        return self.fit_tally(self._count_new(source, schema))

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt: the counts are then those of a fit without them.

        Rows that would make a count negative are refused and change nothing. (Counts cannot know rows: that
        test is necessary, not sufficient.)
        """
        self._check_is_fitted()
        return self._without(self._count_more(self._labelled(X, y, sample_weight)))

    def _with_more(self, more: Tally) -> Self:
        before = self.params_
        self.fit_tally(self.tally_ + more)
        tell_lost(self, before)
        return self

    def _without(self, gone: Tally) -> Self:
        left = self.tally_ - gone
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
        classes = self._classes_of(tally)
        self.classes_ = class_array(classes)
        self.n_features_in_ = len(tally.schema.columns)
        if tally.schema.named:
            self.feature_names_in_ = np.array(list(tally.schema.columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if len(classes) == 1:
            told = f"there is one class only ({classes[0]!r}): every row will be put in it"
            warnings.warn(told, BayesWarning, stacklevel=3)
        return self

    def _classes_of(self, tally: Tally) -> tuple[Value, ...]:
        """The classes of what was counted, which may be parts of them."""
        return tally.classes

    def restrict(self, columns: Iterable[str]) -> Self:
        """A new model over these columns alone, from the same tally: nothing is read again."""
        self._check_is_fitted()
        tally = self.restricted([columns] if isinstance(columns, str) else list(columns))
        by_name = {}  # settings by position would mean other columns now
        for setting, value in self.get_params(deep=False).items():
            if setting in BY_COLUMN and isinstance(value, Mapping):
                named = {key if key not in self.schema_ else self.schema_.find(key): v for key, v in value.items()}
                by_name[setting] = {
                    key: v for key, v in named.items() if key in tally.schema or key not in self.schema_
                }
        return self._with_tally(tally, **by_name)

    def restricted(self, columns: list[str]) -> Tally:
        """What was counted of these columns alone."""
        return self.tally_.restrict(columns)

    def with_prior(self, prior: Any) -> Self:
        """A new model with another class prior, from the same tally."""
        self._check_is_fitted()
        return self._with_tally(self.tally_, prior=prior)

    # -- saying --------------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> Scores:
        """ln P(x, class) of each row (rows, classes); −∞ where impossible."""
        return stacked([scores for _, scores in self._score(X)], len(self.classes_))

    def predict_proba(self, X: Any) -> Scores:
        """P(class | x) of each row (rows, classes)."""
        if type(X) is dict and (scores := record_scores(self, X)) is not None:
            proba, evidence = logspace.normalise(self.tempered(scores))
            if evidence[0] > -np.inf:
                return proba
        self._check_is_fitted()
        parts, impossible, whole = [], Impossible(self.undecidable), room_for(X, len(self.classes_))
        for block, scores in self._score(X):
            out = None if whole is None else whole[block.start : block.start + block.n_rows]
            proba, evidence = logspace.normalise(self.tempered(scores), self._threads(), out)
            impossible.settle(proba, evidence, block.start, logspace.exp(self.params_.log_prior))
            parts.append(proba)
        impossible.tell()
        return stacked(parts, len(self.classes_)) if whole is None else whole

    def predict_log_proba(self, X: Any) -> Scores:
        """ln P(class | x) of each row (rows, classes)."""
        parts, impossible = [], Impossible(self.undecidable)
        for block, scores in self._score(X):
            log_proba, evidence = logspace.log_normalise(self.tempered(scores))
            impossible.settle(
                log_proba, evidence, block.start, logspace.log_normalise(self.params_.log_prior[None])[0][0]
            )
            parts.append(log_proba)
        impossible.tell()
        return stacked(parts, len(self.classes_))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; ties as the setting ``ties`` says."""
        one = record_scores(self, X) if type(X) is dict and self.ties == "first" else None
        if one is not None and one.max() > -np.inf:
            return np.asarray(self.classes_[kernels.best_classes(one, logspace.TIE, 1)])
        chosen, impossible = [], Impossible(self.undecidable)
        for block, scores in self._score(X):
            impossible.settle(scores, scores.max(axis=1), block.start, self.params_.log_prior)
            chosen.append(best_class(np.nan_to_num(scores, nan=-np.inf), block, self.ties == "random", tie_seed(self)))
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
        joint, tempered = scores[np.arange(len(labels)), labels], self.tempered(scores)
        conditional = logspace.log_posterior_of(tempered, labels)
        conditional[np.isneginf(joint)] = -np.inf
        keep = slice(None) if weights is None else weights > 0
        w = np.ones(len(labels)) if weights is None else weights
        return LogLikelihood(float(joint[keep] @ w[keep]), float(conditional[keep] @ w[keep]))

    @available_if(_having("left_out"))  # type: ignore[untyped-decorator]
    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Scores of the rows that were learnt, each predicted by the model made without it, in closed form.

        ``X``, ``y`` and ``sample_weight`` are those of the fit. Costs about one ``predict_proba``.
        """
        self._check_is_fitted()
        self.check_settings()
        blocks = self.encoder().blocks(self._labelled(X, y, sample_weight))
        choose = self.choose if self.ties == "random" else None
        how = (choose, self.undecidable, self.temperature, self._threads(), self.held_while_left_out())
        return leave_one_out(self.left_out(), blocks, self.tally_, *how)

    def held_while_left_out(self) -> tuple[str, ...]:
        """What was chosen with all rows, and stays while each is left out."""
        return ()

    def choose(self, scores: Scores, block: Block) -> npt.NDArray[np.int64]:
        """The class of each row by its scores; ties as the setting ``ties`` says."""
        return best_class(scores, block, self.ties == "random", tie_seed(self), self._threads())

    @available_if(_having("log_terms"))  # type: ignore[untyped-decorator]
    def explain(self, X: Any, against: Any = None) -> Explanations:
        """Why each row is put in its class: evidence column by column that sums to the log posterior odds.

        The predicted class is compared with the runner-up, or with the class ``against``.
        """
        self._check_is_fitted()
        self.check_settings()
        return explain_rows(self, open_source(X), against)

    @available_if(_having("column_scores"))  # type: ignore[untyped-decorator]
    def telling(self) -> Telling:
        """The columns and values that tell most of the class, in bits."""
        self._check_is_fitted()
        return telling(self)

    @available_if(_having("column_scores"))  # type: ignore[untyped-decorator]
    def nomogram(self, predicted: Any = None, against: Any = None) -> Nomogram:
        """The model on paper: points for each value, and what their total says of one class against another.

        By default the second of two classes against the first, or the most frequent against the next.
        """
        self._check_is_fitted()
        return nomogram(self, predicted, against)

    def table(self, column: str | int | None = None) -> Table:
        """The class prior, or what was learnt of one column."""
        self._check_is_fitted()
        if column is None or (column == self.schema_.target.name and column not in self.schema_.columns):
            name, prior = f"P({self.schema_.target.name})", logspace.exp(self.params_.log_prior).tolist()
            labels, counts = list(self.tally_.classes), self.tally_.class_counts.tolist()
            return Table({self._class_header(): labels, "count": counts, name: prior})
        return self.column_table(self.schema_.find(column))

    def _class_header(self) -> str:
        """The target's name above a column of classes, told apart from the names beside it."""
        name = self.schema_.target.name
        return f"{name} (class)" if name in ("count", "mean", "variance") else name

    def column_table(self, column: str) -> Table:
        """What was learnt of one column."""
        raise TypeError(f"{type(self).__name__} has no tables")

    # -- inside --------------------------------------------------------------------------------------

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if y is None:
            raise BayesError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return open_source(X, y, sample_weight)

    def _labelled_source(self, source: Any, target: str | None) -> Source:
        """The source with labels: those of the named column, those it has, or those of the learnt target."""
        if target is None and isinstance(source, (str, Path)):
            if not self._is_fitted():
                raise BayesError(
                    f"which column of {source} holds the class? Name it: ", Remedy("target"), place=str(source)
                )
            target = self.schema_.target.name
        return open_source(source, target)

    def _count_new(self, source: Source, schema: Schema, engine: Any = None) -> Tally:
        """The tally of the first labelled rows."""
        return self._collect(source, schema, self.learn_plan(schema, source, engine), engine)

    def _count_more(self, source: Source, engine: Any = None) -> Tally:
        """The tally of more labelled rows. What is learnt already says what the columns of a file hold."""
        values = {name: family.values for name, family in self.tally_.families.items()}
        known = for_schema(source, self.schema_, values, self.tally_.classes)
        return self._collect(known, self.schema_, self.tally_.plan, engine)

    def _collect(self, source: Source, schema: Schema, plan: Plan, engine: Any = None) -> Tally:
        with naming_the_file(source):
            if engine is None:
                n_threads, memory_limit = self._threads(), self.memory_limit
                return local.collect(source, schema, plan, n_threads=n_threads, memory_limit=memory_limit)
            check_movable(plan)
            return cast(Tally, engine.collect(source, schema, plan))

    def count_blocks(self, blocks: Iterable[Block], encoder: Encoder, plan: Plan) -> Tally:
        """The tally of blocks that are read already, for models that count the same rows many times."""
        return local.count_blocks(blocks, encoder, plan)

    def _schema_for(self, source: Source) -> Schema:
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise BayesError(f"schema= takes the schema_ of a model, not {type(self.schema).__name__}")
            schema = self.schema
        else:
            target = Target(source.target or "class")
            schema = infer(source.kinds, roles=self.roles, domains=self.domains, target=target, named=source.named)
            if source.named:
                advise(source, schema, self.roles, self.decided(schema))
        return self.complete_schema(schema, for_schema(source, schema, {}, ()))

    def decided(self, schema: Schema) -> Iterable[str]:
        """Columns that a setting says enough of: no other role is advised."""
        return ()

    def encoder(self) -> Encoder:
        """Reads rows in the codes of this model's tables and classes."""
        vocabularies, classes = dict(self.params_.vocabularies), Vocabulary(self.tally_.classes)
        words, refuse, n = getattr(self.params_, "words", {}), self.unseen == "error", self._threads()
        return Encoder(self.schema_, vocabularies, classes, refuse_unseen=refuse, n_threads=n, words=words)

    def _score(self, X: Any) -> Iterator[tuple[Block, Scores]]:
        self._check_is_fitted()
        self.check_settings()
        source = open_source(X)
        empty = True
        for block in self.encoder().blocks(source):
            empty = False
            with naming_the_file(source):
                scores = self.log_joint(self.params_, block)
                if scores.size and not (np.isfinite(scores.min()) and np.isfinite(scores.max())):
                    raise_unusable(block.floats, block.start)
                    refuse_no_numbers(scores, block.start, self.classes_)
            yield block, scores
        if empty:
            raise BayesError("there are no rows: Found array with 0 sample(s) while a minimum of 1 is required.")

    def tempered(self, scores: Scores) -> Scores:
        """Log scores as they become probabilities."""
        return scores if self.temperature == 1 else scores / self.temperature

    def _label_codes(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """(class codes, C for an unknown class; weights)"""
        self._check_is_fitted()
        source = self._labelled(X, y, sample_weight)
        classes = Vocabulary(self.tally_.classes)
        codes, weights = [], []
        for batch in for_schema(source, self.schema_, {}, self.tally_.classes).batches():
            if isinstance(batch.labels, Responsibilities):
                raise BayesError("one label a row is needed here")
            codes.append(encode_labels(batch.labels, classes, batch.start, grow=False).astype(np.int64))
            weights.append(batch.weights)
        given = [w for w in weights if w is not None]
        return np.concatenate(codes), np.concatenate(given) if given else None

    def _threads(self) -> int:
        return thread_count(self.n_threads)

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
        return model_html(self) if self._is_fitted() else f"<pre>{html.escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
