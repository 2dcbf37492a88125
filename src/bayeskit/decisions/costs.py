"""From probabilities to decisions: what to do about a row, given what each mistake costs.

    expected loss of deciding a:   R(a | x) = Σ_c cost(c, a) · P(c | x)

The best decision has the least expected loss. With a cost of 1 for every mistake that is the most probable class; with
costs of its own it need not be. Where even the best decision costs more than asking someone, abstain (Chow's rule).

Formula: Σ_c cost(c, a) P(c ∣ x), Chow's rule, capacity
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.drawable import Drawable
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.nearest import did_you_mean
from bayeskit.storage.files import read_bytes
from bayeskit.tables.sheet import Grid, Readable, Sheet
from bayeskit.tables.table import Table
from bayeskit.tolerance import OFF_ONE, SLACK
from bayeskit.typing import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Costs(Readable, Drawable):
    """Cost of each decision for each true class: matrix (n_classes, n_decisions) with labels.

    NaN is a cost that was not told; :meth:`of` fills it in.
    """

    classes: tuple[Any, ...]
    decisions: tuple[Any, ...]
    matrix: Floats

    @classmethod
    def of(cls, costs: Any, classes: Sequence[Any]) -> Costs:
        """Costs for these classes: ``{class: {decision: cost}}``, a matrix in their order, a Costs, or None (0 and 1).

        Costs by name need not name all: a mistake costs 1 and a class's own decision 0, unless given. What a decision
        that is no class costs is told for every class.

        >>> Costs.of({"ham": {"spam": 10}}, ["ham", "spam"]).matrix.tolist()
        [[0.0, 10.0], [1.0, 0.0]]
        """
        labels = tuple(classes)
        if costs is None:
            return cls(labels, labels, 1.0 - np.eye(len(labels)))
        if isinstance(costs, Costs):
            if unknown := [c for c in costs.classes if str(c) not in set(map(str, labels))]:
                raise _no_classes(unknown, labels)
            decisions = tuple(next((c for c in labels if str(c) == str(d)), d) for d in costs.decisions)
            rows = {str(c): row for c, row in zip(costs.classes, costs.matrix, strict=True)}
            untold = np.full(len(decisions), np.nan)
            matrix = np.array([rows.get(str(label), untold) for label in labels])
            return cls(labels, decisions, _filled(labels, decisions, matrix))
        if isinstance(costs, Mapping):
            return cls._of_mapping(costs, labels)
        matrix = _numbers(costs)
        if matrix.shape != (len(labels), len(labels)):
            raise BayesError(
                f"the cost matrix has shape {matrix.shape} for {len(labels)} classes {list(labels)}: one row a true "
                "class, one column a decision. For other decisions give {class: {decision: cost}}."
            )
        return cls(labels, labels, matrix)

    @classmethod
    def _of_mapping(cls, costs: Mapping[Any, Any], labels: tuple[Any, ...]) -> Costs:
        if not all(isinstance(row, Mapping) for row in costs.values()):
            raise BayesError("costs by name are {true class: {decision: cost}}")
        unknown = [c for c in costs if c not in labels]
        if unknown:
            raise _no_classes(unknown, labels)
        named = dict.fromkeys(d for row in costs.values() for d in row)
        decisions = (
            *(c for c in labels if c in named or set(named) <= set(labels)),
            *(d for d in named if d not in labels),
        )
        by_name = [[costs.get(c, {}).get(d) for d in decisions] for c in labels]
        _numbers([0.0 if cost is None else cost for row in by_name for cost in row])
        return cls(labels, decisions, _filled(labels, decisions, np.array(by_name, dtype=np.float64)))

    @property
    def sheet(self) -> Sheet:
        """A line a class, a column a decision."""
        decided = {f"decide {decision}": self.matrix[:, j].tolist() for j, decision in enumerate(self.decisions)}
        grid = Grid({"class": [str(label) for label in self.classes], **decided})
        return Sheet(f"costs of {len(self.decisions)} decisions for {len(self.classes)} classes", (grid,))


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(Readable, Drawable):
    """Decision for each row and the expected loss of every decision.

    `labels` holds None where the row was rejected; `losses` has shape (n_rows, n_decisions); `top` holds the
    k best decisions of each row (rows, k) where they were asked for; `acted` marks the rows that got the action.
    """

    labels: Array
    expected_loss: Floats
    losses: Floats
    decisions: tuple[Any, ...]
    rejected: Bools
    top: Array | None = None
    acted: Bools | None = None

    @property
    def total_loss(self) -> float:
        """The expected loss of all rows together."""
        return float(self.expected_loss.sum())

    def table(self) -> Table:
        """A line a row: the decision and its expected loss."""
        names = [None if label is None else str(label) for label in self.labels.tolist()]
        return Table({"decision": names, "expected loss": self.expected_loss})

    @property
    def sheet(self) -> Sheet:
        """Return a summary: the count of each decision and the first rows."""
        taken = Counter(str(label) for label in self.labels.tolist() if label is not None)
        parts = [f"{name} {taken[name]:,}" for name in map(str, self.decisions) if taken[name]]
        parts += [f"rejected {int(self.rejected.sum()):,}"] if self.rejected.any() else []
        counts = f"{', '.join(parts)}; expected loss {self.total_loss:.6g}" if parts else "there are no rows"
        return Sheet(f"decisions for {len(self):,} rows", (counts, self.table().grid))

    def __len__(self) -> int:
        return len(self.labels)


def decide(
    posterior: Any,
    costs: Any = None,
    reject_cost: float | None = None,
    top_k: int | None = None,
    capacity: int | None = None,
    *,
    classes: Sequence[Any] | None = None,
    action: Any = None,
) -> Decisions:
    """Choose the decision with the lowest expected loss for each row.

    Parameters
    ----------
    posterior: P(class | x), (n_rows, n_classes), or one row as a mapping from class to probability.
    costs: ``{true class: {decision: cost}}``, a matrix (n_classes, n_decisions), a :class:`Costs` such as
        :func:`read_costs` reads, or None: 0 if right, 1 if wrong.
    reject_cost: what it costs to abstain; rows whose best decision costs more are rejected.
    top_k: also give the k decisions of least loss, best first.
    capacity: at most so many rows get the ``action``, those that gain most by it; the others their next best decision.
    classes: the labels of the columns of ``posterior``, 0, 1, … if None. action: a decision; of two, the second.

    Throwing away a letter costs 10, reading an advertisement 1:

    >>> costs = {"ham": {"spam": 10}, "spam": {"ham": 1}}
    >>> decisions = decide([[0.2, 0.8], [0.05, 0.95]], costs, classes=["ham", "spam"])
    >>> decisions.labels.tolist(), decisions.expected_loss.tolist()           # 0.8 < 10 · 0.2, but 10 · 0.05 < 0.95
    (['ham', 'spam'], [0.8, 0.5])
    >>> decide([[0.2, 0.8], [0.05, 0.95]], costs, reject_cost=0.6, classes=["ham", "spam"]).labels.tolist()
    [None, 'spam']
    """
    p, labels = _posterior(posterior, classes)
    given = Costs.of(costs, labels)
    losses = p @ given.matrix
    names = _array(given.decisions)
    best = losses.argmin(axis=1)
    acted = None
    if capacity is not None:
        best, acted = _limited(losses, best, given.decisions, capacity, action)
    expected = losses[np.arange(len(losses)), best]
    rejected = np.zeros(len(p), dtype=bool)
    chosen = names[best]
    if reject_cost is not None:
        if not np.isfinite(reject_cost) or reject_cost < 0:
            raise BayesError(f"reject_cost={reject_cost!r}: give a finite cost of at least 0")
        rejected = expected > reject_cost
        expected = np.where(rejected, reject_cost, expected)
        chosen = chosen.astype(object)
        chosen[rejected] = None
    top = None
    if top_k is not None:
        if not isinstance(top_k, (int, np.integer)) or not 1 <= top_k <= len(names):
            raise BayesError(f"top_k={top_k!r}: there are {len(names)} decisions; give a whole number from 1 to that")
        top = names[np.argsort(losses, axis=1, kind="stable")[:, :top_k]]
    return Decisions(chosen, expected, losses, given.decisions, rejected, top, acted)


def _limited(losses: Floats, best: Ints, decisions: tuple[Any, ...], capacity: int, action: Any) -> tuple[Ints, Bools]:
    """(decisions with the action on at most ``capacity`` rows, which rows those are)."""
    if not isinstance(capacity, (int, np.integer)) or isinstance(capacity, bool) or capacity < 0:
        raise BayesError(f"capacity={capacity!r}: give a whole number of rows, at least 0")
    if action is None and len(decisions) != 2:
        raise BayesError(f"capacity needs to know the action: action= is one of {list(decisions)}")
    at = 1 if action is None else _find(action, decisions, "there is no decision")
    if len(decisions) < 2:
        raise BayesError("capacity needs another decision beside the action")
    others = np.delete(np.arange(len(decisions)), at)
    second = others[losses[:, others].argmin(axis=1)]
    gain = losses[np.arange(len(losses)), second] - losses[:, at]
    order = np.argsort(-gain, kind="stable")
    acted = np.zeros(len(losses), dtype=bool)
    acted[order[:capacity]] = True
    acted &= gain > 0
    return np.where(acted, at, second), acted


def rank(posterior: Any, label: Any, *, classes: Sequence[Any] | None = None) -> Table:
    """Rows by the probability of one class, the most probable first.

    >>> print(rank([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], "spam", classes=["ham", "spam"]))
    row  P(spam)
      1      0.8
      2      0.4
      0      0.1
    """
    p, labels = _posterior(posterior, classes)
    of_class = p[:, _find(label, labels, "there is no class")]
    order = np.argsort(-of_class, kind="stable")
    return Table({"row": order, f"P({label})": of_class[order]})


def read_costs(path: str | Path) -> Costs:
    """A cost matrix from a CSV file: the first line names the decisions, the other lines begin with their class.

    A cell may be empty and a class have no line: :class:`Costs` says what that means.
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise BadFile(f"{path} is no cost file: {problem}. It is a CSV file in UTF-8; save it so.") from None
    if len(rows) < 2 or len(rows[0]) < 2:
        raise BadFile(f"{path}: a cost file has a line of decisions, then a line for each class: 'class,ham,spam'")
    decisions = tuple(cell.strip() for cell in rows[0][1:])
    classes, costs = [], []
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise BadFile(f"{path}, line {number}: {len(row)} cells where the first line has {len(rows[0])}")
        try:
            costs.append([float(cell) if cell.strip() else None for cell in row[1:]])
        except ValueError:
            raise BadFile(f"{path}, line {number}: a cost is no number: {', '.join(row[1:])}") from None
        classes.append(row[0].strip())
    if len(set(classes)) < len(classes) or len(set(decisions)) < len(decisions):
        raise BadFile(f"{path}: a class or a decision is named twice")
    _numbers([0.0 if cost is None else cost for row in costs for cost in row])
    return Costs(tuple(classes), decisions, np.array(costs, dtype=np.float64))


