"""From log scores to probabilities and classes: ties, single records and the frames of a cluster.

Scores within 1e-12 · max(1, |score|) of the best are a tie: sums of floats lose over a third of exact ties.

A plain record (a dict of strings, numbers, booleans and None) is scored without building a table, to the same bits.
Any other record takes the path of tables, which also reports what is wrong with it.


Formula: which scores are a tie
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import add, is_
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit import kernels, logspace
from bayeskit.data.block import Block
from bayeskit.data.frames import open_source
from bayeskit.data.missing_labels import LabeledRows, without_label
from bayeskit.data.schema import Categorical, Numeric, Schema
from bayeskit.data.vocabulary import positions
from bayeskit.engines.engine import engine_of_frame
from bayeskit.errors import BayesError
from bayeskit.estimate.columns.column import NotFastPath, Row
from bayeskit.models import from_bytes, to_bytes
from bayeskit.models.base.estimator import seed_of
from bayeskit.tally.plan import Plan
from bayeskit.tally.row_hash import mix_bits
from bayeskit.tolerance import TIE
from bayeskit.typing import Array, Floats, Ints
from bayeskit.undecidable import Impossible

if TYPE_CHECKING:
    import pyarrow as pa

    from bayeskit.evaluate.evaluation import Evaluation


def first_best(scores: Floats, n_threads: int = 1) -> Ints:
    """The position of the best class in each row (rows, classes), the first of a tie.

    >>> first_best(np.array([[0.1 + 0.2, 0.3]])).tolist()                # 0.30000000000000004 and 0.3
    [0]
    """
    return kernels.best_classes(np.ascontiguousarray(scores), TIE, n_threads)


def best_class(scores: Floats, block: Block, random: bool, seed: int, n_threads: int = 1) -> Ints:
    """The position of the best class in each row (rows, classes): the first of a tie, or one drawn.

    A draw depends on the seed and the row's content alone, so neither order nor batches matter.
    """
    if not random:
        return first_best(scores, n_threads)
    best = scores.max(axis=1)
    within = scores >= (best - TIE * np.maximum(1.0, np.abs(best)))[:, None]
    within[np.isneginf(best)] = True
    chosen: Ints = within.argmax(axis=1)
    rows = np.flatnonzero(within.sum(axis=1) > 1)
    if len(rows):
        order = within[rows].cumsum(axis=1)
        pick = (_row_hash(block, rows, seed) % order[:, -1].astype(np.uint64)).astype(np.int64) + 1
        chosen[rows] = (order == pick[:, None]).argmax(axis=1)
    return chosen


def tie_seed(model: Any) -> int:
    """The seed of the draws of a fitted model: its whole number, or one drawn when it is first asked after a fit.

    So one model says the same of equal rows in every call, and two fits without a seed draw anew.
    """
    if model.ties != "random":
        return 0
    if isinstance(model.random_state, (int, np.integer)):
        return seed_of(model.random_state) or 0
    fitted, seed = getattr(model, "tie_seed_", (None, 0))
    if fitted is not model.params_:
        drawn = seed_of(model.random_state)
        seed = secrets.randbits(64) if drawn is None else drawn
        model.tie_seed_ = (model.params_, seed)
    return int(seed)


def _row_hash(block: Block, rows: Array, seed: int) -> npt.NDArray[np.uint64]:
    state = np.full(len(rows), seed, dtype=np.uint64)
    contents = [column[rows].astype(np.uint64) for column in block.codes.values()]
    for column in block.floats.values():  # one zero, and one NaN
        numbers = column[rows] + 0.0
        contents.append(np.where(np.isnan(numbers), np.uint64(1), numbers.view(np.uint64)))
    for tokens in block.tokens.values():
        cells = _mix(tokens.ids.astype(np.uint64) << np.uint64(32) | tokens.counts.astype(np.uint64))
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells)])  # modulo 2**64; any order of the words
        contents.append((sums[tokens.indptr[1:]] - sums[tokens.indptr[:-1]])[rows])
    for content in contents:
        state = _mix(state ^ content)
    return _mix(state)


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    return mix_bits(x + np.uint64(0x9E3779B97F4A7C15))


def posterior(model: Any, X: Any, out: Floats | None = None) -> Floats:
    """Return P(class | x), shape (n_rows, n_classes), from the blocks of scores that ``model._score(X)`` yields.

    ``out`` receives the result if the number of rows is known.
    """
    parts, impossible = [], Impossible(model.undecidable)
    for block, scores in model._score(X):
        part = None if out is None else out[block.start : block.start + block.n_rows]
        proba, evidence = logspace.normalize(model._tempered(scores), model._threads(), part)
        impossible.settle(proba, evidence, block.start, logspace.exp(model.params_.log_prior))
        parts.append(proba)
    impossible.tell()
    return stacked(parts, len(model.classes_)) if out is None else out


def log_posterior(model: Any, X: Any) -> Floats:
    """Return ln P(class | x), shape (n_rows, n_classes)."""
    impossible = Impossible(model.undecidable)
    parts = [log_posterior_of(model, scores, block.start, impossible) for block, scores in model._score(X)]
    impossible.tell()
    return stacked(parts, len(model.classes_))


def log_posterior_of(model: Any, scores: Floats, start: int, impossible: Impossible) -> Floats:
    """Normalize scores, shape (n_rows, n_classes), to ln P(class | x); impossible rows follow the setting."""
    log_proba, evidence = logspace.log_normalize(model._tempered(scores))
    log_prior = logspace.log_normalize(model.params_.log_prior[None])[0][0]
    impossible.settle(log_proba, evidence, start, log_prior)
    return log_proba


def most_probable(model: Any, X: Any) -> Array:
    """Return the most probable class of each row; the setting ``ties`` decides between equals."""
    chosen, impossible = [], Impossible(model.undecidable)
    for block, scores in model._score(X):
        impossible.settle(scores, scores.max(axis=1), block.start, model.params_.log_prior)
        chosen.append(best_class(np.nan_to_num(scores, nan=-np.inf), block, model.ties == "random", tie_seed(model)))
    impossible.tell()
    return model.classes_[np.concatenate(chosen)] if chosen else model.classes_[:0]


def joint_scores(model: Any, X: Any) -> Floats:
    """Return ln P(x, class), shape (n_rows, n_classes)."""
    return stacked([scores for _, scores in model._score(X)], len(model.classes_))


def log_evidence(model: Any, X: Any) -> Floats:
    """Return ln p(x), shape (n_rows,)."""
    parts = [logspace.log_sum_exp(scores) for _, scores in model._score(X)]
    return np.concatenate(parts) if parts else np.zeros(0)


def probabilities_by_name(model: Any, row: Any, joint: bool) -> dict[Any, float]:
    """Return P(class | x), or P(x, class), of one row by class."""
    found = logspace.exp(model.predict_joint_log_proba(row)) if joint else model.predict_proba(row)
    if len(found) != 1:
        raise BayesError(f"probabilities names those of one row, and there are {len(found):,}: pass one of them")
    return dict(zip(model.classes_.tolist(), np.asarray(found)[0].tolist(), strict=True))


def stacked(parts: list[Floats], n_classes: int) -> Floats:
    """Concatenate the scores of all blocks, shape (n_rows, n_classes)."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros((0, n_classes))


