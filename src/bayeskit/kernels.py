"""The kernels: plain functions on arrays, compiled where the compiled core is there, else in NumPy.

This is the one place that imports the core. What each function does stands, with an example, at its twin.
The environment variable ``BAYESKIT_KERNELS=twins`` asks for the NumPy ones.

>>> import numpy as np
>>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
>>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
[[0, 1, 1], [0, 1, 0]]
"""

import os
import warnings

from bayeskit import _twins

__all__ = [
    "NATIVE",
    "bin_codes",
    "count_codes",
    "count_responsibilities",
    "int_ranges",
    "lookup_codes",
    "moments",
    "moments_responsibilities",
    "normalise",
    "score_codes",
    "score_gaussian",
]

_source = _twins
NATIVE: bool = False

if os.environ.get("BAYESKIT_KERNELS") != "twins":
    try:
        from bayeskit import _core
    except ImportError:
        warnings.warn(
            "bayeskit runs without its compiled core: same results, but slower. "
            "Reinstall it where there is a C++20 compiler (pip install --force-reinstall --no-binary bayeskit bayeskit), "
            "or set BAYESKIT_KERNELS=twins to silence this.",
            UserWarning,
            stacklevel=2,
        )
    else:
        _source, NATIVE = _core, True

bin_codes = _source.bin_codes
count_codes = _source.count_codes
count_responsibilities = _source.count_responsibilities
int_ranges = _source.int_ranges
lookup_codes = _source.lookup_codes
moments = _source.moments
moments_responsibilities = _source.moments_responsibilities
normalise = _source.normalise
score_codes = _source.score_codes
score_gaussian = _source.score_gaussian