def _posterior(posterior: Any, classes: Sequence[Any] | None) -> tuple[Floats, tuple[Any, ...]]:
    if isinstance(posterior, Mapping):
        classes, posterior = list(posterior), [list(posterior.values())]
    try:
        p = np.atleast_2d(np.asarray(posterior, dtype=np.float64))
    except (TypeError, ValueError):
        raise BayesError("the posterior holds no numbers: give probabilities (rows, classes)") from None
    labels = tuple(range(p.shape[1])) if classes is None else tuple(np.asarray(classes, dtype=object).tolist())
    if p.ndim != 2 or p.shape[1] != len(labels):
        raise BayesError(f"the posterior has shape {p.shape} for {len(labels)} classes {list(labels)}")
    bad = np.flatnonzero(~(np.isfinite(p) & (p >= 0)).all(axis=1))
    if len(bad):
        raise BayesError(
            f"row {bad[0]} of the posterior is {p[bad[0]].tolist()}: probabilities are finite and not negative"
        )
    sums = p.sum(axis=1)
    off = np.abs(sums - 1)
    if (off > SLACK).any():
        row = int(off.argmax())
        raise BayesError(f"row {row} of the posterior sums to {sums[row]:.6g}, not to one: {p[row].tolist()}")
    if (off > OFF_ONE).any():
        warnings.warn(
            f"{int((off > OFF_ONE).sum())} rows of the posterior do not sum to one (the farthest to "
            f"{sums[off.argmax()]:.9g}); they were normalised",
            BayesWarning,
            stacklevel=4,
        )
        p = p / sums[:, None]
    return p, labels


