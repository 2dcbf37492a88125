"""Classifiers that are functions of their counts: they learn, forget and merge exactly.

Formula: T on leave-one-out scores
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, cast

import numpy as np

from bayeskit.data.advice import advice
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Numeric, declared_roles
from bayeskit.data.source import (
    Source,
    first_rows,
)
from bayeskit.data.vocabulary import Value, sort_values
from bayeskit.errors import AdviceWarning, BadFile, BayesError, BayesWarning, format_setting, with_article
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.leave_one_out import leave_one_out
from bayeskit.explain.densities import ClassDensities, class_densities
from bayeskit.explain.informative import ColumnImportance, column_importance
from bayeskit.explain.nomogram import Nomogram, nomogram
from bayeskit.models.base.available import available_if
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.estimator import clone
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import NOISE
from bayeskit.typing import Array

if TYPE_CHECKING:
    pass


Method = TypeVar("Method", bound=Callable[..., Any])


def remarked(method: Method, remark: str) -> Method:
    """The same method, for a model that has more to say of it: the remark ends its docstring.

    >>> print(remarked(Classifier.merge, "Both need one structure.").__doc__)
    A new model of the rows of both; settings are those of this one. Both sides stay as they are.
    <BLANKLINE>
    Both need one structure.
    """

    @wraps(method)
    def same(*args: Any, **settings: Any) -> Any:
        return method(*args, **settings)

    same.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{remark}"
    return cast(Method, same)


BY_COLUMN = ("roles", "domains", "smoothing", "numeric", "variance", "cuts")  # settings that may be mappings
TOGETHER = "its columns speak together. explain says what each adds in a row"


class TallyClassifier(Classifier):
    """A classifier that is its tally: learns, forgets and merges exactly.

    A model gives ``plan(schema)`` (what to count), ``estimate(tally)`` (what to believe, a pure function of the
    tally) and ``log_joint(params, block)`` (what to say of a block of rows).
    """

    _column_wise: ClassVar[bool] = True
    """Whether columns can be left out of what was counted, and the rest is what a fit without them counts."""

    if TYPE_CHECKING:

        def _left_out(self) -> Any: ...

    # -- learning ------------------------------------------------------------------------------------

    def estimate(self, tally: Tally) -> Any:
        """Return the parameters computed from the counts; the model is unchanged."""
        raise NotImplementedError

    def fit_tally(self, tally: Tally) -> Self:
        """Learn from counts alone: from a table of counts, another model's tally, a sum of tallies."""
        self._check_settings()
        refuse_no_counts(tally)
        params = self.estimate(tally)  # may refuse; the model is still as it was
        self._become(params, tally, self._classes_of(tally))
        tell_one_class(self)
        return self

    def _classes_of(self, tally: Tally) -> tuple[Value, ...]:
        """The classes of what was counted, which may be parts of them."""
        return tally.classes

    def _begin(self, tally: Tally) -> Self:
        return self.fit_tally(tally)

    def _move(self, tally: Tally) -> Self:
        return self.fit_tally(tally)

    def _with_more(self, more: Tally) -> Self:
        before = self.params_
        super()._with_more(more)
        tell_lost(self, before)
        return self

    def _merged(self, other: Any) -> Self:
        return self._with_tally(self.tally_ + other.tally_)

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        return clone(self).set_params(**settings).fit_tally(tally)

    def _advise(self, source: Source) -> None:
        advise_spikes(self, source)

    @available_if(lambda model: model._column_wise, "what was learnt may ask for the columns that would be gone")
    def restrict(self, columns: Iterable[str]) -> Self:
        """A new model over these columns alone, from the same tally: nothing is read again."""
        self._check_is_fitted()
        tally = self._restricted([columns] if isinstance(columns, str) else list(columns))
        by_name = {}  # settings by position would mean other columns now
        for setting, value in self.get_params(deep=False).items():
            if setting in BY_COLUMN and isinstance(value, Mapping):
                named = {key if key not in self.schema_ else self.schema_.find(key): v for key, v in value.items()}
                by_name[setting] = {
                    key: v for key, v in named.items() if key in tally.schema or key not in self.schema_
                }
        return self._with_tally(tally, **by_name)

    def _restricted(self, columns: list[str]) -> Tally:
        """What was counted of these columns alone."""
        return self.tally_.restrict(columns)

    def with_prior(self, prior: Any) -> Self:
        """A new model with another class prior, from the same tally."""
        self._check_is_fitted()
        return self._with_tally(self.tally_, prior=prior)

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Become the fitted model that was saved."""
        if state is not None:
            raise BadFile(f"{with_article(type(self).__name__)} holds nothing beside its counts")
        return self.fit_tally(tally)

    # -- saying --------------------------------------------------------------------------------------

    @available_if("_left_out", "its scores without a row have no closed form: use bayeskit.cross_validate")
    def leave_one_out(self, X: Any, y: Any, sample_weight: Any = None) -> Evaluation:
        """Scores of the rows that were learnt, each predicted by the model made without it, in closed form.

        ``X``, ``y`` and ``sample_weight`` are those of the fit. Costs about one ``predict_proba``.
        """
        self._check_is_fitted()
        self._check_settings()
        blocks = self._blocks_learnt(X, y, sample_weight)
        choose = self._choose if self.ties == "random" else None
        settings = (choose, self.undecidable, self.temperature, self._threads(), self._held_while_left_out())
        return leave_one_out(self._left_out(), blocks, self.tally_, *settings)

    def _is_its_counts(self) -> bool:
        """Whether more rows make it the model that a fit on all of them gives: no cuts nor structure are held."""
        self._check_is_fitted()
        held = any(
            isinstance(role, Numeric) and (role.cuts, role.kind) != (None, None)
            for role in self.schema_.columns.values()
        )
        return not held and not self.tally_.values and type(self)._learn_plan is Classifier._learn_plan

    def _blocks_learnt(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Block]:
        """The rows of the fit in the codes of the model, to be left out one by one."""
        return self._encoder().blocks(self._labelled(X, y, sample_weight))

    def _held_while_left_out(self) -> tuple[str, ...]:
        """What was chosen with all rows, and stays while each is left out."""
        return ()

    @available_if("_column_scores", TOGETHER)
    def column_importance(self) -> ColumnImportance:
        """The columns and values that tell most of the class, in bits."""
        self._check_is_fitted()
        return column_importance(self)

    @available_if("_column_scores", TOGETHER)
    def nomogram(self, predicted: Any = None, against: Any = None, X: Any = None, row: Any = None) -> Nomogram:
        """The model on paper: points for each value, and what their total says of one class against another.

        By default the second of two classes against the first, or the most frequent against the next. The rulers of
        numbers keep to the range of rows ``X``, which may have some of the columns alone, such as ``{"age": [0, 90]}``.
        One ``row`` is marked on them, and the total of its points has the probability that the model gives it.
        """
        self._check_is_fitted()
        return nomogram(self, predicted, against, X, row)

    @available_if("_column_scores", TOGETHER)
    def densities(self, column: str | int, X: Any = None, y: Any = None) -> ClassDensities:
        """The density of a measured column in each class, the regions that it decides alone, and P(mistake) there.

        With rows ``X`` and classes ``y`` also their histogram.
        """
        self._check_is_fitted()
        return class_densities(self, self.schema_.find(column), None if X is None else self._labelled(X, y, None))


def refuse_no_counts(tally: Any) -> None:
    """Refuse what is no tally, and a tally of nothing."""
    if not isinstance(tally, Tally):
        raise BayesError(f"fit_tally takes a Tally, not {type(tally).__name__}; rows go to fit")
    if not tally.n_rows:
        raise BayesError("the tally is empty: there is nothing to believe")


ROWS = 20  # on fewer nothing is advised


SEVERAL = 5  # values of a class that are hardly equal by chance


def advise_spikes(model: Any, source: Source) -> None:
    """Warn of numbers that are one and the same in a whole class, by the tally: a Gaussian leans on such a column."""
    tally, roles = model.tally_, model.roles
    open_roles = model.schema is None and (roles is None or isinstance(roles, Mapping))
    if not source.named or not open_roles or tally.n_rows < ROWS:
        return
    declared = declared_roles(roles, source.kinds, tally.schema)
    total = tally.moments.pooled().squared_deviations()
    constant = (tally.moments.squared_deviations() <= NOISE * total) & (tally.moments.n >= SEVERAL) & (total > 0)
    spikes = [
        (name, int(np.argmax(constant[:, j])))
        for j, name in enumerate(tally.moment_columns)
        if name not in declared and constant[:, j].any()
    ]
    batch = first_rows(source) if spikes else None
    if batch is not None:  # one sentence a column is enough
        spikes = [spike for spike in spikes if next(advice(batch, tally.schema.restrict([spike[0]])), None) is None]
    if not spikes:
        return
    (name, c), others = spikes[0], [repr(other) for other, _ in spikes[1:]]
    more = f", and so {'is' if len(others) == 1 else 'are'} {', '.join(others)} within some class" if others else ""
    value = tally.moments.mean()[c, tally.moment_columns.index(name)]
    role = "categorical" if hasattr(model, "numeric") else "ignore"
    numbers, them = ("their numbers", "them") if others else ("its numbers", "it")
    purpose = f"if {numbers} are codes, pass" if role == "categorical" else f"to leave {them} out, pass"
    warning = AdviceWarning(
        f"column {name!r} is constant within class {tally.classes[c]!r} ({value:.6g}){more}: the model leans heavily "
        f"on {them};",
        hint=f"{purpose} {format_setting('roles', {spike: role for spike, _ in spikes})}",
    )
    if not model._has_told(str(warning)):
        warnings.warn(warning, stacklevel=5)


def tell_lost(model: Any, before: Any) -> None:
    """Warn of columns that spoke before more rows came and no longer do: a class came without a number in them."""
    tally, known, now = model.tally_, getattr(before, "silent", ()), getattr(model.params_, "silent", ())
    for name in (*tally.summed, *tally.values):
        if name in known or name not in now:
            continue
        which = "a class"
        if name in tally.summed:
            measured = tally.moments_of([name]).n[:, 0]
            which = f"class {tally.classes[np.argmax((measured <= 0) & (tally.class_counts > 0))]!r}"
        warnings.warn(
            f"column {name!r} is left out from now on, for all classes: {which} has rows but no number in it. Learn "
            "rows of that class with numbers, or forget those without.",
            BayesWarning,
            stacklevel=5,
        )


def tell_one_class(model: Any) -> None:
    """Warn of a model that puts every row in one and the same class."""
    if len(model.classes_) == 1:
        label = model.classes_.tolist()[0]
        sentence = f"there is one class only ({label!r}): every row will be put in it"
        warnings.warn(sentence, BayesWarning, stacklevel=4)


def weighty_blocks(model: LeavesOut, source: Source) -> Iterator[Block]:
    """The rows in the model's codes, without those of weight zero, which it has not learnt."""
    for block in model._encoder().blocks(source):
        yield block if block.weights is None or block.weights.all() else block.take(block.weights > 0)


