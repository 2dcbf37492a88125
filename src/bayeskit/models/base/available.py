"""What a model offers: methods that it has in some settings only, absent where it could not honour them, and why;
and the names that an editor lists after ``model.``."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import update_wrapper
from typing import Any, TypeVar, cast

from bayeskit.nearest import did_you_mean

Method = TypeVar("Method", bound=Callable[..., Any])

BETWEEN_FILES = {
    "blocks_learnt",
    "changed_settings",
    "check_settings",
    "check_size",
    "check_unlabelled",
    "choose",
    "column_points",
    "column_scores",
    "column_table",
    "complete_schema",
    "count_blocks",
    "decided",
    "draw",
    "drops_unlabelled",
    "encoder",
    "factor",
    "fit_over",
    "fit_parts",
    "fitted_parts",
    "has_told",
    "held_state",
    "held_while_left_out",
    "inferred_schema",
    "is_its_counts",
    "label_codes",
    "learn_plan",
    "left_out",
    "log_likelihoods",
    "log_prior",
    "log_terms",
    "of_saved",
    "one_row",
    "parent_log_weights",
    "parent_scores",
    "part_names",
    "read",
    "read_sequences",
    "reads_by",
    "recount",
    "restore",
    "restore_parts",
    "restricted",
    "rule",
    "scoring_form",
    "setting_for",
    "settings_to_save",
    "tally_to_save",
    "tempered",
    "to_saved",
    "with_all_columns",
    "with_cuts",
    "with_labels",
    "with_settings",
    "with_words",
    "written_factors",
    "written_settings",
}
"""What files of the package ask of a model, more than it promises to others: left out of ``dir`` and docs/api.md."""


class Conditional:
    """A method that some models of a class have, and others have not."""


class _Available(Conditional):
    """A method that is there where a check holds."""

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], bool], why: str) -> None:
        self.method, self.check, self.why = method, check, why
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is not None:
            return self._of(model)

        def of_any(model: Any, *args: Any, **settings: Any) -> Any:
            return self._of(model)(*args, **settings)

        return update_wrapper(of_any, self.method)

    def _of(self, model: Any) -> Any:
        if not self.check(model):
            raise absent(model, self.method.__name__, self.why)
        return self.method.__get__(model)


def available_where(check: Callable[[Any], bool], why: str = "") -> Callable[[Method], Method]:
    """The method is there where ``check(model)`` holds; elsewhere ``hasattr`` says no, and an error says ``why``.

    >>> class Door:
    ...     key = False
    ...     @available_where(lambda door: door.key, "it has no key")
    ...     def open(self):
    ...         return "open"
    >>> hasattr(Door(), "open")
    False
    >>> Door().open()
    Traceback (most recent call last):
    ...
    AttributeError: Door has no open: it has no key
    """

    def where(method: Method) -> Method:
        return cast(Method, _Available(method, check, why))

    return where


def having(method: str) -> Callable[[Any], bool]:
    """What a model can do only where it has another method."""
    return lambda model: hasattr(model, method)


def absent(model: Any, name: str, why: str = "") -> AttributeError:
    """What is raised for a method that is not there: by the model's table of reasons, or else ``why``."""
    tables = (vars(owner).get("absent", {}) for owner in type(model).__mro__)
    reason = next((table[name] for table in tables if name in table), why)
    if not reason:
        return AttributeError(_Unknown(model, name))
    return AttributeError(f"{type(model).__name__} has no {name}: {reason}")


class _Unknown:
    """What is said of a name that a model does not have; what it may have meant is looked for when it is read.

    ``hasattr`` asks for such names all the time, and reads nothing.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name

    def __str__(self) -> str:
        names = () if self.name.startswith("_") else (name for name in dir(self.model) if not name.startswith("_"))
        meant = did_you_mean(self.name, names)
        return f"{type(self.model).__name__!r} object has no attribute {self.name!r}{meant}"

    __repr__ = __str__


def is_offered(model: Any, name: str, settings: Container[str]) -> bool:
    """Whether a name of a model is one for a person.

    >>> from bayeskit import NaiveBayes
    >>> [is_offered(NaiveBayes(), name, {"smoothing"}) for name in ("smoothing", "fit", "encoder", "absent")]
    [True, True, False, False]
    """
    if name.startswith("_") or name in settings:
        return True
    member = next((vars(owner)[name] for owner in type(model).__mro__ if name in vars(owner)), None)
    if isinstance(member, Conditional) and not hasattr(model, name):
        return False
    if name in vars(model):
        return name.endswith("_") or not hasattr(type(model), name)
    return name not in BETWEEN_FILES and (callable(member) or hasattr(member, "__get__"))
