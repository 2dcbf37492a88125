"""Documents and labels from disk: a folder with one sub-folder a class, or a text column of a file.

What a command line needs: :func:`open_texts` for learning, :func:`answers` for lines that come one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bayeskit.errors import BayesError

FORMATS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
BATCH = 256  # lines answered together


class Texts(NamedTuple):
    """Documents (strings or bytes) with their labels, and what the label is called."""

    documents: Any
    labels: Any
    target: str


class Answer(NamedTuple):
    """The class of a line, and its probability where the model gives one."""

    label: Any
    probability: float | None


def open_texts(path: str | Path, text: str | None = None, target: str | None = None) -> Texts:
    """Labelled documents: of a folder, or of two columns of a CSV, JSON lines or Parquet file."""
    where = Path(path)
    if where.is_dir():
        return read_folder(where, target or "class")
    if not where.exists():
        raise BayesError(f"there is no file or folder {where}")
    if text is None or target is None:
        raise BayesError(f"which columns of {where} are the text and the class? Name both: text= and target=")
    return read_file(where, text, target)


def read_folder(folder: str | Path, target: str = "class") -> Texts:
    """Every file below a sub-folder is a document of the class that the sub-folder names.

    Files are read as bytes; what is no UTF-8 is replaced when the words are counted. Names that start with a dot are
    left out.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BayesError(f"{folder} is no folder: it should hold one sub-folder for each class")
    classes = sorted(sub for sub in folder.iterdir() if sub.is_dir() and not sub.name.startswith("."))
    if not classes:
        raise BayesError(f"{folder} has no sub-folders: it should hold one for each class, named as the class")
    documents, labels = [], []
    for sub in classes:
        files = sorted(file for file in sub.rglob("*") if file.is_file() and not _is_hidden(file, sub))
        if not files:
            raise BayesError(f"the class folder {sub} holds no file: put documents there, or remove it")
        documents += [file.read_bytes() for file in files]
        labels += [sub.name] * len(files)
    return Texts(documents, labels, target)


def read_file(path: str | Path, text: str, target: str) -> Texts:
    """Two columns of a CSV, JSON lines or Parquet file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    path = Path(path)
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise BayesError(f"{path} is none of {', '.join(FORMATS)}: convert it, or pass the columns yourself")
    options: Any = kind
    if kind == "csv":
        parse = pa.csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",", newlines_in_values=True)
        strings = pa.csv.ConvertOptions(column_types={text: pa.large_string()})
        options = ds.CsvFileFormat(parse_options=parse, convert_options=strings)
    try:
        data = ds.dataset(str(path), format=options)
        lacking = [name for name in (text, target) if name not in data.schema.names]
        if lacking:
            raise BayesError(
                f"{path} has no column {', '.join(map(repr, lacking))} (columns: {', '.join(data.schema.names)})"
            )
        table = data.to_table(columns=[text, target])
    except (pa.ArrowException, OSError) as problem:
        raise BayesError(f"{path} cannot be read: {problem}") from None
    return Texts(table[text], table[target], target)


def answers(model: Any, lines: Iterable[str], batch: int = BATCH) -> Iterator[Answer]:
    """The class of every line, as soon as ``batch`` lines or the last one have come (1: each at once).

    >>> from bayeskit.models.text import TextClassifier
    >>> model = TextClassifier("multinomial").fit(["sun and sea", "rain and wind"], ["good", "bad"])
    >>> [(answer.label, round(answer.probability, 3)) for answer in answers(model, ["sea", "wind and rain"])]
    [('good', 0.667), ('bad', 0.8)]
    """
    waiting = iter(lines)
    while some := [line.rstrip("\r\n") for line in islice(waiting, batch)]:
        labels = model.predict(some).tolist()
        if not hasattr(model, "predict_proba"):
            yield from (Answer(label, None) for label in labels)
            continue
        best = model.predict_proba(some).max(axis=1).tolist()
        yield from map(Answer, labels, best)


def _is_hidden(file: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(below).parts)
