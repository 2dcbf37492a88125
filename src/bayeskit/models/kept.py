"""A model in a file: what is written beside the tally, and how a model is made of both again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from bayeskit.errors import BadFile
from bayeskit.io import State, write_model
from bayeskit.models import to_bytes
from bayeskit.tally.tally import Tally


class Kept:
    """Writes itself to a ``.bayes`` file. A model that holds more than its tally overrides the other methods."""

    _check_is_fitted: Any
    fit_tally: Any
    get_params: Any
    tally_: Tally
    unwritten: ClassVar[Mapping[str, Any]] = {}
    """What a file means that lacks a setting, where that is not the default of today: it is older than the setting."""

    def save(self, path: str | Path) -> None:
        """Write the model to a ``.bayes`` file for :func:`bayeskit.load`: as a whole, or not at all.

        Where someone is changing the model that is there (:func:`bayeskit.updating`), it is written after them.
        """
        self._check_is_fitted()
        write_model(path, to_bytes(self))

    def settings_to_save(self) -> dict[str, Any]:
        """The settings under which tally and held state alone make this model again."""
        return dict(self.get_params(deep=False))

    def tally_to_save(self) -> Tally:
        """The counts that the model is made of."""
        return self.tally_

    def held_state(self) -> State | None:
        """What a file must hold beside settings and tally; None where these are all."""
        return None

    def restore(self, tally: Tally, state: State | None) -> Self:
        """Become the fitted model that was saved."""
        if state is not None:
            raise BadFile(f"a {type(self).__name__} holds nothing beside its counts")
        self.fit_tally(tally)
        return self
