"""Labelled documents of a folder or a file in memory, and answers to lines that come one by one.

``TextClassifier.fit_source`` learns from the same places without holding more than a part of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bayeskit.data.io.files import FileSource
from bayeskit.data.text.folders import COLUMN, FolderSource, TextColumn
from bayeskit.errors import BayesError

BATCH = 256  # lines answered together


class Texts(NamedTuple):
    """Documents with their labels, both Arrow columns, and what the label is called."""

    documents: Any
    labels: Any
    target: str


class Answer(NamedTuple):
    """The class of a line, and its probability where the model gives one."""

    label: Any
    probability: float | None


def open_texts(path: str | Path, text: str | None = None, target: str | None = None) -> Texts:
    """Labelled documents: of a folder with one sub-folder a class, or of two columns of a file."""
    import pyarrow as pa

    where, source = Path(path), None
    if where.is_dir() and text is None:
        source = FolderSource.of_classes(where, target or "class")
    elif where.exists() and (text is None or target is None):
        raise BayesError(f"which columns of {where} are the text and the class? Name both: text= and target=")
    columns = source or TextColumn.of(FileSource.of(path, target), text)
    texts, labels = [], []
    for batch in columns.batches():
        texts.append(batch.columns[COLUMN])
        labels.append(batch.labels)
    return Texts(_plain(pa.chunked_array(texts)), _plain(pa.chunked_array(labels)), columns.target or "class")


def _plain(column: Any) -> Any:
    import pyarrow.types as types

    return column.cast(column.type.value_type) if types.is_dictionary(column.type) else column


def answers(model: Any, lines: Iterable[str | bytes], batch: int = BATCH) -> Iterator[Answer]:
    """The class of every line, as soon as ``batch`` lines or the last one have come (1: each at once).

    >>> from bayeskit.models.text.classifier import TextClassifier
    >>> model = TextClassifier("multinomial").fit(["sun and sea", "rain and wind"], ["good", "bad"])
    >>> [(answer.label, round(answer.probability, 3)) for answer in answers(model, ["sea", "wind and rain"])]
    [('good', 0.667), ('bad', 0.8)]
    """
    waiting = iter(lines)
    while some := list(islice(waiting, batch)):
        labels = model.predict(some).tolist()
        if not hasattr(model, "predict_proba"):
            yield from (Answer(label, None) for label in labels)
            continue
        best = model.predict_proba(some).max(axis=1).tolist()
        yield from map(Answer, labels, best)
