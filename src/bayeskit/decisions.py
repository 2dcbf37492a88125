"""Decisions from probabilities: expected costs, rejection, ranking, limited capacity, and the probability of a mistake.

    expected loss of deciding a:   R(a | x) = Σ_c cost(c, a) · P(c | x)

The best decision has the lowest expected loss. If every mistake costs 1, it is the most probable class; under other
costs it may differ. If even the best decision costs more than a rejection, reject the row (Chow's rule).

Formula: Σ_c cost(c, a) P(c ∣ x), Chow's rule, capacity
"""

from __future__ import annotations

import csv
import io
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.drawable import Drawable
from bayeskit.errors import BadFile, BayesError, BayesWarning, with_article
from bayeskit.estimate.columns.coded import CodedColumns, Histogram
from bayeskit.estimate.columns.kernel import KernelColumns
from bayeskit.estimate.columns.moments import GaussianColumns, StudentColumns
from bayeskit.estimate.mistake import LineDensities, Mistake, NormalDensities, line_mistake, table_mistake
from bayeskit.estimate.smoothing import is_number
from bayeskit.nearest import did_you_mean
from bayeskit.settings import is_integer
from bayeskit.storage.files import read_bytes
from bayeskit.tables import Grid, Readable, Sheet, Table
from bayeskit.tolerance import OFF_ONE, SLACK
from bayeskit.typing import Array, Bools, Floats, Ints


