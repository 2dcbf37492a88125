"""CodedClassifier: what models share that read every column as a code, numbers by their cut points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError, NotLearnt
from bayeskit.estimate.columns.column import never
from bayeskit.estimate.cuts import check_cuts
from bayeskit.estimate.cuts import labels as interval_labels
from bayeskit.estimate.prior import class_prior, log_prior_without
from bayeskit.estimate.sampling import cells_of, mixed
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.explain.evidence import telescoped
from bayeskit.models.base import TallyClassifier
from bayeskit.models.base.settings import held_choices, one_of, seed_of
from bayeskit.models.base.tuning import best_temperature
from bayeskit.tables.table import Table
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Floats


class CodedClassifier(TallyClassifier):
    """Settings and methods common to the models beyond naive."""

    smoothing: Any = "back-off"
    prior: Any = "empirical"
    cuts: Any = "mdl"

    def _check_settings(self) -> None:
        super()._check_settings()
        one_of("unseen", self.unseen, ("ignore", "error"))
        as_smoothing(self.smoothing)
        for spec in self.cuts.values() if isinstance(self.cuts, Mapping) else [self.cuts]:
            check_cuts(spec)

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """Cut points for all numbers, as given or learnt as the setting says."""
        given_cuts = {schema.find(k): v for k, v in self.cuts.items()} if isinstance(self.cuts, Mapping) else {}
        default = "mdl" if isinstance(self.cuts, Mapping) else self.cuts
        chosen = {name: given_cuts.get(name, default) for name in schema.measured()}
        return self._learnt_cuts(schema, source, chosen)

    def _held_while_left_out(self) -> tuple[str, ...]:
        return (*self._held_structure(), *held_choices(self.smoothing, self.cuts, self.schema_))

    def _held_structure(self) -> tuple[str, ...]:
        """What a model learns besides cuts and smoothing."""
        return ()

    def _log_prior(self, tally: Tally) -> Floats:
        """ln P(class)."""
        return logspace.log(class_prior(self.prior, tally.classes, tally.class_counts))

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit, and choose the ``temperature`` that predicts the classes best, leaving each row out in turn."""
        X = in_order(X)
        self.fit(X, y, sample_weight)
        self.temperature = best_temperature(self, self._labelled(X, y, sample_weight))
        return self

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, Array]:
        """Rows drawn from the model, and their classes. A column that the model leaves out is drawn as missing.

        A number is drawn evenly from its interval, an open one being as wide as the others on average. So the model
        reads it as it meant it; between the cuts it knows no more. A number that is not cut is drawn as missing.
        """
        self._check_is_fitted()
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise BayesError(f"sample({n!r}): give a whole number of rows")
        rng = np.random.default_rng(seed_of(self.random_state if random_state is None else random_state))
        labels = rng.choice(len(self.classes_), size=n, p=logspace.exp(self.params_.log_prior))
        slots = self._draw(labels, rng)
        columns = {}
        for name in self.schema_.used:
            values = self.tally_.families[name].values if name in slots else ()
            columns[name] = cells_of(values, self.schema_.columns[name], slots.get(name, labels), rng)
        return Table(columns), self.classes_[labels]

    def _log_terms(self, params: Any, block: Block) -> dict[str, Floats]:
        """What each column adds to the scores when it joins those before it, in schema order (rows, classes)."""
        known: dict[str, Any] = dict.fromkeys(block.codes, np.zeros(block.n_rows, dtype=np.uint8))

        def joining(name: str) -> Floats:
            known[name] = block.codes[name]
            return self.log_joint(params, replace(block, codes=known))

        return telescoped(params.log_prior, ((name, joining(name)) for name in self.schema_.used))

    def _draw(self, labels: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Slots of each column that takes part, for rows of these classes."""
        raise TypeError(f"{type(self).__name__} cannot be sampled")


class CodedLeftOut(ABC):
    """Scores of learnt rows, each without itself: structure, cuts and smoothing held.

    A model gives ``likelihoods(block, unit)``: ln P(x | class), and the same where a row of weight ``unit`` and of its
    own class has been taken from every count that contains it.
    """

    def __init__(self, model: CodedClassifier) -> None:
        self.model = model
        self.tally: Tally = model.tally_
        self._of_value = {name: family.counts.sum(axis=0) for name, family in self.tally.families.items()}

    @abstractmethod
    def likelihoods(self, block: Block, unit: float) -> tuple[Floats, Floats]:
        """(ln P(x | class), ln P'(x | class)), both (rows, classes); of the second the own class is taken."""

    def scores(self, block: Block) -> Floats:
        """ln P(x, class) of each row under the estimates made without it."""
        labels = block.labels
        if labels is None or (labels >= len(self.tally.classes)).any():
            raise NotLearnt("a row to leave out has a class that was never learnt")
        units = np.ones(block.n_rows) if block.weights is None else np.minimum(block.weights, 1.0)
        self._refuse_unlearnt(block, units)
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        for unit in np.unique(units):
            rows = np.flatnonzero(units == unit)
            scores[rows] = self._of_unit(block.take(rows), float(unit))
        return scores

    def _refuse_unlearnt(self, block: Block, units: Floats) -> None:
        """A row that was learnt is among the counts of each of its cells."""
        for name, column in block.codes.items():
            counts = self.tally.families[name].counts
            counted = np.column_stack([counts, np.zeros(len(counts))])[block.labels, column]
            lacking = np.flatnonzero(counted < units * (1 - GONE))
            if len(lacking):
                label = self.tally.classes[np.asarray(block.labels)[lacking[0]]]
                raise NotLearnt(never(block.start + int(lacking[0]), name, label))

    def _of_unit(self, block: Block, unit: float) -> Floats:
        known = self.without_gone(block, unit)
        labels = np.asarray(block.labels, dtype=np.int64)
        rows = np.arange(block.n_rows)
        scores, without_row = self.likelihoods(known, unit)
        scores[rows, labels] = without_row[rows, labels]
        for label in np.unique(labels):
            scores[labels == label] += self.log_prior(int(label), unit)
        return scores

    def without_gone(self, block: Block, unit: float) -> Block:
        """A value that only the row has is an unseen one without it; declared values stay."""
        codes = {}
        for name, column in block.codes.items():
            counts = self._of_value[name]
            unseen = np.arange(len(counts) + 1)
            if not _is_declared(self.tally.schema, name):
                lost = counts - unit <= GONE * counts
                lost[0] = False
                unseen[:-1][lost] = len(counts)
            codes[name] = unseen.astype(np.uint32)[column]
        return Block(block.n_rows, block.start, codes, block.floats, block.labels, None, block.weights)

    def log_prior(self, label: int, unit: float) -> Floats:
        """ln P(class) without a row of this class; a class that only the row shows is impossible without it."""
        return log_prior_without(self.model.prior, self.tally.classes, self.tally.class_counts, label, unit)


def names_of(values: Sequence[Value], schema: Schema, column: str) -> npt.NDArray[np.object_]:
    """Readable names of a column's values: intervals where it is cut."""
    role = schema.columns[column]
    labels = interval_labels(role.cuts) if isinstance(role, Numeric) and role.cuts is not None else list(values)
    if mixed(labels):
        labels = [str(value) for value in labels]
    names = np.empty(len(labels), dtype=object)
    names[:] = labels
    return names


def need_pairs(tally: Tally, name: str) -> None:
    """Refuse a tally that has not counted all pairs of its columns."""
    if {*tally.pairs.columns} != {*tally.families} or tally.moment_columns:
        raise BayesError(
            f"{name} needs the counts of all pairs of columns, which this tally has not: fit on rows, or take the "
            "tally of a TAN or an AODE"
        )


def _is_declared(schema: Schema, name: str) -> bool:
    role = schema.columns[name]
    return getattr(role, "cuts", None) is not None or getattr(role, "domain", None) is not None


def refuse_gaps(column: str, n_missing: float) -> None:
    """Refuse, where a sum over tables has a closed form for whole rows alone, rows with missing cells."""
    if n_missing > GONE:
        what = f"column {column!r} or its parents have" if column else "some rows have"
        raise BayesError(
            f"{what} missing cells, and the probability of the data has no closed form then: "
            "leave these rows out, or fill them",
            culprit=column or None,
        )
