"""Suggest roles by looking at the values of columns; the inferred schema never depends on them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bayeskit.arrow_arrays import Column, cut, is_arrow
from bayeskit.data.cells import Factor, factor_values, parse_number
from bayeskit.data.frames import MemorySource
from bayeskit.data.schema import Categorical, Numeric, Role, Schema, Text, declared_roles
from bayeskit.data.source import Batch, Narrowing, Responsibilities, Source, first_rows
from bayeskit.data.text.tokenizer import EMOJI, EXPRESSIONS
from bayeskit.errors import AdviceWarning, format_setting
from bayeskit.lazy import pa

SAMPLE = 10_000  # rows looked at
FEW = 10  # distinct whole numbers that look like codes
CODES = 3  # of which more are counts where they begin at 0 or 1 and the largest is rare
LONG = 40  # mean characters of strings that hold more than a name
NAME = 8  # mean characters of strings in a script without spaces that hold more than a name
SPACES = 4  # mean spaces of such strings that look like text
WORDS = 3  # mean spaces of strings that hardly ever come again and look like text
NEARLY = 0.9  # share of cells that are numbers where the others look like slips, or of values that come once
TEXTS = 3  # distinct texts among numbers that can all be named
ROLES = {
    "categorical": "to take them as categories",
    "text": "to read it as documents",
    "ignore": "to leave it out",
    "number": "to take them as numbers",
    "month,weekday": "to take month and weekday as categories",
}
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
LEADING_ZERO = re.compile(r"\s*[-+]?0\d")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[-+]\d{2}:?\d{2})?")
WITH_COMMA = re.compile(r"\s*[-+]?\d[\d.]*(,\d+)+\s*")
LETTER = re.compile(r"[^\W\d_]")
# Chinese characters, Japanese syllables, Thai, Lao, Burmese and Khmer: scripts without spaces between words.
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
RARE = 0.05  # share of documents with emoji below which nothing is said
SCRIPT_SAMPLE = 200  # texts whose script is looked at
ROWS = 20  # on fewer, only what is plain
LEAST = 5  # rows below which nothing is said
SEVERAL = 10  # rows in which no string twice is an identifier
DIGITS = range(10)  # whole numbers that are codes where few rows have one of them twice


@dataclass(frozen=True)
class Advice:
    """A suggestion for one column: the reason, the hint, and the role that the hint names, if any."""

    column: str | int
    reason: str
    hint: str
    role: str | None = None
    in_memory: Advice | None = None  # for a table that is not read from a file


def advise(
    source: Source,
    schema: Schema,
    roles: Any,
    decided: Iterable[str],
    has_told: Callable[[str], bool],
    textless: str = "",
) -> None:
    """Warn of columns whose inferred role is doubtful, with the ``roles=`` that changes it; not of ``decided`` ones.

    ``textless`` names a model that takes no texts, which gets other advice on them.
    """
    if roles is not None and not isinstance(roles, Mapping):
        return
    declared = {*decided, *declared_roles(roles, source.kinds, schema)}
    undeclared = [name for name in schema.used if schema.input_of(name) not in declared]
    sentences = []
    if source.named and source.target in schema.used:
        reason = f"column {source.target!r} has the name of the target: the model learns the answer from it"
        sentences.append(
            by_role(source.target, reason, "if it is the target, pass its name as y, or, to leave it out", "ignore")
        )
    batch = first_rows(source) if undeclared or schema.texts else None
    if batch is not None:
        if source.named:
            sentences += [
                by_role(name, f"column {name!r} holds the label of every row: the model learns the answer from it",
                        "if it is the target, pass its name as y, or, to leave it out", "ignore")
                for name in undeclared if name != source.target and _equals_labels(batch, name)
            ]  # fmt: skip
            texts = [name for name in undeclared if _is_text(name, source, batch)]
            noticed = advice(batch, schema.restrict(undeclared), texts)
        else:
            noticed = numbers_as_text(batch, schema, undeclared)
        sentences += [one if isinstance(source, Narrowing) else one.in_memory or one for one in noticed]
    if textless:
        sentences = [_without_text(one, textless) if one.role == "text" else one for one in sentences]
    scripts = [] if batch is None else [_advise_script(batch, schema, name) for name in schema.texts]
    for sentence in [*merge_suggestions(sentences), *scripts]:
        if sentence is not None and not has_told(str(sentence)):
            warnings.warn(sentence, stacklevel=6)


def _advise_script(batch: Batch, schema: Schema, name: str) -> AdviceWarning | None:
    role = schema.columns[name]
    if not isinstance(role, Text) or name not in batch.columns:
        return None
    return script_advice(_cells(batch.columns[name], min(batch.n_rows, SCRIPT_SAMPLE)), role.tokenizer.pattern, name)


def _equals_labels(batch: Batch, name: str) -> bool:
    """Return True if a column equals the labels in all rows that are looked at."""
    n, labels = min(batch.n_rows, SAMPLE), batch.labels
    if n < ROWS or labels is None or isinstance(labels, Responsibilities) or name not in batch.columns:
        return False
    return all(_cells(batch.columns[name], k) == _cells(labels, k) for k in (LEAST, n))


def _cells(column: Column, n: int) -> list[Any]:
    few = cut(column, 0, n)
    return few.to_pylist() if is_arrow(few) else few.tolist()


def script_advice(texts: Sequence[Any], pattern: Any, column: str | None = None) -> AdviceWarning | None:
    """Return advice for documents, or a text column, that a word pattern cannot split or whose emoji it drops.

    >>> print(script_advice(["今天天气很好", "我不喜欢下雨"], "words"))
    the documents are written without spaces between words, and a whole sentence would be one word: read them by
    characters, pattern="char", ngrams=(1, 2)
    """
    if pattern not in EXPRESSIONS:
        return None
    some = [text for text in texts if isinstance(text, str)]
    beyond_ascii = [text for text in some if not text.isascii()]
    unspaced = sum(len(UNSPACED.findall(text)) for text in beyond_ascii)
    if unspaced and 2 * unspaced > sum(len(LETTER.findall(text)) for text in some):
        what = "the documents are" if column is None else f"the texts of column {column!r} are"
        return AdviceWarning(
            f"{what} written without spaces between words, and a whole sentence would be one word",
            hint='read them by characters, pattern="char", ngrams=(1, 2)'
            if column is None
            else 'read them by characters: the role of the column in Python is Text(Tokenizer("char", (1, 2)))',
        )
    with_emoji = sum(re.search(EMOJI, text) is not None for text in beyond_ascii)
    has_words = any(re.search(EXPRESSIONS[pattern], text) for text in some)  # without any, the fit says that
    if pattern in ("words", "words1") and with_emoji > RARE * len(some) and has_words:
        return AdviceWarning(
            f"{'the documents hold' if column is None else f'column {column!r} holds'} emoji, which "
            f"{format_setting('pattern', pattern)} leaves out",
            hint='to read them as words, pass pattern="words_and_emoji"',
        )
    return None


def _is_text(name: str, source: Source, batch: Batch) -> bool:
    """Return True if the column is declared as text: categories of a frame, types of a file."""
    if not isinstance(source, MemorySource):
        return name in (getattr(source, "types", None) or {})
    return str(getattr(batch.columns[name], "type", "")).startswith("dictionary")


def advice(batch: Batch, schema: Schema, texts: Container[str] = ()) -> Iterator[Advice]:
    """Yield advice for each undeclared column whose values suggest another role.

    Looks at the first 10,000 rows at most; on fewer than 20 it says what is plain (rows that are numbered, a name in
    every row, digits that come again), and on fewer than 5 nothing. ``texts`` were declared to be texts.
    No sentence has a count in it: folds of one table would say the same in other words, and Python tells once what is
    said in the same words.
    """
    n = min(batch.n_rows, SAMPLE)
    for name in schema.used if n >= LEAST else ():
        role, column = schema.columns[name], _as_it_is(cut(batch.columns[name], 0, n))
        if n < ROWS:
            advised = _of_few_rows(column, role, name, n)
        elif isinstance(role, Numeric) and role.cuts is None and _is_integer(column):
            advised = _of_integers(column, name, n)
        elif isinstance(role, Numeric) and role.cuts is None and _is_float(column):
            advised = _of_floats(column, name)
        elif isinstance(role, Categorical) and role.domain is None:
            advised = _of_categories(factor_values(column, name, 0), name, n, name in texts)
        else:
            continue
        if advised is not None:
            yield advised


def numbers_as_text(batch: Batch, schema: Schema, undeclared: Container[str]) -> Iterator[Advice]:
    """Yield advice for unnamed tables whose numbers are strings, as in an array of one dtype."""
    n = min(batch.n_rows, SAMPLE)
    for place, (name, role) in enumerate(schema.columns.items() if n >= ROWS else ()):
        if name in undeclared and isinstance(role, Categorical) and role.domain is None:
            values = [v for v in factor_values(cut(batch.columns[name], 0, n), name, 0).values if v is not None]
            numbers = len(values) > FEW and all(isinstance(v, str) and NUMBER.fullmatch(v) for v in values)
            if numbers and (advised := _numbers_as_text(values, place)):
                yield advised


def _of_few_rows(column: Column, role: Role, name: str, n: int) -> Advice | None:
    """Return advice that a few rows already support."""
    if isinstance(role, Numeric) and role.cuts is None and _is_integer(column):
        values = factor_values(column, name, 0).values[1:]
        if values in (list(range(n)), list(range(1, n + 1))):
            return _better_as(name, "numbers the rows, like an identifier", "ignore")
        if 1 < len(values) < n and all(value in DIGITS for value in values):
            return _better_as(name, "holds digits that come again, like codes", "categorical")
    if isinstance(role, Categorical) and role.domain is None and n >= SEVERAL:
        values = [v for v in factor_values(column, name, 0).values if v is not None]
        if len(values) == n and all(isinstance(v, str) for v in values):
            if written := _advise_number_strings(values, name):
                return written
            return _better_as(name, "has another value in every row, like an identifier", "ignore")
    return None


def _of_integers(column: Column, name: str, n: int) -> Advice | None:
    factor = factor_values(column, name, 0)
    values = factor.values[1:]  # in the order of the rows, after the missing one
    if len(values) <= FEW and n >= 5 * len(values) and not _are_counts(factor):
        return _better_as(name, "holds a few whole numbers only, like codes", "categorical")
    if len(values) == n and all(a < b for a, b in pairwise(values)):
        return _better_as(name, "rises from row to row, like an identifier", "ignore")
    return None


def _are_counts(factor: Factor) -> bool:
    """Return True for counts, whose order matters: from 0 or 1 on, with a largest value that is rare."""
    indices = np.asarray(factor.indices).astype(np.int64) - factor.low
    times = dict(zip(factor.values[1:], np.bincount(indices, minlength=len(factor.values))[1:].tolist(), strict=True))
    return len(times) > CODES and min(times) in (0, 1) and 2 * times[max(times)] < np.mean([*times.values()])


def _of_floats(column: Column, name: str) -> Advice | None:
    """Suggest a categorical role for two whole numbers stored as floats because of missing cells."""
    numbers = np.asarray(column, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers) or (among := np.flatnonzero(numbers != numbers[0])).size == 0:
        return None
    one, other = numbers[0], numbers[among[0]]
    if one % 1 or other % 1 or not ((numbers == one) | (numbers == other)).all():
        return None
    return _better_as(name, "holds two whole numbers only, like codes", "categorical")


def _of_categories(factor: Factor, name: str, n: int, is_text: bool) -> Advice | None:
    present = [v for v in factor.values if v is not None]
    values = [v for v in present if isinstance(v, str)]
    if not values:
        return None
    if len(values) < len(present):
        return _of_several_types(present, name)
    if among := _find_numbers(factor, name, is_text) or _advise_number_strings(values, name):
        return among
    unspaced = sum(len(UNSPACED.findall(value)) for value in values)
    if len(values) >= NEARLY * n and 2 * unspaced > sum(map(len, values)) >= NAME * len(values):
        return _better_as(name, "holds free text", "text")
    length, spaces = (float(np.mean([*map(measure, values)])) for measure in (len, _spaces))
    cells = n - int((np.asarray(factor.indices).astype(np.int64) == factor.low).sum())  # the first is the missing one
    alone = len(values) >= NEARLY * cells and cells >= ROWS
    if (length > LONG and spaces > SPACES) or (alone and spaces >= WORDS):
        return _better_as(name, "holds free text", "text")
    if length > LONG and len(values) < n:
        return _better_as(name, "holds long strings without spaces", "ignore")
    if len(values) == n:
        return _better_as(name, "has another value in every row, like an identifier", "ignore")
    if alone:
        reason = f"column {name!r} has hardly any value twice, so that new rows will bring others"
        return by_role(name, reason, "group its values, or, to leave it out", "ignore")
    return None


def _spaces(text: str) -> int:
    return text.strip().count(" ")


def _find_numbers(factor: Factor, name: str, is_text: bool) -> Advice | None:
    """Report numbers that a few texts or decimal commas prevent from being read as numbers."""
    counts = np.bincount(np.asarray(factor.indices).astype(np.int64) - factor.low, minlength=len(factor.values))
    cells = {v: int(c) for v, c in zip(factor.values, counts, strict=True) if isinstance(v, str) and c}
    plain = [v for v in cells if NUMBER.fullmatch(v)]
    if all(parse_number(v) is not None for v in cells) and len(plain) < len(cells):
        return None
    commas = [v for v in cells if WITH_COMMA.fullmatch(v)]
    texts = [v for v in cells if not (NUMBER.fullmatch(v) or WITH_COMMA.fullmatch(v))]
    total, others = sum(cells.values()), sum(cells[v] for v in texts)
    if len(plain) + len(commas) <= FEW or total - others < NEARLY * total:
        return None
    if commas:
        reason = f"column {name!r} holds numbers with a comma, such as {commas[0]!r}, and each is taken as a category"
        in_memory = Advice(name, reason, "write them with a decimal point, and they are numbers")
        return Advice(
            name, reason, 'where that is a decimal comma, pass decimal="," to open_source', in_memory=in_memory
        )
    if not texts:
        return None if is_text else _numbers_as_text(plain, name)
    reason = (
        f"column {name!r} holds numbers, but text in some cells ({_listed(texts)}), and each is taken as a category"
    )
    if len(texts) > TEXTS:
        return Advice(name, reason, "correct or empty these cells, and they are numbers")
    empty = format_setting("missing", [*texts, ""])
    return Advice(
        name,
        reason,
        f"to read the text as an empty cell of the file, pass {empty} to open_source",
        in_memory=by_role(name, reason, "make these cells missing, and, to take the others as numbers", "numeric"),
    )


def _advise_number_strings(values: Sequence[str], name: str) -> Advice | None:
    """Report texts that write numbers with signs, such as "$50,000", or dates."""
    if len(values) <= FEW:
        return None
    if all(parse_number(value) is not None for value in values):
        signs = next((value for value in values if not NUMBER.fullmatch(value)), None)
        return (
            None if signs is None else _better_as(name, f"holds numbers written as text, such as {signs!r}", "number")
        )
    if all(DATE.fullmatch(value) for value in values):
        return _better_as(name, f"holds dates written as text, such as {values[0]!r}", "month,weekday")
    return None


def _without_text(advised: Advice, model: str) -> Advice:
    reason = f"{advised.reason}, and {model} takes no texts (NaiveBayes does)"
    return by_role(advised.column, reason, ROLES["ignore"], "ignore")


def merge_suggestions(suggestions: Sequence[Advice]) -> list[AdviceWarning]:
    """Return warnings: one for all suggestions of roles, a line for each column, and one for each other.

    >>> key = by_role("id", "column 'id' is like an identifier", "to leave it out", "ignore")
    >>> note = by_role("note", "column 'note' holds free text", "to read it as documents", "text")
    >>> print(*merge_suggestions([key, note]))                                       # doctest: +NORMALIZE_WHITESPACE
    column 'id' is like an identifier; column 'note' holds free text; to do so, pass
    roles={'id': "ignore", 'note': "text"}
    """
    roles = {one.column: one.role for one in suggestions if one.role is not None}
    if len(roles) < 2:
        return [AdviceWarning(f"{one.reason};", hint=one.hint) for one in suggestions]
    reasons = ";\n".join(one.reason for one in suggestions if one.role is not None)
    return [
        AdviceWarning(f"{reasons};", hint=f"\nto do so, pass {format_setting('roles', roles)}"),
        *(AdviceWarning(f"{one.reason};", hint=one.hint) for one in suggestions if one.role is None),
    ]


def by_role(name: str | int, reason: str, purpose: str, role: str) -> Advice:
    """Return the suggestion of another role for a column."""
    return Advice(name, reason, f"{purpose}, pass {format_setting('roles', {name: role})}", role)


def _numbers_as_text(values: Sequence[str], column: str | int) -> Advice | None:
    """Report texts that are all numbers; those with leading zeros are codes, such as postal codes."""
    if any(LEADING_ZERO.match(value) for value in values):
        return None
    reason = f"column {column!r} holds numbers written as text, such as {values[0]!r}, and each is taken as a category"
    return by_role(column, reason, "to take them as numbers", "numeric")


def _of_several_types(values: Sequence[Any], name: str) -> Advice:
    first = {type(value).__name__: value for value in reversed(values)}
    examples = ", ".join(f"the {kind} {value!r}" for kind, value in sorted(first.items()))
    reason = f"column {name!r} holds cells of several types ({examples}), and each value is taken as a category"
    return by_role(name, reason, "give them one type, or, to have it so", "categorical")


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(repr, texts[:TEXTS])) + (", …" if len(texts) > TEXTS else "")


def _better_as(name: str, what: str, role: str) -> Advice:
    return by_role(name, f"column {name!r} {what}", ROLES[role], role)


def _as_it_is(column: Column) -> Column:
    """Decode a dictionary column, whose dictionary may hold values of other rows."""
    if not is_arrow(column) or not pa.types.is_dictionary(column.type):
        return column
    if pa.types.is_string_view(column.type.value_type):  # of polars; Arrow does not take from these
        return pa.array(column.to_pylist(), pa.string())
    return column.cast(column.type.value_type)


def _is_integer(column: Column) -> bool:
    return bool(pa.types.is_integer(column.type)) if is_arrow(column) else column.dtype.kind in "iu"


def _is_float(column: Column) -> bool:
    return bool(pa.types.is_floating(column.type)) if is_arrow(column) else column.dtype.kind == "f"
