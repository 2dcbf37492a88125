"""Cross-validation, stratified folds and scores of held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.encoder import encode_labels
from bayeskit.data.frames import label_column
from bayeskit.data.reader import NO_ROWS, WholeTable, read_table
from bayeskit.data.source import OneBatch, Source, as_weights, for_schema, naming_the_file
from bayeskit.data.unseen import without_unseen_warnings
from bayeskit.data.vocabulary import Value, Vocabulary, positions, sort_values
from bayeskit.errors import BayesError, BayesWarning, UndecidableWarning, with_article
from bayeskit.evaluate.evaluation import Evaluation, build_evaluation
from bayeskit.evaluate.metrics import Scoreboard, brier
from bayeskit.inner_model import reader_of
from bayeskit.settings import is_integer
from bayeskit.tolerance import GONE
from bayeskit.typing import Bools, Floats

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class LabeledTable:
    """All rows of a table with class codes into the sorted classes, weights, and codes of groups."""

    table: WholeTable
    codes: Index
    classes: tuple[Value, ...]
    weights: Floats | None
    groups: Index | None = None

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return self.table.n_rows

    def part(self, rows: Index) -> LabeledTable:
        """Select rows; the list of classes stays complete."""
        labels = self.labels(rows)
        table = WholeTable(self.table.take(rows), len(rows), labels, self.table.target)
        weights = None if self.weights is None else self.weights[rows]
        groups = None if self.groups is None else self.groups[rows]
        return LabeledTable(table, self.codes[rows], self.classes, weights, groups)

    def labels(self, rows: Index) -> Any:
        """Return the labels of some rows as they were given."""
        assert self.table.labels is not None
        return self.table.labels.take(rows)

    def fit_arguments(self, model: Any, rows: Index) -> dict[str, Any]:
        """Return weights and groups of some rows as keyword arguments of ``fit``, groups if the model takes them."""
        given: dict[str, Any] = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        if self.groups is not None and "groups" in signature(model.fit).parameters:
            given["groups"] = self.groups[rows]
        return given

    def folds(self, folds: Any, random_state: int) -> list[tuple[Index, Index]]:
        """Return (training rows, test rows) of each stratified fold; the rows of a group stay together."""
        if self.groups is None:
            return stratified_folds(self.codes, check_folds(folds, self.n_rows), random_state)
        from sklearn.model_selection import StratifiedGroupKFold

        folds = check_folds(folds, int(self.groups.max()) + 1, "groups")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=random_state)
            return list(splitter.split(np.zeros(self.n_rows), self.codes, self.groups))


def labeled_table(
    X: Any, y: Any, sample_weight: Any = None, models: Iterable[Any] = (), groups: Any = None
) -> LabeledTable:
    """Read a table, or sequences, as ``models`` read them, with labels, and groups or their column."""
    models = list(models)
    drop = any(getattr(model, "_drops_unlabeled", False) for model in models)
    if readers := [model._read_sequences for model in models if hasattr(model, "_read_sequences")]:
        X, y = readers[0](X, y)
    if isinstance(groups, str):
        of_groups = read_table(X, groups)
        X, groups = of_groups.data, of_groups.labels
    table = read_table(X, y)
    if groups is not None:
        groups = encode_labels(label_column(groups)[0], Vocabulary(), 0, grow=True).astype(np.intp)
        if len(groups) != table.n_rows:
            raise BayesError(f"there are {table.n_rows:,} rows and {len(groups):,} groups: give one for each row")
        if groups.max(initial=0) == 0:
            raise BayesError("all rows are of one group: there is no other to judge a model by")
    if drop:
        groups = table.labeled(groups)[1]
        table, sample_weight = table.labeled(sample_weight)
    if not table.n_rows:
        raise BayesError(NO_ROWS)
    vocabulary = Vocabulary()
    codes = encode_labels(table.labels, vocabulary, 0, grow=True).astype(np.intp)
    classes = tuple(sort_values(vocabulary.values))
    return LabeledTable(
        table, positions(vocabulary.values, classes)[codes], classes, as_weights(sample_weight, table.n_rows), groups
    )


def check_folds(folds: Any, n_rows: int, what: str = "rows") -> int:
    """Validate the number of folds."""
    if not is_integer(folds) or not 2 <= folds <= n_rows:
        raise BayesError(f"folds={folds!r}: give a whole number from 2 to the number of {what} ({n_rows})")
    return int(folds)


def check_repeats(repeats: Any) -> None:
    """Validate the number of repetitions."""
    if not is_integer(repeats) or repeats < 1:
        raise BayesError(f"repeats={repeats!r}: give a whole number of at least 1")


def stratified_folds(codes: Index, folds: int, random_state: int = 0) -> list[tuple[Index, Index]]:
    """Return (training rows, test rows) of each stratified fold, shuffled by ``random_state``.

    >>> [test.tolist() for _, test in stratified_folds(np.array([0, 0, 1, 1]), 2)]
    [[1, 2], [0, 3]]
    """
    if np.bincount(codes).max() < folds:
        return _deal_rows(codes, folds)
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return list(splitter.split(np.zeros(len(codes)), codes))


def _deal_rows(codes: Index, folds: int) -> list[tuple[Index, Index]]:
    """Assign rows to folds class by class, for data in which no class has a row per fold."""
    fold = np.empty(len(codes), dtype=np.intp)
    fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % folds
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(folds)]


@without_unseen_warnings()
def posterior_over(model: Any, X: Any, classes: tuple[Value, ...]) -> tuple[Floats, Floats]:
    """Return (log posteriors over all classes, log evidence); classes unknown to the model get −∞."""
    known = positions(model.classes_.tolist(), classes)
    if hasattr(model, "predict_joint_log_proba") and reader_of(model) is model:
        scores = model.predict_joint_log_proba(X) / getattr(model, "temperature", 1.0)
        log_posterior, evidence = logspace.log_normalize(scores)
        impossible = np.isneginf(evidence)
        if impossible.any():
            log_posterior[impossible] = logspace.log_normalize(model.params_.log_prior[None])[0]
    else:
        log_posterior = log_probabilities(model, X)
        evidence = np.zeros(len(log_posterior))
    whole = np.full((len(log_posterior), len(classes)), -np.inf)
    whole[:, known] = log_posterior
    return whole, evidence


def log_probabilities(model: Any, part: Any) -> Floats:
    """Return ln P(class | x), shape (n_rows, n_classes)."""
    with np.errstate(divide="ignore"):  # the logarithm of 0, which some take themselves
        if hasattr(model, "predict_log_proba"):
            return np.asarray(model.predict_log_proba(part), dtype=np.float64)
        return np.asarray(logspace.log(np.asarray(model.predict_proba(part))))


# NumPy's message when text is passed as a matrix of numbers.
TEXT_IN_NUMBERS = "could not convert string"


class WrappedFitError(BayesError):
    """A wrapped classifier that cannot learn the rows; cross-validation adds the fold."""


def fit_on(model: Any, given: LabeledTable, rows: Index, place: str, part: Any = None) -> Any:
    """Fit a model on some rows of a table; ``part`` holds these rows if they are selected already."""
    part = given.table.take(rows) if part is None else part
    try:
        return model.fit(part, given.labels(rows), **given.fit_arguments(model, rows))
    except (ValueError, TypeError, ArithmeticError) as problem:
        if isinstance(problem, BayesError) and not isinstance(problem, WrappedFitError):
            raise
        raise fit_error(BayesError, model, given, rows, place, problem) from problem


def fit_wrapped(model: Any, rows: Any, labels: Any, sample_weight: Any) -> Any:
    """Fit a wrapped model on rows in the form that was given; raise our own error if it cannot learn them."""
    weighed = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        return model.fit(rows, labels, **weighed)
    except BayesError:
        raise
    except ValueError as problem:
        given = labeled_table(rows, labels, sample_weight)
        raise fit_error(WrappedFitError, model, given, np.arange(given.n_rows), "here", problem) from problem


def fit_error(
    error: type[BayesError], model: Any, given: LabeledTable, rows: Index, place: str, problem: Exception
) -> BayesError:
    """Build the error for a classifier that cannot learn some rows, with a hint."""
    name, learned = classifier_name(model), np.unique(given.codes[rows])
    if len(learned) == 1:
        only = given.classes[int(learned[0])]
        return error(
            f"{name} cannot learn a single class, and {place} every row is of class {only!r}.",
            hint="Add rows of the other classes, drop classes of one row, or use a model that accepts one class, such "
            "as NaiveBayes().",
        )
    text = " ".join(str(problem).split()).removesuffix(".")
    if text.startswith("Expected 2D array"):  # scikit-learn's message shows the rows
        text = "it takes a matrix of numbers, and these rows are columns with names"
    if given.weights is not None and "sample_weight" in text:
        hint = "Omit sample_weight, or use a classifier whose fit accepts it."
    elif TEXT_IN_NUMBERS in text:
        hint = f"Encoded({name}(…)) reads tables with text."
    elif "Negative values" in text:
        hint = "Use a classifier of any numbers, such as GaussianNB()."
    else:
        hint = f"Encoded({name}(…)) converts any table to numbers without missing cells."
    return error(f"{name} cannot learn the rows {place}: {text}.", hint=hint)


def classifier_name(model: Any) -> str:
    """Return the name of a classifier, including the model that it wraps.

    >>> from bayeskit import Encoded
    >>> from sklearn.linear_model import LogisticRegression
    >>> classifier_name(Encoded(LogisticRegression()))
    'Encoded(LogisticRegression)'
    """
    name, inner = type(model).__name__, getattr(model, "model", getattr(model, "classifier", None))
    return f"{name}({classifier_name(inner)})" if hasattr(inner, "fit") else name


def check_probabilities(model: Any) -> None:
    """Raise an error for a model that cannot be fitted, or without ``predict_proba``."""
    if not hasattr(model, "fit"):
        name, hint = type(model).__name__, "give a classifier, such as NaiveBayes()"
        if name == "BayesianNetwork":
            hint = "NetworkClassifier(…) learns a Bayesian network as a classifier, with given arcs or learned ones"
        raise BayesError(
            f"{name} has no fit, which is needed to evaluate it on rows that it has not learned", hint=hint
        )
    if "lengths" in signature(model.fit).parameters:
        raise BayesError(
            f"{type(model).__name__} learns no classes, since fit takes no labels",
            hint="SequenceClassifier(HiddenMarkovModel(…)) classifies sequences",
        )
    if not hasattr(model, "predict_proba"):
        name = type(model).__name__
        raise BayesError(
            f"{name} has no predict_proba, which is needed to evaluate it",
            hint=f"scikit-learn's CalibratedClassifierCV({name}(…)) adds one, and compare(…) works with predict alone",
        )


def cross_validate(
    model: Any,
    X: Any,
    y: Any,
    folds: int = 10,
    sample_weight: Any = None,
    random_state: int = 0,
    groups: Any = None,
) -> Evaluation:
    """Evaluate a model by stratified cross-validation.

    Each row is predicted by a copy of the model that was fitted on the other folds.

    Parameters
    ----------
    model : classifier
        Any classifier with ``fit`` and ``predict_proba``; it is not changed.
    X : table
    y : str or array-like of shape (n_rows,)
        The class column, or the labels.
    folds : int, default=10
    sample_weight : array-like of shape (n_rows,), optional
    random_state : int, default=0
        Seed of the shuffle.
    groups : array-like of shape (n_rows,) or str, optional
        Which rows belong together, such as those of a person, or the name of their column, which is not learned from.
        The rows of a group are in the same fold, and a model whose ``fit`` takes ``groups`` gets them.

    Returns
    -------
    Evaluation
        Its baseline predicts the majority class of the training folds.

    Raises
    ------
    BayesError
        If the model has no ``predict_proba`` or cannot learn the rows of a fold.

    Examples
    --------
    >>> from bayeskit import NaiveBayes, datasets
    >>> birds = datasets.load_penguins()
    >>> found = cross_validate(NaiveBayes(roles={"year": "ignore"}), birds, "species", folds=5)
    >>> found.method, round(found.accuracy, 3), round(found.baseline.accuracy, 3)
    ('5-fold cross-validation', 0.98, 0.442)
    """
    from sklearn.base import clone

    check_probabilities(model)
    given = labeled_table(X, y, sample_weight, [model], groups)
    table, codes, classes, weights = given.table, given.codes, given.classes, given.weights
    splits = given.folds(folds, random_state)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    probabilities = np.zeros((given.n_rows, len(classes)))
    n_undecidable = 0
    for i, (train, test) in enumerate(splits, 1):
        w = None if weights is None else weights[train]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesWarning)  # what is worth knowing of a fold stands in the record
            fitted = fit_on(clone(model), given, train, f"without fold {i} of {folds}")
            log_posterior, evidence = posterior_over(fitted, table.take(test), classes)
            with without_unseen_warnings():
                chosen = positions(fitted.predict(table.take(test)).tolist(), classes)
        n_undecidable += int(np.isneginf(evidence).sum())
        probabilities[test] = logspace.exp(log_posterior)
        counts = np.bincount(codes[train], w, minlength=len(classes)).astype(np.float64)
        truth = np.arange(len(test)), codes[test]
        lost = counts[codes[test]] == 0
        tested = None if weights is None else weights[test]
        board.add(codes[test], chosen, log_posterior[truth], brier(probabilities[test], codes[test]), tested, lost)
        baseline.add_shares(counts / counts.sum(), codes[test], tested, lost)
    method = f"{folds}-fold cross-validation" + (" by groups" if given.groups is not None else "")
    return build_evaluation(
        method, table.target, classes, board, baseline, probabilities, n_undecidable, truth=codes, weights=weights
    )


SAME = "These are the rows that the model learned: each is predicted by the model without it."
SAME_COUNTS = (
    "The counts are those of the training rows, so each row is predicted by the model without it. The model keeps no "
    "rows to compare with: if these rows are new, use held-out."
)
OTHER = "These are not the rows that the model learned: they are scored as they are."
SHARED = (
    "They are scored as they are, but about {:,} of the {:,} rows that the model learned are among them: the scores "
    "are too good. Leave these rows out, or use leave-one-out if all were learned."
)
NESTED = (
    "They are scored as they are. By the counts, {} may be among {}: if so, the scores are too good. Use leave-one-out "
    "for learned rows."
)


def evaluate_rows(
    model: Any, source: Source, method: str = "auto", held_out: Callable[[Any, Source], Evaluation] | None = None
) -> Evaluation:
    """Evaluate a fitted model on labeled rows, by leave-one-out if they are those that it learned.

    ``held_out`` evaluates rows that are read elsewhere.
    """
    if method not in ("auto", "leave-one-out", "held-out"):
        raise BayesError(f'method={method!r}: give "auto", "leave-one-out" or "held-out"')
    remark = ""
    if method == "auto":
        remark, overlaps = _compare_with_learned(model, source)
        method = "leave-one-out" if remark in (SAME, SAME_COUNTS, "") else "held-out"
        if overlaps:
            warnings.warn(BayesWarning(remark), stacklevel=3)
    if method == "held-out":
        if not hasattr(reader_of(model), "tally_"):
            raise BayesError("EM of words keeps no counts to set beside: cross-validate it")
        return replace((held_out or evaluate_test_set)(model, source), remark=remark)
    if held_out is not None:
        learned = ", and these are the rows that the model learned" if remark else ""
        raise BayesError(
            f"leave-one-out reads the rows on this machine{learned}",
            hint="pass method='held-out' to score them as they are, or rows that this machine can read",
        )
    if not hasattr(model, "leave_one_out"):
        learned = "these are the rows that it learned" if remark else "its counts do not tell whether it learned them"
        raise BayesError(
            f"{with_article(type(model).__name__)} has no leave-one-out in closed form, and {learned}",
            hint="use cross_validate(…, folds=10), or method='held-out' if the rows are new to the model",
        )
    return replace(model.leave_one_out(source, None), remark=remark)


def _compare_with_learned(model: Any, source: Source) -> tuple[str, bool]:
    """Return how the rows relate to those that the model learned, and True if some are learned and others not.

    The hashes of both decide, if they are known. Otherwise equal counts mean equal rows, and rows whose counts are a
    part of the others may be learned. The relation is "" if the model has no counts to compare.
    """
    can_remove = hasattr(model, "forget") or hasattr(model, "leave_one_out")
    if not can_remove or not hasattr(model, "_count_more"):
        return "", False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)
        rows, learned = model._count_more(model._with_labels(source)), model._model_tally()
    if rows.row_hash is not None and learned.row_hash is not None:
        if learned.row_hash.matches(rows.row_hash):
            return SAME, False
        n_shared = learned.row_hash.n_shared(rows.row_hash)
        return (SHARED.format(n_shared, learned.row_hash.n_rows), True) if n_shared else (OTHER, False)
    for more, less, words in (
        (learned, rows, ("these rows", "those that the model learned")),
        (rows, learned, ("the rows that the model learned", "these")),
    ):
        try:
            rest = (more - less).n_rows
        except BayesError:
            continue
        return SAME_COUNTS if rest <= GONE * more.n_rows else NESTED.format(*words), False
    return OTHER, False


def evaluate_test_set(model: Any, source: Source) -> Evaluation:
    """Evaluate a fitted model on labeled rows that it has not learned.

    A row of a class unknown to the model counts as wrong and in ``n_lost``. The baseline predicts the majority class of
    the training rows.

    >>> from bayeskit import NaiveBayes, datasets
    >>> from bayeskit.data.frames import open_source
    >>> days = datasets.load_worked_example("tennis")
    >>> model = NaiveBayes().fit(days.slice(0, 10), "play")
    >>> found = evaluate_test_set(model, open_source(days.slice(10), "play"))
    >>> found.method, found.n_rows, found.accuracy
    ('held-out rows', 4, 0.75)
    """
    found = predict_held_out(model, source)
    return evaluate_predictions(
        "held-out rows",
        reader_of(model).schema_.target.name,
        tuple(model.classes_.tolist()),
        learned_shares(model),
        found.true,
        found.log_posterior,
        found.predicted,
        n_undecidable=int(found.impossible.sum()),
        weights=found.weights,
    )


def learned_shares(model: Any) -> Floats:
    """Return the frequencies of the classes in training, which the baseline predicts."""
    counts = reader_of(model).tally_.class_counts
    return np.asarray(counts / counts.sum(), dtype=np.float64)


class HeldOut(NamedTuple):
    """Predictions of labeled rows: log posteriors have shape (n_rows, n_classes)."""

    true: list[Value]
    log_posterior: Floats
    predicted: list[Value]
    impossible: Bools
    weights: Floats | None


def predict_held_out(model: Any, source: Source) -> HeldOut:
    """Predict labeled rows that a fitted model has not learned; rows impossible under every class have its prior."""
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
            with without_unseen_warnings():
                chosen.append(model.predict(rows).tolist())
    if not labels:
        raise BayesError("there are no rows to score")
    log_posterior, evidence = logspace.log_normalize(np.concatenate(scores))
    impossible = np.isneginf(evidence)
    log_posterior[impossible] = logspace.log_normalize(reads.params_.log_prior[None])[0]
    true = [vocabulary.values[code] for code in np.concatenate(labels).tolist()]
    weights = np.concatenate(weighing) if is_weighed else None
    return HeldOut(true, log_posterior, [label for part in chosen for label in part], impossible, weights)


def evaluate_predictions(
    method: str,
    target: str,
    known: Sequence[Value],
    shares: Floats,
    true: Sequence[Value],
    log_posterior: Floats,
    said: Sequence[Value],
    *,
    n_undecidable: int = 0,
    weights: Floats | None = None,
) -> Evaluation:
    """Build the evaluation of predictions: predicted classes and log posteriors (n_rows, n_known_classes).

    ``shares`` are the training frequencies of the known classes, used by the baseline. A true class that is not known
    counts as wrong and in ``n_lost``.
    """
    classes = tuple(sort_values(dict.fromkeys([*known, *true])))
    learned, codes = positions(known, classes), positions(true, classes)
    log_proba = np.full((len(log_posterior), len(classes)), -np.inf)
    log_proba[:, learned] = log_posterior
    lost = ~np.isin(codes, learned)
    proba = logspace.exp(log_proba)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    log_true = log_proba[np.arange(len(codes)), codes]
    board.add(codes, positions(said, classes), log_true, brier(proba, codes), weights, lost)
    share = np.zeros(len(classes))
    share[learned] = shares
    baseline.add_shares(share, codes, weights, lost)
    return build_evaluation(
        method, target, classes, board, baseline, proba, n_undecidable, truth=codes, weights=weights
    )


def evaluate_sums(
    model: Any,
    true: Sequence[Value],
    predicted: Sequence[Value],
    weights: Floats,
    log_true: Floats,
    squares: Floats,
    *,
    n_undecidable: int,
    n_clipped: int,
) -> Evaluation:
    """Build the evaluation of held-out rows from sums over the rows of each true and predicted class.

    ``weights``, ``log_true`` and ``squares`` are Σ w, Σ w ln P(true class) and Σ w · Brier score, (n_groups,). The
    record has no probabilities of single rows.
    """
    known = tuple(model.classes_.tolist())
    classes = tuple(sort_values(dict.fromkeys([*known, *true])))
    learned, codes = positions(known, classes), positions(true, classes)
    lost = ~np.isin(codes, learned)
    board, baseline = Scoreboard(len(classes)), Scoreboard(len(classes))
    each = np.where(weights > 0, weights, 1.0)
    board.add(codes, positions(predicted, classes), log_true / each, squares / each, weights, lost)
    board.clipped = n_clipped
    share = np.zeros(len(classes))
    share[learned] = learned_shares(model)
    baseline.add_shares(share, codes, weights, lost)
    target, nothing = reader_of(model).schema_.target.name, np.zeros((0, len(classes)))
    return build_evaluation("held-out rows", target, classes, board, baseline, nothing, n_undecidable)
