"""Models that are made of others, as commands take them: who reads the rows, and who holds the belief."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.inputs import load_model
from bayeskit.errors import BayesError, with_article
from bayeskit.inner_model import reader_of


def is_distribution(model: Any) -> bool:
    """Whether it is a network or a joint distribution: no class, and any question."""
    return type(model).__name__ in ("BayesianNetwork", "JointDistribution")  # loaded where it is one, and only there


def is_topic_model(model: Any) -> bool:
    """Whether it finds topics: no class either."""
    return type(model).__name__ == "TopicModel"


def load_classifier(path: str) -> Any:
    """The classifier of a file; what puts rows in no classes is refused with the command that takes it."""
    model = load_model(path)
    refuse_no_classes(model, path)
    return model


def refuse_no_classes(model: Any, path: str) -> None:
    """Refuse a distribution or a regression where a classifier is needed."""
    if not hasattr(model, "classes_"):
        instead = (
            "bayes predict gives its numbers" if hasattr(model, "predict_interval") else "bayes ask answers from it"
        )
        instead = "bayes inspect shows its topics" if is_topic_model(model) else instead
        raise BayesError(f"{path} holds {with_article(type(model).__name__)}, which knows no classes: {instead}")


def believed(model: Any) -> Any:
    """The model whose probabilities a model gives as its own: costs and EM are around one, and change none."""
    while type(model).__name__ in ("CostSensitive", "SemiSupervised"):
        model = model._reads_by()
    return model


def reading_model(model: Any) -> Any:
    """The model that knows the columns; refused where rows were a matrix without names."""
    reads = reader_of(model)
    if reads is None:
        raise BayesError(
            f"{with_article(type(model).__name__)} that was fitted on a sparse matrix takes no table: its columns have "
            "no names. Predict in Python, or fit it on a table."
        )
    return reads


def target_of(model: Any) -> str:
    """The name above what is predicted."""
    while not hasattr(model, "target_") and hasattr(model, "_reads_by"):
        model = model._reads_by()
    named = getattr(model, "target_", None) or (model.schema_.target.name if hasattr(model, "schema_") else None)
    return named or "class"
