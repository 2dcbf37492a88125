"""Export to JSON, in a stable format that docs/export.md documents.

Numbers are written so that reading them restores the same bits. JSON has no −∞; null stands for it.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bayeskit.estimate.calibration import Logistic
from bayeskit.export import scoring_form as terms
from bayeskit.storage.files import write_file

VERSION = 1
WITH_LOG_NORMALS = 2  # the version of a form with such a term
WITH_SUMS = 3  # of a form with a mean over parents, a sum over leaves, or calibration curves


def json_model(form: terms.ScoringForm, path: str | Path | None = None) -> dict[str, Any]:
    """Return the form as plain JSON data; write it if a path is given."""
    data = {
        "format": "bayeskit scoring form",
        "version": _version(form),
        "model": form.model,
        "target": form.target,
        "classes": list(form.classes),
        "base": numbers(form.base),
        "temperature": form.temperature,
        "undecidable": None if form.prior is None else numbers(form.prior),
        "terms": [_term(term) for term in form.terms],
    }
    if form.calibration is not None:
        data["calibration"] = _calibration(form.calibration)
    if path is not None:
        write_file(path, json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n")
    return data


def _version(form: terms.ScoringForm) -> int:
    kinds = {type(term) for term in form.terms}
    if form.calibration is not None or kinds & {terms.AveragedTerm, terms.LeavesTerm}:
        return WITH_SUMS
    return WITH_LOG_NORMALS if terms.LogNormalTerm in kinds else VERSION


def _calibration(given: terms.CalibrationCurves) -> dict[str, Any]:
    curves = [
        {"kind": "logistic", "of_log": curve.of_log, "of_rest": curve.of_rest, "offset": curve.offset}
        if isinstance(curve, Logistic)
        else {"kind": "isotonic", "at": numbers(curve.at), "share": numbers(curve.share)}
        for curve in given.curves
    ]
    return {"curves": curves, "temperature": given.temperature, "rows": given.n_rows}


def numbers(array: npt.ArrayLike) -> Any:
    """Convert an array to lists of numbers, null for −∞.

    >>> numbers([[0.5, -np.inf]])
    [[0.5, None]]
    """
    values = np.asarray(array, dtype=np.float64)
    if values.ndim > 1:
        return [numbers(row) for row in values]
    return [None if np.isneginf(x) else x for x in values.tolist()]


def _coding(coding: terms.Coding) -> dict[str, Any]:
    cells = {"values": list(coding.values)} if coding.cuts is None else {"cuts": list(coding.cuts)}
    return {"column": coding.column, **cells, "refuses_unseen": coding.refuses_unseen}


def _term(term: terms.Term) -> dict[str, Any]:
    if isinstance(term, terms.TableTerm):
        ends = {"missing": numbers(term.table[0]), "unseen": numbers(term.table[-1])}
        return {"kind": "table", **_coding(term.coding), **ends, "scores": numbers(term.table[1:-1])}
    if isinstance(term, terms.QuadraticTerm):
        parts = {"mean": term.mean, "precision": term.precision, "constant": term.constant}
        data = {"kind": "normal", "column": term.name, **{name: numbers(part) for name, part in parts.items()}}
        if isinstance(term, terms.LogNormalTerm):
            data |= {"kind": "lognormal", "power": term.power, "refuses_unseen": term.refuses_unseen}
        return data
    if isinstance(term, terms.LinearTerm):
        slope, present = numbers(term.slope), numbers(term.present)
        return {"kind": "linear", "column": term.name, "center": term.center, "slope": slope, "present": present}
    if isinstance(term, terms.ContextTerm):
        levels = [{"codes": level.codes.tolist(), "scores": numbers(level.tables)} for level in term.levels]
        return {
            "kind": "contexts", **_coding(term.coding), "parents": [_coding(p) for p in term.parents], "levels": levels,
        }  # fmt: skip
    if isinstance(term, terms.AveragedTerm):
        slots = [slice(a + 1, b - 1) for a, b in pairwise(term.starts)]  # without missing and unseen
        known = np.concatenate([np.arange(one.start, one.stop) for one in slots])
        parents = [
            {"takes_part": term.is_parent[own].tolist(), "scores": numbers(table[1:-1, known])}
            for own, table in zip(slots, term.given, strict=True)
        ]
        columns = [
            {**_coding(one), "scores": numbers(term.alone[own])} for one, own in zip(term.codings, slots, strict=True)
        ]
        return {"kind": "averaged", "columns": columns, "parents": parents}
    if isinstance(term, terms.LeavesTerm):
        columns = [
            {**_coding(one), "scores": numbers(table[1:-1])}
            for one, table in zip(term.codings, term.tables, strict=True)
        ]
        return {"kind": "leaves", "leaves": numbers(term.leaves), "columns": columns}
    assert isinstance(term, terms.WordsTerm)
    shares = term.shares
    return {
        "kind": "words",
        "column": term.name,
        "words": list(term.words),
        "scores": numbers(term.weights),
        "once": term.presence,
        "repeats": None if term.repeats is None else numbers(term.repeats),
        "scale": term.scale,
        "present": None if term.present is None else numbers(term.present),
        "shares": None if shares is None else {
            "lengths": numbers(shares.lengths), "runs": shares.runs.tolist(), "scores": numbers(shares.scores),
        },
    }  # fmt: skip
