"""Texts inside naive Bayes: the words of a column are drawn one by one, given the class (multinomial)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError
from bayeskit.estimate import word_weights
from bayeskit.estimate.columns.column import Columns, Leaving, LeftOutColumns, Settings, probability_table
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.tables import ProbabilityTable
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Array, Floats


@dataclass(frozen=True, eq=False)
class TextColumns(Columns):
    """Words of each text column: their counts, ln P(word | class) (n_words, n_classes), and pseudo-counts (n_words,).

    P(w | c) = (n_cw + α) / (N_c + αm) over the m words seen in any class.
    """

    kind = "text"
    statistic = "words"
    smoothed = True
    names: tuple[str, ...]
    counted: Mapping[str, WordCounts]
    log_tables: dict[str, Floats]
    pseudo: Mapping[str, Floats]

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """P(word | class) under the smoothing of each column."""
        counted = {name: tally.words[name] for name in names}
        pseudo = {
            name: word_weights.pseudo_counts(
                settings._setting_for("smoothing", name, tally.schema), words.words, words.table()
            )
            for name, words in counted.items()
        }
        tables = {name: word_weights.multinomial_of(words, pseudo[name]).table for name, words in counted.items()}
        return cls(tuple(names), counted, tables, pseudo)

    @property
    def used(self) -> tuple[str, ...]:
        """Return all columns."""
        return self.names

    @cached_property
    def words(self) -> Mapping[str, Words]:
        """Return the known words."""
        return {name: counted.words for name, counted in self.counted.items()}

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add Σ count · ln P(word | class) of each document; unknown words and missing documents add nothing."""
        for name in self.names:
            self._add_term(name, block, scores, n_threads)

    def _add_term(self, name: str, block: Block, scores: Floats, n_threads: int) -> None:
        rows = block.tokens[name]
        values = rows.counts.astype(np.float64)
        kernels.score_rows(rows.indptr, rows.ids, values, self.log_tables[name], scores, n_threads)

    def scores(self, name: str, cells: Array) -> Floats:
        """Raise an error: documents have no codes."""
        raise BayesError(f"column {name!r} is text, whose words are not values to list here")

    def term(self, name: str, block: Block, n_threads: int) -> Floats:
        """Return the sum over the words of each document."""
        scores = np.zeros((block.n_rows, self.log_tables[name].shape[1]))
        self._add_term(name, block, scores, n_threads)
        return scores

    def strongest_words(self, name: str, block: Block, row: int, classes: tuple[int, int], n: int) -> tuple[str, ...]:
        """Return the words of a document that count most for one of two classes against the other."""
        rows, table = block.tokens[name], self.log_tables[name]
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        ids, (a, b) = rows.ids[part], classes
        with np.errstate(invalid="ignore"):  # a word that neither class has
            evidence = np.nan_to_num(np.abs(rows.counts[part] * (table[ids, a] - table[ids, b])))
        return tuple(self.words[name][int(ids[i])] for i in np.argsort(-evidence, kind="stable")[:n])

    def write_factors(self, name: str, block: Block, tally: Tally) -> list[WrittenFactor]:
        """Return a factor for each word of the document."""
        return word_weights.bag_factors(block.tokens[name], tally.words[name], self.pseudo[name], name)

    def table(self, name: str, tally: Tally) -> ProbabilityTable:
        """Return counts and probabilities of the words by class."""
        counts, shares = tally.words[name].table(), logspace.exp(self.log_tables[name])
        return probability_table(name, self.words[name].tolist(), counts.T, shares.T, tally)

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw documents of words in random order."""
        return word_weights.sample_bags(self.words[name], self.log_tables[name], self.counted[name], labels, rng)

    def n_parameters(self) -> int:
        """Return the number of words less one, for each class."""
        return sum(table.shape[1] * max(table.shape[0] - 1, 0) for table in self.log_tables.values())

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the columns without the document itself."""
        return LeftOutTexts(self)


@dataclass(frozen=True, eq=False)
class LeftOutTexts(LeftOutColumns):
    """Texts without one row."""

    columns: TextColumns

    def row_terms(self, leaving: Leaving) -> Iterator[tuple[str, Floats]]:
        """Yield each column with the scores of its documents."""
        labels, unit = leaving.labels[leaving.rows].astype(np.int64), leaving.unit[leaving.rows]
        for name, counted in self.columns.counted.items():
            rows = leaving.block.tokens[name].take(leaving.rows)
            values = rows.counts.astype(np.float64)
            taken = values * np.repeat(unit, np.diff(rows.indptr))
            documents = word_weights.LeftOutDocuments(rows.indptr, rows.ids, taken, values, labels, unit)
            left = word_weights.LeftOutWords(counted.table().astype(np.float64), self.columns.pseudo[name], documents)
            yield name, left.multinomial()
