"""When EM has come to rest: the attribute ``monitor_`` of models for hmmlearn's users."""

from __future__ import annotations

import logging
import sys
from collections import deque

import numpy as np

WIGGLE = float(np.finfo(float).eps) ** 0.5  # by which rounding may let a likelihood fall
log = logging.getLogger("bayeskit.sequence")


class ConvergenceMonitor:
    """The log likelihood of each round, and whether that is enough. One of another rule may stand in its place:

    >>> class Patient(ConvergenceMonitor):
    ...     @property
    ...     def converged(self):
    ...         return self.iter >= 3
    >>> watch = Patient(tol=0.01, n_iter=10, verbose=False)
    >>> for likelihood in (-9.0, -5.0, -4.0):
    ...     watch.report(likelihood)
    >>> watch.iter, list(watch.history), watch.converged
    (3, [-9.0, -5.0, -4.0], True)
    """

    def __init__(self, tol: float, n_iter: int, verbose: bool) -> None:
        self.tol, self.n_iter, self.verbose = tol, n_iter, verbose
        self.history: deque[float] = deque()
        self.iter = 0

    def __repr__(self) -> str:
        shown = {**vars(self), "history": list(self.history)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in sorted(shown.items()))})"

    def reset(self) -> None:
        """Begin anew."""
        self.iter = 0
        self.history.clear()

    def report(self, log_prob: float) -> None:
        """Take down the log likelihood of a round; where ``verbose``, say it."""
        delta = log_prob - self.history[-1] if self.history else float("nan")
        if self.verbose:
            print(f"{self.iter + 1:>10d} {log_prob:>16.8f} {delta:>+16.8f}", file=sys.stderr)
        if delta < -WIGGLE:
            log.warning("the log likelihood fell by %g, to %.9g: EM with such priors need not rise", -delta, log_prob)
        self.history.append(log_prob)
        self.iter += 1

    @property
    def converged(self) -> bool:
        """Whether all rounds are done, or the last gained less than ``tol``."""
        if self.iter == self.n_iter:
            return True
        return len(self.history) >= 2 and self.history[-1] - self.history[-2] < self.tol
