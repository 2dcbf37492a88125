"""AODE, averaged one-dependence estimators: the mean of models that each make one column the parent of the others.

    P(c, x) = mean over parents p of P(c) · P(x_p | c) · Π_j P(x_j | c, x_p)

No structure is searched; a value takes part as a parent if it was seen ``min_count`` times. Where none was, naive
Bayes answers (Webb, Boughton, Wang, 2005). In place of the mean, exponents of the parents can be fitted to rows that
are left out.

Formula: the mean over all parents: AODE
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source, engine_of
from bayeskit.data.vocabulary import Value
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate.aode_tables import OneDependence, one_dependence
from bayeskit.estimate.formulas import Written, WrittenFactor
from bayeskit.estimate.sampling import draw_slots
from bayeskit.estimate.smoothing import as_smoothing, is_number
from bayeskit.explain.structure import DependenceGraph, StructureDescription, pair_dependence
from bayeskit.explain.work import AveragedWork, Work, build_averaged_work, build_work
from bayeskit.models._structured import CodedClassifier, CodedParameters, need_pairs, network_of_tables
from bayeskit.models.base.available import available_if
from bayeskit.models.base.left_out import labels_and_weights, weighty_blocks
from bayeskit.models.base.persistence import classifier_form, refuse_random_ties
from bayeskit.models.base.rules import one_of
from bayeskit.storage.model_file import State
from bayeskit.tables import Table, table_by_class
from bayeskit.tally.plan import Plan
from bayeskit.tally.tally import Tally
from bayeskit.tolerance import GONE, POSITIVE
from bayeskit.typing import Array, Bools, Floats

if TYPE_CHECKING:
    from bayeskit.export.scoring_form import ScoringForm
    from bayeskit.network.network import BayesianNetwork

ROWS = 20_000  # on which exponents are fitted, at most
MOST = 1e9  # an exponent: far beyond any that is learned
CHUNK = 4096  # rows whose scores by every parent are held at a time


@dataclass(frozen=True)
class AODEParameters(CodedParameters):
    """Parameters of a fitted AODE model."""

    log_prior: Floats
    model: OneDependence
    log_weights: Floats  # of each slot as a parent: −inf where it takes no part
    exponents: Floats | None = None  # of each column as a parent, where they are multiplied

    @property
    def values(self) -> dict[str, tuple[Value, ...]]:  # type: ignore[override]
        """Return the values of each column."""
        return self.model.values

    @property
    def unused(self) -> list[str]:
        """Return the columns that carry no information about the class."""
        return [name for name, used in zip(self.model.values, self.model.used, strict=True) if not used]


@dataclass(eq=False, repr=False)
class AODE(CodedClassifier):
    """Averaged one-dependence estimators (AODE; Webb, Boughton and Wang, 2005).

    Parameters
    ----------
    min_count : float, default=1
        Least count of a value that is used as a parent (30 in the original publication).
    weights : {"equal", "log-linear"} or mapping, default="equal"
        Average the parents, or multiply their scores with exponents fitted on leave-one-out scores of at most 20,000
        rows ("log-linear"), or given by column. Fitted exponents stay fixed when rows are added or removed.
    smoothing, prior, cuts
        As for :class:`TAN`.
    roles, domains, schema, undecidable, ties, random_state, n_threads, temperature, memory_limit, unlabeled
        As for :class:`NaiveBayes`.
    unseen : {"ignore", "error"}, default="ignore"
        A value never seen in training is left out or refused.

    Notes
    -----
    A column that is missing in a row is not a parent there; the members of the other parents sum it out. Rows without a
    parent are scored by naive Bayes.

    References
    ----------
    Webb, Boughton and Wang (2005), Not so naive Bayes: aggregating one-dependence estimators. Machine Learning 58.

    Examples
    --------
    >>> xor = {"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 1] * 5}
    >>> model = AODE(roles="categorical").fit(xor, [0, 1, 1, 0] * 5)
    >>> model.predict({"a": [0, 1], "b": [1, 1]}).tolist()
    [1, 0]
    """

    min_count: float = 1
    weights: Any = "equal"

    params_: AODEParameters = field(init=False)
    exponents_: Floats = field(init=False)

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.weights, Mapping):
            one_of("weights", self.weights, ("equal", "log-linear"))
        elif not all(is_number(w) and 0 <= w <= MOST for w in self.weights.values()):
            raise BayesError(f"weights={self.weights!r}: an exponent is a number from 0 to {MOST:g}")
        if not is_number(self.min_count) or not self.min_count > 0:
            raise BayesError(f"min_count={self.min_count!r}: it is a number above 0")

    def _plan(self, schema: Schema) -> Plan:
        columns = tuple(schema.coded)
        return Plan(families=columns, pairs=columns)

    def _estimate(self, tally: Tally) -> AODEParameters:
        need_pairs(tally, "AODE")
        model = one_dependence(tally, as_smoothing(self.smoothing), self.memory_limit)
        return AODEParameters(
            self._log_prior(tally), model, self._parent_log_weights(model, 0.0), self._exponents(tally)
        )

    def _exponents(self, tally: Tally) -> Floats | None:
        """Of each column as a parent: as given, or as learned before; None where all count alike."""
        if not isinstance(self.weights, Mapping):
            return getattr(self, "exponents_", None) if self.weights == "log-linear" else None
        exponents = {tally.schema.find(key): float(w) for key, w in self.weights.items()}
        if lacking := [name for name in tally.families if name not in exponents]:
            raise BayesError(f"weights= has no exponent for column {lacking[0]!r}")
        return np.array([exponents[name] for name in tally.families])

    def _parent_log_weights(self, model: OneDependence, unit: float) -> Floats:
        """0 for a column that is frequent enough, without ``unit`` rows, to be a parent; −∞ for the others."""
        takes_part = model.present & (model.seen - unit >= self.min_count * (1 - GONE))
        return np.where(takes_part, 0.0, -np.inf)

    def _fit_checked(self, source: Source) -> Self:
        if self.weights != "log-linear":
            return super()._fit_checked(source)
        if engine_of(source) is not None:
            raise BayesError.needs_rows("AODE with log-linear weights", "scores each row", ', or pass weights="equal"')
        if hasattr(self, "exponents_"):
            del self.exponents_
        source = in_order(source)
        super()._fit_checked(source)
        self.exponents_ = log_linear_weights(self, source)
        self.params_ = replace(self.params_, exponents=self.exponents_)
        return self

    def _learned_structure(self) -> tuple[str, ...]:
        return ("weights",) if self.weights == "log-linear" else ()

    _fixed_structure = _learned_structure

    def _state_to_save(self) -> State | None:
        """Exponents that were learned."""
        learned = self.weights == "log-linear" and self.params_.exponents is not None
        return State({"exponents": self._fixed_weights(self.tally_)["weights"]}, []) if learned else None

    def _restore(self, tally: Tally, state: State | None) -> Self:
        """Restore a fitted model and its exponents from a file."""
        if self.weights != "log-linear":
            return super()._restore(tally, state)
        exponents = None if state is None else state.header.get("exponents")
        fits = isinstance(exponents, dict) and exponents.keys() == tally.families.keys()
        if exponents is None or not fits or not all(is_number(w) and 0 <= w <= MOST for w in exponents.values()):
            raise BadFile("an AODE with log-linear weights holds an exponent for each column, and the file has others")
        self.exponents_ = np.array([float(exponents[name]) for name in tally.families])
        return self.fit_tally(tally)

    def _fixed_weights(self, tally: Tally) -> dict[str, Any]:
        """The setting that holds the exponents for the columns of a tally."""
        if self.params_.exponents is None:
            return {}
        by_name = zip(self.params_.model.values, self.params_.exponents.tolist(), strict=True)
        return {"weights": {name: w for name, w in by_name if name in tally.families}}

    def _with_tally(self, tally: Tally, **settings: Any) -> Self:
        return super()._with_tally(tally, **{**self._fixed_weights(tally), **settings})

    def _log_joint(self, params: AODEParameters, block: Block) -> Floats:
        return self._log_likelihoods(params, block) + params.log_prior

    def _log_likelihoods(self, params: AODEParameters, block: Block) -> Floats:
        """ln P(x | class) of each row (n_rows, n_classes)."""
        model, threads = params.model, self._threads()
        columns = [block.codes[name] for name in model.values]
        scores = np.empty((block.n_rows, len(params.log_prior)))
        if params.exponents is not None:
            self._multiply(params, columns, params.exponents, scores)
        else:
            kernels.score_aode(columns, model.sizes, model.tables, model.base, params.log_weights, scores, threads)
        left = np.flatnonzero(~self._has_parent(params, columns))
        if len(left):  # naive Bayes for rows without a parent
            scores[left] = 0.0
            part = np.zeros((len(left), scores.shape[1]))
            starts = np.cumsum([0, *model.sizes])
            naive = [np.ascontiguousarray(model.base[a:b]) for a, b in pairwise(starts)]
            kernels.score_codes([np.ascontiguousarray(c[left]) for c in columns], naive, part, threads)
            scores[left] = part
        return scores

    def _has_parent(self, params: AODEParameters, columns: list[Array]) -> Bools:
        takes_part = np.split(~np.isneginf(params.log_weights), np.cumsum(params.model.sizes)[:-1])
        has_parent = np.zeros(len(columns[0]) if columns else 0, dtype=bool)
        for column, slots in zip(columns, takes_part if columns else (), strict=True):
            if not has_parent.all():
                has_parent |= slots[column]
        return has_parent

    def _multiply(self, params: AODEParameters, columns: list[Array], exponents: Floats, out: Floats) -> None:
        """Σ w_p ln P_p(x | class) over the parents that take part, their exponents scaled to the sum of all."""
        for start in range(0, len(out), CHUNK):
            rows = slice(start, start + CHUNK)
            terms, takes_part = self._parent_scores(params, [np.ascontiguousarray(c[rows]) for c in columns])
            w = np.where(takes_part, exponents, 0.0)
            w *= exponents.sum() / np.maximum(w.sum(axis=1, keepdims=True), POSITIVE)
            out[rows] = np.einsum("rp,rpc->rc", w, np.where(w[:, :, None] > 0, terms, 0.0))

    def _parent_scores(self, params: AODEParameters, columns: list[Array]) -> tuple[Floats, Bools]:
        """(ln P_p(x | class) (n_rows, n_parents, n_classes), which parents take part (n_rows, n_parents))."""
        model, starts = params.model, np.cumsum([0, *params.model.sizes[:-1]])
        terms = kernels.score_parents(columns, model.sizes, model.tables, model.base, self._threads())
        log_weights = [params.log_weights[start + column] for start, column in zip(starts, columns, strict=True)]
        return terms, ~np.isneginf(np.stack(log_weights, axis=1))

    def _params_without(self, unit: float) -> tuple[AODEParameters, AODEParameters]:
        """Return parameters as learned, and without a row of the own class, both with the parents left without it."""
        params = self.params_
        parents = replace(params, log_weights=self._parent_log_weights(params.model, unit))
        return parents, replace(parents, model=params.model.left_out(unit))

    def _likelihoods(self, block: Block, unit: float, learned: Block) -> list[Floats]:
        return [self._log_likelihoods(params, block) for params in self._params_without(unit)]

    @available_if(lambda model: model.weights == "equal", "its parents' scores are multiplied and not averaged")
    def _work(self, block: Block, scores: Floats, prior: Sequence[Written]) -> AveragedWork | Work:
        """One product for each parent, and their mean; the product of naive Bayes for a row without a parent."""
        params = self.params_
        model = params.model
        known = [n for n, used in zip(model.values, model.used, strict=True) if used]
        values = {n: int(block.codes[n][0]) - 1 for n in known if 0 < block.codes[n][0] <= len(model.values[n])}
        cells = {n: str(self._value_names(n)[value]) for n, value in values.items()}
        left_out = [name for name in self.schema_.used if name not in values]
        starts = np.cumsum([0, *model.sizes])
        parents = [
            name
            for name, start in zip(model.values, starts, strict=False)
            if name in values and np.isfinite(params.log_weights[start + values[name] + 1])
        ]

        def factors(parent: str | None) -> list[WrittenFactor]:
            written = []
            for name, value in values.items():
                numbers, shares = zip(
                    *model.write_factor(name, value, parent, values[parent] if parent else 0), strict=True
                )
                given = tuple((f"{parent} {cells[parent]}",) if n and parent else () for n in numbers)
                written.append(WrittenFactor(name, cells[name], shares, given))
            return written

        if not parents:
            return build_work(self, block, scores, prior, factors(None), left_out)
        members = {parent: factors(parent) for parent in parents}
        return build_averaged_work(self, block, scores, prior, members, left_out)

    @available_if(lambda model: model.weights == "equal", "its parents' scores are multiplied and not averaged")
    def _export_form(self) -> ScoringForm:
        """The tables of all parents, as plain numbers for ONNX and JSON."""
        from bayeskit.export.scoring_form import AveragedTerm, coding

        refuse_random_ties(self)
        params, roles = self.params_, self.schema_.columns
        model, refuse = params.model, self.unseen == "error"
        codings = tuple(
            coding(name, values, refuse, getattr(roles[name], "cuts", None)) for name, values in model.values.items()
        )
        given, start = [], 0
        for table, size in zip(model.tables, model.sizes, strict=True):
            given.append(table.reshape(size, len(model.base), -1).copy())
            given[-1][:, start : start + size] = 0  # the parent itself
            start += size
        is_parent = np.isfinite(params.log_weights)
        terms = [AveragedTerm(codings[0].column, codings, model.base, tuple(given), is_parent)] if codings else []
        return classifier_form(self, params.log_prior, terms)

    @property
    def n_parameters_(self) -> int:
        """Free parameters: class prior, and a table of every column given every other."""
        n = [len(values) for values in self.params_.model.values.values()]
        of_pairs = sum(a * (b - 1) for i, a in enumerate(n) for j, b in enumerate(n) if i != j)
        return len(self.classes_) * (1 + sum(v - 1 for v in n) + of_pairs) - 1

    def _column_table(self, column: str) -> Table:
        """P(value | class) with counts: the column as a parent."""
        shares, counts = self.params_.model.shares(column), self.tally_.families[column].present
        names = self._value_names(column).tolist()
        return table_by_class(column, names, counts, shares, self.schema_.target.name, self.tally_.classes)

    def dependence(self) -> DependenceGraph:
        """Return the conditional mutual information I(X_i; X_j | class) of all pairs of columns, in bits.

        Returns
        -------
        DependenceGraph
        """
        return pair_dependence(self.tally_)

    def to_network(self, parent: str | int) -> BayesianNetwork:
        """Return the member in which all columns depend on one parent, as a Bayesian network.

        The model is the mean of such members, one for each column, and not a network itself.

        Parameters
        ----------
        parent : str or int

        Returns
        -------
        BayesianNetwork
        """
        model, name = self.params_.model, self.schema_.find(parent)
        values = {n: v for (n, v), used in zip(model.values.items(), model.used, strict=True) if used}
        if name not in values:
            raise BayesError(f"column {name!r} has no part in the model, and is not a parent")
        n_classes, n_parent = len(self.tally_.classes), len(values[name])
        labels, slots = (part.ravel() for part in np.indices((n_classes, n_parent)))
        tables = {}
        for column, listed in values.items():
            given = model.conditional_shares(name, slots + 1, column, labels) if column != name else model.shares(name)
            tables[column] = (listed, () if column == name else (name,), np.asarray(given))
        return network_of_tables(self, tables)

    def describe_structure(self) -> StructureDescription:
        """Describe every column as a parent: how many of its values are used, and with which exponent.

        Returns
        -------
        StructureDescription
        """
        params = self.params_
        starts = np.cumsum([0, *params.model.sizes])
        takes_part = np.isfinite(params.log_weights)
        columns: dict[str, Any] = {"parent": list(params.model.values)}
        columns["values"] = [len(values) for values in params.model.values.values()]
        columns["take part"] = [int(takes_part[a:b].sum()) for a, b in pairwise(starts)]
        if params.exponents is None:
            joined = "the mean over the parents decides"
        else:
            columns["exponent"] = params.exponents.tolist()
            joined = "their scores are multiplied, each with its exponent"
        return StructureDescription(f"every column in turn is the parent of all others, and {joined}", Table(columns))

    def _draw(self, labels: Array, rng: np.random.Generator) -> dict[str, Array]:
        """A parent at random, its value, and the others given it: the mean over all parents."""
        model = self.params_.model
        names = [name for name, used in zip(model.values, model.used, strict=True) if used]
        drawn = {name: np.zeros(len(labels), dtype=np.uint32) for name in names}
        chosen = rng.integers(0, max(len(names), 1), len(labels))
        for p, parent in enumerate(names):
            rows = np.flatnonzero(chosen == p)
            parent_slots = draw_slots(model.shares(parent)[labels[rows]], rng) + 1
            drawn[parent][rows] = parent_slots
            for other in names:
                if other != parent:
                    shares = model.conditional_shares(parent, parent_slots, other, labels[rows])
                    drawn[other][rows] = draw_slots(shares, rng) + 1
        return drawn


def log_linear_weights(model: AODE, source: Source) -> Floats:
    """w ≥ 0 of the parents that minimize the leave-one-out log loss of Σ w_p ln P_p(x | class) + ln P(class).

    A penalty ‖w − 1/k‖² holds them to equal shares of one where the rows say little.
    """
    from scipy.optimize import minimize

    left_out, step = model._left_out(), max(1, int(np.ceil(float(model.tally_.n_rows) / ROWS)))
    parts, blocks = [], []
    for block in weighty_blocks(model, source):
        some = block.take(np.arange(-block.start % step, block.n_rows, step))
        if some.n_rows:
            known, own = left_out.drop_vanished_values(some, 1.0), np.asarray(some.labels, dtype=np.int64)
            codes = [known.codes[name] for name in model.params_.model.values]
            (scores, takes_part), (without_row, _) = (
                model._parent_scores(p, codes) for p in model._params_without(1.0)
            )
            scores[np.arange(some.n_rows), :, own] = without_row[np.arange(some.n_rows), :, own]
            parts.append(np.where(takes_part[:, :, None], scores, 0.0))
            blocks.append(some)
    terms, (y, weights) = np.concatenate(parts), labels_and_weights(blocks)
    k, rows = terms.shape[1], np.arange(len(y))
    finite = np.isfinite(terms).all(axis=(1, 2))
    terms, y, weights, rows = terms[finite], y[finite], weights[finite], rows[: int(finite.sum())]
    if not len(y) or not k:
        return np.full(k, 1 / max(k, 1))

    def loss(w: Floats) -> tuple[float, Floats]:
        scores = np.einsum("p,rpc->rc", w, terms) + model.params_.log_prior
        log_p, _ = logspace.log_normalize(scores)
        error = logspace.exp(log_p)
        error[rows, y] -= 1
        gradient = np.einsum("rc,rpc->p", error * weights[:, None], terms) + 2 * (w - 1 / k)
        return float(-(log_p[rows, y] @ weights) + ((w - 1 / k) ** 2).sum()), gradient

    start = np.full(k, 1 / k)
    minimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * k, options={"maxiter": 60})
    return np.asarray(minimum.x, dtype=np.float64)
