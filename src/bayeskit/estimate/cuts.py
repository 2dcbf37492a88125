"""Find cut points of numeric columns: equal width, equal frequency and the MDL criterion.

Formula: cut points
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from itertools import pairwise
from typing import Any, cast

import numpy as np

from bayeskit import kernels
from bayeskit.data.cells import LARGEST, numbers_of, raise_unusable
from bayeskit.data.encoder import encode_labels
from bayeskit.data.reader import read_batch
from bayeskit.data.schema import Schema
from bayeskit.data.source import Responsibilities, Source
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean
from bayeskit.tally.distinct import MOST
from bayeskit.tally.plan import Plan, Request
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import RANK
from bayeskit.typing import Array, Floats, Ints


def equal_width(low: float, high: float, n_bins: int) -> tuple[float, ...]:
    """Return the n − 1 cuts that divide low..high into n intervals of equal width; none if low equals high.

    >>> equal_width(0, 10, 4)
    (2.5, 5.0, 7.5)
    """
    cuts = [float(low + (high - low) * i / n_bins) for i in range(1, n_bins)] if high > low else []
    return tuple(cut for cut, before in zip(cuts, [low, *cuts], strict=False) if before < cut < high)


def equal_frequency(x: Floats, n_bins: int, weights: Floats | None = None) -> tuple[float, ...]:
    """Return cuts that divide numbers into n intervals of about equal frequency.

    >>> equal_frequency(np.array([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), 3)
    (2.5, 15.0)
    """
    if weights is None:
        return tuple(kernels.frequency_cuts([x], [n_bins], RANK, 1)[0].tolist())
    x, shares = _sorted(x, weights)
    total = shares[-1] if shares is not None and len(x) else 0.0
    return at_ranks(x, np.arange(1, n_bins) * (total / n_bins), shares)


def random(x: Floats, n_bins: int, rng: np.random.Generator, weights: Floats | None = None) -> tuple[float, ...]:
    """Return cuts at n − 1 random ranks of the numbers, independent of the class.

    >>> len(random(np.arange(100.0), 5, np.random.default_rng(0)))
    4
    """
    x, shares = _sorted(x, weights)
    if len(x) < 2:
        return ()
    ranks = rng.integers(1, len(x), size=n_bins - 1).astype(np.float64)
    return at_ranks(x, np.sort(ranks) if shares is None else shares[np.sort(ranks).astype(np.int64) - 1], shares)


def random_of_distinct(x: Floats, counts: Ints, n_bins: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Return the same cuts from increasing distinct numbers and their counts.

    >>> rows = np.array([1.0, 2.0, 2.0, 5.0, 5.0, 5.0])
    >>> drawn = random_of_distinct(np.array([1.0, 2.0, 5.0]), np.array([1, 2, 3]), 4, np.random.default_rng(1))
    >>> drawn == random(rows, 4, np.random.default_rng(1))
    True
    """
    if (total := int(counts.sum())) < 2:
        return ()
    ranks = rng.integers(1, total, size=n_bins - 1).astype(np.float64)
    return at_ranks(x, np.sort(ranks), np.cumsum(counts).astype(np.float64))


def mdl(
    x: Floats, labels: Array, n_classes: int, weights: Floats | None = None, n_threads: int = 1
) -> tuple[float, ...]:
    """Return the cuts chosen by the minimum description length criterion (Fayyad and Irani, 1993).

    >>> ages, buys = np.array([20.0, 21, 22, 23, 24, 30, 31, 32, 33, 34]), np.repeat([0, 1], 5)
    >>> mdl(ages, buys, 2)
    (27.0,)
    """
    codes = np.ascontiguousarray(labels, dtype=np.uint32)
    return tuple(kernels.mdl_cuts([x], codes, n_classes, weights, n_threads)[0].tolist())


def at_ranks(x: Floats, ranks: Floats, shares: Floats | None = None) -> tuple[float, ...]:
    """Return cuts after the values at ranks of sorted numbers, at midpoints; ``shares`` are cumulative weights.

    >>> at_ranks(np.array([1.0, 2.0, 4.0, 4.0, 9.0]), np.array([1, 2, 3]))    # the third lies within the fours
    (1.5, 3.0, 6.5)
    """
    if len(x) < 2 or not len(ranks):
        return ()
    if shares is None:  # tolerates rounding at the borders
        places = np.maximum(np.ceil(ranks - RANK * len(x)), 1).astype(np.int64) - 1
    else:
        places = np.searchsorted(shares, ranks - RANK * shares[-1])
    left = np.unique(x[np.minimum(places, len(x) - 1)])
    left = left[left < x[-1]]
    right = x[np.searchsorted(x, left, side="right")]
    middle = left + (right - left) / 2
    return tuple(np.where(middle < right, middle, left).tolist())


def _sorted(x: Floats, weights: Floats | None) -> tuple[Floats, Floats | None]:
    """Return the non-missing numbers sorted, and their cumulative weights."""
    if weights is None:
        x = np.sort(x)  # missing cells come last
        return x[: np.searchsorted(x, np.nan)], None
    rows = np.flatnonzero(~np.isnan(x) & (weights > 0))
    rows = rows[np.argsort(x[rows], kind="stable")]
    return x[rows], np.cumsum(weights[rows])


def as_cuts(cuts: object, column: str) -> tuple[float, ...]:
    """Validate cut points given by the user.

    >>> as_cuts([20, 27.5], "age")
    (20.0, 27.5)
    """
    try:
        return tuple(float(cut) for cut in cuts)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise BayesError(
            f"cuts={cuts!r} for column {column!r}: give a number of intervals, or a list of rising numbers"
        ) from None


def labels(cuts: Sequence[float]) -> list[str]:
    """Return readable names of the intervals; a value equal to a cut belongs to the left interval.

    >>> labels([20.0, 27.5])
    ['≤ 20', '20 – 27.5', '> 27.5']
    """
    if not cuts:
        return ["any"]
    middle = [f"{a:g} – {b:g}" for a, b in pairwise(cuts)]
    return [f"≤ {cuts[0]:g}", *middle, f"> {cuts[-1]:g}"]


Count = Callable[[Schema, Plan], Tally]
FIT = 1 << 18  # largest number of distinct values for learning cuts on an engine
WAYS = ("mdl", "frequency", "width", "random")
INTERVALS = 10  # default number of intervals


def check_cuts(spec: object) -> None:
    """Raise an error for an invalid ``cuts=`` setting.

    >>> check_cuts("mdl"), check_cuts(("frequency", 5)), check_cuts([1.5, 3])
    (None, None, None)
    """
    if isinstance(spec, str) or (isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], str)):
        way, number = (spec, INTERVALS) if isinstance(spec, str) else spec
        known = way in WAYS and isinstance(number, (int, np.integer)) and 1 <= number <= MOST
    else:
        is_number = isinstance(spec, (int, np.integer))
        known = not isinstance(spec, (bool, float)) and (not is_number or 1 <= cast(int, spec) <= MOST)
        known = known and (not isinstance(spec, Sized) or getattr(spec, "ndim", 1) == 0 or len(spec) <= MOST)
    if not known:
        raise BayesError(
            f"cuts={spec!r}",
            hint='it is "mdl", "frequency", "width" or "random", one of these with a number of intervals such as '
            'cuts=("frequency", 5), a number of intervals of equal width, or a list of rising numbers'
            f"{did_you_mean(spec, WAYS)}",
        )


