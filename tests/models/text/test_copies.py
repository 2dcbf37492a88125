"""Equal documents of a class are one document of their weight where weights are fitted."""

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.models.text.documents import documents_source, read_documents

LONG = "a sentence of more than twenty bytes"


def join(texts, labels, weights=None):
    joined = read_documents(documents_source(texts, labels, weights)).join_copies()
    return joined.texts.tolist(), joined.weights if joined.weights is None else joined.weights.tolist()


def test_long_copies_of_a_class_are_joined_and_short_ones_and_those_of_other_classes_are_not():
    texts = [LONG, "ok", LONG, "ok", LONG, "other words"]
    assert join(texts, list("aaaaba")) == ([LONG, "ok", "ok", LONG, "other words"], [2, 1, 1, 1, 1])
    assert join(texts, list("aaaaba"), [1, 1, 0.5, 1, 2, 3])[1] == [1.5, 1, 1, 2, 3]


def test_documents_without_copies_stay_as_they_are():
    assert join(["ok", "ok", LONG], list("aba")) == (["ok", "ok", LONG], None)


def test_short_documents_are_joined_where_all_occur_several_times():
    texts = [f"w{i}" for i in range(30)]
    assert join(texts * 2 + texts[:3] * 2, ["a"] * 66) == (texts, [4] * 3 + [2] * 27)


@pytest.mark.parametrize("recipe", ["weighted", "fast", "best", "nbsvm"])
def test_counts_are_those_of_all_documents(recipe):
    texts = [f"{LONG} {word}" for word in ("sun", "rain", "wind", "sun", "sea", "sun")]
    tally = bk.TextClassifier(recipe).fit(texts, list("abbaba")).tally_
    assert tally.class_counts.tolist() == [3, 3]
    counted = tally.words["text"]
    documents = dict(zip(counted.words.tolist(), counted.totals("documents"), strict=True))
    assert documents["sun"] == pytest.approx(3)
    assert documents["sentence"] == pytest.approx(6)
    assert np.isclose(tally.n_rows, 6)
