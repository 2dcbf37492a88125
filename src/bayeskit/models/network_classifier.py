"""NetworkClassifier: a Bayesian network over the columns and the class, with given or learned arcs.

    P(c | x) ∝ P(c | parents of c) · Π_i P(x_i | parents of x_i)

The class is a node like any other: it may be a parent of columns and have parents itself. By default it is a parent of
every column, and a search finds the arcs between columns (Friedman, Geiger and Goldszmidt, 1997).

Formula: P(c ∣ x) by a network over class and columns
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.source import Source, engine_of
from bayeskit.errors import BadFile, BayesError, format_setting
from bayeskit.estimate.conditional import ConditionalTable, Contexts, conditional_table
from bayeskit.estimate.cuts import labels as interval_labels
from bayeskit.estimate.formulas import WrittenFactor
from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence
from bayeskit.estimate.sampling import draw_slots
from bayeskit.estimate.smoothing import as_smoothing
from bayeskit.explain.structure import StructureGraph, graph_of_columns
from bayeskit.export.scoring_form import ScoringForm
from bayeskit.memory import Need, check_memory
from bayeskit.models._structured import (
    CodedClassifier,
    CodedLeftOut,
    StructuredClassifier,
    StructuredParameters,
    context_paths,
    refuse_gaps,
)
from bayeskit.models.base import rules
from bayeskit.models.base.available import available_if
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.network.coded_table import MOST_VALUES, CodedTable, read_arcs
from bayeskit.network.graph import DirectedGraph
from bayeskit.network.network import BayesianNetwork
from bayeskit.network.structure import REQUIRED, SearchSettings, read_constraints, search_arcs
from bayeskit.storage.model_file import State
from bayeskit.tables import Table
from bayeskit.tally.counts import Joint
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE
from bayeskit.typing import Array, Floats

Edge = tuple[str, str]

CLASS = "\0class"  # the node of the class among columns, whatever the name of the target
UNNAMED = "class"  # name of a target that was given as an array
N_RESTARTS = 10  # of search="order"
BYTES_PER_CELL = 16  # peak memory of a row repeated for the search, for each column
CLASS_HAS_PARENTS = "the class has parents, and so the model is not a sum of the prior and one term for each column"


@dataclass(frozen=True)
class SharedTable(ConditionalTable):
    """P(value | parents) of a column that does not depend on the class, counted in all classes together.

    ``unit`` is the weight of a left-out row, which is removed whatever the class that is scored.
    """

    n_classes: int = 1
    unit: float = 0.0

    @classmethod
    def of(cls, table: ConditionalTable, **more: Any) -> Self:
        """Build from a table of one class."""
        return cls(**{each.name: getattr(table, each.name) for each in fields(ConditionalTable)}, **more)

    @cached_property
    def log_table(self) -> Floats:
        """Return ln P, shape (n_nodes · n_slots, n_classes)."""
        return self._without([self.unit] * (len(self.parents) + 1))

    def left_out(self, unit: float) -> Floats:
        """Return the log table without one row."""
        return self.log_table

    def left_out_cases(self, unit: float) -> list[Floats]:
        """Return the log tables for left-out rows with missing cells, as ConditionalTable does."""
        k = len(self.parents)
        units = [[self.unit] * (d + 1) + [0.0] * (k - d) for d in range(k + 1)]
        known, gone = ([self._without(u, is_gone) for u in units] for is_gone in (False, True))
        return [self._without([0.0] * (k + 1)), *known, *gone]

    def _without(self, units: list[float], is_gone: bool = False) -> Floats:
        return np.repeat(self._flat(self._levels(units, is_gone)), self.n_classes, axis=1)


@dataclass(frozen=True)
class ClassTable(SharedTable):
    """P(class | parents); the slot of a row is the class that it was learned with, which is removed with it."""

    declared: bool = False  # a class stays in the model when no row has it

    def _without(self, units: list[float], is_gone: bool = False) -> Floats:
        n, classes = self.n_classes, np.arange(self.n_classes)
        own, other, gone = (
            np.concatenate(self._levels(units, **how))[:, :, 0] for how in ({}, {"of_other": True}, {"is_gone": True})
        )
        shares = np.repeat(other[:, None], n, axis=1)  # (n_nodes, class of the row, class)
        shares[:, classes, classes] = own
        totals = self.contexts.counts[0][0, :, 0]
        for lost in np.flatnonzero(totals - units[0] <= GONE * totals) if units[0] and not self.declared else ():
            shares[:, lost] = gone
            shares[:, lost, lost] = 0.0
        table = np.zeros((len(shares), n + 2, n))
        table[:, 1:-1] = logspace.log(np.nan_to_num(shares, nan=1.0))
        return table.reshape(-1, n)


@dataclass(frozen=True)
class NetworkArcs:
    """Arcs of a network over the columns and the class."""

    parents: dict[str, tuple[str, ...]]  # of each column, besides the class
    children: frozenset[str]  # columns whose parents include the class
    class_parents: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Iterable[str], edges: Iterable[Edge]) -> NetworkArcs:
        """Group arcs by child; :data:`CLASS` names the class."""
        edges = list(edges)
        above = {n: tuple(a for a, b in edges if b == n) for n in (*columns, CLASS)}
        own = above.pop(CLASS)
        children = frozenset(n for n, names in above.items() if CLASS in names)
        return cls({n: tuple(p for p in names if p != CLASS) for n, names in above.items()}, children, own)

    def edges(self, target: str) -> list[Edge]:
        """Return all arcs (parent, child), with a name for the class."""
        arcs = [(p, target) for p in self.class_parents]
        for name, names in self.parents.items():
            arcs += [(p, name) for p in ((target,) if name in self.children else ()) + names]
        return arcs

    @property
    def joints(self) -> tuple[tuple[str, ...], ...]:
        """Return the sets of columns to count together in each class."""
        own = (self.class_parents,) if self.class_parents else ()
        return tuple(dict.fromkeys((*((*names, name) for name, names in self.parents.items()), *own)))


@dataclass(frozen=True)
class NetworkParameters(StructuredParameters):
    """Tables of the columns and, if the class has parents, of the class; ``log_prior`` is the network's P(class)."""

    arcs: NetworkArcs
    class_table: ClassTable | None = None

    @cached_property
    def used(self) -> dict[str, ConditionalTable]:
        """Return the tables that are used, parents before children."""
        left = {name: table for name, table in self.tables.items() if table.used}
        if self.class_table is not None:
            left[CLASS] = self.class_table
        ordered: dict[str, ConditionalTable] = {}
        while left:
            waits = CLASS in left
            ready = {
                name: table
                for name, table in left.items()
                if all(p in ordered for p in table.parents) and (isinstance(table, SharedTable) or not waits)
            }
            ordered |= ready
            left = {name: table for name, table in left.items() if name not in ready}
        return ordered


