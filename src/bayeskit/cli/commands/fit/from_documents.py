"""Fit documents and tagged sentences."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayeskit.cli.commands.fit.shared import Shared
from bayeskit.cli.options import Reading
from bayeskit.cli.outputs import check_plot, plot


@dataclass(frozen=True)
class DocumentOptions:
    """Options for documents; the recipe gives the defaults."""

    text: Annotated[
        str | None, typer.Option("--text", metavar="COLUMN", help="Classify documents: the column that holds the text.")
    ] = None
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", metavar="NAME", help="Of documents: auto, best, fast, multinomial, ..."),
    ] = None
    pattern: Annotated[
        str | None,
        typer.Option("--pattern", metavar="PATTERN", help="Of documents: words, words1, char, ..., or an expression."),
    ] = None
    ngrams: Annotated[
        str | None,
        typer.Option("--ngrams", metavar="N|LOW-HIGH", help="Of documents: count runs of words, such as 1-2."),
    ] = None
    characters: Annotated[
        str | None,
        typer.Option(
            "--characters",
            metavar="LOW-HIGH|auto",
            help="Of documents: count runs of characters inside words too, such as 3-5.",
        ),
    ] = None
    hash_bits: Annotated[
        int | None,
        typer.Option("--hash-bits", metavar="BITS", help="Of documents: bound the memory to 2^BITS words."),
    ] = None

    def settings(self, shared: Shared) -> dict[str, Any]:
        """Return the settings of a TextClassifier."""
        given: dict[str, Any] = {"recipe": self.recipe, "prior": shared.class_prior, "pattern": self.pattern}
        given |= {"hash_bits": self.hash_bits, "smoothing": shared.amount, "unlabelled": shared.unlabelled}
        given["ngrams"] = None if self.ngrams is None else _runs(self.ngrams, "--ngrams")
        given["characters"] = (
            self.characters if self.characters in (None, "auto") else _runs(self.characters, "--characters")
        )
        return {name: value for name, value in given.items() if value is not None}


def fit_documents(
    data: list[str],
    target: str,
    shared: Shared,
    options: DocumentOptions,
    reading: Reading,
    gigabytes: float | None,
    json: bool,
) -> None:
    """Fit a TextClassifier, score it and save it."""
    from bayeskit.cli import summary, texts
    from bayeskit.cli.console import Page, plural, size_of
    from bayeskit.cli.inputs import check_writable, save_model, watched
    from bayeskit.models.text.classifier import TextClassifier

    output, text = shared.output, options.text
    settings = options.settings(shared) | ({} if gigabytes is None else {"memory_limit": gigabytes * 1e9})
    check_writable(output, is_model=True)
    check_plot(shared.plot, data)
    page = Page(json, sys.stderr if output == "-" else None)
    model = TextClassifier(column=text, **settings)
    model._check_settings()
    source = texts.open_labelled(data, text, target, reading)
    with watched(source, "reading") as documents:
        model.fit_source(documents)
    evaluation = None
    if shared.scores and model.tally_.n_rows > 1 and hasattr(model, "leave_one_out"):
        with watched(source, "leaving each document out") as documents:
            evaluation = model.leave_one_out(documents, None)
    written = save_model(model, output)  # before printing: a closed pipe must not lose the model
    tally = model.tally_
    n = int(tally.n_rows)
    page.line(f"{source.name}: {plural(n, 'document')}, {plural(len(tally.classes), 'class')} of {target}")
    page.line(_what(model))
    page.line()
    summary.show_classes(page, tally)
    if evaluation is not None:
        page.line()
        summary.show_measures(page, evaluation)
        texts.tell_scores(page, model, evaluation.method)
    page.line()
    texts.show_words(page, model)
    page.line()
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
    plot(page, shared.plot, lambda: model.telling_words(12).chart())
    page.json(
        {
            "data": source.name,
            "documents": n,
            "target": target,
            "recipe": model.recipe_.name,
            "words": len(model.words_),
            "candidates": candidate_records(model),
            "features": feature_records(model),
            "drawn": getattr(getattr(model, "linear_", None), "n_drawn", None),
            "classes": dict(zip(map(str, tally.classes), tally.class_counts.tolist(), strict=True)),
            "leave_one_out": None if evaluation is None else summary.evaluation_record(evaluation),
            "column_importance": texts.telling_records(model),
            "model": output,
            "bytes": written,
        }
    )


def candidate_records(model: Any) -> list[dict[str, Any]] | None:
    """Return the candidates of weighted evidence, with the leave-one-out log loss of each."""
    if not hasattr(model, "candidates_"):
        return None
    table = model.candidates_
    rows = zip(*(table[name] for name in table.column_names), strict=True)
    return [dict(zip(table.column_names, row, strict=True)) for row in rows]


def feature_records(model: Any) -> list[dict[str, Any]] | None:
    """Return the feature sets tried by recipe "best", with their cross-validated log loss; None if there was no
    choice."""
    tried = getattr(getattr(model, "linear_", None), "tried", ())
    return [{"features": name, "log loss": loss} for name, loss in tried] or None


def _what(model: Any) -> str:
    """Describe the recipe and its choices in words."""
    from bayeskit.cli.console import plural

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


def _runs(text: str, option: str) -> tuple[int, int]:
    low, sign, high = text.partition("-")
    try:
        return (int(low), int(high)) if sign else (1, int(low))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number and no LOW-HIGH, such as 1-2", param_hint=option) from None


@dataclass(frozen=True)
class SentenceOptions:
    """Options for sentences."""

    tags: Annotated[bool, typer.Option("--tags", help="Learn to tag words, from CoNLL-U or lines of word/TAG.")] = False
    own_states: Annotated[
        int | None,
        typer.Option(
            "--own-states", metavar="N", min=0, help="Of tags: how many common words are states of their own."
        ),
    ] = None
    fine: Annotated[
        bool, typer.Option("--fine/--no-fine", help="Of tags: go by the finer tags that CoNLL-U has beside them.")
    ] = True


def fit_sentences(data: list[str], shared: Shared, options: SentenceOptions, reading: Reading, json: bool) -> None:
    """Fit a Tagger and save it."""
    from bayeskit.cli.console import Page, plural, size_of
    from bayeskit.cli.inputs import check_writable, save_model, watched
    from bayeskit.data.text.folders import LinesSource
    from bayeskit.data.text.tagged import read_tagged
    from bayeskit.errors import BayesError
    from bayeskit.models.tagger import Tagger

    output = shared.output
    check_writable(output, is_model=True)
    page = Page(json, sys.stderr if output == "-" else None)
    model = Tagger() if options.own_states is None else Tagger(own_states=options.own_states)
    with watched(LinesSource.of(data, encoding=reading.encoding), "reading") as lines:
        read = read_tagged(lines)
    if read.tags is None:
        raise BayesError(f"the words of {read.name} have no tags (they are in the fourth field of CoNLL-U)")
    fine = read.fine if options.fine else None
    model.fit(read.words, read.tags, fine)
    written = save_model(model, output)
    n_words, n_tags = int(model.tally_.n_rows), len(model.classes_)
    page.line(f"{read.name}: {plural(len(read.words), 'sentence')}, {plural(n_words, 'word')}, {plural(n_tags, 'tag')}")
    what = f"{plural(len(model.states_), 'state')}: tags"
    what += ", finer tags within them" if fine is not None else ""
    page.line(what + (f", and {plural(len(model.own_states_), 'common word')}" if model.own_states_ else ""))
    page.line()
    page.table(shares(model))
    page.line()
    page.line(f"model written to {'stdout' if output == '-' else output} ({size_of(written)})", style="bold")
    page.json(record(model) | {"data": read.name, "sentences": len(read.words), "model": output, "bytes": written})


def shares(model: Any) -> dict[str, list[Any]]:
    """Return the tags in decreasing frequency, and their shares."""
    from bayeskit.explain.overview import percent

    counts = dict(zip(model.tally_.classes, model.tally_.class_counts.tolist(), strict=True))
    tags = sorted(counts, key=counts.__getitem__, reverse=True)
    n = sum(counts.values())
    return {
        "tag": tags,
        "words": [f"{counts[tag]:,}" for tag in tags],
        "share": [percent(counts[tag] / n) for tag in tags],
    }


def record(model: Any) -> dict[str, Any]:
    """Return a tagger as plain data."""
    counts = dict(zip(map(str, model.tally_.classes), model.tally_.class_counts.tolist(), strict=True))
    return {
        "words": int(model.tally_.n_rows),
        "tags": counts,
        "states": len(model.states_),
        "own_states": list(model.own_states_),
    }
