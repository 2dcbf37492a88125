"""DocumentClassifier: reads and explains documents where other classifiers read and explain rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bayeskit.data.encode import Block
from bayeskit.data.files import FileSource
from bayeskit.data.schema import Schema, Target, Text
from bayeskit.data.source import Source, is_source
from bayeskit.data.table import Table
from bayeskit.data.text_files import COLUMN, FolderSource, TextColumn
from bayeskit.data.tokenizer import Tokenizer
from bayeskit.errors import BayesError
from bayeskit.models.base import Scores, TallyClassifier
from bayeskit.models.text.explain import WordsForAndAgainst, explain_documents, telling_words
from bayeskit.models.text.reading import content_hash, source_of
from bayeskit.models.text.recipe import Recipe
from bayeskit.tally.plan import Plan
from bayeskit.tally.words import WordCounts


class DocumentClassifier(TallyClassifier):
    """Takes documents where others take rows: strings, a column of text in a table or a file, a folder of files.

    A model says what a word is (``tokenizer``); the recipe that it has fitted says what is learnt of words.
    """

    column: str | None = None
    recipe_: Recipe

    def tokenizer(self, ngrams: tuple[int, int] | None = None) -> Tokenizer:
        """What a word is; ``ngrams`` in place of those of the settings."""
        raise TypeError(f"{type(self).__name__} does not say what a word is")

    def plan(self, schema: Schema) -> Plan:
        return Plan(words=(COLUMN,))

    def log_joint(self, params: Any, block: Block) -> Scores:
        scores: Scores = params.scores(block.tokens[COLUMN], self._threads())
        return scores

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

    def explain(self, X: Any, against: Any = None) -> list[WordsForAndAgainst]:
        """For each document the words for and against its class, summing to the log odds.

        ``against`` names the class to compare with; by default it is the runner-up.
        """
        self._check_is_fitted()
        return explain_documents(self, self._score(X), against)

    def telling_words(self, n: int = 10) -> Table:
        """The ``n`` words of each class that say most for it in an average document of the class.

        ``evidence`` is the word's weight for the class less its mean weight for the others; words are ranked by it
        times their share of the class.
        """
        self._check_is_fitted()
        return telling_words(self, n)

    def column_table(self, column: str) -> Table:
        """The most telling words of each class."""
        return self.telling_words()

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
        return source_of(X, y, sample_weight, self.column)

    def _labelled_source(self, source: Any, target: str | None) -> Source:
        if isinstance(source, (str, Path)) and target is None and Path(source).expanduser().is_dir():
            return FolderSource.of_classes(source, self.schema_.target.name if self._is_fitted() else "class")
        source = super()._labelled_source(source, target)
        return TextColumn.of(source, self.column) if isinstance(source, FileSource) else source

    def _score(self, X: Any) -> Iterator[tuple[Block, Scores]]:
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
