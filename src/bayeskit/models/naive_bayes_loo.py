"""Leave-one-out scores of naive Bayes in closed form, and what is chosen and diagnosed with them.

The rows of one class share their left-out tables, and a Gaussian without one value is a Gaussian again, so scoring a
row without itself costs about as much as a prediction. These scores choose the smoothing (``tune``), the columns
(``select``) and the distribution of each numeric column (``numeric="auto"``), and measure which pairs of columns break
the naive assumption (``diagnose``).

Formula: what the estimates are without one row
Formula: the kind of each column, by Σ ln P(class ∣ row) of rows left out
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.reader import join_blocks
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value, Vocabulary, positions
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate import information
from bayeskit.estimate.columns.column import Leaving, LeftOutColumns
from bayeskit.estimate.conditional_likelihood import best_exponents
from bayeskit.estimate.cuts import by_range
from bayeskit.estimate.prior import prior_without_class
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.evaluate.diagnosis import MEASURED, Cure, Dependence, Diagnosis
from bayeskit.evaluate.metrics import clip_log
from bayeskit.evaluate.reliability import Reliability, top_reliability
from bayeskit.evaluate.selection import ColumnSearch
from bayeskit.memory import MEMORY
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.left_out import (
    LeftOutRows,
    labels_and_weights,
    learned_blocks,
    left_out_loss,
    sample_blocks,
    weighty_blocks,
)
from bayeskit.tally.counts import Pairs
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.sample import SampledRows
from bayeskit.tolerance import GONE, LEAST_PROBABILITY
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.models.naive_bayes import NaiveBayes


class NaiveLeftOut(LeftOutRows):
    """Scores of training rows, each under the model fitted without it, shape (n_rows, n_classes).

    Classes are those of the model; a class that only the row shows is impossible without it.
    """

    def __init__(self, model: NaiveBayes) -> None:
        super().__init__(model, model.tally_)
        self.params = model.params_

    @cached_property
    def kinds(self) -> list[LeftOutColumns]:
        """Return the left-out columns of each kind, in the order of scoring."""
        return [kind.left_out(self.tally, self.model) for kind in self.params.kinds]

    def scores(self, block: Block, unsmoothed: Floats | None = None) -> Floats:
        """Return ln P(x, class) of each row under the model fitted without it.

        ``unsmoothed`` are the scores of the kinds that no smoothing changes, where they are known.
        """
        leaving = self._leaving(block)
        scores = self.log_priors(leaving.labels, leaving.unit)
        for kind, left_out in zip(self.params.kinds, self.kinds, strict=True):
            if unsmoothed is None or kind.smoothed:
                left_out.add_scores(leaving, scores, self.model._threads())
            elif unsmoothed is not None:
                scores += unsmoothed
                unsmoothed = np.zeros(1)  # they are all in it
        for label in () if leaving.whole else np.unique(leaving.labels[~leaving.stays]):
            rows = ~leaving.stays & (leaving.labels == label)
            scores[rows] = self._without_class(block.take(rows), int(label))
        return scores

    def unsmoothed(self, block: Block) -> Floats:
        """Return the scores of the kinds that do not depend on smoothing."""
        leaving = self._leaving(block)
        scores = np.zeros((block.n_rows, len(self.tally.classes)))
        for kind, left_out in zip(self.params.kinds, self.kinds, strict=True):
            if not kind.smoothed:
                left_out.add_scores(leaving, scores, self.model._threads())
        return scores

    def _leaving(self, block: Block) -> Leaving:
        labels, unit = self.labels_and_units(block)
        counts, gone = self.tally.class_counts, GONE * self.tally.n_rows
        whole = block.weights is None and not (counts - 1 <= gone).any()
        stays = np.ones(block.n_rows, dtype=bool) if whole else ~(counts[labels] - unit <= gone)
        return Leaving(block, np.asarray(block.labels), unit, stays, whole, self.tally.classes)

    # -- term by term ----------------------------------------------------------------------------------

    @cached_property
    def term_names(self) -> list[str]:
        """Return the names of the terms: the target for the class prior, then the used columns."""
        for kind in self.params.kinds:
            kind.powered(dict.fromkeys(kind.used, 1.0))  # refuses kinds without terms
        return [self.tally.schema.target.name, *self.params.used]

    def terms(self, block: Block) -> Floats:
        """Return the scores term by term, shape (n_rows, n_classes, n_terms); they sum to :meth:`scores`.

        A row that is the last of its class has −∞ for it in the term of the prior, and 0 in the others.
        """
        prior, columns = self.column_terms(block)
        terms = np.zeros((*prior.shape, len(self.term_names)))
        terms[:, :, 0] = prior
        for name, term in columns.items():
            terms[:, :, self.term_names.index(name)] = term
        return terms

    def column_terms(self, block: Block) -> tuple[Floats, dict[str, Floats]]:
        """(ln P(class) without the row, what each column that speaks adds to it), all (rows, classes)."""
        leaving = self._leaving(block)
        prior = self.log_priors(leaving.labels, leaving.unit)
        return prior, {name: term for kind in self.kinds for name, term in kind.terms(leaving).items()}

    def _without_class(self, block: Block, label: int) -> Floats:
        """Score rows that are the only ones of their class by a model of the other classes."""
        tally, keep = self.tally, np.arange(len(self.tally.classes)) != label
        scores = np.full((block.n_rows, len(keep)), -np.inf)
        if not keep.any():
            return scores
        classes = tuple(c for c, stays in zip(tally.classes, keep, strict=True) if stays)
        schema = replace(tally.schema, target=replace(tally.schema.target, domain=None))
        rest = tally.with_classes(np.flatnonzero(keep), classes).with_schema(schema).tidy()
        model = copy(self.model)
        model.prior = prior_without_class(model.prior, tally.classes, label)
        params = model._estimate(rest)
        held = np.flatnonzero(keep)[positions(rest.classes, classes)]
        pairs = zip(params.kinds, self.params.kinds, strict=True)
        params = replace(params, kinds=tuple(kind.holding(before, held) for kind, before in pairs))
        codes = {}
        for name, vocabulary in params.vocabularies.items():
            values = vocabulary.values
            new = positions(self.params.vocabularies[name].values, values)
            slots = np.concatenate([[0], np.where(new < 0, len(values) + 1, new + 1), [len(values) + 1]])
            codes[name] = slots.astype(np.uint32)[block.codes[name]]
        tokens = {name: rows.restrict_to(params.words[name]) for name, rows in block.tokens.items()}
        scores[:, held] = self.model._log_joint(params, replace(block, codes=codes, tokens=tokens))
        return scores


ALPHAS = np.logspace(-3, 3, 13)


STEPS = 10  # golden-section steps between the neighbors of the best of these


def best_smoothing(model: NaiveBayes, source: Source) -> float:
    """Return the α with the least leave-one-out log loss −Σ w ln P(class | row) on the training rows.

    Probabilities are those at the model's temperature: else a large α would stand in for a high temperature.
    """

    start = model._left_out()
    blocks = [(block, start.unsmoothed(block)) for block in weighty_blocks(model, source)]

    def loss(log_alpha: float) -> float:
        other = clone(model).set_params(smoothing=float(logspace.exp(log_alpha))).fit_tally(model.tally_)
        left_out = NaiveLeftOut(other)
        return left_out_loss((block, left_out.scores(block, rest) / model.temperature) for block, rest in blocks)

    grid = logspace.log(ALPHAS)
    losses = [loss(log_alpha) for log_alpha in grid]
    best = int(np.argmin(losses))
    return float(logspace.exp(_golden(loss, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)])))


def column_search(model: NaiveBayes, source: Source) -> ColumnSearch:
    """Return the left-out terms of the training rows; parts of a date are one column."""
    left_out, schema = model._left_out(), model.schema_
    bytes_per_row = 8 * len(model.classes_) * (len(schema.used) + 2)
    blocks = sample_blocks(model, source, MEMORY // bytes_per_row, seed_of(model.random_state))
    prior, columns = _stack_terms(left_out, blocks)
    terms = {}
    for name in schema.needed:
        of_name = [columns[part] for part in columns if schema.input_of(part) == name]
        if of_name:
            terms[name] = sum(of_name[1:], of_name[0]) / model.temperature
    return ColumnSearch(prior / model.temperature, terms, *labels_and_weights(blocks))


def _stack_terms(left_out: NaiveLeftOut, blocks: Iterable[Block]) -> tuple[Floats, dict[str, Floats]]:
    """Return (ln P(class), the term of each column) of left-out rows of blocks, each (n_rows, n_classes)."""
    parts = [left_out.column_terms(block) for block in blocks]
    terms = {name: np.concatenate([columns[name] for _, columns in parts]) for name in parts[0][1]}
    return np.concatenate([prior for prior, _ in parts]), terms


def _golden(loss: Callable[[float], float], low: float, high: float) -> float:
    """Minimize a function between two points by golden section."""
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = loss(a), loss(b)
    for _ in range(STEPS):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = loss(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = loss(b)
    return a if at_a <= at_b else b


CHOICE_ROWS = 5000  # rows by which kinds are chosen
GAIN = 2.0  # nats by which another kind must be better: as much as a parameter must earn
ROUNDS = 5  # over the columns
MOST_SURPRISED = -float(logspace.log(LEAST_PROBABILITY))
IMPOSSIBLE = -700.0  # stands for ln 0, so that terms can be taken from a sum again


@dataclass(frozen=True)
class Kind:
    """A value of the setting ``numeric`` and, for histograms, of ``cuts``."""

    numeric: str
    cuts: Any = None


SILENT = Kind("histogram", ())
# Student's and kernel densities gain nothing on average, and take longer to judge and to count.
KINDS = (
    Kind("gaussian"),
    Kind("lognormal"),
    Kind("histogram", ("frequency", 10)),
    Kind("histogram", ("frequency", 5)),
    Kind("histogram", ("width", 10)),
)


def with_chosen_kinds(model: NaiveBayes, schema: Schema, source: Source, names: Sequence[str]) -> Schema:
    """Return the schema with the best kind of each of these columns, and cut points for histograms."""
    rows = RowSample.of(model, schema, source)
    kinds = best_kinds(model, rows, names, tempered=False)
    return schema.with_numbers({name: rows.role(name, kind) for name, kind in kinds.items()})


def best_kinds(model: NaiveBayes, rows: RowSample, names: Sequence[str], tempered: bool) -> dict[str, Kind]:
    """Choose the kind of each column by left-out rows, at temperature 1 or, ``tempered``, at the best one."""
    labels = np.asarray(rows.block.labels, dtype=np.int64)
    own = np.arange(len(labels)) * len(rows.classes) + labels

    def less_own(scores: Floats) -> Floats:
        return scores - scores.ravel()[own, None]

    others = [name for name in rows.columns if name not in names]
    terms: dict[str, dict[Kind, Floats]] = {name: {SILENT: np.zeros((len(own), len(rows.classes)))} for name in names}
    for kind in KINDS:
        if able := [name for name in names if kind.numeric != "lognormal" or name in rows.positive]:
            prior, of_kind = rows.left_out(model, able, kind)
            for name, term in of_kind.items():
                terms[name][kind] = less_own(term)
    if others:
        prior, given = rows.left_out(model, others, None)
        prior = sum(given.values(), prior)
    weights = np.ones(len(own)) if rows.block.weights is None else rows.block.weights
    return _Search(terms, less_own(prior), labels, weights, tempered).best()


@dataclass
class _Search:
    """Greedy search for the kind of each column by Σ ln P(class | row without itself).

    Terms and scores are those of the classes less that of the row's own class.

    The search starts from the best single kind for all columns and changes one column at a time while that gains.
    A column may become a histogram without cuts, which carries no information. Cuts learned from the classes ("mdl")
    are not tried, because left-out rows cannot judge them.
    """

    terms: Mapping[str, Mapping[Kind, Floats]]
    given: Floats
    labels: Ints
    weights: Floats
    tempered: bool
    exponent: float = 1.0

    def best(self) -> dict[str, Kind]:
        """Return the best kind of each column."""
        self.worth = -np.inf
        for kind in KINDS:
            # A column that cannot be of this kind takes the first that it can be.
            kinds = {name: next(k for k in (kind, *KINDS, SILENT) if k in of) for name, of in self.terms.items()}
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
        """Change a column to its best kind given the others, if that gains enough."""
        of = self.terms[name]
        rest = self.scores - of[chosen[name]]
        worth = {kind: self._worth(rest + term, self.exponent) for kind, term in of.items() if kind != chosen[name]}
        kind = max(worth, key=worth.__getitem__, default=None)
        if kind is None or worth[kind] <= self.worth + GAIN:  # alone: a class has no number
            return False
        self.worth, chosen[name], self.scores = worth[kind], kind, rest + of[kind]
        return True

    def _worth(self, scores: Floats, exponent: float) -> float:
        """Return Σ ln P(class | row), each term at least the log of the smallest probability.

        The score of the row's own class is 0.
        """
        log_evidence = logspace.normalize(scores if exponent == 1 else exponent * scores)[1]
        return -float(self.weights @ np.minimum(log_evidence, MOST_SURPRISED))

    def _exponent(self, scores: Floats) -> float:
        return fit_temperature(scores, self.labels, self.weights, capped=True) if self.tempered else 1.0


@dataclass(frozen=True)
class RowSample:
    """The rows by which kinds are chosen: the distinct ones with the smallest hashes, without texts."""

    schema: Schema
    classes: tuple[Value, ...]
    values: Mapping[str, Sequence[Value]]
    block: Block
    positive: frozenset[str]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, model: NaiveBayes, schema: Schema, source: Source) -> RowSample:
        """Sample the rows of a source, where they are."""
        columns = tuple(name for name in schema.used if name not in schema.texts)
        counted = model._collect(source, schema, Plan(Request("sample", columns, {"n_rows": CHOICE_ROWS})))
        sampled = counted.statistics["sample"]
        assert isinstance(sampled, SampledRows)
        rows = sampled.all_rows
        declared = schema.target.domain or ()
        kept = [c for c, name in enumerate(counted.classes) if name in declared or (rows.labels == c).any()]
        coded = {name: rows.cells[name] for name in columns if name in schema.coded}
        floats = {name: rows.cells[name] for name in columns if name not in coded}
        labels = np.searchsorted(kept, rows.labels).astype(np.uint32)
        block = Block(len(labels), 0, coded, floats, labels, weights=rows.weights)
        classes = tuple(counted.classes[c] for c in kept)
        return cls(schema, classes, counted.space.values, block, sampled.positive, columns)

    def role(self, name: str, kind: Kind) -> dict[str, Any]:
        """Return kind and cut points of the role of a column, by the rows of the sample."""
        cuts = kind.cuts
        if cuts:
            cuts = by_range(cuts[0], self.block.floats[name], cuts[1], self.block.weights)
        return {"kind": kind.numeric, "cuts": cuts}

    def left_out(self, model: NaiveBayes, names: Sequence[str], kind: Kind | None) -> tuple[Floats, dict[str, Floats]]:
        """Return (ln P(class), the term of each column) of left-out rows, all columns being of one kind if given."""
        part, block = self.schema.restrict(names), self.block
        codes = {name: block.codes[name] for name in names if name in block.codes}
        floats = {name: block.floats[name] for name in names if name in block.floats}
        settings: dict[str, Any] = {}
        if kind is not None:
            roles = {name: self.role(name, kind) for name in names}
            part, settings["numeric"] = part.with_numbers(roles), kind.numeric
        if kind is not None and kind.cuts is not None:
            points = [np.array(roles[name]["cuts"], dtype=np.float64) for name in floats]
            codes, floats = dict(zip(floats, kernels.bin_codes(list(floats.values()), points, 1), strict=True)), {}
        for setting in ("smoothing", "variance", "numeric"):
            value = settings.get(setting, getattr(model, setting))
            if isinstance(value, Mapping):
                value = {name: v for key, v in value.items() if (name := self.schema.find(key)) in part.columns}
            settings[setting] = value
        fitted = clone(model).set_params(schema=part, roles=None, domains=None, cuts=10, temperature=1.0, **settings)
        block = replace(block, codes=codes, floats=floats)
        values = {name: Vocabulary(self.values[name]) for name in codes if name in self.values}
        encoder = Encoder(part, values, Vocabulary(self.classes))
        fitted.fit_tally(fitted._count_blocks([block], encoder, fitted._plan(part)))
        prior, terms = fitted._left_out().column_terms(block)
        return _finite(prior), {name: _finite(term) for name, term in terms.items()}


def _finite(log_p: Floats) -> Floats:
    if np.isfinite(log_p.sum()):
        return log_p
    return np.nan_to_num(log_p, nan=0.0, neginf=IMPOSSIBLE, posinf=-IMPOSSIBLE)


Codes = npt.NDArray[np.uint32]
INTERVALS = 5  # of a numeric column
VALUES = 15  # of a column; all others become one
COLUMNS = 200  # the most informative ones
DIAGNOSIS_ROWS = 20_000  # drawn at random, if there are more
SHUFFLED = 60  # pairs that are tested by shuffling


def diagnose_columns(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
    """Diagnose naive Bayes with the settings of a model on rows; the model is unchanged.

    Numbers are cut into five intervals and rare values are pooled: independence given the class survives any such
    coarsening. The cost of a pair is measured with left-out terms: as they are, and with the two columns counted
    together.
    """
    rows = _LeftOutTerms(model, X, y, sample_weight)
    rng = np.random.default_rng(seed_of(model.random_state) or 0)
    codes, sizes = _coarse(rows.block, rows.labels, len(rows.classes))
    names = tuple(codes)
    bits, dependent, n_pairs = _tested(codes, sizes, rows.labels, len(rows.classes), rng)
    pairs = [rows.with_cost(pair, codes) if i < MEASURED else pair for i, pair in enumerate(dependent)]
    cures = [Cure("as it is", "leave it as it is", *rows.evaluate(rows.scores), _on_one_line(model))]
    cures += sorted(rows.cures(pairs), key=lambda cure: cure.log_loss)
    loss, curve = rows.evaluate(rows.scores)[0], rows.reliability(rows.scores)
    return Diagnosis("columns", names, bits, tuple(pairs), n_pairs, loss, curve, tuple(cures), len(rows.labels))


class _LeftOutTerms:
    """Training rows, and the left-out terms of prior and columns."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        with warnings.catch_warnings(action="ignore", category=BayesWarning):
            fitted = clone(model).fit(X, y, sample_weight)
        self.model, self.data = fitted, (X, y, sample_weight)
        self.classes = fitted.tally_.classes
        if len(self.classes) < 2:
            raise BayesError(f"all rows are of class {self.classes[0]!r}: there is nothing to tell apart")
        blocks = learned_blocks(fitted, X, y, sample_weight, DIAGNOSIS_ROWS, seed_of(model.random_state) or 0)
        if not blocks:
            raise BayesError("every row alone shows its class: there is nothing to leave out")
        self.block = join_blocks(blocks)
        self.labels = np.asarray(self.block.labels, dtype=np.intp)
        self.weights = self.block.weights
        self.prior, self.terms = _stack_terms(fitted._left_out(), blocks)
        self.scores = self.prior + sum(self.terms.values()) if self.terms else self.prior

    def evaluate(self, scores: Floats) -> tuple[float, float]:
        """Return (log loss, calibration error) of log scores of the rows."""
        scores = self._with_prior(scores) / self.model.temperature
        log_true = logspace.log_posterior_of(scores, self.labels)
        loss = float(-np.average(clip_log(log_true), weights=self.weights))
        return loss, self.reliability(scores * self.model.temperature).error

    def reliability(self, scores: Floats) -> Reliability:
        """Return the reliability of the predicted class."""
        proba = logspace.normalize(self._with_prior(scores) / self.model.temperature)[0]
        return top_reliability(proba, self.labels, sample_weight=self.weights)

    def _with_prior(self, scores: Floats) -> Floats:
        impossible = np.isneginf(scores.max(axis=1))
        return np.where(impossible[:, None], self.prior, scores) if impossible.any() else scores

    def without(self, name: str) -> Floats:
        """Return the scores without a column."""
        return self.prior + sum((t for other, t in self.terms.items() if other != name), np.zeros_like(self.prior))

    def with_cost(self, pair: Dependence, codes: dict[str, Codes]) -> Dependence:
        """Return the pair with its cost."""
        a, b = pair.first, pair.second
        rest = [term for name, term in self.terms.items() if name not in (a, b)]
        together = self.prior + sum(rest, np.zeros_like(self.prior)) + self._joint_term(a, b, codes)
        now, joined = self.evaluate(self.scores)[0], self.evaluate(together)[0]
        sure, surer = self.reliability(together), self.reliability(self.scores)
        gap = (surer.said_in_all - surer.seen_in_all) - (sure.said_in_all - sure.seen_in_all)
        losses = {name: self.evaluate(self.without(name))[0] for name in (a, b)}
        drop = min(losses, key=lambda name: losses[name])
        better: dict[str, Any] = {"drop": drop, "without": losses[drop]} if losses[drop] < now else {}
        return replace(pair, cost=now - joined, overconfidence=float(gap), **better)

    def _joint_term(self, a: str, b: str, codes: dict[str, Codes]) -> Floats:
        """Return ln P(a, b | class) of left-out rows: a bivariate normal for numbers, else a table with back-off."""
        import bayeskit  # by their public names: models of two columns

        numbers = self.block.floats
        with warnings.catch_warnings(action="ignore", category=BayesWarning):
            if a in numbers and b in numbers and not (np.isnan(numbers[a]).any() or np.isnan(numbers[b]).any()):
                model: Any = bayeskit.GaussianBayes(prior="uniform", covariance="shrunk")
                columns: dict[str, Any] = {"a": numbers[a], "b": numbers[b]}
            else:
                model = bayeskit.TAN(prior="uniform", parents={"b": "a"}, roles="categorical")
                columns = {"a": _cells(codes[a]), "b": _cells(codes[b])}
            data = columns, self.labels, self.weights
            model.fit(*data)
            left_out = model._left_out()
            scores = np.concatenate([left_out.scores(block) for block in model._blocks_learned(*data)])
        places = np.asarray(model.classes_, dtype=np.intp)
        term = np.full((len(self.labels), len(self.classes)), -np.inf)
        term[:, places] = scores
        return term

    def _ignoring(self, name: str) -> NaiveBayes:
        """Return an unfitted copy of the model that leaves a column out."""
        schema, roles = self.model.schema_, self.model.roles
        if not isinstance(roles, Mapping):
            roles = {} if roles is None else dict.fromkeys(schema.columns, roles)
        kept: dict[str, Any] = {
            setting: {key: v for key, v in value.items() if isinstance(key, type) or schema.find(key) != name} or None
            for setting in ("domains", "numeric", "cuts")
            if isinstance(value := getattr(self.model, setting), Mapping)
        }
        if "numeric" in kept:
            kept["numeric"] = kept["numeric"] or "auto"
        return clone(self.model).set_params(roles={**roles, name: "ignore"}, **kept)

    def cures(self, pairs: list[Dependence]) -> list[Cure]:
        """Return what helps, measured on the same left-out rows."""
        import bayeskit

        cures = []
        losses = {pair.drop: self.evaluate(self.without(pair.drop)) for pair in pairs if pair.drop is not None}
        if losses:
            name = min(losses, key=lambda n: losses[n][0])
            cures.append(Cure("drop", f"leave {name!r} out", *losses[name], _on_one_line(self._ignoring(name)), name))
        if not self.terms or not pairs:
            return cures
        terms = np.stack([self.prior, *self.terms.values()], axis=2)
        weights = np.ones(len(self.labels)) if self.weights is None else self.weights
        try:
            powers = best_exponents(terms, self.labels, weights, 1.0)
            with np.errstate(invalid="ignore"):
                weighed = np.where(np.isneginf(terms), -np.inf, terms * powers).sum(axis=2)
            what, code = "an exponent for each column", f"DiscriminativeWeights({_on_one_line(clone(self.model))})"
            cures.append(Cure("exponents", what, *self.evaluate(weighed), code))
        except (ArithmeticError, ValueError):  # an exponent of a kind of column that has none
            pass
        try:
            with warnings.catch_warnings(action="ignore", category=BayesWarning):
                shared = {name: getattr(self.model, name) for name in ("roles", "domains", "prior", "unlabeled")}
                tan = bayeskit.TAN(**shared)
                evaluation = clone(tan).fit(*self.data).leave_one_out(*self.data)
            what = "let each column depend on one other"
            cures.append(Cure("tan", what, evaluation.log_loss, evaluation.calibration_error, _on_one_line(tan)))
        except BayesError:  # texts, or more than memory allows
            pass
        return cures


