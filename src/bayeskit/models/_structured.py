"""Classifiers that read every column as a code: what they share, and products of tables in which columns have parents.

P(c | x) ∝ P(c) · Π_i P(x_i | c, parents of x_i)


Formula: P(x_j ∣ c, parents): TAN, k-DB
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BayesError, QueryError, TooLarge
from bayeskit.estimate.columns.column import not_learned
from bayeskit.estimate.conditional import ConditionalTable, Contexts, conditional_table
from bayeskit.estimate.cuts import check_cuts
from bayeskit.estimate.cuts import labels as interval_labels
from bayeskit.estimate.formulas import Given, WrittenFactor
from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence
from bayeskit.estimate.prior import check_prior, class_prior
from bayeskit.estimate.sampling import cells_of, draw_slots, mixed
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.explain.evidence import score_increments
from bayeskit.explain.structure import StructureDescription, StructureGraph, graph_of_columns
from bayeskit.export.scoring_form import ScoringForm, coding, context_term
from bayeskit.memory import memory_allowed, memory_size
from bayeskit.models.base import rules
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.left_out import LeftOutRows, best_temperature, choices_by_class
from bayeskit.models.base.persistence import classifier_form, refuse_random_ties
from bayeskit.tables import ProbabilityTable, Table
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


@dataclass(eq=False, repr=False, kw_only=True)
class CodedClassifier(Classifier):
    """The base of models that read every column as a code: numbers are cut into intervals.

    A model defines ``_draw(labels, rng)``, the slots of each column that takes part for rows of these classes, and
    ``_likelihoods(block, unit, learned)`` for leave-one-out (see :class:`CodedLeftOut`).

    Parameters
    ----------
    smoothing : str, float or smoothing rule, default="back-off"
        "back-off" (an m-estimate towards the table without the last parent, m by leave-one-out), or pseudo-counts as
        for :class:`NaiveBayes`: a number (1.0 is Laplace), "auto", ``MLE()``, ``MEstimate(m)``, …
    prior : str, mapping or smoothing rule, default="empirical"
        "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    cuts : str, int, tuple, sequence or mapping, default="mdl"
        How numbers are cut: "mdl" (by the classes), "frequency", "width", "random", one of these with a number of
        intervals such as ("frequency", 5), a number of intervals of equal width, or the cut points; a mapping gives
        some columns their own.
    """

    smoothing: Any = "back-off"
    prior: Any = "empirical"
    cuts: Any = "mdl"

    _draw: ClassVar[Callable[..., Any]]
    _rules: ClassVar[rules.Rules] = {
        "unseen": rules.words("ignore", "error"),
        "smoothing": lambda _, value: as_smoothing(value),
        "prior": check_prior,
        "cuts": rules.by_column(lambda _, value: check_cuts(value)),
    }

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        """Cut points for all numbers, as given or learned as the setting says."""
        given_cuts = {schema.find(k): v for k, v in self.cuts.items()} if isinstance(self.cuts, Mapping) else {}
        default = "mdl" if isinstance(self.cuts, Mapping) else self.cuts
        chosen = {name: given_cuts.get(name, default) for name in schema.measured}
        return self._learned_cuts(schema, source, chosen)

    def _fixed_during_loo(self) -> tuple[str, ...]:
        return (*self._learned_structure(), *choices_by_class(self.smoothing, self.cuts, self.schema_))

    def _learned_structure(self) -> tuple[str, ...]:
        """Return what else is learned and stays fixed while rows are left out."""
        return ()

    def _log_prior(self, tally: Tally) -> Floats:
        """ln P(class)."""
        return logspace.log(class_prior(self.prior, tally.classes, tally.class_counts))

    def tune(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit, and set the ``temperature`` with the least leave-one-out log loss.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        self
        """
        X = in_order(X)
        self.fit(X, y, sample_weight)
        self.temperature = best_temperature(self, self._labeled(X, y, sample_weight))
        return self

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Table, Array]:
        """Draw rows from the model.

        A number is drawn uniformly from its interval; an open interval is as wide as the others on average.

        Parameters
        ----------
        n : int, default=1
            Number of rows.
        random_state : int or generator, optional
            By default the setting ``random_state``.

        Returns
        -------
        (Table, ndarray of shape (n,))
            Rows and their classes. Unused columns and numbers without cuts are drawn as missing.
        """
        labels, rng = self._draw_classes(n, random_state)
        slots = self._draw(labels, rng)
        columns = {}
        for name in self.schema_.used:
            values = self.tally_.families[name].values if name in slots else ()
            columns[name] = cells_of(values, self.schema_.columns[name], slots.get(name, labels), rng)
        return Table(columns), self.classes_[labels]

    def _log_terms(self, params: Any, block: Block) -> dict[str, Floats]:
        """Return the score change of adding each column to the earlier ones, shape (n_rows, n_classes)."""
        known: dict[str, Any] = dict.fromkeys(block.codes, np.zeros(block.n_rows, dtype=np.uint8))

        def joining(name: str) -> Floats:
            known[name] = block.codes[name]
            return self._log_joint(params, replace(block, codes=known))

        return score_increments(params.log_prior, ((name, joining(name)) for name in self.schema_.used))

    def _left_out(self) -> CodedLeftOut:
        return CodedLeftOut(self)

    def _value_names(self, column: str) -> npt.NDArray[np.object_]:
        return names_of(self.params_.values[column], self.schema_, column)

    def _context_table(self, column: str, parents: Mapping[str, Array], counts: Floats, shares: Floats) -> Table:
        """Return P(value | class, parents) with counts, both given as (n_contexts, n_values, n_classes)."""
        names, classes = self._value_names(column), self.tally_.classes
        columns = {name: np.repeat(values, len(names)) for name, values in parents.items()}
        columns[column] = np.tile(names, len(counts))
        cells, given = counts if self.tally_.weighted else counts.astype(np.int64), "".join(f", {p}" for p in parents)
        columns |= {f"count | {label}": cells[:, :, i].ravel() for i, label in enumerate(classes)}
        columns |= {f"P({column} | {label}{given})": shares[:, :, i].ravel() for i, label in enumerate(classes)}
        contexts = list(zip(*parents.values(), strict=True)) if parents else [()]
        return ProbabilityTable(
            {name: cells.tolist() for name, cells in columns.items()},
            keys=len(parents) + 1,
            variable=column,
            values=names.tolist(),
            given=" · ".join((self.schema_.target.name, *parents)),
            contexts=[" · ".join(map(str, (label, *values))) for values in contexts for label in classes],
            shares=shares.transpose(0, 2, 1).reshape(shares.shape[0] * shares.shape[2], len(names)),
        )