@dataclass(frozen=True, eq=False, repr=False)
class Costs(Readable, Drawable):
    """Cost matrix with labels.

    Attributes
    ----------
    classes : tuple
        True classes, the rows of the matrix.
    decisions : tuple
        Decisions, the columns of the matrix.
    matrix : ndarray of shape (n_classes, n_decisions)
        NaN marks a cost that is not given; :meth:`of` replaces it by its default.

    Examples
    --------
    >>> Costs.of([[0, 1], [5, 0]], ["ham", "spam"]).matrix.tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    """

    classes: tuple[Any, ...]
    decisions: tuple[Any, ...]
    matrix: Floats

    @classmethod
    def of(cls, costs: Any, classes: Sequence[Any]) -> Costs:
        """Build the cost matrix of these classes.

        Parameters
        ----------
        costs : dict, array-like, Costs or None
            ``{class: {decision: cost}}``, a matrix of shape (n_classes, n_classes), or None for a cost of 1 per
            mistake. Named costs may be incomplete: a missing one is 0 for the right class and 1 for a wrong one. A
            decision that is not a class needs a cost for every class.
        classes : sequence

        Returns
        -------
        Costs

        Raises
        ------
        BayesError
            If the costs are not finite numbers, do not match the classes or are incomplete.

        Examples
        --------
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
        if unknown := [c for c in costs if c not in labels]:
            raise _no_classes(unknown, labels)
        named = dict.fromkeys(d for row in costs.values() for d in row)
        own = [c for c in labels if c in named or set(named) <= set(labels)]
        decisions = (*own, *(d for d in named if d not in labels))
        by_name = [[costs.get(c, {}).get(d) for d in decisions] for c in labels]
        _numbers([0.0 if cost is None else cost for row in by_name for cost in row])
        return cls(labels, decisions, _filled(labels, decisions, np.array(by_name, dtype=np.float64)))

    @property
    def sheet(self) -> Sheet:
        """Table with one row per class and one column per decision."""
        decided = {f"decide {decision}": self.matrix[:, j].tolist() for j, decision in enumerate(self.decisions)}
        grid = Grid({"class": [str(label) for label in self.classes], **decided})
        return Sheet(f"costs of {len(self.decisions)} decisions for {len(self.classes)} classes", (grid,))


@dataclass(frozen=True, eq=False, repr=False)
class Decisions(Readable, Drawable):
    """Decision for each row and the expected loss of every decision.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        Decisions; None for a rejected row.
    expected_loss : ndarray of shape (n_rows,)
        Expected loss of the decision taken.
    losses : ndarray of shape (n_rows, n_decisions)
        Expected loss of every decision.
    decisions : tuple
    rejected : ndarray of bool, shape (n_rows,)
    top : ndarray of shape (n_rows, top_k), or None
        Best decisions of each row, if ``top_k`` was given.
    acted : ndarray of bool, shape (n_rows,), or None
        True for the rows that get the action, if ``capacity`` was given.
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
        """Sum of the expected losses of all rows."""
        return float(self.expected_loss.sum())

    def table(self) -> Table:
        """Return a table with the decision and the expected loss of each row."""
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
    posterior : array-like of shape (n_rows, n_classes), or dict
        P(class | x); a mapping from class to probability is one row.
    costs : dict, array-like or Costs, optional
        ``{true class: {decision: cost}}``, a matrix of shape (n_classes, n_classes), or the result of
        :func:`read_costs`. By default a mistake costs 1.
    reject_cost : float, optional
        Cost of a rejection; rows whose best decision costs more are rejected.
    top_k : int, optional
        Also return the k decisions with the lowest loss, best first.
    capacity : int, optional
        Maximum number of rows that get the ``action``: those that gain most by it. The others get their best other
        decision.
    classes : sequence, optional
        Labels of the columns of ``posterior``; 0, 1, … by default.
    action : optional
        Decision that ``capacity`` limits; by default the second of two.

    Returns
    -------
    Decisions

    Raises
    ------
    BayesError
        If the posterior, the costs or a setting is invalid.

    Examples
    --------
    Losing a letter costs 10, reading an advertisement 1:

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
    # Decisions of mixed types stay objects.
    is_mixed = len({isinstance(decision, str) for decision in given.decisions}) > 1
    names = np.array(given.decisions, dtype=object if is_mixed else None)
    best = losses.argmin(axis=1)
    acted = top = None
    if capacity is not None:
        best, acted = _limited(losses, best, given.decisions, capacity, action)
    expected = losses[np.arange(len(losses)), best]
    rejected = np.zeros(len(p), dtype=bool)
    chosen = names[best]
    if reject_cost is not None:
        if not is_number(reject_cost) or not 0 <= float(reject_cost) < np.inf:
            raise BayesError(f"reject_cost={reject_cost!r}: give a finite cost of at least 0")
        reject_cost = float(reject_cost)
        rejected = expected > reject_cost
        expected = np.where(rejected, reject_cost, expected)
        chosen = chosen.astype(object)
        chosen[rejected] = None
    if top_k is not None:
        if not isinstance(top_k, (int, np.integer)) or not 1 <= top_k <= len(names):
            raise BayesError(f"top_k={top_k!r}: there are {len(names)} decisions; give a whole number from 1 to that")
        top = names[np.argsort(losses, axis=1, kind="stable")[:, :top_k]]
    return Decisions(chosen, expected, losses, given.decisions, rejected, top, acted)


def _limited(losses: Floats, best: Ints, decisions: tuple[Any, ...], capacity: int, action: Any) -> tuple[Ints, Bools]:
    """Return the decisions with the action on at most ``capacity`` rows, and the mask of those rows."""
    if not is_integer(capacity) or capacity < 0:
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
    """Sort rows by the probability of one class, the most probable first.

    Parameters
    ----------
    posterior : array-like of shape (n_rows, n_classes)
    label : class
    classes : sequence, optional
        Labels of the columns of ``posterior``; 0, 1, … by default.

    Returns
    -------
    Table
        Row number and probability.

    Raises
    ------
    BayesError
        If there is no such class.

    Examples
    --------
    >>> print(rank([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], "spam", classes=["ham", "spam"]))
    row  P(spam)
      1      0.8
      2      0.4
      0      0.1
    """
    p, labels = _posterior(posterior, classes)
    of_class = p[:, find_class(label, labels)]
    order = np.argsort(-of_class, kind="stable")
    return Table({"row": order, f"P({label})": of_class[order]})