PLAIN = {str, int, float, bool, type(None)}


class OneRow:
    """Scores of one record: ln P(class), then the cells in the order in which tables are scored."""

    def __init__(self, log_prior: Floats, cells: Mapping[str, Callable[[Any], Row]]) -> None:
        self.log_prior: Row = tuple(log_prior.tolist())
        self.cells = list(cells.items())
        self.nothing: dict[Any, Any] = dict.fromkeys(cells)  # a record that says nothing

    def scores(self, record: dict[Any, Any]) -> list[float] | None:
        """ln P(x, class), or None for a record that is not for here."""
        if not PLAIN.issuperset(map(type, record.values())):
            return None
        scores: Iterable[float] = self.log_prior
        try:
            for name, score in self.cells:
                row = score(record[name])
                if row:
                    scores = tuple(map(add, scores, row))
        except KeyError:  # what is absent is missing, but a name that is not known may be a slip
            partial = bool(record) and record.keys() <= self.nothing.keys()
            return self.scores({**self.nothing, **record}) if partial else None
        except (NotFastPath, TypeError):
            return None
        if len(record) > len(self.cells) and not all(type(name) is str for name in record):
            return None
        return list(scores)


class _Ready:
    """Scorer of single records of one model, valid while its settings are unchanged."""

    def __init__(self, model: Any) -> None:
        model._check_settings()
        self.names = list(model.get_params(deep=False))
        self.settings = self._settings(model)
        self.may_change = any(isinstance(setting, (Mapping, list)) for setting in self.settings)
        self.row: OneRow | None = model._one_row()

    def _settings(self, model: Any) -> list[Any]:
        return list(map(vars(model).get, self.names))

    def holds(self, model: Any) -> bool:
        """Return True if all settings are still the same objects; mutable ones are validated again."""
        if self.may_change:
            model._check_settings()
        return all(map(is_, self._settings(model), self.settings))


