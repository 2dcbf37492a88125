"""Scores of a cluster's frame: the same frame with more columns, made where its rows are by a model sent there once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bayeskit.engines.engine import engine_of_frame
from bayeskit.errors import BayesError
from bayeskit.models import from_bytes, to_bytes

if TYPE_CHECKING:
    import pyarrow as pa

PREDICTED, AGAINST, PROBABILITY, EVIDENCE = "predicted", "against", "p_", "evidence_"


def scored_there(model: Any, frame: Any, what: str, **settings: Any) -> Any:
    """The frame with what a model says of its rows: ``what`` is "predict", "predict_proba" or "explain".

    Nothing is computed before the cluster is asked for the frame's rows.
    """
    work = Scoring(to_bytes(model), what, tuple(settings.items()))
    return engine_of_frame(frame).map_rows(frame, work, OUTPUTS[what](model))


def _class_type(model: Any) -> pa.DataType:
    import pyarrow as pa

    return pa.array(model.classes_.tolist()).type


def _predicted(model: Any) -> dict[str, pa.DataType]:
    return {PREDICTED: _class_type(model)}


def _probabilities(model: Any) -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {f"{PROBABILITY}{label}": pa.float64() for label in model.classes_.tolist()}


def _evidence(model: Any) -> dict[str, pa.DataType]:
    import pyarrow as pa

    if len(model.classes_) < 2:
        raise BayesError("there is one class only: there are no odds to explain")
    parts = {f"{EVIDENCE}{name}": pa.float64() for name in ("prior", *model.schema_.used)}
    return {PREDICTED: _class_type(model), AGAINST: _class_type(model), **parts}


OUTPUTS: Mapping[str, Callable[[Any], dict[str, pa.DataType]]] = {
    "predict": _predicted,
    "predict_proba": _probabilities,
    "explain": _evidence,
}


@dataclass(frozen=True)
class Scoring:
    """A model as the bytes of its file, and what it is asked: what a worker is sent."""

    data: bytes
    what: str
    settings: tuple[tuple[str, Any], ...] = ()

    def __call__(self, rows: Any) -> dict[str, pa.Array]:
        """More columns for some rows."""
        import pyarrow as pa

        model = _loaded(self.data)
        if self.what == "predict":
            return {PREDICTED: pa.array(model.predict(rows).tolist(), _class_type(model))}
        if self.what == "predict_proba":
            columns = np.ascontiguousarray(model.predict_proba(rows).T)
            return dict(zip(_probabilities(model), map(pa.array, columns), strict=True))
        explanations = model.explain(rows, **dict(self.settings))
        listed: dict[str, list[Any]] = {name: [] for name in _evidence(model)}
        for one in explanations:
            listed[PREDICTED].append(one.predicted)
            listed[AGAINST].append(one.against)
            listed[f"{EVIDENCE}prior"].append(one.prior_log_odds)
            for part in one.contributions:
                listed[f"{EVIDENCE}{part.column}"].append(part.log_odds)
        return {name: pa.array(listed[name], kind) for name, kind in _evidence(model).items()}


@lru_cache(maxsize=4)
def _loaded(data: bytes) -> Any:
    """The model, made once in a process; each of the cluster's tasks has one core."""
    model = from_bytes(data)
    return model.set_params(n_threads=1) if "n_threads" in model.get_params(deep=False) else model
