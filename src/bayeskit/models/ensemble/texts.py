"""Text columns of the ensemble: log odds of the classes by text models, as columns of numbers.

The documents are divided into folds by a hash of their content, and each fold has a text model that has not learned
its documents. A training row gets the log odds by the model of its fold, so copies of a document leave together, and a
row that is learned later falls into a fold as well. A new row gets the mean over all models. The text models stay fixed
when rows are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Schema
from bayeskit.data.text.documents import Documents
from bayeskit.data.vocabulary import Value, are_names, positions
from bayeskit.errors import BadFile, BayesError
from bayeskit.explain.evidence import LONG
from bayeskit.models import model_of, saved_of, to_bytes
from bayeskit.models.text.classifier import TextClassifier
from bayeskit.storage.model_file import Saved
from bayeskit.tally.rows import RowBatch
from bayeskit.typing import Array, Floats, Ints

# Folds of documents: as many text models are fitted.
FOLDS = 5
# Text models of a column in a file.
PART = "text"


@dataclass(frozen=True, eq=False)
class TextLogOdds:
    """The text models of one column: model k has not learned the documents of fold k."""

    classes: tuple[Value, ...]
    models: tuple[TextClassifier, ...]

    def columns(self, name: str) -> list[str]:
        """Return the names of the columns of numbers: one for each class, and a single one for two classes."""
        return [f"log odds of {label} by {name}" for label in self.classes[len(self.classes) == 2 :]]

    def of_new(self, documents: Documents) -> list[Floats]:
        """Compute the log odds of new documents: the mean over all models, NaN for a missing one."""
        return self._columns(documents, np.mean([self._log_odds(model, documents) for model in self.models], axis=0))

    def of_learned(self, documents: Documents) -> list[Floats]:
        """Compute the log odds of documents by the models of their folds, which have not learned them."""
        fold, log_odds = folds_of(documents), np.empty((len(documents), len(self.classes)))
        for k, model in enumerate(self.models):
            own = np.flatnonzero(fold == k)
            if len(own):
                log_odds[own] = self._log_odds(model, documents.take(own))
        return self._columns(documents, log_odds)

    def strongest_words(self, document: Documents, label: Value, other: Value, n: int) -> tuple[str, ...]:
        """Return the words of a document with most evidence for a class against another, summed over the models."""
        sums, text = defaultdict[str, float](float), _strings(document)
        for model in self.models:
            if {label, other} <= {*model.tally_.classes}:
                found = model.explain(text, against=other)[0]
                if found.label == other:
                    found = model.explain(text, against=label)[0]
                sign = -1 if found.label == other else 1
                for word, _, evidence in found.words:
                    sums[word] += sign * evidence
        return tuple(sorted(sums, key=lambda word: (-abs(sums[word]), word))[:n])

    def _columns(self, documents: Documents, log_odds: Floats) -> list[Floats]:
        log_odds[documents.missing] = np.nan
        return [np.ascontiguousarray(column) for column in log_odds.T[len(self.classes) == 2 :]]

    def _log_odds(self, model: TextClassifier, documents: Documents) -> Floats:
        """Compute ln P(class | text) / (1 − P), of probabilities that n documents justify."""
        at = positions(self.classes, model.classes_.tolist())
        proba = np.zeros((len(documents), len(at)))
        proba[:, at >= 0] = model.predict_proba(_strings(documents))[:, at[at >= 0]]
        n = float(model.tally_.n_rows)
        proba = (n * proba + 1) / (n + len(at))
        return np.asarray(logspace.log(proba) - logspace.log(np.maximum(1 - proba, 1 / (n + len(at)))))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextLogOdds) and list(map(to_bytes, self.models)) == list(map(to_bytes, other.models))

    __hash__ = None  # type: ignore[assignment]


Texts = Mapping[str, TextLogOdds]


@dataclass(frozen=True)
class TextWords:
    """The words of long documents that matter for one of the current classes against another."""

    part: TextLogOdds
    classes: tuple[Value, ...]

    def strongest_words(self, name: str, block: Block, row: int, classes: tuple[int, int], n: int) -> tuple[str, ...]:
        """Return the words that count most for one of two classes against the other; none of a short document."""
        document = block.texts[name].take(np.array([row]))
        if len(document.data) <= LONG:
            return ()
        label, other = (self.classes[c] for c in classes)
        return self.part.strongest_words(document, label, other, n)


def folds_of(documents: Documents) -> Ints:
    """Compute the fold of each document (n_rows,) from its content.

    >>> folds_of(Documents.of(["a game", "a song", "a game"])).tolist()
    [0, 1, 0]
    """
    digests = (blake2b(documents.data[a:b].data, digest_size=8) for a, b in pairwise(documents.offsets.tolist()))
    return np.array([int.from_bytes(digest.digest(), "little") % FOLDS for digest in digests], dtype=np.int64)


def _strings(documents: Documents) -> Any:
    """Return documents as an Arrow array, without copying them."""
    offsets = pa.py_buffer(documents.offsets.astype(np.int64))
    return pa.Array.from_buffers(pa.large_binary(), len(documents), [None, offsets, pa.py_buffer(documents.data)])


def fit_texts(
    rows: RowBatch, schema: Schema, classes: Sequence[Value], n_threads: int | None
) -> dict[str, TextLogOdds]:
    """Fit the text models of all text columns."""
    texts: dict[str, TextLogOdds] = {}
    labels = np.array(classes)[rows.labels]
    for name in schema.texts:
        documents, models = rows.cells[name], []
        fold = folds_of(documents)
        for k in range(FOLDS):
            others = np.flatnonzero(fold != k)
            if not len(others):
                others = np.arange(len(fold))
            weights = None if rows.weights is None else rows.weights[others]
            model = TextClassifier(n_threads=n_threads)
            models.append(model.fit(_strings(documents.take(others)), labels[others], sample_weight=weights))
        texts[name] = TextLogOdds(tuple(classes), tuple(models))
        if taken := set(texts[name].columns(name)) & {*schema.columns}:
            raise BayesError(f"column {taken.pop()!r} has the name of what text column {name!r} becomes: rename it")
    return texts


def numbers_of(texts: Texts, cells: Mapping[str, Any], is_new: bool) -> dict[str, Array]:
    """Compute the columns of numbers of all text columns, by name."""
    found: dict[str, Array] = {}
    for name, part in texts.items():
        numbers = part.of_new(cells[name]) if is_new else part.of_learned(cells[name])
        found |= zip(part.columns(name), numbers, strict=True)
    return found


def sources_of(texts: Texts) -> dict[str, str]:
    """Return the text column of each of their columns of numbers."""
    return {column: name for name, part in texts.items() for column in part.columns(name)}


def saved_texts(texts: Texts) -> dict[str, Saved]:
    """Return the text models for a file."""
    models = [model for part in texts.values() for model in part.models]
    return {f"{PART} {i}": saved_of(model, "BayesClassifier") for i, model in enumerate(models)}


def texts_from(saved: Mapping[str, Saved], held: Any, schema: Schema) -> dict[str, TextLogOdds]:
    """Restore the text models of a file; ``held`` are the classes by text column. Check that they fit the schema."""
    if list(held) != schema.texts or list(saved) != [f"{PART} {i}" for i in range(FOLDS * len(held))]:
        raise BadFile("this is not a BayesClassifier: its text models do not fit its text columns")
    models = [model_of(part) for part in saved.values()]
    if not all(isinstance(model, TextClassifier) for model in models):
        raise BadFile("this is not a BayesClassifier: it reads texts by another model than TextClassifier")
    if not all(classes and are_names(classes) for classes in held.values()):
        raise BadFile("this is not a BayesClassifier: the classes of its text models cannot be right")
    return {
        name: TextLogOdds(tuple(classes), tuple(models[FOLDS * i : FOLDS * (i + 1)]))
        for i, (name, classes) in enumerate(held.items())
    }
