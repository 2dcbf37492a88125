"""Compare models on the same folds: paired differences, Wilcoxon signed-rank tests and their records.

Formula: the Bayesian signed-rank test
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.sheet import Figure, Grid, Items, Readable, Sheet
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import positions
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError
from bayeskit.evaluate.cross_validation import (
    Index,
    LabelledTable,
    check_folds,
    fitted_on,
    labelled_table,
    posterior_over,
    stratified_folds,
)
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.metrics import Scoreboard, brier, log_loss
from bayeskit.nearest import did_you_mean
from bayeskit.remedy import Setting
from bayeskit.tolerance import LEAST_PROBABILITY, TIE
from bayeskit.typing import Bools, Floats

Progress = Callable[[str, str], object]
LEAVE_ONE_OUT = "leave-one-out"


def compare(
    models: Any,
    datasets: Any,
    y: Any = None,
    *,
    folds: int | str = 5,
    repeats: int = 1,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Models side by side on one table (``datasets`` and ``y`` are its rows and classes) or on several.

    Parameters
    ----------
    models: a mapping from name to classifier, or names of the catalogue: "naive", "tan", "aode", "best", "logistic",
        "tree", "knn", "forest", "boosting", … Those of scikit-learn read tables by one encoder (:class:`Encoded`).
    datasets: a mapping from name to (rows, classes), or to a table whose column ``y`` holds the class.
    folds: parts of the cross-validation, by class and the same for all models; or "leave-one-out", in closed form for
        models that have one with nothing held, else by as many fits as there are rows.
    repeats: so many times, each with other folds.
    progress: called as ``progress(dataset, model)`` before each.

    A table that a model refuses stands in ``refused`` and is no reason to stop.

    >>> from bayeskit import datasets
    >>> birds = datasets.load_penguins().drop_columns(["year"])
    >>> found = compare(["naive", "tree"], birds, "species")
    >>> found.method, found.accuracy.round(2).tolist()
    ('5-fold cross-validation', [[0.98, 0.98]])
    """
    chosen = _models(models)
    tables = _tables(datasets, y)
    if isinstance(repeats, bool) or not isinstance(repeats, (int, np.integer)) or repeats < 1:
        raise BayesError(f"repeats={repeats!r}: give a whole number of at least 1", culprit=repeats)
    by_fold: dict[str, list[Floats]] = {measure: [] for measure in MEASURES}
    refused, n_rows = [], []
    for dataset, (X, labels) in tables.items():
        given = labelled_table(X, labels, drop=any(getattr(m, "_drops_unlabelled", False) for m in chosen.values()))
        n_rows.append(given.n_rows)
        splits = list(_splits(given, folds, int(repeats), random_state))
        scores = np.full((len(MEASURES), len(splits), len(chosen)), np.nan)
        taking = dict(enumerate(chosen.items()))
        for i, split in enumerate(splits):
            part = _Part(given, split)
            for m, (name, model) in [*taking.items()]:
                if progress is not None:
                    progress(dataset, name)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        scores[:, i, m] = part.scores(model)
                except (ValueError, TypeError, ArithmeticError, MemoryError) as problem:  # ours are ValueErrors, too
                    refused.append(Refusal(dataset, name, " ".join(str(problem).split())))
                    scores[:, :, m] = np.nan
                    del taking[m]
        for measure, of_measure in zip(MEASURES, scores, strict=True):
            by_fold[measure].append(of_measure)
    if len(refused) == len(chosen) * len(tables):
        raise BayesError(f"no model took any of the tables: {refused[0].why}")
    accuracy, log_loss, squares, seconds = (
        np.stack([one.mean(axis=0) for one in by_fold[measure]]) for measure in MEASURES
    )
    method = folds if folds == LEAVE_ONE_OUT else f"{folds}-fold cross-validation"
    return Comparison(
        tuple(chosen),
        tuple(tables),
        tuple(n_rows),
        str(method) if repeats == 1 else f"{repeats} × {method}",
        accuracy,
        log_loss,
        squares,
        seconds,
        {measure: tuple(parts) for measure, parts in by_fold.items()},
        tuple(refused),
    )


