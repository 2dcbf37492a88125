"""Export to ONNX, in double precision.

Every column is an input of shape (n_rows, 1): texts as strings, where "" is missing unless it is a value; numbers and
booleans as doubles, where NaN is missing (integers beyond 2^53 as int64). Outputs of shape (n_rows,)
are ``predicted`` and ``p_<class>``, the probability of each class; a row that the model rejects has NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit import logspace
from bayeskit.data.cells import LARGEST
from bayeskit.errors import BayesError, import_extra
from bayeskit.estimate.calibration import CERTAIN, Logistic, ScoreMap
from bayeskit.export import scoring_form as terms
from bayeskit.export.names import PREDICTED, probability_names
from bayeskit.storage.files import write_file
from bayeskit.tolerance import TIE

EXACT = 2**53  # integers up to here are exact doubles
OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
OWN = "bayeskit:"  # prefix of intermediate names


def onnx_model(form: terms.ScoringForm, path: str | Path | None = None) -> bytes:
    """Return the ONNX file as bytes, checked by onnx; write it if a path is given."""
    onnx = import_extra("onnx", "ONNX files are written by onnx", "onnx")
    graph = _OnnxGraph(onnx, [PREDICTED, *probability_names(form.classes)])
    scores = graph.scores(form)
    graph.outputs(form, scores)
    helper = onnx.helper
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = helper.make_graph(graph.nodes, "bayeskit", graph.inputs, graph.results, graph.constants)
    model = helper.make_model(made, opset_imports=opsets, producer_name="bayeskit", ir_version=IR_VERSION)
    model.doc_string = f"{form.model} of {form.target}"
    onnx.checker.check_model(model)
    content = bytes(model.SerializeToString())
    if path is not None:
        write_file(path, content)
    return content


class _OnnxGraph:
    """ONNX graph under construction."""

    def __init__(self, onnx: Any, results: Sequence[str]) -> None:
        self.onnx, self.result_names = onnx, results
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []
        self.results: list[Any] = []
        self.refused: list[str] = []
        self.numbers: list[str] = []
        self.polynomials: list[tuple[str, terms.PolynomialTerm]] = []  # (number, NaN where it adds nothing; its score)
        self._inputs: dict[str, str] = {}
        self._codes: dict[str, str] = {}

    def op(self, kind: str, *arguments: str, **attributes: Any) -> str:
        """Add a node; return the name of its output."""
        name = f"{OWN}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(arguments), [name], **attributes))
        return name

    def constant(self, values: Any, dtype: Any = np.float64) -> str:
        """Add a constant array; return its name."""
        name = f"{OWN}c{len(self.constants)}"
        array = np.asarray(values, dtype=dtype)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def cast(self, name: str, to: str) -> str:
        """Cast to another type."""
        return self.op("Cast", name, to=getattr(self.onnx.TensorProto, to))

    def column(self, name: str, kind: str) -> str:
        """Return the input of a column, shape (n_rows, 1)."""
        if name not in self._inputs:
            if name in self.result_names or name.startswith(OWN) or not name:
                raise BayesError(f"an input cannot be named {name!r}: rename the column")
            self._inputs[name] = kind
            element = getattr(self.onnx.TensorProto, kind)
            self.inputs.append(self.onnx.helper.make_tensor_value_info(name, element, ["rows", 1]))
        return name

    # -- cells ---------------------------------------------------------------------------------------

    def number(self, column: str) -> str:
        """Return a numeric input, shape (n_rows, 1); rows with infinite or huge numbers are rejected."""
        if column not in self._inputs:
            self.numbers.append(column)
        return self.column(column, "DOUBLE")

    def _refuse_large(self) -> None:
        """Reject rows with infinite or huge numbers."""
        if self.numbers:
            above = self.op("Greater", self.op("Abs", self._beside(self.numbers)), self.constant(LARGEST))
            self.refused.append(self.op("ReduceMax", self.cast(above, "FLOAT"), axes=[1], keepdims=1))
            self.refused[-1] = self.cast(self.refused[-1], "BOOL")

    def _beside(self, columns: Sequence[str]) -> str:
        """Return some columns as one matrix, shape (n_rows, n_columns)."""
        return columns[0] if len(columns) == 1 else self.op("Concat", *columns, axis=1)

    def code(self, coding: terms.Coding) -> str:
        """Return the code of each cell, shape (n_rows,): 0 is missing, V + 1 unseen."""
        key = coding.column
        if key not in self._codes:
            made = self._interval(coding) if coding.cuts is not None else self._value(coding)
            if coding.refuses_unseen and coding.cuts is None:
                self.refused.append(self.op("Equal", made, self.constant(coding.n_codes + 1, np.int64)))
            self._codes[key] = self.op("Squeeze", made, self.constant([1], np.int64))
        return self._codes[key]

    def _interval(self, coding: terms.Coding) -> str:
        x = self.number(coding.column)
        if coding.cuts:
            above = self.cast(self.op("Greater", x, self.constant([coding.cuts])), "INT64")
            passed = self.op("ReduceSum", above, self.constant([1], np.int64), keepdims=1)
        else:
            passed = self.op("Mul", self.cast(self.op("IsNaN", x), "INT64"), self.constant(0, np.int64))
        code = self.op("Add", passed, self.constant(1, np.int64))
        return self.op("Where", self.op("IsNaN", x), self.constant(0, np.int64), code)

    def _value(self, coding: terms.Coding) -> str:
        kinds, unseen = {type(value) for value in coding.values}, coding.n_codes + 1
        codes = list(range(1, unseen))
        if kinds <= {str}:
            x = self.column(coding.column, "STRING")
            texts = [str(value) for value in coding.values]
            if "" not in texts:
                texts, codes = [*texts, ""], [*codes, 0]
            encoded: dict[str, Any] = {"keys_strings": texts, "values_int64s": codes, "default_int64": unseen}
            return self.op("LabelEncoder", x, domain="ai.onnx.ml", **encoded)
        if str in kinds:
            raise BayesError(f"column {coding.column!r} holds texts and numbers, and an input has one type")
        if float in kinds:
            return self._match_floats(coding)
        keys = [int(value) for value in coding.values]
        _refuse_beyond_64_bits(keys, f"column {coding.column!r}")
        encoded = {"keys_int64s": keys, "values_int64s": codes, "default_int64": unseen}
        if max((abs(key) for key in keys), default=0) >= EXACT:
            return self.op("LabelEncoder", self.column(coding.column, "INT64"), domain="ai.onnx.ml", **encoded)
        x = self.column(coding.column, "DOUBLE")
        gap, zero = self.op("IsNaN", x), self.constant(0.0)
        there = self.op("Where", gap, zero, x)
        near = self.op("LessOrEqual", self.op("Abs", there), self.constant(float(EXACT)))
        whole = self.op("And", near, self.op("Equal", there, self.op("Floor", there)))
        looked_up = self.cast(self.op("Where", whole, there, zero), "INT64")
        code = self.op("LabelEncoder", looked_up, domain="ai.onnx.ml", **encoded)
        code = self.op("Where", whole, code, self.constant(unseen, np.int64))
        return self.op("Where", gap, self.constant(0, np.int64), code)

    def _match_floats(self, coding: terms.Coding) -> str:
        """Encode fractional numbers by comparison with each value."""
        x = self.column(coding.column, "DOUBLE")
        same = self.cast(self.op("Equal", x, self.constant([[float(v) for v in coding.values]])), "INT64")
        codes = self.constant([np.arange(1, coding.n_codes + 1)], np.int64)
        code = self.op("ReduceSum", self.op("Mul", same, codes), self.constant([1], np.int64), keepdims=1)
        nowhere = self.op("Equal", code, self.constant(0, np.int64))
        code = self.op("Where", nowhere, self.constant(coding.n_codes + 1, np.int64), code)
        return self.op("Where", self.op("IsNaN", x), self.constant(0, np.int64), code)

    # -- terms ---------------------------------------------------------------------------------------

    def scores(self, form: terms.ScoringForm) -> str:
        """Return the scores, shape (n_rows, n_classes)."""
        total = self.constant([form.base])
        for term in form.terms:
            if (score := self._term(term)) is not None:
                total = self.op("Add", total, score)
        if not form.terms:
            raise BayesError("the model reads no column, so an ONNX file of it would have no input")
        self._refuse_large()
        return self.op("Add", total, self._matrix_product()) if self.polynomials else total

    def _matrix_product(self) -> str:
        """Return the summed scores of all polynomials: (is there, x − center, its square) times the coefficients."""
        numbers, polynomials = zip(*self.polynomials, strict=True)
        x = self._beside(numbers)
        away = self.op("Sub", x, self.constant([[term.center for term in polynomials]]))
        gap = self.op("IsNaN", x)
        away = self.op("Where", gap, self.constant(0.0), away)
        there = self.cast(self.op("Not", gap), "DOUBLE")
        parts = [[getattr(term, part) for term in polynomials] for part in ("constant", "linear", "square")]
        powers = self.op("Concat", there, away, self.op("Mul", away, away), axis=1)
        return self.op("MatMul", powers, self.constant(np.concatenate(parts)))

    def _term(self, term: Any) -> str | None:
        """Return the scores of a term; None for one that is added with the others by a matrix product."""
        if isinstance(term, terms.TableTerm):
            return self.op("Gather", self.constant(term.table), self.code(term.coding), axis=0)
        if isinstance(term, terms.ContextTerm):
            return self._contexts(term)
        if isinstance(term, terms.AveragedTerm):
            return self._averaged(term)
        if isinstance(term, terms.LeavesTerm):
            return self._leaves(term)
        if isinstance(term, terms.WordsTerm):
            raise BayesError(f"column {term.name!r} is text, whose words an ONNX file cannot cut")
        x = self.number(term.name)
        if isinstance(term, terms.LogNormalTerm):
            x, term = self._logarithm(x, term.refuses_unseen), term.of_logarithm
        if (polynomial := terms.polynomial(term)) is not None:
            self.polynomials.append((x, polynomial))
            return None
        away = self.op("Sub", x, self.constant([term.mean]))
        square = self.op("Mul", self.constant([0.5 * term.precision]), self.op("Mul", away, away))
        score = self.op("Sub", self.constant([term.constant]), square)
        return self.op("Where", self.op("IsNaN", x), self.constant(0.0), score)

    def _logarithm(self, x: str, refuses_unseen: bool) -> str:
        """Return ln x, NaN where there is none."""
        zero = self.constant(0.0)
        if refuses_unseen:
            self.refused.append(self.op("LessOrEqual", x, zero))
        return self.op("Log", self.op("Where", self.op("Greater", x, zero), x, self.constant(np.nan)))

    def _known(self, coding: terms.Coding) -> str:
        """Return which cells hold a known value, shape (n_rows,)."""
        code = self.code(coding)
        present = self.op("Greater", code, self.constant(0, np.int64))
        return self.op("And", present, self.op("LessOrEqual", code, self.constant(coding.n_codes, np.int64)))

    def _contexts(self, term: terms.ContextTerm) -> str:
        """Follow the parents' codes down the tree of contexts, and look up the table reached."""
        for parent in term.parents:
            gap = self.op("And", self._known(term.coding), self.op("Not", self._known(parent)))
            self.refused.append(self.op("Unsqueeze", gap, self.constant([1], np.int64)))
        child, n_slots = self.code(term.coding), term.coding.n_codes + 2
        sizes = [len(level.codes) for level in term.levels]
        flat = np.zeros((sum(sizes), n_slots, term.levels[0].tables.shape[2]))
        flat[:, 1:-1] = np.concatenate([level.tables for level in term.levels])
        node = self.op("Mul", child, self.constant(0, np.int64))
        deepest = node
        for depth, parent in enumerate(term.parents, 1):
            width = parent.n_codes + 2
            nodes = {tuple(codes): i for i, codes in enumerate(term.levels[depth - 1].codes.tolist())}
            step = np.full((sizes[depth - 1] + 1, width), sizes[depth])  # the last node means no context
            for i, codes in enumerate(term.levels[depth].codes.tolist()):
                step[nodes[tuple(codes[:-1])], codes[-1]] = i
            at = self.op("Add", self.op("Mul", node, self.constant(width, np.int64)), self.code(parent))
            node = self.op("Gather", self.constant(step.ravel(), np.int64), at, axis=0)
            known = self.op("Less", node, self.constant(sizes[depth], np.int64))
            here = self.op("Add", node, self.constant(sum(sizes[:depth]), np.int64))
            deepest = self.op("Where", known, here, deepest)
        row = self.op("Add", self.op("Mul", deepest, self.constant(n_slots, np.int64)), child)
        return self.op("Gather", self.constant(flat.reshape(-1, flat.shape[2])), row, axis=0)

    def _averaged(self, term: terms.AveragedTerm) -> str:
        """Return the log of the mean over the parents, and the sum of ``alone`` for rows without a parent."""
        axis = self.constant([1], np.int64)
        starts, n_slots = term.starts, len(term.alone)
        codes = [self.op("Unsqueeze", self.code(one), axis) for one in term.codings]
        slots = self.op("Add", self.op("Concat", *codes, axis=1), self.constant([starts[:-1]], np.int64))
        naive = self.op("ReduceSum", self.op("Gather", self.constant(term.alone), slots, axis=0), axis, keepdims=0)
        takes_part = self.op("Gather", self.constant(term.is_parent, np.bool_), slots, axis=0)
        scores = []
        for code, table, start in zip(codes, term.given, starts, strict=False):
            at = self.op("Add", self.op("Mul", code, self.constant(n_slots, np.int64)), slots)
            flat = self.constant(table.reshape(-1, table.shape[2]))
            others = self.op("ReduceSum", self.op("Gather", flat, at, axis=0), axis, keepdims=1)
            own = self.op("Add", code, self.constant(start, np.int64))
            scores.append(self.op("Add", others, self.op("Gather", self.constant(term.alone), own, axis=0)))
        mask = self.op("Unsqueeze", takes_part, self.constant([2], np.int64))
        low = self.constant(-np.inf)
        members = self.op("Where", mask, self.op("Concat", *scores, axis=1), low)
        total = self._log_sum_exp(members, 1)
        count = self.op("ReduceSum", self.cast(takes_part, "DOUBLE"), axis, keepdims=1)
        none = self.op("Equal", self.cast(count, "INT64"), self.constant(0, np.int64))
        mean = self.op("Sub", total, self.op("Log", self.op("Max", count, self.constant(1.0))))
        return self.op("Where", none, naive, mean)

    def _leaves(self, term: terms.LeavesTerm) -> str:
        """Return the log of the sum over the leaves of their products of columns."""
        total = self.constant([term.leaves])
        for one, table in zip(term.codings, term.tables, strict=True):
            total = self.op("Add", total, self.op("Gather", self.constant(table), self.code(one), axis=0))
        return self._log_sum_exp(total, 1)

    def _log_sum_exp(self, x: str, axis: int, keepdims: int = 0) -> str:
        """Return ln Σ exp x along an axis, −∞ where all are."""
        most = self.op("ReduceMax", x, axes=[axis], keepdims=1)
        most = self.op("Where", self.op("IsInf", most), self.constant(0.0), most)
        total = self.op(
            "ReduceSum", self.op("Exp", self.op("Sub", x, most)), self.constant([axis], np.int64), keepdims=keepdims
        )
        most = most if keepdims else self.op("Squeeze", most, self.constant([axis], np.int64))
        return self.op("Add", self.op("Log", total), most)

    # -- calibration ---------------------------------------------------------------------------------

    def calibrated(self, form: terms.ScoringForm, scores: str, impossible: str) -> tuple[str, str]:
        """Return the calibrated probabilities, and the index of the predicted class."""
        assert form.calibration is not None
        given, n_classes = form.calibration, len(form.classes)
        prior = np.full(n_classes, np.nan) if form.prior is None else logspace.log(form.prior)
        tempered = self.op("Div", scores, self.constant(form.temperature))
        log_p = self.op("Where", impossible, self.constant([prior]), self.op("LogSoftmax", tempered, axis=1))
        if given.curves:
            wanted = [1] if n_classes == 2 else range(n_classes)
            shares = [
                self._curve(curve, self._odds(log_p, c, n_classes))
                for c, curve in zip(wanted, given.curves, strict=True)
            ]
            if n_classes == 2:
                shares = [self.op("Sub", self.constant(1.0), shares[0]), *shares]
            p = self.op("Concat", *shares, axis=1)
            total = self.op("ReduceSum", p, self.constant([1], np.int64), keepdims=1)
            zero = self.op("LessOrEqual", total, self.constant(0.0))
            p = self.op("Where", zero, self.op("Softmax", log_p, axis=1), self.op("Div", p, total))
        else:
            p = self.op("Softmax", self.op("Div", log_p, self.constant(given.temperature)), axis=1)
        if given.n_rows:
            p = self.op("Add", self.op("Mul", p, self.constant(given.n_rows)), self.constant(1.0))
            p = self.op("Div", p, self.constant(given.n_rows + n_classes))
        most = self.op("ReduceMax", p, axes=[1], keepdims=1)
        least = self.op("Sub", most, self.op("Mul", most, self.constant(TIE)))  # optimizers take 1 - TIE for 1
        tied = self.op("Where", self.op("GreaterOrEqual", p, least), log_p, self.constant(-np.inf))
        none = self.op("IsInf", self.op("ReduceMax", tied, axes=[1], keepdims=0))
        best, instead = (self.op("ArgMax", self.cast(x, "DOUBLE"), axis=1, keepdims=0) for x in (tied, p))
        return p, self.op("Where", none, instead, best)

    def _odds(self, log_p: str, c: int, n_classes: int) -> str:
        """Return the log odds of a class against all others, shape (n_rows, 1), as calibration curves take them."""
        others = self.constant([i for i in range(n_classes) if i != c], np.int64)
        rest = self._log_sum_exp(self.op("Gather", log_p, others, axis=1), 1, keepdims=1)
        odds = self.op("Sub", self.op("Gather", log_p, self.constant([c], np.int64), axis=1), rest)
        return self.op("Max", self.op("Min", odds, self.constant(CERTAIN)), self.constant(-CERTAIN))

    def _curve(self, curve: ScoreMap, odds: str) -> str:
        """Return the probabilities of log odds, shape (n_rows, 1)."""
        if isinstance(curve, Logistic):
            zero = self.constant(0.0)
            tail = self.op(
                "Log", self.op("Add", self.constant(1.0), self.op("Exp", self.op("Neg", self.op("Abs", odds))))
            )
            log_p = self.op("Sub", self.op("Min", odds, zero), tail)
            minus_log_rest = self.op("Add", self.op("Max", odds, zero), tail)
            total = self.op("Mul", log_p, self.constant(curve.of_log))
            total = self.op("Add", total, self.op("Mul", minus_log_rest, self.constant(curve.of_rest)))
            return self.op("Sigmoid", self.op("Add", total, self.constant(curve.offset)))
        at, share = curve.at, curve.share
        if len(at) == 1:
            at, share = np.array([at[0], at[0] + 1]), np.repeat(share, 2)
        slope = np.diff(share) / np.diff(at)
        odds = self.op("Max", self.op("Min", odds, self.constant(at[-1])), self.constant(at[0]))
        passed = self.cast(self.op("GreaterOrEqual", odds, self.constant([at[1:-1]])), "INT64")
        place = self.op("ReduceSum", passed, self.constant([1], np.int64), keepdims=1)
        start, rise, value = (self.op("Gather", self.constant(x), place, axis=0) for x in (at[:-1], slope, share[:-1]))
        return self.op("Add", value, self.op("Mul", rise, self.op("Sub", odds, start)))

    # -- outputs -------------------------------------------------------------------------------------

    def outputs(self, form: terms.ScoringForm, scores: str) -> None:
        """Add the outputs: the first class within a tie of the best, and the probabilities."""
        best = self.op("ReduceMax", scores, axes=[1], keepdims=1)
        impossible = self.op("IsInf", best)
        slack = self.op("Mul", self.constant(TIE), self.op("Max", self.constant(1.0), self.op("Abs", best)))
        within = self.cast(self.op("GreaterOrEqual", scores, self.op("Sub", best, slack)), "FLOAT")
        chosen = self.op("ArgMax", within, axis=1, keepdims=0)
        tempered = scores if form.temperature == 1 else self.op("Div", scores, self.constant(form.temperature))
        shares = self.op("Softmax", tempered, axis=1)
        prior = np.full(len(form.classes), np.nan) if form.prior is None else form.prior
        shares = self.op("Where", impossible, self.constant([prior]), shares)
        if form.prior is not None:
            instead = self.constant([int(np.argmax(form.prior))], np.int64)
            at = self.op("Squeeze", impossible, self.constant([1], np.int64))
            chosen = self.op("Where", at, instead, chosen)
        if form.calibration is not None:
            shares, chosen = self.calibrated(form, scores, impossible)
        for refused in self.refused:
            shares = self.op("Where", refused, self.constant(np.nan), shares)
        kinds = {type(label) for label in form.classes}
        kind = (
            "STRING" if kinds == {str} else "BOOL" if kinds == {bool} else "INT64" if float not in kinds else "DOUBLE"
        )
        if kind == "INT64":
            _refuse_beyond_64_bits(form.classes, "the target")
        dtypes = {"STRING": object, "BOOL": np.bool_, "INT64": np.int64, "DOUBLE": np.float64}
        predicted, *probabilities = self.result_names
        self._result(predicted, kind, self.constant(form.classes, dtypes[kind]), chosen)
        for i, name in enumerate(probabilities):
            self._result(name, "DOUBLE", shares, self.constant(i, np.int64), axis=1)

    def _result(self, name: str, kind: str, values: str, index: str, axis: int = 0) -> None:
        """Add an output of shape (n_rows,): the values at an index."""
        self.nodes.append(self.onnx.helper.make_node("Gather", [values, index], [name], axis=axis))
        element = getattr(self.onnx.TensorProto, kind)
        self.results.append(self.onnx.helper.make_tensor_value_info(name, element, ["rows"]))


def _refuse_beyond_64_bits(values: Sequence[Any], place: str) -> None:
    """Raise an error for integers beyond 64 bits."""
    if beyond := [value for value in values if not -(2**63) <= value < 2**63]:
        raise BayesError(f"{place} holds {beyond[0]}, beyond the whole numbers of ONNX: make it text")
