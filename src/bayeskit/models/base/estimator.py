"""Estimators: settings by name and their checks, cloning, and the interface that the tools of scikit-learn expect.

Importing scikit-learn takes longer than most calls of a model, so that interface is written here in plain Python.
Tags, metadata requests and diagrams are built by scikit-learn when its tools ask for them.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from bayeskit.data.reader import read_table
from bayeskit.errors import BadFile, BayesError, with_article
from bayeskit.models import refuse_unsaved, saved_class, saved_of
from bayeskit.models.base.available import Conditional, available_if
from bayeskit.models.base.rules import Rule
from bayeskit.nearest import did_you_mean
from bayeskit.storage.model_file import Saved, State, Template, save_new
from bayeskit.tables import Sheet
from bayeskit.tally.tally import Tally
from bayeskit.threads import thread_count

if TYPE_CHECKING:
    from bayeskit.export.sql import ScoringQuery
    from bayeskit.export.sql_terms import WordTable

WIDTH = 80  # of a line that shows a model
LONGEST = 300  # characters of a setting that are shown
METADATA = (
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score", "split",
    "transform", "inverse_transform",
)  # fmt: skip
DATA = {"X", "y", "Y", "Xt", "yt"}  # arguments that are not metadata
NO_COLUMN_SUM = "its score is not a sum over columns that could be carried elsewhere"
NO_QUERY = (
    "its score is not a sum over columns that a query computes: score here, or see to_onnx and to_json if it has them"
)

# Names of settings in other libraries, and here; and what does the same work where no setting does.
PEER_NAMES = {
    "alpha": ("smoothing",),
    "class_prior": ("prior",),
    "covariance_type": ("covariance",),
    "cv": ("folds",),
    "fit_prior": ("prior",),
    "max_iter": ("max_rounds", "max_steps"),
    "n_components": ("n_states", "n_topics"),
    "n_estimators": ("n_trees",),
    "n_iter": ("max_rounds", "max_steps"),
    "n_jobs": ("n_threads",),
    "ngram_range": ("ngrams",),
    "priors": ("prior",),
    "seed": ("random_state",),
    "startprob_prior": ("start_smoothing",),
    "transmat_prior": ("transition_smoothing",),
    "var_smoothing": ("variance_floor",),
    "verbose": ("progress",),
}
PEER_WORK = {
    "class_weight": "pass class_weight= to fit",
    "cv": "bayeskit.cross_validate(model, X, y) takes folds=",
    "n_jobs": "leave it out, this model uses one thread",
    "verbose": "leave it out, this model prints nothing",
}

Model = TypeVar("Model")
Function = TypeVar("Function", bound=Callable[..., Any])


def _once(function: Function) -> Function:
    """Return the function with a cache, for classes as arguments."""
    return cast(Function, cache(function))


@_once
def _defaults(kind: type) -> dict[str, Any]:
    """Return the settings of a class and their defaults, by name in alphabetical order."""
    parameters = inspect.signature(kind).parameters.values()
    return dict(sorted((parameter.name, parameter.default) for parameter in parameters))


@_once
def _rules_of(kind: type) -> dict[str, Rule]:
    """Return the rules of the settings of a class, its own over those of its bases."""
    return {name: rule for base in reversed(kind.__mro__) for name, rule in vars(base).get("_rules", {}).items()}


@_once
def _with_metadata(kind: type) -> dict[str, Any]:
    """Return the methods that take metadata beside rows and classes, such as ``sample_weight``, by name."""
    several, methods = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD), {}
    for name in METADATA:
        function = getattr(kind, name, None)
        if inspect.isfunction(function):
            _, *parameters = inspect.signature(function).parameters.values()
            if any(one.name not in DATA and one.kind not in several for one in parameters):
                methods[name] = function
    return methods


@_once
def _requester(kind: type) -> Any:
    """Return an estimator of scikit-learn with the methods of ``kind``, which knows their metadata."""
    from sklearn.base import BaseEstimator

    return type(kind.__name__, (BaseEstimator,), _with_metadata(kind))


def _meant(name: str, known: Iterable[str], kind: type) -> str:
    """Return the end of a message about an unknown setting: its name or place here, or similar names."""
    names = [own for own in PEER_NAMES.get(name, ()) if own in known]
    if names:
        return f"; its name here is {names[0]!r}"
    if name == "class_weight" and name not in inspect.signature(kind.fit).parameters:  # type: ignore[attr-defined]
        return ""
    return f"; {PEER_WORK[name]}" if name in PEER_WORK else did_you_mean(name, known)


class Estimator:
    """Settings are the arguments of ``__init__``, kept under their names: fields of a dataclass, each listed once.

    >>> from dataclasses import dataclass
    >>> @dataclass(eq=False, repr=False)
    ... class Threshold(Estimator):
    ...     at: float = 0.5
    ...     strict: bool = False
    >>> Threshold(strict=True).get_params(), Threshold().set_params(at=0.7)
    ({'at': 0.5, 'strict': True}, Threshold(at=0.7))
    """

    _fitted_attribute: ClassVar[str] = ""  # set by fit alone; any attribute that ends with "_" if empty
    _fit_takes: ClassVar[str] = ""  # the arguments of fit, for messages
    _reads_tables: ClassVar[bool] = False  # takes strings, missing cells and sparse matrices
    _estimator_type: ClassVar[str | None] = None  # "classifier" or "regressor", as scikit-learn's tools name them
    _rules: ClassVar[Mapping[str, Rule]] = {}  # what each setting may be
    _unsaved: ClassVar[tuple[str, ...]] = ()  # settings that are not written, because the state replaces them
    _scoring_form: ClassVar[Callable[..., Any]]  # of the models that are sums over columns
    _export_form: ClassVar[Callable[..., Any]]  # of others that ONNX and JSON can carry

    def __new__(cls, *_: Any, **settings: Any) -> Self:
        """A setting that the model does not have is refused with what it may have meant."""
        known = _defaults(cls)
        unknown = next((name for name in settings if name not in known), None)
        if unknown is not None:
            raise TypeError(
                f"{cls.__name__} has no setting {unknown!r} ({', '.join(known)}){_meant(unknown, known, cls)}"
            )
        return super().__new__(cls)

    if not TYPE_CHECKING:  # type checkers would take every name for a member

        def __getattr__(self, name: str) -> Any:
            for owner in type(self).__mro__:
                if name in vars(owner):  # it is there, and has refused: let it say why
                    return vars(owner)[name].__get__(self, type(self))
            if self._fitted_attribute and name.endswith("_") and not name.startswith("_"):
                self._check_is_fitted()
            if name in self._request_setters():
                return partial(getattr(_requester(type(self)), name), self)
            if name in ("get_metadata_routing", "_get_metadata_request"):
                requester = _requester(type(self))()
                if "_metadata_request" in vars(self):
                    vars(requester)["_metadata_request"] = vars(self)["_metadata_request"]
                return requester.get_metadata_routing
            raise AttributeError(_UnknownName(self, name))

    @classmethod
    def _get_param_names(cls) -> list[str]:  # the name by which scikit-learn's tools ask
        return list(_defaults(cls))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings.

        Parameters
        ----------
        deep : bool, default=True
            Include the settings of models among them, as ``name__setting``.

        Returns
        -------
        dict
        """
        settings: dict[str, Any] = {}
        for name in _defaults(type(self)):
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                settings |= {f"{name}__{inner}": setting for inner, setting in value.get_params().items()}
            settings[name] = value
        return settings

    def set_params(self, **params: Any) -> Self:
        """Change settings by name; ``name__setting`` changes one of a model among them.

        Returns
        -------
        self
        """
        nested: dict[str, dict[str, Any]] = {}
        for path, value in params.items():
            name, deeper, inner = path.partition("__")
            if name not in _defaults(type(self)):
                names = self._get_param_names()
                raise BayesError(
                    f"Invalid parameter {name!r} for estimator {self!r}. "
                    f"Valid parameters are: {names!r}{_meant(name, names, type(self)) or '.'}",
                )
            if deeper:
                nested.setdefault(name, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, inner_params in nested.items():
            getattr(self, name).set_params(**inner_params)
        return self

    def _changed_settings(self) -> list[str]:
        """The settings that are not the defaults, as ``name=value``."""
        defaults = _defaults(type(self))
        values = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        return [f"{name}={_shortened(text)}" for name, text in values.items() if text != repr(defaults[name])]

    def __repr__(self) -> str:
        """The settings that are not the defaults."""
        return _wrapped(type(self).__name__, self._changed_settings())

    def __str__(self) -> str:
        """Return a summary of a fitted model, or the settings before the fit."""
        sheet = self._overview()
        return sheet.text if sheet.parts else repr(self)

    def _overview(self) -> Sheet:
        from bayeskit.explain.overview import overview

        return overview(self) if self.__sklearn_is_fitted__() else Sheet(type(self).__name__)

    def __dir__(self) -> list[str]:
        """Return the names of members that this model, in its settings, has."""
        names = [name for name in super().__dir__() if not self._is_unavailable(name)]
        return [*names, *self._request_setters(), "get_metadata_routing"]

    @classmethod
    def _request_setters(cls) -> list[str]:
        """Return the names of ``set_fit_request`` and its like, which scikit-learn makes when they are called."""
        return [f"set_{method}_request" for method in _with_metadata(cls)]

    def _is_unavailable(self, name: str) -> bool:
        member = next((vars(owner)[name] for owner in type(self).__mro__ if name in vars(owner)), None)
        return isinstance(member, Conditional) and not hasattr(self, name)

    def __sklearn_clone__(self) -> Self:
        return clone(self)

    # -- the fitted model ----------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        if self._fitted_attribute:
            return self._fitted_attribute in vars(self)
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def _check_is_fitted(self) -> None:
        check_is_fitted(self, self._fit_takes)

    @property
    def _drops_unlabeled(self) -> bool:
        return getattr(self, "unlabeled", "error") == "drop"

    def _require_y(self, y: Any) -> None:
        if y is None:
            raise BayesError(f"{type(self).__name__} requires y to be passed, but the target y is None")

    def _threads(self) -> int:
        """Return the number of threads that the setting ``n_threads`` asks for."""
        return thread_count(cast(Any, self).n_threads)

    def __radd__(self, other: object) -> Self:
        """``sum(models)`` starts from 0."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: object) -> Self:
        can_merge = isinstance(other, Estimator) and hasattr(type(self), "merge")
        return cast(Any, self).merge(other) if can_merge else NotImplemented

    def _check_mergeable(self, other: Any) -> None:
        """Raise an error unless both models are of the same class."""
        if type(other) is not type(self):
            ours, theirs = (with_article(type(model).__name__) for model in (self, other))
            raise BayesError(f"{ours} merges with another one, not with {theirs}")

    def _set_features(self, names: Sequence[str], named: bool) -> None:
        """Set the number of columns, and their names if the data has names."""
        vars(self).pop("feature_names_in_", None)
        vars(self).update(n_features_in_=len(names))
        if named:
            vars(self).update(feature_names_in_=np.array(names, dtype=object))

    def _copy_features(self, inner: Any) -> None:
        """Take over the names and the number of the columns of a fitted model."""
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
            elif name in vars(self):
                delattr(self, name)

    # -- files and exports ---------------------------------------------------------------------------

    @available_if(lambda model: hasattr(model, "_restore") or hasattr(model, "_restore_parts"), "no file can hold it")
    def save(self, path: str | Path) -> None:
        """Write the model to a ``.bayes`` file, as a whole or not at all.

        If another process is changing the file (:func:`bayeskit.updating`), the call waits for it.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        BayesError
            If a setting cannot be stored, such as a NumPy generator as ``random_state``.

        See Also
        --------
        bayeskit.load : Read the file.
        """
        self._check_is_fitted()
        save_new(path, saved_of(self))

    def _to_saved(self) -> Saved:
        """Return the content of the model file."""
        return Saved(type(self).__name__, self._settings_for_file(), self._model_tally(), self._state_to_save())

    @classmethod
    def _of_saved(cls, saved: Saved) -> Self:
        """Return the fitted model of the content of a file."""
        model: Any = cls._with_settings(saved.settings)
        return model._restore(saved.counted(), saved.state)

    def _settings_to_save(self) -> dict[str, Any]:
        """Return the settings under which tally and state make this model again."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in self._unsaved}

    def _model_tally(self) -> Tally:
        """Return the counts that the model is computed from."""
        return cast(Any, self).tally_

    def _state_to_save(self) -> State | None:
        """Return the fitted state besides the tally; None if there is none."""
        return None

    def _settings_for_file(self) -> dict[str, Any]:
        """Return the settings for a file, models among them by name and settings."""
        return {name: _as_template(value, type(self)) for name, value in self._settings_to_save().items()}

    def _check_settings(self) -> None:
        """Raise an error for invalid settings; the defaults are valid."""
        defaults = _defaults(type(self))
        for name, rule in _rules_of(type(self)).items():
            if (value := getattr(self, name)) is not defaults.get(name):
                rule(name, value)

    @classmethod
    def _with_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the unfitted model of settings from a file."""
        model = cls()
        if unknown := settings.keys() - model.get_params(deep=False).keys():
            raise BadFile(f"{cls.__name__} has no setting {sorted(unknown)[0]!r} in this bayeskit: upgrade")
        return model.set_params(**{name: _from_template(v) for name, v in settings.items()})

    def _has_form(self) -> bool:
        """Return True for a model that ONNX and JSON can carry."""
        return hasattr(self, "_export_form") or hasattr(self, "_scoring_form")

    def _any_form(self) -> Any:
        """Return the form that ONNX and JSON carry."""
        return self._export_form() if hasattr(self, "_export_form") else self._scoring_form()

    @available_if("_scoring_form", NO_QUERY)
    def to_sql(
        self,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        keys: str | Sequence[str] | None = None,
        columns: Mapping[str, str] | None = None,
        evidence: bool = False,
        words: str | WordTable | Mapping[str, str | WordTable] | None = None,
    ) -> ScoringQuery:
        """Write a query that returns keys, ``predicted`` and ``p_<class>`` of every row of a table.

        Parameters
        ----------
        table : str or sequence of str
            Name of the table as SQL writes it.
        dialect : {"duckdb", "postgres", "sqlite", "spark"}, default="duckdb"
        keys : str or sequence of str, optional
            Columns that identify a row.
        columns : mapping, optional
            From the model's name of a column to its name in the table.
        evidence : bool, default=False
            Add ``against``, the runner-up, and ``evidence_<column>``, the log odds that each column adds to the
            predicted class against it.
        words : str, WordTable or mapping, optional
            For text columns, the table that holds their words.

        Returns
        -------
        ScoringQuery

        Examples
        --------
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

    @available_if(lambda model: model._has_form(), NO_COLUMN_SUM)
    def to_onnx(self, path: str | Path | None = None) -> bytes:
        """Export the model as ONNX in double precision.

        The graph has one input per column and the outputs ``predicted`` and ``p_<class>``.

        Parameters
        ----------
        path : str or Path, optional
            File to write.

        Returns
        -------
        bytes
        """
        from bayeskit.export.onnx import onnx_model

        return onnx_model(self._any_form(), path)

    @available_if(lambda model: model._has_form(), NO_COLUMN_SUM)
    def to_json(self, path: str | Path | None = None) -> dict[str, Any]:
        """Export the parameters as plain data in the format of docs/export.md.

        Parameters
        ----------
        path : str or Path, optional
            File to write.

        Returns
        -------
        dict
        """
        from bayeskit.export.json import json_model

        return json_model(self._any_form(), path)

    def page(self, path: str | Path | None = None) -> Any:
        """Return a self-contained HTML page with a form, whose posterior the browser computes.

        Parameters
        ----------
        path : str or Path, optional
            File to write.

        Returns
        -------
        ModelPage
            A notebook shows it; ``html`` is the document.
        """
        return import_module("bayeskit.report.page").model_page(self, path)

    def _has_advised(self, text: str) -> bool:
        """Return True if a clone of this model has given the advice: folds of one table would repeat it."""
        sentences: set[str] | None = vars(self).get("_advice")
        if sentences is None:
            return False
        known = text in sentences
        sentences.add(text)
        return known

    # -- what scikit-learn's tools ask for -----------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        kind = self._estimator_type
        tags = Tags(estimator_type=kind, target_tags=TargetTags(required=kind is not None))
        tags.classifier_tags = ClassifierTags() if kind == "classifier" else None
        tags.regressor_tags = RegressorTags() if kind == "regressor" else None
        if self._reads_tables:
            tags.input_tags.categorical = tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        sheet = self._overview()
        return sheet.html if sheet.parts else str(estimator_html_repr(self))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class _UnknownName:
    """The message of an unknown attribute, made when it is read: ``hasattr`` asks often and reads nothing."""

    def __init__(self, model: Any, name: str) -> None:
        self.model, self.name = model, name

    def __str__(self) -> str:
        names = () if self.name.startswith("_") else (name for name in dir(self.model) if not name.startswith("_"))
        hint = did_you_mean(self.name, names)
        return f"{type(self.model).__name__!r} object has no attribute {self.name!r}{hint}"

    __repr__ = __str__


def clone(model: Model) -> Model:
    """An unfitted model with the same settings: ``sklearn.base.clone``, which is asked only for models of others.

    >>> class Threshold(Estimator):
    ...     def __init__(self, at=0.5):
    ...         self.at = at
    >>> clone(Threshold([1, 2]))
    Threshold(at=[1, 2])
    """
    if not isinstance(model, Estimator):
        if not hasattr(model, "get_params") or isinstance(model, type):
            raise BayesError(f"{with_article(type(model).__name__)} cannot be fitted again", hint="pass a classifier")
        from sklearn.base import clone as sklearn_clone

        return sklearn_clone(model)
    settings = {name: _copied(value) for name, value in model.get_params(deep=False).items()}
    fresh = type(model)(**settings)
    heard = "_advice" if "_advice" in vars(model) else "_advice_of_clones"
    vars(fresh)["_advice"] = vars(model).setdefault(heard, set())
    for name in ("_metadata_request", "_sklearn_output_config"):
        if name in vars(model):
            vars(fresh)[name] = copy.deepcopy(vars(model)[name])
    return fresh


def _copied(value: Any) -> Any:
    """A setting for another model: models in it are cloned, all else is copied."""
    if isinstance(value, (list, tuple, set, frozenset)) and not hasattr(value, "_fields"):
        return type(value)(_copied(item) for item in value)
    if hasattr(value, "get_params") and not isinstance(value, type):
        return clone(value)
    return copy.deepcopy(value)


def _as_template(value: Any, within: type) -> Any:
    """A setting for a file: a model among the settings, or in a mapping there, as its name and settings."""
    if isinstance(value, Mapping):
        return {key: _as_template(inner, within) for key, inner in value.items()}
    if not hasattr(value, "get_params") or isinstance(value, type):
        return value
    refuse_unsaved(type(value), within.__name__)
    return Template(type(value).__name__, value._settings_for_file())


def _from_template(value: Any) -> Any:
    """The setting that :func:`_as_template` wrote."""
    if isinstance(value, dict):
        return {key: _from_template(inner) for key, inner in value.items()}
    if not isinstance(value, Template):
        return value
    kind = saved_class(value.model)
    if kind is None or not issubclass(kind, Estimator):
        raise BadFile(f"a setting is the model {value.model!r}, which this bayeskit does not know: upgrade")
    model = kind._with_settings(value.settings)
    model._check_settings()
    return model


def check_is_fitted(model: Any, with_what: str = "") -> None:
    """Raise scikit-learn's ``NotFittedError`` where the model has learned nothing; it is loaded only then."""
    if model.__sklearn_is_fitted__():
        return
    from sklearn.exceptions import NotFittedError

    call = f"'fit' with {with_what}" if with_what else "'fit'"
    raise NotFittedError(f"This {type(model).__name__} instance is not fitted yet. Call {call} first.")


def _shortened(text: str) -> str:
    """A long setting by its beginning and end."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"


def _wrapped(name: str, settings: list[str]) -> str:
    """``Name(a=1, b=2)``, on as many lines as are needed.

    >>> print(_wrapped("Model", ["first='a rather long setting'", "second='another one that is long'", "third=3"]))
    Model(first='a rather long setting', second='another one that is long',
          third=3)
    """
    indent = " " * (len(name) + 1)
    lines = [f"{name}("]
    for i, setting in enumerate(settings):
        piece = setting + (")" if i == len(settings) - 1 else ",")
        if i and len(lines[-1]) + 1 + len(piece) > WIDTH:
            lines.append(indent + piece)
        else:
            lines[-1] += f" {piece}" if i else piece
    return "\n".join(lines) if settings else f"{name}()"


class PredictsClasses(Estimator):
    """A classifier, as the tools see it."""

    _estimator_type = "classifier"
    predict: ClassVar[Callable[..., Any]]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        float
        """
        from sklearn.metrics import accuracy_score

        X, y, weights = _scored(X, y, sample_weight, self._drops_unlabeled)
        return float(accuracy_score(y, self.predict(X), sample_weight=weights))


class PredictsNumbers(Estimator):
    """A regression, as the tools see it."""

    _estimator_type = "regressor"
    predict: ClassVar[Callable[..., Any]]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the coefficient of determination R² on rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        float
        """
        from sklearn.metrics import r2_score

        X, y, weights = _scored(X, y, sample_weight)
        return float(r2_score(y, self.predict(X), sample_weight=weights))


class Transforms(Estimator):
    """A transformer, as the tools see it. Methods whose result may be wanted as a frame are ``as_wanted``."""

    _sklearn_auto_wrap_output_keys: ClassVar[set[str]] = {"transform"}  # by which scikit-learn's tools know
    fit: ClassVar[Callable[..., Any]]

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to rows, then transform them.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        y : array-like, optional

        Returns
        -------
        frame, Table or ndarray
        """
        return self.fit(X, y, **fit_params).transform(X)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container of ``transform``.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, optional
            None leaves it unchanged.

        Returns
        -------
        self
        """
        if transform is not None:
            vars(self)["_sklearn_output_config"] = {"transform": transform}
        return self

    def _wanted(self) -> str:
        """The output that was asked for, of this transformer or of all."""
        config = vars(self).get("_sklearn_output_config", {})
        if "transform" in config:
            return str(config["transform"])
        if "sklearn" not in sys.modules:  # then nobody has asked for another
            return "default"
        from sklearn import get_config

        return str(get_config()["transform_output"])

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


def as_wanted(method: Callable[..., Any]) -> Callable[..., Any]:
    """The rows that a method of a transformer gives, in the frame that ``set_output`` has asked for."""
    _, first, *_ = inspect.signature(method).parameters

    @wraps(method)
    def wrapped(self: Transforms, *args: Any, **named: Any) -> Any:
        rows = method(self, *args, **named)
        if self._wanted() == "default":
            return rows
        from sklearn.utils._set_output import _wrap_data_with_container

        X = args[0] if args else named[first]
        return _wrap_data_with_container("transform", rows, X, self)

    return wrapped


def feature_names(model: Any, given: Any = None) -> npt.NDArray[np.object_]:
    """The names of the columns that were learned from: x0, x1, … where they had none."""
    learned = getattr(model, "feature_names_in_", None)
    if given is None:
        named = learned if learned is not None else [f"x{i}" for i in range(model.n_features_in_)]
        return np.asarray(named, dtype=object)
    names = np.asarray(given, dtype=object)
    if learned is not None and not np.array_equal(learned, names):
        raise BayesError("input_features is not equal to feature_names_in_")
    if len(names) != model.n_features_in_:
        raise BayesError(
            f"input_features should have length equal to number of features ({model.n_features_in_}), got {len(names)}"
        )
    return names


def _scored(X: Any, y: Any, sample_weight: Any, drop: bool = False) -> tuple[Any, Any, Any]:
    """Rows, labels and weights for scikit-learn's measures: labels may be the name of a column, and rows in a file.

    Rows without a label are left out where ``drop``.
    """
    if drop:
        table, sample_weight = read_table(X, y).labeled(sample_weight)
        X, y = table.data, np.array(table.listed_labels().tolist())
    elif isinstance(y, str) or type(y).__module__.partition(".")[0] in ("pyarrow", "polars"):
        table = read_table(X, y)
        X, y = table.data, np.array(table.listed_labels().tolist())
    return X, y, None if sample_weight is None else np.asarray(sample_weight)


def seed_of(random_state: Any) -> int | None:
    """A whole number from what scikit-learn calls a random state; None for a fresh draw."""
    if random_state is None:
        return None
    if isinstance(random_state, (int, np.integer)):
        return int(random_state) & (2**64 - 1)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    raise BayesError(f"random_state={random_state!r}: give a whole number, a NumPy generator, or None")
