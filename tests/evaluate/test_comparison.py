"""Models side by side: the same folds for all, statistics that SciPy and simulation confirm."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import bayeskit as bk
from bayeskit.errors import BayesError
from bayeskit.evaluate.compare import duel, signed_rank_probabilities, wilcoxon

BIRDS = bk.datasets.load_penguins().drop_columns(["year"])


def blobs(n=120, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return y[:, None] + rng.normal(size=(n, 4)), y


def test_every_figure_is_that_of_scikit_learn_on_the_same_folds():
    X, y = blobs(n_classes=3)
    found = bk.compare({"nb": GaussianNB()}, X, y, folds=4, random_state=7)
    scores = []
    for train, test in StratifiedKFold(4, shuffle=True, random_state=7).split(X, y):
        p = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
        squares = brier_score_loss(y[test], p, scale_by_half=False)
        scores.append((accuracy_score(y[test], p.argmax(axis=1)), log_loss(y[test], p), squares))
    for measure, of_folds in zip(("accuracy", "log_loss", "brier"), np.array(scores).T, strict=True):
        np.testing.assert_allclose(found.by_fold[measure][0][:, 0], of_folds)
        assert found.scores(measure)[0, 0] == pytest.approx(of_folds.mean())
    assert found.seconds[0, 0] >= 0


def test_all_models_see_the_same_folds_each_time_others():
    models = {"first": bk.NaiveBayes(), "second": bk.NaiveBayes()}
    found = bk.compare(models, BIRDS, "species", folds=3, repeats=2)
    assert found.method == "2 × 3-fold cross-validation"
    accuracy = found.by_fold["accuracy"][0]
    assert accuracy.shape == (6, 2)
    np.testing.assert_array_equal(accuracy[:, 0], accuracy[:, 1])
    once = bk.compare({"first": bk.NaiveBayes()}, BIRDS, "species", folds=3)
    np.testing.assert_array_equal(once.by_fold["accuracy"][0], accuracy[:3, :1])


@pytest.mark.slow
def test_every_name_takes_strings_numbers_and_missing_cells():
    rng = np.random.default_rng(0)
    y = np.array(["no", "yes"])[rng.integers(0, 2, 60)]
    sky = np.where(rng.random(60) < 0.7, np.where(y == "yes", "sun", "rain"), None)
    wind = np.where(rng.random(60) < 0.8, rng.normal(size=60) + (y == "yes"), np.nan)
    table = pd.DataFrame({"sky": sky, "wind": wind, "wet": rng.integers(0, 2, 60) == 1, "play": y})
    names = [name for name in bk.model_names() if name != "gaussian"]
    found = bk.compare(names, table, "play", folds=2)
    assert found.refused == ()
    assert (found.accuracy > 0.5).all()
    refused = bk.compare(["naive", "gaussian"], table, "play", folds=3)
    (only,) = refused.refused
    assert only.model == "gaussian"
    assert "sky" in only.why
    assert np.isnan(refused.accuracy[0, 1])
    assert "could not learn" in str(refused)
    assert refused.means["accuracy"][0] == refused.accuracy[0, 0]  # what one refused is known of the other
    assert np.isnan(refused.means["accuracy"][1])


def test_leave_one_out_is_closed_where_it_is_exact_and_fits_elsewhere():
    X, y = blobs(40)
    found = bk.compare(
        {"nb": bk.NaiveBayes(numeric="gaussian"), "peer": GaussianNB(var_smoothing=0)}, X, y, folds="leave-one-out"
    )
    assert found.method == "leave-one-out"
    closed = bk.NaiveBayes(numeric="gaussian").fit(X, y).leave_one_out(X, y)
    assert found.accuracy[0, 0] == closed.accuracy
    assert found.log_loss[0, 0] == closed.log_loss
    right = [GaussianNB().fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] == y[i] for i in range(40)]
    assert found.accuracy[0, 1] == pytest.approx(np.mean(right))


def test_leave_one_out_bounds_the_log_loss_as_folds_do():
    X, y = {"x": list("uuuvvvvu")}, list("aabbbbba")
    models = {"closed": bk.NaiveBayes(smoothing=0), "fits": Refitted(bk.NaiveBayes(smoothing=0))}
    found = bk.compare(models, X, y, folds="leave-one-out")
    alone = bk.NaiveBayes(smoothing=0).fit(X, y).leave_one_out(X, y)
    assert found.log_loss[0, 0] == pytest.approx(alone.log_loss)
    assert 4 < found.log_loss[0, 0] < -np.log(1e-15)
    assert found.log_loss[0, 0] == pytest.approx(found.log_loss[0, 1])


class Refitted(ClassifierMixin, BaseEstimator):
    """A model without its closed form."""

    def __init__(self, model=None):
        self.model = model

    def fit(self, X, y):
        self.model_ = bk.models.base.estimator.clone(self.model).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def predict(self, X):
        return self.model_.predict(X)


def test_several_data_sets_are_tables_with_a_class_column_or_pairs():
    tables = {"birds": BIRDS, "half": BIRDS.slice(0, 172)}
    found = bk.compare(["naive", "tree"], tables, "species", folds=3)
    assert found.datasets == ("birds", "half")
    assert found.n_rows == (344, 172)
    pairs = bk.compare(["naive", "tree"], {name: (t, "species") for name, t in tables.items()}, folds=3)
    np.testing.assert_array_equal(pairs.accuracy, found.accuracy)
    assert found.table().column_names == ["data set", "rows", "naive", "tree"]
    assert found.means["rank by accuracy"] == found.ranks().tolist()
    one = bk.compare(["naive"], {"species": BIRDS["species"], "island": BIRDS["island"]}, "species", folds=3)
    assert one.datasets == ("data",)
    assert one.means.column_names == ["model", "accuracy", "log loss", "brier", "seconds"]
    text = str(found)
    assert "naive against tree by accuracy" in text
    assert "2 models on 2 data sets" in text


def test_wilcoxon_is_the_share_of_signs_that_are_as_extreme():
    z = np.array([0.1, -0.2, 0.3, 0.35, 0.5, 0.6, -0.05])
    ranks = stats.rankdata(np.abs(z))
    seen = min(ranks[z > 0].sum(), ranks[z < 0].sum())
    as_extreme = [
        min(w := ranks[np.array(signs)].sum(), ranks.sum() - w) <= seen
        for signs in itertools.product([False, True], repeat=len(z))
    ]
    assert wilcoxon(z) == pytest.approx(np.mean(as_extreme))
    assert wilcoxon(z) == pytest.approx(stats.wilcoxon(z).pvalue)
    assert wilcoxon(np.zeros(5)) == 1.0


@pytest.mark.parametrize("n", [2, 7, 25, 60])
def test_statistics_over_data_sets_are_those_of_scipy_with_ties_and_sets_that_are_even(n):
    rng = np.random.default_rng(n)
    for z in (rng.normal(0.01, 0.03, n), rng.normal(0.01, 0.03, n).round(2), np.append(np.zeros(n - 1), 0.1)):
        found = duel("a", "b", "accuracy", z)
        assert found.p_value == pytest.approx(stats.wilcoxon(z).pvalue if z.any() else 1.0)
        assert (found.wins, found.losses, found.ties) == ((z > 0).sum(), (z < 0).sum(), (z == 0).sum())
        assert found.median == np.median(z)
    accuracy, models = rng.random((n, 3)).round(1), ("a", "b", "c")
    measures = dict.fromkeys(("accuracy", "log_loss", "brier", "seconds"), accuracy)
    record = bk.Comparison(models, tuple(map(str, range(n))), (9,) * n, "folds", **measures, by_fold={})
    np.testing.assert_allclose(record.ranks(), stats.rankdata(-accuracy, axis=1).mean(axis=0))
    np.testing.assert_allclose(record.ranks("log_loss"), stats.rankdata(accuracy, axis=1).mean(axis=0))
    with pytest.raises(BayesError, match="did you mean accuracy"):
        record.ranks("acuracy")


@pytest.mark.slow
@pytest.mark.parametrize("rope", [0.0, 0.01, 0.05])
def test_the_bayesian_signed_rank_test_is_that_of_a_plain_simulation(rope):
    rng = np.random.default_rng(5)
    z = rng.normal(0.015, 0.03, 9)
    won = np.zeros(3)
    whole = np.append(0.0, z)
    for _ in range(3000):
        gamma = np.array([rng.gamma(0.5), *(rng.gamma(1.0) for _ in z)])
        w = gamma / gamma.sum()
        shares = np.zeros(3)
        for i, j in itertools.product(range(10), repeat=2):
            s = whole[i] + whole[j]
            shares[0 if s > 2 * rope else 2 if s < -2 * rope else 1] += w[i] * w[j]
        won[shares.argmax()] += 1
    np.testing.assert_allclose(signed_rank_probabilities(z, rope), won / 3000, atol=0.03)


def test_a_duel_counts_wins_ties_and_losses_by_what_is_better():
    found = duel("a", "b", "accuracy", [0.1, 0.0, -0.2, np.nan, 0.3])
    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    alone = duel("a", "b", "accuracy", [0.1])
    assert np.isnan(alone.p_value)
    assert alone.sentence == "a against b by accuracy: 1 wins, 0 ties, 0 losses."
    same = duel("a", "b", "accuracy", [0.0, 0.0, 0.0])
    assert (same.ties, same.p_value, same.same) == (3, 1.0, 1.0)
    X, y = blobs()
    tables = {str(i): blobs(seed=i) for i in range(4)}
    scores = bk.compare({"good": bk.NaiveBayes(), "bad": Coin()}, tables, folds=3)
    assert scores.against("good", "bad", "log_loss").wins == 4  # less is better
    assert scores.against("bad", "good", "log_loss").losses == 4
    assert bk.compare({"coin": Coin()}, X, y, folds=3).brier[0, 0] == pytest.approx(0.5)


class Coin(ClassifierMixin, BaseEstimator):
    """Says one half."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def test_a_model_without_probabilities_is_taken_by_its_word():
    X, y = blobs()
    found = bk.compare(["perceptron"], X, y)
    wrong = 1 - found.accuracy[0, 0]
    assert found.brier[0, 0] == pytest.approx(2 * wrong)
    assert found.log_loss[0, 0] == pytest.approx(-wrong * np.log(1e-15))


