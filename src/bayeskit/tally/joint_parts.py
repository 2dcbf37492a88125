"""What a file holds of columns counted together, once it is found to be possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.errors import BadFile
from bayeskit.tally.families import Counts, Family
from bayeskit.tally.joints import Joint, Pairs, Together, pair_cells
from bayeskit.tally.plausible import ROUNDING

Array = npt.NDArray[Any]


def together_from_parts(header: Mapping[str, Any], arrays: list[Array], families: Mapping[str, Family]) -> Together:
    """What :meth:`Together.to_parts` wrote; :class:`BadFile` where it does not fit the counts of the columns alone."""
    if "pairs" not in header and "joints" not in header:
        if arrays:
            raise BadFile("the tally has more arrays than its header says")
        return Together.empty()
    try:
        pairs = tuple(str(name) for name in header["pairs"])
        names = [tuple(str(name) for name in joint) for joint in header["joints"]]
    except (KeyError, TypeError) as problem:
        raise BadFile(f"this is no tally: {problem!r}") from None
    if any(len(set(joint)) < len(joint) or not set(joint) <= families.keys() for joint in (pairs, *names)):
        raise BadFile("columns are counted together that are not counted alone, or stand there twice")
    if len(arrays) != 1 + 2 * len(names) or len(set(names)) < len(names):
        raise BadFile("the arrays of columns counted together do not fit the header")
    joints = {
        columns: _joint(columns, arrays[1 + 2 * i], arrays[2 + 2 * i], families) for i, columns in enumerate(names)
    }
    return Together(_pairs(pairs, arrays[0], families), joints)


def _pairs(columns: tuple[str, ...], counts: Array, families: Mapping[str, Family]) -> Pairs:
    """Every table of a pair has the counts of its two columns at its edges."""
    if not columns:
        if counts.size:
            raise BadFile("the arrays of columns counted together do not fit the header")
        return Together.empty().pairs
    sizes = tuple(families[name].counts.shape[1] for name in columns)
    if counts.shape != (len(families[columns[0]].counts), pair_cells(sizes)):
        raise BadFile("the counts of pairs do not fit their values")
    _check(counts, families[columns[0]].counts)
    pairs = Pairs(columns, sizes, counts)
    for i, a in enumerate(columns):
        for b in columns[i + 1 :]:
            table = pairs.table(a, b)
            _fits(table.sum(axis=2), families[a].counts)
            _fits(table.sum(axis=1), families[b].counts)
    return pairs


def _joint(columns: tuple[str, ...], cells: Array, counts: Array, families: Mapping[str, Family]) -> Joint:
    """Cells that rise, each once, and whose sums are the counts of each column."""
    own = families[columns[0]].counts if columns else counts.T
    sizes = [families[name].counts.shape[1] for name in columns]
    fits = cells.dtype == np.uint32 and cells.ndim == 2 and cells.shape[1] == len(columns)
    if not fits or counts.shape != (len(cells), len(own)) or (cells >= sizes).any():
        raise BadFile("the cells of columns counted together do not fit their values")
    _check(counts, own)
    joint = Joint(columns, cells, counts)
    if joint != Joint.of(columns, cells, counts):
        raise BadFile("the cells of columns counted together are not sorted, or some were never counted")
    for j, name in enumerate(columns):
        sums = np.zeros((sizes[j], counts.shape[1]))
        np.add.at(sums, cells[:, j], counts)
        _fits(sums.T, families[name].counts)
    return joint


def _check(counts: Array, alone: Counts) -> None:
    if counts.dtype != alone.dtype or counts.min(initial=0) < 0:
        raise BadFile("the counts of columns together are negative, or of another kind than those of each alone")


def _fits(sums: Array, alone: Counts) -> None:
    slack = ROUNDING * alone.sum(axis=1, keepdims=True) if alone.dtype.kind == "f" else 0
    if (np.abs(sums - alone) > slack).any():
        raise BadFile("the counts of columns together do not sum to those of each alone")
