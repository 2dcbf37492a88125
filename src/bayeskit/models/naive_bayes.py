"""Naive Bayes over mixed columns: given the class, every column speaks for itself.

    P(c | x) ∝ P(c) · Π_j P(x_j | c)

Categorical columns and histograms are tables of smoothed counts, numeric ones are Gaussians. Missing cells
drop out of the counts and of the product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError
from bayeskit.estimate import cuts as cut_points
from bayeskit.estimate.learn_cuts import learn_cuts
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.estimate.value_table import ValueTable, value_table
from bayeskit.estimate.variance import Gaussian, gaussian, n_parameters
from bayeskit.models.base import Scores, TallyClassifier, one_of, seed_of
from bayeskit.models.drawing import cells_of, draw_slots, mixed, nulls_for_nan
from bayeskit.models.naive_left_out import NaiveLeftOut
from bayeskit.models.tuning import best_smoothing, best_temperature
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NaiveParameters:
    """What a naive Bayes model believes."""

    log_prior: Floats
    tables: dict[str, ValueTable]
    columns: tuple[str, ...]  # the measured ones
    gaussian: Gaussian

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Codes of the values as the tables have them."""
        return {name: Vocabulary(table.values) for name, table in self.tables.items()}

    @cached_property
    def speaking(self) -> list[str]:
        """Measured columns that are used."""
        return [name for name, used in zip(self.columns, self.gaussian.used, strict=True) if used]

    @cached_property
    def normal_form(self) -> tuple[Floats, Floats, Floats]:
        """(mean, precision, constant) of the used measured columns (classes, columns)."""
        mean, variance = (
            np.ascontiguousarray(a[:, self.gaussian.used]) for a in (self.gaussian.mean, self.gaussian.variance)
        )
        return mean, 1 / variance, -0.5 * logspace.log(2 * np.pi * variance)


class NaiveBayes(TallyClassifier):
    """Naive Bayes for tables with categorical and numeric columns, missing cells and unseen values.

    Parameters
    ----------
    smoothing: pseudo-count added to every value's count: a number (1.0 is Laplace), "auto" (chosen per column
        by leave-one-out likelihood), or ``MLE()``, ``Laplace()``, ``Lidstone(a)``, ``MEstimate(m, prior)``,
        ``Dirichlet(beta)``; a mapping gives some columns their own.
    prior: "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    numeric: "gaussian" or "histogram"; a mapping gives some columns their own.
    variance: what Gaussians share: "class_feature" (nothing), "feature" (one for all classes), "class", "all".
    ddof: 1 for unbiased variances, 0 for maximum likelihood.
    cuts: for histograms, a number of intervals of equal width, the cut points, or how to learn them: "mdl" (by the
        classes), "frequency", "width", "random", or one of these with a number: ("frequency", 5); also by column.
    roles: one role for all columns or a mapping from name or position: "categorical", "numeric", "ignore".
    domains: mapping from column to all its possible values; they count in smoothing.
    schema: the ``schema_`` of another model, taken instead of one inferred from the data.
    missing: "ignore" leaves missing cells out; "value" makes missing one more value of categorical columns.
    unseen: a value never seen in training is left out ("ignore"), smoothed ("smooth") or refused ("error").
    undecidable: rows impossible under every class get the class priors ("prior"), "nan", or an "error".
    ties: the "first" class in sorted order, or one drawn at "random" by ``random_state`` and the row's content.
    n_threads: None for all cores; the result is the same for any number.
    temperature: log scores are divided by it before they become probabilities; ``tune`` fits it.

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
        temperature: float = 1.0,
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
        self.temperature = temperature

    def check_settings(self) -> None:
        super().check_settings()
        one_of("missing", self.missing, ("ignore", "value"))
        for value in _all_settings(self.numeric):
            one_of("numeric", value, ("gaussian", "histogram"))
        for value in _all_settings(self.variance):
            one_of("variance", value, ("class_feature", "feature", "class", "all"))
        for value in _all_settings(self.smoothing):
            as_smoothing(value)
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
        return Plan(tuple(schema.coded()), tuple(schema.measured()))

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
        return NaiveParameters(logspace.log(prior), tables, tally.moment_columns, self._gaussian(tally))

    def _gaussian(self, tally: Tally) -> Gaussian:
        """Means and variances, each variance rule over the columns that follow it."""
        rules = [self.setting_for("variance", name, tally.schema) for name in tally.moment_columns]
        shape = (len(tally.classes), len(rules))
        result = Gaussian(np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(len(rules), dtype=bool))
        for rule in dict.fromkeys(rules):
            index = [i for i, other in enumerate(rules) if other == rule]
            part = gaussian(tally.moments.columns(index), rule, self.ddof, tally.class_counts)
            result.mean[:, index], result.variance[:, index], result.used[index] = (
                part.mean,
                part.variance,
                part.used,
            )
        return result

    def log_joint(self, params: NaiveParameters, block: Block) -> Scores:
        scores = np.empty((block.n_rows, len(params.log_prior)))
        scores[:] = params.log_prior
        threads = self._threads()
        names = [name for name, table in params.tables.items() if table.used]
        if names:
            tables = [params.tables[name].log_table for name in names]
            kernels.score_codes([block.codes[name] for name in names], tables, scores, threads)
        if params.speaking:
            floats = [block.floats[name] for name in params.speaking]
            kernels.score_gaussian(floats, *params.normal_form, scores, threads)
        return scores

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit with the one smoothing and the temperature that predict the classes best, leaving each row out in turn.

        Fixes the numbers: ``smoothing``, one for all columns, and ``temperature`` are they afterwards. ("auto" asks
        the counts alone, column by column.)
        """
        start = clone(self).set_params(smoothing=1.0, temperature=1.0).fit(X, y, sample_weight)
        if start.schema_.coded():
            start.temperature = best_temperature(start, self._labelled(X, y, sample_weight))
            self.smoothing = best_smoothing(start, self._labelled(X, y, sample_weight))
        self.fit_tally(start.tally_)
        self.temperature = best_temperature(self, self._labelled(X, y, sample_weight))
        return self

    def left_out(self) -> NaiveLeftOut:
        """Scores of learnt rows under the estimates made without them."""
        self._check_is_fitted()
        return NaiveLeftOut(self)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, tables, means and variances."""
        self._check_is_fitted()
        n_classes = len(self.tally_.classes)
        total: int = n_classes - 1 + sum(n_classes * table.n_free for table in self.params_.tables.values())
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
            if name in params.tables:
                table, role = params.tables[name], self.schema_.columns[name]
                slots = draw_slots(np.nan_to_num(table.probabilities[:, : len(table.values) + 1])[labels], rng)
                columns[name] = cells_of(table.values if table.used else (), role, slots, rng)
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
