"""The base of classifiers: settings, learning through a tally, prediction and explanation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np

from bayeskit import logspace
from bayeskit.data.absent_columns import completed
from bayeskit.data.advice import advice, advise
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder, encode_labels
from bayeskit.data.frames import is_cluster_frame, open_source
from bayeskit.data.missing_labels import LabeledRows
from bayeskit.data.reader import in_order, read_block
from bayeskit.data.schema import Numeric, Schema, Target, as_classes, declared_roles, infer
from bayeskit.data.source import (
    Responsibilities,
    Source,
    engine_of,
    first_rows,
    for_schema,
    in_one_state,
    is_source,
    naming_the_file,
    without_type_hints,
)
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.engines import local
from bayeskit.engines.engine import open_on
from bayeskit.errors import AdviceWarning, BadFile, BayesError, BayesWarning, format_setting, with_article
from bayeskit.estimate.cuts import learn_cuts
from bayeskit.estimate.formulas import Written
from bayeskit.estimate.prior import write_prior
from bayeskit.models.base import rules
from bayeskit.models.base.available import available_if
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.estimator import Estimator, clone, seed_of
from bayeskit.models.base.scoring import (
    accuracy_there,
    best_class,
    evaluated_there,
    first_best,
    joint_scores,
    log_evidence,
    log_posterior,
    log_posterior_of,
    most_probable,
    posterior,
    probabilities_by_name,
    record_scores,
    scored_there,
    stacked,
    tie_seed,
)
from bayeskit.storage.model_file import State
from bayeskit.tables import ProbabilityTable, Table, class_header, escaped, left_out
from bayeskit.tally.plan import Plan
from bayeskit.tally.statistic import check_movable
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import NOISE
from bayeskit.typing import Array, Floats, Ints
from bayeskit.undecidable import Impossible, refuse_no_numbers

if TYPE_CHECKING:
    from bayeskit.evaluate.evaluation import Evaluation
    from bayeskit.explain.densities import ClassDensities
    from bayeskit.explain.evidence import Explanations
    from bayeskit.explain.informative import ColumnImportance
    from bayeskit.explain.nomogram import Nomogram
    from bayeskit.explain.work import AveragedWork, Work

MOST_TABLES = 20  # columns whose tables a notebook shows
BY_COLUMN = ("roles", "domains", "smoothing", "numeric", "variance", "cuts")  # settings that may be mappings
TOGETHER = "its columns act jointly. explain says what each adds in a row"
LEAST_ROWS = 20  # fewer rows give no advice about constant columns
LEAST_EQUAL = 5  # values of a class that are hardly equal by chance
MANY_NUMBERS, ROWS_OF_A_CLASS = 20, 5  # so many classes with fewer rows each look like amounts


class LogLikelihood(NamedTuple):
    """Sums over rows: ln P(x, y) and ln P(y | x)."""

    joint: float
    conditional: float


def _are_cuts(way: Any) -> bool:
    """Return True for cut points that were given as numbers."""
    return isinstance(way, (Sequence, np.ndarray)) and not any(isinstance(part, str) for part in way)


@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(Estimator):
    """The base of classifiers of tables, which learn, forget and merge rows through a tally.

    A model defines ``_plan(schema)`` (the statistics to count), ``_estimate(tally)`` (the parameters, a function of
    the tally) and ``_log_joint(params, block)`` (the log score of each class, shape (n_rows, n_classes)). A model that
    is not a function of its counts defines ``_begin(tally)``, ``_move(tally)`` and ``_merged(other)`` in place of
    ``_estimate``. Fitting ends in ``_become``.

    Parameters
    ----------
    roles : str or mapping, default=None
        One role for all columns, or a mapping from name, position or type (int, float, str, bool): "categorical",
        "numeric", "number" (texts such as "$50,000", "57%" or "125K"), "text" (or ``Text(Tokenizer(…))``), "ignore",
        and for dates ``Date("month", "weekday")`` or "month,weekday". None infers roles from the types of the columns.
    domains : mapping, default=None
        From column to all its possible values, which count in smoothing; the target's name declares classes.
    schema : Schema, default=None
        The ``schema_`` of another model, used instead of one inferred from the data.
    unseen : {"ignore", "smooth", "error"}, default="ignore"
        A value never seen in training is left out, smoothed (``NaiveBayes`` and ``SubclassBayes`` only) or refused.
        Unseen words of a text are always left out.
    undecidable : {"prior", "nan", "error"}, default="prior"
        Result for rows that are impossible under every class: the class priors, NaN, or an error.
    ties : {"first", "random"}, default="first"
        Among equally probable classes take the first in sorted order, or one drawn by ``random_state`` and the content
        of the row. Without a seed, one is drawn for each fitted model.
    random_state : int, numpy.random.Generator or RandomState, default=None
        Seed of all random draws.
    n_threads : int, default=None
        None for all cores. The result is the same for any number.
    temperature : float, default=1.0
        Log scores are divided by it before they become probabilities; ``tune`` fits it.
    memory_limit : float, default=None
        Bytes that counts and tables may take; None for 2 GB.
    unlabeled : {"error", "drop"}, default="error"
        Rows without a label are refused, or left out and counted, in learning, forgetting and scoring.
    """

    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    unseen: Literal["ignore", "smooth", "error"] = "ignore"
    undecidable: Literal["prior", "nan", "error"] = "prior"
    ties: Literal["first", "random"] = "first"
    random_state: Any = None
    n_threads: int | None = None
    temperature: float = 1.0
    memory_limit: float | None = None
    unlabeled: Literal["error", "drop"] = "error"

    params_: Any = field(init=False)
    classes_: Array = field(init=False)

    _estimator_type = "classifier"
    _fitted_attribute: ClassVar[str] = "tally_"
    _fit_takes: ClassVar[str] = "rows and classes"
    _reads_tables: ClassVar[bool] = True
    _textless = None  # the model that takes no texts: this one, unless it serves another; "" reads them
    _rows_are: ClassVar[str] = "rows"  # as messages name them
    _column_wise: ClassVar[bool] = True  # columns can be left out of the tally, as if fitted without them
    _plan: ClassVar[Callable[..., Plan]]
    _estimate: ClassVar[Callable[..., Any]]
    _log_joint: ClassVar[Callable[..., Floats]]
    _log_terms: ClassVar[Callable[..., Any]]
    _left_out: ClassVar[Callable[..., Any]]
    _column_table: ClassVar[Callable[..., Any]]
    _write_factors: ClassVar[Callable[..., Any]]
    _rules: ClassVar[rules.Rules] = {
        **rules.SCORING,
        "unseen": rules.words("ignore", "smooth", "error"),
        "unlabeled": rules.words("error", "drop"),
        "memory_limit": rules.optional(rules.memory),
    }

    # -- the model -----------------------------------------------------------------------------------

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """Return the schema with what must be learned before counting, such as cut points."""
        return schema

    def _learn_plan(self, schema: Schema, source: Source) -> Plan:
        """Return the plan; a model whose plan depends on the rows reads them first."""
        return self._plan(schema)

    def _decided(self, schema: Schema) -> Iterable[str]:
        """Return the columns whose settings leave nothing to advise."""
        return ()

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
            A mapping from name to cells, a frame of pandas, polars, Arrow, Spark or Dask, a NumPy array, a sparse
            matrix, or a source.
        y : array-like of shape (n_rows,) or (n_rows, n_classes), or str
            Classes, or the name of their column in ``X``. A matrix or frame holds class probabilities (soft labels):
            each row is counted in every class by its probability. Classes are the columns of a frame, else 0, 1, ….
            Models that are more than counts need one class per row.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows; a row of weight 2 counts as two rows.
        class_weight : "balanced" or mapping, optional
            Multiplies the weights of the rows of each class, such as ``{"spam": 5}``; "balanced" gives all classes the
            same total weight. For data in memory.

        Returns
        -------
        self

        Raises
        ------
        BayesError
            For invalid settings or rows; the model is unchanged.
        """
        self._check_settings()
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        return self._fit_checked(self._labeled(X, y, sample_weight))

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn from files or another source that need not fit in memory.

        Parameters
        ----------
        source : str, Path or source
            A file, a folder, a glob pattern, a database table or query, or an opened source.
        target : str, optional
            Name of the column with the classes; required for files.
        engine : engine, optional
            Counts the rows elsewhere, such as ``Processes(2)``; by default this process counts.

        Returns
        -------
        self
        """
        self._check_settings()
        return self._fit_checked(self._labeled_source(source, target, engine))

    def _fit_checked(self, source: Source) -> Self:
        """Fit on an opened source; the settings are valid."""
        with in_one_state(source):
            with naming_the_file(source):
                schema = self._schema_for(source)
            counted = self._count_new(source, schema)
        self._begin(counted)
        if hasattr(self, "_estimate"):  # others do not lean on moments
            advise_constant_columns(self, source)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new values and classes may appear at any time.

        The counts become those of one fit on all rows; ``fixed_`` lists what stays as the first fit learned it.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes : sequence, optional
            Declare classes ahead, as callers of scikit-learn do; not needed.

        Returns
        -------
        self
        """
        self._check_settings()
        source = self._labeled(X, y, sample_weight)
        if self._is_fitted():
            return self._with_more(self._count_more(source))
        with in_one_state(source):
            schema = self._schema_for(source)
            if classes is not None:
                schema = Schema(schema.columns, Target(schema.target.name, as_classes(classes, "class")), schema.named)
            counted = self._count_new(source, schema)
        return self._begin(counted)

    def learn_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn more rows from files or another source: ``partial_fit`` for data that does not fit in memory.

        Parameters
        ----------
        source, target, engine
            As for :meth:`fit_source`; the target defaults to the learned one.

        Returns
        -------
        self
        """
        if not self._is_fitted():
            return self.fit_source(source, target, engine)
        return self._with_more(self._count_more(self._labeled_source(source, target, engine)))

    def forget(self, X: Any, y: Any, sample_weight: Any = None, refit: bool = False) -> Self:
        """Remove learned rows: the counts become those of a fit without them.

        Values, words and classes that no remaining row has leave the model, unless they were declared. ``fixed_`` lists
        what the removed rows may have influenced and what stays as it was.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        refit : bool, default=False
            Fit again what stays fixed otherwise, on the remaining rows. A model needs its rows for that
            (``BayesClassifier`` and ``TextClassifier`` with ``keep_rows=True``), unless nothing is fixed.

        Returns
        -------
        self

        Raises
        ------
        NotLearned
            If a count would become negative; the model is unchanged. The check is necessary, not sufficient: counts do
            not identify rows, so forgetting the same rows twice is not always detected.
        BayesError
            With ``refit=True``, if something is fixed and the model does not keep its rows.
        """
        self._check_refit(refit)
        return self._without(self._count_more(self._labeled(X, y, sample_weight)), refit)

    def forget_source(self, source: Any, target: str | None = None, engine: Any = None, refit: bool = False) -> Self:
        """Remove rows of files or another source: ``forget`` for data that does not fit in memory.

        Parameters
        ----------
        source, target, engine
            As for :meth:`learn_source`.
        refit : bool, default=False
            As for :meth:`forget`.

        Returns
        -------
        self
        """
        self._check_refit(refit)
        return self._without(self._count_more(self._labeled_source(source, target, engine)), refit)

    def _check_refit(self, refit: bool) -> None:
        """Refuse to refit a model that has not kept its rows."""
        if refit and self.fixed_:
            raise BayesError(
                f"{type(self).__name__} does not keep its {self._rows_are}, so {', '.join(self.fixed_)} cannot be "
                "fitted again; nothing was changed.",
                hint=f"Fit a new model without these {self._rows_are}"
                + (", with keep_rows=True if more are to be forgotten" if hasattr(self, "keep_rows") else ""),
            )

    def merge(self, other: Any) -> Self:
        """Return a new model of the rows of both; settings are those of this one.

        Parameters
        ----------
        other : classifier
            A fitted model of the same class. Both models are unchanged.

        Returns
        -------
        classifier

        Examples
        --------
        >>> from bayeskit import NaiveBayes
        >>> a = NaiveBayes().fit({"sky": ["sun", "rain"]}, ["yes", "no"])
        >>> b = NaiveBayes().fit({"sky": ["rain", "hail"]}, ["yes", "no"])
        >>> a.merge(b).tally_.n_rows
        4
        """
        self._check_mergeable(other)
        return self._merged(other)

    def fit_tally(self, tally: Tally) -> Self:
        """Learn from counts alone, such as a table of counts, the tally of another model or a sum of tallies.

        Parameters
        ----------
        tally : Tally

        Returns
        -------
        self

        Examples
        --------
        >>> from bayeskit import NaiveBayes, Tally
        >>> tally = Tally.from_counts({"sky": {"yes": {"sun": 3}, "no": {"rain": 2}}})
        >>> NaiveBayes().fit_tally(tally).predict({"sky": "sun"}).tolist()
        ['yes']
        """
        self._check_settings()
        return self._fit_tally(tally)

    def _fit_tally(self, tally: Tally) -> Self:
        """Learn from counts; the settings are valid."""
        refuse_no_counts(tally)
        params = self._estimate(tally)  # if it raises, the model is unchanged
        self._become(params, tally, self._classes_of(tally))
        warn_classes(self)
        return self

    def _classes_of(self, tally: Tally) -> tuple[Value, ...]:
        """Return the classes of a tally, which may count parts of them."""
        return tally.classes

    @available_if(lambda model: model._column_wise, "what was learned may ask for the columns that would be gone")
    def restrict(self, columns: Iterable[str]) -> Self:
        """Return a new model over some of the columns, from the same tally: nothing is read again.

        Parameters
        ----------
        columns : str or iterable of str

        Returns
        -------
        classifier
        """
        tally = self._restricted([columns] if isinstance(columns, str) else list(columns))
        by_name = {}  # positions would mean other columns now
        for setting, value in self.get_params(deep=False).items():
            if setting in BY_COLUMN and isinstance(value, Mapping):
                named = {key if key not in self.schema_ else self.schema_.find(key): v for key, v in value.items()}
                by_name[setting] = {
                    key: v for key, v in named.items() if key in tally.schema or key not in self.schema_
                }
        return self._with_tally(tally, **by_name)

    def _restricted(self, columns: list[str]) -> Tally:
        """Return the counts of these columns alone."""
        return self.tally_.restrict(columns)

    def with_prior(self, prior: Any) -> Self:
        """Return a new model with another class prior, from the same tally.

        Parameters
        ----------
        prior : str, mapping or smoothing rule
            As the setting ``prior``.

        Returns
        -------
        classifier
        """
        return self._with_tally(self.tally_, prior=prior)

    def _begin(self, tally: Tally) -> Self:
        """Fit to the first rows; the settings are valid."""
        return self._fit_tally(tally)

    def _move(self, tally: Tally) -> Self:
        """Fit to more or fewer rows."""
        return self.fit_tally(tally)

    def _merged(self, other: Any) -> Self:
        """Return a new model of the rows of both."""
        return self._with_tally(self._model_tally() + other._model_tally())

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        return clone(self).set_params(**settings).fit_tally(tally)

    def _with_more(self, more: Tally) -> Self:
        before = self.params_
        self._move(self._model_tally() + more)
        _warn_lost_columns(self, before)
        return self

    def _without(self, gone: Tally, refit: bool = False) -> Self:
        left = self._model_tally() - gone
        if not left.n_rows:
            raise BayesError.forgets_all("rows")
        return self._drop_rows(left, refit)

    def _drop_rows(self, left: Tally, refit: bool) -> Self:
        """Fit to the rows that are left, without the names that only other rows had."""
        return self._move(left)

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Become the fitted model of a file."""
        if state is not None:
            raise BadFile(f"{with_article(type(self).__name__)} holds nothing beside its counts")
        return self.fit_tally(tally)

    def _count_new(self, source: Source, schema: Schema) -> Tally:
        """Count the first labeled rows."""
        return self._collect(source, schema, self._learn_plan(schema, source))

    def _read_counted(self, source: Source, counted: Tally, hint: str = "") -> Block:
        """Return all rows of positive weight as one block, in the codes of a tally."""
        vocabularies = {name: Vocabulary(family.values) for name, family in counted.families.items()}
        classes = Vocabulary(counted.classes)
        block = read_block(Encoder(counted.schema, vocabularies, classes, n_threads=self._threads()), source)
        if block.labels is None:
            raise BayesError(f"{type(self).__name__} needs one label a row, not class probabilities", hint=hint)
        return block if block.weights is None else block.take(block.weights > 0)

    def _count_more(self, source: Source) -> Tally:
        """Count more labeled rows; learned values determine how columns of a file are read."""
        values = {name: family.values for name, family in self.tally_.families.items()}
        known = for_schema(source, self.schema_, values, self.tally_.classes)
        with without_type_hints():
            return self._collect(known, self.schema_, self.tally_.plan)

    def _become(self, params: Any, tally: Tally, classes: tuple[Value, ...]) -> Self:
        """Set the fitted attributes."""
        self.params_, self.tally_, self.schema_ = params, tally, tally.schema
        self.classes_ = class_array(classes)
        self._set_features(tally.schema.inputs, tally.schema.named)
        return self

    def _with_labels(self, source: Source) -> Source:
        """Return the rows that are learned or scored, without unlabeled ones if these are dropped."""
        return LabeledRows(source) if self._drops_unlabeled and not isinstance(source, LabeledRows) else source

    def _labeled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if not is_source(X):
            self._require_y(y)
        source = open_on(None, X, y, sample_weight) if is_cluster_frame(X) else open_source(X, y, sample_weight)
        return self._with_labels(source)

    def _labeled_source(self, source: Any, target: str | None, engine: Any = None) -> Source:
        """Open a source with the labels of the named column, its own, or those of the learned target."""
        if target is None and isinstance(source, (str, Path)):
            if not self._is_fitted():
                raise BayesError(f"which column of {source} holds the class?", hint="Name it: target=")
            target = self.schema_.target.name
        if engine is not None or is_cluster_frame(source):
            return self._with_labels(open_on(engine, source, target))
        return self._with_labels(open_source(source, target))

    def _inferred_schema(self, source: Source) -> Schema:
        """Return the given schema, or infer one from the source's columns without reading rows."""
        textless = type(self).__name__ if self._textless is None else self._textless
        if self.schema is not None:
            if not isinstance(self.schema, Schema):
                raise BayesError(f"schema= takes the schema_ of a model, not {type(self.schema).__name__}")
            schema = self.schema
        else:
            target = Target(source.target or "class")
            schema = infer(source.kinds, roles=self.roles, domains=self.domains, target=target, named=source.named)
            advise(source, schema, self.roles, self._decided(schema), self._has_advised, textless)
        if schema.texts and textless:
            raise BayesError.takes_no_texts(textless, schema.texts)
        return schema

    def _schema_for(self, source: Source) -> Schema:
        schema = self._inferred_schema(source)
        return self._complete_schema(schema, for_schema(source, schema, {}, ()))

    def _collect(self, source: Source, schema: Schema, plan: Plan) -> Tally:
        """Count a plan with the engine that owns the source, or on this machine."""
        n_threads, memory_limit = self._threads(), self.memory_limit
        if (engine := engine_of(source)) is not None:
            check_movable(plan)
            return engine.collect(source, schema, plan, n_threads=n_threads, memory_limit=memory_limit)
        with naming_the_file(source):
            return local.collect(source, schema, plan, n_threads=n_threads, memory_limit=memory_limit)

    def _learned_cuts(self, schema: Schema, source: Source, wanted: Mapping[str, Any]) -> Schema:
        """Return the schema with cut points, from the rows or from the counts of an engine."""
        count = None if engine_of(source) is None else partial(self._collect, source)
        return learn_cuts(schema, source, wanted, self._threads(), seed_of(self.random_state), count)

    def _count_blocks(self, blocks: Iterable[Block], encoder: Encoder, plan: Plan) -> Tally:
        """Count blocks that are read already, for models that count the same rows many times."""
        return local.count_blocks(blocks, encoder, plan, self.memory_limit)

    def _is_its_counts(self) -> bool:
        """Return True if learning more rows gives the model of one fit on all: no cuts or structure are fixed."""
        numbers = [role for role in self.schema_.columns.values() if isinstance(role, Numeric)]
        given = any((role.cuts, role.kind) != (None, None) for role in numbers)
        return not given and not self.fixed_ and not self.tally_.values

    @property
    def fixed_(self) -> tuple[str, ...]:
        """The choices of the fit beside counts, such as "cut points", which stay when rows are added or removed.

        If it is empty, learning, forgetting and merging give the model of one fit on the same rows.
        """
        cuts = getattr(self, "cuts", None)
        by_column = {self.schema_.find(k): v for k, v in cuts.items()} if isinstance(cuts, Mapping) else {}
        learned = [
            name
            for name, role in self.schema_.columns.items()
            if isinstance(role, Numeric) and role.cuts is not None and not _are_cuts(by_column.get(name, cuts))
        ]
        numbers = [name for name, role in self.schema_.columns.items() if isinstance(role, Numeric)]
        kinds = any(self._chooses_kind(name) for name in numbers)
        from_rows = ("kinds of numbers",) * kinds + ("cut points",) * bool(learned)
        return self._fixed_structure() + (from_rows if self.schema is None else ())

    def _chooses_kind(self, name: str) -> bool:
        """Return True if a fit chooses the kind of a numeric column by its rows."""
        return False

    def _fixed_structure(self) -> tuple[str, ...]:
        """List what the fit learned beside counts, cut points and kinds of numbers."""
        return ()

    # -- prediction ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
            As for :meth:`fit`; one dict is one row. Absent columns are missing cells.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``. For a Spark or Dask frame: the frame with a column ``p_<class>`` per class.
        """
        if self._reads_tables and is_cluster_frame(X):
            return self._scored_there(X, "predict_proba")
        if type(X) is dict and (scores := record_scores(self, X)) is not None:
            proba, evidence = logspace.normalize(self._tempered(scores))
            if evidence[0] > -np.inf:
                return proba
        return posterior(self, X, _room_for(X, len(self.classes_)) if self._reads_tables else None)

    def probabilities(self, row: Any, joint: bool = False) -> dict[Any, float]:
        """Return the probability of each class by name, for one row.

        Parameters
        ----------
        row : dict, or rows with one row
        joint : bool, default=False
            Return P(x, class), which is not normalized, instead of P(class | x).

        Returns
        -------
        dict of class to float
        """
        return probabilities_by_name(self, row, joint)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(class | x) of each row.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return log_posterior(self, X)

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row; the setting ``ties`` decides between equals.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows,)
            For a Spark or Dask frame: the frame with the column ``predicted``.
        """
        if self._reads_tables and is_cluster_frame(X):
            return self._scored_there(X, "predict")
        one = record_scores(self, X) if type(X) is dict and self.ties == "first" else None
        if one is not None and one.max() > -np.inf:
            return self.classes_[first_best(one)]
        return most_probable(self, X)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return ln P(x, class) of each row, −∞ where impossible.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return joint_scores(self, X)

    def score_samples(self, X: Any) -> Floats:
        """Return ln p(x) of each row.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return log_evidence(self, X)

    def _choose(self, scores: Floats, block: Block) -> Ints:
        """Return the class of each row by its scores; the setting ``ties`` decides between equals."""
        return best_class(scores, block, self.ties == "random", tie_seed(self), self._threads())

    def _prior_setting(self) -> Any:
        """Return the class prior to use."""
        return cast(Any, self).prior

    def _tempered(self, scores: Floats) -> Floats:
        """Divide log scores by the temperature."""
        return scores if self.temperature == 1 else scores / self.temperature

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. A Spark or Dask frame is scored where it is.

        Returns
        -------
        float
        """
        if self._reads_tables and is_cluster_frame(X):
            self._check_settings()
            return accuracy_there(self, X, y, sample_weight)
        rows, labels, weights = self._rows_and_labels(X, y, sample_weight)
        right = self.predict(rows) == np.append(self.classes_, self.classes_[:1])[labels]
        right &= labels < len(self.classes_)
        if weights is not None and not weights.any():
            raise BayesError("every row has weight zero, so there is nothing to score")
        return float(np.average(right, weights=weights))

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> LogLikelihood:
        """Return the log-likelihood of rows: Σ ln P(x, y) and Σ ln P(y | x).

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        LogLikelihood
            A named tuple (joint, conditional); −∞ if a row has an unknown class. P(y | x) of a row that is impossible
            under every class is what :meth:`predict_log_proba` returns for it.
        """
        rows, labels, weights = self._rows_and_labels(X, y, sample_weight)
        scores, impossible = self.predict_joint_log_proba(rows), Impossible(self.undecidable)
        log_proba = log_posterior_of(self, scores, 0, impossible)
        impossible.tell()
        joint, conditional = (
            np.column_stack([log_p, np.full(len(labels), -np.inf)])[np.arange(len(labels)), labels]
            for log_p in (scores, log_proba)
        )
        keep = slice(None) if weights is None else weights > 0
        w = np.ones(len(labels)) if weights is None else weights
        return LogLikelihood(float(joint[keep] @ w[keep]), float(conditional[keep] @ w[keep]))

    @available_if("_left_out", "its scores without a row have no closed form: use bayeskit.cross_validate")
    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Evaluate the training rows, each predicted by the model fitted without it, in closed form.

        Takes about as long as one ``predict_proba``.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.

        Returns
        -------
        Evaluation
        """
        from bayeskit.evaluate.leave_one_out import leave_one_out

        self._check_settings()
        blocks = self._blocks_learned(X, y, sample_weight)
        return leave_one_out(
            self._left_out(),
            blocks,
            self.tally_,
            choose=self._choose if self.ties == "random" else None,
            undecidable=self.undecidable,
            temperature=self.temperature,
            n_threads=self._threads(),
            held=self._fixed_during_loo(),
        )

    def evaluate(self, X: Any, y: Any, sample_weight: Any = None, method: str = "auto") -> Evaluation:
        """Evaluate the model on labeled rows: training rows by leave-one-out, all others directly.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. A Spark or Dask frame is scored where it is, as held-out rows; its record has sums, and
            no probabilities of single rows.
        method : {"auto", "leave-one-out", "held-out"}, default="auto"
            "auto" recognizes the training rows in any order by their hash, or by equal counts if the model keeps none
            (beyond 32,768 rows). Other rows are scored as they are, with a warning if some of them were learned.

        Returns
        -------
        Evaluation
            ``method`` and ``remark`` state how the rows were scored, and why.

        Examples
        --------
        >>> from bayeskit import NaiveBayes, datasets
        >>> days = datasets.load_worked_example("tennis")
        >>> NaiveBayes().fit(days, "play").evaluate(days, "play").method
        'leave-one-out'
        """
        from bayeskit.evaluate.cross_validation import evaluate_rows

        X = in_order(X)
        source = self._labeled(X, y, sample_weight)
        return evaluate_rows(self, source, method, None if engine_of(source) is None else evaluated_there)

    def _blocks_learned(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Block]:
        """Return the rows of the fit in the codes of the model, to be left out one by one."""
        return self._encoder().blocks(self._labeled(X, y, sample_weight))

    def _fixed_during_loo(self) -> tuple[str, ...]:
        """Return the choices that were made with all rows and stay fixed while each is left out."""
        return ()

    def _draw_classes(self, n: Any, random_state: Any) -> tuple[Ints, np.random.Generator]:
        """Draw the classes of ``n`` rows by the prior; return (codes, generator)."""
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise BayesError(f"sample({n!r}): give a whole number of rows")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        return rng.choice(len(self.classes_), size=n, p=logspace.exp(self.params_.log_prior)), rng

    # -- explanation ---------------------------------------------------------------------------------

    def table(self, column: str | int | None = None) -> Table:
        """Return the class prior, or the fitted parameters of one column, as a table.

        Parameters
        ----------
        column : str or int, optional
            Name or position of a column; None for the class prior.

        Returns
        -------
        Table
        """
        if column is None or (column == self.schema_.target.name and column not in self.schema_.columns):
            name, prior = f"P({self.schema_.target.name})", logspace.exp(self.params_.log_prior).tolist()
            labels, counts = list(self.tally_.classes), self.tally_.class_counts.tolist()
            target, shares = self.schema_.target.name, np.array([prior])
            columns = {class_header(target, ("count", name)): labels, "count": counts, name: prior}
            return ProbabilityTable(columns, variable=target, values=labels, given="", contexts=[""], shares=shares)
        name = self.schema_.find(column)
        if name not in self.schema_.used:
            raise BayesError(f"column {name!r} is ignored: there is nothing to show")
        return self._column_table(name)

    @available_if("_log_terms", "it does not say what each column adds to a score")
    def explain(self, X: Any, against: Any = None) -> Explanations:
        """Explain why each row is put in its class: evidence by column that sums to the log posterior odds.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.
        against : class label, optional
            Class to compare the predicted one with; by default the runner-up.

        Returns
        -------
        sequence of Explanation
            For a Spark or Dask frame: the frame with the columns ``predicted``, ``against``, ``evidence_prior`` and
            ``evidence_<column>``.
        """
        from bayeskit.explain.evidence import explain_rows

        if is_cluster_frame(X):
            return self._scored_there(X, "explain", against=against)
        self._check_settings()
        return explain_rows(self, self._with_all_columns(open_source(X)), against)

    @available_if("_work", "it is not a product of one factor for each column")
    def work(self, row: Any) -> Work | AveragedWork:
        """Work the posterior of one row by hand: every factor with its counts, the products and their shares.

        Parameters
        ----------
        row : dict or table of one row

        Returns
        -------
        Work or AveragedWork
            Prints as text, is a table in a notebook, and has ``latex()``.
        """
        blocks = list(self._score(row))
        if len(blocks) != 1 or blocks[0][0].n_rows != 1:
            n = sum(block.n_rows for block, _ in blocks)
            raise BayesError(f"work shows one row at a time, and there are {n:,}: pass one of them")
        block, scores = blocks[0]
        prior = write_prior(self._prior_setting(), self.tally_.classes, self.tally_.class_counts)
        return self._work(block, scores, prior)

    @available_if("_write_factors", "it is not a product of one factor for each column")
    def _work(self, block: Block, scores: Floats, prior: Sequence[Written]) -> Work | AveragedWork:
        """Work the one row of a block."""
        from bayeskit.explain.work import build_work

        factors = self._write_factors(block)
        factor_columns = {factor.column for factor in factors}
        left_out = (
            [name for name in self.schema_.used if name not in factor_columns] if self._rows_are == "rows" else []
        )
        return build_work(self, block, scores, prior, factors, left_out)

    @available_if("_write_factors", "it is not a product of one factor for each column")
    def predict_column_log_proba(self, X: Any) -> dict[str, Floats]:
        """Return ln P(x_j | class) of each column; in a structured model, given its parents too.

        With ln P(class) they sum to ``predict_joint_log_proba``.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.

        Returns
        -------
        dict of str to ndarray of shape (n_rows, n_classes)
            0 for a missing cell and for an unused column.
        """
        parts: dict[str, list[Floats]] = {name: [] for name in self.schema_.used} if self._is_fitted() else {}
        for block, _ in self._score(X):
            for name, term in self._log_terms(self.params_, block).items():
                parts[name].append(term)
        return {name: stacked(part, len(self.classes_)) for name, part in parts.items()}

    @available_if("_column_scores", TOGETHER)
    def column_importance(self) -> ColumnImportance:
        """Rank columns and values by how much they tell about the class, in bits.

        Returns
        -------
        ColumnImportance
        """
        from bayeskit.explain.informative import column_importance

        return column_importance(self)

    @available_if("_column_scores", TOGETHER)
    def nomogram(self, predicted: Any = None, against: Any = None, X: Any = None, row: Any = None) -> Nomogram:
        """Draw the model as a nomogram: points for each value, and the probability of their total.

        Parameters
        ----------
        predicted, against : class label, optional
            The classes to compare; by default the second of two against the first, or the most frequent against the
            next.
        X : table, optional
            Rows whose range the scales of numbers cover; it may have some of the columns alone, such as
            ``{"age": [0, 90]}``.
        row : dict, optional
            A row to mark on the scales; its total is marked with the probability that the model gives it.

        Returns
        -------
        Nomogram
        """
        from bayeskit.explain.nomogram import nomogram

        return nomogram(self, predicted, against, X, row)

    @available_if("_column_scores", TOGETHER)
    def densities(self, column: str | int, X: Any = None, y: Any = None) -> ClassDensities:
        """Compute the density of a measured column in each class, the regions it decides alone, and P(mistake).

        Parameters
        ----------
        column : str or int
        X, y : optional
            Rows whose histogram is added.

        Returns
        -------
        ClassDensities
        """
        from bayeskit.explain.densities import class_densities

        return class_densities(self, self.schema_.find(column), None if X is None else self._labeled(X, y, None))

    # -- inside --------------------------------------------------------------------------------------

    def _scored_there(self, frame: Any, what: str, **settings: Any) -> Any:
        """Return a cluster frame with the scores of its rows."""
        self._check_settings()
        return scored_there(self, frame, what, **settings)

    def _encoder(self) -> Encoder:
        """Return the encoder of rows into the codes of this model."""
        vocabularies, classes = dict(self.params_.vocabularies), Vocabulary(self.tally_.classes)
        words, refuse, n = getattr(self.params_, "words", {}), self.unseen == "error", self._threads()
        return Encoder(self.schema_, vocabularies, classes, refuse_unseen=refuse, n_threads=n, words=words)

    def _with_all_columns(self, source: Source) -> Source:
        """Return the source to be scored; columns that it lacks are missing in every row."""
        with naming_the_file(source):
            return completed(source, self.schema_, self.params_.vocabularies)

    def _score(self, X: Any) -> Iterator[tuple[Block, Floats]]:
        self._check_is_fitted()
        self._check_settings()
        source = self._with_all_columns(open_source(X))
        empty = True
        for block in self._encoder().blocks(source, report_unseen=self.unseen == "ignore"):
            empty = False
            with naming_the_file(source):
                scores = self._log_joint(self.params_, block)
                if scores.size and not (np.isfinite(scores.min()) and np.isfinite(scores.max())):
                    raise_unusable(block.floats, block.start)
                    refuse_no_numbers(scores, block.start, self.classes_)
            yield block, scores
        if empty:
            raise BayesError("there are no rows: Found array with 0 sample(s) while a minimum of 1 is required.")

    def _label_codes(self, source: Source) -> tuple[Array, Floats | None]:
        """Return (class codes, n_classes for an unknown class; weights)."""
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

    def _rows_and_labels(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Floats | None]:
        """Return (rows to predict, class codes as :meth:`_label_codes`, weights)."""
        X = in_order(X)
        source = self._labeled(X, y, sample_weight)
        return (source if self._drops_unlabeled else X), *self._label_codes(source)

    def _is_fitted(self) -> bool:
        return "tally_" in vars(self)

    def _repr_html_(self) -> str:
        return _model_html(self) if self._is_fitted() else f"<pre>{escaped(repr(self))}</pre>"


def class_array(classes: tuple[Value, ...]) -> Array:
    """Return class labels as an array of their own type; as objects where NumPy would round them.

    >>> class_array((1, 2**80)).tolist() == [1, 2**80]
    True
    """
    array = np.array(classes)
    return array if array.tolist() == list(classes) else np.array(classes, dtype=object)


def refuse_no_counts(tally: Any) -> None:
    """Raise an error for anything but a tally with rows."""
    if not isinstance(tally, Tally):
        raise BayesError(f"fit_tally takes a Tally, not {type(tally).__name__}; rows go to fit")
    if not tally.n_rows:
        raise BayesError("the tally is empty: there is nothing to fit")


def warn_classes(model: Any) -> None:
    """Warn if the model has only one class, or classes that look like amounts."""
    n, labels = len(model.classes_), model.classes_.tolist()
    if n == 1:
        sentence = f"there is one class only ({labels[0]!r}): every row will be put in it"
        warnings.warn(sentence, BayesWarning, stacklevel=4)
    if n >= MANY_NUMBERS and model.tally_.n_rows < ROWS_OF_A_CLASS * n and not {*map(type, labels)} - {int, float}:
        advised = AdviceWarning(
            f"the target has {n:,} numbers as classes, with few rows each; if they are amounts, not codes,",
            hint="cut them into classes first, such as with pandas.qcut, or predict them by LinearRegression",
        )
        if not model._has_advised(str(advised)):
            warnings.warn(advised, stacklevel=4)


def _room_for(X: Any, n_classes: int) -> Floats | None:
    """Allocate the scores of all rows; None where their number is not known before they are read."""
    shape = getattr(X, "shape", None)
    return np.empty((shape[0], n_classes)) if shape and len(shape) == 2 and isinstance(shape[0], int) else None


def _model_html(model: Any) -> str:
    """Return the overview of a model with folded tables of the prior and of the first columns."""
    from bayeskit.explain.overview import overview

    names = model.schema_.used
    parts = [overview(model).html]
    for name in (None, *names[:MOST_TABLES]):
        head = f"P({model.schema_.target.name})" if name is None else name
        parts.append(f"<details><summary>{escaped(head)}</summary>{model.table(name)._repr_html_()}</details>")
    more = left_out(len(names) - MOST_TABLES, "columns: table(name) has what was learned of each")
    return "".join([*parts, *(f"<p>{line}</p>" for line in more)])


def advise_constant_columns(model: Any, source: Source) -> None:
    """Warn of numeric columns that are constant within a class: a Gaussian model relies heavily on them."""
    tally, roles = model.tally_, model.roles
    open_roles = model.schema is None and (roles is None or isinstance(roles, Mapping))
    if not source.named or not open_roles or not tally.moment_columns or tally.n_rows < LEAST_ROWS:
        return
    declared = declared_roles(roles, source.kinds, tally.schema)
    total = tally.moments.pooled().squared_deviations()
    constant = (tally.moments.squared_deviations() <= NOISE * total) & (tally.moments.n >= LEAST_EQUAL) & (total > 0)
    spikes = [
        (name, int(np.argmax(constant[:, j])))
        for j, name in enumerate(tally.moment_columns)
        if name not in declared and constant[:, j].any()
    ]
    batch = first_rows(source) if spikes else None
    if batch is not None:  # one sentence a column is enough
        spikes = [spike for spike in spikes if next(advice(batch, tally.schema.restrict([spike[0]])), None) is None]
    if not spikes:
        return
    (name, c), others = spikes[0], [repr(other) for other, _ in spikes[1:]]
    more = f", and so {'is' if len(others) == 1 else 'are'} {', '.join(others)} within some class" if others else ""
    value = tally.moments.mean()[c, tally.moment_columns.index(name)]
    role = "categorical" if hasattr(model, "numeric") else "ignore"
    numbers, them = ("their numbers", "them") if others else ("its numbers", "it")
    purpose = f"if {numbers} are codes, pass" if role == "categorical" else f"to leave {them} out, pass"
    warning = AdviceWarning(
        f"column {name!r} is constant within class {tally.classes[c]!r} ({value:.6g}){more}: the model leans heavily "
        f"on {them};",
        hint=f"{purpose} {format_setting('roles', {spike: role for spike, _ in spikes})}",
    )
    if not model._has_advised(str(warning)):
        warnings.warn(warning, stacklevel=4)


def _warn_lost_columns(model: Any, before: Any) -> None:
    """Warn of columns that are no longer used because a class has no number in them."""
    tally, known, now = model.tally_, getattr(before, "unused", ()), getattr(model.params_, "unused", ())
    for name in (*tally.summed, *tally.values):
        if name in known or name not in now:
            continue
        which = "a class"
        if name in tally.summed:
            measured = tally.moments_of([name]).n[:, 0]
            which = f"class {tally.classes[np.argmax((measured <= 0) & (tally.class_counts > 0))]!r}"
        warnings.warn(
            f"column {name!r} is left out from now on, for all classes: {which} has rows but no number in it. Learn "
            "rows of that class with numbers, or forget those without.",
            BayesWarning,
            stacklevel=5,
        )
