"""The models, one file each; and which of them a file may name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from bayeskit.errors import BadFile, BayesError, with_article

if TYPE_CHECKING:
    from bayeskit.storage.history import History
    from bayeskit.storage.model_file import Saved

Model = TypeVar("Model")

SAVED = (
    "NaiveBayes", "TAN", "AODE", "KDB", "FullJointBayes", "NBTree", "GaussianBayes", "SubclassBayes",
    "NetworkClassifier",
    "TextClassifier", "BayesClassifier", "LogisticRegression", "LinearRegression",
    "DiscriminativeWeights", "SemiSupervised", "CostSensitive", "Calibrated",
    "BayesianNetwork", "JointDistribution", "TopicModel",
    "Tagger", "HiddenMarkovModel", "MarkovChain", "SequenceClassifier",
)  # fmt: skip
"""Models that a .bayes file may hold, by kind: the one way from a file to code."""


@overload
def load(path: str | Path) -> Any: ...
@overload
def load(path: str | Path, kind: type[Model]) -> Model: ...
def load(path: str | Path, kind: type[Any] | None = None) -> Any:
    """Read the model of a ``.bayes`` file; nothing in the file is run.

    Parameters
    ----------
    path : str or Path
    kind : type, optional
        Class that the model must have, which type checkers then know: ``load("m.bayes", NaiveBayes)``.

    Returns
    -------
    model

    Raises
    ------
    BayesError
        If the file is damaged, is not a model file, or holds a model of another class.

    Examples
    --------
    >>> import tempfile
    >>> from bayeskit import NaiveBayes, datasets
    >>> model = NaiveBayes().fit(datasets.load_worked_example("tennis"), "play")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/tennis.bayes")
    ...     again = load(f"{folder}/tennis.bayes")
    >>> again.tally_ == model.tally_, again.predict({"outlook": "rain", "temperature": "mild", "humidity": "high",
    ...                                              "wind": "weak"}).tolist()
    (True, ['yes'])
    """
    model = open_file(path)[0]
    if kind is not None and not isinstance(model, kind):
        raise BayesError(f"{path} holds {with_article(type(model).__name__)}, not {with_article(kind.__name__)}")
    return model


def open_file(path: str | Path) -> tuple[Any, History]:
    """Return the model of a file and the history of the file."""
    from bayeskit.storage import model_file

    data = model_file.read_model_bytes(path)
    try:
        return open_bytes(data)
    except BayesError as problem:
        raise problem.within(str(path)) from None


def open_bytes(data: bytes) -> tuple[Any, History]:
    """Return the model of the bytes of a file and the history of the file."""
    from bayeskit.storage import model_file

    saved = model_file.from_bytes(data)
    return model_of(saved), saved.history


def read_history(path: str | Path) -> History:
    """Read when, from what and by which version a model file was made and changed.

    The file holds names of data, numbers of rows and hashes, never values. ``model.save`` starts a new history;
    :func:`updating`, ``bayes learn``, ``bayes forget`` and ``bayes merge`` continue it.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    History
        ``events`` in order; ``learned`` and ``forgotten`` hold the hashes of batches by name.

    Examples
    --------
    >>> import tempfile
    >>> from bayeskit import NaiveBayes, updating
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NaiveBayes().fit({"sky": ["sun", "rain"]}, ["yes", "no"]).save(f"{folder}/sky.bayes")
    ...     with updating(f"{folder}/sky.bayes", source="tuesday.csv") as model:
    ...         _ = model.partial_fit({"sky": ["sun"]}, ["yes"])
    ...     history = read_history(f"{folder}/sky.bayes")
    >>> [(event.action, event.source, event.rows) for event in history.events]
    [('fit', '', 2.0), ('learn', 'tuesday.csv', 1.0)]
    """
    from bayeskit.storage import model_file

    try:
        return model_file.from_bytes(model_file.read_model_bytes(path)).history
    except BayesError as problem:
        raise problem.within(str(path)) from None


def from_bytes(data: bytes) -> Any:
    """The model of the bytes of a file; whatever they are, :class:`BadFile` is all that comes out beside it."""
    return open_bytes(data)[0]


def model_of(saved: Saved) -> Any:
    """The model of what a file holds, or of a part of it."""
    import numpy as np

    kind = saved_class(saved.model)
    if kind is None:
        known = ", ".join(SAVED)
        raise BadFile(
            f"it holds the model {saved.model!r}, which this bayeskit does not know (known: {known}): upgrade"
        )
    try:
        with np.errstate(all="ignore"):
            return kind._of_saved(saved)
    except BadFile:
        raise
    except BayesError as problem:  # settings and counts that the model itself refuses
        raise BadFile(f"no {saved.model} can be made of what it holds: {problem}") from None
    except MemoryError:
        raise BadFile(f"no {saved.model} can be made of what it holds: this machine has not as much memory") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise BadFile(f"no {saved.model} can be made of what it holds: {problem!r}") from None


def to_bytes(model: Any, history: History | None = None) -> bytes:
    """The bytes of the file of a fitted model, with the history of the file if there is one."""
    from bayeskit.storage import model_file

    saved = saved_of(model)
    return model_file.to_bytes(saved if history is None else replace(saved, history=history))


def n_rows(model: Any) -> float:
    """Return the number of rows that a model has counted, 0 where it does not say."""
    return float(getattr(getattr(model, "tally_", None), "n_rows", 0.0))


def saved_of(model: Any, within: str = "") -> Saved:
    """Return the saved form of a fitted model; ``within`` names the enclosing model in errors."""
    refuse_unsaved(type(model), within)
    return model._to_saved()


def refuse_unsaved(kind: type, within: str = "") -> None:
    """Refuse a class that no file may hold."""
    if saved_class(kind.__name__) is not kind:
        who = f"{with_article(within)} of {with_article(kind.__name__)}" if within else with_article(kind.__name__)
        raise BayesError(f"{who} cannot be saved; those that can are {', '.join(SAVED)}")


def saved_class(name: str) -> Any:
    """The class of a saved name, or None."""
    import bayeskit

    return getattr(bayeskit, name) if name in SAVED else None
