"""Beliefs over hypotheses, and the shortest description."""

import time
from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayeskit as bk
from bayeskit.beliefs.hypotheses import exception_bits

shares = st.lists(st.floats(0.01, 1), min_size=2, max_size=6)


@settings(max_examples=50, deadline=None)
@given(shares, st.data())
def test_updating_is_bayes_rule_and_order_does_not_matter(weights, data):
    prior = {i: w / sum(weights) for i, w in enumerate(weights)}
    one, two = ({i: data.draw(st.floats(0.001, 1)) for i in prior} for _ in range(2))
    total = sum(prior[i] * one[i] * two[i] for i in prior)
    for belief in (bk.Hypotheses(prior).update(one).update(two), bk.Hypotheses(prior).update(two).update(one)):
        assert belief.posterior == pytest.approx({i: prior[i] * one[i] * two[i] / total for i in prior}, rel=1e-9)
        assert np.exp(belief.log_evidence) == pytest.approx(total, rel=1e-9)


def test_an_update_leaves_the_belief_before_it_as_it_was():
    before = bk.Hypotheses({"a": 0.5, "b": 0.5})
    before.update({"a": 1, "b": 0})
    assert before.posterior == {"a": 0.5, "b": 0.5}


@settings(max_examples=50, deadline=None)
@given(shares, st.data())
def test_the_shortest_description_is_the_most_probable_hypothesis(weights, data):
    belief = bk.Hypotheses.from_bits({i: 10 * w for i, w in enumerate(weights)})
    belief = belief.update_exceptions({i: data.draw(st.integers(0, 20)) for i in range(len(weights))}, n_rows=20)
    assert belief.mdl == belief.map
    t = belief.description_lengths
    theory, data_bits = t["theory bits"], t["data bits"]
    assert min(range(len(weights)), key=lambda i: round(theory[i] + data_bits[i], 9)) == belief.map


def test_labels_coded_by_their_exceptions_are_a_complete_code():
    for n, n_classes in ((4, 2), (3, 3)):
        said = product(range(n_classes), repeat=n)  # the hypothesis says 0 everywhere
        bits = [exception_bits(n, sum(c != 0 for c in labels), n_classes) for labels in said]
        assert sum(2**-b for b in bits) == pytest.approx(1)
    assert exception_bits(14, 0) == log2(15)


def test_bayes_factors_compare_the_evidence_alone():
    belief = bk.Hypotheses({"a": 0.9, "b": 0.1}).update({"a": 0.2, "b": 0.6}).update({"a": 0.5, "b": 0.5})
    assert belief.bayes_factor("b", "a") == pytest.approx(3)
    assert belief.maximum_likelihood == "b"
    assert belief.map == "a"
    sure = bk.Hypotheses({"a": 0.5, "b": 0.5}).update({"a": 1, "b": 0})
    assert sure.bayes_factor("a", "b") == np.inf
    with pytest.raises(bk.BayesError, match="no hypothesis 'c'"):
        belief.bayes_factor("a", "c")


def test_evidence_too_improbable_for_a_float_is_given_as_logarithms():
    belief = bk.Hypotheses({"a": 0.5, "b": 0.5}).update_log({"a": -2000.0, "b": -2001.0})
    assert belief.posterior["a"] == pytest.approx(1 / (1 + np.exp(-1)))


@pytest.mark.slow
def test_a_million_hypotheses_are_fine():
    names = range(1_000_000)
    likelihood = dict(zip(names, np.linspace(0, 1, 1_000_000).tolist(), strict=True))
    start = time.process_time()
    belief = bk.Hypotheses(dict.fromkeys(names, 1e-6)).update(likelihood)
    assert belief.map == 999_999
    assert len(belief.posterior) == 1_000_000
    assert time.process_time() - start < 20  # one second on a quiet machine


@pytest.mark.parametrize("prior", [{}, {"a": -0.1, "b": 1.1}, {"a": 0.5, "b": 0.6}, {"a": np.nan}, {"a": "x"}, [0.5]])
def test_priors_that_are_none_are_refused(prior):
    with pytest.raises(bk.BayesError):
        bk.Hypotheses(prior)


def test_a_prior_within_a_thousandth_is_normalized_and_that_is_said():
    with pytest.warns(bk.BayesWarning, match=r"sum to 0\.9995"):
        belief = bk.Hypotheses({"a": 0.5, "b": 0.4995})
    assert sum(belief.posterior.values()) == pytest.approx(1)


def test_impossible_evidence_and_misnamed_hypotheses_are_refused():
    belief = bk.Hypotheses({"a": 1.0, "b": 0.0})
    with pytest.raises(bk.BayesError, match="impossible under every hypothesis"):
        belief.update({"a": 0, "b": 1})
    with pytest.raises(bk.BayesError, match="no likelihood for 'b'"):
        belief.update({"a": 1})
    with pytest.raises(bk.BayesError, match="'c': no such hypothesis"):
        belief.update({"a": 1, "b": 1, "c": 1})
    with pytest.raises(bk.BayesError, match="likelihood of 'b' is -1"):
        belief.update({"a": 1, "b": -1})


def test_votes_are_joined_and_drawn_by_the_posterior():
    three = bk.Hypotheses({"h1": 0.4, "h2": 0.3, "h3": 0.3})
    votes = {"h1": {"+": 1, "-": 0}, "h2": {"-": 1}, "h3": {"+": 0.25, "-": 0.75}}
    assert three.predict(votes) == pytest.approx({"-": 0.525, "+": 0.475})
    assert list(three.predict(votes)) == ["-", "+"]
    drawn = three.gibbs(votes, 20_000, random_state=0)
    assert drawn.count("+") / 20_000 == pytest.approx(0.4, abs=0.01)
    assert three.gibbs(votes, 5, random_state=3) == three.gibbs(votes, 5, random_state=3)


@pytest.mark.parametrize(
    ("votes", "told"),
    [
        ({"h1": {"+": 1}}, "no vote for 'h2'"),
        ({"h1": {"+": 1}, "h2": {"+": 1}, "h3": {"+": 1}}, "'h3': no such hypothesis"),
        ({"h1": {"+": 0.5}, "h2": {"+": 1}}, "sum to 0.5"),
        ({"h1": "+", "h2": "-"}, "mapping from hypothesis to the probability of each outcome"),
        ({"h1": {"+": "much"}, "h2": {"+": 1}}, "numbers"),
    ],
)
def test_votes_that_mean_nothing_are_refused(votes, told):
    with pytest.raises(bk.BayesError, match=told):
        bk.Hypotheses({"h1": 0.5, "h2": 0.5}).predict(votes)


def test_draws_that_mean_nothing_are_refused():
    with pytest.raises(bk.BayesError, match="whole number of draws"):
        bk.Hypotheses({"h1": 1.0}).gibbs({"h1": {"+": 1}}, n=1.5)


def test_votes_that_are_no_probabilities_name_their_hypothesis():
    two = bk.Hypotheses({"h1": 0.5, "h2": 0.5})
    with pytest.raises(bk.BayesError, match=r"the votes of 'h2' sum to 0\.5, not to one"):
        two.predict({"h1": {"+": 1}, "h2": {"+": 0.5}})
    with pytest.raises(bk.BayesError, match="the votes of 'h1' are finite and not negative"):
        two.gibbs({"h1": {"+": -0.5, "-": 1.5}, "h2": {"+": 1}})
    with pytest.raises(
        bk.BayesError, match=r"no vote for 'h2'\. Give one mapping from outcome to probability for each"
    ):
        two.predict({"h1": {"+": 1}})
