"""Weighted evidence: words weighed by about twenty numbers, fitted on scores that each document gets without itself.

The formulas are those of :mod:`bayeskit.estimate.words.weighted_evidence`. "weighted" tries smoothings and length
corrections on the n-grams given and takes the candidate with the least log loss, "auto" also unigrams against bigrams;
"fast" fits one candidate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.schema import Text
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.words import weighted_evidence
from bayeskit.estimate.words.weighted_evidence import BANDS, EvidenceWeights
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.models.text.candidate_words import Trying
from bayeskit.models.text.parameters import Parameters
from bayeskit.models.text.reading import LabelledDocuments, count_more, is_inside
from bayeskit.models.text.recipe import Leaving, Recipe, Settings, Training
from bayeskit.models.text.state import check_numbers, finite
from bayeskit.models.text.word_choice import limits_of
from bayeskit.remedy import Setting
from bayeskit.storage.model_file import State
from bayeskit.tables.table import Table
from bayeskit.tally.tally import Tally
from bayeskit.threads import thread_count
from bayeskit.tolerance import GONE
from bayeskit.typing import Bools, Floats

Ngrams = tuple[int, int]
CANDIDATES = ("ngrams", "a", "g", "log loss")


@dataclass(frozen=True)
class EvidenceParameters(Parameters):
    """score_c = ln P(c) + b_c + u^−g Σ [(1 + ln tf) A + ln(tf) T]."""

    log_prior: Floats
    vocabulary: Words
    bias: Floats
    tables: tuple[Floats, Floats]
    g: float

    @property
    def constant(self) -> Floats:
        """What words are added to."""
        return self.log_prior + self.bias

    @property
    def table(self) -> Floats:
        """What a word says by being there, before the document's length is taken into account."""
        return self.tables[0]

    def without_words(self, rows: TokenRows) -> Floats:
        """The scores before any word (documents, classes): the prior, and where there are words the fitted bias."""
        return np.where((np.diff(rows.indptr) == 0)[:, None], self.log_prior, self.constant)

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        scores = weighted_evidence.scores(
            rows.indptr, rows.ids, rows.counts, self.tables, self.g, self.constant, n_threads
        )
        scores[np.diff(rows.indptr) == 0] = self.log_prior
        return scores

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """Evidence of words and of their repetition; the bias is for documents that have known words."""
        first, repeated = self.tables
        words = tuple(self.vocabulary.tolist())
        return self.log_prior, WordsTerm(name, words, first, False, repeated, float(self.g), self.bias)

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        log_count = logspace.log(rows.counts.astype(np.float64))[:, None]
        scale = np.repeat(weighted_evidence.distinct_scale(rows.indptr, self.g), np.diff(rows.indptr))[:, None]
        return scale * ((1 + log_count) * self.tables[0][rows.ids] + log_count * self.tables[1][rows.ids])


@dataclass(frozen=True)
class Candidate:
    """Weights fitted on documents that were read in some n-grams, and the tally of these."""

    ngrams: Ngrams
    weights: EvidenceWeights
    tally: Tally


