"""StructuredClassifier: a product of tables, each column given the class and its parents.

P(c | x) ∝ P(c) · Π_i P(x_i | c, parents of x_i)

Formula: P(x_j ∣ c, parents): TAN, k-DB
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels
from bayeskit.data.block import Block
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.errors import BayesError
from bayeskit.estimate.conditional import ConditionalTable
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence
from bayeskit.estimate.sampling import draw_slots
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.explain.structure import StructureDescription, graph_of_columns
from bayeskit.export.scoring_form import ScoringForm, coding, context_term
from bayeskit.models.base.coded_classifier import CodedClassifier, CodedLeftOut, names_of, refuse_gaps
from bayeskit.models.base.exporting import Exported, refuse_random_ties, whole_form
from bayeskit.tables.table import ProbabilityTable, Table
from bayeskit.threads import thread_count
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.network.network import BayesianNetwork


@dataclass(frozen=True)
class StructuredParameters:
    """Parameters of a model with one conditional table per column."""

    log_prior: Floats
    tables: dict[str, ConditionalTable]
    values: dict[str, tuple[Value, ...]]  # of all columns, those without a table too

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Return the vocabulary of each coded column."""
        return {name: Vocabulary(values) for name, values in self.values.items()}

    @property
    def silent(self) -> list[str]:
        """Return the columns that carry no information about the class."""
        return [name for name in self.values if name not in self.tables or not self.tables[name].used]


class StructuredClassifier(Exported, CodedClassifier):
    """A model whose columns have parents besides the class; ``parents_`` says which."""

    params_: StructuredParameters

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The parents of each column besides the class."""
        self._check_is_fitted()
        return {name: table.parents for name, table in self.params_.tables.items()}

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, and a table for each combination of the parents' values."""
        self._check_is_fitted()
        n_classes = len(self.tally_.classes)
        return n_classes - 1 + sum(n_classes * table.n_free for table in self.params_.tables.values())

    def log_marginal_likelihood(self) -> float:
        """ln P(table) before any row was seen, the structure given: a Dirichlet prior by ``smoothing`` in each context.

        In closed form, for rows without missing cells. Smoothing 0, "auto" and "back-off" are no priors, and refused.
        """
        self._check_is_fitted()
        tally, rule = self.tally_, as_smoothing(self.smoothing)
        total = log_class_evidence(self.prior, tally.classes, tally.class_counts)
        for name, table in self.params_.tables.items():
            refuse_gaps(name, float(tally.n_rows - table.contexts.counts[-1].sum()))
            counts = table.contexts.counts[-1].transpose(0, 2, 1)
            total += log_evidence(counts, hyperparameters(rule, table.values, self.smoothing))
        return total

    def log_joint(self, params: StructuredParameters, block: Block) -> Floats:
        scores = np.repeat(params.log_prior[None], block.n_rows, axis=0)
        used = {name: table for name, table in params.tables.items() if table.used}
        if used:
            tables = [table.log_table for table in used.values()]
            kernels.score_codes(context_columns(used, block, self._threads()), tables, scores, self._threads())
        return scores

    def _log_terms(self, params: StructuredParameters, block: Block) -> dict[str, Floats]:
        """Return ln P(cell | class, parents) of each column, shape (n_rows, n_classes), in schema order."""
        terms = {name: np.zeros((block.n_rows, len(params.log_prior))) for name in self.schema_.used}
        for name, table in params.tables.items():
            if table.used:
                columns = context_columns({name: table}, block, self._threads())
                kernels.score_codes(columns, [table.log_table], terms[name], self._threads())
        return terms

    def _written_factors(self, block: Block) -> list[WrittenFactor]:
        """P(cell | class, parents) of each column of the first row, as counts and what is added to them."""
        factors = []
        for name in self.schema_.used:
            table = self.params_.tables.get(name)
            if table is None:
                continue
            row = int(context_columns({name: table}, block, 1)[0][0])
            n_known, shares = table.written(row)
            if shares:
                cells = {n: self._cell_name(n, int(block.codes[n][0])) for n in (name, *table.parents[:n_known])}
                given = tuple(f"{parent} {cells[parent]}" for parent in table.parents[:n_known])
                factors.append(WrittenFactor(name, cells[name], shares, given))
        return factors

    def _cell_name(self, name: str, code: int) -> str:
        return str(names_of(self.params_.values[name], self.schema_, name)[code - 1])

    def _scoring_form(self) -> ScoringForm:
        """The class prior and each column's tables in its contexts, as plain numbers."""
        self._check_is_fitted()
        refuse_random_ties(self)
        roles, refuse = self.schema_.columns, self.unseen == "error"
        codings = {}
        for name, values in self.params_.values.items():
            role = roles[name]
            cuts = role.cuts if isinstance(role, Numeric) else None
            codings[name] = coding(name, values, self.schema_, refuse, cuts)
        terms = [context_term(name, table, codings) for name, table in self.params_.tables.items() if table.used]
        return whole_form(self, self.params_.log_prior, terms)

    def _left_out(self) -> StructuredLeftOut:
        """Return the leave-one-out scorer; the structure stays fixed."""
        self._check_is_fitted()
        return StructuredLeftOut(self)

    def _column_table(self, column: str) -> Table:
        """P(value | class, parents) in every context that was seen, with counts."""
        if column not in self.params_.tables:
            why = "has no part in the model" if column in self.params_.values else "is ignored"
            raise BayesError(f"column {column!r} {why}: there is nothing to show")
        table = self.params_.tables[column]
        counts, probabilities = table.contexts.counts[-1], table.probabilities[-1]
        columns: dict[str, Any] = {}
        for name, codes in zip(table.parents, _paths(table), strict=True):
            columns[name] = np.repeat(names_of(self.params_.values[name], self.schema_, name)[codes], counts.shape[1])
        value_names = names_of(table.values, self.schema_, column)
        columns[column] = np.tile(value_names, len(counts))
        given = ", ".join(table.parents)
        for i, label in enumerate(self.tally_.classes):
            cells = counts[:, :, i].ravel()
            columns[f"count | {label}"] = cells if self.tally_.weighted else cells.astype(np.int64)
        for i, label in enumerate(self.tally_.classes):
            header = f"P({column} | {label}{', ' + given if given else ''})"
            columns[header] = probabilities[:, :, i].ravel() if table.used else np.full(counts[:, :, i].size, np.nan)
        return ProbabilityTable(
            {name: cells.tolist() for name, cells in columns.items()},
            keys=len(table.parents) + 1,
            variable=column,
            values=value_names.tolist(),
            given=" · ".join((self.schema_.target.name, *table.parents)),
            contexts=self._contexts(table),
            shares=probabilities.transpose(0, 2, 1).reshape(-1, len(value_names))
            if table.used
            else np.full((1, len(value_names)), np.nan),
        )

    def _contexts(self, table: Any) -> list[str]:
        """The class and the parents' values of each context that was seen, in words."""
        parents = [
            names_of(self.params_.values[name], self.schema_, name)[codes].tolist()
            for name, codes in zip(table.parents, _paths(table), strict=True)
        ]
        seen = list(zip(*parents, strict=True)) if parents else [()]
        return [" · ".join(map(str, (label, *values))) for values in seen for label in self.tally_.classes]

    def describe_structure(self) -> StructureDescription:
        """Describe the parents of each column."""
        parents = self.parents_
        table = Table({"column": list(parents), "parents": [", ".join(names) or None for names in parents.values()]})
        left_out = [name for name in self.schema_.used if name not in parents]
        rest = f"; without {', '.join(left_out)}" if left_out else ""
        target = self.schema_.target.name
        head = f"Which column hangs on which, given {target}"
        graph = graph_of_columns(head, parents, {}, f"every column hangs on {target} as well")
        return StructureDescription(f"each column hangs on the class and on its parents{rest}", table, graph=graph)

    def to_network(self) -> BayesianNetwork:
        """The same as a Bayesian network: each column below the class and its parents."""
        from bayeskit.models.base.tables_as_network import network_of_tables

        self._check_is_fitted()
        used = {name: table for name, table in self.params_.tables.items() if table.used}
        tables = {
            name: (table.values, table.parents, self._factor(name).reshape(-1, len(table.values)))
            for name, table in used.items()
        }
        return network_of_tables(self, tables)

    def _factor(self, column: str) -> Floats:
        """P(value | class, parents) for every combination of them (classes, values of each parent …, values)."""
        table = self.params_.tables[column]
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
        tables = self.params_.tables
        while len(drawn) < len(tables):
            for name, table in tables.items():
                if name in drawn or not all(parent in drawn for parent in table.parents):
                    continue
                if not table.used:
                    drawn[name] = np.zeros(len(labels), dtype=np.uint32)
                    continue
                known = [drawn[parent] for parent in table.parents]
                nodes = table.codes(known, np.zeros(len(labels), dtype=np.uint32), 1) // (len(table.values) + 2)
                shares = np.concatenate(table.probabilities)[nodes, :, labels]
                drawn[name] = (draw_slots(shares, rng) + 1).astype(np.uint32)
        return {name: slots for name, slots in drawn.items() if tables[name].used}


