"""TAN, tree-augmented naive Bayes: each column may depend on one other, and the best tree is found by counting.

    P(c | x) ∝ P(c) · Π_i P(x_i | c, x_parent(i))

The tree maximizes Σ I(X_i; X_parent(i) | C), the conditional mutual information from the counts of all pairs; it is
then the tree of the largest likelihood (Friedman, Geiger, Goldszmidt, 1997).

Formula: P(x_j ∣ c, parents): TAN, k-DB
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit.data.schema import Schema
from bayeskit.errors import BayesError
from bayeskit.estimate import information
from bayeskit.estimate.conditional import Contexts
from bayeskit.estimate.trees import best_tree
from bayeskit.explain.structure import DependenceGraph, StructureDescription, pair_dependence, tree_lines
from bayeskit.models._structured import StructuredClassifier, StructuredParameters, check_parents, need_pairs
from bayeskit.models.base import rules
from bayeskit.tables import Table
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import POSITIVE


@dataclass(eq=False, repr=False)
class TAN(StructuredClassifier):
    """Tree-augmented naive Bayes: each column depends on the class and at most one other column.

    Parameters
    ----------
    parents : mapping, default=None
        The tree, from column to its parent; None for the best tree, computed from the counts.
    root : str or int, default=None
        The column without a parent; None for the most informative one.
    full_tree : bool, default=False
        Join all columns in one tree, also by pairs whose dependence is no more than chance explains.
    smoothing : str, float or smoothing rule, default="back-off"
        "back-off" (an m-estimate towards the table without the parent, m by leave-one-out), or pseudo-counts as for
        :class:`NaiveBayes`: a number (1.0 is Laplace), "auto", ``MLE()``, ``MEstimate(m)``, …
    prior : str, mapping or smoothing rule, default="empirical"
        "empirical", "uniform", a mapping from class to probability, or a smoothing of the class counts.
    cuts : str, int, tuple, sequence or mapping, default="mdl"
        How numbers are cut: "mdl", "frequency", "width", "random", one of these with a number of intervals, a number of
        intervals of equal width, or the cut points; also by column.
    roles, domains, schema, undecidable, ties, random_state, n_threads, temperature, memory_limit, unlabeled
        As for :class:`NaiveBayes`.
    unseen : {"ignore", "error"}, default="ignore"
        A value never seen in training is left out or refused.

    Attributes
    ----------
    parents_ : dict of str to tuple of str
        The parent of each column besides the class.

    Notes
    -----
    The tree is computed from the tally, so learning, forgetting and merging give the tree of a fit on the same rows.

    Missing cells and values never seen are summed out: ``predict_proba`` is the posterior of :meth:`to_network`.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers. Machine Learning 29.

    Examples
    --------
    >>> xor = {"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5}
    >>> model = TAN(roles="categorical").fit(xor, [0, 1, 1, 0] * 5)
    >>> model.predict({"a": [0, 1], "b": [1, 1]}).tolist()
    [1, 0]
    >>> print(model.arcs())
    parent  child  I(parent; child | class)
    a       b                      0.693147
    """

    parents: Mapping[Any, Any] | None = None
    root: str | int | None = None
    full_tree: bool = False

    _rules: ClassVar[rules.Rules] = {
        "full_tree": rules.flag,
        "parents": rules.optional(rules.structure),
    }

    def _plan(self, schema: Schema) -> Plan:
        columns = tuple(schema.coded)
        return Plan(families=columns, pairs=columns)

    def _estimate(self, tally: Tally) -> StructuredParameters:
        need_pairs(tally, "TAN")
        tree, families = self._tree(tally), tally.families

        def contexts(name: str, parents: tuple[str, ...]) -> Contexts:
            counts = tally.pairs.table(parents[0], name) if parents else families[name].counts
            cells = np.indices(counts.shape[1:]).reshape(len(parents) + 1, -1).T
            n_values = [len(families[other].values) for other in (*parents, name)]
            by_cell = np.moveaxis(counts, 0, -1).reshape(len(cells), -1)
            return Contexts.of(cells, by_cell, n_values, self.memory_limit)

        return self._parameters(tally, {name: (tree[name],) if name in tree else () for name in families}, contexts)

    def _tree(self, tally: Tally) -> dict[str, str]:
        """Return the parent of each column that has one."""
        names = list(tally.families)
        if self.parents is not None:
            given = check_parents(self.parents, tally.schema, names)
            for name, column_parents in given.items():
                if len(column_parents) > 1:
                    raise BayesError(f"parents= gives column {name!r} {len(column_parents)} parents: a tree has one")
            return {name: column_parents[0] for name, column_parents in given.items() if column_parents}
        roots = [information.information_about_class(tally.families[name]) for name in names]
        if self.root is not None:
            roots[names.index(tally.schema.find(self.root))] = np.inf
        found = information.dependence(tally.pairs)
        # One added to every weight leaves the order of trees as it is and makes every pair with rows an arc.
        weights = (
            np.where(found.totals > 0, found.gains + 1, 0.0)
            if self.full_tree
            else np.where(found.exceeds_chance, found.gains, 0.0)
        )
        return best_tree(names, weights, roots)

    def _learned_structure(self) -> tuple[str, ...]:
        return ("structure",) if self.parents is None else ()

    def arcs(self) -> Table:
        """Return the arcs of the tree, strongest first, with I(parent; child | class) in nats.

        Returns
        -------
        Table
        """
        arcs = []
        for name, column_parents in self.parents_.items():
            if column_parents:
                counts = information.present(self.tally_.pairs.table(column_parents[0], name))
                gain = float(information.conditional_information(counts)[0])
                arcs.append((gain / max(float(counts.sum()), POSITIVE), column_parents[0], name))
        arcs.sort(key=lambda arc: (-arc[0], arc[1:]))
        gains = [arc[0] for arc in arcs]
        parents, children = ([arc[i] for arc in arcs] for i in (1, 2))
        return Table({"parent": parents, "child": children, "I(parent; child | class)": gains})

    def dependence(self) -> DependenceGraph:
        """Return the conditional mutual information I(X_i; X_j | class) of all pairs of columns, in bits.

        Returns
        -------
        DependenceGraph
        """
        return pair_dependence(self.tally_)

    def describe_structure(self) -> StructureDescription:
        """Describe the tree, with the conditional mutual information of each column and its parent.

        Returns
        -------
        StructureDescription
        """
        arcs = self.arcs()
        child, gain = arcs["child"], arcs["I(parent; child | class)"]
        remarks = {name: f"{nats:.3g} nats" for name, nats in zip(child, gain, strict=True)}
        parents = {name: above[0] if above else None for name, above in self.parents_.items()}
        sentence = "the tree: each column depends on the class and on the column above it"
        bits = {
            (p, c): nats / information.NATS_IN_A_BIT for p, c, nats in zip(arcs["parent"], child, gain, strict=True)
        }
        return StructureDescription(sentence, arcs, tree_lines(parents, remarks), self._graph(bits))
