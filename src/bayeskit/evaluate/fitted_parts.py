"""Models that learn part of the rows. What a classifier from elsewhere refuses is said with its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.capabilities import HasProbabilities, can
from bayeskit.errors import BayesError
from bayeskit.evaluate.folds import Index, LabelledTable, labelled_table
from bayeskit.remedy import OtherModel

HERE = "here"  # among all rows of a fit
TEXT_IN_NUMBERS = "could not convert string"  # of NumPy, where a matrix of numbers is asked for


def fitted_on(model: Any, given: LabelledTable, rows: Index, place: str, part: Any = None) -> Any:
    """The model, which learns these rows of a table; ``part`` are they, where they are taken already."""
    part = given.table.take(rows) if part is None else part
    try:
        return model.fit(part, given.labels(rows), **given.weighed(rows))
    except BayesError as problem:
        if problem.place != HERE:
            raise
        raise refusal(model, given, rows, place, problem) from problem
    except (ValueError, TypeError, ArithmeticError) as problem:
        raise refusal(model, given, rows, place, problem) from problem


def fit_wrapped(model: Any, rows: Any, labels: Any, sample_weight: Any) -> Any:
    """The model, which learns rows in the form that it was given; one class alone is refused in our words."""
    weighed = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        return model.fit(rows, labels, **weighed)
    except BayesError:
        raise
    except ValueError as problem:
        given = labelled_table(rows, labels, sample_weight)
        if len(given.classes) > 1:
            raise
        raise refusal(model, given, np.arange(given.n_rows), HERE, problem) from problem


def refusal(model: Any, given: LabelledTable, rows: Index, place: str, problem: Exception) -> BayesError:
    """What a classifier says of rows that it does not take, with the place and what helps."""
    name, learnt = name_of(model), np.unique(given.codes[rows])
    if len(learnt) == 1:
        only = given.classes[int(learnt[0])]
        return BayesError(
            f"{name} does not learn one class alone, and {place} every row is of class {only!r}. Give each other class "
            "more rows, leave out those of one row, or take a model that learns one class, such as ",
            OtherModel("NaiveBayes"),
            ".",
            culprit=only,
            place=place,
        )
    text = " ".join(str(problem).split()).removesuffix(".")
    if given.weights is not None and "sample_weight" in text:
        remedy = "Leave sample_weight out, or take a classifier whose fit takes it"
    elif TEXT_IN_NUMBERS in text:
        remedy = f"Encoded({name}(…)) reads tables with text"
    else:
        remedy = f"Encoded({name}(…)) makes numbers of any table, without gaps"
    return BayesError(f"{name} does not learn the rows {place}: {text}. {remedy}.", culprit=name, place=place)


def name_of(model: Any) -> str:
    """The name of a classifier, or of the one that a wrapper of ours has around it.

    >>> from bayeskit import Encoded
    >>> from sklearn.linear_model import LogisticRegression
    >>> name_of(Encoded(LogisticRegression()))
    'Encoded(LogisticRegression)'
    """
    name, inner = type(model).__name__, getattr(model, "model", getattr(model, "classifier", None))
    return f"{name}({name_of(inner)})" if hasattr(inner, "fit") else name


def check_probabilities(model: Any) -> None:
    """Refuse a model that has no ``predict_proba``."""
    if not can(model, HasProbabilities):
        name = type(model).__name__
        raise BayesError(
            f"{name} has no predict_proba, by which it is judged: compare(…) takes classes alone for certain, and "
            f"scikit-learn's CalibratedClassifierCV({name}(…)) gives it one",
            culprit=name,
        )
