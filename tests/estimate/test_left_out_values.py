"""Coded columns without one row: the tables that whole rows share say what the scores of single cells say."""

import numpy as np
import pytest

from bayeskit.estimate.columns.coded import value_table
from bayeskit.estimate.leave_one_out import LeftOutValue, LeftOutValues
from bayeskit.estimate.smoothing import Automatic, Laplace, Lidstone, MEstimate, Smoothing
from bayeskit.tally.counts import Family

SMOOTHINGS = (Laplace(), Lidstone(0.0), Automatic(), MEstimate(2.0, "marginal"), MEstimate(2.0, "uniform"))


def column(counts: list[list[int]], smoothing: Smoothing, missing: str, unseen: str, declared: bool) -> LeftOutValue:
    family = Family(tuple("abcdef"[: len(counts[0]) - 1]), np.array(counts))
    table = value_table(family, smoothing, np.array([5, 6, 0]), missing, unseen)
    return LeftOutValue(table, family.counts, smoothing, declared)


@pytest.mark.parametrize("smoothing", SMOOTHINGS, ids=repr)
@pytest.mark.parametrize("missing", ["ignore", "value"])
@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
def test_the_tables_of_all_columns_are_the_scores_of_each_cell(smoothing: Smoothing, missing: str, unseen: str) -> None:
    columns = [
        column([[1, 3, 0, 1], [0, 5, 1, 0], [0, 0, 0, 0]], smoothing, missing, unseen, False),
        column([[0, 5], [0, 6], [0, 0]], smoothing, missing, unseen, True),
        column([[4, 1, 0], [6, 0, 0], [0, 0, 0]], smoothing, missing, unseen, False),
    ]
    values = LeftOutValues(columns)
    for start, table in zip(values.starts, values.tables(), strict=False):
        n_labels, n_slots, _ = table.shape
        for label in range(n_labels):
            slots, labels, one = start + np.arange(n_slots), np.full(n_slots, label), np.ones(n_slots)
            others, own = values.scores(slots, labels, one)
            others[:, label] = np.where(values.lacks(slots, labels, one), np.nan, own)
            np.testing.assert_array_equal(table[label], others)


def test_a_column_does_not_change_what_another_says() -> None:
    first = column([[1, 3, 0, 1], [0, 5, 1, 0], [0, 0, 0, 0]], Laplace(), "value", "smooth", False)
    second = column([[4, 1, 0], [6, 0, 0], [0, 0, 0]], MEstimate(3.0, "marginal"), "ignore", "smooth", False)
    for one, together in zip((first, second), LeftOutValues([first, second]).tables(), strict=True):
        np.testing.assert_array_equal(LeftOutValues([one]).tables()[0], together)
