"""``bayes merge``: merge several models into one."""

from __future__ import annotations

import typer

from bayeskit.cli.options import JSON, argument, option


def command(
    models: list[str] = argument("MODEL MODEL...", "The .bayes files to merge."),
    output: str = option("--output -o", "FILE", "Where the merged model goes.", ...),
    json: bool = JSON,
) -> None:
    """Merge models into one of all their rows.

    The counts become those of one fit on all the rows; no row is read again. Settings,
    and what a fit learns beside counts, are those of the first model.

    \b
    Example:
      bayes merge north.bayes south.bayes -o both.bayes
    """
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import changing, check_writable, open_model, save_model, source_name
    from bayeskit.cli.saved_models import n_counted, refuse_no_classes, unit_of
    from bayeskit.errors import BayesError, with_article
    from bayeskit.storage.history import Event

    if len(models) < 2:
        raise typer.BadParameter("name two models at least", param_hint="MODEL")
    check_writable(output, is_model=True)
    page = Page(json, output=output)
    with changing(models, output):
        both, history = open_model(models[0])
        refuse_no_classes(both, models[0])
        if not hasattr(both, "merge"):
            raise BayesError(
                f"{models[0]}: {with_article(type(both).__name__)} cannot be merged: fit it again with all rows"
            )
        counts = [n_counted(both)]
        for path in models[1:]:
            other, its_history = open_model(path)
            refuse_no_classes(other, path)
            try:
                history = history.merge(its_history)
                both = both.merge(other)
            except BayesError as problem:
                raise problem.within(f"{models[0]} and {path}") from None
            counts.append(n_counted(other))
        event = Event.now("merge", source_name(models), n_counted(both))
        save_model(both, output, history.add(event))
    rows = n_counted(both)
    unit = "sequence" if unit_of(both) == "sequence" else "row"
    page.line(f"{output}: {' + '.join(f'{n:,}' for n in counts)} = {plural(rows, unit)}")
    merged = [{"model": path, "rows": n} for path, n in zip(models, counts, strict=True)]
    page.json({"model": output, "merged": merged, "rows": rows})
