"""Discriminative weights: naive Bayes with one learned exponent per column.

    P(c | x) ∝ P(c)^w0 · Π_j P(x_j | c)^w_j

Columns that repeat each other make naive Bayes count the same evidence twice: its probabilities run to 0 and 1. The
exponents turn such columns down. The tables stay as they were counted; the exponents alone are learned, by conditional
likelihood with a Gaussian prior around 1 (where they are all 1 this is naive Bayes itself).

Formula: P(c)^w0 Π P(x_j ∣ c)^w_j
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.frames import open_source
from bayeskit.data.reader import in_order
from bayeskit.data.source import Source
from bayeskit.errors import BayesError
from bayeskit.estimate.conditional_likelihood import best_exponents
from bayeskit.explain.structure import StructureDescription
from bayeskit.export.scoring_form import ScoringForm
from bayeskit.models.base import rules
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.estimator import check_is_fitted, clone
from bayeskit.models.base.left_out import labels_and_weights, sample_blocks
from bayeskit.models.naive_bayes import NaiveBayes, NaiveParameters
from bayeskit.models.wrappers.wrapper import Wrapper
from bayeskit.storage.model_file import Numbers, State
from bayeskit.tables import Table
from bayeskit.typing import Array, Floats

SCORES = 150_000  # rows × classes × columns to learn the exponents from; they are few, and need no more


def weighted(params: NaiveParameters, target: str, powers: dict[str, float]) -> NaiveParameters:
    """The same beliefs with exponents; what is impossible stays so."""
    log_prior = logspace.power(params.log_prior, powers[target])
    kinds = tuple(kind.powered(powers) for kind in params.kinds)
    return replace(params, log_prior=log_prior - logspace.log_sum_exp(log_prior), kinds=kinds)


@dataclass(eq=False, repr=False)
class DiscriminativeWeights(Wrapper):
    """Naive Bayes with one exponent per column, fitted by conditional likelihood.

    Fitting counts once, scores each row without itself and fits the exponents, a convex problem with one unknown per
    column.

    Parameters
    ----------
    nb : NaiveBayes, default=None
        Cloned in fit; None for one with defaults.
    penalty : float, default=1.0
        λ of the prior λ/2 · Σ (w − 1)² on the exponents.
    max_rows : int, default=None
        Fit the exponents to at most so many rows, drawn at random; None for as many as make about 150,000 scores (rows
        × classes × columns). The tables always learn from all rows.
    random_state : int or generator, default=0
        Seed of that draw.

    Attributes
    ----------
    exponents_ : dict of str to float
        Exponent of each column; the target's name stands for the class prior.
    nb_ : NaiveBayes
        The naive Bayes model without exponents.

    Examples
    --------
    A coin is copied nine times. Naive Bayes counts it ten times, the exponents once:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> noisy = np.where(rng.random(500) < 0.7, y, 1 - y)
    >>> X = np.repeat(noisy[:, None], 10, axis=1) == 1
    >>> model = DiscriminativeWeights().fit(X, y)
    >>> float(model.nb_.predict_proba(X[y == 1]).max().round(3)), float(model.predict_proba(X).max().round(2))
    (1.0, 0.74)
    >>> round(sum(model.exponents_[f"x{i}"] for i in range(10)), 1)
    1.0
    """

    nb: Any = None
    penalty: float = 1.0
    max_rows: int | None = None
    random_state: Any = 0

    _part: ClassVar[str] = "nb"
    _part_class: ClassVar[str] = "NaiveBayes"
    _fitted_attribute: ClassVar[str] = "nb_"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit tables and exponents.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self
        """
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        self._check_settings()
        nb = NaiveBayes() if self.nb is None else clone(self.nb)
        self._require_y(y)
        source = nb._with_labels(open_source(in_order(X), y, sample_weight))
        return self._fit_over(nb.fit_source(source), source)

    def _fit_over(self, nb: NaiveBayes, source: Source) -> Self:
        """Learn the exponents over the tables of a naive Bayes that has learned these rows."""
        self._check_settings()
        powers = dict.fromkeys(nb._left_out().term_names, 1.0)
        if len(nb.classes_) > 1:
            terms, labels, weights = self._terms(nb, source)
            exponents = best_exponents(terms, labels, weights, float(self.penalty))
            powers = dict(zip(powers, exponents.tolist(), strict=True))
        return self._become(nb, powers)

    def _become(self, nb: NaiveBayes, powers: dict[str, float]) -> Self:
        scorer = copy(nb)
        scorer.params_ = weighted(nb.params_, nb.schema_.target.name, powers)
        self.nb_, self.exponents_, self._scorer = nb, powers, scorer
        self.classes_ = nb.classes_
        self._copy_features(nb)
        return self

    def _terms(self, nb: NaiveBayes, source: Source) -> tuple[Floats, Any, Any]:
        """(terms of the rows to learn from, their classes, their weights), each row without itself."""
        left_out = nb._left_out()
        n_classes, n_terms = len(nb.classes_), len(left_out.term_names)
        limit = self.max_rows or max(SCORES // (n_classes * n_terms), 50 * n_terms)
        blocks = sample_blocks(nb, source, limit, self.random_state)
        if any(block.labels is None for block in blocks):
            raise BayesError("exponents are learned from one label a row, not from class probabilities")
        if not blocks:
            return np.zeros((0, n_classes, n_terms)), np.zeros(0, dtype=np.int64), np.zeros(0)
        return np.concatenate([left_out.terms(block) for block in blocks]), *labels_and_weights(blocks)

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self._fitted().predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._fitted().predict_proba(X)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._fitted().predict_log_proba(X)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return the sum of weighted terms of each class, which is no longer ln P(x, class).

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self._fitted().predict_joint_log_proba(X)

    def contributions(self, X: Any) -> Floats:
        """Return the contribution of each term to each class score.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes, n_terms)
            They sum to :meth:`predict_joint_log_proba`, their differences between two classes to the log odds.
        """
        scorer = self._fitted()
        blocks = [self._block_contributions(scorer, block) for block in scorer._encoder().blocks(open_source(X))]
        return np.concatenate(blocks)

    def _block_contributions(self, scorer: NaiveBayes, block: Block) -> Floats:
        params = scorer.params_
        terms = np.zeros((block.n_rows, len(self.classes_), len(self.exponents_)))
        terms[:, :, 0] = params.log_prior
        for j, name in enumerate(list(self.exponents_)[1:], 1):
            terms[:, :, j] = params.by_column[name].term(name, block, 1)
        return terms

    def _scoring_form(self) -> ScoringForm:
        """Naive Bayes with its terms to their powers."""
        return replace(self._fitted()._scoring_form(), model=type(self).__name__)

    def table(self) -> Table:
        """Return the exponents: 1 is naive Bayes, 0 leaves a column out.

        Returns
        -------
        Table
        """
        self._fitted()
        return Table({"column": list(self.exponents_), "exponent": list(self.exponents_.values())})

    def describe_structure(self) -> StructureDescription:
        """Describe the exponents.

        Returns
        -------
        StructureDescription
        """
        sentence = "each column speaks with an exponent: 1 as in naive Bayes, 0 not at all"
        return StructureDescription(sentence, self.table())

    # -- persistence -----------------------------------------------------------------------------------

    def _state_to_save(self) -> State:
        return State.of(exponents=np.array(list(self.exponents_.values())))

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        self._check_settings()
        nb = parts["nb"]
        names = nb._left_out().term_names
        exponents = state.read({"exponents": Numbers((len(names),))})["exponents"]
        return self._become(nb, dict(zip(names, exponents.tolist(), strict=True)))

    def _fitted(self) -> NaiveBayes:
        check_is_fitted(self)
        return self._scorer

    _rules: ClassVar[rules.Rules] = {
        "penalty": rules.number("give a finite number above 0; 1 is the default", np.nextafter(0, 1)),
        "max_rows": rules.optional(rules.integer(1)),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.nb is not None and not isinstance(self.nb, NaiveBayes):
            raise BayesError(f"nb={self.nb!r}: exponents are learned over the tables of a NaiveBayes")
