"""What a model can do, asked by name of the ability and not of a method.

A model has a method only where it can keep its promise, by its kind and by its settings. ``can(model, Explains)`` is
therefore asked of a model as it is, not of its class; and where the answer is no, calling the method says why.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol


class HasProbabilities(Protocol):
    """Says P(class | x)."""

    def predict_proba(self, X: Any) -> Any: ...


class HasJoint(Protocol):
    """Says P(x, class), or a score in its place that can be tempered."""

    def predict_joint_log_proba(self, X: Any) -> Any: ...


class LeavesOut(Protocol):
    """Scores each learnt row by the model made without it, in closed form."""

    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Any: ...


class Explains(Protocol):
    """Says why a row is put in its class."""

    def explain(self, X: Any, against: Any = None) -> Any: ...


class SpeaksByColumn(Protocol):
    """Every column speaks for itself: what it tells of the class, and its points in a nomogram."""

    def telling(self) -> Any: ...
    def nomogram(self, predicted: Any = None, against: Any = None, X: Any = None, row: Any = None) -> Any: ...


class Learns(Protocol):
    """Takes more rows."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any: ...
    def learn_source(self, source: Any, target: str | None = None, engine: Any = None) -> Any: ...


class IsItsCounts(Protocol):
    """Says whether more rows make it the model that a fit on all of them gives."""

    def is_its_counts(self) -> bool: ...


class Forgets(Protocol):
    """Gives rows back."""

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any: ...
    def forget_source(self, source: Any, target: str | None = None, engine: Any = None) -> Any: ...


class Merges(Protocol):
    """Makes one model of two."""

    def merge(self, other: Any) -> Any: ...


class Restricts(Protocol):
    """Makes a model of fewer columns without reading anything again."""

    def restrict(self, columns: Any) -> Any: ...


class LeavesColumnsOut(Protocol):
    """Scores rows that lack columns: what is absent is missing, and a missing cell says nothing."""

    def with_all_columns(self, source: Any) -> Any: ...


class DropsUnlabelled(Protocol):
    """Leaves rows without a label out where it is told to, by ``unlabelled="drop"``."""

    def with_labels(self, source: Any) -> Any: ...


class Samples(Protocol):
    """Draws rows."""

    def sample(self, n: int = 1, random_state: Any = None) -> Any: ...


class HasStructure(Protocol):
    """Has learnt which columns go together, or a tree, or clusters, and can show it."""

    def describe_structure(self) -> Any: ...


class Reports(Protocol):
    """Holds scores of rows that were left out of its counts, and says what they are worth."""

    def report(self) -> Any: ...


class TakesSequences(Protocol):
    """Its rows are whole sequences, read in any of their forms."""

    def read_sequences(self, X: Any, y: Any = None) -> Any: ...


class Reads(Protocol):
    """Is made of another model, by which rows are read."""

    def reads_by(self) -> Any: ...


def reader_of(model: Any) -> Any:
    """The innermost model, which knows the columns; None where rows are a matrix without names.

    >>> from bayeskit import CostSensitive
    >>> type(reader_of(CostSensitive().fit({"x": ["a", "b"]}, [0, 1]))).__name__
    'NaiveBayes'
    """
    while can(model, Reads):
        model = model.reads_by()
    return model


def can(model: object, capability: type) -> bool:
    """Whether the model, as it is, has every method of a capability.

    >>> from bayeskit import AODE, NaiveBayes
    >>> can(NaiveBayes(), SpeaksByColumn), can(AODE(), SpeaksByColumn), can(AODE(), Explains)
    (True, False, True)
    """
    return all(hasattr(model, name) for name in methods_of(capability))


@cache
def methods_of(capability: type) -> tuple[str, ...]:
    """The methods that a capability asks for."""
    return tuple(name for name, member in vars(capability).items() if callable(member) and not name.startswith("_"))
