"""What models share: settings and scikit-learn's face, rows to probabilities, learning by counting, files.

``Classifier`` has what follows from P(class | x) alone; ``TallyClassifier`` what a model can promise that is a function
of its counts. A model between the two takes ``Learner`` (rows come and go) or ``KnowsJoint`` (it knows P(x, class)).
"""

from bayeskit.models.base.available import available_if
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.estimator import Estimator, clone
from bayeskit.models.base.tally_classifier import KnowsJoint, Learner, TallyClassifier

__all__ = ["Classifier", "Estimator", "KnowsJoint", "Learner", "TallyClassifier", "available_if", "clone"]
