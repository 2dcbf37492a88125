"""Diagnosis of naive Bayes: pairs of columns that break its assumption, by rows left out.

Numbers are looked at in five parts, columns of many values by their most frequent ones: independence given the class
survives any such coarsening, so what is found is there. What a pair costs is measured with the model's own terms, each
row left out: once as they are, once with the two columns counted together.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.exponents import best_exponents
from bayeskit.estimate.information import (
    LEAST_BITS,
    LEVEL,
    Surprise,
    by_chi_squared,
    by_shuffling,
    is_well_filled,
    mutual_information,
    present,
)
from bayeskit.evaluate.diagnosis import LEAST_LOG, MEASURED, Cure, Dependence, Diagnosis
from bayeskit.evaluate.leave_one_out import is_last_of_class
from bayeskit.evaluate.reliability import Reliability, top_reliability
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.tally.pairs import Pairs
from bayeskit.typing import Array, Floats

Codes = npt.NDArray[np.uint32]
PARTS = 5  # of a number
VALUES = 15  # of a column; the rest are one more
COLUMNS = 200  # that tell most of the class
ROWS = 20_000
SHUFFLED = 60  # pairs that are tested by shuffling


def diagnose_columns(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
    """The record of a naive Bayes of these settings on the rows; the model stays as it is."""
    rows = _LeftOutTerms(model, X, y, sample_weight)
    rng = np.random.default_rng(seed_of(model.random_state) or 0)
    codes, sizes = _coarse(rows.block, rows.labels, len(rows.classes))
    names = tuple(codes)
    information, dependent, n_pairs = _tested(codes, sizes, rows.labels, len(rows.classes), rng)
    pairs = [rows.costed(pair, codes) if i < MEASURED else pair for i, pair in enumerate(dependent)]
    cures = [Cure("as it is", "leave it as it is", *rows.judged(rows.scores), repr(model))]
    cures += sorted(rows.cures(pairs), key=lambda cure: cure.log_loss)
    loss, curve = rows.judged(rows.scores)[0], rows.reliability(rows.scores)
    return Diagnosis("columns", names, information, tuple(pairs), n_pairs, loss, curve, tuple(cures), len(rows.labels))


class _LeftOutTerms:
    """The rows of a fit, and what prior and columns add to the scores of each without itself."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)
            fitted = clone(model).fit(X, y, sample_weight)
        self.model, self.data = fitted, (X, y, sample_weight)
        self.classes = fitted.tally_.classes
        if len(self.classes) < 2:
            raise BayesError(f"all rows are of class {self.classes[0]!r}: there is nothing to tell apart")
        counts = fitted.tally_.class_counts.astype(np.float64)
        share = ROWS / float(counts.sum())
        rng = np.random.default_rng(seed_of(model.random_state) or 0)
        left_out, blocks = fitted._left_out(), []
        priors: list[Floats] = []
        terms: dict[str, list[Floats]] = {}
        for block in fitted._blocks_learnt(X, y, sample_weight):
            asked = np.ones(block.n_rows, dtype=bool) if share >= 1 else rng.random(block.n_rows) < share
            asked &= True if block.weights is None else block.weights > 0
            labels = np.where(asked, np.asarray(block.labels), 0).astype(np.intp)
            unit = None if block.weights is None else np.minimum(block.weights, 1.0)
            alone = is_last_of_class(counts, labels, unit)
            part = block.take(np.flatnonzero(asked if alone is None else asked & ~alone))
            if part.n_rows:
                prior, columns = left_out.column_terms(part)
                priors.append(prior)
                for name, term in columns.items():
                    terms.setdefault(name, []).append(term)
                blocks.append(part)
        if not blocks:
            raise BayesError("every row alone shows its class: there is nothing to leave out")
        self.block = _joined(blocks)
        self.labels = np.asarray(self.block.labels, dtype=np.intp)
        self.weights = self.block.weights
        self.prior = np.concatenate(priors)
        self.terms = {name: np.concatenate(parts) for name, parts in terms.items()}
        self.scores = self.prior + sum(self.terms.values()) if self.terms else self.prior

    def judged(self, scores: Floats) -> tuple[float, float]:
        """(log loss, calibration error) of log scores of the rows."""
        scores = self._settled(scores) / self.model.temperature
        log_true = logspace.log_posterior_of(scores, self.labels)
        loss = float(-np.average(np.maximum(log_true, LEAST_LOG), weights=self.weights))
        return loss, self.reliability(scores * self.model.temperature).error

    def reliability(self, scores: Floats) -> Reliability:
        """What is said of the chosen class beside what is seen."""
        proba = logspace.normalise(self._settled(scores) / self.model.temperature)[0]
        return top_reliability(proba, self.labels, sample_weight=self.weights)

    def _settled(self, scores: Floats) -> Floats:
        impossible = np.isneginf(scores.max(axis=1))
        return np.where(impossible[:, None], self.prior, scores) if impossible.any() else scores

    def without(self, name: str) -> Floats:
        """The scores without a column."""
        return self.prior + sum((t for other, t in self.terms.items() if other != name), np.zeros_like(self.prior))

    def costed(self, pair: Dependence, codes: dict[str, Codes]) -> Dependence:
        """The pair with what it costs."""
        a, b = pair.first, pair.second
        rest = [term for name, term in self.terms.items() if name not in (a, b)]
        together = self.prior + sum(rest, np.zeros_like(self.prior)) + self._joint_term(a, b, codes)
        now, joined = self.judged(self.scores)[0], self.judged(together)[0]
        sure, surer = self.reliability(together), self.reliability(self.scores)
        gap = (surer.said_in_all - surer.seen_in_all) - (sure.said_in_all - sure.seen_in_all)
        losses = {name: self.judged(self.without(name))[0] for name in (a, b)}
        drop = min(losses, key=lambda name: losses[name])
        better = losses[drop] < now
        return replace(
            pair,
            cost=now - joined,
            overconfidence=float(gap),
            drop=drop if better else None,
            without=losses[drop] if better else None,
        )

    def _joint_term(self, a: str, b: str, codes: dict[str, Codes]) -> Floats:
        """ln P(a, b | class) of the rows, each left out: a normal of two numbers, else a table with back-off."""
        import bayeskit  # by their public names: models of two columns

        numbers = self.block.floats
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)
            if a in numbers and b in numbers and not (np.isnan(numbers[a]).any() or np.isnan(numbers[b]).any()):
                model: Any = bayeskit.GaussianBayes(prior="uniform", covariance="shrunk")
                columns: dict[str, Any] = {"a": numbers[a], "b": numbers[b]}
            else:
                model = bayeskit.TAN(prior="uniform", parents={"b": "a"}, roles="categorical")
                columns = {"a": _cells(codes[a]), "b": _cells(codes[b])}
            data = columns, self.labels, self.weights
            model.fit(*data)
            left_out = model._left_out()
            scores = np.concatenate([left_out.scores(block) for block in model._blocks_learnt(*data)])
        places = np.asarray(model.classes_, dtype=np.intp)
        term = np.full((len(self.labels), len(self.classes)), -np.inf)
        term[:, places] = scores
        return term

    def cures(self, pairs: list[Dependence]) -> list[Cure]:
        """What can be done about it, measured on the same rows left out."""
        import bayeskit

        cures = []
        losses = {name: self.judged(self.without(name)) for name in {p.drop for p in pairs if p.drop is not None}}
        if losses:
            name = min(losses, key=lambda n: losses[n][0])
            roles = f"roles={{{name!r}: 'ignore'}}"
            cures.append(Cure("drop", f"leave {name!r} out", *losses[name], f"NaiveBayes({roles})", name))
        if not self.terms or not pairs:
            return cures
        terms = np.stack([self.prior, *self.terms.values()], axis=2)
        weights = np.ones(len(self.labels)) if self.weights is None else self.weights
        try:
            powers = best_exponents(terms, self.labels, weights, 1.0)
            with np.errstate(invalid="ignore"):
                weighed = np.where(np.isneginf(terms), -np.inf, terms * powers).sum(axis=2)
            what, code = "an exponent for each column", "DiscriminativeWeights(NaiveBayes())"
            cures.append(Cure("exponents", what, *self.judged(weighed), code))
        except (ArithmeticError, ValueError):  # an exponent of a kind of column that has none
            pass
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BayesWarning)
                tan = bayeskit.TAN(roles=self.model.roles, unlabelled=self.model.unlabelled).fit(*self.data)
                evaluation = tan.leave_one_out(*self.data)
            what = "let each column depend on one other"
            cures.append(Cure("tan", what, min(evaluation.log_loss, -LEAST_LOG), evaluation.calibration_error, "TAN()"))
        except BayesError:  # texts, or more than memory allows
            pass
        return cures


