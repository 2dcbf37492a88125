"""Recipe "nbsvm": a linear support vector machine on words weighted by their naive Bayes log-count ratio.

S. Wang and C. D. Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", 2012.
With presence indicators f and classes y = ±1: p = α + Σ_{y=1} f, q = α + Σ_{y=−1} f, r = ln((p/∥p∥₁) / (q/∥q∥₁)). The
machine is trained on r ∘ f, and its weights w are interpolated with their mean magnitude: w' = (1 − β) w̄ + β w. This is
the mean of two classifiers, naive Bayes w̄ (r·f + ln(N₊/N₋)) and the machine w·(r ∘ f) + b, so the constant is the same
mean of theirs. With more than two classes there is one machine per class, against the rest.

Margins m become probabilities softmax(s m + b): the scale s and a bias for each class are fitted on margins of training
documents by machines trained without them, on folds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.errors import BadFile, BayesError, format_setting
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.temperature import fit_scale_and_bias
from bayeskit.estimate.words.weights import WordWeights, log_count_ratio
from bayeskit.models.text.best import FOLDS, HELD_OUT
from bayeskit.models.text.bounded_fit import all_rows
from bayeskit.models.text.documents import LabeledDocuments, document_frequency, select_words, value_tally
from bayeskit.models.text.recipe import PresenceParameters, Recipe, TrainingSource, check_weight, check_weights
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.threads import thread_count
from bayeskit.typing import Floats, Ints

SEED = 0


@dataclass(frozen=True)
class MarginMap:
    """Map margins to log probabilities, up to a constant shared by all classes: s m + b."""

    scale: float
    bias: Floats
    log_loss: float
    """The log loss on folds of the training documents."""

    def __call__(self, margins: WordWeights) -> WordWeights:
        return WordWeights(self.scale * margins.table, self.scale * margins.constant + self.bias)


@dataclass(frozen=True, eq=False)
class NaiveBayesSVM(Recipe):
    """Naive Bayes SVM, fitted on all documents at once; ``linear`` are its weights before calibration."""

    linear: WordWeights | None = None
    calibration: MarginMap | None = None
    name = "nbsvm"
    # The constant of the machine already accounts for the class frequencies.
    default_prior = "uniform"
    counts_words = False
    is_linear = True
    can_update = False
    parameters = PresenceParameters
    infinite = "no other class"

    def check_settings(self, settings: Any) -> None:
        """Refuse a penalty or an interpolation weight out of range."""
        C, beta = settings.C, settings.beta
        if not is_number(C) or not 0 < C < inf:
            raise BayesError(f"C={C!r}: give a number over 0")
        if not is_number(beta) or not 0 <= beta <= 1:
            raise BayesError(f"beta={beta!r}: give a number from 0 to 1")

    def fit(self, training: TrainingSource) -> tuple[Recipe, Tally]:
        """Fit and calibrate the machines; the tally counts the documents of each class that have a word."""
        read, settings = training.documents, training.settings
        rows, pruned = all_rows(read, settings)
        if not len(rows.words):
            raise BayesError(
                f"{format_setting('recipe', self.name)} weighs words, and no document has one:",
                hint="see pattern=, stop_words= and min_df=",
            )
        pseudo = self.pseudo_counts(settings, rows.words)
        linear = WordWeights(*fit_machines(rows, read, pseudo, settings.C, settings.beta))
        held_out, scores = margins_on_folds(rows, read, pseudo, settings.C, settings.beta)
        importance = np.ones(len(held_out)) if read.weights is None else read.weights[held_out]
        found = fit_scale_and_bias(scores, read.labels[held_out], importance, thread_count(settings.n_threads))
        fitted = replace(self, linear=linear, calibration=MarginMap(*found))
        return fitted, value_tally(training.schema, rows, self.values(rows), read, pruned)

    def values(self, rows: TokenRows) -> Floats:
        """Return 1 for each cell (cells,)."""
        return np.ones(len(rows.ids))

    def word_weights(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """Return the calibrated weights of the machines."""
        if self.linear is None or self.calibration is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit')
        return self.calibration(self.linear)

    def to_state(self) -> State | None:
        """Return the weights and their calibration."""
        if self.linear is None or self.calibration is None:
            return None
        header = {"scale": self.calibration.scale, "log_loss": self.calibration.log_loss}
        return State(header, [self.linear.table, self.linear.constant, self.calibration.bias])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Restore weights of the words and classes that were counted."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds linear weights beside counts")
        table, constant, bias = state.arrays
        k = len(tally.classes)
        if table.shape != (len(tally.words[COLUMN].words), k) or constant.shape != (k,):
            raise BadFile("the linear weights do not fit the words and classes")
        scale, loss = check_weight(state.header["scale"]), check_weight(state.header["log_loss"])
        if bias.shape != (k,) or scale < 0:
            raise BadFile("the calibration of margins does not fit the classes")
        for array in (table, constant, bias):
            check_weights(array)
        return replace(self, linear=WordWeights(table, constant), calibration=MarginMap(scale, bias, loss))


def margins_on_folds(
    rows: TokenRows, read: LabeledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Ints, Floats]:
    """Return (documents, their margins (documents, classes) by machines trained without them).

    Each class is spread evenly over three folds; the only document of a class is never held out.
    """
    n = len(read.labels)
    fold = assign_folds(read.labels)
    parts = [np.flatnonzero(fold == f) for f in range(min(FOLDS, -(-FOLDS * HELD_OUT // n)))]
    margins = []
    for held_out in parts:
        rest = np.setdiff1d(np.arange(n), held_out)
        weights = None if read.weights is None else read.weights[rest]
        others = replace(read, labels=read.labels[rest], weights=weights)
        known = document_frequency(rows.take(rest)) > 0
        if not known.any():
            # Only held-out documents have words.
            margins.append(np.zeros((len(held_out), len(read.classes))))
            continue
        table, constant = fit_machines(select_words(rows.take(rest), known), others, pseudo[known], C, beta)
        present = select_words(rows.take(held_out), known).matrix(np.float64)
        present.data[:] = 1.0
        margins.append(present @ table + constant)
    return np.concatenate(parts), np.concatenate(margins)


def assign_folds(labels: Ints) -> Ints:
    """Assign a fold to each document (documents,), −1 to the only one of its class.

    >>> assign_folds(np.array([0, 0, 0, 1, 1, 2])).tolist()
    [1, 2, 0, 0, 1, -1]
    """
    order = np.random.default_rng(SEED).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.where(np.repeat(sizes, sizes) > 1, place % FOLDS, -1)
    return fold


def fit_machines(
    rows: TokenRows, read: LabeledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Floats, Floats]:
    """Train the machines and return (table (words, classes), constant (n_classes,)) of the margins."""
    from sklearn.svm import LinearSVC

    k = len(read.classes)
    if k < 2:
        raise BayesError(f"nbsvm needs two classes at least, and there is only {read.classes[0]!r}")
    present = rows.matrix(np.float64)
    present.data[:] = 1.0
    table, constant = np.zeros((len(rows.words), k)), np.zeros(k)
    for c in range(1, 2) if k == 2 else range(k):
        own = read.labels == c
        ratio = log_count_ratio(present, own, pseudo)
        scaled = present.copy()
        scaled.data = ratio[present.indices]
        machine = LinearSVC(C=float(C), random_state=0, max_iter=10_000).fit(scaled, own, read.weights)
        w = machine.coef_[0]
        mean = np.abs(w).mean()
        size = own.mean() if read.weights is None else np.average(own, weights=read.weights)
        table[:, c] = ratio * ((1 - beta) * mean + beta * w)
        constant[c] = (1 - beta) * mean * logspace.log(size / (1 - size)) + beta * machine.intercept_[0]
    return table, constant