class LeavesOut(Protocol):
    """A model that scores its own rows, each without itself."""

    def _left_out(self) -> Any: ...
    def _encoder(self) -> Encoder: ...


def best_temperature(model: LeavesOut, source: Source, capped: bool = False) -> float:
    """The T with the least leave-one-out log loss of softmax(scores / T) on the rows the model has learnt.

    ``capped`` probabilities are (n p + 1) / (n + C): one row that is wholly mistaken decides nothing then.
    """
    left_out = model._left_out()
    scores, labels, weights = [], [], []
    for block in weighty_blocks(model, source):
        block_scores = left_out.scores(block)
        block_labels = np.asarray(block.labels, dtype=np.int64)
        # a class that only one row shows is lost for every T
        known = np.isfinite(block_scores[np.arange(block.n_rows), block_labels])
        scores.append(block_scores[known])
        labels.append(block_labels[known])
        weights.append((np.ones(block.n_rows) if block.weights is None else block.weights)[known])
    s, y, w = np.concatenate(scores), np.concatenate(labels), np.concatenate(weights)
    return 1 / fit_temperature(s, y, w, capped) if len(y) and s.shape[1] > 1 else 1.0


def name_of(label: Value, number: int) -> str:
    """The name of a part in a tally.

    >>> name_of("yes", 2)
    '["yes", 2]'
    """
    return json.dumps([label, number], ensure_ascii=False)


