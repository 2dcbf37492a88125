"""best: weighted evidence as the starting point of a logistic regression on tf-idf words, pooled on folds.

The formulas are those of :mod:`bayeskit.estimate.words.weighted_evidence` and of
:mod:`bayeskit.estimate.words.linear_half`. Both halves are sums over the words of a document, and so is their pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.schema import Text
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokenizer import PATTERNS, Tokenizer
from bayeskit.data.text.tokens import TokenRows, cut_of
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.words import linear_half, weighted_evidence
from bayeskit.estimate.words.weighted_evidence import EvidenceWeights
from bayeskit.export.scoring_form import WordShares, WordsTerm
from bayeskit.models.text.candidate_words import Reading, Trying
from bayeskit.models.text.parameters import Parameters
from bayeskit.models.text.reading import LabelledDocuments, has_space
from bayeskit.models.text.recipe import LEAVING_OUT, Recipe, Settings, Training
from bayeskit.models.text.state import check_numbers, finite
from bayeskit.models.text.two_halves import GAIN, SAMPLE, Halves, evidence_candidates, fit_halves
from bayeskit.models.text.weighted import EvidenceParameters, WeightedEvidence
from bayeskit.models.text.word_choice import has_many_runs, limits_of
from bayeskit.storage.model_file import State
from bayeskit.tables.table import Table
from bayeskit.tally.tally import Tally
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Floats, Singles

SEED = 0
AUTOMATIC, CHARACTERS = "auto", (3, 5)  # runs of characters that are tried where their number is left open
BETTER = 0.99  # richer features are read where they bring the loss on folds below this part of it
RICHEST = 1 << 26  # words times classes up to which richer features are tried: six tables of half a GB
WEIGHTED = WeightedEvidence("weighted")


@dataclass(frozen=True)
class LinearWeights:
    """What the linear half holds: words with idf and weights (words, classes), constants and ln P(class) of the fit."""

    words: Words
    idf: Floats
    table: Singles
    constant: Floats
    log_prior: Floats
    classes: tuple[Value, ...]
    shares: tuple[float, float]
    """How much of the score is the evidence, and how much the linear half."""
    log_loss: float
    """Of both, on folds of the training documents."""
    tried: tuple[tuple[str, float], ...] = ()
    """What else was read, and the log loss of both halves on the same folds."""
    n_drawn: int | None = None
    """How many documents it has learnt from, drawn at random, where all would take too much memory; None: all."""

    def packed(self) -> npt.NDArray[np.uint32]:
        """The table for a file: the bits of its floats; of two classes the second alone, which is minus the first."""
        kept = self.table[:, 1:] if len(self.classes) == 2 else self.table
        return np.ascontiguousarray(kept).view(np.uint32)

    @staticmethod
    def unpacked(bits: Array, n_classes: int) -> Singles:
        """The table (words, classes) that :meth:`packed` wrote."""
        if bits.dtype != np.uint32 or bits.ndim != 2 or bits.shape[1] != (1 if n_classes == 2 else n_classes):
            raise BadFile("the weights of the linear half do not fit their classes")
        table = bits.view(np.float32)
        check_numbers(table)
        return np.concatenate([-table, table], axis=1) if n_classes == 2 else table


@dataclass(frozen=True)
class PooledParameters(Parameters):
    """score_c = ln P(c) + held_c + v₁ u^−g Σ [(1 + ln tf) A + ln(tf) T] + v₂ Σ x W.

    ``pooled`` (words, 2 + 3 classes) has a row for each word, as the kernel reads it: whether it is a run, its idf,
    v₁ A, v₂ idf W (of a run times the length of runs) and v₁ T.
    """

    log_prior: Floats
    vocabulary: Words
    held: Floats
    g: float
    pooled: Floats

    @classmethod
    def of(
        cls, counted: EvidenceParameters, share: float, held: Floats, idf: Floats, weights: Floats
    ) -> PooledParameters:
        """Both halves; ``share`` is v₁, ``held`` is (classes,), and ``weights`` are v₂ W (words, classes)."""
        k = len(counted.log_prior)
        runs = has_space(counted.vocabulary)
        pooled = np.empty((len(idf), 2 + 3 * k))
        pooled[:, 0], pooled[:, 1] = runs, idf
        np.multiply(share, counted.tables[0], out=pooled[:, 2 : 2 + k])
        np.multiply((np.where(runs, linear_half.RUNS, 1.0) * idf)[:, None], weights, out=pooled[:, 2 + k : -k])
        np.multiply(share, counted.tables[1], out=pooled[:, -k:])
        return cls(counted.log_prior, counted.vocabulary, held, counted.g, pooled)

    @property
    def constant(self) -> Floats:
        """What words are added to."""
        return np.asarray(self.log_prior + self.held)

    @property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """v₁ A, v₂ idf W and v₁ T (words, classes)."""
        k = len(self.log_prior)
        return self.pooled[:, 2 : 2 + k], self.pooled[:, 2 + k : -k], self.pooled[:, -k:]

    @property
    def table(self) -> Floats:
        """What a word says by being the only one of its kind in a document."""
        said, fitted, _ = self.tables
        idf = self.pooled[:, 1:2]
        return said + np.divide(fitted, idf, out=np.zeros(fitted.shape), where=idf > 0)

    def without_words(self, rows: TokenRows) -> Floats:
        """The scores before any word (documents, classes): the prior, and where there are words the constants."""
        return np.where((np.diff(rows.indptr) == 0)[:, None], self.log_prior, self.constant)

    def scores(self, rows: TokenRows, n_threads: int) -> Floats:
        """(documents, classes)"""
        return kernels.score_words(
            rows.indptr, rows.ids, rows.counts, self.pooled, self.g, self.log_prior, self.constant, n_threads
        )

    def text_scores(self, texts: Documents, tokenizer: Tokenizer, n_threads: int) -> Floats | None:
        """The same in one pass over the text."""
        if (cut := cut_of(tokenizer, texts)) is None:
            return None
        return kernels.score_documents(
            texts.data, texts.offsets, cut, self.vocabulary.index,
            self.pooled, self.g, self.log_prior, self.constant, n_threads,
        )  # fmt: skip

    def words_term(self, name: str) -> tuple[Floats, WordsTerm]:
        """The evidence of words and of their repetition, and what the linear half adds by their share of the length."""
        said, fitted, repeated = self.tables
        shares = WordShares(self.pooled[:, 1], self.pooled[:, 0] != 0, fitted)
        words = tuple(self.vocabulary.tolist())
        return self.log_prior, WordsTerm(name, words, said, False, repeated, float(self.g), self.held, shares)

    def parts(self, rows: TokenRows) -> Floats:
        """What each cell adds to the score (cells, classes)."""
        return np.asarray(sum(self.halves(rows)))

    def halves(self, rows: TokenRows) -> tuple[Floats, ...]:
        """What the counts say by each cell, and what the linear half adds (cells, classes)."""
        said, fitted, repeated = self.tables
        words = EvidenceParameters(self.log_prior, self.vocabulary, self.held, (said, repeated), self.g)
        runs, idf = self.pooled[rows.ids, 0] != 0, self.pooled[rows.ids, 1]
        shares = linear_half.shares(rows.counts, idf, runs, rows.indptr)
        return words.parts(rows), np.asarray(shares[:, None] * fitted[rows.ids])


@dataclass(frozen=True, eq=False)
class Best(Recipe):
    """``evidence`` and ``linear`` are the halves; nothing is there before a fit, and no linear half of one class."""

    evidence: WeightedEvidence = WEIGHTED
    linear: LinearWeights | None = None
    name = "best"
    pattern = "words_and_punctuation"
    plain_counts = False
    weights_by_em = True

    @property
    def weights(self) -> EvidenceWeights | None:
        """Those of the evidence."""
        return self.evidence.weights

    @property
    def candidates(self) -> Table | None:
        """What was tried for the evidence."""
        return self.evidence.candidates

    @property
    def absent(self) -> Mapping[str, str]:
        """Leave-one-out: the linear half has seen every document."""
        why = "its linear half has learnt from every document, and has no closed form without one: cross-validate"
        return {**super().absent, **dict.fromkeys(LEAVING_OUT, why)}

    def check(self, settings: Settings) -> None:
        """The smoothing is one number, or 1."""
        self.evidence.check(settings)

    # -- learning ------------------------------------------------------------------------------------

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """Both halves; runs of two words are read where the evidence gains enough by them."""
        settings, read = training.settings, training.read()
        n_threads, rng = thread_count(settings.n_threads), np.random.default_rng(SEED)
        tokenizer = settings.tokenizer(None, self.pattern)
        a = 1.0 if settings.smoothing is None else float(settings.smoothing)
        on_folds = settings.characters == AUTOMATIC and len(read.classes) > 1
        chosen: tuple[Reading, EvidenceWeights, Halves | None] | None = None
        tried: list[tuple[str, EvidenceWeights]] = []
        by_features: list[tuple[str, float]] = []
        trying = Trying(
            read, self._tries(settings, tokenizer, read, n_threads), limits_of(settings), self._masses,
            settings.memory_limit, n_threads, SAMPLE,
        )  # fmt: skip
        for reading in trying.readings():
            n_held, tokenizer = len(reading.documents.labels), reading.tokenizer
            if chosen is None:
                sample, order = np.sort(rng.permutation(n_held)[:SAMPLE]), rng.permutation(n_held)
            elif len(reading.rows.words) * len(read.classes) > RICHEST:
                break
            candidates = evidence_candidates(reading, a, n_threads, sample)
            weights, _ = weighted_evidence.best([(candidate, None) for candidate in candidates])
            tried += [(f"{tokenizer.ngrams}" + " and characters" * bool(tokenizer.characters), c) for c in candidates]
            halves = fit_halves(reading, weights, order, n_threads) if on_folds else None
            if halves is not None:
                by_features.append((reading.features, halves.log_loss))
            if chosen is None or _is_better(weights, halves, *chosen[1:]):
                chosen = (reading, weights, halves)
        assert chosen is not None  # there is a try at least
        reading, weights, halves = chosen
        d, tokenizer = reading.documents, reading.tokenizer
        tally = reading.tally(replace(training.schema, columns={COLUMN: Text(tokenizer)}), read)
        listed = WeightedEvidence.listed(tried)
        evidence = replace(self._masses(tokenizer), weights=weights, candidates=listed)
        if len(read.classes) < 2:
            return replace(self, evidence=evidence), tally
        halves = halves or fit_halves(reading, weights, order, n_threads)
        linear = LinearWeights(
            reading.rows.words, halves.idf, halves.table, halves.constant, d.log_prior, d.classes, halves.shares,
            halves.log_loss, tuple(by_features), len(d.labels) if reading.is_drawn else None,
        )  # fmt: skip
        return replace(self, evidence=evidence, linear=linear), tally

    def _masses(self, tokenizer: Tokenizer) -> WeightedEvidence:
        return replace(self.evidence, runs_are_silent=tokenizer.characters is not None)

    def _tries(
        self, settings: Settings, tokenizer: Tokenizer, read: LabelledDocuments, n_threads: int
    ) -> list[Tokenizer]:
        """What is read: words, pairs of them, and on wish runs of characters, where their memory is bounded."""
        tries = [tokenizer] if settings.ngrams else [replace(tokenizer, ngrams=n) for n in ((1, 1), (1, 2))]
        if settings.characters == AUTOMATIC and tokenizer.pattern in PATTERNS[:3]:
            richest = replace(tries[-1], characters=CHARACTERS)
            if not has_many_runs(read, richest, n_threads):
                tries.append(richest)
        return tries

    def count(self, training: Training) -> Tally:
        """The tally of more documents: what moves is the evidence."""
        return self.evidence.count(training)

    def values(self, rows: TokenRows) -> Floats:
        """The mass of each cell."""
        return self.evidence.values(rows)

    # -- believing -----------------------------------------------------------------------------------

    def estimate(self, tally: Tally, log_prior: Floats, settings: Settings) -> Parameters:
        """What the masses say by now, and the linear half as it was fitted; a word or class that is new has none."""
        if self.weights is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit, or another recipe on counts')
        counted = self.evidence.estimate(tally, log_prior, settings)
        words, k = counted.vocabulary, len(tally.classes)
        assert isinstance(counted, EvidenceParameters)
        linear = self.linear
        if linear is None:
            return counted
        first, second = linear.shares
        at = np.array([linear.classes.index(c) if c in linear.classes else len(linear.classes) for c in tally.classes])
        held = (first - 1.0) * np.append(linear.log_prior, 0.0)[at]
        held = held + first * counted.bias + second * np.append(linear.constant, 0.0)[at]
        where = np.asarray(linear.words.index.find(words.data, words.offsets))
        known = where >= 0
        idf, weights = np.zeros(len(words)), np.zeros((len(words), k))
        idf[known] = linear.idf[where[known]]
        old = at < len(linear.classes)
        weights[np.ix_(known, old)] = second * linear.table[where[known]][:, at[old]]
        return PooledParameters.of(counted, first, held, idf, weights)

    # -- storage -------------------------------------------------------------------------------------

    def state(self) -> State | None:
        """The weights of both halves."""
        of_evidence = self.evidence.state()
        assert of_evidence is not None
        header: dict[str, Any] = {"evidence": of_evidence.header}
        arrays = list(of_evidence.arrays)
        if self.linear is not None:
            w = self.linear
            header |= {"shares": list(w.shares), "log_loss": w.log_loss, "linear_classes": list(w.classes)}
            header |= {"features": [list(pair) for pair in w.tried]} if w.tried else {}
            header |= {} if w.n_drawn is None else {"drawn": w.n_drawn}
            arrays += [w.words.data, w.words.offsets, w.idf, w.packed(), w.constant, w.log_prior]
        return State(header, arrays)

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Weights of both halves that fit together."""
        if state is None or len(state.arrays) not in (3, 9):
            raise BadFile(f"a model of recipe {self.name!r} holds weights beside counts")
        role = tally.schema.columns[COLUMN]
        silent = isinstance(role, Text) and role.tokenizer.characters is not None
        evidence = self.evidence.from_state(State(state.header["evidence"], state.arrays[:3]), tally)
        evidence = replace(evidence, runs_are_silent=silent)
        if len(state.arrays) == 3:
            return replace(self, evidence=evidence)
        data, offsets, idf, bits, constant, log_prior = state.arrays[3:]
        words, classes = Words.checked(data, offsets), tuple(state.header["linear_classes"])
        first, second = (finite(share) for share in state.header["shares"])
        k = len(classes)
        table = LinearWeights.unpacked(bits, k)
        fits = (
            idf.shape == (len(words),) and table.shape == (len(words), k) and constant.shape == log_prior.shape == (k,)
        )
        if not fits or k < 2 or len(set(classes)) < k or (idf < 0).any():
            raise BadFile("the weights of the linear half do not fit together")
        for array in (idf, constant, log_prior):
            check_numbers(array)
        loss = finite(state.header["log_loss"])
        tried = tuple((_features(name), finite(lost)) for name, lost in state.header.get("features", ()))
        n_drawn = state.header.get("drawn")
        if n_drawn is not None and (type(n_drawn) is not int or n_drawn < 1):
            raise BadFile(f"{n_drawn!r} is no number of documents")
        linear = LinearWeights(words, idf, table, constant, log_prior, classes, (first, second), loss, tried, n_drawn)
        return replace(self, evidence=evidence, linear=linear)


def _is_better(
    weights: EvidenceWeights, halves: Halves | None, before: EvidenceWeights, halves_before: Halves | None
) -> bool:
    """Whether richer features bring enough: on folds of both halves, or else by leave-one-out of the evidence."""
    if halves is None or halves_before is None:
        return weights.log_loss < GAIN * before.log_loss
    return halves.log_loss < BETTER * halves_before.log_loss


def _features(name: Any) -> str:
    if not isinstance(name, str):
        raise BadFile(f"{name!r} names no features")
    return name


BEST: Best = Best()
