"""Which distribution each column of numbers has, chosen by rows that are left out: ``numeric="auto"``.

Each column is tried as every kind, and each row scored without itself. What counts is how well the columns say the
class *together*,

    Σ_r ln P(c_r ∣ x_r without r),

since a column that repeats others does harm however well it is described. The start is the one kind for all columns
that is best; then column after column takes another kind, as long as one gains. A column may also be cut nowhere, and
then says nothing.

Cuts that were learnt from the classes ("mdl") are not among the kinds: rows left out cannot judge them.

Formula: the kind of each column, by Σ ln P(class ∣ row) of rows left out
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.frames import open_source
from bayeskit.data.numbers import as_floats
from bayeskit.data.reader import read_sample
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Responsibilities, Source, engine_of
from bayeskit.errors import BayesError
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.tolerance import LEAST_PROBABILITY
from bayeskit.typing import Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes


Terms = Mapping["Kind", Floats]
ROWS = 5000  # by which the kinds are chosen
GAIN = 2.0  # nats by which another kind must be better: as much as a parameter must earn
ROUNDS = 5  # over the columns
IMPOSSIBLE = -700.0  # stands for ln 0, so that terms can be taken from a sum again


@dataclass(frozen=True)
class Kind:
    """A value of ``numeric``, and for histograms one of ``cuts``."""

    numeric: str
    cuts: Any = None


SILENT = Kind("histogram", ())
KINDS = (
    Kind("gaussian"),
    Kind("student"),
    Kind("lognormal"),
    Kind("kernel"),
    Kind("histogram", ("frequency", 10)),
    Kind("histogram", ("frequency", 5)),
    Kind("histogram", ("width", 10)),
)


def with_chosen_kinds(model: NaiveBayes, schema: Schema, source: Source, names: Sequence[str]) -> Schema:
    """The schema with the best kind of each of these columns, and the cut points of those that are cut."""
    kinds = best_kinds(model, schema, source, names, tempered=False)
    schema = schema.replace({name: Numeric(kind=kind.numeric) for name, kind in kinds.items() if kind.cuts is None})
    cut = {name: kind.cuts for name, kind in kinds.items() if kind.cuts is not None}
    return model._with_cuts(schema, source, cut) if cut else schema


def best_kinds(
    model: NaiveBayes, schema: Schema, source: Source, names: Sequence[str], tempered: bool
) -> dict[str, Kind]:
    """The best kind of each of these columns, at temperature 1 or, ``tempered``, at the one that suits them best."""
    if engine_of(source) is not None:
        raise BayesError(
            'numeric="auto" chooses by rows that are left out, and these are elsewhere',
            hint='pass numeric="gaussian"',
        )
    rows, lows = _rows(schema, source, names, seed_of(model.random_state) or 0)
    tried = {
        kind: _terms(model, schema, rows, [n for n in names if kind.numeric != "lognormal" or lows[n] > 0], kind)
        for kind in KINDS
    }
    others = [name for name in schema.used if name not in names]
    prior, labels, weights, given = _fixed(model, schema, rows, others or names[:1], bool(others))
    scores = prior + given
    terms = {
        name: {SILENT: np.zeros_like(scores), **{kind: of[name] for kind, of in tried.items() if name in of}}
        for name in names
    }
    return _Search(terms, scores, labels, weights, tempered).best()


@dataclass
class _Search:
    """Terms of each column by kind (rows, classes), what is said without them, and the classes of the rows."""

    terms: Mapping[str, Terms]
    given: Floats
    labels: Ints
    weights: Floats
    tempered: bool
    exponent: float = 1.0

    def best(self) -> dict[str, Kind]:
        """From the best single kind on, one column at a time."""
        self.worth = -np.inf
        for kind in KINDS:
            kinds = {name: kind if kind in of else _like(of) for name, of in self.terms.items()}
            scores = sum((of[kinds[name]] for name, of in self.terms.items()), self.given)
            exponent = self._exponent(scores)
            worth = self._worth(scores, exponent)
            if worth > self.worth + GAIN:
                self.worth, self.scores, self.exponent, chosen = worth, scores, exponent, kinds
        for _ in range(ROUNDS):
            if sum(self._better(name, chosen) for name in self.terms) == 0:
                break
            self.exponent = self._exponent(self.scores)
            self.worth = self._worth(self.scores, self.exponent)
        return chosen

    def _better(self, name: str, chosen: dict[str, Kind]) -> bool:
        """Give a column the kind that is best beside the others, if it gains by it."""
        of = self.terms[name]
        rest = self.scores - of[chosen[name]]
        worth = {kind: self._worth(rest + term, self.exponent) for kind, term in of.items() if kind != chosen[name]}
        kind = max(worth, key=worth.__getitem__)
        if worth[kind] <= self.worth + GAIN:
            return False
        self.worth, chosen[name], self.scores = worth[kind], kind, rest + of[kind]
        return True

    def _worth(self, scores: Floats, exponent: float) -> float:
        """Σ ln P(class | row); no row counts for more than the least probability that is ever said."""
        log_p = logspace.log_posterior_of(exponent * scores, self.labels)
        return float(self.weights @ np.maximum(log_p, logspace.log(LEAST_PROBABILITY)))

    def _exponent(self, scores: Floats) -> float:
        return fit_temperature(scores, self.labels, self.weights, capped=True) if self.tempered else 1.0


def _like(terms: Terms) -> Kind:
    """What a column has where all others are of a kind that it cannot be of."""
    return next((kind for kind in KINDS if kind in terms), SILENT)


def _rows(schema: Schema, source: Source, names: Sequence[str], seed: int) -> tuple[Source, dict[str, float]]:
    """(Rows to choose by, the least number of each column in all rows)."""
    where = schema.locate(list(source.kinds), source.named)
    lows = dict.fromkeys(names, np.inf)
    for batch in source.batches():
        for name in names:
            x = as_floats(batch.columns[where[name]], name, batch.start)
            lows[name] = min(lows[name], float(np.fmin.reduce(x, initial=np.inf)))
    batch = read_sample(source, list(dict.fromkeys(where.values())), ROWS, seed)
    if batch.labels is None or isinstance(batch.labels, Responsibilities):
        raise BayesError('numeric="auto" needs one label a row', hint='pass y, or numeric="gaussian"')
    return open_source(dict(batch.columns), batch.labels, batch.weights), lows


def _terms(model: NaiveBayes, schema: Schema, rows: Source, names: Sequence[str], kind: Kind) -> dict[str, Floats]:
    """What columns of a kind say of the rows, each without itself; without those of which it can say nothing."""
    if not names:
        return {}
    return _left_out(_fitted(model, schema, rows, names, numeric=kind.numeric, cuts=kind.cuts), rows)[1]


def _fixed(
    model: NaiveBayes, schema: Schema, rows: Source, names: Sequence[str], speak: bool
) -> tuple[Floats, Ints, Floats, Floats]:
    """(ln P(class), classes, weights, sum of the terms of columns whose kind is not asked for)."""
    fitted = _fitted(model, schema, rows, names, **({} if speak else {"numeric": "gaussian"}))
    prior, terms = _left_out(fitted, rows)
    blocks = list(fitted._encoder().blocks(rows))
    labels = np.concatenate([np.asarray(block.labels, dtype=np.int64) for block in blocks])
    weights = np.concatenate([np.ones(b.n_rows) if b.weights is None else b.weights for b in blocks])
    return prior, labels, weights, sum(terms.values(), np.zeros_like(prior)) if speak else np.zeros_like(prior)


def _fitted(model: NaiveBayes, schema: Schema, rows: Source, names: Sequence[str], **settings: Any) -> NaiveBayes:
    """Naive Bayes of some columns of the rows, with the settings of the model but for these."""
    part = schema.restrict(dict.fromkeys(schema.input_of(name) for name in names))
    for setting in ("smoothing", "variance", "numeric", "cuts"):
        value = settings.get(setting, getattr(model, setting))
        if isinstance(value, Mapping):
            value = {name: v for key, v in value.items() if (name := schema.find(key)) in part.columns}
        settings[setting] = 10 if value is None else value
    return clone(model).set_params(schema=part, roles=None, domains=None, temperature=1.0, **settings).fit_source(rows)


def _left_out(fitted: NaiveBayes, rows: Source) -> tuple[Floats, dict[str, Floats]]:
    """(ln P(class), the term of each column), each row without itself."""
    left_out = fitted._left_out()
    parts = [left_out.column_terms(block) for block in fitted._encoder().blocks(rows)]
    terms = {name: np.concatenate([columns[name] for _, columns in parts]) for name in parts[0][1]}
    prior = np.concatenate([prior for prior, _ in parts])
    return _finite(prior), {name: _finite(term) for name, term in terms.items()}


def _finite(log_p: Floats) -> Floats:
    return np.nan_to_num(log_p, nan=0.0, neginf=IMPOSSIBLE, posinf=-IMPOSSIBLE)
