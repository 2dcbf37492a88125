"""The probability of the data is the product of what would have been predicted of each row, one after the other."""

import itertools

import numpy as np
import pytest

import bayeskit as bk
from bayeskit.datasets import load_worked_example
from bayeskit.estimate.marginal_likelihood import log_evidence

pytestmark = pytest.mark.filterwarnings("ignore::bayeskit.errors.BayesWarning")
ROWS = [("x", "u", 0), ("y", "u", 1), ("x", "v", 0), ("x", "v", 1), ("y", "u", 1), ("x", "u", 0)]
TABLE = {"a": [row[0] for row in ROWS], "b": [row[1] for row in ROWS]}
LABELS = [row[2] for row in ROWS]
DOMAINS = {"a": ["x", "y", "z"], "b": ["u", "v"]}


def in_turn(alpha, class_alpha, parents):
    """Σ ln P(row | rows before it), every table by (n + α) / (N + α m)."""
    total, seen = 0.0, []
    for row in ROWS:
        a, b, c = row
        n_class = sum(r[2] == c for r in seen)
        total += np.log((n_class + class_alpha) / (len(seen) + 2 * class_alpha))
        of_class = [r for r in seen if r[2] == c]
        if parents == "joint":
            total += np.log((sum(r == row for r in seen) + alpha) / (len(of_class) + 6 * alpha))
        else:
            total += np.log((sum(r[0] == a for r in of_class) + alpha) / (len(of_class) + 3 * alpha))
            within = [r for r in of_class if r[0] == a] if parents else of_class
            total += np.log((sum(r[1] == b for r in within) + alpha) / (len(within) + 2 * alpha))
        seen.append(row)
    return total


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_it_is_the_product_of_predictions(alpha):
    prior = bk.Lidstone(2)
    naive = bk.NaiveBayes(smoothing=alpha, prior=prior, domains=DOMAINS).fit(TABLE, LABELS)
    assert naive.log_marginal_likelihood() == pytest.approx(in_turn(alpha, 2, False))
    tan = bk.TAN(smoothing=alpha, prior=prior, domains=DOMAINS, parents={"b": "a"}).fit(TABLE, LABELS)
    assert tan.log_marginal_likelihood() == pytest.approx(in_turn(alpha, 2, True))
    joint = bk.FullJointBayes(smoothing=alpha, prior=prior, domains=DOMAINS).fit(TABLE, LABELS)
    assert joint.log_marginal_likelihood() == pytest.approx(in_turn(alpha, 2, "joint"))


def test_a_dirichlet_prior_is_meant_as_written():
    model = bk.NaiveBayes(smoothing=bk.Dirichlet(2), domains=DOMAINS).fit(TABLE, LABELS)
    as_mean = bk.NaiveBayes(smoothing=2, domains=DOMAINS).fit(TABLE, LABELS)
    assert model.log_marginal_likelihood() == pytest.approx(as_mean.log_marginal_likelihood())
    shared = bk.NaiveBayes(smoothing={"a": bk.MEstimate(6), "b": 2}, domains=DOMAINS).fit(TABLE, LABELS)
    assert shared.log_marginal_likelihood() == pytest.approx(as_mean.log_marginal_likelihood())


def test_all_tables_of_some_rows_together_have_probability_one():
    total = 0.0
    for rows in itertools.product([0, 1], repeat=3):
        total += np.exp(log_evidence([rows.count(0), rows.count(1)], [0.5, 2.0]))
    assert total == pytest.approx(1.0)


def test_given_class_shares_are_no_dirichlet():
    even = bk.NaiveBayes(prior="uniform", domains=DOMAINS).fit(TABLE, LABELS)
    laplace = bk.NaiveBayes(prior=bk.Laplace(), domains=DOMAINS).fit(TABLE, LABELS)
    empirical = bk.NaiveBayes(domains=DOMAINS).fit(TABLE, LABELS)
    assert empirical.log_marginal_likelihood() == laplace.log_marginal_likelihood()
    of_labels = log_evidence([3, 3], [1, 1])
    assert even.log_marginal_likelihood() - laplace.log_marginal_likelihood() == pytest.approx(
        6 * np.log(0.5) - of_labels
    )


@pytest.mark.parametrize("smoothing", [0, "auto", bk.MLE(), bk.MEstimate(3, "marginal")])
def test_what_is_no_prior_is_refused(smoothing):
    model = bk.NaiveBayes(smoothing=smoothing).fit(TABLE, LABELS)
    with pytest.raises(bk.BayesError, match=r"is not a prior over tables.*pass smoothing=1\.0"):
        model.log_marginal_likelihood()


def test_back_off_numbers_and_gaps_are_refused():
    with pytest.raises(bk.BayesError, match="'back-off' is not a prior"):
        bk.TAN().fit(TABLE, LABELS).log_marginal_likelihood()
    with pytest.raises(bk.BayesError, match=r"column 'x' is gaussian.*histogram"):
        bk.NaiveBayes().fit({"x": [1.5, 2.0, 3.0, 4.0]}, [0, 0, 1, 1]).log_marginal_likelihood()
    gaps = {"a": ["x", None, "y", "x", "y", "x"], "b": TABLE["b"]}
    with pytest.raises(bk.BayesError, match=r"'b' or its parents have missing cells|'a' or its parents"):
        bk.TAN(smoothing=1, parents={"b": "a"}).fit(gaps, LABELS).log_marginal_likelihood()
    with pytest.raises(bk.BayesError, match="some rows have missing cells"):
        bk.FullJointBayes(smoothing=1).fit(gaps, LABELS).log_marginal_likelihood()
    with pytest.raises(bk.BayesError, match=r"smoothing=MLE\(\) is not a prior"):
        bk.NaiveBayes(prior=bk.MLE()).fit(TABLE, LABELS).log_marginal_likelihood()


def test_missing_cells_of_naive_bayes_drop_out():
    gaps = {"a": ["x", None, "y", "x"], "b": ["u", "u", "v", "v"]}
    model = bk.NaiveBayes(domains=DOMAINS, prior="uniform").fit(gaps, [0, 0, 1, 1])
    expected = 4 * np.log(0.5) + log_evidence([[1, 0, 0], [1, 1, 0]], 1.0) + log_evidence([[2, 0], [0, 2]], 1.0)
    assert model.log_marginal_likelihood() == pytest.approx(expected)


def test_the_optimal_classifier_weighs_our_models_by_evidence():
    table = load_worked_example("tennis")
    members = {"naive": bk.NaiveBayes(), "tree": bk.TAN(smoothing=1)}
    both = bk.BayesOptimalClassifier(members, weights="evidence").fit(table, "play")
    logs = np.array([m.log_marginal_likelihood() for m in both.members_])
    assert both.posterior_ == pytest.approx(np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum())
    assert both.weighting_ == "evidence"
    assert bk.BayesOptimalClassifier(members).fit(table, "play").weighting_ == "leave-one-out"
    fewer = {"naive": bk.NaiveBayes(), "less": bk.NaiveBayes(roles={"wind": "ignore"})}
    with pytest.raises(bk.BayesError, match="the same table, and column 'wind' is not in all"):
        bk.BayesOptimalClassifier(fewer, weights="evidence").fit(table, "play")
    other = {"naive": bk.NaiveBayes(), "more": bk.NaiveBayes(domains={"wind": ["strong", "weak", "none"]})}
    with pytest.raises(bk.BayesError, match=r"column 'wind' is read in different ways"):
        bk.BayesOptimalClassifier(other, weights="evidence").fit(table, "play")
