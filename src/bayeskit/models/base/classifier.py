"""Classifiers: rows in any form to P(class | x)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np

from bayeskit import logspace
from bayeskit.data.absent_columns import completed
from bayeskit.data.advice import advice, by_role, numbers_as_text, of_memory, together
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder, encode_labels
from bayeskit.data.frames import MemorySource, is_cluster_frame, open_source
from bayeskit.data.missing_labels import LabelledRows
from bayeskit.data.numbers import raise_unusable
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Schema, Target, as_classes, declared_roles, infer
from bayeskit.data.source import (
    Batch,
    Narrowing,
    Responsibilities,
    Source,
    columns_held,
    engine_of,
    first_rows,
    for_schema,
    in_one_state,
    is_source,
    naming_the_file,
)
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.engines import local
from bayeskit.engines.engine import open_on
from bayeskit.errors import BayesError, with_article
from bayeskit.estimate.cuts import learn_cuts
from bayeskit.estimate.prior import written_prior
from bayeskit.estimate.smoothing import is_number
from bayeskit.explain.evidence import explain_rows
from bayeskit.explain.overview import overview
from bayeskit.explain.regions import DecisionRegions, decision_regions
from bayeskit.explain.work import Work, build_work
from bayeskit.models.base.available import available_if
from bayeskit.models.base.estimator import check_is_fitted, check_temperature, one_of, seed_of
from bayeskit.models.base.persistence import Exported, Stored
from bayeskit.models.base.scoring import best_class, first_best, record_scores, scored_there, tie_seed
from bayeskit.tables.sheet import escaped, left_out
from bayeskit.tables.table import ProbabilityTable, Table
from bayeskit.tally.plan import Plan
from bayeskit.tally.statistic import check_movable
from bayeskit.tally.tally import Tally
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Floats, Ints
from bayeskit.undecidable import Impossible, refuse_no_numbers

if TYPE_CHECKING:
    pass


def advise(source: Source, schema: Schema, roles: Any, decided: Iterable[str], has_told: Callable[[str], bool]) -> None:
    """Warn of columns that may be meant otherwise, with the ``roles=`` that would say so; not of ``decided`` ones."""
    if roles is not None and not isinstance(roles, Mapping):
        return
    declared = {*decided, *declared_roles(roles, source.kinds, schema)}
    undeclared = [name for name in schema.used if schema.input_of(name) not in declared]
    sentences = []
    if source.named and source.target in schema.used:
        reason = f"column {source.target!r} has the name of the target and is learnt from"
        sentences.append(
            by_role(source.target, reason, "if it is the target, pass its name as y, or, to leave it out", "ignore")
        )
    batch = first_rows(source) if undeclared else None
    if batch is not None:
        if source.named:
            texts = [name for name in undeclared if _is_text(name, source, batch)]
            noticed = advice(batch, schema.restrict(undeclared), texts)
        else:
            noticed = numbers_as_text(batch, schema, undeclared)
        sentences += [one if isinstance(source, Narrowing) else of_memory(one) for one in noticed]
    for sentence in together(sentences):
        if not has_told(str(sentence)):
            warnings.warn(sentence, stacklevel=5)


def _is_text(name: str, source: Source, batch: Batch) -> bool:
    """Whether someone has said that a column is no number: categories of a frame, types of a file."""
    if not isinstance(source, MemorySource):
        return name in (getattr(source, "types", None) or {})
    return str(getattr(batch.columns[name], "type", "")).startswith("dictionary")


NO_COLUMN_SUM = "what it says of a row is no sum over columns that could be carried elsewhere"
COLUMNS = 20  # whose tables a notebook shows


class Parameters(Protocol):
    """What an estimate holds at least: the class prior and how to read values."""

    @property
    def log_prior(self) -> Floats: ...
    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]: ...


class LogLikelihood(NamedTuple):
    """Sums over rows: ln P(x, y) and ln P(y | x)."""

    joint: float
    conditional: float


class Classifier(Stored):
    """A classifier of tables in any form that learns, forgets and merges rows through a tally.

    A model defines ``plan(schema)`` (the statistics to count), ``_begin(tally)`` (fit to the first rows),
    ``_move(tally)`` (fit to more or fewer rows), ``_merged(other)`` (a new model of the rows of both) and
    ``log_joint(params, block)`` (the log score of each class, shape (n_rows, n_classes)). Fitting ends in ``_become``.

    unlabelled: rows without a label are refused ("error"), or left out and counted ("drop"), alike in learning,
        forgetting and scoring.
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
    unlabelled: str = "error"

    params_: Any
    classes_: Array

    _rows_are: ClassVar[str] = "rows"
    """What a row is to a person."""

    to_sql = available_if("_scoring_form", NO_COLUMN_SUM)(Exported.to_sql)
    to_onnx = available_if("_scoring_form", NO_COLUMN_SUM)(Exported.to_onnx)
    to_json = available_if("_scoring_form", NO_COLUMN_SUM)(Exported.to_json)

    if TYPE_CHECKING:

        def _begin(self, tally: Tally) -> Self: ...
        def _move(self, tally: Tally) -> Self: ...
        def _merged(self, other: Any) -> Self: ...
        def _column_table(self, column: str) -> Table: ...

    def log_joint(self, params: Any, block: Block) -> Floats:
        """Return ln P(x, class) of the rows of a block, shape (n_rows, n_classes)."""
        raise NotImplementedError

    # -- what a model may add ------------------------------------------------------------------------

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """The schema with what must be learnt before counting, such as cut points."""
        return schema

    def _decided(self, schema: Schema) -> Iterable[str]:
        """Columns that a setting says enough of: no other role is advised."""
        return ()

    def _is_its_counts(self) -> bool:
        """Whether more rows make it the model that a fit on all of them gives."""
        return False

    def _check_settings(self) -> None:
        """Refuse settings that mean nothing; called before any work."""
        one_of("unseen", self.unseen, ("ignore", "smooth", "error"))
        one_of("undecidable", self.undecidable, ("prior", "nan", "error"))
        one_of("ties", self.ties, ("first", "random"))
        self._check_unlabelled()
        thread_count(self.n_threads)
        check_temperature(self.temperature)
        limit = self.memory_limit
        if limit is not None and (not is_number(limit) or not limit > 0):
            raise BayesError(f"memory_limit={limit!r} bytes", hint="give a number above 0, or None for 2 GB")

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with classes ``y`` (values, or the name of a column of ``X``)."""
        self._check_settings()
        return self.fit_source(self._labelled(X, y, sample_weight))

    @property
    def _drops_unlabelled(self) -> bool:
        """Whether rows without a label are left out."""
        return self.unlabelled == "drop"

    def _check_unlabelled(self) -> None:
        """Refuse a setting that means nothing."""
        one_of("unlabelled", self.unlabelled, ("error", "drop"))

    def _with_labels(self, source: Source) -> Source:
        """The rows of a source that are learnt from, or scored."""
        return LabelledRows(source) if self._drops_unlabelled and not isinstance(source, LabelledRows) else source

    def plan(self, schema: Schema) -> Plan:
        """Return the statistics to count of columns with these roles."""
        raise NotImplementedError

    def _learn_plan(self, schema: Schema, source: Source) -> Plan:
        """What to count where that must be learnt from the rows first, such as which columns go together."""
        return self.plan(schema)

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn from files or any other source; an ``engine`` counts, such as ``Processes(2)``, else this machine."""
        self._check_settings()
        source = self._labelled_source(source, target, engine)
        with in_one_state(source):
            with naming_the_file(source):
                schema = self._schema_for(source)
            counted = self._count_new(source, schema)
        self._begin(counted)
        self._advise(source)
        return self

    def _advise(self, source: Source) -> None:
        """Warn of what the rows of a fit suggest."""

    def learn_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn more rows from files or any other source: ``partial_fit`` for what does not fit in memory."""
        if not self._is_fitted():
            return self.fit_source(source, target, engine)
        return self._with_more(self._count_more(self._labelled_source(source, target, engine)))

    def forget_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Unlearn rows of files or any other source: ``forget`` for what does not fit in memory."""
        self._check_is_fitted()
        return self._without(self._count_more(self._labelled_source(source, target, engine)))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new values and classes may appear at any time.

        ``classes`` declares classes ahead, as scikit-learn's callers do; it is not needed.
        """
        self._check_settings()
        source = self._labelled(X, y, sample_weight)
        if self._is_fitted():
            return self._with_more(self._count_more(source))
        with in_one_state(source):
            schema = self._schema_for(source)
            if classes is not None:
                schema = Schema(schema.columns, Target(schema.target.name, as_classes(classes, "class")), schema.named)
            counted = self._count_new(source, schema)
        return self._begin(counted)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt: the counts are then those of a fit without them.

        Rows that would make a count negative are refused and change nothing. (Counts cannot know rows: that
        test is necessary, not sufficient.)
        """
        self._check_is_fitted()
        return self._without(self._count_more(self._labelled(X, y, sample_weight)))

    def _with_more(self, more: Tally) -> Self:
        return self._move(self.tally_ + more)

    def _without(self, gone: Tally) -> Self:
        left = self.tally_ - gone
        if not left.n_rows:
            raise BayesError("forgetting these rows would leave nothing to believe; start a new model instead")
        return self._move(left)

    def merge(self, other: Any) -> Self:
        """A new model of the rows of both; settings are those of this one. Both sides stay as they are."""
        self._check_is_fitted()
        if type(other) is not type(self):
            raise BayesError(
                f"{with_article(type(self).__name__)} merges with another one, not with {type(other).__name__}"
            )
        check_is_fitted(other, "rows and classes")
        return self._merged(other)

    def __radd__(self, other: object) -> Self:
        """``sum(models)`` starts from 0."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: object) -> Self:
        can_merge = isinstance(other, Classifier) and hasattr(type(self), "merge")
        return self.merge(other) if can_merge else NotImplemented

    def _count_new(self, source: Source, schema: Schema) -> Tally:
        """The tally of the first labelled rows."""
        return self._collect(source, schema, self._learn_plan(schema, source))

    def _count_more(self, source: Source) -> Tally:
        """The tally of more labelled rows. What is learnt already says what the columns of a file hold."""
        values = {name: family.values for name, family in self.tally_.families.items()}
        known = for_schema(source, self.schema_, values, self.tally_.classes)
        with columns_held():
            return self._collect(known, self.schema_, self.tally_.plan)

    def _become(self, params: Any, tally: Tally, classes: tuple[Value, ...]) -> Self:
        """The fitted model of what is believed and of what was counted."""
        self.params_, self.tally_, self.schema_ = params, tally, tally.schema
        self.classes_ = class_array(classes)
        self.n_features_in_ = len(tally.schema.inputs)
        if tally.schema.named:
            self.feature_names_in_ = np.array(tally.schema.inputs, dtype=object)
        elif "feature_names_in_" in vars(self):
            del self.feature_names_in_
        return self

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if y is None and not is_source(X):
            raise BayesError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return self._with_labels(open_on(None, X, y, sample_weight))

    def _labelled_source(self, source: Any, target: str | None, engine: Any = None) -> Source:
        """The source with labels: those of the named column, those it has, or those of the learnt target."""
        if target is None and isinstance(source, (str, Path)):
            if not self._is_fitted():
                raise BayesError(f"which column of {source} holds the class?", hint="Name it: target=")
            target = self.schema_.target.name
        return self._with_labels(open_on(engine, source, target))

    def _inferred_schema(self, source: Source) -> Schema:
        """The schema that was given, or the one of the source's columns: what must be learnt from rows is not in it."""
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise BayesError(f"schema= takes the schema_ of a model, not {type(self.schema).__name__}")
            return self.schema
        target = Target(source.target or "class")
        schema = infer(source.kinds, roles=self.roles, domains=self.domains, target=target, named=source.named)
        advise(source, schema, self.roles, self._decided(schema), self._has_told)
        return schema

    def _schema_for(self, source: Source) -> Schema:
        schema = self._inferred_schema(source)
        return self._complete_schema(schema, for_schema(source, schema, {}, ()))

    def _collect(self, source: Source, schema: Schema, plan: Plan) -> Tally:
        """What a plan asks for, counted by the engine that owns the source, else on this machine."""
        n_threads, memory_limit = self._threads(), self.memory_limit
        if (engine := engine_of(source)) is not None:
            check_movable(plan)
            return cast(Tally, engine.collect(source, schema, plan, n_threads=n_threads, memory_limit=memory_limit))
        with naming_the_file(source):
            return local.collect(source, schema, plan, n_threads=n_threads, memory_limit=memory_limit)

    def _learnt_cuts(self, schema: Schema, source: Source, wanted: Mapping[str, Any]) -> Schema:
        """The schema with cut points as the settings of columns say: from the rows, or from what an engine counts."""
        count = None if engine_of(source) is None else partial(self._collect, source)
        return learn_cuts(schema, source, wanted, self._threads(), seed_of(self.random_state), count)

    def _count_blocks(self, blocks: Iterable[Block], encoder: Encoder, plan: Plan) -> Tally:
        """The tally of blocks that are read already, for models that count the same rows many times."""
        return local.count_blocks(blocks, encoder, plan, self.memory_limit)

    # -- saying --------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """P(class | x) of each row (rows, classes).

        Of a Spark or Dask frame: the frame with a column ``p_…`` for each class.
        """
        if is_cluster_frame(X):
            return cast(Floats, self._scored_there(X, "predict_proba"))
        if type(X) is dict and (scores := record_scores(self, X)) is not None:
            proba, evidence = logspace.normalise(self._tempered(scores))
            if evidence[0] > -np.inf:
                return proba
        self._check_is_fitted()
        parts, impossible, whole = [], Impossible(self.undecidable), _room_for(X, len(self.classes_))
        for block, scores in self._score(X):
            out = None if whole is None else whole[block.start : block.start + block.n_rows]
            proba, evidence = logspace.normalise(self._tempered(scores), self._threads(), out)
            impossible.settle(proba, evidence, block.start, logspace.exp(self.params_.log_prior))
            parts.append(proba)
        impossible.tell()
        return stacked(parts, len(self.classes_)) if whole is None else whole

    def predict_log_proba(self, X: Any) -> Floats:
        """ln P(class | x) of each row (rows, classes)."""
        parts, impossible = [], Impossible(self.undecidable)
        for block, scores in self._score(X):
            log_proba, evidence = logspace.log_normalise(self._tempered(scores))
            impossible.settle(
                log_proba, evidence, block.start, logspace.log_normalise(self.params_.log_prior[None])[0][0]
            )
            parts.append(log_proba)
        impossible.tell()
        return stacked(parts, len(self.classes_))

    def predict(self, X: Any) -> Array:
        """The most probable class of each row; ties as the setting ``ties`` says.

        Of a Spark or Dask frame: the frame with the column ``predicted``.
        """
        if is_cluster_frame(X):
            return cast(Array, self._scored_there(X, "predict"))
        one = record_scores(self, X) if type(X) is dict and self.ties == "first" else None
        if one is not None and one.max() > -np.inf:
            return self.classes_[first_best(one)]
        chosen, impossible = [], Impossible(self.undecidable)
        for block, scores in self._score(X):
            impossible.settle(scores, scores.max(axis=1), block.start, self.params_.log_prior)
            chosen.append(best_class(np.nan_to_num(scores, nan=-np.inf), block, self.ties == "random", tie_seed(self)))
        impossible.tell()
        return self.classes_[np.concatenate(chosen)] if chosen else self.classes_[:0]

    def _scored_there(self, frame: Any, what: str, **settings: Any) -> Any:
        """A frame of a cluster with what this model says of its rows."""
        self._check_is_fitted()
        self._check_settings()
        return scored_there(self, frame, what, **settings)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows ``X`` with classes ``y``."""
        X = in_order(X)
        source = self._labelled(X, y, sample_weight)
        labels, weights = self._label_codes(source, None)
        right = (
            self.predict(source if self._drops_unlabelled else X) == np.append(self.classes_, self.classes_[:1])[labels]
        )
        right &= labels < len(self.classes_)
        if weights is not None and not weights.any():
            raise BayesError("every row has weight zero, so there is nothing to score")
        return float(np.average(right, weights=weights))

    def _choose(self, scores: Floats, block: Block) -> Ints:
        """The class of each row by its scores; ties as the setting ``ties`` says."""
        return best_class(scores, block, self.ties == "random", tie_seed(self), self._threads())

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """ln P(x, class) of each row (rows, classes); −∞ where impossible."""
        return stacked([scores for _, scores in self._score(X)], len(self.classes_))

    def score_samples(self, X: Any) -> Floats:
        """ln p(x) of each row."""
        parts = [logspace.log_sum_exp(scores) for _, scores in self._score(X)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @available_if("_written_factors", "it is no product of one factor for each column")
    def work(self, row: Any) -> Work:
        """The posterior of one row as it is worked by hand: every factor with its counts, the products, their shares.

        The record prints as text, is a table in a notebook, and has ``latex()``.
        """
        blocks = list(self._score(row))
        if len(blocks) != 1 or blocks[0][0].n_rows != 1:
            n = sum(block.n_rows for block, _ in blocks)
            raise BayesError(f"work shows one row at a time, and there are {n:,}: pass one of them")
        block, scores = blocks[0]
        factors = self._written_factors(block)
        prior = written_prior(self._prior_setting(), self.tally_.classes, self.tally_.class_counts)
        spoken = {factor.column for factor in factors}
        silent = [name for name in self.schema_.used if name not in spoken] if self._rows_are == "rows" else []
        return build_work(self, block, scores, prior, factors, silent)

    def _prior_setting(self) -> Any:
        """The class prior as it was asked for."""
        return self.prior

    @available_if("_written_factors", "it is no product of one factor for each column")
    def predict_column_log_proba(self, X: Any) -> dict[str, Floats]:
        """ln P(x_j | class) of each column (rows, classes), in a structured model given its parents too.

        With ln P(class) they sum to ``predict_joint_log_proba``; 0 where a cell is missing or says nothing.
        """
        parts: dict[str, list[Floats]] = {name: [] for name in self.schema_.used} if self._is_fitted() else {}
        for block, _ in self._score(X):
            for name, term in self._log_terms(self.params_, block).items():
                parts[name].append(term)
        return {name: stacked(part, len(self.classes_)) for name, part in parts.items()}

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> LogLikelihood:
        """Σ ln P(x, y) and Σ ln P(y | x) over the rows; −∞ where a row has a class that is not known."""
        X = in_order(X)
        source = self._labelled(X, y, sample_weight)
        labels, weights = self._label_codes(source, None)
        rows = source if self._drops_unlabelled else X
        scores = np.column_stack([self.predict_joint_log_proba(rows), np.full(len(labels), -np.inf)])
        joint, tempered = scores[np.arange(len(labels)), labels], self._tempered(scores)
        conditional = logspace.log_posterior_of(tempered, labels)
        conditional[np.isneginf(joint)] = -np.inf
        keep = slice(None) if weights is None else weights > 0
        w = np.ones(len(labels)) if weights is None else weights
        return LogLikelihood(float(joint[keep] @ w[keep]), float(conditional[keep] @ w[keep]))

    @available_if("_log_terms", "it does not say what each column adds to a score")
    def explain(self, X: Any, against: Any = None) -> Any:
        """Why each row is put in its class: evidence column by column that sums to the log posterior odds.

        The predicted class is compared with the runner-up, or with the class ``against``. Of a Spark or Dask frame: the
        frame with the columns ``predicted``, ``against``, ``evidence_prior`` and one for each column of the model.
        """
        if is_cluster_frame(X):
            return self._scored_there(X, "explain", against=against)
        self._check_is_fitted()
        self._check_settings()
        return explain_rows(self, self._with_all_columns(open_source(X)), against)

    @available_if("_log_terms", "it reads no columns of numbers, which make a plane")
    def regions(self, a: str | int, b: str | int, X: Any, y: Any = None) -> DecisionRegions:
        """Which class is decided where, in the plane of two numeric columns, all other cells missing.

        The plane is as large as rows ``X`` with classes ``y`` need it, and the record holds these rows too.
        """
        self._check_is_fitted()
        return decision_regions(self, self.schema_.find(a), self.schema_.find(b), self._labelled(X, y, None))

    def table(self, column: str | int | None = None) -> Table:
        """The class prior, or what was learnt of one column."""
        self._check_is_fitted()
        if column is None or (column == self.schema_.target.name and column not in self.schema_.columns):
            name, prior = f"P({self.schema_.target.name})", logspace.exp(self.params_.log_prior).tolist()
            labels, counts = list(self.tally_.classes), self.tally_.class_counts.tolist()
            columns = {self._class_header(): labels, "count": counts, name: prior}
            target, shares = self.schema_.target.name, np.array([prior])
            return ProbabilityTable(columns, variable=target, values=labels, given="", contexts=[""], shares=shares)
        return self._column_table(self.schema_.find(column))

    def _class_header(self) -> str:
        """The target's name above a column of classes, told apart from the names beside it."""
        name = self.schema_.target.name
        return f"{name} (class)" if name in ("count", "mean", "variance") else name

    # -- inside --------------------------------------------------------------------------------------

    def _encoder(self) -> Encoder:
        """Reads rows in the codes of this model's tables and classes."""
        vocabularies, classes = dict(self.params_.vocabularies), Vocabulary(self.tally_.classes)
        words, refuse, n = getattr(self.params_, "words", {}), self.unseen == "error", self._threads()
        return Encoder(self.schema_, vocabularies, classes, refuse_unseen=refuse, n_threads=n, words=words)

    def _with_all_columns(self, source: Source) -> Source:
        """The source to be scored: columns that it lacks are missing in every row."""
        with naming_the_file(source):
            return completed(source, self.schema_, self.params_.vocabularies)

    def _score(self, X: Any) -> Iterator[tuple[Block, Floats]]:
        self._check_is_fitted()
        self._check_settings()
        source = self._with_all_columns(open_source(X))
        empty = True
        for block in self._encoder().blocks(source):
            empty = False
            with naming_the_file(source):
                scores = self.log_joint(self.params_, block)
                if scores.size and not (np.isfinite(scores.min()) and np.isfinite(scores.max())):
                    raise_unusable(block.floats, block.start)
                    refuse_no_numbers(scores, block.start, self.classes_)
            yield block, scores
        if empty:
            raise BayesError("there are no rows: Found array with 0 sample(s) while a minimum of 1 is required.")

    def _tempered(self, scores: Floats) -> Floats:
        """Log scores as they become probabilities."""
        return scores if self.temperature == 1 else scores / self.temperature

    def _label_codes(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Array, Floats | None]:
        """(class codes, C for an unknown class; weights)"""
        self._check_is_fitted()
        source = self._labelled(X, y, sample_weight)
        classes = Vocabulary(self.tally_.classes)
        codes, weights = [], []
        columns = self._with_all_columns(source)
        for batch in for_schema(columns, self.schema_, {}, self.tally_.classes).batches():
            if isinstance(batch.labels, Responsibilities):
                raise BayesError("one label a row is needed here")
            with naming_the_file(source):
                codes.append(encode_labels(batch.labels, classes, batch.start, grow=False).astype(np.int64))
            weights.append(batch.weights)
        given = [w for w in weights if w is not None]
        return np.concatenate(codes), np.concatenate(given) if given else None

    def _threads(self) -> int:
        return thread_count(self.n_threads)

    def _is_fitted(self) -> bool:
        return "tally_" in vars(self)

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _check_is_fitted(self) -> None:
        if "tally_" not in vars(self):  # asked for every row that comes alone
            check_is_fitted(self, "rows and classes")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.target_tags.required = "classifier", ClassifierTags(), True
        tags.input_tags.categorical = tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _repr_html_(self) -> str:
        return model_html(self) if self._is_fitted() else f"<pre>{escaped(repr(self))}</pre>"


def class_array(classes: tuple[Value, ...]) -> Array:
    """Class labels as an array of their own type; as objects where NumPy would round them.

    >>> class_array((1, 2**80)).tolist() == [1, 2**80]
    True
    """
    array = np.array(classes)
    return array if array.tolist() == list(classes) else np.array(classes, dtype=object)


def _room_for(X: Any, n_classes: int) -> Floats | None:
    """Where the scores of all rows will stand; None where their number is not known before they are read."""
    shape = getattr(X, "shape", None)
    return np.empty((shape[0], n_classes)) if shape and len(shape) == 2 and isinstance(shape[0], int) else None


def stacked(parts: list[Floats], n_classes: int) -> Floats:
    """The scores of all blocks (rows, classes)."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros((0, n_classes))


def model_html(model: Any) -> str:
    """The model in short, and to be opened the tables of the prior and of the first columns."""
    names = model.schema_.used
    parts = [overview(model).html]
    for name in (None, *names[:COLUMNS]):
        head = f"P({model.schema_.target.name})" if name is None else name
        parts.append(f"<details><summary>{escaped(head)}</summary>{model.table(name)._repr_html_()}</details>")
    more = left_out(len(names) - COLUMNS, "columns: table(name) has what was learnt of each")
    return "".join([*parts, *(f"<p>{line}</p>" for line in more)])