def _models(models: Any) -> dict[str, Any]:
    """By name, unfitted."""
    if isinstance(models, Mapping):
        chosen = {str(name): model for name, model in models.items()}
    else:
        import bayeskit  # by its public name: the catalogue stands above this module

        names = [models] if isinstance(models, str) else list(models)
        chosen = {}
        for one in names:
            model = bayeskit.model_named(one) if isinstance(one, str) else one
            name = one if isinstance(one, str) else type(one).__name__
            if name in chosen:
                raise BayesError(f"{name!r} is there twice: give a mapping from name to model", culprit=name)
            chosen[name] = model
    if not chosen or any(not hasattr(model, "fit") for model in chosen.values()):
        raise BayesError("models are classifiers: a mapping from name, or names such as 'naive' and 'tree'")
    return chosen


def _tables(datasets: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """(rows, classes) by name."""
    several = isinstance(datasets, Mapping) and (y is None or isinstance(y, str)) and not _is_table(datasets, y)
    if not several:
        if y is None:
            raise BayesError("the classes of the rows are needed: y is None")
        return {"data": (datasets, y)}
    tables: dict[str, tuple[Any, Any]] = {}
    for name, one in datasets.items():
        pair = isinstance(one, tuple) and len(one) == 2
        if not pair and y is None:
            raise BayesError(f"data set {name!r}: give (rows, classes), or the name of the class column as y")
        tables[str(name)] = one if pair else (one, y)
    if not tables:
        raise BayesError("there is no data set to compare on")
    return tables


def _is_table(datasets: Mapping[Any, Any], y: Any) -> bool:
    """Whether a mapping is one table, a column for each name, and not a mapping of tables."""
    return isinstance(y, str) and y in datasets


@dataclass(frozen=True)
class _Split:
    train: Index
    test: Index
    place: str


def _splits(given: LabelledTable, folds: int | str, repeats: int, random_state: int) -> Iterator[_Split]:
    if folds == LEAVE_ONE_OUT:
        every = np.arange(given.n_rows)
        if given.n_rows < 2:
            raise BayesError("leave-one-out needs two rows at least")
        yield _Split(every, every, "with all rows")  # each row by the model without it
        return
    if isinstance(folds, str):
        raise BayesError(Setting.given("folds", folds), ': give a whole number, or "leave-one-out"', culprit=folds)
    folds = check_folds(folds, given.n_rows)
    for repeat in range(repeats):
        for i, (train, test) in enumerate(stratified_folds(given.codes, folds, random_state + repeat), 1):
            yield _Split(train, test, f"without fold {i} of {folds}")


class _Part:
    """The rows of one fold, taken once for all models."""

    def __init__(self, given: LabelledTable, split: _Split) -> None:
        self.given, self.split = given, split
        self.leaves_one_out = split.train is split.test
        self.train = given.table.data if self.leaves_one_out else given.table.take(split.train)
        self.test = self.train if self.leaves_one_out else given.table.take(split.test)
        self.truth = given.codes[split.test]

    def scores(self, model: Any) -> Floats:
        """The measures of a model, unfitted."""
        if self.leaves_one_out:
            return self._one_by_one(model)
        lost = ~np.isin(self.truth, self.given.codes[self.split.train])
        log_posterior, chosen, seconds = self.said(model)
        return _measured(log_posterior, chosen, self.truth, lost, seconds)

    def said(self, model: Any) -> tuple[Floats, Index, float]:
        """(ln P of each class, the class that was chosen, CPU seconds of fit and predict) of the test rows."""
        start = time.process_time()
        fitted = self._fitted(model)
        if hasattr(fitted, "predict_proba"):
            log_posterior = posterior_over(fitted, self.test, self.given.classes)[0]
            chosen = (log_posterior >= log_posterior.max(axis=1, keepdims=True) - logspace.TIE).argmax(axis=1)
        else:
            chosen = positions(np.asarray(fitted.predict(self.test)).tolist(), self.given.classes)
            certain = np.arange(len(self.given.classes)) == chosen[:, None]
            log_posterior = np.where(certain, 0.0, -np.inf)  # what is said without probabilities is said for certain
        return log_posterior, chosen, time.process_time() - start

    def _fitted(self, model: Any) -> Any:
        from sklearn.base import clone

        return fitted_on(clone(model), self.given, self.split.train, self.split.place, self.train)

    def _one_by_one(self, model: Any) -> Floats:
        """Each row by the model without it: in closed form where nothing has seen the row, else by fits."""
        start = time.process_time()
        fitted = self._fitted(model)
        if hasattr(fitted, "leave_one_out") and not fitted._held_while_left_out():
            found = fitted.leave_one_out(self.train, self.given.labels(self.split.train))
            seconds = time.process_time() - start
            return np.array([found.accuracy, _bounded(found), found.brier, seconds])
        rows, codes = self.split.train, self.given.codes
        splits = (_Split(np.delete(rows, i), rows[i : i + 1], f"without row {i}") for i in rows)
        parts = [_Part(self.given, split).said(model) for split in splits]
        log_posterior, chosen = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        return _measured(log_posterior, chosen, codes, np.bincount(codes)[codes] == 1, sum(part[2] for part in parts))


def _bounded(found: Evaluation) -> float:
    """The log loss of a record whose probabilities below 1e-15 count as that; a class of one row has no part in it."""
    codes = np.asarray(found.truth)
    p = found.probabilities[np.arange(len(codes)), codes]
    kept = (np.bincount(codes)[codes] > 1) & ~np.isnan(p)
    if not kept.any() or p[kept].min() >= LEAST_PROBABILITY:
        return found.log_loss
    return log_loss(np.maximum(logspace.log(p[kept]), logspace.log(LEAST_PROBABILITY)))


def _measured(log_posterior: Floats, chosen: Index, truth: Index, lost: Bools, seconds: float) -> Floats:
    board = Scoreboard(log_posterior.shape[1])
    log_true = np.maximum(log_posterior[np.arange(len(truth)), truth], logspace.log(LEAST_PROBABILITY))
    board.add(truth, chosen, log_true, brier(logspace.exp(log_posterior), truth), None, lost)
    found = board.measures()
    return np.array([found.accuracy, found.log_loss, found.brier, seconds])


MEASURES = {"accuracy": 1, "log_loss": -1, "brier": -1, "seconds": -1}
"""What is measured, and whether more of it is better."""


@dataclass(frozen=True)
class Refusal:
    """A model that a table was nothing for, and why."""

    dataset: str
    model: str
    why: str


@dataclass(frozen=True, repr=False)
class Comparison(Readable, Drawable):
    """Scores of models on data sets, all by the same folds. Frozen, and plain data.

    Attributes
    ----------
    models, datasets: their names; ``n_rows`` of each data set.
    method: "5-fold cross-validation", "3 × 10-fold cross-validation" or "leave-one-out".
    accuracy, log_loss, brier, seconds: (data sets, models), means over the folds; NaN where a model refused the table.
        Probabilities below 1e-15 count as that in the log loss; ``seconds`` are CPU time of fit and predict of a fold.
    by_fold: for each measure and data set, the scores (folds, models).
    refused: who took which table not, and why.
    """

    models: tuple[str, ...]
    datasets: tuple[str, ...]
    n_rows: tuple[int, ...]
    method: str
    accuracy: Floats = field(compare=False)
    log_loss: Floats = field(compare=False)
    brier: Floats = field(compare=False)
    seconds: Floats = field(compare=False)
    by_fold: Mapping[str, tuple[Floats, ...]] = field(compare=False)
    refused: tuple[Refusal, ...] = ()

    def scores(self, measure: str = "accuracy") -> Floats:
        """One of the measures (data sets, models)."""
        if measure not in MEASURES:
            raise BayesError(f"{measure!r} is none of {', '.join(MEASURES)}{did_you_mean(measure, tuple(MEASURES))}")
        return np.asarray(getattr(self, measure))

    def against(self, first: str, second: str, measure: str = "accuracy", rope: float = 0.01) -> Duel:
        """One model against another over the data sets: wins, Wilcoxon's and the Bayesian signed-rank test."""
        a, b = (self.scores(measure)[:, self._place(name)] for name in (first, second))
        return duel(first, second, measure, MEASURES[measure] * (a - b), rope)

    def duels(self, measure: str = "accuracy", rope: float = 0.01) -> tuple[Duel, ...]:
        """The first model against each of the others."""
        return tuple(self.against(self.models[0], other, measure, rope) for other in self.models[1:])

    def ranks(self, measure: str = "accuracy") -> Floats:
        """The mean rank of each model over the data sets that all took (1 is the best; ties share)."""
        from scipy.stats import rankdata

        scores = self.scores(measure) * -MEASURES[measure]
        whole = scores[~np.isnan(scores).any(axis=1)]
        return np.asarray(rankdata(whole, axis=1).mean(axis=0)) if len(whole) else np.full(len(self.models), np.nan)

    def table(self, measure: str = "accuracy") -> Table:
        """One line for a data set, one column for a model."""
        scores = self.scores(measure)
        columns = {
            name: [None if np.isnan(v) else float(v) for v in scores[:, i]] for i, name in enumerate(self.models)
        }
        return Table({"data set": list(self.datasets), "rows": list(self.n_rows), **columns}, keys=2)

    @property
    def means(self) -> Table:
        """The means over the data sets that all models took, and mean ranks by accuracy and log loss.

        Where there is no such set, each model has the mean over those that it took.
        """
        whole = ~np.isnan(self.accuracy).any(axis=1)
        columns: dict[str, Any] = {"model": list(self.models)}
        for measure in MEASURES:
            scores = self.scores(measure)[whole] if whole.any() else self.scores(measure)
            taken = ~np.isnan(scores)
            n = np.where(taken.any(axis=0), taken.sum(axis=0), np.nan)
            columns[measure.replace("_", " ")] = np.where(taken, scores, 0.0).sum(axis=0) / n
        if len(self.datasets) > 1:
            columns["rank by accuracy"], columns["rank by log loss"] = self.ranks(), self.ranks("log_loss")
        return Table(columns)

    def chart(self, first: str | None = None, second: str | None = None, measure: str = "accuracy") -> Any:
        """The first model against the second over many data sets, as a scatter; over one or two sets bars of all."""
        self.scores(measure)
        for name in (first, second):
            if name is not None:
                self._place(name)
        return draw(self, first=first, second=second, measure=measure)

    def _place(self, name: str) -> int:
        if name not in self.models:
            raise BayesError(f"{name!r} is none of {', '.join(self.models)}{did_you_mean(name, self.models)}")
        return self.models.index(name)

    @property
    def sheet(self) -> Sheet:
        """Means, one line for a data set, and what the first model has won."""
        several = len(self.datasets) > 1
        over = f"{len(self.datasets)} data sets" if several else f"{self.datasets[0]}, {self.n_rows[0]:,} rows"
        means = {
            name: [v if isinstance(v, str) else Figure(f"{v:.4g}") for v in self.means[name]]
            for name in self.means.column_names
        }
        parts: list[Any] = ["", Grid(means)]
        if several:
            parts += ["", "Accuracy:", _rounded(self.table())]
            parts += ["", Items([one.sentence for m in ("accuracy", "log_loss") for one in self.duels(m)])]
        if self.refused:
            parts += ["", Items([f"{r.model} did not take {r.dataset}: {r.why}" for r in self.refused])]
        return Sheet(f"{len(self.models)} models on {over}, {self.method}", tuple(parts))


def _rounded(table: Table) -> Grid:
    shown = {
        name: [v if not isinstance(v, float) else Figure(f"{v:.4f}") for v in table[name]]
        for name in table.column_names
    }
    return Grid(shown)


DRAWS = 50_000
UNSEEN = 0.5  # data sets that the z_0 = 0 is worth
AT_A_TIME = 1 << 22  # numbers of a part of the draws


@dataclass(frozen=True)
class Duel:
    """One model against another over data sets; differences are such that above 0 is better for the first.

    ``wins``, ``ties`` and ``losses`` of the first; ``median`` difference; ``p_value`` of Wilcoxon's test (two-sided);
    the probabilities that the first is ``better``, practically the ``same`` (within ``rope``) or ``worse``. With fewer
    than two data sets p-value and probabilities are NaN.
    """

    first: str
    second: str
    measure: str
    wins: int
    ties: int
    losses: int
    median: float
    p_value: float
    better: float
    same: float
    worse: float
    rope: float

    @property
    def sentence(self) -> str:
        """In words."""
        by = self.measure.replace("_", " ")
        told = f"{self.first} against {self.second} by {by}: {self.wins} wins, {self.ties} ties, {self.losses} losses"
        if np.isnan(self.p_value):
            return f"{told}."
        chances = f"better with probability {self.better:.2f}, the same {self.same:.2f}, worse {self.worse:.2f}"
        return f"{told}; Wilcoxon p = {self.p_value:.3g}; {chances}."


def duel(first: str, second: str, measure: str, differences: Any, rope: float = 0.01, random_state: int = 0) -> Duel:
    """The record of differences, one for each data set; NaN, where one of the two has no score, is left out.

    >>> found = duel("a", "b", "accuracy", [0.03, 0.05, -0.02, 0.0, 0.04, 0.06])
    >>> found.wins, found.ties, found.losses, found.better > 0.8
    (4, 1, 1, True)
    """
    z = np.asarray(differences, dtype=np.float64)
    z = z[~np.isnan(z)]
    wins, losses = int((z > TIE).sum()), int((z < -TIE).sum())
    chances = signed_rank_probabilities(z, rope, random_state) if len(z) > 1 else (float("nan"),) * 3
    p_value = wilcoxon(z) if len(z) > 1 else float("nan")
    median = float(np.median(z)) if len(z) else float("nan")
    return Duel(first, second, measure, wins, len(z) - wins - losses, losses, median, p_value, *chances, rope)


def wilcoxon(differences: Floats) -> float:
    """The two-sided p-value of Wilcoxon's signed ranks, as SciPy has it; 1 where nothing differs.

    >>> round(wilcoxon(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), 4)      # 2 / 2⁵
    0.0625
    """
    from scipy.stats import wilcoxon as of_scipy

    z = np.where(np.abs(differences) <= TIE, 0.0, differences)
    return float(of_scipy(z).pvalue) if z.any() else 1.0


def signed_rank_probabilities(
    differences: Floats, rope: float = 0.01, random_state: int = 0, draws: int = DRAWS
) -> tuple[float, float, float]:
    """P(first is better), P(practically the same), P(second is better).

    >>> better, same, worse = signed_rank_probabilities(np.full(20, 0.1))
    >>> better > 0.99, worse
    (True, 0.0)
    """
    if not rope >= 0:
        raise BayesError(f"rope={rope!r}: give a number of at least 0", culprit=rope)
    z = np.append(0.0, differences)
    sums = z[:, None] + z[None]
    regions = np.stack([sums > 2 * rope + TIE, sums < -2 * rope - TIE]).astype(np.float64)
    shape = np.append(UNSEEN, np.ones(len(differences)))
    rng = np.random.default_rng(random_state)
    won, left = np.zeros(3), draws
    while left:
        n = min(left, max(AT_A_TIME // len(z), 1))
        weights = rng.dirichlet(shape, n)
        better, worse = (np.einsum("ni,ni->n", weights @ region, weights) for region in regions)
        shares = np.stack([better, 1 - better - worse, worse])
        won += np.bincount(shares.argmax(axis=0), minlength=3)
        left -= n
    chances = won / draws
    return float(chances[0]), float(chances[1]), float(chances[2])
