"""NBTree: a rough tree that cuts the rows apart, and naive Bayes in its leaves (Kohavi 1996).

    P(c | x) ∝ P(c) · P(leaf | c) · Π_j P(x_j | leaf, c)          over the columns that are not on the way to the leaf

A split is made only where naive Bayes in the branches errs less on held-out rows; so there are few, and each leaf has
rows enough for a model of its own. A cell that a split asks for and that is missing, or holds a value which the split
does not know, leaves all its branches open: the row's probability is the sum over them.

Formula: naive Bayes in the leaves of a tree
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import index
from types import NoneType
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.encoder import Encoder
from bayeskit.data.schema import Schema, Target
from bayeskit.data.source import Source, engine_of, for_schema
from bayeskit.data.vocabulary import Value, Vocabulary, blank_names
from bayeskit.errors import BadFile, BayesError, NotLearned, SchemaMismatch
from bayeskit.estimate.columns.coded import LeafTable
from bayeskit.estimate.information import mutual_information
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.sampling import draw_slots
from bayeskit.estimate.smoothing import BackOff, Lidstone, as_smoothing, smoothed
from bayeskit.explain.structure import Arc, Node, StructureDescription, StructureGraph
from bayeskit.export.scoring_form import LeavesTerm, ScoringForm, coding
from bayeskit.memory import Need, check_memory
from bayeskit.models._structured import CodedClassifier, CodedParameters
from bayeskit.models.base import rules
from bayeskit.models.base.available import unavailable
from bayeskit.models.base.class_parts import name_of, of_classes, parts_of, readable
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.persistence import classifier_form, refuse_random_ties
from bayeskit.models.base.scoring import first_best
from bayeskit.printable import printable
from bayeskit.storage.model_file import State
from bayeskit.tables import Table
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Floats

Tree = Any  # a leaf's number, or {"column": name, "default": branch, "branches": [[value, Tree], …]}

MOST_BRANCHES = 64  # of a split
LEAST_ROWS = 5  # of two branches at least
CELLS = 20_000_000  # of the counts behind one utility


@dataclass(frozen=True)
class TreeParameters(CodedParameters):
    """Parameters of an NBTree: class prior, leaf counts (n_leaves, n_classes) and a table per column."""

    log_prior: Floats
    tree: Tree
    leaf_counts: Floats
    leaf_alpha: float
    tables: dict[str, LeafTable]
    values: dict[str, tuple[Value, ...]]
    n_classes: int

    @cached_property
    def routes(self) -> Routes:
        """The way of rows to their leaves."""
        return Routes(self.tree, self.vocabularies)

    @cached_property
    def paths(self) -> list[list[tuple[str, Value]]]:
        """Columns and values on the way to each leaf."""
        return leaf_paths(self.tree)

    @cached_property
    def speaking(self) -> list[list[str]]:
        """The columns that speak in each leaf: those not on the way to it."""
        return [[name for name in self.tables if name not in {column for column, _ in path}] for path in self.paths]

    @cached_property
    def log_leaf(self) -> Floats:
        """ln P(leaf | class), (n_leaves, n_classes)."""
        counts, alpha = self.leaf_counts, self.leaf_alpha
        return logspace.log(smoothed(counts, counts.sum(axis=0), alpha, alpha * len(counts)))


Progress = Callable[[str, int, int], None]


@dataclass(eq=False, repr=False)
class NBTree(CodedClassifier):
    """NBTree: a decision tree with a naive Bayes model in each leaf (Kohavi, 1996).

    Parameters
    ----------
    min_rows : float, default=30
        A node with fewer rows becomes a leaf.
    min_gain : float, default=0.05
        Share of the errors of a node that a split must remove.
    folds : int, default=5
        Folds of the cross-validation that judges splits.
    max_columns : int, default=32
        Largest number of columns tried at a node, the most informative ones.
    tree : tree, default=None
        The ``tree_`` of another model, used instead of a new one; give its ``schema_`` too.
    progress : callable, default=None
        Called as ``progress(stage, done, of)`` while the tree grows.
    smoothing : str, float or BackOff, default="back-off"
        "back-off" (shrinks each leaf towards the class as a whole, by a weight chosen by leave-one-out likelihood),
        ``BackOff(m)``, or a pseudo-count above 0 for each value (1.0 is Laplace).
    random_state : int, default=0
        Seed of the folds.
    prior, cuts, unseen
        As for :class:`TAN`.
    roles, domains, schema, undecidable, ties, n_threads, temperature, memory_limit, unlabeled
        As for :class:`NaiveBayes`.

    Attributes
    ----------
    tree_ : tree
        The number of a leaf, or a dict of ``column``, ``default`` and ``branches``.
    leaf_tally_ : Tally
        The counts of the leaves.

    Notes
    -----
    ``partial_fit``, ``forget``, ``merge`` and ``leave_one_out`` keep the tree and the cut points; two models can be
    merged if these are equal.

    References
    ----------
    Kohavi (1996), Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid. KDD.

    Examples
    --------
    >>> xor = {"a": ["0", "0", "1", "1"] * 20, "b": ["0", "1", "0", "1"] * 20}
    >>> y = ["same", "other", "other", "same"] * 20
    >>> model = NBTree().fit(xor, y)
    >>> model.score(xor, y)
    1.0
    >>> print(model.tree_text())
    a = 0: leaf 0, 40 rows (other 20, same 20)
    a = 1: leaf 1, 40 rows (other 20, same 20)
    """

    min_rows: float = 30
    min_gain: float = 0.05
    folds: int = 5
    max_columns: int = 32
    tree: Any = None
    random_state: Any = field(default=0, kw_only=True)
    progress: Progress | None = None

    params_: TreeParameters = field(init=False)
    tree_: Tree = field(init=False)
    leaf_tally_: Tally = field(init=False)

    _column_wise: ClassVar[bool] = False
    restrict = unavailable("the tree may ask for the columns that would be gone. Fit again.")

    _rules: ClassVar[rules.Rules] = {
        "min_rows": rules.number("give a number of at least 1", 1),
        "folds": rules.number("give a number of at least 2", 2, 1e9),
        "max_columns": rules.number("give a number of at least 1", 1),
        "progress": rules.optional(rules.function),
        "min_gain": rules.number("give a share from 0 to 1", 0, 1),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        self._smoothing()
        if self.tree is not None:
            check_tree(self.tree)

    def _smoothing(self) -> Lidstone | BackOff:
        smoothing = as_smoothing(self.smoothing)
        if isinstance(smoothing, BackOff) or (isinstance(smoothing, Lidstone) and smoothing.alpha > 0):
            return smoothing
        hint = 'give "back-off", BackOff(m), or a pseudo-count above 0'
        raise BayesError(f"smoothing={self.smoothing!r}: a leaf has too few rows to go without smoothing", hint=hint)

    # -- fitting -------------------------------------------------------------------------------------

    def _plan(self, schema: Schema) -> Plan:
        return Plan(families=schema.coded)

    def _complete_schema(self, schema: Schema, source: Source) -> Schema:
        if engine_of(source) is not None:
            raise BayesError.needs_rows("NBTree", "grows its tree on rows", ", or take NaiveBayes")
        return super()._complete_schema(schema, source)

    def _count_new(self, source: Source, schema: Schema) -> Tally:
        tree = self.tree
        if tree is None:
            tree = self._grown(source, schema)
        else:
            unknown = {column for path in leaf_paths(tree) for column, _ in path} - set(schema.coded)
            if unknown:
                raise SchemaMismatch(f"the tree asks for column {min(unknown)!r}, which the data has not")
        self._new_tree = tree
        return self._count_leaves(source, schema, tree, schema.target.domain or ())

    def _count_more(self, source: Source) -> Tally:
        values = {name: family.values for name, family in self.tally_.families.items()}
        known = for_schema(source, self.schema_, values, self.tally_.classes)
        return self._count_leaves(known, self.leaf_tally_.schema, self.tree_, ())

    def _count_leaves(self, source: Source, schema: Schema, tree: Tree, known: tuple[Value, ...]) -> Tally:
        """Counts by leaf and class; ``known`` classes are declared in every leaf."""
        n_leaves = len(leaf_paths(tree))
        classes = Vocabulary(known)
        encoder = Encoder(schema, classes=classes, grow=True, n_threads=self._threads())
        parts = Vocabulary()
        if known:
            names = sorted(name_of(label, leaf) for label in known for leaf in range(n_leaves))
            schema = replace(schema, target=Target(schema.target.name, tuple(names)))
            parts = Vocabulary(names)
        counting = replace(encoder, classes=parts, schema=schema)
        return self._count_blocks(self._by_leaf(encoder, source, parts, tree), counting, self._plan(schema))

    def _by_leaf(self, encoder: Encoder, source: Source, parts: Vocabulary, tree: Tree) -> Iterator[Block]:
        """Blocks whose labels are leaf and class together."""
        for block in encoder.blocks(source):
            if block.labels is None:
                raise BayesError("NBTree needs one label a row, not class probabilities")
            routes = Routes(tree, _vocabularies(encoder))
            leaves = routes.leaves(block.codes, block.n_rows)
            n_classes = len(encoder.classes.values)
            pair, which = np.unique(leaves * n_classes + block.labels, return_inverse=True)
            names = [name_of(encoder.classes.values[p % n_classes], int(p // n_classes)) for p in pair]
            codes = np.array(parts.grow(names), dtype=np.uint32) - 1
            yield replace(block, labels=codes[which])

    def _grown(self, source: Source, schema: Schema) -> Tree:
        """A tree of the rows."""
        counted = self._collect(source, schema, self._plan(schema))
        values = {name: family.values for name, family in counted.families.items()}
        block = self._read_counted(source, counted)
        labels, columns = np.asarray(block.labels, dtype=np.int64), {name: block.codes[name] for name in values}
        folds = stratified_folds(labels, int(self.folds), np.random.default_rng(seed_of(self.random_state)))
        return Growth(self, columns, values, labels, len(counted.classes), block.weights, folds).tree()

    def _without(self, gone: Tally, refit: bool = False) -> Self:
        try:
            return super()._without(gone, refit)
        except NotLearned as problem:
            raise NotLearned(readable(str(problem), gone)) from None

    def _drop_rows(self, left: Tally, refit: bool) -> Self:
        if self.tree is None:  # a given tree is declared
            self._new_tree = forget_names(self.tree_, left.space.values)
        return super()._drop_rows(left, refit)

    def _merged(self, other: Any) -> Self:
        if other.tree_ != self.tree_:
            hint = "fit the one with tree= and schema= of the other (its tree_ and schema_)"
            raise SchemaMismatch("the two sides have different trees", hint=hint)
        return super()._merged(other)

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        other: Self = clone(self).set_params(**settings)
        other._new_tree = self.tree_
        return other.fit_tally(self.leaf_tally_ if tally is self.tally_ else tally)

    def _state_to_save(self) -> State:
        """The tree that was learned."""
        return State({"tree": self.tree_}, [])

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Restore a fitted model and its tree from a file."""
        if state is None or "tree" not in state.header:
            raise BadFile("an NBTree holds a tree beside its counts, and there is none")
        check_tree(state.header["tree"])
        self._new_tree = state.header["tree"]
        return self.fit_tally(tally)

    def _model_tally(self) -> Tally:
        """The counts of the leaves."""
        return self.leaf_tally_

    def _fit_tally(self, tally: Tally) -> Self:
        """Learn from the counts of the leaves of a known tree: the ``leaf_tally_`` of an NBTree."""
        if getattr(self, "_new_tree", None) is None:
            self._new_tree = self.tree_ if self._is_fitted() else self.tree
        tree = self._new_tree
        if tree is None:
            raise BayesError("NBTree learns from rows, or from the leaf_tally_ of another one with its tree_ as tree=")
        try:
            super()._fit_tally(tally)
        finally:
            self._new_tree = None
        self.tree_, self.leaf_tally_ = tree, tally
        owner, _, classes = parts_of(tally, "NBTree", "leaves")
        self.tally_ = of_classes(tally, owner, classes)
        self.schema_ = self.tally_.schema
        return self

    def _classes_of(self, tally: Tally) -> tuple[Value, ...]:
        return parts_of(tally, "NBTree", "leaves")[2]

    def _learned_structure(self) -> tuple[str, ...]:
        return ("structure",) if self.tree is None else ()

    def _fixed_structure(self) -> tuple[str, ...]:
        return ("tree",) if self.tree is None else ()

    def _estimate(self, tally: Tally) -> TreeParameters:
        tree = self._new_tree if getattr(self, "_new_tree", None) is not None else self.tree_
        owner, leaf, classes = parts_of(tally, "NBTree", "leaves")
        n_leaves = len(leaf_paths(tree))
        asked = {column for path in leaf_paths(tree) for column, _ in path} - tally.families.keys()
        if asked:
            raise BayesError(f"the tree asks for column {min(asked)!r}, which was not counted")
        if len(leaf) and leaf.max() >= n_leaves:
            raise BayesError(f"the counts know leaf {leaf.max()}, and the tree has {n_leaves}")
        n_cells = n_leaves * len(classes) * (1 + sum(len(family.values) for family in tally.families.values()))
        need = Need(f"the tables of {n_leaves:,} leaves", 32.0 * n_cells, "Grow a smaller tree.")
        check_memory(need, self.memory_limit)
        counts = np.zeros((n_leaves, len(classes)))
        counts[leaf, owner] = tally.class_counts
        smoothing = self._smoothing()
        tables = {}
        for name, family in tally.families.items():
            cells = np.zeros((n_leaves, len(classes), len(family.values)))
            cells[leaf, owner] = family.present
            if family.values:
                tables[name] = LeafTable.of(cells, smoothing)
        prior = logspace.log(class_prior(self.prior, classes, counts.sum(axis=0)))
        values = {name: family.values for name, family in tally.families.items()}
        return TreeParameters(prior, tree, counts, 1.0, tables, values, len(classes))

    # -- prediction -----------------------------------------------------------------------------------

    def _log_joint(self, params: TreeParameters, block: Block) -> Floats:
        scores = np.full((block.n_rows, params.n_classes), -np.inf)
        for leaf, rows in params.routes.compatible(block.codes, block.n_rows):
            some = np.tile(params.log_leaf[leaf], (len(rows), 1))
            names = params.speaking[leaf]
            codes = [np.ascontiguousarray(block.codes[name][rows]) for name in names]
            kernels.score_codes(codes, [params.tables[name].log_table[leaf] for name in names], some, self._threads())
            scores[rows] = logspace.log_add_exp(scores[rows], some)
        return scores + params.log_prior

    def _likelihoods(self, block: Block, unit: float, learned: Block) -> tuple[Floats, Floats]:
        params, threads = self.params_, self._threads()
        labels = np.asarray(block.labels, dtype=np.int64)
        home = params.routes.leaves(learned.codes, block.n_rows)
        scores = np.full((block.n_rows, params.n_classes), -np.inf)
        own_scores = np.full(block.n_rows, -np.inf)
        n_leaves = len(params.leaf_counts)
        of_class = params.leaf_counts.sum(axis=0)[labels] - unit
        for leaf, rows in params.routes.compatible(block.codes, block.n_rows):
            names, mine = params.speaking[leaf], labels[rows]
            some = np.tile(params.log_leaf[leaf], (len(rows), 1))
            codes = {name: np.ascontiguousarray(block.codes[name][rows]) for name in names}
            tables = [params.tables[name].log_table[leaf] for name in names]
            kernels.score_codes(list(codes.values()), tables, some, threads)
            scores[rows] = logspace.log_add_exp(scores[rows], some)
            at_home = np.where(home[rows] == leaf, unit, 0.0)
            count, total = np.maximum(params.leaf_counts[leaf][mine] - at_home, 0.0), np.maximum(of_class[rows], 0.0)
            own_at_leaf = logspace.log(smoothed(count, total, params.leaf_alpha, params.leaf_alpha * n_leaves))
            for name in names:
                own_at_leaf += params.tables[name].left_out(leaf, codes[name], mine, at_home, unit)
            own_scores[rows] = logspace.log_add_exp(own_scores[rows], own_at_leaf)
        return scores, np.tile(own_scores[:, None], (1, params.n_classes))

    def _draw(self, labels: Array, rng: np.random.Generator) -> dict[str, Array]:
        """A leaf for each row by its class, then each column by its table there; the way to the leaf is given."""
        params = self.params_
        leaves = draw_slots(logspace.exp(params.log_leaf).T[labels], rng)
        drawn = {}
        for name, table in params.tables.items():
            slots = draw_slots(table.probabilities[leaves, labels], rng) + 1
            known = {value: i + 1 for i, value in enumerate(params.values[name])}
            for leaf, path in enumerate(params.paths):
                on_the_way = dict(path)
                if name in on_the_way:
                    slots[leaves == leaf] = known.get(on_the_way[name], 0)
            drawn[name] = slots.astype(np.uint32)
        return drawn

    def _column_table(self, column: str) -> Table:
        """P(value | class) in every leaf where the column speaks, with counts."""
        if column not in self.params_.tables:
            raise BayesError(f"column {column!r} has no part in the model: there is nothing to show")
        table = self.params_.tables[column]
        leaves = np.flatnonzero([column in names for names in self.params_.speaking])
        counts, shares = (part[leaves].transpose(0, 2, 1) for part in (table.counts, table.probabilities))
        return self._context_table(column, {"leaf": leaves}, counts, shares)

    def _export_form(self) -> ScoringForm:
        """The tables of all leaves, as plain numbers for ONNX and JSON."""
        refuse_random_ties(self)
        params, roles = self.params_, self.schema_.columns
        codings = tuple(
            coding(name, params.values[name], self.unseen == "error", getattr(roles[name], "cuts", None))
            for name in params.tables
        )
        tables = []
        for name, table in params.tables.items():
            speaks = np.array([name in names for names in params.speaking])
            scores = np.where(speaks[:, None, None], table.log_table, 0.0).swapaxes(0, 1)
            tables.append(scores + logspace.log(params.routes.open_leaves(name, len(params.paths)))[:, :, None])
        terms = [LeavesTerm(codings[0].column, codings, params.log_leaf, tuple(tables))] if codings else []
        return classifier_form(self, params.log_prior, terms)

    @property
    def n_leaves_(self) -> int:
        """Return the number of leaves; 1 is naive Bayes."""
        return len(self.params_.paths)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, shares of the leaves, and a table for each column in each leaf."""
        params, c = self.params_, self.params_.n_classes
        tables = sum(len(params.values[name]) - 1 for names in params.speaking for name in names)
        return c - 1 + c * (len(params.paths) - 1) + c * tables

    def tree_text(self) -> str:
        """Return the tree as text, a line for each branch.

        Returns
        -------
        str
        """
        return "\n".join(printable(line, keep="") for line in self._tree_lines())

    def describe_structure(self) -> StructureDescription:
        """Describe the splits of the tree, and the rows of each class in its leaves.

        Returns
        -------
        StructureDescription
        """
        lines, counts = self._tree_lines(), self.params_.leaf_counts
        columns: dict[str, Any] = {"leaf": list(range(len(counts)))}
        columns |= {f"count | {label}": counts[:, i].tolist() for i, label in enumerate(self.tally_.classes)}
        leaves = f"{len(counts):,} leaves" if len(counts) > 1 else "one leaf"
        sentence = f"naive Bayes in {leaves} of a tree of questions"
        return StructureDescription(sentence, Table(columns), tuple(lines), self._graph(sentence))

    def _graph(self, sentence: str) -> StructureGraph:
        """The questions as nodes, the answers as arcs, and the rows of each class in the leaves."""
        nodes: list[Node] = []
        arcs: list[Arc] = []

        def add(tree: Tree) -> int:
            at = len(nodes)
            if not isinstance(tree, Mapping):
                counts = self.params_.leaf_counts[int(tree)]
                counts_by_class = (f"{label}: {n:g}" for label, n in zip(self.tally_.classes, counts, strict=True) if n)
                nodes.append(Node(f"leaf {int(tree)}: {counts.sum():g} rows", tuple(counts_by_class), is_leaf=True))
                return at
            names = self._branch_names(tree["column"])
            nodes.append(Node(tree["column"]))
            for value, child in tree["branches"]:
                arcs.append(Arc(at, add(child), label=str(names.get(value, value))))
            return at

        add(self.tree_)
        return StructureGraph(sentence[0].upper() + sentence[1:], tuple(nodes), tuple(arcs))

    def _branch_names(self, column: str) -> dict[Value, Any]:
        return dict(zip(self.params_.values[column], self._value_names(column), strict=True))

    def _tree_lines(self) -> list[str]:
        return list(self._lines(self.tree_, 0)) or [self._leaf_text(0)]

    def _lines(self, node: Tree, depth: int) -> Iterator[str]:
        if not isinstance(node, Mapping):
            return
        column, names = node["column"], self._branch_names(node["column"])
        equals = " " if getattr(self.schema_.columns[column], "cuts", None) is not None else " = "
        for value, child in node["branches"]:
            head = f"{'|  ' * depth}{column}{equals}{names.get(value, '(forgotten)' if value is None else value)}"
            if isinstance(child, Mapping):
                yield head
                yield from self._lines(child, depth + 1)
            else:
                yield f"{head}: {self._leaf_text(int(child))}"

    def _leaf_text(self, leaf: int) -> str:
        counts = self.params_.leaf_counts[leaf]
        counts_by_class = ", ".join(f"{c} {n:g}" for c, n in zip(self.tally_.classes, counts, strict=True) if n)
        return f"leaf {leaf}, {counts.sum():g} rows ({counts_by_class})"


def _vocabularies(encoder: Encoder) -> dict[str, Vocabulary]:
    """The values of the coded columns as they are now, intervals by their number."""
    vocabularies = {}
    for name in encoder.schema.coded:
        cuts = getattr(encoder.schema.columns[name], "cuts", None)
        vocabularies[name] = encoder.vocabularies[name] if cuts is None else Vocabulary(range(len(cuts) + 1))
    return vocabularies


@dataclass
class Growth:
    """The growth of a tree on rows as codes (0 missing, i + 1 the i-th value).

    The utility of a node is the cross-validated accuracy of naive Bayes on its rows; that of a split, the accuracy of
    naive Bayes in each branch, together. A split must take away a share of the errors (Kohavi 1996).
    """

    model: NBTree
    columns: Mapping[str, Array]
    values: Mapping[str, tuple[Value, ...]]
    labels: Array
    n_classes: int
    weights: Floats | None
    folds: Array
    n_leaves: int = 0  # so far

    def tree(self) -> Tree:
        """The tree of all rows, its leaves numbered from 0, left to right."""
        return self._node(np.arange(len(self.labels)))

    def _node(self, rows: Array) -> Tree:
        split = self._best_split(rows)
        if split is None:
            self.n_leaves += 1
            if self.model.progress is not None:
                self.model.progress("leaves", self.n_leaves, self.n_leaves)
            return self.n_leaves - 1
        name, slots, branch, default = split
        children = [self._node(rows[branch == b]) for b in range(len(slots))]
        values = self.values[name]
        branches = [[values[slot - 1], child] for slot, child in zip(slots, children, strict=True)]
        return {"column": name, "default": default, "branches": branches}

    def _best_split(self, rows: Array) -> tuple[str, list[int], Array, int] | None:
        """(column, slots of its branches, branch of each row, branch of other values), None for a leaf."""
        weights = None if self.weights is None else self.weights[rows]
        total = float(len(rows) if weights is None else weights.sum())
        if total < self.model.min_rows or len(np.unique(self.labels[rows])) < 2:
            return None
        errors = total - self._right(rows, np.zeros(len(rows), dtype=np.int64), 1)
        if errors <= 0:
            return None
        best, least = None, errors * (1 - self.model.min_gain)
        for name in self._candidates(rows):
            split = self._branches(name, rows, weights)
            if split is None:
                continue
            slots, branch, default = split
            left = total - self._right(rows, branch, len(slots))
            if left < least or (best is None and left <= least):
                best, least = (name, slots, branch, default), left
        return best

    def _branches(self, name: str, rows: Array, weights: Floats | None) -> tuple[list[int], Array, int] | None:
        """A branch for each value that the rows show; missing cells go where most rows go."""
        codes = self.columns[name][rows]
        size = len(self.values[name]) + 1
        counts = np.bincount(codes, weights, minlength=size)
        slots = np.flatnonzero(counts[1:]) + 1
        if not 2 <= len(slots) <= MOST_BRANCHES or (counts[slots] >= LEAST_ROWS).sum() < 2:
            return None
        default = int(np.argmax(counts[slots]))
        to = np.full(size, default)
        to[slots] = np.arange(len(slots))
        return slots.tolist(), to[codes], default

    def _candidates(self, rows: Array) -> list[str]:
        """The columns to try; of very many, those that tell most of the class."""
        if len(self.columns) <= self.model.max_columns:
            return list(self.columns)
        names = list(self.columns)
        labels = self.labels[rows].astype(np.uint32)
        sizes = [len(self.values[name]) + 1 for name in names]
        parts = [np.ascontiguousarray(self.columns[name][rows]) for name in names]
        counted = kernels.count_codes(parts, sizes, labels, self.n_classes, None, self.model._threads())
        information = [mutual_information(table[:, 1:]) for table in counted]
        chosen = sorted(range(len(names)), key=lambda i: -information[i])[: int(self.model.max_columns)]
        return [names[i] for i in sorted(chosen)]

    def _right(self, rows: Array, branch: Array, n_branches: int) -> float:
        """The weight of the rows that naive Bayes in their branch puts right, learned from the other folds."""
        n_folds, n_classes, threads = int(self.model.folds), self.n_classes, self.model._threads()
        n_contexts = n_folds * n_branches
        sizes = {name: len(self.values[name]) + 1 for name in self.columns}
        if n_contexts * n_classes * sum(sizes.values()) > CELLS:
            return 0.0
        labels, weights = self.labels[rows], None if self.weights is None else self.weights[rows]
        context = self.folds[rows] * n_branches + branch
        key = (context * n_classes + labels).astype(np.uint32)
        parts = [np.ascontiguousarray(column[rows]) for column in self.columns.values()]
        counted = kernels.count_codes(parts, list(sizes.values()), key, n_contexts * n_classes, weights, threads)
        shape = (n_folds, n_branches, n_classes)
        of_class = np.bincount(key, weights, minlength=n_contexts * n_classes).reshape(shape)
        others = of_class.sum(axis=0) - of_class
        prior = logspace.log(smoothed(others, others.sum(axis=2, keepdims=True), 1.0, n_classes))
        scores = np.ascontiguousarray(prior.reshape(n_contexts, n_classes)[context])
        cells, tables = [], []
        for codes, size, counts in zip(parts, sizes.values(), counted, strict=True):
            by_fold = counts.reshape(*shape, size)
            rest = (by_fold.sum(axis=0) - by_fold)[..., 1:]
            table = np.zeros((n_contexts, size, n_classes))
            share = smoothed(rest, rest.sum(axis=3, keepdims=True), 1.0, max(size - 1, 1))
            table[:, 1:] = np.swapaxes(logspace.log(share).reshape(n_contexts, n_classes, size - 1), 1, 2)
            tables.append(table.reshape(n_contexts * size, n_classes))
            cells.append((context * size + codes).astype(np.uint32))
        kernels.score_codes(cells, tables, scores, threads)
        right = first_best(scores, threads) == labels
        return float(right.sum() if weights is None else weights[right].sum())


def stratified_folds(labels: Array, n_folds: int, rng: np.random.Generator) -> Array:
    """A fold for each row, every class spread evenly over them.

    >>> stratified_folds(np.array([0, 0, 1, 1, 0, 0]), 2, np.random.default_rng(0)).tolist()
    [0, 1, 1, 0, 1, 0]
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.int64)
    folds[order] = np.arange(len(labels)) % n_folds
    return folds


