"""A model that is made of others is kept in one file with them, and says the same to the bit."""

import pickle
import warnings

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_penguins
from bayeskit.errors import BayesError
from bayeskit.inner_model import reader_of
from bayeskit.models import SAVED, from_bytes, to_bytes
from bayeskit.models.base.estimator import clone

BIRDS = load_penguins()
ROWS = BIRDS.drop(["species"])
SPECIES = BIRDS["species"].to_pylist()
YEAR = {"year": "categorical"}
COSTS = {"Adelie": {"Gentoo": 5}, "Chinstrap": {"Gentoo": 2, "Adelie": 1}, "Gentoo": {"Adelie": 1}}
COSTS = {label: dict.fromkeys(COSTS, 1) | {label: 0} | row for label, row in COSTS.items()}
TOPICS = {"animal": "the cat and the dog chase a cow", "weather": "rain and wind then sun and a storm"}
DOCUMENTS = [" ".join(words.split()[i : i + 4]) for i in range(5) for words in TOPICS.values()] * 3
LABELS = [*TOPICS] * 15
pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.AdviceWarning")
METHODS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function")


def some(labels):
    return [label if i % 3 == 0 else None for i, label in enumerate(labels)]


MODELS = {
    "logistic": lambda: bk.LogisticRegression(roles=YEAR).fit(BIRDS, "species"),
    "logistic, all the way": lambda: bk.LogisticRegression("cv", cv=2, random_state=0).fit(BIRDS, "species"),
    "logistic of two classes": lambda: bk.LogisticRegression(roles=YEAR).fit(ROWS, [s == "Gentoo" for s in SPECIES]),
    "exponents": lambda: bk.DiscriminativeWeights(bk.NaiveBayes(roles=YEAR, temperature=2.0)).fit(BIRDS, "species"),
    "EM": lambda: bk.SemiSupervised(bk.NaiveBayes(roles=YEAR), folds=2).fit(ROWS, some(SPECIES)),
    "EM of documents": lambda: bk.SemiSupervised(bk.TextClassifier(), folds=0).fit(DOCUMENTS, some(LABELS)),
    "EM of counted documents": lambda: bk.SemiSupervised(bk.TextClassifier("multinomial")).fit(DOCUMENTS, some(LABELS)),
    "a mixture": lambda: bk.SemiSupervised(n_classes=2, restarts=1, random_state=0).fit(ROWS),
    "costs": lambda: bk.CostSensitive(costs=COSTS, reject_cost=0.1, reject_label="?").fit(BIRDS, "species"),
    "costs of a matrix": lambda: bk.CostSensitive(bk.TAN(roles=YEAR), (1.0 - np.eye(3)).tolist()).fit(BIRDS, "species"),
    "costs of documents": lambda: bk.CostSensitive(bk.TextClassifier()).fit(DOCUMENTS, LABELS),
    "calibrated": lambda: bk.Calibrated(bk.NaiveBayes(roles=YEAR)).fit(BIRDS, "species"),
    "calibrated by a sigmoid": lambda: bk.Calibrated(bk.TAN(roles=YEAR), "sigmoid").fit(
        ROWS, [s == "Gentoo" for s in SPECIES]
    ),
    "calibrated by a temperature": lambda: bk.Calibrated(
        bk.SubclassBayes(roles=YEAR, n_subclasses=1), "temperature"
    ).fit(BIRDS, "species"),
    "calibrated documents": lambda: bk.Calibrated(bk.TextClassifier("multinomial"), "beta").fit(DOCUMENTS, LABELS),
    "costs of costs": lambda: bk.CostSensitive(
        bk.CostSensitive(bk.DiscriminativeWeights(bk.NaiveBayes(roles=YEAR)))
    ).fit(BIRDS, "species"),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        return MODELS[request.param]()


def rows_for(model):
    return DOCUMENTS if hasattr(reader_of(model), "column") else ROWS


def same(model, again):
    assert type(again) is type(model)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.classes_.dtype == model.classes_.dtype
    for method in METHODS:
        assert hasattr(again, method) == hasattr(model, method)
        if hasattr(model, method):
            a, b = (getattr(one, method)(rows_for(model)) for one in (model, again))
            assert np.array_equal(a, b), method


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
def test_a_loaded_model_says_the_same_to_the_bit(fitted, tmp_path):
    fitted.save(tmp_path / "m.bayes")
    again = bk.load(tmp_path / "m.bayes")
    same(fitted, again)
    assert to_bytes(again) == to_bytes(fitted)
    same(fitted, pickle.loads(pickle.dumps(again)))
    assert repr(clone(again)) == repr(clone(fitted)) == repr(again)


@pytest.mark.slow
def test_what_was_found_by_the_fit_is_kept_too():
    model = bk.LogisticRegression("cv", cv=2, random_state=0).fit(BIRDS, "species")
    again = from_bytes(to_bytes(model))
    for name in ("penalty_", "path_", "n_iter_", "log_loss_", "features_", "n_features_in_"):
        assert getattr(again, name) == getattr(model, name), name
    assert np.array_equal(again.coef_, model.coef_)
    assert str(again.table()) == str(model.table())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bk.BayesWarning)
        em = bk.SemiSupervised(bk.NaiveBayes(roles=YEAR), folds=2).fit(ROWS, some(SPECIES))
    back = from_bytes(to_bytes(em))
    assert back.comparison_ == em.comparison_
    assert str(back.history_) == str(em.history_)
    exponents = bk.DiscriminativeWeights().fit(ROWS, SPECIES)
    assert from_bytes(to_bytes(exponents)).exponents_ == exponents.exponents_


