"""Load models and look inside models that wrap others."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.inputs import load_model
from bayeskit.errors import BayesError, with_article
from bayeskit.inner_model import reader_of


def is_distribution(model: Any) -> bool:
    """Return True for a network or a joint distribution, which have no class."""
    # by name, so that the module is not imported
    return type(model).__name__ in ("BayesianNetwork", "JointDistribution")


def is_topic_model(model: Any) -> bool:
    """Return True for a topic model, which has no class."""
    return type(model).__name__ == "TopicModel"


def load_classifier(path: str) -> Any:
    """Load a classifier from a file; for other models, raise an error that names the right command."""
    model = load_model(path)
    refuse_no_classes(model, path)
    return model


def refuse_no_classes(model: Any, path: str) -> None:
    """Raise an error for a distribution or a regression where a classifier is needed."""
    if not hasattr(model, "classes_"):
        instead = (
            "bayes predict gives its numbers" if hasattr(model, "predict_interval") else "bayes ask answers from it"
        )
        instead = "bayes inspect shows its topics" if is_topic_model(model) else instead
        raise BayesError(f"{path} holds {with_article(type(model).__name__)}, which knows no classes: {instead}")


def believed(model: Any) -> Any:
    """Return the inner model that computes the probabilities; cost-sensitive and EM wrappers do not change them."""
    while type(model).__name__ in ("CostSensitive", "SemiSupervised"):
        model = model._reads_by()
    return model


def reading_model(model: Any) -> Any:
    """Return the model that has the columns; raise an error if rows were a matrix without names."""
    reads = reader_of(model)
    if reads is None:
        raise BayesError(
            f"{with_article(type(model).__name__)} that was fitted on a sparse matrix takes no table: its columns have "
            "no names. Predict in Python, or fit it on a table."
        )
    return reads


def target_of(model: Any) -> str:
    """Return the name of the predicted column."""
    while not hasattr(model, "target_") and hasattr(model, "_reads_by"):
        model = model._reads_by()
    named = getattr(model, "target_", None) or (model.schema_.target.name if hasattr(model, "schema_") else None)
    return named or "class"
