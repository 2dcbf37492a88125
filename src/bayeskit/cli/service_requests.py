"""Read the rows of a request, as JSON or Arrow, and write the answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from bayeskit.arrow_arrays import arrow_array
from bayeskit.cli.console import plain
from bayeskit.cli.texts import is_text
from bayeskit.errors import BayesError, with_article
from bayeskit.export.names import PREDICTED, probability_names
from bayeskit.inner_model import reader_of
from bayeskit.lazy import pa

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
PLAIN = (str, int, float, bool, type(None))


class BadRequest(Exception):
    """A request that cannot be read: its status, a message and a hint."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.hint = status, message, hint


@dataclass(frozen=True)
class Limits:
    """The most that one request may hold or take.

    Parameters
    ----------
    body : int, default=16 MB
        Bytes.
    rows : int, default=100,000
    cells : int, default=2,000,000
    seconds : float, default=30
    """

    body: int = 16_000_000
    rows: int = 100_000
    cells: int = 2_000_000
    seconds: float = 30.0


def _refuse_constant(name: str) -> None:
    raise BadRequest(400, f"the body has {name}, which is not JSON", "write null for a missing number")


def read_json(body: bytes) -> dict[str, Any]:
    """Parse a JSON object; anything else is a bad request."""
    try:
        parsed = json.loads(body, parse_constant=_refuse_constant)
    except RecursionError:
        raise BadRequest(400, "the body is nested too deeply") from None
    except ValueError as problem:
        raise BadRequest(400, f"the body is not JSON: {problem}") from None
    if not isinstance(parsed, dict):
        raise BadRequest(422, "the body is not a JSON object", 'send {"rows": [...]}')
    return parsed


def read_rows(body: bytes, content_type: str, model: Any, limits: Limits, labeled: bool = False) -> Any:
    """Return the rows of a request: a table, a record, records or documents; with ``labeled``, (rows, labels)."""
    if not hasattr(reader_of(model), "schema_"):
        raise BayesError(
            f"{with_article(type(model).__name__)} reads no rows", hint="see /models for what each model answers"
        )
    if content_type.partition(";")[0].strip().lower() == ARROW:
        return _read_arrow(body, model, limits, labeled)
    parsed = read_json(body)
    rows = parsed.get("rows")
    if parsed.keys() != {"rows"} or not isinstance(rows, list) or not rows:
        raise BadRequest(422, "the body must have rows and nothing else", 'send {"rows": [...]} with one row or more')
    if len(rows) > limits.rows:
        raise BadRequest(413, f"{len(rows):,} rows, and at most {limits.rows:,} are read", "send several requests")
    reader, target = reader_of(model), _target(model)
    if is_text(model) and not labeled:
        if not all(isinstance(row, str) for row in rows):
            raise BadRequest(422, "a document is not a string", 'send {"rows": ["a text", "another"]}')
        return rows
    text = {"text"} if is_text(model) else set(getattr(reader, "feature_names_in_", ()))
    known = text | set(reader.schema_.columns) | ({target} if labeled else set())
    _check_rows(rows, known, limits)
    if not labeled:
        if not any(rows):  # of which nothing is known
            rows = [dict.fromkeys(reader.schema_.needed)] * len(rows)
        return rows[0] if len(rows) == 1 else rows
    labels = [row.get(target) for row in rows]
    if None in labels:
        at = labels.index(None)
        raise BadRequest(422, f"row {at} has no {target!r}, the class to learn", "give every row its class")
    if is_text(model):
        return [row.get("text") for row in rows], labels
    return {name: [row.get(name) for row in rows] for name in reader.schema_.columns}, labels


def _target(model: Any) -> str:
    return str(reader_of(model).schema_.target.name)