def _find(label: Any, among: Sequence[Any], problem: str) -> int:
    for i, other in enumerate(among):
        if other == label or str(other) == str(label):
            return i
    known = f"(there are: {', '.join(map(repr, among))}){did_you_mean(label, among)}"
    raise BayesError(f"{problem} {label!r} {known}")


def _no_classes(unknown: Sequence[Any], labels: Sequence[Any]) -> BayesError:
    known = f"(classes: {list(labels)}){did_you_mean(unknown[0], labels)}"
    return BayesError(f"the costs name {unknown}, which are no classes {known}")


def _filled(classes: tuple[Any, ...], decisions: tuple[Any, ...], matrix: Floats) -> Floats:
    """Costs with those that were not told: 0 for the right class, 1 for another."""
    for i, j in zip(*np.nonzero(np.isnan(matrix)), strict=True):
        if decisions[j] not in classes:
            raise BayesError(
                f"the costs do not say what deciding {decisions[j]!r} costs for class {classes[i]!r}: it is no class, "
                "so there is no telling"
            )
        matrix[i, j] = float(decisions[j] != classes[i])
    return matrix


def _numbers(costs: Any) -> Floats:
    try:
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError("costs are numbers: one row a true class, one column a decision") from None
    if not np.isfinite(matrix).all():
        raise BayesError("a cost is infinite or missing; give every pair a finite number")
    return matrix


def _array(labels: Sequence[Any]) -> Array:
    """Labels as an array of their own type; of several types, as objects."""
    if len({isinstance(label, str) for label in labels}) == 1:
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
