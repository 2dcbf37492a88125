"""``bayes merge``: merge several models into one."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from bayeskit.cli.options import Json


def command(
    models: Annotated[list[str], typer.Argument(metavar="MODEL MODEL...", help="The .bayes files to join.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where the joint model goes.")],
    json: Json = False,
) -> None:
    """Join models into one of all their rows.

    The result is that of one fit on all of them. Settings are those of the first model. No row is read again.

    \b
    Example:
      bayes merge north.bayes south.bayes -o both.bayes
    """
    from bayeskit.cli.console import Page, plural
    from bayeskit.cli.inputs import changing, check_writable, save_model
    from bayeskit.cli.of_sequences import is_of_whole_sequences
    from bayeskit.cli.saved_models import load_classifier
    from bayeskit.errors import BayesError, with_article

    if len(models) < 2:
        raise typer.BadParameter("name two models at least", param_hint="MODEL")
    check_writable(output, is_model=True)
    page = Page(json, sys.stderr if output == "-" else None)
    with changing(models, output):
        both, counts = load_classifier(models[0]), []
        if not hasattr(both, "merge"):
            raise BayesError(
                f"{models[0]}: {with_article(type(both).__name__)} cannot be merged: fit it again with all rows"
            )
        counts.append(_rows(both))
        for path in models[1:]:
            other = load_classifier(path)
            try:
                both = both.merge(other)
                counts.append(_rows(other))
            except BayesError as problem:
                raise problem.within(f"{models[0]} and {path}") from None
        save_model(both, output)
    what = "sequence" if is_of_whole_sequences(both) else "row"
    page.line(f"{output}: {' + '.join(f'{n:,}' for n in counts)} = {plural(_rows(both), what)}")
    page.json({"model": output, "merged": dict(zip(models, counts, strict=True)), "rows": _rows(both)})


def _rows(model: Any) -> int | float:
    from bayeskit.cli.of_sequences import how_many, is_of_sequences

    rows = how_many(model) if is_of_sequences(model) else model.tally_.n_rows
    return int(rows) if rows == int(rows) else rows
