"""Models side by side: each learns and is tested on the same rows of the same tables."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.capabilities import HasProbabilities, LeavesOut, can
from bayeskit.data.vocabulary import positions
from bayeskit.errors import BayesError
from bayeskit.evaluate.comparison import MEASURES, Comparison, Refusal
from bayeskit.evaluate.evaluation import Evaluation
from bayeskit.evaluate.fitted_parts import fitted_on
from bayeskit.evaluate.folds import Index, LabelledTable, check_folds, labelled_table, posterior_over, stratified_folds
from bayeskit.evaluate.metrics import Scoreboard, brier, log_loss
from bayeskit.remedy import Setting
from bayeskit.tolerance import LEAST_PROBABILITY
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
        given = labelled_table(X, labels, drop=any(getattr(m, "drops_unlabelled", False) for m in chosen.values()))
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
        if can(fitted, HasProbabilities):
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
        if can(fitted, LeavesOut) and not fitted.held_while_left_out():
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
