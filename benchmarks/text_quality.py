"""Accuracy, macro F1 and log loss of every text recipe on the corpora in BAYESKIT_DATA/text: the table of docs/text.md.

    python benchmarks/text_quality.py                     every set, every recipe
    python benchmarks/text_quality.py reuters_r8 trec_qc  some sets; the others keep their figures
    python benchmarks/text_quality.py --only nbsvm        some recipes on every set
    python benchmarks/text_quality.py --page              no measuring, the page alone

Nothing is chosen on test data: recipes have the settings shown, "best" chooses on the training documents; "auto" is
"best" on all these sets.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import bayeskit as bk
from bayeskit.evaluate.cross_validation import log_probabilities
from bayeskit.evaluate.metrics import log_loss

ROOT = Path(__file__).parent.parent
PAGE, STORE = ROOT / "docs" / "text.md", Path(__file__).with_suffix(".json")
START, END = "<!-- quality: made by benchmarks/text_quality.py -->", "<!-- end of quality -->"
SETS = [
    "20news_bydate",
    "20news_stripped",
    "reuters_r8",
    "reuters_r52",
    "webkb4_stemmed",
    "trec_qc",
    "imdb50k",
    "sms_spam",
    "spamassassin",
    "movie_reviews_polarity2",
    "sentence_polarity",
]
PLAIN = ("multinomial", "set_of_words", "complement", "wcnb", "twcnb", "tfidf", "nbsvm", "fast", "weighted", "best")
MODELS: dict[str, Callable[[], Any]] = {name: lambda name=name: bk.TextClassifier(name, n_threads=1) for name in PLAIN}
MODELS |= {
    "nbsvm (1, 2)": lambda: bk.TextClassifier("nbsvm", ngrams=(1, 2), pattern="words_and_punctuation", n_threads=1),
    "logistic regression": lambda: make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=1000)),
    "linear SVM": lambda: make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()),
}
ONLY = {"nbsvm (1, 2)": ("imdb50k", "movie_reviews_polarity2", "sentence_polarity")}


def corpus(name: str) -> tuple[Any, Any, Any]:
    """(texts, labels, part of each)"""
    stripped = name == "20news_stripped"
    folder = Path(os.environ["BAYESKIT_DATA"]) / "text"
    table = pq.read_table(folder / f"{'20news_bydate' if stripped else name}.parquet")
    texts, labels, split = (np.array(table[c].to_pylist(), dtype=object) for c in ("text", "label", "split"))
    if stripped:
        from sklearn.datasets._twenty_newsgroups import (
            strip_newsgroup_footer,
            strip_newsgroup_header,
            strip_newsgroup_quoting,
        )

        for strip in (strip_newsgroup_header, strip_newsgroup_footer, strip_newsgroup_quoting):
            texts = np.array([strip(text) for text in texts], dtype=object)
    return texts, labels, split


def parts(name: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """(training texts, labels, test texts, labels): the set's own split, or five folds."""
    texts, labels, split = corpus(name)
    if "train" in split:
        train, test = split == "train", split == "test"
        yield texts[train], labels[train], texts[test], labels[test]
        return
    if "fold0" in split:
        for fold in np.unique(split):
            test = split == fold
            yield texts[~test], labels[~test], texts[test], labels[test]
        return
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(texts, labels):
        yield texts[train], labels[train], texts[test], labels[test]


def measure(make: Callable[[], Any], folds: list[tuple[Any, Any, Any, Any]]) -> dict[str, Any]:
    """Mean over the folds."""
    found = []
    for train, y, test, truth in folds:
        start = time.process_time()
        model = make().fit(train, y)
        seconds = time.process_time() - start
        guess = model.predict(test)
        loss = None
        if hasattr(model, "predict_proba"):
            at = np.searchsorted(model.classes_, truth.astype(model.classes_.dtype))
            loss = log_loss(log_probabilities(model, test)[np.arange(len(truth)), at])
        chosen = None
        if hasattr(model, "weights_"):
            chosen = [model.schema_.columns["text"].tokenizer.ngrams[1], model.weights_.a, model.weights_.g]
        right = float(np.mean(guess == truth))
        found.append((right, f1_score(truth.astype(str), guess.astype(str), average="macro"), loss, seconds, chosen))
    means = {key: float(np.mean([f[i] for f in found])) for i, key in ((0, "accuracy"), (1, "f1"), (3, "seconds"))}
    losses = [f[2] for f in found]
    return means | {"loss": None if None in losses else float(np.mean(losses)), "chosen": found[0][4]}


def page(store: dict[str, dict[str, Any]]) -> str:
    """The tables in Markdown."""
    sets = [name for name in SETS if name in store]
    lines = []
    for title, key in (("Accuracy", "accuracy"), ("Macro F1", "f1"), ("Log loss", "loss")):
        rows = [name for name in MODELS if any(store[s].get(name, {}).get(key) is not None for s in sets)]
        lines += [f"{title}:", "", f"| | {' | '.join(sets)} | mean |", "|---|" + "---|" * (len(sets) + 1)]
        for name in rows:
            cells = [store[s].get(name, {}).get(key) for s in sets]
            shown = ["–" if c is None else f"{c:.3f}" for c in cells]
            mean = f"{np.mean([c for c in cells if c is not None]):.3f}" if None not in cells else "–"
            lines.append(f"| {name} | {' | '.join(shown)} | {mean} |")
        lines.append("")
    chosen = [store[s].get("best", {}).get("chosen") for s in sets]
    told = [f"{s}: (1, {c[0]}), {c[1]:g}, {c[2]:g}" for s, c in zip(sets, chosen, strict=True) if c]
    start = "What `best` chose for its evidence (n-grams, a, g; of the first fold): "
    return "\n".join([*lines, start + "; ".join(told) + "."])


def write_between(file: Path, start: str, end: str, made: str) -> None:
    """Put what was made between two marks of a page."""
    before, rest = file.read_text(encoding="utf-8").split(start)
    file.write_text(before + start + "\n\n" + made + "\n\n" + end + rest.split(end)[1], encoding="utf-8")


def main(names: list[str]) -> None:
    """Measure the sets, keep the figures, write the page."""
    warnings.simplefilter("ignore")
    only = names[names.index("--only") + 1 :] if "--only" in names else list(MODELS)
    names = names[: names.index("--only")] if "--only" in names else names
    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    for name in [] if "--page" in names else names or SETS:
        folds = list(parts(name))
        for model in only:
            if name in ONLY.get(model, (name,)):
                found = measure(MODELS[model], folds)
                print(name, model, found, flush=True)
                store = json.loads(STORE.read_text()) if STORE.exists() else {}
                store.setdefault(name, {})[model] = found
                STORE.write_text(json.dumps(store, indent=1, sort_keys=True) + "\n")
    write_between(PAGE, START, END, page(store))


if __name__ == "__main__":
    main(sys.argv[1:])
