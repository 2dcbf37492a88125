"""nbsvm: a linear support vector machine on words weighed by their naive Bayes log-count ratio.

S. Wang and C. D. Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", 2012.
Of present words f and classes y = ±1: p = α + Σ_{y=1} f, q = α + Σ_{y=−1} f, r = ln((p/∥p∥₁) / (q/∥q∥₁)). The
machine is trained on r ∘ f, and its weights w are drawn towards their mean magnitude: w' = (1 − β) w̄ + β w. That is
a mean of two classifiers, naive Bayes w̄ (r·f + ln(N₊/N₋)) and the machine w·(r ∘ f) + b, so the constant is the same
mean of theirs. More classes: one machine each, against the rest.

Margins m become probabilities softmax(s m + b): the scale s and a bias for each class are fitted on margins that the
training documents get from machines which have not seen them, on folds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.smoothing import is_number
from bayeskit.estimate.temperature import fit_scale_and_bias
from bayeskit.estimate.words.weights import WordWeights
from bayeskit.models.text.held_documents import rows_that_fit
from bayeskit.models.text.parameters import PresenceParameters
from bayeskit.models.text.reading import LabelledDocuments, document_frequency, mass_tally, with_words
from bayeskit.models.text.recipe import PROBABILITIES, TALLYING, Recipe, Settings, Training
from bayeskit.models.text.state import check_numbers, finite
from bayeskit.models.text.two_halves import FOLDS, HELD_OUT
from bayeskit.remedy import Remedy, Setting
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.threads import thread_count
from bayeskit.typing import Bools, Floats, Ints

SEED = 0


@dataclass(frozen=True)
class MarginMap:
    """From margins to log probabilities but for what all classes share: s m + b."""

    scale: float
    bias: Floats
    log_loss: float
    """On folds of the training documents."""

    def __call__(self, margins: WordWeights) -> WordWeights:
        return WordWeights(self.scale * margins.table, self.scale * margins.constant + self.bias)


@dataclass(frozen=True, eq=False)
class NaiveBayesSVM(Recipe):
    """Fitted on all documents at once, and not moved after. ``linear`` are margins, which older files have alone."""

    linear: WordWeights | None = None
    calibration: MarginMap | None = None
    name = "nbsvm"
    prior = "uniform"  # the constant of the machine has it
    plain_counts = False
    sum_over_words = True
    parameters = PresenceParameters
    infinite = "no other class"

    @property
    def absent(self) -> Mapping[str, str]:
        """What needs counts, and of an older file what needs probabilities."""
        moving = dict.fromkeys(TALLYING, "a linear machine is no function of counts: fit it anew on all documents")
        absent = {**super().absent, **moving}
        if self.linear is not None and self.calibration is None:
            why = (
                "its file is of a version whose scores were margins and no probabilities: use decision_function, or fit"
            )
            absent |= dict.fromkeys((*PROBABILITIES, "to_logistic"), why)
        return absent

    def check(self, settings: Settings) -> None:
        """The penalty and the share of the machine are numbers."""
        C, beta = settings.C, settings.beta
        if not is_number(C) or not 0 < C < inf:
            raise BayesError(f"C={C!r}: give a number over 0", culprit=C)
        if not is_number(beta) or not 0 <= beta <= 1:
            raise BayesError(f"beta={beta!r}: give a number from 0 to 1", culprit=beta)

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """The weights, what makes probabilities of them, and which words the documents of each class have."""
        read, settings = training.read(), training.settings
        rows, pruned = rows_that_fit(read, settings)
        if not len(rows.words):
            raise BayesError(
                Setting("recipe", self.name),
                " weighs words, and no document has one: see ",
                Remedy("pattern"),
                Remedy("stop_words", clause=", {} and min_df=", without=""),
            )
        pseudo = self.pseudo_counts(settings, rows.words)
        linear = WordWeights(*fit_linear(rows, read, pseudo, settings.C, settings.beta))
        held_out, margins = margins_on_folds(rows, read, pseudo, settings.C, settings.beta)
        importance = np.ones(len(held_out)) if read.weights is None else read.weights[held_out]
        found = fit_scale_and_bias(margins, read.labels[held_out], importance, thread_count(settings.n_threads))
        fitted = replace(self, linear=linear, calibration=MarginMap(*found))
        return fitted, mass_tally(training.schema, rows, self.values(rows), read, pruned)

    def values(self, rows: TokenRows) -> Floats:
        """1 for a word that is there."""
        return np.ones(len(rows.ids))

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """The weights of the machine, which must be fitted."""
        if self.linear is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit')
        return self.linear if self.calibration is None else self.calibration(self.linear)

    def state(self) -> State | None:
        """The weights, and what makes probabilities of them."""
        if self.linear is None:
            return None
        margins, made = [self.linear.table, self.linear.constant], self.calibration
        if made is None:
            return State({}, margins)
        return State({"scale": made.scale, "log_loss": made.log_loss}, [*margins, made.bias])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Weights of the words and classes that were counted."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds linear weights beside counts")
        (table, constant), biases = state.arrays[:2], state.arrays[2:]
        k = len(tally.classes)
        if table.shape != (len(tally.words[COLUMN].words), k) or constant.shape != (k,):
            raise BadFile("the linear weights do not fit the words and classes")
        check_numbers(table)
        check_numbers(constant)
        linear = WordWeights(table, constant)
        if not biases and "scale" not in state.header:
            return replace(self, linear=linear)
        (bias,), scale, loss = biases, finite(state.header["scale"]), finite(state.header["log_loss"])
        if bias.shape != (k,) or scale < 0:
            raise BadFile("what makes probabilities of margins does not fit the classes")
        check_numbers(bias)
        return replace(self, linear=linear, calibration=MarginMap(scale, bias, loss))


def margins_on_folds(
    rows: TokenRows, read: LabelledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Ints, Floats]:
    """(documents, their margins (documents, classes) by machines that have not seen them).

    A class is shared out evenly over three folds; the only document of a class is never held out. As many folds as
    hold out some thousand documents.
    """
    n = len(read.labels)
    fold = fold_of(read.labels)
    parts = [np.flatnonzero(fold == f) for f in range(min(FOLDS, -(-FOLDS * HELD_OUT // n)))]
    margins = []
    for held_out in parts:
        rest = np.setdiff1d(np.arange(n), held_out)
        weights = None if read.weights is None else read.weights[rest]
        others = replace(read, labels=read.labels[rest], weights=weights)
        known = document_frequency(rows.take(rest)) > 0
        if not known.any():  # the only words are held out: nothing is said of them
            margins.append(np.zeros((len(held_out), len(read.classes))))
            continue
        table, constant = fit_linear(with_words(rows.take(rest), known), others, pseudo[known], C, beta)
        present = with_words(rows.take(held_out), known).matrix(np.float64)
        present.data[:] = 1.0
        margins.append(present @ table + constant)
    return np.concatenate(parts), np.concatenate(margins)


def fold_of(labels: Ints) -> Ints:
    """The fold of each document, −1 for the only one of its class.

    >>> fold_of(np.array([0, 0, 0, 1, 1, 2])).tolist()
    [1, 2, 0, 0, 1, -1]
    """
    order = np.random.default_rng(SEED).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels)
    place = np.arange(len(labels)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fold = np.empty(len(labels), dtype=np.int64)
    fold[order] = np.where(np.repeat(sizes, sizes) > 1, place % FOLDS, -1)
    return fold


def fit_linear(
    rows: TokenRows, read: LabelledDocuments, pseudo: Floats, C: float, beta: float
) -> tuple[Floats, Floats]:
    """(table (words, classes), constant (classes,)) of the scores."""
    from sklearn.svm import LinearSVC

    k = len(read.classes)
    if k < 2:
        raise BayesError(f"nbsvm needs two classes at least, and there is {read.classes[0]!r} alone")
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


def log_count_ratio(present: Any, own: Bools, pseudo: Floats) -> Floats:
    """r = ln((p/∥p∥₁) / (q/∥q∥₁)) of each word."""
    p = pseudo + np.asarray(present[own].sum(axis=0)).ravel()
    q = pseudo + np.asarray(present[~own].sum(axis=0)).ravel()
    return logspace.log_odds(logspace.log(p / p.sum()), logspace.log(q / q.sum()))