class CodedLeftOut(LeftOutRows):
    """Scores of learned rows, each without itself: structure, cuts and smoothing held.

    A model gives ``_likelihoods(block, unit, learned)``: ln P(x | class), and the same where a row of weight ``unit``
    and of its own class has been taken from every count that contains it. A value that only the row has is unseen in
    ``block``; ``learned`` has it.
    """

    def __init__(self, model: CodedClassifier) -> None:
        super().__init__(model, model.tally_)
        self._of_value = {name: family.counts.sum(axis=0) for name, family in self.tally.families.items()}

    def scores(self, block: Block) -> Floats:
        """ln P(x, class) of each row under the estimates made without it."""
        labels, units = self.labels_and_units(block)
        self._refuse_unlearned(block, units)
        scores = np.empty((block.n_rows, len(self.tally.classes)))
        for unit in np.unique(units).tolist():
            rows = np.flatnonzero(units == unit)
            part, own = block.take(rows), (np.arange(len(rows)), labels[rows])
            scores[rows], without_row = self.model._likelihoods(self.drop_vanished_values(part, unit), unit, part)
            scores[rows, own[1]] = without_row[own]
        return scores + self.log_priors(labels, units)

    def _refuse_unlearned(self, block: Block, units: Floats) -> None:
        """A row that was learned is among the counts of each of its cells."""
        for name, column in block.codes.items():
            counts = self.tally.families[name].counts
            counted = np.column_stack([counts, np.zeros(len(counts))])[block.labels, column]
            lacking = np.flatnonzero(counted < units * (1 - GONE))
            if len(lacking):
                label = self.tally.classes[np.asarray(block.labels)[lacking[0]]]
                raise not_learned(block.start + int(lacking[0]), name, label)

    def drop_vanished_values(self, block: Block, unit: float) -> Block:
        """A value that only the row has is an unseen one without it; declared values stay."""
        codes = {}
        for name, column in block.codes.items():
            counts = self._of_value[name]
            unseen = np.arange(len(counts) + 1)
            role = self.tally.schema.columns[name]
            if getattr(role, "cuts", None) is None and getattr(role, "domain", None) is None:
                lost = counts - unit <= GONE * counts
                lost[0] = False
                unseen[:-1][lost] = len(counts)
            codes[name] = unseen.astype(np.uint32)[column]
        return Block(block.n_rows, block.start, codes, block.floats, block.labels, None, block.weights)


