"""Shared code of ``learn`` and ``forget``: read, change and write back a model."""

from __future__ import annotations

import sys
from typing import Any

from bayeskit.cli.options import Reading
from bayeskit.errors import BayesError, with_article
from bayeskit.storage.files import LOCK_TIMEOUT

DOING = {
    "learn": ("learning", "+", "learn_source"),
    "forget": ("forgetting", "−", "forget_source"),
}


def change(
    action: str,
    path: str,
    data: list[str],
    output: str | None,
    as_json: bool,
    reading: Reading,
    text: str | None = None,
    wait: float = LOCK_TIMEOUT,
    drop_unlabelled: bool = False,
    weight: str | None = None,
) -> None:
    """Learn or forget the rows of a file."""
    from bayeskit.cli import texts
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import check_writable, rewriting
    from bayeskit.cli.of_sequences import how_many, is_of_sequences, is_of_whole_sequences
    from bayeskit.cli.saved_models import refuse_no_classes

    where = output or path
    page = Page(as_json, sys.stderr if where == "-" else None)
    doing, sign, method = DOING[action]
    with rewriting(path, output, wait) as model:
        refuse_no_classes(model, path)
        check_writable(where, is_model=True)
        if of_sequences := is_of_sequences(model):
            texts.refuse_text(model, text)
            before = how_many(model)
            _move_sequences(model, path, action, data, reading)
            after = how_many(model)
        if not of_sequences and not hasattr(model, method):
            of_texts = texts.is_text(model)
            recipe = getattr(model, "recipe", None)
            who = f"recipe {recipe}" if recipe else f"{path}: {with_article(type(model).__name__)}"
            rows = "documents" if of_texts else "rows"
            refusal = (
                f"learn more: fit it again with all {rows}"
                if action == "learn"
                else f"forget: fit it without those {rows}"
            )
            raise BayesError(f"{who} cannot {refusal}")
        if not of_sequences:
            before, after = _move_rows(model, action, doing, data, text, reading, drop_unlabelled, weight)
    before, after = (int(n) if n == int(n) else n for n in (before, after))
    moved = abs(after - before)
    what = "sequence" if of_sequences and is_of_whole_sequences(model) else "row"
    page.line(f"{where}: {before:,} {sign} {moved:,} = {plural(after, what)}")
    page.json({"model": where, "before": before, action: moved, "rows": after})


def _move_rows(
    model: Any,
    action: str,
    doing: str,
    data: list[str],
    text: str | None,
    reading: Reading,
    drop_unlabelled: bool,
    weight: str | None,
) -> tuple[int | float, int | float]:
    """Return the number of rows before and after."""
    from bayeskit.cli import texts
    from bayeskit.cli.inputs import open_data, watched

    before = model.tally_.n_rows
    target = model.schema_.target.name
    if texts.is_text(model):
        source: Any = texts.open_labelled(data, text or model.column, target, reading)
    else:
        texts.refuse_text(model, text)
        source = open_data(data, target, reading)
    source = source if weight is None else source.with_weight(weight)
    with watched(source, doing) as rows_to_move:
        setting = model.unlabelled  # the option applies to this command, the setting to the model
        model.unlabelled = "drop" if drop_unlabelled else setting
        getattr(model, f"{action}_source")(rows_to_move)
        model.unlabelled = setting
    return before, model.tally_.n_rows


def _move_sequences(model: Any, path: str, action: str, data: list[str], reading: Reading) -> None:
    from bayeskit.cli.of_sequences import moved

    try:
        moved(model, action, data, reading)
    except AttributeError as problem:
        raise BayesError(f"{path}: {problem}") from None