def record_scores(model: Any, record: dict[Any, Any]) -> Floats | None:
    """ln P(x, class) of a plain record (1, classes); None where a table must be built for it."""
    params = vars(model).get("params_")
    if params is None or not hasattr(type(model), "_one_row"):
        return None
    ready = vars(params).get("_ready")
    if ready is None or not ready.holds(model):
        ready = vars(params)["_ready"] = _Ready(model)
    scores = None if ready.row is None else ready.row.scores(record)
    return None if scores is None else np.array([scores])


PREDICTED, AGAINST, PROBABILITY, EVIDENCE = "predicted", "against", "p_", "evidence_"


def scored_there(model: Any, frame: Any, what: str, **settings: Any) -> Any:
    """The frame with what a model says of its rows: ``what`` is "predict", "predict_proba" or "explain".

    Nothing is computed before the cluster is asked for the frame's rows.
    """
    work = Scoring(to_bytes(model), what, tuple(settings.items()))
    return add_columns_there(frame, work, _output_types(model, what))


def add_columns_there(frame: Any, work: Any, types: Mapping[str, pa.DataType]) -> Any:
    """Return the frame of a cluster with columns that ``work`` computes from its rows on the workers."""
    return engine_of_frame(frame).map_rows(frame, work, types)


def accuracy_there(model: Any, frame: Any, y: str, sample_weight: str | None) -> float:
    """Return the accuracy on the rows of a cluster's frame, from counts of classes and predictions."""
    source = model._labeled(scored_there(model, frame, "predict"), y, sample_weight)
    tally = engine_of_frame(frame).collect(source, Schema({PREDICTED: Categorical()}), Plan(families=[PREDICTED]))
    if not tally.n_rows:
        raise BayesError("every row has weight zero, so there is nothing to score")
    family = tally.families[PREDICTED]
    right = [family.present[row, family.values.index(c)] for row, c in enumerate(tally.classes) if c in family.values]
    return float(sum(right) / tally.n_rows)


OUTCOME = "bayeskit outcome"
SUMS = tuple(f"bayeskit {name}" for name in ("weight", "log", "brier", "clipped", "undecidable"))


def evaluated_there(model: Any, source: Any) -> Evaluation:
    """Evaluate the rows of a cluster's frame as held-out ones, by sums over each pair of true and predicted class."""
    from bayeskit.evaluate.cross_validation import evaluate_sums

    rows = source.source if isinstance(source, LabeledRows) else source
    work = Scoring(to_bytes(model), "evaluate", (("target", rows.target), ("weight", rows.weight)))
    scored = rows.engine.map_rows(rows.frame, work, _output_types(model, "evaluate"))
    labeled = model._with_labels(rows.engine.owns(scored).with_target(OUTCOME))
    tally = rows.engine.collect(labeled, Schema(dict.fromkeys(SUMS, Numeric())), Plan(moments=SUMS))
    true, predicted = zip(*(json.loads(str(outcome)) for outcome in tally.classes), strict=True)
    weights, logs, squares, clipped, undecidable = tally.moments_of(SUMS).sum_hi.T
    if not weights.any():
        raise BayesError("every row has weight zero, so there is nothing to score")
    counts = {"n_clipped": int(clipped.sum()), "n_undecidable": int(undecidable.sum())}
    return evaluate_sums(model, true, predicted, weights, logs, squares, **counts)