def test_classes_of_one_row_and_fewer_rows_than_folds_have_an_answer():
    X, y = blobs(20)
    y = y.copy()
    y[0] = 7
    found = bk.compare(["naive", "tree"], X, y, folds=5)  # its row is lost, and wrong
    assert np.isfinite(found.log_loss).all()
    assert (found.accuracy < 1).all()
    with pytest.raises(BayesError, match="to the number of rows"):
        bk.compare(["naive"], X[:4], y[:4], folds=5)


@pytest.mark.parametrize(
    ("arguments", "settings", "why"),
    [
        ((["naiv"], BIRDS, "species"), {}, "did you mean naive"),
        ((["naive", "naive"], BIRDS, "species"), {}, "appears twice"),
        (({}, BIRDS, "species"), {}, "models are classifiers"),
        ((["naive"], {}), {}, "no data set"),
        ((["naive"], BIRDS), {}, "classes of the rows"),
        ((["naive"], {"a": BIRDS}), {}, "name of the class column"),
        ((["naive"], BIRDS, "species"), {"folds": "loo"}, "leave-one-out"),
        ((["naive"], BIRDS, "species"), {"repeats": 0}, "repeats=0"),
        ((["gaussian"], BIRDS, "species"), {}, "no model could learn"),
    ],
)
def test_what_means_nothing_is_refused(arguments, settings, why):
    with pytest.raises(BayesError, match=why):
        bk.compare(*arguments, **settings)
    found = bk.compare(["naive"], *blobs(30))
    with pytest.raises(BayesError, match="did you mean accuracy"):
        found.scores("acuracy")
    with pytest.raises(BayesError, match="none of naive"):
        found.against("naive", "tree")
    with pytest.raises(BayesError, match="rope"):
        signed_rank_probabilities(np.ones(3), -1)


@pytest.mark.parametrize("last", [5, 6])
def test_sequences_in_lists_are_compared_and_learned_by_number(last):
    sequences = [list("aabba"), list("bbaab"), list("aabab"), list("bbbabb")[:last]] * 5
    y, model = ["x", "y"] * 10, bk.SequenceClassifier(bk.MarkovChain())
    found = bk.compare({"chain": model}, sequences, y, folds=2)
    alone = bk.cross_validate(model, sequences, y, folds=2)
    assert found.n_rows == (20,)
    assert found.log_loss[0, 0] == pytest.approx(alone.log_loss)
    curve = bk.learning_curve(model, sequences, y, sequences, y, sizes=[4, 20])
    assert curve["log loss"][-1] == pytest.approx(
        -model.fit(sequences, y).predict_log_proba(sequences)[range(20), [0, 1] * 10].mean()
    )
