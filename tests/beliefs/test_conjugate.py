"""Beliefs against SciPy, numeric integration and exact fractions."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bayeskit.beliefs.beta_dirichlet import BetaBernoulli, DirichletCategorical
from bayeskit.beliefs.normal import NormalInverseGamma
from bayeskit.errors import BayesError, NotLearned, SchemaMismatch, UnknownValue
from bayeskit.estimate.smoothing import Dirichlet, Lidstone, probabilities

flips = st.lists(st.booleans(), max_size=20)
throws = st.lists(st.sampled_from("abc"), max_size=20)
values = st.lists(st.floats(-1e3, 1e3), max_size=12)
hyper = st.floats(0.1, 50)
ABC = {"a": 0.5, "b": 2, "c": 3.5}
NIG = NormalInverseGamma(location=1.0, kappa=2.0, shape=3.0, scale=4.0)


# A coin


def test_a_hundred_flips_and_three_flips():
    assert BetaBernoulli().update({True: 51, False: 49}).mle == 0.51
    assert BetaBernoulli().update([True, True, False]).mle == pytest.approx(0.667, abs=5e-4)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 50), st.integers(1, 50))
def test_the_map_of_a_coin_is_the_printed_fraction(b1, b0, a1, a0):
    belief = BetaBernoulli(b1, b0).update({True: a1, False: a0})
    assert belief.map == float(Fraction(a1 + b1 - 1, a1 + b1 - 1 + a0 + b0 - 1))


@given(hyper, hyper, flips)
def test_after_each_flip_the_belief_is_a_beta_made_from_the_one_before(b1, b0, data):
    belief = BetaBernoulli(b1, b0)
    for flip, after in zip(data, belief.sequence(data), strict=True):
        assert after == belief.update([flip])
        assert sum(after.posterior) == pytest.approx(sum(belief.posterior) + 1)
        belief = after
    assert belief == BetaBernoulli(b1, b0).update(data)


@given(hyper, hyper, flips)
def test_mean_variance_density_and_interval_of_a_coin_are_scipys(b1, b0, data):
    belief = BetaBernoulli(b1, b0).update(data)
    beta = stats.beta(*belief.posterior)
    assert belief.mean == pytest.approx(beta.mean())
    assert belief.variance == pytest.approx(beta.var())
    assert belief.credible_interval(0.9) == pytest.approx(beta.interval(0.9))
    assert belief.density(0.3) == pytest.approx(beta.pdf(0.3))
    assert belief.density([-0.1, 1.1]).tolist() == [0.0, 0.0]


def test_the_posterior_of_a_coin_is_prior_times_likelihood():
    belief = BetaBernoulli(2, 3).update([1, 1, 0])

    def joint(theta):
        return stats.beta.pdf(theta, 2, 3) * theta**2 * (1 - theta)

    evidence, _ = integrate.quad(joint, 0, 1)
    assert belief.log_marginal_likelihood == pytest.approx(np.log(evidence))
    assert belief.density(0.4) == pytest.approx(joint(0.4) / evidence)
    assert belief.predictive[True] == pytest.approx(
        integrate.quad(lambda theta: theta * belief.density(theta), 0, 1)[0]
    )


@given(flips)
def test_the_marginal_likelihood_is_the_product_of_the_predictions(data):
    belief, log_likelihood = BetaBernoulli(0.5, 2), 0.0
    for flip in data:
        log_likelihood += np.log(belief.predictive[flip])
        belief = belief.update([flip])
    assert belief.log_marginal_likelihood == pytest.approx(log_likelihood, abs=1e-10)


@pytest.mark.parametrize(
    ("belief", "why"),
    [
        (BetaBernoulli(0.5, 2), "'heads' is 0.5 after the data"),
        (BetaBernoulli(1, 1), "as probable as any other"),
        (DirichletCategorical(ABC), "'a' is 0.5 after the data"),
        (DirichletCategorical({"a": 1, "b": 1}), "as probable as any other"),
    ],
)
def test_a_belief_without_a_mode_says_so_and_offers_the_mean(belief, why):
    with pytest.raises(BayesError, match=rf"{why}.*Use mean"):
        _ = belief.map
    with pytest.raises(BayesError, match="nothing was seen"):
        _ = belief.mle


# A die


@given(throws)
def test_a_die_is_smoothing_seen_from_the_other_side(data):
    belief = DirichletCategorical({"a": 1.5, "b": 2, "c": 3.5}).update(data)
    counts = np.array([[data.count(v) for v in "abc"]])
    mode = probabilities(counts, Dirichlet(belief.beta).pseudo_counts("abc", counts))[0]
    assert list(belief.map.values()) == pytest.approx(mode.tolist(), rel=1e-14)
    assert list(belief.mean.values()) == pytest.approx(probabilities(counts, [1.5, 2, 3.5])[0].tolist())
    flat = DirichletCategorical(dict.fromkeys("abc", 0.3)).update(data)
    mean = probabilities(counts, Lidstone(0.3).pseudo_counts("abc", counts))[0]
    assert list(flat.predictive.values()) == pytest.approx(mean.tolist(), rel=1e-14)


@given(throws)
def test_mean_variance_and_density_of_a_die_are_scipys(data):
    belief = DirichletCategorical(ABC).update(data)
    dirichlet = stats.dirichlet(list(belief.posterior.values()))
    assert list(belief.mean.values()) == pytest.approx(dirichlet.mean())
    assert list(belief.variance.values()) == pytest.approx(dirichlet.var())
    assert belief.density([0.2, 0.3, 0.5]) == pytest.approx(dirichlet.pdf([0.2, 0.3, 0.5]))
    assert belief.density({"c": 0.5, "a": 0.2, "b": 0.3}) == belief.density([0.2, 0.3, 0.5])
    assert belief.density([0.2, 0.3, 0.6]) == 0.0


def test_a_fair_die_thrown_and_its_mode():
    die = DirichletCategorical(dict.fromkeys(range(1, 7), 2))
    beliefs = die.sequence([6, 6, 3])
    assert [belief.map[6] for belief in beliefs] == pytest.approx([2 / 7, 3 / 8, 3 / 9])
    assert beliefs[-1].mle == {1: 0, 2: 0, 3: 1 / 3, 4: 0, 5: 0, 6: 2 / 3}


def test_a_die_of_two_faces_is_a_coin():
    die = DirichletCategorical({True: 2, False: 3}).update([1, 1, 0, 1])
    coin = BetaBernoulli(2, 3).update([1, 1, 0, 1])
    assert die.marginal(True) == coin
    assert die.log_marginal_likelihood == pytest.approx(coin.log_marginal_likelihood)
    assert die.credible_interval()[True] == coin.credible_interval()
    assert die.density([0.3, 0.7]) == pytest.approx(coin.density(0.3))


def test_a_value_outside_the_prior_is_refused_by_name_and_place():
    with pytest.raises(UnknownValue, match=r"'z' at position 1 is not among its values \('a', 'b', 'c'\)"):
        DirichletCategorical(ABC).update(["a", "z"])
    with pytest.raises(UnknownValue, match="2 at position 0"):
        BetaBernoulli().update([2])
    with pytest.raises(UnknownValue):
        DirichletCategorical(ABC).update([["a"]])


# A bell curve


def grid_posterior(belief, data):
    """The posterior of μ and σ² on a grid, by prior times likelihood and nothing else."""
    mu, sigma2 = np.meshgrid(np.linspace(-12, 16, 1601), np.geomspace(0.02, 400, 1601), indexing="ij")
    density = stats.norm.pdf(mu, belief.location, np.sqrt(sigma2 / belief.kappa))
    density *= stats.invgamma.pdf(sigma2, belief.shape, scale=belief.scale)
    for x in data:
        density *= stats.norm.pdf(x, mu, np.sqrt(sigma2))
    weight = density * sigma2  # the steps of σ² are even in its logarithm
    cell = (mu[1, 0] - mu[0, 0]) * np.log(sigma2[0, 1] / sigma2[0, 0])
    return mu, sigma2, density, weight * cell


@pytest.mark.slow
def test_the_posterior_of_a_bell_curve_is_prior_times_likelihood():
    data = [0.5, 2.5, 4.0, 1.0]
    belief = NIG.update(data)
    mu, sigma2, density, weight = grid_posterior(NIG, data)
    evidence = weight.sum()
    assert belief.log_marginal_likelihood == pytest.approx(np.log(evidence), abs=1e-4)
    at = (800, 700)
    assert belief.density(mu[at], sigma2[at]) == pytest.approx(density[at] / evidence, rel=1e-4)
    assert belief.mean == pytest.approx(((weight * mu).sum() / evidence, (weight * sigma2).sum() / evidence), rel=1e-3)
    of_mu = (weight * (mu - belief.mean.mu) ** 2).sum() / evidence
    of_sigma2 = (weight * (sigma2 - belief.mean.sigma2) ** 2).sum() / evidence
    assert belief.variance == pytest.approx((of_mu, of_sigma2), rel=5e-3)
    top = np.unravel_index(density.argmax(), density.shape)
    assert belief.map == pytest.approx((mu[top], sigma2[top]), abs=0.02)
    low, high = belief.credible_interval(0.9).mu
    assert weight[(mu > low) & (mu < high)].sum() / evidence == pytest.approx(0.9, abs=5e-3)
    low, high = belief.credible_interval(0.9).sigma2
    assert weight[(sigma2 > low) & (sigma2 < high)].sum() / evidence == pytest.approx(0.9, abs=5e-3)
    next_value = (weight * stats.norm.pdf(3.0, mu, np.sqrt(sigma2))).sum() / evidence
    assert belief.predictive.density(3.0) == pytest.approx(next_value, rel=1e-3)


@given(values)
@settings(deadline=None)
def test_the_marginal_likelihood_of_a_bell_curve_is_the_product_of_its_predictions(data):
    belief, log_likelihood = NIG, 0.0
    for x in data:
        log_likelihood += np.log(belief.predictive.density(x))
        belief = belief.update([x])
    assert belief.log_marginal_likelihood == pytest.approx(log_likelihood, rel=1e-9, abs=1e-9)


def test_the_predictive_interval_holds_what_it_says():
    t = NIG.update([0.5, 2.5]).predictive
    low, high = t.interval(0.8)
    assert integrate.quad(t.density, low, high)[0] == pytest.approx(0.8)


def test_moments_that_do_not_exist_are_infinite_or_refused():
    wide = NormalInverseGamma(0, 1, 0.5, 1)
    with pytest.raises(BayesError, match="has no mean"):
        _ = wide.mean
    assert wide.variance == (inf, inf)
    assert wide.update([1.0]).mean == (0.5, inf)
    assert wide.update([1.0, 2.0]).variance.sigma2 == inf
    assert wide.update([1.0, 2.0]).variance.mu < inf


def test_equal_values_have_no_maximum_of_the_likelihood():
    with pytest.raises(BayesError, match="all values seen are equal"):
        _ = NIG.update([0.1, 0.1, 0.1]).mle
    with pytest.raises(BayesError, match="nothing was seen"):
        _ = NIG.mle
    x = [1.0, 4.0, 4.5]
    assert NIG.update(x).mle == pytest.approx((np.mean(x), np.var(x)))


def test_forgetting_an_outlier_leaves_no_trace():
    belief = NIG.update([0.1, 0.2, 0.7])
    back = belief.update([1e12]).forget([1e12])
    assert back.posterior == pytest.approx(belief.posterior, rel=1e-8)
    x = np.random.default_rng(5).normal(size=1000)
    many = NIG.update(x)
    assert many.update([1e9]).forget([1e9]).posterior == pytest.approx(many.posterior, rel=1e-14)


@pytest.mark.parametrize("wrong", [np.nan, inf, 1e151])
def test_a_value_that_cannot_be_summed_is_refused_with_its_place(wrong):
    with pytest.raises(BayesError, match="at position 1"):
        NIG.update([1.0, wrong])


# All of them

BELIEFS = [
    (BetaBernoulli(2, 0.5), [True, True, False], [False, True]),
    (DirichletCategorical(ABC), list("abbc"), list("ca")),
    (NIG, [1.0, 2.5, -3.0], [0.25, 8.0]),
]


@pytest.mark.parametrize(("prior", "one", "other"), BELIEFS)
def test_learning_forgetting_and_merging_give_the_belief_of_all_the_data(prior, one, other):
    both = prior.update(one + other)
    assert prior.update(one).update(other) == both
    assert prior.update(other).update(one) == both
    assert prior.update(one).merge(prior.update(other)) == both
    assert both.forget(other) == prior.update(one)
    assert both.forget(other).forget(one) == prior
    assert prior.update([]) == prior
    assert prior.sequence(one + other)[-1] == both
    assert hash(prior.update(one).update(other)) == hash(both)
    assert both.n == len(one + other)


@pytest.mark.parametrize(("prior", "one", "other"), BELIEFS)
def test_what_was_not_learned_cannot_be_forgotten(prior, one, other):
    learned = prior.update(one)
    for too_much in (one + one, one + other[:1]):
        with pytest.raises(NotLearned, match="Nothing was changed"):
            learned.forget(too_much)
    assert learned == prior.update(one)


def test_values_never_learned_show_in_what_is_left():
    with pytest.raises(NotLearned, match="not among those learned"):
        NIG.update([1.0, 2.0]).forget([5.0])
    with pytest.raises(NotLearned, match="not among those learned"):
        NIG.update([1.0, 2.0]).forget([1.5, 2.5])


@pytest.mark.parametrize(("prior", "other"), zip([b[0] for b in BELIEFS], [
    BetaBernoulli(2, 1), DirichletCategorical(ABC | {"a": 1}), NormalInverseGamma(0, 2, 3, 4),
], strict=True))  # fmt: skip
def test_beliefs_from_different_priors_are_not_merged(prior, other):
    with pytest.raises(SchemaMismatch, match="different priors"):
        prior.merge(other)


@pytest.mark.parametrize("prior", [b[0] for b in BELIEFS])
@pytest.mark.parametrize("lone", ["abc", 1.0])
def test_a_lone_outcome_is_no_list(prior, lone):
    with pytest.raises(BayesError, match="For a single one write"):
        prior.update(lone)
    with pytest.raises(BayesError, match="not a list of outcomes"):
        prior.sequence({"a": 1})


@pytest.mark.parametrize("level", [0, 1, 95, None])
def test_a_level_is_a_probability(level):
    with pytest.raises(BayesError, match="between 0 and 1"):
        BetaBernoulli().credible_interval(level)


def test_no_belief_begins_in_a_bad_state():
    for wrong in (0, -1, inf, np.nan, "1", True):
        for make in (
            lambda w: BetaBernoulli(w, 1),
            lambda w: DirichletCategorical({"a": w, "b": 1}),
            lambda w: NormalInverseGamma(0, w, 1, 1),
        ):
            with pytest.raises(BayesError, match="finite number above 0"):
                make(wrong)
    with pytest.raises(BayesError, match="at least two values"):
        DirichletCategorical({"a": 1})
    with pytest.raises(BayesError, match="location"):
        NormalInverseGamma(np.nan, 1, 1, 1)
    with pytest.raises(BayesError, match="count of True is -1"):
        BetaBernoulli().update({True: -1})


def test_counts_that_are_no_whole_numbers_cancel_to_nothing():
    belief = BetaBernoulli().update({True: 0.1}).update({True: 0.2})
    assert belief.forget({True: 0.3}) == BetaBernoulli()


def test_likelihoods_of_a_die_are_those_of_its_outcomes():
    die = DirichletCategorical({"a": 1, "b": 2, "c": 1}).update(["a", "c", "a"])
    p = {"a": 0.5, "b": 0.2, "c": 0.3}
    assert die.log_likelihood(p) == pytest.approx(np.log(0.5 * 0.3 * 0.5))
    assert die.log_likelihood([0.5, 0.5, 0.0]) == -np.inf
    assert die.likelihood_ratio(p, [0.4, 0.2, 0.4]) == pytest.approx(0.075 / 0.064)
    coin = BetaBernoulli().update([True])
    assert coin.likelihood_ratio(0.5, 0.0) == np.inf


def test_likelihoods_of_what_is_no_distribution_are_refused():
    die, coin = DirichletCategorical({"a": 1, "b": 1}).update(["a"]), BetaBernoulli().update([True])
    with pytest.raises(BayesError, match="not probabilities that sum to one"):
        die.log_likelihood([0.5, 0.6])
    with pytest.raises(BayesError, match="3 probabilities for 2 values"):
        die.log_likelihood([0.5, 0.3, 0.2])
    with pytest.raises(BayesError, match="between 0 and 1"):
        coin.log_likelihood(1.5)
    with pytest.raises(BayesError, match="0/0"):
        coin.likelihood_ratio(0.0, 0.0)


def test_a_likelihood_is_asked_of_probabilities():
    coin = BetaBernoulli().update({True: 7, False: 3})
    with pytest.raises(BayesError, match="θ is 'a'; a probability lies between 0 and 1"):
        coin.log_likelihood("a")
    die = DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "a", "b"])
    with pytest.raises(BayesError, match=r"no probability of 'c'\. Give one for each value"):
        die.log_likelihood({"a": 0.5, "b": 0.5})
    with pytest.raises(BayesError, match="'z' is none of its values"):
        die.log_likelihood({"a": 0.5, "b": 0.3, "c": 0.2, "z": 0})
    with pytest.raises(BayesError, match="are not numbers"):
        die.log_likelihood(["x", "y", "z"])
    with pytest.raises(BayesError, match="'z' is not among its values"):
        die.likelihood("z")


def test_the_likelihood_of_one_value_of_a_die_is_that_of_a_coin_up_to_a_factor():
    die = DirichletCategorical({"a": 1, "b": 1, "c": 1}).update(["a", "a", "b", "c", "c", "c"])
    curve = die.likelihood("a")
    with_shares = [die.log_likelihood([p, (1 - p) / 4, (1 - p) * 3 / 4]) for p in curve.line[1:-1]]
    np.testing.assert_allclose(np.diff(with_shares), np.diff(curve.log_likelihood[1:-1]), atol=1e-12)
    assert curve.maximum == pytest.approx(1 / 3)
    assert len(repr(curve)) < 200
    assert curve.chart().to_dict()
