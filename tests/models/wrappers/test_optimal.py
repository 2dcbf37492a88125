"""The optimal vote and Gibbs' draw: bounds, weights, and what they are made of."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import bayeskit as bk

X, Y = load_iris(return_X_y=True)


class Says(ClassifierMixin, BaseEstimator):
    """A hypothesis: a label for each of the rows 0, 1, …"""

    def __init__(self, labels=(), classes=(0, 1)):
        self.labels = labels
        self.classes = classes
        self.classes_ = np.array(classes)

    def predict(self, X):
        return np.array(self.labels)[np.asarray(X)[:, 0]]


def committees(rng, n_members=5, n_rows=30, n_classes=3):
    weights = rng.dirichlet(np.ones(n_members))
    said = rng.integers(0, n_classes, (n_members, n_rows))
    members = [Says(tuple(row), tuple(range(n_classes))) for row in said.tolist()]
    rows = np.arange(n_rows)[:, None]
    made = [cls(members, weights=weights, prefit=True).fit() for cls in (bk.BayesOptimalClassifier, bk.GibbsClassifier)]
    return weights, said, rows, *made


@pytest.mark.parametrize("seed", range(20))
def test_no_member_errs_less_than_the_vote_and_gibbs_at_most_twice_as_often(seed):
    weights, said, rows, optimal, gibbs = committees(np.random.default_rng(seed))
    truth = said  # the truth is one of the members, drawn by the stated posterior
    errors = np.array([[np.mean(h != t) for h in said] for t in truth])
    members = weights @ errors
    vote = weights @ [np.mean(optimal.predict(rows) != t) for t in truth]
    assert vote <= members.min() + 1e-12
    assert optimal.expected_error(rows) == pytest.approx(vote)
    assert gibbs.expected_error(rows) == pytest.approx(weights @ members)
    assert gibbs.expected_error(rows) <= 2 * vote + 1e-12


def test_gibbs_can_be_worse_than_the_most_probable_member_and_better():
    rows = [[0]]
    for weights, better in (((0.6, 0.4), False), ((0.4, 0.3, 0.3), True)):
        members = [Says((1,)), *(Says((0,)) for _ in weights[1:])]
        gibbs = bk.GibbsClassifier(members, weights=weights, prefit=True).fit()
        of_map = 1 - weights[0]
        assert (gibbs.expected_error(rows) < of_map) == better


def test_gibbs_draws_by_the_posterior_and_by_its_seed():
    members = [Says((1,) * 5000), Says((0,) * 5000)]
    gibbs = bk.GibbsClassifier(members, weights=[0.3, 0.7], prefit=True, random_state=0).fit()
    rows = np.arange(5000)[:, None]
    assert gibbs.predict(rows).mean() == pytest.approx(0.3, abs=0.02)
    assert (gibbs.predict(rows) == gibbs.predict(rows)).all()


@pytest.mark.slow
def test_weights_come_from_leave_one_out_where_all_members_have_it():
    members = {
        "own": bk.NaiveBayes(numeric="gaussian"),
        "shared": bk.NaiveBayes(numeric="gaussian", variance="feature"),
    }
    model = bk.BayesOptimalClassifier(members).fit(X, Y)
    assert model.weighting_ == "leave-one-out"
    scores = []
    for member in members.values():
        log_p = 0.0
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            log_p += member.fit(X[rest], Y[rest]).predict_log_proba(X[[i]])[0, Y[i]]
        scores.append(log_p)
    assert model.report_["log score (leave-one-out)"] == pytest.approx(scores, rel=1e-6)
    assert model.posterior_[0] == pytest.approx(1 / (1 + np.exp(scores[1] - scores[0])), rel=1e-6)


@pytest.mark.slow
def test_else_they_come_from_cross_validation_and_the_report_says_so():
    members = [bk.NaiveBayes(), DecisionTreeClassifier(max_depth=2), LogisticRegression(max_iter=1000)]
    model = bk.BayesOptimalClassifier(members).fit(X, Y)
    assert model.weighting_ == "cross-validation"
    assert model.report_["posterior"] == pytest.approx(model.posterior_.tolist())
    p = sum(w * m.predict_proba(X) for w, m in zip(model.posterior_, model.members_, strict=True))
    np.testing.assert_allclose(model.predict_proba(X), p)


def test_evidence_is_taken_where_every_member_has_its_own():
    class Known(Says):
        log_marginal_likelihood = -3.0

    class Better(Says):
        log_marginal_likelihood = -2.0

    model = bk.BayesOptimalClassifier([Known((0,)), Better((1,))], prefit=True, prior=[0.5, 0.5]).fit([[0]], [1])
    assert model.weighting_ == "evidence"
    assert model.posterior_[1] == pytest.approx(1 / (1 + np.exp(-1)))


def test_members_may_know_different_classes():
    some = bk.NaiveBayes().fit(X[:100], Y[:100])
    every = bk.NaiveBayes().fit(X, Y)
    model = bk.BayesOptimalClassifier([some, every], weights=[0.5, 0.5], prefit=True).fit()
    assert model.predict_proba(X).shape == (150, 3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"weights": [0.5, 0.6]}, "sum to 1.1"),
        ({"weights": [1.5, -0.5]}, "not negative"),
        ({"weights": [1.0]}, "2 numbers"),
        ({"weights": {"h1": 1, "x": 0}}, "name"),
        ({"weights": "votes"}, "votes"),
        ({"members": ["tree"]}, "classifiers"),
        ({"weights": "evidence"}, "closed form for tables alone"),
    ],
)
def test_committees_that_mean_nothing_are_refused(settings, words):
    members = [bk.NaiveBayes(), bk.NaiveBayes(ddof=0)]
    with pytest.raises(bk.BayesError, match=words):
        bk.BayesOptimalClassifier(**({"members": members} | settings)).fit(X, Y)


def test_a_member_without_probabilities_votes_but_cannot_be_weighed_by_likelihood():
    with pytest.raises(bk.BayesError, match="predict_proba"):
        bk.BayesOptimalClassifier([LinearSVC()]).fit(X, Y)
    model = bk.BayesOptimalClassifier([LinearSVC()], weights=[1]).fit(X, Y)
    assert set(model.predict_proba(X).ravel().tolist()) == {0.0, 1.0}


def test_a_member_without_evidence_is_named():
    days = bk.datasets.load_worked_example("tennis")
    for member, message in (
        (bk.TAN(), r"member 'tree': smoothing='back-off' is not a prior over tables"),
        (bk.AODE(), r'weights="evidence": \'tree\' \(AODE\) cannot say that; use "cross-validation"'),
    ):
        with pytest.raises(bk.BayesError, match=message):
            bk.BayesOptimalClassifier({"naive": bk.NaiveBayes(), "tree": member}, weights="evidence").fit(days, "play")
    with pytest.raises(bk.BayesError, match="members are classifiers, and there is none: give a list"):
        bk.BayesOptimalClassifier([]).fit(days, "play")
    with pytest.raises(bk.BayesError, match="members are classifiers, and 'h2' is 3"):
        bk.BayesOptimalClassifier([bk.NaiveBayes(), 3]).fit(days, "play")
    with pytest.raises(bk.BayesError, match=r"weights sum to 1\.4"):
        bk.BayesOptimalClassifier([bk.NaiveBayes(), bk.TAN()], weights=[0.5, 0.9]).fit(days, "play")


@pytest.mark.parametrize("recipes", [("multinomial", "weighted"), ("multinomial", "nbsvm")])
@pytest.mark.parametrize("committee", [bk.BayesOptimalClassifier, bk.GibbsClassifier])
def test_members_may_read_documents(committee, recipes):
    documents = ["the court ruled", "a judge in court", "the team won", "a ball and a team"] * 5
    labels = ["law", "law", "sport", "sport"] * 5
    model = committee([bk.TextClassifier(recipe) for recipe in recipes]).fit(documents, labels)
    assert model.predict(documents).tolist() == labels
    if model.weighting_ == "leave-one-out":
        member = model.members_[0]
        log_loss = member.leave_one_out(documents, labels).log_loss
        score = model.report_["log score (leave-one-out)"][0]
        assert score == pytest.approx(-log_loss * len(labels))
