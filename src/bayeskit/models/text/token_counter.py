"""TokenCounter: convert documents to a matrix of counts or tf-idf, with the parameters of CountVectorizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import WordLimits, Words, unpack_words
from bayeskit.errors import BayesError
from bayeskit.estimate.word_weights import cosine_normalized, inverse_document_frequency
from bayeskit.evaluate.metrics import cosine_similarity
from bayeskit.models.base.estimator import Transforms, as_wanted, check_is_fitted
from bayeskit.typing import Array, Bools, Floats, Ints

# Token patterns of scikit-learn that the native tokenizer supports.
NATIVE = {r"(?u)\b\w\w+\b": "words", r"(?u)\b\w+\b": "words1", r"(?u)\w+|[^\w\s]": "words_and_punctuation"}


@dataclass(eq=False, repr=False, kw_only=True)
class TokenCounter(Transforms):
    """Count the words of documents, as a CSR matrix (n_documents, n_words) for any model.

    Parameters, vocabulary and matrix are those of scikit-learn's ``CountVectorizer``. Words, n-grams of words and of
    characters are cut natively; another ``token_pattern``, or your own ``tokenizer``, ``preprocessor`` or ``analyzer``,
    runs in Python. Documents are strings, bytes or files, in a list, a series or an Arrow column.

    Parameters
    ----------
    input : {"content", "filename", "file"}, default="content"
        What the documents are: texts, names of files, or open files.
    encoding : str, default="utf-8"
    decode_error : {"strict", "ignore", "replace"}, default="strict"
        How bytes are handled that are not valid in the encoding.
    strip_accents, lowercase, preprocessor, tokenizer, stop_words, token_pattern, ngram_range, analyzer
        Definition of a token, as in ``CountVectorizer``.
    max_df, min_df : int or float, default=1.0 and 1
        Tokens in more or fewer documents (a count, or a share if a float) are left out.
    max_features : int, default=None
        Keep only so many tokens, the most frequent ones.
    vocabulary : mapping or iterable of str, default=None
        The tokens to count, in the order of the columns or as a mapping from token to column.
    binary : bool, default=False
        1 instead of every positive count.
    dtype : dtype, default=int64
        Type of the counts in the matrix.
    hash_bits : int, default=None
        Count tokens in 2^hash_bits buckets instead of by name.
    n_threads : int, default=None
        None for all cores.
    tf_idf : bool, default=False
        f · ln(N/df) instead of counts f, with the N documents of the fit.
    normalize : bool, default=True
        Divide the tf-idf of each document by its length, so that it has length one.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Column of each word.
    idf_ : ndarray of shape (n_words,)
    n_documents_ : int
        Number of documents of the fit.
    fixed_vocabulary_ : bool
        True if the vocabulary was given.

    Examples
    --------
    >>> counter = TokenCounter()
    >>> counter.fit_transform(["A very close game", "a great game, a great match"]).toarray()
    array([[1, 1, 0, 0, 1],
           [0, 1, 2, 1, 0]])
    >>> counter.get_feature_names_out().tolist()
    ['close', 'game', 'great', 'match', 'very']
    >>> TokenCounter(tf_idf=True).fit(["a cat sat", "the cat", "the dog"]).idf_.round(6).tolist()   # ln 3/2, ln 3, …
    [0.405465, 1.098612, 1.098612, 0.405465]
    """

    input: str = "content"
    encoding: str = "utf-8"
    decode_error: str = "strict"
    strip_accents: Any = None
    lowercase: bool = True
    preprocessor: Any = None
    tokenizer: Any = None
    stop_words: Any = None
    token_pattern: str | None = r"(?u)\b\w\w+\b"
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: Any = "word"
    max_df: float = 1.0
    min_df: float = 1
    max_features: int | None = None
    vocabulary: Any = None
    binary: bool = False
    dtype: Any = np.int64
    hash_bits: int | None = None
    n_threads: int | None = None
    tf_idf: bool = False
    normalize: bool = True

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary of documents.

        Parameters
        ----------
        raw_documents : documents
        y : None, optional
            Ignored.

        Returns
        -------
        self
        """
        self.fit_transform(raw_documents)
        return self

    @as_wanted
    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary of documents and count their words.

        Parameters
        ----------
        raw_documents : documents
        y : None, optional
            Ignored.

        Returns
        -------
        CSR matrix of shape (n_documents, n_words)

        Raises
        ------
        BayesError
            If no word is left, a document is missing, or its bytes are not valid in the encoding.
        """
        self._check_limits()
        if self.vocabulary is not None:
            self._words, self._columns = _read_vocabulary(self.vocabulary)
            self.fixed_vocabulary_ = True
            counts = self._counts_of(raw_documents)
            self._document_frequency, self.n_documents_ = _frequency(counts), counts.shape[0]
            return self._set_values(counts)
        rows = self._count(raw_documents, None)
        matrix, words = rows.matrix(self.dtype), rows.words
        if not len(words):
            raise BayesError(
                "empty vocabulary; perhaps the documents only contain stop words, or words of one letter, which "
                f"token_pattern={self.token_pattern!r} may leave out"
            )
        self.fixed_vocabulary_ = False
        keep = self._choose(words, rows.totals(), len(rows.lengths))
        if not keep.all():
            matrix = matrix[:, np.flatnonzero(keep)]
        return self._set_values(matrix)

    def partial_fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn more documents; vocabulary and limits are then those of all documents.

        Parameters
        ----------
        raw_documents : documents
        y : None, optional
            Ignored.

        Returns
        -------
        self
        """
        if self.vocabulary is not None and hasattr(self, "_document_frequency"):
            counts = self._counts_of(raw_documents)
            self._document_frequency = self._document_frequency + _frequency(counts)
            self.n_documents_ += counts.shape[0]
            return self
        if self.vocabulary is not None or not hasattr(self, "_all_words"):
            return self.fit(raw_documents)
        self._check_limits()
        rows = self._count(raw_documents, None)
        self._choose(*rows.add_totals(self._all_words, self._totals), self.n_documents_ + len(rows.lengths))
        return self

    @as_wanted
    def transform(self, raw_documents: Any) -> Any:
        """Count the known words of documents, or compute their tf-idf.

        Parameters
        ----------
        raw_documents : documents

        Returns
        -------
        CSR matrix of shape (n_documents, n_words)
        """
        self._check_is_fitted()
        return self._set_values(self._counts_of(raw_documents))

    def similarity(self, raw_documents: Any, other: Any = None) -> Floats:
        """Compute the cosine similarity of documents.

        Parameters
        ----------
        raw_documents : documents
        other : documents, optional
            By default ``raw_documents``.

        Returns
        -------
        ndarray of shape (n_documents, n_other)

        Examples
        --------
        >>> counter = TokenCounter(tf_idf=True).fit(["a cat sat", "the cat", "the dog"])
        >>> counter.similarity(["the cat", "a dog"], ["cat"]).round(4).tolist()
        [[0.7071], [0.0]]
        """
        self._check_is_fitted()
        one = self._set_values(self._counts_of(raw_documents))
        return cosine_similarity(one, one if other is None else self._set_values(self._counts_of(other)))

    @property
    def idf_(self) -> Floats:
        """ln(N / df) of each word (n_words,): 0 for a word that every document has."""
        self._check_is_fitted()
        if not hasattr(self, "_document_frequency"):
            raise AttributeError(
                f"{type(self).__name__} has no idf_: the vocabulary was given, and no document is learned yet"
            )
        return inverse_document_frequency(self._document_frequency.astype(np.float64), self.n_documents_)

    def inverse_transform(self, X: Any) -> list[Array]:
        """List the words of each row of counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_words)

        Returns
        -------
        list of ndarray of str

        Raises
        ------
        BayesError
            If X is not a matrix of numbers with a column for each word.
        """
        from scipy.sparse import csr_matrix

        names = self.get_feature_names_out()
        try:
            matrix = csr_matrix(X)
        except (TypeError, ValueError) as problem:
            raise BayesError(f"X is not a matrix of counts: {problem}") from None
        if matrix.shape[1] != len(names):
            raise BayesError(f"X has {matrix.shape[1]:,} columns: give one for each of the {len(names):,} words")
        cells = pairwise(matrix.indptr)
        return [names[matrix.indices[a:b][matrix.data[a:b] != 0]] for a, b in cells]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the words in the order of the columns.

        Parameters
        ----------
        input_features : None, optional
            Ignored.

        Returns
        -------
        ndarray of shape (n_words,)
        """
        self._check_is_fitted()
        names = np.array(self._words.tolist(), dtype=object)
        return names if self._columns is None else names[self._columns]

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Column of each word."""
        self._check_is_fitted()
        return self._vocabulary

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.get_feature_names_out().tolist())}

    def build_analyzer(self) -> Any:
        """Return a Python function from a document to its tokens.

        Returns
        -------
        callable
        """
        return self._tokenizer().analyzer()

    # -- inside --------------------------------------------------------------------------------------

    def _count(self, raw_documents: Any, words: Words | None) -> TokenRows:
        documents = Documents.of(self._content(raw_documents))
        if documents.missing.any():
            row = int(np.argmax(documents.missing))
            raise BayesError(
                f"row {row} is missing (None or np.nan is an invalid document): give an empty string instead"
            )
        rows = count_documents(documents, self._tokenizer(), words, self._threads())
        if self.decode_error == "strict" and rows.replaced > documents.replaced:
            _check_utf8(documents)
        return rows

    def _counts_of(self, raw_documents: Any) -> Any:
        """Count the known words (n_documents, n_words)."""
        matrix = self._count(raw_documents, self._words).matrix(self.dtype)
        if self._columns is not None:
            matrix = matrix[:, self._columns]
            matrix.sort_indices()
        return matrix

    def _content(self, raw_documents: Any) -> Any:
        """Return texts; read files and decode bytes of another encoding."""
        plain = self.encoding.lower().replace("_", "-") in ("utf-8", "utf8") and self.decode_error != "ignore"
        if self.input == "content" and (plain or _is_text(raw_documents)):
            return raw_documents
        decode = self._count_vectorizer().decode
        return [decode(document) for document in raw_documents]

    def _tokenizer(self) -> Tokenizer:
        own = self.strip_accents is None and self.preprocessor is None
        if own and self.analyzer == "word" and self.tokenizer is None and self.token_pattern in NATIVE:
            pattern = NATIVE[self.token_pattern]
            return Tokenizer(pattern, self.ngram_range, self.lowercase, self.stop_words, self.hash_bits)
        if own and self.analyzer in ("char", "char_wb"):
            return Tokenizer(self.analyzer, self.ngram_range, self.lowercase, None, self.hash_bits)
        # It does everything but hashing.
        analyze = self._count_vectorizer().build_analyzer()
        return Tokenizer(analyze, (1, 1), lowercase=False, hash_bits=self.hash_bits)

    def _count_vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        names = CountVectorizer().get_params()
        return CountVectorizer(**{name: value for name, value in self.get_params().items() if name in names})

    def _choose(self, words: Words, totals: Ints, n_documents: int) -> Bools:
        """Store the totals of all words, and keep the words within the limits."""
        vars(self).pop("_vocabulary", None)
        self._all_words, self._totals, self.n_documents_ = words, totals, n_documents
        documents, counts = totals
        limits = WordLimits.of(self)
        low, high = (df * n_documents if isinstance(df, float) else df for df in limits[:2])
        if high < low:
            raise BayesError("max_df corresponds to < documents than min_df")
        keep = limits.choose((documents, documents if self.binary else counts), n_documents, "quicksort")
        if not keep.any():
            raise BayesError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        self._words, self._columns = words if keep.all() else words.take(keep), None
        self._document_frequency = documents[keep]
        return keep

    def _check_limits(self) -> None:
        WordLimits.of(self).check()
        if self.input not in ("content", "filename", "file"):
            raise BayesError(f"input={self.input!r} is not one of 'content', 'filename', 'file'")

    def _set_values(self, matrix: Any) -> Any:
        """Convert counts to presence or tf-idf, by the settings."""
        if self.binary:
            matrix.data.fill(1)
        if self.tf_idf:
            counts = matrix.data.astype(np.float64)
            matrix = matrix.astype(np.float64)
            raw = counts * self.idf_[matrix.indices]
            matrix.data = cosine_normalized(raw, matrix.indptr) if self.normalize else raw
        return matrix

    def _check_is_fitted(self) -> None:
        if not hasattr(self, "_words") and self.vocabulary is not None and not self.tf_idf:
            # As in CountVectorizer, there is nothing to learn.
            self._words, self._columns = _read_vocabulary(self.vocabulary)
            self.fixed_vocabulary_ = True
        check_is_fitted(self, "documents")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_words") or (self.vocabulary is not None and not self.tf_idf)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_vocabulary"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _is_text(documents: Any) -> bool:
    """Return True if a column can hold only strings."""
    kind = getattr(documents, "type", getattr(documents, "dtype", None))
    return str(kind) in ("string", "large_string", "str", "String")


