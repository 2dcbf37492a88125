"""BayesClassifier: an ensemble learnt by counting alone, for raw mixed tables, without parameters to tune.

    s(y) = w_0 ln P(y) + Σ_i w_i f_i(y) + w_a o_1(y) + w_b o_2(y)
    P(y | x) = (n softmax(s)_y + 1) / (n + C)

f_i is the mean over the members of ln P(x_i | y, parents of i), estimated by back-off from longer to shorter
contexts; o_1 and o_2 are the geometric and the arithmetic mean of class chains, contexts chosen one column at a
time. The few exponents w are fitted to scores of rows left out. No model learnt from n rows may claim more than
the last line allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.encode import Block, Encoder
from bayeskit.data.schema import Schema
from bayeskit.data.source import Source
from bayeskit.data.table import Table
from bayeskit.data.vocabulary import Vocabulary
from bayeskit.errors import BayesError, TooLarge
from bayeskit.estimate.exponents import fit_exponents, fit_temperature
from bayeskit.models.base import Scores, TallyClassifier
from bayeskit.models.bayes_rows import ColumnCodes, LearntRows, block_columns, read_rows
from bayeskit.models.bayes_structure import Members, draw_chains, draw_members
from bayeskit.models.naive_bayes import NaiveBayes
from bayeskit.models.settings import seed_of

Floats = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], object]
MOST_FITTED = 20_000  # rows whose left-out scores the exponents are fitted to
CHAINS_TOGETHER = 8
ROWS_TOGETHER = 2_048


@dataclass(frozen=True)
class EnsembleParameters:
    """What the ensemble believes."""

    log_prior: Floats
    n: float
    codes: dict[str, ColumnCodes]
    members: Members
    factors: list[tuple[npt.NDArray[np.int64], Any]]  # columns, and what was counted for them
    chains: list[Any]
    temperatures: tuple[float, float]
    exponents: Floats  # columns, two of the chains, prior

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """Codes of the values as they were learnt."""
        return {name: Vocabulary(how.values) for name, how in self.codes.items() if how.values is not None}


class _Absent:
    """A method that this model cannot honour: not there."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: object, owner: type | None = None) -> NoReturn:
        raise AttributeError(f"BayesClassifier has no {self.name}: what it counts depends on rows it no longer has")


