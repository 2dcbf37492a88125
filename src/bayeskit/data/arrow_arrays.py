"""Lists and NumPy arrays as Arrow arrays, without pandas.

``pyarrow.array`` imports pandas, where it is installed, to ask whether what it is given is one of its own: more than a
second, in a command that takes half of one. Of long lists it is the faster all the same.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa


FEW = 20_000  # values of a list


def arrow_array(values: Any, nan_is_missing: bool = False) -> pa.Array:
    """What ``pyarrow.array`` makes of a list or a NumPy array.

    >>> arrow_array(["rain", None]).to_pylist(), str(arrow_array([0.5, 1.0]).type), str(arrow_array([1, 2]).type)
    (['rain', None], 'double', 'int64')
    """
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.ndim == 1:
        if values.dtype.kind in "fiu" and values.dtype.isnative and not nan_is_missing:
            numbers = pa.py_buffer(np.ascontiguousarray(values))
            return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, numbers])
        values = values.tolist()
    kinds = set(map(type, values)) if isinstance(values, (list, tuple)) and len(values) <= FEW else set()
    if kinds == {float} and not (nan_is_missing and any(map(math.isnan, values))):
        return arrow_array(np.array(values, dtype=np.float64))
    if kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63:
        return arrow_array(np.array(values, dtype=np.int64))
    if str in kinds and kinds <= {str, type(None)}:
        texts = pa.lib.StringBuilder()
        texts.append_values(values)
        return texts.finish()
    return pa.array(values, from_pandas=nan_is_missing)
