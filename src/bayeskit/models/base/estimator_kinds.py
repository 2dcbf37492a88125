"""What scikit-learn's tools expect of a classifier, of a regression and of a transformer, beside settings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.reader import read_table
from bayeskit.errors import BayesError
from bayeskit.models.base.estimator import Estimator


class PredictsClasses(Estimator):
    """A classifier, as the tools see it."""

    predict: Any

    @property
    def _drops_unlabelled(self) -> bool:
        """Whether rows without a label are left out in learning and scoring."""
        return False

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows ``X`` with classes ``y`` (values, or the name of a column of ``X``)."""
        from sklearn.metrics import accuracy_score

        X, y, weights = _scored(X, y, sample_weight, self._drops_unlabelled)
        return float(accuracy_score(y, self.predict(X), sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags, tags.target_tags.required = "classifier", ClassifierTags(), True
        return tags


class PredictsNumbers(Estimator):
    """A regression, as the tools see it."""

    predict: Any

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the variance of ``y`` (values, or the name of a column of ``X``) that is explained."""
        from sklearn.metrics import r2_score

        X, y, weights = _scored(X, y, sample_weight)
        return float(r2_score(y, self.predict(X), sample_weight=weights))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.regressor_tags, tags.target_tags.required = "regressor", RegressorTags(), True
        return tags


class Transforms(Estimator):
    """A transformer, as the tools see it. Methods whose result may be wanted as a frame are ``as_wanted``."""

    _sklearn_auto_wrap_output_keys: ClassVar[set[str]] = {"transform"}  # by which scikit-learn's tools know
    fit: Any
    transform: Any

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from rows, then transform them."""
        return self.fit(X, y, **fit_params).transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """What ``transform`` gives: "default", or a frame of "pandas" or "polars"; None leaves it as it is."""
        if transform is not None:
            vars(self)["_sklearn_output_config"] = {"transform": transform}
        return self

    def _wanted(self) -> str:
        """The output that was asked for, of this transformer or of all."""
        config = vars(self).get("_sklearn_output_config", {})
        if "transform" in config:
            return str(config["transform"])
        if "sklearn" not in sys.modules:  # then nobody has asked for another
            return "default"
        from sklearn import get_config

        return str(get_config()["transform_output"])

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


def as_wanted(method: Callable[..., Any]) -> Callable[..., Any]:
    """The rows that a method of a transformer gives, in the frame that ``set_output`` has asked for."""

    @wraps(method)
    def wrapped(self: Transforms, X: Any, *args: Any, **settings: Any) -> Any:
        rows = method(self, X, *args, **settings)
        if self._wanted() == "default":
            return rows
        from sklearn.utils._set_output import _wrap_data_with_container

        return _wrap_data_with_container("transform", rows, X, self)

    return wrapped


def feature_names(model: Any, given: Any = None) -> npt.NDArray[np.object_]:
    """The names of the columns that were learnt from: x0, x1, … where they had none."""
    learnt = getattr(model, "feature_names_in_", None)
    if given is None:
        named = learnt if learnt is not None else [f"x{i}" for i in range(model.n_features_in_)]
        return np.asarray(named, dtype=object)
    names = np.asarray(given, dtype=object)
    if learnt is not None and not np.array_equal(learnt, names):
        raise BayesError("input_features is not equal to feature_names_in_")
    if len(names) != model.n_features_in_:
        raise BayesError(
            f"input_features should have length equal to number of features ({model.n_features_in_}), got {len(names)}"
        )
    return names


def _scored(X: Any, y: Any, sample_weight: Any, drop: bool = False) -> tuple[Any, Any, Any]:
    """Rows, labels and weights for scikit-learn's measures: labels may be the name of a column, and rows in a file.

    Rows without a label are left out where ``drop``.
    """
    if drop:
        table, sample_weight = read_table(X, y).labelled(sample_weight)
        X, y = table.data, np.array(table.listed_labels().tolist())
    elif isinstance(y, str) or type(y).__module__.partition(".")[0] in ("pyarrow", "polars"):
        table = read_table(X, y)
        X, y = table.data, np.array(table.listed_labels().tolist())
    return X, y, None if sample_weight is None else np.asarray(sample_weight)
