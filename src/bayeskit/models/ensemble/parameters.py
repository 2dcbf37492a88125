"""The counts of the ensemble, and the scores of new rows.

Formula: the counting ensemble: members, chains, forests, line, exponents, boosting, cap
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from bayeskit import kernels, logspace
from bayeskit.data.vocabulary import Value, Vocabulary
from bayeskit.estimate.smoothing import smoothed
from bayeskit.models.ensemble.structure import Members, Structure
from bayeskit.models.ensemble.texts import TextWords
from bayeskit.models.ensemble.training_rows import TrainingRows, check_range
from bayeskit.models.ensemble.trees import FOLDS as BOOSTED_FOLDS
from bayeskit.models.ensemble.trees import MOST_GROWN, means_of, ready_leaves, total_leaves
from bayeskit.tally.coded_trees import ColumnCodes, Leaves
from bayeskit.tally.tally import Tally
from bayeskit.typing import Array, Bytes, Floats, Ints, Singles

Columns = list[Array]
Tell = Callable[[str, int, int], None]
# Pseudo-rows of each class in the prior and in the cap on probabilities.
PSEUDO = 1.0
# Chains that are learned together.
CHAINS_TOGETHER = 8
# Rows scored at once: bounds, and the number of their terms.
FEWEST_TOGETHER, MOST_TOGETHER, CELLS_TOGETHER = 2_048, 16_384, 1 << 19
# The exponents are fitted to the left-out scores of so many rows at most.
MOST_FITTED = 20_000


@dataclass(frozen=True)
class EnsembleParameters:
    """The parameters of the ensemble: its counts in the contexts of its structure.

    ``n`` is the number or weight of the training rows, ``factors`` the counts of groups of columns, and ``leaves`` the
    smoothed class probabilities of every node. Chains compare a row with ``learned_columns`` in contexts of a single
    training row.
    """

    classes: tuple[Value, ...]
    log_prior: Floats
    n: float
    codes: dict[str, ColumnCodes]
    structure: Structure
    members: Members
    factors: list[tuple[Ints, Any]]
    chains: list[Any]
    learned_columns: Columns
    leaves: Singles | None

    @property
    def unused(self) -> tuple[str, ...]:
        """The columns that the model does not read."""
        return self.structure.silent

    @cached_property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """The vocabularies of the coded columns."""
        # A blank name keeps its place and equals no cell.
        return {name: Vocabulary(cast(Any, how.values)) for name, how in self.codes.items() if how.values is not None}

    @property
    def text_words(self) -> dict[str, TextWords]:
        """The words that matter, by text column."""
        return {name: TextWords(part, self.classes) for name, part in self.structure.texts.items()}

    @cached_property
    def log_start(self) -> Floats:
        """ln P(class) of a row of which nothing is known (n_classes,)."""
        return log_scores(self, unknown(self, 1), 1)[0]

    @cached_property
    def tree_tables(self) -> list[Bytes]:
        """Tables from the current codes to those of the trees."""
        return [] if self.structure.trees is None else self.structure.trees.tables(self.codes)


def prior_of(rows: TrainingRows) -> Floats:
    """Compute P(class) = (n_y + 1) / (n + C) (n_classes,)."""
    return smoothed(rows.class_weights, rows.n, PSEUDO, PSEUDO * len(rows.classes))


def some_columns(n_columns: int) -> list[Ints]:
    """Split the columns into at most sixteen groups that are learned together."""
    step = max(8, -(-n_columns // 16))
    return [np.arange(first, min(first + step, n_columns)) for first in range(0, n_columns, step)]


def coded_sizes(codes: Mapping[str, ColumnCodes]) -> Ints:
    """Return the number of values of each column (columns,); 0 for a numeric one."""
    return np.array([how.size for how in codes.values()], dtype=np.int64)


def from_leaves(
    leaves: Leaves, class_counts: Any, classes: Any, structure: Structure, n_threads: int
) -> EnsembleParameters:
    """Build parameters from counted leaves, without rows."""
    class_weights = np.asarray(class_counts, dtype=np.float64) / structure.weight
    n = float(class_weights.sum())
    if n:
        check_range(n, n)
    prior = np.asarray(smoothed(class_weights, n, PSEUDO, PSEUDO * len(class_weights)))
    codes = dict(structure.codes)
    totals = total_leaves(leaves.trees, leaves.counts / structure.weight, n_threads)
    ready = ready_leaves(leaves.trees, totals, prior, n, n_threads)
    return EnsembleParameters(
        tuple(classes), logspace.log(prior), n, codes, structure, structure.members(codes), [], [], [], ready
    )


def log_scores(params: EnsembleParameters, columns: Columns, n_threads: int) -> Floats:
    """Compute ln P(class | x) of new rows (n_rows, n_classes), capped."""
    scores = np.empty((len(columns[0]), len(params.log_prior)))
    cells = scores.shape[1] * params.structure.terms.size
    together = min(max(CELLS_TOGETHER // cells, FEWEST_TOGETHER), MOST_TOGETHER)
    for first in range(0, len(scores), together):
        some = slice(first, first + together)
        scores[some] = _score_rows(params, [column[some] for column in columns], n_threads)
    return capped(scores, params.n)


def _score_rows(params: EnsembleParameters, columns: Columns, n_threads: int) -> Floats:
    """Compute the scores of some rows (n_rows, n_classes): terms times exponents, plus boosting."""
    structure, members, n_classes = params.structure, params.members, len(params.log_prior)
    at = structure.terms
    terms = np.empty((len(columns[0]), n_classes, at.size))
    terms[:, :, -1] = params.log_prior
    if params.factors:
        codes = members.codes(columns, params.codes, n_threads)
        for own, learned in params.factors:
            terms[:, :, own[0] : own[-1] + 1] = kernels.score_backoff(
                codes, members.sizes, members.parents, own, n_classes, learned, n_threads
            )
    means = []
    if not structure.exponents[at.of_chains].any():
        terms[:, :, at.of_chains] = 0
    elif params.chains:
        sizes, prior = coded_sizes(params.codes), logspace.exp(params.log_prior)
        log_sum, total = np.zeros(terms.shape[:2]), np.zeros(terms.shape[:2])
        for learned in params.chains:
            logs, sums = kernels.score_chains(
                columns, sizes, params.learned_columns, params.n, prior, learned, n_threads
            )
            log_sum, total = log_sum + logs, total + sums
        means = [log_sum / len(structure.steps), logspace.log(total)]
    put_means(terms, at.of_chains, means, structure.temperatures)
    if (trees := structure.trees) is not None and params.leaves is not None:
        cells = dict(zip(params.codes, columns, strict=True))
        codes = trees.codes(cells, params.tree_tables, n_threads)
        if at.forests:
            put_means(
                terms, at.of_forests, means_of(trees, params.leaves, codes, n_threads), structure.temperatures[2:]
            )
        if structure.line is not None:
            terms[:, :, -2] = structure.line.log_shares(
                cells, codes, trees, params.classes, params.log_prior, n_threads
            )
        if structure.boosting is not None:
            return terms @ structure.exponents + structure.boosting.scores(codes, params.classes, n_threads)
    return terms @ structure.exponents


def put_means(terms: Array, where: slice, means: Sequence[Floats], temperatures: Sequence[float]) -> None:
    """Write tempered means of chains or forests into their terms."""
    for place, scores, by in zip(range(where.start, where.stop), means, temperatures, strict=False):
        terms[:, :, place] = logspace.log_normalize(by * scores)[0]


def unknown(params: EnsembleParameters, n_rows: int) -> Columns:
    """Return columns of which nothing is known: codes beyond all values, and infinity for numbers."""
    return [
        np.full(n_rows, np.inf) if how.values is None else np.full(n_rows, how.size, np.min_scalar_type(how.size))
        for how in params.codes.values()
    ]


def capped(scores: Floats, n: float) -> Floats:
    """Compute ln((n softmax(s) + 1) / (n + C)): n rows do not justify more certainty."""
    proba = logspace.normalize(np.ascontiguousarray(scores))[0]
    return logspace.log(smoothed(n * proba, n, PSEUDO, PSEUDO * scores.shape[1]))


class TableSize(NamedTuple):
    """The size of a table, from which the memory of a fit is estimated."""

    n_rows: int
    n_columns: int
    n_classes: int
    most_values: int
    """The largest number of values of a coded column."""
    n_effective: float
    """Rows of equal weight that tell as much as the weighted rows (Kish 1965)."""

    @classmethod
    def of_rows(cls, rows: TrainingRows) -> TableSize:
        """Measure coded rows."""
        sizes = [codes.size for codes in rows.codes.values()]
        return cls(len(rows.labels), len(rows.columns), len(rows.classes), max(sizes, default=0), rows.n_effective)

    @classmethod
    def of_counts(cls, tally: Tally) -> TableSize:
        """Measure counted rows."""
        values = [len(family.values) + 1 for family in tally.families.values()]
        n_rows = int(tally.n_rows)
        return cls(n_rows, len(tally.schema.used), len(tally.classes), max(values, default=0), n_rows)

    def __str__(self) -> str:
        return f"{self.n_rows:,} rows × {self.n_columns:,} columns × {self.n_classes:,} classes"


def memory_needed(size: TableSize, n_members: int, n_chains: int, n_trees: int, n_threads: int = 1) -> float:
    """Estimate the bytes that a fit takes: codes, left-out factors, contexts and counts.

    The estimate is 1.0 to 1.5 times the memory measured on numeric and categorical tables.
    """
    n, n_columns, n_classes = size.n_rows, size.n_columns, size.n_classes
    widest = max(size.most_values, round(n**0.5))
    codes = n_members * n_columns * n * np.min_scalar_type(widest).itemsize
    left_out = min(n, MOST_FITTED) * n_classes * ((n_columns if n_members else 0) + 8) * 12
    contexts = n_members * n_columns * n * 24 + n_chains * n * 60
    # Contexts of one column of one member.
    learning = n_threads * n * n_classes * 40 if n_members else 0
    # About one leaf for two rows.
    leaves = 2 * n_trees * (n + min(n, MOST_GROWN) * (12 + 20 * n_classes))
    boosting = BOOSTED_FOLDS * min(n, MOST_FITTED) * (16 * n_classes + 64)
    return float(boosting + codes + left_out + contexts + learning + leaves + 3 * n * n_columns)