def _on_one_line(model: Any) -> str:
    return re.sub(r"\n\s*", " ", repr(model))


def _cells(codes: Codes) -> Floats:
    """Convert codes to cells: 0 becomes missing."""
    return np.where(codes == 0, np.nan, codes.astype(np.float64))


def _coarse(block: Block, labels: Array, n_classes: int) -> tuple[dict[str, Codes], dict[str, int]]:
    """Return (codes with few values, 0 where missing; number of codes) of the most informative columns."""
    codes: dict[str, Codes] = {}
    for name, column in block.codes.items():
        counts = np.bincount(column)
        counts[0] = 0
        order = np.argsort(-counts, kind="stable")[:VALUES]
        frequent = order[counts[order] > 0]
        new = np.full(len(counts), len(frequent) + 1, dtype=np.uint32)
        new[frequent], new[0] = np.arange(1, len(frequent) + 1), 0
        codes[name] = new[column]
    for name, numbers in block.floats.items():
        there = ~np.isnan(numbers)
        shares = np.arange(1, INTERVALS) / INTERVALS
        edges = np.unique(np.quantile(numbers[there], shares)) if there.any() else np.zeros(0)
        codes[name] = np.where(there, np.searchsorted(edges, numbers, side="left") + 1, 0).astype(np.uint32)
    sizes = {name: int(column.max(initial=0)) + 1 for name, column in codes.items()}
    sizes = {name: size for name, size in sizes.items() if size > 2}  # one value alone tells nothing
    if len(sizes) > COLUMNS:
        bits = {name: _information(codes[name], sizes[name], labels, n_classes) for name in sizes}
        best = sorted(sizes, key=lambda name: -bits[name])[:COLUMNS]
        sizes = {name: size for name, size in sizes.items() if name in best}
    return {name: codes[name] for name in sizes}, sizes


