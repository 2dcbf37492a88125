"""Models by the names that commands and comparisons take: ours, and scikit-learn's on raw tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayeskit.errors import BayesError
from bayeskit.models.wrappers.encoded import Encoded
from bayeskit.nearest import did_you_mean


def _ours(name: str, **settings: Any) -> Callable[[], Any]:
    def made() -> Any:
        import bayeskit

        return getattr(bayeskit, name)(**settings)

    return made


def _calibrated() -> Any:
    import bayeskit

    return bayeskit.Calibrated(bayeskit.NaiveBayes())


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return Encoded(DecisionTreeClassifier(min_samples_leaf=2, random_state=0))


def _knn() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return Encoded(KNeighborsClassifier(5))


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return Encoded(RandomForestClassifier(200, random_state=0, n_jobs=1))


def _boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return Encoded(HistGradientBoostingClassifier(random_state=0), coding="codes")


def _perceptron() -> Any:
    from sklearn.linear_model import Perceptron

    return Encoded(Perceptron(random_state=0))


CATALOGUE: dict[str, Callable[[], Any]] = {
    "naive": _ours("NaiveBayes"),
    "student": _ours("NaiveBayes", numeric="student"),
    "cuts": _ours("NaiveBayes", numeric="histogram", cuts="mdl"),
    "calibrated": _calibrated,
    "exponents": _ours("DiscriminativeWeights"),
    "tan": _ours("TAN"),
    "aode": _ours("AODE"),
    "kdb": _ours("KDB"),
    "joint": _ours("FullJointBayes"),
    "gaussian": _ours("GaussianBayes"),
    "subclass": _ours("SubclassBayes"),
    "nbtree": _ours("NBTree"),
    "best": _ours("BayesClassifier"),
    "fast": _ours("BayesClassifier", fast=True),
    "logistic": _ours("LogisticRegression"),
    "tree": _tree,
    "knn": _knn,
    "perceptron": _perceptron,
    "forest": _forest,
    "boosting": _boosting,
}
"""What a name stands for: a function that makes the unfitted model."""


def model_named(name: str) -> Any:
    """The unfitted model of a name.

    >>> model_named("tan"), model_named("tree")
    (TAN(), Encoded(model=DecisionTreeClassifier(min_samples_leaf=2, random_state=0)))
    """
    if name not in CATALOGUE:
        raise BayesError(
            f"{name!r} is no model: it is one of {', '.join(CATALOGUE)}{did_you_mean(name, tuple(CATALOGUE))}",
        )
    return CATALOGUE[name]()


def model_names() -> tuple[str, ...]:
    """All names."""
    return tuple(CATALOGUE)
