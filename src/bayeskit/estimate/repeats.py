"""Find copies of rows, which must leave together when a model is judged by rows left out.

A row that is left out while its copy stays is not left out at all. In a table with few possible rows equal rows are
independent observations; in others they are copies: a row drawn several times by a bootstrap, a minority class
repeated to balance the classes, a file read twice. Naive Bayes tells the two apart. Independent draws repeat rows of
high probability; copying repeats any row, also those that naive Bayes does not expect twice.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bayeskit.tally.row_hash import mix_bits
from bayeskit.typing import Array, Bools, Floats, Ints

# Equal rows may be copies if naive Bayes expects fewer equal rows than this.
FEW_EXPECTED = 0.1
# They are copies if there are so many of them and if repeated rows are not more probable than rows that occur once: if
# the chance that naive Bayes ranks a repeated row above another of its class is small. It is 0.5 for copies. Chosen on
# the shared tables, where it is 0.66 and more, but for two tables with few repeated rows.
LEAST_COPIES, RANKED_ABOVE = 50, 0.6
# Independent draws hardly repeat so many different rows a multiple of k times each: one chance in k to this number.
LEAST_DIFFERENT = 20
# Equal documents of so many bytes, about four words, are copies.
LEAST_BYTES = 20
# Groups of equal rows that are ranked.
MOST_RANKED = 20_000
# Pseudo-count of a value that no other row of the class has.
PSEUDO_COUNT = 0.01


def join_copies(columns: list[Array], labels: Array, weights: Floats | None) -> tuple[Ints, Floats | None]:
    """Choose the rows that stand for all, and their weights relative to a mean of one; None if all are equal.

    Copies that independent draws do not explain become one row with the sum of their weights. If every row occurs k,
    2k, 3k, … times, one of k stays, unless all occur equally often and naive Bayes expects them, as in a truth table.

    >>> sizes, labels = np.r_[0.5:100, 0.5:60], np.zeros(160, dtype=int)
    >>> rows, weights = join_copies([sizes], labels, None)
    >>> len(rows), weights[[0, 99]]
    (100, array([1.25 , 0.625]))
    >>> join_copies(list(np.random.default_rng(0).normal(size=(3, 40)).repeat(2, axis=1)), labels[:80], None)[1] is None
    True
    """
    if weights is not None and (weights == weights[:1]).all():
        weights = None
    rows: Ints = np.arange(len(labels))
    first, group, copies = _equal_rows(columns, labels)
    common = int(np.gcd.reduce(copies))
    if weights is None and common > 1 and _all_repeat(columns, labels, first, copies):
        rows = np.flatnonzero(_occurrence(group, copies) < (copies // common)[group])
        columns, labels = [cells[rows] for cells in columns], labels[rows]
        first, group, copies = _equal_rows(columns, labels)
    together = _are_copies(columns, labels, first, copies)
    if together.any():
        stay, weights = join_groups(first, group, together, weights)
        rows = rows[stay]
    return rows, relative_weights(weights)


def join_groups(first: Ints, group: Ints, together: Bools, weights: Floats | None) -> tuple[Ints, Floats]:
    """Choose the first row of each group that leaves together, with the sum of its weights, and all other rows.

    ``first`` and ``together`` have an entry for each group, ``group`` (n_rows,) is the group of each row.
    """
    unit = np.ones(len(group)) if weights is None else weights
    sums = np.bincount(group, unit, minlength=len(first))
    stay = ~together[group]
    stay[first[together]] = True
    rows = np.flatnonzero(stay)
    return rows, np.where(together[group], sums[group], unit)[rows]


def relative_weights(weights: Floats | None) -> Floats | None:
    """Scale weights to a mean of one; None if all are equal."""
    return None if weights is None or (weights == weights[:1]).all() else weights / weights.mean()


def join_equal_documents(
    keys: npt.NDArray[np.uint64], lengths: Ints, weights: Floats | None
) -> tuple[Ints, Floats] | None:
    """Choose the documents that stand for all, and their weights; None if there are no copies.

    Documents with equal ``keys`` are equal. Short ones are independent observations, unless all documents occur k, 2k,
    3k, … times.

    >>> keys, lengths = np.array([7, 7, 8, 9, 9], dtype=np.uint64), np.array([50, 50, 50, 4, 4])
    >>> join_equal_documents(keys, lengths, None)
    (array([0, 2, 3, 4]), array([2., 1., 1., 1.]))
    """
    first, group, copies = group_equal(keys)
    all_repeat = len(copies) >= LEAST_DIFFERENT and np.gcd.reduce(copies) > 1
    together = (copies > 1) & (all_repeat | (lengths[first] >= LEAST_BYTES))
    return join_groups(first, group, together, weights) if together.any() else None


def group_equal(keys: npt.NDArray[np.uint64]) -> tuple[Ints, Ints, Ints]:
    """Group equal keys: (first row of each group, group of each row, size of each group)."""
    _, first, group, copies = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return first, group, copies


def _equal_rows(columns: list[Array], labels: Array) -> tuple[Ints, Ints, Ints]:
    """Group equal rows of a class by a hash: (first row of each group, group of each row, size of each group)."""
    keys = mix_bits(labels.astype(np.uint64))
    for cells in columns:
        # Adding zero makes the two zeros equal.
        bits = (cells + 0.0).view(np.uint64) if cells.dtype.kind == "f" else cells.astype(np.uint64)
        keys = mix_bits(keys + bits)
    return group_equal(keys)


def _all_repeat(columns: list[Array], labels: Array, first: Ints, copies: Ints) -> bool:
    """Return True if groups whose sizes have a common divisor are copies of the whole table."""
    if len(copies) >= LEAST_DIFFERENT and (copies != copies[0]).any():
        return True
    some = np.arange(0, len(copies), -(-len(copies) // MOST_RANKED) or 1)
    return bool(np.median(_expected(columns, labels, first, 0 * copies, some)) < FEW_EXPECTED)


def _occurrence(group: Ints, copies: Ints) -> Ints:
    """Number the rows of each group from 0 in order of appearance (n_rows,)."""
    order = np.argsort(group, kind="stable")
    starts = np.concatenate([[0], np.cumsum(copies)[:-1]])
    numbers = np.empty(len(group), dtype=np.int64)
    numbers[order] = np.arange(len(group)) - np.repeat(starts, copies)
    return numbers


def _are_copies(columns: list[Array], labels: Array, first: Ints, copies: Ints) -> Bools:
    """Tell which groups of equal rows are copies (groups,), class by class where a class has many."""
    answer = np.zeros(len(copies), dtype=bool)
    if len(labels) - len(copies) < LEAST_COPIES:
        return answer
    repeated, single = np.flatnonzero(copies > 1), np.flatnonzero(copies == 1)
    single = single[:: -(-len(single) // MOST_RANKED) or 1]
    expected = _expected(columns, labels, first, copies, repeated)
    # Ranked by the distinct rows alone: copies would make their own values look probable.
    distinct = [cells[first] for cells in columns]
    alone, ranked = np.ones(len(copies), dtype=np.int64), np.concatenate([repeated, single])
    probable = _expected(distinct, labels[first], np.arange(len(copies)), alone, ranked)
    # A row that occurs more often than there are different rows is an observation.
    rare = (expected < FEW_EXPECTED) & (copies[repeated] < len(copies))
    n_classes = int(labels.max()) + 1
    own = labels[first[repeated]]
    n_copies = np.bincount(own, rare * (copies[repeated] - 1), minlength=n_classes)
    above, pairs = np.zeros(n_classes), np.zeros(n_classes)
    for c in np.unique(own):
        once = np.sort(probable[len(repeated) :][labels[first[single]] == c])
        twice = probable[: len(repeated)][own == c]
        above[c] = (np.searchsorted(once, twice, "left") + np.searchsorted(once, twice, "right")).sum() / 2
        pairs[c] = len(once) * len(twice)
    few = n_copies < LEAST_COPIES
    for of_class in (few, *np.eye(n_classes, dtype=bool)[~few]):
        if n_copies[of_class].sum() >= LEAST_COPIES and above[of_class].sum() <= RANKED_ABOVE * pairs[of_class].sum():
            answer[repeated[rare & of_class[own]]] = True
    return answer


def _expected(columns: list[Array], labels: Array, first: Ints, copies: Ints, groups: Ints) -> Floats:
    """Compute how many rows equal to those of a group naive Bayes expects from all rows but the copies (groups,)."""
    n_classes, own, copies, first = int(labels.max(initial=0)) + 1, labels[first[groups]], copies[groups], first[groups]
    others = np.bincount(labels, minlength=n_classes)[own] - copies
    expected = others.astype(np.float64)
    for cells in columns:
        values, at_first = np.unique(cells[first], return_inverse=True)
        at = np.minimum(np.searchsorted(values, cells), len(values) - 1)
        # NaN, sorted last, is equal to itself here.
        equal = (values[at] == cells) | ((values[at] != values[at]) & (cells != cells))
        cell = at[equal] * n_classes + labels[equal]
        counts = np.bincount(cell, minlength=len(values) * n_classes).reshape(len(values), n_classes)
        expected *= (counts[at_first, own] - copies + PSEUDO_COUNT) / (others + 1)
    return expected
