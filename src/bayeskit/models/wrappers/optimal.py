"""Bayes-optimal classifier and Gibbs classifier over a set of hypotheses.

    optimal   argmax_c Σ_h P(c | h, x) · P(h | D)      every hypothesis votes with its posterior
    Gibbs     the class that one hypothesis says, drawn anew for each row by P(h | D)

When the truth is drawn from the stated posterior, no classifier errs less than the first, and the second errs at most
twice as often (Haussler, Kearns and Schapire, 1994).

Formula: Σ_h P(c ∣ h, x) P(h ∣ D), and Gibbs' draw
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayeskit import logspace
from bayeskit.data.reader import read_table
from bayeskit.data.unseen import without_unseen_warnings
from bayeskit.data.vocabulary import sort_values
from bayeskit.errors import BayesError
from bayeskit.estimate.prior import normalized
from bayeskit.evaluate.cross_validation import fit_wrapped
from bayeskit.models.base.class_weight import weigh_classes
from bayeskit.models.base.estimator import PredictsClasses, clone
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.nearest import did_you_mean
from bayeskit.tables import Table
from bayeskit.tolerance import LEAST_PROBABILITY
from bayeskit.typing import Array, Floats

WEIGHTINGS = ("auto", "evidence", "leave-one-out", "cross-validation")


@dataclass(eq=False, repr=False)
class _Committee(PredictsClasses):
    """Members with posterior probabilities; what both classifiers share."""

    members: Any = None
    weights: Any = "auto"
    prior: Any = None
    prefit: bool = False
    cv: Any = 5

    _fitted_attribute: ClassVar[str] = "members_"
    predict_proba: ClassVar[Callable[..., Floats]]

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None, class_weight: Any = None) -> Self:
        """Fit clones of the members and compute their posterior.

        Parameters
        ----------
        X, y, sample_weight, class_weight
            As for :meth:`NaiveBayes.fit`; not needed for ``prefit`` members with given weights.

        Returns
        -------
        self
        """
        names, members = _named(self.members)
        given = not isinstance(self.weights, str)
        if not given and self.weights not in WEIGHTINGS:
            words = f"{', '.join(WEIGHTINGS)}{did_you_mean(self.weights, WEIGHTINGS)}"
            raise BayesError(f"weights={self.weights!r}: give one number a member, or one of {words}")
        if not (self.prefit and given):
            self._require_y(y)
        if class_weight is not None:
            sample_weight = weigh_classes(X, y, sample_weight, class_weight)
        if not self.prefit:
            members = [fit_wrapped(clone(member), X, y, sample_weight) for member in members]
        even = np.full(len(names), 1 / len(names))
        prior = normalized(even if self.prior is None else _by_name(self.prior, names, "prior"))
        if given:
            weighting, scores = "given", None
            posterior = normalized(_by_name(self.weights, names, "weights"), "weights")
        else:
            named = dict(zip(names, members, strict=True))
            weighting, scores = _score(self.weights, named, X, y, sample_weight, self.cv)
            posterior = logspace.normalize((logspace.log(prior) + scores)[None])[0][0]
            if np.isnan(posterior).any():
                raise BayesError("the labels are impossible under every member; smooth them, or give weights")
        self.members_, self.names_, self.posterior_ = members, names, posterior
        self.weighting_ = weighting
        self.classes_ = np.array(sort_values({label for m in members for label in np.asarray(m.classes_).tolist()}))
        columns = {"member": names, "prior": prior, "posterior": posterior}
        self.report_ = Table(columns | ({} if scores is None else {f"log score ({weighting})": scores}))
        self._copy_features(members[0])
        return self

    @property
    def map_(self) -> Any:
        """The most probable member."""
        return self.members_[int(np.argmax(self.posterior_))]

    def predict(self, X: Any) -> Array:
        """Predict the class of each row with the largest probability.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]

    def _votes(self, X: Any) -> Floats:
        """P(c | h, x) (n_members, n_rows, n_classes); a member without probabilities votes with certainty."""
        votes = []
        for member in self.members_:
            positions = [int(i) for i in np.searchsorted(self.classes_, np.asarray(member.classes_))]
            if hasattr(member, "predict_proba"):
                p = np.asarray(member.predict_proba(X))
            else:
                labels = np.asarray(member.predict(X))
                p = (labels[:, None] == np.asarray(member.classes_)).astype(np.float64)
            full = np.zeros((len(p), len(self.classes_)))
            full[:, positions] = p
            votes.append(full)
        return np.array(votes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [member for member in _named(self.members)[1] if hasattr(member, "__sklearn_tags__")]
        member_tags = [member.__sklearn_tags__().input_tags for member in members]
        for name in ("allow_nan", "sparse", "categorical"):
            setattr(tags.input_tags, name, all(getattr(part, name) for part in member_tags))
        return tags


@dataclass(eq=False, repr=False)
class BayesOptimalClassifier(_Committee):
    """Bayes-optimal classifier: the posterior-weighted average of its members.

    Parameters
    ----------
    members : list or mapping of classifiers, default=None
        Classifiers with scikit-learn's interface, as a list, (name, classifier) pairs or a mapping from name; None for
        a ``NaiveBayes`` alone.
    weights : array-like, mapping or str, default="auto"
        Posterior probabilities of the members; or how to compute them: "evidence" (each member's own
        ``log_marginal_likelihood``), "leave-one-out" (log probability of each label by the member without its row),
        "cross-validation", or "auto": the first of leave-one-out, evidence and cross-validation that all members have.
    prior : array-like or mapping, default=None
        Prior probabilities of the members; equal if None. Not used if ``weights`` are given.
    prefit : bool, default=False
        True uses the members as they are.
    cv : int or splitter, default=5
        Folds of the cross-validation.

    Attributes
    ----------
    members_ : list of classifiers
    posterior_ : ndarray of shape (n_members,)
    report_ : Table
        Prior, log score and posterior of each member.

    References
    ----------
    Haussler, Kearns and Schapire (1994), Bounds on the sample complexity of Bayesian learning. Machine Learning 14.

    Examples
    --------
    Three hypotheses, of which the most probable predicts + and the others −:

    >>> from sklearn.dummy import DummyClassifier
    >>> says = lambda label: DummyClassifier(strategy="constant", constant=label).fit([[0], [0]], ["+", "-"])
    >>> h = {"h1": says("+"), "h2": says("-"), "h3": says("-")}
    >>> vote = BayesOptimalClassifier(h, weights=[0.4, 0.3, 0.3], prefit=True).fit()
    >>> str(vote.predict([[1]])[0]), vote.predict_proba([[1]]).tolist(), str(vote.map_.predict([[1]])[0])
    ('-', [[0.4, 0.6]], '+')
    """

    def predict_proba(self, X: Any) -> Floats:
        """Return Σ_h P(c | h, x) · P(h | D) of each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        votes = self._votes(X)
        return np.tensordot(self.posterior_, votes, axes=1)

    def expected_error(self, X: Any) -> float:
        """Return the expected error rate if the posterior is true: the mean of 1 − max_c P(c | x).

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        float
        """
        return float(1 - self.predict_proba(X).max(axis=1).mean())


@dataclass(eq=False, repr=False)
class GibbsClassifier(_Committee):
    """Gibbs classifier: draw one member per row from the posterior; expected error at most twice the optimum.

    Parameters
    ----------
    members, weights, prior, prefit, cv
        As for :class:`BayesOptimalClassifier`.
    random_state : int or generator, default=None
        Seed of the draws.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> says = lambda label: DummyClassifier(strategy="constant", constant=label).fit([[0], [0]], ["+", "-"])
    >>> gibbs = GibbsClassifier([says("+"), says("-")], weights=[1.0, 0.0], prefit=True).fit()
    >>> gibbs.predict([[1], [2]]).tolist(), gibbs.expected_error([[1]])
    (['+', '+'], 0.0)
    """

    random_state: Any = None

    def predict_proba(self, X: Any) -> Floats:
        """Return P(c | h, x) of the member drawn for each row.

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
        """
        votes = self._votes(X)
        seed = self.random_state
        rng = np.random.default_rng(seed.randint(2**31 - 1) if hasattr(seed, "randint") else seed)
        drawn = rng.choice(len(votes), size=votes.shape[1], p=self.posterior_)
        return votes[drawn, np.arange(votes.shape[1])]

    def expected_error(self, X: Any) -> float:
        """Return the expected error rate if the posterior is true: the mean of Σ_h P(h) (1 − P(c_h | x)).

        Parameters
        ----------
        X : table or array of shape (n_rows, n_columns)

        Returns
        -------
        float
        """
        votes = self._votes(X)
        together = np.tensordot(self.posterior_, votes, axes=1)
        right = np.take_along_axis(together, votes.argmax(axis=2).T, axis=1)  # (n_rows, n_members)
        return float(1 - (right @ self.posterior_).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


def _named(members: Any) -> tuple[list[str], list[Any]]:
    if members is None:
        return ["NaiveBayes"], [NaiveBayes()]
    if isinstance(members, Mapping):
        named = [(str(name), member) for name, member in members.items()]
    else:
        named = [m if isinstance(m, tuple) and len(m) == 2 else (f"h{i + 1}", m) for i, m in enumerate(members)]
    bad = next((f"{name!r} is {member!r}" for name, member in named if not hasattr(member, "predict")), "")
    if not named or bad:
        problem = bad or "there is none"
        raise BayesError(f"members are classifiers, and {problem}: give a list, or a mapping from name to classifier")
    if len({name for name, _ in named}) < len(named):
        raise BayesError("two members have the same name; give each its own")
    return [name for name, _ in named], [member for _, member in named]


def _by_name(numbers: Any, names: list[str], what: str) -> list[float]:
    if isinstance(numbers, Mapping):
        if set(map(str, numbers)) != set(names):
            raise BayesError(f"{what} name {sorted(map(str, numbers))}, but the members are {names}: one number each")
        numbers = [{str(k): v for k, v in numbers.items()}[name] for name in names]
    if np.ndim(numbers) != 1 or len(numbers) != len(names):
        raise BayesError(f"{what} of {len(names)} members are {len(names)} numbers, not {numbers!r}")
    return list(numbers)


def _score(weighting: str, named: dict[str, Any], X: Any, y: Any, weight: Any, cv: Any) -> tuple[str, Floats]:
    """(which score, ln P(labels | member))."""
    unable = {
        "evidence": [name for name, m in named.items() if not hasattr(m, "log_marginal_likelihood")],
        "leave-one-out": [name for name, m in named.items() if not hasattr(m, "leave_one_out")],
        "cross-validation": [],
    }
    if weighting == "auto":
        # what predicts labels comes before what explains whole tables, which asks for the same columns
        order = ("leave-one-out", "evidence", "cross-validation")
        weighting = next(name for name in order if not unable[name])
    if unable[weighting]:
        who = ", ".join(f"{name!r} ({type(named[name]).__name__})" for name in unable[weighting])
        raise BayesError(f'weights="{weighting}": {who} cannot say that; use "cross-validation" or "auto"')
    members = list(named.values())
    if weighting == "evidence":
        _check_same_table(members)
        return weighting, np.array([_evidence(name, member) for name, member in named.items()])
    if weighting == "leave-one-out":
        return weighting, np.array([_left_out(m, X, y, weight) for m in members])
    return weighting, np.array([_cross_validated(m, X, y, weight, cv) for m in members])


def _evidence(name: str, member: Any) -> float:
    evidence = member.log_marginal_likelihood
    try:
        return float(evidence() if callable(evidence) else evidence)
    except BayesError as refused:
        raise refused.within(f"member {name!r}") from None


def _check_same_table(members: list[Any]) -> None:
    """Refuse members whose evidence is of different columns: the less there is to explain, the more probable it is."""
    schemas = [member.tally_.schema for member in members if hasattr(member, "tally_")]
    for schema in schemas[1:]:
        ours, theirs = schemas[0].columns, schema.columns
        lacking = {*schemas[0].used} ^ {*schema.used}
        if lacking or ours != theirs:
            name = min(lacking or [n for n in ours if ours[n] != theirs[n]])
            how = "is not in all of them" if lacking else "is read in different ways"
            raise BayesError(
                f'weights="evidence" compares how members explain the same table, and column {name!r} {how}',
                hint='give them one schema=, or weights="leave-one-out"',
            )


def _left_out(member: Any, X: Any, y: Any, weight: Any) -> float:
    """Σ ln P(label | row) by the member without the row; the only row of a class is passed over."""
    left_out, total = member._left_out(), 0.0
    for block in member._blocks_learned(X, y, weight):
        scores = left_out.scores(block)
        labels = np.asarray(block.labels, dtype=np.int64)
        log_p = logspace.log_posterior_of(scores, labels)
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        known = (member.tally_.class_counts[labels] > 1) & (weights > 0)
        total += float(log_p[known] @ weights[known])
    return total


def _cross_validated(member: Any, X: Any, y: Any, weight: Any, cv: Any) -> float:
    """Σ ln P(label | row) by a clone fitted on the other folds; a label it has not seen counts as 1e-15."""
    from sklearn.model_selection import check_cv

    table = read_table(X, y)
    labels, n = np.array(table.listed_labels().tolist()), table.n_rows
    if not hasattr(member, "predict_proba"):
        raise BayesError("cross-validated likelihood needs members with predict_proba; give weights instead")
    least = int(np.unique(labels, return_counts=True)[1].min())
    folds = check_cv(cv if not isinstance(cv, int) else min(cv, max(least, 2)), labels, classifier=least >= 2)
    total = 0.0
    for learn, test in folds.split(np.zeros(n), labels):
        extra = {} if weight is None else {"sample_weight": np.asarray(weight)[learn]}
        part = clone(member).fit(table.take(learn), labels[learn], **extra)
        with without_unseen_warnings():
            p = np.asarray(part.predict_proba(table.take(test)))
        label_probability = (p * (labels[test][:, None] == np.asarray(part.classes_))).sum(axis=1)
        log_p = logspace.log(np.clip(label_probability, LEAST_PROBABILITY, 1.0))
        total += float((log_p * (1.0 if weight is None else np.asarray(weight)[test])).sum())
    return total
