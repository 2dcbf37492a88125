"""Naive Bayes over mixed columns: given the class, the columns are independent.

    P(c | x) ∝ P(c) · Π_j P(x_j | c)

Categorical columns and histograms are tables of smoothed counts, numeric columns are Gaussians or other densities,
texts are bags of words. Missing cells drop out of the counts and of the product.


Formula: P(c ∣ x) ∝ P(c) Π P(x_j ∣ c)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source, for_schema
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError, format_setting
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.kinds import NUMERIC, kind_of
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.estimate.cuts import check_cuts
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import UNSEEN, as_smoothing
from bayeskit.estimate.value_table import ValueTable
from bayeskit.estimate.variance import as_variance_floor
from bayeskit.evaluate.diagnosis import Diagnosis
from bayeskit.evaluate.selection import Selection, selection
from bayeskit.explain.densities import ClassImages, DensityTable, class_densities, class_images
from bayeskit.export.scoring_form import ScoringForm, column_terms
from bayeskit.models.base import TallyClassifier
from bayeskit.models.base.estimator import clone, held_choices, one_of, seed_of
from bayeskit.models.base.persistence import refuse_random_ties, whole_form
from bayeskit.models.base.scoring import OneRow
from bayeskit.models.base.tally_classifier import best_temperature
from bayeskit.models.logistic_form import LogisticForm, naive_form
from bayeskit.models.naive_bayes_loo import NaiveLeftOut, best_smoothing, judged_terms
from bayeskit.models.naive_bayes_numeric import best_kinds, with_chosen_kinds
from bayeskit.tables.table import Table
from bayeskit.tally.distinct import LEAST, MOST
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


K = TypeVar("K", bound=Columns)


@dataclass(frozen=True)
class NaiveParameters:
    """What a naive Bayes model believes: the class prior, and the columns of each kind in the order of their scores."""

    log_prior: Floats
    kinds: tuple[Columns, ...] = ()

    @cached_property
    def by_column(self) -> Mapping[str, Columns]:
        """The kind that each column is of."""
        return {name: kind for kind in self.kinds for name in kind.names}

    @cached_property
    def words(self) -> Mapping[str, Words]:
        """The known words of each text."""
        return {name: words for kind in self.kinds for name, words in kind.words.items()}

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Codes of the values as the tables have them."""
        return {name: Vocabulary(values) for kind in self.kinds for name, values in kind.values.items()}

    @cached_property
    def used(self) -> tuple[str, ...]:
        """Columns that speak, in the order of their scores."""
        return tuple(name for kind in self.kinds for name in kind.used)

    @cached_property
    def silent(self) -> frozenset[str]:
        """Columns that tell nothing of any class, and are left out."""
        return frozenset(self.by_column).difference(self.used)

    def of_kind(self, kind: type[K]) -> K | None:
        """All columns of a kind; None where there are none."""
        return next((columns for columns in self.kinds if isinstance(columns, kind)), None)

    def with_kind(self, columns: Columns) -> Self:
        """The same with other beliefs about the columns of one kind."""
        return replace(self, kinds=tuple(columns if type(k) is type(columns) else k for k in self.kinds))

    @property
    def tables(self) -> Mapping[str, ValueTable]:
        """The value table of each coded column."""
        coded = self.of_kind(CodedColumns)
        return {} if coded is None else coded.tables


