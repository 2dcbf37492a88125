"""Shared code of ``learn`` and ``forget``: read, change and write back a model."""

from __future__ import annotations

from typing import Any

from bayeskit.cli.options import DROP_UNLABELED, TEXT, WEIGHT, Reading, option, option_group
from bayeskit.errors import BayesError, with_article
from bayeskit.storage.files import LOCK_TIMEOUT

ACTIONS = {"learn": ("learning", "+"), "forget": ("forgetting", "−")}


@option_group
class ChangeOptions:
    """Options of ``learn`` and ``forget``."""

    output: str | None = option("--output -o", "FILE", "Write here instead of over MODEL.")
    text: str | None = TEXT
    drop_unlabeled: bool = DROP_UNLABELED
    weight: str | None = WEIGHT
    wait: float = option("--wait", "SECONDS", "Longest wait while another process changes MODEL.", LOCK_TIMEOUT, min=0)


def change(
    action: str,
    path: str,
    data: list[str],
    options: ChangeOptions,
    reading: Reading,
    as_json: bool,
    refit: bool = False,
) -> None:
    """Learn or forget the rows of a file; with ``refit``, fit again what stays fixed otherwise."""
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import check_writable, rewriting
    from bayeskit.cli.saved_models import family_function, n_counted, refuse_no_classes, unit_of

    where = options.output or path
    page = Page(as_json, output=where)
    with rewriting(path, options.output, options.wait) as model:
        refuse_no_classes(model, path)
        check_writable(where, is_model=True)
        change_model = family_function(model, "change_model")
        if change_model is None:
            _refuse_unavailable(model, path, action)
        before = n_counted(model)
        if change_model is None:
            _change_model(model, action, data, options, reading, refit)
        else:
            if refit:
                raise BayesError(f"{path}: --refit is for models of tables and documents")
            change_model(model, path, action, data, options, reading)
        after, fixed = n_counted(model), [] if refit else list(getattr(model, "fixed_", ()))
    (_, sign), moved = ACTIONS[action], abs(after - before)
    unit = "sequence" if unit_of(model) == "sequence" else "row"
    page.line(f"{where}: {before:,} {sign} {moved:,} = {plural(after, unit)}")
    if fixed:
        page.line(f"stayed fixed: {', '.join(fixed)}")
    page.json({"model": where, "before": before, action: moved, "rows": after, "fixed": fixed})


def _change_model(
    model: Any, action: str, data: list[str], options: ChangeOptions, reading: Reading, refit: bool
) -> None:
    """Learn or forget rows or documents."""
    from bayeskit.cli.inputs import watched
    from bayeskit.cli.saved_models import open_labeled

    target = model.schema_.target.name
    source = open_labeled(model, data, target, options.text, reading, options.weight)
    with watched(source, ACTIONS[action][0]) as rows:
        setting = model.unlabeled  # the option applies to this command, the setting to the model
        model.unlabeled = "drop" if options.drop_unlabeled else setting
        if action == "learn":
            model.learn_source(rows)
        else:
            model.forget_source(rows, refit=refit)
        model.unlabeled = setting


def _refuse_unavailable(model: Any, path: str, action: str) -> None:
    """Raise an error if a model cannot learn or forget."""
    from bayeskit.cli.saved_models import unit_of

    if not hasattr(model, f"{action}_source"):
        recipe = getattr(model, "recipe", None)
        who = f"recipe {recipe}" if recipe else f"{path}: {with_article(type(model).__name__)}"
        instead = "learn more: fit it again with all" if action == "learn" else "forget: fit it without those"
        raise BayesError(f"{who} cannot {instead} {unit_of(model)}s")