def names_of(values: Sequence[Value], schema: Schema, column: str) -> npt.NDArray[np.object_]:
    """Readable names of a column's values: intervals where it is cut."""
    cuts = getattr(schema.columns[column], "cuts", None)
    labels = list(values) if cuts is None else interval_labels(cuts)
    if mixed(labels):
        labels = [str(value) for value in labels]
    names = np.empty(len(labels), dtype=object)
    names[:] = labels
    return names


def need_pairs(tally: Tally, name: str) -> None:
    """Refuse a tally that has not counted all pairs of its columns."""
    if {*tally.pairs.columns} != {*tally.families} or tally.moment_columns:
        hint = "fit on rows, or take the tally of a TAN or an AODE"
        raise BayesError(f"{name} needs the counts of all pairs of columns, which this tally has not", hint=hint)


def refuse_gaps(column: str, n_missing: float) -> None:
    """Refuse, where a sum over tables has a closed form for whole rows alone, rows with missing cells."""
    if n_missing > GONE:
        what = f"column {column!r} or its parents have" if column else "some rows have"
        hint = "leave these rows out, or fill them"
        raise BayesError(f"{what} missing cells, and the probability of the data has no closed form then", hint=hint)


def network_of_tables(
    model: Any, tables: Mapping[str, tuple[tuple[Value, ...], tuple[str, ...], Floats]]
) -> BayesianNetwork:
    """``tables``: of each column its values, its parents besides the class, and P (contexts, values)."""
    from bayeskit.network.network import BayesianNetwork

    target = model.schema_.target.name
    parents: dict[str, tuple[str, ...]] = {target: ()}
    states: dict[str, tuple[Value, ...]] = {target: tuple(model.tally_.classes)}
    cuts: dict[str, tuple[float, ...]] = {}
    arrays = {target: np.asarray(logspace.exp(model.params_.log_prior))[None]}
    for column, (values, others, array) in tables.items():
        if column == target:
            continue
        role = model.schema_.columns[column]
        if isinstance(role, Numeric) and role.cuts is not None:
            cuts[column] = role.cuts
        states[column] = tuple(interval_labels(cuts[column])) if column in cuts else tuple(values)
        parents[column], arrays[column] = (target, *others), array
    if len(arrays) == 1:
        hint = 'Fit it with numeric="histogram", or ask the data'
        raise QueryError(
            "the model has no column with a table of values: its numbers are measured, not counted.", hint=hint
        )
    whole = {name: array / array.sum(axis=1, keepdims=True) for name, array in arrays.items()}  # without a missing cell
    return BayesianNetwork.of_arrays(parents, states, whole, cuts)