class BayesClassifier(TallyClassifier):
    """The best by counting, for people in a hurry: hand over a raw table, tune nothing.

    Parameters
    ----------
    n_members: models of the columns that are averaged; more cost time and gain a little.
    n_chains: class chains; 0 is the same as ``fast``.
    fast: leave the class chains out: about half the time, a little less accurate.
    memory_limit: bytes the fit may take; more is refused beforehand, with the figure.
    random_state: seed of cuts, parents and chains; the same seed gives the same model for any number of threads.
    n_threads: None for all cores.
    progress: called as ``progress(stage, done, of)`` while fitting.
    roles: one role for all columns or a mapping from name or position: "categorical", "numeric", "ignore".
    domains: mapping from column to all its possible values; the target's name declares classes.
    schema: the ``schema_`` of another model, taken instead of one inferred from the data.
    unseen: a value never seen in training is left out ("ignore") or refused ("error").
    ties: the "first" class in sorted order, or one drawn at "random" by ``random_state`` and the row's content.

    Attributes
    ----------
    left_out_: accuracy and log loss on the learnt rows (20,000 at most), each left out of the counts, beside those of
        naive Bayes and of the majority. Ours are a little optimistic: structure, m and exponents have seen the row.

    importance_: of each column, by how much the log loss of rows left out rises without its factor, everything else
        held; the class chains are left as they are.

    Examples
    --------
    >>> from bayeskit.datasets import load_penguins
    >>> birds = load_penguins().drop_columns(["year"])
    >>> model = BayesClassifier(n_members=4, fast=True).fit(birds.slice(0, 300), "species")
    >>> bird = {"island": "Dream", "bill_length_mm": 49.3, "bill_depth_mm": None,
    ...         "flipper_length_mm": 195, "body_mass_g": None, "sex": "male"}
    >>> model.predict(bird)[0]
    np.str_('Chinstrap')
    """

    partial_fit = _Absent()
    forget = _Absent()
    merge = _Absent()
    fit_tally = _Absent()
    restrict = _Absent()
    with_prior = _Absent()
    predict_joint_log_proba = _Absent()
    score_samples = _Absent()
    log_likelihood = _Absent()

    def __init__(
        self,
        n_members: int = 16,
        n_chains: int = 64,
        fast: bool = False,
        memory_limit: float = 4e9,
        roles: Any = None,
        domains: Any = None,
        schema: Schema | None = None,
        unseen: str = "ignore",
        ties: str = "first",
        random_state: Any = 0,
        n_threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.n_members = n_members
        self.n_chains = n_chains
        self.fast = fast
        self.memory_limit = memory_limit
        self.roles = roles
        self.domains = domains
        self.schema = schema
        self.unseen = unseen
        self.ties = ties
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def check_settings(self) -> None:
        super().check_settings()
        for name, least in (("n_members", 1), ("n_chains", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise BayesError(f"{name}={value!r}: give a whole number of at least {least}")
        if self.unseen == "smooth":
            raise BayesError('unseen="smooth" has no meaning here: it is "ignore" or "error"')
        if not isinstance(self.memory_limit, (int, float, np.number)) or not self.memory_limit > 0:
            raise BayesError(f"memory_limit={self.memory_limit!r}: give a number of bytes")

    # -- learning ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows ``X`` with classes ``y`` (values, or the name of a column of ``X``)."""
        self.check_settings()
        source = self._labelled(X, y, sample_weight)
        schema = self._schema_for(source)
        rows = read_rows(source, schema, self._threads())
        self._refuse_too_large(rows)
        naive = NaiveBayes(schema=schema, n_threads=self.n_threads).fit(X, y, sample_weight)
        seed = seed_of(self.random_state)
        params, asked, log_proba, importance = self._learn(rows, np.random.default_rng(seed))
        self.left_out_ = _left_out_table(log_proba, _naive_left_out(naive, source)[asked], rows, asked)
        self.importance_ = Table({"column": list(rows.codes), "importance": importance})
        self.params_ = params
        self.schema_, self.tally_, self.classes_ = schema, naive.tally_, naive.classes_
        self.n_features_in_ = len(schema.columns)
        if schema.named:
            self.feature_names_in_ = np.array(list(schema.columns), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _learn(
        self, rows: LearntRows, rng: np.random.Generator
    ) -> tuple[EnsembleParameters, npt.NDArray[np.int64], Floats, list[float]]:
        """(parameters, rows the exponents were fitted to, ln P(class | x) of these left out, importance of columns)"""
        n_classes, threads = len(rows.classes), self._threads()
        n_rows, n_columns = len(rows.labels), len(rows.columns)
        asked = np.arange(n_rows, dtype=np.int64)
        if n_rows > MOST_FITTED:
            asked = np.sort(rng.choice(n_rows, MOST_FITTED, replace=False)).astype(np.int64)
        labels = rows.labels[asked]
        weights = None if rows.weights is None else rows.weights[asked]
        prior = (rows.class_weights + 1) / (rows.n + n_classes)
        log_prior = _left_out_prior(rows, asked)
        n_terms = n_columns + (2 if self._has_chains() else 0) + 1
        terms = np.empty((len(asked), n_classes, n_terms), dtype=np.float32)
        terms[:, :, -1] = log_prior

        members = draw_members(rows, self.n_members, rng, threads)
        codes = members.codes(rows.columns, rows.codes, threads)
        factors = []
        for first in range(0, n_columns, step := max(8, -(-n_columns // 16))):
            columns = np.arange(first, min(first + step, n_columns), dtype=np.int64)
            said, learnt = kernels.learn_backoff(
                codes, members.sizes, members.parents, columns, rows.labels, n_classes, rows.weights, asked, threads
            )
            terms[:, :, columns] = said
            factors.append((columns, learnt))
            self._tell("members", int(columns[-1]) + 1, n_columns)
        del codes
        together = log_prior + terms[:, :, :n_columns].sum(axis=2, dtype=np.float64)
        beta = fit_temperature(together, labels, weights)

        chains: list[Any] = []
        temperatures = (1.0, 1.0)
        if self._has_chains():
            chains, log_mean, mean = self._learn_chains(rows, asked, prior, log_prior, rng)
            temperatures = (fit_temperature(log_mean, labels, weights), fit_temperature(mean, labels, weights))
            for at, (scores, by) in enumerate(zip((log_mean, mean), temperatures, strict=True)):
                terms[:, :, n_columns + at] = logspace.log_normalise(by * scores)[0]
            centre = np.array([beta / 2] * n_columns + [0.25, 0.25, 1.0])
        else:
            centre = np.array([beta] * n_columns + [1.0])
        self._tell("exponents", 0, 1)
        exponents = fit_exponents(terms, labels, weights, centre, threads)
        self._tell("exponents", 1, 1)
        params = EnsembleParameters(
            logspace.log(prior), rows.n, rows.codes, members, factors, chains, temperatures, exponents
        )
        scores = terms.astype(np.float64) @ exponents
        log_proba, own = _capped(scores, rows.n), (np.arange(len(asked)), labels)
        importance = []
        for i in range(n_columns):
            without = _capped(scores - exponents[i] * terms[:, :, i], rows.n)
            importance.append(float(np.average((log_proba - without)[own], weights=weights)))
        return params, asked, log_proba, importance

    def _learn_chains(
        self, rows: LearntRows, asked: npt.NDArray[np.int64], prior: Floats, log_prior: Floats, rng: np.random.Generator
    ) -> tuple[list[Any], Floats, Floats]:
        """The chains, and their geometric and arithmetic means (rows, classes) for rows that did not choose them."""
        sizes = np.array([how.size for how in rows.codes.values()], dtype=np.int64)
        log_sum, total = np.zeros_like(log_prior), np.zeros_like(log_prior)
        outside = np.zeros(len(asked))
        chains = []
        for first in range(0, self.n_chains, CHAINS_TOGETHER):
            parts, candidates, cuts = draw_chains(rows, min(CHAINS_TOGETHER, self.n_chains - first), rng)
            logs, sums, learnt = kernels.learn_chains(
                rows.columns, sizes, rows.labels, len(rows.classes), rows.weights, asked, parts, candidates, cuts,
                prior, self._threads(),
            )  # fmt: skip
            log_sum += logs
            total += sums
            outside += (parts[:, asked] == 0).sum(axis=0)
            chains.append(learnt)
            self._tell("chains", first + len(parts), self.n_chains)
        none = outside == 0
        outside[none] = 1
        log_mean, mean = log_sum / outside[:, None], total / outside[:, None]
        log_mean[none], mean[none] = log_prior[none], logspace.exp(log_prior[none])
        return chains, logspace.log_normalise(log_mean)[0], logspace.log(mean)

    def _has_chains(self) -> bool:
        return not self.fast and self.n_chains > 0

    def _tell(self, stage: str, done: int, of: int) -> None:
        if self.progress is not None:
            self.progress(stage, done, of)

    def _refuse_too_large(self, rows: LearntRows) -> None:
        if len(rows.classes) > 65_535:
            raise TooLarge(f"{len(rows.classes):,} classes are more than the 65,535 that can be told apart")
        needed = memory_needed(rows, self.n_members, self.n_chains if self._has_chains() else 0)
        if needed > self.memory_limit:
            size = f"{len(rows.labels):,} rows × {len(rows.columns):,} columns × {len(rows.classes):,} classes"
            raise TooLarge(
                f"learning {size} may take {needed / 1e9:.3g} GB, more than memory_limit={self.memory_limit / 1e9:.3g} "
                "GB. Raise it, ask for fewer n_members, learn from a sample of the rows, or use NaiveBayes, which "
                "counts row by row."
            )

    # -- saying --------------------------------------------------------------------------------------

    def encoder(self) -> Encoder:
        """Reads rows in the codes of this model's columns and classes."""
        vocabularies, classes = dict(self.params_.vocabularies), Vocabulary(self.tally_.classes)
        refuse = self.unseen == "error"
        return Encoder(self.schema_, vocabularies, classes, refuse_unseen=refuse, n_threads=self._threads())

    def log_joint(self, params: EnsembleParameters, block: Block) -> Scores:
        """ln P(class | x) of each row (rows, classes), capped."""
        columns = block_columns(block, params.codes)
        scores = np.empty((block.n_rows, len(params.log_prior)))
        for first in range(0, block.n_rows, ROWS_TOGETHER):
            some = slice(first, first + ROWS_TOGETHER)
            scores[some] = self._terms(params, [column[some] for column in columns]) @ params.exponents
        return _capped(scores, params.n)

    def _terms(self, params: EnsembleParameters, columns: list[npt.NDArray[Any]]) -> Floats:
        """ln of everything that is weighed (rows, classes, terms): columns, chains, prior."""
        n_classes, threads, n_columns = len(params.log_prior), self._threads(), len(columns)
        terms = np.empty((len(columns[0]), n_classes, len(params.exponents)))
        terms[:, :, -1] = params.log_prior
        members = params.members
        codes = members.codes(columns, params.codes, threads)
        for own, learnt in params.factors:
            terms[:, :, own] = kernels.score_backoff(
                codes, members.sizes, members.parents, own, n_classes, learnt, threads
            )
        if params.chains:
            sizes = np.array([how.size for how in params.codes.values()], dtype=np.int64)
            prior = logspace.exp(params.log_prior)
            log_sum, total = np.zeros(terms.shape[:2]), np.zeros(terms.shape[:2])
            for learnt in params.chains:
                logs, sums = kernels.score_chains(columns, sizes, params.n, prior, learnt, threads)
                log_sum, total = log_sum + logs, total + sums
            for at, (scores, by) in enumerate(zip((log_sum, logspace.log(total)), params.temperatures, strict=True)):
                mean = scores / self._n_learnt_chains(params) if at == 0 else scores
                terms[:, :, n_columns + at] = logspace.log_normalise(by * mean)[0]
        return terms

    @staticmethod
    def _n_learnt_chains(params: EnsembleParameters) -> int:
        return sum(len(chains[0]) - 1 for chains in params.chains)

    def column_table(self, column: str) -> Table:
        """The exponent with which a column counts."""
        names = list(self.params_.codes)
        if column not in names:
            raise BayesError(f"column {column!r} is ignored: there is nothing to show")
        return Table({"column": [column], "exponent": [float(self.params_.exponents[names.index(column)])]})


def memory_needed(rows: LearntRows, n_members: int, n_chains: int) -> float:
    """Bytes the fit may take, estimated from above for usual tables: codes, left-out factors, contexts and counts."""
    n, n_columns, n_classes = len(rows.labels), len(rows.columns), len(rows.classes)
    widest = max([how.size for how in rows.codes.values()] + [round(n ** (1 / 3))])
    codes = n_members * n_columns * n * np.min_scalar_type(widest).itemsize
    left_out = min(n, MOST_FITTED) * n_classes * (n_columns + 3) * 12
    contexts = n_members * n_columns * n * 24 + n_chains * n * 60
    return float(codes + left_out + contexts)


def _left_out_prior(rows: LearntRows, asked: npt.NDArray[np.int64]) -> Floats:
    """ln P(class) of each asked row without itself (rows, classes)."""
    n_classes, labels = len(rows.classes), rows.labels[asked]
    taken = np.ones(len(asked)) if rows.weights is None else np.minimum(rows.weights[asked], 1.0)
    counts = np.tile(rows.class_weights + 1, (len(asked), 1))
    counts[np.arange(len(asked)), labels] -= taken
    found: Floats = logspace.log(counts / (rows.n - taken + n_classes)[:, None])
    return found


def _capped(scores: Floats, n: float) -> Floats:
    """ln ((n softmax(s) + 1) / (n + C)): n rows allow no more."""
    proba = logspace.normalise(np.ascontiguousarray(scores))[0]
    capped: Floats = logspace.log((n * proba + 1) / (n + scores.shape[1]))
    return capped


def _naive_left_out(naive: NaiveBayes, source: Source) -> Floats:
    """ln P(x, class) by naive Bayes of each row with a weight, left out (rows, classes)."""
    left_out = naive.left_out()
    blocks = (b if b.weights is None else b.take(b.weights > 0) for b in naive.encoder().blocks(source))
    return np.concatenate([left_out.scores(block) for block in blocks])


def _left_out_table(log_proba: Floats, naive: Floats, rows: LearntRows, asked: npt.NDArray[np.int64]) -> Table:
    """Accuracy and log loss (a probability is at least 1e-15) of rows left out: ours, naive Bayes, the majority."""
    labels, weights = rows.labels[asked], None if rows.weights is None else rows.weights[asked]
    prior = _left_out_prior(rows, asked)
    said = [log_proba, np.nan_to_num(logspace.log_normalise(naive)[0], nan=-np.inf), prior]
    guesses = [log_proba.argmax(axis=1), said[1].argmax(axis=1), np.full(len(labels), rows.class_weights.argmax())]
    lost = [-np.maximum(scores[np.arange(len(labels)), labels], np.log(1e-15)) for scores in said]
    return Table(
        {
            "model": ["BayesClassifier", "NaiveBayes", "majority"],
            "accuracy": [float(np.average(guess == labels, weights=weights)) for guess in guesses],
            "log loss": [float(np.average(loss, weights=weights)) for loss in lost],
        }
    )