@dataclass(frozen=True)
class Routes:
    """The way of coded rows through a tree."""

    tree: Tree
    vocabularies: Mapping[str, Vocabulary]

    def leaves(self, codes: Mapping[str, Array], n: int) -> Array:
        """The leaf in which each row is counted: missing and other values take the branch of most rows."""
        leaf_of_row = np.zeros(n, dtype=np.int64)
        for leaf, rows in self._walk(self.tree, codes, np.arange(n), False):
            leaf_of_row[rows] = leaf
        return leaf_of_row

    def compatible(self, codes: Mapping[str, Array], n: int) -> list[tuple[int, Array]]:
        """(leaf, the rows that may be in it): missing and other values may be in all branches."""
        return self._walk(self.tree, codes, np.arange(n), True)

    def open_leaves(self, column: str, n_leaves: int) -> Floats:
        """Return 1 for each code of a column and each leaf that it may be in, else 0, (n_codes + 2, n_leaves)."""
        size = len(self.vocabularies[column].values) + 2
        codes = dict.fromkeys(self.vocabularies, np.zeros(size, dtype=np.int64)) | {column: np.arange(size)}
        is_open = np.zeros((size, n_leaves))
        for leaf, rows in self.compatible(codes, size):
            is_open[rows, leaf] = 1.0
        return is_open

    def _walk(self, node: Tree, codes: Mapping[str, Array], rows: Array, all_ways: bool) -> list[tuple[int, Array]]:
        if not isinstance(node, Mapping):
            return [(int(node), rows)]
        vocabulary = self.vocabularies[node["column"]]
        to = np.full(len(vocabulary.values) + 2, -1 if all_ways else int(node["default"]))
        slots = vocabulary.codes([value for value, _ in node["branches"]])
        for b, slot in enumerate(slots):
            if 0 < slot <= len(vocabulary.values):
                to[slot] = b
        branch = to[codes[node["column"]][rows]]
        leaf_rows = []
        for b, (_, child) in enumerate(node["branches"]):
            there = rows[(branch == b) | (branch < 0)]
            if len(there):
                leaf_rows += self._walk(child, codes, there, all_ways)
        return leaf_rows


