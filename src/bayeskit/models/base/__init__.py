"""Base classes of models: estimators and classifiers."""

from bayeskit.models.base.available import available_if
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.estimator import Estimator, clone

__all__ = ["Classifier", "Estimator", "available_if", "clone"]
