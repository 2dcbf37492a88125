"""Rows of three small columns and a class, from which models are learned."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

NAMES = ("a", "b", "d")
PARENTS = {"b": ["a"], "d": ["a"]}
CHAIN = {"b": ["a"], "d": ["b", "a"]}
cell = st.sampled_from(["u", "v", "w"])
gap = cell | st.none()
rows_with_gaps = st.lists(st.tuples(gap, gap, gap, st.sampled_from("pq")), min_size=2, max_size=20)


def table(rows):
    columns = {name: np.array([row[i] for row in rows], dtype=object) for i, name in enumerate(NAMES)}
    return columns, [row[-1] for row in rows]


def two_classes(rows):
    assume({row[-1] for row in rows} == {"p", "q"})
    assume(all(any(row[i] is not None for row in rows) for i in range(3)))
