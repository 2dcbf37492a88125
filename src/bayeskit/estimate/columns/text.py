"""Texts inside naive Bayes: the words of a column are drawn one by one, given the class (multinomial)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.text.tokens import TokenRows
from bayeskit.data.text.word_list import Words
from bayeskit.errors import BayesError
from bayeskit.estimate.columns.column import Columns, Leaving, LeftOutColumns, Settings
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.word_weights import (
    LeftOutDocuments,
    LeftOutWords,
    WordWeights,
    bag_factors,
    multinomial_of,
    pseudo_counts,
    sample_bags,
)
from bayeskit.tables import ProbabilityTable
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Array, Floats, Ints


@dataclass(frozen=True)
class TextTable:
    """ln P(word | class) of a column (words, classes), and the pseudo-counts in it (words,)."""

    vocabulary: Words
    weights: WordWeights
    pseudo: Floats

    def add_scores(self, rows: TokenRows, scores: Floats, n_threads: int) -> None:
        """Σ count · ln P(word | class) of each document; unknown words and missing documents add nothing."""
        values = rows.counts.astype(np.float64)
        kernels.score_rows(rows.indptr, rows.ids, values, self.weights.table, scores, n_threads)

    def left_out(self, rows: TokenRows, counted: WordCounts, labels: Ints, unit: Floats) -> Floats:
        """The same under the counts without the document itself, of this class and weight."""
        values = rows.counts.astype(np.float64)
        taken = values * np.repeat(unit, np.diff(rows.indptr))
        documents = LeftOutDocuments(rows.indptr, rows.ids, taken, values, labels, unit)
        return LeftOutWords(counted.table().astype(np.float64), self.pseudo, documents).multinomial()


def text_table(counted: WordCounts, smoothing: Any) -> TextTable:
    """P(w | c) = (n_cw + α) / (N_c + αm) over the m words seen in any class."""
    pseudo = pseudo_counts(smoothing, counted.words, counted.table())
    return TextTable(counted.words, multinomial_of(counted, pseudo), pseudo)


@dataclass(frozen=True, eq=False)
class TextColumns(Columns):
    """Word probabilities and word counts of each text column."""

    kind = "text"
    statistic = "words"
    smoothed = True
    names: tuple[str, ...]
    tables: Mapping[str, TextTable]
    counted: Mapping[str, WordCounts]

    @classmethod
    def estimate(cls, names: Sequence[str], tally: Tally, settings: Settings) -> Self:
        """P(word | class) under the smoothing of each column."""
        words = {name: tally.words[name] for name in names}
        smoothing = {name: settings._setting_for("smoothing", name, tally.schema) for name in names}
        return cls(tuple(names), {n: text_table(words[n], smoothing[n]) for n in names}, words)

    @property
    def used(self) -> tuple[str, ...]:
        """Return all columns."""
        return self.names

    @cached_property
    def words(self) -> Mapping[str, Words]:
        """Return the known words."""
        return {name: table.vocabulary for name, table in self.tables.items()}

    def add_scores(self, block: Block, scores: Floats, n_threads: int) -> None:
        """Add the scores of one column after the other."""
        for name, table in self.tables.items():
            table.add_scores(block.tokens[name], scores, n_threads)

    def scores(self, name: str, cells: Array) -> Floats:
        """Raise an error: documents have no codes."""
        raise BayesError(f"column {name!r} is text, whose words are no values to list here")

    def term(self, name: str, block: Block, n_threads: int) -> Floats:
        """Return the sum over the words of each document."""
        table = self.tables[name]
        scores = np.zeros((block.n_rows, table.weights.table.shape[1]))
        table.add_scores(block.tokens[name], scores, n_threads)
        return scores

    def write_factors(self, name: str, block: Block, tally: Tally) -> list[WrittenFactor]:
        """Return a factor for each word of the document."""
        return bag_factors(block.tokens[name], tally.words[name], self.tables[name].pseudo, name)

    def table(self, name: str, tally: Tally) -> ProbabilityTable:
        """Return counts and probabilities of the words by class."""
        counts, shares = tally.words[name].table(), logspace.exp(self.tables[name].weights.table)
        columns: dict[str, Any] = {name: self.tables[name].vocabulary.tolist()}
        columns |= {f"count | {c}": counts[:, i].tolist() for i, c in enumerate(tally.classes)}
        columns |= {f"P({name} | {c})": shares[:, i].tolist() for i, c in enumerate(tally.classes)}
        return ProbabilityTable(
            columns,
            variable=name,
            values=columns[name],
            given=tally.schema.target.name,
            contexts=tally.classes,
            shares=shares.T,
        )

    def sample(self, name: str, labels: Array, rng: np.random.Generator) -> Any:
        """Draw documents of words in random order."""
        table = self.tables[name]
        return sample_bags(table.vocabulary, table.weights.table, self.counted[name], labels, rng)

    def n_parameters(self) -> int:
        """Return the number of words less one, for each class."""
        tables = self.tables.values()
        return sum(table.weights.table.shape[1] * max(len(table.vocabulary) - 1, 0) for table in tables)

    def left_out(self, tally: Tally, settings: Settings) -> LeftOutColumns:
        """Return the columns without the document itself."""
        return LeftOutTexts(self)


@dataclass(frozen=True, eq=False)
class LeftOutTexts(LeftOutColumns):
    """Texts without one row."""

    columns: TextColumns

    def row_terms(self, leaving: Leaving) -> Iterator[tuple[str, Floats]]:
        """Yield each column with the scores of its documents."""
        rows = leaving.rows
        labels, unit = leaving.labels[rows].astype(np.int64), leaving.unit[rows]
        for name, table in self.columns.tables.items():
            tokens = leaving.block.tokens[name].take(rows)
            yield name, table.left_out(tokens, self.columns.counted[name], labels, unit)
