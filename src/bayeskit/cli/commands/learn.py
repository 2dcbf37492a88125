"""``bayes learn``: add rows to a model."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit.cli.options import AS_IT_IS, Data, DropUnlabelled, Json, Model, Reading, Text, Wait, Weight, grouped
from bayeskit.storage.files import LOCK_TIMEOUT


@grouped
def command(
    model: Model,
    data: Data,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of over MODEL.")
    ] = None,
    text: Text = None,
    reading: Reading = AS_IT_IS,
    drop_unlabelled: DropUnlabelled = False,
    weight: Weight = None,
    wait: Wait = LOCK_TIMEOUT,
    json: Json = False,
) -> None:
    """Add the rows of a file to a model.

    The result is that of one fit on all of them. The file of the model is replaced as a whole, or stays as it was;
    whoever changes it at the same time is waited for.

    \b
    Example:
      bayes learn birds.bayes tuesday.csv
    """
    from bayeskit.cli.commands.change import change

    change("learn", model, data, output, json, reading, text, wait, drop_unlabelled, weight)
