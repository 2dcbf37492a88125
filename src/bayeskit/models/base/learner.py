"""Learner: rows come and go by the algebra of tallies, whatever the model makes of its tally."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from bayeskit.data.schema import Schema, Target, as_classes
from bayeskit.data.source import Source, columns_held, for_schema, in_one_state, naming_the_file
from bayeskit.errors import BayesError, with_article
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.estimator import check_is_fitted
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally

Method = TypeVar("Method", bound=Callable[..., Any])


class Learner(Classifier):
    """A classifier that learns, forgets and merges: its rows are a tally, to which others are added.

    A model gives ``plan(schema)`` (what to count), ``_begin(tally)`` (become the model of the first rows),
    ``_move(tally)`` (become that of more rows, or of fewer) and ``_merged(other)`` (a new one of the rows of both).
    """

    if TYPE_CHECKING:

        def _begin(self, tally: Tally) -> Self: ...
        def _move(self, tally: Tally) -> Self: ...
        def _merged(self, other: Any) -> Self: ...

    def plan(self, schema: Schema) -> Plan:
        """Return the statistics to count of columns with these roles."""
        raise NotImplementedError

    def _learn_plan(self, schema: Schema, source: Source) -> Plan:
        """What to count where that must be learnt from the rows first, such as which columns go together."""
        return self.plan(schema)

    def fit_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn from files or any other source; an ``engine`` counts, such as ``Processes(2)``, else this machine."""
        self._check_settings()
        source = self._labelled_source(source, target, engine)
        with in_one_state(source):
            with naming_the_file(source):
                schema = self._schema_for(source)
            counted = self._count_new(source, schema)
        self._begin(counted)
        self._advise(source)
        return self

    def _advise(self, source: Source) -> None:
        """Warn of what the rows of a fit suggest."""

    def learn_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Learn more rows from files or any other source: ``partial_fit`` for what does not fit in memory."""
        if not self._is_fitted():
            return self.fit_source(source, target, engine)
        return self._with_more(self._count_more(self._labelled_source(source, target, engine)))

    def forget_source(self, source: Any, target: str | None = None, engine: Any = None) -> Self:
        """Unlearn rows of files or any other source: ``forget`` for what does not fit in memory."""
        self._check_is_fitted()
        return self._without(self._count_more(self._labelled_source(source, target, engine)))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; new values and classes may appear at any time.

        ``classes`` declares classes ahead, as scikit-learn's callers do; it is not needed.
        """
        self._check_settings()
        source = self._labelled(X, y, sample_weight)
        if self._is_fitted():
            return self._with_more(self._count_more(source))
        with in_one_state(source):
            schema = self._schema_for(source)
            if classes is not None:
                schema = Schema(schema.columns, Target(schema.target.name, as_classes(classes, "class")), schema.named)
            counted = self._count_new(source, schema)
        return self._begin(counted)

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn rows that were learnt: the counts are then those of a fit without them.

        Rows that would make a count negative are refused and change nothing. (Counts cannot know rows: that
        test is necessary, not sufficient.)
        """
        self._check_is_fitted()
        return self._without(self._count_more(self._labelled(X, y, sample_weight)))

    def _with_more(self, more: Tally) -> Self:
        return self._move(self.tally_ + more)

    def _without(self, gone: Tally) -> Self:
        left = self.tally_ - gone
        if not left.n_rows:
            raise BayesError("forgetting these rows would leave nothing to believe; start a new model instead")
        return self._move(left)

    def merge(self, other: Any) -> Self:
        """A new model of the rows of both; settings are those of this one. Both sides stay as they are."""
        self._check_is_fitted()
        if type(other) is not type(self):
            raise BayesError(
                f"{with_article(type(self).__name__)} merges with another one, not with {type(other).__name__}"
            )
        check_is_fitted(other, "rows and classes")
        return self._merged(other)

    def __radd__(self, other: object) -> Self:
        """``sum(models)`` starts from 0."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: object) -> Self:
        return self.merge(other) if isinstance(other, Learner) else NotImplemented

    def _count_new(self, source: Source, schema: Schema) -> Tally:
        """The tally of the first labelled rows."""
        return self._collect(source, schema, self._learn_plan(schema, source))

    def _count_more(self, source: Source) -> Tally:
        """The tally of more labelled rows. What is learnt already says what the columns of a file hold."""
        values = {name: family.values for name, family in self.tally_.families.items()}
        known = for_schema(source, self.schema_, values, self.tally_.classes)
        with columns_held():
            return self._collect(known, self.schema_, self.tally_.plan)


def remarked(method: Method, remark: str) -> Method:
    """The same method, for a model that has more to say of it: the remark ends its docstring.

    >>> print(remarked(Learner.merge, "Both need one structure.").__doc__)
    A new model of the rows of both; settings are those of this one. Both sides stay as they are.
    <BLANKLINE>
    Both need one structure.
    """

    @wraps(method)
    def same(*args: Any, **settings: Any) -> Any:
        return method(*args, **settings)

    same.__doc__ = f"{cleandoc(method.__doc__ or '')}\n\n{remark}"
    return cast(Method, same)
