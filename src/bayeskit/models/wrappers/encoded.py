"""Encoded: scikit-learn's classifiers on raw tables, by one encoder for all of them.

A tree, nearest neighbors or a perceptron ask for a matrix of numbers. Strings become indicators, numbers are scaled to
a spread of one, and a missing cell or a value never seen stands at the average, where it adds no evidence. Models that
know categories and missing cells themselves, such as scikit-learn's boosting, get codes and NaN instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.frames import open_source
from bayeskit.data.reader import in_order
from bayeskit.data.source import Source
from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import fit_wrapped
from bayeskit.models.base import rules
from bayeskit.models.base.available import available_if
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.estimator import PredictsClasses, clone
from bayeskit.models.design import Design
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.typing import Array, Floats

CODINGS = ("indicators", "codes")
MOST_CATEGORIES = 255  # that scikit-learn's boosting takes of a column


def _says_probabilities(encoded: Any) -> bool:
    model = vars(encoded).get("model_", encoded.model)
    return model is None or hasattr(model, "predict_proba")  # a tree has them


@dataclass(eq=False, repr=False)
class Encoded(PredictsClasses):
    """Fit a scikit-learn classifier on a raw table with strings, booleans and missing cells.

    Parameters
    ----------
    model : classifier, default=None
        A classifier with scikit-learn's interface, cloned in fit; None for a decision tree.
    coding : {"indicators", "codes"}, default="indicators"
        One indicator per value and standardized numbers, or values by number and NaN where missing or never seen
        (``categorical_features`` is set if the classifier has it).
    roles, unlabeled
        As for :class:`NaiveBayes`.

    Attributes
    ----------
    model_ : classifier
        The fitted classifier.

    Examples
    --------
    >>> X = {"sky": ["sun", "rain", "sun", None], "wind": [3.0, 9.0, None, 8.0]}
    >>> Encoded().fit(X, ["go", "stay", "go", "stay"]).predict({"sky": ["sun", "hail"], "wind": [None, 9.0]}).tolist()
    ['go', 'stay']
    """

    model: Any = None
    coding: Literal["indicators", "codes"] = "indicators"
    roles: Any = None
    unlabeled: Literal["error", "drop"] = "error"

    _fitted_attribute: ClassVar[str] = "model_"
    _reads_tables: ClassVar[bool] = True
    _rules: ClassVar[rules.Rules] = {
        "model": rules.optional(rules.classifier),
        "coding": rules.words(*CODINGS),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit the encoder, then the classifier.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self
        """
        self._check_settings()
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        self._require_y(y)
        if getattr(self.model, "_estimator_type", "classifier") == "regressor":
            raise BayesError(f"Encoded takes a classifier, and {type(self.model).__name__} predicts numbers")
        if self.model is None:
            from sklearn.tree import DecisionTreeClassifier

            inner: Any = DecisionTreeClassifier(random_state=0)
        else:
            inner = clone(self.model)
        counter = NaiveBayes(numeric="gaussian", roles=self.roles, unlabeled=self.unlabeled)
        counter._textless = "Encoded"
        counter._check_settings()
        source = counter._with_labels(open_source(in_order(X), y, sample_weight))
        counter.fit_source(source)
        labels, weights = counter._label_codes(source)
        self._counter, self._design = counter, Design.of(counter.tally_, "full")
        matrix = self._matrix(source)
        if self.coding == "codes" and "categorical_features" in inner.get_params():
            inner.set_params(categorical_features=self._categorical())
        if "early_stopping" in inner.get_params() and counter.tally_.class_counts.min() < 2:
            inner.set_params(early_stopping=False)  # it would hold rows out by class, and refuses a class of one row
        if weights is not None:
            weighty = weights > 0
            matrix, labels, weights = matrix[weighty], labels[weighty], weights[weighty]
        fit_wrapped(inner, matrix, counter.classes_[labels], weights)
        self.model_, self.classes_ = inner, inner.classes_
        self._copy_features(counter)
        return self

    def matrix(self, X: Any) -> Floats:
        """Return the matrix that the classifier is given.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        self._check_is_fitted()
        return self._matrix(self._counter._with_all_columns(open_source(X)))

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        matrix = self.matrix(X)
        return np.asarray(self.model_.predict(matrix))

    @available_if(_says_probabilities, "the classifier has none")
    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x) of each row, as the classifier computes it.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        matrix = self.matrix(X)
        return np.asarray(self.model_.predict_proba(matrix))

    def _matrix(self, source: Source) -> Floats:
        blocks = self._counter._encoder().blocks(source, report_unseen=True)
        if self.coding == "codes":
            return np.concatenate([self._codes(block) for block in blocks])
        matrix = self._design.dense(blocks)
        measured = len(self._design.columns)
        spread = self._design.spread[:measured]
        matrix[:, :measured] -= self._design.mean[:measured]
        matrix[:, :measured] /= np.where(spread > 0, spread, 1.0)
        return matrix

    def _codes(self, block: Block) -> Floats:
        parts = [block.floats[name] for name in self._design.columns]
        for name, n_values in self._design.values.items():
            codes = block.codes[name].astype(np.float64) - 1
            parts.append(np.where((codes < 0) | (codes >= n_values), np.nan, codes))
        return np.stack(parts, axis=1) if parts else np.zeros((block.n_rows, 0))

    def _categorical(self) -> list[bool]:
        few = (n <= MOST_CATEGORIES for n in self._design.values.values())
        return [False] * len(self._design.columns) + list(few)
