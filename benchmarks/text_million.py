"""Recipe "best" fitted on very many documents, each number of them in a process of its own: seconds and peak memory.

    python benchmarks/text_million.py                    10^6 documents
    python benchmarks/text_million.py 200000 400000      other numbers
    python benchmarks/text_million.py --memory 0.5       with memory_limit=0.5e9: weights are fitted on a drawn part

A document is a sentence of `sentence_polarity`, drawn at random, in which one word in ten is one of 200,000 others that
say nothing. Seconds are processor time of the fit, one thread; memory is the peak of the process less what it had
before the fit, in megabytes and in bytes a cell (a document and a different word of it).
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from text_quality import corpus

import bayeskit as bk

NOISE, REPLACED = 200_000, 0.1


def drawn(n: int) -> tuple[pa.Array, np.ndarray]:
    """Documents and classes."""
    rng = np.random.default_rng(0)
    texts, labels, _ = corpus("sentence_polarity")
    sentences = [text.split() for text in texts]
    at = rng.integers(0, len(texts), n)
    documents = []
    for i in at:
        words = sentences[i]
        noise = rng.integers(0, NOISE, len(words))
        other = rng.random(len(words)) < REPLACED
        documents.append(" ".join(f"w{z}" if o else word for word, z, o in zip(words, noise, other, strict=True)))
    return pa.array(documents), labels[at]


def peak() -> float:
    """Megabytes that the process had at most."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main(n: int, gigabytes: float) -> None:
    """Fit, and print what it took."""
    documents, labels = drawn(n)
    before, start = peak(), time.process_time()
    model = bk.TextClassifier("best", n_threads=1, memory_limit=gigabytes * 1e9).fit(documents, labels)
    seconds, memory = time.process_time() - start, peak() - before
    tokenizer = model.schema_.columns["text"].tokenizer
    cells = sum(len(set(tokenizer.tokens(text))) for text in documents[:1000].to_pylist()) / 1000 * n
    print(
        f"{n:,} documents of {cells / n:.0f} cells, {len(model.words_):,} words of runs up to {tokenizer.ngrams[1]}"
        + ("" if model.linear_.n_drawn is None else f", weights fitted on {model.linear_.n_drawn:,} documents")
    )
    print(
        f"{seconds:.1f} s, {memory:,.0f} MB over {before:,.0f}, {memory * 2**20 / cells:.0f} bytes a cell", flush=True
    )


if __name__ == "__main__":
    numbers, memory = sys.argv[1:], []
    if "--memory" in numbers:
        at = numbers.index("--memory")
        numbers, memory = numbers[:at] + numbers[at + 2 :], numbers[at : at + 2]
    if numbers[:1] == ["--one"]:
        main(int(numbers[1]), float(memory[1]) if memory else 4.0)
    else:
        for number in numbers or ["1000000"]:
            subprocess.run([sys.executable, __file__, "--one", number, *memory], check=True)
