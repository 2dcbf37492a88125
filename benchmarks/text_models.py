"""Training from raw text, beside tf-idf with logistic regression."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
from bench import Row, compare
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import bayeskit as bk

TITLE = "Text classifiers"
NOTE = (
    "20 Newsgroups by date: 11,314 training documents, 20 classes, from raw text to a fitted model, one thread on both "
    "sides. Needs BAYESKIT_DATA."
)


def run() -> list[Row]:
    """All lines of the table; none where the data is not there."""
    if "BAYESKIT_DATA" not in os.environ:
        return []
    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / "20news_bydate.parquet").to_pandas()
    train = table[table.split == "train"]
    texts, labels = train.text.tolist(), train.label.tolist()
    peer = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10))
    with threadpool_limits(1):
        return [
            compare(
                f"fit `{recipe}`",
                "`TfidfVectorizer` + `LogisticRegression(C=10)`",
                bar,
                lambda r=recipe: bk.TextClassifier(r, n_threads=1).fit(texts, labels),
                lambda: peer.fit(texts, labels),
                1,
            )
            for recipe, bar in (("fast", 5), ("auto", 2))
        ]