def _outcomes(model: Any, rows: Any, target: str, weight: str | None) -> dict[str, Array]:
    """Return the columns that are summed to evaluate some rows; a row without a label has no outcome."""
    from bayeskit.evaluate.cross_validation import predict_held_out
    from bayeskit.evaluate.metrics import LOG_LEAST, brier, clip_log

    source: Any = open_source(rows, target, weight)
    missing = without_label(source.labels)
    labeled = np.flatnonzero(np.ones(source.n_rows, dtype=bool) if missing is None else ~missing)
    outcomes, sums = np.full(source.n_rows, None, dtype=object), np.zeros((len(SUMS), source.n_rows))
    if len(labeled):
        found = predict_held_out(model, LabeledRows(source, is_part=True))
        codes = positions(found.true, model.classes_.tolist())  # −1, and so the last column, for a class not learned
        log_proba = np.column_stack([found.log_posterior, np.full(len(codes), -np.inf)])
        log_true = np.where(codes < 0, 0.0, log_proba[np.arange(len(codes)), codes])
        squares = brier(logspace.exp(log_proba), codes)
        w = np.ones(len(codes)) if found.weights is None else found.weights
        clipped = (log_true < LOG_LEAST) & (w > 0)
        outcomes[labeled] = [json.dumps(pair) for pair in zip(found.true, found.predicted, strict=True)]
        sums[:, labeled] = w, w * clip_log(log_true), w * squares, clipped, found.impossible
    return {OUTCOME: outcomes, **dict(zip(SUMS, sums, strict=True))}


def _output_types(model: Any, what: str) -> dict[str, pa.DataType]:
    """Return the names and types of the columns that are added to a frame."""
    import pyarrow as pa

    classes, number = model.classes_.tolist(), pa.float64()
    label = pa.array(classes).type
    if what == "predict":
        return {PREDICTED: label}
    if what == "predict_proba":
        return {f"{PROBABILITY}{name}": number for name in classes}
    if what == "evaluate":
        return {OUTCOME: pa.string(), **dict.fromkeys(SUMS, number)}
    if len(classes) < 2:
        raise BayesError("there is one class only: there are no odds to explain")
    parts = {f"{EVIDENCE}{name}": number for name in ("prior", *model.schema_.used)}
    return {PREDICTED: label, AGAINST: label, **parts}


@dataclass(frozen=True)
class Scoring:
    """A model as the bytes of its file, and what it is asked: what a worker is sent."""

    data: bytes
    what: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __call__(self, rows: Any) -> dict[str, pa.Array]:
        """More columns for some rows."""
        import pyarrow as pa

        model = loaded(self.data)
        types = _output_types(model, self.what)
        if self.what == "predict":
            return {PREDICTED: pa.array(model.predict(rows).tolist(), types[PREDICTED])}
        if self.what == "predict_proba":
            columns = np.ascontiguousarray(model.predict_proba(rows).T)
            return dict(zip(types, map(pa.array, columns), strict=True))
        if self.what == "evaluate":
            made = _outcomes(model, rows, **dict(self.settings))
            return {name: pa.array(cells, types[name]) for name, cells in made.items()}
        listed: dict[str, list[Any]] = {name: [] for name in types}
        for one in model.explain(rows, **dict(self.settings)):
            parts = {f"{EVIDENCE}{part.column}": part.log_odds for part in one.contributions}
            parts |= {PREDICTED: one.predicted, AGAINST: one.against, f"{EVIDENCE}prior": one.prior_log_odds}
            for name, value in parts.items():
                listed[name].append(value)
        return {name: pa.array(listed[name], kind) for name, kind in types.items()}


@lru_cache(maxsize=4)
def loaded(data: bytes) -> Any:
    """The model, made once in a process; each of the cluster's tasks has one core."""
    model = from_bytes(data)
    return model.set_params(n_threads=1) if "n_threads" in model.get_params(deep=False) else model
