"""Semi-supervised learning from labeled and unlabeled rows by EM.

Tables: the expected counts of all rows, each unlabeled one shared among the classes by its posterior, make the
next model (Dempster, Laird and Rubin 1977; Nigam et al. 2000). Documents: see ``estimate/weighted_evidence.py``.

Formula: EM for tables
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.reader import WholeTable, read_table
from bayeskit.data.source import Responsibilities
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokenizer import Tokenizer
from bayeskit.data.text.tokens import TokenRows, count_documents
from bayeskit.data.text.word_list import Words
from bayeskit.data.unseen import without_unseen_warnings
from bayeskit.data.vocabulary import Value, canonical, sort_values
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.estimate.prior import class_prior
from bayeskit.estimate.weighted_evidence import DocumentEM, balance_posteriors, fit_em, sublinear_tf_idf
from bayeskit.estimate.word_weights import smooth_idf
from bayeskit.models.base import rules
from bayeskit.models.base.classifier import Classifier
from bayeskit.models.base.estimator import PredictsClasses, clone
from bayeskit.models.base.persistence import Composite
from bayeskit.models.base.scoring import first_best
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.models.text.classifier import RECIPES, TextClassifier
from bayeskit.models.text.documents import LabeledDocuments, all_rows, document_frequency, text_column, values_matrix
from bayeskit.models.text.recipe import LARGEST_WEIGHT
from bayeskit.storage.model_file import Numbers, Saved, State
from bayeskit.tables import Table
from bayeskit.tolerance import CONVERGED, OFF_ONE
from bayeskit.typing import Array, Floats


@dataclass(frozen=True)
class AccuracyGain:
    """Accuracy on held-out labeled rows: of the labeled rows alone, and together with the unlabeled ones."""

    alone: float
    together: float
    folds: int

    @property
    def helped(self) -> bool:
        """Return True if the unlabeled rows did not lower the accuracy."""
        return self.together >= self.alone

    def __str__(self) -> str:
        verdict = "helped" if self.helped else "did not help, and the model has learned from the labeled rows alone"
        return (
            f"{self.folds}-fold cross-validation on the labeled rows: accuracy {self.alone:.4f} alone, "
            f"{self.together:.4f} together; the unlabeled rows {verdict}"
        )


@dataclass(eq=False, repr=False)
class SemiSupervised(Composite, PredictsClasses):
    """Semi-supervised classifier: EM over labeled and unlabeled rows (label None, NaN or NA).

    Parameters
    ----------
    classifier : classifier, default=None
        A ``NaiveBayes`` or another model with expected counts (None for ``NaiveBayes()``), or a ``TextClassifier``:
        "multinomial" and "set_of_words" by expected counts, and for "auto", "fast" and "weighted" naive Bayes weights
        on tf-idf, with its smoothing, prior and choice of words. Other recipes have no probabilities to share a
        document by, and are refused. Numbers are Gaussian where ``numeric`` is "auto": EM changes the classes by which
        kinds are chosen. If every row is labeled, it is the classifier itself.
    unlabeled : object, default=None
        A label that also means "not known", such as -1.
    weight : float, default=None
        Weight of an unlabeled row; None for 1 for tables and 0.3 for documents.
    rounds : int, default=None
        Largest number of rounds; None for 50 for tables, which stop when the likelihood does, and 8 for documents.
    balance : bool, default=True
        For documents, keep the class shares of the labeled ones. Turn it off if the unlabeled documents have others.
    folds : int, default=5
        Folds of the cross-validation that decides whether the unlabeled rows helped; 0 for none. If they did not, the
        classifier learns from the labeled rows alone.
    n_classes : int, default=None
        With no labels at all, the number of classes of a mixture model, numbered from 0.
    restarts : int, default=5
        Random starts of the mixture; the most likely one is kept.
    random_state : int or generator, default=None
        Seed of the mixture.
    verbose : bool, default=False
        Print every round.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    history_ : Table
        The rounds of EM.
    comparison_ : Comparison or None
        Accuracy with and without unlabeled rows; None without cross-validation.
    helped_ : bool
    target_ : str
        Name of the predicted column.

    References
    ----------
    Nigam, McCallum, Thrun and Mitchell (2000), Text classification from labeled and unlabeled documents using EM.
    Machine Learning 39.

    Examples
    --------
    >>> table = {"x": [1.0, 1.2, 0.8, 1.1, 0.9, 9.0, 9.2, 8.8, 9.1, 8.9]}
    >>> y = ["low", "low", None, None, None, "high", "high", None, None, None]
    >>> model = SemiSupervised(NaiveBayes(), folds=2).fit(table, y)
    >>> model.predict({"x": [2.0, 8.0]}).tolist(), model.helped_
    (['low', 'high'], True)
    >>> mixture = SemiSupervised(NaiveBayes(), n_classes=2, random_state=0).fit(table)
    >>> len(set(mixture.predict(table)[:5])), len(set(mixture.predict(table)))
    (1, 2)
    """

    classifier: Any = None
    unlabeled: Any = None
    weight: float | None = None
    rounds: int | None = None
    balance: bool = True
    folds: int = 5
    n_classes: int | None = None
    restarts: int = 5
    random_state: Any = None
    verbose: bool = False

    _fitted_attribute: ClassVar[str] = "estimator_"

    @property
    def _drops_unlabeled(self) -> bool:
        return False  # the setting ``unlabeled`` is a mark

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on rows, some of whose labels are missing; all rows are kept in memory.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        y : array-like of shape (n_rows,) or str, optional
            Labels, or the name of their column; if all are missing, ``n_classes`` is required.

        Returns
        -------
        self
        """
        model = self._counting_classifier()
        self._check_settings_with(model)
        rows = read_table(X, y, labeled=False)
        labels = _labels(rows, self.unlabeled)
        known = np.array([label is not None for label in labels], dtype=bool)
        if isinstance(model, TextClassifier) and known.any() and not known.all():
            check_learns_unlabeled(model)
        if not known.any():
            estimator, history = self._mixture(model, rows)
            comparison = None
        else:
            classes = tuple(sort_values({label for label in labels if label is not None}))
            position = {label: i for i, label in enumerate(classes)}
            codes = np.array([-1 if label is None else position[label] for label in labels])
            comparison = self._compare(model, rows, codes, classes)
            if comparison is not None and not comparison.helped:
                warnings.warn(str(comparison), BayesWarning, stacklevel=2)
                estimator, history = self._fit_labeled(model, rows, codes, classes), []
            else:
                estimator, history = self._fit_all(model, rows, codes, classes, self._tell())
        self.target_ = rows.target if isinstance(y, str) else "class"
        return self._become(estimator, comparison, history)

    def _become(self, estimator: Any, comparison: AccuracyGain | None, history: list[tuple[int, float, int]]) -> Self:
        self.estimator_, self.comparison_ = estimator, comparison
        self.helped_ = comparison is None or comparison.helped
        self.classes_ = estimator.classes_
        self.history_ = Table({name: [r[i] for r in history] for i, name in enumerate(HISTORY)})
        return self

    _rules: ClassVar[rules.Rules] = {
        "folds": rules.integer(0),
        "verbose": rules.instance((bool, int, np.bool_), "it is True or False"),
        "weight": rules.optional(rules.number("an unlabeled row counts for a finite number of 0 or more", 0)),
        "rounds": rules.optional(rules.integer(1)),
    }

    def _counting_classifier(self) -> Any:
        """Return the classifier inside; classes that EM changes cannot choose the kinds of numbers: Gaussians."""
        model = NaiveBayes() if self.classifier is None else self.classifier
        automatic = getattr(model, "numeric", None) == "auto"
        return clone(model).set_params(numeric="gaussian") if automatic else model

    def _check_settings_with(self, model: Any) -> None:
        if not isinstance(model, Classifier):
            raise BayesError(f"classifier={model!r}: give a counting classifier, such as NaiveBayes()")
        self._check_settings()
        if self.folds == 1:
            raise BayesError(f"folds={self.folds!r}: give 2 or more, or 0 for no cross-validation")

    def _tell(self) -> Callable[[tuple[int, float, int]], None] | None:
        if not self.verbose:
            return None
        return lambda r: print(f"round {r[0]}: log likelihood {r[1]:.6g}, {r[2]} unlabeled rows changed their class")

    def _fit_all(
        self, model: Any, rows: WholeTable, codes: Array, classes: tuple[Value, ...], tell: Any = None
    ) -> tuple[Any, list[tuple[int, float, int]]]:
        known = codes >= 0
        if known.all():
            return self._fit_labeled(model, rows, codes, classes), []
        if isinstance(model, TextClassifier) and RECIPES[model.recipe].learns_by_weighted_em:
            weight = 0.3 if self.weight is None else self.weight
            settings: dict[str, Any] = {"weight": weight, "rounds": self.rounds or 8, "balance": self.balance}
            return fit_documents(model, rows.data, codes, classes, tell=tell, **settings)
        start = np.zeros((rows.n_rows, len(classes)))
        start[known, codes[known]] = 1.0
        first = clone(model).fit(rows.take(np.flatnonzero(known)), Responsibilities(classes, start[known]))
        start[~known] = _posterior(first, _joint(first, rows.take(np.flatnonzero(~known)), classes), classes)
        return self._rounds(model, rows, start, known, classes, tell)

    def _rounds(
        self, model: Any, rows: WholeTable, share: Floats, known: Array, classes: tuple[Value, ...], tell: Any
    ) -> tuple[Any, list[tuple[int, float, int]]]:
        """EM on expected counts until the likelihood stands still."""
        is_text = isinstance(model, TextClassifier) and known.any()
        weight = (0.3 if is_text else 1.0) if self.weight is None else self.weight
        weights = np.where(known, 1.0, weight)
        mix = share[known].mean(axis=0) if is_text and self.balance else None
        history: list[tuple[int, float, int]] = []
        chosen = share.argmax(axis=1)
        for number in range(1, (self.rounds or (8 if is_text else 50)) + 1):
            fitted = clone(model).fit(rows.data, Responsibilities(classes, share), weights)
            joint = _joint(fitted, rows.data, classes)
            of_class = joint[np.arange(rows.n_rows), share.argmax(axis=1)]
            log_likelihoods = np.where(known, of_class, logspace.log_sum_exp(joint))
            likelihood = float(weights[weights > 0] @ log_likelihoods[weights > 0])
            posterior = _posterior(fitted, joint, classes)
            if mix is not None:
                posterior[~known] = balance_posteriors(posterior[~known], mix)
            share = np.where(known[:, None], share, posterior)
            now = share.argmax(axis=1)
            history.append((number, likelihood, int((now != chosen).sum())))
            if tell is not None:
                tell(history[-1])
            chosen = now
            gain = likelihood - history[-2][1] if number > 1 and np.isfinite(history[-2][1]) else np.inf
            if gain <= CONVERGED * abs(likelihood):
                break
        return fitted, history

    def _fit_labeled(self, model: Any, rows: WholeTable, codes: Array, classes: tuple[Value, ...]) -> Any:
        known = np.flatnonzero(codes >= 0)
        return clone(model).fit(rows.take(known), [classes[c] for c in codes[known]])

    def _compare(self, model: Any, rows: WholeTable, codes: Array, classes: tuple[Value, ...]) -> AccuracyGain | None:
        """Both ways on held-out labeled rows; None where there are too few of them, or no unlabeled one."""
        known = np.flatnonzero(codes >= 0)
        fewest = np.bincount(codes[known], minlength=len(classes)).min()
        folds = int(min(self.folds, fewest))
        if folds < 2 or len(known) == rows.n_rows:
            return None
        from sklearn.model_selection import StratifiedKFold

        right = np.zeros(2)
        for _, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(known, codes[known]):
            inner = codes.copy()
            inner[known[test]] = -1
            rest = np.setdiff1d(np.arange(rows.n_rows), known[test])
            held, truth = rows.take(known[test]), np.array([classes[c] for c in codes[known[test]]])
            part, inner = rows.part(rest), inner[rest]
            with warnings.catch_warnings(action="ignore", category=BayesWarning):
                alone = self._fit_labeled(model, part, inner, classes)
                together, _ = self._fit_all(model, part, inner, classes)
                right += [np.sum(alone.predict(held) == truth), np.sum(together.predict(held) == truth)]
        return AccuracyGain(float(right[0] / len(known)), float(right[1] / len(known)), folds)

    def _mixture(self, model: Any, rows: WholeTable) -> tuple[Any, list[tuple[int, float, int]]]:
        if self.n_classes is None or self.n_classes < 1:
            raise BayesError("no row has a label: pass n_classes= to look for that many classes without any")
        if isinstance(model, TextClassifier) and not RECIPES[model.recipe].counts_words:
            raise BayesError('without labels documents need expected counts: TextClassifier("multinomial")')
        rng = np.random.default_rng(self.random_state)
        classes = tuple(range(self.n_classes))
        best = None
        for _ in range(self.restarts):
            share = rng.dirichlet(np.full(self.n_classes, 0.2), rows.n_rows)
            run = self._rounds(model, rows, share, np.zeros(rows.n_rows, dtype=bool), classes, self._tell())
            if best is None or run[1][-1][1] > best[1][-1][1]:
                best = run
        assert best is not None
        return best

    # -- prediction -----------------------------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self.estimator_.predict(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return np.asarray(self.estimator_.predict_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return np.asarray(self.estimator_.predict_log_proba(X))

    # -- persistence -----------------------------------------------------------------------------------

    def _fitted_parts(self) -> dict[str, Any]:
        """The fitted classifier; weights of words that EM has found are no such model, and are held."""
        return {} if isinstance(self.estimator_, DocumentModel) else {"estimator": self.estimator_}

    def _reads_by(self) -> Any:
        """Return the fitted classifier."""
        return self.estimator_

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """The classifier, or none."""
        return ("estimator",) if saved.parts else ()

    def _state_to_save(self) -> State:
        """Return the fit history and the word weights found by EM."""
        held = self.comparison_
        comparison = None if held is None else [held.alone, held.together, held.folds]
        header: dict[str, Any] = {"comparison": comparison, "target": self.target_}
        history = np.array([self.history_[name] for name in HISTORY], dtype=np.float64)
        documents = self.estimator_.to_state() if isinstance(self.estimator_, DocumentModel) else State({}, [])
        return State(header | {"documents": documents.header}, [history, *documents.arrays])

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Restore a fitted model from a file."""
        model = self._counting_classifier()
        self._check_settings_with(model)
        history = state.arrays[0]
        if history.dtype != np.float64 or history.ndim != 2 or len(history) != 3 or np.isnan(history).any():
            raise BadFile("the rounds of EM are not told by three numbers each")
        rounds = [(int(number), value, int(changed)) for number, value, changed in history.T.tolist()]
        if parts:
            state.holds(1, "comparison", "documents", "target")
            estimator: Any = parts["estimator"]
            if not isinstance(estimator, Classifier):
                raise BadFile(f"EM is around a counting classifier, not {type(estimator).__name__}")
        else:
            if not isinstance(model, TextClassifier):
                raise BadFile("weights of words are those of a TextClassifier, and the setting names another model")
            documents = State(state.header["documents"], state.arrays[1:])
            estimator = DocumentModel.of_state(documents, model.tokenizer(), model.column)
        held, self.target_ = state.header["comparison"], str(state.header["target"])
        return self._become(estimator, None if held is None else _comparison(*held), rounds)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.classifier is not None:
            tags.input_tags = self.classifier.__sklearn_tags__().input_tags
        tags.target_tags.required = False
        return tags


HISTORY = ("round", "log likelihood", "changed")


def _comparison(alone: Any, together: Any, folds: Any) -> AccuracyGain:
    """The comparison of a file."""
    if any(type(share) not in (int, float) or not 0 <= share <= 1 for share in (alone, together)) or folds < 2:
        raise BadFile("the comparison with the labeled rows alone is none of two accuracies")
    return AccuracyGain(float(alone), float(together), int(folds))


def _labels(rows: WholeTable, unlabeled: Any) -> list[Value | None]:
    """Labels as plain values, None for unlabeled rows."""
    labels = [canonical(cell) for cell in rows.listed_labels()]
    if unlabeled is not None:
        mark = canonical(unlabeled)
        labels = [None if label == mark else label for label in labels]
    return labels


@without_unseen_warnings()
def _joint(model: Any, X: Any, classes: tuple[Value, ...]) -> Floats:
    """ln P(x, class) with the classes in this order; −∞ for a class that has gone."""
    scores = model.predict_joint_log_proba(X)
    joint = np.full((len(scores), len(classes)), -np.inf)
    joint[:, [classes.index(label) for label in model.tally_.classes]] = scores
    return joint


def _posterior(model: Any, joint: Floats, classes: tuple[Value, ...]) -> Floats:
    """P(class | x) of rows with these scores; the prior where a row is impossible under every class."""
    posterior, evidence = logspace.normalize(joint)
    prior = np.zeros(len(classes))
    prior[[classes.index(label) for label in model.tally_.classes]] = logspace.exp(model.params_.log_prior)
    posterior[np.isneginf(evidence)] = prior
    return posterior


# -- documents -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DocumentModel:
    """A text classifier fitted by EM."""

    em: DocumentEM
    words: Words
    idf: Floats
    tokenizer: Tokenizer
    column: str | None
    classes: tuple[Value, ...]

    @property
    def classes_(self) -> Array:
        """The classes, sorted."""
        return np.array(self.classes)

    def to_state(self) -> State:
        """Return words, weights and prior for a file; the tokenizer is part of the settings."""
        em, words = self.em, self.words
        header = {"classes": list(self.classes), "beta": em.beta}
        return State(header, [em.weights, em.log_prior, self.idf, words.data, words.offsets])

    @classmethod
    def of_state(cls, state: State, tokenizer: Tokenizer, column: str | None) -> DocumentModel:
        """Restore a model from a file."""
        state.holds(5, "classes", "beta")
        if not isinstance(state.header["classes"], list) or np.shape(state.arrays[1]) != (
            len(state.header["classes"]),
        ):
            raise BadFile("the classes do not fit their prior")
        classes, beta = tuple(state.header["classes"]), state.header["beta"]
        if not classes or None in map(canonical, classes) or sort_values({*classes}) != list(classes):
            raise BadFile("the classes are not sorted, repeated or missing")
        if type(beta) not in (int, float) or not 0 < beta < LARGEST_WEIGHT:
            raise BadFile(f"β = {beta!r} is not a weight")
        words = Words.checked(*state.arrays[3:])
        weights = Numbers((len(words), len(classes)), -LARGEST_WEIGHT, LARGEST_WEIGHT).check(state.arrays[0])
        idf = Numbers((len(words),), np.nextafter(0.0, 1.0), LARGEST_WEIGHT).check(state.arrays[2])
        log_prior = Numbers((len(classes),), -np.inf, np.inf).check(state.arrays[1])
        if not abs(logspace.exp(log_prior).sum() - 1) <= OFF_ONE:
            raise BadFile("the prior of the classes does not sum to one")
        return cls(DocumentEM(weights, float(beta), log_prior), words, idf, tokenizer, column, classes)

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Compute scores (documents, classes); their softmax are probabilities."""
        documents = Documents.of(text_column(X, self.column))
        rows = count_documents(documents, self.tokenizer, self.words)
        return self.em.log_joint(_tf_idf_values(rows, self.idf))

    def predict_proba(self, X: Any) -> Floats:
        """Compute P(class | document) (documents, classes)."""
        return logspace.normalize(self.predict_joint_log_proba(X))[0]

    def predict_log_proba(self, X: Any) -> Floats:
        """Compute ln P(class | document) (documents, classes)."""
        return logspace.log_normalize(self.predict_joint_log_proba(X))[0]

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each document (documents,)."""
        return np.asarray(self.classes_[first_best(self.predict_joint_log_proba(X))])


def check_learns_unlabeled(model: TextClassifier) -> None:
    """Refuse settings that do not support unlabeled documents."""
    model._check_settings()
    recipe = RECIPES[model.recipe]
    if not (recipe.is_generative or recipe.learns_by_weighted_em):
        raise BayesError(
            f'recipe="{model.recipe}" has no probabilities by which unlabeled documents could be split among classes:',
            hint='use "auto", "multinomial" or "set_of_words", or drop those documents',
        )
    if recipe.learns_by_weighted_em and (model.ties != "first" or model.schema is not None):
        raise BayesError(f'recipe="{model.recipe}" with unlabeled documents takes ties="first" and no schema=')


def fit_documents(
    model: TextClassifier, X: Any, codes: Array, classes: tuple[Value, ...], *, tell: Any = None, **settings: Any
) -> tuple[DocumentModel, list[tuple[int, float, int]]]:
    """Fit by EM; a code of -1 is an unlabeled document. ``settings`` are those of :func:`fit_em`."""
    model._check_settings()
    tokenizer = model.tokenizer()
    texts = Documents.of(text_column(X, model.column))
    read = LabeledDocuments(texts, codes, None, classes)
    rows, _ = all_rows(read, model, bounded=False)
    counts = np.bincount(codes[codes >= 0], minlength=len(classes)).astype(np.float64)
    prior = class_prior("empirical" if model.prior is None else model.prior, classes, counts)
    idf = smooth_idf(document_frequency(rows), float(len(codes)))
    x, known = _tf_idf_values(rows, idf), codes >= 0
    told = None if tell is None else lambda r: tell((r.number, r.log_evidence, r.changed))
    a = 1.0 if model.smoothing is None else float(model.smoothing)
    em, history = fit_em(x[known], codes[known], x[~known], prior, a=a, tell=told, **settings)
    made = DocumentModel(em, rows.words, idf, tokenizer, model.column, classes)
    return made, [(r.number, r.log_evidence, r.changed) for r in history]


def _tf_idf_values(rows: TokenRows, idf: Floats) -> Any:
    return values_matrix(rows, sublinear_tf_idf(rows.counts, rows.ids, rows.indptr, idf))
