"""Encode batches as blocks: values and labels as codes, numbers as floats or bins, texts as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from bayeskit import kernels
from bayeskit.arrow_arrays import Column, is_arrow
from bayeskit.data.block import Block
from bayeskit.data.cells import (
    Factor,
    as_floats,
    beyond_int64,
    date_part,
    factor_integers,
    factor_values,
    numbers_of,
    raise_unusable,
)
from bayeskit.data.missing_labels import refusal
from bayeskit.data.schema import NO_TARGET, Categorical, DatePart, Numeric, Schema, Text
from bayeskit.data.source import (
    Batch,
    ReadThrough,
    Responsibilities,
    Source,
    close_rows,
    closing_rows,
    for_schema,
    naming_the_file,
    without_type_hints,
)
from bayeskit.data.text.documents import Documents
from bayeskit.data.text.tokens import Tokenizer, TokenRows, TokensWhenAsked, Words, count_documents
from bayeskit.data.unseen import UnseenValues
from bayeskit.data.vocabulary import Value, Vocabulary, canonical
from bayeskit.errors import BayesError, SchemaMismatch, UnknownValue
from bayeskit.typing import Array, Codes, Floats


@dataclass(frozen=True)
class EncodedRows(ReadThrough):
    """Rows together with their encoded block, so that several predictions share one encoding."""

    block: Block


@dataclass
class Encoder:
    """Encode a source as blocks of the schema's columns.

    With ``grow``, new values and classes are added to the vocabularies; otherwise they get the code ``unseen``, or
    raise an error if ``refuse_unseen`` is set.
    """

    schema: Schema
    vocabularies: dict[str, Vocabulary] = field(default_factory=dict)
    classes: Vocabulary = field(default_factory=Vocabulary)
    grow: bool = False
    refuse_unseen: bool = False
    n_threads: int = 1
    words: Mapping[str, Words] = field(default_factory=dict)
    unseen: UnseenValues | None = field(default=None, init=False, compare=False)

    def blocks(self, source: Source, report_unseen: bool = False) -> Iterator[Block]:
        """Yield all rows of the source as blocks; ``report_unseen`` warns at the end of values that are not known."""
        if isinstance(source, EncodedRows):
            yield source.block
            return
        with naming_the_file(source):
            where = self.schema.locate(list(source.kinds), source.named)
        values = {name: vocabulary.values for name, vocabulary in self.vocabularies.items()}
        batches = iter(for_schema(source, self.schema, values, self.classes.values).batches())
        self.unseen = UnseenValues() if report_unseen else None
        try:
            while True:
                with nullcontext() if self.grow else without_type_hints():
                    if (batch := next(batches, None)) is None:
                        break
                    with naming_the_file(source), closing_rows(batches):
                        block = self._encode(batch, where)
                yield block
            if self.unseen is not None:
                self.unseen.warn()
        finally:
            close_rows(batches)

    def _encode(self, batch: Batch, where: Mapping[str, str]) -> Block:
        columns = self.columns(batch, where)
        codes = self._categorical(columns, batch.start)
        floats, cut = {}, {}
        for name, column in columns.items():
            role = self.schema.columns[name]
            if isinstance(role, Numeric):
                numbers = numbers_of(column, role, name, batch.start)
                if role.cuts is None:
                    floats[name] = numbers
                else:
                    cut[name] = numbers, np.array(role.cuts, dtype=np.float64)
        if cut:
            cells, cuts = zip(*cut.values(), strict=True)
            raise_unusable(dict(zip(cut, cells, strict=True)), batch.start)
            codes |= zip(cut, kernels.bin_codes(cells, cuts, self.n_threads), strict=True)
        labels, responsibilities = self._labels(batch)
        texts = {n: Documents.of(columns[n], n, batch.start) for n in self.schema.texts}
        counters = {n: partial(self._tokens, n, texts[n]) for n in texts if n in self.words}
        tokens: Mapping[str, TokenRows] = TokensWhenAsked(counters) if counters else {}
        return Block(
            batch.n_rows, batch.start, codes, floats, labels, responsibilities, batch.weights, texts, tokens,
            batch.sequence_starts,
        )  # fmt: skip

    def columns(self, batch: Batch, where: Mapping[str, str]) -> dict[str, Column]:
        """Return the columns of the schema, each derived from its column in the batch."""
        columns = {name: batch.columns[theirs] for name, theirs in where.items()}
        for name, column in columns.items():
            role = self.schema.columns[name]
            if isinstance(role, DatePart):
                columns[name] = date_part(column, role.part, role.of, batch.start)
        return columns

    def _tokens(self, name: str, documents: Documents) -> TokenRows:
        role = self.schema.columns[name]
        tokenizer = role.tokenizer if isinstance(role, Text) else Tokenizer()
        return count_documents(documents, tokenizer, self.words[name], self.n_threads, in_order=False)

    def _labels(self, batch: Batch) -> tuple[Codes | None, Floats | None]:
        if batch.labels is None:
            return np.zeros(batch.n_rows, dtype=np.uint8) if self.schema.target == NO_TARGET else None, None
        if not isinstance(batch.labels, Responsibilities):
            return encode_labels(batch.labels, self.classes, batch.start, grow=self.grow), None
        order = self.classes.grow(batch.labels.classes)
        matrix = np.zeros((batch.n_rows, len(self.classes.values)))
        matrix[:, [code - 1 for code in order]] = batch.labels.matrix
        return None, matrix if batch.weights is None else matrix * batch.weights[:, None]

    def _categorical(self, columns: Mapping[str, Column], start: int) -> dict[str, Codes]:
        names = [name for name in columns if isinstance(self.schema.columns[name], Categorical)]
        factors = {name: self._factor(columns[name], name, start) for name in names}
        open_ = [name for name, factor in factors.items() if factor.values is None]
        factors |= zip(open_, factor_integers([factors[n].indices for n in open_], open_, self.n_threads), strict=True)
        for name, factor in factors.items():
            vocabulary = self._vocabulary(name)
            grows = self.grow and self._domain(name) is None
            if factor.table is None:
                if not grows and vocabulary.is_foreign([v for v in factor.values if v is not None]):
                    raise self._foreign(name, factor, start)
                value_codes = vocabulary.grow(factor.values) if grows else vocabulary.codes(factor.values)
                factor.table = np.array(value_codes, dtype=np.uint32)
        if not names:
            return {}
        lows = np.array([factor.low for factor in factors.values()], dtype=np.int64)
        unseen = np.array([self._vocabulary(name).unseen for name in names], dtype=np.uint32)
        indices, tables = ([getattr(factor, part) for factor in factors.values()] for part in ("indices", "table"))
        coded = dict(zip(names, kernels.lookup_codes(indices, lows, tables, unseen, self.n_threads), strict=True))
        for name, codes in coded.items():
            if self.refuse_unseen or (self.grow and self._domain(name) is not None):
                self._refuse_unseen(name, codes, columns[name], start)
            elif self.unseen is not None:
                vocabulary = self._vocabulary(name)
                self.unseen.add(name, codes, vocabulary.unseen, columns[name], vocabulary.values)
        return coded

    def _factor(self, column: Column, name: str, start: int) -> Factor:
        """Encode a column as indices, with a lookup table for integers if there is one."""
        if is_arrow(column) or column.dtype.kind not in "biu" or beyond_int64(column):
            return factor_values(column, name, start)
        if column.dtype.kind == "b":
            return Factor(column.view(np.uint8), 0, [False, True])
        vocabulary = self._vocabulary(name)
        if self.grow and self._domain(name) is None:
            return Factor(column, 0, None)  # the range is found for all such columns at once
        table = vocabulary.integer_table()
        if table is None or vocabulary.is_foreign([0]):
            return factor_values(column, name, start)
        return Factor(column, table[0], [], table[1])

    def _vocabulary(self, name: str) -> Vocabulary:
        if name not in self.vocabularies:
            self.vocabularies[name] = Vocabulary(self._domain(name) or ())
        return self.vocabularies[name]

    def _domain(self, name: str) -> tuple[Value, ...] | None:
        role = self.schema.columns[name]
        return role.domain if isinstance(role, Categorical) else None

    def _refuse_unseen(self, name: str, codes: Codes, column: Column, start: int) -> None:
        vocabulary = self._vocabulary(name)
        rows = np.flatnonzero(codes == vocabulary.unseen)
        if not len(rows):
            return
        cell = column[int(rows[0])]
        value = canonical(cell.as_py() if is_arrow(column) else cell)
        known = ", ".join(map(str, vocabulary.values[:8])) + (", …" if len(vocabulary.values) > 8 else "")
        row = start + int(rows[0])
        if self._domain(name) is not None and self.grow:
            raise UnknownValue(
                f"column {name!r} has {value!r} in row {row}, outside its declared domain ({known}).",
                hint="Add it to domains=, or correct the cell.",
            )
        raise UnknownValue(
            f"column {name!r} has {value!r} in row {row}, not seen in training (known: {known}).",
            hint='Pass unseen="ignore" to leave the column out for such rows.',
        )

    def _foreign(self, name: str, factor: Factor, start: int) -> SchemaMismatch:
        known = self._vocabulary(name).values[0]
        theirs = next(value for value in factor.values or () if value is not None)
        return SchemaMismatch(
            f"column {name!r} holds the {type(theirs).__name__} {theirs!r} (rows from {start} on), but in training it "
            f"held the {type(known).__name__} {known!r}: give it the same type."
        )


def encode_labels(column: Column, classes: Vocabulary, start: int, *, grow: bool) -> Codes:
    """Return class codes 0..C-1; a missing or continuous label raises an error.

    Without ``grow`` an unknown label gets the code C.
    """
    if not is_arrow(column) and column.dtype.kind == "f":
        _refuse_continuous(column, start)
        if np.abs(column.astype(np.float64, copy=False)).max(initial=0) < 2**53:
            factor = factor_integers([column.astype(np.int64)], ["class"], 1)[0]
        else:
            factor = factor_values(column, "class", start)
        factor.values = [None if value is None else float(value) for value in factor.values]
    elif not is_arrow(column) and column.dtype.kind in "iu" and not beyond_int64(column):
        factor = factor_integers([column], ["class"], 1)[0]
    else:
        factor = factor_values(column, "class", start)
    if is_arrow(column) and any(isinstance(value, float) for value in factor.values):
        _refuse_continuous(as_floats(column, "class", start), start)
    known = classes.values[:1] + [value for value in factor.values if value is not None]
    if len({isinstance(value, str) for value in known}) > 1:
        raise BayesError(f"labels are all strings or all numbers, not both: {known[0]!r} and {_other(known)!r}")
    value_codes = classes.grow(factor.values) if grow else classes.codes(factor.values)
    codes = kernels.lookup_codes(
        [factor.indices], np.array([factor.low]), [np.array(value_codes, dtype=np.uint32)],
        np.array([classes.unseen], dtype=np.uint32), 1,
    )[0]  # fmt: skip
    if None in factor.values and not codes.all():
        raise refusal(codes == 0, start)
    return np.subtract(codes, 1, dtype=codes.dtype)


def _other(values: Sequence[Value]) -> Value:
    return next(value for value in values if isinstance(value, str) != isinstance(values[0], str))


def _refuse_continuous(labels: Array, start: int) -> None:
    if np.isinf(labels).any():
        raise BayesError("Input y contains infinity or a value too large for dtype('float64').")
    if np.isnan(labels).any():
        raise refusal(np.isnan(labels), start)
    broken = labels != np.floor(labels)
    if broken.any():
        row = int(np.argmax(broken))
        raise BayesError(
            f"Unknown label type: continuous (row {start + row} has {labels[row]}). Classes are strings, "
            "whole numbers or booleans;",
            hint="cut the numbers into classes first, such as with pandas.qcut, or predict them by LinearRegression",
        )