def _information(column: Codes, size: int, labels: Array, n_classes: int) -> float:
    table = np.bincount(labels * size + column, minlength=n_classes * size).reshape(n_classes, size)
    return information.mutual_information(table[:, 1:])


def _tested(
    codes: dict[str, Codes], sizes: dict[str, int], labels: Array, n_classes: int, rng: np.random.Generator
) -> tuple[Floats, list[Dependence], int]:
    """Return (bits of all pairs beyond chance, the dependent pairs, the number of pairs tested)."""
    names, n = tuple(codes), len(codes)
    bits = np.zeros((n, n))
    n_pairs = n * (n - 1) // 2
    if not n_pairs:
        return bits, [], 0

    def is_chance(surprise: information.Surprise) -> bool:
        return surprise.p_value > information.LEVEL / n_pairs or surprise.bits < information.LEAST_BITS

    widths = tuple(sizes[name] for name in names)
    by = labels.astype(np.uint32), n_classes, 1
    counted = Pairs(names, widths, kernels.count_pairs([codes[name] for name in names], widths, *by))
    tests = []
    for a, b in combinations(names, 2):
        table = information.present(counted.table(a, b))
        tests.append((information.by_chi_squared(table), a, b, information.is_well_filled(table)))
    dependent, shuffled = [], 0
    for surprise, a, b, filled in sorted(tests, key=lambda test: -test[0].bits):
        if not filled and not is_chance(surprise):
            if shuffled == SHUFFLED:
                continue  # there are stronger ones enough
            shuffled += 1
            surprise = information.by_shuffling(codes[a], codes[b], (sizes[a], sizes[b]), labels, n_classes, rng)
        if not is_chance(surprise):
            dependent.append((surprise, a, b))
    dependent.sort(key=lambda one: -one[0].bits)
    for surprise, a, b in dependent:
        i, j = names.index(a), names.index(b)
        bits[i, j] = bits[j, i] = surprise.bits
    return bits, [Dependence(a, b, s.bits, s.p_value) for s, a, b in dependent], n_pairs
