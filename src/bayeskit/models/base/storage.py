"""A model in a file: what is written beside the tally, how a model is made of both again, and changed in its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from bayeskit.disk.locks import PATIENCE, locked
from bayeskit.model_file import State, check_changeable, write_model
from bayeskit.models import load, to_bytes
from bayeskit.models.base.estimator import Estimator
from bayeskit.tally.tally import Tally


class Stored(Estimator):
    """Writes itself to a ``.bayes`` file. A model that holds more than its tally overrides the other methods."""

    _check_is_fitted: Any
    restore: Any
    """``restore(tally, state)`` becomes the fitted model that was saved."""
    tally_: Tally
    unwritten: ClassVar[Mapping[str, Any]] = {}
    """What a file means that lacks a setting, where that is not the default of today: it is older than the setting."""
    unsaved: ClassVar[tuple[str, ...]] = ()
    """Settings that no file holds, since what was learnt stands in their place."""

    def save(self, path: str | Path) -> None:
        """Write the model to a ``.bayes`` file for :func:`bayeskit.load`: as a whole, or not at all.

        Where someone is changing the model that is there (:func:`bayeskit.updating`), it is written after them.
        """
        self._check_is_fitted()
        write_model(path, to_bytes(self))

    def settings_to_save(self) -> dict[str, Any]:
        """The settings under which tally and held state alone make this model again."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in self.unsaved}

    def tally_to_save(self) -> Tally:
        """The counts that the model is made of."""
        return self.tally_

    def held_state(self) -> State | None:
        """What a file must hold beside settings and tally; None where these are all."""
        return None


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
