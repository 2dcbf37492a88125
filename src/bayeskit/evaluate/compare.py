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
from bayeskit.data.unseen import without_unseen_warnings
from bayeskit.data.vocabulary import positions
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError, with_article
from bayeskit.evaluate import cross_validation as cv
from bayeskit.evaluate.cross_validation import Index, LabeledTable
from bayeskit.evaluate.metrics import Scoreboard, brier
from bayeskit.nearest import did_you_mean
from bayeskit.tables import Figure, Grid, Items, Readable, Sheet, Table
from bayeskit.tolerance import TIE
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
    groups: Any = None,
) -> Comparison:
    """Compare models on one table or on several, on the same cross-validation folds.

    Parameters
    ----------
    models : mapping of str to classifier, or sequence of str
        Classifiers by name, or names of the catalog: "naive", "tan", "aode", "best", "logistic", "tree", "knn",
        "forest", "boosting", … Classifiers of scikit-learn read tables through :class:`Encoded`.
    datasets : table or mapping
        One table, or a mapping from name to (rows, labels) or to a table whose column ``y`` holds the class.
    y : str or array-like of shape (n_rows,), optional
        The class column, or the labels of the one table.
    folds : int or "leave-one-out", default=5
        Number of stratified folds. "leave-one-out" uses the closed form of models that have an exact one and fits
        the others once per row.
    repeats : int, default=1
        Number of repetitions, each with other folds.
    random_state : int, default=0
    progress : callable, optional
        Called as ``progress(dataset, model)`` before each fit.
    groups : str or array-like of shape (n_rows,), optional
        The column whose equal values belong together, as for :func:`cross_validate`, or the groups of the one table.
        The rows of a group are in the same fold.

    Returns
    -------
    Comparison
        If a model cannot learn a table, the pair is listed in ``refused`` and the comparison continues.

    Raises
    ------
    BayesError
        If no model can learn any of the tables.

    Examples
    --------
    >>> from bayeskit import datasets
    >>> birds = datasets.load_penguins().drop_columns(["year"])
    >>> found = compare(["naive", "tree"], birds, "species")
    >>> found.method, found.accuracy.round(2).tolist()
    ('5-fold cross-validation', [[0.98, 0.98]])
    """
    chosen = _models(models)
    tables = _tables(datasets, y)
    cv.check_repeats(repeats)
    by_fold: dict[str, list[Floats]] = {measure: [] for measure in MEASURES}
    refused, n_rows = [], []
    for dataset, (X, labels) in tables.items():
        given = cv.labeled_table(X, labels, models=chosen.values(), groups=groups)
        n_rows.append(given.n_rows)
        scores: dict[str, list[Floats]] = {name: [] for name in chosen}  # of each fold
        for fold in _folds(given, folds, int(repeats), random_state):
            for name in [*scores]:
                if progress is not None:
                    progress(dataset, name)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        scores[name].append(fold.scores(chosen[name]))
                except (ValueError, TypeError, ArithmeticError, MemoryError) as problem:  # ours are ValueErrors, too
                    refused.append(Refusal(dataset, name, " ".join(str(problem).split())))
                    del scores[name]
        n_folds = 1 if folds == LEAVE_ONE_OUT else int(folds) * int(repeats)
        none = np.full((n_folds, len(MEASURES)), np.nan)
        whole = np.stack([np.array(scores.get(name, none)) for name in chosen], axis=2)
        for i, measure in enumerate(MEASURES):
            by_fold[measure].append(whole[:, i])
    if len(refused) == len(chosen) * len(tables):
        raise BayesError(f"no model could learn any of the tables: {refused[0].why}")
    means = {measure: np.stack([one.mean(axis=0) for one in parts]) for measure, parts in by_fold.items()}
    method = str(folds) if folds == LEAVE_ONE_OUT else f"{folds}-fold cross-validation"
    method = method if repeats == 1 else f"{repeats} × {method}"
    record: dict[str, Any] = {"models": tuple(chosen), "datasets": tuple(tables), "n_rows": tuple(n_rows), **means}
    every = {measure: tuple(parts) for measure, parts in by_fold.items()}
    return Comparison(method=method, by_fold=every, refused=tuple(refused), **record)


