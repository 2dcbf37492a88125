"""The two curves of the course on 20 Newsgroups: accuracy by number of documents, and by size of the vocabulary.

python benchmarks/text_curves.py        needs BAYESKIT_DATA
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pyarrow.parquet as pq

import bayeskit as bk
from bayeskit.evaluate.curves import learning_curve, vocabulary_curve

DOCUMENTS = [100, 300, 1000, 3000, 11314]
WORDS = [50, 200, 1000, 5000, 20000, 130000]


def main() -> None:
    """Print both."""
    warnings.simplefilter("ignore")
    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / "20news_bydate.parquet").to_pandas()
    train, test = table[table.split == "train"], table[table.split == "test"]
    parts = train.text.tolist(), train.label.tolist(), test.text.tolist(), test.label.tolist()
    print("documents", DOCUMENTS)
    for recipe, repeats in (("set_of_words", 3), ("multinomial", 3), ("complement", 3), ("fast", 3), ("auto", 1)):
        curve = learning_curve(bk.TextClassifier(recipe), *parts, DOCUMENTS, repeats)
        print(recipe, [round(a, 3) for a in curve["accuracy"]], flush=True)
    models = {r: bk.TextClassifier(r).fit(*parts[:2]) for r in ("set_of_words", "multinomial")}
    print(vocabulary_curve(models, *parts[2:], WORDS))


if __name__ == "__main__":
    main()
