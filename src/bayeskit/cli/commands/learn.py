"""``bayes learn``: add rows to a model."""

from __future__ import annotations

from bayeskit.cli.commands.change import ChangeOptions, change
from bayeskit.cli.options import DATA, JSON, MODEL, Reading, grouped


@grouped
def command(
    model: str = MODEL, data: list[str] = DATA, *, options: ChangeOptions, reading: Reading, json: bool = JSON
) -> None:
    """Add the rows of a file to a model.

    The counts become those of one fit on all the rows. What else the fit learned
    (cut points, structure, weights, idf, vocabulary) stays fixed and is listed in the
    output; a model without such parts equals one fit on all the rows. The model file
    is locked while it changes and replaced as a whole; an error leaves it unchanged.
    With --batch NAME the file keeps the name and a hash of the rows, and refuses to
    learn either of them twice.

    \b
    Example:
      bayes learn birds.bayes tuesday.csv
    """
    change("learn", model, data, options, reading, json)
