"""``bayes fit`` on documents: a folder with one sub-folder a class, or the text column of a table."""

from __future__ import annotations

import sys
from typing import Any

import typer

from bayeskit.capabilities import LeavesOut, can


def fit_text(
    data: str,
    text: str | None,
    target: str,
    output: str,
    settings: dict[str, Any],
    scores: bool,
    json: bool,
    reading: tuple[Any, ...],
) -> None:
    """Learn a TextClassifier, score it and keep it."""
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import check_writable, save_model, watched
    from bayeskit.cli.wording import plural, size_of
    from bayeskit.models.text.classifier import TextClassifier

    check_writable(output, is_model=True)
    page = Page(json, sys.stderr if output == "-" else None)
    model = TextClassifier(column=text, **settings)
    model.check_settings()
    source = texts.open_labelled(data, text, target, reading)
    with watched(source, "reading") as documents:
        model.fit_source(documents)
    found = None
    if scores and model.tally_.n_rows > 1 and can(model, LeavesOut):
        with watched(source, "leaving each document out") as documents:
            found = model.leave_one_out(documents, None)
    written = save_model(model, output)  # before anything is printed: a closed pipe loses no model
    tally = model.tally_
    n = int(tally.n_rows)
    page.line(f"{source.name}: {plural(n, 'document')}, {plural(len(tally.classes), 'class')} of {target}")
    page.line(_what(model))
    page.line()
    summary.show_classes(page, tally)
    if found is not None:
        page.line()
        summary.show_measures(page, found)
        texts.tell_scores(page, model, found.method)
    page.line()
    texts.show_words(page, model)
    page.line()
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
    page.json(
        {
            "data": source.name,
            "documents": n,
            "target": target,
            "recipe": model.recipe,
            "words": len(model.words_),
            "candidates": candidate_records(model),
            "classes": dict(zip(map(str, tally.classes), tally.class_counts.tolist(), strict=True)),
            "leave_one_out": None if found is None else summary.evaluation_record(found),
            "telling": texts.telling_records(model),
            "model": output,
            "bytes": written,
        }
    )


def candidate_records(model: Any) -> list[dict[str, Any]] | None:
    """What weighted evidence tried, with the leave-one-out log loss of each."""
    if not hasattr(model, "candidates_"):
        return None
    table = model.candidates_
    rows = zip(*(table[name] for name in table.column_names), strict=True)
    return [dict(zip(table.column_names, row, strict=True)) for row in rows]


def _what(model: Any) -> str:
    """The recipe in words, and what it chose."""
    from bayeskit.cli.wording import plural

    tokenizer = model.schema_.columns["text"].tokenizer
    unit = "characters" if tokenizer.pattern in ("char", "char_wb") else "words"
    low, high = tokenizer.ngrams
    runs = "" if high == 1 else f", runs of {low} to {high} {unit}"
    counted = plural(len(model.words_), "bucket" if tokenizer.hash_bits else "word")
    chosen = ""
    if hasattr(model, "candidates_") and len(model.candidates_["a"]) > 1:
        w = model.weights_
        chosen = f"; chose a = {w.a:g}, g = {w.g:g}{runs or ' and single words'} of {len(model.candidates_['a'])} tried"
        runs = ""
    return f"recipe {model.recipe}: {counted}{runs}{chosen}"


def settings_of(
    recipe: str | None,
    smoothing: str | None,
    prior: str | None,
    pattern: str | None,
    ngrams: str | None,
    hash_bits: int | None,
) -> dict[str, Any]:
    """Settings of a TextClassifier; what was not said is the recipe's own."""
    given: dict[str, Any] = {"recipe": recipe, "prior": prior, "pattern": pattern, "hash_bits": hash_bits}
    given["smoothing"] = amount(smoothing)
    given["ngrams"] = None if ngrams is None else _runs(ngrams)
    return {name: value for name, value in given.items() if value is not None}


def amount(smoothing: str | None) -> Any:
    """The number that was written, or "auto"."""
    if smoothing is None or smoothing == "auto":
        return smoothing
    try:
        return float(smoothing)
    except ValueError:
        raise typer.BadParameter(f"{smoothing!r} is neither a number nor auto", param_hint="--smoothing") from None


def _runs(text: str) -> tuple[int, int]:
    low, sign, high = text.partition("-")
    try:
        return (int(low), int(high)) if sign else (1, int(low))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number and no LOW-HIGH, such as 1-2", param_hint="--ngrams") from None
