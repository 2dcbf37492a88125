"""Probability calibration of any classifier.

Naive Bayes counts evidence twice where columns repeat each other: it is often right, and far too sure. What it says of
rows that it has not learned, beside what they are, shows how much; a curve then takes the one to the other. Where a
model has exact leave-one-out scores, all of its rows can be asked for nothing more than a second look; else it is
fitted again on folds.

No model learned from n rows may claim more than P = (n p + 1) / (n + C): a curve that has met no exception among n rows
has not shown that there is none.


Formula: a curve for each class, normalized; P = (n p + 1) / (n + C)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from bayeskit import logspace
from bayeskit.data.block import Block
from bayeskit.data.frames import open_source
from bayeskit.data.reader import in_order
from bayeskit.errors import BadFile, BayesError, BayesWarning
from bayeskit.estimate import calibration
from bayeskit.estimate.temperature import fit_temperature
from bayeskit.evaluate import cross_validation
from bayeskit.explain.evidence import Explanations, explain_rows, score_increments
from bayeskit.explain.structure import StructureDescription
from bayeskit.models.base import rules
from bayeskit.models.base.available import available_if, unavailable
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.estimator import clone, seed_of
from bayeskit.models.base.left_out import labels_and_weights, learned_blocks
from bayeskit.models.wrappers.wrapper import Wrapper
from bayeskit.storage.model_file import Numbers, State
from bayeskit.tables import Table
from bayeskit.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from bayeskit.export.scoring_form import ScoringForm


@dataclass(frozen=True, eq=False)
class HonestScores:
    """Log scores (rows, classes), the classes of the rows as places, their weights, and where they come from.

    Rows that alone show their class are left out: no model without them can know it.
    """

    scores: Floats
    labels: npt.NDArray[np.intp]
    weights: Floats | None
    method: str


def honest_scores(
    model: Any, X: Any, y: Any, sample_weight: Any, folds: int | None, max_rows: int, random_state: Any
) -> HonestScores:
    """Score about ``max_rows`` training rows out of sample: by leave-one-out, or by ``folds`` where given."""
    if folds is None and hasattr(model, "leave_one_out"):
        return _left_out(model, X, y, sample_weight, max_rows, random_state)
    return _folded(model, X, y, sample_weight, folds or 5, random_state)


def _left_out(model: Any, X: Any, y: Any, sample_weight: Any, max_rows: int, random_state: Any) -> HonestScores:
    """Score rows by the model without each of them, in closed form."""
    left_out, log_counts = model._left_out(), logspace.log(model.tally_.class_counts.astype(np.float64))
    blocks = learned_blocks(model, X, y, sample_weight, max_rows, seed_of(random_state))
    if not blocks:
        return HonestScores(np.zeros((0, len(log_counts))), np.zeros(0, dtype=np.intp), None, "leave-one-out")
    scores = np.concatenate([model._tempered(left_out.scores(block)) for block in blocks])
    scores[np.isneginf(logspace.largest_of_rows(scores))] = log_counts
    labels, weights = labels_and_weights(blocks)
    return HonestScores(scores, labels, None if blocks[0].weights is None else weights, "leave-one-out")


def _folded(model: Any, X: Any, y: Any, sample_weight: Any, folds: int, random_state: Any) -> HonestScores:
    given = cross_validation.labeled_table(X, y, sample_weight, [model])
    classes = tuple(np.asarray(model.classes_).tolist())
    places = np.array([classes.index(label) for label in given.classes], dtype=np.intp)
    folds = min(folds, given.n_rows)
    scores = np.zeros((given.n_rows, len(classes)))
    stays = np.ones(given.n_rows, dtype=bool) if given.weights is None else given.weights > 0
    if folds < 2:
        return HonestScores(scores[:0], places[:0], None, "no rows to spare")
    splits = cross_validation.stratified_folds(given.codes, folds, (seed_of(random_state) or 0) % 2**32)
    for i, (train, test) in enumerate(splits, 1):
        with warnings.catch_warnings(action="ignore", category=BayesWarning):
            fitted = cross_validation.fit_on(clone(model), given, train, f"without fold {i} of {folds}")
            scores[test] = cross_validation.posterior_over(fitted, given.table.take(test), classes)[0]
        stays[test] &= np.isin(given.codes[test], given.codes[train])
    weights = None if given.weights is None else given.weights[stays]
    return HonestScores(scores[stays], places[given.codes][stays], weights, f"{folds} folds")


METHODS = ("isotonic", "sigmoid", "beta", "temperature")
_FITS: Mapping[str, Callable[..., calibration.ScoreMap]] = {
    "isotonic": calibration.fit_isotonic,
    "sigmoid": calibration.fit_sigmoid,
    "beta": calibration.fit_beta,
}
_HELD = "its curve was learned from the rows of the fit. Fit again, or change model_ and keep the curve in mind"


def _inner(calibrated: Any) -> Any:
    """Return the classifier, fitted if the model is; a NaiveBayes where none is given."""
    from bayeskit.models.naive_bayes import NaiveBayes

    inner = vars(calibrated).get("model_", calibrated.model)
    return NaiveBayes() if inner is None else inner


def _says_terms(calibrated: Any) -> bool:
    inner = vars(calibrated).get("model_", calibrated.model)
    return inner is None or hasattr(inner, "_log_terms")


@dataclass(eq=False, repr=False)
class Calibrated(Wrapper):
    """Calibrate the probabilities of a classifier on leave-one-out or cross-validated scores.

    Parameters
    ----------
    model : classifier, default=None
        A classifier with ``predict_proba``, cloned in fit; None for a ``NaiveBayes``.
    method : {"isotonic", "sigmoid", "beta", "temperature"}, default="isotonic"
        Any increasing curve per class, a curve of two or three parameters per class, or one temperature for all
        classes, which never changes a prediction.
    folds : int, default=None
        Number of folds; None for exact leave-one-out scores if the model has them, else five folds.
    capped : bool, default=True
        Limit probabilities to (n p + 1) / (n + C): n rows cannot show more.
    max_rows : int, default=5000
        Fit the curve to about so many rows, drawn at random; the model learns from all.
    random_state : int or generator, default=0
        Seed of that draw, and of the folds.

    Attributes
    ----------
    model_ : classifier
        The fitted classifier, without the curves.
    maps_ : tuple of ScoreMap
        The curve of each class, of two classes that of the second alone; empty for "temperature".
    temperature_ : float
        Divisor of the log scores; 1 for the other methods.
    method_ : str
        Where the scores came from: "leave-one-out", or the number of folds.

    Examples
    --------
    A coin is copied nine times, and naive Bayes counts it ten times:

    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 500)
    >>> X = np.repeat((np.where(rng.random(500) < 0.7, y, 1 - y) == 1)[:, None], 10, axis=1)
    >>> model = Calibrated().fit(X, y)
    >>> float(model.model_.predict_proba(X).max().round(3)), float(model.predict_proba(X).max().round(2))
    (1.0, 0.74)
    """

    model: Any = None
    method: Literal["isotonic", "sigmoid", "beta", "temperature"] = "isotonic"
    folds: int | None = None
    capped: bool = True
    max_rows: int = 5_000
    random_state: Any = 0

    _part: ClassVar[str] = "model"
    _needs: ClassVar[str] = "there is nothing to calibrate"
    _fitted_attribute: ClassVar[str] = "model_"

    partial_fit = learn_source = forget = forget_source = merge = unavailable(_HELD)
    leave_one_out = unavailable("its curve has seen every row: use bayeskit.cross_validate")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit the classifier, then the calibration curves on its left-out scores.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self
        """
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        self._check_settings()
        if hasattr(self.model, "_read_sequences"):
            raise BayesError(
                f"Calibrated reads rows, and {type(self.model).__name__} is a model of sequences",
                hint="use its probabilities as they are: cross_validate(model, X, y).reliability() shows how well they "
                "are calibrated",
            )
        X = in_order(X)
        inner = self._fit_inner(X, y, sample_weight)
        rows = honest_scores(inner, X, y, sample_weight, self.folds, self.max_rows, self.random_state)
        return self._learn(inner, rows)

    def _learn(self, inner: Any, rows: HonestScores) -> Self:
        """Become the model of a fitted classifier and of what it said of rows left out."""
        n_classes = len(inner.classes_)
        weight = float(len(rows.labels) if rows.weights is None else rows.weights.sum())
        maps: tuple[calibration.ScoreMap, ...] = ()
        temperature = 1.0
        if n_classes > 1 and len(rows.labels):
            if self.method == "temperature":
                known = np.isfinite(rows.scores[np.arange(len(rows.labels)), rows.labels])
                weights = None if rows.weights is None else rows.weights[known]
                if known.any():
                    temperature = 1 / fit_temperature(rows.scores[known], rows.labels[known], weights)
            else:
                odds, fit_map = _odds(rows.scores), _FITS[self.method]
                asked = [1] if n_classes == 2 else range(n_classes)
                maps = tuple(fit_map(np.ascontiguousarray(odds[:, c]), rows.labels == c, rows.weights) for c in asked)
        return self._become(inner, maps, temperature, weight, rows.method)

    def _become(
        self, inner: Any, maps: tuple[calibration.ScoreMap, ...], temperature: float, weight: float, method: str
    ) -> Self:
        self.model_, self.maps_, self.temperature_, self.n_calibrated_ = inner, maps, temperature, weight
        self.method_, self.classes_ = method, inner.classes_
        self._copy_features(inner)
        return self

    # -- prediction -----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return self.calibrated(self._log_scores(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the calibrated ln P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return np.asarray(logspace.log(self.predict_proba(X)))

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row; among equals, the one with the higher uncalibrated score.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        scores = self._log_scores(X)
        return self.classes_[self.most_probable(self.calibrated(scores), scores)]

    def most_probable(self, p: Floats, scores: Floats) -> Ints:
        """Return the index of the predicted class of each row.

        Parameters
        ----------
        p : ndarray of shape (n_rows, n_classes)
            Calibrated probabilities.
        scores : ndarray of shape (n_rows, n_classes)
            Log scores, which decide between equal probabilities.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        n_classes = len(self.classes_)
        p, scores = _class_columns(p, n_classes, "probabilities"), _class_columns(scores, n_classes, "log scores")
        if len(p) != len(scores):
            raise BayesError(f"{len(p)} rows of probabilities, {len(scores)} of log scores")
        tied = p >= p.max(axis=1, keepdims=True) * (1 - logspace.TIE)
        chosen = np.where(tied, np.nan_to_num(scores, nan=-np.inf), -np.inf)
        impossible = np.isneginf(chosen.max(axis=1))
        return np.where(impossible, np.nan_to_num(p).argmax(axis=1), chosen.argmax(axis=1))

    @available_if(_says_terms, "the classifier does not say what each column adds to a score")
    def explain(self, X: Any, against: Any = None) -> Explanations:
        """Explain each prediction: the change of the calibrated log odds as each column is added to the earlier ones.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)
        against : class label, optional
            Class to compare the predicted one with; by default the runner-up.

        Returns
        -------
        sequence of Explanation
        """
        return explain_rows(CalibratedEvidence(self), self.model_._with_all_columns(open_source(X)), against)

    def _log_scores(self, X: Any) -> Floats:
        return cross_validation.log_probabilities(self.model_, X)

    def calibrated(self, scores: Floats) -> Floats:
        """Calibrate log scores of the classifier.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_classes)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        n_classes = len(self.classes_)
        scores = _class_columns(scores, n_classes, "log scores")
        if self.maps_:
            odds = _odds(scores)
            if n_classes == 2:
                second = self.maps_[0](odds[:, 1])
                p = np.stack([1 - second, second], axis=1)
            else:
                p = np.stack([curve(odds[:, c]) for c, curve in enumerate(self.maps_)], axis=1)
            p[np.isnan(scores).any(axis=1)] = np.nan
            total = p.sum(axis=1, keepdims=True)
            p = np.where(total > 0, p / np.where(total > 0, total, 1.0), logspace.normalize(scores)[0])
        else:
            p = logspace.normalize(scores / self.temperature_)[0]
        n = self.n_calibrated_
        return (n * p + 1) / (n + n_classes) if self.capped and n else p

    def table(self) -> Table:
        """Return the calibrated probability for a grid of classifier probabilities, for each class.

        Returns
        -------
        Table
        """
        said = np.array([0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999])
        columns: dict[str, Any] = {"classifier says": said}
        odds = logspace.log_odds(logspace.log(said), logspace.log1p(-said))
        if not self.maps_:
            columns["calibrated, of two classes"] = logspace.logistic(odds / self.temperature_)
        names = np.asarray(self.classes_).tolist()
        for name, curve in zip(names[-len(self.maps_) :], self.maps_, strict=False):
            columns[f"calibrated, {name}"] = curve(np.asarray(odds))
        return Table(columns)

    def describe_structure(self) -> StructureDescription:
        """Describe the calibration curves.

        Returns
        -------
        StructureDescription
        """
        sentence = f"probabilities are corrected by {self.method} curves, learned from scores by {self.method_}"
        if not self.maps_:
            sentence = f"log scores are divided by {self.temperature_:.4g}, learned from scores by {self.method_}"
        return StructureDescription(sentence, self.table())

    @available_if(
        lambda calibrated: getattr(_inner(calibrated), "_has_form", bool)(), "no other form can hold its classifier"
    )
    def _export_form(self) -> ScoringForm:
        """The form of the classifier with the curves, for ONNX and JSON."""
        from bayeskit.export.scoring_form import CalibrationCurves

        n_rows = float(self.n_calibrated_) if self.capped else 0.0
        curves = CalibrationCurves(self.maps_, float(self.temperature_), n_rows)
        return replace(self.model_._any_form(), model=type(self).__name__, calibration=curves)

    # -- persistence -----------------------------------------------------------------------------------

    def _state_to_save(self) -> State:
        curves = {f"curve {i}": curve.numbers for i, curve in enumerate(self.maps_)}
        return State.of(by=self.method_, temperature=float(self.temperature_), rows=float(self.n_calibrated_), **curves)

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        self._check_settings()
        inner = self._with_probabilities(parts["model"])
        n_curves, n_classes = len(state.arrays) - 2, len(inner.classes_)
        if n_curves not in (0, 1 if n_classes == 2 else n_classes):
            raise BadFile(f"{n_curves} calibration curves do not fit {n_classes} classes")
        curves = {f"curve {i}": Numbers((None,)) for i in range(n_curves)}
        numbers = {"temperature": Numbers((), np.nextafter(0, 1)), "rows": Numbers((), 0.0)}
        held = state.read({"by": str, **numbers, **curves})
        kind: Any = calibration.Isotonic if self.method == "isotonic" else calibration.Logistic
        maps = tuple(kind.of_numbers(held[name]) for name in curves)
        return self._become(inner, maps, float(held["temperature"]), float(held["rows"]), held["by"])

    _rules: ClassVar[rules.Rules] = {
        "model": rules.optional(rules.classifier),
        "method": rules.words(*METHODS),
        "folds": rules.optional(rules.integer(2)),
        "max_rows": rules.integer(1, 2**62),
        "capped": rules.flag,
    }


