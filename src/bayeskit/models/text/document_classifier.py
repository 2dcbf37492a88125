"""DocumentClassifier: what a classifier does with rows, but with documents: read, explain, compare, draw, leave out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.files.file_source import FileSource
from bayeskit.data.missing_labels import LabelledRows
from bayeskit.data.probability_table import table_by_class
from bayeskit.data.schema import Schema, Target, Text
from bayeskit.data.sheet import Records
from bayeskit.data.source import Source, is_source
from bayeskit.data.table import Table
from bayeskit.data.text.folders import COLUMN, FolderSource, TextColumn
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.errors import BayesError, NotLearnt
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.prior import log_prior_without
from bayeskit.evaluate.metrics import cosine_similarity, cosine_to_centroids
from bayeskit.explain.work import Work
from bayeskit.models.base import TallyClassifier
from bayeskit.models.base.classifier import stacked
from bayeskit.models.text.parameters import Parameters
from bayeskit.models.text.reading import content_hash, source_of, values_matrix
from bayeskit.models.text.recipe import GenerativeRecipe, Leaving, Recipe
from bayeskit.models.text.words_for_and_against import (
    TellingWords,
    WordsForAndAgainst,
    explain_documents,
    telling_words,
)
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tally.words import WordCounts
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Floats

CELLS = 1 << 22  # of documents and classes, at a time


class DocumentClassifier(TallyClassifier):
    """Takes documents where others take rows: strings, a column of text in a table or a file, a folder of files.

    A model says what a word is (``tokenizer``); the recipe that it has fitted says what is learnt of words.
    """

    _rows_are: ClassVar[str] = "documents"
    column: str | None = None
    recipe_: Recipe

    def tokenizer(self, ngrams: tuple[int, int] | None = None, pattern: str | None = None) -> Tokenizer:
        """What a word is; ``ngrams`` in place of those of the settings, ``pattern`` where they have none."""
        raise TypeError(f"{type(self).__name__} does not say what a word is")

    def plan(self, schema: Schema) -> Plan:
        return Plan(words=(COLUMN,))

    def log_joint(self, params: Any, block: Block) -> Floats:
        texts, role, n_threads = block.texts.get(COLUMN), self.schema_.columns[COLUMN], self._threads()
        scores: Floats | None = None
        if texts is not None and isinstance(role, Text):
            scores = params.text_scores(texts, role.tokenizer, n_threads)
        return params.scores(block.tokens[COLUMN], n_threads) if scores is None else scores

    @property
    def words_(self) -> Any:
        """The vocabulary, sorted."""
        return self.tally_.words[COLUMN].words

    @property
    def counted_(self) -> WordCounts:
        """What was counted: words by class, and the lengths of documents."""
        counted: WordCounts = self.tally_.words[COLUMN]
        return counted

    # -- saying --------------------------------------------------------------------------------------

    def explain(self, X: Any, against: Any = None) -> Records[WordsForAndAgainst]:
        """For each document the words for and against its class, summing to the log odds.

        ``against`` names the class to compare with; by default it is the runner-up.
        """
        self._check_is_fitted()
        return explain_documents(self, self._score(X), against)

    def _written_factors(self, block: Block) -> list[WrittenFactor]:
        """The factors of the first document, by the recipe."""
        return cast(GenerativeRecipe, self.recipe_).written_out(block.tokens[COLUMN], self.tally_, self.params_)

    def predict_column_log_proba(self, X: Any) -> dict[str, Floats]:
        """ln P(words | class) of each document, in the order they stand (documents, classes), as the column ``text``.

        With ln P(class) it sums to ``predict_joint_log_proba``.
        """
        self._check_is_fitted()
        return {COLUMN: stacked([self._log_words(block) for block, _ in self._score(X)], len(self.classes_))}

    def _log_words(self, block: Block) -> Floats:
        """What the documents add to the class prior, which may be 0 for some class."""
        params: Any = self.params_
        return self.log_joint(replace(params, log_prior=np.zeros_like(params.log_prior)), block)

    def work(self, row: Any) -> Work:
        """The posterior of one document as it is worked by hand: every word with its counts, and the products."""
        return super().work([row] if isinstance(row, str) else row)

    def telling_words(self, n: int = 10) -> TellingWords:
        """The ``n`` words of each class that say most for it in an average document of the class.

        ``evidence`` is the word's weight for the class less its mean weight for the others; words are ranked by it
        times their share of the class.
        """
        self._check_is_fitted()
        return telling_words(self, n)

    def _column_table(self, column: str) -> Table:
        """P(word | class) of all words with their counts; of a recipe that has none, the most telling words.

        Counted are occurrences, and for a set of words the documents that have the word.
        """
        if not isinstance(self.recipe_, GenerativeRecipe):
            return self.telling_words()
        counts, shares = self.recipe_.counts_and_shares(self.tally_, self.params_)
        target, classes = self.schema_.target.name, self.tally_.classes
        return table_by_class("word", self.words_.tolist(), counts.T, shares.T, target, classes)

    # -- comparing and drawing -----------------------------------------------------------------------

    def similarity(self, X: Any, other: Any = None) -> Floats:
        """Cosine of the word counts of documents (documents, documents of ``other``, by default of ``X``)."""
        a = self.document_values(X)
        return cosine_similarity(a, a if other is None else self.document_values(other))

    def centroid_similarity(self, X: Any) -> Floats:
        """Cosine of documents to the summed words of each class (documents, classes), in the recipe's values."""
        return cosine_to_centroids(self.document_values(X), self.recipe_.learnt(self.counted_))

    def document_values(self, X: Any) -> Any:
        """Documents by words (CSR, words in the order of ``words_``), in the values that the recipe learns."""
        self._check_is_fitted()
        parts = []
        for block in self._encoder().blocks(source_of(X, column=self.column)):
            rows = block.tokens[COLUMN]
            parts.append(values_matrix(rows, self.recipe_.values(rows)))
        from scipy.sparse import vstack

        return parts[0] if len(parts) == 1 else vstack(parts, format="csr")

    def document_log_likelihood(self, X: Any, coefficient: bool = True, length: bool = False) -> Floats:
        """ln P(document | class) (documents, classes).

        For "multinomial" with the multinomial coefficient ℓ!/Πn! and, where ``length``, P(ℓ), which is the same
        for all classes: Poisson with the mean number of words. A set of words has neither.
        """
        self._check_is_fitted()
        parts, recipe = [], cast(GenerativeRecipe, self.recipe_)
        for block, _ in self._score(X):
            scores = self._log_words(block)
            for term in recipe.shared_terms(block.tokens[COLUMN], self.counted_, coefficient, length):
                scores = scores + term[:, None]
            parts.append(scores)
        return np.concatenate(parts)

    def score_samples(self, X: Any) -> Floats:
        """ln P(document), with length term and multinomial coefficient; known words alone."""
        likelihood = self.document_log_likelihood(X, coefficient=True, length=True)
        return logspace.log_sum_exp(likelihood + self.params_.log_prior)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[list[str], Array]:
        """Documents drawn from the model and their classes: one coin a word, or a length and then words."""
        self._check_is_fitted()
        rng = np.random.default_rng(random_state if random_state is not None else self.random_state)
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(self.params_.log_prior))
        recipe = cast(GenerativeRecipe, self.recipe_)
        return recipe.draw(self.params_, self.counted_, labels, rng), self.classes_[labels]

    # -- reading -------------------------------------------------------------------------------------

    def _schema_for(self, source: Source) -> Schema:
        if self.schema is not None:
            return super()._schema_for(source)
        return Schema({COLUMN: Text(self.tokenizer())}, Target(source.target or "class"), named=False)

    def _labelled(self, X: Any, y: Any, sample_weight: Any) -> Source:
        if is_source(X):
            return self._labelled_source(X, y)
        if y is None:
            raise BayesError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        return self._with_labels(source_of(X, y, sample_weight, self.column))

    def _labelled_source(self, source: Any, target: str | None, engine: Any = None) -> Source:
        if isinstance(source, (str, Path)) and target is None and Path(source).expanduser().is_dir():
            folder = FolderSource.of_classes(source, self.schema_.target.name if self._is_fitted() else "class")
            return folder if engine is None else super()._labelled_source(folder, None, engine)
        rows = super()._labelled_source(source, target)
        plain = rows.source if isinstance(rows, LabelledRows) else rows
        if isinstance(plain, FileSource):
            rows = self._with_labels(plain := TextColumn.of(plain, self.column))
        return rows if engine is None else super()._labelled_source(plain, None, engine)

    def _score(self, X: Any) -> Iterator[tuple[Block, Floats]]:
        self._check_is_fitted()
        texts = X if is_source(X) else {COLUMN: source_of(X, column=self.column).columns[COLUMN]}
        for block, scores in super()._score(texts):
            if self.ties == "random":  # drawn by what the document says
                block = replace(block, codes={COLUMN: content_hash(block.tokens[COLUMN])})
            yield block, scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        tags.input_tags.categorical = False
        tags.input_tags.one_d_array = True
        return tags

    def _is_its_counts(self) -> bool:
        """Whether more documents make it the model that a fit on all of them gives: nothing is fitted, no word cut."""
        self._check_is_fitted()
        cut = self.min_df not in (0, 1) or self.max_df != 1.0 or self.max_features is not None
        return type(self.recipe_).learn is Recipe.learn and not cut


