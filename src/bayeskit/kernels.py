"""The kernels: plain functions on arrays, compiled where the compiled core is there, else in NumPy.

This is the one place that imports the core. What each function does stands, with an example, at its twin
in `bayeskit._twins`. The environment variable ``BAYESKIT_KERNELS=twins`` asks for the NumPy ones, and
``BAYESKIT_KERNELS=portable`` for compiled ones without the instructions that only newer machines have;
the compiled results are the same bits either way.

>>> import numpy as np
>>> codes, labels = np.array([1, 2, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)
>>> count_codes([codes], [3], labels, 2, None, 1)[0].tolist()
[[0, 1, 1], [0, 1, 0]]
"""

import os
import warnings

__all__ = [
    "NATIVE",
    "WordIndex",
    "best_classes",
    "bin_codes",
    "context_codes",
    "count_chains",
    "count_codes",
    "count_pairs",
    "count_responsibilities",
    "exponent_loss",
    "factor_codes",
    "factor_strings",
    "int_ranges",
    "judge",
    "learn_backoff",
    "learn_chains",
    "left_out_evidence",
    "lookup_codes",
    "mdl_cuts",
    "moments",
    "moments_responsibilities",
    "normalise",
    "propagate",
    "score_aode",
    "score_backoff",
    "score_chains",
    "score_codes",
    "score_codes_left_out",
    "score_gaussian",
    "score_gaussian_left_out",
    "score_parents",
    "score_rows",
    "softmax_loss",
    "text_alphabet",
    "token_classes",
    "token_rows",
    "union_words",
]

NATIVE: bool = False
_wanted = os.environ.get("BAYESKIT_KERNELS") != "twins"

try:
    if not _wanted:
        raise ImportError
    from bayeskit._core import (
        WordIndex,
        best_classes,
        bin_codes,
        context_codes,
        count_chains,
        count_codes,
        count_pairs,
        count_responsibilities,
        exponent_loss,
        factor_codes,
        factor_strings,
        int_ranges,
        judge,
        learn_backoff,
        learn_chains,
        left_out_evidence,
        lookup_codes,
        mdl_cuts,
        moments,
        moments_responsibilities,
        normalise,
        propagate,
        score_aode,
        score_backoff,
        score_chains,
        score_codes,
        score_codes_left_out,
        score_gaussian,
        score_gaussian_left_out,
        score_parents,
        score_rows,
        softmax_loss,
        text_alphabet,
        token_classes,
        token_rows,
        union_words,
    )

    NATIVE = True
except ImportError:
    if _wanted:
        warnings.warn(
            "bayeskit runs without its compiled core: the results are the same, but slower to come. "
            "To get it, install bayeskit again where there is a C++20 compiler "
            "(pip install --force-reinstall --no-cache-dir bayeskit); "
            "BAYESKIT_KERNELS=twins in the environment silences this.",
            UserWarning,
            stacklevel=2,
        )
    from bayeskit._token_twins import (  # type: ignore[assignment]
        WordIndex,
        score_rows,
        text_alphabet,
        token_classes,
        token_rows,
        union_words,
    )
    from bayeskit._twins import (
        best_classes,
        bin_codes,
        context_codes,
        count_chains,
        count_codes,
        count_pairs,
        count_responsibilities,
        exponent_loss,
        factor_codes,
        factor_strings,
        int_ranges,
        judge,
        learn_backoff,
        learn_chains,
        left_out_evidence,
        lookup_codes,
        mdl_cuts,
        moments,
        moments_responsibilities,
        normalise,
        propagate,
        score_aode,
        score_backoff,
        score_chains,
        score_codes,
        score_codes_left_out,
        score_gaussian,
        score_gaussian_left_out,
        score_parents,
        softmax_loss,
    )