def test_a_loaded_line_predicts_the_same_with_the_same_interval():
    heavy = BIRDS.filter(BIRDS["body_mass_g"].is_valid())
    for model in (bk.LinearRegression(), bk.LinearRegression("evidence", scale=False, coding="reference")):
        model.fit(heavy, "body_mass_g")
        again = from_bytes(to_bytes(model))
        assert np.array_equal(again.predict_interval(heavy), model.predict_interval(heavy))
        assert str(again.table()) == str(model.table())
    exact = bk.LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    back = from_bytes(to_bytes(exact))
    assert back.predict([[2.0]]).round(9).tolist() == [5.0]
    with pytest.raises(BayesError, match="nothing to tell the noise by"):
        back.predict_interval([[2.0]])


def test_a_sparse_matrix_leaves_a_model_that_takes_one():
    from scipy.sparse import csr_matrix

    numbers = np.random.default_rng(1).poisson(1.0, (40, 3)).astype(float)
    model = bk.LogisticRegression().fit(csr_matrix(numbers), numbers.argmax(axis=1))
    again = from_bytes(to_bytes(model))
    assert np.array_equal(again.predict_proba(csr_matrix(numbers)), model.predict_proba(csr_matrix(numbers)))
    assert reader_of(again) is None
    with pytest.raises(BayesError, match="row 0 has no score for class"):
        again.predict_proba([[1e308, 1e308, -1e308]])


def test_costs_that_were_read_from_a_file_are_those_of_the_classes(tmp_path):
    (tmp_path / "costs.csv").write_text("class,1,2\n1,0,4\n2,1,0\n")
    model = bk.CostSensitive(costs=bk.read_costs(tmp_path / "costs.csv")).fit({"x": ["a", "b", "a"]}, [1, 2, 2])
    again = from_bytes(to_bytes(model))
    assert again.predict({"x": ["a", "b"]}).tolist() == model.predict({"x": ["a", "b"]}).tolist()
    assert again.costs == {1: {1: 0.0, 2: 4.0}, 2: {1: 1.0, 2: 0.0}}
    assert again.fit({"x": ["a", "b", "a"]}, [1, 2, 2]).costs_.matrix.tolist() == [[0.0, 4.0], [1.0, 0.0]]


def test_a_wrapped_model_that_cannot_be_saved_is_refused_by_name(tmp_path):
    from sklearn.model_selection import KFold
    from sklearn.tree import DecisionTreeClassifier

    rows, labels = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(BayesError, match="a CostSensitive of a DecisionTreeClassifier cannot be saved; those that can"):
        bk.CostSensitive(DecisionTreeClassifier()).fit(rows, labels).save(tmp_path / "m.bayes")

    class Own(bk.NaiveBayes):
        pass

    with pytest.raises(BayesError, match="a DiscriminativeWeights of an Own cannot be saved"):
        bk.DiscriminativeWeights(Own()).fit(rows, labels).save(tmp_path / "m.bayes")
    split = bk.LogisticRegression(cv=KFold(2)).fit(rows, labels)
    with pytest.raises(BayesError, match=r"cv=.* cannot be saved.* Set it otherwise before saving"):
        split.save(tmp_path / "m.bayes")
    assert list(tmp_path.iterdir()) == []


def test_every_public_model_that_is_fitted_is_saved_or_is_known_not_to_be():
    fits = {name for name in bk.__all__ if isinstance(getattr(bk, name), type) and hasattr(getattr(bk, name), "fit")}
    drop_ins = {"BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"}  # scikit-learn's own
    drop_ins |= {"CategoricalHMM", "GaussianHMM"}  # hmmlearn's
    of_others = {"BayesOptimalClassifier", "GibbsClassifier"}  # committees of any classifiers
    transforming = {"Discretizer", "Encoded", "TokenCounter"}
    distributions = {"BayesianNetwork", "JointDistribution"}
    assert fits - drop_ins - of_others - transforming == {*SAVED} - distributions
