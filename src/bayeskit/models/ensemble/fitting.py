"""Fit the structure of the ensemble, and measure it on rows left out.

Formula: the counting ensemble: members, chains, forests, line, exponents, boosting, cap
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.estimate.prior import shares_without
from bayeskit.estimate.temperature import fit_exponents, fit_temperature
from bayeskit.evaluate.leave_one_out import is_last_of_class
from bayeskit.evaluate.metrics import log_loss
from bayeskit.explain.informative import LossImportance
from bayeskit.models.ensemble.linear import (
    FEWER_FOLDS,
    FOLDS,
    MANY,
    MOST_CLASSES,
    LinearPart,
    assign_folds,
    fit_line,
)
from bayeskit.models.ensemble.parameters import (
    CHAINS_TOGETHER,
    MOST_FITTED,
    PSEUDO,
    EnsembleParameters,
    Tell,
    capped,
    coded_sizes,
    prior_of,
    put_means,
    some_columns,
)
from bayeskit.models.ensemble.structure import (
    PARENTS,
    ChainSteps,
    Members,
    ScoreTerms,
    Structure,
    draw_chains,
    draw_members,
)
from bayeskit.models.ensemble.texts import Texts
from bayeskit.models.ensemble.training_rows import TrainingRows
from bayeskit.models.ensemble.trees import (
    BoostedTrees,
    Booster,
    LeftOutForests,
    count_leaves,
    group_folds,
    grow_forests,
    left_out_totals,
    ready_leaves,
    total_leaves,
)
from bayeskit.tables import Table
from bayeskit.tally.coded_trees import CodedTrees
from bayeskit.typing import Array, Bytes, Floats, Ints, Singles

# New rows are scored by all trees, a left-out row by about a third of them, so its scores are less confident. The value
# was chosen on training parts of the sets in docs/quality.md.
OUT_OF_BAG_CORRECTION = 1.07
# Rows that a temperature is fitted to.
MOST_TEMPERED = 4_000
# Rows times columns on which importance is measured: with 2,500, the ranks on 2,000 rows of "adult" were chance.
WALKS = 40_000


@dataclass(frozen=True)
class EnsembleSize:
    """The numbers of members, chains and trees; with ``light`` None, members and chains are dropped if not needed."""

    members: int
    chains: int
    trees: int
    """The number of trees of each forest."""
    light: bool | None = False

    @classmethod
    def of(cls, structure: Structure) -> EnsembleSize:
        """Return the size of a given structure."""
        return cls(len(structure.cuts), len(structure.steps), structure.n_trees // 2)


@dataclass
class EnsembleFit:
    """One fit of the ensemble, with a given structure if ``held`` is not None.

    ``asked`` are the positions of the rows whose left-out scores are computed.
    """

    rows: TrainingRows
    extent: EnsembleSize
    rng: np.random.Generator
    n_threads: int
    tell: Tell
    held: Structure | None = None
    texts: Texts = field(default_factory=dict)

    def __post_init__(self) -> None:
        n_rows = len(self.rows.labels)
        asked = np.arange(n_rows)
        if n_rows > MOST_FITTED:
            asked = np.sort(self.rng.choice(n_rows, MOST_FITTED, replace=False))
        self._ask(asked)

    @classmethod
    def count(cls, rows: TrainingRows, structure: Structure, n_threads: int, tell: Tell) -> EnsembleParameters:
        """Count rows in the contexts of a given structure."""
        fit = cls(rows, EnsembleSize.of(structure), np.random.default_rng(0), n_threads, tell, structure)
        fit._ask(np.zeros(0))
        return fit.run()

    def _ask(self, asked: Array) -> None:
        self.asked = asked.astype(np.int64)
        self.labels = self.rows.labels[self.asked]
        self.weights = None if self.rows.weights is None else self.rows.weights[self.asked]
        self.log_prior = left_out_prior(self.rows, self.asked)

    def run(self) -> EnsembleParameters:
        """Fit the parameters, and set ``log_proba`` of the asked rows left out and ``importance``."""
        rows, n_columns, extent = self.rows, len(self.rows.columns), self.extent
        has_line = len(rows.classes) <= MOST_CLASSES if self.held is None else self.held.line is not None
        at = ScoreTerms.of(n_columns, extent.members, extent.chains, extent.trees, has_line)
        terms = np.empty((len(self.asked), len(rows.classes), at.size), dtype=np.float32)
        terms[:, :, -1] = self.log_prior
        members, factors, m = self._factors(terms)
        chains, chain_means = self._chains()
        trees, leaves, forest_means, line = self._trees(terms, has_line)
        temperatures = self._fit_temperatures(chain_means, forest_means)
        put_means(terms, at.of_chains, chain_means, temperatures)
        put_means(terms, at.of_forests, forest_means, temperatures[2:])
        exponents = self._fit_exponents(terms, at)
        structure = self.held or Structure(
            rows.codes, members.cuts, members.parents, m, ChainSteps.of(chains), temperatures, exponents, trees, line,
            silent=rows.silent, grouped=rows.groups is not None, texts=self.texts,
        )  # fmt: skip
        scores = terms.astype(np.float64) @ exponents
        if extent.light is None and (lighter := self._fit_light_exponents(terms, at, scores)) is not None:
            terms, exponents = terms[:, :, at.light], lighter
            structure, factors, chains = drop_members_and_chains(structure, lighter), [], []
            scores = terms.astype(np.float64) @ lighter
        structure, scores, added, share = self._fit_boosting(structure, scores)
        self.log_proba = capped(scores, rows.n)
        self.cross_fit = None
        if self.held is None:
            groups = None if rows.groups is None else rows.groups[self.asked]
            self.cross_fit = CrossFit(
                terms, structure.terms, added, share, self.labels, self.weights, groups, rows.n, self.n_threads
            )
        forests = None if structure.trees is None else self.left_out
        self.importance = EnsembleImportance.of(structure, self.asked, terms, scores, forests, self.n_threads)
        return EnsembleParameters(
            rows.classes, logspace.log(prior_of(rows)), rows.n, rows.codes, structure, structure.members(rows.codes),
            factors, chains, rows.columns if chains else [], leaves,
        )  # fmt: skip

    def _factors(self, terms: Singles) -> tuple[Members, list[Any], Floats]:
        """Fit the members, and write their left-out terms of the asked rows into ``terms``."""
        rows, n_columns, held = self.rows, len(self.rows.columns), self.held
        if not self.extent.members:
            n_parents = min(PARENTS, n_columns - 1)
            no_members = Members.of((), np.zeros((0, n_columns, n_parents), dtype=np.int32), rows.codes)
            return no_members, [], np.zeros((n_columns, 0, n_parents + 1))
        if held is None:
            members = draw_members(rows, self.extent.members, self.rng, self.n_threads)
        else:
            members = held.members(rows.codes)
        codes = members.codes(rows.columns, rows.codes, self.n_threads)
        factors, chosen = [], []
        for columns in some_columns(n_columns):
            m = None if held is None else np.ascontiguousarray(held.m[columns].reshape(-1, held.m.shape[2]))
            said, learned = kernels.learn_backoff(
                codes, members.sizes, members.parents, columns, rows.labels, len(rows.classes), rows.weights,
                self.asked, self.n_threads, m,
            )  # fmt: skip
            terms[:, :, columns[0] : columns[-1] + 1] = said
            factors.append((columns, learned))
            chosen.append(learned[0].reshape(len(columns), len(members.cuts), -1))
            self.tell("columns", int(columns[-1]) + 1, n_columns)
        return members, factors, np.concatenate(chosen)

    def _chains(self) -> tuple[list[Any], list[Floats]]:
        """Fit the chains; return their means (n_rows, n_classes) over chains that a row did not choose."""
        if not self.extent.chains:
            return [], []
        rows, n_classes, prior = self.rows, len(self.rows.classes), prior_of(self.rows)
        log_sum, total = np.zeros_like(self.log_prior), np.zeros_like(self.log_prior)
        outside, sizes, chains = np.zeros(len(self.asked)), coded_sizes(rows.codes), []
        first = (rows.columns, sizes, rows.labels, n_classes, rows.weights, self.asked)
        for done in range(0, self.extent.chains, CHAINS_TOGETHER):
            some = min(CHAINS_TOGETHER, self.extent.chains - done)
            if self.held is None:
                parts, candidates, cuts = draw_chains(rows, some, self.rng)
                logs, sums, learned = kernels.learn_chains(*first, parts, candidates, cuts, prior, self.n_threads)
                outside += (parts[:, self.asked] == 0).sum(axis=0)
            else:
                steps = self.held.steps_in(rows.codes).some(done, done + some)
                logs, sums, learned = kernels.count_chains(*first, *steps, prior, self.n_threads)
                outside += some
            log_sum += logs
            total += sums
            chains.append(learned)
            self.tell("chains", done + some, self.extent.chains)
        none = outside == 0
        outside[none] = 1
        log_mean, mean = log_sum / outside[:, None], total / outside[:, None]
        log_mean[none], mean[none] = self.log_prior[none], logspace.exp(self.log_prior[none])
        return chains, [logspace.log_normalize(log_mean)[0], logspace.log(mean)]

    def _trees(
        self, terms: Singles, has_line: bool
    ) -> tuple[CodedTrees | None, Singles | None, list[Floats], LinearPart | None]:
        """Fit the forests and the linear part; return (trees, leaves, forest means, linear part)."""
        rows, held, n_threads = self.rows, self.held, self.n_threads
        if held is not None and held.trees is None:
            return None, None, [], None
        self.tell("trees", 0, 1)
        parts = None
        if held is None or held.trees is None:
            trees, codes, parts = grow_forests(rows, self.extent.trees, self.rng, n_threads)
        else:
            trees = held.trees
            codes = trees.codes(rows.cells, trees.tables(rows.codes), n_threads)
        self.leaf_counts = count_leaves(trees, codes, rows, n_threads)
        totals = total_leaves(trees, self.leaf_counts, n_threads)
        leaves = ready_leaves(trees, totals, prior_of(rows), rows.n, n_threads)
        left_out_counts, taken, fold = totals[None], rows.unit(self.asked), group_folds(rows)
        if fold is not None:
            left_out_counts, taken, fold = left_out_totals(trees, codes, rows, n_threads), 0 * taken, fold[self.asked]
        asked, inside = codes[self.asked], None if parts is None else np.ascontiguousarray(parts[:, self.asked])
        self.left_out = LeftOutForests(
            trees, asked, inside, left_out_counts, self.labels, taken, self.log_prior, rows.n, fold
        )
        means = self.left_out.means(n_threads) if len(trees) else []
        self.tell("trees", 1, 1)
        line = None if held is None else held.line
        if has_line:
            self.tell("line", 0, 1)
            if held is None:
                line, terms[:, :, -2] = fit_line(rows, self.asked, trees, codes, self.rng, n_threads)
            elif line is not None:
                cells = {name: cells[self.asked] for name, cells in rows.cells.items()}
                log_prior = logspace.log(prior_of(rows))
                terms[:, :, -2] = line.log_shares(cells, asked, trees, rows.classes, log_prior, n_threads)
            self.tell("line", 1, 1)
        return trees, leaves, means, line

    def _fit_temperatures(self, chain_means: list[Floats], forest_means: list[Floats]) -> tuple[float, ...]:
        """Fit the temperature of each mean of chains and forests; 1 without chains."""
        if self.held is not None:
            return self.held.temperatures
        some = slice(None, None, -(-len(self.labels) // MOST_TEMPERED) or 1)
        weights = None if self.weights is None else self.weights[some]
        fitted = [fit_temperature(mean[some], self.labels[some], weights) for mean in (*chain_means, *forest_means)]
        return tuple(fitted if chain_means else [1.0, 1.0, *fitted])

    def _fit_exponents(self, terms: Singles, at: ScoreTerms) -> Floats:
        """Fit the exponents of all terms (terms,)."""
        if self.held is not None:
            return self.held.exponents
        self.tell("exponents", 0, 1)
        exponents = choose_exponents(terms, at, self.labels, self.weights, self.n_threads)
        self.tell("exponents", 1, 1)
        return exponents

    def _fit_light_exponents(self, terms: Singles, at: ScoreTerms, scores: Floats) -> Floats | None:
        """Fit exponents without columns and chains; None if that loses more than a standard error."""
        few = np.ascontiguousarray(terms[:, :, at.light])
        light = ScoreTerms(0, 0, at.forests, at.line)
        exponents = self._fit_exponents(few, light)
        own = (np.arange(len(self.asked)), self.labels)
        worse = capped(scores, self.rows.n)[own] - capped(few.astype(np.float64) @ exponents, self.rows.n)[own]
        mean = float(np.average(worse, weights=self.weights))
        error = float(np.sqrt(np.average((worse - mean) ** 2, weights=self.weights) / len(worse)))
        return exponents if mean <= error else None

    def _fit_boosting(self, structure: Structure, scores: Floats) -> tuple[Structure, Floats, Floats | None, float]:
        """Add boosting and a boosted forest if they gain, and correct the confidence.

        Returns (structure, scores, what trees added to the scores, the share of all other parts).
        """
        rows, trees = self.rows, structure.trees
        if self.held is not None:
            if (part := structure.boosting) is not None:
                scores = scores + part.scores(self.left_out.codes, rows.classes, self.n_threads)
            return structure, scores, None, 1.0
        by, exponents, share, before = OUT_OF_BAG_CORRECTION, structure.exponents, 1.0, scores
        parts: list[BoostedTrees] = []
        if trees is not None:
            booster = Booster(rows, self.asked, trees, self.left_out.codes, self.rng, self.n_threads)
            self.tell("boosting", 0, 1)
            if (corrected := booster.correct(scores)) is not None:
                parts, scores = [corrected[0]], corrected[1]
            if (forest := booster.fit_forest(self.log_prior, scores)) is not None:
                share = forest.share_of_others
                parts = [*(part.scaled(share) for part in parts), forest.trees]
                scores = share * scores + forest.scores
                # The forest starts from the prior.
                exponents = share * exponents
                exponents[-1] += forest.share
            self.tell("boosting", 1, 1)
        added = None
        if parts:
            added = scores - share * before
            by *= fit_temperature(scores, self.labels, self.weights)
            structure = replace(structure, boosting=sum(parts[1:], parts[0]).scaled(by))
        return replace(structure, exponents=by * exponents), by * scores, added, share


def choose_exponents(
    terms: Singles, at: ScoreTerms, labels: npt.NDArray[np.uint32], weights: Floats | None, n_threads: int
) -> Floats:
    """Fit the exponents of all terms (terms,), from where the product of columns and prior has one temperature."""
    beta = 1.0
    if at.columns:
        together = terms[:, :, -1] + terms[:, :, at.of_columns].sum(axis=2, dtype=np.float64)
        beta = fit_temperature(together, labels, weights)
    return fit_exponents(terms, labels, weights, at.center(beta), n_threads, at.penalty())


@dataclass(frozen=True)
class CrossFit:
    """Left-out terms of the asked rows (n_rows, n_classes, n_terms), and what boosted trees ``added`` to their scores.

    Trees were added to the scores of all terms raised to ``share``.

    Temperatures and exponents of the model are fitted to all of these rows. To judge the model, they are fitted to four
    fifths of the rows and score the others.
    """

    terms: Singles
    at: ScoreTerms
    added: Floats | None
    share: float
    labels: npt.NDArray[np.uint32]
    weights: Floats | None
    groups: Ints | None
    n: float
    n_threads: int

    def log_proba(self) -> Floats:
        """Compute ln P(class | x) of each row by temperatures and exponents that have not seen it, capped."""
        n_folds, rng = FOLDS if len(self.labels) <= MANY else FEWER_FOLDS, np.random.default_rng(0)
        fold, scores = assign_folds(self.labels, n_folds, rng, self.groups), np.empty(self.terms.shape[:2])
        for k in range(int(fold.max(initial=-1)) + 1):
            others, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            scores[own] = self._score(others if len(others) else own, own)  # a single fold has no others
        return capped(scores, self.n)

    def _score(self, others: Ints, own: Ints) -> Floats:
        """Fit to some rows and score the others (n_others, n_classes)."""
        labels, weights = self.labels[others], None if self.weights is None else self.weights[others]
        fitted, scored = self.terms[others], self.terms[own]
        some = slice(None, None, -(-len(others) // MOST_TEMPERED) or 1)
        for place in range(self.at.of_chains.start, self.at.of_forests.stop):
            # The terms are tempered already, which a second temperature corrects.
            means = fitted[:, :, place].astype(np.float64)
            by = fit_temperature(means[some], labels[some], None if weights is None else weights[some])
            for terms in (fitted, scored):
                put_means(terms, slice(place, place + 1), [terms[:, :, place].astype(np.float64)], [by])
        exponents = self.share * choose_exponents(fitted, self.at, labels, weights, self.n_threads)
        if self.added is None:
            return OUT_OF_BAG_CORRECTION * (scored.astype(np.float64) @ exponents)
        by = fit_temperature(fitted.astype(np.float64) @ exponents + self.added[others], labels, weights)
        return OUT_OF_BAG_CORRECTION * by * (scored.astype(np.float64) @ exponents + self.added[own])


def drop_members_and_chains(structure: Structure, exponents: Floats) -> Structure:
    """Keep only the forests and the linear part of a structure."""
    n_columns, n_parents = structure.parents.shape[1:]
    return replace(
        structure,
        cuts=(),
        parents=np.zeros((0, n_columns, n_parents), dtype=np.int32),
        m=np.zeros((n_columns, 0, n_parents + 1)),
        steps=ChainSteps.of([]),
        temperatures=(1.0, 1.0, *structure.temperatures[2:]),
        exponents=exponents,
    )


def left_out_prior(rows: TrainingRows, asked: Ints) -> Floats:
    """Compute ln P(class) without each asked row (n_rows, n_classes)."""
    return logspace.log(shares_without(rows.class_weights, rows.labels[asked], rows.unit(asked), PSEUDO))


@dataclass(frozen=True)
class LeftOutScores:
    """Accuracy and log loss of asked rows left out.

    The only row of a class counts as wrong for naive Bayes and is left out of the log loss of all models, which is None
    if there are no other rows.
    """

    rows: TrainingRows
    asked: Ints

    def of(self, log_proba: Floats) -> tuple[float, float | None]:
        """Score ln P(class | x) (n_rows, n_classes)."""
        return self._score(log_proba, log_proba.argmax(axis=1))

    def of_naive_bayes(self, log_joint: Floats) -> tuple[float, float | None]:
        """Score ln P(x, class) (n_rows, n_classes); an impossible row gets the prior."""
        posterior, evidence = logspace.log_normalize(log_joint)
        return self.of(np.where(np.isneginf(evidence)[:, None], left_out_prior(self.rows, self.asked), posterior))

    def of_majority(self) -> tuple[float, float | None]:
        """Score the most frequent class, with the class frequencies as probabilities."""
        guess = np.full(len(self.asked), self.rows.class_weights.argmax())
        return self._score(left_out_prior(self.rows, self.asked), guess)

    def _score(self, log_proba: Floats, guess: Array) -> tuple[float, float | None]:
        rows, labels = self.rows, self.rows.labels[self.asked]
        weights = None if rows.weights is None else rows.weights[self.asked]
        lost = is_last_of_class(rows.class_weights, labels, weights)
        stay = np.arange(len(labels)) if lost is None else np.flatnonzero(~lost)
        loss = None
        if len(stay):
            loss = log_loss(log_proba[stay, labels[stay]], None if weights is None else weights[stay])
        return float(np.average(guess == labels, weights=weights)), loss


@dataclass(frozen=True)
class EnsembleImportance:
    """Some of the left-out rows with their terms and scores, to score them again without a column.

    ``which`` are the positions of the rows, ``terms`` is (n_rows, n_classes, n_terms), ``scores`` (n_rows, n_classes).
    The node totals of ``left_out`` are counted again when needed.
    """

    structure: Structure
    which: Ints
    terms: Singles
    scores: Floats
    left_out: LeftOutForests | None
    n_threads: int

    @classmethod
    def of(
        cls,
        structure: Structure,
        asked: Ints,
        terms: Singles,
        scores: Floats,
        left_out: LeftOutForests | None,
        n_threads: int,
    ) -> EnsembleImportance:
        """Keep so many of the asked rows that rows times columns are about :data:`WALKS`."""
        step = max(-(-len(asked) * len(structure.codes) // WALKS), 1)
        some = None
        if left_out is not None:
            some = replace(left_out.every(step), totals=np.zeros((0, 0, scores.shape[1])))
        return cls(structure, asked[::step], terms[::step].copy(), scores[::step].copy(), some, n_threads)

    def of_columns(self, rows: TrainingRows) -> list[float]:
        """Compute the rise of the left-out log loss if a column is unknown, for each column."""
        structure, left_out, scores = self.structure, self.left_out, self.scores
        at, exponents, trees = structure.terms, structure.exponents, structure.trees
        some, own = self.terms.astype(np.float64), rows.labels[self.which]
        weights = None if rows.weights is None else rows.weights[self.which]
        each, forests, known = np.arange(len(own)), at.of_forests, np.zeros_like(scores)
        cells = {name: cells[self.which] for name, cells in rows.cells.items()}
        if left_out is not None and trees is not None:
            codes = trees.codes(rows.cells, trees.tables(rows.codes), self.n_threads)
            left_out = replace(left_out, totals=left_out_totals(trees, codes, rows, self.n_threads))
            known = self._linear_and_boosted(rows, cells, left_out.codes)
        with_it, rises = capped(scores, rows.n)[each, own], []
        places = {name: i for i, name in enumerate(rows.codes)}
        for names in structure.by_source().values():
            own_terms = [places[name] for name in names]
            lost = some[:, :, own_terms] @ exponents[own_terms] if at.columns else np.zeros_like(scores)
            if left_out is not None:
                lacking = left_out.every(1, names)
                if at.forests:
                    changed = some[:, :, forests].copy()
                    put_means(changed, slice(0, at.forests), lacking.means(self.n_threads), structure.temperatures[2:])
                    lost = lost + (some[:, :, forests] - changed) @ exponents[forests]
                gone = {name: np.full(len(own), np.nan) for name in names if rows.codes[name].values is None}
                lost = lost + known - self._linear_and_boosted(rows, {**cells, **gone}, lacking.codes)
            worse = with_it - capped(scores - lost, rows.n)[each, own]
            rises.append(float(np.average(worse, weights=weights)))
        return rises

    def _linear_and_boosted(self, rows: TrainingRows, cells: dict[str, Any], codes: Bytes) -> Floats:
        """Sum the scores of the linear part and of boosting (n_rows, n_classes)."""
        structure, scores = self.structure, np.zeros((len(codes), len(rows.classes)))
        if structure.line is not None and structure.trees is not None:
            log_prior = logspace.log(prior_of(rows))
            shares = structure.line.log_shares(cells, codes, structure.trees, rows.classes, log_prior, self.n_threads)
            scores += structure.exponents[-2] * shares
        if structure.boosting is not None:
            scores += structure.boosting.scores(codes, rows.classes, self.n_threads)
        return scores


class FitTables:
    """Left-out scores and column importance of a fit, each computed when first asked for.

    They need the rows of the fit, which are kept until then; a model that is updated, saved or pickled computes them
    first.

    >>> figures = FitTables(lambda: Table({"model": ["majority"]}), LossImportance.of({"sky": 0.5}))
    >>> figures.left_out["model"], figures.left_out is figures.left_out
    (['majority'], True)
    """

    def __init__(
        self, left_out: Table | Callable[[], Table], importance: LossImportance | Callable[[], LossImportance]
    ) -> None:
        self._left_out, self._importance = left_out, importance

    @property
    def left_out(self) -> Table:
        """Accuracy and log loss of rows left out."""
        if not isinstance(self._left_out, Table):
            self._left_out = self._left_out()
        return self._left_out

    @property
    def importance(self) -> LossImportance:
        """The importance of each column."""
        if not isinstance(self._importance, Table):
            self._importance = self._importance()
        return self._importance

    def compute(self) -> Self:
        """Compute both tables, so that the rows of the fit are no longer needed."""
        _ = self.left_out, self.importance
        return self

    def __getstate__(self) -> dict[str, Any]:
        return vars(self.compute())
