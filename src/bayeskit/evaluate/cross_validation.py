"""Score a model on held-out rows: folds, cross-validation and held-out scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.encoder import encode_labels
from bayeskit.data.reader import NO_ROWS, WholeTable, read_table
from bayeskit.data.source import OneBatch, Source, as_weights, for_schema, naming_the_file
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, BayesWarning, UndecidableWarning
from bayeskit.evaluate.evaluation import Evaluation, finished
from bayeskit.evaluate.metrics import Scoreboard, brier
from bayeskit.remedy import OtherModel, Setting
from bayeskit.typing import Floats

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class LabelledTable:
    """All rows of a table, the class of each as its place among the sorted classes, and their weights."""

    table: WholeTable
    codes: Index
    classes: tuple[Value, ...]
    weights: Floats | None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.table.n_rows

    def part(self, rows: Index) -> LabelledTable:
        """Some of the rows; the classes stay all of them."""
        labels = self.labels(rows)
        table = WholeTable(self.table.take(rows), len(rows), labels, self.table.target)
        return LabelledTable(
            table, self.codes[rows], self.classes, None if self.weights is None else self.weights[rows]
        )

    def labels(self, rows: Index) -> Any:
        """The labels of some rows as they were given."""
        assert self.table.labels is not None
        return self.table.labels.take(rows)

    def weighed(self, rows: Index) -> dict[str, Any]:
        """The weights of some rows as an argument of ``fit``; nothing where there are none."""
        return {} if self.weights is None else {"sample_weight": self.weights[rows]}


def labelled_table(X: Any, y: Any, sample_weight: Any = None, drop: bool = False) -> LabelledTable:
    """A table with its classes in order; with ``drop``, rows without a label are left out."""
    table = read_table(X, y)
    if drop:
        table, sample_weight = table.labelled(sample_weight)
    if not table.n_rows:
        raise BayesError(NO_ROWS)
    vocabulary = Vocabulary()
    codes = encode_labels(table.labels, vocabulary, 0, grow=True).astype(np.intp)
    classes = tuple(sort_values(vocabulary.values))
    return LabelledTable(
        table, positions(vocabulary.values, classes)[codes], classes, as_weights(sample_weight, table.n_rows)
    )


def check_folds(folds: Any, n_rows: int) -> int:
    """The number of folds, where there are as many rows."""
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or not 2 <= folds <= n_rows:
        raise BayesError(
            Setting.given("folds", folds), f": give a whole number from 2 to the number of rows ({n_rows})"
        )
    return int(folds)


def stratified_folds(codes: Index, folds: int, random_state: int = 0) -> list[tuple[Index, Index]]:
    """(rows to learn, rows to test) of each fold: the classes in equal shares, shuffled by ``random_state``.

    >>> [test.tolist() for _, test in stratified_folds(np.array([0, 0, 1, 1]), 2)]
    [[1, 2], [0, 3]]
    """
    if np.bincount(codes).max() < folds:
        return _dealt(codes, folds)
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(np.zeros(len(codes)), codes))


def _dealt(codes: Index, folds: int) -> list[tuple[Index, Index]]:
    """Folds where no class has a row for each: the rows by class, dealt out in turn."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % folds
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]


def posterior_over(model: Any, X: Any, classes: tuple[Value, ...]) -> tuple[Floats, Floats]:
    """(ln P(class) over all classes, evidence): a class that the model has not learnt has −∞."""
    known = positions(model.classes_.tolist(), classes)
    if hasattr(model, "predict_joint_log_proba") and reader_of(model) is model:
        scores = model.predict_joint_log_proba(X) / getattr(model, "temperature", 1.0)
        log_posterior, evidence = logspace.log_normalise(scores)
        impossible = np.isneginf(evidence)
        if impossible.any():
            log_posterior[impossible] = logspace.log_normalise(model.params_.log_prior[None])[0]
    else:
        log_posterior = log_probabilities(model, X)
        evidence = np.zeros(len(log_posterior))
    whole = np.full((len(log_posterior), len(classes)), -np.inf)
    whole[:, known] = log_posterior
    return whole, evidence


def log_probabilities(model: Any, part: Any) -> Floats:
    """ln P(class | x) of some rows (rows, classes): as the model says it, or of its probabilities where it cannot."""
    with np.errstate(divide="ignore"):  # the logarithm of 0, which some take themselves
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(part), dtype=np.float64)
        return np.asarray(logspace.log(np.asarray(model.predict_proba(part))))


HERE = "here"  # among all rows of a fit
TEXT_IN_NUMBERS = "could not convert string"  # of NumPy, where a matrix of numbers is asked for


def fitted_on(model: Any, given: LabelledTable, rows: Index, place: str, part: Any = None) -> Any:
    """The model, which learns these rows of a table; ``part`` are they, where they are taken already."""
    part = given.table.take(rows) if part is None else part
    try:
        return model.fit(part, given.labels(rows), **given.weighed(rows))
    except BayesError as problem:
        if problem.place != HERE:
            raise
        raise refusal(model, given, rows, place, problem) from problem
    except (ValueError, TypeError, ArithmeticError) as problem:
        raise refusal(model, given, rows, place, problem) from problem