class TextLeftOut:
    """Scores of documents that the model has learnt, each without itself."""

    def __init__(self, recipe: Recipe, tally: Tally, params: Parameters, prior: Any) -> None:
        self.recipe, self.tally, self.params = recipe, tally, params
        self.prior = prior
        self.counts = tally.class_counts.astype(np.float64)

    def scores(self, block: Block) -> Floats:
        """Scores (documents, classes); −∞ for a class that only the document shows."""
        labels = block.labels
        if labels is None or (labels >= len(self.counts)).any():
            raise NotLearnt("a document to leave out has a class that was never learnt")
        labels = labels.astype(np.int64)
        unit = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        rows = block.tokens[COLUMN]
        scores = np.empty((block.n_rows, len(self.counts)))
        step = max(1, CELLS * max(block.n_rows, 1) // max(len(rows.ids) * len(self.counts), 1))
        for start in range(0, block.n_rows, step):
            part = np.arange(start, min(start + step, block.n_rows))
            leaving = Leaving(rows.take(part), labels[part], unit[part])
            scores[part] = self.recipe.left_out(self.tally, self.params, leaving)
        scores += self._priors(labels, unit)
        alone = self.counts[labels] - unit <= GONE * self.counts.sum()
        scores[np.flatnonzero(alone), labels[alone]] = -np.inf
        return scores

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without ``unit`` documents of a class."""
        return log_prior_without(self.prior, self.tally.classes, self.counts, label, unit)

    def _priors(self, labels: Any, unit: Floats) -> Floats:
        scores = np.empty((len(labels), len(self.counts)))
        for label, u in {*zip(labels.tolist(), unit.tolist(), strict=True)}:
            scores[(labels == label) & (unit == u)] = self.log_prior(label, u)
        return scores
