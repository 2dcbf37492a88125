"""Explanations of text models: words for and against a class, characteristic words, and dependent words."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.data.block import Block
from bayeskit.data.text.folders import COLUMN
from bayeskit.data.vocabulary import Value
from bayeskit.drawable import Drawable
from bayeskit.errors import BayesError, BayesWarning
from bayeskit.estimate.information import LEAST_BITS, LEVEL, by_chi_squared, information_gain
from bayeskit.evaluate.diagnosis import MEASURED, Cure, Dependence, Diagnosis
from bayeskit.evaluate.reliability import Reliability
from bayeskit.explain.evidence import class_position, compare_classes
from bayeskit.models.base.estimator import clone
from bayeskit.models.text.documents import values_matrix
from bayeskit.tables import Readable, Records, Sheet, Table, class_header
from bayeskit.typing import Array, Floats

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier


# Number of words that a printed explanation shows.
SHOWN = 20
PARTS = ("by counts", "by fit")
# The diagnosis looks at the words with the highest information gain, if enough documents have them.
DIAGNOSED_WORDS, LEAST_DOCUMENTS = 200, 5


@dataclass(frozen=True, repr=False)
class WordsForAndAgainst(Readable, Drawable):
    """Explain the log odds of ``label`` against ``other``: ``total`` = ``base`` + Σ evidence of the words.

    Attributes
    ----------
    label, other : class values
        The predicted class and the class it is compared with.
    total : float
        Log odds.
    base : float
        Log odds without any word: the class prior, plus all absent words of a Bernoulli model or the bias of weighted
        evidence.
    words : tuple of (str, int, float)
        Word, count and evidence, the strongest first. Without smoothing, evidence is infinite if the word never occurs
        in one of the two classes, and NaN if it occurs in neither.
    n_unknown : int
        Occurrences of words that the model does not know.
    undecidable : bool
        The document is impossible under every class; ``total`` is that of the prior, and words are not summed.
    parts : tuple of (float, float)
        For recipe "best", the evidence of each word split into the count part and the linear part.
    """

    label: Value
    other: Value
    total: float
    base: float
    words: tuple[tuple[str, int, float], ...]
    n_unknown: int
    undecidable: bool = False
    parts: tuple[tuple[float, float], ...] = ()

    def table(self, n: int | None = None) -> Table:
        """Return the ``n`` strongest words as a table, all by default."""
        shown = self.words[:n]
        return Table({
            "word": [word for word, _, _ in shown],
            "count": [count for _, count, _ in shown],
            "evidence": [evidence for _, _, evidence in shown],
            **{name: [both[i] for both in self.parts[:n]] for i, name in enumerate(PARTS) if self.parts},
        })  # fmt: skip

    @property
    def sheet(self) -> Sheet:
        """The log odds and the strongest words, for printing."""
        odds = f"log odds {self.total:+.4f}, of which {self.base:+.4f} without words"
        if self.undecidable:
            odds = f"undecidable, impossible under every class; log odds {self.total:+.4f} by the prior alone"
        head = f"{self.label} against {self.other}: {odds}"
        unknown = (f"{self.n_unknown} unknown words say nothing",) if self.n_unknown else ()
        if not self.words:
            return Sheet(f"{head}; no known word", unknown)
        grid = replace(self.table(SHOWN).grid, more=max(len(self.words) - SHOWN, 0))
        return Sheet(head, (grid, *unknown))


def explain_documents(
    model: TextClassifier, scored: Iterable[tuple[Block, Floats]], against: Any = None
) -> Records[WordsForAndAgainst]:
    """Explain each document of scored blocks: its class against the runner-up, or against a named class."""
    records: list[WordsForAndAgainst] = []
    labels, params = model.tally_.classes, model.params_
    rival = None if against is None else class_position(against, labels)
    for block, scores in scored:
        rows = block.tokens[COLUMN]
        odds = compare_classes(model, scores, block, params.log_prior, rival)
        each = np.arange(block.n_rows)
        document = np.repeat(each, np.diff(rows.indptr))
        contributions, parts = params.contributions(rows), params.contribution_parts(rows)
        cells = np.arange(len(document))
        base = np.where(odds.undecidable[:, None], params.log_prior, params.scores_without_words(rows))
        chosen, rivals = odds.chosen[document], odds.rivals[document]
        # −∞ − −∞: a word of neither class.
        with np.errstate(invalid="ignore"):
            evidence = contributions[cells, chosen] - contributions[cells, rivals]
            by_part = [part[cells, chosen] - part[cells, rivals] for part in parts]
            bases = np.where(odds.chosen == odds.rivals, 0.0, base[each, odds.chosen] - base[each, odds.rivals])
        unknown = rows.lengths - np.bincount(document, rows.counts, minlength=block.n_rows)
        strength = np.where(np.isnan(evidence), np.inf, np.abs(evidence))
        for i in range(block.n_rows):
            at = np.arange(rows.indptr[i], rows.indptr[i + 1])
            # Ties are in alphabetical order.
            at = at[np.lexsort((rows.ids[at], -strength[at]))]
            words = tuple((rows.words[int(rows.ids[k])], int(rows.counts[k]), float(evidence[k])) for k in at)
            label, other = labels[odds.chosen[i]], labels[odds.rivals[i]]
            total, undecidable = float(odds.log_odds[i]), bool(odds.undecidable[i])
            split = tuple(zip(*(part[at].tolist() for part in by_part), strict=True))
            records.append(
                WordsForAndAgainst(label, other, total, float(bases[i]), words, int(unknown[i]), undecidable, split)
            )
    return Records(records)


class TellingWords(Table, Drawable):
    """The most characteristic words of each class: class, word, count and evidence."""


def telling_words(model: TextClassifier, n: int) -> TellingWords:
    """List the words of each class with the highest product of evidence and count in the class.

    Without smoothing, the evidence of a word that no other class has is infinite; ∞ − ∞ counts as 0.
    """
    table, counts = model.params_.table, model.recipe_.value_sums(model.counted_)
    k = len(model.classes_)
    header = class_header(model.schema_.target.name, ("word", "count", "evidence"))
    columns: dict[str, list[Any]] = {header: [], "word": [], "count": [], "evidence": []}
    is_finite = bool(np.isfinite(table).all())
    for c in range(k):
        with np.errstate(invalid="ignore"):
            total = table.sum(axis=1) - table[:, c] if is_finite else np.delete(table, c, axis=1).sum(axis=1)
            evidence = _no_nan(table[:, c] - total / max(k - 1, 1))
            weight = _no_nan(evidence * counts[:, c])
        strongest = np.argsort(-weight, kind="stable")[:n]
        for w in strongest[weight[strongest] > 0]:
            record = (model.tally_.classes[c], model.words_[int(w)], float(counts[w, c]), float(evidence[w]))
            for name, value in zip(columns, record, strict=True):
                columns[name].append(value)
    return TellingWords(columns)


def _no_nan(numbers: Floats) -> Floats:
    return np.where(np.isnan(numbers), 0.0, numbers)


def diagnose_documents(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Diagnosis:
    """Find words that are dependent within the classes, their cost, and how to reduce it."""
    data = X, y, sample_weight
    fitted, whole = _leave_one_out(clone(model), *data)
    if len(fitted.classes_) < 2:
        raise BayesError("all documents are of one class: there is nothing to diagnose")
    gain = information_gain(fitted.counted_.table("documents"), fitted.tally_.class_counts)
    often = fitted.counted_.table("documents").sum(axis=1) >= LEAST_DOCUMENTS
    best = np.argsort(np.where(often, -gain, np.inf), kind="stable")[: min(DIAGNOSED_WORDS, int(often.sum()))]
    words = np.asarray(fitted.words_, dtype=object)[best]
    tables, n_rows = _word_tables(fitted, *data, best)
    n_pairs = len(best) * (len(best) - 1) // 2
    information, found = np.zeros((len(best), len(best))), []
    for i in range(len(best)):
        for j in range(i + 1, len(best)):
            surprise = by_chi_squared(tables[i, j])
            if surprise.p_value <= LEVEL / n_pairs and surprise.bits >= LEAST_BITS:
                information[i, j] = information[j, i] = surprise.bits
                found.append(Dependence(str(words[i]), str(words[j]), surprise.bits, surprise.p_value))
    found.sort(key=lambda pair: -pair.bits)
    places = dict(zip(words, best, strict=True))
    loss, alone = whole.log_loss, {}
    for word in dict.fromkeys(word for pair in found[:MEASURED] for word in (pair.first, pair.second)):
        kept = np.ones(len(gain), dtype=bool)
        kept[places[word]] = False
        alone[word] = fitted._with_words(kept).leave_one_out(*data)
    curve = whole.reliability()
    pairs = [*(_word_cost(pair, alone, loss, curve) for pair in found[:MEASURED]), *found[MEASURED:]]
    cures = [Cure("as it is", "leave it as it is", loss, whole.calibration_error, repr(model))]
    if dropped := {pair.drop for pair in pairs if pair.drop is not None}:
        word = min(dropped, key=lambda w: alone[w].log_loss)
        scores = alone[word].log_loss, alone[word].calibration_error
        cures.append(Cure("drop", f"leave {word!r} out", *scores, repr(_without_word(model, word)), word))
    if pairs and model.recipe != "weighted":
        _, other = _leave_one_out(clone(model).set_params(recipe="weighted"), *data)
        scores = other.log_loss, other.calibration_error
        cures.append(
            Cure("weighted", "weigh the evidence of words", *scores, repr(clone(model).set_params(recipe="weighted")))
        )
    cures[1:] = sorted(cures[1:], key=lambda cure: cure.log_loss)
    return Diagnosis(
        "words", tuple(map(str, words)), information, tuple(pairs), n_pairs, loss, curve, tuple(cures), n_rows
    )


def _without_word(model: Any, word: str) -> Any:
    """Return an unfitted copy of a model that leaves a word out."""
    held = () if model.stop_words is None or isinstance(model.stop_words, str) else model.stop_words
    return clone(model).set_params(stop_words=[*held, word])


def _leave_one_out(model: Any, *data: Any) -> tuple[Any, Any]:
    """Return (the model fitted on documents, its evaluation by leave-one-out), without warnings."""
    if not hasattr(model, "leave_one_out"):
        raise BayesError(
            f"recipe {model.recipe!r} has no leave-one-out, by which words are diagnosed",
            hint="diagnose TextClassifier('multinomial') on the same documents",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesWarning)
        return model.fit(*data), model.leave_one_out(*data)


def _word_tables(model: Any, X: Any, y: Any, sample_weight: Any, words: Array) -> tuple[Floats, int]:
    """Return (contingency tables of each pair of words (words, words, classes, 2, 2), number of documents)."""
    n_classes, n = len(model.tally_.classes), len(words)
    both, alone, total = np.zeros((n, n, n_classes)), np.zeros((n, n_classes)), np.zeros(n_classes)
    for block in model._blocks_learned(X, y, sample_weight):
        (rows,) = block.tokens.values()
        chosen = values_matrix(rows)[:, words]
        labels = np.asarray(block.labels)
        for c in range(n_classes):
            part = chosen[labels == c]
            both[:, :, c] += (part.T @ part).toarray()
            alone[:, c] += np.asarray(part.sum(axis=0)).ravel()
            total[c] += part.shape[0]
    tables = np.empty((n, n, n_classes, 2, 2))
    tables[..., 1, 1] = both
    tables[..., 1, 0] = alone[:, None] - both
    tables[..., 0, 1] = alone[None] - both
    tables[..., 0, 0] = total - alone[:, None] - alone[None] + both
    return tables, int(total.sum())


def _word_cost(pair: Dependence, alone: dict[str, Any], loss: float, now: Reliability) -> Dependence:
    """Add the loss and overconfidence that the pair costs, compared with the better of the two words alone."""
    drop = min((pair.first, pair.second), key=lambda word: alone[word].log_loss)
    without = alone[drop].log_loss
    curve = alone[drop].reliability()
    gap = (now.said_in_all - now.seen_in_all) - (curve.said_in_all - curve.seen_in_all)
    better = {"drop": drop, "without": without} if without < loss else {}
    return replace(pair, cost=loss - without, overconfidence=float(gap), **better)
