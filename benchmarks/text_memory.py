"""Learns 1 GB of text in a process of its own and prints its peak memory in megabytes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

import bayeskit as bk

SIZE, BLOCK, BITS = 1_000_000_000, 2_000_000, 16


def write(path: Path) -> None:
    """Messages of 20 Newsgroups over and over, one on a line after its class; one word in twenty is made new."""
    source = Path(os.environ["BAYESKIT_DATA"]) / "text" / "20news_bydate.parquet"
    table = pq.read_table(source, columns=["label", "text"]).slice(0, 4000).to_pylist()
    lines = [(row["label"], row["text"].replace("\n", " ").replace("\r", " ").split(" ")) for row in table]
    written = turn = 0
    with path.open("w", encoding="utf-8") as file:
        while written < SIZE:
            turn += 1
            for label, words in lines:
                words[turn % 20 :: 20] = [f"{word[:12]}x{turn}" for word in words[turn % 20 :: 20]]
                written += file.write(f"{label}\t{' '.join(words)}\n")


def blocks(path: Path) -> Iterator[tuple[list[bytes], list[str]]]:
    """Documents and labels, some megabytes at a time."""
    with path.open("rb") as file:
        while lines := file.readlines(BLOCK):
            cells = [line.partition(b"\t") for line in lines]
            yield [text for _, _, text in cells], [label.decode() for label, _, _ in cells]


def main(path: Path) -> None:
    model = bk.TextClassifier("multinomial", hash_bits=BITS, n_threads=1)
    for texts, labels in blocks(path):
        model.partial_fit(texts, labels)
    print(f"{model.tally_.n_rows:,} documents, {len(model.counted_.words):,} buckets")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
        status = Path("/proc/self/status").read_text().splitlines()
        print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024)
    else:
        import subprocess

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "texts.tsv"
            write(path)
            subprocess.run([sys.executable, __file__, str(path)], check=True)
