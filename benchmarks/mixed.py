"""Tables that are joined with texts: log loss of BayesClassifier on both, for the table in docs/best.md.

Rows of a table get texts of a corpus at random, those of its classes for those of the table's, the most frequent class
for the most frequent. The first three fifths of the rows learn and the others judge. BAYESKIT_DATA names the folder.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from quality import load

import bayeskit as bk

MIXED = {
    ("german", "sentence_polarity"): 1_000,
    ("waveform-21", "trec_qc"): 2_500,
    ("australian", "sms_spam"): 690,
    ("adult", "movie_reviews_polarity2"): 2_500,
}


def join(folder: Path, table: str, corpus: str, n_rows: int) -> tuple[pd.DataFrame, pd.Series]:
    X, y, _ = load(folder / "tabular", table)
    texts, rng = pd.read_parquet(folder / "text" / f"{corpus}.parquet"), np.random.default_rng(0)
    of_texts = texts["label"].value_counts().index[: y.nunique()]
    of_rows = y.value_counts().index[: len(of_texts)]
    some = rng.permutation(np.flatnonzero(y.isin(of_rows)))[:n_rows]
    X, y = X.iloc[some].reset_index(drop=True), y.iloc[some].reset_index(drop=True)
    review = pd.Series(index=X.index, dtype=object)
    for ours, theirs in zip(of_rows, of_texts, strict=True):
        documents, rows = rng.permutation(texts.loc[texts["label"] == theirs, "text"]), np.flatnonzero(y == ours)
        both = min(len(documents), len(rows))
        review[rows[:both]] = documents[:both]
    there = review.notna()
    return X[there].assign(review=review[there]).reset_index(drop=True), y[there].reset_index(drop=True)


def main() -> None:
    folder = Path(os.environ["BAYESKIT_DATA"])
    warnings.simplefilter("ignore")
    for (table, corpus), n_rows in MIXED.items():
        X, y = join(folder, table, corpus, n_rows)
        learn, judge = np.split(np.arange(len(y)), [len(y) * 3 // 5])
        forms = {
            "text": (bk.TextClassifier(), X["review"]),
            "table": (bk.BayesClassifier(n_threads=1), X.drop(columns="review")),
            "both": (bk.BayesClassifier(n_threads=1, roles={"review": "text"}), X),
        }
        losses = {}
        for form, (model, data) in forms.items():
            said = model.fit(data.iloc[learn], y[learn]).predict_log_proba(data.iloc[judge])
            own = np.searchsorted(model.classes_, y[judge].to_numpy())
            losses[form] = round(float(-said[np.arange(len(judge)), own].mean()), 3)
        print(table, corpus, len(y), losses, flush=True)


if __name__ == "__main__":
    main()
