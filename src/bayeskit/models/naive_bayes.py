"""Naive Bayes over mixed columns: given the class, every column speaks for itself.

    P(c | x) ∝ P(c) · Π_j P(x_j | c)

Categorical columns and histograms are tables of smoothed counts, numeric ones are Gaussians, texts are bags of
words. Missing cells drop out of the counts and of the product.

Formula: P(c ∣ x) ∝ P(c) Π P(x_j ∣ c)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from sklearn.base import clone

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.data.words import Words
from bayeskit.errors import BayesError
from bayeskit.estimate import cuts as cut_points
from bayeskit.estimate.kernel_density import KernelDensity, kernel_density
from bayeskit.estimate.learn_cuts import learn_cuts
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.estimate.value_table import ValueTable, value_table
from bayeskit.estimate.variance import BEFORE, Gaussian, as_variance_floor, gaussian, n_parameters
from bayeskit.models.base import Scores, TallyClassifier
from bayeskit.models.drawing import cells_of, draw_slots, mixed, nulls_for_nan
from bayeskit.models.logistic_form import LogisticForm, naive_form
from bayeskit.models.naive_left_out import NaiveLeftOut
from bayeskit.models.naive_text import TextTable, text_table
from bayeskit.models.one_row import BinnedCell, CodedCell, GaussianCell, OneRow
from bayeskit.models.settings import held_choices, one_of, seed_of
from bayeskit.models.text_generative import draw_documents
from bayeskit.models.tuning import best_smoothing, best_temperature
from bayeskit.tally.distinct import LEAST, MOST
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NaiveParameters:
    """What a naive Bayes model believes."""

    log_prior: Floats
    tables: dict[str, ValueTable]
    columns: tuple[str, ...]  # the measured ones
    gaussian: Gaussian
    texts: dict[str, TextTable] = field(default_factory=dict)
    kernels: dict[str, KernelDensity] = field(default_factory=dict)

    @cached_property
    def words(self) -> Mapping[str, Words]:
        """The known words of each text."""
        return {name: table.vocabulary for name, table in self.texts.items()}

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Codes of the values as the tables have them."""
        return {name: Vocabulary(table.values) for name, table in self.tables.items()}

    @cached_property
    def speaking(self) -> list[str]:
        """Measured columns that are used."""
        return [name for name, used in zip(self.columns, self.gaussian.used, strict=True) if used]

    @cached_property
    def silent(self) -> frozenset[str]:
        """Columns that tell nothing of any class, and are left out."""
        unused = [name for name, table in self.tables.items() if not table.used]
        unused += [name for name, density in self.kernels.items() if not density.used]
        return frozenset([*unused, *(name for name in self.columns if name not in self.speaking)])

    @cached_property
    def normal_form(self) -> tuple[Floats, Floats, Floats]:
        """(mean, precision, constant) of the used measured columns (classes, columns)."""
        mean, variance = (
            np.ascontiguousarray(a[:, self.gaussian.used]) for a in (self.gaussian.mean, self.gaussian.variance)
        )
        return mean, 1 / variance, -0.5 * logspace.log(2 * np.pi * variance)


