"""Text classification by EM if only some documents have labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words
from bayeskit.data.vocabulary import Value, canonical, sort_values
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.weighted_evidence import DocumentEM, fit_em, sublinear_tf_idf
from bayeskit.estimate.word_weights import smooth_idf
from bayeskit.models.base.scoring import first_best
from bayeskit.models.text.classifier import RECIPES, TextClassifier
from bayeskit.models.text.documents import LabeledDocuments, all_rows, document_frequency, text_column, values_matrix
from bayeskit.models.text.recipe import LARGEST_WEIGHT
from bayeskit.storage.model_file import Numbers, State
from bayeskit.tolerance import OFF_ONE
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class DocumentModel:
    """A text classifier fitted by EM."""

    em: DocumentEM
    words: Words
    idf: Floats
    tokenizer: Tokenizer
    column: str | None
    classes: tuple[Value, ...]

    @property
    def classes_(self) -> Array:
        """The classes, sorted."""
        return np.array(self.classes)

    def to_state(self) -> State:
        """Return words, weights and prior for a file; the tokenizer is part of the settings."""
        em, words = self.em, self.words
        header = {"classes": list(self.classes), "beta": em.beta}
        return State(header, [em.weights, em.log_prior, self.idf, words.data, words.offsets])

    @classmethod
    def of_state(cls, state: State, tokenizer: Tokenizer, column: str | None) -> DocumentModel:
        """Restore a model from a file."""
        state.holds(5, "classes", "beta")
        classes, beta = tuple(state.header["classes"]), state.header["beta"]
        if not classes or None in map(canonical, classes) or sort_values({*classes}) != list(classes):
            raise BadFile("the classes are not sorted, repeated or missing")
        if type(beta) not in (int, float) or not 0 < beta < LARGEST_WEIGHT:
            raise BadFile(f"β = {beta!r} is not a weight")
        words = Words.checked(*state.arrays[3:])
        weights = Numbers((len(words), len(classes)), -LARGEST_WEIGHT, LARGEST_WEIGHT).check(state.arrays[0])
        idf = Numbers((len(words),), np.nextafter(0.0, 1.0), LARGEST_WEIGHT).check(state.arrays[2])
        log_prior = Numbers((len(classes),), -np.inf, np.inf).check(state.arrays[1])
        if not abs(logspace.exp(log_prior).sum() - 1) <= OFF_ONE:
            raise BadFile("the prior of the classes does not sum to one")
        return cls(DocumentEM(weights, float(beta), log_prior), words, idf, tokenizer, column, classes)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Compute scores (documents, classes); their softmax are probabilities."""
        documents = Documents.of(text_column(X, self.column))
        rows = count_documents(documents, self.tokenizer, self.words)
        return self.em.log_joint(_values(rows, self.idf))

    def predict_proba(self, X: Any) -> Floats:
        """Compute P(class | document) (documents, classes)."""
        return logspace.normalize(self.predict_joint_log_proba(X))[0]

    def predict_log_proba(self, X: Any) -> Floats:
        """Compute ln P(class | document) (documents, classes)."""
        return logspace.log_normalize(self.predict_joint_log_proba(X))[0]

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each document (documents,)."""
        return np.asarray(self.classes_[first_best(self.predict_joint_log_proba(X))])


def check_learns_unlabeled(model: TextClassifier) -> None:
    """Refuse settings that do not support unlabeled documents."""
    model._check_settings()
    recipe = RECIPES[model.recipe]
    if not (recipe.is_generative or recipe.learns_by_weighted_em):
        raise BayesError(
            f'recipe="{model.recipe}" has no probabilities by which unlabeled documents could be split among classes:',
            hint='use "auto", "multinomial" or "set_of_words", or drop those documents',
        )
    if recipe.learns_by_weighted_em and (model.ties != "first" or model.schema is not None):
        raise BayesError(f'recipe="{model.recipe}" with unlabeled documents takes ties="first" and no schema=')


def fit_documents(
    model: TextClassifier, X: Any, codes: Array, classes: tuple[Value, ...], *, tell: Any = None, **settings: Any
) -> tuple[DocumentModel, list[tuple[int, float, int]]]:
    """Fit by EM; a code of -1 is an unlabeled document. ``settings`` are those of :func:`fit_em`."""
    model._check_settings()
    tokenizer = model.tokenizer()
    texts = Documents.of(text_column(X, model.column))
    read = LabeledDocuments(texts, codes, None, classes)
    rows, _ = all_rows(read, model, bounded=False)
    counts = np.bincount(codes[codes >= 0], minlength=len(classes)).astype(np.float64)
    prior = class_prior("empirical" if model.prior is None else model.prior, classes, counts)
    idf = smooth_idf(document_frequency(rows), float(len(codes)))
    x, known = _values(rows, idf), codes >= 0
    told = None if tell is None else lambda r: tell((r.number, r.log_evidence, r.changed))
    a = 1.0 if model.smoothing is None else float(model.smoothing)
    em, history = fit_em(x[known], codes[known], x[~known], prior, a=a, tell=told, **settings)
    made = DocumentModel(em, rows.words, idf, tokenizer, model.column, classes)
    return made, [(r.number, r.log_evidence, r.changed) for r in history]


def _values(rows: TokenRows, idf: Floats) -> Any:
    return values_matrix(rows, sublinear_tf_idf(rows.counts, rows.ids, rows.indptr, idf))
