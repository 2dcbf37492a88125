"""Factors: tables of numbers over a few variables; multiply them, sum variables out, and never underflow.

A factor holds its table divided by the largest cell, and the logarithm of what was divided off. Where the smallest
positive cells could still vanish in a product, the caller starts again with ``log=True``: then tables hold logarithms.

>>> rain = Factor.of((0,), np.array([0.25, 0.75]))
>>> wet = Factor.of((0, 1), np.array([[0.5, 0.5], [0.1, 0.9]]))
>>> joined = combine([rain, wet], keep=(1,))                 # Σ P(rain) P(wet | rain)
>>> (joined.table * logspace.exp(joined.log_scale)).round(6).tolist()
[0.2, 0.8]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.tolerance import UNDERFLOW
from bayeskit.typing import Floats


class Underflow(Exception):
    """A product might lose cells: start again in logarithms."""


@dataclass(frozen=True)
class Factor:
    """A table with one axis a variable, the variables ascending; its true cells are table · e^log_scale."""

    variables: tuple[int, ...]
    table: Floats
    log_scale: float = 0.0

    @classmethod
    def of(cls, variables: Sequence[int], table: Floats, log: bool = False) -> Factor:
        """A factor with its axes put in ascending order."""
        order = np.argsort(variables)
        table = logspace.log(table) if log else table
        return cls(tuple(sorted(variables)), table.transpose(order))

    def at(self, states: Mapping[int, int]) -> Factor:
        """The part of the table where some variables have these values."""
        index = tuple(states.get(v, slice(None)) for v in self.variables)
        return Factor(tuple(v for v in self.variables if v not in states), self.table[index], self.log_scale)


def combine(factors: Sequence[Factor], keep: Sequence[int], log: bool = False) -> Factor:
    """The product of factors, summed over every variable that is not kept."""
    variables = sorted({v for factor in factors for v in factor.variables})
    if not log:
        smallest = 1.0
        for factor in factors:
            smallest *= least(factor.table)
        if smallest < UNDERFLOW:
            raise Underflow
    product: Floats | float = 0.0 if log else 1.0
    for factor in factors:
        shape = [1] * len(variables)
        for v, n in zip(factor.variables, factor.table.shape, strict=True):
            shape[variables.index(v)] = n
        spread = factor.table.reshape(shape)
        product = product + spread if log else product * spread
    return _summed(np.asarray(product), variables, keep, sum(f.log_scale for f in factors), log)


def _summed(product: Floats, variables: Sequence[int], keep: Sequence[int], log_scale: float, log: bool) -> Factor:
    axes = [i for i, v in enumerate(variables) if v in keep]
    lost = [i for i in range(len(variables)) if i not in axes]
    if log:
        shape = [product.shape[i] for i in axes]
        flat = product.transpose([*axes, *lost]).reshape(*shape, -1)
        product = logspace.log_sum_exp(flat)
    elif lost:
        product = product.sum(axis=tuple(lost))
    top = float(product.max())
    if log:
        if np.isfinite(top):
            product, log_scale = product - top, log_scale + top
    elif top > 0:
        product, log_scale = product / top, log_scale + float(logspace.log(top))
    return Factor(tuple(variables[i] for i in axes), np.asarray(product), log_scale)


def least(table: Floats) -> float:
    """The smallest positive cell; 1 where there is none."""
    return float(np.min(table, where=table > 0, initial=1.0))


def project(variables: Sequence[int], onto: Sequence[int], cards: Sequence[int]) -> npt.NDArray[np.int32]:
    """For each cell of a table over ``variables``, the last fastest, the cell of the table over ``onto`` it belongs to.

    >>> project((0, 1), (1,), [2, 3]).tolist()
    [0, 1, 2, 0, 1, 2]
    """
    stride, step = {}, 1
    for v in reversed(onto):
        stride[v] = step
        step *= cards[v]
    cells = np.zeros(1, dtype=np.int32)
    for v in variables:
        cells = (cells[:, None] + np.arange(cards[v], dtype=np.int32) * stride.get(v, 0)).reshape(-1)
    return cells
