"""Topics beside tomotopy: sweeps of the sampler on two corpora of BAYESKIT_DATA, and two threads beside one.

``python benchmarks/topics.py quality`` compares perplexity and NPMI of both at equal sweeps, over ten seeds.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from bench import Row, compare

from bayeskit import TopicModel, kernels
from bayeskit.topics.corpus import Corpus, DocumentReader
from bayeskit.topics.measures import coherence
from bayeskit.topics.sampler import count_word_topics
from bayeskit.topics.sampler import n_shards as shards_of

TITLE = "Topics"
NOTE = (
    "One sweep of collapsed Gibbs sampling over all words, α = 0.1 and β = 0.01, after 10 sweeps; tomotopy with one "
    "worker. AP has 2,246 documents and 435,838 words (10,473 different), 20 Newsgroups 18,846 and 1.9 million without "
    "headers, quotes and stop words (words in five documents or more). *Sharded* is what a fit does; *unsharded* takes "
    "all documents in one part. Two threads are compared by the clock on the wall, which other work on the machine "
    "disturbs; all else by CPU time."
)
ALPHA, BETA = 0.1, 0.01
BARS = {20: 1.3, 100: 1.4, 500: 1.8, 1000: 2.5}
WARM = 10


def folder() -> Path:
    return Path(os.environ.get("BAYESKIT_DATA", ""))


def ap() -> Corpus:
    """The Associated Press articles that came with LDA-C."""
    lines = gzip.decompress((folder() / "topics" / "ap.ldac.gz").read_bytes()).decode().splitlines()
    pairs = [[tuple(map(int, pair.split(":"))) for pair in line.split()[1:]] for line in lines]
    pairs = [sorted(document) for document in pairs]
    indptr = np.concatenate([[0], np.cumsum([len(document) for document in pairs])])
    ids, counts = np.array([pair for document in pairs for pair in document]).T
    return Corpus.of_counts(indptr, ids, counts, int(ids.max()) + 1)


def newsgroups() -> Corpus:
    """20 Newsgroups without headers and quotes."""
    import pyarrow.parquet as pq

    table = pq.read_table(folder() / "text" / "20news_bydate.parquet")
    texts = [_body(text) for text in table["text"].to_pylist()]
    return DocumentReader(None, (5, 1.0, None), 1).learn(texts)[0]


def _body(text: str) -> str:
    body = text.partition("\n\n")[2]
    return "\n".join(line for line in body.splitlines() if not re.match(r"\s*[>|:]|.*writes:|In article", line))


class Ours:
    """A chain that goes on, some sweeps at a time."""

    def __init__(self, corpus: Corpus, k: int, n_shards: int, n_threads: int = 1, seed: int = 0) -> None:
        self.corpus, self.n_shards, self.n_threads, self.seed, self.done = corpus, n_shards, n_threads, seed, 0
        self.alpha = np.full(k, ALPHA)
        self.topics = np.random.default_rng(seed).integers(0, k, corpus.n_tokens).astype(np.uint16)

    def sweep(self, n: int) -> None:
        self.topics = kernels.sample_topics(
            self.corpus.start, self.corpus.words, self.topics, self.corpus.n_words, None, self.alpha, BETA, self.seed,
            self.done, n, self.n_shards, False, self.n_threads,
        )  # fmt: skip
        self.done += n


def tomotopy_model(corpus: Corpus, k: int, seed: int = 0) -> Any:
    import tomotopy

    model = tomotopy.LDAModel(k=k, alpha=ALPHA, eta=BETA, seed=seed)
    model.optim_interval = 0
    names = np.array([str(word) for word in range(corpus.n_words)])
    for d in range(len(corpus)):
        words = corpus.words[corpus.start[d] : corpus.start[d + 1]]
        if len(words):
            model.add_doc(names[words].tolist())
    return model


def run() -> list[Row]:
    """All lines of the table; those whose data or peer is not here are left out."""
    if not (folder() / "topics" / "ap.ldac.gz").exists() or not find_spec("tomotopy"):
        print("BAYESKIT_DATA names no folder with topics, or tomotopy is not installed: left out")
        return []
    rows = []
    for name, corpus in (("AP", ap()), ("20 Newsgroups", newsgroups())):
        shards = shards_of(corpus.n_tokens)
        for k, bar in BARS.items():
            rows += _one(name, corpus, k, bar, shards)
    return rows


def _one(name: str, corpus: Corpus, k: int, bar: float, shards: int) -> list[Row]:
    n = max(2, round((8_000_000 if k <= 100 else 2_000_000) / corpus.n_tokens))  # sweeps a turn
    model = tomotopy_model(corpus, k)
    model.train(WARM, workers=1)
    sharded, whole = Ours(corpus, k, shards), Ours(corpus, k, 1)
    for chain in (sharded, whole):
        chain.sweep(WARM)
    words = corpus.n_tokens * n
    theirs = lambda: model.train(n, workers=1)  # noqa: E731
    rows = []
    for what, chain in (("sharded", sharded), ("unsharded", whole)):
        row = compare(f"{name}, K = {k}, {what}: {n} sweeps", "tomotopy", bar, lambda c=chain: c.sweep(n), theirs, 3)
        print(f"    {words / row.ours / 1e6:.1f} against {words / row.theirs / 1e6:.1f} million words a second")
        row.work += f", {words / row.ours / 1e6:.1f} against {words / row.theirs / 1e6:.1f} M words/s"
        rows.append(row)
    two, one = Ours(corpus, k, shards, 2), Ours(corpus, k, shards, 1)
    for chain in (two, one):
        chain.topics, chain.done = sharded.topics, sharded.done
    work = f"{name}, K = {k}: two threads, {n} sweeps"
    rows.append(compare(work, "one thread", 1.6, lambda: two.sweep(n), lambda: one.sweep(n), 5, time.perf_counter))
    assert (two.topics == one.topics).all(), "the same bits"
    return rows


# -- quality ----------------------------------------------------------------------------------------------------------


def perplexity(phi: np.ndarray, held_out: Corpus) -> float:
    """By document completion: shares by 40 steps of EM on one half of each document, the other half predicted."""
    first, second = held_out.halves()
    shares = np.full((len(held_out), len(phi)), 1 / len(phi))
    given, at = phi.T[first.words], first.documents
    for _ in range(40):
        expected = given * shares[at]
        expected /= expected.sum(axis=1, keepdims=True)
        sums = np.diff(np.concatenate([np.zeros((1, len(phi))), np.cumsum(expected, axis=0)])[first.start], axis=0)
        shares = (sums + ALPHA) / (first.lengths[:, None] + ALPHA * len(phi))
    p = np.einsum("ik,ik->i", phi.T[second.words], shares[second.documents])
    return float(np.exp(-np.log(p).mean()))


def quality(sweeps: int = 100, seeds: int = 10) -> None:
    """Perplexity and NPMI of both at equal sweeps."""
    whole = ap()
    test = np.arange(len(whole)) % 10 == 0
    train, held_out = whole.take(~test), whole.take(test)
    known = np.unique(train.words)  # the others have no topic on either side
    held_out = held_out.select_tokens(np.isin(held_out.words, known))
    train, held_out = (
        Corpus(one.start, np.searchsorted(known, one.words).astype(np.uint32), len(known)) for one in (train, held_out)
    )
    matrix = train.matrix()
    shards = shards_of(train.n_tokens)
    print(f"AP, {len(train):,} documents learned, {len(held_out):,} held out, {sweeps} sweeps, {seeds} seeds")
    print("| K | sampler | perplexity | NPMI |\n|---|---|---|---|")
    for k in (20, 100):
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(seeds):
            for what, n_shards in (("sharded, as a fit does", shards), ("unsharded", 1)):
                chain = Ours(train, k, n_shards, seed=seed)
                chain.sweep(sweeps)
                counts = count_word_topics(train, chain.topics, k)
                found.setdefault(what, []).append(_judged(counts, matrix, held_out))
            model = TopicModel(k, sweeps, random_state=seed, n_threads=1).fit(matrix)
            found.setdefault("as a fit does, α fitted", []).append(
                _judged(model.components_.T - BETA, matrix, held_out)
            )
            theirs = tomotopy_model(train, k, seed)
            theirs.train(sweeps, workers=1)
            phi = np.zeros((k, train.n_words))
            phi[:, np.array(theirs.used_vocabs).astype(int)] = [theirs.get_topic_word_dist(i) for i in range(k)]
            found.setdefault("tomotopy", []).append(_judged_phi(phi, matrix, held_out))
        for what, values in found.items():
            mean, error = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(len(values))
            print(f"| {k} | {what} | {mean[0]:.0f} ± {error[0]:.0f} | {mean[1]:.3f} ± {error[1]:.3f} |", flush=True)


def _judged(counts: np.ndarray, matrix: Any, held_out: Corpus) -> tuple[float, float]:
    return _judged_phi(((counts + BETA) / (counts.sum(axis=0) + BETA * len(counts))).T, matrix, held_out)


def _judged_phi(phi: np.ndarray, matrix: Any, held_out: Corpus) -> tuple[float, float]:
    top = np.argsort(-phi, axis=1)[:, :10]
    return perplexity(phi, held_out), float(coherence(matrix, list(top)).mean())


if __name__ == "__main__":
    quality(*map(int, sys.argv[2:])) if sys.argv[1:2] == ["quality"] else run()
