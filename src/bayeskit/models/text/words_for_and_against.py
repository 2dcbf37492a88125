"""Why a document was put in its class: words for and against, which sum to the log odds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.explain.evidence import class_position, compared
from bayeskit.tables.sheet import Readable, Records, Sheet
from bayeskit.tables.table import Table
from bayeskit.typing import Floats

if TYPE_CHECKING:
    from bayeskit.models.text.document_classifier import DocumentClassifier

SHOWN = 20  # words of a document that its record shows
HALVES = ("by counts", "by fit")


@dataclass(frozen=True, repr=False)
class WordsForAndAgainst(Readable, Drawable):
    """Log odds of ``label`` against ``other``: ``total`` = ``base`` + Σ evidence of the words.

    ``base`` is what holds without any word: the class prior, for a set of words also all absent words, for weighted
    evidence the fitted bias. ``words`` are (word, count, evidence), the strongest first; evidence is infinite where
    the word never occurs in one of the two classes (without smoothing), NaN where in neither. ``undecidable``: the
    document is impossible under every class, its class and ``total`` are those of the prior, and the words are listed
    but left out of the sum. ``halves`` are, for recipe "best", the parts of each word's evidence: what the counts say,
    and what the linear half adds.
    """

    label: Value
    other: Value
    total: float
    base: float
    words: tuple[tuple[str, int, float], ...]
    n_unknown: int  # occurrences of words the model does not know
    undecidable: bool = False
    halves: tuple[tuple[float, float], ...] = ()

    def table(self, n: int | None = None) -> Table:
        """The words as a table, the strongest ``n``."""
        shown = self.words[:n]
        return Table({
            "word": [word for word, _, _ in shown],
            "count": [count for _, count, _ in shown],
            "evidence": [evidence for _, _, evidence in shown],
            **{name: [parts[i] for parts in self.halves[:n]] for i, name in enumerate(HALVES) if self.halves},
        })  # fmt: skip

    @property
    def sheet(self) -> Sheet:
        """The log odds, and the strongest words."""
        odds = f"log odds {self.total:+.4f}, of which {self.base:+.4f} without words"
        if self.undecidable:
            odds = f"undecidable, impossible under every class; log odds {self.total:+.4f} by the prior alone"
        head = f"{self.label} against {self.other}: {odds}"
        unknown = (f"{self.n_unknown} unknown words say nothing",) if self.n_unknown else ()
        if not self.words:
            return Sheet(f"{head}; no known word", unknown)
        grid = replace(self.table(SHOWN).grid, more=max(len(self.words) - SHOWN, 0))
        return Sheet(head, (grid, *unknown))


def explain_documents(
    model: DocumentClassifier, scored: Iterable[tuple[Block, Floats]], against: Any = None
) -> Records[WordsForAndAgainst]:
    """The record of each document of scored blocks: its class against the runner-up, or against a named class."""
    records: list[WordsForAndAgainst] = []
    labels, params = model.tally_.classes, model.params_
    rival = None if against is None else class_position(against, labels)
    for block, scores in scored:
        rows = block.tokens[COLUMN]
        odds = compared(model, scores, block, params.log_prior, rival)
        each = np.arange(block.n_rows)
        document = np.repeat(each, np.diff(rows.indptr))
        parts, halves, cells = params.parts(rows), params.halves(rows), np.arange(len(document))
        base = np.where(odds.undecidable[:, None], params.log_prior, params.without_words(rows))
        with np.errstate(invalid="ignore"):  # −∞ − −∞: a word of neither class
            evidence = parts[cells, odds.chosen[document]] - parts[cells, odds.rivals[document]]
            by_half = [half[cells, odds.chosen[document]] - half[cells, odds.rivals[document]] for half in halves]
            bases = np.where(odds.chosen == odds.rivals, 0.0, base[each, odds.chosen] - base[each, odds.rivals])
        unknown = rows.lengths - np.bincount(document, rows.counts, minlength=block.n_rows)
        strength = np.where(np.isnan(evidence), np.inf, np.abs(evidence))
        for i in range(block.n_rows):
            at = np.arange(rows.indptr[i], rows.indptr[i + 1])
            at = at[np.lexsort((rows.ids[at], -strength[at]))]  # of equal ones the first in the alphabet
            words = tuple((rows.words[int(rows.ids[k])], int(rows.counts[k]), float(evidence[k])) for k in at)
            label, other = labels[odds.chosen[i]], labels[odds.rivals[i]]
            total, undecidable = float(odds.log_odds[i]), bool(odds.undecidable[i])
            each_half = tuple(zip(*(half[at].tolist() for half in by_half), strict=True))
            records.append(
                WordsForAndAgainst(label, other, total, float(bases[i]), words, int(unknown[i]), undecidable, each_half)
            )
    return Records(records)


class TellingWords(Table, Drawable):
    """The words that say most for each class: class, word, count and evidence."""


def telling_words(model: DocumentClassifier, n: int) -> TellingWords:
    """The words of each class with the most evidence times their share of the class.

    Evidence is infinite of a word that no other class has, without smoothing; ∞ − ∞ tells nothing.
    """
    table, counts = model.params_.table, model.recipe_.learnt(model.counted_)
    k = len(model.classes_)
    columns: dict[str, list[Any]] = {model.schema_.target.name: [], "word": [], "count": [], "evidence": []}
    is_finite = bool(np.isfinite(table).all())
    for c in range(k):
        with np.errstate(invalid="ignore"):
            total = table.sum(axis=1) - table[:, c] if is_finite else np.delete(table, c, axis=1).sum(axis=1)
            evidence = _no_nan(table[:, c] - total / max(k - 1, 1))
            weight = _no_nan(evidence * counts[:, c])
        strongest = np.argsort(-weight, kind="stable")[:n]
        for w in strongest[weight[strongest] > 0]:
            record = (model.tally_.classes[c], model.words_[int(w)], float(counts[w, c]), float(evidence[w]))
            for name, value in zip(columns, record, strict=True):
                columns[name].append(value)
    return TellingWords(columns)


def _no_nan(numbers: Floats) -> Floats:
    return np.where(np.isnan(numbers), 0.0, numbers)
