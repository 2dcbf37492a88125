"""The kinds of columns by the names that the setting ``numeric`` has for them: a new one is a file and a name here."""

from __future__ import annotations

from bayeskit.errors import BayesError
from bayeskit.estimate.columns.coded import CodedColumns
from bayeskit.estimate.columns.column import Columns
from bayeskit.estimate.columns.kernel import KernelColumns
from bayeskit.estimate.columns.moments import GaussianColumns, LogNormalColumns, PoissonColumns, StudentColumns

# In the order of scoring.
BUILT_IN: list[type[Columns]] = [CodedColumns, GaussianColumns, KernelColumns]
BUILT_IN += [StudentColumns, PoissonColumns, LogNormalColumns]
NUMERIC: dict[str, type[Columns]] = {columns.kind: columns for columns in BUILT_IN}


def register(kind: type[Columns]) -> type[Columns]:
    """Make a kind of numeric column known by its name, ``numeric=kind.kind``."""
    if NUMERIC.setdefault(kind.kind, kind) is not kind:
        raise BayesError(f"another kind of column is registered as {kind.kind!r}")
    return kind