def learn_cuts(
    schema: Schema,
    source: Source,
    wanted: Mapping[str, Any],
    n_threads: int = 1,
    seed: int | None = None,
    count: Count | None = None,
) -> Schema:
    """Return the schema with the learned cut points of the wanted columns; the source is read once.

    Settings: "mdl", "frequency", "width", "random" (with a number of intervals as a pair), a number of intervals of
    equal width, or the points. For remote rows, ``count`` returns the counts of distinct numbers, and the cuts are the
    same as from the rows.
    """
    for spec in wanted.values():
        check_cuts(spec)
    ways = {name: _way(spec) for name, spec in wanted.items()}
    learned = {name: way for name, way in ways.items() if way}
    cuts = {n: as_cuts(spec, n) for n, spec in wanted.items() if n not in learned}
    if count is not None:
        cuts |= _from_distinct(schema, learned, n_threads, seed, count) if learned else {}
        return schema.with_numbers({name: {"cuts": cuts[name]} for name in wanted})
    columns, labels, n_classes, weights = _read(schema, source, learned)
    by_mdl = [name for name, (way, _) in learned.items() if way == "mdl"]
    if by_mdl and labels is None:
        raise BayesError('cuts="mdl" needs one label a row; pass y, or cut by "frequency" or "width"')
    by_frequency = [name for name, (way, _) in learned.items() if way == "frequency" and weights is None]
    together = by_mdl + by_frequency  # one kernel call each
    try:
        made: list[Floats] = []
        if by_mdl and labels is not None:
            numbers_by_class = [columns[n] for n in by_mdl]
            if isinstance(labels, Responsibilities):  # a row for each class, with its share as weight
                rows, codes = np.nonzero(labels.matrix)
                shares = labels.matrix[rows, codes] * (1.0 if weights is None else weights[rows])
                by_class = [x[rows] for x in numbers_by_class]
                made += kernels.mdl_cuts(by_class, codes.astype(np.uint32), len(labels.classes), shares, n_threads)
            else:
                made += kernels.mdl_cuts(numbers_by_class, labels, n_classes, weights, n_threads)
        if by_frequency:
            numbers = [learned[name][1] for name in by_frequency]
            made += kernels.frequency_cuts([columns[n] for n in by_frequency], numbers, RANK, n_threads)
    except ValueError:
        raise_unusable({n: columns[n] for n in together}, 0)
        raise
    cuts |= {name: tuple(points.tolist()) for name, points in zip(together, made, strict=True)}
    rng = np.random.default_rng(seed)
    for name, (way, number) in learned.items():
        if name in cuts:
            continue
        x = columns[name]
        if max(np.fmax.reduce(x, initial=0.0), -np.fmin.reduce(x, initial=0.0)) > LARGEST:
            raise_unusable({name: x}, 0)
        cuts[name] = random(x, number, rng, weights) if way == "random" else by_range(way, x, number, weights)
    return schema.with_numbers({name: {"cuts": cuts[name]} for name in wanted})


