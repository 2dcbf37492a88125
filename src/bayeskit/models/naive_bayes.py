"""Naive Bayes over mixed columns: given the class, the columns are independent.

    P(c | x) ∝ P(c) · Π_j P(x_j | c)

Categorical columns and histograms are tables of smoothed counts, numeric columns are Gaussians or other densities,
texts are bags of words. Missing cells drop out of the counts and of the product.


Formula: P(c ∣ x) ∝ P(c) Π P(x_j ∣ c)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source, for_schema
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BadFile, BayesError, format_setting
from bayeskit.estimate.columns.coded import CodedColumns, ValueTable
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.kinds import NUMERIC
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.estimate.cuts import check_cuts
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.prior import check_prior, class_prior
from bayeskit.estimate.smoothing import UNSEEN, as_smoothing
from bayeskit.estimate.variance import as_variance_floor
from bayeskit.models.base import Classifier, rules
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.left_out import best_temperature, choices_by_class
from bayeskit.models.base.persistence import classifier_form, refuse_random_ties
from bayeskit.models.base.scoring import OneRow
from bayeskit.tables import Table
from bayeskit.tally.distinct import LEAST, MOST
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

if TYPE_CHECKING:
    from bayeskit.evaluate.diagnosis import Diagnosis
    from bayeskit.evaluate.selection import Selection
    from bayeskit.explain.densities import ClassImages
    from bayeskit.export.scoring_form import ScoringForm
    from bayeskit.models.logistic_form import LogisticForm
    from bayeskit.models.naive_bayes_loo import NaiveLeftOut
    from bayeskit.network.network import BayesianNetwork


K = TypeVar("K", bound=Columns)


@dataclass(frozen=True)
class NaiveParameters:
    """Parameters of naive Bayes: the class prior, and the columns of each kind in the order of scoring."""

    log_prior: Floats
    kinds: tuple[Columns, ...] = ()

    @cached_property
    def by_column(self) -> Mapping[str, Columns]:
        """Return the kind of each column."""
        return {name: kind for kind in self.kinds for name in kind.names}

    @cached_property
    def words(self) -> Mapping[str, Words]:
        """Return the vocabulary of each text column."""
        return {name: words for kind in self.kinds for name, words in kind.words.items()}

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Return the vocabulary of each coded column."""
        return {name: Vocabulary(values) for kind in self.kinds for name, values in kind.values.items()}

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Return the columns that take part in scores, in their order."""
        return tuple(name for kind in self.kinds for name in kind.used)

    @cached_property
    def unused(self) -> frozenset[str]:
        """Return the columns that are left out, because they carry no information."""
        return frozenset(self.by_column).difference(self.used)

    def of_kind(self, kind: type[K]) -> K | None:
        """Return all columns of a kind; None if there are none."""
        return next((columns for columns in self.kinds if isinstance(columns, kind)), None)

    @property
    def tables(self) -> Mapping[str, ValueTable]:
        """Return the value table of each coded column."""
        coded = self.of_kind(CodedColumns)
        return {} if coded is None else coded.tables


MOST_WAITING = 1024  # rows
# Sums of rows that wait must not overflow.
LARGEST_WAITING = 1e100
_waiting_lock = RLock()


class _Waiting:
    """Rows of plain numbers that ``partial_fit`` has accepted and that are not counted yet.

    One lock serves all models, and is held while rows are counted.
    They cannot be refused any more: their classes are known, and their numbers fit the columns.
    """

    def __init__(self, model: NaiveBayes) -> None:
        model._check_settings()
        self.names = model._get_param_names()
        self.fitted = {name: value for name, value in vars(model).items() if name not in self.names}
        self.settings: list[Any] = list(map(vars(model).get, self.names))
        self.rows: list[Floats] = []
        self.labels: list[Array] = []
        self.n_rows = 0
        classes, schema = model.classes_, model.schema_
        kinds = {} if schema.named else model.numeric_
        may_change = any(isinstance(setting, (Mapping, list)) for setting in self.settings)
        takes_all = {*kinds.values()} <= {"gaussian", "histogram", "lognormal"} and classes.dtype.kind in "iU"
        takes_all = takes_all and not may_change and type(model) is NaiveBayes  # a subclass may estimate otherwise
        self.width = len(kinds) if takes_all and len(kinds) == self.fitted["n_features_in_"] else 0
        self.positive = [j for j, kind in enumerate(kinds.values()) if kind == "lognormal"]
        self.classes = frozenset(classes.tolist())

    def accepts(self, model: NaiveBayes, X: Floats, y: Array) -> bool:
        """Return True for rows that wait from now on."""
        if not self.width or X.shape[1] != self.width or self.n_rows + len(y) > MOST_WAITING:
            return False
        if y.dtype.kind != model.classes_.dtype.kind or not self.classes.issuperset(y.tolist()):
            return False
        if (np.abs(X) > LARGEST_WAITING).any() or (self.positive and (X[:, self.positive] <= 0).any()):
            return False
        if not all(map(is_, map(vars(model).get, self.names), self.settings)):
            return False
        self.rows.append(X.copy())
        self.labels.append(y.copy())
        self.n_rows += len(y)
        return True

    def counted(self) -> dict[str, Any]:
        """Return the fitted attributes of the model that has learned the rows."""
        model = NaiveBayes().set_params(**dict(zip(self.names, self.settings, strict=True)))
        vars(model).update(self.fitted)
        Classifier.partial_fit(model, np.concatenate(self.rows), np.concatenate(self.labels))
        return {
            name: value
            for name, value in vars(model).items()
            if name not in self.names and (name in _COUNTED or value is not self.fitted.get(name))
        }


def _is_small(X: Any, y: Any) -> bool:
    """Return True for a few rows of an array of numbers and an array of labels."""
    if type(X) is not np.ndarray or type(y) is not np.ndarray or X.dtype != np.float64 or X.ndim != 2:
        return False
    return y.shape == X.shape[:1] and 0 < len(y) <= MOST_WAITING


@dataclass(eq=False, repr=False)
class NaiveBayes(Classifier):
    """Naive Bayes for tables with categorical, numeric and text columns, missing cells and unseen values.

    Parameters
    ----------
    smoothing : float, str, smoothing rule or mapping, default=1.0
        Pseudo-count added to the count of every value: a number (1.0 is Laplace), "auto" (chosen per column by
        leave-one-out likelihood), or ``MLE()``, ``Laplace()``, ``Lidstone(a)``, ``MEstimate(m, prior)``,
        ``Dirichlet(beta)``; a mapping gives some columns their own.
    prior : str, mapping or smoothing rule, default="empirical"
        "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    numeric : str or mapping, default="auto"
        Distribution of numeric columns: "gaussian", "student" (a normal with unknown mean and variance), "lognormal"
        (positive numbers), "poisson" (counts), "histogram", "kernel", or "auto": the best of Gaussian, log-normal and
        histogram for each column, chosen by left-out rows of a sample (5,000 rows, chosen by their content); a mapping
        gives some columns their own. The first fit chooses; ``schema_`` holds the kinds.
    variance : {"class_feature", "feature", "class", "all"} or mapping, default="class_feature"
        What Gaussians share: nothing, one variance per column for all classes, one per class, or one in all.
    ddof : {0, 1}, default=1
        1 for unbiased variances, 0 for maximum likelihood.
    cuts : int, str, tuple, sequence or mapping, default=10
        For histograms, a number of intervals of equal width, the cut points, or how to learn them: "mdl" (by the
        classes), "frequency", "width", "random", or one of these with a number: ("frequency", 5); also by column.
    missing : {"ignore", "value"}, default="ignore"
        Leave missing cells out, or treat them as one more value of categorical columns.
    max_values : int, default=4096
        For kernel densities, the number of different numbers of a column that are kept; beyond it, numbers are read
        with fewer digits.
    variance_floor : float or VarianceFloor, default=0.01
        No Gaussian, and no bandwidth of a kernel density, is narrower than this share of the column's variance within
        the classes (of its total variance if they have none); or a ``VarianceFloor(share, of="total")``. Without it, a
        column that is constant within a class would outweigh all others.
    roles : str or mapping, default=None
        One role for all columns, or a mapping from name, position or type (int, float, str, bool): "categorical",
        "numeric", "number" (texts such as "$50,000", "57%" or "125K"), "text" (or ``Text(Tokenizer(…))``), "ignore",
        and for dates ``Date("month", "weekday")`` or "month,weekday". None infers roles from the types of the columns.
    domains : mapping, default=None
        From column to all its possible values, which count in smoothing; the target's name declares classes.
    schema : Schema, default=None
        The ``schema_`` of another model, used instead of one inferred from the data.
    unseen : {"ignore", "smooth", "error"}, default="ignore"
        A value never seen in training is left out, smoothed or refused. Unseen words of a text are always left out.
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
        Log scores are divided by it before they become probabilities; :meth:`tune` fits it.
    memory_limit : float, default=None
        Bytes that counts and tables may take; None for 2 GB.
    unlabeled : {"error", "drop"}, default="error"
        Rows without a label are refused, or left out and counted, in learning, forgetting and scoring.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    tally_ : Tally
        The counts, from which all parameters are computed.
    schema_ : Schema
        Names and roles of the columns.
    params_ : NaiveParameters
        Class prior and the parameters of each column.

    Examples
    --------
    >>> from bayeskit.datasets import load_worked_example
    >>> model = NaiveBayes(smoothing=0).fit(load_worked_example("tennis"), "play")
    >>> day = {"outlook": "sunny", "temperature": "cool", "humidity": "high", "wind": "strong"}
    >>> model.predict(day)[0], round(model.predict_proba(day)[0, 0], 6)
    (np.str_('no'), np.float64(0.795417))
    >>> print(model.table("outlook"))
    outlook   count | no  count | yes  P(outlook | no)  P(outlook | yes)
    overcast           0            4                0          0.444444
    rain               2            3              0.4          0.333333
    sunny              3            2              0.6          0.222222
    """

    smoothing: Any = 1.0
    prior: Any = "empirical"
    numeric: Any = "auto"
    variance: Any = "class_feature"
    ddof: int = 1
    cuts: Any = 10
    missing: Literal["ignore", "value"] = "ignore"
    max_values: int = 4096
    variance_floor: Any = 0.01

    params_: NaiveParameters = field(init=False)

    _textless = ""
    _rules: ClassVar[rules.Rules] = {
        "missing": rules.words("ignore", "value"),
        "max_values": rules.integer(LEAST, MOST),
        "numeric": rules.by_column(lambda name, kind: rules.one_of(name, kind, ("auto", *sorted(NUMERIC)))),
        "variance": rules.by_column(rules.words("class_feature", "feature", "class", "all")),
        "smoothing": rules.by_column(lambda _, value: as_smoothing(value)),
        "cuts": rules.by_column(lambda _, value: check_cuts(value)),
        "variance_floor": lambda _, value: as_variance_floor(value),
        "ddof": rules.degrees,
        "prior": check_prior,
    }

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new values and classes may appear at any time.

        The counts become those of one fit on all rows; ``fixed_`` lists what stays as the first fit learned it. A few
        rows of an array of numbers are counted together with those that follow, or when the model is used.

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
        if sample_weight is None and _is_small(X, y) and self._is_fitted():
            with _waiting_lock:
                waiting = vars(self).get("_waiting") or _Waiting(self)
                if waiting.accepts(self, X, y):
                    vars(self)["_waiting"] = waiting
                    for name in _COUNTED:
                        vars(self).pop(name, None)
                    return self
        return super().partial_fit(X, y, classes, sample_weight)

    def _count_waiting(self) -> None:
        """Count the rows that wait."""
        with _waiting_lock:
            if (waiting := vars(self).get("_waiting")) is not None:
                vars(self).update(waiting.counted())
                del vars(self)["_waiting"]

    def _is_fitted(self) -> bool:
        return "_waiting" in vars(self) or super()._is_fitted()

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _become(self, params: Any, tally: Tally, classes: tuple[Value, ...]) -> Self:
        vars(self).pop("_waiting", None)
        return super()._become(params, tally, classes)

    def __getstate__(self) -> dict[str, Any]:
        self._count_waiting()
        return dict(vars(self))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _COUNTED:
                self._count_waiting()
                if name in vars(self):  # counted here, or by another thread
                    return vars(self)[name]
            return super().__getattr__(name)

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """Choose the kinds of columns that are "auto", and learn cut points for histograms."""
        from bayeskit.models.naive_bayes_loo import with_chosen_kinds

        for setting in _DEFAULTS:
            for key in given if isinstance(given := getattr(self, setting), Mapping) else ():
                schema.find(key)  # a misspelled column is an error
        wanted = [name for name in schema.measured if self._setting_for("numeric", name, schema) == "histogram"]
        schema = self._learned_cuts(schema, source, {name: self._setting_for("cuts", name, schema) for name in wanted})
        automatic = self._automatic(schema)
        return with_chosen_kinds(self, schema, source, automatic) if automatic else schema

    def _automatic(self, schema: Schema) -> list[str]:
        """Return the numeric columns whose kind is still to be chosen."""
        open_ = [name for name in schema.measured if getattr(schema.columns[name], "kind", None) is None]
        return [name for name in open_ if self._by_column("numeric", name, schema) == "auto"]

    def _chooses_kind(self, name: str) -> bool:
        return bool(self._by_column("numeric", name, self.schema_) == "auto")

    def _decided(self, schema: Schema) -> Iterable[str]:
        """Return the columns that are declared as counts."""
        return [n for n in schema.measured if NUMERIC[self._setting_for("numeric", n, schema)].whole]

    def _plan(self, schema: Schema) -> Plan:
        columns: dict[type[Columns], list[str]] = {}
        for name in schema.measured:
            kind = NUMERIC[self._setting_for("numeric", name, schema)]
            columns.setdefault(kind, []).append(name)
        requests: dict[str, Request] = {}
        for kind, names in columns.items():
            request = kind.request(names, self)
            before = requests.get(request.kind)  # kinds that read the same statistic have it counted together
            if before is not None:
                both = {*before.columns, *names}
                request = replace(request, columns=tuple(name for name in schema.measured if name in both))
            requests[request.kind] = request
        return Plan(Request("families", tuple(schema.coded)), *requests.values(), words=schema.texts)

    def _estimate(self, tally: Tally) -> NaiveParameters:
        kinds: list[type[Columns]] = [*NUMERIC.values(), TextColumns]
        columns: dict[type[Columns], list[str]] = {kind: [] for kind in kinds}
        for statistic in dict.fromkeys(kind.statistic for kind in columns):
            counted = tally.statistics.get(statistic)
            for name in counted.request.names if counted is not None else ():
                columns[self._kind(name, statistic, tally.schema)].append(name)
        prior = class_prior(self.prior, tally.classes, tally.class_counts)
        beliefs = (kind.estimate(names, tally, self) for kind, names in columns.items() if names)
        return NaiveParameters(logspace.log(prior), tuple(beliefs))

    def _kind(self, name: str, statistic: str, schema: Schema) -> type[Columns]:
        """Return the kind that the setting names if it reads the counted statistic, else the first that reads it."""
        if statistic == TextColumns.statistic:
            return TextColumns
        setting = self._setting_for("numeric", name, schema)
        if setting not in NUMERIC:
            raise BadFile(f"a column is of the kind {setting!r}, which this bayeskit does not know")
        kinds = (NUMERIC[setting], *NUMERIC.values())
        return next(kind for kind in kinds if kind.statistic == statistic)

    def _log_joint(self, params: NaiveParameters, block: Block) -> Floats:
        """Return ln P(x, class) of the rows of a block, shape (n_rows, n_classes)."""
        scores = np.repeat(params.log_prior[None], block.n_rows, axis=0)
        threads = self._threads()
        for kind in params.kinds:
            kind.add_scores(block, scores, threads)
            if self.unseen == "error":
                kind.refuse_unseen(block)
        return scores

    def _one_row(self) -> OneRow | None:
        """Return a scorer of single records with the same bits as :meth:`_log_joint`; None where a table is needed."""
        if self.schema_.needed != self.schema_.used:
            return None
        refuse = self.unseen != "smooth"  # a table is built, which warns of the value or refuses it
        cells = {name: kind.one_cell(name, refuse) for name, kind in self.params_.by_column.items()}
        scored = {name: cell for name, cell in cells.items() if cell is not None}
        return OneRow(self.params_.log_prior, scored) if len(scored) == len(cells) else None

    def _column_scores(self, params: NaiveParameters, name: str, cells: Array) -> Floats:
        """Return ln P(cell | class) of codes or numbers of one column, shape (n_cells, n_classes); 0 if unused."""
        return params.by_column[name].scores(name, cells)

    def _column_points(self, params: NaiveParameters, name: str, n: int) -> Floats:
        """Return quantiles of a measured column in each class, shape (n_classes, n)."""
        return params.by_column[name].points(name, n)

    def _log_terms(self, params: NaiveParameters, block: Block) -> dict[str, Floats]:
        """Return the term of each column, shape (n_rows, n_classes), in schema order."""
        threads, of = self._threads(), params.by_column
        return {name: of[name].term(name, block, threads) for name in self.schema_.used}

    def _write_factors(self, block: Block) -> list[WrittenFactor]:
        """Return P(cell | class) of each column of the first row, with its counts."""
        of = self.params_.by_column
        return [factor for name in self.schema_.used for factor in of[name].write_factors(name, block, self.tally_)]

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the smoothing and the temperature that have the least leave-one-out log loss.

        Sets ``smoothing``, one number for all columns, and ``temperature``. With ``numeric="auto"`` it also sets
        ``numeric`` and ``cuts`` to the kinds of columns that predict the classes best at that temperature.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        from bayeskit.models.naive_bayes_loo import best_smoothing

        X = in_order(X)
        capped = self._fix_kinds(X, y, sample_weight)  # as the kinds were chosen
        start = clone(self).set_params(smoothing=1.0, temperature=1.0).fit(X, y, sample_weight)
        if start.schema_.coded or start.schema_.texts:
            start.temperature = best_temperature(start, self._labeled(X, y, sample_weight), capped)
            self.smoothing = best_smoothing(start, self._labeled(X, y, sample_weight))
        self.fit_tally(start.tally_)
        self.temperature = best_temperature(self, self._labeled(X, y, sample_weight), capped)
        return self

    def _fix_kinds(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Set ``numeric`` and ``cuts`` to the best kinds of columns that are "auto"; return False if there are none."""
        from bayeskit.models.naive_bayes_loo import RowSample, best_kinds

        self._check_settings()
        source = self._labeled(X, y, sample_weight)
        schema = self._inferred_schema(source)
        source = for_schema(source, schema, {}, ())
        automatic = self._automatic(schema)
        if not automatic:
            return False
        kinds = best_kinds(self, RowSample.of(self, schema, source), automatic, tempered=True)
        every = {name: self._by_column("numeric", name, schema) for name in schema.measured if name not in kinds}
        cuts = {name: self._by_column("cuts", name, schema) for name, kind in every.items() if kind == "histogram"}
        self.numeric = every | {name: kind.numeric for name, kind in kinds.items()}
        self.cuts = cuts | {name: kind.cuts for name, kind in kinds.items() if kind.cuts is not None}
        return True

    def select(self, X: Any, y: Any, direction: str = "forward", sample_weight: Any = None) -> Selection:
        """Select the columns that predict the classes best by exact leave-one-out log loss; the model is unchanged.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`. The rows are read twice, however many columns are tried. If their terms would take more
            than 2 GB, a random sample of rows is used.
        direction : {"forward", "backward"}, default="forward"
            Start without columns and add the best one while the loss falls, or start with all and drop.

        Returns
        -------
        Selection

        Examples
        --------
        >>> table = {"x": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], "noise": [5.0, 1.0, 4.0, 2.0, 5.0, 1.0]}
        >>> NaiveBayes().select(table, ["a", "a", "a", "b", "b", "b"]).columns
        ('x',)
        """
        from bayeskit.evaluate.selection import selection
        from bayeskit.models.naive_bayes_loo import column_search

        rules.one_of("direction", direction, ("forward", "backward"))
        fitted = clone(self)
        source = fitted._with_labels(self._labeled(X, y, sample_weight))
        judge, schema = column_search(fitted.fit_source(source), source), fitted.schema_
        return selection(judge, schema.needed, direction, self.roles)

    def diagnose(self, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
        """Find pairs of columns that break the naive assumption, what they cost, and what helps.

        A pair is reported if its mutual information given the class is more than chance explains (χ², or permutations
        if rows are few). Rows are scored by a model of the same settings without them; this model is unchanged.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        Diagnosis

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> play, sky = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
        >>> table = {"sky": sky, "again": sky, "wind": rng.integers(0, 3, 300)}
        >>> diagnosis = NaiveBayes(roles="categorical").diagnose(table, play)
        >>> [(pair.first, pair.second, round(pair.bits, 1)) for pair in diagnosis.pairs]
        [('sky', 'again', 1.6)]
        """
        from bayeskit.models.naive_bayes_loo import diagnose_columns

        return diagnose_columns(self, X, y, sample_weight)

    def _left_out(self) -> NaiveLeftOut:
        """Return the leave-one-out scorer."""
        from bayeskit.models.naive_bayes_loo import NaiveLeftOut

        return NaiveLeftOut(self)

    def _fixed_during_loo(self) -> tuple[str, ...]:
        chosen = any(map(self._chooses_kind, self.numeric_))
        return ("kinds of numbers",) * chosen + choices_by_class(self.smoothing, self.cuts, self.schema_)

    def _scoring_form(self) -> ScoringForm:
        """Return the class prior and the term of each column as plain numbers."""
        from bayeskit.export.scoring_form import column_terms

        refuse_random_ties(self)
        params, refuse = self.params_, self.unseen == "error"
        terms = [term for kind in params.kinds for term in column_terms(kind, refuse)]
        return classifier_form(self, params.log_prior, terms)

    def to_network(self) -> BayesianNetwork:
        """Convert to a Bayesian network: the class is the parent of every coded column; measured ones are left out.

        Returns
        -------
        BayesianNetwork

        Raises
        ------
        BayesError
            If missing cells or values never seen are evidence for this model: a network sums them out.

        Examples
        --------
        >>> from bayeskit.datasets import load_worked_example
        >>> network = NaiveBayes().fit(load_worked_example("tennis"), "play").to_network()
        >>> round(network.query("P(wind = strong)"), 6)          # 4/7 · 5/14 + 4/11 · 9/14
        0.437848
        """
        from bayeskit.models._structured import network_of_tables

        for setting, value, cells in (("missing", "value", "missing cells"), ("unseen", "smooth", "values never seen")):
            if getattr(self, setting) == value:
                raise BayesError(
                    f"{cells} are evidence for this model, and a network sums them out",
                    hint=f"pass {format_setting(setting, 'ignore')}",
                )
        tables = {
            name: (table.values, (), table.probabilities[:, 1 : len(table.values) + 1])
            for name, table in self.params_.tables.items()
            if table.used
        }
        return network_of_tables(self, tables)

    def to_logistic(self) -> LogisticForm:
        """Convert to weights and intercept of a logistic function; exact for tables, words and shared variances.

        Returns
        -------
        LogisticForm

        Raises
        ------
        BayesError
            If the log odds of a column are not linear, such as those of Gaussians with class-specific variances.

        Examples
        --------
        >>> x = {"x": [0.0, 2.0, 1.0, 3.0]}                     # means 1 and 2, variance 2
        >>> form = NaiveBayes(variance="feature").fit(x, ["a", "a", "b", "b"]).to_logistic()
        >>> form.weights.tolist(), form.intercept.round(12).tolist()      # (2 − 1)/2 and (1² − 2²)/(2 · 2)
        ([[0.5]], [-0.75])
        """
        from bayeskit.models.logistic_form import naive_form

        return naive_form(self)

    @property
    def numeric_(self) -> dict[str, str]:
        """The kind of each numeric column, as given or chosen."""
        of, roles = self.params_.by_column, self.schema_.columns
        return {name: of[name].kind for name in self.schema_.used if isinstance(roles[name], Numeric)}

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters: class prior, tables, means and variances."""
        return len(self.tally_.classes) - 1 + sum(kind.n_parameters() for kind in self.params_.kinds)

    def log_marginal_likelihood(self) -> float:
        """Return the log marginal likelihood ln P(data), with ``smoothing`` as Dirichlet prior of every table.

        In closed form, for categorical columns and histograms. An "empirical" class prior is taken as a uniform
        Dirichlet prior.

        Returns
        -------
        float

        Raises
        ------
        BayesError
            For other columns, and for ``smoothing=0`` and "auto", which are not priors.

        Examples
        --------
        >>> from bayeskit.datasets import load_worked_example
        >>> round(NaiveBayes().fit(load_worked_example("tennis"), "play").log_marginal_likelihood(), 6)
        -65.357526
        """
        from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence

        tally, params = self.tally_, self.params_
        others = [name for name, kind in params.by_column.items() if not isinstance(kind, CodedColumns)]
        if others:
            kind, role = params.by_column[others[0]].kind, format_setting("roles", {others[0]: "categorical"})
            raise BayesError(
                f"column {others[0]!r} is {kind}, and the probability of the data has a closed form for tables alone",
                hint=f'cut its numbers with numeric="histogram" or take it as {role}',
            )
        total = log_class_evidence(self.prior, tally.classes, tally.class_counts)
        for name, table in params.tables.items():
            setting = self._setting_for("smoothing", name, tally.schema)
            slots = np.flatnonzero(~np.isnan(table.pseudo))
            values = [(None, *table.values, UNSEEN)[slot] for slot in slots]
            counts = np.concatenate([tally.families[name].counts, np.zeros((len(tally.classes), 1))], axis=1)
            total += log_evidence(counts[:, slots], hyperparameters(as_smoothing(setting), values, setting))
        return total

    def _column_table(self, column: str) -> Table:
        """Return P(value | class) with counts, or the parameters of the density of each class."""
        from bayeskit.explain.densities import DensityTable, class_densities

        belief = self.params_.by_column[column]
        table = belief.table(column, self.tally_)
        is_drawn = column in self.params_.used and column not in belief.values and column not in belief.words
        return DensityTable(table, class_densities(self, column)) if is_drawn else table

    def images(self, shape: tuple[int, int]) -> ClassImages:
        """Return the mean of each pixel in each class as images.

        Parameters
        ----------
        shape : (int, int)
            Height and width of the images whose pixels are the columns.

        Returns
        -------
        ClassImages
        """
        from bayeskit.explain.densities import class_images

        names, moments = self.tally_.moment_columns, self.tally_.moments
        means = dict(zip(names, moments.mean().T, strict=True))
        roles = self.schema_.columns.items()
        for name in (n for n, role in roles if isinstance(role, Numeric) and n not in means):
            kind = self._setting_for("numeric", name, self.schema_)
            raise BayesError(
                f"the model has no mean of column {name!r}, which is {kind}", hint='fit with numeric="gaussian"'
            )
        return class_images(self.schema_, self.tally_.classes, means, shape, "mean")

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, Array]:
        """Draw rows from the model: a class by the prior, then each column independently.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        random_state : int or generator, optional
            By default the setting ``random_state``.

        Returns
        -------
        (Table, ndarray of shape (n,))
            Rows and their classes. Unused columns are drawn as missing.
        """
        labels, rng = self._draw_classes(n, random_state)
        columns = {name: self.params_.by_column[name].sample(name, labels, rng) for name in self.schema_.used}
        return Table(columns), self.classes_[labels]

    def _setting_for(self, setting: str, name: str, schema: Schema) -> Any:
        """Return a setting for one column; "auto" is the kind that was chosen, or Gaussian before the fit."""
        given = self._by_column(setting, name, schema)
        if setting == "numeric" and given == "auto":
            return getattr(schema.columns[name], "kind", None) or "gaussian"
        return given

    def _by_column(self, setting: str, name: str, schema: Schema) -> Any:
        value = getattr(self, setting)
        if not isinstance(value, Mapping):
            return value
        by_column = {
            schema.find(key): v for key, v in value.items() if key in schema.columns or not isinstance(key, str)
        }
        return by_column.get(name, _DEFAULTS[setting])


# Attributes that are absent while rows wait.
_COUNTED = ("tally_", "params_")
_DEFAULTS = {"smoothing": 1.0, "numeric": "auto", "variance": "class_feature", "cuts": 10}
