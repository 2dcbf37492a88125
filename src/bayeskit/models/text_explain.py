"""Why a document was put in its class: words for and against, which sum to the log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Value
from bayeskit.data.words import Words
from bayeskit.errors import BayesError
from bayeskit.models.text_recipes import COLUMN, learnt_table
from bayeskit.printable import printable

if TYPE_CHECKING:
    from bayeskit.models.text import TextClassifier


@dataclass(frozen=True)
class WordsForAndAgainst:
    """Log odds of ``label`` against ``other``: ``total`` = ``base`` + Σ evidence of the words.

    ``base`` is what holds without any word: the class prior, for a set of words also all absent words, for weighted
    evidence the fitted bias. ``words`` are (word, count, evidence), the strongest first.
    """

    label: Value
    other: Value
    total: float
    base: float
    words: tuple[tuple[str, int, float], ...]
    n_unknown: int  # occurrences of words the model does not know

    def table(self, n: int | None = None) -> Table:
        """The words as a table, the strongest ``n``."""
        shown = self.words[:n]
        return Table({
            "word": [word for word, _, _ in shown],
            "count": [count for _, count, _ in shown],
            "evidence": [evidence for _, _, evidence in shown],
        })  # fmt: skip

    def __str__(self) -> str:
        head = f"{self.label} against {self.other}: log odds {self.total:+.4f}, of which {self.base:+.4f} without words"
        unknown = f"\n{self.n_unknown} unknown words say nothing" if self.n_unknown else ""
        head = printable(head, keep="")
        return f"{head}\n{self.table(20)}{unknown}" if self.words else f"{head}; no known word{unknown}"


def explained(
    label: int,
    other: int,
    classes: tuple[Value, ...],
    constant: npt.NDArray[np.float64],
    parts: npt.NDArray[np.float64],
    ids: npt.NDArray[Any],
    counts: npt.NDArray[Any],
    words: Words,
    n_unknown: int,
) -> WordsForAndAgainst:
    """The record of one document from what each cell adds to each class."""
    evidence = parts[:, label] - parts[:, other]
    order = np.lexsort((ids, -np.abs(evidence)))  # of equal ones the first in the alphabet
    listed = tuple((words[int(ids[i])], int(counts[i]), float(evidence[i])) for i in order)
    base = float(constant[label] - constant[other])
    return WordsForAndAgainst(classes[label], classes[other], base + float(evidence.sum()), base, listed, n_unknown)


def explain_documents(model: TextClassifier, X: Any, against: Any = None) -> list[WordsForAndAgainst]:
    """The record of each document: its class against the runner-up, or against a named class."""
    records: list[WordsForAndAgainst] = []
    labels = model.tally_.classes
    if against is not None and against not in labels:
        raise BayesError(f"there is no class {against!r} (classes: {list(labels)})")
    for block, scores in model._score(X):
        rows = block.tokens[COLUMN]
        parts, order = model.params_.parts(rows), np.argsort(-scores, axis=1, kind="stable")
        document = np.repeat(np.arange(block.n_rows), np.diff(rows.indptr))
        known = np.bincount(document, rows.counts, minlength=block.n_rows)
        for i in range(block.n_rows):
            best = int(order[i, 0])
            other = int(order[i, min(1, len(labels) - 1)]) if against is None else labels.index(against)
            at = slice(rows.indptr[i], rows.indptr[i + 1])
            unknown = int(rows.lengths[i] - known[i])
            constant = model.params_.constant if at.stop > at.start else model.params_.without_words
            records.append(
                explained(best, other, labels, constant, parts[at], rows.ids[at], rows.counts[at], rows.words, unknown)
            )
    return records


def telling_words(model: TextClassifier, n: int) -> Table:
    """The words of each class with the most evidence times their share of the class."""
    table, counts = model.params_.table, learnt_table(model._recipe, model.counted_)
    k = len(model.classes_)
    columns: dict[str, list[Any]] = {model.schema_.target.name: [], "word": [], "count": [], "evidence": []}
    for c in range(k):
        others = (table.sum(axis=1) - table[:, c]) / max(k - 1, 1)
        with np.errstate(invalid="ignore"):
            evidence = np.nan_to_num(table[:, c] - others, nan=0.0)
        weight = evidence * counts[:, c]
        strongest = np.argsort(-weight, kind="stable")[:n]
        for w in strongest[weight[strongest] > 0]:
            told = (model.tally_.classes[c], model.words_[int(w)], float(counts[w, c]), float(evidence[w]))
            for name, value in zip(columns, told, strict=True):
                columns[name].append(value)
    return Table(columns)
