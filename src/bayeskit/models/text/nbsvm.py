"""nbsvm: a linear support vector machine on words weighed by their naive Bayes log-count ratio.

S. Wang and C. D. Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", 2012.
Of present words f and classes y = ±1: p = α + Σ_{y=1} f, q = α + Σ_{y=−1} f, r = ln((p/∥p∥₁) / (q/∥q∥₁)). The
machine is trained on r ∘ f, and its weights w are drawn towards their mean magnitude: w' = (1 − β) w̄ + β w. That is
a mean of two classifiers, naive Bayes w̄ (r·f + ln(N₊/N₋)) and the machine w·(r ∘ f) + b, so the constant is the same
mean of theirs. More classes: one machine each, against the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.text.tokens import TokenRows
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.words.weights import WordWeights
from bayeskit.model_file import State
from bayeskit.models.text.parameters import PresenceParameters
from bayeskit.models.text.reading import LabelledDocuments, mass_tally
from bayeskit.models.text.recipe import PROBABILITIES, TALLYING, Recipe, Training
from bayeskit.models.text.state import check_numbers
from bayeskit.models.text.word_choice import rows_within_limits
from bayeskit.remedy import Remedy, Setting
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NaiveBayesSVM(Recipe):
    """Fitted on all documents at once, and not moved after."""

    linear: WordWeights | None = None
    name = "nbsvm"
    prior = "uniform"  # the constant of the machine has it
    probabilities = False
    plain_counts = False
    parameters = PresenceParameters
    infinite = "no other class"

    @property
    def absent(self) -> Mapping[str, str]:
        """What needs counts or probabilities."""
        moving = dict.fromkeys(TALLYING, "a linear machine is no function of counts: fit it anew on all documents")
        margins = dict.fromkeys(PROBABILITIES, "its scores are margins and no probabilities: use decision_function")
        return {**super().absent, **moving, **margins}

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """The weights, and which words the documents of each class have."""
        read, settings = training.read(), training.settings
        rows, pruned = rows_within_limits(read, settings)
        if not len(rows.words):
            raise BayesError(
                Setting("recipe", self.name),
                " weighs words, and no document has one: see ",
                Remedy("pattern"),
                Remedy("stop_words", clause=", {} and min_df=", without=""),
            )
        pseudo = self.pseudo_counts(settings, rows.words)
        fitted = replace(self, linear=WordWeights(*fit_linear(rows, read, pseudo, settings.C, settings.beta)))
        return fitted, mass_tally(training.schema, rows, self.values(rows), read, pruned)[0]

    def values(self, rows: TokenRows) -> Floats:
        """1 for a word that is there."""
        return np.ones(len(rows.ids))

    def weigh(self, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> WordWeights:
        """The weights of the machine, which must be fitted."""
        if self.linear is None:
            raise BayesError(f'recipe="{self.name}" fits weights on documents: call fit')
        return self.linear

    def state(self) -> State | None:
        """The weights."""
        return None if self.linear is None else State({}, [self.linear.table, self.linear.constant])

    def from_state(self, state: State | None, tally: Tally) -> Self:
        """Weights of the words and classes that were counted."""
        if state is None:
            raise BadFile(f"a model of recipe {self.name!r} holds linear weights beside counts")
        table, constant = state.arrays
        k = len(tally.classes)
        if table.shape != (len(tally.words[COLUMN].words), k) or constant.shape != (k,):
            raise BadFile("the linear weights do not fit the words and classes")
        check_numbers(table)
        check_numbers(constant)
        return replace(self, linear=WordWeights(table, constant))


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
        machine = LinearSVC(C=C, random_state=0, max_iter=10_000).fit(scaled, own, read.weights)
        w = machine.coef_[0]
        mean = np.abs(w).mean()
        size = own.mean() if read.weights is None else np.average(own, weights=read.weights)
        table[:, c] = ratio * ((1 - beta) * mean + beta * w)
        constant[c] = (1 - beta) * mean * logspace.log(size / (1 - size)) + beta * machine.intercept_[0]
    return table, constant


def log_count_ratio(present: Any, own: npt.NDArray[np.bool_], pseudo: Floats) -> Floats:
    """r = ln((p/∥p∥₁) / (q/∥q∥₁)) of each word."""
    p = pseudo + np.asarray(present[own].sum(axis=0)).ravel()
    q = pseudo + np.asarray(present[~own].sum(axis=0)).ravel()
    return np.asarray(logspace.log_odds(logspace.log(p / p.sum()), logspace.log(q / q.sum())))
