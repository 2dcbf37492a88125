"""scikit-learn's own checks on the estimators that decide."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayeskit as bk

ESTIMATORS = [
    bk.LogisticRegression(),
    bk.LinearRegression(),
    bk.DiscriminativeWeights(),
    bk.CostSensitive(),
    bk.Calibrated(),
    bk.Encoded(),
    bk.Calibrated(method="beta"),
    bk.BayesOptimalClassifier(),
    bk.GibbsClassifier(),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learns_estimator_checks_pass(estimator, check):
    check(estimator)
