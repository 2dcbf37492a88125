"""FullJointBayes: no independence at all; a row is judged by the rows that equal it.

    P(c | x) ∝ P(c) · P(x | c),   P(x | c) = (n(x, c) + α) / (n(c) + α · Π V_j)

With a few columns and many rows it is the best there is; with more columns most rows were never seen, and under
α = 0 they are undecidable.

Formula: P(c, x) itself
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.schema import Numeric, Schema
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BayesError
from bayeskit.estimate.cuts import labels as interval_labels
from bayeskit.estimate.formulas import Given, Share, Written, WrittenFactor
from bayeskit.estimate.marginal_likelihood import hyperparameters, log_class_evidence, log_evidence
from bayeskit.estimate.smoothing import MLE, Laplace, Lidstone, as_smoothing, smoothed
from bayeskit.explain.work import Work, build_work
from bayeskit.memory import MEMORY
from bayeskit.models._structured import CodedClassifier, CodedParameters, refuse_gaps
from bayeskit.tables import Table, table_by_class
from bayeskit.tally.counts import Joint, Joints
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bools, Floats

if TYPE_CHECKING:
    from bayeskit.network.joint_distribution import JointDistribution


@dataclass(frozen=True)
class JointParameters(CodedParameters):
    """Parameters of the full joint: counts of distinct rows and the pseudo-count of each possible row."""

    log_prior: Floats
    joint: Joint
    values: dict[str, tuple[Value, ...]]
    alpha: float

    @property
    def unused(self) -> list[str]:
        """Return the columns that carry no information about the class."""
        return [name for name, values in self.values.items() if not values]

    def added(self, columns: tuple[str, ...]) -> tuple[float, float]:
        """(pseudo-count of one row of these columns, pseudo-count of all)."""
        whole = self.alpha * prod(float(len(values)) for values in self.values.values())
        return whole / max(prod(float(len(self.values[name])) for name in columns), 1.0), whole


@dataclass(eq=False, repr=False)
class FullJointBayes(CodedClassifier):
    """The full joint distribution of the columns in each class, for few columns.

    A missing cell is summed out: a row is scored by the columns it has, over the training rows that have them too. A
    value never seen in training counts as missing.

    Parameters
    ----------
    smoothing : float, default=0
        Pseudo-count of every possible row; 1 for Laplace.
    prior, cuts
        As for :class:`TAN`.
    roles, domains, schema, unseen, undecidable, ties, random_state, n_threads, temperature, memory_limit, unlabeled
        As for :class:`TAN`.

    Examples
    --------
    >>> from bayeskit.datasets import load_worked_example
    >>> model = FullJointBayes().fit(load_worked_example("abc"), "C")
    >>> logspace.exp(model.predict_joint_log_proba({"A": "g", "B": "q"})).round(6).tolist()      # f, t
    [[0.1, 0.2]]
    >>> model.set_params(undecidable="error").predict({"A": "m", "B": "q"})
    Traceback (most recent call last):
    ...
    bayeskit.errors.BayesError: row 0 is impossible under every class (probability zero): ...
    """

    smoothing: Any = field(default=0, kw_only=True)

    params_: JointParameters = field(init=False)

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(as_smoothing(self.smoothing), (MLE, Laplace, Lidstone)):
            raise BayesError(f"smoothing={self.smoothing!r}: the full joint takes one number for every possible row")

    def _plan(self, schema: Schema) -> Plan:
        columns = tuple(schema.coded)
        return Plan(families=columns, joints=(tuple(sorted(columns)),))

    def _estimate(self, tally: Tally) -> JointParameters:
        joint = next((j for j in tally.joints.values() if {*j.columns} == {*tally.families}), None)
        if joint is None or tally.moment_columns:
            raise BayesError("FullJointBayes needs the counts of whole rows, which this tally has not: fit on rows")
        values = {name: tally.families[name].values for name in joint.columns}
        alpha = float(as_smoothing(self.smoothing).pseudo_counts(["row"], np.zeros((1, 1)))[0])
        return JointParameters(self._log_prior(tally), joint, values, alpha)

    def _restricted(self, columns: list[str]) -> Tally:
        """Return the counts of these columns alone; all others are summed out."""
        tally = self.tally_.restrict(columns)
        joint = self.params_.joint.marginal(tuple(tally.families))
        return tally.with_statistic(Joints({joint.columns: joint}))

    def _log_joint(self, params: JointParameters, block: Block) -> Floats:
        return self._log_likelihoods(params, block, 0.0) + params.log_prior

    def _log_likelihoods(self, params: JointParameters, block: Block, unit: float) -> Floats:
        """ln P(x | class) (n_rows, n_classes); with a unit, each class has lost the row itself."""
        names = params.joint.columns
        known = self._known(params, block)
        scores = np.empty((block.n_rows, len(params.log_prior)))
        pattern, first = kernels.factor_codes([mask.astype(np.uint8) for mask in known], [2] * len(names))
        for i, row in enumerate(first.tolist()):
            rows = np.flatnonzero(pattern == i)
            present = tuple(name for name, mask in zip(names, known, strict=True) if mask[row])
            scores[rows] = self._of_pattern(params, block.take(rows), present, unit)
        return scores

    def _known(self, params: JointParameters, block: Block) -> list[Bools]:
        """Return, for each column of the joint, which rows have a value of it that was learned."""
        names = params.joint.columns
        return [(block.codes[name] > 0) & (block.codes[name] <= len(params.values[name])) for name in names]

    def _of_pattern(self, params: JointParameters, block: Block, present: tuple[str, ...], unit: float) -> Floats:
        """Rows that have these columns alone, among the training rows that have them."""
        if not present:
            return np.zeros((block.n_rows, len(params.log_prior)))
        marginal = params.joint.marginal(present)
        complete = (marginal.cells > 0).all(axis=1)
        cells, counts = marginal.cells[complete], marginal.counts[complete].astype(np.float64)
        one, whole = params.added(marginal.columns)
        columns = [
            np.concatenate([cells[:, j], block.codes[name].astype(np.uint32)])
            for j, name in enumerate(marginal.columns)
        ]
        indices, _ = kernels.factor_codes(columns, [len(params.values[name]) + 1 for name in marginal.columns])
        counts_of_cell = np.concatenate(
            [counts, np.zeros((int(indices.max(initial=0)) + 1 - len(counts), counts.shape[1]))]
        )
        counts_without_row = np.maximum(counts_of_cell[indices[len(cells) :]] - unit, 0.0)
        total = counts.sum(axis=0) - unit
        p = smoothed(counts_without_row, total, one, whole)
        return logspace.log(np.where(total + whole > 0, p, 0.0))

    def to_joint(self) -> JointDistribution:
        """Convert to the joint distribution of the class and all columns.

        Returns
        -------
        JointDistribution

        Raises
        ------
        TooLarge
            If the table of all possible rows, which smoothing needs, exceeds the memory limit.

        Examples
        --------
        >>> model = FullJointBayes().fit({"wind": ["weak", "weak", "strong"]}, ["yes", "no", "no"])
        >>> model.to_joint().probability('P("class" = yes | wind = weak)')
        0.5
        """
        from bayeskit.network.joint_distribution import JointDistribution, enumerate_cells
        from bayeskit.network.variable_elimination import check_cost

        params = self.params_
        names, classes = params.joint.columns, tuple(self.tally_.classes)
        target = self.schema_.target.name
        if params.alpha:
            n = prod(len(params.values[name]) for name in names) * len(classes)
            check_cost(8 * n * (len(names) + 2), int(self.memory_limit or MEMORY), "the table of every possible row")
            codes = enumerate_cells({name: params.values[name] for name in names})
        else:
            seen = params.joint.cells[(params.joint.cells > 0).all(axis=1)]
            codes = {name: seen[:, j].astype(np.int64) - 1 for j, name in enumerate(names)}
        n_rows = len(next(iter(codes.values())))
        block = Block(n_rows, 0, {name: (of_column + 1).astype(np.uint32) for name, of_column in codes.items()}, {})
        p = logspace.exp(self._of_pattern(params, block, tuple(names), 0.0) + params.log_prior)
        roles = ((name, self.schema_.columns[name]) for name in names)
        cuts = {name: role.cuts for name, role in roles if isinstance(role, Numeric) and role.cuts is not None}
        values: dict[str, Sequence[Value]] = {target: classes}
        values |= {name: interval_labels(cuts[name]) if name in cuts else params.values[name] for name in names}
        cells = {target: np.repeat(np.arange(len(classes)), n_rows)}
        cells |= {name: np.tile(of_column, len(classes)) for name, of_column in codes.items()}
        return JointDistribution(values, cells, p.T.ravel(), None, cuts)

    def _work(self, block: Block, scores: Floats, prior: Sequence[Written]) -> Work:
        """One factor: the share of the class's rows that equal this one in the columns that it has."""
        params = self.params_
        present = tuple(n for n, mask in zip(params.joint.columns, self._known(params, block), strict=True) if mask[0])
        marginal = params.joint.marginal(present)
        complete = (marginal.cells > 0).all(axis=1)
        cells, counts = marginal.cells[complete], marginal.counts[complete]
        row = [int(block.codes[name][0]) for name in marginal.columns]
        equal = counts[(cells == row).all(axis=1)].sum(axis=0)
        one, whole = params.added(marginal.columns)
        totals = counts.sum(axis=0).tolist()
        shares = tuple(
            Share(n, total, one, whole) if total + whole > 0 else Given(-np.inf)
            for n, total in zip(equal.tolist(), totals, strict=True)
        )
        in_order = [name for name in self.schema_.used if name in present]
        event = ", ".join(f"{name} {self._value_names(name)[int(block.codes[name][0]) - 1]}" for name in in_order)
        factors = [WrittenFactor("", event, shares)] if present else []
        return build_work(self, block, scores, prior, factors, [n for n in self.schema_.used if n not in present])

    def _likelihoods(self, block: Block, unit: float, learned: Block) -> list[Floats]:
        return [self._log_likelihoods(self.params_, block, u) for u in (0.0, unit)]

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, and a probability for every possible row but one in each class."""
        possible = prod(max(len(values), 1) for values in self.params_.values.values())
        return len(self.classes_) * possible - 1

    def log_marginal_likelihood(self) -> float:
        """Return the log marginal likelihood ln P(data), with a Dirichlet prior over all possible rows of each class.

        In closed form, for rows without missing cells; ``smoothing=0`` is not a prior, and raises an error.

        Returns
        -------
        float
        """
        params, tally = self.params_, self.tally_
        alpha = hyperparameters(as_smoothing(self.smoothing), ["row"], self.smoothing)
        complete = (params.joint.cells > 0).all(axis=1)
        counts = params.joint.counts[complete].astype(np.float64).T  # (classes, rows that were seen)
        refuse_gaps("", float(tally.n_rows - counts.sum()))
        possible = prod(float(len(values)) for values in params.values.values())
        seen = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
        beta = np.append(np.full(counts.shape[1], alpha[0]), alpha[0] * max(possible - counts.shape[1], 0.0))
        if beta[-1] == 0:
            seen, beta = counts, beta[:-1]
        return log_class_evidence(self.prior, tally.classes, tally.class_counts) + log_evidence(seen, beta)

    def _column_table(self, column: str) -> Table:
        """P(value | class) with counts: all other columns summed out."""
        names, counts = self._value_names(column), self.tally_.families[column].present
        one, whole = self.params_.added((column,))
        shares = smoothed(counts, counts.sum(axis=1, keepdims=True), one, whole)
        target, classes = self.schema_.target.name, self.tally_.classes
        return table_by_class(column, names.tolist(), counts, np.asarray(shares), target, classes)

    def _draw(self, labels: Array, rng: np.random.Generator) -> dict[str, Array]:
        """A training row without missing cells, or by smoothing any possible one."""
        params = self.params_
        complete = (params.joint.cells > 0).all(axis=1)
        cells, counts = params.joint.cells[complete], params.joint.counts[complete].astype(np.float64)
        total, (_, whole) = counts.sum(axis=0), params.added(params.joint.columns)
        slots = {name: np.zeros(len(labels), dtype=np.int64) for name in params.values}
        if not all(map(len, params.values.values())):
            return {}
        for label in np.unique(labels):
            rows = np.flatnonzero(labels == label)
            if total[label] + whole <= 0:
                continue
            invented = rng.random(len(rows)) * (total[label] + whole) < whole
            seen = np.ones(len(cells)) if not total[label] else counts[:, label]
            drawn = cells[rng.choice(len(cells), len(rows), p=seen / seen.sum())] if len(cells) else None
            for j, name in enumerate(params.joint.columns):
                any_value = rng.integers(1, len(params.values[name]) + 1, len(rows))
                slots[name][rows] = any_value if drawn is None else np.where(invented, any_value, drawn[:, j])
        return {name: slots[name] for name in self.tally_.families}
