"""What a TextClassifier holds beside its counts, as plain data and arrays for a file, and back, everything checked."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bayeskit.data.table import Table
from bayeskit.data.words import Words
from bayeskit.errors import BadFile
from bayeskit.estimate.text_weights import WordWeights
from bayeskit.estimate.word_evidence import BANDS, EvidenceWeights
from bayeskit.io import State
from bayeskit.models.text.recipe import COLUMN, RECIPES, HeldFrequencies
from bayeskit.tally.tally import Tally

if TYPE_CHECKING:
    from bayeskit.models.text.classifier import TextClassifier

Array = npt.NDArray[Any]
CANDIDATES = ("ngrams", "a", "g", "log loss")
LARGEST = 1e15  # of a weight: beyond it scores are no numbers
ROUNDING = 1 + 1e-6


def kind_of(recipe: str) -> str | None:
    """Which of the three a recipe holds: fitted "weights", "frequencies" of the first fit, a "linear" model."""
    if RECIPES[recipe].formula == "weighted":
        return "weights"
    if RECIPES[recipe].learns.endswith("tfidf"):
        return "frequencies"
    return "linear" if recipe == "nbsvm" else None


def state_of(model: TextClassifier) -> State | None:
    """What must be kept beside the tally; None where the counts are all."""
    match kind_of(model.recipe):
        case "weights":
            w: EvidenceWeights = model.weights_
            header = {"a": w.a, "g": w.g, "first": w.first, "log_loss": w.log_loss if isfinite(w.log_loss) else None}
            listed = model.candidates_
            tried = [[_number(value) for value in listed[name]] for name in CANDIDATES]
            bias = np.array(list(w.bias.values()), dtype=np.float64)
            return State({**header, "classes": list(w.bias), "tried": tried}, [w.bands, w.repeated, bias])
        case "frequencies":
            held: HeldFrequencies = model.held_
            return State({"n": held.n_documents}, [held.words.data, held.words.offsets, held.documents])
        case "linear":
            return State({}, [model.linear_.table, model.linear_.constant])
    return None


def _number(value: Any) -> Any:
    return None if isinstance(value, float) and not isfinite(value) else value


def take_state(model: TextClassifier, tally: Tally, state: State | None) -> None:
    """Give an unfitted model what :func:`state_of` said; refuse what cannot be."""
    kind = kind_of(model.recipe)
    if (kind is None) != (state is None):
        raise BadFile(f"a model of recipe {model.recipe!r} holds {'nothing' if kind is None else kind} beside counts")
    if COLUMN not in tally.words or set(tally.schema.columns) != {COLUMN}:
        raise BadFile("the counts are not those of documents")
    if state is None:
        return
    try:
        if kind == "weights":
            model.weights_, model.candidates_ = _weights(state)
        elif kind == "frequencies":
            model.held_ = _frequencies(state)
        else:
            model.linear_ = _linear(state, tally)
    except (KeyError, TypeError, ValueError) as problem:
        raise (
            problem if isinstance(problem, BadFile) else BadFile(f"fitted weights cannot be read: {problem}")
        ) from None


def _weights(state: State) -> tuple[EvidenceWeights, Table]:
    bands, repeated, bias = state.arrays
    labels, tried = list(state.header["classes"]), state.header["tried"]
    a, g, first = (_finite(state.header[name]) for name in ("a", "g", "first"))
    loss = state.header["log_loss"]
    kinds = len(repeated)
    shapes = bands.shape == (kinds, BANDS) and repeated.shape == (kinds,) and bias.shape == (len(labels),)
    if not shapes or kinds not in (1, 2) or len(set(labels)) < len(labels) or a <= 0 or not 0 <= g <= 10:
        raise BadFile("the weights of evidence do not fit together")
    for array in (bands, repeated, bias):
        _check_numbers(array)
    listed = dict(zip(CANDIDATES, (list(column) for column in tried), strict=True))
    if len({len(column) for column in listed.values()}) != 1:
        raise BadFile("the list of candidates has columns of different lengths")
    listed = {name: [_said(value) for value in column] for name, column in listed.items()}
    by_class = dict(zip(labels, bias.tolist(), strict=True))
    return EvidenceWeights(a, g, first, bands, repeated, by_class, _said(loss)), Table(listed)


def _frequencies(state: State) -> HeldFrequencies:
    data, offsets, documents = state.arrays
    words, n = Words.checked(data, offsets), _finite(state.header["n"])
    _check_numbers(documents)
    if documents.shape != (len(words),) or (documents <= 0).any() or (documents > n * ROUNDING).any():
        raise BadFile("the document frequencies do not fit their words")
    return HeldFrequencies(words, documents, n)


def _linear(state: State, tally: Tally) -> WordWeights:
    table, constant = state.arrays
    k = len(tally.classes)
    if table.shape != (len(tally.words[COLUMN].words), k) or constant.shape != (k,):
        raise BadFile("the linear weights do not fit the words and classes")
    _check_numbers(table)
    _check_numbers(constant)
    return WordWeights(table, constant)


def _finite(number: Any) -> float:
    if type(number) not in (int, float) or not abs(number) < LARGEST:
        raise BadFile(f"{number!r} is no weight")
    return float(number)


def _check_numbers(array: Array) -> None:
    if array.dtype.kind != "f" or not (np.abs(array) < LARGEST).all():
        raise BadFile("a fitted weight is no number")


def _said(value: Any) -> Any:
    """A cell of the list of candidates: a text or a number, NaN where there was none."""
    if value is None:
        return float("nan")
    return value if isinstance(value, str) else _finite(value)
