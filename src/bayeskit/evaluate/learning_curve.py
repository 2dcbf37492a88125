"""Learning curves: scores as a function of the number of training rows, and of the size of a vocabulary."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any, Literal

import numpy as np

from bayeskit.data.reader import read_table
from bayeskit.data.unseen import without_unseen_warnings
from bayeskit.drawable import Drawable, draw
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.information import information_gain
from bayeskit.evaluate import cross_validation as cv
from bayeskit.evaluate.cross_validation import Index, LabeledTable
from bayeskit.evaluate.metrics import log_loss
from bayeskit.settings import is_integer
from bayeskit.tables import Readable, Sheet, Table
from bayeskit.typing import Array, Floats, Ints

MEASURES = ("accuracy", "log_loss")


@dataclass(frozen=True, repr=False)
class LearningCurve(Readable, Drawable):
    """Scores on test rows by number of training rows.

    Attributes
    ----------
    models : tuple of str
    sizes : tuple of int
        Numbers of training rows.
    accuracy, log_loss : ndarray of shape (n_models, n_sizes, n_repeats)
    test_rows : int
    added : tuple of str
        Models that were updated with the additional rows of each size instead of being refitted.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets, learning_curve
    >>> penguins = datasets.load_penguins().drop_columns(["year"])
    >>> curve = learning_curve(NaiveBayes(), penguins, "species", sizes=[20, 200], repeats=3)
    >>> curve.means().shape, curve.spreads("log_loss").shape
    ((1, 2), (1, 2))
    """

    models: tuple[str, ...]
    sizes: tuple[int, ...]
    accuracy: Floats = field(compare=False)
    log_loss: Floats = field(compare=False)
    test_rows: int
    added: tuple[str, ...] = ()

    def means(self, measure: str = "accuracy") -> Floats:
        """Return the means over the repeats.

        Parameters
        ----------
        measure : {"accuracy", "log_loss"}, default="accuracy"

        Returns
        -------
        ndarray of shape (n_models, n_sizes)
        """
        return self._scores(measure).mean(axis=2)

    def spreads(self, measure: str = "accuracy") -> Floats:
        """Return the standard deviations over the repeats.

        Parameters
        ----------
        measure : {"accuracy", "log_loss"}, default="accuracy"

        Returns
        -------
        ndarray of shape (n_models, n_sizes)
        """
        return self._scores(measure).std(axis=2)

    def _scores(self, measure: str) -> Floats:
        if measure not in MEASURES:
            raise BayesError(f"measure={measure!r}: it is one of {', '.join(MEASURES)}")
        return np.asarray(getattr(self, measure))

    @property
    def table(self) -> Table:
        """Return a table with one row per model and size."""
        named = {"model": [name for name in self.models for _ in self.sizes]} if len(self.models) > 1 else {}
        columns: dict[str, Any] = {**named, "rows": [*self.sizes] * len(self.models)}
        for measure in MEASURES:
            columns[measure.replace("_", " ")] = self.means(measure).ravel().tolist()
            if self.accuracy.shape[2] > 1:
                spread = "spread" if measure == "accuracy" else "spread of log loss"
                columns[spread] = self.spreads(measure).ravel().tolist()
        return Table(columns, keys=1 + len(named))

    def __getitem__(self, name: str) -> list[Any]:
        """Return a column of the table."""
        return self.table[name]

    def chart(self, measure: Literal["accuracy", "log_loss"] = "accuracy") -> Any:
        """Draw a line for each model with a band of one standard deviation.

        Parameters
        ----------
        measure : {"accuracy", "log_loss"}, default="accuracy"

        Returns
        -------
        altair.Chart
        """
        return draw(self, measure=measure)

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        repeats = self.accuracy.shape[2]
        often = "" if repeats == 1 else f", {repeats} times"
        return Sheet(f"Scores on {self.test_rows:,} rows by training size{often}", (self.table.grid,))


def learning_curve(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 1,
    random_state: int = 0,
) -> LearningCurve:
    """Score models on test rows by number of training rows.

    Training sets are nested: each draw contains the smaller ones. Models that are functions of their counts are updated
    with the additional rows, all others are refitted.

    Parameters
    ----------
    model : classifier or mapping of str to classifier
    X : table
    y : str or array-like of shape (n_rows,)
    X_test, y_test : table and labels, optional
        By default a stratified third of the rows is held out.
    sizes : sequence of int, optional
        By default doublings up to all rows.
    repeats : int, default=1
        Number of draws of the training sets.
    random_state : int, default=0

    Returns
    -------
    LearningCurve
        Its log loss clips probabilities at 1e-15.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets
    >>> birds = datasets.load_penguins().drop_columns(["year"])
    >>> curve = learning_curve(NaiveBayes(numeric="gaussian"), birds, "species", sizes=[6, 20, 200])
    >>> curve["rows"], [round(a, 2) for a in curve["accuracy"]], curve.added
    ([6, 20, 200], [0.63, 0.96, 0.97], ('NaiveBayes',))
    """
    models = dict(model) if isinstance(model, Mapping) else {type(model).__name__: model}
    learning, test = cv.labeled_table(X, y, models=models.values()), None
    if not models:
        raise BayesError("there is no model to learn")
    for one in models.values():
        cv.check_probabilities(one)
    if X_test is None:
        if learning.n_rows < 2:
            raise BayesError("one row cannot be learned and tested: give more rows, or X_test and y_test")
        train, held = cv.stratified_folds(learning.codes, min(3, learning.n_rows), random_state)[0]
        test, learning = learning.part(held), learning.part(train)
    else:
        test = cv.labeled_table(X_test, y_test, models=models.values())
    sizes = _sizes(sizes, learning.n_rows)
    cv.check_repeats(repeats)
    scores = np.zeros((2, len(models), len(sizes), repeats))
    rng = np.random.default_rng(random_state)
    added: dict[str, bool] = {}
    for r in range(repeats):
        order = rng.permutation(learning.n_rows)
        for m, (name, one) in enumerate(models.items()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", BayesWarning)  # the first few rows are no reason for advice
                added[name] = _learn(one, learning, order, sizes, test, scores[:, m, :, r])
    grown = tuple(name for name, by_adding in added.items() if by_adding and len(sizes) > 1)
    return LearningCurve(tuple(models), tuple(sizes), scores[0], scores[1], test.n_rows, grown)


def _learn(
    model: Any, learning: LabeledTable, order: Index, sizes: Sequence[int], test: LabeledTable, scores: Floats
) -> bool:
    """Fill the scores (n_measures, n_sizes) of one order of the rows; return True if counts were added."""
    from sklearn.base import clone

    fitted: Any = None
    adds, start = True, 0
    for i, size in enumerate(sizes):
        if fitted is not None and adds:
            more = order[start:size]
            fitted.partial_fit(learning.table.take(more), learning.labels(more))
        else:
            fitted = cv.fit_on(clone(model), learning, order[:size], f"among the first {size}")
            adds = hasattr(fitted, "partial_fit") and hasattr(fitted, "_is_its_counts") and fitted._is_its_counts()
        start = size
        classes = test.classes + tuple(label for label in fitted.classes_.tolist() if label not in test.classes)
        log_posterior, _ = cv.posterior_over(fitted, test.table.data, classes)
        log_true = log_posterior[np.arange(test.n_rows), test.codes]
        truth = np.array(test.table.listed_labels().tolist(), dtype=object)
        with without_unseen_warnings():
            scores[0, i] = np.mean(np.asarray(fitted.predict(test.table.data), dtype=object) == truth)
        scores[1, i] = log_loss(log_true)
    return adds


def doubling_sizes(first: int, most: int) -> list[int]:
    """Return doublings of a number of rows below the largest, and the largest.

    >>> doubling_sizes(16, 100)
    [16, 32, 64, 100]
    """
    return [*takewhile(lambda n: n < most, (first << k for k in count())), most]


def _sizes(sizes: Iterable[int] | None, most: int, first: int = 16, least: int = 1) -> list[int]:
    """Return the given numbers of training rows in order, or doublings of the first."""
    if sizes is None:
        return doubling_sizes(first, most)
    sizes = list(sizes)
    for n in sizes:
        if not is_integer(n):
            raise BayesError(f"sizes: {n!r} is not a whole number of rows")
    wanted = sorted({int(n) for n in sizes})
    if not wanted or wanted[0] < least or wanted[-1] > most:
        reach = f"from {wanted[0]} to {wanted[-1]}" if wanted else "nowhere"
        raise BayesError(f"sizes reach {reach}: give numbers from {least} up to the {most} training rows")
    return wanted


def vocabulary_curve(models: Mapping[str, Any], X_test: Any, y_test: Any, sizes: Sequence[int]) -> Table:
    """Score fitted text classifiers with vocabularies of decreasing size.

    Words are ranked by information gain on the training documents (McCallum and Nigam, 1998). Models are rebuilt from
    their counts; only the test documents are read.
    """
    test = read_table(X_test, y_test)
    truth = test.listed_labels()
    columns: dict[str, list[Any]] = {"words": list(sizes)}
    for name, model in models.items():
        counted = model.counted_
        gain = information_gain(counted.table("documents"), model.tally_.class_counts)
        rank = np.argsort(np.argsort(-gain, kind="stable"))
        predicted = (np.asarray(model._with_words(rank < n).predict(test.data), dtype=object) for n in sizes)
        columns[name] = [float(np.mean(labels == truth)) for labels in predicted]
    return Table(columns)


def generative_vs_discriminative(
    X: Any,
    y: Any,
    sizes: Iterable[int] | None = None,
    repeats: int = 10,
    test_size: float = 0.3,
    models: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> list[dict[str, Any]]:
    """Compare naive Bayes and logistic regression by training size, on held-out rows.

    Naive Bayes reaches its asymptotic error with few rows. Logistic regression needs more rows and has a lower or equal
    asymptotic error (Ng and Jordan, 2002).

    Training sets are stratified and nested within a repeat, so that all sizes and models see the same rows.

    Parameters
    ----------
    X : table
    y : str or array-like of shape (n_rows,)
    sizes : sequence of int, optional
        Numbers of training rows; by default doublings from 4 rows per class.
    repeats : int, default=10
    test_size : float, default=0.3
    models : mapping of str to classifier, optional
    random_state : int, default=0

    Returns
    -------
    list of dict
        With ``model``, ``rows``, ``error``, ``error_se`` (over the repeats), ``log_loss`` and ``repeats``.

    Examples
    --------
    >>> from bayeskit import datasets
    >>> penguins = datasets.load_penguins().drop_columns(["year"])
    >>> records = generative_vs_discriminative(penguins, "species", sizes=[12], repeats=1)
    >>> [(record["model"], record["rows"]) for record in records]
    [('naive Bayes', 12), ('logistic regression', 12)]
    """
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    given = cv.labeled_table(X, y)
    table, labels = given.table, np.array(given.table.listed_labels().tolist())
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2 or counts.min() < 4:
        raise BayesError(f"the comparison needs two classes of at least 4 rows each; counts are {counts.tolist()}")
    if models is None:
        import bayeskit  # by their public names: the models stand above this module

        models = {
            "naive Bayes": bayeskit.NaiveBayes(numeric="gaussian"),
            "logistic regression": bayeskit.LogisticRegression(),
        }
    losses: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for repeat in range(repeats):
        learn, test = train_test_split(
            np.arange(len(labels)), test_size=test_size, stratify=labels, random_state=random_state + repeat
        )
        order = _interleave(labels[learn], np.random.default_rng(random_state + repeat))
        for n in _sizes(sizes, len(learn), 4 * len(classes), 2 * len(classes)):
            rows = learn[order[:n]]
            part, rest = table.take(rows), table.take(test)
            for name, model in models.items():
                fitted = cv.fit_on(clone(model), given, rows, f"among the first {n}", part)
                losses.setdefault((name, n), []).append(_evaluate(fitted, rest, labels[test]))
    return [_record(name, n, pairs) for (name, n), pairs in sorted(losses.items(), key=lambda item: item[0][1])]


def _interleave(labels: Array, rng: np.random.Generator) -> Ints:
    """Order rows so that every prefix has about the class shares of all rows."""
    at = np.empty(len(labels))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        at[rng.permutation(rows)] = (np.arange(len(rows)) + 0.5) / len(rows)
    return np.argsort(at, kind="stable")


@without_unseen_warnings()
def _evaluate(model: Any, X: Any, labels: Array) -> tuple[float, float]:
    """Return (error, log loss); classes that were not in training have probability 1e-15."""
    is_true = labels[:, None] == np.asarray(model.classes_)
    log_true = np.where(is_true, cv.log_probabilities(model, X), 0.0).sum(axis=1)
    log_true[~is_true.any(axis=1)] = -np.inf
    return float((model.predict(X) != labels).mean()), log_loss(log_true)


def _record(name: str, n: int, pairs: list[tuple[float, float]]) -> dict[str, Any]:
    errors, losses = np.array(pairs).T
    spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else float("nan")
    measures = {"error": float(errors.mean()), "error_se": spread, "log_loss": float(losses.mean())}
    return {"model": name, "rows": n, **measures, "repeats": len(pairs)}
