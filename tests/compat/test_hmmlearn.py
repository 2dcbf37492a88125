"""CategoricalHMM and GaussianHMM give what hmmlearn's give: numbers from the same seed, likelihoods, paths, draws."""

import logging
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import bayeskit as bk
from bayeskit.errors import BayesError

hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")
ATTRIBUTES = {"CategoricalHMM": ("emissionprob_",), "GaussianHMM": ("means_", "_covars_")}
TYPES = ("spherical", "diag", "full", "tied")


@pytest.fixture(autouse=True)
def one_thread():
    """k-means, by which both begin, would spin on others' processors."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def rows():
    """Rows of three sequences with two regimes."""
    rng = np.random.default_rng(5)
    states = np.cumsum(rng.random(600) < 0.05) % 3
    numbers = rng.normal(size=(600, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]]) + states[:, None] * [3.0, -2.0]
    symbols = (states * 2 + rng.integers(0, 3, 600)).reshape(-1, 1)
    return {"CategoricalHMM": symbols, "GaussianHMM": numbers}, [250, 1, 349]


def both(name, *args, **settings):
    return getattr(hmm, name)(*args, **settings), getattr(bk, name)(*args, **settings)


def log_joint(model, X, lengths, path):
    """ln P(path, symbols), step by step."""
    starts = np.cumsum([0, *lengths[:-1]])
    inner = np.setdiff1d(np.arange(1, len(path)), starts)
    with np.errstate(divide="ignore"):
        total = np.log(model.emissionprob_[path, X[:, 0]]).sum() + np.log(model.startprob_[path[starts]]).sum()
        return total + np.log(model.transmat_[path[inner - 1], path[inner]]).sum()


def assert_same(theirs, ours, name, X, lengths):
    for attribute in ("startprob_", "transmat_", *ATTRIBUTES[name]):
        a, b = getattr(theirs, attribute), getattr(ours, attribute)
        a = a[:, 0] if attribute == "_covars_" and theirs.covariance_type == "spherical" else a
        np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-9, err_msg=attribute)
    assert list(ours.monitor_.history) == pytest.approx(list(theirs.monitor_.history), rel=1e-9)
    assert (ours.monitor_.iter, ours.monitor_.converged) == (theirs.monitor_.iter, theirs.monitor_.converged)
    assert ours.score(X, lengths) == pytest.approx(theirs.score(X, lengths), rel=1e-9)
    for algorithm in ("viterbi", "map"):
        a, b = (model.decode(X, lengths, algorithm) for model in (theirs, ours))
        assert b[0] == pytest.approx(a[0], rel=1e-9)
        assert b[1].dtype == a[1].dtype
        if name == "GaussianHMM":
            np.testing.assert_array_equal(b[1], a[1])
        else:  # the same symbols in another order have paths that tie, up to rounding
            assert log_joint(ours, X, lengths, b[1]) == pytest.approx(log_joint(ours, X, lengths, a[1]), rel=1e-12)
            assert (a[1] == b[1]).mean() > 0.98
    np.testing.assert_allclose(ours.predict_proba(X, lengths), theirs.predict_proba(X, lengths), atol=1e-7)
    assert ours.aic(X, lengths) == pytest.approx(theirs.aic(X, lengths), rel=1e-9)
    assert ours.bic(X, lengths) == pytest.approx(theirs.bic(X, lengths), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_symbols_from_one_seed_are_the_same_model(rows, implementation):
    X, lengths = rows[0]["CategoricalHMM"], rows[1]
    for settings in ({}, {"transmat_prior": 2.0, "emissionprob_prior": 1.5}, {"params": "te"}, {"n_features": 9}):
        models = both("CategoricalHMM", 3, random_state=4, n_iter=20, implementation=implementation, **settings)
        theirs, ours = (model.fit(X, lengths) for model in models)
        assert_same(theirs, ours, "CategoricalHMM", X, lengths)
    a, b = (model.sample(300, random_state=9) for model in (theirs, ours))
    np.testing.assert_array_equal(a[0], b[0])
    np.testing.assert_array_equal(a[1], b[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", TYPES)
def test_numbers_from_one_seed_are_the_same_model(rows, kind):
    X, lengths = rows[0]["GaussianHMM"], rows[1]
    priors = {
        "means_prior": 0.5,
        "means_weight": 2.0,
        "covars_prior": 0.1,
        "covars_weight": 4.0,
        "startprob_prior": 1.5,
    }
    for settings in ({}, priors, {"params": "tmc", "tol": 1e-6}):
        models = both("GaussianHMM", 3, kind, random_state=1, n_iter=15, **settings)
        theirs, ours = (model.fit(X, lengths) for model in models)
        assert_same(theirs, ours, "GaussianHMM", X, lengths)
    if kind != "spherical":  # of which hmmlearn has too many matrices
        np.testing.assert_allclose(ours.covars_, theirs.covars_, rtol=1e-7)
    assert ours.covars_.shape == (3, 2, 2)


def test_numbers_may_be_set_instead_of_learned():
    for model in both("CategoricalHMM", 2):
        model.startprob_, model.transmat_ = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.4, 0.6]])
        model.emissionprob_ = np.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])
        assert model.score([[0], [1], [2]]) == pytest.approx(-3.3928721329161653)
        assert model.get_stationary_distribution() == pytest.approx([4 / 7, 3 / 7])
        assert model.sample(5, random_state=0, currstate=1)[1][0] == 1


def test_settings_are_hmmlearn_s_and_tools_take_them():
    for name in ATTRIBUTES:
        theirs, ours = both(name)
        assert ours.get_params() == theirs.get_params()
        assert clone(getattr(bk, name)(4, n_iter=3)).get_params()["n_components"] == 4
    fitted = bk.GaussianHMM(2, random_state=0).fit(np.arange(20.0).reshape(-1, 1) % 7)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.means_, fitted.means_)
    assert bk.CategoricalHMM(2, random_state=3).random_state == 3


def test_a_monitor_of_one_s_own_ends_the_rounds(rows):
    class Three(type(bk.CategoricalHMM().monitor_)):
        @property
        def converged(self):
            return self.iter == 3

    model = bk.CategoricalHMM(2, random_state=0, n_iter=50)
    model.monitor_ = Three(model.monitor_.tol, model.monitor_.n_iter, model.monitor_.verbose)
    assert model.fit(rows[0]["CategoricalHMM"]).monitor_.iter == 3


def test_a_state_that_nothing_reaches_keeps_what_it_has():
    model = bk.CategoricalHMM(2, init_params="", n_iter=3)
    model.startprob_, model.transmat_ = [1.0, 0.0], [[1.0, 0.0], [0.25, 0.75]]
    model.emissionprob_ = [[0.5, 0.5], [0.9, 0.1]]
    model.fit([[0], [1], [0], [1], [1]])
    assert model.transmat_.tolist() == [[1.0, 0.0], [0.25, 0.75]]
    assert model.emissionprob_[1].tolist() == [0.9, 0.1]
    numbers = bk.GaussianHMM(2, init_params="", n_iter=3)
    numbers.startprob_, numbers.transmat_ = [1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]]
    numbers.means_, numbers.covars_ = [[0.0], [9.0]], [[1.0], [2.0]]
    numbers.fit([[0.0], [1.0], [0.5]])
    assert (numbers.means_[1, 0], numbers.covars_[1, 0, 0]) == (9.0, 2.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.fit([[0.5], [1.5]]), "Symbols should be integers"),
        (lambda m: m.fit([[-1], [0]]), "Symbols should be nonnegative"),
        (lambda m: m.fit([[0], [1]], [1]), "doesn't sum to 2 samples"),
        (lambda m: m.fit([[0], [1]], [3, -1]), "doesn't sum to 2 samples"),
        (lambda m: m.fit([[0], [5]]).score([[7]]), "the symbol 7 is none"),
        (lambda m: m.set_params(n_features=2).fit([[0], [5]]), "Largest symbol is 5"),
        (lambda m: m.set_params(algorithm="guess").fit([[0], [1]]), "algorithm='guess'"),
        (lambda m: m.fit([[0], [1]]).decode([[0]], algorithm="guess"), "Unknown decoder"),
        (lambda m: m.fit([[np.nan]]), "NaN"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        change(bk.CategoricalHMM(2))


def test_bad_numbers_of_a_model_are_refused():
    model = bk.GaussianHMM(2)
    for kind, covars in (
        ("diag", [[1.0], [-1.0]]),
        ("full", [1.0, 2.0]),
        ("tied", [[1.0, 2.0], [2.0, 1.0]]),
        ("no", [1]),
    ):
        with pytest.raises(BayesError):
            model.set_params(covariance_type=kind).covars_ = covars
    blocked = bk.CategoricalHMM(2, init_params="")
    blocked.startprob_, blocked.transmat_, blocked.emissionprob_ = [1, 0], np.eye(2), [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(BayesError, match="no path of states"):
        blocked.fit([[0], [1]])
    for start in ([0.5, 0.6], [1.0]):
        blocked.startprob_ = start
        with pytest.raises(BayesError, match="startprob_ must"):
            blocked.score([[0]])


def test_a_fall_of_the_likelihood_is_told(caplog):
    monitor = bk.CategoricalHMM().monitor_
    with caplog.at_level(logging.WARNING):
        monitor.report(-1.0)
        monitor.report(-2.0)
    assert "fell by 1" in caplog.text