def _models(models: Any) -> dict[str, Any]:
    """Return the unfitted models by name."""
    if isinstance(models, Mapping):
        chosen = {str(name): model for name, model in models.items()}
    else:
        import bayeskit  # by its public name: the catalog stands above this module

        chosen = {}
        for one in [models] if isinstance(models, str) else models:
            name = one if isinstance(one, str) else type(one).__name__
            if name in chosen:
                raise BayesError(f"{name!r} appears twice: give a mapping from name to model")
            chosen[name] = bayeskit.model_named(one) if isinstance(one, str) else one
    if not chosen or any(not hasattr(model, "fit") for model in chosen.values()):
        raise BayesError("models are classifiers: a mapping from name, or names such as 'naive' and 'tree'")
    return chosen


def _tables(datasets: Any, y: Any) -> dict[str, tuple[Any, Any]]:
    """Return (rows, labels) of each data set by name."""
    # A mapping that has a column y is one table.
    if not isinstance(datasets, Mapping) or not (y is None or (isinstance(y, str) and y not in datasets)):
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


def _folds(given: LabeledTable, folds: int | str, repeats: int, random_state: int) -> Iterator[_Fold]:
    if folds == LEAVE_ONE_OUT:
        if given.groups is not None:
            raise BayesError("leave-one-out separates the rows of a group: give a number of folds")
        every = np.arange(given.n_rows)
        if given.n_rows < 2:
            raise BayesError("leave-one-out needs two rows at least")
        yield _Fold(given, every, every, "with all rows")  # each row by the model without it
        return
    if isinstance(folds, str):
        raise BayesError(f'folds={folds!r}: give a whole number, or "leave-one-out"')
    for repeat in range(repeats):
        for i, (train, test) in enumerate(given.folds(folds, random_state + repeat), 1):
            yield _Fold(given, train, test, f"without fold {i} of {folds}")


class _Fold:
    """The training and test rows of one fold, selected once for all models; ``place`` describes them in errors."""

    def __init__(self, given: LabeledTable, train: Index, test: Index, place: str) -> None:
        self.given, self.train, self.test, self.place = given, train, test, place
        self.leaves_one_out = train is test
        self.train_rows = given.table.data if self.leaves_one_out else given.table.take(train)
        self.test_rows = self.train_rows if self.leaves_one_out else given.table.take(test)

    def scores(self, model: Any) -> Floats:
        """Return the measures of an unfitted model, shape (n_measures,)."""
        if self.leaves_one_out:
            return self._leave_one_out(model)
        truth = self.given.codes[self.test]
        lost = ~np.isin(truth, self.given.codes[self.train])
        return _measure(*self.predictions(model), truth, lost)

    def predictions(self, model: Any) -> tuple[Floats, Index, float]:
        """Fit a model and return (log posteriors, predicted classes, CPU seconds) of the test rows."""
        start = time.process_time()
        fitted = self._fit(model)
        if hasattr(fitted, "predict_proba"):
            log_posterior = cv.posterior_over(fitted, self.test_rows, self.given.classes)[0]
            chosen = (log_posterior >= log_posterior.max(axis=1, keepdims=True) - logspace.TIE).argmax(axis=1)
        elif not hasattr(fitted, "predict"):
            raise BayesError(f"{with_article(type(fitted).__name__)} predicts no classes that could be compared")
        else:
            with without_unseen_warnings():
                chosen = positions(np.asarray(fitted.predict(self.test_rows)).tolist(), self.given.classes)
            certain = np.arange(len(self.given.classes)) == chosen[:, None]
            log_posterior = np.where(certain, 0.0, -np.inf)  # what is said without probabilities is said for certain
        return log_posterior, chosen, time.process_time() - start

    def _fit(self, model: Any) -> Any:
        from sklearn.base import clone

        return cv.fit_on(clone(model), self.given, self.train, self.place, self.train_rows)

    def _leave_one_out(self, model: Any) -> Floats:
        """Score each row by the model fitted without it: in closed form if it is exact, else by refitting."""
        start = time.process_time()
        fitted = self._fit(model)
        if hasattr(fitted, "leave_one_out") and not fitted._fixed_during_loo():
            found = fitted.leave_one_out(self.train_rows, self.given.labels(self.train))
            return np.array([found.accuracy, found.log_loss, found.brier, time.process_time() - start])
        rows, codes = self.train, self.given.codes
        folds = (_Fold(self.given, np.delete(rows, i), rows[i : i + 1], f"without row {i}") for i in rows)
        log_posterior, chosen, seconds = zip(*(fold.predictions(model) for fold in folds), strict=True)
        lost = np.bincount(codes)[codes] == 1
        return _measure(np.concatenate(log_posterior), np.concatenate(chosen), sum(seconds), codes, lost)


