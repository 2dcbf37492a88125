"""Documents written out as a product: a factor for each word that is there, and in a set for each that is not."""

from __future__ import annotations

import numpy as np

from bayeskit import logspace
from bayeskit.data.text.tokens import TokenRows
from bayeskit.estimate.formulas import Given, Share, WrittenFactor
from bayeskit.estimate.smoothing import smoothed
from bayeskit.tally.words import WordCounts
from bayeskit.typing import Floats

ABSENT = 40  # absent words that have a factor each; more are one


def written_bag(rows: TokenRows, counted: WordCounts, pseudo: Floats, column: str = "") -> list[WrittenFactor]:
    """((n_cw + α_w) / (N_c + A))^f for each word of the first document; unknown words are left out."""
    counts, totals, whole = counted.table(), counted.n_tokens, float(pseudo.sum())
    factors = []
    for k in range(int(rows.indptr[0]), int(rows.indptr[1])):
        word, times, added = int(rows.ids[k]), int(rows.counts[k]), float(pseudo[rows.ids[k]])
        shares = zip(counts[word].tolist(), totals.tolist(), strict=True)
        of_class = tuple(Share(n, total, added, whole, times) for n, total in shares)
        factors.append(WrittenFactor(column, rows.words[word], of_class))
    return factors


def written_set(rows: TokenRows, counted: WordCounts, class_counts: Floats, pseudo: Floats) -> list[WrittenFactor]:
    """(documents with w + α) / (documents + 2 α) of each word that is there, and 1 − that of each that is not."""
    documents, totals = counted.table("documents").astype(np.float64), class_counts.astype(np.float64)
    there = np.zeros(len(documents), dtype=bool)
    there[rows.ids[int(rows.indptr[0]) : int(rows.indptr[1])]] = True
    lacking = np.flatnonzero(~there)
    few = len(lacking) <= ABSENT
    factors = []
    for word in [*np.flatnonzero(there).tolist(), *(lacking.tolist() if few else ())]:
        counts = documents[word] if there[word] else totals - documents[word]
        shares = zip(counts.tolist(), totals.tolist(), strict=True)
        a = float(pseudo[word])
        of_class = tuple(Share(n, total, a, 2 * a) for n, total in shares)
        factors.append(WrittenFactor("", counted.words[word], of_class, absent=not there[word]))
    if not few:
        without = smoothed(totals - documents[lacking], totals, pseudo[lacking, None], 2 * pseudo[lacking, None])
        log_p, name = logspace.log(without).sum(axis=0).tolist(), f"Π over {len(lacking):,} words"
        of_class_given = tuple(Given(p, name) for p in log_p)
        factors.append(WrittenFactor("", f"({len(lacking):,} other words)", of_class_given, absent=True))
    return factors