def fit_wrapped(model: Any, rows: Any, labels: Any, sample_weight: Any) -> Any:
    """The model, which learns rows in the form that it was given; one class alone is refused in our words."""
    weighed = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        return model.fit(rows, labels, **weighed)
    except BayesError:
        raise
    except ValueError as problem:
        given = labelled_table(rows, labels, sample_weight)
        if len(given.classes) > 1:
            raise
        raise refusal(model, given, np.arange(given.n_rows), HERE, problem) from problem


def refusal(model: Any, given: LabelledTable, rows: Index, place: str, problem: Exception) -> BayesError:
    """What a classifier says of rows that it does not take, with the place and what helps."""
    name, learnt = name_of(model), np.unique(given.codes[rows])
    if len(learnt) == 1:
        only = given.classes[int(learnt[0])]
        return BayesError(
            f"{name} does not learn one class alone, and {place} every row is of class {only!r}. Give each other class "
            "more rows, leave out those of one row, or take a model that learns one class, such as ",
            OtherModel("NaiveBayes"),
            ".",
            culprit=only,
            place=place,
        )
    text = " ".join(str(problem).split()).removesuffix(".")
    if given.weights is not None and "sample_weight" in text:
        remedy = "Leave sample_weight out, or take a classifier whose fit takes it"
    elif TEXT_IN_NUMBERS in text:
        remedy = f"Encoded({name}(…)) reads tables with text"
    else:
        remedy = f"Encoded({name}(…)) makes numbers of any table, without gaps"
    return BayesError(f"{name} does not learn the rows {place}: {text}. {remedy}.", culprit=name, place=place)


def name_of(model: Any) -> str:
    """The name of a classifier, or of the one that a wrapper of ours has around it.

    >>> from bayeskit import Encoded
    >>> from sklearn.linear_model import LogisticRegression
    >>> name_of(Encoded(LogisticRegression()))
    'Encoded(LogisticRegression)'
    """
    name, inner = type(model).__name__, getattr(model, "model", getattr(model, "classifier", None))
    return f"{name}({name_of(inner)})" if hasattr(inner, "fit") else name


def check_probabilities(model: Any) -> None:
    """Refuse a model that has no ``predict_proba``."""
    if not hasattr(model, "predict_proba"):
        name = type(model).__name__
        raise BayesError(
            f"{name} has no predict_proba, by which it is judged: compare(…) takes classes alone for certain, and "
            f"scikit-learn's CalibratedClassifierCV({name}(…)) gives it one",
            culprit=name,
        )


def cross_validate(
    model: Any, X: Any, y: Any, folds: int = 10, sample_weight: Any = None, random_state: int = 0
) -> Evaluation:
    """The record of rows each predicted by a copy of the model fitted on the other folds.

    Folds hold the classes in equal shares, shuffled by ``random_state``. ``model`` is any classifier with ``fit``
    and ``predict_proba``; it is not changed. The baseline is the majority class of the other folds.

    >>> from bayeskit import NaiveBayes, datasets
    >>> birds = datasets.load_penguins()
    >>> found = cross_validate(NaiveBayes(roles={"year": "ignore"}), birds, "species", folds=5)
    >>> found.method, round(found.accuracy, 3), round(found.baseline.accuracy, 3)
    ('5-fold cross-validation', 0.98, 0.442)
    """
    from sklearn.base import clone

    check_probabilities(model)
    if hasattr(model, "_read_sequences"):
        X, y = model._read_sequences(X, y)
    given = labelled_table(X, y, sample_weight, getattr(model, "_drops_unlabelled", False))
    table, codes, classes, weights = given.table, given.codes, given.classes, given.weights
    folds = check_folds(folds, given.n_rows)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    probabilities = np.zeros((given.n_rows, len(classes)))
    n_undecidable = 0
    for i, (train, test) in enumerate(stratified_folds(codes, folds, random_state), 1):
        w = None if weights is None else weights[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)  # what is worth knowing of a fold stands in the record
            fitted = fitted_on(clone(model), given, train, f"without fold {i} of {folds}")
            log_posterior, evidence = posterior_over(fitted, table.take(test), classes)
            chosen = positions(fitted.predict(table.take(test)).tolist(), classes)
        n_undecidable += int(np.isneginf(evidence).sum())
        probabilities[test] = logspace.exp(log_posterior)
        counts = np.bincount(codes[train], w, minlength=len(classes)).astype(np.float64)
        truth = np.arange(len(test)), codes[test]
        lost = counts[codes[test]] == 0
        tested = None if weights is None else weights[test]
        board.add(codes[test], chosen, log_posterior[truth], brier(probabilities[test], codes[test]), tested, lost)
        share = np.tile(counts / counts.sum(), (len(test), 1))
        guess, true = share.argmax(axis=1), logspace.log(share[truth])
        baseline.add(codes[test], guess, true, brier(share, codes[test]), tested, lost)
    method = f"{folds}-fold cross-validation"
    rows = (probabilities, n_undecidable, (), codes, weights)
    return finished(method, table.target, classes, board, baseline, *rows)


