"""Tags of English words: how many are right, and how many sentences a CPU second takes.

Usage: BAYESKIT_DATA=folder python benchmarks/tagging.py [dev|test]
"""

import os
import sys
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from bayeskit import Tagger

FORMS = {
    "tags alone, no word a state of its own": ({"own_states": 0}, False),
    "tags alone": ({}, False),
    "with finer tags": ({}, True),
}
REPEATS = 10


def main(part: str) -> None:
    """One line a form of the model."""
    table = pq.read_table(Path(os.environ["BAYESKIT_DATA"]) / "sequence" / "ud_english_ewt.parquet")
    train, other = (table.filter(pc.equal(table["split"], name)) for name in ("train", part))
    sentences = other["tokens"].to_pylist() * REPEATS
    print(f"| {part} | words right | words never seen | whole sentences | fit, CPU s | sentences per CPU s |")
    print("|---|---|---|---|---|---|")
    for name, (settings, fine) in FORMS.items():
        start = time.process_time()
        model = Tagger(n_threads=1, **settings).fit(train["tokens"], train["upos"], train["xpos"] if fine else None)
        fitted = time.process_time()
        report = model.report(other["tokens"], other["upos"])
        begun = time.process_time()
        model.predict(sentences)
        rate = len(sentences) / (time.process_time() - begun)
        scores = f"{report.accuracy:.4f} | {report.unknown_accuracy:.3f} | {report.sentence_accuracy:.3f}"
        print(f"| {name} | {scores} | {fitted - start:.2f} | {rate:,.0f} |")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["test"]))