def _measure(log_posterior: Floats, chosen: Index, seconds: float, truth: Index, lost: Bools) -> Floats:
    board = Scoreboard(log_posterior.shape[1])
    log_true = log_posterior[np.arange(len(truth)), truth]
    board.add(truth, chosen, log_true, brier(logspace.exp(log_posterior), truth), None, lost)
    found = board.measures()
    return np.array([found.accuracy, found.log_loss, found.brier, seconds])


MEASURES = {"accuracy": 1, "log_loss": -1, "brier": -1, "seconds": -1}
"""What is measured, and whether more of it is better."""


@dataclass(frozen=True)
class Refusal:
    """A model that could not learn a data set, and the reason."""

    dataset: str
    model: str
    why: str


@dataclass(frozen=True, repr=False)
class Comparison(Readable, Drawable):
    """Scores of several models on several data sets, all on the same folds.

    Attributes
    ----------
    models, datasets : tuple of str
    n_rows : tuple of int
        Rows of each data set.
    method : str
        "5-fold cross-validation", "3 × 10-fold cross-validation" or "leave-one-out".
    accuracy, log_loss, brier, seconds : ndarray of shape (n_datasets, n_models)
        Means over the folds; NaN if a model could not learn the table. The log loss clips probabilities at 1e-15;
        ``seconds`` is the CPU time to fit and predict one fold.
    by_fold : mapping of str to tuple of ndarray
        For each measure and data set, the scores of shape (n_folds, n_models).
    refused : tuple of Refusal
        Models that could not learn a data set.

    Examples
    --------
    >>> from bayeskit import compare, datasets
    >>> penguins = datasets.load_penguins().drop_columns(["year"])
    >>> result = compare(["naive", "tree"], penguins, "species")
    >>> result.ranks().tolist(), result.table().column_names
    ([1.0, 2.0], ['data set', 'rows', 'naive', 'tree'])
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
        """Return one measure.

        Parameters
        ----------
        measure : {"accuracy", "log_loss", "brier", "seconds"}, default="accuracy"

        Returns
        -------
        ndarray of shape (n_datasets, n_models)
        """
        if measure not in MEASURES:
            raise BayesError(f"{measure!r} is none of {', '.join(MEASURES)}{did_you_mean(measure, tuple(MEASURES))}")
        return np.asarray(getattr(self, measure))

    def against(self, first: str, second: str, measure: str = "accuracy", rope: float = 0.01) -> Duel:
        """Compare two models over the data sets: wins, Wilcoxon test and Bayesian signed-rank test.

        Parameters
        ----------
        first, second : str
            Names of the models.
        measure : str, default="accuracy"
        rope : float, default=0.01
            Region of practical equivalence: smaller differences count as equal.

        Returns
        -------
        Duel
        """
        a, b = (self.scores(measure)[:, self._place(name)] for name in (first, second))
        return duel(first, second, measure, MEASURES[measure] * (a - b), rope)

    def duels(self, measure: str = "accuracy", rope: float = 0.01) -> tuple[Duel, ...]:
        """Compare the first model with each of the others.

        Parameters
        ----------
        measure : str, default="accuracy"
        rope : float, default=0.01
            Region of practical equivalence, see :meth:`against`.

        Returns
        -------
        tuple of Duel
        """
        return tuple(self.against(self.models[0], other, measure, rope) for other in self.models[1:])

    def ranks(self, measure: str = "accuracy") -> Floats:
        """Return the mean rank of each model over the data sets that every model learned.

        Parameters
        ----------
        measure : str, default="accuracy"

        Returns
        -------
        ndarray of shape (n_models,)
            1 is best; ties share the mean of their ranks.
        """
        from scipy.stats import rankdata

        scores = self.scores(measure) * -MEASURES[measure]
        whole = scores[~np.isnan(scores).any(axis=1)]
        return np.asarray(rankdata(whole, axis=1).mean(axis=0)) if len(whole) else np.full(len(self.models), np.nan)

    def table(self, measure: str = "accuracy") -> Table:
        """Return a table with one row per data set and one column per model.

        Parameters
        ----------
        measure : str, default="accuracy"

        Returns
        -------
        Table
        """
        scores = self.scores(measure)
        columns = ([None if np.isnan(v) else float(v) for v in column] for column in scores.T)
        names = {"data set": list(self.datasets), "rows": list(self.n_rows)}
        return Table({**names, **dict(zip(self.models, columns, strict=True))}, keys=2)

    @property
    def means(self) -> Table:
        """Average the measures over the data sets that every model learned, with mean ranks.

        If no data set was learned by every model, each model is averaged over the data sets that it learned.
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
        """Draw the second model against the first as a scatter plot, or bars for one or two data sets.

        Parameters
        ----------
        first, second : str, optional
            Names of the models; by default the first two.
        measure : str, default="accuracy"

        Returns
        -------
        altair.Chart
        """
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
        """Return the printable form: means, accuracy by data set, and pairwise tests."""
        return self.sheet_of("accuracy")

    def sheet_of(self, measure: str) -> Sheet:
        """Return the printable form with the table of a measure by data set.

        Parameters
        ----------
        measure : str

        Returns
        -------
        Sheet
        """
        several = len(self.datasets) > 1
        over = f"{len(self.datasets)} data sets" if several else f"{self.datasets[0]}, {self.n_rows[0]:,} rows"
        parts: list[Any] = ["", _format_scores(self.means, ".4g")]
        if several:
            name = measure.replace("_", " ").capitalize()
            parts += ["", f"{name}:", _format_scores(self.table(measure), ".4f")]
            parts += ["", Items([one.sentence for m in ("accuracy", "log_loss") for one in self.duels(m)])]
        if self.refused:
            parts += ["", Items([f"{r.model} could not learn {r.dataset}: {r.why}" for r in self.refused])]
        return Sheet(f"{len(self.models)} models on {over}, {self.method}", tuple(parts))