def read_costs(path: str | Path) -> Costs:
    """Read a cost matrix from a CSV file.

    The first line lists the decisions after an empty or named corner cell; every other line starts with a class.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Costs
        Empty cells are NaN; :meth:`Costs.of` replaces them and the rows of classes without a line by defaults.

    Raises
    ------
    BadFile
        If the file is not a cost matrix.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "costs.csv").write_text("class,ham,spam\\nham,0,10\\nspam,1,0\\n")
    ...     read_costs(Path(folder, "costs.csv")).matrix.tolist()
    [[0.0, 10.0], [1.0, 0.0]]
    """
    try:
        text = read_bytes(path).decode("utf-8-sig")
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(cell.strip() for cell in row)]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise BadFile(f"{path} is not a cost file: {problem}. It is a CSV file in UTF-8; save it so.") from None
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
            raise BadFile(f"{path}, line {number}: a cost is not a number: {', '.join(row[1:])}") from None
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
            f"{sums[off.argmax()]:.9g}); they were normalized",
            BayesWarning,
            stacklevel=4,
        )
        p = p / sums[:, None]
    return p, labels


def find_class(label: Any, classes: Sequence[Any]) -> int:
    """Return the index of a class, which may be given as text.

    Parameters
    ----------
    label : object
    classes : sequence

    Returns
    -------
    int

    Raises
    ------
    BayesError
        For an unknown class.
    """
    return _find(label, classes, "there is no class")


def _find(label: Any, among: Sequence[Any], problem: str) -> int:
    for i, other in enumerate(among):
        if other == label or str(other) == str(label):
            return i
    known = f"(there are: {', '.join(map(repr, among))}){did_you_mean(label, among)}"
    raise BayesError(f"{problem} {label!r} {known}")


def _no_classes(unknown: Sequence[Any], labels: Sequence[Any]) -> BayesError:
    known = f"(classes: {list(labels)}){did_you_mean(unknown[0], labels)}"
    return BayesError(f"the costs name {unknown}, which are not classes {known}")


def _filled(classes: tuple[Any, ...], decisions: tuple[Any, ...], matrix: Floats) -> Floats:
    """Replace missing costs: 0 for the right class, 1 for another."""
    for i, j in zip(*np.nonzero(np.isnan(matrix)), strict=True):
        if decisions[j] not in classes:
            raise BayesError(
                f"the costs do not say what deciding {decisions[j]!r} costs for class {classes[i]!r}: it is not a "
                "class, so its cost is unknown"
            )
        matrix[i, j] = float(decisions[j] != classes[i])
    return matrix


def _numbers(costs: Any) -> Floats:
    try:
        if isinstance(costs, range):
            raise TypeError
        matrix = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BayesError("costs are numbers: one row a true class, one column a decision") from None
    if not np.isfinite(matrix).all():
        raise BayesError("a cost is infinite or missing; give every pair a finite number")
    return matrix


SPREADS_BEYOND = 8.0  # spreads beyond the outermost numbers, where the decision no longer changes


