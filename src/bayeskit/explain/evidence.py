"""Evidence of a prediction column by column, and the phrases that describe it.

Formula: weights of evidence, and increments where columns are not factors
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bayeskit import logspace
from bayeskit.arrow_arrays import Column, is_arrow
from bayeskit.data.block import Block
from bayeskit.data.cells import raise_unusable
from bayeskit.data.reader import in_order
from bayeskit.data.source import Source, for_schema
from bayeskit.data.vocabulary import Value, canonical
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError
from bayeskit.nearest import did_you_mean
from bayeskit.tables import Items, Readable, Records, Sheet, Table
from bayeskit.typing import Bools, Floats, Ints
from bayeskit.undecidable import Impossible


def format_factor(log_factor: float) -> str:
    """Format a factor, given its logarithm.

    >>> [format_factor(logspace.log(f)) for f in (1.04, 2.5, 8.0, 1234.4, 2e6)], format_factor(800.0)
    (['1.04', '2.5', '8', '1,234', '2 million'], '10^347')
    """
    if log_factor > 700:
        return f"10^{log_factor / logspace.log(10.0):.0f}"
    factor = float(logspace.exp(log_factor))
    if factor < 10:
        return f"{factor:.3g}" if factor < 1.1 else f"{factor:.2g}"
    if factor < 1e6:
        return f"{factor:,.0f}"
    return f"{factor / 1e6:,.0f} million" if factor < 1e9 else f"10^{math.log10(factor):.0f}"


def format_probability(p: float) -> str:
    """Format a probability; only an exact 1 is printed as 1.

    >>> format_probability(0.96412), format_probability(0.9999999), format_probability(1.0), format_probability(1e-9)
    ('0.9641', 'above 0.9999', '1', '1e-09')
    """
    return "above 0.9999" if 0.9999 < p < 1 else f"{p:.4g}"


def format_log_odds(log_odds: float) -> str:
    """Format log odds with a sign; NaN is printed as none.

    >>> format_log_odds(0.69314), format_log_odds(-2.0), format_log_odds(math.inf), format_log_odds(math.nan)
    ('+0.693', '-2.000', '+inf', 'none')
    """
    return "none" if math.isnan(log_odds) else f"{log_odds:+.3f}"


def format_cell(value: object) -> str:
    """Format the value of a cell.

    >>> format_cell(49.300000000001), format_cell(3), format_cell("sun"), format_cell(None)
    ('49.3', '3', 'sun', 'missing')
    """
    if value is None:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


LONG = 80  # characters of a cell that a sentence shows
WORDS = 5  # words of a long text
State = Literal["known", "missing", "unseen", "unused"]


@dataclass(frozen=True)
class Contribution:
    """Evidence of one cell for the predicted class against another class.

    ``column``, ``value`` (None if missing); ``log_odds``: natural logarithm, positive for the predicted class, infinite
    if one class gives the cell probability 0, NaN if both do; ``state``: "known", "missing", "unseen" (not in training)
    or "unused" (the column has no information about the class); ``words``: those of a text with the most evidence.
    """

    column: str
    value: Value | None
    log_odds: float
    state: State
    predicted: Value
    against: Value
    words: tuple[str, ...] = ()

    @property
    def display_value(self) -> str:
        """Return the value, shortened to the words that matter if it is a long text."""
        text = format_cell(self.value)
        if len(text) <= LONG:
            return text
        return f"({', '.join(self.words)}, …)" if self.words else f"{text[:LONG]}…"

    @property
    def sentence(self) -> str:
        """Describe the contribution in one sentence."""
        what = f"{self.column} {self.display_value}"
        if self.state == "missing" and self.log_odds == 0:
            return f"{self.column} is missing and left out"
        if self.state == "unseen" and self.log_odds == 0:
            return f"{what} was never seen in training and is left out"
        if self.state == "unused":
            return f"{what} is left out: the column tells nothing of any class"
        if math.isnan(self.log_odds):
            return f"{what} never occurs in {self.predicted} nor in {self.against}"
        if math.isinf(self.log_odds):
            never = self.against if self.log_odds > 0 else self.predicted
            return f"{what} never occurs in {never} and rules it out"
        more, less = (self.predicted, self.against) if self.log_odds > 0 else (self.against, self.predicted)
        if abs(self.log_odds) < 0.005:
            return f"{what} does not tell {self.predicted} from {self.against}"
        return f"{what} makes {more} {format_factor(abs(self.log_odds))} times as likely as {less}"


@dataclass(frozen=True, repr=False)
class Explanation(Readable, Drawable):
    """Evidence for the prediction of one row.

    ``row``: row number; ``predicted`` and ``against``: the compared classes; ``probability`` and
    ``against_probability``: their posteriors; ``prior_log_odds`` and the ``contributions`` of all columns in schema
    order sum to ``log_odds``; ``undecidable``: the row is impossible under every class and predicted by the class
    priors, and the contributions are excluded from the sum; ``n_orders``: number of orders of the columns over which
    contributions that depend on the order are averaged.
    """

    row: int
    predicted: Value
    against: Value
    probability: float
    against_probability: float
    prior_log_odds: float
    contributions: tuple[Contribution, ...]
    log_odds: float
    undecidable: bool = False
    n_orders: int = 1

    @property
    def ruled_out(self) -> tuple[Contribution, ...]:
        """Return the infinite contributions."""
        return tuple(c for c in self.contributions if not math.isfinite(c.log_odds))

    @property
    def by_size(self) -> tuple[Contribution, ...]:
        """Return the finite contributions, strongest first."""
        finite = (c for c in self.contributions if math.isfinite(c.log_odds))
        return tuple(sorted(finite, key=lambda c: -abs(c.log_odds)))

    @property
    def sentences(self) -> list[str]:
        """Describe the prediction in sentences, strongest evidence first."""
        head = f"{self.predicted} with probability {format_probability(self.probability)}"
        if self.undecidable:
            by_prior = f"by the priors alone, {head}" if self.probability >= 0 else "it has no probabilities"
            head = f"undecidable: impossible under every class; {by_prior}"
        more, less = (self.predicted, self.against) if self.prior_log_odds >= 0 else (self.against, self.predicted)
        if not math.isfinite(self.prior_log_odds):
            prior = f"before any evidence: the prior rules out {less}"
        elif abs(self.prior_log_odds) < 0.005:
            prior = f"before any evidence: {more} as likely as {less}"
        else:
            prior = f"before any evidence: {more} {format_factor(abs(self.prior_log_odds))} times as likely as {less}"
        averaged = [f"averaged over {self.n_orders} orders of the columns"] if self.n_orders > 1 else []
        return [head, prior, *(c.sentence for c in (*self.ruled_out, *self.by_size)), *averaged]

    @property
    def table(self) -> Table:
        """Return column, value, log odds and cumulative sum, with the prior first."""
        names, values = ["prior"], [""]
        odds = [float(self.prior_log_odds), *(float(c.log_odds) for c in self.contributions)]
        names += [c.column for c in self.contributions]
        values += [c.display_value for c in self.contributions]
        sums = np.full(len(odds), self.log_odds) if self.undecidable else np.cumsum(odds)
        header = f"log odds {self.predicted} : {self.against}"
        return Table({"column": names, "value": values, header: odds, "sum": sums.tolist()})

    @property
    def sheet(self) -> Sheet:
        """Return the printable form."""
        head, *rest = self.sentences
        return Sheet(f"row {self.row}: {head}", (Items(rest),))


class Explanations(Records[Explanation]):
    """Explanations of several rows."""


def score_increments(before: Floats, scores: Iterable[tuple[str, Floats]]) -> dict[str, Floats]:
    """Return the increment of the scores (n_rows, n_classes) when each column is added after those before it.

    ``before`` are the scores without any column, ``scores`` those after each column; the increments sum to the last.
    The increment of a class that was impossible before is 0. A class that one column rules out and a later one allows
    again, as a further parent of AODE may, is not ruled out in between.

    >>> steps = [("a", np.array([[-3.0, -np.inf]])), ("b", np.array([[-7.0, -np.inf]]))]
    >>> {name: part.tolist() for name, part in score_increments(np.array([-1.0, -2.0]), steps).items()}
    {'a': [[-2.0, -inf]], 'b': [[-4.0, 0.0]]}
    """
    parts, steps = {}, list(scores)
    in_the_end = np.isneginf(steps[-1][1]) if steps else np.zeros(0, dtype=bool)
    for name, after in steps:
        for_now = np.isneginf(after) & ~in_the_end
        with np.errstate(invalid="ignore"):
            parts[name] = np.where(np.isneginf(before) | for_now, 0.0, after - before)
        before = np.where(for_now, before, after)
    return parts


# Up to so many columns an explanation averages over all orders of them, by scoring every subset once.
FEW_COLUMNS = 5
# Most pairs of drawn orders, and scores of a row that they may take together, a pair at least.
MOST_PAIRS, MOST_SCORES = 4, 200


def column_orders(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the orders in which columns become known: all for few columns, else drawn ones, each with its reverse.

    They depend on the set of names alone.

    >>> column_orders(["sky", "age"])
    [('age', 'sky'), ('sky', 'age')]
    """
    ordered = sorted(names)
    if len(ordered) <= FEW_COLUMNS:
        return list(itertools.permutations(ordered))
    rng = np.random.default_rng(0)
    n_pairs = max(1, min(MOST_PAIRS, MOST_SCORES // (2 * len(ordered))))
    drawn = [tuple(ordered[i] for i in rng.permutation(len(ordered))) for _ in range(n_pairs)]
    return [order for one in drawn for order in (one, one[::-1])]


def average_increments(
    before: Floats, score: Callable[[frozenset[str]], Floats], names: Iterable[str]
) -> dict[str, Floats]:
    """Return the mean increment of finite scores (n_rows, n_classes) by each column, over :func:`column_orders`.

    ``before`` are the scores without any column, ``score`` those with a set of columns known. The increments sum to the
    scores with all columns (Štrumbelj & Kononenko 2010).
    """
    names = list(names)
    orders = column_orders(names)
    score = functools.cache(score) if len(names) <= FEW_COLUMNS else score
    sums = {name: np.zeros(1) for name in names}
    for order in orders:
        known, so_far = frozenset[str](), before
        for name in order:
            known |= {name}
            after = score(known)
            sums[name], so_far = sums[name] + (after - so_far), after
    return {name: total / len(orders) for name, total in sums.items()}


def explain_rows(model: Any, source: Source, against: Any = None) -> Explanations:
    """Explain each row of a source by the terms of a fitted model."""
    encoder, classes = model._encoder(), model.tally_.classes
    if len(classes) < 2:
        raise BayesError("there is one class only: there are no odds to explain")
    rival = None if against is None else class_position(against, classes)
    values = {name: vocabulary.values for name, vocabulary in encoder.vocabularies.items()}
    source = in_order(for_schema(source, encoder.schema, values, classes))
    where = encoder.schema.locate(list(source.kinds), source.named)
    records: list[Explanation] = []
    for batch, block in zip(source.batches(), encoder.blocks(source), strict=True):
        records += _explain(model, encoder.columns(batch, where), block, rival)
    if not records:
        raise BayesError("there are no rows to explain")
    return Explanations(records)


def class_position(label: Any, classes: Sequence[Value]) -> int:
    """Return the position of a class; an unknown class raises an error that lists the known ones."""
    value = canonical(label)
    if value not in classes:
        known = f"(classes: {', '.join(map(repr, classes))}){did_you_mean(value, classes)}"
        raise BayesError(f"there is no class {value!r} {known}")
    return classes.index(value)


def _explain(model: Any, columns: Mapping[str, Column], block: Block, against: int | None) -> Iterator[Explanation]:
    params, classes = model.params_, model.tally_.classes
    scores = model._log_joint(params, block)
    if not np.isfinite(scores).all():
        raise_unusable(block.floats, block.start)
    comparison = compare_classes(model, scores, block, params.log_prior, against)
    terms = {name: model._tempered(term) for name, term in model._log_terms(params, block).items()}
    prior = model._tempered(getattr(params, "log_start", params.log_prior))  # what is said before any column
    rows = np.arange(block.n_rows)
    log_odds = {
        n: logspace.log_odds(t[rows, comparison.chosen], t[rows, comparison.rivals]).tolist() for n, t in terms.items()
    }
    cells = {name: plain_cells(columns[name]) for name in terms}
    states = {name: _states(block, name, params) for name in terms}
    texts = {n: kind for n, kind in getattr(params, "by_column", {}).items() if n in kind.words}
    texts |= getattr(params, "text_words", {})
    n_orders = len(column_orders(terms)) if getattr(model, "_averages_orders", False) else 1
    for i in range(block.n_rows):
        a, b = int(comparison.chosen[i]), int(comparison.rivals[i])
        parts = tuple(
            Contribution(
                name,
                cells[name][i],
                log_odds[name][i],
                states[name][i],
                classes[a],
                classes[b],
                texts[name].strongest_words(name, block, i, (a, b), WORDS) if name in texts else (),
            )
            for name in terms
        )
        p, q = logspace.exp(comparison.log_posterior[i, [a, b]]).tolist()
        is_undecidable = bool(comparison.undecidable[i])
        before = float(logspace.log_odds(*(params.log_prior if is_undecidable else prior)[[a, b]]))
        odds = float(comparison.log_odds[i])
        yield Explanation(block.start + i, classes[a], classes[b], p, q, before, parts, odds, is_undecidable, n_orders)


@dataclass(frozen=True)
class ComparedClasses:
    """Predicted classes and log posteriors of rows, and the class that each is compared with."""

    chosen: Ints
    rivals: Ints
    log_posterior: Floats  # (rows, classes)
    log_odds: Floats
    undecidable: Bools


def compare_classes(
    model: Any, scores: Floats, block: Block, log_prior: Floats, against: int | None
) -> ComparedClasses:
    """Predict rows from their scores, with undecidable rows treated by the model's setting."""
    log_posterior, evidence = logspace.log_normalize(model._tempered(scores))
    settle = Impossible(model.undecidable).settle
    settle(log_posterior, evidence, block.start, logspace.log_normalize(log_prior[None])[0][0])
    settled = scores.copy()
    settle(settled, evidence, block.start, log_prior)
    settled = np.where(np.isnan(settled), -np.inf, settled)
    chosen = model._choose(settled, block)
    rivals = _rivals(settled, chosen, against)
    rows, undecidable = np.arange(len(scores)), np.isneginf(evidence)
    odds = np.where(undecidable[:, None], log_posterior, model._tempered(scores))
    log_odds = logspace.log_odds(odds[rows, chosen], odds[rows, rivals])  # NaN where undecidable rows are to be so
    return ComparedClasses(chosen, rivals, log_posterior, log_odds, undecidable)


def _rivals(scores: Floats, chosen: Ints, against: int | None) -> Ints:
    """Return the class to compare each prediction with: the named one, or the runner-up."""
    if scores.shape[1] < 2:
        return chosen
    others = scores.copy()
    others[np.arange(len(chosen)), chosen] = -np.inf
    best = others.argmax(axis=1)
    best = np.where(best == chosen, np.where(chosen == 0, 1, 0), best)  # all others impossible
    return best if against is None else np.where(chosen == against, best, against)


def _states(block: Block, name: str, params: Any) -> list[State]:
    """Return the state of each cell of a column."""
    if name in getattr(params, "unused", ()):
        return ["unused"] * block.n_rows
    if name in block.texts:
        return ["missing" if gap else "known" for gap in block.texts[name].missing]
    if name not in block.codes:
        gaps: Bools = np.isnan(block.floats[name])
        columns = getattr(params, "by_column", {}).get(name)
        unseen_numbers = np.zeros(len(gaps), dtype=bool) if columns is None else columns.unseen(name, block)
        states: dict[int, State] = {0: "known", 1: "missing", 2: "unseen"}
        return [states[code] for code in np.where(unseen_numbers, 2, gaps.astype(np.int64)).tolist()]
    unseen = params.vocabularies[name].unseen if name in params.vocabularies else -1
    kinds: dict[int, State] = {0: "missing", unseen: "unseen"}
    return [kinds.get(code, "known") for code in block.codes[name].tolist()]


def plain_cells(column: Any) -> list[Value | None]:
    """Return the cells of a column as Python values."""
    return [canonical(value) for value in (column.to_pylist() if is_arrow(column) else column.tolist())]
