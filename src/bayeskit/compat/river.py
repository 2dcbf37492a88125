"""Learn and predict one row at a time, with the method names of River."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Self

from bayeskit.errors import BayesError, BayesWarning
from bayeskit.inner_model import reader_of

__all__ = ["StreamClassifier"]


class StreamClassifier:
    """Give a classifier the methods ``learn_one``, ``predict_one``, ``predict_proba_one`` and ``unlearn_one``.

    The counts after n calls of ``learn_one`` are those of one fit on the n rows. A column that a row lacks is a missing
    cell; the columns are those of the fitted model, or of the first row.

    Parameters
    ----------
    model : classifier, default=None
        A classifier with ``partial_fit``, fitted or not; None for ``NaiveBayes(numeric="gaussian")``. The wrapper
        changes it. Of an unfitted one, give ``roles`` where the first row does not show what a column holds.

    Attributes
    ----------
    model : classifier

    Examples
    --------
    >>> stream = StreamClassifier()
    >>> stream.predict_proba_one({"sky": "sun", "wind": 3.0})
    {}
    >>> days = [("sun", 3.0, "yes"), ("rain", 9.0, "no"), ("sun", 4.0, "yes"), ("rain", 8.0, "no")]
    >>> for sky, wind, play in days:
    ...     stream = stream.learn_one({"sky": sky, "wind": wind}, play)
    >>> stream.predict_one({"sky": "sun"})
    'yes'
    >>> {label: round(p, 3) for label, p in stream.predict_proba_one({"sky": "sun"}).items()}
    {'no': 0.25, 'yes': 0.75}
    """

    def __init__(self, model: Any = None) -> None:
        if model is None:
            from bayeskit.models.naive_bayes import NaiveBayes

            model = NaiveBayes(numeric="gaussian")
        if not hasattr(model, "partial_fit"):
            raise BayesError(f"{model!r} cannot learn one row at a time: it has no partial_fit")
        self.model = model

    def __repr__(self) -> str:
        return f"StreamClassifier({self.model!r})"

    def learn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Learn a row.

        Parameters
        ----------
        x : mapping of str to value
        y : class label

        Returns
        -------
        self
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "there is one class only", BayesWarning)  # a stream begins with one
            self.model.partial_fit(self._table(x), [y])
        return self

    def unlearn_one(self, x: Mapping[str, Any], y: Any) -> Self:
        """Remove a row that was learned.

        Parameters
        ----------
        x : mapping of str to value
        y : class label

        Returns
        -------
        self
        """
        self.model.forget(self._table(x), [y])
        return self

    def predict_proba_one(self, x: Mapping[str, Any]) -> dict[Any, float]:
        """Return the probability of each class; an empty dictionary before the first row.

        Parameters
        ----------
        x : mapping of str to value

        Returns
        -------
        dict of class label to float
        """
        if not hasattr(self.model, "classes_"):
            return {}
        (row,) = self.model.predict_proba(self._table(x))
        return dict(zip(self.model.classes_.tolist(), row.tolist(), strict=True))

    def predict_one(self, x: Mapping[str, Any]) -> Any:
        """Return the most probable class; None before the first row.

        Parameters
        ----------
        x : mapping of str to value

        Returns
        -------
        class label or None
        """
        if not hasattr(self.model, "classes_"):
            return None
        return self.model.predict(self._table(x)).tolist()[0]

    def _table(self, x: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return the row as a table of the known columns."""
        names = reader_of(self.model).schema_.needed if hasattr(self.model, "classes_") else x
        return {name: [x.get(name)] for name in names}