def _frequency(counts: Any) -> Ints:
    """Count the documents that have each word (n_words,)."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def _read_vocabulary(vocabulary: Any) -> tuple[Words, Ints | None]:
    """Return (sorted words of a given vocabulary, word of each column or None if columns are sorted)."""
    if isinstance(vocabulary, Mapping):
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise BayesError("Vocabulary contains repeated indices or doesn't contain every index from 0 on.")
        names = sorted(vocabulary, key=lambda word: vocabulary[word])
    elif isinstance(vocabulary, Iterable) and not isinstance(vocabulary, str):
        names = sorted(vocabulary) if isinstance(vocabulary, (set, frozenset)) else list(vocabulary)
    else:
        raise BayesError("vocabulary is a mapping from words to columns, or a list of words")
    if not names:
        raise BayesError("empty vocabulary passed to fit")
    words = Words.of(names)
    if len(words) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BayesError(f"Duplicate term in vocabulary: {twice!r}")
    columns = words.positions(names)
    return words, None if np.array_equal(columns, np.arange(len(names))) else columns


def _check_utf8(documents: Documents) -> None:
    """Raise an error for the first document that is not valid UTF-8."""
    for row, raw in enumerate(unpack_words(documents.data, documents.offsets)):
        try:
            raw.decode()
        except UnicodeDecodeError as problem:
            hint = 'give its encoding=, or pass decode_error="replace"'
            raise BayesError(f"row {row} is not UTF-8 ({problem}):", hint=hint) from None
