"""Models by the names that commands and comparisons take: ours, and scikit-learn's on raw tables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean

SKLEARN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tree": ("sklearn.tree", "DecisionTreeClassifier", {"min_samples_leaf": 2, "random_state": 0}),
    "knn": ("sklearn.neighbors", "KNeighborsClassifier", {"n_neighbors": 5}),
    "perceptron": ("sklearn.linear_model", "Perceptron", {"random_state": 0}),
    "forest": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 200, "random_state": 0, "n_jobs": 1}),
    "boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier", {"random_state": 0}),
}
"""Classifiers of scikit-learn by name: module, class and settings."""

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "naive": ("NaiveBayes", {}),
    "student": ("NaiveBayes", {"numeric": "student"}),
    "cuts": ("NaiveBayes", {"numeric": "histogram", "cuts": "mdl"}),
    "calibrated": ("Calibrated", {}),
    "exponents": ("DiscriminativeWeights", {}),
    "tan": ("TAN", {}),
    "aode": ("AODE", {}),
    "kdb": ("KDB", {}),
    "joint": ("FullJointBayes", {}),
    "gaussian": ("GaussianBayes", {}),
    "subclass": ("SubclassBayes", {}),
    "nbtree": ("NBTree", {}),
    "network": ("NetworkClassifier", {}),
    "best": ("BayesClassifier", {}),
    "fast": ("BayesClassifier", {"fast": True}),
    "logistic": ("LogisticRegression", {}),
}
"""Our models by name: class and settings."""


def model_named(name: str) -> Any:
    """Return the unfitted model of a name.

    Parameters
    ----------
    name : str
        One of :func:`model_names`.

    Returns
    -------
    classifier

    Raises
    ------
    BayesError
        For an unknown name.

    Examples
    --------
    >>> model_named("tan"), model_named("tree")
    (TAN(), Encoded(model=DecisionTreeClassifier(min_samples_leaf=2, random_state=0)))
    """
    import bayeskit

    if name in OURS:
        kind, settings = OURS[name]
        return getattr(bayeskit, kind)(**settings)
    if name not in SKLEARN:
        names = model_names()
        raise BayesError(f"{name!r} is not a model: it is one of {', '.join(names)}{did_you_mean(name, names)}")
    module, kind, settings = SKLEARN[name]
    inner = getattr(import_module(module), kind)(**settings)
    return bayeskit.Encoded(inner, coding="codes" if name == "boosting" else "indicators")


def model_names() -> tuple[str, ...]:
    """Return the names of all models.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> model_names()[:3]
    ('naive', 'student', 'cuts')
    """
    return (*OURS, *SKLEARN)
