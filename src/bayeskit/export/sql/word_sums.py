"""Sums over the words of documents, which a table has one to a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayeskit.dialects import syntax
from bayeskit.dialects.dialect import Dialect
from bayeskit.dialects.syntax import Node
from bayeskit.errors import BayesError
from bayeskit.export.scoring_form import WordsTerm
from bayeskit.export.sql.lookups import Key, Lookup, double
from bayeskit.export.sql.read_cells import storable

Step = tuple[str, tuple[str, ...], Node]


@dataclass(frozen=True)
class WordTable:
    """A table that has the words of documents, cut as the model cuts them: a row for each document and word.

    table: its name, as SQL writes it. word: the column with the word. count: that with the number of times it stands in
    the document; None where each row is one occurrence. keys: the columns that say which document it is, in the order
    of the query's keys; None where they have the same names.
    """

    table: str | tuple[str, ...]
    word: str = "word"
    count: str | None = None
    keys: tuple[str, ...] | None = None


def word_tables(words: Any, texts: Sequence[str]) -> dict[str, WordTable]:
    """The table of each text, as a user names them: one for the only text, or a mapping from columns.

    >>> word_tables("words", ["review"])["review"].word
    'word'
    """
    if words is None:
        return {}
    given = words if isinstance(words, Mapping) else dict.fromkeys(texts[:1], words)
    if not isinstance(words, Mapping) and len(texts) != 1:
        raise BayesError(
            f"words={words!r}: the model reads {len(texts)} columns of text"
            + (f", name a table for each of {', '.join(texts)}" if texts else "")
        )
    if unknown := [name for name in given if name not in texts]:
        raise BayesError(f"words= names {unknown[0]!r}, which is no text of the model", culprit=unknown[0])
    return {name: table if isinstance(table, WordTable) else WordTable(table) for name, table in given.items()}


def word_sums(term: WordsTerm, alias: str, words: WordTable, keys: Sequence[str], dialect: Dialect) -> list[Step]:
    """Steps; the last one, ``alias``, has for each document with known words the sum of each class and their number."""
    exp = syntax.sqlglot().exp
    theirs = tuple(words.keys or keys)
    names = [f"k{i}" for i in range(len(keys))]
    n_classes = term.weights.shape[1]
    table, bags = f"{alias}_words", f"{alias}_bags"
    known = [i for i, word in enumerate(term.words) if storable(word, dialect)]
    scores = {f"s{c}": term.weights[known, c] for c in range(n_classes)}
    if term.repeats is not None:
        scores |= {f"r{c}": term.repeats[known, c] for c in range(n_classes)}
    if term.shares is not None:
        single = np.where(term.shares.runs, 0.0, 1.0)[known]
        for part, is_in in (("w", single), ("m", 1.0 - single)):
            scores |= {f"{part}{c}": is_in * term.shares.scores[known, c] for c in range(n_classes)}
            scores[f"{part}q"] = is_in * term.shares.lengths[known]
    lookup = Lookup({"v": Key("text", [term.words[i] for i in known])}, scores)
    steps: list[Step] = [(table, lookup.columns, lookup.body(dialect))]

    word = dialect.text(syntax.column("w", words.word))
    n = exp.Count(this=exp.Star()) if words.count is None else exp.Sum(this=syntax.column("w", words.count))
    chosen = [syntax.named(syntax.column("w", key), name) for key, name in zip(theirs, names, strict=True)]
    bag = exp.Select(expressions=[*chosen, syntax.named(word, "word"), syntax.named(syntax.cast(n, "double"), "n")])
    bag = bag.from_(syntax.table_name(words.table, "w"))
    bag.set("group", exp.Group(expressions=[*(syntax.column("w", key) for key in theirs), word.copy()]))
    steps.append((bags, (), bag))

    sums = [syntax.named(syntax.column("g", name), name) for name in names]
    sums += [syntax.named(exp.Sum(this=_said(term, c, table, dialect)), f"s{c}") for c in range(n_classes)]
    sums.append(syntax.named(exp.Count(this=exp.Star()), "u"))
    if term.shares is not None:
        sums += [syntax.named(exp.Sum(this=node), name) for name, node in _shares(n_classes, table, dialect).items()]
    select = exp.Select(expressions=sums).from_(syntax.table_name((bags,), "g"))
    on = syntax.compared(syntax.column("g", "word"), "=", syntax.column(table, "v"))
    select = select.join(syntax.table_name((table,)), on=on, join_type="inner", copy=False)
    select.set("where", exp.Where(this=syntax.compared(syntax.column("g", "n"), ">", double(0.0, dialect))))
    select.set("group", exp.Group(expressions=[syntax.column("g", name) for name in names]))
    steps.append((alias, (), select))
    return steps


def _shares(n_classes: int, table: str, dialect: Dialect) -> dict[str, Node]:
    """What one word adds to the sums of single words (w) and of runs (m), and to the squares of their lengths."""
    by = syntax.plus(double(1.0, dialect), syntax.called("LN", syntax.column("g", "n")))
    added: dict[str, Node] = {}
    for part in ("w", "m"):
        for c in range(n_classes):
            added[f"{part}{c}"] = syntax.times(by.copy(), syntax.column(table, f"{part}{c}"))
        length = syntax.times(by.copy(), syntax.column(table, f"{part}q"))
        added[f"{part}q"] = syntax.times(length, length.copy())
    return added


def _said(term: WordsTerm, c: int, table: str, dialect: Dialect) -> Node:
    """What one word of a document adds to a class."""
    weight = syntax.column(table, f"s{c}")
    if term.repeats is not None:
        log_n = syntax.called("LN", syntax.column("g", "n"))
        once = syntax.times(syntax.plus(double(1.0, dialect), log_n), weight)
        return syntax.plus(once, syntax.times(log_n.copy(), syntax.column(table, f"r{c}")))
    return weight if term.presence else syntax.times(syntax.column("g", "n"), weight)
