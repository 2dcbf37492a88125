"""TallyClassifier: what every counting classifier shares; a model adds its plan, estimate and score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from bayeskit.data.block import Block
from bayeskit.data.schema import Numeric
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BadFile, BayesError, with_article
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.leave_one_out import leave_one_out
from bayeskit.explain.densities import ClassDensities, class_densities
from bayeskit.explain.informative import ColumnImportance, column_importance
from bayeskit.explain.nomogram import Nomogram, nomogram
from bayeskit.models.base.available import available_if
from bayeskit.models.base.column_advice import advise_spikes, tell_lost, tell_one_class
from bayeskit.models.base.estimator import clone
from bayeskit.models.base.joint_scores import KnowsJoint
from bayeskit.models.base.learner import Learner
from bayeskit.storage.model_file import State
from bayeskit.tally.tally import Tally

BY_COLUMN = ("roles", "domains", "smoothing", "numeric", "variance", "cuts")  # settings that may be mappings
TOGETHER = "its columns speak together. explain says what each adds in a row"


class TallyClassifier(Learner, KnowsJoint):
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
        return not held and not self.tally_.values and type(self)._learn_plan is Learner._learn_plan

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