def _class_columns(given: Any, n_classes: int, what: str) -> Floats:
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BayesError(f"{what} are numbers, and these are not") from None
    if array.ndim != 2 or array.shape[1] != n_classes:
        raise BayesError(f"{what} have one column for each of {n_classes} classes; the shape is {array.shape}")
    return array


def _odds(scores: Floats) -> Floats:
    """Log odds of each class against all others; what is certain has a number, too, and what is unknown 0."""
    return np.nan_to_num(np.clip(logspace.log_odds_of_each(scores), -calibration.CERTAIN, calibration.CERTAIN), nan=0.0)


class CalibratedParams:
    """The estimates of a classifier, with the calibrated prior in the place of its own."""

    def __init__(self, params: Any, log_prior: Floats) -> None:
        self._params, self.log_prior, self.log_start = params, log_prior, log_prior

    def __getattr__(self, name: str) -> Any:
        return getattr(self._params, name)


class CalibratedEvidence:
    """Adapter that gives explanations the calibrated scores of a classifier."""

    def __init__(self, calibrated: Calibrated) -> None:
        self.calibrated, self.inner = calibrated, calibrated.model_
        self.undecidable, self.tally_, self._encoder = self.inner.undecidable, self.inner.tally_, self.inner._encoder
        params = self.inner.params_
        self.start = np.asarray(getattr(params, "log_start", params.log_prior), dtype=np.float64)[None]
        self.params_ = CalibratedParams(params, self._through(self.start)[0])

    def _tempered(self, scores: Floats) -> Floats:
        """Scores are calibrated already."""
        return scores

    def _log_joint(self, params: Any, block: Block) -> Floats:
        """ln P(class | x), calibrated (n_rows, n_classes); −∞ where a row is impossible under every class."""
        return self._through(self._scores(block))

    def _log_terms(self, params: Any, block: Block) -> Mapping[str, Floats]:
        """Return the change of the calibrated scores when each column is added to the earlier ones."""
        so_far, steps = self.start, []
        for name, term in self.inner._log_terms(self.inner.params_, block).items():
            so_far = so_far + term
            steps.append((name, self._through(so_far)))
        if steps:
            steps[-1] = (steps[-1][0], self._log_joint(params, block))  # as it is predicted, to the last digit
        return score_increments(params.log_prior, steps)

    def _choose(self, scores: Floats, block: Block) -> Ints:
        """As :meth:`Calibrated.predict`."""
        return self.calibrated.most_probable(logspace.exp(scores), self._scores(block))

    def _scores(self, block: Block) -> Floats:
        return np.asarray(self.inner._log_joint(self.inner.params_, block))

    def _through(self, scores: Floats) -> Floats:
        """Scores (n_rows, n_classes) of the classifier through the curves; rows that are impossible stay so."""
        log_p, evidence = logspace.log_normalize(self.inner._tempered(scores))
        impossible = np.isneginf(evidence)
        log_p[impossible] = 0.0
        through = np.asarray(logspace.log(self.calibrated.calibrated(log_p)))
        through[impossible] = -np.inf
        return through
