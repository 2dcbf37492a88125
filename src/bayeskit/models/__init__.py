"""The models, one file each; and which of them a file may name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayeskit.models.base import TallyClassifier

SAVED = (
    "NaiveBayes",
    "TAN",
    "AODE",
    "KDB",
    "FullJointBayes",
    "TextClassifier",
    "BayesClassifier",
    "GaussianBayes",
    "SubclassBayes",
    "NBTree",
    "Tagger",
)
"""Names that a .bayes file may hold: the one way from a file to code."""


def load(path: str | Path) -> Any:
    """The model of a .bayes file, which goes on learning and forgetting.

    A damaged or foreign file is refused with a :class:`BayesError` that says why; nothing in it is run.

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
    from bayeskit.errors import BayesError
    from bayeskit.model_file import read_whole

    data = read_whole(path)
    try:
        return from_bytes(data)
    except BayesError as problem:
        raise problem.within(str(path)) from None


def from_bytes(data: bytes) -> TallyClassifier:
    """The model of the bytes of a file; whatever they are, :class:`BadFile` is all that comes out beside it."""
    import numpy as np

    from bayeskit import model_file
    from bayeskit.errors import BadFile, BayesError

    saved = model_file.from_bytes(data)
    kind = saved_class(saved.model)
    if kind is None:
        raise BadFile(
            f"it holds the model {saved.model!r}, which this bayeskit does not know "
            f"(known: {', '.join(SAVED)}): upgrade"
        )
    try:
        model = kind()
        if unknown := saved.settings.keys() - model.get_params(deep=False).keys():
            raise BadFile(f"{saved.model} has no setting {sorted(unknown)[0]!r} in this bayeskit: upgrade")
        with np.errstate(all="ignore"):
            model.set_params(**{**kind.unwritten, **saved.settings}).restore(saved.tally, saved.state)
        made: TallyClassifier = model
        return made
    except BadFile:
        raise
    except BayesError as problem:  # settings and counts that the model itself refuses
        raise BadFile(f"no {saved.model} can be made of what it holds: {problem}") from None
    except MemoryError:
        raise BadFile(f"no {saved.model} can be made of what it holds: this machine has not as much memory") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as problem:
        raise BadFile(f"no {saved.model} can be made of what it holds: {problem!r}") from None


def to_bytes(model: Any) -> bytes:
    """The bytes of the file of a fitted model."""
    from bayeskit import model_file
    from bayeskit.errors import BayesError, with_article

    name = type(model).__name__
    if saved_class(name) is not type(model):
        raise BayesError(f"{with_article(name)} cannot be saved; those that can are {', '.join(SAVED)}")
    return model_file.to_bytes(
        model_file.Saved(name, model.settings_to_save(), model.tally_to_save(), model.held_state())
    )


def saved_class(name: str) -> Any:
    """The class of a saved name, or None."""
    import bayeskit

    return getattr(bayeskit, name) if name in SAVED else None
