"""Documents for a command: where they lie, what a text model says of them, and how it is shown."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeskit.capabilities import HasProbabilities, can
from bayeskit.cli.options import Reading
from bayeskit.errors import BayesError, UndecidableWarning, with_article

if TYPE_CHECKING:
    from bayeskit.cli.console import Page

TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".jsonl", ".ndjson", ".json")


def is_text(model: Any) -> bool:
    """Whether the model takes documents and not rows."""
    return type(model).__name__ == "TextClassifier"  # its module is loaded where it is one, and only there


def refuse_text(model: Any, text: str | None) -> None:
    """``--text`` with a model of a table."""
    if text is not None:
        raise BayesError(f"--text is for models of documents, and this is {with_article(type(model).__name__)}")


def open_labelled(data: str, text: str | None, target: str, reading: Reading) -> Any:
    """Documents with classes: two columns of a table, or a folder with one sub-folder a class."""
    from bayeskit.cli.inputs import open_data
    from bayeskit.data.text.folders import FolderSource, TextColumn

    if Path(data).is_dir() and (text is None or not _has_tables(Path(data))):
        return FolderSource.of_classes(data, target, encoding=reading.encoding)
    source = open_data(data, target, reading)
    if text is None:
        raise BayesError(f"which column of {source.name} holds the text? --text COLUMN ({', '.join(source.kinds)})")
    return TextColumn.of(source, text)


def open_unlabelled(data: str, text: str | None, named: bool, reading: Reading) -> Any:
    """Documents to predict: a column of a table, the files of a folder, else the lines of a file or of a pipe.

    ``named``: whether the column was named in this very command; then a pipe is a table, too.
    """
    from bayeskit.cli.inputs import open_data
    from bayeskit.data.text.folders import FolderSource, LinesSource, TextColumn

    where = Path(data)
    if where.is_dir() and not (text is not None and _has_tables(where)):
        return FolderSource.of_files(where, encoding=reading.encoding)
    if named or (data != "-" and (_is_table(where) or not where.exists())):
        source = open_data(data, None, reading)
        if text is None:
            raise BayesError(f"which column of {source.name} holds the text? --text COLUMN ({', '.join(source.kinds)})")
        return TextColumn.of(source, text)
    return LinesSource.of(data, encoding=reading.encoding)


def _is_table(path: Path) -> bool:
    return any(suffix.lower() in TABLES for suffix in path.suffixes[-2:])


def _has_tables(folder: Path) -> bool:
    return any(_is_table(file) for file in folder.rglob("*") if file.is_file())


def columns_of(source: Any) -> Any:
    """The columns beside the text; files and lines have none."""
    from bayeskit.data.text.folders import TextColumn

    return source.source.head if isinstance(source, TextColumn) else {}


def show_words(page: Page, model: Any, n: int = 8) -> None:
    """The most telling words of each class, a line a class."""
    page.line("most telling words", style="dim")
    for label, words in telling_records(model, n).items():
        page.line(f"{label}: {', '.join(word['word'] for word in words)}")


def telling_records(model: Any, n: int = 8) -> dict[str, list[dict[str, Any]]]:
    """Class → its most telling words, with counts and evidence."""
    table = model.telling_words(n)
    found: dict[str, list[dict[str, Any]]] = {str(label): [] for label in model.classes_.tolist()}
    columns = [table[name] for name in table.column_names]
    for label, word, count, evidence in zip(*columns, strict=True):
        found[str(label)].append({"word": word, "count": count, "evidence": evidence})
    return found


def show_document(page: Page, found: Any, record: dict[str, Any], shown: int = 20) -> None:
    """Why a document is put in its class: its strongest words."""
    from bayeskit.data.sheet import Figure
    from bayeskit.explain.phrases import chance, signed

    sure = "" if record["probability"] is None else f" with probability {chance(record['probability'])}"
    page.line(f"{record['document']}: {found.label}{sure}", style="bold")
    page.line()
    words = found.words[:shown]
    rest = sum(evidence for _, _, evidence in found.words[shown:])
    names = ["(without words)", *(word for word, _, _ in words)]
    counts = [Figure(""), *(Figure(f"{count:,}") for _, count, _ in words)]
    evidence = [found.base, *(evidence for _, _, evidence in words)]
    if len(found.words) > shown:
        names.append(f"(and {len(found.words) - shown:,} more)")
        counts.append(Figure(""))
        evidence.append(rest)
    page.table({
        "word": names, "count": counts, f"evidence for {found.label}": [Figure(signed(x)) for x in evidence],
    })  # fmt: skip
    scores = "a difference of scores" if record["probability"] is None else "the natural logarithm of the odds"
    if found.undecidable:
        page.line("undecidable: impossible under every class; the words are left out, and the prior alone decides")
    page.line(f"sum: {signed(found.total)}, {scores} {found.label} : {found.other}")
    if not found.words:
        page.line("it has no word that the model knows: the class is what is likely beforehand")
    if found.n_unknown:
        page.line(f"words that the model does not know, and that say nothing: {found.n_unknown:,}")


def document_record(model: Any, found: Any, text: Any, document: str) -> dict[str, Any]:
    """An explanation as plain data."""
    own = model.tally_.classes.index(found.label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndecidableWarning)  # the record tells
        proba = model.predict_proba(text)[0, own].item() if can(model, HasProbabilities) else None
    return {
        "document": document,
        "predicted": found.label,
        "probability": proba,
        "against": found.other,
        "log_odds": found.total,
        "without_words": found.base,
        "words": [{"word": word, "count": count, "log_odds": evidence} for word, count, evidence in found.words],
        "unknown_words": found.n_unknown,
        "undecidable": found.undecidable,
    }


def tell_scores(page: Page, model: Any, method: str) -> None:
    """What is to be known of the scores of some recipes."""
    from bayeskit.models.text.recipes import recipe_named

    if not recipe_named(model.recipe).probabilities:
        page.line(f"log loss and Brier score mean little here: scores of {model.recipe} are no probabilities")
    if method == "leave-one-out" and hasattr(model, "weights_"):
        page.line("the fitted weights are held while a document is left out: a little optimistic")


def documents_of(source: Any, name: str, target: str) -> Any:
    """Documents and classes as an Arrow table, in memory."""
    import pyarrow as pa

    from bayeskit.data.reader import read_batch

    batch = read_batch(source, ["text"])
    return pa.table({name: _plain(batch.columns["text"]), target: _plain(batch.labels)})


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
