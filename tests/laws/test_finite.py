"""Whatever comes in: probabilities are finite and sum to one, or an error says what is wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
NUMBERS = [0.0, 1.0, 1.0, 2.5, -3.0, 1e-300, 5e-324, -1e-9, 1e9, 1e100, -1e150, 1e150, None]
CODES = ["u", "v", "w", "", None]
WEIGHTS = [0.0, 1e-300, 1e-100, 1e-38, 1e-9, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0, 10.0, 1e9, 1e30, 1e38, 1e100, 1e300]
SMOOTHINGS = [0, 1e-300, 0.5, 1, 1e300, "auto", bk.MLE(), bk.MEstimate(2)]
PRIORS = ["empirical", "uniform", {"a": 1.0, "b": 0.0}, bk.Laplace()]
SMALL = {"n_members": 2, "n_chains": 2, "n_trees": 3, "n_threads": 1}


def two_models(smoothing, prior):
    return [bk.NaiveBayes(smoothing=smoothing), bk.NaiveBayes(prior=prior)]


TABLES = {
    "naive": lambda s, p: bk.NaiveBayes(smoothing=s, prior=p),
    "naive, kernel": lambda s, p: bk.NaiveBayes(smoothing=s, prior=p, numeric="kernel"),
    "naive, histogram": lambda s, p: bk.NaiveBayes(smoothing=s, prior=p, numeric="histogram", cuts=3),
    "naive, missing a value": lambda s, _: bk.NaiveBayes(smoothing=s, variance="feature", missing="value"),
    "naive, unseen smoothed": lambda s, p: bk.NaiveBayes(smoothing=s, prior=p, unseen="smooth"),
    "gaussian": lambda s, p: bk.GaussianBayes(prior=p, roles={"c": "ignore"}),
    "gaussian, tied": lambda s, p: bk.GaussianBayes(prior=p, covariance="tied", roles={"c": "ignore"}),
    "gaussian, shrunk": lambda s, p: bk.GaussianBayes(prior=p, covariance="shrunk", roles={"c": "ignore"}),
    "tan": lambda s, p: bk.TAN(smoothing=s, prior=p, cuts=3),
    "kdb": lambda s, p: bk.KDB(smoothing=s, prior=p, cuts=3),
    "aode": lambda s, p: bk.AODE(smoothing=s, prior=p, cuts=3),
    "network": lambda s, p: bk.NetworkClassifier(smoothing=s, prior=p, cuts=3),
    "full joint": lambda s, p: bk.FullJointBayes(smoothing=s, prior=p, cuts=3),
    "nbtree": lambda s, p: bk.NBTree(smoothing=s, prior=p, cuts=3),
    "subclasses": lambda s, p: bk.SubclassBayes(smoothing=s, prior=p, max_subclasses=2, restarts=1),
    "ensemble": lambda s, p: bk.BayesClassifier(**SMALL),
    "logistic": lambda s, p: bk.LogisticRegression(),
    "exponents": lambda s, p: bk.DiscriminativeWeights(bk.NaiveBayes(smoothing=s, prior=p)),
    "committee": lambda s, p: bk.BayesOptimalClassifier(two_models(s, p), weights="leave-one-out"),
    "one of a committee": lambda s, p: bk.GibbsClassifier(two_models(s, p), weights="leave-one-out"),
    "costs": lambda s, p: bk.CostSensitive(bk.NaiveBayes(smoothing=s, prior=p), {"a": {"b": 2.0}, "b": {"a": 1.0}}),
    "calibrated": lambda s, p: bk.Calibrated(bk.NaiveBayes(smoothing=s, prior=p)),
    "calibrated by a sigmoid": lambda s, p: bk.Calibrated(bk.NaiveBayes(smoothing=s, prior=p), "sigmoid", capped=False),
    "calibrated by beta": lambda s, p: bk.Calibrated(bk.NaiveBayes(smoothing=s, prior=p), "beta", capped=False),
    "semi-supervised": lambda s, p: bk.SemiSupervised(bk.NaiveBayes(smoothing=s, prior=p), folds=0),
}  # fmt: skip
RECIPES = {
    name: lambda s, p, name=name: bk.TextClassifier(name, smoothing=s, prior=p, pattern="words1")
    for name in ("multinomial", "set_of_words", "complement", "wcnb", "twcnb", "tfidf", "weighted", "fast")
} | {"semi-supervised": lambda s, p: bk.SemiSupervised(bk.TextClassifier("multinomial", smoothing=s, prior=p), folds=0)}

row = st.tuples(*[st.sampled_from(cells) for cells in (NUMBERS, NUMBERS, CODES, "aab", WEIGHTS)])
document = st.lists(st.sampled_from(["sun", "sea", "rain", "été", "the"]), max_size=5).map(" ".join)
labeled = st.tuples(document, st.sampled_from("aab"), st.sampled_from(WEIGHTS))


def say(model, X, y, weights, asked):
    """Probabilities by a model that learned the rows, None where it refused."""
    given = {} if weights is None else {"sample_weight": weights}
    try:
        proba = model.fit(X, y, **given).predict_proba(asked)
        has_logs = hasattr(model, "predict_log_proba")
        return (
            proba,
            model.predict_log_proba(asked) if has_logs else np.log(np.maximum(proba, 1e-300)),
            model.predict(asked),
        )
    except bk.BayesError:
        return None


def are_probabilities(said):
    if said is not None:
        proba, log_proba, _ = said
        assert np.isfinite(proba).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1, rtol=1e-11)


def table(rows):
    columns = {name: np.array([np.nan if row[i] is None else row[i] for row in rows]) for i, name in enumerate("xy")}
    return {**columns, "c": [row[2] for row in rows]}


@pytest.mark.parametrize("name", TABLES)
@settings.get_profile("few")
@given(
    rows=st.lists(row, min_size=1, max_size=7),
    asked=st.lists(row, min_size=1, max_size=3),
    smoothing=st.sampled_from(SMOOTHINGS),
    prior=st.sampled_from(PRIORS),
    weighted=st.booleans(),
)
def test_tables_of_any_kind(name, rows, asked, smoothing, prior, weighted):
    y, weights = [row[3] for row in rows], [row[4] for row in rows] if weighted and name != "semi-supervised" else None
    try:
        model = TABLES[name](smoothing, prior)
    except bk.BayesError:
        return
    X = table([*asked, *rows[:1], (None, None, "new", "a", 1.0)])
    are_probabilities(say(model, table(rows), y, weights, X))


@pytest.mark.parametrize("name", RECIPES)
@settings.get_profile("few")
@given(
    rows=st.lists(labeled, min_size=1, max_size=6),
    asked=st.lists(document, min_size=1, max_size=3),
    smoothing=st.sampled_from([*SMOOTHINGS, {"sun": 0.0}, None]),
    prior=st.sampled_from([*PRIORS, None]),
    weighted=st.booleans(),
)
def test_documents_of_any_kind(name, rows, asked, smoothing, prior, weighted):
    texts, y, weights = ([row[i] for row in rows] for i in range(3))
    model = RECIPES[name](smoothing, prior)
    are_probabilities(say(model, texts, y, weights if weighted and name != "semi-supervised" else None, [*asked, ""]))
