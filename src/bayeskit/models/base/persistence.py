"""Model files (settings, tally and state of a fitted model, models that contain models) and exports."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.models import load, model_of, refuse_unsaved, saved_class, saved_of, to_bytes
from bayeskit.models.base.estimator import Estimator
from bayeskit.storage.files import LOCK_TIMEOUT, lock_file
from bayeskit.storage.model_file import Saved, State, Template, check_is_file, write_model
from bayeskit.tally.tally import Tally

if TYPE_CHECKING:
    from bayeskit.export.scoring_form import ScoringForm, Term
    from bayeskit.export.sql import ScoringQuery
    from bayeskit.export.sql_terms import WordTable


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
    """Lock a model file, yield its model and write the model back when the block ends.

    An error inside the block leaves the file unchanged. Other writers (``updating``, ``save``, ``bayes learn``,
    ``bayes forget``) wait until the block ends; ``load`` never waits. Change the model in place (``partial_fit``,
    ``forget``, ``learn_source``, ``fit_tally``): a new model returned by a method is not written.

    Parameters
    ----------
    path : str or Path
    timeout : float or None, default=600.0
        Seconds to wait for another writer; None waits without a limit.

    Yields
    ------
    model
        The loaded model.

    Raises
    ------
    Locked
        If another writer holds the lock for longer than ``timeout``.

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


class Exported:
    """Exports of a fitted model as SQL, ONNX and JSON, from its ``_scoring_form()``."""

    def to_sql(
        self: Any,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        keys: str | Sequence[str] | None = None,
        columns: Mapping[str, str] | None = None,
        evidence: bool = False,
        words: str | WordTable | Mapping[str, str | WordTable] | None = None,
    ) -> ScoringQuery:
        """One query that gives the keys, ``predicted`` and ``p_<class>`` of every row of a table.

        ``table``: its name, as SQL writes it. ``dialect``: "duckdb", "postgres", "sqlite" or "spark". ``keys``: the
        columns that say which row it is. ``columns``: names in the table of columns that the model knows by others.
        ``evidence``: also ``evidence_<column>``, the log odds that each column gives the predicted class against the
        runner-up (``against``). ``words``: for texts, the table that has their words.

        >>> from bayeskit import NaiveBayes
        >>> model = NaiveBayes().fit({"sky": ["sun", "rain", "rain"]}, ["yes", "no", "no"])
        >>> query = model.to_sql("days", keys="day")
        >>> query.probabilities
        {'no': 'p_no', 'yes': 'p_yes'}
        >>> import duckdb
        >>> shop = duckdb.connect()
        >>> _ = shop.execute("CREATE TABLE days AS SELECT 1 AS day, 'sun' AS sky")
        >>> [round(p, 6) for p in shop.execute(query.query).fetchall()[0][2:]]
        [0.428571, 0.571429]
        """
        from bayeskit.export.sql import scoring_query
        from bayeskit.export.sql_terms import word_tables

        form = self._scoring_form()
        return scoring_query(form, table, dialect, keys, columns, evidence, word_tables(words, form.texts))

    def to_onnx(self: Any, path: str | Path | None = None) -> bytes:
        """The model as ONNX, in double: an input for each column, ``label`` and ``probabilities`` as outputs.

        Written to ``path`` where one is given.
        """
        from bayeskit.export.onnx import onnx_model

        return onnx_model(self._scoring_form(), path)

    def to_json(self: Any, path: str | Path | None = None) -> dict[str, Any]:
        """The numbers of the model as plain data, in the form of docs/export.md; written to ``path`` if given."""
        from bayeskit.export.json import json_model

        return json_model(self._scoring_form(), path)


def refuse_random_ties(model: Any) -> None:
    """A draw by the row's content is not to be had elsewhere."""
    if model.ties != "first":
        raise BayesError(f"ties={model.ties!r}: a query cannot draw.", hint='Set ties="first" first.')


def whole_form(model: Any, base: Any, terms: Iterable[Term]) -> ScoringForm:
    """The form of a classifier with its settings: what is said of undecidable rows, and how warm scores are."""
    from bayeskit.export.scoring_form import ScoringForm

    by_name = {name: i for i, name in enumerate(model.schema_.used)}
    prior = logspace.exp(model.params_.log_prior) if model.undecidable == "prior" else None
    return ScoringForm(
        model.schema_.target.name,
        tuple(model.tally_.classes),
        np.asarray(base, dtype=np.float64),
        tuple(sorted(terms, key=lambda term: by_name.get(term.name, 0))),
        prior,
        model.undecidable == "error",
        float(model.temperature),
        type(model).__name__,
    )