@dataclass(eq=False, repr=False)
class NaiveBayes(TallyClassifier):
    """Naive Bayes for tables with categorical, numeric and text columns, missing cells and unseen values.

    Parameters
    ----------
    smoothing: pseudo-count added to every value's count: a number (1.0 is Laplace), "auto" (chosen per column
        by leave-one-out likelihood), or ``MLE()``, ``Laplace()``, ``Lidstone(a)``, ``MEstimate(m, prior)``,
        ``Dirichlet(beta)``; a mapping gives some columns their own.
    prior: "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    numeric: "gaussian", "student" (a normal with the doubt about its mean and variance), "lognormal" (numbers above
        zero whose logarithm is normal), "poisson" (counts), "histogram", "kernel", or "auto": the best of these (but
        Poisson) for each column, chosen by rows that are left out; a mapping gives some columns their own.
    variance: what Gaussians share: "class_feature" (nothing), "feature" (one for all classes), "class", "all".
    ddof: 1 for unbiased variances, 0 for maximum likelihood.
    cuts: for histograms, a number of intervals of equal width, the cut points, or how to learn them: "mdl" (by the
        classes), "frequency", "width", "random", or one of these with a number: ("frequency", 5); also by column.
    roles: one role for all columns or a mapping from name, position or type (int, float, str, bool): "categorical",
        "numeric", "text" (or ``Text(Tokenizer(…))``), "ignore", and of dates ``Date("month", "weekday")`` or
        "month,weekday".
    domains: mapping from column to all its possible values; they count in smoothing.
    schema: the ``schema_`` of another model, taken instead of one inferred from the data.
    missing: "ignore" leaves missing cells out; "value" makes missing one more value of categorical columns.
    unseen: a value never seen in training is left out ("ignore"), smoothed ("smooth") or refused ("error"); words of
        a text that were never seen are always left out.
    undecidable: rows impossible under every class get the class priors ("prior"), "nan", or an "error".
    ties: the "first" class in sorted order, or one drawn at "random" by ``random_state`` and the row's content;
        without a seed, one is drawn for each fitted model.
    n_threads: None for all cores; the result is the same for any number.
    max_values: for kernel densities, how many different numbers of a column are kept; past it, all are read with
        fewer digits.
    temperature: log scores are divided by it before they become probabilities; ``tune`` fits it.
    variance_floor: no Gaussian is narrower than this share of the column's variance within the classes (where they have
        none, of its total variance), nor is the spread by which a kernel density chooses its bandwidth; or a
        ``VarianceFloor(share, of="total")``. A column that is constant within a class would rule out all else.
    unlabelled: rows without a label are refused ("error"), or left out and counted ("drop"), in learning, forgetting
        and scoring alike.

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
    numeric: Any = "gaussian"
    variance: Any = "class_feature"
    ddof: int = 1
    cuts: Any = 10
    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    missing: str = "ignore"
    unseen: str = "ignore"
    undecidable: str = "prior"
    ties: str = "first"
    random_state: Any = None
    n_threads: int | None = None
    max_values: int = 4096
    temperature: float = 1.0
    variance_floor: Any = 0.01
    unlabelled: str = "error"

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("missing", self.missing, ("ignore", "value"))
        if not isinstance(self.max_values, (int, np.integer)) or not LEAST <= self.max_values <= MOST:
            raise BayesError(f"max_values={self.max_values!r}: give a whole number from {LEAST} to {MOST:,}")
        for value in _all_settings(self.numeric):
            one_of("numeric", value, ("auto", *sorted(NUMERIC)))
        for value in _all_settings(self.variance):
            one_of("variance", value, ("class_feature", "feature", "class", "all"))
        for value in _all_settings(self.smoothing):
            as_smoothing(value)
        for value in _all_settings(self.cuts):
            check_cuts(value)
        as_variance_floor(self.variance_floor)
        if self.ddof not in (0, 1):
            raise BayesError(f"ddof={self.ddof!r}: it is 1 (unbiased) or 0 (maximum likelihood)")

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """The kinds of columns that are left to choose, and cut points for the histograms: as given, or learnt."""
        for setting in _DEFAULTS:
            for key in given if isinstance(given := getattr(self, setting), Mapping) else ():
                schema.find(key)  # a misspelt column is an error
        if automatic := self._automatic(schema):
            schema = with_chosen_kinds(self, schema, source, automatic)
        wanted = [name for name in schema.measured() if self._setting_for("numeric", name, schema) == "histogram"]
        chosen = {name: self._setting_for("cuts", name, schema) for name in wanted}
        return self._with_cuts(schema, source, chosen)

    def _automatic(self, schema: Schema) -> list[str]:
        """The columns of numbers whose kind is still to be chosen."""
        open_ = [name for name in schema.measured() if getattr(schema.columns[name], "kind", None) is None]
        return [name for name in open_ if self._given("numeric", name, schema) == "auto"]

    def _with_cuts(self, schema: Schema, source: Source, wanted: Mapping[str, Any]) -> Schema:
        """The schema with the cut points of columns, as these settings say."""
        return self._learnt_cuts(schema, source, wanted)

    def _decided(self, schema: Schema) -> Iterable[str]:
        """Numbers that were called whole ones."""
        return [n for n in schema.measured() if NUMERIC[self._setting_for("numeric", n, schema)].whole]

    def plan(self, schema: Schema) -> Plan:
        """What is to be counted of columns with these roles."""
        columns: dict[type[Columns], list[str]] = {}
        for name in schema.measured():
            kind = NUMERIC[self._setting_for("numeric", name, schema)]
            columns.setdefault(kind, []).append(name)
        requests: dict[str, Request] = {}
        for kind, names in columns.items():
            request = kind.request(names, self)
            before = requests.get(request.kind)  # kinds that read the same statistic have it counted together
            if before is not None:
                both = {*before.columns, *names}
                request = replace(request, columns=tuple(name for name in schema.measured() if name in both))
            requests[request.kind] = request
        return Plan(Request("families", tuple(schema.coded())), *requests.values(), words=schema.texts())

    def estimate(self, tally: Tally) -> NaiveParameters:
        """What is believed after these counts; the model stays as it is."""
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
        """The kind of a column of which a statistic was counted."""
        if statistic == TextColumns.statistic:
            return TextColumns
        return kind_of(self._setting_for("numeric", name, schema), statistic)

    def log_joint(self, params: NaiveParameters, block: Block) -> Floats:
        """ln P(x, class) of the rows of a block (rows, classes), under these beliefs."""
        scores = np.repeat(params.log_prior[None], block.n_rows, axis=0)
        threads = self._threads()
        for kind in params.kinds:
            kind.add_scores(block, scores, threads)
            if self.unseen == "error":
                kind.refuse_unseen(block)
        return scores

    def _one_row(self) -> OneRow | None:
        """Scores records one at a time, to the same bits as :meth:`log_joint`; not where parts of dates are read."""
        if self.schema_.needed != self.schema_.used:
            return None
        refuse = self.unseen == "error"
        cells = {name: kind.one_cell(name, refuse) for name, kind in self.params_.by_column.items()}
        return OneRow.of(self.params_.log_prior, cells)

    def _column_scores(self, params: NaiveParameters, name: str, cells: Array) -> Floats:
        """ln P(cell | class) of the codes or numbers of one column (cells, classes); zero where it says nothing."""
        return params.by_column[name].scores(name, cells)

    def _column_points(self, params: NaiveParameters, name: str, n: int) -> Floats:
        """Numbers of a measured column that are equally probable in each class (classes, n)."""
        return params.by_column[name].points(name, n)

    def _log_terms(self, params: NaiveParameters, block: Block) -> dict[str, Floats]:
        """What each column adds to the scores of a block (rows, classes), in schema order."""
        threads, of = self._threads(), params.by_column
        return {name: of[name].term(name, block, threads) for name in self.schema_.used}

    def _written_factors(self, block: Block) -> list[WrittenFactor]:
        """P(cell | class) of each column of the first row, as it comes about."""
        of = self.params_.by_column
        return [factor for name in self.schema_.used for factor in of[name].written(name, block, self.tally_)]

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the one smoothing and the temperature that predict the classes best, leaving each row out in turn.

        Fixes the numbers: ``smoothing``, one for all columns, and ``temperature`` are they afterwards. ("auto" asks
        the counts alone, column by column.) With ``numeric="auto"`` it fixes the kinds, too: ``numeric`` and ``cuts``
        then say for each column what predicts the classes best at that temperature.
        """
        X = in_order(X)
        capped = "auto" in _all_settings(self.numeric)  # as the kinds were chosen
        if capped:
            self._fix_kinds(X, y, sample_weight)
        start = clone(self).set_params(smoothing=1.0, temperature=1.0).fit(X, y, sample_weight)
        if start.schema_.coded() or start.schema_.texts():
            start.temperature = best_temperature(start, self._labelled(X, y, sample_weight), capped)
            self.smoothing = best_smoothing(start, self._labelled(X, y, sample_weight))
        self.fit_tally(start.tally_)
        self.temperature = best_temperature(self, self._labelled(X, y, sample_weight), capped)
        return self

    def _fix_kinds(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Make the kinds of columns that are left to choose settings, as they are best at the best temperature."""
        self._check_settings()
        source = self._labelled(X, y, sample_weight)
        schema = self._inferred_schema(source)
        source = for_schema(source, schema, {}, ())
        automatic = self._automatic(schema)
        kinds = best_kinds(self, schema, source, automatic, tempered=True) if automatic else {}
        every = {name: self._given("numeric", name, schema) for name in schema.measured() if name not in kinds}
        cuts = {name: self._given("cuts", name, schema) for name, kind in every.items() if kind == "histogram"}
        self.numeric = every | {name: kind.numeric for name, kind in kinds.items()}
        self.cuts = cuts | {name: kind.cuts for name, kind in kinds.items() if kind.cuts is not None}

    def select(self, X: Any, y: Any, direction: str = "forward", sample_weight: Any = None) -> Selection:
        """The columns that predict the classes best, each row left out in turn: a record, and this model as it was.

        "forward" begins without columns and adds the one that lowers the exact leave-one-out log loss most, as long as
        one does; "backward" begins with all and drops. The rows are read twice, however many columns are tried. Where
        their terms would take more than 2 GB, rows drawn by ``random_state`` are judged.

        >>> table = {"x": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0], "noise": [5.0, 1.0, 4.0, 2.0, 5.0, 1.0]}
        >>> NaiveBayes().select(table, ["a", "a", "a", "b", "b", "b"]).columns
        ('x',)
        """
        one_of("direction", direction, ("forward", "backward"))
        fitted = clone(self)
        source = fitted._with_labels(self._labelled(X, y, sample_weight))
        judge, schema = judged_terms(fitted.fit_source(source), source), fitted.schema_
        return selection(judge, schema.needed, direction, self.roles)

    def diagnose(self, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
        """The pairs of columns that break the naive assumption on these rows, what they cost, and what helps.

        A pair is named where its information given the class is more than chance gives (χ², or shuffling where rows are
        few). Rows are scored by a model of the same settings without them; this model stays as it is.

        >>> rng = np.random.default_rng(0)
        >>> play, sky = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
        >>> table = {"sky": sky, "again": sky, "wind": rng.integers(0, 3, 300)}
        >>> diagnosis = NaiveBayes(roles="categorical").diagnose(table, play)
        >>> [(pair.first, pair.second, round(pair.bits, 1)) for pair in diagnosis.pairs]
        [('sky', 'again', 1.6)]
        """
        from bayeskit.models.naive_bayes_dependence import diagnose_columns

        return diagnose_columns(self, X, y, sample_weight)

    def _left_out(self) -> NaiveLeftOut:
        """Scores of learnt rows under the estimates made without them."""
        self._check_is_fitted()
        return NaiveLeftOut(self)

    def _held_while_left_out(self) -> tuple[str, ...]:
        chosen = "auto" in _all_settings(self.numeric) and bool(self.numeric_)
        return ("kinds of numbers",) * chosen + held_choices(self.smoothing, self.cuts, self.schema_)

    def _scoring_form(self) -> ScoringForm:
        """The class prior and the term of each column, as plain numbers."""
        self._check_is_fitted()
        refuse_random_ties(self)
        params, refuse = self.params_, self.unseen == "error"
        terms = [term for kind in params.kinds for term in column_terms(kind, self.schema_, refuse)]
        return whole_form(self, params.log_prior, terms)

    def to_network(self) -> BayesianNetwork:
        """The same as a Bayesian network: the class above every column that is a table; measured ones are left out.

        >>> from bayeskit.datasets import load_worked_example
        >>> network = NaiveBayes().fit(load_worked_example("tennis"), "play").to_network()
        >>> round(network.query("P(wind = strong)"), 6)          # 4/7 · 5/14 + 4/11 · 9/14
        0.437848
        """
        from bayeskit.models._structured import network_of_tables

        self._check_is_fitted()
        tables = {
            name: (table.values, (), table.probabilities[:, 1 : len(table.values) + 1])
            for name, table in self.params_.tables.items()
            if table.used
        }
        return network_of_tables(self, tables)

    def to_logistic(self) -> LogisticForm:
        """The same model as weights and intercept of a logistic function: exact, of tables, words and shared variances.

        >>> x = {"x": [0.0, 2.0, 1.0, 3.0]}                     # means 1 and 2, variance 2
        >>> form = NaiveBayes(variance="feature").fit(x, ["a", "a", "b", "b"]).to_logistic()
        >>> form.weights.tolist(), form.intercept.round(12).tolist()      # (2 − 1)/2 and (1² − 2²)/(2 · 2)
        ([[0.5]], [-0.75])
        """
        self._check_is_fitted()
        return naive_form(self)

    @property
    def numeric_(self) -> dict[str, str]:
        """The kind of each column of numbers: as given, or as it was chosen."""
        self._check_is_fitted()
        params: NaiveParameters = self.params_
        roles = self.schema_.columns
        return {name: params.by_column[name].kind for name in self.schema_.used if isinstance(roles[name], Numeric)}

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, tables, means and variances."""
        self._check_is_fitted()
        params: NaiveParameters = self.params_
        return len(self.tally_.classes) - 1 + sum(kind.n_parameters() for kind in params.kinds)

    def log_marginal_likelihood(self) -> float:
        """ln P(table) before any row was seen: Dirichlet priors by ``smoothing`` over every table, and over classes.

        In closed form, for columns of values and numbers that are cut. Where the class prior is "empirical", all shares
        of the classes were equally likely. ``smoothing=0`` and "auto" are no priors, and refused.

        >>> from bayeskit.datasets import load_worked_example
        >>> round(NaiveBayes().fit(load_worked_example("tennis"), "play").log_marginal_likelihood(), 6)
        -65.357526
        """
        self._check_is_fitted()
        tally, params = self.tally_, self.params_
        others = [name for name, kind in params.by_column.items() if not isinstance(kind, CodedColumns)]
        if others:
            raise BayesError(
                f"column {others[0]!r} is {params.by_column[others[0]].kind}, and the probability of the data has a "
                "closed form for tables alone",
                hint='cut its numbers with numeric="histogram" or take it as '
                f"{format_setting('roles', {others[0]: 'categorical'})}",
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
        """P(value | class) with counts, or what describes the density of each class."""
        params: NaiveParameters = self.params_
        if column not in params.by_column:
            raise BayesError(f"column {column!r} is ignored: there is nothing to show")
        belief = params.by_column[column]
        table = belief.table(column, self.tally_)
        is_drawn = column in params.used and column not in belief.values and column not in belief.words
        return DensityTable(table, class_densities(self, column)) if is_drawn else table

    def images(self, shape: tuple[int, int]) -> ClassImages:
        """The mean of each pixel in each class as images, where the columns are the pixels of images of this shape."""
        self._check_is_fitted()
        names, moments = self.tally_.moment_columns, self.tally_.moments
        means = dict(zip(names, moments.mean().T, strict=True))
        return class_images(self.schema_, self.tally_.classes, means, shape, "mean")

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, Array]:
        """Rows drawn from the model, and their classes: a class by the prior, then each column by itself.

        A column that the model leaves out is drawn as missing.
        """
        self._check_is_fitted()
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise BayesError(f"sample({n!r}): give a whole number of rows")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        params = self.params_
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(params.log_prior))
        columns = {name: params.by_column[name].sample(name, labels, rng) for name in self.schema_.used}
        return Table(columns), self.classes_[labels]

    def _setting_for(self, setting: str, name: str, schema: Schema) -> Any:
        """A setting for one column: by its name or position where a mapping was given, else the default.

        A kind that was chosen is the one the schema has; where nothing was, numbers are Gaussian.
        """
        given = self._given(setting, name, schema)
        if setting == "numeric" and given == "auto":
            return getattr(schema.columns[name], "kind", None) or "gaussian"
        return given

    def _given(self, setting: str, name: str, schema: Schema) -> Any:
        value = getattr(self, setting)
        if not isinstance(value, Mapping):
            return value
        by_column = {
            schema.find(key): v for key, v in value.items() if key in schema.columns or not isinstance(key, str)
        }
        return by_column.get(name, _DEFAULTS[setting])


_DEFAULTS = {"smoothing": 1.0, "numeric": "gaussian", "variance": "class_feature", "cuts": 10}


def _all_settings(setting: Any) -> list[Any]:
    return list(setting.values()) if isinstance(setting, Mapping) else [setting]
