"""Logistic regression, the discriminative counterpart of naive Bayes, fitted by conditional likelihood.

    P(c | x) = exp(b_c + w_c · x) / Σ_k exp(b_k + w_k · x)

Maximum conditional likelihood (``penalty=0``) looks for the weights that make the labels most probable; a Gaussian
prior w ~ N(0, 1/λ) turns that into the maximum of the posterior.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from bayeskit import logspace
from bayeskit.arrow_arrays import take_cells
from bayeskit.data.encoder import encode_labels
from bayeskit.data.frames import is_sparse, open_source
from bayeskit.data.missing_labels import tell_dropped, without_label
from bayeskit.data.reader import in_order
from bayeskit.data.schema import Schema
from bayeskit.data.source import Responsibilities
from bayeskit.data.vocabulary import Value, Vocabulary, canonical, positions, sort_values
from bayeskit.errors import BadFile, BayesError
from bayeskit.estimate import conditional_likelihood
from bayeskit.estimate.conditional_likelihood import LogisticLoss
from bayeskit.estimate.smoothing import MOST, is_number
from bayeskit.explain.structure import StructureDescription
from bayeskit.export.scoring_form import ScoringForm
from bayeskit.models.base import rules
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.estimator import PredictsClasses
from bayeskit.models.base.persistence import Composite
from bayeskit.models.design import Design, as_it_is, collinear, collinear_sentence, sparse_matrix
from bayeskit.models.logistic_form import LogisticForm, naive_form, weight_table
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.nearest import did_you_mean
from bayeskit.storage.container import ValueList
from bayeskit.storage.model_file import Numbers, Saved, State
from bayeskit.tables import Table
from bayeskit.tolerance import CONSTANT, NOISE
from bayeskit.typing import Array, Floats
from bayeskit.undecidable import refuse_no_numbers

LONG_STEP = 0.1  # deviations times nats: a step this long at the end means that there is no end


@dataclass(eq=False, repr=False)
class LogisticRegression(Composite, PredictsClasses):
    """Logistic regression over mixed columns, started from naive Bayes.

    Parameters
    ----------
    penalty : float or {"cv", "evidence"}, default=1.0
        λ, the precision of the Gaussian prior on the weights (intercepts are free): a number, 0 for maximum
        conditional likelihood, "cv" (cross-validated log loss) or "evidence" (Laplace's approximation).
    scale : bool, default=True
        True puts the prior on the weights of standardized columns, so that units do not matter; False on those of the
        columns as they are (as scikit-learn does, with C = 1/λ).
    coding : {"auto", "full", "reference"}, default="auto"
        One indicator per value of a categorical column ("full", needs a prior), or for all but the first
        ("reference"); "auto" is full with a prior and reference without.
    solver : {"auto", "newton", "lbfgs"}, default="auto"
        "newton" for few unknowns, "lbfgs" for many.
    tol : float, default=1e-6
        Largest gradient of the mean log loss at the end.
    max_iter : int, default=1000
        Iterations of the solver.
    cv : int or splitter, default=5
        Folds of ``penalty="cv"``.
    roles, domains, schema, unseen, n_threads, unlabeled
        As for :class:`NaiveBayes`. A missing cell, and a value not seen in training, is set to the column's average.
    random_state : int or generator, default=None
        Seed of the folds.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        For two classes the log odds of the second.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    features_ : list of str
        The feature of each weight.
    penalty_ : float
        The λ used.
    twin_ : NaiveBayes
        The naive Bayes model at which the solver started.
    form_ : LogisticForm
        The weights by column.
    n_iter_ : int
        Iterations.

    Examples
    --------
    >>> x = [[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]
    >>> model = LogisticRegression(penalty=0).fit(x, ["no", "no", "yes", "no", "yes", "yes"])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[1.214]], [-4.249])
    >>> model.predict_proba([[3.5]]).round(6).tolist()          # the data is symmetric about 3.5
    [[0.5, 0.5]]
    """

    penalty: Any = 1.0
    scale: bool = True
    coding: Literal["auto", "full", "reference"] = "auto"
    solver: Literal["auto", "newton", "lbfgs"] = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    cv: Any = 5
    roles: Any = None
    domains: Any = None
    schema: Schema | None = None
    unseen: Literal["ignore", "error"] = "ignore"
    random_state: Any = None
    n_threads: int | None = None
    unlabeled: Literal["error", "drop"] = "error"

    _fitted_attribute: ClassVar[str] = "coef_"
    _part_class: ClassVar[str] = "NaiveBayes"
    _reads_tables: ClassVar[bool] = True

    # -- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit the weights.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`.

        Returns
        -------
        self

        Raises
        ------
        BayesError
            Without a prior, if columns are collinear or the classes are separable: no finite weights are best.
        """
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        self._check_settings()
        self._require_y(y)
        if is_sparse(X):
            return self._fit_sparse(X, y, sample_weight)
        twin = NaiveBayes(
            numeric="gaussian", variance="feature", roles=self.roles, domains=self.domains, schema=self.schema,
            unseen=self.unseen, n_threads=self.n_threads, unlabeled=self.unlabeled,
        )  # fmt: skip
        twin._textless = "LogisticRegression"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "there is one class only")
            source = twin._with_labels(open_source(in_order(X), y, sample_weight))
            twin.fit_source(source)
        _refuse_one_class(twin.classes_)
        design = Design.of(twin.tally_, self._coding())
        labels, weights = twin._label_codes(source)
        M = None if self._drops_unlabeled else as_it_is(X, design, twin.tally_)
        M = design.matrix(twin._encoder().blocks(source), len(labels)) if M is None else M
        if weights is not None:
            keep = weights > 0
            M, labels, weights = M[keep], labels[keep], weights[keep]
        spread = np.where(design.spread > CONSTANT * np.abs(design.mean), design.spread, 0.0)
        loss = LogisticLoss(M, labels, len(twin.classes_), weights, design.mean, spread)
        theta = self._solve(loss, _twin_start(twin, design, loss), design.names(twin.tally_), spread)
        return self._become(twin, _form(twin, design, *loss.plain(theta)))

    def _become(self, twin: NaiveBayes, form: LogisticForm) -> Self:
        self.twin_, self.schema_, self.classes_ = twin, twin.schema_, twin.classes_
        self.form_, self.coef_, self.intercept_, self.features_ = form, form.weights, form.intercept, form.features
        self._copy_features(twin)
        return self

    def _fit_sparse(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """A sparse matrix stays sparse; its twin is made of the same sums."""
        if self.roles not in (None, "numeric") or self.domains is not None or self.schema is not None:
            raise BayesError("every column of a sparse matrix is a number: roles=, domains= and schema= do not apply")
        M = sparse_matrix(X)
        if not M.shape[1]:
            raise BayesError(f"Found array with 0 feature(s) (shape={M.shape}) while a minimum of 1 is required.")
        source, classes = open_source(X, y, sample_weight), Vocabulary()
        labels_of = source.labels  # type: ignore[attr-defined]
        if isinstance(labels_of, Responsibilities) or not M.shape[0]:
            raise BayesError("one label a row is needed, and at least one row (Found array with 0 sample(s))")
        weights = source.weights  # type: ignore[attr-defined]
        if self._drops_unlabeled and (missing := without_label(labels_of)) is not None:
            tell_dropped(missing)
            rows = np.flatnonzero(~missing)
            M, labels_of = M[rows], take_cells(labels_of, rows)
            weights = None if weights is None else weights[rows]
        codes = encode_labels(labels_of, classes, 0, grow=True).astype(np.int64)
        if weights is not None:
            M, codes, weights = M[weights > 0], codes[weights > 0], weights[weights > 0]
        class_values = sort_values(classes.values[code] for code in np.unique(codes))
        labels = positions(classes.values, class_values)[codes]
        _refuse_one_class(class_values)
        w = np.ones(len(labels)) if weights is None else weights
        mean, squares = w @ M / w.sum(), w @ M.multiply(M).tocsr() / w.sum()
        spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
        spread[spread <= CONSTANT * np.abs(mean)] = 0.0
        loss = LogisticLoss(M, labels, len(class_values), weights, mean, spread)
        start = _sparse_twin(M, labels, w, len(class_values), loss, squares)
        theta = self._solve(loss, start, [f"x{j}" for j in range(M.shape[1])], spread)
        return self._become_sparse(np.array(class_values), *loss.plain(theta))

    def _become_sparse(self, classes: Array, intercept: Floats, coef: Floats) -> Self:
        self.classes_, self.intercept_, self.coef_ = classes, intercept, coef
        self.n_features_in_ = coef.shape[1]
        self.features_ = [f"x{j}" for j in range(coef.shape[1])]
        for name in ("form_", "twin_", "schema_", "feature_names_in_"):
            vars(self).pop(name, None)
        return self

    @property
    def _sparse(self) -> bool:
        """Return True for a model of a sparse matrix, which has no columns of a table."""
        return "form_" not in vars(self)

    def _solve(self, loss: LogisticLoss, start: Floats, names: list[str], spread: Floats) -> Floats:
        solver_settings = (self.solver, float(self.tol), int(self.max_iter))
        self.path_ = None
        if self.penalty == "evidence":
            self.penalty_ = conditional_likelihood.by_evidence(loss, start, self.scale, *solver_settings)
        elif self.penalty == "cv":
            self.penalty_, self.path_ = conditional_likelihood.by_cross_validation(
                loss, start, self.scale, *solver_settings, cv=self.cv, seed=self.random_state
            )
        else:
            self.penalty_ = float(self.penalty)
        if self.penalty_ == 0:
            omega = np.ones(len(loss.labels)) if loss.weights is None else loss.weights
            if dependent := collinear(loss.M, omega, loss.mean, spread, names):
                raise BayesError(collinear_sentence(dependent))
        loss.with_penalty(self.penalty_, self.scale)
        if self.penalty_ == 0:
            loss.penalty[loss.inverse > 0] = 0.0
        theta, self.n_iter_ = conditional_likelihood.fit_from(loss, start, *solver_settings)
        if self.penalty_ == 0:
            _refuse_separable(loss, theta, names, float(self.tol))
        if np.abs(loss.gradient(theta)).max() > 100 * self.tol * loss.total:
            from sklearn.exceptions import ConvergenceWarning

            sentence = f"the solver stopped after {self.n_iter_} iterations short of the minimum; raise max_iter"
            warnings.warn(sentence, ConvergenceWarning, stacklevel=4)
        self.log_loss_ = (loss.value(theta) - 0.5 * _prior(loss, theta)) / loss.total
        return theta

    # -- prediction -----------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """Return the log odds of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            For two classes the log odds of the second, else one score per class.
        """
        self._check_is_fitted()
        if not self._sparse and not is_sparse(X):
            return self.form_.log_odds(X)
        if not self._sparse:
            return self.form_.log_odds(sparse_matrix(X).toarray())
        M = sparse_matrix(X) if is_sparse(X) else np.asarray(X, dtype=np.float64)
        if M.ndim != 2 or M.shape[1] != self.n_features_in_:
            n, known = M.shape[-1], self.n_features_in_
            raise BayesError(f"X has {n} features, but LogisticRegression is expecting {known} features as input")
        with np.errstate(all="ignore"):  # what overflows is refused
            z = M @ self.coef_.T + self.intercept_
        if not np.isfinite(z).all():
            scored_classes = self.classes_ if z.shape[1] > 1 else self.classes_[1:]
            refuse_no_numbers(np.where(np.isfinite(z), z, np.nan), 0, scored_classes)
        return z[:, 0] if len(self.classes_) == 2 else z

    def predict_log_proba(self, X: Any) -> Floats:
        """Return ln P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return logspace.log_normalize(self._scores(X))[0]

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        return logspace.normalize(self._scores(X))[0]

    def _scores(self, X: Any) -> Floats:
        """Return log scores (n_rows, n_classes); of two classes, the first has score 0."""
        z = self.decision_function(X)
        return np.column_stack([np.zeros(len(z)), z]) if z.ndim == 1 else z

    def predict(self, X: Any) -> Array:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        z = self.decision_function(X)
        return self.classes_[(z > 0).astype(np.int64) if z.ndim == 1 else z.argmax(axis=1)]

    def _scoring_form(self) -> ScoringForm:
        """The weights as plain numbers that can be carried elsewhere."""
        self._check_is_fitted()
        if self._sparse:
            raise BayesError("a sparse matrix has no columns of a table: fit on a table to carry the model elsewhere")
        return self.form_.scoring_form(self.schema_.target.name, type(self).__name__)

    def table(self) -> Table:
        """Return a table of intercept and weights.

        Returns
        -------
        Table
        """
        if not self._sparse:
            return self.form_.table()
        heads = [f"score of {c}" for c in (self.classes_[1:] if len(self.classes_) == 2 else self.classes_)]
        return weight_table(heads, self.features_, self.intercept_, self.coef_)

    def describe_structure(self) -> StructureDescription:
        """Describe the weights, whose sum is the log odds.

        Returns
        -------
        StructureDescription
        """
        return StructureDescription(f"log odds are a sum of weights, with penalty {self.penalty_:.4g}", self.table())

    @property
    def n_parameters_(self) -> int:
        """Free parameters: n + 1 for n features and two classes, as many again for each further class."""
        reference = 0 if self._sparse else len(self.form_.tables) * (self._coding() == "reference")
        return (len(self.classes_) - 1) * (1 + len(self.features_) - reference)

    # -- persistence -----------------------------------------------------------------------------------

    def _fitted_parts(self) -> dict[str, Any]:
        """The twin, which reads the rows; of a sparse matrix there is none."""
        return {} if self._sparse else {"twin": self.twin_}

    @classmethod
    def _part_names(cls, saved: Saved) -> tuple[str, ...]:
        """The twin, or none."""
        return ("twin",) if saved.parts else ()

    def _state_to_save(self) -> State:
        """Return the weights and the course of the fit."""
        fit: dict[str, Any] = {"penalty": self.penalty_, "log_loss": float(self.log_loss_)}
        fit |= {"iterations": int(self.n_iter_), "path": self.path_}
        if self._sparse:
            return State.of(**fit, classes=self.classes_.tolist(), intercept=self.intercept_, weights=self.coef_)
        form = self.form_
        tables = {f"table {name}": table for name, table in form.tables.items()}
        return State.of(**fit, base=form.base, center=form.center, slope=form.slope, **tables)

    def _restore_parts(self, parts: dict[str, Any], state: State) -> Self:
        """Restore a fitted model from a file."""
        self._check_settings()
        if not parts:
            return self._restore_sparse(state)
        twin = parts["twin"]
        _refuse_one_class(twin.classes_)
        design, k = Design.of(twin.tally_, self._coding()), len(twin.classes_)
        n = len(design.columns)
        tables = {f"table {name}": Numbers((size + 2, k)) for name, size in design.values.items()}
        form = {"base": Numbers((k,)), "center": Numbers((n,)), "slope": Numbers((k, n)), **tables}
        held = self._restore_fit(state.read(FIT | form))
        nothing, contiguous = np.zeros_like(held["slope"]), np.ascontiguousarray
        by_column = {name: contiguous(held[f"table {name}"]) for name in design.values}
        weights = (held["base"], design.columns, held["center"], held["slope"], nothing, by_column)
        return self._become(twin, LogisticForm(twin.classes_, twin._encoder(), *weights))

    def _restore_sparse(self, state: State) -> Self:
        n_labels = len(state.header.get("classes", ()))
        rows = 1 if n_labels == 2 else n_labels
        weights = {"intercept": Numbers((rows,)), "weights": Numbers((rows, None))}
        held = self._restore_fit(state.read(FIT | {"classes": (list, ValueList)} | weights))
        labels = tuple(held["classes"])
        if None in map(canonical, labels) or sort_values({*labels}) != list(labels):
            raise BadFile("the classes are not sorted, or one of them appears twice or is missing")
        _refuse_one_class(list(labels))
        if not held["weights"].size:
            raise BadFile("a LogisticRegression without any weight is none")
        return self._become_sparse(np.array(labels), held["intercept"], held["weights"])

    def _restore_fit(self, held: dict[str, Any]) -> dict[str, Any]:
        """Set what is known of the fit, and return the values of the file."""
        path = held["path"]
        if any(type(number) not in (int, float) for step in path or () for number in step):
            raise BadFile("the path of penalties of a LogisticRegression is not made of numbers")
        self.penalty_, self.log_loss_ = float(held["penalty"]), float(held["log_loss"])
        self.n_iter_ = held["iterations"]
        self.path_ = None if path is None else [(float(a), float(b)) for a, b in path]
        return held

    # -- inside --------------------------------------------------------------------------------------

    def _coding(self) -> str:
        return self.coding if self.coding != "auto" else "reference" if self.penalty == 0 else "full"

    _rules: ClassVar[rules.Rules] = {
        "coding": rules.words("auto", "full", "reference"),
        "scale": rules.flag,
        "solver": rules.words("auto", "newton", "lbfgs"),
        "unseen": rules.words("ignore", "error"),
        "unlabeled": rules.words("error", "drop"),
        "tol": rules.number("give a number between 0 and 1", np.nextafter(0, 1), np.nextafter(1, 0)),
        "max_iter": rules.integer(1),
    }

    def _check_settings(self) -> None:
        super()._check_settings()
        chosen = isinstance(self.penalty, str) and self.penalty in ("cv", "evidence")
        if not chosen and not (is_number(self.penalty) and 0 <= self.penalty <= MOST):
            raise BayesError(
                f'penalty={self.penalty!r}: give λ as a finite number of at least 0, or "cv" or "evidence"'
                f"{did_you_mean(self.penalty, ('cv', 'evidence'))}"
            )
        if isinstance(self.cv, (int, float)) and (not isinstance(self.cv, int) or self.cv < 2):
            raise BayesError(f"cv={self.cv!r}: give a whole number of folds, at least 2, or a splitter")


FIT: dict[str, Any] = {
    "penalty": Numbers((), 0.0), "log_loss": Numbers(), "iterations": int, "path": (list, ValueList, type(None)),
}  # fmt: skip


def _refuse_one_class(classes: Array | list[Value]) -> None:
    if len(classes) < 2:
        label = np.asarray(classes).tolist()[0]
        raise BayesError(f"there is one class only ({label!r}): log odds need at least two classes")


def _prior(loss: LogisticLoss, theta: Floats) -> float:
    return float((loss.penalty * theta.reshape(loss.K, -1)[:, 1:] ** 2).sum())


def _twin_start(twin: NaiveBayes, design: Design, loss: LogisticLoss) -> Floats:
    """The unknowns of the naive Bayes model with the same columns."""
    form = naive_form(twin)
    n_classes = len(twin.classes_)
    w = np.zeros((n_classes, design.n_features))
    for j, name in enumerate(design.columns):
        if name in form.columns:
            w[:, j] = form.slope[:, form.columns.index(name)]
    base = form.base.copy()
    for name, span in design.spans():
        table = form.tables.get(name)
        if table is not None and len(table) > 2:
            w[:, span] = table[1 + design.skip : -1].T - (table[1][:, None] if design.skip else 0.0)
            base += table[1] if design.skip else 0.0
    base = base + form.present.sum(axis=1)
    for j, name in enumerate(form.columns):
        base = base + form.slope[:, j] * (design.mean[design.columns.index(name)] - form.center[j])
    base = base + w[:, len(design.columns) :] @ design.mean[len(design.columns) :]
    return _to_unknowns(base, w, loss)


def _to_unknowns(base: Floats, w: Floats, loss: LogisticLoss) -> Floats:
    spread = np.divide(1.0, loss.inverse, out=np.zeros_like(loss.inverse), where=loss.inverse > 0)
    theta = np.column_stack([base, w * spread])
    theta = theta[1:] - theta[:1] if loss.K == 1 else theta - theta.mean(axis=0)
    return theta.ravel()


def _sparse_twin(M: Any, labels: Any, w: Floats, n_classes: int, loss: LogisticLoss, squares: Floats) -> Floats:
    """Means by class and one variance a feature, from sums."""
    belongs = np.zeros((n_classes, len(labels)))
    belongs[labels, np.arange(len(labels))] = w
    counts = belongs.sum(axis=1)
    means = np.asarray(M.T @ belongs.T).T / counts[:, None]
    variance = np.maximum(squares - (counts / counts.sum()) @ means**2, NOISE * (squares - loss.mean**2))
    slope = np.divide(means - loss.mean, variance, out=np.zeros_like(means), where=(variance > 0) & (loss.inverse > 0))
    base = logspace.log(counts / counts.sum()) - 0.5 * (slope * (means - loss.mean)).sum(axis=1)
    return _to_unknowns(base, slope, loss)


def _form(twin: NaiveBayes, design: Design, intercept: Floats, weights: Floats) -> LogisticForm:
    """The fitted weights as scores of all classes; of two, the first has score 0."""
    if len(twin.classes_) == 2:
        intercept, weights = (np.concatenate([np.zeros_like(part), part]) for part in (intercept, weights))
    n = len(design.columns)
    tables = {
        name: np.ascontiguousarray(design.indicators(name, span) @ weights[:, span].T) for name, span in design.spans()
    }
    base = intercept + weights[:, :n] @ design.mean[:n]
    none = np.zeros_like(weights[:, :n])
    return LogisticForm(
        twin.classes_, twin._encoder(), base, design.columns, design.mean[:n], weights[:, :n], none, tables
    )


def _refuse_separable(loss: LogisticLoss, theta: Floats, names: list[str], tol: float) -> None:
    """Without a prior, classes that a line separates send the weights to infinity."""
    advice = "Pass a penalty above 0 (a prior keeps the weights finite), such as penalty=1."
    loss.value(theta)
    if loss.smallest_margin > 0:
        raise BayesError(
            "the classes are perfectly separable: every row is on its side of a plane, so the likelihood grows for "
            f"ever with the weights and has no maximum. {advice}"
        )
    # Where the loss falls like e^−t for ever, Newton's step stays one nat long however near the end is.
    if len(theta) > conditional_likelihood.NEWTON:
        return
    for tighter in (1.0, 1e-4):
        if tighter < 1:
            theta, _ = conditional_likelihood.solve(loss, theta, "newton", tol * tighter, 100)
        step = np.linalg.lstsq(loss.hessian(theta), loss.gradient(theta), rcond=None)[0].reshape(loss.K, -1)
        if np.abs(step).max() < LONG_STEP:
            return
    diverging = names[int(np.abs(step[:, 1:]).max(axis=0).argmax())] if names else "the intercept"
    raise BayesError(
        f"the weight of {diverging} grows without bound: some rows are separated with certainty (quasi-separable, "
        f"as where a value occurs in one class only), so the likelihood has no maximum. {advice}"
    )
