"""The ensemble learns its structure, and tells how well it does on rows left out.

Formula: the counting ensemble: members, chains, exponents, cap
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.table import Table
from bayeskit.estimate.calibration import fit_exponents, fit_temperature
from bayeskit.estimate.prior import shares_without
from bayeskit.evaluate.leave_one_out import takes_class_along
from bayeskit.evaluate.metrics import log_loss
from bayeskit.models.ensemble.learnt_rows import LearntRows
from bayeskit.models.ensemble.members import Members, Steps, Structure, draw_chains, draw_members
from bayeskit.models.ensemble.parameters import (
    CHAINS_TOGETHER,
    MOST_FITTED,
    PSEUDO,
    EnsembleParameters,
    Tell,
    capped,
    coded_sizes,
    prior_of,
    some_columns,
)

Floats = npt.NDArray[np.float64]


@dataclass
class Learning:
    """One fit: rows, how many members and chains, and a structure that is held if there is one."""

    rows: LearntRows
    n_members: int
    n_chains: int
    rng: np.random.Generator
    n_threads: int
    tell: Tell
    held: Structure | None = None

    def __post_init__(self) -> None:
        n_rows = len(self.rows.labels)
        self.asked = np.arange(n_rows, dtype=np.int64)
        if n_rows > MOST_FITTED:
            self.asked = np.sort(self.rng.choice(n_rows, MOST_FITTED, replace=False)).astype(np.int64)
        self.labels = self.rows.labels[self.asked]
        self.weights = None if self.rows.weights is None else self.rows.weights[self.asked]
        self.log_prior = left_out_prior(self.rows, self.asked)
        if self.held is not None:
            self.n_chains = len(self.held.steps)

    def run(self) -> EnsembleParameters:
        """What is believed; afterwards ``log_proba`` of the asked rows left out, and ``importance`` of the columns."""
        rows, n_columns = self.rows, len(self.rows.columns)
        n_terms = n_columns + (2 if self.n_chains else 0) + 1
        terms = np.empty((len(self.asked), len(rows.classes), n_terms), dtype=np.float32)
        terms[:, :, -1] = self.log_prior
        members, factors, m = self._factors(terms)
        chains, means = self._chains()
        temperatures, exponents = self._weigh(terms, means)
        steps = Steps.of(chains)
        structure = self.held or Structure(rows.codes, members.cuts, members.parents, m, steps, temperatures, exponents)
        scores = terms.astype(np.float64) @ exponents
        self.log_proba, own = capped(scores, rows.n), (np.arange(len(self.asked)), self.labels)
        self.importance = []
        for i in range(n_columns):
            without = capped(scores - exponents[i] * terms[:, :, i], rows.n)
            self.importance.append(float(np.average((self.log_proba - without)[own], weights=self.weights)))
        return EnsembleParameters(logspace.log(prior_of(rows)), rows, structure, members, factors, chains)

    def _factors(self, terms: npt.NDArray[np.float32]) -> tuple[Members, list[Any], Floats]:
        """The members and what they count; into ``terms`` what they say of the asked rows left out."""
        rows, n_columns, held = self.rows, len(self.rows.columns), self.held
        if held is None:
            members = draw_members(rows, self.n_members, self.rng, self.n_threads)
        else:
            members = held.members(rows.codes)
        codes = members.codes(rows.columns, rows.codes, self.n_threads)
        factors, chosen = [], []
        for columns in some_columns(n_columns):
            m = None if held is None else np.ascontiguousarray(held.m[columns].reshape(-1, held.m.shape[2]))
            said, learnt = kernels.learn_backoff(
                codes, members.sizes, members.parents, columns, rows.labels, len(rows.classes), rows.weights,
                self.asked, self.n_threads, m,
            )  # fmt: skip
            terms[:, :, columns] = said
            factors.append((columns, learnt))
            chosen.append(learnt[0].reshape(len(columns), len(members.cuts), -1))
            self.tell("columns", int(columns[-1]) + 1, n_columns)
        return members, factors, np.concatenate(chosen)

    def _chains(self) -> tuple[list[Any], tuple[Floats, Floats]]:
        """The chains, and their geometric and arithmetic means (rows, classes) for rows that did not choose them."""
        rows, n_classes, prior = self.rows, len(self.rows.classes), prior_of(self.rows)
        log_sum, total = np.zeros_like(self.log_prior), np.zeros_like(self.log_prior)
        outside, sizes, chains = np.zeros(len(self.asked)), coded_sizes(rows.codes), []
        first = (rows.columns, sizes, rows.labels, n_classes, rows.weights, self.asked)
        for done in range(0, self.n_chains, CHAINS_TOGETHER):
            some = min(CHAINS_TOGETHER, self.n_chains - done)
            if self.held is None:
                parts, candidates, cuts = draw_chains(rows, some, self.rng)
                logs, sums, learnt = kernels.learn_chains(*first, parts, candidates, cuts, prior, self.n_threads)
                outside += (parts[:, self.asked] == 0).sum(axis=0)
            else:
                steps = self.held.steps_in(rows.codes).some(done, done + some)
                logs, sums, learnt = kernels.count_chains(*first, *steps, prior, self.n_threads)
                outside += some
            log_sum += logs
            total += sums
            chains.append(learnt)
            self.tell("chains", done + some, self.n_chains)
        none = outside == 0
        outside[none] = 1
        log_mean, mean = log_sum / outside[:, None], total / outside[:, None]
        log_mean[none], mean[none] = self.log_prior[none], logspace.exp(self.log_prior[none])
        return chains, (logspace.log_normalise(log_mean)[0], logspace.log(mean))

    def _weigh(
        self, terms: npt.NDArray[np.float32], means: tuple[Floats, Floats]
    ) -> tuple[tuple[float, float], Floats]:
        """Temperatures of the chains and exponents of all terms; the means of the chains go into ``terms``."""
        n_columns, labels, weights = len(self.rows.columns), self.labels, self.weights
        temperatures = (1.0, 1.0) if self.held is None else self.held.temperatures
        if self.n_chains and self.held is None:
            temperatures = (fit_temperature(means[0], labels, weights), fit_temperature(means[1], labels, weights))
        if self.n_chains:
            for at, (scores, by) in enumerate(zip(means, temperatures, strict=True)):
                terms[:, :, n_columns + at] = logspace.log_normalise(by * scores)[0]
        if self.held is not None:
            return temperatures, self.held.exponents
        together = self.log_prior + terms[:, :, :n_columns].sum(axis=2, dtype=np.float64)
        beta = fit_temperature(together, labels, weights)
        centre = np.array([beta / 2] * n_columns + [0.25, 0.25, 1.0] if self.n_chains else [beta] * n_columns + [1.0])
        self.tell("exponents", 0, 1)
        exponents = fit_exponents(terms, labels, weights, centre, self.n_threads)
        self.tell("exponents", 1, 1)
        return temperatures, exponents


def left_out_prior(rows: LearntRows, asked: npt.NDArray[np.int64]) -> Floats:
    """ln P(class) of each asked row without itself (rows, classes)."""
    taken = np.ones(len(asked)) if rows.weights is None else np.minimum(rows.weights[asked], 1.0)
    return np.asarray(logspace.log(shares_without(rows.class_weights, rows.labels[asked], taken, PSEUDO)))


def left_out_table(log_proba: Floats, naive: Floats, rows: LearntRows, asked: npt.NDArray[np.int64]) -> Table:
    """Accuracy and log loss of rows left out: ours, naive Bayes, the majority.

    Rows that take their class along count as wrong for naive Bayes and have no log loss, for none of the three; None
    where there are no others.
    """
    labels, weights = rows.labels[asked], None if rows.weights is None else rows.weights[asked]
    prior = left_out_prior(rows, asked)
    naive_posterior, evidence = logspace.log_normalise(naive)
    by_naive = np.where(np.isneginf(evidence)[:, None], prior, naive_posterior)
    said = [log_proba, by_naive, prior]
    guesses = [log_proba.argmax(axis=1), by_naive.argmax(axis=1), np.full(len(labels), rows.class_weights.argmax())]
    unit = None if weights is None else np.minimum(weights, 1.0)
    lost = takes_class_along(rows.class_weights, labels, unit)
    stay = np.arange(len(labels)) if lost is None else np.flatnonzero(~lost)
    judged = None if weights is None else weights[stay]
    losses = [log_loss(scores[stay, labels[stay]], judged) if len(stay) else None for scores in said]
    return Table(
        {
            "model": ["BayesClassifier", "NaiveBayes", "majority"],
            "accuracy": [float(np.average(guess == labels, weights=weights)) for guess in guesses],
            "log loss": losses,
        }
    )
