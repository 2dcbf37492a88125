"""``score`` of estimators that take tables in any form, where scikit-learn's own takes arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayeskit.data.reader import read_table


class ScoresTables:
    """Before scikit-learn's mixin: labels may be the name of a column, and rows lie in a file."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy on rows ``X`` with classes ``y``; of numbers, the share of their variance that is explained."""
        if isinstance(y, str) or type(y).__module__.partition(".")[0] in ("pyarrow", "polars"):
            table = read_table(X, y)
            X, y = table.data, np.array(table.listed_labels().tolist())
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(super().score(X, y, weights))  # type: ignore[misc]
