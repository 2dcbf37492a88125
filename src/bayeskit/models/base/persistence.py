"""Model files: settings, tally and state of a fitted model, and models that contain models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from bayeskit.errors import BadFile, BayesWarning
from bayeskit.models import load, model_of, refuse_unsaved, saved_class, saved_of, to_bytes
from bayeskit.models.base.estimator import Estimator
from bayeskit.storage.files import LOCK_TIMEOUT, lock_file
from bayeskit.storage.model_file import Saved, State, Template, check_is_file, write_model
from bayeskit.tally.tally import Tally


class Stored(Estimator):
    """Writes itself to a ``.bayes`` file. A model that holds more than its tally overrides the other methods."""

    _check_is_fitted: Any
    _restore: Any
    """``restore(tally, state)`` becomes the fitted model that was saved."""
    tally_: Tally
    _unsaved: ClassVar[tuple[str, ...]] = ()
    """Settings that no file holds, since what was learnt stands in their place."""

    def save(self, path: str | Path) -> None:
        """Write the model to a ``.bayes`` file for :func:`bayeskit.load`: as a whole, or not at all.

        Where someone is changing the model that is there (:func:`bayeskit.updating`), it is written after them.
        """
        self._check_is_fitted()
        write_model(path, to_bytes(self))

    def _to_saved(self) -> Saved:
        """What a file holds of the fitted model."""
        return Saved(type(self).__name__, self._written_settings(), self._tally_to_save(), self._held_state())

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """The fitted model of what a file holds."""
        made: Self = cls._with_settings(saved.settings)._restore(saved.counted(), saved.state)
        return made

    def _settings_to_save(self) -> dict[str, Any]:
        """The settings under which tally and held state alone make this model again."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in self._unsaved}

    def _tally_to_save(self) -> Tally:
        """The counts that the model is made of."""
        return self.tally_

    def _held_state(self) -> State | None:
        """What a file must hold beside settings and tally; None where these are all."""
        return None

    def _written_settings(self) -> dict[str, Any]:
        """The settings as a file has them: models among them by name and settings."""
        return {name: _as_template(value, type(self)) for name, value in self._settings_to_save().items()}

    @classmethod
    def _with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """The unfitted model of settings from a file."""
        model = cls()
        if unknown := settings.keys() - model.get_params(deep=False).keys():
            raise BadFile(f"{cls.__name__} has no setting {sorted(unknown)[0]!r} in this bayeskit: upgrade")
        return model.set_params(**{name: _from_template(v) for name, v in settings.items()})


class Composite(Stored):
    """A model that is made of fitted models: its file holds theirs, each with its own settings and counts."""

    def _fitted_parts(self) -> dict[str, Any]:
        """The fitted models by name."""
        raise NotImplementedError

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Become the fitted model that was saved."""
        raise NotImplementedError

    def _reads_by(self) -> Any:
        """The fitted model by which rows are read; None where they are a matrix without names."""
        return next(iter(self._fitted_parts().values()), None)

    def _to_saved(self) -> Saved:
        """What a file holds of the fitted model; one that is made of a model that cannot be saved is refused."""
        name = type(self).__name__
        parts = {part: saved_of(model, name) for part, model in self._fitted_parts().items()}
        return Saved(name, self._written_settings(), None, self._held_state() or State({}, []), parts)

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """The fitted model of what a file holds: its parts first."""
        state = saved.wrapped(*cls._part_names(saved))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)  # what there was to say of a part was said when it was fitted
            parts = {name: model_of(part) for name, part in saved.parts.items()}
        return cls._with_settings(saved.settings)._restore_parts(parts, state)

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """The models that must be there."""
        raise NotImplementedError


def _as_template(value: Any, within: type) -> Any:
    """A setting for a file: a model among the settings, or in a mapping there, as its name and settings."""
    if isinstance(value, Mapping):
        return {key: _as_template(inner, within) for key, inner in value.items()}
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    refuse_unsaved(type(value), within.__name__)
    return Template(type(value).__name__, value._written_settings())


def _from_template(value: Any) -> Any:
    """The setting that :func:`_as_template` wrote."""
    if isinstance(value, dict):
        return {key: _from_template(inner) for key, inner in value.items()}
    if not isinstance(value, Template):
        return value
    kind = saved_class(value.model)
    if kind is None or not issubclass(kind, Stored):
        raise BadFile(f"a setting is the model {value.model!r}, which this bayeskit does not know: upgrade")
    return kind._with_settings(value.settings)


@contextmanager
def updating(path: str | Path, timeout: float | None = LOCK_TIMEOUT) -> Iterator[Any]:
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
    check_is_file(path)
    with lock_file(path, timeout):
        model = load(path)
        yield model
        write_model(path, to_bytes(model))
