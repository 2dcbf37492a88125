"""Read tagged sentences from files: CoNLL-U, or one sentence per line as ``word/TAG``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bayeskit.data.text.folders import LinesSource
from bayeskit.errors import BadFile
from bayeskit.lazy import pa, pc

FIELDS = 10  # of a line of CoNLL-U
FORM, TAG, FINE = 1, 3, 4
NONE = "_"


@dataclass(frozen=True)
class TaggedSentences:
    """Lists of words, tags and, if all words have one, fine-grained tags."""

    name: str
    words: pa.Array
    tags: pa.Array | None
    fine: pa.Array | None = None


def read_tagged(data: LinesSource | str | Path | Sequence[str | Path], encoding: str | None = None) -> TaggedSentences:
    r"""Read the sentences of files: CoNLL-U if lines have ten fields, else ``word/TAG`` with one sentence per line.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("The/D dog/N\n1/2/NUM\n")
    ...     file.flush()
    ...     read = read_tagged(file.name)
    >>> read.words.to_pylist(), read.tags.to_pylist()
    ([['The', 'dog'], ['1/2']], [['D', 'N'], ['NUM']])
    """
    source = data if isinstance(data, LinesSource) else LinesSource.of(data, encoding=encoding)
    parts = [batch.columns["text"] for batch in source.batches()]
    try:
        lines = pa.concat_arrays([pa.array([], pa.large_binary()), *parts]).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise BadFile(f"{source.name} holds bytes that are not UTF-8: give its encoding") from None
    written = lines.filter(pc.invert(pc.or_(pc.equal(lines, ""), pc.starts_with(lines, "#"))))
    if len(written) and pc.count_substring(written[:1], "\t")[0].as_py() >= FIELDS - 1:
        return _conllu(source.name, lines)
    return _slashed(source.name, lines)


def _conllu(name: str, lines: pa.Array) -> TaggedSentences:
    """Read one word per line, with empty lines between sentences; multiword tokens are skipped, their parts kept."""
    is_word = pc.match_substring_regex(lines, r"^\d+\t").to_numpy(zero_copy_only=False)
    known = pc.match_substring_regex(lines, r"^(#.*|\s*|\d+-\d+\t.*|\d+\.\d+\t.*)$").to_numpy(zero_copy_only=False)
    fields = pc.split_pattern(lines.filter(pa.array(is_word)), "\t")
    short = pc.less(pc.list_value_length(fields), FIELDS).to_numpy(zero_copy_only=False)
    bad = np.sort(np.concatenate([np.flatnonzero(~is_word & ~known), np.flatnonzero(is_word)[short]]))
    if len(bad):
        raise BadFile(f"{name}: line {bad[0] + 1} is not a line of CoNLL-U, which has {FIELDS} fields apart by tabs")
    sentence = np.cumsum(pc.equal(pc.utf8_trim_whitespace(lines), "").to_numpy(zero_copy_only=False))[is_word]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(sentence)) + 1, [len(sentence)]]) if len(sentence) else [0]
    words, tags, fine = (pc.list_element(fields, i) for i in (FORM, TAG, FINE))
    gaps = pc.equal(tags, NONE).to_numpy(zero_copy_only=False)
    if gaps.any() and not gaps.all():
        line = np.flatnonzero(is_word)[np.argmax(gaps)] + 1
        raise BadFile(f"{name}: the word in line {line} has no tag, while others have")
    finer = None if pc.any(pc.equal(fine, NONE)).as_py() else fine
    return TaggedSentences(
        name, *(None if part is None else _lists(starts, part) for part in (words, None if gaps.any() else tags, finer))
    )


def _slashed(name: str, lines: pa.Array) -> TaggedSentences:
    """Read words separated by spaces, each with its tag after the last slash."""
    cut = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(lines))
    pieces = cut.flatten()
    starts = np.concatenate([[0], np.cumsum(pc.list_value_length(cut).to_numpy(zero_copy_only=False))])
    if len(pieces):
        empty = pc.equal(pieces, "").to_numpy(zero_copy_only=False)  # of lines without a word
        starts -= np.concatenate([[0], np.cumsum(empty)])[starts]
        pieces = pieces.filter(pa.array(~empty))
    pairs = pc.split_pattern(pieces, "/", max_splits=1, reverse=True)
    wrong = pc.or_(pc.less(pc.list_value_length(pairs), 2), pc.match_substring_regex(pieces, "^/[^/]*$|/$"))
    if pc.any(wrong, min_count=0).as_py():
        at = int(np.argmax(wrong.to_numpy(zero_copy_only=False)))
        line = int(np.searchsorted(starts, at, side="right"))
        raise BadFile(f"{name}: line {line} has {pieces[at].as_py()[:40]!r}, which is not a word/TAG")
    words, tags = (pc.list_element(pairs, i) for i in (0, 1))
    return TaggedSentences(name, _lists(starts, words), _lists(starts, tags))


def _lists(starts: Any, values: pa.Array) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(np.asarray(starts), pa.int64()), values.cast(pa.large_string()))
