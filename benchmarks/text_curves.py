"""What the course says of 20 Newsgroups: accuracy by documents, by words, and by what was done before any learning.

python benchmarks/text_curves.py [documents] [words] [figures]        all three unless named; needs BAYESKIT_DATA
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)
from sklearn.model_selection import train_test_split

import bayeskit as bk
from bayeskit.evaluate.learning_curve import learning_curve, vocabulary_curve

DOCUMENTS = [100, 300, 1000, 3000, 11314]
WORDS = [50, 200, 1000, 5000, 20000, 130000]
Parts = tuple[list[str], list[str], list[str], list[str]]


def by_date(table: pd.DataFrame) -> Parts:
    """Learn from the earlier documents, test on the later ones."""
    train, test = table[table.split == "train"], table[table.split == "test"]
    return train.text.tolist(), train.label.tolist(), test.text.tolist(), test.label.tolist()


def at_random(table: pd.DataFrame, seed: int) -> Parts:
    """A third of all documents, of any date, to test on."""
    texts, labels = table.text.tolist(), table.label.tolist()
    learn, test, of_learn, of_test = train_test_split(texts, labels, test_size=1 / 3, random_state=seed)
    return learn, of_learn, test, of_test


def body(text: str) -> str:
    """A letter without header, signature and quotes, by scikit-learn's rules."""
    return strip_newsgroup_quoting(strip_newsgroup_footer(strip_newsgroup_header(text)))


def frequent(texts: list[str], n: int) -> list[str]:
    """The n words that stand most often in these texts."""
    counts = bk.TokenCounter().fit(texts)
    order = np.argsort(-np.asarray(counts.transform(texts).sum(axis=0)).ravel())
    return counts.get_feature_names_out()[order[:n]].tolist()


def accuracy(parts: Parts, **settings: object) -> float:
    """Of the multinomial recipe on the test documents."""
    learn, of_learn, test, of_test = parts
    return bk.TextClassifier("multinomial", **settings).fit(learn, of_learn).score(test, of_test)


def documents(table: pd.DataFrame) -> None:
    """Accuracy by number of documents learned."""
    print("documents", DOCUMENTS)
    for recipe, repeats in (("set_of_words", 3), ("multinomial", 3), ("complement", 3), ("fast", 3), ("auto", 1)):
        curve = learning_curve(bk.TextClassifier(recipe), *by_date(table), sizes=DOCUMENTS, repeats=repeats)
        print(recipe, [round(a, 3) for a in curve["accuracy"]], flush=True)


def words(table: pd.DataFrame) -> None:
    """Accuracy by size of the vocabulary."""
    learn, of_learn, test, of_test = by_date(table)
    models = {r: bk.TextClassifier(r).fit(learn, of_learn) for r in ("set_of_words", "multinomial")}
    print(vocabulary_curve(models, test, of_test, WORDS))


def figures(table: pd.DataFrame) -> None:
    """One classifier, one corpus, six figures: what is decided before anything is learned."""
    dated, stripped = by_date(table), by_date(table.assign(text=[body(text) for text in table.text]))
    shuffled = [at_random(table, seed) for seed in range(3)]
    rows = {
        "by date": [accuracy(dated)],
        "by date, headers, signatures and quotes removed": [accuracy(stripped)],
        "by date, smoothing 0.01": [accuracy(dated, smoothing=0.01)],
        "at random, three draws": [accuracy(parts) for parts in shuffled],
        "at random, smoothing 0.01": [accuracy(parts, smoothing=0.01) for parts in shuffled],
        "at random, without the 100 most frequent words and those of fewer than 3 documents": [
            accuracy(parts, stop_words=frequent(parts[0], 100), min_df=3) for parts in shuffled
        ],
    }
    for name, scores in rows.items():
        print(f"{name}: {np.mean(scores):.3f}", flush=True)


PARTS = {part.__name__: part for part in (documents, words, figures)}


def main() -> None:
    """Print what is asked for."""
    warnings.simplefilter("ignore")
    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / "20news_bydate.parquet").to_pandas()
    for name in sys.argv[1:] or PARTS:
        PARTS[name](table)


if __name__ == "__main__":
    main()
