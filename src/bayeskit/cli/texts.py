"""Documents and tagged sentences: open, fit, show and explain them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayeskit.cli.console import Page, plural, records_of
from bayeskit.cli.inputs import check_writable, columns_to_keep, first_event, open_data, save_model, watched
from bayeskit.cli.options import Reading, RowOptions
from bayeskit.cli.outputs import check_plot, draw
from bayeskit.errors import BayesError, UndecidableWarning, with_article
from bayeskit.inner_model import reader_of
from bayeskit.lazy import pa
from bayeskit.tables import Figure

if TYPE_CHECKING:
    from bayeskit.cli.commands.fit import DocumentOptions, FitOptions, SentenceOptions

TABLES = (".csv", ".tsv", ".tab", ".parquet", ".pq", ".jsonl", ".ndjson", ".json")


def is_text(model: Any) -> bool:
    """Return True if a model takes documents instead of rows."""
    # By name, so that the module is not imported.
    return type(reader_of(model)).__name__ in ("TextClassifier", "DocumentModel")


def column_of(model: Any) -> str | None:
    """Return the column of documents of a model."""
    column: str | None = reader_of(model).column
    return column


def refuse_text(model: Any, text: str | None, whole_file: bool = False) -> None:
    """Raise an error for ``--text`` or ``--whole-file`` with a model of a table."""
    if text is not None or whole_file:
        option = "--whole-file" if whole_file else "--text"
        raise BayesError(f"{option} is for models of documents, and this is {with_article(type(model).__name__)}")


def open_labeled(data: Sequence[str], text: str | None, target: str, reading: Reading) -> Any:
    """Open labeled documents: two columns of a table, or a folder with one subfolder per class."""
    from bayeskit.data.text.folders import FolderSource

    folders = [path for path in map(Path, data) if path.is_dir() and (text is None or not _has_tables(path))]
    if folders and len(data) > 1:
        raise BayesError(f"{folders[0]} is a folder of classes, which is given alone: put all of them below one folder")
    if folders:
        return FolderSource.of_classes(folders[0], target, encoding=reading.encoding)
    return _text_column(open_data(data, target, reading), text)


def _text_column(source: Any, text: str | None) -> Any:
    from bayeskit.data.text.folders import TextColumn

    if text is None:
        raise BayesError(f"which column of {source.name} holds the text? --text COLUMN ({', '.join(source.kinds)})")
    return TextColumn.of(source, text)


def open_unlabeled(
    data: Sequence[str], text: str | None, named: bool, reading: Reading, whole_file: bool = False
) -> Any:
    """Open documents to predict: a column of tables, the files of folders, else the lines of files or of a pipe.

    ``named``: True if the command names the column; then a pipe is a table, too.
    ``whole_file``: True if each file is one document, whatever its name.
    """
    from bayeskit.data.text.folders import FolderSource, LinesSource

    if whole_file and named:
        raise BayesError("--text names a column of a table, and with --whole-file there is none: leave one of them out")
    if whole_file:
        return FolderSource.of_files(data, encoding=reading.encoding)
    paths = list(map(Path, data))
    if all(path.is_dir() and not (text is not None and _has_tables(path)) for path in paths):
        return FolderSource.of_files(paths, encoding=reading.encoding)
    if named or any(str(path) != "-" and (_is_table(path) or not path.exists()) for path in paths):
        return _text_column(open_data(data, None, reading), text)
    return LinesSource.of(data, encoding=reading.encoding)


def open_with_columns(model: Any, data: Sequence[str], rows: RowOptions, reading: Reading) -> tuple[Any, Any]:
    """Return the documents to predict and a function from a batch of them to the kept columns."""

    source = open_unlabeled(data, rows.text or column_of(model), rows.text is not None, reading, rows.whole_file)
    columns = columns_of(source)
    keep = list(columns) if rows.keep_all else rows.keep or []
    if keep:
        keep = columns_to_keep(source.name, keep, columns)
        source = source.keeping(keep)

    def cells_to_keep(batch: Any) -> dict[str, Any]:
        names = (["file"] if "file" in batch.columns else []) + keep
        if rows.keep_all and not names:  # the line itself
            return {"text": _as_text(batch.columns["text"])}
        return {name: batch.cells_of(name) for name in names}

    return source, cells_to_keep


def _as_text(lines: Any) -> Any:

    try:
        return lines.cast(pa.large_string())
    except pa.ArrowInvalid:  # invalid UTF-8
        return pa.array([line.decode("utf-8", "replace") for line in lines.to_pylist()])


def _is_table(path: Path) -> bool:
    return any(suffix.lower() in TABLES for suffix in path.suffixes[-2:])


def _has_tables(folder: Path) -> bool:
    return any(_is_table(file) for file in folder.rglob("*") if file.is_file())


def columns_of(source: Any) -> Any:
    """Return the columns beside the text; files and lines have none."""
    from bayeskit.data.text.folders import TextColumn

    return source.source.head if isinstance(source, TextColumn) else {}


def show_words(page: Page, model: Any, n: int = 8) -> None:
    """Show the most informative words of each class, one line per class."""
    page.line("most informative words", style="dim")
    for label, words in word_records(model, n).items():
        page.line(f"{label}: {', '.join(word['word'] for word in words)}")


def word_records(model: Any, n: int = 8) -> dict[str, list[dict[str, Any]]]:
    """Return the most informative words of each class, with counts and evidence."""
    words_of: dict[str, list[dict[str, Any]]] = {str(label): [] for label in model.classes_.tolist()}
    for row in records_of(model.telling_words(n)):
        label, word, count, evidence = row.values()
        words_of[str(label)].append({"word": word, "count": count, "evidence": evidence})
    return words_of


def words_of_classes(model: Any, n: int = 8) -> list[dict[str, Any]]:
    """Return the most informative words of each class as plain data."""
    return [{"class": label, "words": words} for label, words in word_records(model, n).items()]


def show_document(page: Page, explanation: Any, record: dict[str, Any], n_words: int = 20) -> None:
    """Explain the class of a document by its strongest words."""
    from bayeskit.explain.evidence import format_log_odds, format_probability

    sure = "" if record["probability"] is None else f" with probability {format_probability(record['probability'])}"
    page.heading(f"{record['document']}: {explanation.label}{sure}")
    rows = [("(without words)", "", explanation.base)]
    rows += [(word, f"{count:,}", evidence) for word, count, evidence in explanation.words[:n_words]]
    if more := explanation.words[n_words:]:
        rows.append((f"(and {len(more):,} more)", "", sum(evidence for _, _, evidence in more)))
    evidence = [Figure(format_log_odds(x)) for _, _, x in rows]
    columns: dict[str, Any] = {"word": [row[0] for row in rows], "count": [Figure(row[1]) for row in rows]}
    page.table(columns | {f"evidence for {explanation.label}": evidence})
    scores = "a difference of scores" if record["probability"] is None else "the natural logarithm of the odds"
    if explanation.undecidable:
        page.line("undecidable: impossible under every class; the words are left out, and the prior alone decides")
    page.line(f"sum: {format_log_odds(explanation.total)}, {scores} {explanation.label} : {explanation.other}")
    if not explanation.words:
        page.line("it has no word that the model knows: the class is what is likely beforehand")
    if explanation.n_unknown:
        page.line(f"words that the model does not know, and that say nothing: {explanation.n_unknown:,}")


def document_record(model: Any, explanation: Any, text: Any, document: str) -> dict[str, Any]:
    """Return an explanation as plain data."""
    class_index = model.tally_.classes.index(explanation.label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndecidableWarning)  # part of the record
        proba = model.predict_proba(text)[0, class_index].item() if hasattr(model, "predict_proba") else None
    return {
        "document": document,
        "predicted": explanation.label,
        "probability": proba,
        "against": explanation.other,
        "log_odds": explanation.total,
        "without_words": explanation.base,
        "words": [{"word": word, "count": count, "log_odds": evidence} for word, count, evidence in explanation.words],
        "unknown_words": explanation.n_unknown,
        "undecidable": explanation.undecidable,
    }


def tell_scores(page: Page, model: Any, method: str) -> None:
    """Note the limitations of the scores of some recipes."""
    if not model.recipe_.has_probabilities:
        page.line(f"log loss and Brier score mean little here: scores of {model.recipe} are not probabilities")
    if method == "leave-one-out" and hasattr(model, "weights_"):
        page.line("the fitted weights are held while a document is left out: a little optimistic")


def documents_of(source: Any, name: str, target: str) -> tuple[Any, Any]:
    """Return documents and classes as an Arrow table in memory, and their weights."""

    from bayeskit.data.reader import read_batch

    batch = read_batch(source, ["text"])
    return pa.table({name: _plain(batch.columns["text"]), target: _plain(batch.labels)}), batch.weights


def _plain(column: Any) -> Any:

    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def fit_documents(
    data: list[str],
    target: str,
    shared: FitOptions,
    options: DocumentOptions,
    reading: Reading,
    gigabytes: float | None,
    json: bool,
) -> None:
    """Fit a TextClassifier, score it and save it."""
    from bayeskit.cli import summary
    from bayeskit.explain.overview import class_records
    from bayeskit.models.text.classifier import TextClassifier

    output, text = shared.output, options.text
    settings = options.settings(shared) | ({} if gigabytes is None else {"memory_limit": gigabytes * 1e9})
    check_writable(output, is_model=True)
    check_plot(shared.plot, data)
    page = Page(json, output=output)
    model = TextClassifier(column=text, **settings)
    model._check_settings()
    source = open_labeled(data, text, target, reading)
    with watched(source, "reading") as documents:
        model.fit_source(documents)
    evaluation = None
    if shared.scores and model.tally_.n_rows > 1 and hasattr(model, "leave_one_out"):
        with watched(source, "leaving each document out") as documents:
            evaluation = model.leave_one_out(documents, None)
    written = save_model(
        model, output, first_event(model, source.name)
    )  # before printing: a closed pipe must not lose the model
    tally = model.tally_
    n = int(tally.n_rows)
    page.line(f"{source.name}: {plural(n, 'document')}, {plural(len(tally.classes), 'class')} of {target}")
    page.line(_what(model))
    page.line()
    summary.show_classes(page, tally)
    if evaluation is not None:
        page.line()
        summary.show_measures(page, evaluation)
        tell_scores(page, model, evaluation.method)
    page.line()
    show_words(page, model)
    page.line()
    page.saved(output, written)
    draw(page, shared.plot, lambda: model.telling_words(12).chart())
    tried = getattr(getattr(model, "linear_", None), "tried", ())  # feature sets of recipe "best"
    page.json(
        {
            "data": source.name,
            "documents": n,
            "target": target,
            "recipe": model.recipe_.name,
            "words": len(model.words_),
            "candidates": records_of(model.candidates_) if hasattr(model, "candidates_") else None,
            "features": [{"features": name, "log loss": loss} for name, loss in tried] or None,
            "drawn": getattr(getattr(model, "linear_", None), "n_drawn", None),
            "classes": class_records(tally),
            "leave_one_out": None if evaluation is None else summary.evaluation_record(evaluation),
            "words_of_classes": words_of_classes(model),
            "model": output,
            "bytes": written,
        }
    )


def _what(model: Any) -> str:
    """Describe the recipe and its choices in words."""

    tokenizer = model.schema_.columns["text"].tokenizer
    unit = "characters" if tokenizer.pattern in ("char", "char_wb") else "words"
    low, high = tokenizer.ngrams
    runs = "" if high == 1 else f", runs of {low} to {high} {unit}"
    if tokenizer.characters is not None:
        runs += ", runs of {} to {} characters".format(*tokenizer.characters)
    counted = plural(len(model.words_), "bucket" if tokenizer.hash_bits else "word")
    chosen = ""
    if hasattr(model, "candidates_") and len(model.candidates_["a"]) > 1:
        w = model.weights_
        chosen = f"; chose a = {w.a:g}, g = {w.g:g}{runs or ' and single words'} of {len(model.candidates_['a'])} tried"
        runs = ""
    name, fitted = model.recipe, model.recipe_
    named = name if name == fitted.name else f"{fitted.name}, chosen by {name}"
    if fitted.name == "best" and fitted.linear is not None:
        first, second = fitted.linear.shares
        chosen += f"; {first:.2f} of the evidence and {second:.2f} of the linear half"
        drawn = fitted.linear.n_drawn
        chosen += "" if drawn is None else f", fitted on {drawn:,} documents drawn at random"
        losses = ", ".join(f"{loss:.4f} with {name}" for name, loss in fitted.linear.tried)
        chosen += f"; log loss on folds {losses}" if losses else ""
    return f"recipe {named}: {counted}{runs}{chosen}"


def fit_sentences(data: list[str], shared: FitOptions, options: SentenceOptions, reading: Reading, json: bool) -> None:
    """Fit a Tagger and save it."""
    from bayeskit.data.text.folders import LinesSource
    from bayeskit.data.text.tagged import read_tagged
    from bayeskit.models.tagger import Tagger

    output = shared.output
    check_writable(output, is_model=True)
    page = Page(json, output=output)
    model = Tagger() if options.own_states is None else Tagger(own_states=options.own_states)
    with watched(LinesSource.of(data, encoding=reading.encoding), "reading") as lines:
        read = read_tagged(lines)
    if read.tags is None:
        raise BayesError(f"the words of {read.name} have no tags (they are in the fourth field of CoNLL-U)")
    fine = read.fine if options.fine else None
    model.fit(read.words, read.tags, fine)
    written = save_model(model, output, first_event(model, read.name))
    n_words, n_tags = int(model.tally_.n_rows), len(model.classes_)
    page.line(f"{read.name}: {plural(len(read.words), 'sentence')}, {plural(n_words, 'word')}, {plural(n_tags, 'tag')}")
    what = f"{plural(len(model.states_), 'state')}: tags"
    what += ", finer tags within them" if fine is not None else ""
    page.line(what + (f", and {plural(len(model.own_states_), 'common word')}" if model.own_states_ else ""))
    page.line()
    page.table(shares(model))
    page.line()
    page.saved(output, written)
    page.json(record(model) | {"data": read.name, "sentences": len(read.words), "model": output, "bytes": written})


def shares(model: Any) -> dict[str, list[Any]]:
    """Return the tags in decreasing frequency, and their shares."""
    from bayeskit.explain.overview import percent

    counts = dict(zip(model.tally_.classes, model.tally_.class_counts.tolist(), strict=True))
    tags, n = sorted(counts, key=counts.__getitem__, reverse=True), sum(counts.values())
    shares = [percent(counts[tag] / n) for tag in tags]
    return {"tag": tags, "words": [f"{counts[tag]:,}" for tag in tags], "share": shares}


def record(model: Any) -> dict[str, Any]:
    """Return a tagger as plain data."""
    counts = dict(zip(map(str, model.tally_.classes), model.tally_.class_counts.tolist(), strict=True))
    states = {"states": len(model.states_), "own_states": list(model.own_states_)}
    return {"words": int(model.tally_.n_rows), "tags": counts, **states}
