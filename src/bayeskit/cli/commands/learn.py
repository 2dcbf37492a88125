"""``bayes learn``: more rows into a model."""

from __future__ import annotations

from typing import Annotated

import typer

from bayeskit.cli.options import Data, Delimiter, Empty, Encoding, Json, Model, Text, Types, Wait
from bayeskit.disk.locks import PATIENCE


def command(
    model: Model,
    data: Data,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write here instead of over MODEL.")
    ] = None,
    text: Text = None,
    column_type: Types = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    empty: Empty = None,
    wait: Wait = PATIENCE,
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

    change("learn", model, data, output, json, column_type, delimiter, encoding, empty, text, wait)
