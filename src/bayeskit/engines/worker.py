"""Run a worker process: it reads parts from standard input and writes a record of each to its output.

``python -m bayeskit.engines.worker``. It imports what counting takes and no model, and nothing of the program that
started it, so that it is ready in a third of a second.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings


def main() -> None:
    """Count parts until there are no more."""
    warnings.simplefilter("ignore")  # what there is to say is said once, by whoever has all records
    records = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints does not stand among the records
    while True:
        try:
            task, number, part = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = task.count(number, part)
        except Exception as problem:
            answer = problem
        pickle.dump(answer, records)
        records.flush()


if __name__ == "__main__":
    main()
