"""KDB, k-dependence Bayes: each column depends on the class and on up to k columns before it.

    P(c | x) ∝ P(c) · Π_i P(x_i | c, up to k parents of x_i)

Columns are ordered by what they say of the class, I(X; C); the parents of each are the k before it with the largest
I(X_i; X_j | C) (Sahami, 1996). k = 0 is naive Bayes, and k = all is the full joint. The selective form takes only
the first columns and fewer parents where leaving rows out says so (Martínez, Webb, Chen, Zaidi, 2016).

Formula: P(x_j ∣ c, parents): TAN, k-DB
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bayeskit import logspace
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, engine_of
from bayeskit.errors import BayesError
from bayeskit.estimate.conditional import Contexts
from bayeskit.estimate.information import conditional_information, information_about_class, present
from bayeskit.models._structured import CodedLeftOut, StructuredClassifier, StructuredParameters, check_parents
from bayeskit.models.base import rules
from bayeskit.models.base.left_out import labels_and_weights, weighty_blocks
from bayeskit.tally.counts import Joints
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import TIE
from bayeskit.typing import Floats


@dataclass(eq=False, repr=False)
class KDB(StructuredClassifier):
    """k-dependence Bayes classifier: each column depends on the class and up to k other columns.

    Parameters
    ----------
    k : int, default=2
        Largest number of parents of a column besides the class.
    selective : bool, default=False
        Choose the number of columns, and of parents up to ``k``, by leave-one-out; reads the rows once more.
    parents : mapping, default=None
        The structure, from column to its parents, the most important first; None to learn it.
    smoothing, prior, cuts
        As for :class:`TAN`.
    roles, domains, schema, undecidable, ties, random_state, n_threads, temperature, memory_limit, unlabeled
        As for :class:`NaiveBayes`.
    unseen : {"ignore", "error"}, default="ignore"
        A value never seen in training is left out or refused.

    Notes
    -----
    ``fit`` learns the structure, which stays fixed when rows are added or removed.

    Missing cells and values never seen are summed out: ``predict_proba`` is the posterior of :meth:`to_network`.

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers. KDD.

    Martínez, Webb, Chen and Zaidi (2016), Scalable learning of Bayesian network classifiers. JMLR 17.

    Examples
    --------
    >>> bits = (np.arange(32)[:, None] >> np.arange(5)) & 1                    # parity of five bits
    >>> X, parity = np.repeat(bits, 4, axis=0), np.repeat(bits.sum(axis=1) % 2, 4)
    >>> [round(KDB(k, roles="categorical").fit(X, parity).score(X, parity), 2) for k in (0, 3, 4)]
    [0.5, 0.5, 1.0]
    """

    k: int = 2
    selective: bool = False
    parents: Mapping[Any, Any] | None = None

    _rules: ClassVar[rules.Rules] = {
        "k": rules.integer(0),
        "selective": rules.flag,
        "parents": rules.optional(rules.structure),
    }

    def _plan(self, schema: Schema) -> Plan:
        columns = tuple(schema.coded)
        if self.parents is None:
            raise BayesError("KDB learns its structure from rows: fit on rows, or give parents=")
        given = check_parents(self.parents, schema, list(columns))
        return Plan(families=columns, joints=tuple((*given.get(name, ()), name) for name in columns))

    def _learn_plan(self, schema: Schema, source: Source) -> Plan:
        """Order and parents from the counts of all pairs; the selective form reads the rows once more."""
        if self.parents is not None:
            return self._plan(schema)
        if self.selective and engine_of(source) is not None:
            raise BayesError.needs_rows("the selective KDB", "scores each row", ", or pass selective=False")
        columns = tuple(schema.coded)
        pairs = self._collect(source, schema, Plan(families=columns, pairs=columns))
        plan = Plan(families=columns, joints=_structure(pairs, int(self.k)))
        if self.selective:
            tally = self._collect(source, schema, plan)
            plan = Plan(families=columns, joints=self._selected(tally, source))
        return plan

    def _learned_structure(self) -> tuple[str, ...]:
        return ("structure",) if self.parents is None else ()

    _fixed_structure = _learned_structure

    def _estimate(self, tally: Tally) -> StructuredParameters:
        if not tally.joints or tally.moment_columns:
            raise BayesError("KDB needs counts of columns with their parents, which this tally has not: fit on rows")
        joints = {names[-1]: joint for names, joint in tally.joints.items()}

        def contexts(name: str, parents: tuple[str, ...]) -> Contexts:
            joint = joints[name]
            if len(parents) + 1 < len(joint.columns):
                joint = joint.marginal((*parents, name))
            n_values = [len(tally.families[column].values) for column in joint.columns]
            return Contexts.of(joint.cells, joint.counts, n_values, self.memory_limit)

        return self._parameters(tally, {names[-1]: names[:-1] for names in tally.joints}, contexts)

    def _selected(self, tally: Tally, source: Source) -> tuple[tuple[str, ...], ...]:
        """The first columns, each with its first parents, that have the least leave-one-out log loss."""
        structure = list(tally.joints)
        most = max((len(names) - 1 for names in structure), default=0)
        losses = np.zeros((most + 1, len(structure) + 1))
        for k in range(most + 1):
            shorter = [(*names[:-1][:k], names[-1]) for names in structure]
            joints = {new: tally.joints[old].marginal(new) for old, new in zip(structure, shorter, strict=True)}
            model = KDB(**{**self.get_params(), "selective": False})
            model.fit_tally(tally.with_statistic(Joints(joints)))
            left_out = model._left_out()
            for block in weighty_blocks(model, source):
                losses[k] += _losses(model, left_out, block)
        best = np.argwhere(losses <= losses.min() * (1 + TIE))[0]  # fewer parents, then fewer columns
        return tuple((*names[:-1][: best[0]], names[-1]) for names in structure[: best[1]]) or (structure[0][-1:],)


def _structure(tally: Tally, k: int) -> tuple[tuple[str, ...], ...]:
    """(parents…, child) of each column, in order of what it says of the class; names decide between equals."""
    information = {name: information_about_class(family) for name, family in tally.families.items()}
    order = sorted(information, key=lambda name: (-information[name], name))
    pairs = tally.pairs
    families = []
    for i, name in enumerate(order):
        before = order[:i] if k else []
        gains = {b: conditional_information(present(pairs.table(min(name, b), max(name, b))))[0] for b in before}
        parents = sorted(gains, key=lambda b: (-gains[b], b))[:k]
        families.append((*parents, name))
    return tuple(families)


def _losses(model: KDB, left_out: CodedLeftOut, block: Any) -> Floats:
    """−Σ ln P(class | first columns) over the rows, for every number of first columns."""
    (labels, weights), rows = labels_and_weights([block]), np.arange(block.n_rows)
    known, params = left_out.drop_vanished_values(block, 1.0), model.params_
    scores, losses = left_out.log_priors(labels, np.ones(block.n_rows)), []
    for name in [None, *params.tables]:
        if name in params.used:
            terms, without_row = (model._log_term(known, name, unit, block) for unit in (0.0, 1.0))
            terms[rows, labels] = without_row[rows, labels]
            scores = scores + terms
        log_p = logspace.log_posterior_of(scores, labels)  # NaN: a row without which nothing is possible
        losses.append(-float(np.where(np.isfinite(log_p), log_p, -700.0) @ weights))
    return np.array(losses)
