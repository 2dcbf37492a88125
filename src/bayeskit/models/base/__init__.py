"""Base classes of models: estimators, classifiers, and classifiers that are functions of their counts."""

from bayeskit.models.base.available import available_if
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.estimator import Estimator, clone
from bayeskit.models.base.tally_classifier import TallyClassifier

__all__ = ["Classifier", "Estimator", "TallyClassifier", "available_if", "clone"]