class NaiveBayes(TallyClassifier):
    """Naive Bayes for tables with categorical, numeric and text columns, missing cells and unseen values.

    Parameters
    ----------
    smoothing: pseudo-count added to every value's count: a number (1.0 is Laplace), "auto" (chosen per column
        by leave-one-out likelihood), or ``MLE()``, ``Laplace()``, ``Lidstone(a)``, ``MEstimate(m, prior)``,
        ``Dirichlet(beta)``; a mapping gives some columns their own.
    prior: "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    numeric: "gaussian", "histogram" or "kernel"; a mapping gives some columns their own.
    variance: what Gaussians share: "class_feature" (nothing), "feature" (one for all classes), "class", "all".
    ddof: 1 for unbiased variances, 0 for maximum likelihood.
    cuts: for histograms, a number of intervals of equal width, the cut points, or how to learn them: "mdl" (by the
        classes), "frequency", "width", "random", or one of these with a number: ("frequency", 5); also by column.
    roles: one role for all columns or a mapping from name or position: "categorical", "numeric", "text" (or
        ``Text(Tokenizer(…))``), "ignore".
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

    unwritten: ClassVar[Mapping[str, Any]] = {"variance_floor": BEFORE}

    def __init__(
        self,
        smoothing: Any = 1.0,
        prior: Any = "empirical",
        numeric: Any = "gaussian",
        variance: Any = "class_feature",
        ddof: int = 1,
        cuts: Any = 10,
        roles: Any = None,
        domains: Any = None,
        schema: Schema | None = None,
        missing: str = "ignore",
        unseen: str = "ignore",
        undecidable: str = "prior",
        ties: str = "first",
        random_state: Any = None,
        n_threads: int | None = None,
        max_values: int = 4096,
        temperature: float = 1.0,
        variance_floor: Any = 0.01,
    ) -> None:
        self.smoothing = smoothing
        self.prior = prior
        self.numeric = numeric
        self.variance = variance
        self.ddof = ddof
        self.cuts = cuts
        self.roles = roles
        self.domains = domains
        self.schema = schema
        self.missing = missing
        self.unseen = unseen
        self.undecidable = undecidable
        self.ties = ties
        self.random_state = random_state
        self.n_threads = n_threads
        self.max_values = max_values
        self.temperature = temperature
        self.variance_floor = variance_floor

    def check_settings(self) -> None:
        super().check_settings()
        one_of("missing", self.missing, ("ignore", "value"))
        if not isinstance(self.max_values, (int, np.integer)) or not LEAST <= self.max_values <= MOST:
            raise BayesError(f"max_values={self.max_values!r}: give a whole number from {LEAST} to {MOST:,}")
        for value in _all_settings(self.numeric):
            one_of("numeric", value, ("gaussian", "histogram", "kernel"))
        for value in _all_settings(self.variance):
            one_of("variance", value, ("class_feature", "feature", "class", "all"))
        for value in _all_settings(self.smoothing):
            as_smoothing(value)
        as_variance_floor(self.variance_floor)
        if self.ddof not in (0, 1):
            raise BayesError(f"ddof={self.ddof!r}: it is 1 (unbiased) or 0 (maximum likelihood)")

    def complete_schema(self, schema: Schema, source: Source) -> Schema:
        """Cut points for the histograms: as given, or learnt as the setting says."""
        for setting in _DEFAULTS:
            for key in given if isinstance(given := getattr(self, setting), Mapping) else ():
                schema.find(key)  # a misspelt column is an error
        wanted = [name for name in schema.measured() if self.setting_for("numeric", name, schema) == "histogram"]
        chosen = {name: self.setting_for("cuts", name, schema) for name in wanted}
        return learn_cuts(schema, source, chosen, self._threads(), seed_of(self.random_state))

    def plan(self, schema: Schema) -> Plan:
        kernel = [name for name in schema.measured() if self.setting_for("numeric", name, schema) == "kernel"]
        moments = tuple(name for name in schema.measured() if name not in kernel)
        distinct = Request("distinct", tuple(kernel), {"max_values": int(self.max_values)})
        return Plan(distinct, families=schema.coded(), moments=moments, words=schema.texts())

    def estimate(self, tally: Tally) -> NaiveParameters:
        rows = tally.class_counts
        tables = {}
        for name, family in tally.families.items():
            smoothing = as_smoothing(self.setting_for("smoothing", name, tally.schema))
            unseen = (
                "ignore" if isinstance(tally.schema.columns[name], Numeric) else self.unseen
            )  # no interval is unseen
            tables[name] = value_table(family, smoothing, rows, self.missing, unseen)
        prior = class_prior(self.prior, tally.classes, rows)
        texts = {n: text_table(w, self.setting_for("smoothing", n, tally.schema)) for n, w in tally.words.items()}
        floor = as_variance_floor(self.variance_floor)
        kernels = {name: kernel_density(values, rows, floor=floor) for name, values in tally.values.items()}
        normal = self._gaussian(tally)
        return NaiveParameters(logspace.log(prior), tables, tally.moment_columns, normal, texts=texts, kernels=kernels)

    def _gaussian(self, tally: Tally) -> Gaussian:
        """Means and variances, each variance rule over the columns that follow it."""
        rules = [self.setting_for("variance", name, tally.schema) for name in tally.moment_columns]
        shape = (len(tally.classes), len(rules))
        result = Gaussian(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(rules), dtype=bool))
        for rule in dict.fromkeys(rules):
            index = [i for i, other in enumerate(rules) if other == rule]
            floor = as_variance_floor(self.variance_floor)
            part = gaussian(tally.moments.columns(index), rule, self.ddof, tally.class_counts, floor)
            result.mean[:, index], result.variance[:, index], result.used[index] = (
                part.mean,
                part.variance,
                part.used,
            )
        return result

    def log_joint(self, params: NaiveParameters, block: Block) -> Scores:
        scores = np.repeat(params.log_prior[None], block.n_rows, axis=0)
        threads = self._threads()
        names = [name for name, table in params.tables.items() if table.used]
        if names:
            tables = [params.tables[name].log_table for name in names]
            kernels.score_codes([block.codes[name] for name in names], tables, scores, threads)
        if params.speaking:
            floats = [block.floats[name] for name in params.speaking]
            kernels.score_gaussian(floats, *params.normal_form, scores, threads)
        for name, density in params.kernels.items():
            if density.used:
                scores += density.scores(block.floats[name])
        for name, table in params.texts.items():
            table.add_scores(block.tokens[name], scores, threads)
        return scores

    def one_row(self) -> OneRow | None:
        """Scores records one at a time, to the same bits as :meth:`log_joint`."""
        params, schema = self.params_, self.schema_
        if params.kernels or params.texts:
            return None
        cells: dict[str, Any] = {}
        for name, table in params.tables.items():
            role = schema.columns[name]
            if isinstance(role, Numeric):
                cells[name] = BinnedCell(role.cuts or (), table.log_table, table.used)
            else:
                refuse = self.unseen == "error"
                cells[name] = CodedCell(params.vocabularies[name], table.log_table, table.used, refuse)
        mean, precision, constant = params.normal_form
        for j, name in enumerate(params.speaking):
            cells[name] = GaussianCell(mean[:, j].tolist(), (0.5 * precision[:, j]).tolist(), constant[:, j].tolist())
        cells |= {name: GaussianCell((), (), ()) for name in params.columns if name not in cells}
        return OneRow(params.log_prior, cells)

    def column_scores(self, params: NaiveParameters, name: str, cells: npt.NDArray[Any]) -> Scores:
        """ln P(cell | class) of the codes or numbers of one column (cells, classes); zero where it says nothing."""
        scores = np.zeros((len(cells), len(params.log_prior)))
        if name in params.tables:
            table = params.tables[name]
            return np.asarray(table.log_table[cells]) if table.used else scores
        if name in params.kernels:
            return params.kernels[name].scores(np.asarray(cells, dtype=np.float64))
        if name in params.speaking:
            own = [params.speaking.index(name)]
            mean, precision, constant = (np.ascontiguousarray(part[:, own]) for part in params.normal_form)
            kernels.score_gaussian([np.asarray(cells, dtype=np.float64)], mean, precision, constant, scores, 1)
        return scores

    def column_points(self, params: NaiveParameters, name: str, n: int) -> Floats:
        """Numbers of a measured column that are equally probable in each class (classes, n)."""
        if name in params.kernels:
            return params.kernels[name].equally_probable(n)
        i = params.columns.index(name)
        mean, spread = params.gaussian.mean[:, [i]], np.sqrt(params.gaussian.variance[:, [i]])
        return np.asarray(mean + spread * ndtri((np.arange(n) + 0.5) / n))

    def log_terms(self, params: NaiveParameters, block: Block) -> dict[str, Scores]:
        """What each column adds to the scores of a block (rows, classes), in schema order."""
        cells = {**block.codes, **block.floats}
        terms = {}
        for name in self.schema_.used:
            if name in params.texts:
                terms[name] = np.zeros((block.n_rows, len(params.log_prior)))
                params.texts[name].add_scores(block.tokens[name], terms[name], self._threads())
            else:
                terms[name] = self.column_scores(params, name, cells[name])
        return terms

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the one smoothing and the temperature that predict the classes best, leaving each row out in turn.

        Fixes the numbers: ``smoothing``, one for all columns, and ``temperature`` are they afterwards. ("auto" asks
        the counts alone, column by column.)
        """
        start = clone(self).set_params(smoothing=1.0, temperature=1.0).fit(X, y, sample_weight)
        if start.schema_.coded() or start.schema_.texts():
            start.temperature = best_temperature(start, self._labelled(X, y, sample_weight))
            self.smoothing = best_smoothing(start, self._labelled(X, y, sample_weight))
        self.fit_tally(start.tally_)
        self.temperature = best_temperature(self, self._labelled(X, y, sample_weight))
        return self

    def left_out(self) -> NaiveLeftOut:
        """Scores of learnt rows under the estimates made without them."""
        self._check_is_fitted()
        return NaiveLeftOut(self)

    def held_while_left_out(self) -> tuple[str, ...]:
        return held_choices(self.smoothing, self.cuts, self.schema_)

    def to_logistic(self) -> LogisticForm:
        """The same model as weights and intercept of a logistic function: exact, for tables and shared variances.

        >>> x = {"x": [0.0, 2.0, 1.0, 3.0]}                     # means 1 and 2, variance 2
        >>> form = NaiveBayes(variance="feature").fit(x, ["a", "a", "b", "b"]).to_logistic()
        >>> form.weights.tolist(), form.intercept.round(12).tolist()      # (2 − 1)/2 and (1² − 2²)/(2 · 2)
        ([[0.5]], [-0.75])
        """
        self._check_is_fitted()
        return naive_form(self)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, tables, means and variances."""
        self._check_is_fitted()
        n_classes = len(self.tally_.classes)
        total: int = n_classes - 1 + sum(n_classes * table.n_free for table in self.params_.tables.values())
        total += sum(n_classes * max(len(table.vocabulary) - 1, 0) for table in self.params_.texts.values())
        for density in self.params_.kernels.values():  # a density is its values, each with a count
            total += sum(0 if bells is None else len(bells.points) for bells in density.classes)
        rules = [self.setting_for("variance", name, self.schema_) for name in self.params_.speaking]
        return total + sum(n_parameters(rule, n_classes, rules.count(rule)) for rule in dict.fromkeys(rules))

    def column_table(self, column: str) -> Table:
        """P(value | class) with counts, or mean and variance of each class."""
        classes = self.tally_.classes
        if column in self.params_.tables:
            family, table = self.tally_.families[column], self.params_.tables[column]
            role = self.schema_.columns[column]
            names: list[Any] = list(table.values)
            if isinstance(role, Numeric):
                names = list(cut_points.labels(role.cuts or ()))
            slots = [*range(1, len(names) + 1)]
            if not np.isnan(table.pseudo[0]):
                names, slots = [None, *names], [0, *slots]
            columns: dict[str, Any] = {
                column: [str(n) if n is not None else None for n in names] if mixed(names) else names
            }
            columns |= {f"count | {c}": family.counts[i, slots].tolist() for i, c in enumerate(classes)}
            columns |= {f"P({column} | {c})": table.probabilities[i, slots].tolist() for i, c in enumerate(classes)}
            return Table(columns)
        if column in self.params_.texts:
            texts: dict[str, TextTable] = self.params_.texts
            return texts[column].table(column, classes, self.tally_.words[column])
        if column in self.params_.kernels:
            density = self.params_.kernels[column]
            counts = density.values.counts
            shown = {"count": counts.sum(axis=1).tolist(), "distinct": (counts > 0).sum(axis=1).tolist()}
            return Table({self._class_header(): list(classes), **shown, "bandwidth": density.bandwidths.tolist()})
        if column not in self.params_.columns:
            raise BayesError(f"column {column!r} is ignored: there is nothing to show")
        i, normal = self.params_.columns.index(column), self.params_.gaussian
        counts = self.tally_.moments.n[:, i].tolist()
        moments = {"mean": normal.mean[:, i].tolist(), "variance": normal.variance[:, i].tolist()}
        return Table({self._class_header(): list(classes), "count": counts, **moments})

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, npt.NDArray[Any]]:
        """Rows drawn from the model, and their classes: a class by the prior, then each column by itself.

        A column that the model leaves out is drawn as missing.
        """
        self._check_is_fitted()
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise BayesError(f"sample({n!r}): give a whole number of rows")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        params = self.params_
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(params.log_prior))
        columns = {}
        for name in self.schema_.used:
            if name in params.texts:
                words, counted = params.texts[name], self.tally_.words[name]
                columns[name] = draw_documents(words, counted, "multinomial", labels, rng)
            elif name in params.tables:
                table, role = params.tables[name], self.schema_.columns[name]
                slots = draw_slots(np.nan_to_num(table.probabilities[:, : len(table.values) + 1])[labels], rng)
                columns[name] = cells_of(table.values if table.used else (), role, slots, rng)
            elif name in params.kernels:
                columns[name] = nulls_for_nan(params.kernels[name].draw(labels, rng))
            else:
                i = params.columns.index(name)
                spread = np.sqrt(params.gaussian.variance[labels, i])
                columns[name] = nulls_for_nan(params.gaussian.mean[labels, i] + spread * rng.standard_normal(n))
        return Table(columns), self.classes_[labels]

    def setting_for(self, setting: str, name: str, schema: Schema) -> Any:
        """A setting for one column: by its name or position where a mapping was given, else the default."""
        value = getattr(self, setting)
        if not isinstance(value, Mapping):
            return value
        own = {schema.find(key): v for key, v in value.items() if key in schema.columns or not isinstance(key, str)}
        return own.get(name, _DEFAULTS[setting])


_DEFAULTS = {"smoothing": 1.0, "numeric": "gaussian", "variance": "class_feature", "cuts": 10}


def _all_settings(setting: Any) -> list[Any]:
    return list(setting.values()) if isinstance(setting, Mapping) else [setting]