class StructuredLeftOut(CodedLeftOut):
    """Leave-one-out for a product of tables."""

    model: StructuredClassifier

    def likelihoods(self, block: Block, unit: float) -> tuple[Floats, Floats]:
        used = {name: table for name, table in self.model.params_.tables.items() if table.used}
        threads = thread_count(self.model.n_threads)
        codes = context_columns(used, block, threads)
        both = (np.zeros((block.n_rows, len(self.tally.classes))), np.zeros((block.n_rows, len(self.tally.classes))))
        if used:
            kernels.score_codes(codes, [table.log_table for table in used.values()], both[0], threads)
            kernels.score_codes(codes, [table.left_out(unit) for table in used.values()], both[1], threads)
        return both


def context_columns(
    tables: Mapping[str, ConditionalTable], block: Block, n_threads: int
) -> list[npt.NDArray[np.uint32]]:
    """For each table the row of it that each row of the block reads."""
    return [
        table.codes([block.codes[parent] for parent in table.parents], block.codes[name], n_threads)
        for name, table in tables.items()
    ]


def given_parents(parents: Mapping[Any, Any], schema: Schema, coded: list[str]) -> dict[str, tuple[str, ...]]:
    """A structure as a user wrote it: known columns, and no column its own ancestor."""
    parents_of: dict[str, tuple[str, ...]] = {}
    for key, names in parents.items():
        names = [names] if isinstance(names, str) else list(names)
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


def _paths(table: ConditionalTable) -> list[Ints]:
    """For each parent, which of its values every context of the last level has."""
    node = np.arange(len(table.contexts.counts[-1]))
    codes = []
    for step, above in zip(reversed(table.contexts.steps), reversed(table.contexts.above), strict=True):
        of = np.empty(int(step.max(initial=-1)) + 1, dtype=np.int64)
        of[step[step >= 0]] = np.nonzero(step >= 0)[1]
        codes.append(of[node] - 1)
        node = above[node]
    return codes[::-1]