@dataclass(frozen=True, eq=False)
class WeightedEvidence(Recipe):
    """``tries`` are the n-grams, a and g the smoothings and length corrections among which the best is taken.

    ``runs_are_silent``: runs of characters are counted, by masses of their own, and are no evidence.
    """

    name: str
    tries: tuple[Ngrams, ...] = ((1, 1),)
    a_values: tuple[float, ...] = (1.0, 0.3)
    g_values: tuple[float, ...] = (1.0, 0.5)
    weights: EvidenceWeights | None = None
    candidates: Table | None = None
    runs_are_silent: bool = False
    plain_counts = False
    weights_by_em = True

    @property
    def held(self) -> EvidenceWeights:
        """The fitted weights; counts alone do not tell them."""
        if self.weights is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit, or another recipe on counts')
        return self.weights

    def check(self, settings: Settings) -> None:
        """The smoothing is one number, or chosen."""
        smoothing = settings.smoothing
        if smoothing is not None and (not is_number(smoothing) or not 0 < smoothing < inf):
            raise BayesError(
                Setting.given("smoothing", smoothing), ": weighted evidence takes one number over 0, or None"
            )

    # -- learning ------------------------------------------------------------------------------------

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """The best candidate's weights and tally; the recipe lists all that were tried."""
        candidates = list(self._candidates(training, training.read()))
        weights, best = weighted_evidence.best([(candidate.weights, candidate) for candidate in candidates])
        listed = self.listed([(str(candidate.ngrams), candidate.weights) for candidate in candidates])
        return replace(self, weights=weights, candidates=listed), best.tally

    @staticmethod
    def listed(tried: list[tuple[str, EvidenceWeights]]) -> Table:
        """N-grams and weights that were tried, with their log loss."""
        return Table({
            "ngrams": [ngrams for ngrams, _ in tried],
            "a": [weights.a for _, weights in tried],
            "g": [weights.g for _, weights in tried],
            "log loss": [weights.log_loss for _, weights in tried],
        })  # fmt: skip

    def _candidates(self, training: Training, read: LabelledDocuments) -> Iterator[Candidate]:
        settings, n_threads = training.settings, thread_count(training.settings.n_threads)
        a_values = self.a_values if settings.smoothing is None else (float(settings.smoothing),)
        tries = [settings.tokenizer(n) for n in (self.tries if settings.ngrams is None else (settings.ngrams,))]
        n = len(read.labels)
        trying = Trying(read, tries, limits_of(settings), lambda _: self, settings.memory_limit, n_threads, n)
        for reading in trying.readings():
            tally = reading.tally(replace(training.schema, columns={COLUMN: Text(reading.tokenizer)}), read)
            for weights in weighted_evidence.fit_weights(reading.documents, a_values, self.g_values, n_threads):
                yield Candidate(reading.tokenizer.ngrams, weights, tally)

    def count(self, training: Training) -> Tally:
        """The tally of more documents, in the words known where the vocabulary was cut."""
        known = training.known
        return count_more(training, known.words if known is not None and known.pruned else None, self.values)

    def values(self, rows: TokenRows) -> Floats:
        """The mass of each cell."""
        silent = self.silent(rows.words)
        if silent is None:
            return weighted_evidence.masses(rows.counts, rows.indptr)
        runs, none = silent[rows.ids], np.zeros_like(rows.counts)
        both = (weighted_evidence.masses(np.where(kind, rows.counts, none), rows.indptr) for kind in (runs, ~runs))
        return np.asarray(sum(both))

    def silent(self, words: Words) -> Bools | None:
        """Which words are no evidence, None where all are."""
        return is_inside(words) if self.runs_are_silent else None

    # -- believing -----------------------------------------------------------------------------------

    def estimate(self, tally: Tally, log_prior: Floats, settings: Settings) -> Parameters:
        """What the weights make of the masses."""
        counted, weights = tally.words[COLUMN], self.held
        mass, silent = counted.table(), self.silent(counted.words)
        if silent is not None:
            mass[silent] = 0.0
        tables = weighted_evidence.evidence_tables(mass, counted.totals("documents"), weights)
        bias = np.array([weights.bias.get(label, 0.0) for label in tally.classes])
        return EvidenceParameters(log_prior, counted.words, bias, tables, weights.g)

    def left_out(self, tally: Tally, params: Any, leaving: Leaving) -> Floats:
        """The masses without each document, the weights held."""
        weights, counted, rows, labels = self.held, tally.words[COLUMN], leaving.rows, leaving.labels
        documents, both = counted.totals("documents"), len(weights.repeated) > 1
        unit_of_cell = np.repeat(leaving.unit, np.diff(rows.indptr))
        features = kernels.left_out_evidence(
            rows.indptr, rows.ids.astype(np.uint32), rows.counts.astype(np.uint32),
            self.values(rows) * unit_of_cell, labels.astype(np.uint32),
            counted.table().astype(np.float64), weighted_evidence.bands_of(documents), weights.a, both, 1,
        )  # fmt: skip
        theta = weights.effective.ravel()
        left = documents[rows.ids] - unit_of_cell > GONE * documents[rows.ids]
        known = np.bincount(np.repeat(np.arange(len(labels)), np.diff(rows.indptr)), left, minlength=len(labels))
        scale = np.maximum(known, 1.0) ** -weights.g
        scores = np.einsum("f,nfk->nk", theta, features) * scale[:, None] + params.bias
        scores[known == 0] = 0.0  # nothing is known of such a document but the prior
        return np.asarray(scores)

    # -- storage -------------------------------------------------------------------------------------

    def state(self) -> State | None:
        """The weights, and what was tried."""
        w, listed = self.held, self.candidates
        tried = [[] if listed is None else [_number(value) for value in listed[name]] for name in CANDIDATES]
        header = {"a": w.a, "g": w.g, "first": w.first, "log_loss": _number(w.log_loss)}
        bias = np.array(list(w.bias.values()), dtype=np.float64)
        return State({**header, "classes": list(w.bias), "tried": tried}, [w.bands, w.repeated, bias])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Weights that fit together."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds weights beside counts")
        bands, repeated, bias = state.arrays
        labels, tried = list(state.header["classes"]), state.header["tried"]
        a, g, first = (finite(state.header[name]) for name in ("a", "g", "first"))
        kinds = len(repeated)
        shapes = bands.shape == (kinds, BANDS) and repeated.shape == (kinds,) and bias.shape == (len(labels),)
        if not shapes or kinds not in (1, 2) or len(set(labels)) < len(labels) or a <= 0 or not 0 <= g <= 10:
            raise BadFile("the weights of evidence do not fit together")
        for array in (bands, repeated, bias):
            check_numbers(array)
        listed = dict(zip(CANDIDATES, (list(column) for column in tried), strict=True))
        if len({len(column) for column in listed.values()}) != 1:
            raise BadFile("the list of candidates has columns of different lengths")
        listed = {name: [_cell(value) for value in column] for name, column in listed.items()}
        by_class = dict(zip(labels, bias.tolist(), strict=True))
        weights = EvidenceWeights(a, g, first, bands, repeated, by_class, _cell(state.header["log_loss"]))
        return replace(self, weights=weights, candidates=Table(listed))


def _number(value: Any) -> Any:
    """A cell of the list of candidates, for JSON: None for what is no number."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _cell(value: Any) -> Any:
    """A cell of the list of candidates: a text or a number, NaN where there was none."""
    if value is None:
        return float("nan")
    return value if isinstance(value, str) else finite(value)


FAST: WeightedEvidence = WeightedEvidence("fast", a_values=(1.0,), g_values=(1.0,))
WEIGHTED: WeightedEvidence = WeightedEvidence("weighted")
