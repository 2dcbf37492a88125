"""Recipe "best" beside linear models of scikit-learn, on one split of each corpus: the second table of docs/text.md.

    python benchmarks/text_peers.py                       every set, every model
    python benchmarks/text_peers.py reuters_r8 trec_qc    some sets; the others keep their figures
    python benchmarks/text_peers.py --only best           some models on every set
    python benchmarks/text_peers.py --page                no measuring, the page alone

The split is the corpus's own, the first two of its ten folds, or the first of five folds. Seconds are processor time,
one thread, from raw text; all models of a set are measured one after the other in one process. "linear SVM, same words"
reads what "best" may read: words, punctuation, and pairs of words that two documents have; "and characters" also runs
of three to five characters within words that two documents have (scikit-learn's ``char_wb``), which ``TokenCounter``
counts to the same matrix as ``CountVectorizer`` would.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC
from text_quality import PAGE, SETS, corpus, write_between

import bayeskit as bk
from bayeskit.evaluate.cross_validation import log_probabilities
from bayeskit.evaluate.metrics import log_loss

STORE = Path(__file__).with_suffix(".json")
START, END = "<!-- peers: made by benchmarks/text_peers.py -->", "<!-- end of peers -->"
PUNCTUATION = r"(?u)\w+|[^\w\s]"


class FrequentPairs(TfidfVectorizer):
    """tf-idf of words, punctuation and pairs of words; a pair counts from two documents on."""

    def _limit_features(self, X: Any, vocabulary: dict[str, int], *limits: Any, **named: Any) -> Any:
        documents = np.bincount(X.indices, minlength=X.shape[1])
        kept = [word for word, i in vocabulary.items() if " " not in word or documents[i] >= 2]
        columns = [vocabulary[word] for word in kept]
        vocabulary.clear()
        vocabulary.update({word: i for i, word in enumerate(kept)})
        return X[:, columns]


def richer() -> Any:
    """What "best" reads, for a peer."""
    return FrequentPairs(sublinear_tf=True, token_pattern=PUNCTUATION, ngram_range=(1, 2), max_df=1.0, min_df=1)


def runs_of_characters() -> Any:
    """tf-idf of runs of characters."""
    counter = bk.TokenCounter(analyzer="char_wb", ngram_range=(3, 5), min_df=2, n_threads=1)
    return make_pipeline(counter, TfidfTransformer(sublinear_tf=True))


MODELS: dict[str, Callable[[], Any]] = {
    "best": lambda: bk.TextClassifier("best", n_threads=1),
    "best, characters": lambda: bk.TextClassifier("best", characters="auto", n_threads=1),
    "weighted": lambda: bk.TextClassifier("weighted", n_threads=1),
    "linear SVM": lambda: make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()),
    "linear SVM, same words": lambda: make_pipeline(richer(), LinearSVC()),
    "linear SVM, same words and characters": lambda: make_pipeline(
        make_union(richer(), runs_of_characters()), LinearSVC()
    ),
    "logistic regression": lambda: make_pipeline(
        TfidfVectorizer(sublinear_tf=True), LogisticRegression(C=10, max_iter=1000)
    ),
}


def split(name: str) -> tuple[Any, Any, Any, Any]:
    """(training texts, labels, test texts, labels)"""
    texts, labels, part = corpus(name)
    if "train" in part:
        train, test = part == "train", part == "test"
    elif "fold0" in part:  # of ten folds, of which two are a fifth
        test = np.isin(part, ("fold0", "fold1"))
        train = ~test
    else:
        train, test = next(iter(StratifiedKFold(5, shuffle=True, random_state=0).split(texts, labels)))
    return texts[train], labels[train], texts[test], labels[test]


def measure(make: Callable[[], Any], train: Any, y: Any, test: Any, truth: Any) -> dict[str, Any]:
    """Accuracy, log loss, and seconds of fit and predict."""
    start = time.process_time()
    model = make().fit(train, y)
    fitted = time.process_time()
    guess = model.predict(test)
    seconds = {"fit": fitted - start, "predict": time.process_time() - fitted}
    loss = None
    if hasattr(model, "predict_proba"):
        at = np.searchsorted(model.classes_, truth.astype(model.classes_.dtype))
        loss = log_loss(log_probabilities(model, test)[np.arange(len(truth)), at])
    tokenizer = model.schema_.columns["text"].tokenizer if hasattr(model, "schema_") else None
    runs = None if tokenizer is None else tokenizer.ngrams[1]
    found = {"accuracy": float(np.mean(guess == truth)), "loss": loss, "runs": runs, **seconds}
    tried = getattr(getattr(model, "linear_", None), "tried", ())
    return found | ({"tried": list(tried), "characters": tokenizer.characters} if tried else {})


def page(store: dict[str, dict[str, Any]]) -> str:
    """The tables in Markdown."""
    sets = [name for name in SETS if name in store]
    lines = []
    titles = {"accuracy": "Accuracy", "loss": "Log loss", "fit": "Seconds of fit", "predict": "Seconds of predict"}
    for key, title in titles.items():
        end = "sum" if key in ("fit", "predict") else "mean"
        lines += [f"{title}:", "", f"| | {' | '.join(sets)} | {end} |", "|---|" + "---|" * (len(sets) + 1)]
        for name in MODELS:
            cells = [store[s].get(name, {}).get(key) for s in sets]
            if None in cells:
                continue
            last = np.sum(cells) if end == "sum" else np.mean(cells)
            form = "{:.2f}" if end == "sum" else "{:.4f}" if key == "accuracy" else "{:.3f}"
            lines.append(f"| {name} | {' | '.join(map(form.format, cells))} | {form.format(last)} |")
        lines.append("")
    pairs = [s for s in sets if store[s].get("best", {}).get("runs") == 2]
    rich = [s for s in sets if store[s].get("best, characters", {}).get("characters")]
    also = f' With `characters="auto"` it read runs of characters on {", ".join(rich) or "none"}.'
    return "\n".join([*lines, f"`best` read pairs of words on {', '.join(pairs)}.{also}"])


def main(names: list[str]) -> None:
    """Measure the sets, keep the figures, write the page."""
    warnings.simplefilter("ignore")
    only = names[names.index("--only") + 1 :] if "--only" in names else list(MODELS)
    names = names[: names.index("--only")] if "--only" in names else names
    store = json.loads(STORE.read_text()) if STORE.exists() else {}
    for name in [] if "--page" in names else names or SETS:
        parts = split(name)
        for model in only:
            store.setdefault(name, {})[model] = measure(MODELS[model], *parts)
            print(name, model, store[name][model], flush=True)
            STORE.write_text(json.dumps(store, indent=1, sort_keys=True) + "\n")
    write_between(PAGE, START, END, page(store))


if __name__ == "__main__":
    main(sys.argv[1:])