def _check_rows(rows: list[Any], known: set[str], limits: Limits) -> None:
    """Refuse rows that are not records of plain values, unknown columns and too many cells."""
    cells = 0
    for at, row in enumerate(rows):
        if not isinstance(row, dict):
            raise BadRequest(422, f"row {at} is not a JSON object", 'send {"rows": [{"column": value}]}')
        cells += len(row)
        if cells > limits.cells:
            raise BadRequest(413, f"more than {limits.cells:,} cells", "send several requests")
        if not row.keys() <= known:
            name = sorted(row.keys() - known)[0]
            columns = ", ".join(sorted(known)[:20])
            raise BadRequest(422, f"row {at} has column {name[:80]!r}, which the model has not", f"it has: {columns}")
        for name, value in row.items():
            if not isinstance(value, PLAIN):
                raise BadRequest(
                    422, f"row {at}, column {name!r}: no plain value", "send a string, number, boolean or null"
                )


def _read_arrow(body: bytes, model: Any, limits: Limits, labeled: bool) -> Any:
    try:
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise BadRequest(400, f"the body is not an Arrow stream: {problem}") from None
    if table.num_rows > limits.rows or table.num_rows * table.num_columns > limits.cells:
        most = f"{limits.rows:,} rows and {limits.cells:,} cells"
        raise BadRequest(413, f"{table.num_rows:,} rows × {table.num_columns:,} columns, and at most {most} are read")
    if not labeled:
        return table
    target = _target(model)
    if target not in table.column_names:
        raise BadRequest(422, f"the table has no column {target!r}, the class to learn")
    labels = table[target]
    rest = table.drop_columns([target])
    return (rest["text"].to_pylist() if is_text(model) else rest), labels


def predictions(model: Any, rows: Any) -> tuple[Any, Any]:
    """Return the predicted classes and their probabilities, None for a model that gives none."""
    if not hasattr(model, "predict") or type(model).__name__ in ("HiddenMarkovModel", "SequenceClassifier", "Tagger"):
        raise BayesError(
            f"{with_article(type(model).__name__)} predicts no rows", hint="see /models for what each model answers"
        )
    return model.predict(rows), model.predict_proba(rows) if hasattr(model, "predict_proba") else None


def as_json(model: Any, predicted: Any, probabilities: Any) -> dict[str, Any]:
    """Return the answer of ``/predict`` as plain data."""
    labels = predicted.tolist()
    if probabilities is None:
        return {"classes": None, "rows": [{"predicted": label} for label in labels]}
    classes = model.classes_.tolist()
    best = dict(zip(classes, range(len(classes)), strict=True))
    rows = []
    for label, values in zip(labels, probabilities.tolist(), strict=True):
        known = best.get(label)  # a decision under cost need not be a class
        rows.append({"predicted": label, "probability": None if known is None else values[known], "all": values})
    return {"classes": classes, "rows": rows}


def as_arrow(model: Any, predicted: Any, probabilities: Any) -> bytes:
    """Return the answer of ``/predict`` as an Arrow stream with the columns of ``bayes predict --proba``."""
    columns = {PREDICTED: arrow_array(predicted)}
    if probabilities is not None:
        names = probability_names(model.classes_.tolist())
        columns |= {name: pa.array(np.ascontiguousarray(p)) for name, p in zip(names, probabilities.T, strict=True)}
    table = pa.table(columns)
    out = BytesIO()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    return out.getvalue()


def explanations(model: Any, rows: Any) -> dict[str, Any]:
    """Return the evidence of each row: what sums to the log odds of the predicted class against the runner-up."""
    if not hasattr(model, "explain"):
        raise BayesError(f"{with_article(type(model).__name__)} explains no rows")
    explained = model.explain([rows] if isinstance(rows, dict) else rows)
    return {"rows": [plain(_document(one) if hasattr(one, "words") else _row(one)) for one in explained]}


def _row(one: Any) -> dict[str, Any]:
    evidence = [{"column": part.column, "value": part.value, "log_odds": part.log_odds} for part in one.contributions]
    head = {"predicted": one.predicted, "against": one.against, "log_odds": one.log_odds}
    return head | {"base": one.prior_log_odds, "evidence": evidence}


def _document(one: Any) -> dict[str, Any]:
    evidence = [{"word": word, "count": count, "log_odds": odds} for word, count, odds in one.words]
    return {"predicted": one.label, "against": one.other, "log_odds": one.total, "base": one.base, "evidence": evidence}
