"""The forms that documents come in: texts in a list, a series or the one column of a table, or counts of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bayeskit.data.frames import collected, columns_of, kind_of
from bayeskit.data.source import is_arrow
from bayeskit.errors import BayesError

NUMBERS = ("integer", "float", "boolean")


class CountMatrix(NamedTuple):
    """Counts (documents, words), sparse or an array, and the names of the words where they have some."""

    counts: Any
    names: list[str] | None


def form_of(X: Any) -> CountMatrix | Any:
    """Counts, where ``X`` holds some; else the texts, in a form that :class:`Documents` takes.

    >>> form_of({"text": ["a vote", "a law"]}).tolist()
    ['a vote', 'a law']
    >>> form_of({"vote": [1, 0], "law": [0, 2]}).names
    ['vote', 'law']
    """
    X = collected(X)
    if hasattr(X, "tocsr"):
        return CountMatrix(X, None)
    if _is_table(X):
        return _of_table(X)
    if getattr(X, "ndim", 1) == 2:
        texts = X.dtype.kind in "US" or (X.dtype.kind == "O" and any(isinstance(cell, str) for cell in X.flat))
        if not texts:
            return CountMatrix(X, None)
        if X.shape[1] != 1:
            raise _several([f"{j}" for j in range(X.shape[1])])
        return X[:, 0]
    return CountMatrix(np.asarray(X), None) if _is_listed_matrix(X) else X


def _is_table(X: Any) -> bool:
    records = isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(cell, Mapping) for cell in X)
    return records or isinstance(X, Mapping) or hasattr(X, "columns") or hasattr(X, "column_names")


def _of_table(X: Any) -> CountMatrix | Any:
    """All columns are counts, or one column is text."""
    if type(X).__module__.partition(".")[0] == "pandas" and all(kind.kind in "biuf" for kind in X.dtypes):
        sparse = all(hasattr(kind, "subtype") and not kind.fill_value for kind in X.dtypes)
        counts = X.sparse.to_coo() if sparse and X.shape[1] else X.to_numpy()
        return CountMatrix(counts, [str(name) for name in X.columns])
    names, columns, n, _ = columns_of(X)
    listed = [columns[name] for name in names]
    if all(kind_of(column) in NUMBERS for column in listed):
        cells = [column.to_numpy(zero_copy_only=False) if is_arrow(column) else column for column in listed]
        return CountMatrix(np.column_stack(cells) if cells else np.zeros((n, 0)), names)
    if len(listed) != 1:
        raise _several(names)
    return listed[0]


def _several(names: list[str]) -> BayesError:
    return BayesError(
        f"which column holds the texts? There are {len(names)}: {', '.join(names)}. Give one of them alone; counts of "
        "words are numbers in all columns",
        culprit=names,
    )


def _is_listed_matrix(X: Any) -> bool:
    first = X[0] if isinstance(X, (list, tuple)) and len(X) else None
    return isinstance(first, (list, tuple, np.ndarray)) and all(isinstance(x, (int, float, np.number)) for x in first)
