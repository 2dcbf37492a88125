"""auto: the recipe that predicts best, by the number of documents and of classes.

"best" from so many documents on, up to as many classes as it was measured with; else weighted evidence, with unigrams
or bigrams. The model goes on as the recipe that was chosen, and so does its file.
"""

from __future__ import annotations

from bayeskit.errors import BayesError
from bayeskit.models.text.best import BEST
from bayeskit.models.text.parameters import Parameters
from bayeskit.models.text.recipe import Recipe, Settings, Training
from bayeskit.models.text.weighted import WeightedEvidence
from bayeskit.tally.tally import Tally
from bayeskit.typing import Floats

LEAST_DOCUMENTS = 500
MOST_CLASSES = 300
EVIDENCE = WeightedEvidence("weighted", tries=((1, 1), (1, 2)))


class Automatic(Recipe):
    """Chooses when it sees the documents; what it has learnt then is the other recipe's."""

    name = "auto"
    plain_counts = False
    weights_by_em = True

    def check(self, settings: Settings) -> None:
        """What both take."""
        EVIDENCE.check(settings)

    def estimate(self, tally: Tally, log_prior: Floats, settings: Settings) -> Parameters:
        """Counts alone do not tell what to choose."""
        raise BayesError(f'recipe="{self.name}" looks at documents to choose: call fit, or another recipe on counts')

    def learn(self, training: Training) -> tuple[Recipe, Tally]:
        """By the chosen recipe."""
        return self.chosen(training).learn(training)

    def chosen(self, training: Training) -> Recipe:
        """The recipe for these documents."""
        read = training.read()
        n, k = len(read.labels), len(read.classes)
        large = n >= LEAST_DOCUMENTS and 2 <= k <= MOST_CLASSES
        return BEST if large else EVIDENCE