class CodedParameters:
    """Parameters of a model whose columns are all coded."""

    values: dict[str, tuple[Value, ...]]  # of each column

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Return the vocabulary of each coded column."""
        return {name: Vocabulary(values) for name, values in self.values.items()}


@dataclass(frozen=True)
class StructuredParameters(CodedParameters):
    """Parameters of a model with one conditional table per column."""

    log_prior: Floats
    tables: dict[str, ConditionalTable]
    values: dict[str, tuple[Value, ...]]  # of all columns, those without a table too

    @property
    def unused(self) -> list[str]:
        """Return the columns that carry no information about the class."""
        return [name for name in self.values if name not in self.used]

    @cached_property
    def used(self) -> dict[str, ConditionalTable]:
        """Return the tables that are used, parents before children."""
        ordered: dict[str, ConditionalTable] = {}
        left = {name: table for name, table in self.tables.items() if table.used}
        while left:
            ready = {name: table for name, table in left.items() if all(p in ordered for p in table.parents)}
            ordered |= ready
            left = {name: table for name, table in left.items() if name not in ready}
        return ordered


class StructuredClassifier(CodedClassifier):
    """A model whose columns have parents besides the class; ``parents_`` says which."""

    params_: StructuredParameters

    def _parameters(
        self, tally: Tally, parents: Mapping[str, tuple[str, ...]], contexts: Callable[..., Contexts]
    ) -> StructuredParameters:
        """Estimate the table of each column; a parent that some class has no distribution of is left out."""
        rule, values = as_smoothing(self.smoothing), {name: family.values for name, family in tally.families.items()}

        def build(name: str, of: tuple[str, ...]) -> ConditionalTable:
            return conditional_table(of, values[name], contexts(name, of), rule, tally.class_counts)

        tables = {name: build(name, of) for name, of in parents.items()}
        for name, of in parents.items():
            used = tuple(parent for parent in of if tables[parent].used)
            if used != of:
                tables[name] = build(name, used)
        return StructuredParameters(self._log_prior(tally), tables, values)

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The parents of each column besides the class."""
        return {name: table.parents for name, table in self.params_.tables.items()}

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, and a table for each combination of the parents' values."""
        n_classes = len(self.tally_.classes)
        return n_classes - 1 + sum(n_classes * table.n_free for table in self.params_.tables.values())

    def log_marginal_likelihood(self) -> float:
        """Return the log marginal likelihood ln P(data | structure), with ``smoothing`` as Dirichlet prior.

        Returns
        -------
        float

        Raises
        ------
        BayesError
            If cells are missing, and for smoothing 0, "auto" and "back-off", which are not priors.
        """
        tally, rule = self.tally_, as_smoothing(self.smoothing)
        total = log_class_evidence(self.prior, tally.classes, tally.class_counts)
        for name, table in self.params_.tables.items():
            refuse_gaps(name, float(tally.n_rows - table.contexts.counts[-1].sum()))
            counts = table.contexts.counts[-1].transpose(0, 2, 1)
            total += log_evidence(counts, hyperparameters(rule, table.values, self.smoothing))
        return total

    def _log_joint(self, params: StructuredParameters, block: Block) -> Floats:
        return self._log_likelihoods(params, block, start=params.log_prior)

    def _log_likelihoods(
        self,
        params: StructuredParameters,
        block: Block,
        unit: float | None = None,
        learned: Block | None = None,
        start: Any = 0.0,
    ) -> Floats:
        """Return ln P(known cells | class), shape (n_rows, n_classes).

        With a ``unit``, a learned row of that weight is taken from the counts of its own class; ``learned`` has the
        values that only the row has, which ``block`` marks as unseen.
        """
        scores = np.full((block.n_rows, len(params.log_prior)), start)
        used, threads = params.used, self._threads()
        if not used:
            return scores
        tables = [table.left_out(unit) if unit else table.log_table for table in used.values()]
        rows = _rows_with_missing_parents(used, used, block)
        part, gone, summed = block.take(rows), None, scores[rows]
        kernels.score_codes(context_columns(used, block, threads), tables, scores, threads)
        if len(rows):
            if learned is not None:
                cells = {name: (part.codes[name], learned.codes[name][rows]) for name in used}
                gone = [np.where(known == own, 0, own).astype(np.uint32) for known, own in cells.values()]
            self._sum_out(used, part, unit, gone, summed)
            scores[rows] = summed
        return scores

    def _sum_out(
        self, used: Mapping[str, ConditionalTable], block: Block, unit: float | None, gone: Any, scores: Floats
    ) -> None:
        """Add ln P(known cells | class), summed over the values of the missing cells."""
        number = {name: j for j, name in enumerate(used)}
        parents = [np.array([number[p] for p in table.parents], dtype=np.int64) for table in used.values()]
        cases = [[table.log_table] if unit is None else table.left_out_cases(unit) for table in used.values()]
        steps, sizes = [[*table.contexts.steps] for table in used.values()], [len(t.values) + 2 for t in used.values()]
        columns, allowed = [block.codes[name] for name in used], memory_allowed(self.memory_limit)
        most = int(min(allowed / (16 * scores.shape[1]), 2.0**32))
        try:
            kernels.score_missing(columns, sizes, parents, steps, cases, gone, scores, most, self._threads())
        except ValueError:
            raise TooLarge(
                "the missing cells of a row need a joint table that would take more than "
                f"memory_limit={memory_size(allowed)}.",
                hint="Fill some of them, use fewer parents (a smaller k), or cut numbers more coarsely.",
            ) from None

    def _log_terms(self, params: StructuredParameters, block: Block) -> dict[str, Floats]:
        """Return ln P(cell | class, parents) of each column, shape (n_rows, n_classes), in schema order."""
        zeros = np.zeros((block.n_rows, len(params.log_prior)))
        return {n: self._log_term(block, n) if n in params.used else zeros for n in self.schema_.used}

    def _log_term(self, block: Block, name: str, unit: float | None = None, learned: Block | None = None) -> Floats:
        """Return ln P(cell | class, parents) of a column, shape (n_rows, n_classes).

        Where a parent is missing: ln P(cell | class, known cells of the columns before it). Terms sum to
        ``_log_likelihoods``, whose other arguments these are.
        """
        params, used, table = self.params_, self.params_.used, self.params_.used[name]
        term = np.zeros((block.n_rows, len(params.log_prior)))
        columns = context_columns({name: table}, block, self._threads())
        kernels.score_codes(columns, [table.left_out(unit) if unit else table.log_table], term, self._threads())
        rows = _rows_with_missing_parents({name: table}, used, block)
        if len(rows):
            names, at = list(used), list(used).index(name)
            parts = ([_first_columns(part, rows, names[:n]) for part in (block, learned)] for n in (at, at + 1))
            before, after = (self._log_likelihoods(params, part, unit, own) for part, own in parts)
            with np.errstate(invalid="ignore"):
                term[rows] = np.where(np.isneginf(before), 0.0, after - before)
        return term

    def _write_factors(self, block: Block) -> list[WrittenFactor]:
        """P(cell | class, parents) of each column of the first row, as counts and what is added to them.

        Where a parent is missing: P(cell | class, known cells before it), as a number.
        """
        factors, used, n_classes = [], self.params_.used, len(self.params_.log_prior)
        known = [n for n, table in used.items() if 0 < block.codes[n][0] <= len(table.values)]
        cells = {n: str(self._value_names(n)[int(block.codes[n][0]) - 1]) for n in known}
        for name in self.schema_.used:
            if name not in cells:
                continue
            given, table = used[name].parents, used[name]
            if all(parent in cells for parent in given):
                levels, shares = zip(
                    *table.write_factors(int(context_columns({name: table}, block, 1)[0][0])), strict=True
                )
            else:
                given = tuple(known[: known.index(name)])
                levels = (len(given),) * n_classes
                shares = tuple(Given(float(x)) for x in self._log_term(block, name)[0])
            condition = tuple(f"{n} {cells[n]}" for n in given)
            factors.append(WrittenFactor(name, cells[name], shares, tuple(condition[:level] for level in levels)))
        return factors

    def _scoring_form(self) -> ScoringForm:
        """The class prior and each column's tables in its contexts, as plain numbers."""
        refuse_random_ties(self)
        roles, refuse = self.schema_.columns, self.unseen == "error"
        codings = {
            name: coding(name, values, refuse, getattr(roles[name], "cuts", None))
            for name, values in self.params_.values.items()
        }
        terms = [context_term(name, table, codings) for name, table in self.params_.used.items()]
        return classifier_form(self, self.params_.log_prior, terms)

    def _likelihoods(self, block: Block, unit: float, learned: Block) -> list[Floats]:
        return [self._log_likelihoods(self.params_, block, u, learned) for u in (0.0, unit)]

    def _column_table(self, column: str) -> Table:
        """P(value | class, parents) in every context that was seen, with counts."""
        if column not in self.params_.tables:
            raise BayesError(f"column {column!r} has no part in the model: there is nothing to show")
        table = self.params_.tables[column]
        counts, paths = table.contexts.counts[-1], zip(table.parents, context_paths(table), strict=True)
        shares = table.probabilities[-1] if table.used else np.full(counts.shape, np.nan)
        return self._context_table(column, {name: self._value_names(name)[i] for name, i in paths}, counts, shares)

    def describe_structure(self) -> StructureDescription:
        """Describe the parents of each column, and of the class where it has some.

        Returns
        -------
        StructureDescription
        """
        sentence, parents = self._structure_table()
        table = Table({"column": list(parents), "parents": [", ".join(names) or None for names in parents.values()]})
        return StructureDescription(sentence, table, graph=self._graph({}))

    def _structure_table(self) -> tuple[str, Mapping[str, Sequence[str]]]:
        """Return a sentence on the structure, and the parents to list."""
        parents = self.parents_
        left_out = [name for name in self.schema_.used if name not in parents]
        rest = f"; without {', '.join(left_out)}" if left_out else ""
        return f"each column depends on the class and on its parents{rest}", parents

    def _graph(self, bits: Mapping[tuple[str, str], float]) -> StructureGraph:
        """Return the graph of the parents, with the bits of some arcs."""
        target = self.schema_.target.name
        remark = f"every column depends on {target} as well"
        return graph_of_columns(f"Dependencies of columns given {target}", self.parents_, bits, remark)

    def to_network(self) -> BayesianNetwork:
        """Convert to a Bayesian network in which the class and its parents are the parents of each column.

        Returns
        -------
        BayesianNetwork
        """
        tables = {
            name: (table.values, table.parents, self._factor(table).reshape(-1, len(table.values)))
            for name, table in self.params_.used.items()
        }
        return network_of_tables(self, tables)

    def _factor(self, table: ConditionalTable) -> Floats:
        """P(value | class, parents) for every combination of them (classes, values of each parent …, values)."""
        sizes = [len(self.params_.values[parent]) for parent in table.parents]
        combinations = np.indices(sizes, dtype=np.uint32).reshape(len(sizes), math.prod(sizes)) + np.uint32(1)
        child = np.zeros(math.prod(sizes), dtype=np.uint32)
        nodes = table.codes([np.ascontiguousarray(codes) for codes in combinations], child, 1) // (
            len(table.values) + 2
        )
        shares = np.concatenate(table.probabilities)[nodes]
        return shares.transpose(2, 0, 1).reshape(shares.shape[2], *sizes, shares.shape[1])

    def _draw(self, labels: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Columns after their parents, each by its table."""
        drawn: dict[str, Array] = {}
        for name, table in self.params_.used.items():
            known = [drawn[parent] for parent in table.parents]
            nodes = table.codes(known, np.zeros(len(labels), dtype=np.uint32), 1) // (len(table.values) + 2)
            shares = np.concatenate(table.probabilities)[nodes, :, labels]
            drawn[name] = (draw_slots(shares, rng) + 1).astype(np.uint32)
        return drawn


def _rows_with_missing_parents(
    tables: Mapping[str, ConditionalTable], used: Mapping[str, ConditionalTable], block: Block
) -> Ints:
    """Return the rows where a column of ``tables`` is known and one of its parents is missing or unseen."""
    found = np.zeros(block.n_rows, dtype=bool)
    absent: dict[str, Any] = {}
    for name, table in tables.items():
        for column in (*table.parents, name) if table.parents else ():
            if column not in absent:
                codes, n = block.codes[column], len(used[column].values)
                whole = not block.n_rows or (codes.min() > 0 and codes.max() <= n)  # no mask in the usual case
                absent[column] = False if whole else (codes == 0) | (codes > n)
        for parent in table.parents:
            if absent[parent] is not False:
                found |= absent[parent] & ~np.asarray(absent[name])
    return np.flatnonzero(found)


def _first_columns(block: Block | None, rows: Ints, names: Sequence[str]) -> Any:
    """Return some rows with the cells of these columns alone; None for None."""
    if block is None:
        return None
    part = block.take(rows)
    return replace(part, codes={n: codes if n in names else np.zeros_like(codes) for n, codes in part.codes.items()})


def context_columns(
    tables: Mapping[str, ConditionalTable], block: Block, n_threads: int
) -> list[npt.NDArray[np.uint32]]:
    """For each table the row of it that each row of the block reads."""
    return [
        table.codes([block.codes[parent] for parent in table.parents], block.codes[name], n_threads)
        for name, table in tables.items()
    ]


def check_parents(parents: Mapping[Any, Any], schema: Schema, coded: list[str]) -> dict[str, tuple[str, ...]]:
    """A structure as a user wrote it: known columns, and no column its own ancestor."""
    parents_of: dict[str, tuple[str, ...]] = {}
    for key, names in parents.items():
        names = list(names) if isinstance(names, (list, tuple)) else [names]
        parents_of[schema.find(key)] = tuple(schema.find(name) for name in names)
    ordered: set[str] = set()
    for name in {**parents_of, **{p: () for names in parents_of.values() for p in names}}:
        if name not in coded:
            raise BayesError(f"parents= names column {name!r}, which is ignored")
    while ready := [n for n, names in parents_of.items() if n not in ordered and {*names} & {*parents_of} <= ordered]:
        ordered.update(ready)
    if left := [name for name in parents_of if name not in ordered]:
        raise BayesError(f"parents= makes column {left[0]!r} its own ancestor")
    return parents_of


def context_paths(table: ConditionalTable) -> list[Ints]:
    """For each parent, which of its values every context of the last level has."""
    node = np.arange(len(table.contexts.counts[-1]))
    codes = []
    for step, above in zip(reversed(table.contexts.steps), reversed(table.contexts.above), strict=True):
        of = np.empty(int(step.max(initial=-1)) + 1, dtype=np.int64)
        of[step[step >= 0]] = np.nonzero(step >= 0)[1]
        codes.append(of[node] - 1)
        node = above[node]
    return codes[::-1]
