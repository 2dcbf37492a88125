"""``bayes fit --tags``: learn a tagger from tagged sentences."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bayeskit.cli.commands.fit.shared import Shared
from bayeskit.cli.options import Reading


@dataclass(frozen=True)
class SentenceOptions:
    """What is learnt of sentences."""

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
    """Learn a Tagger and keep it."""
    from bayeskit.cli.console import Page
    from bayeskit.cli.inputs import check_writable, save_model, watched
    from bayeskit.cli.wording import plural, size_of
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
    """The tags, the commonest first, and their shares."""
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
    """What a tagger holds, as plain data."""
    counts = dict(zip(map(str, model.tally_.classes), model.tally_.class_counts.tolist(), strict=True))
    return {
        "words": int(model.tally_.n_rows),
        "tags": counts,
        "states": len(model.states_),
        "own_states": list(model.own_states_),
    }
