"""Choose the number of threads for the kernels.

>>> thread_count(2)
2
>>> thread_count(2**62)
Traceback (most recent call last):
...
bayeskit.errors.BayesError: n_threads=4611686018427387904: give a whole number from 1 to 4096, or None for all cores
"""

import os
from functools import cache
from typing import Any

from bayeskit.errors import BayesError
from bayeskit.settings import is_integer

__all__ = ["MOST_THREADS", "one_blas_thread", "thread_count"]

MOST_THREADS = 4096  # same limit as in native/support/parallel.hpp


@cache
def _cores() -> int:
    """Return the number of cores of the machine, cached because the system reads a file for it."""
    return min(os.cpu_count() or 1, MOST_THREADS)


def thread_count(n_threads: Any) -> int:
    """Return the number of threads of a setting, all cores for None; raise an error for an invalid setting."""
    if n_threads is None:
        return _cores()
    whole = is_integer(n_threads)
    if not whole or not 1 <= n_threads <= MOST_THREADS:
        raise BayesError(
            f"n_threads={n_threads!r}: give a whole number from 1 to {MOST_THREADS}, or None for all cores"
        )
    return int(n_threads)


def one_blas_thread() -> Any:
    """Limit BLAS to one thread inside a ``with`` block: for small matrices, synchronizing threads costs more than it
    saves."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def _blas() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
