"""``bayes fit``: fit a classifier to a file, score it and save it.

Each kind of data has a module with its group of options; a new kind needs a module and two lines here.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from bayeskit.cli.commands.fit.from_documents import DocumentOptions, SentenceOptions, fit_documents, fit_sentences
from bayeskit.cli.commands.fit.from_sequences import SequenceOptions, fit_sequences
from bayeskit.cli.commands.fit.from_tables import TableOptions, fit_table
from bayeskit.cli.commands.fit.shared import DEFAULT, Shared
from bayeskit.cli.options import Data, Json, Reading, given, grouped


@grouped
def command(
    data: Data,
    shared: Shared,
    tables: TableOptions,
    documents: DocumentOptions,
    sentences: SentenceOptions,
    sequences: SequenceOptions,
    reading: Reading,
    json: Json = False,
) -> None:
    """Learn a classifier from a file, score it and keep it.

    Every column but the target is learnt from: text as categories, numbers as
    numbers. Each row is scored by the model without it: exactly for naive; where
    something has seen the row all the same, such as a learnt tree, that is said;
    scores of best are a little optimistic, and subclass has none.
    naive reads the rows one by one, whatever their number; best is the strongest
    and keeps all rows in memory.
    With --text, or on a folder with one sub-folder of files for each class,
    the words of documents are learnt from. With --tags, a tagger of the words of
    sentences is learnt, from CoNLL-U or lines of word/TAG; see bayes tag.
    With --sequence, rows follow one another: hidden states are found (--states) or
    counted (the target is the state of each row); where the target is the same in
    all rows of every sequence, the class of whole sequences is learnt.

    \b
    Examples:
      bayes fit birds.csv --target species --role year=ignore -o birds.bayes
      bayes fit parts/*.csv --target species
      bayes fit mail.csv --text body --target kind -o mail.bayes
      bayes fit newsgroups/ -o news.bayes
      bayes fit train.conllu --tags -o english.bayes
      bayes fit days.csv --sequence town --order day --states 2 -o weather.bayes
      bayes fit frames.csv --sequence word --states 4 --target said -o words.bayes
    """
    if sequences.sequence is not None:
        rest = replace(shared, target=None, output=DEFAULT, smoothing=None, prior=None, scores=True)
        for group in (documents, sentences, replace(tables, role=None, numeric=None, unseen=None), rest):
            _refuse(group, "does not go with --sequence")
        fit_sequences(data, shared, sequences, tables, reading, json)
        return
    _refuse(sequences, "is for sequences: name the column that says to which one a row belongs with --sequence")
    if sentences.tags:
        for options in (tables, documents, replace(shared, output=DEFAULT)):
            _refuse(options, "does not go with --tags")
        fit_sentences(data, shared, sentences, reading, json)
        return
    _refuse(sentences, "is for tagged sentences: add --tags")
    is_folder = len(data) == 1 and Path(data[0]).is_dir()
    of_documents = documents.text is not None or (shared.target is None and is_folder)
    if of_documents:
        _refuse(replace(tables, memory_limit=None), "is for tables, and these are documents")
    else:
        _refuse(documents, "is for documents: name their column with --text, or give a folder of classes")
    if shared.target is None and not (of_documents and is_folder):
        raise typer.BadParameter("it is missing: name the column that holds the class", param_hint="--target")
    if of_documents:
        fit_documents(data, shared.target or "class", shared, documents, reading, tables.memory_limit, json)
    else:
        fit_table(data, str(shared.target), shared, tables, reading, json)


def _refuse(options: Any, why: str) -> None:
    """Raise an error for options that do not apply to the data."""
    for names, _ in given(options):
        raise typer.BadParameter(why, param_hint=names[0])
