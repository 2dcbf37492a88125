"""Array types shared by the whole package."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
# Codes of values, labels or words: unsigned integers, uint8, uint16 or uint32.
Codes = npt.NDArray[Any]
# Counts of rows or words: int64, or float64 where rows have weights.
Counts = npt.NDArray[Any]