def _format_scores(table: Table, form: str) -> Grid:
    return Grid({
        name: [Figure(f"{v:{form}}") if isinstance(v, float) else v for v in table[name]]
        for name in table.column_names
    })  # fmt: skip


DRAWS = 50_000
UNSEEN = 0.5  # data sets that the z_0 = 0 is worth
AT_A_TIME = 1 << 22  # numbers of a part of the draws


@dataclass(frozen=True, repr=False)
class Duel(Readable):
    """Paired comparison of two models over data sets. Differences above 0 favor the first model.

    Attributes
    ----------
    wins, ties, losses : int
        Of the first model.
    median : float
        Median difference.
    p_value : float
        Two-sided Wilcoxon signed-rank test; NaN for fewer than two data sets.
    better, same, worse : float
        Posterior probabilities that the first model is better, practically equal (within ``rope``) or worse;
        NaN for fewer than two data sets.

    Examples
    --------
    >>> from bayeskit.evaluate.compare import duel
    >>> result = duel("a", "b", "accuracy", [0.03, 0.05, -0.02, 0.0, 0.04, 0.06])
    >>> result.wins, result.ties, result.losses
    (4, 1, 1)
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
    def sheet(self) -> Sheet:
        """Return the printable form."""
        return Sheet(self.sentence)

    @property
    def sentence(self) -> str:
        """Describe the comparison in one sentence."""
        by = self.measure.replace("_", " ")
        told = f"{self.first} against {self.second} by {by}: {self.wins} wins, {self.ties} ties, {self.losses} losses"
        if np.isnan(self.p_value):
            return f"{told}."
        chances = f"better with probability {self.better:.2f}, the same {self.same:.2f}, worse {self.worse:.2f}"
        return f"{told}; Wilcoxon p = {self.p_value:.3g}; {chances}."


def duel(first: str, second: str, measure: str, differences: Any, rope: float = 0.01, random_state: int = 0) -> Duel:
    """Compare two models by their differences, one per data set; NaN differences are dropped.

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
    """Return the two-sided p-value of the Wilcoxon signed-rank test; 1 if all differences are 0.

    >>> round(wilcoxon(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), 4)      # 2 / 2⁵
    0.0625
    """
    from scipy.stats import wilcoxon as of_scipy

    z = np.where(np.abs(differences) <= TIE, 0.0, differences)
    return float(of_scipy(z).pvalue) if z.any() else 1.0


def signed_rank_probabilities(
    differences: Floats, rope: float = 0.01, random_state: int = 0, draws: int = DRAWS
) -> tuple[float, float, float]:
    """Return P(first is better), P(practically equal), P(second is better).

    >>> better, same, worse = signed_rank_probabilities(np.full(20, 0.1))
    >>> better > 0.99, worse
    (True, 0.0)
    """
    if not rope >= 0:
        raise BayesError(f"rope={rope!r}: give a number of at least 0")
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
