"""Scores of documents by two sums over their words: straight from the text, from counts, and as the formula says."""

import numpy as np
import pytest

from bayeskit import kernels
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokens import Tokenizer, count_documents, cut_of
from bayeskit.data.text.word_list import Words

from . import reference

SYLLABLES = ["a", "é", "game", "The", "ΟΔΟΣ", "!", "...", "_", "x" * 62, "y" * 130, "don't", "\t", "co-op"]
TOKENIZERS = [
    Tokenizer("words_and_punctuation", (1, 2)),
    Tokenizer("words_and_punctuation", (2, 2)),
    Tokenizer("words", (1, 2), stop_words=["game"]),
    Tokenizer("words1", (1, 1), lowercase=False),
    Tokenizer("words1", (1, 3)),
    Tokenizer("char_wb", (2, 3)),
    Tokenizer("words", (1, 2), hash_bits=4),
]


def drawn(seed: int, tokenizer: Tokenizer, n_classes: int) -> tuple[Documents, Words, tuple]:
    """Documents, some of the words that they have, and a table of these."""
    rng = np.random.default_rng(seed)
    ascii_only = [syllable for syllable in SYLLABLES if syllable.isascii()]
    texts = [" ".join(rng.choice(ascii_only if i % 2 else SYLLABLES, rng.integers(0, 60))) for i in range(40)]
    shown = count_documents(texts, tokenizer).words
    words = shown.take(rng.random(len(shown)) < 0.7)  # of a run neither part need be there
    table = rng.normal(size=(len(words), 2 + 3 * n_classes))
    table[:, 0], table[:, 1] = [" " in word for word in words], rng.random(len(words)) * (rng.random(len(words)) < 0.9)
    return Documents.of(texts), words, (table, 0.5, rng.normal(size=n_classes), rng.normal(size=n_classes))


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda t: f"{t.pattern}{t.ngrams}{t.hash_bits or ''}")
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_scores_straight_from_text_are_those_of_counted_words(tokenizer, n_classes):
    texts, words, by = drawn(n_classes, tokenizer, n_classes)
    cut = cut_of(tokenizer, texts)
    straight = kernels.score_documents(texts.data, texts.offsets, cut, words.index, *by, 1)
    rows = count_documents(texts, tokenizer, words, in_order=False)
    counted = kernels.score_words(rows.indptr, rows.ids, rows.counts, *by, 1)
    np.testing.assert_array_equal(straight, counted)  # to the bit: words are added in the same order
    for n_threads in (2, 5):
        again = kernels.score_documents(texts.data, texts.offsets, cut, words.index, *by, n_threads)
        np.testing.assert_array_equal(straight, again)
    known = reference.WordIndex(words.data, words.offsets)
    np.testing.assert_allclose(
        straight, reference.score_documents(texts.data, texts.offsets, cut, known, *by, 1), rtol=1e-12, atol=1e-12
    )


def test_a_document_without_known_words_has_the_prior():
    index = Words.of(["game"]).index
    texts = Documents.of(["", "chess"])
    table, prior = np.ones((1, 8)), np.array([0.25, -1.5])
    found = kernels.score_documents(
        texts.data, texts.offsets, cut_of(Tokenizer(), texts), index, table, 1.0, prior, np.ones(2), 1
    )
    assert found.tolist() == [prior.tolist()] * 2


def test_a_long_document_has_more_words_than_fit_at_first():
    names = [f"w{i}" for i in range(5_000)]
    words, texts = Words.of(names), Documents.of([" ".join(names * 3), "w1"])
    table = np.zeros((len(words), 5))
    table[:, 2], table[:, 4] = 1.0, 1.0
    cut = cut_of(Tokenizer(), texts)
    found = kernels.score_documents(
        texts.data, texts.offsets, cut, words.index, table, 0.0, np.zeros(1), np.zeros(1), 1
    )
    np.testing.assert_allclose(found.ravel(), [5_000 * (1 + 2 * np.log(3)), 1.0], rtol=1e-12)


def test_what_does_not_fit_is_refused():
    index, texts = Words.of(["a", "game"]).index, Documents.of(["a game"])
    cut, none = cut_of(Tokenizer(), texts), np.zeros(2)
    for table in (np.zeros((3, 8)), np.zeros((2, 7))):
        with pytest.raises(ValueError, match="table"):
            kernels.score_documents(texts.data, texts.offsets, cut, index, table, 1.0, none, none, 1)
    cells = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32)
    for at, bad, error in (
        (0, np.array([0, 2]), "indptr"),
        (1, np.full(1, 2, np.int32), "ids"),
        (1, np.full(1, -1, np.int32), "ids"),
        (2, np.zeros(1, np.int32), "counts"),
    ):
        with pytest.raises(ValueError, match=error):
            kernels.score_words(*cells[:at], bad, *cells[at + 1 :], np.zeros((2, 8)), 1.0, none, none, 1)