def by_range(way: str, x: Floats, number: int, weights: Floats | None) -> tuple[float, ...]:
    """Return cuts of equal frequency or equal width."""
    if way == "frequency":
        return equal_frequency(x, number, weights)
    x = x[~np.isnan(x) & (True if weights is None else weights > 0)]
    return equal_width(x.min(initial=np.inf), x.max(initial=-np.inf), number)


def _from_distinct(
    schema: Schema, learned: Mapping[str, tuple[str, int]], n_threads: int, seed: int | None, count: Count
) -> dict[str, tuple[float, ...]]:
    """Return the cuts of each column from the counts of its distinct numbers by class."""
    numbers = schema.restrict(learned)
    tally = count(numbers, Plan(Request("distinct", tuple(learned), {"max_values": MOST, "refuse_beyond": FIT})))
    cuts: dict[str, tuple[float, ...]] = {}
    rng = np.random.default_rng(seed)
    for name, (way, number) in learned.items():
        values = tally.values[name]
        x, counts = values.values, values.counts.sum(axis=0).astype(np.float64)
        if way == "mdl":
            c, i = np.nonzero(values.counts)
            labels, weights = c.astype(np.uint32), values.counts[c, i].astype(np.float64)
            cuts[name] = mdl(x[i], labels, len(tally.classes), weights, n_threads)
        elif way == "random":
            if tally.weighted:
                raise BayesError(
                    f'cuts="random" of column {name!r} draws rows, and of weighted ones only sums were counted',
                    hint='pass cuts="frequency", or the points',
                )
            cuts[name] = random_of_distinct(x, values.counts.sum(axis=0), number, rng)
        else:
            cuts[name] = by_range(way, x, number, counts)
    return cuts


def _way(spec: Any) -> tuple[str, int] | None:
    """Return (method, number of intervals) of cuts to learn; None for given points."""
    if isinstance(spec, str):
        return spec, INTERVALS
    if isinstance(spec, tuple):
        return (spec[0], int(spec[1])) if len(spec) == 2 and isinstance(spec[0], str) else None
    return ("width", int(spec)) if isinstance(spec, (int, np.integer)) else None


def _read(
    schema: Schema, source: Source, names: Mapping[str, Any]
) -> tuple[dict[str, Floats], Array | Responsibilities | None, int, Floats | None]:
    """Return (numbers by column, label codes or soft labels, number of classes, weights) of the whole source."""
    if not names:
        return {}, None, 0, None
    where, classes = schema.locate(list(source.kinds), source.named), Vocabulary()
    batch = read_batch(source, [where[name] for name in names])
    columns = {n: numbers_of(batch.columns[where[n]], schema.columns[n], n, batch.start) for n in names}
    codes: Array | Responsibilities | None = batch.labels if isinstance(batch.labels, Responsibilities) else None
    if batch.labels is not None and codes is None:
        codes = encode_labels(batch.labels, classes, batch.start, grow=True)
    if batch.weights is not None and not batch.weights.any():
        raise BayesError("every row has weight zero, so there is nothing to cut")
    return columns, codes, len(classes.values), batch.weights
