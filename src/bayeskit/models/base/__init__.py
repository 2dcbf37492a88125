"""What models share: settings and scikit-learn's face, rows to probabilities, learning by counting, files.

``Classifier`` has what follows from P(class | x) alone; ``TallyClassifier`` what a model can promise that is a function
of its counts. A model between the two takes ``Learner`` (rows come and go) or ``KnowsJoint`` (it knows P(x, class)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayeskit.lazy import lazy_names

if TYPE_CHECKING:
    from bayeskit.models.base.available import available_where as available_where
    from bayeskit.models.base.classifier import Classifier as Classifier
    from bayeskit.models.base.estimator import Estimator as Estimator
    from bayeskit.models.base.estimator import clone as clone
    from bayeskit.models.base.joint_scores import KnowsJoint as KnowsJoint
    from bayeskit.models.base.learner import Learner as Learner
    from bayeskit.models.base.tally_classifier import TallyClassifier as TallyClassifier

_HOMES = {
    "Classifier": "classifier",
    "Estimator": "estimator",
    "KnowsJoint": "joint_scores",
    "Learner": "learner",
    "TallyClassifier": "tally_classifier",
    "available_where": "available",
    "clone": "estimator",
}

__all__ = [*_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)  # a transformer needs no classifier to be imported
