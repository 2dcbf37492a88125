"""Shared code of ``learn`` and ``forget``: read, change and write back a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from bayeskit.cli.options import DROP_UNLABELED, TEXT, WEIGHT, Reading, option, option_group
from bayeskit.errors import BayesError, with_article
from bayeskit.storage.files import LOCK_TIMEOUT

if TYPE_CHECKING:
    from bayeskit.tally.tally import Tally

ACTIONS = {"learn": ("learning", "+"), "forget": ("forgetting", "−")}


@option_group
class ChangeOptions:
    """Options of ``learn`` and ``forget``."""

    output: str | None = option("--output -o", "FILE", "Write here instead of over MODEL.")
    text: str | None = TEXT
    drop_unlabeled: bool = DROP_UNLABELED
    weight: str | None = WEIGHT
    batch: str | None = option("--batch", "NAME", "Name of these rows; the same batch is refused twice.")
    wait: float = option("--wait", "SECONDS", "Longest wait while another process changes MODEL.", LOCK_TIMEOUT, min=0)


def change(
    action: str,
    path: str,
    data: list[str],
    options: ChangeOptions,
    reading: Reading,
    as_json: bool,
    *,
    refit: bool = False,
    verify: bool = False,
) -> None:
    """Learn or forget the rows of a file; with ``refit``, fit again what stays fixed otherwise.

    ``verify`` reads the written file once more and says what it still holds of the rows.
    """
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import check_writable, rewriting, source_name
    from bayeskit.cli.notes import note
    from bayeskit.cli.saved_models import family_function, n_counted, refuse_no_classes, unit_of
    from bayeskit.storage.history import Event, check_batch_name, content_hash

    where = options.output or path
    page = Page(as_json, output=where)
    batch, content, counted = check_batch_name(options.batch) if options.batch is not None else "", "", None
    unweighted = False
    with rewriting(path, options.output, options.wait) as opened:
        model = opened.model
        refuse_no_classes(model, path)
        check_writable(where, is_model=True)
        change_model = family_function(model, "change_model")
        if change_model is None:
            _refuse_unavailable(model, path, action)
        before = n_counted(model)
        if change_model is None:
            counted = _count(model, action, data, options, reading)
            if batch:
                content = content_hash(counted)
                opened.history.refuse_twice(action, batch, content)
            if action == "learn":
                model._with_more(counted)
            else:
                model._check_refit(refit)
                unweighted = model._model_tally().weighted and not counted.weighted
                if unweighted:  # before anything changes: --strict makes it an error
                    note("the model was fitted with weights, and these rows have weight 1: pass --weight")
                model._without(counted, refit)
        else:
            if refit or verify or batch:
                which = "--refit" if refit else "--verify" if verify else "--batch"
                raise BayesError(f"{path}: {which} is for models of tables and documents")
            change_model(model, path, action, data, options, reading)
        after, fixed = n_counted(model), [] if refit else list(getattr(model, "fixed_", ()))
        event = Event.now(cast(Any, action), source_name(data), abs(after - before), batch)
        opened.history = opened.history.add(event, content)
    (_, sign), moved = ACTIONS[action], abs(after - before)
    unit = "sequence" if unit_of(model) == "sequence" else "row"
    page.line(f"{where}: {before:,} {sign} {moved:,} = {plural(after, unit)}")
    if fixed:
        page.line(f"stayed fixed: {', '.join(fixed)}")
    certificate = _certify(where, counted, fixed, unweighted) if verify and counted is not None else None
    if certificate is not None:
        page.line(f"verified: {certificate}")
    verified = {} if certificate is None else {"certificate": certificate, "exact": certificate.startswith("exact")}
    page.json({"model": where, "before": before, action: moved, "rows": after, "fixed": fixed} | verified)


def _count(model: Any, action: str, data: list[str], options: ChangeOptions, reading: Reading) -> Tally:
    """Count the rows or documents that are learned or forgotten."""
    from bayeskit.cli.inputs import watched
    from bayeskit.cli.saved_models import open_labeled

    target = model.schema_.target.name
    source = open_labeled(model, data, target, options.text, reading, options.weight)
    with watched(source, ACTIONS[action][0]) as rows:
        setting = model.unlabeled  # the option applies to this command, the setting to the model
        model.unlabeled = "drop" if options.drop_unlabeled else setting
        try:
            return model._count_more(model._labeled_source(rows, target, None))
        finally:
            model.unlabeled = setting


def _certify(path: str, gone: Tally, fixed: Sequence[str], unweighted: bool) -> str:
    """Read a written model file and say whether it is that of a fit without the rows, or what it still holds of them.

    Every string of the file is compared with the values, words and classes that only these rows had.
    """
    from bayeskit.models import load
    from bayeskit.storage.container import strings
    from bayeskit.storage.files import read_bytes

    held = sorted((_names(gone) - _names(load(path)._model_tally())) & strings(read_bytes(path)))
    if held:
        more = f" and {len(held) - 10} more" if held[10:] else ""
        return f"the file still names {', '.join(map(repr, held[:10]))}{more}"
    if unweighted:
        return "one unit of weight of each row is gone; what it weighed beyond that is still counted"
    if fixed:
        return f"the counts are exact; these rows have influenced what stays fixed: {', '.join(fixed)}"
    return "exact: the model is that of a fit without these rows"


def _names(tally: Tally) -> set[str]:
    """Return the values, words and classes of the rows that were counted."""
    values = (value for family in tally.families.values() for value in family.values)
    words = (word for counts in tally.words.values() for word in counts.words)
    return {str(name) for name in (*values, *words, *tally.classes)}


def _refuse_unavailable(model: Any, path: str, action: str) -> None:
    """Raise an error if a model cannot learn or forget."""
    from bayeskit.cli.saved_models import unit_of

    if not hasattr(model, f"{action}_source"):
        recipe = getattr(model, "recipe", None)
        who = f"recipe {recipe}" if recipe else f"{path}: {with_article(type(model).__name__)}"
        instead = "learn more: fit it again with all" if action == "learn" else "forget: fit it without those"
        raise BayesError(f"{who} cannot {instead} {unit_of(model)}s")
