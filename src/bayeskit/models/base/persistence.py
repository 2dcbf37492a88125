"""Model files (settings, tally and state of a fitted model, models that contain models) and exports."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayeskit import logspace
from bayeskit.errors import BadFile, BayesError, BayesWarning, with_article
from bayeskit.models import model_of, n_rows, open_file, saved_of, to_bytes
from bayeskit.models.base.available import unavailable
from bayeskit.models.base.estimator import Estimator
from bayeskit.storage.files import LOCK_TIMEOUT, lock_file
from bayeskit.storage.history import Action, Event, check_batch_name
from bayeskit.storage.model_file import Saved, State, check_is_file, write_model

if TYPE_CHECKING:
    from bayeskit.export.scoring_form import ScoringForm, Term


class Composite(Estimator):
    """A model that contains fitted models: its file holds theirs, each with its own settings and counts.

    A model defines ``_restore_parts(parts, state)``, which takes the models read from a file.
    """

    _part: ClassVar[str] = ""  # the name of the only part, which is the attribute with "_"
    _part_class: ClassVar[str] = ""  # the class of the parts, if there is only one that fits

    partial_fit = forget = merge = unavailable("it was fitted to all rows at once. Fit again")

    def _fitted_parts(self) -> dict[str, Any]:
        """Return the fitted models by name."""
        return {self._part: getattr(self, f"{self._part}_")}

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """Return the names of the models that the file must hold."""
        return (cls._part,)

    def _reads_by(self) -> Any:
        """Return the fitted model that reads rows; None if rows are a matrix without names."""
        return next(iter(self._fitted_parts().values()), None)

    def _to_saved(self) -> Saved:
        """Return the content of the model file; raise an error if a part cannot be saved."""
        name = type(self).__name__
        parts = {part: saved_of(model, name) for part, model in self._fitted_parts().items()}
        return Saved(name, self._settings_for_file(), None, self._state_to_save() or State({}, []), parts)

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """Return the fitted model of the content of a file, its parts first."""
        state = saved.wrapped(*cls._part_names(saved))
        # the fit has given the warnings of the parts
        with warnings.catch_warnings(action="ignore", category=BayesWarning):
            parts = {name: model_of(part) for name, part in saved.parts.items()}
        for name, part in parts.items():
            if cls._part_class not in ("", type(part).__name__):
                wanted, found = with_article(cls._part_class), type(part).__name__
                raise BadFile(f"the {name} of {with_article(cls.__name__)} is {wanted}, not {found}")
        model: Any = cls._with_settings(saved.settings)
        return model._restore_parts(parts, state)


@contextmanager
def updating(
    path: str | Path, timeout: float | None = LOCK_TIMEOUT, *, source: str = "", batch: str = ""
) -> Iterator[Any]:
    """Lock a model file, yield its model and write the model back when the block ends.

    An error inside the block leaves the file unchanged. Other writers (``updating``, ``save``, ``bayes learn``,
    ``bayes forget``) wait until the block ends; ``load`` never waits. Change the model in place (``partial_fit``,
    ``forget``, ``learn_source``, ``fit_tally``): a new model returned by a method is not written.

    Parameters
    ----------
    path : str or Path
    timeout : float or None, default=600.0
        Seconds to wait for another writer; None waits without a limit.
    source : str, default=""
        Name of the data, for the history of the file (:func:`read_history`).
    batch : str, default=""
        Name of the rows that the block learns or forgets; the same batch is refused twice.

    Yields
    ------
    model
        The loaded model.

    Raises
    ------
    Locked
        If another writer holds the lock for longer than ``timeout``.

    >>> import tempfile
    >>> from bayeskit import NaiveBayes, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     NaiveBayes().fit({"sky": ["sun", "rain"]}, ["yes", "no"]).save(f"{folder}/sky.bayes")
    ...     with updating(f"{folder}/sky.bayes") as model:
    ...         _ = model.partial_fit({"sky": ["sun"]}, ["yes"])
    ...     load(f"{folder}/sky.bayes").tally_.n_rows
    3
    """
    check_is_file(path)
    with lock_file(path, timeout):
        model, history = open_file(path)
        before = n_rows(model)
        yield model
        moved = n_rows(model) - before
        action: Action = "forget" if moved < 0 else "learn"
        if batch:
            history.refuse_twice(action, check_batch_name(batch), "")
        write_model(path, to_bytes(model, history.add(Event.now(action, source, abs(moved), batch))))


def refuse_random_ties(model: Any) -> None:
    """A draw by the row's content is not to be had elsewhere."""
    if model.ties != "first":
        raise BayesError(f"ties={model.ties!r}: a query cannot draw.", hint='Set ties="first" first.')


def classifier_form(model: Any, base: Any, terms: Iterable[Term]) -> ScoringForm:
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
