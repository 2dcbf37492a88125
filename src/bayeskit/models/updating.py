"""A model file that is read, changed and written as one step: who comes second waits, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bayeskit.disk.locks import PATIENCE, locked
from bayeskit.io import check_changeable, write_model
from bayeskit.models import load, to_bytes


@contextmanager
def updating(path: str | Path, timeout: float | None = PATIENCE) -> Iterator[Any]:
    """The model of a file, written back when the block ends; after an error in it, the file is as it was.

    Others who change the file this way, in this process or in another, by ``bayes learn`` or ``bayes forget``, wait
    until the block has ended, ``timeout`` seconds at most (None: for as long as it takes); then
    :class:`bayeskit.errors.Locked` is raised. ``save`` over the file waits as well; ``load`` never does.
    The model is to be changed in place (``partial_fit``, ``forget``, ``learn_source``, ``fit_tally``): what a
    method gives as a new model is not what is written.

    >>> import tempfile
    >>> from bayeskit import NaiveBayes
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NaiveBayes().fit({"sky": ["sun", "rain"]}, ["yes", "no"]).save(f"{folder}/sky.bayes")
    ...     with updating(f"{folder}/sky.bayes") as model:
    ...         _ = model.partial_fit({"sky": ["sun"]}, ["yes"])
    ...     load(f"{folder}/sky.bayes").tally_.n_rows
    3
    """
    check_changeable(path)
    with locked(path, timeout):
        model = load(path)
        yield model
        write_model(path, to_bytes(model))
