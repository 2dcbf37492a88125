"""``bayes tag``: tag the words of sentences, one line per sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bayeskit.cli.options import JSON, MODEL, argument, option


def command(
    model: str = MODEL,
    data: list[str] = argument("FILE...", "Text with one sentence per line, or .conllu files; - for stdin."),
    encoding: str | None = option("--encoding", "NAME", "Encoding of text that is not UTF-8, such as cp1252."),
    json: bool = JSON,
) -> None:
    """Tag the words of sentences (bayes fit --tags).

    Prints word/TAG pairs, one line per sentence; lines of a pipe are tagged as
    they arrive. The words of a .conllu file are kept; if it has tags, the accuracy
    is printed on stderr.

    \b
    Examples:
      bayes fit train.conllu --tags -o english.bayes
      echo "The old man the boat." | bayes tag english.bayes -
      bayes tag english.bayes test.conllu > tagged.txt
    """
    import json as json_module

    from bayeskit.cli.inputs import load_model
    from bayeskit.errors import BayesError, with_article
    from bayeskit.models.tagger import Tagger
    from bayeskit.printable import printable, printable_json

    fitted = load_model(model)
    if not isinstance(fitted, Tagger):
        raise BayesError(f"{model} holds {with_article(type(fitted).__name__)}, which tags no words: bayes fit --tags")
    in_terminal = sys.stdout.isatty()
    for words, tags in _tagged(fitted, data, encoding):
        if json:
            record = json_module.dumps({"words": words, "tags": tags}, ensure_ascii=False)
            print(printable_json(record), flush=in_terminal)
        else:
            print(" ".join(f"{printable(word)}/{printable(tag)}" for word, tag in zip(words, tags, strict=True)))
    sys.stdout.flush()


def _tagged(model: Any, data: list[str], encoding: str | None) -> Any:
    """Yield (words, tags) of each sentence; those of a pipe are streamed."""
    from bayeskit.data.text.folders import LinesSource
    from bayeskit.data.text.tagged import read_tagged

    if any(".conllu" in Path(path).suffixes for path in data):
        read = read_tagged(data, encoding=encoding)
        words = read.words.to_pylist()
        yield from zip(words, model.predict(read.words), strict=True)
        if read.tags is not None:
            tell(model.report(read.words, read.tags))
        return
    for batch in LinesSource.of(data, encoding=encoding).batches():
        lines = [line.decode("utf-8", "replace") for line in batch.columns["text"].to_pylist()]
        words = [model.tokenize(line) for line in lines]
        yield from zip(words, model.predict(words), strict=True)
        sys.stdout.flush()


def tell(report: Any) -> None:
    """Print the accuracy of the tags on stderr."""
    from bayeskit.explain.overview import percent

    shares = [f"{percent(report.accuracy)} of {report.n_words:,} words right"]
    if report.n_unknown:
        shares.append(f"{percent(report.unknown_accuracy)} of {report.n_unknown:,} not seen in training")
    shares.append(f"{percent(report.sentence_accuracy)} of {report.n_sentences:,} sentences all right")
    print(", ".join(shares), file=sys.stderr)