def leaf_paths(tree: Tree) -> list[list[tuple[str, Value]]]:
    """The columns and values on the way to each leaf, in the order of their numbers."""
    if not isinstance(tree, Mapping):
        return [[]]
    return [[(tree["column"], value), *path] for value, child in tree["branches"] for path in leaf_paths(child)]


def forget_names(tree: Tree, values: Mapping[str, Sequence[Value]]) -> Tree:
    """Blank the branch values that no column has any more; the branches and their leaves stay.

    >>> forget_names({"column": "sky", "default": 0, "branches": [["rain", 0], ["sun", 1]]}, {"sky": ("sun",)})
    {'column': 'sky', 'default': 0, 'branches': [[None, 0], ['sun', 1]]}
    """
    if not isinstance(tree, Mapping):
        return tree
    names = blank_names([value for value, _ in tree["branches"]], values[tree["column"]])
    children = [forget_names(child, values) for _, child in tree["branches"]]
    return {**tree, "branches": [list(branch) for branch in zip(names, children, strict=True)]}


def check_tree(tree: Tree) -> None:
    """Raise an error unless this is a tree with leaves numbered from 0, left to right."""

    def leaves(node: Any) -> list[int]:
        if not isinstance(node, Mapping):
            return [index(node)]
        column, default, branches = node["column"], node["default"], node["branches"]
        known = isinstance(column, str) and all(isinstance(v, (str, int, float, NoneType)) for v, _ in branches)
        if len(node) != 3 or not known or not 0 <= default < len(branches):
            raise ValueError
        return [leaf for _, child in branches for leaf in leaves(child)]

    try:
        numbers = leaves(tree)
        if numbers != list(range(len(numbers))):
            raise ValueError
    except (LookupError, TypeError, ValueError, RecursionError):
        raise BayesError("tree= takes the tree_ of another NBTree") from None
