"""Compare tallies that were summed in different orders: whole counts exactly, sums of floats up to rounding."""

import numpy as np

from bayeskit.tally import double_double as dd
from bayeskit.tally.moments import MomentStatistic, Products, pairs
from bayeskit.tally.plan import arrays_of
from bayeskit.tally.statistic import TableStatistic

SAME_WEIGHT = 1e-12  # of a total weight
SAME_SUM = 1e-27  # of √(n·Σx²), or of Σx²
SAME_PRODUCT = 1e-12  # of a covariance, on the scale of the two deviations


def agree(one, other):
    """Return True for tallies of the same rows."""
    apart = SAME_WEIGHT * one.n_rows * one.weighted
    return (
        one.schema == other.schema
        and one.classes == other.classes
        and one.statistics.keys() == other.statistics.keys()
        and bool((np.abs(one.class_counts - other.class_counts) <= apart).all())
        and all(statistics_agree(statistic, other.statistics[kind]) for kind, statistic in one.statistics.items())
    )


def statistics_agree(one, other):
    if not one.request.is_for(other.request):
        return False
    if isinstance(one, Products):
        return products_agree(one.moments, other.of(one.columns))
    if isinstance(one, MomentStatistic):
        return moments_agree(one.moments, other.of(one.columns))
    if one.kind == "rows":
        return one == type(other)(one.columns, other.batches)
    if one.kind == "sample":
        return one == other.select(one.columns)
    if one.kind == "documents":
        return one == other
    if one.kind == "words":
        return all(words_agree(words, other.tables[name]) for name, words in one.tables.items())
    if isinstance(one, TableStatistic):
        other = other.with_tables({key: other.tables[key] for key in one.tables})
    elif one.kind == "pairs":
        other = other.select(one.columns)
    return parts_agree(one.to_parts(), other.to_parts())


def parts_agree(one, other):
    (header, arrays), (other_header, other_arrays) = one, other
    return header == other_header and len(arrays) == len(other_arrays) and all(map(counts_agree, arrays, other_arrays))


def counts_agree(one, other):
    """Whole numbers exactly, floats up to 1e-12 of their total."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return bool((np.abs(one - other) <= SAME_WEIGHT * max(float(np.abs(one).sum()), 1e-300)).all())


def words_agree(one, other):
    counts, other_counts = arrays_of(one)[:6], arrays_of(other)[:6]
    same = one.pruned == other.pruned and all(map(counts_agree, counts, other_counts))
    return same and moments_agree(one.lengths, other.lengths)


def moments_agree(one, other):
    if one.shape != other.shape or not counts_agree(one.n, other.n):
        return False
    size = np.sqrt(one.n * np.maximum(one.square_hi, 0.0))
    sums = dd.subtract((one.sum_hi, one.sum_lo), (other.sum_hi, other.sum_lo))[0]
    squares = dd.subtract((one.square_hi, one.square_lo), (other.square_hi, other.square_lo))[0]
    return bool(((np.abs(sums) <= SAME_SUM * size) & (np.abs(squares) <= SAME_SUM * one.square_hi)).all())


def products_agree(one, other):
    n, spread = pairs(one)
    other_n, other_spread = pairs(other)
    size = np.sqrt(np.maximum(np.diagonal(spread, axis1=1, axis2=2), 0.0))
    close = np.abs(spread - other_spread) <= SAME_PRODUCT * size[:, :, None] * size[:, None, :]
    return bool(close.all() and (np.abs(n - other_n) <= SAME_WEIGHT * n.sum()).all())
