"""Encode labels as class codes like scikit-learn's classifiers, without sorting the rows.

Every function returns None where scikit-learn has a rule of its own (a warning, an error, a rare type), so that the
caller can leave the case to it.

>>> y = np.array(["no", "yes", "no", "no"])
>>> classes = class_names(distinct_labels(y), len(y))
>>> classes.tolist(), class_codes(y, classes).tolist()
(['no', 'yes'], [0, 1, 0, 0])
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayeskit import kernels
from bayeskit.typing import Array

WIDEST_RANGE = 2**16  # integers within it are coded by a table


def distinct_labels(y: Any) -> Array | None:
    """Return the distinct labels, sorted, in the dtype of y.

    >>> distinct_labels(np.array([7, 3, 7], dtype=np.int8))
    array([3, 7], dtype=int8)
    """
    if (span := _span(y)) is not None:
        low, size = span
        offsets = _lookup(y, low, np.arange(size, dtype=np.uint32), size)
        ((seen,),) = kernels.count_codes([offsets], [size], np.zeros(len(y), np.uint8), 1, None, 1)
        return np.asarray(np.flatnonzero(seen) + low, dtype=y.dtype)
    if not _is_plain(y):
        return None
    if y.dtype.kind != "O":
        return np.unique(y)
    try:
        different = set(y.tolist())
    except TypeError:  # not hashable
        return None
    return np.array(sorted(different), dtype=object) if set(map(type, different)) == {str} else None


def class_names(distinct: Array, n_rows: int) -> Array | None:
    """Return ``classes_`` as scikit-learn writes them; None where it may warn or raise an error."""
    if 2 * len(distinct) > n_rows:
        return None
    from sklearn.utils.multiclass import unique_labels

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are many among themselves, not among the rows
        try:
            return np.asarray(unique_labels(distinct))
        except ValueError:
            return None


def class_codes(y: Any, classes: Any) -> Array | None:
    """Return the index of each label among the classes; None if a label is unknown.

    >>> class_codes(np.array([7, 3, 7]), np.array([3, 7])).tolist()
    [1, 0, 1]
    >>> class_codes(np.array([7, 4, 7]), np.array([3, 7]))
    """
    n, span = len(classes), _span(classes)
    if not _is_plain(y) or not _is_plain(classes) or (classes.dtype.kind == "U") != (y.dtype.kind in "UO"):
        return None
    if span is not None and holds_integers(y):
        low, size = span
        table = np.full(size, n, dtype=np.uint32)
        table[classes.astype(np.int64) - low] = np.arange(n)
        codes = _lookup(y, low, table, n)
        return codes if codes.max(initial=0) < n else None
    if y.dtype.kind == "O":
        position = {label: i for i, label in enumerate(classes.tolist())}
        try:
            return np.fromiter(map(position.__getitem__, y.tolist()), np.min_scalar_type(n), len(y))
        except (KeyError, TypeError):  # unknown, or not even hashable
            return None
    nearest = np.minimum(np.searchsorted(classes, y), n - 1)
    return nearest.astype(np.min_scalar_type(n)) if np.array_equal(classes[nearest], y) else None


def holds_integers(X: Any) -> bool:
    """Return True if all columns of an array or frame are integers or booleans that fit int64."""
    types = [X.dtype] if isinstance(X, np.ndarray) else list(getattr(X, "dtypes", ()))
    return bool(types) and all(isinstance(t, np.dtype) and t.isnative and np.can_cast(t, np.int64) for t in types)


def _span(y: Any) -> tuple[int, int] | None:
    """Return the smallest integer and the size of the range, if a lookup table can hold it; else None."""
    if not isinstance(y, np.ndarray) or not holds_integers(y) or len(y) == 0:
        return None
    low, high = (int(end[0]) for end in kernels.int_ranges([y], 1))
    return (low, high - low + 1) if high - low < WIDEST_RANGE else None


def _lookup(y: Array, low: int, table: NDArray[np.uint32], unseen: int) -> Array:
    return kernels.lookup_codes([y], np.array([low]), [table], np.array([unseen], np.uint32), 1)[0]


def _is_plain(y: Any) -> bool:
    """Return True if labels are a NumPy array of numbers, strings or objects."""
    return isinstance(y, np.ndarray) and y.dtype.kind in "biufUO"
