"""``bayes topics``: find the topics of documents."""

from __future__ import annotations

import sys
from typing import Any

from bayeskit.cli.options import JSON, WHOLE_FILE, Reading, argument, choice, grouped, option, option_group
from bayeskit.cli.outputs import PLOT, check_plot, draw

ORDERS = ("relevance", "probability", "lift")  # as in topics/measures.py, which imports NumPy


@option_group
class TopicOptions:
    """Options for finding and showing topics."""

    n_topics: int = option("--topics -k", "K", "Number of topics.", 20, min=1, max=65535)
    text: str | None = option("--text", "COLUMN", "Column with the text, for a table.")
    whole_file: bool = WHOLE_FILE
    sweeps: int = option("--sweeps", "N", "Number of Gibbs sampling sweeps.", 300, min=1, max=1_000_000)
    seed: int = option("--seed", "N", "Random seed.", 0, min=0)
    min_df: int = option("--min-df", "N", "Ignore words in fewer documents.", 2, min=1)
    max_df: float = option(
        "--max-df", "SHARE", "Ignore words in a larger share of the documents.", 0.5, min=0.0, max=1.0
    )
    keep_stop_words: bool = option("--keep-stop-words", None, "Keep English stop words.", False)
    words: int = option("--words", "N", "Number of words to show per topic.", 10, min=1)
    by: str = choice("--by", "Order of the words of a topic.", " ".join(ORDERS), "relevance")
    output: str | None = option("--output -o", "FILE", "Save the model to a .bayes file.")


@grouped
def command(
    data: list[str] = argument(
        "DATA", "Text with one document per line, folders of files, or a table with --text; - for stdin."
    ),
    *,
    options: TopicOptions,
    reading: Reading,
    plot: str | None = PLOT,
    json: bool = JSON,
) -> None:
    """Find topics in documents, and show the words of each.

    Documents are the lines of text files, the files of folders, or a column of
    a table. Prints one line per topic, the largest first: its share of all words,
    its coherence (npmi, from -1 to 1) and its most relevant words. With -o the
    model is saved; bayes inspect shows it again.

    \b
    Examples:
      bayes topics news.csv --text body -k 30 -o news.bayes
      bayes topics letters/ -k 10 --words 6 --plot topics.svg
    """
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import check_writable, first_event, save_model
    from bayeskit.data.text.tokenizer import Tokenizer
    from bayeskit.topics.topic_model import TopicModel

    output = options.output
    check_plot(plot, data)
    if output is not None:
        check_writable(output, is_model=True)
    page = Page(json, output=output)
    name, documents = _documents(data, options, reading)
    settings: dict[str, Any] = {"min_df": options.min_df, "max_df": options.max_df, "random_state": options.seed}
    settings |= {"tokenizer": Tokenizer() if options.keep_stop_words else None, "progress": sys.stderr.isatty()}
    model = TopicModel(options.n_topics, options.sweeps, **settings).fit(documents)
    written = 0 if output is None else save_model(model, output, first_event(model, name))
    coherence = model.coherence(documents)
    page.line(
        f"{name}: {plural(model.n_documents_, 'document')}, {plural(model.n_tokens_, 'word')}, "
        f"{len(model.words_):,} different, {plural(options.n_topics, 'topic')}"
    )
    page.line()
    show_topics(page, model, options.words, options.by, coherence)
    if output is not None:
        page.line()
        page.saved(output, written)
    draw(page, plot, lambda: model.table(options.words, options.by).chart())
    fit_record = {"data": name, "documents": model.n_documents_, "model": output, "bytes": written or None}
    page.json(fit_record | topic_record(model, options.words, options.by, coherence))


def _documents(data: list[str], options: TopicOptions, reading: Reading) -> tuple[str, Any]:
    """Return the name of the documents and the documents."""
    from bayeskit.cli import texts
    from bayeskit.cli.inputs import watched
    from bayeskit.data.reader import read_batch
    from bayeskit.data.text.documents import Documents

    source = texts.open_unlabeled(data, options.text, options.text is not None, reading, options.whole_file)
    with watched(source, "reading") as read:
        column = read_batch(read, ["text"]).columns["text"]
    return source.name, Documents.of(column).as_they_are()


def show_topics(page: Any, model: Any, n: int, by: str, coherence: Any = None) -> None:
    """Show one line per topic, the largest first: its number and share, then its words, wrapped."""
    import textwrap

    shares, words = model.topic_shares_, model.top_words(n, by)
    page.line(f"topic   share{'' if coherence is None else '  npmi'}  words", style="dim")
    for k in sorted(range(len(words)), key=lambda k: -shares[k]):
        joined = "" if coherence is None else f"{coherence[k]:6.2f}".replace("nan", "  –")
        head = f"{k:>5}  {100 * shares[k]:5.1f}%{joined}  "
        room = max(page.width - len(head), 20)
        first, *rest = textwrap.wrap(" ".join(words[k]), room) or [""]
        page.lines([head + first, *(" " * len(head) + line for line in rest)])


def topic_record(model: Any, n: int, by: str, coherence: Any = None) -> dict[str, Any]:
    """Return topics as plain data, by number."""
    shares = model.topic_shares_
    return {
        "words": model.n_tokens_,
        "vocabulary": len(model.words_),
        "log_likelihood": model.log_likelihood_,
        "topics": [
            {
                "topic": k,
                "share": shares[k],
                "prior": model.alpha_[k],
                "coherence": None if coherence is None else coherence[k],
                "words": [one._asdict() for one in model.topic(k, n, by)],
            }
            for k in range(len(shares))
        ],
    }


def inspect_model(page: Any, path: str, fitted: Any, column: str | None, plot: str | None) -> None:
    """Show a topic model: its topics and their words."""
    from bayeskit.cli.console import plural
    from bayeskit.errors import BayesError

    if column is not None:
        raise BayesError(f"{path} holds a TopicModel, which knows words and no columns")
    documents, words = plural(fitted.n_documents_, "document"), plural(fitted.n_tokens_, "word")
    page.heading(f"{path}: TopicModel, {documents}, {words}, {len(fitted.words_):,} different")
    show_topics(page, fitted, 10, "relevance")
    draw(page, plot, fitted.table().chart)
    page.json({"model": "TopicModel", "documents": fitted.n_documents_} | topic_record(fitted, 10, "relevance"))
