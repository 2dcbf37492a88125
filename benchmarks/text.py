"""From raw text to words, counts, models and predictions, beside scikit-learn and ``wc -w``."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from bench import Row, compare
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

import bayeskit as bk

TITLE = "Text"
NOTE = (
    "20 Newsgroups by date, all 18,846 messages (35.9 MB), 20 classes, as Python strings; predictions of the 7,532 "
    "test messages by a model of the others. One thread. `wc -w` reads the same text from a file in the cache of the "
    "system. The last line is memory: the peak, over a bare interpreter and with all libraries, of a process that "
    "learns 1 GB, in which one word in twenty is new, by `partial_fit` on blocks of 2 MB into 2^16 buckets "
    "(`benchmarks/text_memory.py`). Needs BAYESKIT_DATA."
)


def run() -> list[Row]:
    """All lines of the table; none where the data is not there."""
    if "BAYESKIT_DATA" not in os.environ:
        return []
    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "text" / "20news_bydate.parquet").to_pandas()
    texts, labels = table.text.tolist(), table.label.tolist()
    train, test = table[table.split == "train"], table[table.split == "test"].text.tolist()
    ours = bk.TextClassifier("multinomial", n_threads=1)
    theirs = make_pipeline(CountVectorizer(), MultinomialNB())
    rows = [
        compare(
            "raw text → fitted multinomial model",
            "`CountVectorizer` + `MultinomialNB`",
            20,
            lambda: ours.fit(texts, labels),
            lambda: theirs.fit(texts, labels),
            3,
        )
    ]
    assert abs(ours.predict_proba(test) - theirs.predict_proba(test)).max() < 1e-9
    ours.fit(train.text.tolist(), train.label.tolist())
    theirs.fit(train.text.tolist(), train.label.tolist())
    rows.append(
        compare("raw text → predictions", "same", 15, lambda: ours.predict(test), lambda: theirs.predict(test), 5)
    )
    assert (ours.predict(test) == theirs.predict(test)).all()
    counter, vectorizer = bk.TokenCounter(n_threads=1), CountVectorizer()
    rows.append(
        compare(
            "raw text → CSR",
            "`CountVectorizer`",
            10,
            lambda: counter.fit_transform(texts),
            lambda: vectorizer.fit_transform(texts),
            3,
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.txt"
        path.write_text("\n".join(texts), encoding="utf-8")
        for locale in ("C", "C.UTF-8"):
            wc = lambda where=path, how=locale: subprocess.run(  # noqa: E731
                ["wc", "-w", where], env={"LC_ALL": how}, stdout=subprocess.DEVNULL, check=True
            )
            work = "raw text → fitted multinomial model"
            rows.append(
                compare(work, f"`LC_ALL={locale} wc -w`", 1, lambda: ours.fit(texts, labels), wc, 5, _cpu_with_children)
            )
    return [*rows, _memory()]


def _cpu_with_children() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class MemoryRow(Row):
    """A line in megabytes: ours against what is allowed."""

    def __str__(self) -> str:
        verdict = "" if self.ratio >= self.bar else " (missed)"
        sizes = f"{self.ours:.0f} MB | {self.theirs:.0f} MB"
        return f"| {self.work} | {self.peer} | {sizes} | – | {self.ratio:.1f}×{verdict} |"


def _memory() -> Row:
    def peak(*command: str) -> float:
        asked = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True)
        return float(asked.stdout.split()[-1])

    bare = peak(
        "-c", "print([int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM')][0] / 1024)"
    )
    used = peak(str(Path(__file__).with_name("text_memory.py"))) - bare
    row = MemoryRow("memory of a hashing fit on 1 GB", "allowed", 1, used, 300)
    print(row, flush=True)
    return row
