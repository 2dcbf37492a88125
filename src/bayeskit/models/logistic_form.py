"""The logistic form: log odds that are a sum of one term per column, as weights and an intercept.

    P(c | x) = exp(z_c) / Σ_k exp(z_k),    z_c = b_c + Σ_j w_cj · x_j + Σ_j t_c[x_j]

A number adds its weight times itself, a value its entry of a table, a word its weight times how often it is there (in a
set, once). Logistic regression learns such a form; naive
Bayes with one variance per feature, and with tables, *is* one:

    w_cj = μ_cj / σ²_j      b_c = ln P(c) − Σ_j μ²_cj / 2σ²_j      t_c[v] = ln P(v | c)

Formula: naive Bayes as weights and intercept
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.encoder import Encoder
from bayeskit.data.frames import open_source
from bayeskit.data.reader import NO_ROWS
from bayeskit.data.schema import Numeric
from bayeskit.data.source import Source
from bayeskit.errors import BayesError
from bayeskit.estimate import cuts as cut_points
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.moments import GaussianColumns
from bayeskit.estimate.columns.text import TextColumns
from bayeskit.explain.densities import ClassImages, class_images
from bayeskit.export.scoring_form import LinearTerm, ScoringForm, TableTerm, Term, WordsTerm, coding
from bayeskit.tables import Readable, Sheet, Table
from bayeskit.typing import Array, Floats
from bayeskit.undecidable import refuse_no_numbers

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes


@dataclass(frozen=True, repr=False)
class LogisticForm(Readable):
    """Weights and intercept that give probabilities (n_rows, n_classes).

    Numbers are taken from a `center`, so that far from zero no digits are lost; `weights` and `intercept` are those of
    the plain x.
    """

    classes: Array
    encoder: Encoder
    base: Floats  # (n_classes,)
    columns: tuple[str, ...]  # measured ones
    center: Floats  # (columns,)
    slope: Floats  # (n_classes, n_columns): of x − center
    present: Floats  # (n_classes, n_columns): added where the cell is there
    tables: dict[str, Floats]  # (n_slots, n_classes) of the coded columns; slot 0 missing, the last unseen
    texts: Mapping[str, WordsTerm] = field(default_factory=dict)  # the words of the columns of text
    opened: Callable[[Any], Source] = open_source  # rows or documents, as they are read

    def scores(self, block: Block) -> Floats:
        """z of each row (n_rows, n_classes)."""
        z = np.empty((block.n_rows, len(self.classes)))
        z[:] = self.base
        if self.tables:
            kernels.score_codes([block.codes[n] for n in self.tables], list(self.tables.values()), z, 1)
        for name, term in self.texts.items():
            rows = block.tokens[name]
            values = np.ones(len(rows.ids)) if term.presence else rows.counts.astype(np.float64)
            kernels.score_rows(rows.indptr, rows.ids, values, term.weights, z, 1)
        if self.columns:
            x = np.column_stack([block.floats[name] for name in self.columns])
            gaps = np.isnan(x)
            if self.present.any():
                z += (~gaps).astype(np.float64) @ self.present.T
            z += np.where(gaps, 0.0, x - self.center) @ self.slope.T
        if not np.isfinite(z).all():
            raise_unusable(block.floats, block.start)
            refuse_no_numbers(np.where(np.isfinite(z), z, np.nan), block.start, self.classes)  # no weight is infinite
        return z

    def scoring_form(self, target: str, model: str = "LogisticForm") -> ScoringForm:
        """The same as plain numbers that can be carried elsewhere."""
        schema, refuse = self.encoder.schema, self.encoder.refuse_unseen
        terms: list[Term] = [
            LinearTerm(name, float(self.center[j]), self.slope[:, j], self.present[:, j])
            for j, name in enumerate(self.columns)
        ]
        for name, table in self.tables.items():
            cuts = getattr(schema.columns[name], "cuts", None)
            values = () if cuts is not None else tuple(self.encoder.vocabularies[name].values)
            terms.append(TableTerm(name, coding(name, values, refuse, cuts), table))
        terms += self.texts.values()
        position = {name: i for i, name in enumerate(schema.used)}
        terms.sort(key=lambda term: position[term.name])
        return ScoringForm(target, tuple(self.classes.tolist()), self.base, tuple(terms), None, model=model)

    def log_odds(self, X: Any) -> Floats:
        """Return the log odds: shape (n_rows,) for two classes, else scores (n_rows, n_classes)."""
        z = self._stack(X)
        return z[:, 1] - z[:, 0] if len(self.classes) == 2 else z

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(class | x), shape (n_rows, n_classes)."""
        return logspace.log_normalize(self._stack(X))[0]

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x), shape (n_rows, n_classes)."""
        return logspace.normalize(self._stack(X))[0]

    def _stack(self, X: Any) -> Floats:
        parts = [self.scores(block) for block in self.encoder.blocks(self.opened(X), report_unseen=True)]
        if not parts:
            raise BayesError(NO_ROWS)
        return np.concatenate(parts)

    @property
    def features(self) -> list[str]:
        """Return the feature names: a numeric column, ``column=value`` or a word (``text=word``)."""
        named = [f"{name}={value}" for name in self.tables for value in self._values(name)]
        beside = len(self.columns) + len(self.tables) + len(self.texts) > 1
        words = [f"{n}={word}" if beside else word for n, term in self.texts.items() for word in term.words]
        return [*self.columns, *named, *words]

    @property
    def weights(self) -> Floats:
        """(1, features) for two classes, the log odds of the second; else (n_classes, n_features)."""
        tables = [table[1:-1].T for table in self.tables.values()]
        words = [term.weights.T for term in self.texts.values()]
        return self._against_first(np.column_stack([self.slope, *tables, *words]))

    @property
    def intercept(self) -> Floats:
        """(1,) for two classes, the log odds of the second; else (n_classes,). For rows without gaps."""
        plain = self.base + self.present.sum(axis=1) - self.slope @ self.center
        return self._against_first(plain[:, None])[:, 0]

    def _against_first(self, by_class: Floats) -> Floats:
        return by_class[1:] - by_class[:1] if len(self.classes) == 2 else by_class

    def _values(self, name: str) -> list[Any]:
        role = self.encoder.schema.columns[name]
        if isinstance(role, Numeric):
            return list(cut_points.labels(role.cuts or ()))
        return list(self.encoder.vocabularies[name].values)

    def images(self, shape: tuple[int, int]) -> ClassImages:
        """The weight of each pixel for each class, against the mean of all, where the columns are those of images."""
        weights = self.slope - self.slope.mean(axis=0)
        by_column = dict(zip(self.columns, weights.T, strict=True))
        return class_images(self.encoder.schema, self.classes.tolist(), by_column, shape, "weight", signed=True)

    @property
    def sheet(self) -> Sheet:
        """Return the printable summary of the weights."""
        odds = f"ln P({self.classes[1]}) / P({self.classes[0]})" if len(self.classes) == 2 else "the score of a class"
        return Sheet(f"{odds} is the intercept and the weights of what a row has", (self.table().grid,))

    def table(self) -> Table:
        """The weights, readable."""
        two = len(self.classes) == 2
        heads = [f"log odds of {self.classes[1]}"] if two else [f"score of {c}" for c in self.classes]
        return weight_table(heads, self.features, self.intercept, self.weights)


def weight_table(heads: list[str], features: list[str], intercept: Floats, weights: Floats) -> Table:
    """Return a table with a row per feature and a column per score."""
    columns = zip(heads, np.column_stack([intercept, weights]).tolist(), strict=True)
    return Table({"feature": ["(intercept)", *features], **dict(columns)})


def naive_form(model: NaiveBayes) -> LogisticForm:
    """The logistic form of a fitted naive Bayes model: exact, in closed form.

    Gaussians must share one variance per feature (or one for all), else the log odds are quadratic in x.
    """
    params = model.params_
    for kind in params.kinds:
        if not isinstance(kind, (CodedColumns, GaussianColumns, TextColumns)):
            raise BayesError(
                f"column {kind.names[0]!r} is {kind.kind}: its log odds are not linear: leave it out by restrict"
            )
    normal = params.of_kind(GaussianColumns)
    names = () if normal is None else tuple(normal.used)
    rules = {} if normal is None else {n: r for n, r in zip(normal.names, normal.rules, strict=True) if n in names}
    quadratic = [name for name, rule in rules.items() if rule not in ("feature", "all")]
    if quadratic:
        raise BayesError(
            f"column {quadratic[0]!r} has a variance of its own in each class (variance={rules[quadratic[0]]!r}): its "
            'log odds are quadratic in x and no logistic form holds them. Fit with variance="feature".'
        )
    tables = {name: table.log_table for name, table in params.tables.items() if table.used}
    texts = params.of_kind(TextColumns)
    words = {} if texts is None else texts.log_tables
    refuse_infinite({f"column {name!r} has": table for name, table in (tables | words).items()}, params.log_prior)
    nothing = np.zeros((len(params.log_prior), 0))
    mean, precision, _ = (nothing, nothing, nothing) if normal is None else normal.normal_form
    center = mean.mean(axis=0) if names else np.zeros(0)
    apart = mean - center
    prior, slope, present = (
        model._tempered(part) for part in (params.log_prior, apart * precision, -0.5 * apart**2 * precision)
    )
    tables = {name: model._tempered(table) for name, table in tables.items()}
    known = {} if texts is None else texts.words
    terms = {
        name: WordsTerm(name, tuple(known[name].tolist()), model._tempered(table)) for name, table in words.items()
    }
    return LogisticForm(model.classes_, model._encoder(), prior, names, center, slope, present, tables, terms)


def words_form(
    classes: Array, encoder: Encoder, base: Floats, term: WordsTerm, opened: Callable[[Any], Source]
) -> LogisticForm:
    """The logistic form of a score that is a sum over the words of a document."""
    refuse_infinite({"a word has": term.weights}, base)
    nothing = np.zeros((len(classes), 0))
    return LogisticForm(classes, encoder, base, (), np.zeros(0), nothing, nothing, {}, {term.name: term}, opened)


def refuse_infinite(tables: Mapping[str, Floats], log_prior: Floats) -> None:
    """A probability of zero has no finite weight."""
    for what, table in {**tables, "the class prior has": log_prior}.items():
        if not np.isfinite(table).all():
            raise BayesError(f"{what} a probability of zero, whose weight would be infinite. Smooth the estimates.")
