"""hmmlearn says the same: likelihoods, paths, posteriors and rounds of Baum-Welch."""

import warnings
from typing import Any

import numpy as np
import pytest

from bayeskit import HiddenMarkovModel
from bayeskit.data.block import Block
from bayeskit.estimate.emissions import ColumnScale
from bayeskit.estimate.state_transitions import TransitionRules, read_minimum_stays
from bayeskit.sequence.baum_welch import BaumWelch, HMMStructure
from bayeskit.sequence.forward_backward import HMMStatistics, Observations

hmm = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed: it comes with the group bench")

KINDS = ["categorical", "diag", "spherical", "full", "tied", "poisson", "multinomial"]
NAMES = {"diag": "diagonal"}


def data(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    lengths = rng.integers(1, 60, 25)
    n = int(lengths.sum())
    if kind == "categorical":
        return rng.integers(0, 7, (n, 1)), lengths
    if kind in ("poisson", "multinomial"):
        return rng.poisson(rng.choice([1.0, 6.0], (n, 1)) * [1.0, 2.0, 0.5]).astype(int) + (
            kind == "multinomial"
        ), lengths
    center = rng.choice([-2.0, 0.0, 3.0], (n, 1))
    return center + rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)), lengths


def theirs_of(kind: str, ours: HiddenMarkovModel, X: np.ndarray, lengths: np.ndarray) -> Any:
    """hmmlearn's model with our parameters."""
    k, emission = len(ours.start_), ours.parameters_.emissions[0]
    if kind == "categorical":
        model = hmm.CategoricalHMM(k)
        model.n_features, model.emissionprob_ = 7, emission.probabilities
    elif kind == "poisson":
        model = hmm.PoissonHMM(k)
        model.n_features, model.lambdas_ = 3, emission.rate
    elif kind == "multinomial":
        model = hmm.MultinomialHMM(k)
        model.n_features, model.emissionprob_, model.n_trials = 3, emission.probabilities, X.sum(axis=1)
    else:
        model = hmm.GaussianHMM(k, kind)
        model.n_features, model.means_ = 3, emission.mean
        if kind in ("diag", "spherical"):
            model.covars_ = emission.variance if kind == "diag" else emission.variance[:, 0]
        else:
            model.covars_ = emission.covariance if kind == "full" else emission.covariance[0]
    model.startprob_, model.transmat_ = ours.start_, ours.transitions_
    return model


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_posteriors_and_paths_are_hmmlearns(kind: str) -> None:
    rng = np.random.default_rng(7)
    X, lengths = data(kind, rng)
    options: dict[str, Any] = {"roles": "categorical"} if kind == "categorical" else {"numeric": "gaussian"}
    options |= {"numeric": kind} if kind in ("poisson", "multinomial") else {}
    options |= {"covariance": NAMES.get(kind, kind)} if kind in ("diag", "spherical", "full", "tied") else {}
    ours = HiddenMarkovModel(3, n_starts=1, max_rounds=5, **options).fit(X, lengths=lengths)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = theirs_of(kind, ours, X, lengths)
        ends = np.cumsum(lengths)
        for i, end in enumerate(ends.tolist()):
            part = X[end - lengths[i] : end]
            if kind == "multinomial":
                theirs.n_trials = part.sum(axis=1)
            np.testing.assert_allclose(ours.log_likelihood([part])[0], theirs.score(part), rtol=1e-9)
            score, path = theirs.decode(part)
            (found,) = ours.decode([part])
            assert found.states == path.tolist()
            np.testing.assert_allclose(found.log_joint, score, rtol=1e-9)
            np.testing.assert_allclose(ours.predict_proba([part])[0], theirs.predict_proba(part), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["categorical", "diag", "full"])
def test_rounds_of_baum_welch_are_hmmlearns(kind: str) -> None:
    """From the same start and without priors, each round has hmmlearn's likelihood."""
    rng = np.random.default_rng(1)
    X, lengths = data(kind, rng)
    k, starts = 3, np.concatenate([[0], np.cumsum(lengths)])
    plain: dict[str, Any] = {"smoothing": 0, "transition_smoothing": 0, "start_smoothing": 0, "variance_weight": 0}
    options: dict[str, Any] = (
        {"roles": "categorical"} if kind == "categorical" else {"covariance": NAMES.get(kind, kind)}
    )
    settings = HiddenMarkovModel(k, **plain, **options)
    start, moves = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k)
    first: Any = HiddenMarkovModel(k, n_starts=1, max_rounds=1, **options).fit(X, lengths=lengths)
    scales = {
        name: ColumnScale(float(x.mean()), float(x.var())) for name, x in zip(["x0", "x1", "x2"], X.T, strict=False)
    }
    structure = HMMStructure.of(settings, first.tally_, scales)
    structure = HMMStructure(
        TransitionRules.of(None, None, range(k)), read_minimum_stays(1, range(k)), structure.emissions, 0.0, 0.0
    )
    emission = first.parameters_.emissions[0]
    if kind == "categorical":
        sums: Any = ((emission.probabilities,),)
        block = Block(len(X), 0, {"x0": (X[:, 0] + 1).astype(np.uint8)}, {})
        theirs = hmm.CategoricalHMM(k, init_params="", n_iter=6, tol=-1, n_features=7)
        theirs.emissionprob_ = emission.probabilities
    else:
        away = emission.mean - np.array([scale.mean for scale in scales.values()])
        block = Block(len(X), 0, {}, {f"x{j}": X[:, j].copy() for j in range(3)})
        theirs = hmm.GaussianHMM(
            k, kind, init_params="", n_iter=6, tol=-1, covars_prior=0, covars_weight=1, min_covar=0
        )
        theirs.means_ = emission.mean
        if kind == "diag":
            sums = ((np.ones_like(away), away, emission.variance + away**2),)
            theirs.covars_ = emission.variance
        else:
            sums = ((np.ones((k, 1)), away, emission.covariance + away[:, :, None] * away[:, None, :]),)
            theirs.covars_ = emission.covariance
            theirs.covars_weight = -3  # hmmlearn's prior counts n_features + 1 of it
    theirs.startprob_, theirs.transmat_ = start, moves
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs.fit(X, lengths)
    em = BaumWelch(structure, Observations(block, starts), structure.empty_statistics(), 6, 0.0, 1)
    _, parameters, training = em.run(structure.estimate(HMMStatistics(start, moves, sums)), lambda done, of: None)
    ours = np.array(training.log_posterior)
    np.testing.assert_allclose(ours[:3], np.array(theirs.monitor_.history)[:3], rtol=1e-9)
    np.testing.assert_allclose(ours, np.array(theirs.monitor_.history), rtol=1e-6)
    np.testing.assert_allclose(parameters.moves, theirs.transmat_, atol=1e-6)