@dataclass(eq=False, repr=False)
class NetworkClassifier(StructuredClassifier):
    """A Bayesian network over the columns and the class, with given or learned arcs.

    Parameters
    ----------
    edges : iterable of (parent, child), default=None
        The arcs; None to learn them. The target has its name. Where ``y`` is an array, as in cross-validation, "class"
        or the one name that is not a column is the target. A column without arcs does not bear on the class.
    class_arcs : {"all", "search"}, default="all"
        With "all" the class is a parent of every column, and arcs between columns are searched. With "search" the class
        is searched as any other node.
    search : {"tabu", "order", "hill_climb", "exact"}, default="tabu"
        As for :func:`learn_network`.
    criterion : {"aic", "bdeu", "bic", "k2", "log_likelihood"}, default="aic"
        Score that the search maximizes. BIC and BDeu leave out more arcs, which costs accuracy; see the notes.
    max_parents : int, default=3
        Of any node, the class among them.
    equivalent_sample_size : float, default=1.0
        Of BDeu.
    required, forbidden : iterable of (parent, child), default=()
        Arcs that the search must or must not take.
    smoothing, cuts
        As for :class:`TAN`.
    prior : str, mapping or smoothing rule, default="empirical"
        As for :class:`TAN`; a class with parents has a table instead.
    roles, domains, schema, undecidable, ties, random_state, n_threads, temperature, memory_limit, unlabeled
        As for :class:`NaiveBayes`. ``random_state`` also decides between arcs of equal score.
    unseen : {"ignore", "error"}, default="ignore"
        A value never seen in training is left out or refused.

    Attributes
    ----------
    edges_ : list of (str, str)
        All arcs, with the name of the target for the class.

    Notes
    -----
    ``fit`` learns the arcs, which stay fixed when rows are added or removed. The search takes a missing
    cell as one more value, and a row of weight 2 as two rows; where some weight is not a whole number, it counts each
    row once. Weights that stand for more rows than ``memory_limit`` allows are refused. Columns of more than 1,000
    values have no arcs to other columns.

    Missing cells and values never seen are summed out: ``predict_proba`` is the posterior of :meth:`to_network`.

    The default criterion was chosen on training parts of 48 tables: AIC had the best mean accuracy and log loss.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers. Machine Learning 29.

    Examples
    --------
    >>> rows = {"burglary": [0, 0, 0, 0, 1, 1, 0, 0], "quake": [0, 0, 1, 0, 0, 1, 1, 0],
    ...         "alarm": [0, 0, 1, 0, 1, 1, 1, 1], "call": [0, 0, 1, 1, 1, 1, 0, 0]}
    >>> arcs = [("burglary", "alarm"), ("quake", "alarm"), ("alarm", "call")]
    >>> model = NetworkClassifier(arcs, roles="categorical", smoothing=1.0).fit(rows, "alarm")
    >>> model.predict_proba({"burglary": 1, "quake": 0, "call": 1}).round(4).tolist()     # 1/3 · 2/5 and 2/3 · 4/7
    [[0.2593, 0.7407]]
    """

    edges: Iterable[Edge] | None = None
    class_arcs: Literal["all", "search"] = "all"
    search: Literal["tabu", "order", "hill_climb", "exact"] = "tabu"
    criterion: str = "aic"
    max_parents: int = 3
    equivalent_sample_size: float = 1.0
    required: Iterable[Edge] = ()
    forbidden: Iterable[Edge] = ()

    params_: NetworkParameters = field(init=False)
    _column_wise: ClassVar[bool] = False

    _rules: ClassVar[rules.Rules] = {
        "class_arcs": rules.words("all", "search"),
        "search": rules.words("tabu", "order", "hill_climb", "exact"),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        self._search_settings()
        for setting in ("edges", "required", "forbidden"):
            given = getattr(self, setting)
            pairs = isinstance(given, (list, tuple)) and all(
                isinstance(a, (list, tuple)) and len(a) == 2 for a in given
            )
            if given is not None and not pairs:
                raise BayesError(f"{setting}={given!r}: an arc is (parent, child), and this is a list of them")

    def _search_settings(self) -> SearchSettings:
        """Check and return the settings of the search."""
        seed = (seed_of(self.random_state) or 0) & (2**63 - 1)
        size = self.equivalent_sample_size
        return SearchSettings(self.criterion, self.search, self.max_parents, size, N_RESTARTS, seed)

    # -- arcs ------------------------------------------------------------------------------------------

    def _read_edges(self, setting: str, schema: Schema) -> list[Edge]:
        """Return arcs of a setting, with :data:`CLASS` for the target."""
        target, given = schema.target.name, list(getattr(self, setting) or ())
        named = {name for arc in given for name in arc if not isinstance(arc, str)}
        if target == UNNAMED and target not in named and len(others := named - {*schema.coded}) == 1:
            target = others.pop()
        arcs = read_arcs(given, [*schema.coded, target], setting)
        return [(CLASS if a == target else a, CLASS if b == target else b) for a, b in arcs]

    def _arcs_of_edges(self, schema: Schema) -> NetworkArcs:
        """Return the arcs of ``edges=``; raise an error for a cycle."""
        names = [*schema.coded, CLASS]
        edges = list(dict.fromkeys(self._read_edges("edges", schema)))
        graph = DirectedGraph([[names.index(a) for a, b in edges if b == name] for name in names])
        if cycle := graph.cycle():
            ring = " → ".join([*names, schema.target.name][v if names[v] != CLASS else -1] for v in [*cycle, cycle[0]])
            raise BayesError(f"edges= run in a circle: {ring}. Turn or drop one of them.")
        return NetworkArcs.of(schema.coded, edges)

    def _count_new(self, source: Source, schema: Schema) -> Tally:
        """Count every column with its parents, after a search for the arcs where none are given."""
        arcs = self._search_arcs(source, schema) if self.edges is None else self._arcs_of_edges(schema)
        tally = self._collect(source, schema, Plan(families=schema.coded, joints=arcs.joints))
        self._new_arcs: NetworkArcs | None = arcs  # for the parameters that are estimated next
        return tally

    def _search_arcs(self, source: Source, schema: Schema) -> NetworkArcs:
        """Search the arcs on the rows; a missing cell is one more value."""
        if engine_of(source) is not None:
            raise BayesError.needs_rows("NetworkClassifier", "searches arcs on rows", ", or give edges=")
        tally = self._collect(source, schema, Plan(families=schema.coded))
        hint = "its search scores arcs on whole rows. Give edges=, whose tables count class probabilities"
        block = self._read_counted(source, tally, hint)
        sizes = {name: len(family.values) for name, family in tally.families.items()}
        if block.weights is not None and (block.weights == np.round(block.weights)).all():
            n_repeated = float(block.weights.sum())
            what = f"{n_repeated:.6g} rows, each repeated as often as its weight says, for the search of arcs"
            hint = "Divide the weights by their mean, or give edges=."
            check_memory(Need(what, n_repeated * BYTES_PER_CELL * (len(sizes) + 1), hint), self.memory_limit)
            block = block.take(np.repeat(np.arange(block.n_rows), block.weights.astype(np.int64)))
        names = [name for name, size in sizes.items() if 0 < size <= MOST_VALUES]
        allowed = self._constraints(names, schema)
        rows = CodedTable(schema, Encoder(schema), [])
        rows.names = [*names, CLASS]
        gaps = {name: bool((block.codes[name] == 0).any()) for name in names}
        rows.n_values = np.array([*(sizes[n] + gaps[n] for n in names), len(tally.classes)], dtype=np.int64)
        cells = [block.codes[n].astype(np.int64) - (not gaps[n]) for n in names]
        rows.complete = [np.ascontiguousarray(c, dtype=np.uint16) for c in (*cells, np.asarray(block.labels))]
        start = (allowed == REQUIRED).astype(np.uint8)
        graph, report = search_arcs(rows, start, allowed, self._search_settings())
        if not report.finished:
            raise KeyboardInterrupt
        edges = [(rows.names[a], rows.names[b]) for a, b in np.argwhere(graph)]
        edges += [(CLASS, name) for name in sizes if name not in names and self.class_arcs == "all"]
        return NetworkArcs.of(sizes, edges)

    def _constraints(self, names: list[str], schema: Schema) -> Array:
        """Return what is allowed of each arc between some columns and the class, as ``read_constraints`` does."""
        shown = schema.target.name if schema.target.name not in names else CLASS
        required, forbidden = (
            [(shown if a == CLASS else a, shown if b == CLASS else b) for a, b in self._read_edges(setting, schema)]
            for setting in ("required", "forbidden")
        )
        if self.class_arcs == "all":
            if above := [a for a, b in required if b == shown]:
                hint = format_setting("class_arcs", "search")
                raise BayesError(f"required= makes {above[0]!r} a parent of the class, which is a root here", hint=hint)
            required += [(shown, name) for name in names if (shown, name) not in forbidden]
            forbidden += [(name, shown) for name in names]
        known = {*names, shown}
        required, forbidden = ([arc for arc in arcs if {*arc} <= known] for arcs in (required, forbidden))
        return read_constraints([*names, shown], required, forbidden, (), self.max_parents)

    def _learned_structure(self) -> tuple[str, ...]:
        return ("structure",) if self.edges is None else ()

    _fixed_structure = _learned_structure

    @property
    def edges_(self) -> list[Edge]:
        """All arcs (parent, child), with the name of the target for the class."""
        return self.params_.arcs.edges(self.schema_.target.name)

    # -- parameters --------------------------------------------------------------------------------------

    def _plan(self, schema: Schema) -> Plan:
        if self.edges is None:
            raise BayesError("NetworkClassifier learns its arcs from rows: fit on rows, or give edges=")
        return Plan(families=schema.coded, joints=self._arcs_of_edges(schema).joints)

    def _arcs_for(self, tally: Tally) -> NetworkArcs:
        """Return the arcs of the fit that counted the tally."""
        if (new := getattr(self, "_new_arcs", None)) is not None:
            return new
        if self.edges is not None:
            return self._arcs_of_edges(tally.schema)
        if not self._is_fitted():
            raise BayesError("NetworkClassifier learns its arcs from rows: fit on rows, or give edges=")
        return self.params_.arcs

    def _begin(self, tally: Tally) -> Self:
        try:
            return super()._begin(tally)
        finally:
            self._new_arcs = None

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        model = clone(self).set_params(**settings)
        model._check_settings()
        model._new_arcs = self.params_.arcs
        return model._begin(tally)

    def _estimate(self, tally: Tally) -> NetworkParameters:
        arcs, rule = self._arcs_for(tally), as_smoothing(self.smoothing)
        if not {*arcs.joints} <= {*tally.joints} or tally.moment_columns:
            raise BayesError("NetworkClassifier needs counts of columns with their parents: fit on rows")
        n_classes, total = len(tally.classes), tally.class_counts.sum(keepdims=True)
        values = {name: family.values for name, family in tally.families.items()}
        if arcs.class_parents and self.prior != "empirical":
            raise BayesError(f"prior={self.prior!r}: the class has parents, and a table instead of a prior")

        def build(name: str, parents: tuple[str, ...]) -> ConditionalTable:
            joint = tally.joints[(*arcs.parents[name], name)].marginal((*parents, name))
            counts = joint.counts if name in arcs.children else joint.counts.sum(axis=1, keepdims=True)
            contexts = self._contexts(tally, joint, joint.cells, counts, len(values[name]))
            by_class = tally.class_counts if name in arcs.children else total
            table = conditional_table(parents, values[name], contexts, rule, by_class)
            return table if name in arcs.children else SharedTable.of(table, n_classes=n_classes)

        tables = {name: build(name, parents) for name, parents in arcs.parents.items()}
        for name, parents in arcs.parents.items():
            used = tuple(parent for parent in parents if tables[parent].used)
            if used != parents:
                tables[name] = build(name, used)
        params = NetworkParameters(self._log_prior(tally), tables, values, arcs)
        parents = tuple(parent for parent in arcs.class_parents if tables[parent].used)
        if not parents:
            return params
        joint = tally.joints[arcs.class_parents].marginal(parents)
        labels = np.tile(np.arange(1, n_classes + 1), len(joint.cells))[:, None]
        cells = np.hstack([np.repeat(joint.cells, n_classes, axis=0), labels])
        contexts = self._contexts(tally, joint, cells, joint.counts.reshape(-1, 1), n_classes)
        table = conditional_table(parents, tuple(tally.classes), contexts, rule, total)
        declared = tally.schema.target.domain is not None
        of_class = ClassTable.of(table, n_classes=n_classes, declared=declared)
        params = replace(params, class_table=of_class)
        missing = Block(1, 0, dict.fromkeys(values, np.zeros(1, dtype=np.uint32)), {}, None, None, None)
        return replace(params, log_prior=self._log_likelihoods(params, missing)[0])

    def _contexts(self, tally: Tally, joint: Joint, cells: Array, counts: Array, n_values: int) -> Contexts:
        """Return counts by context; the last column of the cells is the child."""
        parents = joint.columns[: cells.shape[1] - 1]
        sizes = [len(tally.families[name].values) for name in parents]
        return Contexts.of(cells, counts, [*sizes, n_values], self.memory_limit)

    @available_if(lambda model: not model._class_has_parents(), "the class has parents, and a table instead of a prior")
    def with_prior(self, prior: Any) -> Self:
        """Return a copy with another class prior; absent where the class has parents.

        Parameters
        ----------
        prior : str, mapping or smoothing rule
            As for the constructor.

        Returns
        -------
        NetworkClassifier
        """
        return super().with_prior(prior)

    # -- scores ------------------------------------------------------------------------------------------

    def _log_likelihoods(
        self,
        params: StructuredParameters,
        block: Block,
        unit: float | None = None,
        learned: Block | None = None,
        start: Floats | float = 0.0,
    ) -> Floats:
        """Return ln P(known cells | class), or ln P(known cells, class) if the class has parents."""
        if CLASS not in params.used:
            return super()._log_likelihoods(params, block, unit, learned, start)
        label = np.ones(block.n_rows) if unit is None or block.labels is None else block.labels.astype(np.int64) + 1
        codes = {CLASS: label.astype(np.uint32)}
        block = replace(block, codes={**block.codes, **codes})
        learned = None if learned is None else replace(learned, codes={**learned.codes, **codes})
        return super()._log_likelihoods(params, block, unit, learned)

    def _log_terms(self, params: StructuredParameters, block: Block) -> dict[str, Floats]:
        """Return the terms of the columns; where the class has parents, what each adds to the columns before it."""
        base = CodedClassifier if CLASS in params.used else StructuredClassifier
        return base._log_terms(self, params, block)

    @available_if(lambda model: not model._class_has_parents(), CLASS_HAS_PARENTS)
    def _write_factors(self, block: Block) -> list[WrittenFactor]:
        return super()._write_factors(block)

    @available_if(lambda model: not model._class_has_parents(), CLASS_HAS_PARENTS)
    def _scoring_form(self) -> ScoringForm:
        return super()._scoring_form()

    def _class_has_parents(self) -> bool:
        return self._is_fitted() and self.params_.class_table is not None

    def _left_out(self) -> NetworkLeftOut:
        return NetworkLeftOut(self)

    def _likelihoods(self, block: Block, unit: float, learned: Block) -> list[Floats]:
        """Return scores with and without each row in its class; tables without the class lose the row in both."""
        params = self.params_
        tables = {n: replace(t, unit=unit) if isinstance(t, SharedTable) else t for n, t in params.tables.items()}
        of_class = None if params.class_table is None else replace(params.class_table, unit=unit)
        without = replace(params, tables=tables, class_table=of_class)
        return [self._log_likelihoods(without, block, u, learned) for u in (0.0, unit)]

    # -- reports -----------------------------------------------------------------------------------------

    @property
    def n_parameters_(self) -> int:
        """Free parameters of all tables."""
        params, n_classes = self.params_, len(self.tally_.classes)
        free = n_classes - 1 if params.class_table is None else params.class_table.n_free
        return free + sum(t.n_free * (1 if isinstance(t, SharedTable) else n_classes) for t in params.tables.values())

    def log_marginal_likelihood(self) -> float:
        total, table, tally = super().log_marginal_likelihood(), self.params_.class_table, self.tally_
        if table is None:
            return total
        counts = table.contexts.counts[-1].transpose(0, 2, 1)
        refuse_gaps("", float(tally.n_rows - counts.sum()))
        beta = hyperparameters(as_smoothing(self.smoothing), table.values, self.smoothing)
        return total - log_class_evidence(self.prior, tally.classes, tally.class_counts) + log_evidence(counts, beta)

    def _column_table(self, column: str) -> Table:
        """P(value | class, parents) in every context that was seen; counts are by class in any case."""
        params, table = self.params_, self.params_.tables.get(column)
        if not isinstance(table, SharedTable):
            return super()._column_table(column)
        joint = self.tally_.joints[(*params.arcs.parents[column], column)].marginal((*table.parents, column))
        contexts = self._contexts(self.tally_, joint, joint.cells, joint.counts, len(table.values))
        paths = zip(table.parents, context_paths(table), strict=True)
        shares = np.repeat(table.probabilities[-1], table.n_classes, axis=2)
        names = {name: self._value_names(name)[i] for name, i in paths}
        return self._context_table(column, names, contexts.counts[-1], shares)

    def _structure_table(self) -> tuple[str, Mapping[str, Sequence[str]]]:
        return f"the network: parents of {self.schema_.target.name} and of each column", self._all_parents()

    def _all_parents(self) -> dict[str, tuple[str, ...]]:
        target, edges = self.schema_.target.name, self.edges_
        return {name: tuple(a for a, b in edges if b == name) for name in (target, *self.params_.arcs.parents)}

    def _graph(self, bits: Mapping[Edge, float]) -> StructureGraph:
        return graph_of_columns(f"Network of {self.schema_.target.name}", self._all_parents(), bits)

    def to_network(self) -> BayesianNetwork:
        """Convert to a Bayesian network, whose posterior of the target is ``predict_proba``.

        Returns
        -------
        BayesianNetwork
        """
        params, target = self.params_, self.schema_.target.name
        parents: dict[str, tuple[str, ...]] = {target: ()}
        states = {target: tuple(self.tally_.classes)}
        arrays, cuts = {target: np.asarray(logspace.exp(params.log_prior))[None]}, {}
        for name, table in params.used.items():
            above = table.parents if isinstance(table, SharedTable) else (target, *table.parents)
            array = self._factor(table).reshape(-1, len(table.values))
            node = target if name == CLASS else name
            parents[node], arrays[node] = above, array / array.sum(axis=1, keepdims=True)
            if name != CLASS:
                role = self.schema_.columns[name]
                if isinstance(role, Numeric) and role.cuts is not None:
                    cuts[name] = role.cuts
                states[name] = tuple(interval_labels(cuts[name])) if name in cuts else tuple(table.values)
        return BayesianNetwork.of_arrays(parents, states, arrays, cuts)

    def _draw(self, labels: Array, rng: np.random.Generator) -> dict[str, Array]:
        """Parents before children; a class with parents is drawn by its table, in place."""
        drawn: dict[str, Array] = {}
        for name, table in self.params_.used.items():
            known = [drawn[parent] for parent in table.parents]
            nodes = table.codes(known, np.zeros(len(labels), dtype=np.uint32), 1) // (len(table.values) + 2)
            which = 0 if isinstance(table, SharedTable) else labels
            slots = draw_slots(np.concatenate(table.probabilities)[nodes, :, which], rng)
            if name == CLASS:
                labels[:] = slots
            else:
                drawn[name] = (slots + 1).astype(np.uint32)
        return drawn

    # -- persistence -------------------------------------------------------------------------------------

    def _state_to_save(self) -> State:
        arcs = self.params_.arcs
        parents = [[name, *names] for name, names in arcs.parents.items()]
        return State.of(parents=parents, children=sorted(arcs.children), class_parents=list(arcs.class_parents))

    def _restore(self, tally: Tally, state: State | None) -> Self:
        if state is None:
            raise BadFile("a NetworkClassifier holds its arcs beside its counts, and there are none")
        held = state.read({"parents": list, "children": list, "class_parents": list})
        self._check_settings()
        edges = [(p, names[0]) for names in held["parents"] for p in names[1:]]
        edges += [(CLASS, name) for name in held["children"]] + [(p, CLASS) for p in held["class_parents"]]
        names = [*tally.families, CLASS]
        if (
            not {n for arc in edges for n in arc} <= {*names}
            or DirectedGraph([[names.index(a) for a, b in edges if b == name] for name in names]).cycle()
        ):
            raise BadFile("its arcs name columns that were not counted, or run in a circle")
        self._new_arcs = NetworkArcs.of(tally.families, edges)
        return self._begin(tally)


class NetworkLeftOut(CodedLeftOut):
    """Leave-one-out for a network; the table of a class with parents has its prior."""

    def log_priors(self, labels: Array, units: Floats) -> Floats:
        """Return ln P(class) without each row, shape (n_rows, n_classes); 0 for a class with parents."""
        priors = super().log_priors(labels, units)
        return priors if self.model.params_.class_table is None else np.zeros_like(priors)