def _joined(blocks: list[Block]) -> Block:
    first = blocks[0]
    weights = None if first.weights is None else np.concatenate([np.asarray(b.weights) for b in blocks])
    return Block(
        sum(b.n_rows for b in blocks),
        0,
        {name: np.concatenate([b.codes[name] for b in blocks]) for name in first.codes},
        {name: np.concatenate([b.floats[name] for b in blocks]) for name in first.floats},
        np.concatenate([np.asarray(b.labels) for b in blocks]),
        None,
        weights,
    )


def _cells(codes: Codes) -> Floats:
    """Codes as cells of a table: 0 is missing."""
    return np.where(codes == 0, np.nan, codes.astype(np.float64))


def _coarse(block: Block, labels: Array, n_classes: int) -> tuple[dict[str, Codes], dict[str, int]]:
    """(codes with few values, 0 where missing; how many codes) of the columns that tell most of the class."""
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
        edges = np.unique(np.quantile(numbers[there], np.arange(1, PARTS) / PARTS)) if there.any() else np.zeros(0)
        codes[name] = np.where(there, np.searchsorted(edges, numbers, side="left") + 1, 0).astype(np.uint32)
    sizes = {name: int(column.max(initial=0)) + 1 for name, column in codes.items()}
    sizes = {name: size for name, size in sizes.items() if size > 2}  # one value alone tells nothing
    if len(sizes) > COLUMNS:
        information = {name: _information(codes[name], sizes[name], labels, n_classes) for name in sizes}
        best = sorted(sizes, key=lambda name: -information[name])[:COLUMNS]
        sizes = {name: size for name, size in sizes.items() if name in best}
    return {name: codes[name] for name in sizes}, sizes