def parts_of(tally: Tally, model: str, what: str) -> tuple[Array, Array, tuple[Value, ...]]:
    """(the class of each part, its number, the classes); other tallies are refused."""
    try:
        read = [json.loads(name) for name in tally.classes]  # type: ignore[arg-type]
        named = [(label, int(number)) for label, number in read]
        for (label, number), name in zip(named, tally.classes, strict=True):
            if not isinstance(label, (str, int, float)) or number < 0 or name_of(label, number) != name:
                raise ValueError
    except (ValueError, TypeError):
        raise BayesError(
            f"{model} learns from rows, or from the counts of another one: these counts know no {what}"
        ) from None
    classes = tuple(sort_values({label for label, _ in named}))
    at = {label: i for i, label in enumerate(classes)}
    owner = np.array([at[label] for label, _ in named], dtype=np.int64)
    return owner, np.array([number for _, number in named], dtype=np.int64), classes


def of_classes(tally: Tally, owner: Array, classes: tuple[Value, ...]) -> Tally:
    """The counts of the classes: their parts together."""
    schema = replace(tally.schema, target=replace(tally.schema.target, domain=None))
    order = np.argsort(owner, kind="stable")
    numbers = np.empty_like(owner)  # of each part within its class
    numbers[order] = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order])
    whole: Tally | None = None
    for number in range(int(numbers.max(initial=-1)) + 1):  # one part of each class at a time
        index = np.full(len(classes), -1)
        these = np.flatnonzero(numbers == number)
        index[owner[these]] = these
        some = tally.with_classes(index, classes)
        whole = some if whole is None else whole.plus(some)
    return (whole or tally).with_schema(schema)


def readable(sentence: str, tally: Tally) -> str:
    """A sentence of a tally of leaves, its parts named as people do."""
    for name in tally.classes:
        label, number = json.loads(str(name))
        sentence = sentence.replace(repr(name), f"{label!r} in leaf {number}")
    return sentence