def mistake_probability(model: Any, boundaries: Sequence[float] | None = None) -> Mistake:
    """Compute the probability of a mistake of a fitted model of one column.

    Parameters
    ----------
    model : NaiveBayes or GaussianBayes
        Fitted on one column: a table of values, a histogram, a normal, a Student's t or a kernel density.
    boundaries : sequence of float, optional
        Cut the line here instead of where the model would decide. Each part goes to the class with the larger mass.

    Returns
    -------
    Mistake
        ``probability``, ``correct``, ``by_class`` and ``regions``.

    Raises
    ------
    BayesError
        If the model has several columns, or a column without a closed form.

    Examples
    --------
    >>> from bayeskit import NaiveBayes
    >>> model = NaiveBayes().fit({"x": [-2.0, 0.0, 0.0, 2.0]}, ["a", "a", "b", "b"])     # means −1, 1; variance 2
    >>> found = mistake_probability(model)
    >>> found.regions, round(found.probability, 6), round(found.correct, 6)              # Φ(−1/√2)
    (((-inf, 0.0, 'a'), (0.0, inf, 'b')), 0.23975, 0.76025)
    """
    if hasattr(model, "fit"):
        from sklearn.utils.validation import check_is_fitted  # loads slowly

        check_is_fitted(model)
    params: Any = getattr(model, "params_", None)
    if not hasattr(params, "normal") and not hasattr(params, "by_column"):
        who = with_article(type(model).__name__)
        raise BayesError(f"{who} has no density of one column by itself: P(mistake) is of NaiveBayes or GaussianBayes")
    cuts = None if boundaries is None else _check_boundaries(boundaries)
    classes, prior = np.asarray(model.classes_).tolist(), logspace.exp(params.log_prior)
    if hasattr(params, "normal"):  # multivariate, of one column
        _check_one_column([name for name in params.columns if name not in params.unused])
        i = int(np.flatnonzero(params.normal.spread.used)[0])
        mean, variance = params.normal.mean[:, i], np.array([c[i, i] for c in params.normal.covariance])
        return line_mistake(NormalDensities(mean, np.sqrt(variance)), prior, classes, cuts)
    if params.words:
        raise BayesError(f"column {next(iter(params.words))!r} is text: P(mistake) is of a table or a line of numbers")
    _check_one_column(params.used)
    (name,) = params.used
    column = params.by_column[name]
    if isinstance(column, CodedColumns):
        if boundaries is not None:
            raise BayesError("boundaries cut a line of numbers; this column is a table of values")
        table = column.tables[name]
        edges = table.cuts if isinstance(table, Histogram) else None
        return table_mistake(table.probabilities[:, 1:-1], prior, classes, table.values, edges)
    return line_mistake(_column_densities(column, name), prior, classes, cuts)


def _check_one_column(used: Sequence[str]) -> None:
    if len(used) != 1:
        raise BayesError(
            f"P(mistake) is integrated over one column; the model has {len(used)}. "
            "Use restrict([column]), or measure it on rows."
        )


def _column_densities(column: Any, name: str) -> NormalDensities | LineDensities:
    """Return the class densities of a numeric column."""
    if isinstance(column, GaussianColumns):
        i = column.names.index(name)
        return NormalDensities(column.gaussian.mean[:, i], np.sqrt(column.gaussian.variance[:, i]))

    def log_density(x: Floats) -> Floats:
        return np.asarray(column.scores(name, x).T)

    if isinstance(column, KernelColumns):
        density = column.densities[name]
        bells = [bells for bells in density.classes if bells is not None]
        if len(bells) < len(density.classes):
            raise BayesError(f"column {name!r} has a class without numbers: P(mistake) needs a density of each")
        low, high = min(float(b.points[0]) for b in bells), max(float(b.points[-1]) for b in bells)
        wide = SPREADS_BEYOND * max(float(b.bandwidth) for b in bells)
        ends = low - wide, high + wide
        return LineDensities(log_density, lambda x: np.array([_kernel_share_below(b, x) for b in bells]), ends)
    if isinstance(column, StudentColumns):
        from scipy.special import stdtr

        parts = column.parameters(name)
        location, scale, freedom = (parts[key][:, None] for key in ("location", "scale", "freedom"))
        wide = SPREADS_BEYOND * float(scale.max())
        ends = float(location.min()) - wide, float(location.max()) + wide
        return LineDensities(log_density, lambda x: np.asarray(stdtr(freedom, (x[None] - location) / scale)), ends)
    raise BayesError(
        f"column {name!r} is {column.kind}: P(mistake) is of gaussian, student, kernel or histogram numbers, or of a "
        f"table of values; densities({name!r}) has it along a line"
    )


def _kernel_share_below(bells: Any, edges: Floats) -> Floats:
    """Return the share of a kernel density below each edge."""
    from scipy.special import ndtr

    shares = bells.counts / bells.counts.sum()
    return np.array([float(shares @ ndtr((edge - bells.points) / bells.bandwidth)) for edge in edges])


def _check_boundaries(given: Sequence[float]) -> list[float]:
    for i, cut in enumerate(given):
        if not is_number(cut) or not isfinite(cut):
            raise BayesError(f"boundaries[{i}] is {cut!r}: give finite numbers")
    return [float(cut) for cut in given]