def _information(column: Codes, size: int, labels: Array, n_classes: int) -> float:
    table = np.bincount(labels * size + column, minlength=n_classes * size).reshape(n_classes, size)
    return mutual_information(table[:, 1:])


def _tested(
    codes: dict[str, Codes], sizes: dict[str, int], labels: Array, n_classes: int, rng: np.random.Generator
) -> tuple[Floats, list[Dependence], int]:
    """(bits of all pairs beyond chance, the pairs that are more than chance, how many were tested)"""
    names, n = tuple(codes), len(codes)
    information = np.zeros((n, n))
    n_pairs = n * (n - 1) // 2
    if not n_pairs:
        return information, [], 0
    widths = tuple(sizes[name] for name in names)
    by = labels.astype(np.uint32), n_classes, None, 1
    counted = Pairs(names, widths, kernels.count_pairs([codes[name] for name in names], widths, *by))
    dependent: list[tuple[Surprise, str, str]] = []
    shuffled = 0
    surprises = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            table = present(counted.table(a, b))
            surprises.append((by_chi_squared(table), a, b, is_well_filled(table)))
    surprises.sort(key=lambda one: -one[0].bits)
    for surprise, a, b, filled in surprises:
        if surprise.p_value > LEVEL / n_pairs or surprise.bits < LEAST_BITS:
            continue
        if not filled:
            if shuffled == SHUFFLED:
                continue  # there are stronger ones enough
            shuffled += 1
            surprise = by_shuffling(codes[a], codes[b], (sizes[a], sizes[b]), labels, n_classes, rng)
            if surprise.p_value > LEVEL / n_pairs or surprise.bits < LEAST_BITS:
                continue
        dependent.append((surprise, a, b))
    dependent.sort(key=lambda one: -one[0].bits)
    for surprise, a, b in dependent:
        i, j = names.index(a), names.index(b)
        information[i, j] = information[j, i] = surprise.bits
    return information, [Dependence(a, b, s.bits, s.p_value) for s, a, b in dependent], n_pairs