def held_out(model: Any, source: Source) -> Evaluation:
    """The record of labelled rows, predicted by a fitted model that does not know them.

    A row of a class that the model has never seen counts as wrong, and apart. The baseline is the majority class
    of the model's own rows.

    >>> from bayeskit import NaiveBayes, datasets
    >>> from bayeskit.data.source import open_source
    >>> days = datasets.load_worked_example("tennis")
    >>> model = NaiveBayes().fit(days.slice(0, 10), "play")
    >>> found = held_out(model, open_source(days.slice(10), "play"))
    >>> found.method, found.n_rows, found.accuracy
    ('held-out rows', 4, 0.75)
    """
    reads = reader_of(model)
    known = tuple(model.classes_.tolist())
    vocabulary = Vocabulary(known)
    values = {name: words.values for name, words in reads._encoder().vocabularies.items()}
    labels, scores, chosen, weighing = [], [], [], []
    is_weighed = False
    source = model._with_labels(source) if hasattr(model, "_with_labels") else source
    source = reads._with_all_columns(source) if hasattr(reads, "_with_all_columns") else source
    for batch in for_schema(source, reads.schema_, values, known).batches():
        if batch.labels is None:
            raise BayesError("rows without labels cannot be scored: name the column that holds the class")
        with naming_the_file(source):
            labels.append(encode_labels(batch.labels, vocabulary, batch.start, grow=True).astype(np.intp))
        weighing.append(np.ones(batch.n_rows) if batch.weights is None else batch.weights)
        is_weighed |= batch.weights is not None
        rows = OneBatch(source.kinds, batch, getattr(source, "here", None))
        joint = model is reads and hasattr(model, "predict_joint_log_proba")  # a model may know P(class | x) alone
        scores.append(model._tempered(model.predict_joint_log_proba(rows)) if joint else model.predict_log_proba(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndecidableWarning)  # the record tells of such rows
            chosen.append(model.predict(rows).tolist())
    if not labels:
        raise BayesError("there are no rows to score")
    log_posterior, evidence = logspace.log_normalise(np.concatenate(scores))
    impossible = np.isneginf(evidence)
    log_posterior[impossible] = logspace.log_normalise(reads.params_.log_prior[None])[0]
    true = [vocabulary.values[code] for code in np.concatenate(labels).tolist()]
    said = [label for part in chosen for label in part]
    shares = reads.tally_.class_counts / reads.tally_.class_counts.sum()
    target = reads.schema_.target.name
    weights = np.concatenate(weighing) if is_weighed else None
    undecidable = int(impossible.sum())
    return judged("held-out rows", target, known, shares, true, log_posterior, said, undecidable, weights)


def judged(
    method: str,
    target: str,
    known: Sequence[Value],
    shares: Floats,
    true: Sequence[Value],
    log_posterior: Floats,
    said: Sequence[Value],
    n_undecidable: int = 0,
    weights: Floats | None = None,
) -> Evaluation:
    """The record of answers beside the truth: classes that were said, and ln P (rows, known classes) of each.

    ``shares`` are those of the known classes in training, by which the majority is said. A truth that is no known class
    counts as wrong, and apart.
    """
    classes = tuple(sort_values(dict.fromkeys([*known, *true])))
    learnt, codes = positions(known, classes), positions(true, classes)
    log_proba = np.full((len(log_posterior), len(classes)), -np.inf)
    log_proba[:, learnt] = log_posterior
    lost = ~np.isin(codes, learnt)
    proba = logspace.exp(log_proba)
    each = np.arange(len(codes))
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    log_true = np.where(lost, 0.0, log_proba[each, codes])
    board.add(codes, positions(said, classes), log_true, brier(proba, codes), weights, lost)
    share = np.zeros(len(classes))
    share[learnt] = shares
    of_majority = np.tile(share, (len(codes), 1))
    share_true = np.where(lost, 0.0, logspace.log(of_majority)[each, codes])
    baseline.add(codes, of_majority.argmax(axis=1), share_true, brier(of_majority, codes), weights, lost)
    return finished(method, target, classes, board, baseline, proba, n_undecidable, truth=codes, weights=weights)


def reader_of(model: Any) -> Any:
    """The innermost model, which knows the columns; None where rows are a matrix without names.

    >>> from bayeskit import CostSensitive
    >>> type(reader_of(CostSensitive().fit({"x": ["a", "b"]}, [0, 1]))).__name__
    'NaiveBayes'
    """
    while hasattr(model, "_reads_by"):
        model = model._reads_by()
    return model
