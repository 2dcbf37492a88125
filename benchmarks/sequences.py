"""Hidden Markov models beside hmmlearn: the E-step of Baum-Welch, Viterbi, and whole fits."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from bench import Row, compare, race

import bayeskit as bk

TITLE = "Sequences"
NOTE = (
    'hmmlearn: `implementation="scaling"`, its E-step alone (posteriors and sums, as its `fit` calls them, sequence by '
    "sequence), and `decode`. Ours: the same through the lattice of a `HiddenMarkovModel`. Symbols, or four normal "
    "columns; one sequence of 1,000,000 steps (150,000 of 50 states), or as many steps in sequences of 50 to 149. "
    "Likelihoods agree to 1e-9, and the paths are the same. `fit`: 20 rounds from Python, 200,000 steps of 5 states, "
    "20,000 of 50, in sequences of 50 to 149. `GaussianHMM` is the drop-in: it begins with a k-means of ten starts, as "
    "hmmlearn does with scikit-learn's, and from the same centers; with means given, both begin at once. `online()`: "
    "one observation at a time, against the 5 µs that are promised for each."
)
PRIVATE = ("_fit_scaling", "_accumulate_sufficient_statistics", "_initialize_sufficient_statistics")
SIZES = {2: (50, 1_000_000), 5: (100, 1_000_000), 10: (1_000, 1_000_000), 50: (5_000, 150_000)}
E_STEP = {"one": {2: 5, 5: 7, 10: 8, 50: 10}, "many": {2: 15, 5: 15, 10: 12, 50: 12}}
VITERBI = {"one": {2: 1.5, 5: 3, 10: 3, 50: 3}, "many": {2: 10, 5: 10, 10: 10, 50: 10}}


def run() -> list[Row]:
    """All lines of the table; none where hmmlearn is not here."""
    if not find_spec("hmmlearn"):
        print("hmmlearn is not installed: left out")
        return []
    rows: list[Row] = []
    for k, (n_symbols, n) in SIZES.items():
        for kind in ("categorical", "Gaussian"):
            for form in ("one", "many"):
                rows += _steps(np.random.default_rng(k), k, n_symbols, n, kind, form)
    rows += [_fit(5, 100, 200_000), _fit(50, 1_000, 20_000)]
    return [*rows, *_fit_normal(5, 200_000), *_fit_normal(50, 20_000), _online(5), _online(50)]


def _lengths(rng: np.random.Generator, n: int, form: str) -> np.ndarray:
    return np.array([n]) if form == "one" else rng.integers(50, 150, n // 100)


def _steps(rng: np.random.Generator, k: int, n_symbols: int, n: int, kind: str, form: str) -> list[Row]:
    from hmmlearn import hmm

    lengths = _lengths(rng, n, form)
    n = int(lengths.sum())
    ends = np.cumsum(lengths)
    start, moves = rng.dirichlet(np.ones(k)), rng.dirichlet(np.full(k, 2.0), k)
    states = range(k)
    tables = dict(enumerate(start)), {i: dict(enumerate(moves[i])) for i in states}
    if kind == "categorical":
        emission = rng.dirichlet(np.ones(n_symbols), k)
        X: Any = rng.integers(0, n_symbols, (n, 1))
        ours = bk.HiddenMarkovModel.from_tables(*tables, {i: dict(enumerate(emission[i])) for i in states})
        theirs = hmm.CategoricalHMM(k, implementation="scaling")
        theirs.n_features, theirs.emissionprob_ = n_symbols, ours.parameters_.emissions[0].probabilities
    else:
        mean, variance = 2 * rng.normal(size=(k, 4)), rng.random((k, 4)) + 0.5
        X = mean[rng.integers(0, k, n)] + rng.normal(size=(n, 4))
        theirs = hmm.GaussianHMM(k, "diag", implementation="scaling")
        theirs.n_features, theirs.means_, theirs.covars_ = 4, mean, variance
        of = {f"x{j}": {i: (mean[i, j], variance[i, j]) for i in states} for j in range(4)}
        ours = bk.HiddenMarkovModel.from_tables(*tables, of)
    theirs.startprob_, theirs.transmat_ = ours.start_, ours.transitions_
    data = {"x0": X[:, 0]} if kind == "categorical" else {f"x{j}": X[:, j] for j in range(4)}
    sequences = bk.Sequences.of(data if kind != "categorical" else X, lengths)
    observed, trellis = ours.set_params(n_threads=1)._observe(sequences), ours.trellis_

    own = {name: getattr(theirs, name) for name in PRIVATE}  # its E-step is in methods without a public name
    step, add = own["_fit_scaling"], own["_accumulate_sufficient_statistics"]

    def their_step() -> float:
        sums, total = own["_initialize_sufficient_statistics"](), 0.0
        for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
            part = X[end - length : end]
            scores, log_likelihood, posteriors, forward, backward = step(part)
            add(sums, part, scores, posteriors, forward, backward)
            total += log_likelihood
        return total

    np.testing.assert_allclose(trellis.expected_counts(observed).log_likelihoods.sum(), their_step(), rtol=1e-9)
    np.testing.assert_array_equal(trellis.viterbi(observed)[0], theirs.decode(X, lengths)[1])
    name, rounds = f"{k} states, {kind}, {form}", 2 if k == 50 else 3
    return [
        compare(
            f"E-step: {name}",
            "hmmlearn",
            E_STEP[form][k],
            lambda: trellis.expected_counts(observed),
            their_step,
            rounds,
        ),
        compare(
            f"Viterbi: {name}",
            "hmmlearn",
            VITERBI[form][k],
            lambda: trellis.viterbi(observed),
            lambda: theirs.decode(X, lengths),
            rounds,
        ),
    ]


def _fit(k: int, n_symbols: int, n: int) -> Row:
    from hmmlearn import hmm

    rng = np.random.default_rng(0)
    lengths = _lengths(rng, n, "many")
    X = rng.integers(0, n_symbols, (int(lengths.sum()), 1))

    def ours() -> Any:
        model = bk.HiddenMarkovModel(k, roles="categorical", n_starts=1, max_rounds=20, tol=0, n_threads=1)
        return model.fit(X, lengths=lengths)

    def theirs() -> Any:
        return hmm.CategoricalHMM(k, n_iter=20, tol=-np.inf, implementation="scaling").fit(X, lengths)

    return compare(f"`fit`, 20 rounds: {k} states, categorical", "hmmlearn `fit`", 5, ours, theirs, 2)


def _fit_normal(k: int, n: int) -> list[Row]:
    """Numbers drawn from separate states: transitions that are never seen fade to nothing on the way."""
    from hmmlearn import hmm

    rng = np.random.default_rng(0)
    lengths = _lengths(rng, n, "many")
    n = int(lengths.sum())
    reached, mean = np.cumsum(rng.dirichlet(np.full(k, 0.3), k), axis=1), 2 * rng.normal(size=(k, 4))
    states = [0]
    for chance in rng.random(n - 1).tolist():
        states.append(min(int(np.searchsorted(reached[states[-1]], chance)), k - 1))
    X = mean[states] + rng.normal(size=(n, 4))

    def ours() -> Any:
        return bk.HiddenMarkovModel(k, n_starts=1, max_rounds=20, tol=0, n_threads=1).fit(X, lengths=lengths)

    def normal(kind: Any, given: bool) -> Any:
        model = kind(k, n_iter=20, tol=-np.inf, random_state=0, init_params="st" if given else "stmc")
        model.implementation = "scaling"
        if given:
            model.means_, model.covars_ = X[:k], np.ones((k, 4))
        return model.fit(X, lengths)

    def row(name: str, work: Any, given: bool = False) -> Row:
        theirs = lambda: normal(hmm.GaussianHMM, given)  # noqa: E731
        return compare(f"`fit`, 20 rounds: {k} states, Gaussian, {name}", "hmmlearn `fit`", 5, work, theirs, 2)

    return [
        row("`HiddenMarkovModel`", ours),
        row("`GaussianHMM`", lambda: normal(bk.GaussianHMM, False)),
        row("`GaussianHMM`, means given", lambda: normal(bk.GaussianHMM, True), given=True),
    ]


def _online(k: int) -> Row:
    rng, n = np.random.default_rng(0), 20_000
    start, moves, emission = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(20), k)
    tables = [{i: dict(enumerate(table[i])) for i in range(k)} for table in (moves, emission)]
    model, symbols = bk.HiddenMarkovModel.from_tables(dict(enumerate(start)), *tables), rng.integers(0, 20, n).tolist()

    def ours() -> None:
        now = model.online()
        for symbol in symbols:
            now.update(symbol)

    seconds, _ = race(ours, lambda: None, 3, time.process_time)
    row = Row(f"`online()`: {n:,} symbols, {k} states", "5 µs each", 1, seconds, n * 5e-6)
    print(row, flush=True)
    return row
